"""The seam to the native part of the package, the compiled module ``dsf._native``.

This file answers two questions: is the native part there, and does it take this case? Everything else in
``dsf.nn`` asks here and knows nothing about the compiled module. ``NativeModule`` is all it has to offer.

The layer of one direction is the unit of work. S is the width of the state (D; 2D for the LSTM, [h, c]), N the
number of rows: T * B, or the sum of batch_sizes. Tensors arrive as they are, on the CPU, and may have any strides
(batch_first input is a transposed view): the native part copies only what its kernels cannot read. It writes
into tensors that Python has allocated, contiguous, and allocates none itself; so it needs no libtorch, only a
pointer, a shape and strides (DLPack).
"""

from __future__ import annotations

import importlib
import warnings
from typing import Optional, Protocol, cast

import torch
from torch import Tensor

from dsf.nn._cells import Weights
from dsf.nn._generic import Gradients, Inputs, Problem


class NativeModule(Protocol):
    """What the compiled module offers. ``cell`` is rnn_tanh, rnn_relu, gru or lstm; ``feedback`` a name of the menu.

    x: [T, B, I], or [N, I] if batch_sizes is given (int64 [T], not increasing, as in a PackedSequence).
    initial, last and their gradients: [B, S]. output and its gradient: [T, B, O] or [N, O], O = D, or S if it has
    both h and c (``both``). weight_ih [KD, I], weight_hh [KD, D], bias_ih and bias_hh [KD] or None, a [S] or None;
    gates in PyTorch's order. All of one dtype, float32 or bfloat16 (then products are bf16 and sums float32); a is
    converted to float32 before. tape: [N, tape_width] float32, opaque to Python.
    """

    def takes(self, cell: str, feedback: str, dtype: str) -> bool:
        """Whether it computes this; dtype is "float32" or "bfloat16"."""

    def tape_width(self, cell: str, feedback: str, hidden_size: int, both: bool) -> int:
        """How many float32 of tape a row needs. It may depend on these arguments alone, because torch.compile asks
        before it knows how many rows there are."""

    def forward(
        self,
        cell: str,
        feedback: str,
        reverse: bool,
        both: bool,
        x: Tensor,
        initial: Tensor,
        batch_sizes: Optional[Tensor],
        weight_ih: Tensor,
        weight_hh: Tensor,
        bias_ih: Optional[Tensor],
        bias_hh: Optional[Tensor],
        output: Tensor,
        last: Tensor,
        tape: Optional[Tensor],
    ) -> None:
        """Overwrites output, last and tape. Without a tape (None) it keeps nothing for a way back."""

    def backward(
        self,
        cell: str,
        feedback: str,
        reverse: bool,
        both: bool,
        x: Tensor,
        initial: Tensor,
        batch_sizes: Optional[Tensor],
        weight_ih: Tensor,
        weight_hh: Tensor,
        bias_ih: Optional[Tensor],
        bias_hh: Optional[Tensor],
        a: Optional[Tensor],
        output: Tensor,
        tape: Tensor,
        grad_output: Optional[Tensor],
        grad_last: Optional[Tensor],
        d_x: Optional[Tensor],
        d_initial: Tensor,
        d_weight_ih: Tensor,
        d_weight_hh: Tensor,
        d_bias_ih: Optional[Tensor],
        d_bias_hh: Optional[Tensor],
    ) -> None:
        """Overwrites all d_*; a gradient that is None arrives as zero, a d_* that is None is not wanted. May be called
        several times for one forward (retain_graph), so it leaves the tape as it was."""


class NativeMissingWarning(UserWarning):
    """The native part cannot be loaded; dsf.nn works through PyTorch operations."""


def _load() -> tuple[Optional[NativeModule], str]:
    try:
        return cast(NativeModule, importlib.import_module("dsf._native")), ""
    except ImportError as error:  # not built, another platform, or another CPU
        return None, str(error)


module: Optional[NativeModule]
module, _reason = _load()
if module is None:
    warnings.warn(
        f"dsf.nn: the native kernels cannot be loaded ({_reason}). All layers work through PyTorch operations: "
        "the same results, and bptt at PyTorch's own speed.",
        NativeMissingWarning,
        stacklevel=2,
    )

_DTYPES = {torch.float32: "float32", torch.bfloat16: "bfloat16"}


def takes(cell: str, feedback: str, device: torch.device, dtype: torch.dtype) -> bool:
    """Whether the native part computes a layer of this kind on tensors of this device and dtype."""
    if module is None or device.type != "cpu" or dtype not in _DTYPES:
        return False
    return module.takes(cell, feedback, _DTYPES[dtype])


def tape_width(problem: Problem, hidden_size: int) -> int:
    """The width of the tape, [N, width] float32, for a layer that takes() agreed to."""
    assert module is not None
    return module.tape_width(problem.cell, problem.feedback, hidden_size, problem.both)


def forward(problem: Problem, inputs: Inputs, keeps_tape: bool) -> tuple[Tensor, Tensor, Tensor]:
    """output, last and tape ([0, width] without one)."""
    assert module is not None
    x, initial, batch_sizes, weights, _ = inputs
    hidden_size = weights.weight_hh.shape[1]
    output = x.new_empty(*x.shape[:-1], initial.shape[1] if problem.both else hidden_size)
    last = torch.empty_like(initial, memory_format=torch.contiguous_format)
    rows = x.shape[:-1].numel() if keeps_tape else 0
    tape = x.new_empty(rows, tape_width(problem, hidden_size), dtype=torch.float32)
    module.forward(*problem, x, initial, batch_sizes, *weights, output, last, tape if keeps_tape else None)
    return output, last, tape


def backward(
    problem: Problem,
    inputs: Inputs,
    output: Tensor,
    tape: Tensor,
    grad_output: Optional[Tensor],
    grad_last: Optional[Tensor],
    wants_x: bool,
) -> Gradients:
    """The gradients that ``NativeModule.backward`` writes."""
    assert module is not None
    x, initial, batch_sizes, weights, a = inputs

    def room_for(values: Optional[Tensor]) -> Optional[Tensor]:
        return None if values is None else torch.empty_like(values, memory_format=torch.contiguous_format)

    d_x = room_for(x) if wants_x else None
    d_initial = torch.empty_like(initial, memory_format=torch.contiguous_format)
    d_weights = Weights(*(room_for(weight) for weight in weights))  # type: ignore[arg-type]
    a = None if a is None else a.float()
    module.backward(
        *problem,
        x,
        initial,
        batch_sizes,
        *weights,
        a,
        output,
        tape,
        grad_output,
        grad_last,
        d_x,
        d_initial,
        *d_weights,
    )
    return Gradients(d_x, d_initial, d_weights)
