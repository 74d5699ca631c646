"""One layer in one direction, forward and back, in PyTorch operations: for every device and dtype PyTorch has.

Forward is PyTorch's own fused walk. Backward has no loop over time (except with bptt:rank): the gates are rebuilt by
one batched product, the feedback is a scan in O(log T) operations, and what follows are products over all rows.
"""

from __future__ import annotations

from typing import NamedTuple, Optional

import torch
from torch import Tensor

from dsf.nn import _feedback
from dsf.nn._cells import CELLS, LstmTape, Weights, working
from dsf.nn._layout import Layout


class Problem(NamedTuple):
    """Which computation is asked for; no numbers in it."""

    cell: str  # a key of CELLS
    feedback: str  # a name of the menu (_feedback.py)
    reverse: bool  # from the last step to the first
    both: bool  # hand out [h, c] instead of h (LSTM)


class Inputs(NamedTuple):
    """The numbers a layer starts from."""

    x: Tensor  # [T, B, I], or [N, I] with batch_sizes
    initial: Tensor  # [B, S]
    batch_sizes: Optional[Tensor]  # int64 [T] on the CPU, as in a PackedSequence; None: all sequences have T steps
    weights: Weights
    a: Optional[Tensor]  # the numbers that the feedback keeps (_numbers.py): [S] for dsf


class Gradients(NamedTuple):
    """dx is like x, or None if it was not wanted; biases are None if there are none."""

    x: Optional[Tensor]
    initial: Tensor
    weights: Weights


def _as_rows(values: Tensor) -> Tensor:
    return values.reshape(-1, values.shape[-1])


def forward(problem: Problem, inputs: Inputs) -> tuple[Tensor, Tensor]:
    """The outputs of all steps, shaped like x, and the last states [B, S]. Autograd goes through it: that is bptt."""
    cell = CELLS[problem.cell]
    x, initial, batch_sizes, weights, _ = inputs
    if not problem.reverse and not problem.both:
        return cell.fused_forward(x, initial, weights, batch_sizes)
    layout = Layout.of(x, initial.shape[0], batch_sizes)
    walked = layout.mirror(_as_rows(x)).reshape(x.shape) if problem.reverse else x
    h, last = cell.fused_forward(walked, initial, weights, batch_sizes)
    rows = _as_rows(h)
    if problem.both:
        tape = cell.tape(_as_rows(walked), rows, initial, weights, layout)
        assert isinstance(tape, LstmTape), "only the LSTM has a second part of its state"
        rows = torch.cat([rows, tape.c.to(rows.dtype)], -1)
    if problem.reverse:
        rows = layout.mirror(rows)
    return rows.reshape(*x.shape[:-1], rows.shape[-1]), last


def backward(
    problem: Problem,
    inputs: Inputs,
    output: Tensor,
    grad_output: Optional[Tensor],
    grad_last: Optional[Tensor],
    wants_x: bool,
) -> Gradients:
    """All gradients of one layer, by the feedback that ``problem`` names; ``output`` is what forward returned."""
    cell = CELLS[problem.cell]
    feedback = _feedback.parse(problem.feedback)
    x, initial, batch_sizes, weights, a = inputs
    width = initial.shape[1] // cell.parts
    layout = Layout.of(x, initial.shape[0], batch_sizes)

    def walked(values: Tensor) -> Tensor:
        """Rows in the order in which forward went through them."""
        return layout.mirror(_as_rows(values)) if problem.reverse else _as_rows(values)

    x_rows = walked(x)
    h = walked(output)[:, :width]
    tape = cell.tape(x_rows, h, initial, weights, layout)

    e = _errors(initial, width, layout, None if grad_output is None else walked(grad_output), grad_last)
    back = _feedback.Pass(tape, layout, weights.weight_hh, None if a is None else a.to(e.dtype))
    g = _feedback.RULES[feedback.kind](e, back, feedback.number)

    d_ih, d_hh = tape.local(layout.to_rows(g[1:]))
    same = d_ih is d_hh
    d_ih = d_ih.to(x.dtype)
    d_hh = d_ih if same else d_hh.to(x.dtype)
    dx = d_ih @ weights.weight_ih if wants_x else None
    if dx is not None and problem.reverse:
        dx = layout.mirror(dx)
    return Gradients(
        x=None if dx is None else dx.reshape(x.shape),
        initial=g[0].to(initial.dtype),
        weights=Weights(
            weight_ih=d_ih.t() @ x_rows,
            weight_hh=d_hh.t() @ layout.previous(h, initial[:, :width]),
            bias_ih=None if weights.bias_ih is None else d_ih.sum(0),
            bias_hh=None if weights.bias_hh is None else d_hh.sum(0),
        ),
    )


def _errors(
    initial: Tensor, width: int, layout: Layout, grad_rows: Optional[Tensor], grad_last: Optional[Tensor]
) -> Tensor:
    """e [T + 1, B, S]: the gradients that arrive at each state from outside; none arrive at step 0."""
    state_size = initial.shape[1]
    first = working(torch.zeros_like(initial)).unsqueeze(0)
    if grad_rows is None:
        steps = first.expand(layout.steps, -1, -1)
        rows = layout.to_rows(steps)
    else:
        rows = working(grad_rows)
        if rows.shape[1] < state_size:  # only h was handed out, so nothing arrives at c
            rows = torch.cat([rows, rows.new_zeros(rows.shape[0], state_size - width)], -1)
    if grad_last is not None:
        rows = layout.add_to_last(rows, working(grad_last))
    return torch.cat([first, layout.to_steps(rows)])
