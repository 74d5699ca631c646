"""The speed comparison with PyTorch, except the speed: turns, budgets, files, tables."""

from __future__ import annotations

import importlib
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import torch
from support import assert_all_close, gradients_of

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
sys.path.insert(0, str(SCRIPTS))
tools: Any = importlib.import_module("bench_tools")
layers: Any = importlib.import_module("bench_layers")
tables: Any = importlib.import_module("bench_report")


class Clock:
    """Time that passes only when a contestant runs."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def taking(self, seconds: float, log: list[str], name: str) -> Any:
        def run() -> None:
            self.now += seconds
            log.append(name)

        return run


def test_contestants_take_turns_and_each_round_begins_with_another() -> None:
    clock, log = Clock(), []
    runs = {name: clock.taking(1.0, log, name) for name in "abc"}
    watch = tools.take_turns(runs, seconds=0.0, fewest_rounds=3, clock=clock)
    assert "".join(log) == "abc" + "abc" + "bca" + "cab"  # a run of each before that does not count
    assert watch.summary()["b"] == {"min": 1.0, "median": 1.0, "runs": 3}


def test_turns_end_when_the_time_is_used_up() -> None:
    clock, log = Clock(), []
    tools.take_turns({"a": clock.taking(2.0, log, "a")}, seconds=20.0, clock=clock)
    assert len(log) == 10
    log.clear()
    tools.take_turns({"a": clock.taking(1e-3, log, "a")}, seconds=1e9, most_rounds=7, clock=clock)
    assert len(log) == 8


def test_a_contestant_that_cannot_run_is_noted_and_left_out() -> None:
    def fail() -> None:
        raise RuntimeError("no bf16 here\nand more")

    summary = tools.take_turns({"torch": fail, "dsf": lambda: None}, seconds=0.0).summary()
    assert summary["torch"] == {"error": "no bf16 here"}
    assert summary["dsf"]["runs"] == 3


def test_budget_is_shared_among_what_is_left() -> None:
    clock = Clock()
    budget = tools.Budget(100.0, 4, clock=clock)
    assert budget.next_share() == 25.0
    clock.now = 70.0
    assert budget.next_share() == 10.0
    clock.now = 200.0
    assert budget.next_share() == 0.0


def test_results_survive_a_line_that_was_cut_off(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "deep" / "results.jsonl"
    results = tools.Results(path)
    results.add({"case": {"batch": 1}, "value": 1})
    with path.open("a") as file:
        file.write('{"case": {"batch": 2}, "va')
    again = tools.Results(path)
    assert "line 2 is not whole" in capsys.readouterr().err
    assert again.find({"batch": 1}) == {"case": {"batch": 1}, "value": 1}
    assert again.find({"batch": 2}) is None
    again.add({"case": {"batch": 3}})
    assert [record["case"]["batch"] for record in tools.Results(path).records] == [1, 3]


def test_grid_is_the_one_of_the_documents() -> None:
    cases = layers.all_cases(layers.parse_options(["--parts", "grid"]))
    assert len(cases) == len(set(cases)) == 2 * 4 * 3 * 3
    first, last = cases[0], cases[-1]
    assert (first.batch, first.steps, first.hidden) == (1, 64, 128)
    assert (last.batch, last.steps, last.hidden) == (128, 1024, 512)


def test_unknown_part_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        layers.parse_options(["--parts", "grid,all"])
    assert "'all' is not one of grid, packed, stream, overhead" in capsys.readouterr().err


def test_packed_sentences_have_the_tokens_they_should() -> None:
    lengths = layers.packed_lengths()
    assert len(lengths) == 128
    assert sum(lengths) == 4275
    assert lengths == sorted(lengths, reverse=True)
    assert 1 <= lengths[-1] < 15
    assert 60 < lengths[0] <= 82


@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_contestants_have_the_same_weights(cell: str) -> None:
    found = layers.make_layers(layers.Case("grid", cell, 2, 3, 4))
    x = torch.randn(3, 2, 4, requires_grad=True)
    theirs = gradients_of(found["torch"], x, x, None)
    assert_all_close(gradients_of(found["dsf bptt"], x, x, None), theirs, rtol=1e-5, atol=1e-6)
    assert found["dsf dsf"].feedback == "dsf"


def test_run_resumes_and_reports(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A tiny grid to the end; the second time nothing is left to measure."""
    out, chart = tmp_path / "results.jsonl", tmp_path / "figures" / "layers"
    arguments = [
        "--cells",
        "gru",
        "--batch",
        "1,2",
        "--steps",
        "3",
        "--hidden",
        "4",
        "--seconds",
        "0",
        "--threads",
        "1",
    ]
    arguments += ["--parts", "grid,stream,overhead", "--compile-steps", "0", "--out", str(out)]
    options = layers.parse_options(arguments)
    layers.run_all(options)
    records = tools.Results(out).records
    assert {record["case"]["part"] for record in records} == {"grid", "stream", "overhead"}
    assert all(record["results"]["dsf bptt"]["runs"] >= 3 for record in records if record["case"]["part"] == "grid")
    assert all(record["machine"]["torch"] == torch.__version__ for record in records)
    before = out.read_bytes()
    layers.run_all(options)
    assert out.read_bytes() == before
    capsys.readouterr()
    text = tables.report(records, chart)
    assert "| B=2 T=3 D=4 | torch |" in text
    assert "not tried beyond T = 0 (2 shapes)" in text
    assert {path.name for path in chart.parent.iterdir()} == {"layers-gru-f32.svg", "layers-gru-f32.png"}


