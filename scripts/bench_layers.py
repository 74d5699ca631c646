#!/usr/bin/env python3
"""The layers of dsf.nn against those of torch.nn, forward and backward, taking turns in one process.

    make bench-layers [ARGS="..."]
    scripts/bench_layers.py [--cells gru,lstm] [--batch 1,8,32,128] [--steps 64,256,1024] [--hidden 128,256,512]
                            [--dtype f32|bf16] [--busy] [--parts grid,packed,stream,overhead] [--seconds 900]
                            [--out build/bench_layers.jsonl]
    scripts/bench_layers.py --report [--out FILE] [--chart docs/figures/layers]

PyTorch counts with its best: eager, or torch.compile if that is faster. The compiler unrolls time, and from T = 64 on
that takes it minutes. So it is tried in a process of its own for at most --compile-seconds per shape, for shapes of at
most --compile-steps steps, smallest first, until --compile-budget is used up; the report says how often it was tried.
bf16 is autocast for both sides. Minima and medians go to --out line by line: an interrupted run goes on where it was,
and --report makes the tables and the charts.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Optional

from bench_report import report
from bench_tools import Budget, Record, Results, busy_process, cpu_description, say, sentence_lengths, take_turns

if TYPE_CHECKING:
    from torch import nn

PARTS = ("grid", "packed", "stream", "overhead")
FEEDBACKS = ("bptt", "dsf")
PACKED_BATCH, PACKED_HIDDEN, PACKED_TOKENS, LONGEST_SENTENCE = 128, 256, 4275, 82
STREAM_CALLS = 200  # of one step each, timed together
OVERHEAD_SHAPE = (32, 256, 128)


@dataclass(frozen=True)
class Case:
    """One line of a table."""

    part: str
    cell: str
    batch: int
    steps: int
    hidden: int
    dtype: str = "f32"
    busy: bool = False

    def __str__(self) -> str:
        text = f"{self.part} {self.cell} B={self.batch} T={self.steps} D={self.hidden} {self.dtype}"
        return text + (" busy" if self.busy else "")


def all_cases(options: argparse.Namespace) -> list[Case]:
    """What the options ask for, the smallest shapes first."""
    more = {"dtype": options.dtype, "busy": options.busy}
    cases = []
    for cell in options.cells:
        if "grid" in options.parts:
            shapes = [(b, t, d) for b in options.batch for t in options.steps for d in options.hidden]
            cases += [Case("grid", cell, *shape, **more) for shape in shapes]
        if "packed" in options.parts:
            cases.append(Case("packed", cell, PACKED_BATCH, LONGEST_SENTENCE, PACKED_HIDDEN, **more))
        if "stream" in options.parts:
            cases += [Case("stream", cell, 1, 1, hidden, **more) for hidden in options.hidden]
        if "overhead" in options.parts:
            cases.append(Case("overhead", cell, *OVERHEAD_SHAPE, **more))
    return sorted(cases, key=lambda case: case.batch * case.steps * case.hidden**2)


# --- one case ----------------------------------------------------------------------------------------------------


def _autocast(case: Case) -> AbstractContextManager[Any]:
    import torch

    return torch.autocast("cpu", dtype=torch.bfloat16) if case.dtype == "bf16" else nullcontext()


def make_layers(case: Case) -> dict[str, nn.Module]:
    """torch.nn's layer and dsf.nn's with the same weights, one for each feedback."""
    import torch

    import dsf.nn

    torch.manual_seed(1)
    theirs: nn.Module = {"gru": torch.nn.GRU, "lstm": torch.nn.LSTM}[case.cell](case.hidden, case.hidden)
    layers = {"torch": theirs}
    for feedback in FEEDBACKS:
        ours = {"gru": dsf.nn.GRU, "lstm": dsf.nn.LSTM}[case.cell](case.hidden, case.hidden, feedback=feedback)
        ours.load_state_dict(theirs.state_dict())
        layers[f"dsf {feedback}"] = ours
    return layers


def packed_lengths() -> list[int]:
    """128 sentences of 4,275 tokens together, the longest first."""
    mean = PACKED_TOKENS / PACKED_BATCH
    lengths = sentence_lengths(PACKED_BATCH, mean, LONGEST_SENTENCE)
    while sum(lengths) != PACKED_TOKENS:  # the draw is near; what is missing is spread from the front
        step = 1 if sum(lengths) < PACKED_TOKENS else -1
        for index in range(min(len(lengths), abs(PACKED_TOKENS - sum(lengths)))):
            lengths[index] = min(max(lengths[index] + step, 1), LONGEST_SENTENCE)
    return sorted(lengths, reverse=True)


def forward_and_backward(layer: Any, case: Case, packed: bool = False) -> Callable[[], None]:
    """One pass with gradients of the input and of all weights, as inside a network."""
    import torch
    from torch.nn.utils.rnn import pack_padded_sequence

    torch.manual_seed(2)
    lengths = torch.tensor(packed_lengths()) if case.part == "packed" else None
    steps = int(lengths[0]) if lengths is not None else case.steps
    x = torch.randn(steps, case.batch, case.hidden, requires_grad=True)
    wanted = [x, *layer.parameters()]
    packing = lengths if packed else None
    shape = (steps, case.batch, case.hidden) if packing is None else (PACKED_TOKENS, case.hidden)
    errors = torch.randn(shape).to(torch.bfloat16 if case.dtype == "bf16" else torch.float32)

    def run() -> None:
        with _autocast(case):
            output = layer(x if packing is None else pack_padded_sequence(x, packing))[0]
            output = output if packing is None else output.data
        torch.autograd.grad(output, wanted, errors)

    return run


def stream(layer: Any, case: Case) -> Callable[[], None]:
    """Calls of one step without gradients, each starting from the state of the one before."""
    import torch

    x = torch.randn(1, 1, case.hidden)
    layer.eval()

    def run() -> None:
        state = None
        with torch.no_grad(), _autocast(case):
            for _ in range(STREAM_CALLS):
                _, state = layer(x, state)

    return run


def contestants_of(case: Case, compiled: bool) -> dict[str, Callable[[], None]]:
    """Who takes turns."""
    layers = make_layers(case)
    if case.part == "stream":
        return {name: stream(layer, case) for name, layer in layers.items()}
    if case.part == "packed":
        found = {name: forward_and_backward(layer, case, packed=True) for name, layer in layers.items()}
        found["torch padded"] = forward_and_backward(layers["torch"], case)
        return found
    found = {name: forward_and_backward(layer, case) for name, layer in layers.items()}
    if compiled:
        found["torch compiled"] = forward_and_backward(compiled_layer(layers["torch"]), case)
    return found


# --- torch.compile -----------------------------------------------------------------------------------------------


def compiled_layer(layer: nn.Module) -> Any:
    """torch.nn's layer as one graph. Without allow_rnn the compiler leaves it to eager PyTorch."""
    import torch
    import torch._dynamo

    torch._dynamo.config.allow_rnn = True
    return _Compiled(layer, torch.compile(layer, dynamic=False))


