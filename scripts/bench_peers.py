#!/usr/bin/env python3
"""Training steps of the paper's models in PyTorch and in dsf, contestants taking turns.

    make bench-peers [ARGS="..."]
    scripts/bench_peers.py [--parts ptb,wikitext,epoch,layers] [--precision f32,bf16] [--rounds 3] [--seconds 1800]
                           [--ptb DIR] [--out build/bench_peers.jsonl] [--report] [--chart docs/figures/peers]

    ptb        3 layers of 256 GRU units, 10,000 words, 128 x 64 tokens
    wikitext   3 transformer-like layers of 512, 16,000 sub-words, 32 x 256 tokens
    epoch      sentences of unequal length through the first model: those of the Penn Treebank (--ptb), or drawn like
               them; PyTorch both padded and as a PackedSequence (dsf packs them)
    layers     single layers: scripts/bench_layers.py with its defaults

PyTorch runs nn.GRU with autograd, eager and compiled (torch.compile leaves the layers themselves to eager PyTorch; it
is not tried on sentences, whose lengths change with every batch), DSF as a PyTorch user would write it, and the layers
of dsf.nn. It gets its best chance: first the environment is tuned for each precision, one variable after the other.
Each contestant is a process of its own and runs once per round. Ratios are of tokens per second, same precision, to
the fastest of PyTorch's own. Results go to --out line by line: an interrupted run goes on where it was.

PyTorch is that of the Python that runs this script: build/venv with PyTorch 2.13.0 (`make bench-peers`), or Debian's.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Optional

from bench_tools import Record, Results, bar_chart, cpu_description, markdown_table, say, sentence_lengths

SCRIPTS = Path(__file__).resolve().parent
PARTS = ("ptb", "wikitext", "epoch", "layers")
LONGEST_SENTENCE = 64
RUNS = 3  # passes of one process


@dataclass(frozen=True)
class Workload:
    """A model and its batch."""

    config: str  # its name in dsf bench
    block: str
    vocab: int
    hidden: int
    batch: int
    steps: int


WORKLOADS = {
    "ptb": Workload("ptb_3L256", "plain", 10000, 256, 128, 64),
    "wikitext": Workload("wikitext_3L512", "transformer", 16000, 512, 32, 256),
    "epoch": Workload("ptb_3L256", "plain", 10000, 256, 128, LONGEST_SENTENCE),
}


@dataclass(frozen=True)
class Contestant:
    """Who runs one part in one precision."""

    part: str
    precision: str
    name: str  # "torch", "torch dsf", "dsf.nn bptt", ... or "dsf bptt", "dsf dsf": the program
    compiled: bool = False
    packed: bool = False

    @property
    def is_program(self) -> bool:
        """Whether it is `dsf bench`."""
        return self.name in ("dsf bptt", "dsf dsf")

    @property
    def label(self) -> str:
        """As the tables name it."""
        return self.name + (" compiled" if self.compiled else "") + (" packed" if self.packed else "")


def contestants(parts: Sequence[str], precisions: Sequence[str]) -> list[Contestant]:
    """All of them, in the order of the first round."""
    found = []
    for part in parts:
        if part == "layers":
            continue
        for precision in precisions:
            for name in ("torch", "torch dsf", "dsf.nn bptt", "dsf.nn dsf"):
                found.append(Contestant(part, precision, name))
                if part == "epoch":
                    found.append(Contestant(part, precision, name, packed=True))
                elif name == "torch":
                    found.append(Contestant(part, precision, name, compiled=True))
            found += [Contestant(part, precision, f"dsf {method}") for method in ("bptt", "dsf")]
    return found


# --- running ----------------------------------------------------------------------------------------------------


@dataclass
class Runner:
    """Runs contestants as processes."""

    options: argparse.Namespace
    lengths: list[int]
    environments: dict[str, dict[str, str]] = field(default_factory=dict)
    torch_version: str = ""

    def workload(self, part: str) -> Workload:
        """With the sizes that the command line asks for."""
        own = WORKLOADS[part]
        batch, steps = self.options.batch or own.batch, self.options.steps or own.steps
        return Workload(own.config, own.block, own.vocab, own.hidden, batch, steps)

    def tokens_per_second(self, who: Contestant) -> tuple[Optional[float], str]:
        """The rate, or None and why not."""
        return self._program(who) if who.is_program else self._torch(who, self.environments.get(who.precision, {}))

    def _torch(self, who: Contestant, environment: dict[str, str]) -> tuple[Optional[float], str]:
        work = self.workload(who.part)
        lengths = self.lengths if who.part == "epoch" else [work.steps] * work.batch
        spec = {
            "layer": who.name,
            "block": work.block,
            "vocab": work.vocab,
            "hidden": work.hidden,
            "layers": 3,
            "batch": work.batch,
            "lengths": lengths,
            "precision": who.precision,
            "packed": who.packed,
            "compiled": who.compiled,
            "threads": self.options.threads,
            "runs": RUNS,
        }
        command = [sys.executable, str(SCRIPTS / "bench_peers_worker.py"), json.dumps(spec)]
        text, error = self._output(command, environment)
        if text is None:
            return None, error
        found = json.loads(text.splitlines()[-1])
        self.torch_version = found["torch"]
        return sum(lengths) / statistics.median(found["seconds"]), ""

    def _program(self, who: Contestant) -> tuple[Optional[float], str]:
        work = self.workload(who.part)
        command = [str(self.options.dsf), "bench", "epoch" if who.part == "epoch" else "step", "--json"]
        command += ["--only", work.config, "--precision", who.precision, "--method", who.name.split()[1]]
        command += ["--batch", str(work.batch), "--threads", str(self.options.threads)]
        command += ["--seconds", str(self.options.program_seconds)]
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            if who.part == "epoch":
                file.write("".join(f"{length}\n" for length in self.lengths))
                file.flush()
                command += ["--lengths", file.name]
            else:
                command += ["--steps", str(work.steps)]
            text, error = self._output(command, {})
        if text is None:
            return None, error
        (result,) = json.loads(text)["results"]
        if who.part != "epoch" and (result["batch"], result["steps"]) != (work.batch, work.steps):
            return None, f"measured {result['batch']} x {result['steps']}, not {work.batch} x {work.steps}"
        return float(result["tokens_per_second"]), ""

    def _output(self, command: list[str], environment: dict[str, str]) -> tuple[Optional[str], str]:
        try:
            done = subprocess.run(
                command,
                env={**os.environ, **environment},
                capture_output=True,
                text=True,
                timeout=self.options.timeout,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return None, f"took more than {self.options.timeout:.0f} s"
        if done.returncode != 0:
            return None, (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        return done.stdout, ""

    def tune(self, precision: str) -> dict[str, str]:
        """The environment in which nn.GRU is fastest on the first part that is run."""
        part = next((part for part in self.options.parts if part != "layers"), "ptb")
        who = Contestant(part, precision, "torch", packed=part == "epoch")
        environment: dict[str, str] = {}
        best, _ = self._torch(who, environment)
        for choices in tuning_axes():
            for choice in choices:
                rate, _ = self._torch(who, {**environment, **choice})
                if rate is not None and (best is None or rate > best):
                    best, environment = rate, {**environment, **choice}
        return environment


def tuning_axes() -> list[list[dict[str, str]]]:
    """What is tried in place of the defaults, one axis after the other: lists of environments."""
    large = str(1 << 30)
    keep_memory = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": large, "MALLOC_TOP_PAD_": large}
    axes = [[keep_memory], [{"OMP_WAIT_POLICY": "PASSIVE"}]]
    openmp_blas = "/usr/lib/x86_64-linux-gnu/openblas-openmp"
    if sys.prefix == sys.base_prefix and os.path.isdir(openmp_blas):  # Debian's PyTorch multiplies with OpenBLAS
        isa = cpu_description()["isa"].split()
        cores = {"avx512_bf16": "Cooperlake", "avx512f": "SkylakeX", "avx2": "Haswell"}
        axes.append([{"OPENBLAS_CORETYPE": core} for flag, core in cores.items() if flag in isa])
        axes.append([{"LD_LIBRARY_PATH": openmp_blas}])
    return axes


def epoch_lengths(options: argparse.Namespace) -> list[int]:
    """Tokens of each sentence, its end counted, cut at the context."""
    if options.ptb is None:
        return sentence_lengths(options.sentences or 2048, 22.0, LONGEST_SENTENCE)
    lines = (options.ptb / "ptb.train.txt").read_text(encoding="utf-8").splitlines()
    lengths = [min(len(line.split()) + 1, LONGEST_SENTENCE) for line in lines]
    return lengths[: options.sentences] if options.sentences else lengths


def run_all(options: argparse.Namespace) -> None:
    """Measures what is not in the file yet, round by round, until the time is used up."""
    results = Results(options.out)
    runner = Runner(options, epoch_lengths(options))
    end = time.monotonic() + options.seconds
    everybody = contestants(options.parts, options.precision)
    if everybody:
        for precision in options.precision:
            runner.environments[precision] = tuned(results, runner, precision)
    given_up = {key_of(record["case"]) for record in results.records if record.get("error")}
    for number in range(options.rounds):
        shift = number % max(1, len(everybody))
        for who in everybody[shift:] + everybody[:shift]:
            case = {**asdict(who), "round": number}
            if results.find(case) is not None or key_of(case) in given_up:
                continue
            if time.monotonic() > end and number > 0:
                say("the time is used up; run again to go on")
                return
            rate, error = runner.tokens_per_second(who)
            say(f"round {number + 1}, {who.part}, {who.precision}, {who.label}: {error or f'{rate:.0f} tokens/s'}")
            machine = {**cpu_description(), "threads": options.threads, "torch": runner.torch_version}
            record: Record = {"case": case, "machine": machine, "tokens_per_second": rate, "error": error}
            results.add(record)
            if error:
                given_up.add(key_of(case))


def key_of(case: dict[str, Any]) -> str:
    """The contestant of a case, whatever the round."""
    return json.dumps({name: value for name, value in case.items() if name != "round"}, sort_keys=True)


def tuned(results: Results, runner: Runner, precision: str) -> dict[str, str]:
    """The environment for PyTorch, found once."""
    case = {"part": "tuning", "precision": precision}
    record = results.find(case)
    if record is None:
        if runner.options.no_tuning:
            return {}
        say(f"tuning PyTorch's environment for {precision}")
        record = {"case": case, "environment": runner.tune(precision)}
        results.add(record)
    environment: dict[str, str] = record["environment"]
    return environment


# --- the report -------------------------------------------------------------------------------------------------


def medians(records: Sequence[Record]) -> dict[tuple[str, str], dict[str, float]]:
    """Tokens per second by part and precision, then by contestant."""
    samples: dict[tuple[str, str], dict[str, list[float]]] = {}
    for record in records:
        if record.get("tokens_per_second"):
            case = {name: value for name, value in record["case"].items() if name != "round"}
            who = Contestant(**case)
            rates = samples.setdefault((who.part, who.precision), {})
            rates.setdefault(who.label, []).append(record["tokens_per_second"])
    return {
        group: {label: statistics.median(rates) for label, rates in found.items()} for group, found in samples.items()
    }


def report(records: Sequence[Record], chart: Optional[Path] = None) -> str:
    """Markdown tables; a chart of all ratios if a path is given."""
    found = medians(records)
    if not found:
        return "No results yet."
    machines = {json.dumps(record["machine"]) for record in records if record.get("tokens_per_second")}
    parts = []
    for text in sorted(machines):
        machine = json.loads(text)
        parts.append(f"{machine['cpu']} ({machine['isa']}), {machine['threads']} threads, PyTorch {machine['torch']}")
    labels, ratios = [], []
    for (part, precision), rates in sorted(found.items()):
        theirs = max((rate for label, rate in rates.items() if label.startswith("torch")), default=None)
        rows = []
        for label, rate in sorted(rates.items(), key=lambda item: -item[1]):
            ratio = "-" if theirs is None else f"{rate / theirs:.2f}"
            rows.append([label, f"{rate:.0f}", ratio])
            if theirs is not None and label.startswith("dsf"):
                labels.append(f"{part} {precision} {label}")
                ratios.append(rate / theirs)
        parts += ["", f"### {part}, {precision}", ""]
        parts.append(markdown_table(["contestant", "tokens/s", "over PyTorch's best"], rows))
        parts += ["", *_failures(records, part, precision)]
    if chart is not None and labels:
        bar_chart("Training steps", labels, {"over PyTorch's best": ratios}, "times as fast", 1.0, chart)
    return "\n".join(parts)


def _failures(records: Sequence[Record], part: str, precision: str) -> list[str]:
    found = [record for record in records if record.get("error")]
    mine = [record for record in found if (record["case"]["part"], record["case"]["precision"]) == (part, precision)]
    return [f"{record['case']['name']} (compiled: {record['case']['compiled']}): {record['error']}" for record in mine]


def parse_options(arguments: Optional[Sequence[str]] = None) -> argparse.Namespace:
    """The command line."""

    def words(known: Sequence[str]) -> Any:
        def parse(text: str) -> list[str]:
            for word in text.split(","):
                if word not in known:
                    raise argparse.ArgumentTypeError(f"{word!r} is not one of {', '.join(known)}")
            return text.split(",")

        return parse

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dsf", type=Path, default=Path("build/dsf"), help="the program (default: build/dsf)")
    parser.add_argument("--parts", type=words(PARTS), default=["ptb", "wikitext", "epoch"])
    parser.add_argument("--precision", type=words(("f32", "bf16")), default=["f32", "bf16"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--seconds", type=float, default=1800.0, help="about how long; the first round is always run")
    parser.add_argument("--timeout", type=float, default=300.0, help="of one process; bf16 may take minutes per step")
    parser.add_argument("--program-seconds", type=float, default=30.0, help="of one `dsf bench`")
    parser.add_argument(
        "--ptb", type=Path, help="directory with ptb.train.txt, for the lengths of the epoch's sentences"
    )
    parser.add_argument("--sentences", type=int, help="so many of them (default: all of --ptb, or 2,048)")
    parser.add_argument("--batch", type=int, help="another batch than the workload's, for all parts")
    parser.add_argument("--steps", type=int, help="another length than the workload's, for ptb and wikitext")
    parser.add_argument("--no-tuning", action="store_true", help="PyTorch in the environment as it is")
    parser.add_argument("--out", type=Path, default=Path("build/bench_peers.jsonl"), help="results, line by line")
    parser.add_argument("--report", action="store_true", help="print the tables of what --out holds; measure nothing")
    parser.add_argument("--chart", type=Path, help="write CHART.svg and .png as well")
    return parser.parse_args(arguments)


def main() -> int:
    """Measures, and reports."""
    options = parse_options()
    if not options.report:
        run_all(options)
        if "layers" in options.parts:
            done = subprocess.run([sys.executable, str(SCRIPTS / "bench_layers.py")], check=False)
            if done.returncode != 0:
                return done.returncode
    print(report(Results(options.out).records, options.chart))
    return 0


if __name__ == "__main__":
    sys.exit(main())
