"""A trained model as a module of PyTorch's. Names of parameters are those of ``dsf export``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.nn import functional

import dsf.nn
from dsf.errors import UsageError

if TYPE_CHECKING:
    from dsf.model import Model


class GruResetBefore(nn.GRU):
    """n = tanh(W x + U (r * h) + b): the reset gate before the product, as many papers print it."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:  # type: ignore[override]
        """output [B, T, D] and the last state [1, B, D]."""
        D = self.hidden_size
        W, U, b_x, b = self.all_weights[0]
        rows = functional.linear(x, W, b_x)
        h = x.new_zeros(x.shape[0], D)
        steps = []
        for row in rows.unbind(1):
            r, z = torch.sigmoid(row[:, : 2 * D] + functional.linear(h, U[: 2 * D], b[: 2 * D])).chunk(2, -1)
            n = torch.tanh(row[:, 2 * D :] + functional.linear(r * h, U[2 * D :], b[2 * D :]))
            h = (1 - z) * n + z * h
            steps.append(h)
        return torch.stack(steps, 1), h[None]


class Block(nn.Module):
    """A recurrent layer with its skip connection; in a transformer-like block also norms and an MLP."""

    def __init__(self, config: dict[str, Any], feedback: dict[str, Any]) -> None:
        super().__init__()
        D = config["hidden"]
        self.skip: bool = config["skip"]
        self.transformer: bool = config["block"] == "transformer"
        self.mixer = _make_mixer(config, feedback)
        has_map = self.transformer or config["mixer"] == "lstm"
        self.proj = nn.Linear(2 * D if config["mixer"] == "lstm" else D, D) if has_map else nn.Identity()
        if self.transformer:
            self.norm1, self.norm2 = nn.LayerNorm(D), nn.LayerNorm(D)
            self.mlp = nn.ModuleDict({"in": nn.Linear(D, 4 * D), "out": nn.Linear(4 * D, D)})

    def forward(self, x: Tensor) -> Tensor:
        """[B, T, D] to [B, T, D]."""
        u: Tensor = self.proj(self.mixer(self.norm1(x) if self.transformer else x)[0])
        u = x + u if self.skip else u
        if not self.transformer:
            return u
        y: Tensor = self.mlp["out"](functional.gelu(self.mlp["in"](self.norm2(u)), approximate="tanh"))
        return u + y if self.skip else y


class TorchLanguageModel(nn.Module):
    """Logits [B, T, V] of tokens [B, T]; each sequence starts from a zero state."""

    def __init__(self, config: dict[str, dict[str, Any]], vocab: int) -> None:
        super().__init__()
        model = config["model"]
        self.embedding = nn.Embedding(vocab, model["hidden"])
        self.blocks = nn.ModuleList(Block(model, config["feedback"]) for _ in range(model["layers"]))
        self.final_norm = nn.LayerNorm(model["hidden"]) if model["block"] == "transformer" else nn.Identity()
        self.head = nn.Linear(model["hidden"], vocab)

    def forward(self, tokens: Tensor) -> Tensor:
        """Logits of the token behind each."""
        x = self.embedding(tokens)
        for block in self.blocks:
            x = block(x)
        logits: Tensor = self.head(self.final_norm(x))
        return logits


def build(model: Model) -> TorchLanguageModel:
    """The module, with copies of the model's parameters, in evaluation mode."""
    mixer = model.config["model"]["mixer"]
    if mixer not in ("rnn", "gru", "lstm"):
        raise UsageError(
            f"to_torch: models with the mixer {mixer} are not offered, rnn, gru and lstm are; "
            "examples/load_in_pytorch.py reads the others after dsf export"
        )
    module = TorchLanguageModel(model.config, model.vocab)
    state = module.state_dict()
    for name, (shape, values) in model.parameter_buffers().items():
        state[name] = torch.frombuffer(bytearray(values), dtype=torch.float32).view(shape)
    module.load_state_dict(state)
    return module.eval()


def _make_mixer(config: dict[str, Any], feedback: dict[str, Any]) -> nn.Module:
    D, kind = config["hidden"], config["mixer"]
    if kind == "gru" and config["reset"] == "before":
        return GruResetBefore(D, D, batch_first=True)
    cells: dict[str, type[nn.Module]] = {"rnn": dsf.nn.RNN, "gru": dsf.nn.GRU, "lstm": dsf.nn.LSTM}
    options: dict[str, Any] = {"output": "hc"} if kind == "lstm" else {}
    return cells[kind](D, D, batch_first=True, feedback=_offered(feedback["method"]), **options)


def _offered(method: str) -> str:
    """The run's feedback if dsf.nn has it. The way forward is the same with all of them."""
    from dsf.nn._feedback import MENU

    return method if method.split(":")[0] in {name.split(":")[0] for name in MENU} else "bptt"
