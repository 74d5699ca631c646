"""Swapping the recurrent layers of a model for those of this package, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Optional, TypeVar

from torch import nn

from dsf.nn import _feedback, _numbers
from dsf.nn._recurrent import Recurrent
from dsf.nn.modules import GRU, LSTM, RNN

_OURS: dict[type[nn.Module], type[Recurrent]] = {nn.RNN: RNN, nn.GRU: GRU, nn.LSTM: LSTM}
_THEIRS: dict[type[nn.Module], type[nn.RNNBase]] = {RNN: nn.RNN, GRU: nn.GRU, LSTM: nn.LSTM}
# What a layer of this package has beside the attributes of torch.nn's.
_OWN_ATTRIBUTES = ("feedback", "feedback_init", "feedback_range", "output")

ModuleT = TypeVar("ModuleT", bound=nn.Module)


def convert(
    module: ModuleT,
    feedback: Optional[str] = "bptt",
    *,
    feedback_init: str = "uniform",
    feedback_range: Sequence[float] = (0.0, 1.0),
) -> ModuleT:
    """Swaps every ``torch.nn.RNN``, ``GRU`` and ``LSTM`` inside ``module`` for the layer of this package.

    Parameters, their names, hooks and modes stay the same objects, so an optimiser made before goes on working. Layers
    that are of this package already get the new feedback. With ``feedback=None`` the way back: all layers
    become torch.nn's again, without the numbers of their feedbacks.

    The module is changed in place and returned; if it is a recurrent layer itself, what is returned is the new layer.
    Subclasses of torch.nn's layers are left alone, because they may compute something else. A layer that cannot be
    swapped is refused before anything has changed.
    """
    if feedback is not None:
        _feedback.parse(feedback)
        _numbers.check_options(feedback_init, *feedback_range)
    for name, layer in module.named_modules():
        _check(name, layer, feedback)
    done: dict[int, nn.Module] = {}
    for parent in list(module.modules()):
        # Not named_children(), which names a layer only once if it stands there under two names.
        for name, child in parent._modules.items():
            if child is not None:
                parent._modules[name] = _swapped(child, feedback, feedback_init, feedback_range, done)
    return _swapped(module, feedback, feedback_init, feedback_range, done)  # type: ignore[return-value]


def _check(name: str, layer: nn.Module, feedback: Optional[str]) -> None:
    place = f"the layer {name!r}" if name else "the layer"
    if isinstance(layer, nn.LSTM) and type(layer) in _OURS and layer.proj_size > 0 and feedback is not None:
        raise ValueError(f"{place} has proj_size={layer.proj_size}: dsf.nn has no layers with a projection of h")
    if isinstance(layer, LSTM) and layer.output != "h" and feedback is None:
        raise ValueError(f"{place} has output={layer.output!r}, which torch.nn.LSTM cannot hand out")


def _swapped(
    layer: nn.Module,
    feedback: Optional[str],
    init: str,
    feedback_range: Sequence[float],
    done: dict[int, nn.Module],
) -> nn.Module:
    """The layer to take in the place of ``layer``; ``done`` holds those of layers that stand in several places."""
    if id(layer) in done:
        return done[id(layer)]
    swapped = layer
    if feedback is None and type(layer) in _THEIRS:
        swapped = _as(_THEIRS[type(layer)], layer)
        for name in _OWN_ATTRIBUTES:
            swapped.__dict__.pop(name, None)
        for name in [name for name in swapped._buffers if name.startswith("feedback_a_")]:
            del swapped._buffers[name]
    elif feedback is not None and (type(layer) in _OURS or isinstance(layer, Recurrent)):
        ours = layer if isinstance(layer, Recurrent) else _as(_OURS[type(layer)], layer)
        ours.set_feedback(feedback, init, feedback_range)
        swapped = ours
    done[id(layer)] = done[id(swapped)] = swapped
    return swapped


NewT = TypeVar("NewT", bound=nn.Module)


def _as(kind: type[NewT], layer: nn.Module) -> NewT:
    """A module of that class with the very attributes of ``layer``."""
    new = kind.__new__(kind)
    new.__dict__.update(layer.__dict__)
    new._buffers = dict(layer._buffers)  # the only table that the two do not share: numbers of feedbacks come and go
    return new
