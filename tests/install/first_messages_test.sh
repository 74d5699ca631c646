#!/usr/bin/env bash
# What a newcomer reads if something is missing: the sentences of scripts/setup.sh, of
# scripts/other_systems.sh and of the configuration. Each is provoked and looked for.
#
#   first_messages_test.sh SOURCE_DIR CMAKE
set -uo pipefail

source_dir=$1
cmake=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

# expect NAME EXIT_CODE TEXT COMMAND...: the command ends so, and says so.
expect() {
  local name=$1 code=$2 text=$3 said status=0
  shift 3
  said=$("$@" 2>&1) || status=$?
  said=$(tr '\n' ' ' <<<"$said" | tr -s ' ')
  if [[ $status != "$code" || $said != *"$text"* ]]; then
    printf 'FAILED %s: exit code %s (wanted %s), and it said:\n%s\n' "$name" "$status" "$code" "$said"
    failed=1
  fi
}

# A machine with the usual small tools, and of the rest what is named.
machine() {
  local bin tool
  bin=$(mktemp -d "$work/bin.XXXXXX")
  for tool in bash env sed tr sort dirname grep cat; do ln -s "$(command -v "$tool")" "$bin/$tool"; done
  for tool; do printf '#!/bin/sh\nexit 0\n' >"$bin/$tool" && chmod +x "$bin/$tool"; done
  echo "$bin"
}

expect fedora 0 "on Fedora: sudo dnf install gcc-c++" \
  env -C "$work" PATH="$(machine dnf c++ cmake ninja)" "$source_dir/scripts/setup.sh" build
expect arch 0 "sudo pacman -S --needed gcc cmake" \
  env -C "$work" PATH="$(machine pacman c++ cmake ninja)" "$source_dir/scripts/setup.sh" build test
expect opensuse 0 "SentencePiece is not packaged there" \
  env -C "$work" PATH="$(machine zypper c++ cmake ninja)" "$source_dir/scripts/setup.sh" build
expect no_compiler 1 "cannot go on without a C++ compiler, Ninja" \
  env -C "$work" PATH="$(machine dnf cmake)" "$source_dir/scripts/setup.sh" build
expect unknown_system 0 "no package manager known here" \
  env -C "$work" PATH="$(machine c++ cmake ninja)" "$source_dir/scripts/setup.sh" build

printf 'flags\t\t: fpu sse sse2 fma\n' >"$work/cpuinfo"
expect no_avx2 1 "dsf needs a CPU with AVX2 and FMA (2013 and later); this one lacks avx2" \
  "$cmake" -D CMAKE_HOST_SYSTEM_PROCESSOR=x86_64 -D "DSF_CPUINFO=$work/cpuinfo" \
  -P "$source_dir/cmake/DsfMachine.cmake"
expect other_cpu 1 "this machine is aarch64" \
  "$cmake" -D CMAKE_HOST_SYSTEM_PROCESSOR=aarch64 -P "$source_dir/cmake/DsfMachine.cmake"
exit $failed
