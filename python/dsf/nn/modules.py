"""``RNN``, ``GRU`` and ``LSTM`` with the signatures of ``torch.nn`` and a choice of feedback."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Optional, Union

import torch
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence

from dsf.nn._recurrent import Device, Recurrent


class RNN(Recurrent):
    """A multi-layer vanilla RNN, ``h_t = tanh(W x_t + b_ih + U h_{t-1} + b_hh)`` or with relu; see ``torch.nn.RNN``.

    Args:
        input_size, hidden_size, num_layers, nonlinearity, bias, batch_first, dropout, bidirectional, device, dtype:
            as in ``torch.nn.RNN``, with its defaults.
        feedback: how gradients go back in time: ``"bptt"`` (exact, the default), ``"bptt:rank[:K]"``, ``"ft"``,
            ``"dsf"``, ``"gated"``, ``"gated:dsf"``, ``"iterated:K"``, ``"pairs"``, ``"lowrank:K"``, ``"orthogonal"`` or
            ``"dense"``. The walk forward is the same with all of them.
        feedback_init: how the diagonal ``a`` of ``dsf`` and ``gated:dsf`` is drawn: ``"uniform"`` (from PyTorch's
            generator), ``"linspace"`` or ``"constant"`` (the middle of the range).
        feedback_range: the least and the greatest number of the diagonal; also for ``lowrank:K`` and ``orthogonal``.

    Buffers:
        feedback_a_l{k}, feedback_a_l{k}_reverse: the diagonal of layer k, [hidden_size], or the numbers of another
        fixed matrix; they are never trained.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Device = None,
        dtype: Optional[torch.dtype] = None,
        *,
        proj_size: int = 0,
        feedback: str = "bptt",
        feedback_init: str = "uniform",
        feedback_range: Sequence[float] = (0.0, 1.0),
    ) -> None:
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        super().__init__(
            f"RNN_{nonlinearity.upper()}",
            input_size,
            hidden_size,
            num_layers,
            bias,
            batch_first,
            dropout,
            bidirectional,
            proj_size,
            device,
            dtype,
            feedback,
            feedback_init,
            feedback_range,
        )
        self.nonlinearity = nonlinearity

    def forward(self, input: Union[Tensor, PackedSequence], hx: Optional[Tensor] = None) -> tuple[Any, Tensor]:
        """Output of all steps and h_n, in the shapes of ``torch.nn.RNN``."""
        output, (h_n,) = self._run(input, hx)
        return output, h_n


class GRU(Recurrent):
    """A multi-layer GRU; see ``torch.nn.GRU``.

    Args:
        input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, device, dtype:
            as in ``torch.nn.GRU``, with its defaults.
        feedback, feedback_init, feedback_range: how gradients go back in time; see ``RNN``.

    Buffers:
        feedback_a_l{k}, feedback_a_l{k}_reverse: the diagonal of layer k, [hidden_size]; it is never trained.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Device = None,
        dtype: Optional[torch.dtype] = None,
        *,
        proj_size: int = 0,
        feedback: str = "bptt",
        feedback_init: str = "uniform",
        feedback_range: Sequence[float] = (0.0, 1.0),
    ) -> None:
        super().__init__(
            "GRU",
            input_size,
            hidden_size,
            num_layers,
            bias,
            batch_first,
            dropout,
            bidirectional,
            proj_size,
            device,
            dtype,
            feedback,
            feedback_init,
            feedback_range,
        )

    def forward(self, input: Union[Tensor, PackedSequence], hx: Optional[Tensor] = None) -> tuple[Any, Tensor]:
        """Output of all steps and h_n, in the shapes of ``torch.nn.GRU``."""
        output, (h_n,) = self._run(input, hx)
        return output, h_n


class LSTM(Recurrent):
    """A multi-layer LSTM; see ``torch.nn.LSTM``. Its state is [h, c].

    Args:
        input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, device, dtype:
            as in ``torch.nn.LSTM``, with its defaults. proj_size is refused.
        feedback, feedback_init, feedback_range: how gradients go back in time; see ``RNN``.
        output: ``"h"``, as PyTorch does; ``"hc"``: the last layer hands out [h, c] at every step, twice as wide, as in
            the paper (with two directions [h, c, h_reverse, c_reverse]). Layers below hand h to the next in any case.

    Buffers:
        feedback_a_l{k}, feedback_a_l{k}_reverse: the diagonal of layer k, [2 hidden_size]: first the numbers of h, then
        those of c. It is never trained.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Device = None,
        dtype: Optional[torch.dtype] = None,
        *,
        feedback: str = "bptt",
        feedback_init: str = "uniform",
        feedback_range: Sequence[float] = (0.0, 1.0),
        output: str = "h",
    ) -> None:
        if output not in ("h", "hc"):
            raise ValueError(f"output={output!r} is unknown; known: 'h' (as torch.nn.LSTM) and 'hc' ([h, c])")
        super().__init__(
            "LSTM",
            input_size,
            hidden_size,
            num_layers,
            bias,
            batch_first,
            dropout,
            bidirectional,
            proj_size,
            device,
            dtype,
            feedback,
            feedback_init,
            feedback_range,
        )
        self.output = output

    def forward(
        self, input: Union[Tensor, PackedSequence], hx: Optional[tuple[Tensor, Tensor]] = None
    ) -> tuple[Any, tuple[Tensor, Tensor]]:
        """Output of all steps and (h_n, c_n), in the shapes of ``torch.nn.LSTM``."""
        output, (h_n, c_n) = self._run(input, hx)
        return output, (h_n, c_n)
