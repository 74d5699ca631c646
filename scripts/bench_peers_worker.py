"""One PyTorch process of bench_peers.py: trains a model of `dsf bench step` and prints the seconds of each pass.

    bench_peers_worker.py SPEC        SPEC: the fields of Spec as a JSON object

Rows are flat, step after step: step t has the first sizes[t] sequences of its batch.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import dataclass
from typing import Any, Optional

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence

Batch = tuple[Tensor, Tensor, Tensor]  # inputs [N], targets [N], sizes [T]


@dataclass
class Spec:
    """What to train, and how."""

    layer: str  # torch, torch dsf (DSF as a PyTorch user would write it), or dsf.nn and its feedback: dsf.nn bptt
    block: str  # plain: x + GRU(x); transformer: with norms and an MLP
    vocab: int
    hidden: int
    layers: int
    batch: int
    lengths: list[int]
    precision: str  # f32, bf16 (autocast)
    packed: bool
    compiled: bool
    threads: int
    runs: int


def run_gru(gru: nn.Module, x: Tensor, sizes: Tensor, packed: bool) -> Tensor:
    """The outputs [N, D] of a layer with the interface of torch.nn.GRU."""
    if packed:
        rows: Tensor = gru(PackedSequence(x, sizes))[0].data
        return rows
    steps: Tensor = gru(x.reshape(len(sizes), -1, x.shape[-1]))[0]
    return steps.reshape(-1, steps.shape[-1])


def predecessors(sizes: Tensor) -> list[tuple[int, int, int]]:
    """For each step except the first: its first row, the row before that in time, their number."""
    counts, places, begin = sizes.tolist(), [], 0
    for before, count in zip(counts, counts[1:]):
        places.append((begin + before, begin, count))
        begin += before
    return places


class DsfGru(nn.Module):
    """DSF without this library: states without a graph; then all steps at once, each from its detached predecessor,
    with ``g_t = e_t + a g_{t+1}`` as a hook on the way back."""

    diagonal: Tensor

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.gru = nn.GRU(hidden, hidden)
        self.cell = nn.GRUCell(hidden, hidden)
        for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
            setattr(self.cell, name, getattr(self.gru, name + "_l0"))
        self.register_buffer("diagonal", torch.rand(hidden))

    def forward(self, x: Tensor, sizes: Tensor, packed: bool) -> Tensor:
        """[N, D] to [N, D]."""
        places = predecessors(sizes)
        with torch.no_grad():
            states = run_gru(self.gru, x, sizes, packed)
            first = torch.zeros_like(states[: int(sizes[0])])
            previous = torch.cat([first] + [states[i : i + count] for _, i, count in places])
        h: Tensor = self.cell(x, previous.to(x.dtype))

        def feedback(e: Tensor) -> Tensor:
            g = e.clone()
            diagonal = self.diagonal.to(g.dtype)
            for row, before, count in reversed(places):
                g[before : before + count].addcmul_(g[row : row + count], diagonal)
            return g

        if h.requires_grad:
            h.register_hook(feedback)
        return h


class Mixer(nn.Module):
    """The recurrent layer that the spec names, over flat rows."""

    def __init__(self, layer: str, hidden: int) -> None:
        super().__init__()
        self.module: nn.Module
        if layer == "torch dsf":
            self.module = DsfGru(hidden)
        elif layer == "torch":
            self.module = nn.GRU(hidden, hidden)
        else:
            import dsf.nn

            self.module = dsf.nn.GRU(hidden, hidden, feedback=layer.split()[1])

    def forward(self, x: Tensor, sizes: Tensor, packed: bool) -> Tensor:
        """[N, D] to [N, D]."""
        if isinstance(self.module, DsfGru):
            return self.module(x, sizes, packed)  # type: ignore[no-any-return]
        return run_gru(self.module, x, sizes, packed)


class TransformerBlock(nn.Module):
    """u = x + proj(GRU(norm(x))),  y = u + MLP(norm(u)), as dsf/layers/transformer_block.h."""

    def __init__(self, layer: str, hidden: int) -> None:
        super().__init__()
        self.mixer = Mixer(layer, hidden)
        self.norm1, self.norm2 = nn.LayerNorm(hidden), nn.LayerNorm(hidden)
        self.projection = nn.Linear(hidden, hidden)
        self.mlp = nn.Sequential(nn.Linear(hidden, 4 * hidden), nn.GELU(), nn.Linear(4 * hidden, hidden))

    def forward(self, x: Tensor, sizes: Tensor, packed: bool) -> Tensor:
        """[N, D] to [N, D]."""
        u = x + self.projection(self.mixer(self.norm1(x), sizes, packed))
        y: Tensor = u + self.mlp(self.norm2(u))
        return y


class PlainBlock(nn.Module):
    """x + GRU(x)."""

    def __init__(self, layer: str, hidden: int) -> None:
        super().__init__()
        self.mixer = Mixer(layer, hidden)

    def forward(self, x: Tensor, sizes: Tensor, packed: bool) -> Tensor:
        """[N, D] to [N, D]."""
        y: Tensor = x + self.mixer(x, sizes, packed)
        return y


class Model(nn.Module):
    """Embedding, blocks, a norm behind transformer-like blocks, and the head."""

    def __init__(self, spec: Spec) -> None:
        super().__init__()
        block = {"plain": PlainBlock, "transformer": TransformerBlock}[spec.block]
        self.embedding = nn.Embedding(spec.vocab, spec.hidden)
        self.blocks = nn.ModuleList(block(spec.layer, spec.hidden) for _ in range(spec.layers))
        self.norm = nn.LayerNorm(spec.hidden) if spec.block == "transformer" else nn.Identity()
        self.head = nn.Linear(spec.hidden, spec.vocab)

    def forward(self, tokens: Tensor, targets: Tensor, sizes: Tensor, packed: bool) -> Tensor:
        """The mean loss."""
        x = self.embedding(tokens)
        for block in self.blocks:
            x = block(x, sizes, packed)
        return nn.functional.cross_entropy(self.head(self.norm(x)), targets)


def make_batches(spec: Spec) -> list[Batch]:
    """Random tokens. If sentences are padded, the targets of the padding are ignored; packed, there is none."""
    batches = []
    for begin in range(0, len(spec.lengths), spec.batch):
        group = torch.tensor(sorted(spec.lengths[begin : begin + spec.batch], reverse=True))
        shape = (int(group[0]), len(group))
        inputs, targets = torch.randint(spec.vocab, shape), torch.randint(spec.vocab, shape)
        if spec.packed:
            rows = pack_padded_sequence(inputs, group)
            batches.append((rows.data, pack_padded_sequence(targets, group).data, rows.batch_sizes))
        else:
            targets[torch.arange(shape[0])[:, None] >= group[None, :]] = -100
            sizes = torch.full((shape[0],), len(group))
            batches.append((inputs.reshape(-1), targets.reshape(-1), sizes))
    return batches


def train(spec: Spec) -> list[float]:
    """Seconds of each pass over the batches, after one that warms up."""
    torch.set_num_threads(spec.threads)
    torch.manual_seed(1)
    model = Model(spec)
    call: Any = torch.compile(model) if spec.compiled else model
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-4, foreach=True)
    batches = make_batches(spec)
    seconds = []
    for _ in range(1 + spec.runs):
        begin = time.perf_counter()
        for batch in batches:
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=spec.precision == "bf16"):
                loss = call(*batch, spec.packed)
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
        seconds.append(time.perf_counter() - begin)
    return seconds[1:]


def main(arguments: Optional[list[str]] = None) -> None:
    """Prints one JSON object."""
    (text,) = sys.argv[1:] if arguments is None else arguments
    seconds = train(Spec(**json.loads(text)))
    print(json.dumps({"seconds": seconds, "torch": torch.__version__}))


if __name__ == "__main__":
    main()
