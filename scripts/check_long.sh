#!/usr/bin/env bash
# Everything of docs/reliability.md at full count: `make check-long`, which builds what it needs.
#
#   scripts/check_long.sh
#
# A training is watched for SOAK_SECONDS (7200) while the long tests run, and then the fuzz targets,
# as many at once as there are cores, each until it has FUZZ_EXECUTIONS (20000000) behind it or
# FUZZ_SECONDS (3600) have passed. All figures are shown as a table at the end, and stay in
# build/reliability.txt. Exit code 1 if something failed.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

jobs=$(nproc 2>/dev/null || echo 2)
export DSF_FIGURES=$PWD/build/reliability.txt
: >"$DSF_FIGURES"
failed=0
figure() { printf '%s\t%s\n' "$1" "$2" >>"$DSF_FIGURES"; }

# A model large enough that a few pages of the program are less than 1 % of it, on one thread, with
# evaluations and checkpoints all the time. The hours count here and not the steps, so it leaves the
# cores to the tests.
soak() {
  local out
  out=$(mktemp -d)
  if nice -n 19 scripts/soak.py --seconds "${SOAK_SECONDS:-7200}" --csv build/soak.csv -- \
    build/dsf train --quiet --data synthetic:recall --out "$out/run" --threads 1 --steps 1000000000 \
    --set model.hidden=512 --set train.batch=32 --eval-every 99 --set train.checkpoint_every=33 \
    >build/soak.log 2>&1; then
    figure "memory and open files" "$(sed -n 's/^time  *//p; s/^resident memory  *//p' build/soak.log |
      paste -sd ';' | sed 's/;/; /'); open files constant"
  else
    figure "memory and open files" "FAILED, see build/soak.log"
  fi
  rm -rf "$out"
}

began=$SECONDS
soak &
ctest --test-dir build --output-on-failure -j"$jobs" -L '^(long|browser)$' || failed=1
ctest --test-dir build --output-on-failure -j"$jobs" -R DroppedState >build/controls.log || {
  cat build/controls.log
  failed=1
}
figure "long tests" "$((SECONDS - began)) s"
scripts/fuzz.sh --list | xargs -P "$jobs" -n 1 scripts/fuzz.sh \
  --until "${FUZZ_EXECUTIONS:-20000000}" "${FUZZ_SECONDS:-3600}" || failed=1
wait
! grep -q FAILED "$DSF_FIGURES" || failed=1
figure "all of it" "$((SECONDS - began)) s"

echo
sort "$DSF_FIGURES" | awk -F '\t' '
  { what[NR] = $1; figure[NR] = $2; if (length($1) > width) width = length($1) }
  END { for (i = 1; i <= NR; ++i) printf "%-*s  %s\n", width, what[i], figure[i] }'
exit $failed
