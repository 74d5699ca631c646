"""The numbers that a feedback keeps, drawn at the start and never trained: one tensor for each layer and direction.

    dsf, gated:dsf       [S]              a
    pairs                [2, S/2]         real and imaginary parts of a complex diagonal; S/2 is rounded up, and the
                                          imaginary part of a unit that is left over is 0
    lowrank:K            [1 + 2K, S]      a / 2;  P^T / 2;  Q^T      of  A = (diag(a) + P Q^T) / 2
    orthogonal, dense    [S, S]           A

They have the distributions of the C++ library (dsf/feedback/, dsf/kernels/random_matrix.h), from PyTorch's generator.
"""

from __future__ import annotations

import math
from typing import NamedTuple, Optional

import torch
from torch import Tensor

INITS = ("uniform", "linspace", "constant")

# S4D-Lin (Gu et al., 2022): modes 0, 1, ..., 31 again and again, time steps drawn log-uniformly.
_MODES = 32
_SHORTEST_STEP = 0.001
_LONGEST_STEP = 0.1


class Options(NamedTuple):
    """What numbers are drawn from."""

    init: str
    low: float
    high: float


def check_options(init: str, *bounds: float) -> Options:
    """The options; what no diagonal can be drawn from is refused."""
    if init not in INITS:
        raise ValueError(f"feedback_init={init!r} is unknown; known: {', '.join(INITS)}")
    if len(bounds) != 2 or not 0.0 <= bounds[0] <= bounds[1] <= 1.0:  # written so that NaN fails
        raise ValueError(f"feedback_range={bounds} must be two numbers (low, high) with 0 <= low <= high <= 1")
    return Options(init, float(bounds[0]), float(bounds[1]))


def shape_of(kind: str, number: int, state_size: int) -> Optional[tuple[int, ...]]:
    """The shape of the numbers of a feedback; None if it keeps none."""
    if kind in ("dsf", "gated:dsf"):
        return (state_size,)
    if kind == "pairs":
        return 2, (state_size + 1) // 2
    if kind == "lowrank":
        return 1 + 2 * min(number, state_size), state_size
    if kind in ("orthogonal", "dense"):
        return state_size, state_size
    return None


def draw(kind: str, numbers: Tensor, state_size: int, options: Options) -> None:
    """Fills the numbers in place."""
    if numbers.is_meta:
        return
    with torch.no_grad():
        if kind == "pairs":
            numbers.copy_(_pairs(state_size))
        elif kind == "lowrank":
            numbers.copy_(_low_rank(numbers.shape[0] // 2, state_size, options))
        elif kind == "orthogonal":
            Q = _orthonormal_columns(state_size, state_size)
            numbers.copy_(_uniform(state_size, options).unsqueeze(1) * Q)
        elif kind == "dense":
            gaussian = torch.randn(state_size, state_size, dtype=torch.float64, device="cpu")
            numbers.copy_(gaussian / torch.linalg.matrix_norm(gaussian, 2))
        else:
            _draw_diagonal(numbers, options)


def matrix_of(kind: str, numbers: Tensor) -> Tensor:
    """A [S, S] of lowrank:K, orthogonal and dense."""
    if kind != "lowrank":
        return numbers
    rank = numbers.shape[0] // 2
    return torch.diag(numbers[0]) + numbers[1 : 1 + rank].t() @ numbers[1 + rank :]


def _draw_diagonal(a: Tensor, options: Options) -> None:
    if options.init == "uniform":
        a.uniform_(options.low, options.high)
    elif options.init == "linspace" and a.numel() > 1:
        a.copy_(torch.linspace(options.low, options.high, a.numel(), dtype=torch.float64))
    else:
        a.fill_(0.5 * (options.low + options.high))


def _uniform(count: int, options: Options) -> Tensor:
    return torch.empty(count, dtype=torch.float64, device="cpu").uniform_(options.low, options.high)


def _orthonormal_columns(rows: int, columns: int) -> Tensor:
    """Uniformly random: Q of a matrix of Gaussian numbers, with the signs that make R's diagonal positive."""
    Q, R = torch.linalg.qr(torch.randn(rows, columns, dtype=torch.float64, device="cpu"))
    signs = torch.ones(columns, dtype=torch.float64, device="cpu").copysign(R.diagonal())
    return torch.as_tensor(Q * signs)


def _pairs(state_size: int) -> Tensor:
    """``exp(d (-1/2 + i pi n))`` of every pair of units."""
    count = (state_size + 1) // 2
    bounds = math.log(_SHORTEST_STEP), math.log(_LONGEST_STEP)
    steps = torch.empty(count, dtype=torch.float64, device="cpu").uniform_(*bounds).exp()
    angles = math.pi * (torch.arange(count, device="cpu") % _MODES) * steps
    if state_size % 2:
        angles[-1] = 0
    modulus = torch.exp(-0.5 * steps)
    return torch.stack([modulus * angles.cos(), modulus * angles.sin()])


def _low_rank(rank: int, state_size: int, options: Options) -> Tensor:
    diagonal = _uniform(state_size, options).unsqueeze(0) / 2
    P, Q = (_orthonormal_columns(state_size, rank).t() for _ in range(2))
    return torch.cat([diagonal, P / 2, Q])
