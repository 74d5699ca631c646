#!/usr/bin/env bash
# The first two commands of a newcomer, `make run` and `make test`, in a new root file system of each
# supported Debian release: `make check-distros`.
#
#   scripts/check_distros.sh [RELEASE[:COMPILER]...]      no name: bookworm trixie sid
#
# RELEASE:clang++ builds with that compiler instead of the release's g++. Each root is made by
# debootstrap with git and make alone, and gets a clone of HEAD; what else is needed, the two commands
# install. Needs root (for debootstrap and chroot) and Debian's package registry; takes 20 to 30
# minutes per release on two cores. Logs and the table stay in build-distros/. DSF_MIRROR: where
# packages come from; DSF_KEEP_ROOTS=1 keeps the root file systems. Exit code 1 if a release failed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

mirror=${DSF_MIRROR:-http://deb.debian.org/debian}
out=$PWD/build-distros
(($#)) || set -- bookworm trixie sid

say() { printf 'check-distros: %s\n' "$*" >&2; }
fail() {
  say "$@"
  exit 1
}

((EUID == 0)) || fail "debootstrap and chroot need root; run it as root or with sudo"
if ! command -v debootstrap >/dev/null; then
  say "installing debootstrap"
  { apt-get -qq update && apt-get -qq install -y debootstrap; } >/dev/null 2>&1 ||
    fail "debootstrap is missing and apt-get could not install it: nothing was checked"
fi

# inside ROOT COMMAND: with what a shell on a machine of its own would have. The mounts belong to the
# mount name space of this one command.
inside() {
  local root=$1 command=$2
  unshare --mount --fork bash -c '
    mount -t proc proc "$1/proc" && mount --rbind /sys "$1/sys" && mount --rbind /dev "$1/dev" &&
    mount -t tmpfs tmpfs "$1/dev/shm" &&
    exec chroot "$1" /usr/bin/env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 \
      ${CXX:+CXX="$CXX"} ${PIP_CERT:+PIP_CERT="$PIP_CERT"} ${PIP_INDEX_URL:+PIP_INDEX_URL="$PIP_INDEX_URL"} \
      ${PIP_FIND_LINKS:+PIP_FIND_LINKS="$PIP_FIND_LINKS"} bash -c "$2"' inside "$root" "$command"
}

# Versions of what differs most between releases.
versions() {
  inside "$1" '
    ${CXX:-g++} --version | sed -n "1s/.* \([0-9][0-9.]*\).*/compiler \1/p"
    cmake --version | sed -n "1s/.* version /CMake /p"
    for package in libdnnl-dev libhwy-dev libcpp-httplib-dev libsentencepiece-dev; do
      dpkg-query -W -f "\${Package} \${Version}\n" "$package" | sed "s/^lib//; s/-dev / /; s/[-+~][^ ]*\$//"
    done' 2>/dev/null | paste -sd ',' | sed 's/,/, /g'
}

mkdir -p "$out"
: >"$out/table.md"
failed=0
for name; do
  release=${name%%:*}
  export CXX=
  [[ $name == *:* ]] && CXX=${name#*:}
  log=$out/$name.log
  root=$(mktemp -d "${TMPDIR:-/var/tmp}/dsf-$release.XXXXXX")
  say "$name: making a root file system (log in $log)"
  debootstrap --variant=minbase --include=ca-certificates,git,make "$release" "$root" "$mirror" \
    >"$log" 2>&1 || fail "debootstrap of $release failed, see $log"
  # A mirror may lag behind; what it has is still signed.
  echo 'Acquire::Check-Valid-Until "false";' >"$root/etc/apt/apt.conf.d/99check-distros"
  [[ -z ${PIP_CERT:-} ]] || install -D "$PIP_CERT" "$root$PIP_CERT"
  [[ ! -d ${PIP_FIND_LINKS:-/none} ]] || { mkdir -p "$root$PIP_FIND_LINKS" && cp "$PIP_FIND_LINKS"/* "$root$PIP_FIND_LINKS/"; }
  git clone -q --no-local . "$root/dsf"
  if [[ -n $CXX ]]; then
    inside "$root" "apt-get -qq update && apt-get -qq install -y --no-install-recommends ${CXX%++} libomp-dev" \
      >>"$log" 2>&1 || fail "$CXX cannot be installed in $release, see $log"
  fi

  result=passed
  times=()
  for target in run test; do
    began=$SECONDS
    if ! inside "$root" "cd /dsf && make $target" >>"$log" 2>&1; then
      result="FAILED at make $target"
      failed=1
      break
    fi
    times+=("make $target $((SECONDS - began)) s")
  done
  warnings=$(grep -c 'warning:' "$log" || true)
  tests=$(sed -n 's/^.*tests passed, .* out of \([0-9]*\)$/\1/p' "$log" | tail -1)
  python_tests=$(sed -n 's/^\(.*[= ]\)\{0,1\}\([0-9][0-9]* passed\).* in .*$/\2/p' "$log" | tail -1)
  row="| $name | $(versions "$root") | $(IFS=,; echo "${times[*]:-}") | ${tests:-no} tests${python_tests:+, pytest: $python_tests} | $warnings warnings | $result |"
  echo "$row" | tee -a "$out/table.md"
  [[ -n ${DSF_KEEP_ROOTS:-} ]] || rm -rf --one-file-system "$root"
done
exit $failed
