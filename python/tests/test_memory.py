"""Memory of a long training: what a process has taken after 300 steps is all that it takes."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import pytest
import torch
from support import make_layer
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_sequence

STATUS = Path("/proc/self/statm")

pytestmark = pytest.mark.skipif(not STATUS.exists(), reason="no /proc says how much memory this process has")

INPUT, HIDDEN, BATCH, LONGEST = 16, 32, 8, 64
WARM_UP, STEPS = 300, 1000

# The smallest tensor of states that each step could leave behind would take 4 MB, and a tape 30 to 300 times as much.
# malloc takes up to 0.3 MB more after the warm-up, and then no more.
MOST_GROWTH = 1 << 20


def resident_bytes() -> int:
    gc.collect()
    return int(STATUS.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def address_sanitizer_is_there() -> bool:
    return "libasan" in Path("/proc/self/maps").read_text()


def assert_no_growth(passes: Callable[[int], int]) -> None:
    """Of the resident memory after so many passes, which the function returns."""
    before = passes(WARM_UP)
    growth = passes(STEPS) - before
    print(f"{growth / 1024:.0f} KB more after {STEPS} rounds")
    # The address sanitizer keeps freed memory for a while, so that it sees who still uses it.
    if not address_sanitizer_is_there():
        assert growth <= MOST_GROWTH


def batches() -> list[Any]:
    """Plain and packed in turn, the longest first, so that the warm-up has seen it. Tapes of both kinds are among them:
    those that malloc keeps and those that _tapes does."""
    found: list[Any] = []
    for longest in range(LONGEST, 4, -12):
        found.append(torch.randn(longest, BATCH, INPUT))
        lengths = torch.randint(1, longest + 1, (BATCH,)).tolist()
        found.append(pack_sequence([torch.randn(length, INPUT) for length in lengths], enforce_sorted=False))
    return found


def trainer(cell: str, feedback: str, dtype: torch.dtype) -> Callable[[Any], None]:
    """A function that trains a layer with this feedback by one step on the batch it is given."""
    layer = make_layer(cell, INPUT, HIDDEN, num_layers=2, feedback=feedback)
    optimizer = torch.optim.Adam(layer.parameters(), lr=1e-3)

    def autocast() -> AbstractContextManager[Any]:
        return nullcontext() if dtype == torch.float32 else torch.autocast("cpu", dtype=dtype)

    def step(batch: Any) -> None:
        optimizer.zero_grad()
        with autocast():
            output, _ = layer(batch)
        data: Tensor = output if isinstance(output, Tensor) else output.data
        data.float().square().mean().backward()
        nn.utils.clip_grad_norm_(layer.parameters(), 1.0)
        optimizer.step()

    return step


@pytest.mark.parametrize("cell", ["rnn_tanh", "gru", "lstm"])
def test_a_thousand_training_steps_take_no_more_memory(cell: str) -> None:
    trainers = [
        trainer(cell, feedback, dtype) for feedback in ("bptt", "dsf") for dtype in (torch.float32, torch.bfloat16)
    ]
    data = batches()

    def train(rounds: int) -> int:
        for number in range(rounds):
            for step in trainers:
                step(data[number % len(data)])
        return resident_bytes()

    assert_no_growth(train)


def test_passes_without_a_way_back_take_no_more_memory() -> None:
    layer, x = make_layer("gru", INPUT, HIDDEN, feedback="iterated:1"), torch.randn(LONGEST, BATCH, INPUT)

    def call(rounds: int) -> int:
        for _ in range(rounds):
            layer(x)  # has one that nobody takes
            with torch.no_grad():
                layer(x)
        return resident_bytes()

    assert_no_growth(call)
