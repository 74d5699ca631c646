#!/usr/bin/env bash
# The wheel of `make wheel` where nothing of ours is: in a new root file system of a Debian release, without a
# compiler and without our libraries, with the release's own PyTorch. It is installed with pip and passes the
# tests of the Python package: `make check-wheel`.
#
#   scripts/check_wheel.sh [RELEASE]      no name: trixie
#
# Needs root (for debootstrap and chroot) and the package registries of Debian and PyPI. DSF_MIRROR: where
# Debian's packages come from; DSF_KEEP_ROOTS=1 keeps the root file system.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

release=${1:-trixie}
mirror=${DSF_MIRROR:-http://deb.debian.org/debian}

say() { printf 'check-wheel: %s\n' "$*" >&2; }
fail() {
  say "$@"
  exit 1
}

((EUID == 0)) || fail "debootstrap and chroot need root; run it as root or with sudo"
wheel=$(ls dist/dsf_rnn-*.whl 2>/dev/null) || fail "there is no dist/dsf_rnn-*.whl; make wheel makes it"
if ! command -v debootstrap >/dev/null; then
  { apt-get -qq update && apt-get -qq install -y debootstrap; } >/dev/null 2>&1 ||
    fail "debootstrap is missing and apt-get could not install it: nothing was checked"
fi

log=$PWD/build/check_wheel.log
root=$(mktemp -d "${TMPDIR:-/var/tmp}/dsf-wheel.XXXXXX")
[[ -n ${DSF_KEEP_ROOTS:-} ]] || trap 'rm -rf --one-file-system "$root"' EXIT
say "making a root file system of $release (log in $log)"
debootstrap --variant=minbase --include=ca-certificates "$release" "$root" "$mirror" >"$log" 2>&1 ||
  fail "debootstrap of $release failed, see $log"
echo 'Acquire::Check-Valid-Until "false";' >"$root/etc/apt/apt.conf.d/99check-wheel"
[[ -z ${PIP_CERT:-} ]] || install -D "$PIP_CERT" "$root$PIP_CERT"
# What the tests read, where they expect it; not the package itself.
mkdir -p "$root/dsf/python"
cp -r pyproject.toml README.md docs examples scripts CMakeLists.txt "$wheel" "$root/dsf"
cp -r python/tests "$root/dsf/python"

unshare --mount --fork bash -c '
  mount -t proc proc "$1/proc" && mount --rbind /sys "$1/sys" && mount --rbind /dev "$1/dev" &&
  mount -t tmpfs tmpfs "$1/dev/shm" &&
  exec chroot "$1" /usr/bin/env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 \
    ${PIP_CERT:+PIP_CERT="$PIP_CERT"} ${PIP_INDEX_URL:+PIP_INDEX_URL="$PIP_INDEX_URL"} bash -ec "$2"' \
  inside "$root" '
  export DEBIAN_FRONTEND=noninteractive
  apt-get -qq update
  apt-get -qq install -y --no-install-recommends python3-torch python3-venv
  ! command -v c++ && ! ls /usr/lib/x86_64-linux-gnu/libxsmm* 2>/dev/null
  python3 -m venv --system-site-packages /venv
  /venv/bin/pip install --quiet pytest pytest-xdist hypothesis numpy matplotlib onnx onnxruntime
  /venv/bin/pip install --quiet --no-deps /dsf/dsf_rnn-*.whl
  cd /dsf
  /venv/bin/python -c "import dsf, torch; print(dsf.__file__, dsf.__version__, torch.__version__)"
  /venv/bin/python -m pytest -q -n 2 python/tests' >>"$log" 2>&1 || {
  tail -n 40 "$log"
  fail "the tests failed in $release, see $log"
}
tail -n 1 "$log"
