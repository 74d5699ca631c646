#!/usr/bin/env python3
"""Rebuilds an exported model in PyTorch and prints its perplexity on a text.

    dsf export RUN --out model.safetensors
    python3 examples/load_in_pytorch.py model.safetensors text.txt

Needs PyTorch (Debian: apt install python3-torch, for /usr/bin/python3) and nothing else. The text is cut as `dsf eval` cuts it, so that the two agree.
"""

import json
import math
import pathlib
import re
import struct
import sys

try:
    import torch
    from torch import nn
    from torch.nn import functional as F
except ImportError as error:
    sys.exit(f"{sys.executable} has no PyTorch ({error}); Debian: apt install python3-torch, and run /usr/bin/python3")


def read_safetensors(path):
    """The tensors of a safetensors file, by name: an 8-byte length, a JSON header, then the data."""
    data = pathlib.Path(path).read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        flat = torch.frombuffer(bytearray(data[begin:end]), dtype=torch.float32)
        tensors[name] = flat.reshape(entry["shape"])
    return tensors


class Lstm(nn.LSTM):
    """nn.LSTM that hands out h and c of every step, 2D wide."""

    def forward(self, x):
        weights = (self.weight_ih_l0, self.weight_hh_l0, self.bias_ih_l0, self.bias_hh_l0)
        h = c = x.new_zeros(x.shape[0], self.hidden_size)
        steps = []
        for x_t in x.unbind(1):
            h, c = torch.lstm_cell(x_t, (h, c), *weights)
            steps.append(torch.cat([h, c], -1))
        return torch.stack(steps, 1)


class Rnn(nn.RNN):
    def forward(self, x):
        return super().forward(x)[0]


class Gru(nn.GRU):
    def forward(self, x):
        return super().forward(x)[0]


