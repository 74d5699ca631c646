"""What a user of torch.nn's layers relies on: signatures, names, copies, files, functional calls, errors."""

from __future__ import annotations

import copy
import inspect
import io
import pickle
from typing import Any

import pytest
import torch
from support import CELLS, INEXACT, make_layer, make_torch_layer, parts_of
from torch import nn
from torch.func import functional_call
from torch.nn.utils.rnn import pack_sequence

import dsf.nn

KEYWORDS = {
    "RNN": "input_size hidden_size num_layers nonlinearity bias batch_first dropout bidirectional device dtype",
    "GRU": "input_size hidden_size num_layers bias batch_first dropout bidirectional device dtype",
    "LSTM": "input_size hidden_size num_layers bias batch_first dropout bidirectional proj_size device dtype",
}


@pytest.mark.parametrize("name", KEYWORDS)
def test_positional_arguments_are_torchs(name: str) -> None:
    signature = inspect.signature(getattr(dsf.nn, name))
    positional = [p.name for p in signature.parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
    assert positional == KEYWORDS[name].split()
    assert signature.parameters["feedback"].default == "bptt"


def test_nonlinearity_is_the_fourth_argument() -> None:
    assert dsf.nn.RNN(2, 3, 1, "relu").mode == nn.RNN(2, 3, 1, "relu").mode == "RNN_RELU"


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize(
    "options", [{}, {"num_layers": 2, "dropout": 0.5}, {"bias": False, "batch_first": True, "bidirectional": True}]
)
def test_repr_and_state_dict_are_torchs(cell: str, options: dict[str, Any]) -> None:
    ours, theirs = make_layer(cell, 3, 4, **options), make_torch_layer(cell, 3, 4, **options)
    assert repr(ours) == repr(theirs)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    theirs.load_state_dict(ours.state_dict(), strict=True)
    ours.load_state_dict(theirs.state_dict(), strict=True)
    assert ours.all_weights[0][0] is ours.weight_ih_l0


def test_repr_names_feedback_and_output() -> None:
    layer = dsf.nn.LSTM(3, 4, feedback="gated:dsf", output="hc")
    assert repr(layer) == "LSTM(3, 4, feedback=gated:dsf, output=hc)"


@pytest.mark.parametrize("feedback", ["dsf", "gated:dsf"])
@pytest.mark.parametrize(("cell", "width"), [("rnn_tanh", 4), ("gru", 4), ("lstm", 8)])
def test_diagonal_is_a_buffer_of_the_width_of_the_state(cell: str, width: int, feedback: str) -> None:
    layer = make_layer(cell, 3, 4, 2, bidirectional=True, feedback=feedback)
    buffers = dict(layer.named_buffers())
    assert list(buffers) == [f"feedback_a_l{k}" for k in ("0", "0_reverse", "1", "1_reverse")]
    for a in buffers.values():
        assert a.shape == (width,)
        assert 0 <= a.min() < a.max() <= 1
    assert len({float(a[0]) for a in buffers.values()}) == 4
    assert not any(name.startswith("feedback_a") for name, _ in layer.named_parameters())


@pytest.mark.parametrize("feedback", ["bptt", "ft", "gated", "iterated:1", "bptt:rank", "bptt:rank:2"])
def test_other_feedbacks_keep_no_buffer(feedback: str) -> None:
    layer = dsf.nn.GRU(3, 4, feedback=feedback)
    assert not list(layer.buffers())
    nn.GRU(3, 4).load_state_dict(layer.state_dict(), strict=True)


def test_diagonal_comes_from_torchs_generator() -> None:
    def drawn(seed: int) -> torch.Tensor:
        torch.manual_seed(seed)
        return dsf.nn.GRU(3, 4, feedback="dsf").feedback_a_l0

    assert torch.equal(drawn(1), drawn(1))
    assert not torch.equal(drawn(1), drawn(2))


def test_diagonal_options() -> None:
    spaced = dsf.nn.GRU(3, 5, feedback="dsf", feedback_init="linspace", feedback_range=(0.2, 0.6))
    torch.testing.assert_close(spaced.feedback_a_l0, torch.tensor([0.2, 0.3, 0.4, 0.5, 0.6]))
    constant = dsf.nn.GRU(3, 5, feedback="dsf", feedback_init="constant", feedback_range=(0.2, 0.6))
    torch.testing.assert_close(constant.feedback_a_l0, torch.full((5,), 0.4))
    uniform = dsf.nn.GRU(3, 500, feedback="dsf", feedback_range=(0.2, 0.6)).feedback_a_l0
    assert isinstance(uniform, torch.Tensor)
    assert 0.2 <= uniform.min() < 0.22
    assert 0.58 < uniform.max() <= 0.6


def test_state_dict_of_torch_leaves_the_diagonal() -> None:
    model = nn.Sequential(dsf.nn.GRU(3, 4, feedback="dsf"))
    before = model[0].feedback_a_l0.clone()
    model.load_state_dict(nn.Sequential(nn.GRU(3, 4)).state_dict(), strict=True)
    assert torch.equal(model[0].feedback_a_l0, before)


def test_state_dict_carries_the_diagonal() -> None:
    one, other = dsf.nn.LSTM(3, 4, feedback="dsf"), dsf.nn.LSTM(3, 4, feedback="dsf")
    other.load_state_dict(one.state_dict(), strict=True)
    assert torch.equal(one.feedback_a_l0, other.feedback_a_l0)


def test_state_dict_with_some_diagonals_is_refused() -> None:
    layer = dsf.nn.GRU(3, 4, 2, feedback="dsf")
    state = layer.state_dict()
    del state["feedback_a_l1"]
    with pytest.raises(RuntimeError, match="feedback_a_l1"):
        layer.load_state_dict(state, strict=True)


def test_unknown_keys_are_still_refused() -> None:
    state = dsf.nn.GRU(3, 4, feedback="dsf").state_dict()
    with pytest.raises(RuntimeError, match="feedback_a_l0"):
        nn.GRU(3, 4).load_state_dict(state, strict=True)


@pytest.mark.parametrize("feedback", ["bptt", "dsf"])
@pytest.mark.parametrize("cell", CELLS)
def test_copies_compute_the_same(cell: str, feedback: str) -> None:
    layer = make_layer(cell, 3, 4, 2, feedback=feedback)
    x = torch.randn(5, 2, 3)

    def numbers(module: Any) -> list[torch.Tensor]:
        output, _ = module(x)
        return [output, *torch.autograd.grad(output.square().sum(), list(module.parameters()))]

    saved = io.BytesIO()
    torch.save(layer, saved)
    saved.seek(0)
    copies = [
        copy.deepcopy(layer),
        pickle.loads(pickle.dumps(layer)),
        torch.load(saved, weights_only=False),
    ]
    for twin in copies:
        assert twin.weight_ih_l0 is not layer.weight_ih_l0
        for actual, expected in zip(numbers(twin), numbers(layer)):
            assert torch.equal(actual, expected)


@pytest.mark.parametrize("feedback", ["bptt", "dsf"])
def test_functional_call_takes_the_weights_it_is_given(feedback: str) -> None:
    layer, other = dsf.nn.GRU(3, 4, feedback=feedback), dsf.nn.GRU(3, 4, feedback=feedback)
    x = torch.randn(5, 2, 3)
    given = {name: p.detach().clone().requires_grad_() for name, p in other.named_parameters()}
    buffers = dict(other.named_buffers())
    output, _ = functional_call(layer, {**given, **buffers}, (x,))
    expected, _ = other(x)
    torch.testing.assert_close(output, expected)
    found = torch.autograd.grad(output.sum(), list(given.values()))
    for actual, right in zip(found, torch.autograd.grad(expected.sum(), list(other.parameters()))):
        torch.testing.assert_close(actual, right)


def test_torch_func_grad() -> None:
    layer = dsf.nn.GRU(3, 4)
    x = torch.randn(5, 2, 3)

    def loss(parameters: dict[str, torch.Tensor]) -> torch.Tensor:
        return functional_call(layer, parameters, (x,))[0].sum()

    found = torch.func.grad(loss)(dict(layer.named_parameters()))
    layer(x)[0].sum().backward()
    for name, parameter in layer.named_parameters():
        torch.testing.assert_close(found[name], parameter.grad)


@pytest.mark.parametrize("feedback", INEXACT)
def test_double_backward_is_refused(feedback: str) -> None:
    layer = dsf.nn.GRU(3, 4, feedback=feedback)
    x = torch.randn(5, 2, 3, requires_grad=True)
    (gradient,) = torch.autograd.grad(layer(x)[0].square().sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="double backward"):
        gradient.sum().backward()


def test_backward_twice_with_a_retained_graph() -> None:
    layer = dsf.nn.LSTM(3, 4, feedback="dsf")
    loss = layer(torch.randn(5, 2, 3))[0].sum()
    parameters = list(layer.parameters())
    first = torch.autograd.grad(loss, parameters, retain_graph=True)
    second = torch.autograd.grad(loss, parameters)
    for one, other in zip(first, second):
        assert torch.equal(one, other)


def test_module_moves_between_dtypes() -> None:
    layer = dsf.nn.GRU(3, 4, feedback="dsf").double()
    assert layer.feedback_a_l0.dtype == torch.float64
    assert layer(torch.randn(5, 2, 3, dtype=torch.float64))[0].dtype == torch.float64


def test_meta_device_and_reset() -> None:
    """The way large models are built: without memory first, then filled."""
    layer = dsf.nn.GRU(3, 4, feedback="dsf", device="meta")
    output, _ = layer(torch.randn(5, 2, 3, device="meta"))
    assert output.shape == (5, 2, 4)
    layer = layer.to_empty(device="cpu")
    layer.reset_parameters()
    a = layer.feedback_a_l0
    assert isinstance(a, torch.Tensor)
    assert 0 <= a.min() < a.max() <= 1


def test_no_grad_and_eval_give_the_same_outputs() -> None:
    for cell in CELLS:
        layer = make_layer(cell, 3, 4, 2, feedback="dsf")
        x = torch.randn(5, 2, 3)
        trained, _ = layer(x)
        assert trained.requires_grad
        with torch.no_grad():
            quiet, _ = layer(x)
        with torch.inference_mode():
            fast, _ = layer.eval()(x)
        assert not quiet.requires_grad
        torch.testing.assert_close(trained, quiet)
        torch.testing.assert_close(trained, fast.clone())


def test_hooks_and_gradient_of_some_parameters() -> None:
    layer = dsf.nn.GRU(3, 4, feedback="dsf")
    called = []
    layer.register_forward_hook(lambda *_: called.append(1))
    layer.weight_ih_l0.requires_grad_(False)
    layer(torch.randn(5, 2, 3))[0].sum().backward()
    assert called == [1]
    assert layer.weight_ih_l0.grad is None
    assert layer.weight_hh_l0.grad is not None


# --- what is refused ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("given", [(0.5,), (0.6, 0.2), (-0.1, 1.0), (0.0, 1.1), (float("nan"), 1.0), (0.0, 0.5, 1.0)])
def test_wrong_range_is_refused(given: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="0 <= low <= high <= 1"):
        dsf.nn.GRU(3, 4, feedback="dsf", feedback_range=given)


def test_wrong_options_are_refused() -> None:
    with pytest.raises(ValueError, match="uniform, linspace, constant"):
        dsf.nn.GRU(3, 4, feedback="dsf", feedback_init="normal")
    with pytest.raises(ValueError, match="'hc'"):
        dsf.nn.LSTM(3, 4, output="c")
    with pytest.raises(ValueError, match="nonlinearity"):
        dsf.nn.RNN(3, 4, nonlinearity="gelu")
    with pytest.raises(TypeError, match="str"):
        dsf.nn.GRU(3, 4, feedback=None)
    for kind in (dsf.nn.RNN, dsf.nn.GRU, dsf.nn.LSTM):
        with pytest.raises(ValueError, match="proj_size=2 is not supported"):
            kind(3, 4, proj_size=2)


def _refused(cell: str) -> list[tuple[type[Exception], Any, Any]]:
    """Wrong inputs: the exception, the input, the state."""
    x, h = torch.randn(5, 2, 3), torch.zeros(1, 2, 4)

    def state(tensor: torch.Tensor) -> Any:
        return (tensor, tensor) if cell == "lstm" else tensor

    wrong_kind: Any = h if cell == "lstm" else (h, h)
    return [
        (ValueError, torch.randn(3), None),
        (ValueError, torch.randn(1, 5, 2, 3), None),
        (RuntimeError, torch.randn(5, 2, 4), None),
        (ValueError, x.double(), None),
        (RuntimeError, torch.randn(0, 2, 3), None),
        (RuntimeError, x, state(torch.zeros(1, 3, 4))),
        (RuntimeError, x, state(torch.zeros(2, 2, 4))),
        (RuntimeError, x, state(torch.zeros(1, 2, 5))),
        (RuntimeError, x, state(torch.zeros(1, 4))),
        (RuntimeError, x[:, 0], state(h)),
        (RuntimeError, x, state(h.double())),
        (RuntimeError, x.to("meta"), None),
        (RuntimeError, x, state(h.to("meta"))),
        (TypeError, x, wrong_kind),
        (RuntimeError, pack_sequence([torch.randn(4), torch.randn(2)]), None),
        (RuntimeError, pack_sequence([torch.randn(4, 2), torch.randn(2, 2)]), None),
    ]


@pytest.mark.parametrize("feedback", ["bptt", "dsf"])
@pytest.mark.parametrize("cell", ["rnn_tanh", "gru", "lstm"])
def test_wrong_inputs_are_refused(cell: str, feedback: str) -> None:
    layer = make_layer(cell, 3, 4, feedback=feedback)
    for kind, x, hx in _refused(cell):
        with pytest.raises(kind):
            layer(x, hx)


def test_last_state_of_a_stream_goes_on() -> None:
    """Steps one at a time give what all steps at once give."""
    for cell in CELLS:
        layer = make_layer(cell, 3, 4, 2, feedback="dsf").eval()
        x = torch.randn(6, 1, 3)
        with torch.no_grad():
            whole, end = layer(x)
            state, pieces = None, []
            for step in x.split(1):
                piece, state = layer(step, state)
                pieces.append(piece)
        torch.testing.assert_close(torch.cat(pieces), whole)
        for one, other in zip(parts_of(state), parts_of(end)):
            torch.testing.assert_close(one, other)
