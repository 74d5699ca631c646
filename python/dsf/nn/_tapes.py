"""Memory for tapes, kept from pass to pass.

A tape is the largest thing that a pass needs, and lives from forward to backward. malloc gives so much memory back to
the system as soon as it is free, so that each pass would wait for fresh pages: about 7 % of a pass with 128 sequences.
Here a tape's memory waits for the next tape instead. There are never more blocks than tapes have been alive at once.
"""

from __future__ import annotations

import ctypes
import mmap
import weakref
from typing import Any

import torch
from torch import Tensor

_NUMBER_BYTES = 4
_LEAST_BYTES = 1 << 18  # less comes from malloc, which keeps it
# Blocks that no tape uses, and those in use, each with the reference that tells when it no longer is. Neither needs a
# lock, because the operations of lists and dictionaries are atomic.
_free: list[mmap.mmap] = []
_used: dict[int, tuple[weakref.ref[Any], mmap.mmap]] = {}


def empty(numbers: int) -> Tensor:
    """A tensor of so many float32 with any content."""
    size = numbers * _NUMBER_BYTES
    if size < _LEAST_BYTES:
        return torch.empty(numbers, dtype=torch.float32)
    block = _free_block(size) or _new_block(size)
    # A tensor made of a buffer holds the buffer's owner as long as its memory is in use.
    owner = (ctypes.c_char * len(block)).from_buffer(block)
    watch = weakref.ref(owner, _release)  # weakref.finalize does the same in three times the time
    _used[id(watch)] = watch, block
    return torch.frombuffer(owner, dtype=torch.float32, count=numbers)


def _release(watch: weakref.ref[Any]) -> None:
    _free.append(_used.pop(id(watch))[1])


def _free_block(size: int) -> mmap.mmap | None:
    """The smallest block of at least this size. If all are smaller, the largest of them is given up."""
    for block in sorted(_free, key=len):
        if len(block) >= size and _take(block):
            return block
    largest = max(_free, key=len, default=None)
    if largest is not None:
        _take(largest)
    return None


def _take(block: mmap.mmap) -> bool:
    """Takes the block off the list, unless another thread was faster."""
    try:
        _free.remove(block)
    except ValueError:
        return False
    return True


def _new_block(size: int) -> mmap.mmap:
    # An eighth more, for batches whose lengths vary. Private: a process that forks off gets a copy, as of any memory.
    return mmap.mmap(-1, size + size // 8, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
