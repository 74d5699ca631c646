"""The layer of one direction as custom operators, ``dsf::recurrent`` and ``dsf::recurrent_backward``.

Operators are opaque to torch.compile, which therefore neither breaks its graph at them nor unrolls time. Which
implementation computes them, the native one or the PyTorch operations, is decided inside.
"""

from __future__ import annotations

import math
from typing import Any, Optional

import torch
from torch import Tensor

from dsf.nn import _autocast, _generic, _native
from dsf.nn._cells import Weights
from dsf.nn._generic import Gradients, Inputs, Problem

_LAYER = (
    "Tensor x, Tensor initial, Tensor? batch_sizes, Tensor weight_ih, Tensor weight_hh, Tensor? bias_ih, "
    "Tensor? bias_hh, Tensor? a, str cell, str feedback, bool reverse, bool both"
)


@torch.library.custom_op(
    "dsf::recurrent",
    mutates_args=(),
    schema=f"({_LAYER}, bool keeps_tape) -> (Tensor output, Tensor last, Tensor tape)",
)
def recurrent(
    x: Tensor,
    initial: Tensor,
    batch_sizes: Optional[Tensor],
    weight_ih: Tensor,
    weight_hh: Tensor,
    bias_ih: Optional[Tensor],
    bias_hh: Optional[Tensor],
    a: Optional[Tensor],
    cell: str,
    feedback: str,
    reverse: bool,
    both: bool,
    keeps_tape: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """Outputs of all steps, last states [B, S], and what the native part keeps for the way back."""
    problem = Problem(cell, feedback, reverse, both)
    inputs = Inputs(x, initial, batch_sizes, Weights(weight_ih, weight_hh, bias_ih, bias_hh), a)
    with _autocast.off(x):
        if _native.takes(feedback, x.device, x.dtype):
            return _native.forward(problem, inputs, keeps_tape)
        output, last = _generic.forward(problem, inputs)
        # Outputs of an operator may not share memory, and PyTorch's last state may be a view of its outputs.
        return output.contiguous(), last.clone(), x.new_empty(0, dtype=torch.float32)


@recurrent.register_fake
def _(
    x: Tensor,
    initial: Tensor,
    batch_sizes: Optional[Tensor],
    weight_ih: Tensor,
    weight_hh: Tensor,
    bias_ih: Optional[Tensor],
    bias_hh: Optional[Tensor],
    a: Optional[Tensor],
    cell: str,
    feedback: str,
    reverse: bool,
    both: bool,
    keeps_tape: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    output = x.new_empty(*x.shape[:-1], initial.shape[1] if both else weight_hh.shape[1])
    last = initial.new_empty(initial.shape)
    size = 0
    if keeps_tape and _native.takes(feedback, x.device, x.dtype):
        size = _native.tape_size(cell, weight_hh.shape[1], math.prod(x.shape[:-1]), initial.shape[0])
    return output, last, x.new_empty(size, dtype=torch.float32)


_GRADIENTS = (
    "(Tensor d_x, Tensor d_initial, Tensor d_weight_ih, Tensor d_weight_hh, Tensor d_bias_ih, Tensor d_bias_hh)"
)


@torch.library.custom_op(
    "dsf::recurrent_backward",
    mutates_args=(),
    schema=f"({_LAYER}, Tensor output, Tensor tape, Tensor? grad_output, Tensor? grad_last, bool wants_x) "
    f"-> {_GRADIENTS}",
)
def recurrent_backward(
    x: Tensor,
    initial: Tensor,
    batch_sizes: Optional[Tensor],
    weight_ih: Tensor,
    weight_hh: Tensor,
    bias_ih: Optional[Tensor],
    bias_hh: Optional[Tensor],
    a: Optional[Tensor],
    cell: str,
    feedback: str,
    reverse: bool,
    both: bool,
    output: Tensor,
    tape: Tensor,
    grad_output: Optional[Tensor],
    grad_last: Optional[Tensor],
    wants_x: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    """The gradients of a layer; one that does not exist or is not wanted comes out with no elements."""
    problem = Problem(cell, feedback, reverse, both)
    inputs = Inputs(x, initial, batch_sizes, Weights(weight_ih, weight_hh, bias_ih, bias_hh), a)
    with _autocast.off(x):
        if _native.takes(feedback, x.device, x.dtype):
            gradients = _native.backward(problem, inputs, tape, grad_output, grad_last, wants_x)
        else:
            gradients = _generic.backward(problem, inputs, output, grad_output, grad_last, wants_x)
    return _as_tensors(gradients, x)


def _as_tensors(gradients: Gradients, like: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    def tensor(gradient: Optional[Tensor]) -> Tensor:
        return like.new_empty(0) if gradient is None else gradient.contiguous()

    d = gradients.weights
    # The gradient of the initial state may be a view of all total gradients, which would keep them alive.
    initial = gradients.initial.clone(memory_format=torch.contiguous_format)
    d_biases = tensor(d.bias_ih), tensor(d.bias_hh)
    return tensor(gradients.x), initial, tensor(d.weight_ih), tensor(d.weight_hh), *d_biases


@recurrent_backward.register_fake
def _(
    x: Tensor,
    initial: Tensor,
    batch_sizes: Optional[Tensor],
    weight_ih: Tensor,
    weight_hh: Tensor,
    bias_ih: Optional[Tensor],
    bias_hh: Optional[Tensor],
    a: Optional[Tensor],
    cell: str,
    feedback: str,
    reverse: bool,
    both: bool,
    output: Tensor,
    tape: Tensor,
    grad_output: Optional[Tensor],
    grad_last: Optional[Tensor],
    wants_x: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    def like(values: Optional[Tensor]) -> Tensor:
        return x.new_empty(0) if values is None else values.new_empty(values.shape)

    return like(x if wants_x else None), like(initial), like(weight_ih), like(weight_hh), like(bias_ih), like(bias_hh)


def _keep_for_backward(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor, Tensor]) -> None:
    *tensors, cell, feedback, reverse, both, _ = inputs
    ctx.problem = (cell, feedback, reverse, both)
    ctx.save_for_backward(*tensors, output[0], output[2])
    ctx.set_materialize_grads(False)  # a zero gradient of the tape would be as large as the tape


def for_autograd(
    needed: tuple[bool, ...], has_bias: bool, d_x: Optional[Tensor], d_initial: Tensor, *d_weights: Optional[Tensor]
) -> tuple[Optional[Tensor], ...]:
    """The gradients of x, initial, batch_sizes, the weights and a, None where nobody asks or there is nothing."""
    d_weight_ih, d_weight_hh, d_bias_ih, d_bias_hh = d_weights
    d_biases = (d_bias_ih, d_bias_hh) if has_bias else (None, None)
    # a is drawn at the start and never trained
    return d_x if needed[0] else None, d_initial if needed[1] else None, None, d_weight_ih, d_weight_hh, *d_biases, None


def _layer_backward(
    ctx: Any, grad_output: Optional[Tensor], grad_last: Optional[Tensor], _grad_tape: Optional[Tensor]
) -> tuple[Optional[Tensor], ...]:
    *tensors, output, tape = ctx.saved_tensors
    nothing = (None,) * 5  # cell, feedback, reverse, both, keeps_tape
    if grad_output is None and grad_last is None:
        return (None,) * 8 + nothing
    needed = ctx.needs_input_grad[:2]
    gradients = recurrent_backward(*tensors, *ctx.problem, output, tape, grad_output, grad_last, needed[0])
    return for_autograd(needed, tensors[5] is not None, *gradients) + nothing


recurrent.register_autograd(_layer_backward, setup_context=_keep_for_backward)


def _refuse(ctx: Any, *gradients: Optional[Tensor]) -> None:
    raise RuntimeError(
        "dsf.nn: a gradient of a gradient (double backward) was asked for, but the backward pass of a recurrent layer "
        "cannot be differentiated. torch.nn.RNN, GRU and LSTM can; dsf.nn.convert(module, feedback=None) makes such "
        "layers out of these."
    )


recurrent_backward.register_autograd(_refuse)


def run(problem: Problem, inputs: Inputs, keeps_tape: bool) -> tuple[Tensor, Tensor]:
    """Outputs of all steps and last states [B, S] by the operator."""
    x, initial, batch_sizes, weights, a = inputs
    output, last, _ = recurrent(x, initial, batch_sizes, *weights, a, *problem, keeps_tape)
    return output, last
