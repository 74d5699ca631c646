"""Linear recursions along time, the first dimension, in O(log T) PyTorch operations.

All of them double the distance that a value has travelled at each round (Hillis and Steele, 1986):
log2(T) rounds over all steps at once instead of T rounds over one step each.
"""

from __future__ import annotations

import torch
from torch import Tensor


def reverse_scan(e: Tensor, a: Tensor) -> Tensor:
    """``g_t = e_t + a g_{t+1}`` with the same ``a`` at every step (eq. 13 of the paper).

    e: [T, ..., S]; a: [S]. Returns a new tensor like e.
    """
    g = e.clone()
    steps, distance, power = e.shape[0], 1, a
    while distance < steps:
        # After this round g_t holds the sum of a^i e_{t+i} for i < 2 * distance. The product is a temporary, so
        # that what is added is not yet changed by the addition.
        g[:-distance] += power * g[distance:]
        power = power * power
        distance *= 2
    return g


def reverse_scan_matrix(e: Tensor, A: Tensor) -> Tensor:
    """``g_t = e_t + g_{t+1} A`` with the same matrix at every step, by its powers A, A^2, A^4, ...

    e: [T, ..., S]; A: [S, S]. Returns a new tensor like e.
    """
    g = e.clone()
    steps, distance, power = e.shape[0], 1, A
    while distance < steps:
        g[:-distance] += g[distance:] @ power
        distance *= 2
        if distance < steps:
            power = power @ power
    return g


def forward_scan(x: Tensor, decay: Tensor) -> Tensor:
    """``y_t = x_t + decay_t y_{t-1}`` with ``y_0 = x_0``. Differentiable by autograd.

    x, decay: [T, ...] of one shape; decay_0 is not used.
    """
    y, distance, steps = x, 1, x.shape[0]
    while distance < steps:
        y = torch.cat([y[:distance], y[distance:] + decay[distance:] * y[:-distance]])
        distance_next = 2 * distance
        if distance_next < steps:
            decay = torch.cat([decay[:distance], decay[distance:] * decay[:-distance]])
        distance = distance_next
    return y


def reverse_scan_varying(e: Tensor, decay: Tensor) -> Tensor:
    """``g_{t-1} = e_{t-1} + decay_t g_t`` with another decay at every step.

    e: [T + 1, ...]; decay: [T, ...], decay[t] belongs to the way from e[t + 1] to e[t].
    """
    last = torch.zeros_like(e[:1])
    return forward_scan(e.flip(0), torch.cat([decay, last]).flip(0)).flip(0)
