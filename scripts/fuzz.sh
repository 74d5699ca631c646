#!/usr/bin/env bash
# Runs the fuzz targets of tests/fuzz one after the other.
#
#   scripts/fuzz.sh [--until N] SECONDS [TARGET...]
#   scripts/fuzz.sh --list
#
# Each target (no name: all) runs for SECONDS, or until it has N executions in all runs so far. An
# eighth of the time goes to inputs of up to 8 KB, the rest to short ones, which are quicker by far
# and reach nearly everything.
#
# Needs build-fuzz (make fuzz builds it). Inputs that reach something new are kept in
# build-fuzz/corpus, so that the next run goes on from there. Prints the executions of this run and
# of all runs so far; exit code 1 if a target found a fault, with the input in build-fuzz/found.
# If DSF_FIGURES names a file, the counts are added to it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

all_targets() { (cd tests/fuzz && ls fuzz_*.cc | sed 's/fuzz_\(.*\)\.cc/\1/'); }
if [[ ${1:-} == --list ]]; then
  all_targets
  exit
fi

build=build-fuzz
until=0
if [[ ${1:-} == --until ]]; then
  until=${2:?until how many executions?}
  shift 2
fi
seconds=${1:?how many seconds for each target?}
shift
targets=("$@")
((${#targets[@]})) || mapfile -t targets < <(all_targets)

# The stack of each allocation is left out of reports, freed memory is kept from reuse for a shorter
# time, and new memory is not filled: more than half of the time of a run went there.
export ASAN_OPTIONS=malloc_context_size=0:quarantine_size_mb=8:thread_local_quarantine_size_kb=64
ASAN_OPTIONS+=:max_malloc_fill_size=0

# Inputs up to this many bytes: the target's seeds, or most of them, and some more.
short_length() {
  case $1 in
    checkpoint) echo 1024 ;;
    config | safetensors | tokenizer) echo 256 ;;
    *) echo 128 ;;
  esac
}

executions() { cat "$build/executions/$1" 2>/dev/null || echo 0; }

# run TARGET MAX_LENGTH SECONDS: one process of libFuzzer; its executions are added up. A reader may
# take memory in proportion to its file. The target itself ends at an input that takes a second of
# the CPU; the time-out, by the clock, is for one that hangs. The entropic schedule of inputs costs
# a sixth of the time.
run() {
  local target=$1 length=$2 time=$3 log=$build/found/$1.log status=0 runs=-1
  ((until == 0)) || runs=$((until - $(executions "$target")))
  ((until == 0 || runs > 0)) || return 0
  "$build/fuzz/fuzz_$target" -max_total_time="$time" -runs="$runs" -max_len="$length" -timeout=30 \
    -rss_limit_mb=1024 -malloc_limit_mb=64 -dict=tests/fuzz/dsf.dict -entropic=0 -print_funcs=0 \
    -print_final_stats=1 -artifact_prefix="$build/found/$target-" \
    "$build/corpus/$target" "tests/fuzz/seeds/$target" >"$log" 2>&1 || status=$?
  runs=$(awk '/stat::number_of_executed_units/ {print $2}' "$log")
  echo $(($(executions "$target") + ${runs:-0})) >"$build/executions/$target"
  return $status
}

faults=0
for target in "${targets[@]}"; do
  mkdir -p "$build/found" "$build/executions" "$build/corpus/$target"
  before=$(executions "$target")
  result="no fault"
  long=$(((seconds + 7) / 8))
  if ! { run "$target" 8192 "$long" &&
    run "$target" "$(short_length "$target")" $((seconds - long)); }; then
    result="FAULT, see $build/found/$target.log"
    faults=1
  fi
  all=$(executions "$target")
  printf 'fuzz %-12s %10d executions, %12d in all, %d kept inputs: %s\n' "$target" \
    $((all - before)) "$all" "$(find "$build/corpus/$target" -type f | wc -l)" "$result"
  printf 'fuzz %s\t%d executions in all: %s\n' "$target" "$all" "$result" \
    >>"${DSF_FIGURES:-/dev/null}"
done
exit $faults
