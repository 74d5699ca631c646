"""The seam to the native part of the package: the layer of one direction on the kernels of ``libdsf_native.so``.

This file answers two questions, is the native part there and does it take this case, and calls it. Everything else in
``dsf.nn`` asks here and knows nothing about the library. ``python/native/dsf_native.h`` says what it is handed: the
addresses and strides of the tensors as they are (batch_first input is a transposed view), and results that Python has
allocated. Nothing is converted on this side, because a call has to cost a few microseconds only.
"""

from __future__ import annotations

import ctypes
import functools
import math
import os
import struct
import warnings
from typing import Optional

import torch
from torch import Tensor

from dsf import _library, errors
from dsf.nn import _tapes
from dsf.nn._cells import CELLS, Weights
from dsf.nn._generic import Gradients, Inputs, Problem


class NativeMissingWarning(UserWarning):
    """The native part cannot be loaded; dsf.nn works through PyTorch operations."""


# The fields of ``dsf_layer`` in their order, all 64 bits wide. Packed by ``struct``, because a ctypes.Structure of
# this size takes longer to fill than a small layer to compute.
_LAYER = struct.Struct("@45q")
_NOTHING = (0, 0, 0)  # of a dsf_rows (data, step, sequence) or dsf_states (h, c, stride)
_NO_WAY_BACK = (0,) * 16  # the fields of backward


def _load() -> Optional[ctypes.CDLL]:
    if os.environ.get("DSF_NATIVE", "on") == "off":
        return None
    try:
        loaded = _library.library()
    except errors.NativeMissingError as error:  # not built, another platform, or another CPU
        warnings.warn(
            f"dsf.nn: the native kernels cannot be loaded ({error}). All layers work through PyTorch operations: "
            "the same results, and bptt at PyTorch's own speed.",
            NativeMissingWarning,
            stacklevel=3,
        )
        return None
    loaded.dsf_layer_forward.argtypes = [ctypes.c_char_p]
    loaded.dsf_layer_backward.argtypes = [ctypes.c_char_p]
    loaded.dsf_layer_tape.argtypes = [ctypes.c_char_p, ctypes.POINTER(ctypes.c_int64)]
    _compute_on_threads_of_pytorch(loaded)
    return loaded


def _compute_on_threads_of_pytorch(loaded: ctypes.CDLL) -> None:
    """PyTorch's threads spin for milliseconds after each of its operations, and others would share the CPUs with them.

    They belong to the OpenMP that PyTorch is linked to, so that is where to look for the function that calls them.
    """
    if "parallel backend: OpenMP" not in torch.__config__.parallel_info():
        return
    try:
        team = ctypes.CDLL(torch._C.__file__).GOMP_parallel
    except (OSError, AttributeError):  # another OpenMP
        return
    loaded.dsf_layer_team(ctypes.cast(team, ctypes.c_void_p))


_loaded = _load()
present = _loaded is not None


# A walk forward is the same with every feedback, and its name is as good as any other.
FORWARD_ONLY = "ft"
_DTYPES = (torch.float32, torch.bfloat16)
_WAYS_BACK = ("bptt", "ft", "dsf", "gated", "gated:dsf", "bptt:rank")
_NUMBERED = ("bptt:rank:", "iterated:")


def takes(feedback: str, device: torch.device, dtype: torch.dtype) -> bool:
    """Whether the native part computes layers with this way back on tensors of this device and dtype."""
    if not present or device.type != "cpu" or dtype not in _DTYPES:
        return False
    return feedback in _WAYS_BACK or feedback.startswith(_NUMBERED)


# Looked up once, because after a pass the tables of PyTorch's modules are no longer in the caches.
_is_compiling = torch.compiler.is_compiling
_dispatch_modes = torch._C._len_torch_dispatch_stack
_tracing_state = torch._C._get_tracing_state
_transformation = torch._C._functorch.maybe_current_level


