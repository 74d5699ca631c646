"""The rows of a batch: which of them follow each other in time.

Rows are time-major. Without ``batch_sizes`` all B sequences have T steps and row ``t * B + b`` is step t of
sequence b. With the ``batch_sizes`` of a PackedSequence the sequences are sorted by length, step t holds the
first ``batch_sizes[t]`` of them, and nothing is padded.

*Steps* are the same numbers as [T, B, ...], with zeros behind the end of shorter sequences. Recursions
along time run on steps, products run on rows.
"""

from __future__ import annotations

from typing import Optional

import torch
from torch import Tensor


class Layout:
    """Where the rows of a batch lie. Knows nothing about cells."""

    def __init__(self, steps: int, batch: int, batch_sizes: Optional[Tensor], device: torch.device) -> None:
        self.steps = steps
        self.batch = batch
        self.packed = batch_sizes is not None
        if batch_sizes is None:
            return
        # All of this is integer arithmetic on the CPU, where batch_sizes lives, in a fixed number of operations.
        offsets = batch_sizes.cumsum(0) - batch_sizes
        step = torch.repeat_interleave(torch.arange(steps), batch_sizes)
        sequence = torch.arange(step.numel()) - offsets[step]
        lengths = (batch_sizes.unsqueeze(1) > torch.arange(batch)).sum(0)
        last = offsets[lengths - 1] + torch.arange(batch)
        before = torch.where(step > 0, batch + offsets[step - 1] + sequence, sequence)
        mirrored = offsets[lengths[sequence] - 1 - step] + sequence
        self._place = (step * batch + sequence).to(device)
        self._last = last.to(device)
        self._before = before.to(device)
        self._mirrored = mirrored.to(device)

    @staticmethod
    def of(x: Tensor, batch: int, batch_sizes: Optional[Tensor]) -> Layout:
        """x: [T, B, I], or [N, I] together with batch_sizes."""
        steps = x.shape[0] if batch_sizes is None else batch_sizes.numel()
        return Layout(steps, batch, batch_sizes, x.device)

    def to_rows(self, steps: Tensor) -> Tensor:
        """[T, B, ...] to [N, ...]."""
        flat = steps.reshape(-1, *steps.shape[2:])
        return flat.index_select(0, self._place) if self.packed else flat

    def to_steps(self, rows: Tensor) -> Tensor:
        """[N, ...] to [T, B, ...]."""
        if self.packed:
            flat = rows.new_zeros(self.steps * self.batch, *rows.shape[1:])
            rows = flat.index_copy(0, self._place, rows)
        return rows.reshape(self.steps, self.batch, *rows.shape[1:])

    def previous(self, rows: Tensor, initial: Tensor) -> Tensor:
        """For each row the row of the step before it; ``initial`` [B, ...] for the first step."""
        if self.packed:
            return torch.cat([initial, rows]).index_select(0, self._before)
        return torch.cat([initial, rows])[: rows.shape[0]]

    def last(self, rows: Tensor) -> Tensor:
        """The row of the last step of each sequence, [B, ...]; always a copy."""
        return rows.index_select(0, self._last) if self.packed else rows[rows.shape[0] - self.batch :].clone()

    def add_to_last(self, rows: Tensor, values: Tensor) -> Tensor:
        """``rows`` with ``values`` [B, ...] added to the last step of each sequence."""
        if self.packed:
            return rows.index_add(0, self._last, values)
        first = rows.shape[0] - self.batch
        return torch.cat([rows[:first], rows[first:] + values])

    def mirror(self, rows: Tensor) -> Tensor:
        """Each sequence from its last step to its first. Applied twice it changes nothing."""
        if self.packed:
            return rows.index_select(0, self._mirrored)
        return rows.reshape(self.steps, self.batch, *rows.shape[1:]).flip(0).reshape(rows.shape)
