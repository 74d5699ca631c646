"""The native kernels: equal to the definition and to the PyTorch path, whatever the shape, layout and feedback."""

from __future__ import annotations

import copy
import ctypes
import os
import select
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import (
    CELLS,
    Sequences,
    as_hx,
    assert_all_close,
    define_sequences,
    gradients_of,
    make_layer,
    make_torch_layer,
    parts_of,
    random_sequences,
    random_states,
    run_sequences,
)
from torch import Tensor
from torch.nn.utils.rnn import pack_padded_sequence

from dsf.nn import _generic, _native, _ops

pytestmark = pytest.mark.skipif(os.environ.get("DSF_NATIVE") == "off", reason="the native part is switched off")

FEEDBACKS = ("bptt", "ft", "dsf", "gated", "gated:dsf", "iterated:1", "iterated:2")
# float32 against float64: rounding (6e-8) of sums over at most some tens of rows and units.
CLOSE = {"rtol": 2e-5, "atol": 2e-5}


def rounded(batch: Sequences) -> Sequences:
    """The same batch in float32."""
    parts = ([values.float() for values in part] for part in (batch.x, batch.states, batch.e, batch.e_last))
    return Sequences(*parts)


def widened(gradients: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: values.double() for name, values in gradients.items()}


def test_native_part_is_there() -> None:
    assert _native.present


@pytest.fixture
def never_pytorch(monkeypatch: pytest.MonkeyPatch) -> None:
    """A case that goes through PyTorch's operations after all would prove nothing."""

    def refuse(*_: Any) -> None:
        raise AssertionError("this case is not computed by the native part")

    monkeypatch.setattr(_generic, "forward", refuse)
    monkeypatch.setattr(_generic, "backward", refuse)


@pytest.mark.usefixtures("never_pytorch")
@pytest.mark.parametrize("feedback", FEEDBACKS)
@pytest.mark.parametrize("cell", CELLS)
def test_stack_equals_definition(cell: str, feedback: str) -> None:
    layer = make_layer(cell, 3, 9, 2, bidirectional=True, feedback=feedback)
    batch = random_sequences(layer, [5, 2, 7, 1])
    assert_all_close(widened(run_sequences(layer, rounded(batch))), define_sequences(layer, batch), **CLOSE)


@pytest.mark.usefixtures("never_pytorch")
@settings(max_examples=80, suppress_health_check=list(HealthCheck))
@given(
    cell=st.sampled_from(CELLS),
    feedback=st.sampled_from(FEEDBACKS),
    lengths=st.lists(st.integers(1, 9), min_size=1, max_size=5),
    layers=st.integers(1, 3),
    sizes=st.tuples(st.integers(1, 5), st.integers(1, 18)),
    bidirectional=st.booleans(),
    bias=st.booleans(),
    both=st.booleans(),
    seed=st.integers(0, 2**31),
)
def test_any_shape_equals_definition(
    cell: str,
    feedback: str,
    lengths: list[int],
    layers: int,
    sizes: tuple[int, int],
    bidirectional: bool,
    bias: bool,
    both: bool,
    seed: int,
) -> None:
    torch.manual_seed(seed)
    options = {"output": "hc"} if both and cell == "lstm" else {}
    layer = make_layer(cell, *sizes, layers, bias=bias, bidirectional=bidirectional, feedback=feedback, **options)
    batch = random_sequences(layer, lengths)
    assert_all_close(widened(run_sequences(layer, rounded(batch))), define_sequences(layer, batch), **CLOSE)


LAYOUTS = ["padded", "batch_first", "packed", "transposed", "expanded", "every other column"]


def leaf_of(layout: str, T: int, B: int, width: int) -> Tensor:
    sizes = {
        "batch_first": (B, T, width),
        "transposed": (width, B, T),
        "expanded": (1, 1, width),
        "every other column": (T, B, 2 * width),
    }
    return torch.randn(sizes.get(layout, (T, B, width)), requires_grad=True)


