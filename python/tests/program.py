"""The program ``dsf`` beside the package, and small runs, for the tests of training and models."""

from __future__ import annotations

import json
import os
import random
import subprocess
from pathlib import Path
from typing import Any

import pytest

from dsf import _library, errors

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(os.environ.get("DSF_CLI", ROOT / "build" / "dsf"))

needs_program = pytest.mark.skipif(not PROGRAM.exists(), reason=f"{PROGRAM} is not built")


def native_is_missing() -> str:
    """Why the native part cannot be loaded; "" if it can."""
    try:
        _library.library()
    except errors.NativeMissingError as error:
        return str(error)
    return ""


needs_native = pytest.mark.skipif(bool(native_is_missing()), reason=native_is_missing())


def dsf(*words: Any) -> subprocess.CompletedProcess[str]:
    """Runs the program."""
    return subprocess.run(
        [PROGRAM, *map(str, words)], capture_output=True, text=True, check=False, timeout=120, cwd="/"
    )


def dsf_json(*words: Any) -> Any:
    """What the program prints with --json."""
    done = dsf(*words, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def write_text(path: Path, lines: int = 300) -> Path:
    """A text with something to learn in it."""
    numbers = random.Random(7)
    words = ["the cat", "sat on", "a mat", "and then", "it ran", "to the", "small house", "of wood"]
    text = "\n".join(" ".join(numbers.choice(words) for _ in range(6)) for _ in range(lines))
    path.write_text(text + "\n")
    return path


SMALL: dict[str, Any] = {
    "tokenizer": "char",
    "batching": "blocks",
    "context": 16,
    "hidden": 16,
    "layers": 1,
    "batch": 16,
    "steps": 30,
    "eval_every": 10,
    "log_every": 5,
    "lr": 0.01,
    "precision": "f32",
    "threads": 1,
}


def as_flags(keys: dict[str, Any]) -> list[str]:
    """The same configuration for the program."""
    sections = {"tokenizer": "data", "batching": "data", "context": "data", "hidden": "model", "layers": "model"}
    return [word for key, value in keys.items() for word in ("--set", f"{sections.get(key, 'train')}.{key}={value}")]
