"""Recurrent cells in PyTorch operations over all rows of a batch at once.

A cell offers PyTorch's own fused walk forward (``fused_forward``) and, once the states are known, a *tape*: the
gates of all rows, rebuilt by one product with W and one with U. A tape has two verbs:

    own_path()   D_t, the part of ds_t/ds_{t-1} that goes around U; an elementwise recursion can follow it
    local(g)     total gradients g of the states to gradients of the pre-activations, with s_{t-1} held constant

States s are h, or [h, c] side by side for the LSTM. Gates are in PyTorch's order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Optional, Protocol

import torch
from torch import _VF, Tensor
from torch.nn.functional import linear

from dsf.nn._layout import Layout
from dsf.nn._scan import forward_scan


class Weights(NamedTuple):
    """The parameters of one layer in one direction. K gates: weight_ih [KD, I], weight_hh [KD, D], biases [KD]."""

    weight_ih: Tensor
    weight_hh: Tensor
    bias_ih: Optional[Tensor] = None
    bias_hh: Optional[Tensor] = None

    def flat(self) -> list[Tensor]:
        """As PyTorch's fused functions want them."""
        return [weight for weight in self if weight is not None]


class OwnPath(NamedTuple):
    """``g D``: with one part of state ``decay * g``; with [h, c] ``[0, decay * g_c + across * g_h]``."""

    decay: Tensor  # [N, D]
    across: Optional[Tensor] = None  # [N, D], LSTM only
    inside_product: bool = False  # whether ``d U`` already has it (the vanilla RNN)


class Tape(Protocol):
    """The values of a cell at all rows."""

    blocks: ClassVar[tuple[int, ...]]  # how many gates of U are taken together if U is replaced by thin factors

    def own_path(self) -> OwnPath:
        """D of all rows."""

    def local(self, g: Tensor) -> tuple[Tensor, Tensor]:
        """g [N, S] to the gradients of ``W x + b_ih`` and of ``U h + b_hh``, each [N, KD]."""


def working(values: Tensor) -> Tensor:
    """Elementwise work on 16-bit numbers is done in float32."""
    return values.float() if values.dtype in (torch.bfloat16, torch.float16) else values


@dataclass
class RnnTape:
    """h = tanh or relu of (W x + U h_{t-1} + b)."""

    slope: Tensor  # dh / d pre-activation
    own_weights: Tensor  # [D], the diagonal of U
    blocks: ClassVar[tuple[int, ...]] = (1,)

    def own_path(self) -> OwnPath:
        """No path goes around U, so the diagonal of J is taken: slope * u_jj."""
        return OwnPath(self.slope * self.own_weights, inside_product=True)

    def local(self, g: Tensor) -> tuple[Tensor, Tensor]:
        """d = g slope."""
        d = g * self.slope
        return d, d


@dataclass
class GruTape:
    """n = tanh(W_n x + b_in + r q),  q = U_n h_{t-1} + b_hn,  h = (1 - z) n + z h_{t-1}."""

    r: Tensor
    z: Tensor
    n: Tensor
    q: Tensor
    previous: Tensor
    blocks: ClassVar[tuple[int, ...]] = (2, 1)  # r and z; the candidate

    def own_path(self) -> OwnPath:
        """From h = (1 - z) n + z h_{t-1}: z."""
        return OwnPath(self.z)

    def local(self, g: Tensor) -> tuple[Tensor, Tensor]:
        """d_n = g (1 - z) (1 - n^2), d_z = g (h_{t-1} - n) z (1 - z), d_r = d_n q r (1 - r)."""
        d_n = g * (1 - self.z) * (1 - self.n * self.n)
        d_z = g * (self.previous - self.n) * self.z * (1 - self.z)
        d_r = d_n * self.q * self.r * (1 - self.r)
        return torch.cat([d_r, d_z, d_n], -1), torch.cat([d_r, d_z, d_n * self.r], -1)


@dataclass
class LstmTape:
    """c = f c_{t-1} + i m,  h = o tanh(c)."""

    i: Tensor
    f: Tensor
    m: Tensor
    o: Tensor
    c: Tensor
    c_previous: Tensor
    blocks: ClassVar[tuple[int, ...]] = (4,)

    def own_path(self) -> OwnPath:
        """Only c_{t-1} has a path around U: to c by f, and through c to h by f o (1 - tanh(c)^2)."""
        s = torch.tanh(self.c)
        return OwnPath(self.f, self.f * self.o * (1 - s * s))

    def local(self, g: Tensor) -> tuple[Tensor, Tensor]:
        """With s = tanh(c) and dc = g_c + g_h o (1 - s^2), as in dsf/kernels/gates_lstm.h."""
        g_h, g_c = g.chunk(2, -1)
        s = torch.tanh(self.c)
        dc = g_c + g_h * self.o * (1 - s * s)
        d_i = dc * self.m * self.i * (1 - self.i)
        d_f = dc * self.c_previous * self.f * (1 - self.f)
        d_m = dc * self.i * (1 - self.m * self.m)
        d_o = g_h * s * self.o * (1 - self.o)
        d = torch.cat([d_i, d_f, d_m, d_o], -1)
        return d, d


