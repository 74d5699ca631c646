"""torch.compile without graph breaks, the checks PyTorch has for operators, and autocast."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from support import CELLS, INEXACT, make_layer, parts_of

from dsf.nn import _native, _ops

# Tracing uses parts of PyTorch that warn about themselves.
pytestmark = pytest.mark.filterwarnings("default")


def _gradients(run: Any, layer: torch.nn.Module, x: torch.Tensor) -> list[torch.Tensor]:
    output, last = run(x)
    loss = output.square().sum() + sum(part.sum() for part in parts_of(last))
    return [output, *torch.autograd.grad(loss, [x, *layer.parameters()])]


@pytest.mark.parametrize("feedback", ["bptt", "dsf", "iterated:1"])
@pytest.mark.parametrize("cell", CELLS)
def test_compiles_without_graph_breaks(cell: str, feedback: str) -> None:
    torch._dynamo.reset()
    layer = make_layer(cell, 3, 4, 2, bidirectional=True, batch_first=True, feedback=feedback)
    x = torch.randn(2, 5, 3, requires_grad=True)
    compiled = torch.compile(layer, backend="aot_eager", fullgraph=True)
    for actual, expected in zip(_gradients(compiled, layer, x), _gradients(layer, layer, x)):
        torch.testing.assert_close(actual, expected)


def test_compiled_graph_does_not_grow_with_time() -> None:
    """The operator is one node, whatever T is; and one graph serves all lengths."""
    torch._dynamo.reset()
    layer = make_layer("gru", 3, 4, feedback="dsf")
    graphs: list[int] = []

    def count(graph: torch.fx.GraphModule, _: Any) -> Any:
        graphs.append(len(graph.graph.nodes))
        return graph

    compiled = torch.compile(layer, backend=count, fullgraph=True, dynamic=True)
    for steps in (7, 40, 500):
        compiled(torch.randn(steps, 2, 3))[0].sum().backward()
    assert len(graphs) == 1
    assert graphs[0] < 60


def test_compiles_with_output_of_cells() -> None:
    torch._dynamo.reset()
    for feedback in ("bptt", "dsf"):
        layer = make_layer("lstm", 3, 4, 2, feedback=feedback, output="hc")
        x = torch.randn(5, 2, 3, requires_grad=True)
        compiled = torch.compile(layer, backend="aot_eager", fullgraph=True)
        for actual, expected in zip(_gradients(compiled, layer, x), _gradients(layer, layer, x)):
            torch.testing.assert_close(actual, expected)


def _arguments(cell: str, feedback: str, packed: bool, bias: bool, reverse: bool, both: bool) -> list[Any]:
    layer = make_layer(cell, 3, 4, bias=bias, feedback=feedback)
    sizes = torch.tensor([3, 2, 2, 1]) if packed else None
    x = torch.randn(*((8,) if packed else (4, 3)), 3, requires_grad=True)
    initial = torch.randn(3, layer.state_size, requires_grad=True)
    weights = list(layer.parameters()) + ([] if bias else [None, None])
    a = dict(layer.named_buffers()).get("feedback_a_l0")
    return [x, initial, sizes, *weights, a, cell, feedback, reverse, both, True]


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(
    ("cell", "feedback", "bias", "both"),
    [
        ("gru", "dsf", True, False),
        ("lstm", "gated:dsf", True, True),
        ("rnn_tanh", "iterated:2", False, False),
        ("lstm", "ft", False, False),
    ],
)
def test_opcheck(cell: str, feedback: str, bias: bool, both: bool, packed: bool) -> None:
    for reverse in (False, True):
        arguments = _arguments(cell, feedback, packed, bias, reverse, both)
        torch.library.opcheck(_ops.recurrent, arguments)
        with torch.no_grad():
            output, last, tape = _ops.recurrent(*arguments)
        detached = [v.detach() if isinstance(v, torch.Tensor) else v for v in arguments[:-1]]
        more = [output, tape, torch.randn_like(output), torch.randn_like(last), True]
        torch.library.opcheck(_ops.recurrent_backward, [*detached, *more])


def _skip_if_pytorch_cannot(cell: str) -> None:
    """PyTorch's own LSTM fails under autocast on CPUs for which oneDNN has no bfloat16 (AVX2 alone)."""
    if cell != "lstm":
        return
    try:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            torch.nn.LSTM(8, 16)(torch.randn(10, 4, 8))
    except RuntimeError as error:
        pytest.skip(f"torch.nn.LSTM fails here too: {error}")


@pytest.mark.parametrize("feedback", ["bptt", *INEXACT])
@pytest.mark.parametrize("cell", CELLS)
def test_autocast(cell: str, feedback: str) -> None:
    """Under autocast the layer computes in bfloat16; gradients arrive in the parameters' dtype, near float32's."""
    if feedback == "bptt" and not _native.present:  # then it is PyTorch's own
        _skip_if_pytorch_cannot(cell)
    layer = make_layer(cell, 8, 16, 2, feedback=feedback)
    x = torch.randn(10, 4, 8)
    parameters = list(layer.parameters())
    expected = torch.autograd.grad(layer(x)[0].square().mean(), parameters)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        output, _ = layer(x)
        with torch.no_grad():
            quiet, _ = layer(x)
    assert quiet.dtype == output.dtype
    if feedback != "bptt":  # there PyTorch decides
        assert output.dtype == torch.bfloat16
    found = torch.autograd.grad(output.float().square().mean(), parameters)
    for gradient, right in zip(found, expected):
        assert gradient.dtype == torch.float32
        assert (gradient - right).norm() <= 0.1 * right.norm()


def test_autocast_takes_a_16_bit_input_and_leaves_float64_alone() -> None:
    layer = make_layer("gru", 3, 4, feedback="dsf")
    with torch.autocast("cpu", dtype=torch.bfloat16):
        output, _ = layer(torch.randn(5, 2, 3).bfloat16(), torch.zeros(1, 2, 4))
        assert output.dtype == torch.bfloat16
        double, _ = layer.double()(torch.randn(5, 2, 3, dtype=torch.float64))
        assert double.dtype == torch.float64


def test_autocast_compiles() -> None:
    torch._dynamo.reset()
    layer = make_layer("gru", 3, 4, feedback="dsf")
    x = torch.randn(5, 2, 3)

    def run(x: torch.Tensor) -> torch.Tensor:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            output: torch.Tensor = layer(x)[0]
            return output

    compiled = torch.compile(run, backend="aot_eager", fullgraph=True)
    assert torch.equal(compiled(x), run(x))


def test_operator_without_a_bias_has_no_gradient_for_it() -> None:
    arguments = _arguments("gru", "dsf", packed=False, bias=False, reverse=False, both=False)
    output, _, _ = _ops.recurrent(*arguments)
    output.sum().backward()
    assert arguments[3].grad is not None
