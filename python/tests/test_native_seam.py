"""The seam for a compiled module: a stand-in that computes by PyTorch's operations, and checks what it is handed."""

from __future__ import annotations

from typing import Any, Optional

import pytest
import torch
from support import CELLS, assert_all_close, gradients_of, make_layer, random_states
from torch import Tensor
from torch.nn.utils.rnn import pack_padded_sequence

from dsf.nn import _generic, _native, _ops
from dsf.nn._cells import CELLS as CELL_TABLE
from dsf.nn._cells import Weights

TAPE = 7


class StandIn:
    """A NativeModule for float32; its tape holds a mark, to see that it comes back untouched."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def takes(self, cell: str, feedback: str, dtype: str) -> bool:
        return feedback in ("ft", "dsf") and dtype == "float32"

    def tape_width(self, cell: str, feedback: str, hidden_size: int, both: bool) -> int:
        return TAPE

    def forward(self, *arguments: Any) -> None:
        problem = _generic.Problem(*arguments[:4])
        x, initial, batch_sizes = arguments[4:7]
        weights = Weights(*arguments[7:11])
        output, last, tape = arguments[11:]
        self._check(problem, x, initial, weights, output, last)
        self.calls.append("forward" if tape is not None else "forward without tape")
        found, found_last = _generic.forward(problem, _generic.Inputs(x, initial, batch_sizes, weights, None))
        output.copy_(found)
        last.copy_(found_last)
        if tape is not None:
            assert tape.shape == (x.shape[:-1].numel(), TAPE)
            assert tape.dtype == torch.float32
            tape.fill_(x.shape[0])

    def backward(self, *arguments: Any) -> None:
        problem = _generic.Problem(*arguments[:4])
        x, initial, batch_sizes = arguments[4:7]
        weights, a = Weights(*arguments[7:11]), arguments[11]
        output, tape, grad_output, grad_last, d_x, d_initial = arguments[12:18]
        self._check(problem, x, initial, weights, output, d_initial)
        self.calls.append("backward")
        assert bool((tape == x.shape[0]).all())
        inputs = _generic.Inputs(x, initial, batch_sizes, weights, a)
        found = _generic.backward(problem, inputs, output, grad_output, grad_last, d_x is not None)
        for target, values in zip((d_x, d_initial, *arguments[18:]), (found.x, found.initial, *found.weights)):
            assert (target is None) == (values is None)
            if target is not None:
                assert target.is_contiguous()
                target.copy_(values)

    @staticmethod
    def _check(p: _generic.Problem, x: Tensor, initial: Tensor, w: Weights, output: Tensor, last: Tensor) -> None:
        width = w.weight_hh.shape[1]
        state = CELL_TABLE[p.cell].parts * width
        assert w.weight_ih.shape == (CELL_TABLE[p.cell].gates * width, x.shape[-1])
        assert initial.shape == last.shape == (initial.shape[0], state)
        assert output.shape == (*x.shape[:-1], state if p.both else width)
        assert all(t.dtype == torch.float32 for t in (x, initial, output, last, *w.flat()))
        assert output.is_contiguous()
        assert last.is_contiguous()


@pytest.fixture
def native(monkeypatch: pytest.MonkeyPatch) -> StandIn:
    module = StandIn()
    monkeypatch.setattr(_native, "module", module)
    return module


def _case(cell: str) -> tuple[Any, Tensor, list[Tensor]]:
    layer = make_layer(cell, 3, 4, 2, bidirectional=True, batch_first=True, feedback="dsf")
    return layer, torch.randn(3, 6, 3, requires_grad=True), random_states(layer, 3, torch.float32)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("cell", CELLS)
def test_native_part_is_asked(monkeypatch: pytest.MonkeyPatch, cell: str, packed: bool) -> None:
    layer, x, states = _case(cell)

    def gradients() -> dict[str, Tensor]:
        inputs = pack_padded_sequence(x, torch.tensor([6, 4, 1]), batch_first=True) if packed else x
        return gradients_of(layer, inputs, x, states)

    expected = gradients()
    module = StandIn()
    monkeypatch.setattr(_native, "module", module)
    assert_all_close(gradients(), expected, rtol=1e-5, atol=1e-6)
    assert module.calls == ["forward"] * 4 + ["backward"] * 4


def test_no_tape_without_a_way_back(native: StandIn) -> None:
    layer, x, _ = _case("gru")
    with torch.no_grad():
        layer(x)
    layer.requires_grad_(False)
    layer(x.detach())
    assert set(native.calls) == {"forward without tape"}


@pytest.mark.parametrize("options", [{"feedback": "gated"}, {"feedback": "bptt"}, {"dtype": torch.float64}])
def test_other_cases_go_through_pytorch(native: StandIn, options: dict[str, Any]) -> None:
    layer = make_layer("gru", 3, 4, **{"feedback": "dsf", **options})
    x = torch.randn(5, 2, 3, dtype=options.get("dtype", torch.float32))
    layer(x)[0].sum().backward()
    assert native.calls == []


@pytest.mark.parametrize("both", [False, True])
def test_opcheck_with_native(native: StandIn, both: bool) -> None:
    layer = make_layer("lstm", 3, 4, feedback="dsf")
    a: Optional[Any] = layer.feedback_a_l0
    x = torch.randn(5, 2, 3, requires_grad=True)
    initial = torch.randn(2, 8, requires_grad=True)
    arguments = [x, initial, None, *layer.parameters(), a, "lstm", "dsf", False, both, True]
    torch.library.opcheck(_ops.recurrent, arguments)
    assert "backward" in native.calls


@pytest.mark.filterwarnings("default")
def test_compiles_with_native(native: StandIn) -> None:
    torch._dynamo.reset()
    layer, x, _ = _case("gru")
    expected = layer(x)[0]
    actual = torch.compile(layer, backend="aot_eager", fullgraph=True)(x)[0]
    torch.testing.assert_close(actual, expected)
