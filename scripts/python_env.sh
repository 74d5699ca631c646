#!/usr/bin/env bash
# Makes the environment in which the Python package is tested, with the package installed in place.
#
#   scripts/python_env.sh DIRECTORY [PYTHON]
#
# PyTorch is the system's if that is 2.4 or later (Debian 13: python3-torch), because another one would
# be a download of several GB there; otherwise it is the version of python/requirements-dev.txt.
#
# The native part of the package is build/libdsf_native.so, which the Makefile builds from the same objects as
# the program: installing the package compiles nothing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

venv=${1:?where is the environment to be made?}
python=${2:-python3}

has_torch() {
  "$1" -c 'import torch; raise SystemExit(tuple(map(int, torch.__version__.split(".")[:2])) < (2, 4))' 2>/dev/null
}

requirements=$(mktemp)
trap 'rm -f "$requirements"' EXIT
options=()
if has_torch "$python"; then
  options=(--system-site-packages)
  grep -v '^torch==' python/requirements-dev.txt >"$requirements"
else
  cat python/requirements-dev.txt >"$requirements"
fi
[[ -x $venv/bin/python ]] || "$python" -m venv "${options[@]}" "$venv"
"$venv/bin/python" -m pip install --quiet --requirement "$requirements"
"$venv/bin/python" -m pip install --quiet --no-build-isolation --no-deps --editable . \
  --config-settings wheel.cmake=false
site=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
# Python runs the lines of such a file when it starts.
printf 'import os; os.environ.setdefault("DSF_NATIVE_LIBRARY", "%s")\n' "$PWD/build/libdsf_native.so" \
  >"$site/dsf_native_library.pth"
