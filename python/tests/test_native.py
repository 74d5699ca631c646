"""The native kernels: equal to the definition and to the PyTorch path, whatever the shape, layout and feedback."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import (
    CELLS,
    INEXACT,
    Sequences,
    assert_all_close,
    define_sequences,
    gradients_of,
    make_layer,
    random_sequences,
    random_states,
    run_sequences,
)
from torch import Tensor
from torch.nn.utils.rnn import pack_padded_sequence

from dsf.nn import _generic, _native

pytestmark = pytest.mark.skipif(not _native.present, reason="the native part is not there")

FEEDBACKS = ("bptt", *INEXACT)
# float32 against float64: rounding (6e-8) of sums over at most some tens of rows and units.
CLOSE = {"rtol": 2e-5, "atol": 2e-5}


def rounded(batch: Sequences) -> Sequences:
    """The same batch in float32."""
    parts = ([values.float() for values in part] for part in (batch.x, batch.states, batch.e, batch.e_last))
    return Sequences(*parts)


def widened(gradients: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: values.double() for name, values in gradients.items()}


@pytest.fixture
def never_pytorch(monkeypatch: pytest.MonkeyPatch) -> None:
    """A case that goes through PyTorch's operations after all would prove nothing."""

    def refuse(*_: Any) -> None:
        raise AssertionError("this case is not computed by the native part")

    monkeypatch.setattr(_generic, "forward", refuse)
    monkeypatch.setattr(_generic, "backward", refuse)


@pytest.mark.usefixtures("never_pytorch")
@pytest.mark.parametrize("feedback", FEEDBACKS)
@pytest.mark.parametrize("cell", CELLS)
def test_stack_equals_definition(cell: str, feedback: str) -> None:
    layer = make_layer(cell, 3, 9, 2, bidirectional=True, feedback=feedback)
    batch = random_sequences(layer, [5, 2, 7, 1])
    assert_all_close(widened(run_sequences(layer, rounded(batch))), define_sequences(layer, batch), **CLOSE)


@pytest.mark.usefixtures("never_pytorch")
@settings(max_examples=80, suppress_health_check=list(HealthCheck))
@given(
    cell=st.sampled_from(CELLS),
    feedback=st.sampled_from(FEEDBACKS),
    lengths=st.lists(st.integers(1, 9), min_size=1, max_size=5),
    layers=st.integers(1, 3),
    sizes=st.tuples(st.integers(1, 5), st.integers(1, 18)),
    bidirectional=st.booleans(),
    bias=st.booleans(),
    both=st.booleans(),
    seed=st.integers(0, 2**31),
)
def test_any_shape_equals_definition(
    cell: str,
    feedback: str,
    lengths: list[int],
    layers: int,
    sizes: tuple[int, int],
    bidirectional: bool,
    bias: bool,
    both: bool,
    seed: int,
) -> None:
    torch.manual_seed(seed)
    options = {"output": "hc"} if both and cell == "lstm" else {}
    layer = make_layer(cell, *sizes, layers, bias=bias, bidirectional=bidirectional, feedback=feedback, **options)
    batch = random_sequences(layer, lengths)
    assert_all_close(widened(run_sequences(layer, rounded(batch))), define_sequences(layer, batch), **CLOSE)


LAYOUTS = ["padded", "batch_first", "packed", "transposed", "expanded", "every other column"]


def inputs_of(layout: str, T: int, B: int, I: int) -> tuple[Tensor, Any]:
    """A leaf, and what the layer is handed of it."""
    if layout == "batch_first":
        leaf = torch.randn(B, T, I, requires_grad=True)
        return leaf, leaf
    leaf = torch.randn(T, B, I, requires_grad=True)
    if layout == "packed":
        lengths = torch.randint(1, T + 1, (B,))
        lengths[0] = T
        return leaf, pack_padded_sequence(leaf, lengths, enforce_sorted=False)
    if layout == "transposed":
        leaf = torch.randn(I, B, T, requires_grad=True)
        return leaf, leaf.permute(2, 1, 0)
    if layout == "expanded":
        leaf = torch.randn(1, 1, I, requires_grad=True)
        return leaf, leaf.expand(T, B, I)
    if layout == "every other column":
        leaf = torch.randn(T, B, 2 * I, requires_grad=True)
        return leaf, leaf[..., ::2]
    return leaf, leaf


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("cell", CELLS)
def test_equals_the_pytorch_path(monkeypatch: pytest.MonkeyPatch, cell: str, layout: str, threads: int) -> None:
    """At sizes with several slices of the batch and tiles of the products."""
    torch.set_num_threads(threads)
    for feedback in ("bptt", "dsf", "gated:dsf"):
        layer = make_layer(cell, 17, 40, 2, batch_first=layout == "batch_first", bidirectional=True, feedback=feedback)
        leaf, inputs = inputs_of(layout, 12, 70, 17)
        states = random_states(layer, 70, torch.float32)
        found = gradients_of(layer, inputs, leaf, states)
        with monkeypatch.context() as patch:
            patch.setattr(_native, "present", False)
            expected = gradients_of(layer, inputs, leaf, states)
        for name in expected:  # sums over 840 rows
            difference = (found[name] - expected[name]).norm()
            assert difference <= 2e-5 * expected[name].norm() + 1e-6, (feedback, name)
    torch.set_num_threads(1)
