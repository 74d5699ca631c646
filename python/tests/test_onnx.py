"""Models that `dsf export --format onnx` writes, in onnxruntime.

The logits must be those of examples/load_in_pytorch.py, which rebuilds the model from the exported weights in float64,
and the losses those that dsf itself finds.
"""

from __future__ import annotations

import csv
import importlib.util
import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import torch

ROOT = Path(__file__).resolve().parents[2]
DSF = Path(os.environ.get("DSF_CLI", ROOT / "build" / "dsf"))
TOLERANCE = 1e-4  # f32 on one side: logits of size 10 with sums of a hundred terms

pytestmark = pytest.mark.skipif(not DSF.is_file(), reason=f"the program {DSF} is not built: make build")


def _dsf(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(DSF), *map(str, words)], capture_output=True, text=True, check=False, timeout=300)


def _dsf_ok(*words: object) -> str:
    done = _dsf(*words)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _assert_same(got: np.ndarray, expected: np.ndarray) -> None:
    """The same sums, perhaps in another order: a few epsilons (1e-7) of the largest number apart."""
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-6 * max(10.0, float(np.abs(expected).max())))


def _load_in_pytorch() -> ModuleType:
    spec = importlib.util.spec_from_file_location("load_in_pytorch", ROOT / "examples" / "load_in_pytorch.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


LAYERS = 2
HIDDEN = 16
CASES = {
    "rnn": ["model.mixer=rnn"],
    "gru": ["model.mixer=gru"],
    "gru_before": ["model.mixer=gru", "model.reset=before"],
    "lstm": ["model.mixer=lstm"],
    "ema": ["model.mixer=ema"],
    "one_layer": ["model.mixer=gru", "model.layers=1"],
    "no_skip": ["model.mixer=lstm", "model.skip=false"],
    "rnn_transformer": ["model.mixer=rnn", "model.block=transformer"],
    "gru_transformer": ["model.mixer=gru", "model.block=transformer"],
    "gru_before_transformer": ["model.mixer=gru", "model.reset=before", "model.block=transformer"],
    "lstm_transformer": ["model.mixer=lstm", "model.block=transformer"],
    "ema_transformer": ["model.mixer=ema", "model.block=transformer"],
    "bf16": ["model.mixer=gru", "train.precision=bf16"],
}


def _write_text(path: Path, seed: int) -> None:
    words = ["alpha", "beta", "gamma", "delta", "one", "two", "three"]
    drawn = np.random.default_rng(seed).integers(len(words), size=(60, 6))
    path.write_text("\n".join(" ".join(words[i] for i in line) for line in drawn) + "\n")


def _train(directory: Path, settings: list[str]) -> Path:
    _write_text(directory / "train.txt", 1)
    _write_text(directory / "valid.txt", 2)
    common = [
        f"model.hidden={HIDDEN}",
        "data.tokenizer=char",
        "data.batching=stream",
        "data.context=16",
        "train.batch=8",
        "train.lr=0.02",
        "train.precision=f32",
    ]
    sets = [word for setting in [*common, f"model.layers={LAYERS}", *settings] for word in ("--set", setting)]
    files = ["--data", directory / "train.txt", "--valid", directory / "valid.txt"]
    _dsf_ok("train", *files, "--out", directory / "run", "--steps", 40, "--threads", 1, "--quiet", *sets)
    return directory / "run"


@dataclass
class Exported:
    """A trained model: its run, its ONNX file, and the same in PyTorch."""

    run: Path
    file: Path
    torch_model: torch.nn.Module
    config: dict[str, Any]
    session: onnxruntime.InferenceSession = field(init=False)

    def __post_init__(self) -> None:
        self.session = onnxruntime.InferenceSession(str(self.file), providers=["CPUExecutionProvider"])

    @property
    def state_shape(self) -> list[Any]:
        return list(next(value.shape for value in self.session.get_inputs() if value.name == "state"))

    def zeros(self, batch: int) -> np.ndarray:
        layers, _, width = self.state_shape
        return np.zeros((layers, batch, width), np.float32)

    def __call__(self, tokens: np.ndarray, state: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        state = self.zeros(tokens.shape[1]) if state is None else state
        logits, following = self.session.run(["logits", "next_state"], {"tokens": tokens, "state": state})
        return logits, following

    def tokens(self, time: int, batch: int) -> np.ndarray:
        return np.random.default_rng(3).integers(self.config["vocab"], size=(time, batch))


@pytest.fixture(scope="module", params=CASES)
def exported(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Exported:
    directory = tmp_path_factory.mktemp(request.param)
    run = _train(directory, CASES[request.param])
    file = directory / "onnx" / "model.onnx"
    done = _dsf("export", run, "--format", "onnx", "--out", file)
    if "built without ONNX" in done.stderr:
        pytest.skip(done.stderr)
    assert done.returncode == 0, done.stderr
    weights = directory / "torch" / "model.safetensors"
    _dsf_ok("export", run, "--out", weights)
    model, config = _load_in_pytorch().load(weights)
    return Exported(run, file, model.double(), config)


def test_checker_accepts_the_file(exported: Exported) -> None:
    model = onnx.load(exported.file)
    onnx.checker.check_model(model, full_check=True)  # with shapes inferred and compared
    assert [(entry.domain, entry.version) for entry in model.opset_import] == [("", 17)]
    assert model.producer_name == "dsf"


def test_time_and_batch_are_dynamic(exported: Exported) -> None:
    inputs = {value.name: (value.type, value.shape) for value in exported.session.get_inputs()}
    outputs = {value.name: (value.type, value.shape) for value in exported.session.get_outputs()}
    state = ("tensor(float)", exported.state_shape)
    assert inputs == {"tokens": ("tensor(int64)", ["time", "batch"]), "state": state}
    assert outputs == {
        "logits": ("tensor(float)", ["time", "batch", exported.config["vocab"]]),
        "next_state": state,
    }
    assert exported.state_shape[:2] == [exported.config["config"]["model"]["layers"], "batch"]


@torch.no_grad()
def test_logits_equal_pytorch(exported: Exported) -> None:
    tokens = exported.tokens(23, 3)
    expected = exported.torch_model(torch.from_numpy(tokens.T)).numpy().transpose(1, 0, 2)
    logits, _ = exported(tokens)
    assert np.abs(expected).max() > 1.0  # trained: not all the same
    np.testing.assert_allclose(logits, expected, rtol=0, atol=TOLERANCE)


def test_losses_equal_those_of_dsf(exported: Exported, tmp_path: Path) -> None:
    """One state through a whole text, as dsf itself carries it."""
    if exported.config["config"]["train"]["precision"] == "bf16":
        pytest.skip("dsf evaluates it in bf16, and its export has f32")
    text = exported.run.parent / "valid.txt"
    _dsf_ok("eval", exported.run, "--text", text, "--stream", "--per-token", tmp_path / "tokens.csv")
    with (tmp_path / "tokens.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    ids = {token: i for i, token in enumerate(exported.config["tokenizer"]["tokens"])}
    tokens = np.array([ids[character] for character in text.read_text()])
    targets = tokens[1:]
    assert [int(row["id"]) for row in rows] == targets.tolist()
    logits, _ = exported(tokens[:-1, None])
    log_p = torch.from_numpy(logits[:, 0]).double().log_softmax(-1).numpy()
    losses = -log_p[np.arange(len(targets)), targets]
    np.testing.assert_allclose(losses, [float(row["loss"]) for row in rows], rtol=0, atol=TOLERANCE)


def test_two_halves_equal_the_whole(exported: Exported) -> None:
    tokens = exported.tokens(20, 2)
    whole, end = exported(tokens)
    first, state = exported(tokens[:7])
    second, end_of_second = exported(tokens[7:], state)
    _assert_same(np.concatenate([first, second]), whole)
    _assert_same(end_of_second, end)
    forgetful, _ = exported(tokens[7:])
    assert np.abs(forgetful - second).max() > 1e-3  # the state matters


def test_batch_equals_single_sequences(exported: Exported) -> None:
    tokens = exported.tokens(9, 3)
    together, states = exported(tokens)
    for b in range(3):
        alone, state = exported(tokens[:, b : b + 1])
        _assert_same(together[:, b : b + 1], alone)
        _assert_same(states[:, b : b + 1], state)


@pytest.fixture(scope="module")
def gru_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("gru_run")
    run = _train(directory, ["model.mixer=gru"])
    done = _dsf("export", run, "--format", "onnx", "--out", directory / "probe" / "model.onnx")
    if "built without ONNX" in done.stderr:
        pytest.skip(done.stderr)
    return run


def test_nothing_is_overwritten_without_force(gru_run: Path, tmp_path: Path) -> None:
    words = ["export", gru_run, "--format", "onnx", "--out", tmp_path / "model.onnx"]
    _dsf_ok(*words)
    written = (tmp_path / "model.onnx").read_bytes()
    refused = _dsf(*words)
    assert refused.returncode == 2
    assert "model.onnx" in refused.stderr
    _dsf_ok(*words, "--force")
    assert (tmp_path / "model.onnx").read_bytes() == written


def test_attention_is_refused_and_leaves_no_file(tmp_path: Path) -> None:
    run = _train(tmp_path, ["model.mixer=attention", "model.block=transformer", "data.batching=blocks"])
    refused = _dsf("export", run, "--format", "onnx", "--out", tmp_path / "out" / "model.onnx")
    assert refused.returncode == 2
    assert re.search("attention.*safetensors|built without ONNX", refused.stderr)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("tokenizer", ["char", "word", "byte"])
@pytest.mark.parametrize("batching", ["stream", "sentences"])
def test_example_writes_what_dsf_writes(gru_run: Path, tokenizer: str, batching: str, tmp_path: Path) -> None:
    run = _train(tmp_path, [f"data.tokenizer={tokenizer}", f"data.batching={batching}"])
    file = tmp_path / "onnx" / "model.onnx"
    _dsf_ok("export", run, "--format", "onnx", "--out", file)
    options = ["--prompt", "alpha beta\none ", "--tokens", "60", "--temperature", "0"]
    expected = _dsf_ok("generate", run, *options)
    example = [sys.executable, str(ROOT / "examples" / "python" / "generate_onnx.py"), str(file), *options]
    done = subprocess.run(example, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == expected.strip()
