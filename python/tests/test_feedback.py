"""All feedbacks equal the float64 definition, dsf.nn.reference."""

from __future__ import annotations

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import (
    CELLS,
    INEXACT,
    as_hx,
    assert_all_close,
    define_sequences,
    make_layer,
    parts_of,
    random_sequences,
    random_states,
    run_sequences,
)

import dsf.nn

DOUBLE = {"dtype": torch.float64}
# Both sides compute in float64; what differs is the order of sums over at most a few hundred numbers.
CLOSE = {"rtol": 1e-9, "atol": 1e-11}


@pytest.mark.parametrize("feedback", ["bptt", *INEXACT])
@pytest.mark.parametrize("cell", CELLS)
def test_stack_equals_definition(cell: str, feedback: str) -> None:
    layer = make_layer(cell, 3, 4, 2, bidirectional=True, feedback=feedback, **DOUBLE)
    batch = random_sequences(layer, [5, 2, 5, 1])
    assert_all_close(run_sequences(layer, batch), define_sequences(layer, batch), **CLOSE)


@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(
    cell=st.sampled_from(CELLS),
    feedback=st.sampled_from(INEXACT),
    lengths=st.lists(st.integers(1, 9), min_size=1, max_size=4),
    layers=st.integers(1, 3),
    width=st.integers(1, 5),
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
    width: int,
    bidirectional: bool,
    bias: bool,
    both: bool,
    seed: int,
) -> None:
    torch.manual_seed(seed)
    options = {"output": "hc"} if both and cell == "lstm" else {}
    layer = make_layer(
        cell, 2, width, layers, bias=bias, bidirectional=bidirectional, feedback=feedback, **DOUBLE, **options
    )
    batch = random_sequences(layer, lengths)
    assert_all_close(run_sequences(layer, batch), define_sequences(layer, batch), **CLOSE)


@pytest.mark.parametrize("feedback", ["bptt", *INEXACT])
def test_output_with_cells_equals_definition(feedback: str) -> None:
    layer = make_layer("lstm", 3, 4, 2, bidirectional=True, feedback=feedback, output="hc", **DOUBLE)
    batch = random_sequences(layer, [6, 3, 4])
    assert_all_close(run_sequences(layer, batch), define_sequences(layer, batch), **CLOSE)


@pytest.mark.parametrize("feedback", ["bptt", *INEXACT])
@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("bidirectional", [False, True])
def test_padded_equals_packed(cell: str, feedback: str, bidirectional: bool) -> None:
    layer = make_layer(cell, 3, 4, 2, bidirectional=bidirectional, feedback=feedback, **DOUBLE)
    batch = random_sequences(layer, [6, 6, 6])
    expected = run_sequences(layer, batch)
    x = torch.stack(batch.x, 1).requires_grad_()
    states = [part.clone().requires_grad_() for part in batch.states]
    output, last = layer(x, as_hx(states))
    named = dict(layer.named_parameters())
    found = torch.autograd.grad(
        [output, *parts_of(last)],
        [x, *states, *named.values()],
        [torch.stack(batch.e, 1), *batch.e_last],
    )
    actual = dict(zip(["x", *(f"initial {p}" for p in range(len(states))), *named], found))
    dx = actual.pop("x")
    actual.update({f"x {b}": dx[:, b] for b in range(3)})
    assert_all_close(actual, expected, **CLOSE)


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("feedback", ["bptt", *INEXACT])
def test_one_step_has_the_true_gradient(cell: str, feedback: str) -> None:
    """With one step nothing goes back in time, so parameters and input get the derivative itself."""
    layer = make_layer(cell, 3, 4, feedback=feedback, **DOUBLE)
    x = torch.randn(1, 2, 3, requires_grad=True, **DOUBLE)
    parameters = list(layer.parameters())

    def loss(x: torch.Tensor, *_: torch.Tensor) -> torch.Tensor:
        output, last = layer(x)
        return output.sum() + (parts_of(last)[-1] ** 2).sum()

    assert torch.autograd.gradcheck(loss, (x, *parameters))


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("options", [{}, {"num_layers": 3}, {"bidirectional": True, "batch_first": True}])
def test_bptt_passes_gradcheck(cell: str, options: dict[str, int]) -> None:
    layer = make_layer(cell, 3, 4, **options, **DOUBLE)
    states = random_states(layer, 2)
    x = torch.randn((2, 4, 3) if options.get("batch_first") else (4, 2, 3), requires_grad=True, **DOUBLE)

    def run(x: torch.Tensor, *rest: torch.Tensor) -> list[torch.Tensor]:
        output, last = layer(x, as_hx(list(rest[: len(states)])))
        return [output, *parts_of(last)]

    assert torch.autograd.gradcheck(run, (x, *states, *layer.parameters()))


