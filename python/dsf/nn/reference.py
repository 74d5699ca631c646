"""The definition of a recurrent layer and of its feedbacks in plain loops, in float64. Slow on purpose.

One sequence, one step, one thing at a time. The derivatives of a single step are autograd's; how a gradient gets
from a step to the one before it is written out. Nothing here is shared with the fast code.

    s_t = f(x_t, s_{t-1})                       s: h, or [h, c] for the LSTM
    g_T = e_T,   g_{t-1} = e_{t-1} + carried(g_t)
    carried(g_t)  bptt          g_t J_t         J_t = ds_t / ds_{t-1}
                  ft            0
                  dsf           a g_t
                  gated         g_t D_t         D_t: J_t with U = 0 (the vanilla RNN: the diagonal of J_t)
                  gated:dsf     g_t D_t + a (g_t - g_t D_t)
                  bptt:rank:K   g_t J_t with U_i Q^T Q in the place of each block U_i of U; Q [K, D] has orthonormal
                                rows that span those of W U_i^T U_i, W a fixed matrix; K = D/4 if left out
                  pairs, lowrank:K, orthogonal, dense
                                g_t A           A: fixed_matrix(feedback, a)
    parameters    sum over t of g_t df/dtheta with s_{t-1} held constant
    initial state carried(g_1)

    iterated:K    g^(0) = gated's g,   g^(i)_{t-1} = e_{t-1} + g^(i)_t D_t + g^(i-1)_t (J_t - D_t)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Optional

import torch
from torch import Tensor

from dsf.nn._low_rank import probe  # W of bptt:rank: numbers, not a computation

CELLS = ("rnn_tanh", "rnn_relu", "gru", "lstm")
MATRICES = ("pairs", "lowrank", "orthogonal", "dense")


class Parameters(NamedTuple):
    """One layer in one direction: [KD, I], [KD, D], [KD], [KD], gates in PyTorch's order."""

    weight_ih: Tensor
    weight_hh: Tensor
    bias_ih: Optional[Tensor] = None
    bias_hh: Optional[Tensor] = None


class Gradients(NamedTuple):
    """What ``layer_backward`` returns; lists have one entry for each sequence."""

    x: list[Tensor]
    initial: list[Tensor]
    parameters: Parameters


