"""The menu of feedbacks: how a gradient gets from step t to step t - 1.

    bptt           g_{t-1} = e_{t-1} + g_t J_t                            exact; PyTorch's autograd, or the native part
    ft             g_{t-1} = e_{t-1}                                      fully truncated
    dsf            g_{t-1} = e_{t-1} + a g_t                              a: drawn at the start, never trained
    gated          g_{t-1} = e_{t-1} + g_t D_t                            D: the path around the recurrent matrices
    gated:dsf      g_{t-1} = e_{t-1} + g_t D_t + a (g_t - g_t D_t)
    iterated:K     gated, corrected K times by g_t (J_t - D_t) of the guess before

Every function here maps errors e [T + 1, B, S] to total gradients g of the same shape. Step 0 is the initial
state: no error arrives there, so what the recursion leaves there is the gradient of the initial state.
"""

from __future__ import annotations

from typing import NamedTuple, Optional, Protocol

import torch
from torch import Tensor

from dsf.nn._cells import Tape
from dsf.nn._layout import Layout
from dsf.nn._scan import reverse_scan, reverse_scan_varying

MENU = ("bptt", "ft", "dsf", "gated", "gated:dsf", "iterated:K")
INITS = ("uniform", "linspace", "constant")


class Feedback(NamedTuple):
    """A name of the menu, taken apart."""

    kind: str
    number: int = 0  # K

    @property
    def has_diagonal(self) -> bool:
        """Whether it keeps numbers ``a``."""
        return self.kind in ("dsf", "gated:dsf")


def parse(name: object) -> Feedback:
    """The feedback of that name; a name that is not on the menu is refused."""
    if not isinstance(name, str):
        raise TypeError(f"feedback should be of type str, got: {type(name).__name__}")
    if name in MENU and not name.endswith(":K"):
        return Feedback(name)
    stem, _, number = name.rpartition(":")
    if stem == "iterated" and number.isascii() and number.isdigit() and int(number) >= 1:
        return Feedback(stem, int(number))
    raise ValueError(
        f"feedback={name!r} is not one of those that dsf.nn has: {', '.join(MENU)} (K: a whole number, at least 1)"
    )


def check_diagonal_options(init: str, *bounds: float) -> tuple[float, float]:
    """The range (low, high); what no diagonal can be drawn from is refused."""
    if init not in INITS:
        raise ValueError(f"feedback_init={init!r} is unknown; known: {', '.join(INITS)}")
    if len(bounds) != 2 or not 0.0 <= bounds[0] <= bounds[1] <= 1.0:  # written so that NaN fails
        raise ValueError(f"feedback_range={bounds} must be two numbers (low, high) with 0 <= low <= high <= 1")
    return float(bounds[0]), float(bounds[1])


def fill_diagonal(a: Tensor, init: str, low: float, high: float) -> None:
    """Draws the S numbers of a diagonal in place; ``uniform`` from PyTorch's generator."""
    with torch.no_grad():
        if init == "uniform":
            a.uniform_(low, high)
        elif init == "linspace" and a.numel() > 1:
            a.copy_(torch.linspace(low, high, a.numel(), dtype=torch.float64))
        else:
            a.fill_(0.5 * (low + high))


class Pass(NamedTuple):
    """A layer on its way back through one batch."""

    tape: Tape
    layout: Layout
    weight_hh: Tensor
    a: Optional[Tensor]  # [S]

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


RULES: dict[str, Rule] = {
    "ft": _ft,
    "dsf": _dsf,
    "gated": _gated,
    "gated:dsf": _gated_dsf,
    "iterated": _iterated,
}
