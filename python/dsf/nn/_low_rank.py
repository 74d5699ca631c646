"""A matrix by two thin ones, as ``bptt:rank`` puts them in the place of U's blocks on the way back.

    U [n, D]  ~  P Q,    Q [r, D]: orthonormal rows,    P [n, r] = U Q^T

The rows of Q nearly span the r strongest right singular vectors of U: those of ``W U^T U`` made orthonormal, W [r, D] a
fixed Gaussian matrix (Halko, Martinsson and Tropp, "Finding structure with randomness", 2011). W holds the very numbers
that the C++ library draws (dsf/kernels/low_rank.cc, dsf/base/rng.cc), so that both find the same factors.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache

import torch
from torch import Tensor

_WORD = (1 << 64) - 1


def _split_mix(x: int) -> Iterator[int]:
    """SplitMix64 (Steele, Lea and Flood, 2014)."""
    while True:
        x = (x + 0x9E3779B97F4A7C15) & _WORD
        z = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _WORD
        yield z ^ (z >> 31)


def _hash_of(name: str) -> int:
    """FNV-1a."""
    value = 0xCBF29CE484222325
    for byte in name.encode():
        value = ((value ^ byte) * 0x100000001B3) & _WORD
    return value


def _uniform(purpose: str) -> Iterator[float]:
    """Numbers in [0, 1) by xoshiro256** (Blackman and Vigna, 2018), as ``dsf::Rng(0, purpose)`` draws them."""
    words = _split_mix(_hash_of(purpose))
    s0, s1, s2, s3 = (next(words) for _ in range(4))
    while True:
        product = (s1 * 5) & _WORD
        product = (((product << 7) | (product >> 57)) * 9) & _WORD
        yield (product >> 11) * 2.0**-53
        shifted = (s1 << 17) & _WORD
        s2 ^= s0
        s3 ^= s1
        s1 ^= s2
        s0 ^= s3
        s2 ^= shifted
        s3 = ((s3 << 45) | (s3 >> 19)) & _WORD


@lru_cache(maxsize=8)
def probe(rank: int, columns: int) -> Tensor:
    """W, float64 on the CPU: Gaussian numbers (Box-Muller), rounded to float32 as the C++ library has them."""
    uniform = _uniform("low rank factors")
    values = [
        math.sqrt(-2.0 * math.log(1.0 - next(uniform))) * math.cos(2.0 * math.pi * next(uniform))
        for _ in range(rank * columns)
    ]
    return torch.tensor(values, dtype=torch.float32).double().reshape(rank, columns)


def factors(U: Tensor, rank: int) -> tuple[Tensor, Tensor]:
    """P [n, rank] and Q [rank, D] of U [n, D], rank < D, in float32 or float64."""
    W = probe(rank, U.shape[1]).to(U.device, U.dtype)
    Q = torch.linalg.qr(((U @ W.t()).t() @ U).t()).Q.t()
    return U @ Q.t(), Q
