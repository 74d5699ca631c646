"""What torch.autocast asks of a layer."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any, Optional

import torch
from torch import Tensor

_is_enabled = torch.is_autocast_enabled  # looked up once, see may_be_called in _native.py


def enabled(like: Tensor) -> bool:
    """Whether autocast is on for the device of this tensor. Some devices, meta for one, do not know it.

    PyTorch 2.6 cannot compile the question whether a device knows autocast; what is compiled does.
    """
    device = like.device.type
    known = device == "cpu" or torch.compiler.is_compiling() or torch.amp.is_autocast_available(device)
    return known and _is_enabled(device)


def dtype_for(data: Tensor) -> Optional[torch.dtype]:
    """The dtype to compute in; None without autocast, and for float64, which autocast leaves alone."""
    if not enabled(data) or data.dtype == torch.float64:
        return None
    return torch.get_autocast_dtype(data.device.type)


def off(like: Tensor) -> AbstractContextManager[Any]:
    """For code that has cast what is to be cast: sums and gates stay in the precision it chose."""
    return torch.autocast(like.device.type, enabled=False) if enabled(like) else nullcontext()
