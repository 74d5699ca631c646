"""A GRU that forecasts a noisy series one value ahead, with torch.nn.GRU and then with dsf.nn.GRU.

    pip install .
    python examples/python/forecast.py [--steps 100] [--hidden 128] [--length 200] [--batch 32]

The second and third models differ from the first in one line, the layer. With the default feedback, "bptt", the losses
are the same; with "dsf" the way back through time has no matrix product in it. Exit code 1 if a model learnt nothing.
"""

from __future__ import annotations

import argparse
import math
import sys
import time

import torch
from torch import Tensor, nn

import dsf.nn


class Forecaster(nn.Module):
    """A recurrent layer and a linear map to the next value."""

    def __init__(self, layer: nn.Module, hidden: int) -> None:
        super().__init__()
        self.layer = layer
        self.head = nn.Linear(hidden, 1)

    def forward(self, x: Tensor) -> Tensor:
        """x: [batch, time, 1] to the value after each, of the same shape."""
        h, _ = self.layer(x)
        return self.head(h)  # type: ignore[no-any-return]


def make_series(length: int) -> Tensor:
    """Two waves, one of which comes and goes, and noise."""
    t = 2 * math.pi * torch.arange(length)
    noise = torch.randn(length, generator=torch.Generator().manual_seed(1))
    return torch.sin(t / 23) + 0.6 * torch.sin(t / 7) * torch.sin(t / 210) + 0.05 * noise


def train(model: nn.Module, series: Tensor, length: int, batch: int, steps: int) -> tuple[float, float]:
    """The mean squared error of the last tenth of the steps, and milliseconds for each step (median)."""
    torch.manual_seed(2)
    optimiser = torch.optim.Adam(model.parameters(), lr=3e-3)
    losses, times = [], []
    for _ in range(steps):
        starts = torch.randint(0, len(series) - length - 1, (batch,))
        windows = torch.stack([series[start : start + length + 1] for start in starts.tolist()]).unsqueeze(-1)
        began = time.perf_counter()
        optimiser.zero_grad()
        loss = (model(windows[:, :-1]) - windows[:, 1:]).square().mean()
        loss.backward()
        optimiser.step()
        times.append(time.perf_counter() - began)
        losses.append(loss.item())
    last = losses[-max(1, steps // 10) :]
    return sum(last) / len(last), 1000 * sorted(times)[len(times) // 2]


def main() -> int:
    """Trains the three models and prints a line for each."""
    parser = argparse.ArgumentParser(description="A GRU forecaster, before and after the swap.")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--hidden", type=int, default=128)
    parser.add_argument("--length", type=int, default=200)
    parser.add_argument("--batch", type=int, default=32)
    options = parser.parse_args()

    series = make_series(20_000)
    print(f"{'layer':34} {'mean squared error':>20} {'ms per step':>12}")
    learnt = True
    for name, make_layer in (
        ("torch.nn.GRU", lambda: nn.GRU(1, options.hidden, batch_first=True)),
        ("dsf.nn.GRU", lambda: dsf.nn.GRU(1, options.hidden, batch_first=True)),
        ('dsf.nn.GRU, feedback="dsf"', lambda: dsf.nn.GRU(1, options.hidden, batch_first=True, feedback="dsf")),
    ):
        torch.manual_seed(0)
        model = Forecaster(make_layer(), options.hidden)
        error, milliseconds = train(model, series, options.length, options.batch, options.steps)
        print(f"{name:34} {error:20.4f} {milliseconds:12.1f}")
        learnt = learnt and error < 0.5 * float(series.var())
    return 0 if learnt else 1


if __name__ == "__main__":
    sys.exit(main())
