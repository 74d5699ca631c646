#!/usr/bin/env bash
# For systems without apt: prints the names that this machine's package manager has for what the named
# groups of scripts/setup.sh need. Exit code 1 if there is no compiler, CMake or Ninja to go on with;
# which libraries are missing, the configuration itself tells. docs/install.md has the sources of the
# names.
#
#   scripts/other_systems.sh [build] [test] [mpi] ...
set -euo pipefail

say() { printf 'setup: %s\n' "$*" >&2; }

# names_of MANAGER GROUP: packages of the groups that all systems share.
names_of() {
  case "$1 $2" in
    "dnf build")
      echo gcc-c++ cmake ninja-build pkgconf-pkg-config onednn-devel highway-devel kiss-fft-devel eigen3-devel \
        cli11-devel tomlplusplus-devel json-devel spdlog-devel fmt-devel cpp-httplib-devel \
        sentencepiece-devel xxhash-devel zlib-ng-compat-devel gnuplot \
        protobuf-c-devel protobuf-compiler protobuf-c-compiler ;;
    "dnf test") echo gtest-devel gmock-devel google-benchmark-devel iproute ;;
    "dnf mpi") echo openmpi-devel ;;
    "pacman build")
      echo gcc cmake ninja pkgconf onednn highway kissfft eigen3 cli11 tomlplusplus nlohmann-json spdlog fmt \
        cpp-httplib sentencepiece xxhash zlib gnuplot protobuf protobuf-c ;;
    "pacman test") echo gtest benchmark iproute2 ;;
    "pacman mpi") echo openmpi ;;
    "zypper build")
      echo gcc-c++ cmake ninja pkgconf-pkg-config onednn-devel highway-devel kissfft-devel eigen3-devel \
        cli11-devel tomlplusplus-devel nlohmann_json-devel spdlog-devel fmt-devel cpp-httplib-devel \
        xxhash-devel zlib-devel gnuplot protobuf-devel libprotobuf-c-devel ;;
    "zypper test") echo gtest gmock benchmark-devel iproute2 ;;
    "zypper mpi") echo openmpi5-devel ;;
  esac
}

(($#)) || set -- build
manager=
for candidate in dnf pacman zypper; do
  command -v "$candidate" >/dev/null && manager=$candidate && break
done

lacking=()
command -v c++ >/dev/null || command -v g++ >/dev/null || command -v clang++ >/dev/null ||
  lacking+=("a C++ compiler")
command -v cmake >/dev/null || lacking+=(CMake)
command -v ninja >/dev/null || lacking+=(Ninja)

# The lists are worth a reader's time only if something is missing, or on the first build.
if ((${#lacking[@]})) || [[ ! -f build/CMakeCache.txt ]]; then
  names=$(for group; do names_of "${manager:-none}" "$group"; done | tr '\n' ' ')
  case $manager in
    dnf) say "no apt here. What is needed, on Fedora: sudo dnf install $names" ;;
    pacman) say "no apt here. What is needed, on Arch: sudo pacman -S --needed $names" ;;
    zypper)
      say "no apt here. What is needed, on openSUSE: sudo zypper install $names"
      say "SentencePiece is not packaged there: build it from source"
      ;;
    *) say "no package manager known here (apt, dnf, pacman, zypper): docs/install.md lists the libraries" ;;
  esac
fi
if ((${#lacking[@]})); then
  printf -v all '%s, ' "${lacking[@]}"
  say "cannot go on without ${all%, }"
  exit 1
fi
