"""The names of feedbacks, and the numbers that some of them keep."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from support import assert_all_close, make_layer, random_sequences, run_sequences
from torch import Tensor, nn

import dsf.nn
from dsf.nn import _feedback, _low_rank, reference

WIDTH = 12
KEPT = {"pairs": (2, 6), "lowrank:3": (7, 12), "orthogonal": (12, 12), "dense": (12, 12)}


def _numbers(feedback: str, width: int = WIDTH, **options: Any) -> Tensor:
    layer = dsf.nn.GRU(3, width, feedback=feedback, dtype=torch.float64, **options)
    numbers = layer.feedback_a_l0
    assert isinstance(numbers, Tensor)
    return numbers


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("bptt", ("bptt", 0)),
        ("bptt:rank", ("bptt:rank", 0)),
        ("bptt:rank:12", ("bptt:rank", 12)),
        ("lowrank:8", ("lowrank", 8)),
        ("iterated:3", ("iterated", 3)),
        ("gated:dsf", ("gated:dsf", 0)),
    ],
)
def test_names_are_taken_apart(name: str, expected: tuple[str, int]) -> None:
    assert tuple(_feedback.parse(name)) == expected


@pytest.mark.parametrize(
    "name",
    [
        "dfs",
        "lowrank",
        "lowrank:K",
        "iterated",
        "iterated:-1",
        "iterated:x",
        "bptt:rank[:K]",
        "bptt:rank:",
        "dsf:2",
        "",
    ],
)
def test_other_names_are_refused_with_the_menu(name: str) -> None:
    with pytest.raises(ValueError, match=r"bptt, ft, dsf, bptt:rank\[:K\], gated"):
        dsf.nn.GRU(3, 4, feedback=name)


@pytest.mark.parametrize("name", ["iterated:0", "lowrank:0", "bptt:rank:0"])
def test_zero_is_not_a_number_for_k(name: str) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        dsf.nn.GRU(3, 4, feedback=name)


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("windows:4", "bptt:rank"),
        ("candidate:dsf:2", "bptt:rank"),
        ("gated:diagonal", "gated"),
        ("iterated:dsf:3", "iterated:K"),
        ("blocks:4", "orthogonal"),
        ("ortogonal", "orthogonal"),
    ],
)
def test_a_removed_or_mistyped_name_is_refused_with_the_nearest(name: str, nearest: str) -> None:
    with pytest.raises(ValueError, match=f"nearest (that is: |is )'{nearest}'"):
        dsf.nn.GRU(3, 4, feedback=name)


@pytest.mark.parametrize("feedback", KEPT)
def test_numbers_of_a_matrix_are_a_buffer(feedback: str) -> None:
    layer = dsf.nn.GRU(3, WIDTH, 2, bidirectional=True, feedback=feedback)
    buffers = dict(layer.named_buffers())
    assert list(buffers) == [f"feedback_a_l{k}" for k in ("0", "0_reverse", "1", "1_reverse")]
    assert {tuple(numbers.shape) for numbers in buffers.values()} == {KEPT[feedback]}
    assert not torch.equal(buffers["feedback_a_l0"], buffers["feedback_a_l1"])
    twin = dsf.nn.GRU(3, WIDTH, 2, bidirectional=True, feedback=feedback)
    twin.load_state_dict(layer.state_dict(), strict=True)
    assert torch.equal(twin.feedback_a_l1_reverse, buffers["feedback_a_l1_reverse"])
    twin.load_state_dict(nn.GRU(3, WIDTH, 2, bidirectional=True).state_dict(), strict=True)
    assert torch.equal(twin.feedback_a_l1_reverse, buffers["feedback_a_l1_reverse"])


@pytest.mark.parametrize("feedback", KEPT)
def test_numbers_come_from_torchs_generator(feedback: str) -> None:
    def drawn(seed: int) -> Tensor:
        torch.manual_seed(seed)
        return _numbers(feedback)

    assert torch.equal(drawn(1), drawn(1))
    assert not torch.equal(drawn(1), drawn(2))


@pytest.mark.parametrize("feedback", KEPT)
@pytest.mark.parametrize("width", [1, 2, 7, 64])
def test_matrices_have_a_norm_of_at_most_one(feedback: str, width: int) -> None:
    A = reference.fixed_matrix(feedback, _numbers(feedback, width), width)
    assert torch.linalg.matrix_norm(A, 2) <= 1 + 1e-12


def test_orthogonal_matrix_has_the_range_as_its_singular_values() -> None:
    A = _numbers("orthogonal", 64, feedback_range=(0.25, 0.75))
    values = torch.linalg.svdvals(A)
    assert 0.25 <= values.min() < 0.3
    assert 0.7 < values.max() <= 0.75
    torch.testing.assert_close(A @ A.t(), torch.diag((A @ A.t()).diagonal()))


def test_dense_matrix_has_a_norm_of_one() -> None:
    A = _numbers("dense", 64)
    torch.testing.assert_close(torch.linalg.matrix_norm(A, 2), torch.tensor(1.0, dtype=torch.float64))
    assert A.mean().abs() < 0.01


def test_low_rank_matrix_is_half_a_diagonal_and_half_a_projection() -> None:
    numbers = _numbers("lowrank:5", 64, feedback_range=(0.2, 0.6))
    assert 0.1 <= numbers[0].min() < 0.12
    assert 0.28 < numbers[0].max() <= 0.3
    identity = torch.eye(5, dtype=torch.float64)
    torch.testing.assert_close(2 * numbers[1:6] @ (2 * numbers[1:6]).t(), identity)
    torch.testing.assert_close(numbers[6:] @ numbers[6:].t(), identity)
    assert _numbers("lowrank:100", 8).shape == (17, 8)


def test_pairs_are_the_spectrum_of_s4d() -> None:
    """Modulus exp(-d/2) and angle pi n d with n = 0 .. 31 again and again: d is known from the modulus."""
    real, imaginary = _numbers("pairs", 129)
    number = torch.complex(real, imaginary)
    step = -2 * number.abs().log()
    assert step.min() >= 0.001
    assert step.max() <= 0.1
    turned = torch.polar(number.abs(), torch.pi * (torch.arange(65) % 32) * step)
    torch.testing.assert_close(number[:-1], turned[:-1])
    assert imaginary[-1] == 0  # the unit that is left over


def test_a_diagonal_matrix_is_dsf() -> None:
    layer = make_layer("lstm", 3, 4, 2, feedback="dense", dtype=torch.float64)
    batch = random_sequences(layer, [6, 3])
    diagonals = [torch.rand(8, dtype=torch.float64) for _ in range(2)]
    for k, a in enumerate(diagonals):
        getattr(layer, f"feedback_a_l{k}").copy_(torch.diag(a))
    by_matrix = run_sequences(layer, batch)
    layer.set_feedback("dsf")
    for k, a in enumerate(diagonals):
        getattr(layer, f"feedback_a_l{k}").copy_(a)
    assert_all_close(by_matrix, run_sequences(layer, batch), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("cell", ["rnn_tanh", "rnn_relu", "gru", "lstm"])
def test_the_full_rank_is_bptt(cell: str) -> None:
    layer = make_layer(cell, 3, 4, 2, feedback="bptt:rank:4", dtype=torch.float64)
    batch = random_sequences(layer, [6, 3, 1])
    by_rank = run_sequences(layer, batch)
    layer.set_feedback("bptt")
    assert_all_close(by_rank, run_sequences(layer, batch), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("cell", ["rnn_tanh", "gru", "lstm"])
def test_matrices_of_low_rank_make_it_bptt(cell: str) -> None:
    layer = make_layer(cell, 3, 8, feedback="bptt:rank", dtype=torch.float64)  # D/4: rank 2
    assert isinstance(layer.weight_hh_l0, Tensor)
    with torch.no_grad():
        height = layer.weight_hh_l0.shape[0]
        layer.weight_hh_l0.copy_(torch.randn(height, 2).double() @ torch.randn(2, 8).double() / 2)
    batch = random_sequences(layer, [6, 3])
    by_rank = run_sequences(layer, batch)
    layer.set_feedback("bptt")
    assert_all_close(by_rank, run_sequences(layer, batch), rtol=1e-8, atol=1e-10)


def test_probe_holds_the_numbers_of_the_library() -> None:
    """dsf::Rng(0, "low rank factors").normal(), the first four and the 1,001st."""
    W = _low_rank.probe(2, 501).reshape(-1)
    expected = [-0.055194900703503053, -0.62749825621300193, -0.080599189435089078, 1.0613034574968376]
    torch.testing.assert_close(W[:4], torch.tensor(expected, dtype=torch.float64), rtol=1e-7, atol=0)
    torch.testing.assert_close(W[1000].item(), 0.75506006076873167, rtol=1e-7, atol=0)


def test_factors_are_near_the_best_of_their_rank() -> None:
    U = torch.randn(30, 20, dtype=torch.float64) * torch.logspace(0, -3, 20, dtype=torch.float64)
    P, Q = _low_rank.factors(U, 6)
    torch.testing.assert_close(Q @ Q.t(), torch.eye(6, dtype=torch.float64))
    # One power iteration without extra columns is within a small factor of the best; U itself is nine times that.
    best = torch.linalg.svdvals(U)[6:].norm()
    assert (U - P @ Q).norm() < 2 * best


@pytest.mark.parametrize("feedback", [*KEPT, "bptt:rank"])
def test_convert_takes_every_feedback(feedback: str) -> None:
    model = nn.Sequential(nn.GRU(3, WIDTH))
    expected = model[0](torch.ones(4, 2, 3))[0]
    converted = dsf.nn.convert(model, feedback)
    assert isinstance(converted[0], dsf.nn.GRU)
    torch.testing.assert_close(converted[0](torch.ones(4, 2, 3))[0], expected)
    back = dsf.nn.convert(converted, None)
    assert not list(back.buffers())
    assert type(back[0]) is nn.GRU


@pytest.mark.parametrize("feedback", KEPT)
def test_meta_device_needs_no_numbers(feedback: str) -> None:
    layer = dsf.nn.LSTM(3, 4, feedback=feedback, device="meta")
    assert all(buffer.is_meta for buffer in layer.buffers())
    layer.to_empty(device="cpu").reset_parameters()
    numbers = layer.feedback_a_l0
    assert isinstance(numbers, Tensor)
    assert numbers.isfinite().all()