def cell_step(
    cell: str, p: Parameters, x: Tensor, s: Tensor, kept_of_U: str = "all", from_U: Optional[Tensor] = None
) -> Tensor:
    """One step of one sequence: x [I], s [S] -> the next state [S].

    ``kept_of_U`` says what a derivative with respect to s sees of the recurrent matrices; the value is the same with
    each: "all", "none" or "diagonal". ``from_U`` takes the place of U h.
    """
    D = p.weight_hh.shape[1]
    h, c = s[:D], s[D:]
    held = h.detach()
    from_state = p.weight_hh @ h if from_U is None else from_U
    if kept_of_U != "all":
        from_state = p.weight_hh @ held
    if kept_of_U == "diagonal":
        diagonals = torch.cat([block.diagonal() for block in p.weight_hh.split(D)])
        from_state = from_state + diagonals * (h - held).repeat(p.weight_hh.shape[0] // D)
    from_input = p.weight_ih @ x
    if p.bias_ih is not None and p.bias_hh is not None:
        from_input = from_input + p.bias_ih
        from_state = from_state + p.bias_hh

    if cell == "rnn_tanh":
        return torch.tanh(from_input + from_state)
    if cell == "rnn_relu":
        return torch.relu(from_input + from_state)
    if cell == "gru":
        x_r, x_z, x_n = from_input.split(D)
        h_r, h_z, h_n = from_state.split(D)
        r = torch.sigmoid(x_r + h_r)
        z = torch.sigmoid(x_z + h_z)
        n = torch.tanh(x_n + r * h_n)
        return (1 - z) * n + z * h
    if cell == "lstm":
        i, f, m, o = (from_input + from_state).split(D)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(m)
        return torch.cat([torch.sigmoid(o) * torch.tanh(c), c])
    raise ValueError(f"cell={cell!r} is unknown; known: {', '.join(CELLS)}")


def layer_forward(cell: str, p: Parameters, x: Tensor, initial: Tensor) -> Tensor:
    """One sequence: x [T, I], initial [S] -> all states [T, S]."""
    states = []
    s = initial
    for x_t in x:
        s = cell_step(cell, p, x_t, s)
        states.append(s)
    return torch.stack(states)


def fixed_matrix(feedback: str, a: Tensor, state_size: int) -> Tensor:
    """A [S, S] of a feedback that keeps a matrix; a: the numbers as a layer keeps them.

    pairs: a [2, S/2] holds c and s, and A maps (x_j, x_{j + S/2}) to (c x - s y, s x + c y); a unit that is left over
    is multiplied by its c. lowrank:K: a [1 + 2K, S] holds rows d, p_1 .. p_K, q_1 .. q_K, and A = diag(d) + the sum
    of all p_k q_k^T. orthogonal, dense: a is A.
    """
    if feedback in ("orthogonal", "dense"):
        return a
    A = torch.zeros(state_size, state_size, dtype=a.dtype)
    if feedback == "pairs":
        half = state_size // 2
        for j in range(half):
            c, s = a[0, j], a[1, j]
            A[j, j], A[half + j, j] = c, -s
            A[j, half + j], A[half + j, half + j] = s, c
        if state_size % 2:
            A[-1, -1] = a[0, half]
        return A
    rank = a.shape[0] // 2
    for j in range(state_size):
        A[j, j] = a[0, j]
    for k in range(rank):
        A = A + torch.outer(a[1 + k], a[1 + rank + k])
    return A


def with_low_rank_blocks(cell: str, feedback: str, p: Parameters) -> Parameters:
    """The parameters with every block of U projected onto ``rank`` directions: r and z of a GRU are one block, its
    candidate another; all other cells have a single block."""
    D = p.weight_hh.shape[1]
    rank = int(feedback.split(":")[2]) if feedback.count(":") == 2 else max(1, D // 4)
    if rank >= D:
        return p
    W = probe(rank, D)
    projected = []
    for U in p.weight_hh.split([2 * D, D]) if cell == "gru" else [p.weight_hh]:
        M = W @ U.t() @ U
        projected.append(U @ torch.linalg.pinv(M) @ M)
    return p._replace(weight_hh=torch.cat(projected))


def _pulled_back(g: Tensor, cell: str, p: Parameters, x: Tensor, s: Tensor, kept_of_U: str) -> Tensor:
    """``g df/ds``."""
    s = s.detach().requires_grad_()
    return torch.autograd.grad(cell_step(cell, p, x, s, kept_of_U), s, g)[0]


def _pulled_back_by_rank(g: Tensor, cell: str, feedback: str, p: Parameters, x: Tensor, s: Tensor) -> Tensor:
    """``g df/ds`` with the gates as they are and other recurrent matrices on the way back alone."""
    thin = with_low_rank_blocks(cell, feedback, p)
    s = s.detach().requires_grad_()
    D = p.weight_hh.shape[1]
    # A straight-through step: the value is U h, its derivative that of the other matrix.
    h = s[:D]
    swapped = p.weight_hh @ h.detach() + thin.weight_hh @ (h - h.detach())
    return torch.autograd.grad(cell_step(cell, p, x, s, from_U=swapped), s, g)[0]


def _own_path(g: Tensor, cell: str, p: Parameters, x: Tensor, s: Tensor) -> Tensor:
    """``g D``."""
    kept = "diagonal" if cell.startswith("rnn") else "none"
    # With nothing kept of U, h_{t-1} of an LSTM reaches nothing at all, but s as a whole still reaches c.
    return _pulled_back(g, cell, p, x, s, kept)


def _total_gradients(
    cell: str, feedback: str, p: Parameters, x: Tensor, before: list[Tensor], e: Tensor, a: Optional[Tensor]
) -> list[Tensor]:
    """g_0, g_1, ..., g_T of one sequence; g_0 is the initial state's. before[t]: the state that step t starts from."""
    steps = len(x)
    name, _, number = feedback.partition(":")
    A = fixed_matrix(feedback, a, len(e[0])) if a is not None and name in MATRICES else None
    rounds = int(number) if name == "iterated" else 0
    g_before: Optional[list[Tensor]] = None  # g of the round before
    for _ in range(rounds + 1):
        g = [torch.zeros_like(e[0])] * (steps + 1)
        g[steps] = e[steps - 1]
        for t in range(steps - 1, -1, -1):  # from state t + 1 back to state t, through step t
            later = g[t + 1]
            if feedback == "bptt":
                carried = _pulled_back(later, cell, p, x[t], before[t], "all")
            elif feedback.startswith("bptt:rank"):
                carried = _pulled_back_by_rank(later, cell, feedback, p, x[t], before[t])
            elif A is not None:
                carried = later @ A
            elif feedback == "ft":
                carried = torch.zeros_like(later)
            elif feedback == "dsf":
                assert a is not None
                carried = a * later
            elif feedback == "gated:dsf":
                assert a is not None
                own = _own_path(later, cell, p, x[t], before[t])
                carried = own + a * (later - own)
            elif feedback == "gated" or name == "iterated":
                carried = _own_path(later, cell, p, x[t], before[t])
            else:
                raise ValueError(f"feedback={feedback!r} is not defined here")
            if g_before is not None:
                guess = g_before[t + 1]
                everything = _pulled_back(guess, cell, p, x[t], before[t], "all")
                carried = carried + everything - _own_path(guess, cell, p, x[t], before[t])
            g[t] = carried + (e[t - 1] if t > 0 else 0)
        g_before = g
    return g


def layer_backward(
    cell: str,
    feedback: str,
    p: Parameters,
    x: Sequence[Tensor],
    initial: Sequence[Tensor],
    e: Sequence[Tensor],
    a: Optional[Tensor] = None,
) -> Gradients:
    """The gradients of one layer for any number of sequences of any lengths.

    x[b]: [T_b, I]; initial[b]: [S]; e[b]: [T_b, S], the gradient that arrives at each state from outside (a gradient of
    the last state belongs to the last row); a: [S], or the numbers of fixed_matrix.
    """
    weights = [weight for weight in p if weight is not None]
    sums = [torch.zeros_like(weight) for weight in weights]
    dx, d_initial = [], []
    for x_b, s_0, e_b in zip(x, initial, e):
        states = layer_forward(cell, p, x_b, s_0).detach()
        before = [s_0, *states[:-1]]
        g = _total_gradients(cell, feedback, p, x_b, before, e_b, a)
        d_initial.append(g[0])
        rows = []
        for t in range(len(x_b)):
            x_t = x_b[t].detach().requires_grad_()
            theta = [weight.detach().requires_grad_() for weight in weights]
            state = cell_step(cell, Parameters(*theta), x_t, before[t].detach())
            row, *parts = torch.autograd.grad(state, [x_t, *theta], g[t + 1])
            rows.append(row)
            sums = [total + part for total, part in zip(sums, parts)]
        dx.append(torch.stack(rows))
    return Gradients(dx, d_initial, Parameters(*sums))