def is_transformed() -> bool:
    """Whether torch.func is at work, whose transformations go through PyTorch's own operations only."""
    return not _is_compiling() and _transformation() is not None


def may_be_called(values: Tensor) -> bool:
    """Whether the library may be called without an operator: nobody traces, and the tensor has memory."""
    return (
        not _is_compiling()
        and (type(values) is Tensor or type(values) is torch.nn.Parameter)
        and _dispatch_modes() == 0
        and _tracing_state() is None
        and _transformation() is None
    )


@functools.cache
def _tape_numbers(cell: str) -> tuple[int, int, int]:
    numbers = (ctypes.c_int64 * 3)()
    assert _loaded is not None
    _library.check(_loaded.dsf_layer_tape(cell.encode(), numbers))
    return numbers[0], numbers[1], numbers[2]


def tape_size(cell: str, hidden_size: int, rows: int, batch: int) -> int:
    """How many float32 the tape of a batch has. All sizes may be symbols of torch.compile."""
    by_row, constant, by_sequence = _tape_numbers(cell)
    return rows * (by_row * hidden_size + constant) + batch * by_sequence * hidden_size


# --- tensors as numbers -------------------------------------------------------------------------------------


def _with_whole_rows(values: Tensor) -> Tensor:
    """The tensor itself if the numbers of its rows follow each other."""
    return values if values.stride(-1) == 1 or values.shape[-1] == 1 else values.contiguous()


def _rows(values: Optional[Tensor]) -> tuple[int, int, int]:
    """dsf_rows of [T, B, width] or [N, width]."""
    if values is None:
        return _NOTHING
    strides = values.stride()
    return values.data_ptr(), strides[0], strides[-2]


def _states(values: Optional[Tensor], hidden_size: int) -> tuple[int, int, int]:
    """dsf_states of [B, S] or [1, B, S]."""
    if values is None:
        return _NOTHING
    first = values.data_ptr()
    return first, first + hidden_size * values.element_size(), values.stride(-2)


def _pointer(values: Optional[Tensor]) -> int:
    return 0 if values is None else values.data_ptr()


_names: dict[str, ctypes.Array[ctypes.c_char]] = {}


def _name(text: str) -> int:
    """The address of a name that stays where it is."""
    kept = _names.get(text)
    if kept is None:
        kept = _names[text] = ctypes.create_string_buffer(text.encode())
    return ctypes.addressof(kept)


def _contiguous(weights: Weights) -> list[Optional[Tensor]]:
    return [weight if weight is None or weight.is_contiguous() else weight.contiguous() for weight in weights]


def _head(
    problem: Problem, feedback: str, x: Tensor, batch: int, batch_sizes: Optional[Tensor], hidden: int
) -> tuple[int, ...]:
    """The fields up to x, inclusive."""
    steps = x.shape[0] if batch_sizes is None else batch_sizes.shape[0]
    return (
        _name(problem.cell),
        _name(feedback),
        x.dtype == torch.bfloat16,
        problem.reverse,
        torch.get_num_threads(),
        steps,
        batch,
        x.shape[-1],
        hidden,
        _pointer(batch_sizes),
        *_rows(x),
    )


def _width(problem: Problem, hidden_size: int) -> int:
    return CELLS[problem.cell].parts * hidden_size if problem.both else hidden_size


# --- the calls ----------------------------------------------------------------------------------------------


def forward(problem: Problem, inputs: Inputs, keeps_tape: bool) -> tuple[Tensor, Tensor, Tensor]:
    """output, last and tape (empty without one)."""
    x, initial, batch_sizes, weights, _ = inputs
    batch, hidden = initial.shape[-2], weights.weight_hh.shape[1]
    last = initial.new_empty(initial.shape)
    rows = math.prod(x.shape[:-1])
    tape = _tapes.empty(tape_size(problem.cell, hidden, rows, batch) if keeps_tape else 0)
    initial = _with_whole_rows(initial)
    states = _states(initial, hidden), _states(last, hidden)
    output = _walk(problem, x, batch_sizes, weights, batch, *states, tape if keeps_tape else None)
    return output, last, tape


