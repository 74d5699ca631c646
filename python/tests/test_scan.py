"""The scans equal the loops they replace, and take O(log T) operations."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from support import CELLS, SCANS, make_layer
from torch.profiler import ProfilerActivity, profile

from dsf.nn._scan import forward_scan, reverse_scan, reverse_scan_matrix, reverse_scan_varying


@settings(max_examples=40)
@given(steps=st.integers(1, 70), seed=st.integers(0, 2**31))
def test_scans_equal_loops(steps: int, seed: int) -> None:
    torch.manual_seed(seed)
    e = torch.randn(steps, 2, 3, dtype=torch.float64)
    a = torch.rand(3, dtype=torch.float64)
    decay = torch.rand(steps, 2, 3, dtype=torch.float64)

    A = torch.randn(3, 3, dtype=torch.float64) / 3
    backwards, varying, onwards, by_matrix = e.clone(), e.clone(), e.clone(), e.clone()
    for t in range(steps - 2, -1, -1):
        backwards[t] += a * backwards[t + 1]
        varying[t] += decay[t] * varying[t + 1]
        by_matrix[t] += by_matrix[t + 1] @ A
    for t in range(1, steps):
        onwards[t] += decay[t] * onwards[t - 1]

    torch.testing.assert_close(reverse_scan(e, a), backwards)
    torch.testing.assert_close(reverse_scan_matrix(e, A), by_matrix)
    torch.testing.assert_close(reverse_scan_varying(e, decay[:-1]), varying)
    torch.testing.assert_close(forward_scan(e, decay), onwards)


VIEWS = {"aten::slice", "aten::as_strided", "aten::narrow", "aten::select", "aten::view", "aten::chunk", "aten::split"}


def _operations_backward(cell: str, feedback: str, steps: int) -> int:
    layer = make_layer(cell, 3, 4, feedback=feedback)
    output, _ = layer(torch.randn(steps, 2, 3, requires_grad=True))
    loss = output.sum()
    with profile(activities=[ProfilerActivity.CPU]) as watched:
        loss.backward()
    counts = {event.key: event.count for event in watched.key_averages()}
    return sum(count for name, count in counts.items() if name.startswith("aten::") and name not in VIEWS)


@pytest.mark.parametrize("feedback", SCANS)
@pytest.mark.parametrize("cell", CELLS)
def test_backward_has_no_loop_over_time(cell: str, feedback: str) -> None:
    few, many = (_operations_backward(cell, feedback, steps) for steps in (64, 1024))
    rounds = math.log2(1024) - math.log2(64)
    # A round of a scan is at most two concatenations, two products and a sum, beside views. The LSTM has one scan more,
    # which rebuilds c; gated:dsf has two there, iterated:2 has three, and pairs has one for a unit that is left
    # over. A round of a scan with a matrix is a product, a sum and a square, 14 operations to the profiler.
    scans = {"ft": 0, "gated:dsf": 2, "iterated:2": 3, "pairs": 2}.get(feedback, 1) + (cell == "lstm")
    each = 14 if feedback in ("lowrank:2", "orthogonal", "dense") else 5
    assert many - few <= each * rounds * scans
    assert many < 1024  # fewer than one operation for each step
