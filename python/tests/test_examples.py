"""The examples run as they are, with small sizes."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from program import needs_native, write_text

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples" / "python"


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("forecast.py", ["--steps", "60", "--hidden", "32", "--length", "40", "--batch", "16"]),
        ("stream.py", ["--seconds", "0.1"]),
    ],
)
def test_example_runs(name: str, options: list[str]) -> None:
    command = [sys.executable, str(EXAMPLES / name), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "dsf.nn.GRU" in done.stdout


@needs_native
def test_character_model_is_trained_and_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    options = ["--text", str(write_text(tmp_path / "text.txt")), "--out", str(tmp_path), "--steps", "20"]
    command = [sys.executable, str(EXAMPLES / "character_model.py"), *options, "--hidden", "16"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "bptt: perplexity" in done.stdout
    assert (tmp_path / "curves.png").stat().st_size > 1000


def _python_of(page: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(), flags=re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", ["README.md", "docs/python.md"])
def test_what_the_pages_say_runs(page: str) -> None:
    """The blocks of a page, one after another; the page leaves it to the reader to have a sequence and its errors."""
    double = {"dtype": torch.float64}
    names = {
        "sequence": torch.randn(5, 16, **double),
        "h_0": torch.zeros(64, **double),
        "errors": torch.randn(5, 64, **double),
    }
    blocks = _python_of(page)
    assert blocks
    for block in blocks:
        exec(block, names)
    assert names["layer"].weight_ih_l0.grad is not None
