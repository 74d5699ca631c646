"""Tables and charts of what bench_layers.py has measured.

A ratio is PyTorch's time over ours: 2 means twice as fast. PyTorch counts with its fastest setting. Minima are
compared, or medians if a busy process ran beside, because then the minimum is the moment in which it did not disturb.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, Optional

from bench_tools import Record, bar_chart, geometric_mean, markdown_table

OURS = ("dsf bptt", "dsf dsf")
TITLES = {
    "grid": "Layers, forward and backward",
    "packed": "Packed sentences, forward and backward",
    "stream": "One step without gradients (T = 1, B = 1)",
    "overhead": "What the layer adds to the native calls",
}


class Row(NamedTuple):
    """One case: PyTorch's best and ours, in seconds."""

    record: Record
    setting: str  # PyTorch's fastest
    theirs: float
    ours: dict[str, float]

    def ratio(self, name: str) -> float:
        """PyTorch's time over ours; NaN if ours is not there."""
        return self.theirs / self.ours[name] if name in self.ours else float("nan")


def row_of(record: Record) -> Optional[Row]:
    """None if PyTorch could not run."""
    statistic = "median" if record["case"]["busy"] else "min"
    times = {name: values[statistic] for name, values in record["results"].items() if statistic in values}
    theirs = {name: seconds for name, seconds in times.items() if name.startswith("torch")}
    if not theirs:
        return None
    best = min(theirs, key=lambda name: theirs[name])
    return Row(record, best, theirs[best], {name: times[name] for name in OURS if name in times})


def shape_of(case: dict[str, Any]) -> str:
    """As tables and charts name it."""
    return f"B={case['batch']} T={case['steps']} D={case['hidden']}"


def _milliseconds(seconds: Optional[float]) -> str:
    if seconds is None:
        return "-"
    return f"{seconds * 1e3:.3f}" if seconds < 1e-3 else f"{seconds * 1e3:.1f}"


def _groups(records: Sequence[Record]) -> dict[tuple[str, str, str, bool], list[Record]]:
    """By part, cell, dtype and busy, in the order of the shapes."""
    groups: dict[tuple[str, str, str, bool], list[Record]] = {}
    for record in records:
        case = record["case"]
        groups.setdefault((case["part"], case["cell"], case["dtype"], case["busy"]), []).append(record)
    for group in groups.values():
        group.sort(key=lambda record: [record["case"][name] for name in ("batch", "steps", "hidden")])
    return dict(sorted(groups.items()))


def summary_line(name: str, rows: Sequence[Row]) -> Optional[list[str]]:
    """Geometric mean, lowest and highest ratio."""
    ratios = {shape_of(row.record["case"]): row.ratio(name) for row in rows if name in row.ours}
    if not ratios:
        return None
    low, high = min(ratios, key=lambda shape: ratios[shape]), max(ratios, key=lambda shape: ratios[shape])
    mean = geometric_mean(list(ratios.values()))
    return [f"{mean:.2f}", f"{ratios[low]:.2f} ({low})", f"{ratios[high]:.2f} ({high})", str(len(ratios))]


def _shape_table(rows: Sequence[Row]) -> str:
    lines = []
    for row in rows:
        ours = [_milliseconds(row.ours.get(name)) for name in OURS]
        ratios = [f"{row.ratio(name):.2f}" if name in row.ours else "-" for name in OURS]
        lines.append([shape_of(row.record["case"]), row.setting, _milliseconds(row.theirs), *ours, *ratios])
    header = ["shape", "PyTorch's best", "ms", "`bptt`, ms", "`dsf`, ms", "ratio `bptt`", "ratio `dsf`"]
    return markdown_table(header, lines)


def _overhead_table(records: Sequence[Record]) -> str:
    lines = []
    for record in records:
        for name, values in record["results"].items():
            if "outside" in values:
                share = values["outside"] / values["median"]
                cells = [_milliseconds(values["median"]), f"{values['outside'] * 1e6:.0f}", f"{100 * share:.1f} %"]
            else:
                cells = [values["error"], "-", "-"]
            lines.append([f"{record['case']['cell']} {shape_of(record['case'])}, `{name}`", *cells])
    return markdown_table(["layer", "pass, ms", "outside of the native calls, us", "share"], lines)


def _compile_notes(records: Sequence[Record]) -> str:
    counts: dict[str, int] = {}
    for record in records:
        counts[record["compile"]] = counts.get(record["compile"], 0) + 1
    words = {"yes": "faster than eager", "no": "slower than eager"}
    return "torch.compile: " + "; ".join(
        f"{words.get(verdict, verdict)} ({count} shapes)" for verdict, count in sorted(counts.items())
    )


def _failures(records: Sequence[Record]) -> list[str]:
    found = []
    for record in records:
        for name, values in record["results"].items():
            if "error" in values:
                found.append(f"{shape_of(record['case'])}: {name} could not run: {values['error']}")
    return found


def report(records: Sequence[Record], chart: Optional[Path] = None) -> str:
    """Markdown: a summary, then each table; charts of the grid beside if a path is given."""
    if not records:
        return "No results yet."
    parts = [_machines(records), "", _summary(records)]
    for (part, cell, dtype, busy), group in _groups(records).items():
        title = f"### {TITLES[part]}: {cell.upper()}, {dtype}" + (", one busy process beside" if busy else "")
        parts += ["", title, ""]
        if part == "overhead":
            parts.append(_overhead_table(group))
            continue
        rows = [row for row in map(row_of, group) if row is not None]
        parts.append(_shape_table(rows) if rows else "PyTorch could not run any of these.")
        notes = [_compile_notes(group)] if part == "grid" else []
        parts += ["", *notes, *_failures(group)]
        if chart is not None and part == "grid" and rows:
            name = chart.with_name(f"{chart.name}-{cell}-{dtype}" + ("-busy" if busy else ""))
            draw(rows, f"{cell.upper()}, {dtype}: PyTorch's time over ours", name)
    return "\n".join(parts)


def draw(rows: Sequence[Row], title: str, path_without_suffix: Path) -> list[Path]:
    """The ratios of all shapes as bars."""
    labels = [shape_of(row.record["case"]) for row in rows]
    series = {name: [row.ratio(name) for row in rows] for name in OURS}
    return bar_chart(title, labels, series, "times as fast as PyTorch", 1.0, path_without_suffix)


def _machines(records: Sequence[Record]) -> str:
    lines: list[str] = []
    for record in records:
        machine = record["machine"]
        line = (
            f"{machine['cpu']} ({machine['isa']}), {machine['threads']} threads; PyTorch {machine['torch']}, "
            f"dsf {machine['dsf']}{'' if machine['native'] else ' WITHOUT its native part'}, Python {machine['python']}"
        )
        if line not in lines:
            lines.append(line)
    return "\n".join(lines)


def _summary(records: Sequence[Record]) -> str:
    lines = []
    for (part, cell, dtype, busy), group in _groups(records).items():
        rows = [row for row in map(row_of, group) if row is not None] if part != "overhead" else []
        for name in OURS:
            cells = summary_line(name, rows)
            if cells is not None:
                label = f"{part}, {cell.upper()}, {dtype}{', busy' if busy else ''}, `{name.split()[1]}`"
                lines.append([label, *cells])
    return markdown_table(["PyTorch's time over ours", "geometric mean", "lowest", "highest", "shapes"], lines)
