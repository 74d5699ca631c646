"""With feedback="bptt" the layers are torch.nn's: outputs, all gradients, random numbers."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from support import (
    CELLS,
    assert_all_close,
    gradients_of,
    make_layer,
    make_torch_layer,
    random_states,
)
from torch.nn.utils.rnn import pack_padded_sequence

SHAPES = ["padded", "batch_first", "unbatched", "packed", "packed unsorted", "packed batch_first"]


@pytest.mark.parametrize("given_state", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("layers", [1, 3])
@pytest.mark.parametrize("cell", CELLS)
def test_bptt_equals_torch(cell: str, layers: int, bidirectional: bool, shape: str, given_state: bool) -> None:
    options: dict[str, Any] = {"bidirectional": bidirectional, "batch_first": "batch_first" in shape}
    ours = make_layer(cell, 6, 5, layers, **options)
    theirs = make_torch_layer(cell, 6, 5, layers, **options)
    theirs.load_state_dict(ours.state_dict(), strict=True)
    sizes = {"unbatched": (7, 6), "batch_first": (4, 7, 6), "packed batch_first": (4, 7, 6)}.get(shape, (7, 4, 6))
    x = torch.randn(sizes, requires_grad=True)
    batch = None if shape == "unbatched" else 4
    states = random_states(ours, batch, torch.float32) if given_state else None
    lengths = [3, 7, 1, 7] if shape == "packed unsorted" else [7, 5, 5, 2]

    def inputs() -> Any:
        if not shape.startswith("packed"):
            return x
        return pack_padded_sequence(
            x, torch.tensor(lengths), batch_first="batch_first" in shape, enforce_sorted=shape != "packed unsorted"
        )

    expected = gradients_of(theirs, inputs(), x, states)
    assert_all_close(gradients_of(ours, inputs(), x, states), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("feedback", ["bptt", "dsf"])
@pytest.mark.parametrize("cell", CELLS)
def test_forward_and_dropout_equal_torch(cell: str, feedback: str) -> None:
    """Every feedback walks forward as PyTorch does, and drops the same numbers for the same seed."""
    ours = make_layer(cell, 6, 5, 3, dropout=0.4, bidirectional=True, feedback=feedback)
    theirs = make_torch_layer(cell, 6, 5, 3, dropout=0.4, bidirectional=True)
    ours.load_state_dict(theirs.state_dict(), strict=True)
    x = torch.randn(7, 4, 6)
    for mode in (True, False):
        ours.train(mode)
        theirs.train(mode)
        torch.manual_seed(3)
        expected, _ = theirs(x)
        torch.manual_seed(3)
        actual, _ = ours(x)
        torch.testing.assert_close(actual, expected)
        torch.manual_seed(3)
        with torch.no_grad():
            torch.testing.assert_close(ours(x)[0], expected)


@pytest.mark.parametrize("cell", CELLS)
def test_same_seed_draws_the_same_parameters(cell: str) -> None:
    torch.manual_seed(5)
    theirs = make_torch_layer(cell, 6, 5, 2)
    torch.manual_seed(5)
    ours = make_layer(cell, 6, 5, 2, feedback="dsf")
    for name, parameter in theirs.named_parameters():
        assert torch.equal(parameter, getattr(ours, name))


@pytest.mark.parametrize("cell", CELLS)
def test_training_gives_the_same_loss_curve(cell: str) -> None:
    def losses(kind: Any) -> list[float]:
        torch.manual_seed(1)
        layer, head = kind(cell, 2, 8), torch.nn.Linear(8, 1)
        optimiser = torch.optim.SGD([*layer.parameters(), *head.parameters()], lr=0.1)
        x, target = torch.randn(10, 4, 2), torch.randn(10, 4, 1)
        curve = []
        for _ in range(10):
            optimiser.zero_grad()
            loss = (head(layer(x)[0]) - target).square().mean()
            loss.backward()
            optimiser.step()
            curve.append(loss.item())
        return curve

    ours, theirs = losses(make_layer), losses(make_torch_layer)
    assert ours == pytest.approx(theirs, rel=1e-5)
    assert ours[-1] < ours[0]


def test_packed_c_of_each_sequence_stands_at_its_own_end() -> None:
    """With output="hc" the c of the last step is c_n, for every length."""
    layer = make_layer("lstm", 6, 5, feedback="dsf", output="hc")
    lengths = torch.tensor([7, 5, 5, 2])
    packed = pack_padded_sequence(torch.randn(7, 4, 6), lengths)
    output, (h_n, c_n) = layer(packed)
    padded, _ = torch.nn.utils.rnn.pad_packed_sequence(output)
    for b, length in enumerate(lengths.tolist()):
        torch.testing.assert_close(padded[length - 1, b], torch.cat([h_n[0, b], c_n[0, b]]))
