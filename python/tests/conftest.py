"""Every test starts from the same random numbers, and no test leaves threads fighting each other."""

from __future__ import annotations

import pytest
import torch

torch.set_num_threads(1)  # the tensors here are tiny


@pytest.fixture(autouse=True)
def _seeded() -> None:
    torch.manual_seed(20250101)