def inputs_of(layout: str, leaf: Tensor, T: int, B: int) -> Any:
    """What the layer is handed of the leaf."""
    if layout == "packed":
        lengths = [T, *(1 + 5 * b % T for b in range(1, B))]
        return pack_padded_sequence(leaf, torch.tensor(lengths), enforce_sorted=False)
    if layout == "transposed":
        return leaf.permute(2, 1, 0)
    if layout == "expanded":
        return leaf.expand(T, B, -1)
    return leaf[..., ::2] if layout == "every other column" else leaf


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("cell", CELLS)
def test_equals_the_pytorch_path(monkeypatch: pytest.MonkeyPatch, cell: str, layout: str) -> None:
    """At sizes with several slices of the batch and tiles of the products, on two threads."""
    T, B = 12, 70
    torch.set_num_threads(2)
    for feedback in ("bptt", "dsf", "gated:dsf"):
        layer = make_layer(cell, 17, 40, 2, batch_first=layout == "batch_first", bidirectional=True, feedback=feedback)
        leaf = leaf_of(layout, T, B, 17)
        states = random_states(layer, B, torch.float32)
        found = gradients_of(layer, inputs_of(layout, leaf, T, B), leaf, states)
        with monkeypatch.context() as patch:
            patch.setattr(_native, "present", False)
            expected = gradients_of(layer, inputs_of(layout, leaf, T, B), leaf, states)
        for name in expected:  # rounding (6e-8) of sums over 840 rows; relu may differ in a unit near zero
            difference = (found[name] - expected[name]).norm()
            assert difference <= 1e-4 * expected[name].norm(), (feedback, name)
    torch.set_num_threads(1)


def assert_same(found: Any, expected: Any) -> None:
    for one, other in zip(found, expected):
        assert torch.equal(one, other)


@pytest.mark.parametrize("feedback", FEEDBACKS)
@pytest.mark.parametrize("cell", CELLS)
def test_tape_serves_twice(cell: str, feedback: str) -> None:
    layer = make_layer(cell, 3, 8, feedback=feedback)
    output, _ = layer(torch.randn(6, 40, 3))
    loss = output.square().sum()
    first = torch.autograd.grad(loss, list(layer.parameters()), retain_graph=True)
    assert_same(torch.autograd.grad(loss, list(layer.parameters())), first)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("cell", CELLS)
def test_without_a_tape(cell: str, layout: str) -> None:
    """In chunks of steps and without an operator: the same numbers as with a way back."""
    T, B = 40, 70  # 2,800 rows are three chunks
    layer = make_layer(cell, 3, 8, 2, batch_first=layout == "batch_first", bidirectional=True)
    inputs = inputs_of(layout, leaf_of(layout, T, B, 3), T, B)
    states = [part.detach() for part in random_states(layer, B, torch.float32)]
    output, last = layer(inputs, as_hx(states))
    with torch.no_grad():
        quiet, quiet_last = layer(inputs, as_hx(states))
    if layout == "packed":
        output, quiet = output.data, quiet.data
    torch.testing.assert_close(quiet, output)
    torch.testing.assert_close(quiet_last, last)


def refuse_operators(*_: Any) -> None:
    raise AssertionError("an operator was called")


