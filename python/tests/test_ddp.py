"""Two processes with gloo: the gradients are the mean of both, and the diagonals are those of the first process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn

import dsf.nn


def _worker(rank: int, meeting: str, results: Any) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=2)
    torch.manual_seed(rank)  # the processes start apart, and DDP brings them together
    model = nn.parallel.DistributedDataParallel(dsf.nn.LSTM(3, 4, 2, feedback="dsf"))
    torch.manual_seed(10 + rank)
    x = torch.randn(5, 2, 3)
    model(x)[0].square().sum().backward()
    gradients = {name: p.grad.clone() for name, p in model.module.named_parameters()}
    results[rank] = {"state": model.module.state_dict(), "x": x, "gradients": gradients}
    dist.barrier()
    dist.destroy_process_group()


@pytest.mark.skipif(not dist.is_available(), reason="this PyTorch has no torch.distributed")
def test_two_processes_share_gradients_and_diagonals(tmp_path: Path) -> None:
    with mp.get_context("spawn").Manager() as manager:
        shared = manager.dict()
        mp.spawn(_worker, args=(str(tmp_path / "meeting"), shared), nprocs=2)
        results = [dict(shared[rank]) for rank in range(2)]
    for name, values in results[0]["state"].items():
        assert torch.equal(values, results[1]["state"][name]), name
    layer = dsf.nn.LSTM(3, 4, 2, feedback="dsf")
    layer.load_state_dict(results[0]["state"])
    for result in results:
        layer(result["x"])[0].square().sum().backward()
    for name, parameter in layer.named_parameters():
        assert parameter.grad is not None
        for result in results:
            torch.testing.assert_close(result["gradients"][name], parameter.grad / 2)