class Cell(Protocol):
    """What the rest of the package needs to know about a kind of cell."""

    parts: int  # how many vectors of width D the state has
    gates: int  # how many gates the weights have

    def fused_forward(
        self, x: Tensor, initial: Tensor, weights: Weights, batch_sizes: Optional[Tensor]
    ) -> tuple[Tensor, Tensor]:
        """PyTorch's own walk forward. x: [T, B, I] or [N, I]. Returns h of all rows, and the last states [B, S]."""

    def tape(self, x: Tensor, h: Tensor, initial: Tensor, weights: Weights, layout: Layout) -> Tape:
        """The gates of all rows. x: [N, I]; h: [N, D]; initial: [B, S]."""


# PyTorch's own functions, for any number of layers. Looked up once: _VF finds a name in Python at every call.
FUSED: dict[str, Callable[..., Sequence[Tensor]]] = {
    name: getattr(_VF, name) for name in ("rnn_tanh", "rnn_relu", "gru", "lstm")
}


def _fused(name: str, x: Tensor, hx: object, flat: list[Tensor], batch_sizes: Optional[Tensor]) -> Sequence[Tensor]:
    function = FUSED[name]
    biased, layers, dropout, training, bidirectional = len(flat) == 4, 1, 0.0, False, False
    if batch_sizes is None:
        return function(x, hx, flat, biased, layers, dropout, training, bidirectional, False)
    return function(x, batch_sizes, hx, flat, biased, layers, dropout, training, bidirectional)


class RnnCell:
    """The vanilla RNN; ``nonlinearity`` is tanh or relu."""

    parts = 1
    gates = 1

    def __init__(self, nonlinearity: str) -> None:
        self.nonlinearity = nonlinearity

    def fused_forward(
        self, x: Tensor, initial: Tensor, weights: Weights, batch_sizes: Optional[Tensor]
    ) -> tuple[Tensor, Tensor]:
        """See Cell."""
        h, h_n = _fused(f"rnn_{self.nonlinearity}", x, initial.unsqueeze(0), weights.flat(), batch_sizes)
        return h, h_n.squeeze(0)

    def tape(self, x: Tensor, h: Tensor, initial: Tensor, weights: Weights, layout: Layout) -> RnnTape:
        """The state alone tells the slope, so no product is needed."""
        h = working(h)
        slope = 1 - h * h if self.nonlinearity == "tanh" else (h > 0).to(h.dtype)
        return RnnTape(slope, working(weights.weight_hh.diagonal()))


class GruCell:
    """PyTorch's GRU, which resets after the recurrent product."""

    parts = 1
    gates = 3

    def fused_forward(
        self, x: Tensor, initial: Tensor, weights: Weights, batch_sizes: Optional[Tensor]
    ) -> tuple[Tensor, Tensor]:
        """See Cell."""
        h, h_n = _fused("gru", x, initial.unsqueeze(0), weights.flat(), batch_sizes)
        return h, h_n.squeeze(0)

    def tape(self, x: Tensor, h: Tensor, initial: Tensor, weights: Weights, layout: Layout) -> GruTape:
        """r, z, n and q of all rows."""
        previous = layout.previous(h, initial)
        from_input = working(linear(x, weights.weight_ih, weights.bias_ih))
        from_state = working(linear(previous, weights.weight_hh, weights.bias_hh))
        x_r, x_z, x_n = from_input.chunk(3, -1)
        h_r, h_z, q = from_state.chunk(3, -1)
        r = torch.sigmoid(x_r + h_r)
        return GruTape(r, torch.sigmoid(x_z + h_z), torch.tanh(x_n + r * q), q, working(previous))


class LstmCell:
    """PyTorch's LSTM without projection; its state is [h, c]."""

    parts = 2
    gates = 4

    def fused_forward(
        self, x: Tensor, initial: Tensor, weights: Weights, batch_sizes: Optional[Tensor]
    ) -> tuple[Tensor, Tensor]:
        """See Cell."""
        h_0, c_0 = (part.contiguous().unsqueeze(0) for part in initial.chunk(2, -1))
        h, h_n, c_n = _fused("lstm", x, (h_0, c_0), weights.flat(), batch_sizes)
        return h, torch.cat([h_n.squeeze(0), c_n.squeeze(0)], -1)

    def tape(self, x: Tensor, h: Tensor, initial: Tensor, weights: Weights, layout: Layout) -> LstmTape:
        """i, f, m, o of all rows; then c, of which PyTorch hands out the last step only, by a scan."""
        h_0, c_0 = initial.chunk(2, -1)
        from_input = linear(x, weights.weight_ih, weights.bias_ih)
        from_state = linear(layout.previous(h, h_0), weights.weight_hh, weights.bias_hh)
        pre = working(from_input) + working(from_state)
        i, f, m, o = pre.chunk(4, -1)
        i, f, m, o = torch.sigmoid(i), torch.sigmoid(f), torch.tanh(m), torch.sigmoid(o)
        c_0 = working(c_0)
        # c_0 goes in front as a step of its own: c_t = i_t m_t + f_t c_{t-1}.
        written = torch.cat([c_0.unsqueeze(0), layout.to_steps(i * m)])
        kept = torch.cat([torch.zeros_like(c_0).unsqueeze(0), layout.to_steps(f)])
        c_steps = forward_scan(written, kept)
        c, c_previous = layout.to_rows(c_steps[1:]), layout.to_rows(c_steps[:-1])
        return LstmTape(i, f, m, o, c, c_previous)


CELLS: dict[str, Cell] = {
    "rnn_tanh": RnnCell("tanh"),
    "rnn_relu": RnnCell("relu"),
    "gru": GruCell(),
    "lstm": LstmCell(),
}
