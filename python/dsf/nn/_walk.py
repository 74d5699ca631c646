"""The walk back through time, step by step, as BPTT goes: ``g_{t-1} = e_{t-1} + g_t J_t``.

``J_t`` has two parts: what goes around the recurrent matrix, and what goes through it,

    g_t J_t = g_t D_t + d_t U        d_t: the gradient of U h_{t-1} + b, elementwise from g_t

and U may be replaced by thin factors of its blocks (_low_rank.py). This is the one way back here whose number of
operations grows with T.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from dsf.nn import _low_rank
from dsf.nn._cells import Tape, working
from dsf.nn._layout import Layout

Product = Callable[[Tensor], Tensor]  # d [B, KD] to d U [B, D]


def walk(e: Tensor, tape: Tape, layout: Layout, through_U: Product) -> Tensor:
    """e to g, both [T + 1, B, S]."""
    own = tape.own_path()
    decay = layout.to_steps(own.decay)
    across = None if own.across is None else layout.to_steps(own.across)
    width = decay.shape[-1]
    slopes = [layout.to_steps(slope) for slope in _slopes(tape, own.decay, e.shape[-1] // width)]
    gates = slopes[0].shape[-1] // width
    g = [e[-1]]
    for t in range(layout.steps - 1, -1, -1):
        parts = g[-1].split(width, -1)
        d = sum(
            (part.repeat(1, gates) * slope[t] for part, slope in zip(parts, slopes)), torch.zeros_like(slopes[0][t])
        )
        carried = through_U(d)
        if across is not None:  # the LSTM's c has no path through U
            carried = torch.cat([carried, decay[t] * parts[1] + across[t] * parts[0]], -1)
        elif not own.inside_product:
            carried = carried + decay[t] * parts[0]
        g.append(e[t] + carried)
    return torch.stack(g[::-1])


def _slopes(tape: Tape, like: Tensor, parts: int) -> list[Tensor]:
    """dd / dg for each part of the state, [N, KD]. Local backward is linear and unit by unit, so ones tell it."""
    ones, zeros = torch.ones_like(like), torch.zeros_like(like)
    return [tape.local(torch.cat([ones if p == part else zeros for p in range(parts)], -1))[1] for part in range(parts)]


def product_with(U: Tensor) -> Product:
    """d U itself."""
    return lambda d: (d.to(U.dtype) @ U).to(d.dtype)


def product_with_factors(U: Tensor, blocks: Sequence[int], rank: int) -> Product:
    """``d_1 P_1 Q_1 + d_2 P_2 Q_2 + ...`` for blocks of that many gates each; U itself for a rank of D and more."""
    width = U.shape[1]
    if rank >= width:
        return product_with(U)
    heights = [count * width for count in blocks]
    pairs = [_low_rank.factors(working(block), rank) for block in U.split(heights)]
    left = [P.to(U.dtype) for P, _ in pairs]
    right = torch.cat([Q for _, Q in pairs]).to(U.dtype)

    def product(d: Tensor) -> Tensor:
        parts = d.to(U.dtype).split(heights, -1)
        return (torch.cat([part @ P for part, P in zip(parts, left)], -1) @ right).to(d.dtype)

    return product
