#!/usr/bin/env bash
# Installs the Debian packages that the named groups need and that are not there yet.
#
#   scripts/setup.sh [build] [test] [browser] [bench] [lint] [fuzz] [package] [mpi] [peers] [python]    no name: build
#
# Silent when nothing is missing. DSF_SETUP=skip turns it off. On a system without apt it prints the
# names of the packages there (scripts/other_systems.sh) and goes on if a compiler and CMake are there.
set -euo pipefail

say() { printf 'setup: %s\n' "$*" >&2; }
fail() {
  say "$@"
  exit 1
}

packages_of() {
  case "$1" in
    build)
      echo g++ cmake ninja-build pkg-config
      echo libdnnl-dev libhwy-dev libkissfft-dev libeigen3-dev  # numerics
      echo libcli11-dev libtomlplusplus-dev nlohmann-json3-dev libspdlog-dev libfmt-dev
      echo libcpp-httplib-dev                           # the page of dsf watch
      echo libsentencepiece-dev libabsl-dev libxxhash-dev zlib1g-dev  # data
      echo gnuplot-nox                                  # figures
      ;;
    test)
      echo libgtest-dev libgmock-dev libbenchmark-dev
      echo iproute2                                     # network namespaces
      ;;
    browser) echo chromium chromium-driver python3 fonts-dejavu-core ;;  # to look at the page with
    bench) echo libbenchmark-dev ;;
    lint) echo clang-format clang-tidy libomp-dev ;;  # libomp-dev: omp.h for clang's parser
    fuzz) echo clang libclang-rt-dev libomp-dev ;;
    package) echo dpkg-dev file ;;
    mpi) echo libopenmpi-dev openmpi-bin ;;
    peers) echo python3-torch libopenblas0-pthread libopenblas0-openmp ;;  # to compare with
    python) echo python3 python3-venv ;;  # python3-venv: without it Debian's python3 makes no environments
    *) fail "unknown group '$1'; the groups are build, test, browser, bench, lint, fuzz, package, mpi, peers, python" ;;
  esac
}

# True if apt would install version $2 or later of package $1.
offers() {
  local candidate
  candidate=$(apt-cache policy "$1" 2>/dev/null | sed -n 's/ *Candidate: //p')
  [[ -n $candidate && $candidate != "(none)" ]] && dpkg --compare-versions "$candidate" ge "$2"
}

# Nice to have: faster products, ONNX files, the text that the demo trains on, a PyTorch that is new enough.
optional_of() {
  case "$1" in
    build)
      echo libxsmm-dev jargon-text
      echo libprotobuf-c-dev protobuf-compiler protobuf-c-compiler libonnx-dev  # dsf export --format onnx
      ;;
    python) if offers python3-torch 2.4; then echo python3-torch; fi ;;
  esac
}

# absent PACKAGE...: prints those that are not installed.
absent() {
  (($#)) || return 0
  local installed
  installed=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "$@" 2>/dev/null || true)
  local package
  for package; do
    case $'\n'"$installed"$'\n' in
      *$'\n'"$package installed"$'\n'*) ;;
      *) echo "$package" ;;
    esac
  done
}

as_root() {
  if ((EUID == 0)); then
    env DEBIAN_FRONTEND=noninteractive "$@"
  else
    sudo env DEBIAN_FRONTEND=noninteractive "$@"
  fi
}

apt_get() { as_root apt-get -qq -o DPkg::Lock::Timeout=300 "$@"; }
install_packages() { apt_get install -y --no-install-recommends "$@" >/dev/null; }

[[ ${DSF_SETUP:-} != skip ]] || exit 0
(($#)) || set -- build

wanted=() wished=()
for group; do
  listed=$(packages_of "$group")
  read -r -d '' -a more <<<"$listed" || true
  wanted+=("${more[@]}")
  listed=$(optional_of "$group")
  read -r -d '' -a more <<<"$listed" || true
  wished+=("${more[@]}")
done

# Elsewhere than on Debian the build itself tells what is missing: CMake names each library.
if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  "$(dirname "${BASH_SOURCE[0]}")/other_systems.sh" "$@"
  exit
fi

mapfile -t missing < <(absent "${wanted[@]}" | sort -u)
mapfile -t missing_optional < <(absent "${wished[@]}" | sort -u)
((${#missing[@]} + ${#missing_optional[@]})) || exit 0

can_install=1
((EUID == 0)) || command -v sudo >/dev/null || can_install=0

if ((${#missing[@]})); then
  if ((!can_install)); then
    fail "missing packages, and neither root nor sudo to install them. As root, run:" \
      "apt-get install ${missing[*]}"
  fi
  say "installing ${missing[*]}"
  ((EUID == 0)) || say "sudo is needed because apt-get writes to the system"
  apt_get update || fail "apt-get update failed (see above): is the network there?"
  install_packages "${missing[@]}" ||
    fail "apt-get could not install: ${missing[*]} (see above for the reason)"
fi

if ((${#missing_optional[@]})); then
  for package in "${missing_optional[@]}"; do
    # Only from lists that are already here: an optional package is not worth an update.
    if ((can_install)) && apt-cache show "$package" >/dev/null 2>&1; then
      say "installing $package (optional)"
      install_packages "$package" || say "could not install $package; going on without it"
    else
      say "optional package $package is not available; going on without it"
    fi
  done
fi
