"""The menu of feedbacks: how a gradient gets from step t to step t - 1.

    bptt           g_{t-1} = e_{t-1} + g_t J_t                            exact; PyTorch's autograd, or the native part
    ft             g_{t-1} = e_{t-1}                                      fully truncated
    dsf            g_{t-1} = e_{t-1} + a g_t                              a: drawn at the start, never trained
    gated          g_{t-1} = e_{t-1} + g_t D_t                            D: the path around the recurrent matrices
    gated:dsf      g_{t-1} = e_{t-1} + g_t D_t + a (g_t - g_t D_t)
    iterated:K     gated, corrected K times by g_t (J_t - D_t) of the guess before
    bptt:rank[:K]  g_{t-1} = e_{t-1} + g_t D_t + (d_t P) Q                d_t U by factors of rank K (_low_rank.py)
    pairs, lowrank:K, orthogonal, dense
                   g_{t-1} = e_{t-1} + g_t A                              A: drawn at the start, never trained

Every function here maps errors e [T + 1, B, S] to total gradients g of the same shape. Step 0 is the initial
state: no error arrives there, so what the recursion leaves there is the gradient of the initial state.
"""

from __future__ import annotations

import difflib
from typing import NamedTuple, NoReturn, Optional, Protocol

import torch
from torch import Tensor

from dsf.nn import _numbers, _walk
from dsf.nn._cells import Tape
from dsf.nn._layout import Layout
from dsf.nn._scan import reverse_scan, reverse_scan_matrix, reverse_scan_varying

# ":K" stands for a whole number, "[:K]" for one that may be left out.
MENU = (
    "bptt",
    "ft",
    "dsf",
    "bptt:rank[:K]",
    "gated",
    "gated:dsf",
    "iterated:K",
    "pairs",
    "lowrank:K",
    "orthogonal",
    "dense",
)

# What the library had once (docs/feedback-results.md), or has in the program alone, and the nearest here.
_NEAREST = {
    "adaptive": "dsf",
    "gated:diagonal": "gated",
    "iterated:dsf:K": "iterated:K",
    "candidate:K": "bptt:rank",
    "candidate:dsf:K": "bptt:rank",
    "windows:K": "bptt:rank",
    "windows:candidate:K": "bptt:rank",
    "bptt:candidate": "bptt:rank",
    "fitted": "dsf",
    "learned": "dsf",
    "blocks:K": "orthogonal",
}
_MOST_DIGITS = 9  # more is a slip of the finger


class Feedback(NamedTuple):
    """A name of the menu, taken apart."""

    kind: str
    number: int = 0  # K; 0 if the name has none

    def numbers_shape(self, state_size: int) -> Optional[tuple[int, ...]]:
        """The shape of the numbers that it keeps, if any."""
        return _numbers.shape_of(self.kind, self.number, state_size)


def parse(name: object) -> Feedback:
    """The feedback of that name; a name that is not on the menu is refused with the nearest one."""
    if not isinstance(name, str):
        raise TypeError(f"feedback should be of type str, got: {type(name).__name__}")
    if name in MENU and "K" not in name:
        return Feedback(name)
    stem, number = _split_number(name)
    if number is None and f"{stem}[:K]" in MENU:
        return Feedback(stem)
    if number is not None and not {f"{stem}:K", f"{stem}[:K]"}.isdisjoint(MENU):
        if number < 1:
            raise ValueError(f"feedback={name!r}: the number must be at least 1")
        return Feedback(stem, number)
    _refuse(name)


def _split_number(name: str) -> tuple[str, Optional[int]]:
    """("iterated", 2) of "iterated:2"; the name and None if no number ends it."""
    stem, _, digits = name.rpartition(":")
    if stem and digits.isascii() and digits.isdigit() and len(digits) <= _MOST_DIGITS:
        return stem, int(digits)
    return name, None


def _refuse(name: str) -> NoReturn:
    stem, number = _split_number(name)
    nearest = _NEAREST.get(stem if number is None else f"{stem}:K")
    if nearest is not None:
        raise ValueError(f"feedback={name!r} is not among those that dsf.nn has; the nearest that is: {nearest!r}")
    close = difflib.get_close_matches(name, MENU, n=1)
    hint = f"; the nearest is {close[0]!r}" if close else ""
    raise ValueError(
        f"feedback={name!r} is not one of those that dsf.nn has: {', '.join(MENU)} "
        f"(K: a whole number, at least 1){hint}"
    )


