"""A stream: one value arrives at a time, the layer is called with T = 1 and keeps its state between calls.

    python examples/python/stream.py [--seconds 1]

Prints how long one call takes with torch.nn.GRU and with dsf.nn.GRU, and checks that a stream gives what the whole
sequence at once gives. Exit code 1 if it does not.
"""

from __future__ import annotations

import argparse
import sys
import time

import torch
from torch import Tensor, nn

import dsf.nn


@torch.no_grad()
def stream(layer: nn.Module, values: Tensor) -> Tensor:
    """All outputs, from one call for each step; values: [time, 1, features]."""
    state = None
    outputs = []
    for value in values.split(1):
        output, state = layer(value, state)
        outputs.append(output)
    return torch.cat(outputs)


def main() -> int:
    """Times both layers in turns and compares the stream with the whole."""
    parser = argparse.ArgumentParser(description="Calls with T = 1, B = 1.")
    parser.add_argument("--seconds", type=float, default=1.0)
    options = parser.parse_args()

    torch.manual_seed(0)
    theirs = nn.GRU(16, 64).eval()
    ours = dsf.nn.convert(nn.Sequential(nn.GRU(16, 64)), feedback="dsf")[0].eval()
    values = torch.randn(100, 1, 16)
    with torch.no_grad():
        whole, _ = ours(values)
    if not torch.allclose(stream(ours, values), whole, atol=1e-5):
        print("the stream and the whole sequence differ", file=sys.stderr)
        return 1

    best = {"torch.nn.GRU": float("inf"), "dsf.nn.GRU": float("inf")}
    end = time.perf_counter() + options.seconds
    while time.perf_counter() < end:
        for name, layer in (("torch.nn.GRU", theirs), ("dsf.nn.GRU", ours)):
            began = time.perf_counter()
            stream(layer, values)
            best[name] = min(best[name], (time.perf_counter() - began) / len(values))
    for name, seconds in best.items():
        print(f"{name:14} {1e6 * seconds:7.1f} microseconds per call")
    return 0


if __name__ == "__main__":
    sys.exit(main())
