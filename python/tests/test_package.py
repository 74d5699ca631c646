"""The package as a whole: what importing it does, its version, its types."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import dsf

ROOT = Path(__file__).resolve().parents[2]


def _run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def test_importing_dsf_does_not_import_torch() -> None:
    assert _run("import sys, dsf; print('torch' in sys.modules)").strip() == "False"
    assert _run("import sys, dsf.nn; print('torch' in sys.modules)").startswith("True")


def test_missing_native_part_is_said_once() -> None:
    """If the native part is there nothing is said; if not, one sentence, however many layers there are."""
    said = _run(
        "import os; os.environ['DSF_NATIVE_LIBRARY'] = '/no/such/library.so'\n"
        "import dsf.nn, torch\n"
        "for _ in range(2): dsf.nn.GRU(2, 3)(torch.zeros(1, 1, 2))\n"
        "import dsf.nn.modules"
    )
    assert said.count("NativeMissingWarning: ") == 1
    assert "PyTorch operations" in said


def test_version_stands_in_one_place() -> None:
    found = re.search(r"project\(dsf\s+VERSION\s+([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())
    assert found is not None
    assert dsf.__version__ == found.group(1)


def test_types_are_marked() -> None:
    assert (Path(dsf.__file__).parent / "py.typed").exists()
