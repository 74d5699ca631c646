"""What PyTorch's own tests hold torch.nn.RNN, GRU and LSTM to, in words of our own, for every kind of feedback."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch
from support import as_hx, make_layer, parts_of, random_states
from torch import nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pack_sequence, pad_packed_sequence

FEEDBACKS = ["bptt", "dsf"]
MODES = ["rnn_tanh", "rnn_relu", "gru", "lstm"]


@pytest.mark.parametrize("feedback", FEEDBACKS)
@pytest.mark.parametrize("cell", MODES)
@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("bidirectional", [False, True])
def test_shapes(cell: str, feedback: str, batch_first: bool, bidirectional: bool) -> None:
    layer = make_layer(cell, 10, 20, 2, batch_first=batch_first, bidirectional=bidirectional, feedback=feedback)
    directions = 2 if bidirectional else 1
    for batch in (1, 3):
        x = torch.randn((batch, 7, 10) if batch_first else (7, batch, 10))
        output, last = layer(x, as_hx(random_states(layer, batch, torch.float32)))
        assert output.shape == (*x.shape[:2], 20 * directions)
        assert all(part.shape == (2 * directions, batch, 20) for part in parts_of(last))


@pytest.mark.parametrize("feedback", FEEDBACKS)
@pytest.mark.parametrize("cell", MODES)
def test_unbatched_is_a_batch_of_one(cell: str, feedback: str) -> None:
    for bidirectional in (False, True):
        for batch_first in (False, True):
            layer = make_layer(cell, 3, 4, 2, bidirectional=bidirectional, batch_first=batch_first, feedback=feedback)
            x, states = torch.randn(5, 3), [part.detach() for part in random_states(layer, None, torch.float32)]
            output, last = layer(x, as_hx(states))
            dim = 0 if batch_first else 1
            expected, expected_last = layer(x.unsqueeze(dim), as_hx([part.unsqueeze(1) for part in states]))
            torch.testing.assert_close(output, expected.squeeze(dim))
            for one, other in zip(parts_of(last), parts_of(expected_last)):
                torch.testing.assert_close(one, other.squeeze(1))


@pytest.mark.parametrize("feedback", FEEDBACKS)
@pytest.mark.parametrize("cell", MODES)
def test_zero_state_is_the_default(cell: str, feedback: str) -> None:
    layer = make_layer(cell, 3, 4, 2, bidirectional=True, feedback=feedback)
    x = torch.randn(5, 2, 3)
    zeros = [torch.zeros_like(part) for part in random_states(layer, 2, torch.float32)]
    assert torch.equal(layer(x)[0], layer(x, as_hx(zeros))[0])


@pytest.mark.parametrize("feedback", FEEDBACKS)
@pytest.mark.parametrize("cell", MODES)
def test_variable_lengths_equal_sequences_alone(cell: str, feedback: str) -> None:
    """A packed batch gives each sequence what it gets alone, outputs, last states and gradients."""
    layer = make_layer(cell, 3, 4, 2, bidirectional=True, feedback=feedback, dtype=torch.float64)
    lengths = [2, 5, 5, 1]
    alone = [torch.randn(steps, 3, dtype=torch.float64, requires_grad=True) for steps in lengths]
    together = [sequence.detach().clone().requires_grad_() for sequence in alone]
    packed, last = layer(pack_sequence(together, enforce_sorted=False))
    assert isinstance(packed, PackedSequence)
    padded, found_lengths = pad_packed_sequence(packed)
    assert found_lengths.tolist() == lengths
    (padded.square().sum() + sum(part.sum() for part in parts_of(last))).backward()
    weights = {name: p.grad.clone() for name, p in layer.named_parameters() if p.grad is not None}
    layer.zero_grad()
    for b, sequence in enumerate(alone):
        output, own_last = layer(sequence.unsqueeze(1))
        torch.testing.assert_close(padded[: lengths[b], b], output[:, 0])
        assert padded[lengths[b] :, b].abs().sum() == 0
        for part, own in zip(parts_of(last), parts_of(own_last)):
            torch.testing.assert_close(part[:, b], own[:, 0])
        (output.square().sum() + sum(part.sum() for part in parts_of(own_last))).backward()
        torch.testing.assert_close(together[b].grad, sequence.grad)
    for name, parameter in layer.named_parameters():
        torch.testing.assert_close(parameter.grad, weights[name])


@pytest.mark.parametrize("feedback", FEEDBACKS)
@pytest.mark.parametrize("cell", MODES)
def test_unsorted_lengths_with_states_keep_the_order_of_the_user(cell: str, feedback: str) -> None:
    layer = make_layer(cell, 3, 4, feedback=feedback)
    order, back = torch.tensor([2, 0, 3, 1]), torch.tensor([1, 3, 0, 2])
    x, lengths = torch.randn(6, 4, 3), torch.tensor([6, 5, 3, 2])
    states = [part.detach() for part in random_states(layer, 4, torch.float32)]
    output, last = layer(pack_padded_sequence(x, lengths), as_hx(states))
    shuffled = pack_padded_sequence(x[:, order], lengths[order], enforce_sorted=False)
    other, other_last = layer(shuffled, as_hx([part[:, order] for part in states]))
    torch.testing.assert_close(pad_packed_sequence(output)[0], pad_packed_sequence(other)[0][:, back])
    for one, two in zip(parts_of(last), parts_of(other_last)):
        torch.testing.assert_close(one, two[:, back])


@pytest.mark.parametrize("feedback", FEEDBACKS)
@pytest.mark.parametrize("cell", MODES)
def test_changed_weights_are_seen(cell: str, feedback: str) -> None:
    """A parameter that was replaced or changed in place counts at the next call."""
    layer = make_layer(cell, 3, 4, feedback=feedback)
    x = torch.randn(5, 2, 3)
    before = layer(x)[0].detach().clone()
    with torch.no_grad():
        layer.weight_ih_l0.mul_(2)
    changed = layer(x)[0].detach().clone()
    assert not torch.equal(before, changed)
    layer.weight_ih_l0 = nn.Parameter(layer.weight_ih_l0.detach() / 2)
    torch.testing.assert_close(layer(x)[0], before)


@pytest.mark.parametrize("cell", MODES)
def test_wrong_sizes_at_construction(cell: str) -> None:
    for sizes, kind in [((0, 4), ValueError), ((3, 0), ValueError), ((3, 4, 0), ValueError), ((3, 4.0), TypeError)]:
        with pytest.raises(kind):
            make_layer(cell, *sizes)


@pytest.mark.parametrize("option", [{"bias": 1}, {"batch_first": "yes"}])
def test_options_that_newer_pytorch_refuses(option: dict[str, Any]) -> None:
    """PyTorch 2.6 takes what 2.13 refuses; the layers do as the PyTorch that is installed."""
    try:
        nn.GRU(3, 4, **option)
    except TypeError:
        with pytest.raises(TypeError):
            make_layer("gru", 3, 4, **option)
    else:
        make_layer("gru", 3, 4, **option)


@pytest.mark.parametrize("dropout", [-0.1, 1.1, True, "half"])
def test_wrong_dropout(dropout: Any) -> None:
    with pytest.raises(ValueError, match=r"could not convert|dropout"):
        make_layer("gru", 3, 4, 2, dropout=dropout)


def test_dropout_with_one_layer_warns() -> None:
    with pytest.warns(UserWarning, match="num_layers greater than 1"):
        make_layer("gru", 3, 4, dropout=0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make_layer("gru", 3, 4, 2, dropout=0.5)


@pytest.mark.parametrize("feedback", FEEDBACKS)
@pytest.mark.parametrize("cell", MODES)
def test_full_dropout_leaves_the_biases(cell: str, feedback: str) -> None:
    """With dropout 1 the second layer sees zeros, whatever the input is; in eval mode it sees everything."""
    layer = make_layer(cell, 3, 4, 2, dropout=1.0, feedback=feedback)
    one, other = torch.randn(5, 2, 3), torch.randn(5, 2, 3)
    assert torch.equal(layer(one)[0], layer(other)[0])
    layer.eval()
    assert not torch.equal(layer(one)[0], layer(other)[0])


@pytest.mark.parametrize("feedback", FEEDBACKS)
@pytest.mark.parametrize("cell", MODES)
def test_input_that_is_not_contiguous(cell: str, feedback: str) -> None:
    layer = make_layer(cell, 3, 4, feedback=feedback)
    wide = torch.randn(5, 2, 6)
    x = wide[..., ::2]
    assert not x.is_contiguous()
    torch.testing.assert_close(layer(x)[0], layer(x.contiguous())[0])
    layer(x)[0].transpose(0, 1).square().sum().backward()
    assert layer.weight_ih_l0.grad is not None


@pytest.mark.parametrize("feedback", FEEDBACKS)
def test_state_that_is_not_contiguous(feedback: str) -> None:
    layer = make_layer("lstm", 3, 4, 2, feedback=feedback)
    states = [torch.randn(3, 2, 4).transpose(0, 1) for _ in range(2)]
    x = torch.randn(5, 3, 3)
    torch.testing.assert_close(layer(x, as_hx(states))[0], layer(x, as_hx([s.contiguous() for s in states]))[0])


@pytest.mark.parametrize("feedback", FEEDBACKS)
@pytest.mark.parametrize("cell", MODES)
def test_empty_batch(cell: str, feedback: str) -> None:
    layer = make_layer(cell, 3, 4, feedback=feedback)
    output, last = layer(torch.randn(5, 0, 3))
    assert output.shape == (5, 0, 4)
    output.sum().backward()
    assert layer.weight_hh_l0.grad.abs().sum() == 0
    assert parts_of(last)[0].shape == (1, 0, 4)


@pytest.mark.parametrize("feedback", FEEDBACKS)
@pytest.mark.parametrize("cell", MODES)
def test_copied_layer_with_shared_storage_of_weights(cell: str, feedback: str) -> None:
    """Two layers may share one parameter; its gradient is the sum."""
    one, other = (make_layer(cell, 3, 4, feedback=feedback) for _ in range(2))
    x = torch.randn(5, 2, 3)
    one(x)[0].sum().backward()
    own = one.weight_hh_l0.grad.clone()
    other.weight_hh_l0 = one.weight_hh_l0
    other(x)[0].sum().backward()
    assert not torch.equal(one.weight_hh_l0.grad, own)
