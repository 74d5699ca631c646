"""Memory for tapes: kept and used again, but never by two at once."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Iterator

import pytest
import torch

from dsf.nn import GRU, _tapes

pytestmark = pytest.mark.skipif(os.environ.get("DSF_NATIVE") == "off", reason="the native part is switched off")

LARGE = 1 << 18  # float32: a tape of 1 MB


@pytest.fixture(autouse=True)
def no_blocks(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each test begins without the blocks that others left."""
    gc.collect()
    monkeypatch.setattr(_tapes, "_free", [])
    yield
    gc.collect()


def test_the_next_tape_takes_the_memory_of_the_last() -> None:
    tape = _tapes.empty(LARGE)
    address = tape.data_ptr()
    assert tape.shape == (LARGE,)
    assert tape.dtype == torch.float32
    del tape
    assert _tapes.empty(LARGE).data_ptr() == address
    assert _tapes.empty(LARGE // 2).data_ptr() == address


def test_tapes_that_live_at_once_share_nothing() -> None:
    first, second = _tapes.empty(LARGE), _tapes.empty(LARGE)
    first.fill_(1)
    second.fill_(2)
    assert first.min() == first.max() == 1
    assert second.min() == second.max() == 2


def test_a_view_keeps_the_memory() -> None:
    view = _tapes.empty(LARGE)[10:20]
    view.fill_(1)
    _tapes.empty(LARGE).fill_(2)
    assert view.max() == 1


def test_tapes_that_grow_leave_one_block() -> None:
    for numbers in range(LARGE, 20 * LARGE, LARGE):
        _tapes.empty(numbers)
    assert len(_tapes._free) == 1
    assert len(_tapes._free[0]) >= 4 * 19 * LARGE


def test_small_tapes_keep_no_block() -> None:
    assert _tapes.empty(100).shape == (100,)
    assert _tapes.empty(0).shape == (0,)
    assert not _tapes._free


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_process_has_memory_of_its_own() -> None:
    tape = _tapes.empty(LARGE).fill_(1)
    child = os.fork()
    if child == 0:
        tape.numpy()[:] = 2
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert tape.max() == 1


def gradients(layer: GRU, x: torch.Tensor) -> list[torch.Tensor]:
    return list(torch.autograd.grad(layer(x)[0].square().sum(), list(layer.parameters())))


def test_passes_use_one_block_again() -> None:
    layer, x = GRU(32, 64), torch.randn(64, 32, 32)
    expected = gradients(layer, x)
    blocks = [id(block) for block in _tapes._free]
    assert len(blocks) == 1
    for _ in range(3):
        assert all(torch.equal(a, b) for a, b in zip(gradients(layer, x), expected))
    assert [id(block) for block in _tapes._free] == blocks


def test_a_graph_that_is_kept_keeps_its_tape() -> None:
    layer, x, other = GRU(32, 64), torch.randn(64, 32, 32), torch.randn(64, 32, 32)
    loss = layer(x)[0].square().sum()
    weights = list(layer.parameters())
    before = torch.autograd.grad(loss, weights, retain_graph=True)
    gradients(layer, other)
    after = torch.autograd.grad(loss, weights, retain_graph=True)
    assert all(torch.equal(a, b) for a, b in zip(before, after))


def test_threads_do_not_meet_in_a_block() -> None:
    layer = GRU(32, 64)
    inputs = [torch.randn(64, 32, 32) for _ in range(4)]
    expected = [gradients(layer, x) for x in inputs]
    same = [True] * len(inputs)

    def train(i: int) -> None:
        for _ in range(20):
            found = gradients(layer, inputs[i])
            same[i] = same[i] and all(torch.equal(a, b) for a, b in zip(found, expected[i]))

    threads = [threading.Thread(target=train, args=(i,)) for i in range(len(inputs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(same)
    assert len(_tapes._free) <= len(inputs)
