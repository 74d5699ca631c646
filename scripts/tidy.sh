#!/usr/bin/env bash
# tidy.sh BUILD_DIR FILE...: clang-tidy on the files that the build compiles. Prints findings only.
set -euo pipefail

build=$1
shift
known=()
for file; do
  # A source that this configuration leaves out (MPI) has no compile command.
  if grep -q "/$file\"" "$build/compile_commands.json"; then known+=("$file"); fi
done
((${#known[@]})) || exit 0

# GCC flags that clang does not know are not findings. stderr counts suppressed warnings: shown only
# when something is wrong.
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! clang-tidy --quiet -p "$build" --warnings-as-errors='*' \
  --extra-arg=-Wno-unknown-warning-option "${known[@]}" 2>"$log"; then
  cat "$log" >&2
  exit 1
fi
