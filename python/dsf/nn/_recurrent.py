"""What ``RNN``, ``GRU`` and ``LSTM`` share: the feedback, checks of what a call is given, and who computes it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, Optional, Union, cast

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout as drop
from torch.nn.utils.rnn import PackedSequence

from dsf.nn import _autocast, _eager, _feedback, _generic, _native, _numbers, _ops
from dsf.nn._cells import CELLS, FUSED, Weights
from dsf.nn._generic import Inputs, Problem

Hidden = Union[Tensor, tuple[Tensor, Tensor]]
Device = Union[torch.device, str, int, None]

_CELL_OF_MODE = {"RNN_TANH": "rnn_tanh", "RNN_RELU": "rnn_relu", "GRU": "gru", "LSTM": "lstm"}


class _Given(NamedTuple):
    """What the layers of a stack compute from."""

    x: Tensor  # [T, B, I], or [N, I] with batch_sizes; for PyTorch's own functions in the caller's order
    states: Optional[list[Tensor]]  # [layers * directions, B, D] for each part; None for zeros
    batch: int  # B
    batch_sizes: Optional[Tensor]
    flat: list[Tensor]  # all weights, in PyTorch's order


class Recurrent(nn.RNNBase):
    """What the three layers share; use ``RNN``, ``GRU`` or ``LSTM``.

    It derives from ``torch.nn.RNNBase``, whose parameters, names and start values it has, and not from ``torch.nn.GRU``
    and its like, because torch.compile breaks its graph at those.
    """

    feedback: str
    feedback_init: str
    feedback_range: tuple[float, float]
    output: str = "h"

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int,
        bias: bool,
        batch_first: bool,
        dropout: float,
        bidirectional: bool,
        proj_size: int,
        device: Device,
        dtype: Optional[torch.dtype],
        feedback: str,
        feedback_init: str,
        feedback_range: Sequence[float],
    ) -> None:
        if proj_size != 0:
            raise ValueError(
                f"proj_size={proj_size} is not supported: dsf.nn has no layers with a projection of h. "
                "Leave proj_size out and put a torch.nn.Linear behind the layer, or use torch.nn.LSTM."
            )
        if isinstance(input_size, int) and input_size <= 0:  # PyTorch 2.6 takes it
            raise ValueError("input_size must be greater than zero")
        super().__init__(
            mode, input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, 0, device, dtype
        )
        self.set_feedback(feedback, feedback_init, feedback_range)

    # --- feedback ------------------------------------------------------------------------------------------

    @property
    def cell(self) -> str:
        """The kind of cell: rnn_tanh, rnn_relu, gru or lstm."""
        return _CELL_OF_MODE[self.mode]

    @property
    def state_size(self) -> int:
        """S, the width of the state: hidden_size; twice that for the LSTM, [h, c]."""
        return CELLS[self.cell].parts * self.hidden_size

    def _suffixes(self) -> list[str]:
        """l0, l0_reverse, l1, ... in PyTorch's order."""
        return [self._suffix(index) for index in range(self.num_layers * self._directions)]

    def _suffix(self, index: int) -> str:
        layer, direction = divmod(index, self._directions)
        return f"l{layer}_reverse" if direction else f"l{layer}"

    @property
    def _directions(self) -> int:
        return 2 if self.bidirectional else 1

    def set_feedback(
        self, feedback: str, feedback_init: str = "uniform", feedback_range: Sequence[float] = (0.0, 1.0)
    ) -> None:
        """Takes another feedback from now on; its numbers, if it keeps any, are drawn anew from PyTorch's generator."""
        shape = _feedback.parse(feedback).numbers_shape(self.state_size)
        options = _numbers.check_options(feedback_init, *feedback_range)
        self.feedback, self.feedback_init, self.feedback_range = feedback, options.init, (options.low, options.high)
        like = next(self.parameters())
        for suffix in self._suffixes():
            self._buffers.pop(f"feedback_a_{suffix}", None)
            if shape is not None:
                a = torch.empty(shape, device=like.device, dtype=like.dtype)
                self.register_buffer(f"feedback_a_{suffix}", a)
        self._draw_numbers()

    def _feedback_numbers(self) -> dict[str, Tensor]:
        names = (f"feedback_a_{suffix}" for suffix in self._suffixes())
        return {name: cast(Tensor, self._buffers[name]) for name in names if name in self._buffers}

    def _draw_numbers(self) -> None:
        for a in self._feedback_numbers().values():
            options = _numbers.Options(self.feedback_init, *self.feedback_range)
            _numbers.draw(_feedback.parse(self.feedback).kind, a, self.state_size, options)

    def reset_parameters(self) -> None:
        """Draws the parameters anew as PyTorch does, and then the numbers of the feedback."""
        super().reset_parameters()
        self._draw_numbers()

    def _load_from_state_dict(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """A state_dict of torch.nn's layer has no numbers of a feedback: they stay as they were drawn."""
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )
        own = {prefix + name for name in self._feedback_numbers()}
        if own.isdisjoint(state_dict):
            missing_keys[:] = [key for key in missing_keys if key not in own]

    def extra_repr(self) -> str:
        """As torch.nn's; what differs from its defaults comes behind."""
        text = super().extra_repr()
        if self.feedback != "bptt":
            text += f", feedback={self.feedback}"
        if self.output != "h":
            text += f", output={self.output}"
        return text

    # --- forward -------------------------------------------------------------------------------------------

    def _run(self, input: Union[Tensor, PackedSequence], hx: Optional[Hidden]) -> tuple[Any, list[Tensor]]:
        """Outputs in the form of the input, and the last states: one tensor for each part of the state."""
        if isinstance(input, PackedSequence):
            data, batch_sizes, sorted_indices, unsorted_indices = input
            if data.dim() != 2:
                raise RuntimeError(f"input must have 2 dimensions, got {data.dim()}")
            batch = int(batch_sizes[0])
            states = self._states(hx, data, batch, 3)
            if states is not None and sorted_indices is not None:
                states = [part.index_select(1, sorted_indices) for part in states]
            outputs, last = self._run_batch(data, states, batch, batch_sizes)
            if unsorted_indices is not None:
                last = [part.index_select(1, unsorted_indices) for part in last]
            return PackedSequence(outputs, batch_sizes, sorted_indices, unsorted_indices), last

        if input.dim() not in (2, 3):
            raise ValueError(f"{type(self).__name__}: Expected input to be 2D or 3D, got {input.dim()}D instead")
        batch_dim = 0 if self.batch_first else 1
        batched = input.dim() == 3
        data = input if batched else input.unsqueeze(batch_dim)
        batch = data.shape[batch_dim]
        states = self._states(hx, data, batch, input.dim())
        outputs, last = self._run_batch(data, states, batch, None)
        if not batched:
            outputs = outputs.squeeze(batch_dim)
            last = [part.squeeze(1) for part in last]
        return outputs, last

    def _states(self, hx: Optional[Hidden], data: Tensor, batch: int, input_dim: int) -> Optional[list[Tensor]]:
        """The initial states, checked, one [layers * directions, B, D] for each part; None for zeros."""
        self._check_input(data)
        if hx is None:
            return None
        expected = self._states_shape(batch)
        parts = CELLS[self.cell].parts
        if isinstance(hx, Tensor) != (parts == 1) or (parts == 2 and len(hx) != 2):
            wanted = "a tensor h_0" if parts == 1 else "a tuple of two tensors (h_0, c_0)"
            raise TypeError(f"{type(self).__name__}: hx should be {wanted}, got: {type(hx).__name__}")
        states = [hx] if isinstance(hx, Tensor) else list(hx)
        names = ["hx"] if parts == 1 else ["hx[0]", "hx[1]"]
        for part, name in zip(states, names):
            kind = "batched 3-D" if input_dim == 3 else "unbatched 2-D"
            if part.dim() != input_dim:
                raise RuntimeError(
                    f"For {kind} input, {name} should also be {input_dim}-D but got {part.dim()}-D tensor"
                )
        if input_dim == 2:
            states = [part.unsqueeze(1) for part in states]
        for part, name in zip(states, names):
            if part.shape != expected:
                raise RuntimeError(f"Expected {name} size {expected}, got {list(part.shape)}")
            if part.device != data.device:
                raise RuntimeError(
                    "Input and hidden tensors are not at the same device, "
                    f"found input tensor at {data.device} and {name} at {part.device}"
                )
            if part.dtype != data.dtype and not _autocast.enabled(data):
                raise RuntimeError(f"{name} should have the dtype of the input, {data.dtype}, got {part.dtype}")
        return states

    def _states_shape(self, batch: int) -> tuple[int, int, int]:
        return self.num_layers * self._directions, batch, self.hidden_size

    def _check_input(self, data: Tensor) -> None:
        weight = self._weight("weight_ih_l0")
        if data.shape[-1] != self.input_size:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {data.shape[-1]}"
            )
        if data.device != weight.device:
            raise RuntimeError(
                "Input and parameter tensors are not at the same device, "
                f"found input tensor at {data.device} and parameter tensor at {weight.device}"
            )
        if data.dtype != weight.dtype and not _autocast.enabled(data):
            raise ValueError(
                f"RNN input dtype ({data.dtype}) does not match weight dtype ({weight.dtype}). "
                f"Convert input: input.to({weight.dtype}), or convert model: model.to({data.dtype})"
            )
        if data.shape[1 if self.batch_first and data.dim() == 3 else 0] == 0:
            raise RuntimeError("Expected sequence length to be larger than 0 in RNN")

    def _weight(self, name: str) -> Tensor:
        """The weight of that name as it is now: a parameter, functional_call's value or a parametrization's."""
        value = self._parameters.get(name)  # the short way, without Module.__getattr__
        return cast(Tensor, getattr(self, name)) if value is None else value

    def _run_batch(
        self, data: Tensor, states: Optional[list[Tensor]], batch: int, batch_sizes: Optional[Tensor]
    ) -> tuple[Tensor, list[Tensor]]:
        """Chooses who computes: PyTorch's own function for the whole stack, or one layer after the other."""
        flat = [self._weight(name) for name in self._flat_weights_names]
        exact = self.feedback == "bptt"
        kept = torch.is_grad_enabled() and any(values.requires_grad for values in (*flat, data, *(states or ())))
        cast_to = _autocast.dtype_for(data)
        way_back = self.feedback if kept else _native.FORWARD_ONLY
        native = _native.takes(way_back, data.device, cast_to or data.dtype)
        native = native and not (exact and _native.is_transformed())
        # Without a way back every feedback is the same walk forward. Under autocast PyTorch's output may have another
        # dtype than ours, and a layer should not change its dtype with the mode.
        if not native and self.output == "h" and (exact or not (kept or cast_to)):
            return self._run_stack(_Given(data, states, batch, batch_sizes, flat))
        if cast_to is not None and (native or not exact):
            data = data.to(cast_to)
            states = None if states is None else [part.to(cast_to) for part in states]
            flat = [weight.to(cast_to) for weight in flat]
        swapped = self.batch_first and batch_sizes is None
        given = _Given(data.transpose(0, 1) if swapped else data, states, batch, batch_sizes, flat)
        direct = native and _native.may_be_called(data)
        if direct and not kept:
            output, last = self._run_native(given)
        else:
            if direct:
                run = _eager.recurrent
            elif native or not exact:
                run = partial(_ops.run, keeps_tape=kept)
            else:
                run = _generic.forward  # autograd goes through its operations
            output, last = self._run_layers(given, run)
        return (output.transpose(0, 1) if swapped else output), last

    def _run_stack(self, given: _Given) -> tuple[Tensor, list[Tensor]]:
        """All layers by PyTorch's function of that name, autograd included."""
        function = FUSED[self.cell]
        data, states, batch, batch_sizes, flat = given
        if states is None:
            states = [data.new_zeros(self._states_shape(batch))] * CELLS[self.cell].parts
        hx = states[0] if len(states) == 1 else tuple(states)
        options = (self.bias, self.num_layers, self.dropout, self.training, self.bidirectional)
        if batch_sizes is None:
            output, *last = function(data, hx, flat, *options, self.batch_first)
        else:
            output, *last = function(data, batch_sizes, hx, flat, *options)
        return output, last

    def _run_native(self, given: _Given) -> tuple[Tensor, list[Tensor]]:
        """All layers by the native part, without a way back and without the price of an operator."""
        x, states, batch, batch_sizes, flat = given
        last = [x.new_empty(self._states_shape(batch)) for _ in range(CELLS[self.cell].parts)]

        def layer(index: int, problem: Problem, weights: Weights, x: Tensor) -> Tensor:
            initial = None if states is None else [part[index] for part in states]
            return _native.walk(problem, x, batch_sizes, weights, initial, [part[index] for part in last])

        return self._run_all(layer, x, flat), last

    def _run_layers(
        self, given: _Given, run: Callable[[Problem, Inputs], tuple[Tensor, Tensor]]
    ) -> tuple[Tensor, list[Tensor]]:
        """All layers, each by ``run``: outputs of all steps and last states [B, S] of one layer."""
        x, states, batch, batch_sizes, flat = given
        rows, parts = self.num_layers * self._directions, CELLS[self.cell].parts
        eager = run is _eager.recurrent
        if states is None:
            shape = (rows, batch, parts * self.hidden_size)
            initial = _eager.zeros(shape, x.dtype) if eager else x.new_zeros(shape)
        else:
            initial = states[0] if parts == 1 else torch.cat(states, -1)
        single = eager and rows == 1  # it takes [1, B, S] too: nothing to take apart and to put together
        last_states: list[Tensor] = []

        def layer(index: int, problem: Problem, weights: Weights, x: Tensor) -> Tensor:
            a = self._buffers.get(f"feedback_a_{self._suffix(index)}")
            output, last = run(problem, Inputs(x, initial if single else initial[index], batch_sizes, weights, a))
            last_states.append(last)
            return output

        output = self._run_all(layer, x, flat)
        stacked = last_states[0] if single else torch.stack(last_states)
        return output, [stacked] if parts == 1 else list(stacked.chunk(2, -1))

    def _run_all(self, run: Callable[[int, Problem, Weights, Tensor], Tensor], x: Tensor, flat: list[Tensor]) -> Tensor:
        """One layer and one direction after the other; x: [T, B, I] or [N, I]."""
        per_layer = 4 if self.bias else 2
        directions = self._directions
        for layer in range(self.num_layers):
            top = layer == self.num_layers - 1
            outputs: list[Tensor] = []
            for direction in range(directions):
                index = layer * directions + direction
                problem = Problem(self.cell, self.feedback, direction == 1, top and self.output == "hc")
                weights = Weights(*flat[index * per_layer : (index + 1) * per_layer])
                outputs.append(run(index, problem, weights, x))
            x = outputs[0] if directions == 1 else torch.cat(outputs, -1)
            if self.dropout > 0 and not top:
                x = drop(x, self.dropout, self.training)
        return x
