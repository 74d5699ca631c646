"""The shared library as such: what it hands out, how it is found, that it lives beside PyTorch's own libraries."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from program import needs_native

from dsf import _library, errors


@needs_native
def test_only_the_c_functions_are_seen() -> None:
    nm = shutil.which("nm")
    if nm is None:
        pytest.skip("there is no nm")
    said = subprocess.run([nm, "-D", "--defined-only", _library._find()], capture_output=True, text=True, check=True)
    names = [line.split()[-1] for line in said.stdout.splitlines()]
    assert "dsf_last_error" in names
    assert [name for name in names if not name.startswith("dsf_")] == []


@needs_native
@pytest.mark.parametrize("imports", ["import torch, dsf", "import dsf, torch"])
def test_it_lives_beside_pytorch(tmp_path: Path, imports: str) -> None:
    """Both compute with oneDNN and OpenMP, whichever was loaded first, in turns."""
    code = (
        f"{imports}\n"
        "from dsf import _library; _library.library()\n"
        "def products(): return (torch.ones(300, 200) @ torch.ones(200, 100)).sum().item()\n"
        "def convolutions(): return torch.nn.Conv2d(3, 8, 3)(torch.ones(1, 3, 32, 32)).shape[1]\n"
        "assert products() == 300 * 200 * 100\n"
        f"run = dsf.train('synthetic:recall:gap=2', out={str(tmp_path / 'run')!r}, hidden=128, context=8,\n"
        "                 batch=64, steps=20, eval_every=20)\n"
        "assert products() == 300 * 200 * 100 and convolutions() == 8\n"
        "print(round(run.load().evaluate()['loss'], 3))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) > 0


@needs_native
def test_the_version_is_the_packages() -> None:
    import dsf

    assert _library.library().dsf_library_version().decode() == dsf.__version__


def test_another_cpu_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cpuinfo").write_text("processor\t: 0\nflags\t\t: fpu sse2 fma avx\n")
    monkeypatch.setattr(_library.platform, "machine", lambda: "x86_64")
    assert "this one lacks avx2" in str(_library._machine_problem(tmp_path / "cpuinfo"))
    (tmp_path / "cpuinfo").write_text("processor\t: 0\nflags\t\t: fpu fma avx2\n")
    assert _library._machine_problem(tmp_path / "cpuinfo") is None
    monkeypatch.setattr(_library.platform, "machine", lambda: "aarch64")
    assert "this machine is aarch64" in str(_library._machine_problem())
    monkeypatch.setattr(_library.sys, "platform", "darwin")
    assert "this is darwin" in str(_library._machine_problem())


def _said_by(environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> str:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(errors.NativeMissingError) as caught:
        _library.library.__wrapped__()
    return str(caught.value)


def test_a_file_that_is_not_there_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_library, "_machine_problem", lambda: None)
    said = _said_by({"DSF_NATIVE_LIBRARY": str(tmp_path / "none.so")}, monkeypatch)
    assert f"{tmp_path / 'none.so'} cannot be loaded" in said


def test_why_it_was_not_built_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import dsf

    monkeypatch.setattr(_library, "_machine_problem", lambda: None)
    monkeypatch.delenv("DSF_NATIVE_LIBRARY", raising=False)
    monkeypatch.setattr(dsf, "__path__", [str(tmp_path)])
    assert _said_by({}, monkeypatch) == f"there is no libdsf_native.so in {tmp_path}"
    (tmp_path / "native_missing.txt").write_text("no C++ compiler can be found\n")
    assert _said_by({}, monkeypatch) == "the package was built without it: no C++ compiler can be found"


@pytest.mark.parametrize(
    ("status", "kind"),
    [(1, ValueError), (5, ArithmeticError), (6, KeyboardInterrupt), (7, OSError), (8, MemoryError), (99, RuntimeError)],
)
@needs_native
def test_a_status_is_an_exception(status: int, kind: type[BaseException]) -> None:
    with pytest.raises(kind):
        _library.check(status)
    _library.check(0)
