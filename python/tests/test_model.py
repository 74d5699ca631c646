"""dsf.load: text, logits and losses as the program's, and the same model in PyTorch."""

from __future__ import annotations

import gc
import json
import math
import threading
from pathlib import Path
from typing import Any

import pytest
import torch
from program import SMALL, dsf_json, needs_native, needs_program, write_text
from torch.nn import functional as F

import dsf

pytestmark = needs_native


def make_model(directory: Path, **keys: Any) -> dsf.Model:
    text = write_text(directory / "text.txt")
    return dsf.train(text, out=directory / "run", **{**SMALL, **keys}).load()


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> dsf.Model:
    return make_model(tmp_path_factory.mktemp("model"))


def test_it_says_what_it_is(model: dsf.Model) -> None:
    assert model.step == 30
    assert model.tokenizer == "char"
    assert model.config["model"]["hidden"] == 16
    assert f"{model.config['model']['mixer']} 1x16" in repr(model)
    assert sum(math.prod(shape) for shape, _ in model.parameter_buffers().values()) == model.parameters


def test_text_goes_to_tokens_and_back(model: dsf.Model) -> None:
    assert model.decode(model.encode("the cat\nsat")) == "the cat\nsat"
    assert model.encode("\n") == [model.eos]
    with pytest.raises(dsf.DataError):
        model.decode([model.vocab])


@needs_program
def test_generated_text_is_the_programs(model: dsf.Model) -> None:
    pieces = list(model.generate("the ", tokens=50, temperature=0.7, seed=5, top_k=9))
    assert len(pieces) == 50
    words = ["--prompt", "the ", "--tokens", 50, "--temperature", 0.7, "--seed", 5, "--top-k", 9]
    said = dsf_json("generate", model.run, *words)
    assert "the " + "".join(pieces) == said["text"]


def test_generation_can_be_left_and_begun_anew(model: dsf.Model) -> None:
    first = model.generate("a", tokens=1000)
    begun = [next(first) for _ in range(5)]
    other = list(model.generate("a", tokens=5))
    assert begun == other
    del first
    gc.collect()
    with pytest.raises(dsf.UsageError, match="temperature"):
        model.generate("a", temperature=-1.0)


@needs_program
@pytest.mark.parametrize("words", [[], ["--split", "train"], ["--stream"], ["--checkpoint", "last"]])
def test_evaluation_is_the_programs(model: dsf.Model, words: list[str]) -> None:
    opened = dsf.load(model.run, "last") if "--checkpoint" in words else model
    split = "train" if "--split" in words else "valid"
    found = opened.evaluate(split, stream="--stream" in words)
    assert found == dsf_json("eval", model.run, *words)
    assert opened.config == model.config  # evaluating a stream does not stay


@needs_program
def test_perplexity_of_a_text_is_the_programs(model: dsf.Model, tmp_path: Path) -> None:
    text = "the cat sat on a mat\nand then it ran\n"
    (tmp_path / "text.txt").write_text(text)
    said = dsf_json("eval", model.run, "--text", tmp_path / "text.txt")
    assert model.perplexity(text) == said["perplexity"]
    assert model.evaluate(file=tmp_path / "text.txt") == said


def test_logits_give_the_loss(model: dsf.Model) -> None:
    """A text of one block, so that evaluate() reads it in one piece as logits() does."""
    text = "the cat sat on\n"
    rows = model.logits(text)
    tokens = torch.tensor(model.encode(text))
    assert rows.shape == (len(tokens) + 1, model.vocab)
    # Blocks begin with the first token of the text, which is not predicted.
    loss = F.cross_entropy(model.logits(tokens[:-1].tolist()), tokens[1:])
    assert loss.item() == pytest.approx(model.evaluate(text=text)["loss"], rel=1e-5)


def test_unknown_tokens_are_refused(model: dsf.Model) -> None:
    with pytest.raises(dsf.UsageError, match=f"token {model.vocab} at position 1"):
        model.logits([0, model.vocab])
    with pytest.raises(dsf.UsageError, match="no tokens"):
        model.logits([])
    assert model.logits("").shape == (1, model.vocab)  # of the first token of a text


def test_it_goes_to_onnxruntime(model: dsf.Model, tmp_path: Path) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    file = model.to_onnx(tmp_path / "model.onnx")
    session = onnxruntime.InferenceSession(str(file))
    tokens = torch.tensor(model.encode("a text to read"))
    layers, _, width = session.get_inputs()[1].shape
    state = torch.zeros(layers, 1, width)
    logits, _ = session.run(["logits", "next_state"], {"tokens": tokens[:, None].numpy(), "state": state.numpy()})
    torch.testing.assert_close(torch.from_numpy(logits)[:, 0], model.logits(tokens.tolist()), rtol=0, atol=1e-4)
    assert (tmp_path / "config.json").is_file()
    with pytest.raises(dsf.UsageError, match=r"model\.onnx"):
        model.to_onnx(file)
    assert model.to_onnx(file, force=True) == file


def test_exported_weights_are_the_parameters(model: dsf.Model, tmp_path: Path) -> None:
    file = model.export(tmp_path / "model.safetensors")
    size = int.from_bytes(file.read_bytes()[:8], "little")
    header = json.loads(file.read_bytes()[8 : 8 + size])
    for name, (shape, _) in model.parameter_buffers().items():
        assert tuple(header[name]["shape"]) == shape


MODELS: list[dict[str, Any]] = [
    {"mixer": "rnn", "layers": 2},
    {"mixer": "gru", "layers": 2, "feedback": "bptt"},
    {"mixer": "gru", "reset": "before"},
    {"mixer": "lstm", "layers": 2, "skip": False},
    {"mixer": "lstm", "block": "transformer"},
    {"mixer": "gru", "block": "transformer", "layers": 2},
]


@pytest.mark.filterwarnings("ignore:dsf.nn. the native kernels cannot be loaded")
@pytest.mark.parametrize("keys", MODELS, ids=str)
def test_the_same_model_in_pytorch(tmp_path: Path, keys: dict[str, Any]) -> None:
    model = make_model(tmp_path, **{**SMALL, "steps": 12, **keys})
    module = model.to_torch()
    tokens = model.encode("the cat sat on a mat\nand then it")
    with torch.no_grad():
        found = module(torch.tensor([tokens]))[0]
    torch.testing.assert_close(found, model.logits(tokens), rtol=1e-4, atol=1e-5)
    loss = F.cross_entropy(module(torch.tensor([tokens[:-1]]))[0], torch.tensor(tokens[1:]))
    loss.backward()
    assert all(p.grad is not None and bool(p.grad.isfinite().all()) for p in module.parameters())


def test_other_mixers_are_refused(tmp_path: Path) -> None:
    model = make_model(tmp_path, mixer="attention", block="transformer", steps=1)
    with pytest.raises(dsf.UsageError, match="attention"):
        model.to_torch()


def test_missing_runs_and_checkpoints_are_said(tmp_path: Path, model: dsf.Model) -> None:
    with pytest.raises(dsf.UsageError, match="none"):
        dsf.load(tmp_path / "none")
    with pytest.raises(dsf.UsageError, match="known: best, last"):
        dsf.load(model.run, "first")


def test_threads_take_turns(model: dsf.Model) -> None:
    expected = "".join(model.generate("the", tokens=100, seed=3))
    found: list[str] = []
    threads = [
        threading.Thread(target=lambda: found.append("".join(model.generate("the", tokens=100, seed=3))))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 4
