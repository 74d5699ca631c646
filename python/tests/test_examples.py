"""The examples run as they are, with small sizes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "python"


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