def test_no_operator_in_eager_pytorch(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("recurrent", "recurrent_backward"):
        monkeypatch.setattr(f"dsf.nn._ops.{name}", refuse_operators)
    layer = make_layer("gru", 3, 4, 2)
    with torch.no_grad():
        layer(torch.randn(1, 1, 3))
    x = torch.randn(5, 2, 3, requires_grad=True)
    layer(x)[0].sum().backward()
    assert x.grad is not None
    with pytest.raises(AssertionError, match="operator"):  # create_graph=True: it refuses a second derivative
        torch.autograd.grad(layer(x)[0].sum(), x, create_graph=True)


@pytest.mark.parametrize("feedback", ["bptt", "dsf"])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("cell", CELLS)
def test_the_operator_does_the_same(cell: str, layout: str, feedback: str, monkeypatch: pytest.MonkeyPatch) -> None:
    T, B = 7, 3
    layer = make_layer(cell, 3, 4, 2, batch_first=layout == "batch_first", bidirectional=True, feedback=feedback)
    leaf = leaf_of(layout, T, B, 3)
    states = [part.detach().requires_grad_() for part in random_states(layer, B, torch.float32)]

    def gradients() -> tuple[Tensor, ...]:
        output, last = layer(inputs_of(layout, leaf, T, B), as_hx(states))
        output = output.data if layout == "packed" else output
        loss = output.square().sum() + sum(part.sum() for part in (last if isinstance(last, tuple) else (last,)))
        return torch.autograd.grad(loss, [leaf, *states, *layer.parameters()])

    direct = gradients()
    monkeypatch.setattr("dsf.nn._eager.recurrent", refuse_operators)
    monkeypatch.setattr("dsf.nn._native.may_be_called", lambda _: False)
    for ours, operators in zip(direct, gradients()):
        torch.testing.assert_close(ours, operators, rtol=0, atol=0)


@pytest.mark.parametrize("feedback", ["bptt", "dsf"])
@pytest.mark.parametrize("cell", CELLS)
def test_one_step_of_one_sequence(cell: str, feedback: str) -> None:
    """Too little for packed weights: the products read the parameters themselves."""
    for hidden in (1, 7, 64, 300):
        ours = make_layer(cell, 5, hidden, feedback=feedback)
        theirs = make_torch_layer(cell, 5, hidden)
        theirs.load_state_dict({name: value for name, value in ours.state_dict().items() if "feedback" not in name})
        x = torch.randn(1, 1, 5)
        with torch.no_grad():
            torch.testing.assert_close(ours(x), theirs(x))
        x.requires_grad_()
        expected = gradients_of(theirs, x, x, None)
        assert_all_close(gradients_of(ours, x, x, None), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("cell", CELLS)
def test_empty_batch(cell: str) -> None:
    ours, theirs = make_layer(cell, 3, 4, 2), make_torch_layer(cell, 3, 4, 2)
    for layer in (ours, theirs):
        x = torch.randn(5, 0, 3, requires_grad=True)
        output, last = layer(x)
        assert output.shape == (5, 0, 4)
        assert all(part.shape == (2, 0, 4) for part in parts_of(last))
        output.sum().backward()
        assert all(not bool(parameter.grad.any()) for parameter in layer.parameters())
        with torch.no_grad():
            assert layer(x)[0].shape == (5, 0, 4)


@pytest.mark.parametrize("feedback", FEEDBACKS)
@pytest.mark.parametrize("cell", CELLS)
def test_bfloat16_is_near_float32(cell: str, feedback: str) -> None:
    layer = make_layer(cell, 8, 16, 2, bidirectional=True, feedback=feedback).bfloat16()
    exact = copy.deepcopy(layer).float()
    x = torch.randn(12, 40, 8).bfloat16().requires_grad_()
    states = [part.detach().bfloat16().requires_grad_() for part in random_states(layer, 40, torch.float32)]
    found = gradients_of(layer, x, x, states)
    assert {values.dtype for values in found.values()} == {torch.bfloat16}
    wide = x.detach().float().requires_grad_()
    expected = gradients_of(exact, wide, wide, [part.detach().float().requires_grad_() for part in states])
    for name in expected:  # 8 bits of operands and results, through 12 steps of two layers
        assert (found[name].float() - expected[name]).norm() <= 0.05 * expected[name].norm(), name
    with torch.no_grad():
        assert layer(x)[0].dtype == torch.bfloat16


def test_number_of_threads_changes_nothing() -> None:
    layer = make_layer("gru", 64, 128, 2, feedback="gated:dsf")
    x = torch.randn(20, 64, 64, requires_grad=True)
    results = []
    for threads in (1, 2, 3, 1):
        torch.set_num_threads(threads)
        results.append(gradients_of(layer, x, x, None))
    torch.set_num_threads(1)
    for result in results[1:]:
        assert_same(result.values(), results[0].values())


def test_several_python_threads() -> None:
    torch.set_num_threads(2)
    layer = make_layer("lstm", 16, 64)
    x = torch.randn(30, 40, 16)

    def gradients() -> tuple[Tensor, ...]:
        return torch.autograd.grad(layer(x)[0].square().sum(), list(layer.parameters()))

    expected = gradients()
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: gradients(), range(12)):
            assert_same(found, expected)
    torch.set_num_threads(1)


TEAM = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint)
MEMBER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