class Pass(NamedTuple):
    """A layer on its way back through one batch."""

    tape: Tape
    layout: Layout
    weight_hh: Tensor
    a: Optional[Tensor]  # the numbers that the feedback keeps (_numbers.py)

    def off_diagonal(self, g: Tensor) -> Tensor:
        """``g_t (J_t - D_t)`` of all steps by one product. g: [T + 1, B, S] -> [T, B, S]."""
        rows = self.layout.to_rows(g[1:])
        _, d_hh = self.tape.local(rows)
        through = (d_hh.to(self.weight_hh.dtype) @ self.weight_hh).to(g.dtype)
        own = self.tape.own_path()
        if own.across is not None:  # the LSTM's c has no path through U
            through = torch.cat([through, torch.zeros_like(through)], -1)
        elif own.inside_product:
            through = through - rows * own.decay
        return self.layout.to_steps(through)


class Rule(Protocol):
    """One entry of the menu at work."""

    def __call__(self, e: Tensor, back: Pass, number: int) -> Tensor:
        """e to g, both [T + 1, B, S]; ``number`` is the K of the name."""


def _ft(e: Tensor, back: Pass, number: int) -> Tensor:
    return e


def _dsf(e: Tensor, back: Pass, number: int) -> Tensor:
    assert back.a is not None
    return reverse_scan(e, back.a)


def _along_own_path(e: Tensor, back: Pass, a: Optional[Tensor]) -> Tensor:
    """``g_{t-1} = e_{t-1} + g_t D_t + a (g_t - g_t D_t)``; without a: zero."""
    decay_rows, across_rows, _ = back.tape.own_path()
    decay = back.layout.to_steps(decay_rows)
    if across_rows is None:
        return reverse_scan_varying(e, decay if a is None else a + (1 - a) * decay)
    across = back.layout.to_steps(across_rows)
    e_h, e_c = e.chunk(2, -1)
    g_h = e_h
    if a is not None:
        a_h, a_c = a.chunk(2)
        g_h = reverse_scan(e_h, a_h)  # no own path leads to h_{t-1}, so all of g_h is what D forgets
        decay, across = a_c + (1 - a_c) * decay, (1 - a_c) * across
    from_h = torch.cat([across * g_h[1:], torch.zeros_like(e_c[:1])])
    return torch.cat([g_h, reverse_scan_varying(e_c + from_h, decay)], -1)


def _gated(e: Tensor, back: Pass, number: int) -> Tensor:
    return _along_own_path(e, back, None)


def _gated_dsf(e: Tensor, back: Pass, number: int) -> Tensor:
    return _along_own_path(e, back, back.a)


def _iterated(e: Tensor, back: Pass, number: int) -> Tensor:
    g = _along_own_path(e, back, None)
    nothing = torch.zeros_like(e[:1])
    for _ in range(number):
        g = _along_own_path(e + torch.cat([back.off_diagonal(g), nothing]), back, None)
    return g


def _pairs(e: Tensor, back: Pass, number: int) -> Tensor:
    """Units j and j + S/2 are the two parts of one complex number, so this is DSF with a complex diagonal."""
    assert back.a is not None
    real, imaginary = back.a
    half = e.shape[-1] // 2
    x, y, left_over = e.split([half, half, e.shape[-1] - 2 * half], -1)
    g = reverse_scan(torch.complex(x, y), torch.complex(real[:half], imaginary[:half]))
    return torch.cat([g.real, g.imag, reverse_scan(left_over, real[half:])], -1)


def _fixed_matrix(e: Tensor, back: Pass, number: int) -> Tensor:
    assert back.a is not None
    return reverse_scan_matrix(e, back.a)


def _low_rank_matrix(e: Tensor, back: Pass, number: int) -> Tensor:
    assert back.a is not None
    return reverse_scan_matrix(e, _numbers.matrix_of("lowrank", back.a))


def _bptt_rank(e: Tensor, back: Pass, number: int) -> Tensor:
    rank = number or max(1, back.weight_hh.shape[1] // 4)
    product = _walk.product_with_factors(back.weight_hh, back.tape.blocks, rank)
    return _walk.walk(e, back.tape, back.layout, product)


RULES: dict[str, Rule] = {
    "ft": _ft,
    "dsf": _dsf,
    "gated": _gated,
    "gated:dsf": _gated_dsf,
    "iterated": _iterated,
    "bptt:rank": _bptt_rank,
    "pairs": _pairs,
    "lowrank": _low_rank_matrix,
    "orthogonal": _fixed_matrix,
    "dense": _fixed_matrix,
}