class GruResetBefore(nn.GRU):
    """n = tanh(W x + U (r * h) + b): the reset gate before the product, as many papers print it."""

    def forward(self, x):
        D = self.hidden_size
        w = x @ self.weight_ih_l0.T + self.bias_ih_l0
        U, b = self.weight_hh_l0, self.bias_hh_l0
        h = x.new_zeros(x.shape[0], D)
        steps = []
        for w_t in w.unbind(1):
            r, z = torch.sigmoid(w_t[:, : 2 * D] + h @ U[: 2 * D].T + b[: 2 * D]).chunk(2, -1)
            n = torch.tanh(w_t[:, 2 * D :] + (r * h) @ U[2 * D :].T + b[2 * D :])
            h = (1 - z) * n + z * h
            steps.append(h)
        return torch.stack(steps, 1)


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)

    def forward(self, x):
        B, T, D = x.shape
        q, k, v = (
            part.reshape(B, T, self.heads, -1).transpose(1, 2) for part in self.qkv(x).chunk(3, -1)
        )
        scores = q @ k.transpose(-1, -2) / math.sqrt(D // self.heads)
        future = torch.ones(T, T, dtype=torch.bool).triu(1)
        scores = scores.masked_fill(future, -math.inf)
        return (scores.softmax(-1) @ v).transpose(1, 2).reshape(B, T, D)


class Ema(nn.ModuleDict):
    """MEGA's damped moving average, gated (dsf/layers/ema.h)."""

    def __init__(self, width, channels, dims):
        super().__init__({"in": nn.Linear(width, 2 * channels)})
        for name in ("alpha", "delta", "beta", "eta"):
            setattr(self, name, nn.Parameter(torch.empty(channels, dims)))
        self.omega = nn.Parameter(torch.empty(channels))

    def forward(self, x):
        v, r = self["in"](x).chunk(2, -1)
        alpha, delta = torch.sigmoid(self.alpha), torch.sigmoid(self.delta)
        dims = alpha.shape[1]
        beta = self.beta + torch.tensor([1.0, -1.0]).repeat(dims)[:dims]
        h = x.new_zeros(x.shape[0], *alpha.shape)
        steps = []
        for v_t in v.unbind(1):
            h = alpha * beta * v_t[..., None] + (1 - alpha * delta) * h
            steps.append((self.eta * h).sum(-1) / math.sqrt(dims) + self.omega * v_t)
        return F.silu(torch.stack(steps, 1)) * F.silu(r)


class Gelu(nn.Module):
    """GPT-2's tanh form, which older PyTorch has no argument for."""

    def forward(self, x):
        return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


class Block(nn.Module):
    def __init__(self, config, mixer, tensors, prefix):
        super().__init__()
        D = config["hidden"]
        self.skip = config["skip"]
        self.transformer = config["block"] == "transformer"
        self.mixer = mixer
        self.proj = nn.Identity()
        if prefix + "proj.weight" in tensors:
            self.proj = nn.Linear(tensors[prefix + "proj.weight"].shape[1], D)
        if self.transformer:
            self.norm1, self.norm2 = nn.LayerNorm(D), nn.LayerNorm(D)
            self.mlp = nn.ModuleDict({"in": nn.Linear(D, 4 * D), "out": nn.Linear(4 * D, D)})
            self.gelu = Gelu()

    def forward(self, x):
        if not self.transformer:
            y = self.proj(self.mixer(x))
            return x + y if self.skip else y
        u = self.proj(self.mixer(self.norm1(x)))
        u = x + u if self.skip else u
        y = self.mlp["out"](self.gelu(self.mlp["in"](self.norm2(u))))
        return u + y if self.skip else y


class LanguageModel(nn.Module):
    """Logits [B, T, V] of tokens [B, T]."""

    def __init__(self, config, tensors):
        super().__init__()
        model, vocab = config["config"]["model"], config["vocab"]
        D = model["hidden"]
        self.embedding = nn.Embedding(vocab, D)
        self.positions = None
        if model["mixer"] == "attention":
            self.positions = nn.Embedding(config["context"], D)
        self.blocks = nn.ModuleList()
        for i in range(model["layers"]):
            prefix = f"blocks.{i}."
            mixer = self.make_mixer(config, tensors, prefix + "mixer.")
            self.blocks.append(Block(model, mixer, tensors, prefix))
        self.final_norm = nn.LayerNorm(D) if model["block"] == "transformer" else nn.Identity()
        self.head = nn.Linear(D, vocab)

    @staticmethod
    def make_mixer(config, tensors, prefix):
        model = config["config"]["model"]
        D, kind = model["hidden"], model["mixer"]
        if kind == "attention":
            return Attention(D, config["heads"])
        if kind == "ema":
            return Ema(D, *tensors[prefix + "alpha"].shape)
        if kind == "gru" and model["reset"] == "before":
            return GruResetBefore(D, D, batch_first=True)
        return {"rnn": Rnn, "gru": Gru, "lstm": Lstm}[kind](D, D, batch_first=True)

    def forward(self, tokens):
        x = self.embedding(tokens)
        if self.positions is not None:
            x = x + self.positions.weight[: tokens.shape[1]]
        for block in self.blocks:
            x = block(x)
        return self.head(self.final_norm(x))


def load(path):
    """Model and configuration from F.safetensors and the config.json beside it."""
    path = pathlib.Path(path)
    config = json.loads((path.parent / "config.json").read_text())
    tensors = read_safetensors(path)
    model = LanguageModel(config, tensors)
    # DSF's diagonals steer training only.
    model.load_state_dict({k: v for k, v in tensors.items() if ".feedback." not in k})
    return model.eval(), config


class Tokenizer:
    """word, char, byte: ids of a line of text. <bos> is 1, or 256 for bytes."""

    def __init__(self, stored):
        self.kind = stored["kind"]
        if self.kind not in ("word", "char", "byte"):
            sys.exit(f"this example knows no {self.kind} tokenizer; use the model's ids directly")
        self.ids = {text: i for i, text in enumerate(stored.get("tokens", []))}
        self.bos = 256 if self.kind == "byte" else 1
        self.eos = ord("\n") if self.kind == "byte" else 2

    def line(self, text):
        if self.kind == "byte":
            units = list(text.encode())
        else:
            parts = re.findall(r"[^ \t\v\f\r]+", text) if self.kind == "word" else text
            units = [self.ids.get(part, 0) for part in parts]
        return units + [self.eos]


def sequences(text, tokenizer, config):
    """(inputs, targets) of each sequence, cut as `dsf eval` cuts them."""
    data = config["config"]["data"]
    context = data["context"]
    lines = [tokenizer.line(line) for line in text.removesuffix("\n").split("\n")]
    if data["batching"] == "sentences":
        for line in lines:
            if len(line) > 1:
                targets = line[:context]
                yield ([tokenizer.bos] + line)[: len(targets)], targets
        return
    ids = [token for line in lines for token in line]
    length = context
    if data["batching"] == "stream":  # parallel streams, each with one state carried to its end
        streams = min(max(len(ids) // (context + 1), 1), config["config"]["train"]["batch"])
        length = (len(ids) - 1) // streams
        ids = ids[: streams * length + 1]
    for first in range(1, len(ids), length):
        targets = ids[first : first + length]
        yield ids[first - 1 : first - 1 + len(targets)], targets


@torch.no_grad()
def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    model, config = load(sys.argv[1])
    text = pathlib.Path(sys.argv[2]).read_bytes().decode("utf-8")
    loss, tokens = 0.0, 0
    for inputs, targets in sequences(text, Tokenizer(config["tokenizer"]), config):
        logits = model(torch.tensor([inputs]))[0].double()
        loss += F.cross_entropy(logits, torch.tensor(targets), reduction="sum").item()
        tokens += len(targets)
    print(f"tokens {tokens}  loss {loss / tokens:.6f}  perplexity {math.exp(loss / tokens):.4f}")


if __name__ == "__main__":
    main()
