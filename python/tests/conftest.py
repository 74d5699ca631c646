"""Every test starts from the same random numbers, and no test leaves threads fighting each other."""

from __future__ import annotations

import pytest
import torch
from hypothesis import settings

torch.set_num_threads(1)  # the tensors here are tiny

settings.register_profile("repeatable", derandomize=True, database=None, deadline=None)
settings.load_profile("repeatable")


@pytest.fixture(autouse=True)
def _seeded() -> None:
    torch.manual_seed(20250101)