def walk(
    problem: Problem,
    x: Tensor,
    batch_sizes: Optional[Tensor],
    weights: Weights,
    initial: Optional[list[Tensor]],
    last: list[Tensor],
) -> Tensor:
    """output, and ``last`` overwritten; nothing is kept for a way back.

    The states: [B, D] for each part, contiguous; those at the start may be None, which stands for zeros.
    """
    batch, hidden = last[0].shape
    before = _NOTHING
    if initial is not None:
        initial = [part.contiguous() for part in initial]
        before = initial[0].data_ptr(), initial[-1].data_ptr(), hidden
    after = last[0].data_ptr(), last[-1].data_ptr(), hidden
    return _walk(problem, x, batch_sizes, weights, batch, before, after, None)


def _walk(
    problem: Problem,
    x: Tensor,
    batch_sizes: Optional[Tensor],
    weights: Weights,
    batch: int,
    initial: tuple[int, int, int],
    last: tuple[int, int, int],
    tape: Optional[Tensor],
) -> Tensor:
    hidden = weights.weight_hh.shape[1]
    width = _width(problem, hidden)
    output = x.new_empty((*x.shape[:-1], width))
    if batch == 0:
        return output
    x = _with_whole_rows(x)
    parameters = _contiguous(weights)
    layer = _LAYER.pack(
        *_head(problem, FORWARD_ONLY if tape is None else problem.feedback, x, batch, batch_sizes, hidden),
        *initial,
        *map(_pointer, parameters),
        0,
        *_rows(output),
        width,
        *last,
        _pointer(tape),
        *_NO_WAY_BACK,
    )
    assert _loaded is not None
    status = _loaded.dsf_layer_forward(layer)
    if status != 0:
        _library.check(status)
    return output


def backward(
    problem: Problem,
    inputs: Inputs,
    tape: Tensor,
    grad_output: Optional[Tensor],
    grad_last: Optional[Tensor],
    wants_x: bool,
) -> Gradients:
    """All gradients of one layer; ``tape`` is what forward returned, and stays as it was."""
    x, initial, batch_sizes, weights, a = inputs
    batch, hidden = initial.shape[-2], weights.weight_hh.shape[1]

    def room_for(values: Optional[Tensor]) -> Optional[Tensor]:
        return None if values is None else torch.empty_like(values, memory_format=torch.contiguous_format)

    d_x = room_for(x) if wants_x else None
    d_initial = torch.empty_like(initial, memory_format=torch.contiguous_format)
    d_weights = Weights(*map(room_for, weights))  # type: ignore[arg-type]
    if batch == 0:
        for gradient in d_weights.flat():
            gradient.zero_()
        return Gradients(d_x, d_initial, d_weights)
    x = _with_whole_rows(x)
    parameters = _contiguous(weights)
    if a is not None and not (a.dtype == torch.float32 and a.is_contiguous()):
        a = a.float().contiguous()
    grad_output = None if grad_output is None else _with_whole_rows(grad_output)
    grad_last = None if grad_last is None else _with_whole_rows(grad_last)
    layer = _LAYER.pack(
        *_head(problem, problem.feedback, x, batch, batch_sizes, hidden),
        *_NOTHING,
        *map(_pointer, parameters),
        _pointer(a),
        *_NOTHING,
        _width(problem, hidden),
        *_NOTHING,
        _pointer(tape),
        *_rows(grad_output),
        *_states(grad_last, hidden),
        *_rows(d_x),
        *_states(d_initial, hidden),
        *map(_pointer, d_weights),
    )
    assert _loaded is not None
    status = _loaded.dsf_layer_backward(layer)
    if status != 0:
        _library.check(status)
    return Gradients(d_x, d_initial, d_weights)