class _Compiled:
    """The compiled call with the parameters of the layer."""

    def __init__(self, layer: nn.Module, call: Any) -> None:
        self.parameters, self._call = layer.parameters, call

    def __call__(self, *arguments: Any) -> Any:
        return self._call(*arguments)


def compiling_pays(case: Case, options: argparse.Namespace, seconds: float) -> str:
    """ "yes", "no" (slower than eager), or why it could not be found out. The process leaves PyTorch's cache behind, so
    that compiling again takes seconds."""
    command = [sys.executable, __file__, "--probe", json.dumps(asdict(case)), "--threads", str(options.threads)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return f"took more than {seconds:.0f} s"
    if done.returncode != 0:
        return "failed: " + (done.stderr.strip().splitlines() or ["no message"])[-1]
    times = json.loads(done.stdout.splitlines()[-1])
    return "yes" if times["compiled"] < times["eager"] else "no"


def probe(case: Case) -> dict[str, float]:
    """The minima of eager and of compiled PyTorch."""
    layer = make_layers(case)["torch"]
    runs = {
        "eager": forward_and_backward(layer, case),
        "compiled": forward_and_backward(compiled_layer(layer), case),
    }
    summary = take_turns(runs, seconds=1.0).summary()
    return {name: values["min"] for name, values in summary.items()}


class Compiler:
    """Decides for which shapes torch.compile runs, within its own time."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._left = options.compile_budget

    def verdict(self, case: Case) -> str:
        """See compiling_pays."""
        if case.part != "grid":
            return "not tried"
        if case.steps > self._options.compile_steps:
            return f"not tried beyond T = {self._options.compile_steps}"
        if self._left <= 1:
            return "not tried, the time for it was used up"
        begin = time.monotonic()
        answer = compiling_pays(case, self._options, min(self._left, self._options.compile_seconds))
        self._left -= time.monotonic() - begin
        return answer


# --- what the layer adds -----------------------------------------------------------------------------------------


class TimedCalls:
    """Stands for a library and adds up the time spent inside its functions."""

    def __init__(self, library: Any) -> None:
        self._library = library
        self.seconds = 0.0

    def __getattr__(self, name: str) -> Any:
        function = getattr(self._library, name)

        def timed(*arguments: Any) -> Any:
            begin = time.perf_counter()
            try:
                return function(*arguments)
            finally:
                self.seconds += time.perf_counter() - begin

        return timed


def measure_overhead(case: Case, seconds: float) -> dict[str, dict[str, Any]]:
    """For each feedback the pass whose share of time outside of the native functions is the median, and that time."""
    from dsf.nn import _native

    library = getattr(_native, "_loaded", None)
    if library is None:
        return {f"dsf {feedback}": {"error": "the native part is not there"} for feedback in FEEDBACKS}
    layers = make_layers(case)
    timed = TimedCalls(library)
    _native._loaded = timed  # type: ignore[assignment]
    try:
        found = {}
        for feedback in FEEDBACKS:
            run = forward_and_backward(layers[f"dsf {feedback}"], case)
            run()
            samples: list[tuple[float, float]] = []
            end = time.monotonic() + seconds / len(FEEDBACKS)
            while len(samples) < 3 or (time.monotonic() < end and len(samples) < 200):
                timed.seconds = 0.0
                begin = time.perf_counter()
                run()
                whole = time.perf_counter() - begin
                samples.append((whole, whole - timed.seconds))
            samples.sort(key=lambda sample: sample[1] / sample[0])
            whole, outside = samples[len(samples) // 2]
            fastest = min(sample[0] for sample in samples)
            found[f"dsf {feedback}"] = {"min": fastest, "median": whole, "runs": len(samples), "outside": outside}
        return found
    finally:
        _native._loaded = library


# --- the run -----------------------------------------------------------------------------------------------------


def machine(threads: int) -> dict[str, Any]:
    """What the figures depend on."""
    import torch

    import dsf

    return {
        **cpu_description(),
        "threads": threads,
        "torch": torch.__version__,
        "dsf": dsf.__version__,
        "python": sys.version.split()[0],
        "native": _native_is_there(),
    }


def _native_is_there() -> bool:
    from dsf.nn import _native

    return getattr(_native, "_loaded", None) is not None


def measure(case: Case, seconds: float, compile_verdict: str) -> dict[str, dict[str, Any]]:
    """Minimum and median of every contestant."""
    with busy_process(case.busy):
        if case.part == "overhead":
            return measure_overhead(case, seconds)
        summary = take_turns(contestants_of(case, compile_verdict == "yes"), seconds).summary()
    if case.part == "stream":
        for values in summary.values():
            values.update({name: values[name] / STREAM_CALLS for name in ("min", "median") if name in values})
    return summary


def run_all(options: argparse.Namespace) -> None:
    """Measures what is not in the file yet."""
    import torch

    torch.set_num_threads(options.threads)
    results = Results(options.out)
    here = machine(options.threads)
    if not here["native"]:
        say("dsf.nn has no native part here: its layers work through PyTorch operations, and so do these figures")
    cases = [case for case in all_cases(options) if results.find(asdict(case)) is None]
    budget, compiler = Budget(options.seconds, len(cases)), Compiler(options)
    for number, case in enumerate(cases, 1):
        say(f"{number} of {len(cases)}: {case}")
        begin = time.monotonic()
        verdict = compiler.verdict(case)
        probed = time.monotonic() - begin
        found = measure(case, max(0.0, budget.next_share() - probed), verdict)
        record: Record = {"case": asdict(case), "machine": here, "compile": verdict, "results": found}
        results.add(record)


def _numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def _words(known: Sequence[str]) -> Callable[[str], list[str]]:
    def parse(text: str) -> list[str]:
        words = text.split(",")
        for word in words:
            if word not in known:
                raise argparse.ArgumentTypeError(f"{word!r} is not one of {', '.join(known)}")
        return words

    return parse


def parse_options(arguments: Optional[Sequence[str]] = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", type=_words(("gru", "lstm")), default=["gru", "lstm"])
    parser.add_argument("--batch", type=_numbers, default=[1, 8, 32, 128])
    parser.add_argument("--steps", type=_numbers, default=[64, 256, 1024])
    parser.add_argument("--hidden", type=_numbers, default=[128, 256, 512])
    parser.add_argument("--dtype", choices=("f32", "bf16"), default="f32")
    parser.add_argument("--parts", type=_words(PARTS), default=list(PARTS), help="grid,packed,stream,overhead")
    parser.add_argument("--busy", action="store_true", help="with one busy process beside")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--seconds", type=float, default=900.0, help="about how long all of it may take")
    parser.add_argument("--compile-steps", type=int, default=64, help="torch.compile: for at most so many steps")
    parser.add_argument("--compile-seconds", type=float, default=90.0, help="torch.compile: at most, per shape")
    parser.add_argument("--compile-budget", type=float, default=240.0, help="torch.compile: at most, all shapes")
    parser.add_argument("--out", type=Path, default=Path("build/bench_layers.jsonl"), help="results, line by line")
    parser.add_argument("--report", action="store_true", help="print the tables of what --out holds; measure nothing")
    parser.add_argument("--chart", type=Path, help="with --report: also write CHART-*.svg and .png")
    parser.add_argument("--probe", help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def main() -> None:
    """Measures, or reports."""
    options = parse_options()
    if options.probe:
        import torch

        torch.set_num_threads(options.threads)
        print(json.dumps(probe(Case(**json.loads(options.probe)))))
    elif options.report:
        print(report(Results(options.out).records, options.chart))
    else:
        run_all(options)
        print(report(Results(options.out).records, options.chart))


if __name__ == "__main__":
    main()
