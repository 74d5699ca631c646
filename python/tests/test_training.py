"""dsf.train: the same runs as the program's, callbacks, Ctrl-C, and errors as exceptions."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from program import SMALL, as_flags, dsf_json, needs_native, needs_program, write_text
from program import dsf as dsf_program

import dsf

pytestmark = needs_native

# Seconds and speeds differ from run to run, and so do the threads.
TIMES = ("second", "peak_mb", "commit", "version", "threads")


def without_times(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: v for key, v in line.items() if not any(word in key for word in TIMES)} for line in lines]


@pytest.fixture
def text(tmp_path: Path) -> Path:
    return write_text(tmp_path / "text.txt")


@needs_program
def test_run_equals_the_programs(tmp_path: Path, text: Path) -> None:
    run = dsf.train(text, out=tmp_path / "python", **SMALL)
    done = dsf_program("train", "--data", text, "--out", tmp_path / "program", "--quiet", *as_flags(SMALL))
    assert done.returncode == 0, done.stderr
    assert without_times(run.log()) == without_times(dsf.log(tmp_path / "program"))
    configs = [(tmp_path / name / "config.toml").read_text() for name in ("python", "program")]
    assert configs[0] == configs[1]
    assert run.summary["event"] == "done"
    assert run.summary["steps"] == 30
    assert run.summary == run.log("done")[0]


def test_keys_can_be_given_in_sections(tmp_path: Path, text: Path) -> None:
    keys = {key: value for key, value in SMALL.items() if key not in ("lr", "hidden", "steps")}
    run = dsf.train(
        text,
        out=tmp_path / "run",
        model={"hidden": 8},
        feedback={"method": "ft", "range": [0.25, 0.5]},
        **{"train.lr": 0.02, "steps": 1, "epochs": 3},
        **keys,
    )
    config = run.load().config
    assert (config["model"]["hidden"], config["train"]["lr"], config["feedback"]["method"]) == (8, 0.02, "ft")
    assert config["feedback"]["range"] == [0.25, 0.5]
    assert run.summary["steps"] == 1  # steps count, in whatever order they stand beside epochs


def test_keywords_precede_a_file(tmp_path: Path, text: Path) -> None:
    (tmp_path / "config.toml").write_text("[model]\nhidden = 24\nlayers = 2\n")
    keys = {key: value for key, value in SMALL.items() if key not in ("hidden", "layers")}
    run = dsf.train(text, out=tmp_path / "run", config=tmp_path / "config.toml", hidden=8, **{**keys, "steps": 1})
    assert (run.load().config["model"]["hidden"], run.load().config["model"]["layers"]) == (8, 2)


@pytest.mark.parametrize(
    ("keys", "kind", "sentence"),
    [
        ({"hiden": 3}, dsf.ConfigError, 'unknown key "hiden"; did you mean "hidden"?'),
        ({"model.hiden": 3}, dsf.ConfigError, 'unknown key "model.hiden"; did you mean "hidden"?'),
        ({"hidden": "wide"}, dsf.ConfigError, "model.hidden = wide: must be a whole number"),
        ({"feedback": "dfs"}, dsf.ConfigError, "feedback.method"),
        ({"lr": -1}, dsf.ConfigError, "must be a number above 0"),
        ({"data": "/none/such.txt"}, dsf.DataError, "/none/such.txt"),
        ({"resume": True}, dsf.UsageError, "run"),
        ({"resume": True, "force": True}, dsf.UsageError, "give one of the two"),
    ],
)
def test_what_is_wrong_is_said(
    tmp_path: Path, text: Path, keys: dict[str, Any], kind: type[Exception], sentence: str
) -> None:
    given = {"data": text, **SMALL, **keys}
    with pytest.raises(kind) as caught:
        dsf.train(out=tmp_path / "run", **given)
    assert sentence in str(caught.value)
    assert isinstance(caught.value, (dsf.Error, ValueError))
    assert not (tmp_path / "run").exists()


def test_a_run_is_replaced_only_by_force(tmp_path: Path, text: Path) -> None:
    keys = {**SMALL, "steps": 2}
    dsf.train(text, out=tmp_path / "run", **keys)
    with pytest.raises(dsf.UsageError, match="--force"):
        dsf.train(text, out=tmp_path / "run", **keys)
    assert dsf.train(text, out=tmp_path / "run", force=True, **keys).summary["steps"] == 2


def test_callbacks_see_every_step_and_evaluation(tmp_path: Path, text: Path) -> None:
    steps: list[dict[str, Any]] = []
    evaluations: list[dict[str, Any]] = []
    run = dsf.train(text, out=tmp_path / "run", on_step=steps.append, on_eval=evaluations.append, **SMALL)
    assert [report["step"] for report in steps] == list(range(1, 31))
    assert evaluations == run.log("eval")
    assert len(evaluations) == 3
    assert evaluations[-1]["loss"] < evaluations[0]["loss"]


def test_a_callback_stops_the_run_and_resume_goes_on(tmp_path: Path, text: Path) -> None:
    whole = dsf.train(text, out=tmp_path / "whole", **SMALL)
    stopped = dsf.train(text, out=tmp_path / "run", on_step=lambda report: report["step"] == 7, **SMALL)
    assert stopped.summary["event"] == "interrupted"
    assert stopped.summary["steps"] == 7
    resumed = dsf.train(out=tmp_path / "run", resume=True)
    assert without_times(resumed.log("eval")) == without_times(whole.log("eval"))
    assert resumed.summary["best_loss"] == whole.summary["best_loss"]


def test_what_a_callback_raises_is_raised_when_the_run_is_saved(tmp_path: Path, text: Path) -> None:
    def fail(report: dict[str, Any]) -> None:
        raise LookupError(f"at {report['step']}")

    with pytest.raises(LookupError, match="at 10"):
        dsf.train(text, out=tmp_path / "run", on_eval=fail, **SMALL)
    assert dsf.runs(tmp_path)[0]["state"] == "interrupted"
    assert dsf.train(out=tmp_path / "run", resume=True).summary["steps"] == 30


def test_ctrl_c_saves_and_raises(tmp_path: Path, text: Path) -> None:
    code = (
        "import signal, sys, dsf\n"
        # A shell that starts the tests in the background has had the signal ignored.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "try:\n"
        "    dsf.train(sys.argv[1], out=sys.argv[2], on_step=lambda r: print(r['step'], flush=True),\n"
        f"              **{ {**SMALL, 'steps': 10_000_000, 'eval_every': 0} })\n"
        "except KeyboardInterrupt:\n"
        "    print('saved', dsf.runs(sys.argv[2])[0]['state'])\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", code, str(text), str(tmp_path / "run")], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    while child.stdout.readline().strip() != "5":
        pass
    child.send_signal(signal.SIGINT)
    said, _ = child.communicate(timeout=60)
    assert said.splitlines()[-1] == "saved interrupted"
    assert child.returncode == 0


def test_it_is_silent_unless_asked(tmp_path: Path, text: Path, capfd: pytest.CaptureFixture[str]) -> None:
    dsf.train(text, out=tmp_path / "silent", **{**SMALL, "steps": 3})
    assert capfd.readouterr() == ("", "")
    dsf.train(text, out=tmp_path / "verbose", verbose=True, **{**SMALL, "steps": 3})
    assert "step" in capfd.readouterr().err


def test_other_threads_go_on_meanwhile(tmp_path: Path, text: Path) -> None:
    """The GIL is released: another thread counts while this one trains."""
    counted = 0
    finished = threading.Event()

    def count() -> None:
        nonlocal counted
        while not finished.wait(0.001):
            counted += 1

    thread = threading.Thread(target=count)
    thread.start()
    dsf.train(text, out=tmp_path / "run", **{**SMALL, "steps": 300, "hidden": 64})
    finished.set()
    thread.join()
    assert counted > 3


def test_denormal_numbers_stay_pythons(tmp_path: Path, text: Path) -> None:
    """The library computes without them; Python has them in callbacks and afterwards."""
    denormal = 5e-324
    seen: list[float] = []
    dsf.train(text, out=tmp_path / "run", on_step=lambda _: seen.append(denormal * 1.0), **{**SMALL, "steps": 2})
    assert seen == [denormal, denormal]
    assert denormal * 1.0 == denormal > 0.0


def test_warnings_are_pythons(tmp_path: Path) -> None:
    text = tmp_path / "long.txt"
    text.write_text(("word " * 200 + "\n") * 50)
    keys = {**SMALL, "batching": "sentences", "tokenizer": "word", "steps": 1}
    with pytest.warns(dsf.RunWarning, match="tokens are left out"):
        dsf.train(text, out=tmp_path / "run", **keys)


@needs_program
def test_runs_and_log_are_what_the_program_says(tmp_path: Path, text: Path) -> None:
    for name in ("a", "b"):
        dsf.train(text, out=tmp_path / "runs" / name, **{**SMALL, "steps": 10})
    assert dsf.runs(tmp_path / "runs") == dsf_json("runs", tmp_path / "runs")
    assert [Path(run["run"]).name for run in dsf.runs(tmp_path)] == ["a", "b"]
    lines = (tmp_path / "runs" / "a" / "log.jsonl").read_text().splitlines()
    assert dsf.log(tmp_path / "runs" / "a") == [json.loads(line) for line in lines]
    assert {line["event"] for line in dsf.log(tmp_path / "runs" / "a", "eval")} == {"eval"}
    with pytest.raises(dsf.UsageError, match="none"):
        dsf.log(tmp_path / "none")


def test_tensorboard_reads_the_events(tmp_path: Path, text: Path) -> None:
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    run = dsf.train(text, out=tmp_path / "run", tensorboard=True, **SMALL)
    events = accumulator.EventAccumulator(str(run.path / "tensorboard"))
    events.Reload()
    told = {point.step: point.value for point in events.Scalars("valid/loss")}
    logged = {line["step"]: line["loss"] for line in run.log("eval")}
    assert told == pytest.approx(logged, rel=1e-6)
    assert [point.step for point in events.Scalars("train/loss")] == [line["step"] for line in run.log("train")]
