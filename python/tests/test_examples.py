"""The examples run as they are, with small sizes."""

from __future__ import annotations

import os
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


TEXT = "the cat sat on the mat\na dog saw the cat\nthe dog ran and the cat ran\non the mat sat a dog\n" * 20


def _train(place: Path, *options: str) -> list[str]:
    """The lines of examples/python/word_language_model.py without its times."""
    command = [sys.executable, str(EXAMPLES / "word_language_model.py"), "--data", str(place), "--hidden", "8"]
    command += ["--batch", "4", "--length", "6", "--every", "5", "--lr", "0.03", *options]
    one_thread = {**os.environ, "OMP_NUM_THREADS": "1"}  # the tensors here are tiny
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, env=one_thread)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [line for line in done.stdout.splitlines() if line.startswith("epoch")]
    return [re.sub(r" (tokens/s|seconds) [\d.]+", "", line) for line in lines]


def _losses(lines: list[str]) -> list[float]:
    return [float(re.findall(r"loss ([\d.]+)", line)[0]) for line in lines]


@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_language_model_has_the_same_loss_curve_with_either_import(tmp_path: Path, cell: str) -> None:
    text = tmp_path / "text.txt"
    text.write_text(TEXT)
    theirs = _losses(_train(text, "--layer", "torch", "--cell", cell))
    ours = _losses(_train(text, "--layer", "dsf", "--cell", cell))
    assert len(theirs) > 10
    assert theirs[-1] < theirs[0] - 0.1  # it learns
    # Losses are printed with four digits; sums in another order may turn the last one.
    assert ours == pytest.approx(theirs, abs=3e-4)


def test_language_model_reads_a_directory_and_trains_with_dsf(tmp_path: Path) -> None:
    lines = TEXT.splitlines(keepends=True)
    (tmp_path / "ptb.train.txt").write_text("".join(lines[:60]))
    (tmp_path / "ptb.valid.txt").write_text("".join(lines[60:]))
    found = _train(tmp_path, "--feedback", "dsf", "--epochs", "3")
    assert _losses(found)[-1] < _losses(found)[0]


def test_language_model_says_what_it_cannot_read(tmp_path: Path) -> None:
    command = [sys.executable, str(EXAMPLES / "word_language_model.py"), "--data", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 1
    assert "has neither ptb.train.txt" in done.stderr
