"""Swapping the layers of a model, and back."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import dsf.nn


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(10, 3)
        self.encoder = nn.GRU(3, 4, 2, bidirectional=True, dropout=0.1)
        self.stack = nn.ModuleList([nn.LSTM(8, 8), nn.RNN(8, 8, nonlinearity="relu")])
        self.again = self.encoder
        self.head = nn.Linear(8, 10)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x, _ = self.encoder(self.embed(tokens))
        for layer in self.stack:
            x, _ = layer(x)
        output: torch.Tensor = self.head(x)
        return output


def test_all_layers_are_swapped_and_back() -> None:
    model = Model().eval()
    tokens = torch.randint(0, 10, (6, 2))
    expected, before = model(tokens), dict(model.named_parameters())
    swapped = dsf.nn.convert(model, feedback="dsf")
    assert swapped is model
    assert [type(layer) for layer in (model.encoder, *model.stack)] == [dsf.nn.GRU, dsf.nn.LSTM, dsf.nn.RNN]
    assert model.again is model.encoder
    assert model.encoder.feedback_a_l1_reverse.shape == (4,)
    assert all(parameter is before[name] for name, parameter in model.named_parameters())
    torch.testing.assert_close(model(tokens), expected)
    assert not model.encoder.training

    dsf.nn.convert(model, feedback=None)
    assert [type(layer) for layer in (model.encoder, *model.stack)] == [nn.GRU, nn.LSTM, nn.RNN]
    assert not list(model.buffers())
    assert repr(model) == repr(Model())
    assert model.encoder.__dict__.keys() == Model().encoder.__dict__.keys()
    torch.testing.assert_close(model(tokens), expected)


def test_a_layer_alone_returns_the_new_one() -> None:
    layer = nn.GRU(3, 4)
    swapped = dsf.nn.convert(layer, feedback="gated:dsf", feedback_init="constant", feedback_range=(0.5, 0.5))
    assert isinstance(swapped, dsf.nn.GRU)
    assert swapped.weight_ih_l0 is layer.weight_ih_l0
    assert swapped.feedback_a_l0.tolist() == [0.5] * 4
    assert not list(layer.buffers())


def test_gradients_change_with_the_feedback_and_optimisers_stay() -> None:
    model = Model()
    optimiser = torch.optim.SGD(model.parameters(), lr=0.1)
    dsf.nn.convert(model, feedback="ft")
    before = model.encoder.weight_hh_l0.detach().clone()
    model(torch.randint(0, 10, (6, 2))).sum().backward()
    optimiser.step()
    assert not torch.equal(model.encoder.weight_hh_l0, before)


def test_feedback_of_our_own_layers_is_changed() -> None:
    model = nn.Sequential(dsf.nn.GRU(3, 4, feedback="dsf"))
    layer = model[0]
    dsf.nn.convert(model, feedback="ft")
    assert model[0] is layer
    assert layer.feedback == "ft"
    assert not list(model.buffers())


def test_default_is_bptt() -> None:
    assert dsf.nn.convert(nn.Sequential(nn.GRU(3, 4)))[0].feedback == "bptt"


def test_converted_layers_can_be_saved(tmp_path: object) -> None:
    model = dsf.nn.convert(Model(), feedback="dsf")
    path = f"{tmp_path}/model.pt"
    torch.save(model, path)
    again = torch.load(path, weights_only=False)
    assert again.encoder.feedback == "dsf"
    assert torch.equal(again.encoder.feedback_a_l0, model.encoder.feedback_a_l0)


def test_subclasses_are_left_alone() -> None:
    class Own(nn.GRU):
        pass

    model = nn.Sequential(Own(3, 4))
    dsf.nn.convert(model, feedback="dsf")
    assert type(model[0]) is Own


def test_what_cannot_be_swapped_is_refused_before_anything_changes() -> None:
    model = nn.ModuleDict({"first": nn.GRU(3, 4), "second": nn.LSTM(3, 4, proj_size=2)})
    with pytest.raises(ValueError, match="'second' has proj_size=2"):
        dsf.nn.convert(model, feedback="dsf")
    assert type(model["first"]) is nn.GRU
    model = nn.ModuleDict({"first": nn.GRU(3, 4), "second": dsf.nn.LSTM(3, 4, output="hc")})
    with pytest.raises(ValueError, match="'second' has output='hc'"):
        dsf.nn.convert(model, feedback=None)
    with pytest.raises(ValueError, match="bptt, ft, dsf"):
        dsf.nn.convert(model, feedback="nothing")
    with pytest.raises(ValueError, match="low <= high"):
        dsf.nn.convert(model, feedback="dsf", feedback_range=(1.0, 0.0))
    assert type(model["first"]) is nn.GRU
