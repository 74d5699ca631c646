"""Helpers of the tests: random layers and batches, and the gradients of whole stacks by the float64 definition."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Optional

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_sequence

import dsf.nn
from dsf.nn import reference
from dsf.nn._recurrent import Recurrent

CELLS = ("rnn_tanh", "rnn_relu", "gru", "lstm")
SCANS = ("ft", "dsf", "gated", "gated:dsf", "iterated:2", "pairs", "lowrank:2", "orthogonal", "dense")
INEXACT = (*SCANS, "bptt:rank:2")


def make_layer(cell: str, *sizes: int, **options: Any) -> Recurrent:
    kind, _, nonlinearity = cell.partition("_")
    if nonlinearity:
        options["nonlinearity"] = nonlinearity
    layers: dict[str, type[Recurrent]] = {"rnn": dsf.nn.RNN, "gru": dsf.nn.GRU, "lstm": dsf.nn.LSTM}
    return layers[kind](*sizes, **options)


def make_torch_layer(cell: str, *sizes: int, **options: Any) -> nn.RNNBase:
    kind, _, nonlinearity = cell.partition("_")
    if nonlinearity:
        options["nonlinearity"] = nonlinearity
    layers: dict[str, type[nn.RNNBase]] = {"rnn": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}
    return layers[kind](*sizes, **options)


def parts_of(state: Any) -> list[Tensor]:
    return [state] if isinstance(state, Tensor) else list(state)


def as_hx(parts: list[Tensor]) -> Any:
    return parts[0] if len(parts) == 1 else tuple(parts)


def random_states(layer: nn.RNNBase, batch: Optional[int], dtype: torch.dtype = torch.float64) -> list[Tensor]:
    rows = layer.num_layers * (2 if layer.bidirectional else 1)
    shape = (rows, layer.hidden_size) if batch is None else (rows, batch, layer.hidden_size)
    count = 2 if layer.mode == "LSTM" else 1
    return [(torch.randn(shape, dtype=dtype) / 2).requires_grad_() for _ in range(count)]


def gradients_of(
    layer: nn.RNNBase, inputs: Any, leaf: Tensor, states: Optional[list[Tensor]], weigh_last: bool = True
) -> dict[str, Tensor]:
    """Outputs and all gradients of a loss that weighs every output and every last state differently."""
    for tensor in [leaf, *(states or []), *layer.parameters()]:
        tensor.grad = None
    output, last = layer(inputs, None if states is None else as_hx(states))
    data = output.data if isinstance(output, PackedSequence) else output
    result = {"output": data}
    loss = (data * _loss_weights(data)).sum()
    for index, part in enumerate(parts_of(last)):
        result[f"last {index}"] = part
        if weigh_last:
            loss = loss + (part * _loss_weights(part)).sum()
    loss.backward()
    result["x"] = leaf.grad if leaf.grad is not None else torch.zeros(0)
    for index, part in enumerate(states or []):
        assert part.grad is not None
        result[f"initial {index}"] = part.grad
    for name, parameter in layer.named_parameters():
        assert parameter.grad is not None, name
        result[name] = parameter.grad
    return {name: values.detach().clone() for name, values in result.items()}


def _loss_weights(values: Tensor) -> Tensor:
    return torch.linspace(-1.0, 1.5, values.numel(), dtype=torch.float64).reshape(values.shape).cos().to(values.dtype)


def assert_all_close(actual: dict[str, Tensor], expected: dict[str, Tensor], rtol: float, atol: float) -> None:
    assert actual.keys() == expected.keys()
    for name in expected:
        torch.testing.assert_close(
            actual[name], expected[name], rtol=rtol, atol=atol, msg=lambda text, name=name: f"{name}: {text}"
        )


# --- the definition of a whole stack ------------------------------------------------------------------------


@dataclass
class Sequences:
    """Sequences of their own lengths with the errors that arrive from above. All in the order the user gave them."""

    x: list[Tensor]  # [T_b, I]
    states: list[Tensor]  # each part [layers * directions, B, D]
    e: list[Tensor]  # [T_b, directions * O]
    e_last: list[Tensor]  # like states


def run_sequences(layer: Recurrent, batch: Sequences) -> dict[str, Tensor]:
    """The gradients by the layer, through a PackedSequence in any order."""
    x = [sequence.clone().requires_grad_() for sequence in batch.x]
    states = [part.detach().clone().requires_grad_() for part in batch.states]
    output, last = layer(pack_sequence(x, enforce_sorted=False), as_hx(states))
    errors = pack_sequence(batch.e, enforce_sorted=False).data
    roots, grads = [output.data, *parts_of(last)], [errors, *batch.e_last]
    named = dict(layer.named_parameters())
    found = torch.autograd.grad(roots, [*x, *states, *named.values()], grads)
    names = [*(f"x {b}" for b in range(len(x))), *(f"initial {p}" for p in range(len(states))), *named]
    return dict(zip(names, found))


def define_sequences(layer: Recurrent, batch: Sequences) -> dict[str, Tensor]:
    """The same gradients by dsf.nn.reference, layer by layer and direction by direction."""
    directions = 2 if layer.bidirectional else 1
    D, count = layer.hidden_size, len(batch.x)
    inputs = [batch.x]
    for index in range(layer.num_layers):
        outputs = [_states_of(layer, index, direction, inputs[-1], batch.states) for direction in range(directions)]
        inputs.append([torch.cat([outputs[k][b][:, :D] for k in range(directions)], -1) for b in range(count)])
    result = {name: torch.zeros_like(part) for name, part in zip(("initial 0", "initial 1"), batch.states)}
    e = batch.e
    for index in range(layer.num_layers - 1, -1, -1):
        dx = [torch.zeros_like(sequence) for sequence in inputs[index]]
        for direction in range(directions):
            row = index * directions + direction
            own = [sequence.chunk(directions, -1)[direction] for sequence in e]
            got = _gradients_of(layer, index, direction, inputs[index], batch, own)
            dx = [total + _turned(part, direction) for total, part in zip(dx, got.x)]
            for b in range(count):
                for part, values in enumerate(got.initial[b].split(D)):
                    result[f"initial {part}"][row, b] = values
            names = [name for name in _names(index, direction) if hasattr(layer, name)]
            result.update(zip(names, (values for values in got.parameters if values is not None)))
        e = dx
    result.update({f"x {b}": e[b] for b in range(count)})
    return result


def _names(index: int, direction: int) -> Iterator[str]:
    suffix = f"l{index}{'_reverse' if direction else ''}"
    return (f"{kind}_{suffix}" for kind in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"))


def _parameters(layer: Recurrent, index: int, direction: int) -> reference.Parameters:
    values = [getattr(layer, name).detach().double() for name in _names(index, direction) if hasattr(layer, name)]
    return reference.Parameters(*values)


def _turned(sequence: Tensor, direction: int) -> Tensor:
    return sequence.flip(0) if direction else sequence


def _initial(states: list[Tensor], row: int) -> list[Tensor]:
    return [torch.cat([part[row, b].detach() for part in states]) for b in range(states[0].shape[1])]


def _states_of(layer: Recurrent, index: int, direction: int, x: list[Tensor], states: list[Tensor]) -> list[Tensor]:
    row = index * (2 if layer.bidirectional else 1) + direction
    p = _parameters(layer, index, direction)
    return [
        _turned(reference.layer_forward(layer.cell, p, _turned(sequence, direction), initial), direction).detach()
        for sequence, initial in zip(x, _initial(states, row))
    ]


def _gradients_of(
    layer: Recurrent, index: int, direction: int, x: list[Tensor], batch: Sequences, e: list[Tensor]
) -> reference.Gradients:
    row = index * (2 if layer.bidirectional else 1) + direction
    errors = []
    for b, own in enumerate(e):
        at_states = torch.zeros(own.shape[0], layer.state_size, dtype=torch.float64)
        at_states[:, : own.shape[1]] = _turned(own, direction)
        at_states[-1] += torch.cat([part[row, b] for part in batch.e_last])
        errors.append(at_states)
    suffix = f"l{index}{'_reverse' if direction else ''}"
    a = getattr(layer, f"feedback_a_{suffix}", None)
    turned = [_turned(sequence, direction) for sequence in x]
    p = _parameters(layer, index, direction)
    return reference.layer_backward(layer.cell, layer.feedback, p, turned, _initial(batch.states, row), errors, a)


def random_sequences(layer: Recurrent, lengths: list[int]) -> Sequences:
    directions = 2 if layer.bidirectional else 1
    width = directions * (layer.state_size if layer.output == "hc" else layer.hidden_size)
    states = [part.detach() for part in random_states(layer, len(lengths))]
    return Sequences(
        x=[torch.randn(steps, layer.input_size, dtype=torch.float64) for steps in lengths],
        states=states,
        e=[torch.randn(steps, width, dtype=torch.float64) for steps in lengths],
        e_last=[torch.randn_like(part) for part in states],
    )