def _record(batch: int, busy: bool = False, **times: tuple[float, float]) -> dict[str, Any]:
    names = {"torch": "torch", "compiled": "torch compiled", "bptt": "dsf bptt", "dsf": "dsf dsf"}
    results = {names[key]: {"min": low, "median": middle, "runs": 3} for key, (low, middle) in times.items()}
    machine = {"cpu": "A CPU", "isa": "avx2", "threads": 2, "torch": "2", "dsf": "1", "python": "3", "native": True}
    case = asdict(layers.Case("grid", "gru", batch, 64, 128, busy=busy))
    return {"case": case, "machine": machine, "compile": "yes", "results": results}


def test_ratios_are_of_pytorchs_best_and_of_minima() -> None:
    records = [
        _record(1, torch=(8.0, 9.0), compiled=(4.0, 9.0), bptt=(2.0, 3.0), dsf=(1.0, 3.0)),
        _record(8, torch=(8.0, 9.0), bptt=(1.0, 3.0), dsf=(4.0, 3.0)),
    ]
    row = tables.row_of(records[0])
    assert (row.setting, row.ratio("dsf bptt"), row.ratio("dsf dsf")) == ("torch compiled", 2.0, 4.0)
    text = tables.report(records)
    assert "| grid, GRU, f32, `bptt` | 4.00 | 2.00 (B=1 T=64 D=128) | 8.00 (B=8 T=64 D=128) | 2 |" in text
    assert "| grid, GRU, f32, `dsf` | 2.83 | 2.00 (B=8 T=64 D=128) | 4.00 (B=1 T=64 D=128) | 2 |" in text
    assert "A CPU (avx2), 2 threads" in text


def test_medians_count_beside_a_busy_process() -> None:
    row = tables.row_of(_record(1, busy=True, torch=(1.0, 9.0), bptt=(1.0, 3.0)))
    assert row.ratio("dsf bptt") == 3.0


def test_what_pytorch_cannot_run_is_said() -> None:
    record = _record(1, bptt=(2.0, 3.0))
    record["results"]["torch"] = {"error": "no bf16 here"}
    text = tables.report([record])
    assert tables.row_of(record) is None
    assert "B=1 T=64 D=128: torch could not run: no bf16 here" in text


def test_time_inside_a_library_is_added_up(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(layers.time, "perf_counter", clock)

    class Library:
        def work(self, value: int) -> int:
            clock.now += 2.0
            return value + 1

    timed = layers.TimedCalls(Library())
    assert timed.work(1) == 2
    clock.now += 5.0
    assert timed.work(2) == 3
    assert timed.seconds == 4.0


def test_busy_process_ends_with_its_block() -> None:
    import subprocess

    started: list[subprocess.Popen[bytes]] = []
    original = subprocess.Popen

    def watched(*arguments: Any, **options: Any) -> Any:
        started.append(original(*arguments, **options))
        return started[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tools.subprocess, "Popen", watched)
        with tools.busy_process(True):
            assert started[0].poll() is None
        with tools.busy_process(False):
            pass
    assert len(started) == 1
    assert started[0].poll() is not None


def test_cpu_is_named_with_its_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DSF_MAX_ISA", raising=False)
    info = tmp_path / "cpuinfo"
    info.write_text("processor : 0\nmodel name\t: A CPU @ 2 GHz\nflags\t: fpu avx2 avx512f amx_bf16\n")
    assert tools.cpu_description(info) == {"cpu": "A CPU @ 2 GHz", "isa": "avx2 avx512f amx_bf16"}
    assert json.dumps(tools.cpu_description())
    monkeypatch.setenv("DSF_MAX_ISA", "avx2")
    assert tools.cpu_description(info)["isa"] == "avx2 avx512f amx_bf16 limited to avx2"
