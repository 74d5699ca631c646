#!/usr/bin/env python3
"""How much faster DSF is than BPTT on many cores: a model of one GRU layer from parts measured on one core.

    scripts/many_cores.py [--dsf build/dsf] [--hidden 256] [--steps 256] [--batch 1,8,32,128,512] [--seconds 240]

`dsf bench layer` is run with one thread and with two. What a pass is made of, in seconds on one core:

    all      products and elementwise work over all rows of the batch at once: FT-BPTT's backward pass is nothing
             else (dX, dW, dU, and the local backward), and W x of the forward pass is about a third of that
    walk     the steps of the forward pass, one after the other: the rest of the forward pass
    back     what BPTT's backward pass takes on top of FT-BPTT's: a product with U at each step
    scan     what DSF's backward pass takes on top of FT-BPTT's

and on P cores:

    all / P                  its tasks are cut from rows and columns, of which there are always enough
    walk, back               slices of the batch (dsf/kernels/slices.h) walk alone: the largest number of slices on
                             one core counts. A single slice is shared at each step, by columns: / P, and the cores
                             meet, T meet log2(P), `meet` being what is missing to half the time on two cores
    scan / min(P, tasks)     tasks of eight sequences, or chunks of time

Memory is as fast on P cores as it has to be, and cores do not slow each other down: both make the model's times too
short, those of DSF more than those of BPTT. The measurement with two threads stands beside the model's.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
from dataclasses import dataclass
from typing import Any

from bench_tools import cpu_description, markdown_table, say

CORES = (1, 2, 4, 8, 16, 32, 64, 128)
GATES = 3  # of the GRU
METHODS = ("bptt", "ft", "dsf")


def slice_count(batch: int, hidden: int) -> int:
    """Slices of a batch, by the rule of dsf/kernels/slices.h."""
    small = GATES * hidden * hidden <= 1 << 18
    if batch < (8 if small else 32):
        return 1
    at_most_32 = math.ceil(batch / 32)
    return at_most_32 + at_most_32 % 2


def scan_tasks(batch: int, steps: int) -> int:
    """Tasks of DSF's way back: slices of eight sequences, or chunks of 32 steps if the batch is small."""
    return math.ceil(batch / 8) if batch >= 32 else max(1, steps // 32)


@dataclass(frozen=True)
class Parts:
    """Seconds on one core, and of one meeting of two cores."""

    batch: int
    steps: int
    hidden: int
    all_forward: float
    all_back: float
    walk: float
    back: float
    scan: float
    meet: float

    def step_by_step(self, seconds: float, cores: int) -> float:
        """A walk with products on so many cores."""
        slices = slice_count(self.batch, self.hidden)
        if slices > 1:
            return seconds * math.ceil(slices / cores) / slices
        return seconds / cores + self.steps * self.meet * math.log2(cores)

    def forward(self, cores: int) -> float:
        """W x of all rows, then the walk."""
        return self.all_forward / cores + self.step_by_step(self.walk, cores)

    def backward(self, method: str, cores: int) -> float:
        """From the errors to all gradients."""
        seconds = self.all_back / cores
        if method == "bptt":
            return seconds + self.step_by_step(self.back, cores)
        return seconds + self.scan / min(cores, scan_tasks(self.batch, self.steps))

    def whole(self, method: str, cores: int) -> float:
        """Forward and backward."""
        return self.forward(cores) + self.backward(method, cores)


def parts_of(one: dict[str, Any], two: dict[str, Any]) -> Parts:
    """From the passes of one shape by one thread and by two: {method: {"forward": s, "backward": s}}."""
    batch, steps, hidden = one["shape"]
    forward = min(one[method]["forward"] for method in METHODS)
    all_back = one["ft"]["backward"]
    walk = forward - all_back / 3
    meet = 0.0
    if slice_count(batch, hidden) == 1:
        on_two = min(two[method]["forward"] for method in METHODS)
        meet = max(0.0, on_two - forward / 2) / steps
    return Parts(
        batch=batch,
        steps=steps,
        hidden=hidden,
        all_forward=all_back / 3,
        all_back=all_back,
        walk=walk,
        back=max(0.0, one["bptt"]["backward"] - all_back),
        scan=max(0.0, one["dsf"]["backward"] - all_back),
        meet=meet,
    )


def measure(options: argparse.Namespace, threads: int) -> list[dict[str, Any]]:
    """The passes of each batch size by so many threads, least times."""
    command = [options.dsf, "bench", "layer", "--json", "--only", "gru", "--precision", "f32"]
    command += ["--method", ",".join(METHODS), "--threads", str(threads)]
    command += ["--batch", options.batch, "--steps", str(options.steps), "--hidden", str(options.hidden)]
    command += ["--seconds", str(options.seconds / 2)]
    say(" ".join(command))
    found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    shapes: dict[int, dict[str, Any]] = {}
    for result in found["results"]:
        shape = shapes.setdefault(result["batch"], {"shape": (result["batch"], result["steps"], result["hidden"])})
        method = result["contestant"].removeprefix("ours-")
        shape[method] = {part: result[f"{part}_ms_min"] / 1e3 for part in ("forward", "backward")}
    return list(shapes.values())


def main() -> None:
    """Measure with one thread and with two, and print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dsf", default="build/dsf", help="the program")
    parser.add_argument("--hidden", type=int, default=256)
    parser.add_argument("--steps", type=int, default=256)
    parser.add_argument("--batch", default="1,8,32,128,512", help="a list")
    parser.add_argument("--seconds", type=float, default=240.0)
    options = parser.parse_args()

    one, two = measure(options, 1), measure(options, 2)
    check, ratios = [], []
    for single, double in zip(one, two):
        parts = parts_of(single, double)
        for method in ("bptt", "dsf"):
            seen = double[method]["forward"] + double[method]["backward"]
            said = parts.whole(method, 2)
            check.append(
                [
                    f"B={parts.batch} {method}",
                    f"{parts.whole(method, 1) * 1e3:.1f}",
                    f"{said * 1e3:.1f}",
                    f"{seen * 1e3:.1f}",
                    f"{said / seen:.2f}",
                ]
            )
        faster = [parts.whole("bptt", cores) / parts.whole("dsf", cores) for cores in CORES]
        back = [parts.backward("bptt", cores) / parts.backward("dsf", cores) for cores in CORES]
        ratios.append([f"B={parts.batch}", *(f"{whole:.2f} ({way:.1f})" for whole, way in zip(faster, back))])
    machine = cpu_description()
    print(f"GRU, D={options.hidden}, T={options.steps}, f32; {machine['cpu']}, {machine['isa']}\n")
    print("Forward and backward, ms: on one core, on two by the model and as measured\n")
    print(markdown_table(["", "1 core", "2 cores, model", "2 cores, measured", "model / measured"], check))
    print("\nBPTT's time over DSF's by the model: forward and backward (backward alone)\n")
    print(markdown_table(["cores", *map(str, CORES)], ratios))


if __name__ == "__main__":
    main()