def test_bptt_with_cells_passes_gradcheck() -> None:
    layer = dsf.nn.LSTM(3, 4, 2, bidirectional=True, output="hc", **DOUBLE)
    states = random_states(layer, 2)
    x = torch.randn(4, 2, 3, requires_grad=True, **DOUBLE)

    def run(x: torch.Tensor, h: torch.Tensor, c: torch.Tensor, *_: torch.Tensor) -> list[torch.Tensor]:
        output, last = layer(x, (h, c))
        return [output, *last]

    assert torch.autograd.gradcheck(run, (x, *states, *layer.parameters()))


@pytest.mark.parametrize("cell", CELLS)
def test_initial_state_gets_a_times_g_1(cell: str) -> None:
    """The last error is the only one, one step before it: g_1 = a e, so the initial state gets a^2 e."""
    layer = make_layer(cell, 3, 4, feedback="dsf", **DOUBLE)
    states = random_states(layer, 2)
    _, last = layer(torch.randn(2, 2, 3, **DOUBLE), as_hx(states))
    errors = [torch.randn_like(part) for part in states]
    found = torch.autograd.grad(parts_of(last), states, errors)
    a = layer.feedback_a_l0
    assert isinstance(a, torch.Tensor)
    for gradient, error, own in zip(found, errors, a.split(4)):
        torch.testing.assert_close(gradient, own * own * error)


@pytest.mark.parametrize("cell", CELLS)
def test_initial_state_gets_zero_from_ft(cell: str) -> None:
    layer = make_layer(cell, 3, 4, feedback="ft", **DOUBLE)
    states = random_states(layer, 2)
    output, _ = layer(torch.randn(3, 2, 3, **DOUBLE), as_hx(states))
    for gradient in torch.autograd.grad(output.sum(), states):
        assert gradient.abs().max() == 0


@pytest.mark.parametrize("cell", CELLS)
def test_zero_diagonal_is_ft(cell: str) -> None:
    dsf_layer = make_layer(cell, 3, 4, 2, feedback="dsf", feedback_range=(0.0, 0.0), **DOUBLE)
    batch = random_sequences(dsf_layer, [4, 2])
    with_zero = run_sequences(dsf_layer, batch)
    dsf_layer.set_feedback("ft")
    assert_all_close(run_sequences(dsf_layer, batch), with_zero, **CLOSE)


@pytest.mark.parametrize("cell", CELLS)
def test_enough_corrections_are_bptt(cell: str) -> None:
    """K corrections are exact on the last K + 1 steps of every sequence, the initial state counted."""
    layer = make_layer(cell, 3, 4, feedback="iterated:5", **DOUBLE)
    batch = random_sequences(layer, [5, 3])
    corrected = run_sequences(layer, batch)
    layer.set_feedback("bptt")
    assert_all_close(corrected, run_sequences(layer, batch), **CLOSE)


@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_gated_is_bptt_without_recurrent_weights(cell: str) -> None:
    layer = make_layer(cell, 3, 4, feedback="gated", **DOUBLE)
    with torch.no_grad():
        layer.weight_hh_l0.zero_()
    batch = random_sequences(layer, [6, 4])
    gated = run_sequences(layer, batch)
    layer.set_feedback("bptt")
    assert_all_close(gated, run_sequences(layer, batch), **CLOSE)


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_lower_precision_is_near_float64(cell: str, dtype: torch.dtype) -> None:
    """Errors of a few units of the dtype's rounding, relative to the size of each gradient."""
    exact = make_layer(cell, 8, 16, feedback="dsf", **DOUBLE)
    exact = exact.to(dtype).double()  # both sides start from the same rounded numbers
    rounded = make_layer(cell, 8, 16, feedback="dsf", dtype=dtype)
    rounded.load_state_dict(exact.state_dict())
    x = torch.randn(20, 4, 8).to(dtype)

    def gradients(layer: torch.nn.Module) -> list[torch.Tensor]:
        layer_dtype = next(layer.parameters()).dtype
        output, _ = layer(x.to(layer_dtype))
        return [g.double() for g in torch.autograd.grad(output.square().mean(), list(layer.parameters()))]

    tolerance = 1e-4 if dtype == torch.float32 else 0.1
    for actual, expected in zip(gradients(rounded), gradients(exact)):
        assert (actual - expected).norm() <= tolerance * expected.norm()


def test_only_the_last_state_has_a_gradient() -> None:
    layer = dsf.nn.GRU(3, 4, feedback="dsf", **DOUBLE)
    x = torch.randn(5, 2, 3, requires_grad=True, **DOUBLE)
    output, last = layer(x)
    (from_last,) = torch.autograd.grad(last.sum(), x, retain_graph=True)
    (from_output,) = torch.autograd.grad(output[-1].sum(), x)
    torch.testing.assert_close(from_last, from_output)


def test_frozen_weights_leave_gradients_of_the_input() -> None:
    layer = dsf.nn.GRU(3, 4, feedback="dsf", **DOUBLE)
    x = torch.randn(5, 2, 3, requires_grad=True, **DOUBLE)
    (expected,) = torch.autograd.grad(layer(x)[0].sum(), x)
    layer.requires_grad_(False)
    layer(x)[0].sum().backward()
    torch.testing.assert_close(x.grad, expected)
    assert layer.weight_hh_l0.grad is None