def test_computes_on_the_team_it_is_given() -> None:
    layer, x = make_layer("gru", 64, 128, 2), torch.randn(20, 64, 64, requires_grad=True)
    expected = gradients_of(layer, x, x, None)
    asked: list[int] = []

    @TEAM
    def team(member: int, context: int, threads: int, flags: int) -> None:
        asked.append(threads)
        MEMBER(member)(context)

    assert _native._loaded is not None
    _native._loaded.dsf_layer_team(team)
    try:
        torch.set_num_threads(2)
        for _ in range(20):  # four calls each; a team that came late is left alone for 64
            assert_same(gradients_of(layer, x, x, None).values(), expected.values())
    finally:
        torch.set_num_threads(1)
        _native._compute_on_threads_of_pytorch(_native._loaded)
    assert set(asked) == {2}


def test_starts_no_threads_beside_those_of_pytorch() -> None:
    code = """
import os, torch
from dsf.nn import GRU
torch.set_num_threads(2)
torch.ones(1 << 20).exp_()
before = len(os.listdir("/proc/self/task"))
GRU(64, 64)(torch.randn(64, 32, 64))  # one call: after one that had to wait, threads of ours would serve
print(len(os.listdir("/proc/self/task")) - before)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert int(done.stdout) == 0


@pytest.mark.filterwarnings("ignore:This process.*is multi-threaded")  # from Python 3.12 on
def test_after_fork() -> None:
    """A worker of a DataLoader is a fork of a process that has used all threads."""
    torch.set_num_threads(2)
    layer = make_layer("gru", 16, 64).requires_grad_(False)
    # PyTorch's own threads do not survive a fork: its operations below are too small for them, ours are not.
    case = [torch.randn(10, 40, 16), torch.zeros(40, 64), None, *layer.parameters(), None, "gru", "bptt", False, False]

    def there_and_back() -> list[Tensor]:
        output, last, tape = _ops.recurrent(*case, True)
        return [output, *_ops.recurrent_backward(*case, output, tape, output, last, True)]

    expected = there_and_back()
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(write, b"same" if all(map(torch.equal, there_and_back(), expected)) else b"else")
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        ready, _, _ = select.select([pipe], [], [], 60)
        if not ready:
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        assert ready, "the child hangs"
        assert pipe.read() == b"same"
    torch.set_num_threads(1)


def test_floating_point_mode_stays() -> None:
    """The kernels flush denormal numbers to zero; the caller's own arithmetic must not."""
    layer = make_layer("gru", 16, 64)
    tiny = torch.full((64,), 1e-40)
    layer(torch.randn(30, 40, 16))[0].sum().backward()
    with torch.no_grad():
        layer(torch.randn(1, 1, 16))
    assert bool((tiny * 1.0 > 0).all())
    assert 5e-324 > 0.0
    assert 5e-324 * 1.0 == 5e-324


def test_switched_off_by_the_environment() -> None:
    program = "import warnings; warnings.simplefilter('error'); from dsf.nn import _native; print(_native.present)"
    environment = {**os.environ, "DSF_NATIVE": "off"}
    result = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert result.stdout == "False\n", result.stderr
