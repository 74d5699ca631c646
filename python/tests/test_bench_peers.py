"""The race of training steps with PyTorch, except the speed: who runs, what is kept, tables, the models."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any, Optional

import pytest
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
peers: Any = importlib.import_module("bench_peers")
worker: Any = importlib.import_module("bench_peers_worker")
tools: Any = importlib.import_module("bench_tools")


def _spec(**changes: Any) -> Any:
    plain = {"layer": "torch", "block": "plain", "vocab": 11, "hidden": 4, "layers": 2, "batch": 2, "precision": "f32"}
    more = {"lengths": [3, 5, 2], "packed": False, "compiled": False, "threads": 1, "runs": 2}
    return worker.Spec(**{**plain, **more, **changes})


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("block", ["plain", "transformer"])
@pytest.mark.parametrize("layer", ["torch", "torch dsf", "dsf.nn bptt", "dsf.nn dsf"])
def test_every_model_trains(layer: str, block: str, packed: bool) -> None:
    assert len(worker.train(_spec(layer=layer, block=block, packed=packed))) == 2


@pytest.mark.parametrize("theirs", ["torch", "torch dsf"])
@pytest.mark.parametrize("packed", [False, True])
def test_contestants_compute_the_same(theirs: str, packed: bool) -> None:
    """The same loss and the same gradients: padding counts for nothing, and DSF by a hook is DSF."""
    ours = "dsf.nn dsf" if theirs == "torch dsf" else "dsf.nn bptt"
    found = []
    for layer in (theirs, ours):
        torch.manual_seed(3)
        model = worker.Model(_spec(layer=layer, packed=packed))
        for parameter in model.parameters():
            torch.nn.init.normal_(parameter, generator=torch.Generator().manual_seed(parameter.numel()))
        for name, values in model.named_buffers():
            assert "diagonal" in name or "feedback_a" in name
            values.fill_(0.5)
        torch.manual_seed(4)
        (batch, *_) = worker.make_batches(_spec(packed=packed))
        loss = model(*batch, packed)
        loss.backward()
        grads = {name: p.grad for name, p in model.named_parameters() if "cell" not in name}
        found.append([loss.detach(), grads["embedding.weight"], grads["head.weight"]])
    for actual, expected in zip(*found):
        torch.testing.assert_close(actual, expected, rtol=1e-4, atol=1e-6)


def test_model_has_the_papers_number_of_parameters() -> None:
    spec = _spec(block="transformer", vocab=16000, hidden=512, layers=3)
    with torch.device("meta"):
        count = sum(parameter.numel() for parameter in worker.Model(spec).parameters())
    assert count == pytest.approx(28.2e6, rel=2e-3)


def test_sentences_are_packed_and_padded_and_never_compiled() -> None:
    everybody = peers.contestants(["ptb", "epoch", "layers"], ["f32"])
    assert len(everybody) == len(set(everybody))
    labels = {part: {who.label for who in everybody if who.part == part} for part in ("ptb", "epoch")}
    assert "torch compiled" in labels["ptb"]
    assert {"torch", "torch packed", "dsf bptt"} <= labels["epoch"]
    assert not any("compiled" in label for label in labels["epoch"])
    assert not any("packed" in label for label in labels["ptb"])


class Fake:
    """Stands for Runner.tokens_per_second."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, runner: Any, who: Any) -> tuple[Optional[float], str]:
        self.asked.append(who.label)
        return (None, "no memory") if who.label == "torch dsf" else (100.0 * len(who.label), "")


def _run(tmp_path: Path, fake: Fake, *arguments: str) -> Any:
    options = ["--parts", "ptb", "--precision", "f32", "--no-tuning", "--out", str(tmp_path / "p.jsonl"), *arguments]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(peers.Runner, "tokens_per_second", lambda runner, who: fake(runner, who))
        peers.run_all(peers.parse_options(options))
    return tools.Results(tmp_path / "p.jsonl").records


def test_rounds_go_on_where_they_were(tmp_path: Path) -> None:
    fake = Fake()
    first = _run(tmp_path, fake, "--rounds", "1")
    assert fake.asked == ["torch", "torch compiled", "torch dsf", "dsf.nn bptt", "dsf.nn dsf", "dsf bptt", "dsf dsf"]
    fake.asked.clear()
    both = _run(tmp_path, fake, "--rounds", "2")
    assert "torch dsf" not in fake.asked  # it failed once
    assert sorted(fake.asked) == sorted(set(fake.asked))
    assert len(both) == len(first) + 6
    fake.asked.clear()
    assert _run(tmp_path, fake, "--rounds", "2") == both
    assert fake.asked == []


def test_first_round_is_whole_whatever_the_time(tmp_path: Path) -> None:
    assert len(_run(tmp_path, Fake(), "--rounds", "3", "--seconds", "0")) == 7


def test_report_has_ratios_to_pytorchs_best(tmp_path: Path) -> None:
    records = _run(tmp_path, Fake(), "--rounds", "1")
    text = peers.report(records, tmp_path / "chart")
    best = 100.0 * len("torch compiled")
    assert f"| dsf dsf | 700 | {700 / best:.2f} |" in text
    assert f"| torch compiled | {best:.0f} | 1.00 |" in text
    assert "torch dsf (compiled: False): no memory" in text
    assert {path.name for path in tmp_path.glob("chart*")} == {"chart.svg", "chart.png"}


def test_program_that_measured_another_batch_is_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    runner = peers.Runner(peers.parse_options([]), [])
    answer = {"results": [{"batch": 64, "steps": 64, "tokens_per_second": 5.0}]}
    monkeypatch.setattr(peers.Runner, "_output", lambda *_: (json.dumps(answer), ""))
    who = peers.Contestant("ptb", "f32", "dsf bptt")
    assert runner.tokens_per_second(who) == (None, "measured 64 x 64, not 128 x 64")
    answer["results"][0]["batch"] = 128
    assert runner.tokens_per_second(who) == (5.0, "")


def test_lengths_of_the_treebank(tmp_path: Path) -> None:
    (tmp_path / "ptb.train.txt").write_text("a b c\n\n" + "w " * 100 + "\n")
    options = peers.parse_options(["--ptb", str(tmp_path)])
    assert peers.epoch_lengths(options) == [4, 1, 64]
    assert len(peers.epoch_lengths(peers.parse_options(["--sentences", "10"]))) == 10
