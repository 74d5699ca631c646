#!/usr/bin/env bash
# Runs the fuzz targets of tests/fuzz one after the other.
#
#   scripts/fuzz.sh SECONDS [TARGET...]      each target so long; no name: all
#
# Needs build-fuzz (make fuzz builds it). Inputs that reach something new are kept in
# build-fuzz/corpus, so that the next run goes on from there. Prints the executions of this run and
# of all runs so far; exit code 1 where a target found a fault, with the input in build-fuzz/found.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

build=build-fuzz
seconds=${1:?how many seconds for each target?}
shift
targets=("$@")
((${#targets[@]})) || mapfile -t targets < <(cd tests/fuzz && ls fuzz_*.cc | sed 's/fuzz_\(.*\)\.cc/\1/')

mkdir -p "$build/found" "$build/executions"
faults=0
for target in "${targets[@]}"; do
  corpus=$build/corpus/$target
  log=$build/found/$target.log
  mkdir -p "$corpus"
  # A reader may take memory in proportion to its file, which is at most 8 KB here; a second is a
  # time-out. What SentencePiece and Protocol Buffers keep until the process ends is no leak.
  status=0
  "$build/fuzz/fuzz_$target" -max_total_time="$seconds" -max_len=8192 -timeout=1 \
    -rss_limit_mb=1024 -malloc_limit_mb=64 -dict=tests/fuzz/dsf.dict -print_final_stats=1 \
    -artifact_prefix="$build/found/$target-" "$corpus" "tests/fuzz/seeds/$target" \
    >"$log" 2>&1 || status=$?
  runs=$(awk '/stat::number_of_executed_units/ {print $2}' "$log")
  before=$(cat "$build/executions/$target" 2>/dev/null || echo 0)
  echo $((before + ${runs:-0})) >"$build/executions/$target"
  printf 'fuzz %-12s %10d executions, %12d in all, %d kept inputs: %s\n' "$target" "${runs:-0}" \
    "$(cat "$build/executions/$target")" "$(find "$corpus" -type f | wc -l)" \
    "$( ((status)) && echo "FAULT, see $log" || echo "no fault")"
  ((status == 0)) || faults=1
done
exit $faults
