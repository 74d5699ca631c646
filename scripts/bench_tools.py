"""What the speed comparisons with PyTorch share: the machine, contestants that take turns, results that survive."""

from __future__ import annotations

import json
import math
import os
import platform
import random
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Optional

Record = dict[str, Any]


def say(text: str) -> None:
    """Progress goes to stderr, results to stdout."""
    print(text, file=sys.stderr, flush=True)


def cpu_description(cpuinfo: Path = Path("/proc/cpuinfo")) -> dict[str, str]:
    """The CPU's name, and the widest instructions it has that matter here, with the limit that DSF_MAX_ISA sets."""
    try:
        text = cpuinfo.read_text(encoding="ascii", errors="replace")
    except OSError:
        return {"cpu": platform.processor() or platform.machine(), "isa": "unknown"}
    name = re.search(r"^model name\s*:\s*(.*)$", text, re.MULTILINE)
    found = re.search(r"^flags\s*:\s*(.*)$", text, re.MULTILINE)
    flags = set(found.group(1).split()) if found else set()
    isa = [flag for flag in ("avx2", "avx512f", "avx512_bf16", "amx_bf16") if flag in flags]
    cap = os.environ.get("DSF_MAX_ISA")
    if cap:
        isa.append(f"limited to {cap}")
    return {"cpu": name.group(1).strip() if name else platform.machine(), "isa": " ".join(isa)}


def geometric_mean(values: Sequence[float]) -> float:
    """Of ratios, which multiply."""
    return math.exp(sum(math.log(value) for value in values) / len(values))


def sentence_lengths(count: int, mean: float, longest: int, seed: int = 1) -> list[int]:
    """Like the Penn Treebank's: log-normal around ``mean`` tokens, at least 1 and at most ``longest``."""
    deviation = 0.54
    draw = random.Random(seed)
    middle = math.log(mean) - deviation * deviation / 2
    return [min(max(round(draw.lognormvariate(middle, deviation)), 1), longest) for _ in range(count)]


# --- contestants -----------------------------------------------------------------------------------------------


class Stopwatch:
    """Seconds of each run by the names of contestants."""

    def __init__(self) -> None:
        self.seconds: dict[str, list[float]] = {}
        self.errors: dict[str, str] = {}

    def summary(self) -> dict[str, dict[str, Any]]:
        """Minimum, median and number of runs of each; the error of one that could not run."""
        found: dict[str, dict[str, Any]] = {
            name: {"min": min(runs), "median": statistics.median(runs), "runs": len(runs)}
            for name, runs in self.seconds.items()
        }
        found.update({name: {"error": error} for name, error in self.errors.items()})
        return found


def take_turns(
    contestants: Mapping[str, Callable[[], None]],
    seconds: float,
    fewest_rounds: int = 3,
    most_rounds: int = 50,
    clock: Callable[[], float] = time.perf_counter,
) -> Stopwatch:
    """Every contestant once per round, each round beginning with another one, until the time is used up.

    A first run of each warms it up and does not count. One that fails there (PyTorch has no bf16 LSTM on some CPUs) is
    noted and left out.
    """
    watch = Stopwatch()
    running: dict[str, Callable[[], None]] = {}
    begin = clock()
    for name, run in contestants.items():
        try:
            run()
        except RuntimeError as error:
            watch.errors[name] = str(error).splitlines()[0]
        else:
            running[name] = run
    names = list(running)
    for number in range(most_rounds):
        if number >= fewest_rounds and clock() - begin >= seconds:
            break
        shift = number % max(1, len(names))
        for name in names[shift:] + names[:shift]:
            start = clock()
            running[name]()
            watch.seconds.setdefault(name, []).append(clock() - start)
    return watch


class Budget:
    """Shares what is left of a time among what is left to do."""

    def __init__(self, seconds: float, count: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._end = clock() + seconds
        self._count = count
        self._clock = clock

    def next_share(self) -> float:
        """Seconds for the next thing; 0 if the time is used up."""
        share = max(0.0, self._end - self._clock()) / max(1, self._count)
        self._count -= 1
        return share


@contextmanager
def busy_process(wanted: bool) -> Iterator[None]:
    """One process beside that never sleeps."""
    if not wanted:
        yield
        return
    spinning = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        spinning.kill()
        spinning.wait()


# --- results ---------------------------------------------------------------------------------------------------


class Results:
    """JSON lines in a file: each is on the disk before the next begins, so that an interrupted run can go on."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.records: list[Record] = []
        if path.exists():
            for number, line in enumerate(path.read_text().splitlines(), 1):
                record = _parsed(line)
                if record is None:
                    say(f"{path}: line {number} is not whole and is left out")
                else:
                    self.records.append(record)

    def find(self, case: Record) -> Optional[Record]:
        """The record of that case, if it has been measured."""
        return next((record for record in self.records if record["case"] == case), None)

    def add(self, record: Record) -> None:
        """Appends it to the file."""
        self.records.append(record)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        cut = self.path.exists() and not self.path.read_bytes().endswith(b"\n") and self.path.stat().st_size > 0
        with self.path.open("a") as file:
            file.write(("\n" if cut else "") + json.dumps(record) + "\n")
            file.flush()
            os.fsync(file.fileno())


def _parsed(line: str) -> Optional[Record]:
    """A line that was cut off by a crash is None."""
    try:
        record = json.loads(line)
    except json.JSONDecodeError:
        return None
    return record if isinstance(record, dict) and "case" in record else None


# --- reports ---------------------------------------------------------------------------------------------------


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """The first column to the left, all others to the right."""
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def bar_chart(
    title: str,
    labels: Sequence[str],
    series: Mapping[str, Sequence[float]],
    y_label: str,
    line_at: Optional[float],
    path_without_suffix: Path,
) -> list[Path]:
    """Groups of bars as SVG and PNG; a missing value is NaN. Needs matplotlib."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    inches = (min(max(6.0, 0.32 * len(labels) + 2.0), 14.0), 4.2)
    figure, axes = pyplot.subplots(figsize=inches, layout="constrained")
    width = 0.8 / len(series)
    for index, (name, values) in enumerate(series.items()):
        places = [place + (index - (len(series) - 1) / 2) * width for place in range(len(labels))]
        axes.bar(places, values, width, label=name)
    if line_at is not None:
        axes.axhline(line_at, color="black", linewidth=0.8)
    axes.set_xticks(range(len(labels)), labels, rotation=60, ha="right", fontsize=8)
    axes.margins(x=0.01)
    axes.set_ylabel(y_label)
    axes.set_title(title, fontsize=10)
    axes.legend()
    path_without_suffix.parent.mkdir(parents=True, exist_ok=True)
    paths = [path_without_suffix.with_suffix(suffix) for suffix in (".svg", ".png")]
    for path in paths:
        figure.savefig(path, dpi=150)
    pyplot.close(figure)
    return paths
