"""A word-level language model, as one would write it for PyTorch; the layer is the only thing that differs.

    python examples/python/word_language_model.py --data DIR_OR_FILE [--layer torch|dsf] [--feedback dsf] [--cell gru]
                                                  [--epochs 2] [--hidden 256] [--layers 2] [--batch 20] [--length 35]

DIR holds ptb.train.txt and ptb.valid.txt (or train.txt and valid.txt); of a single FILE the last tenth of the lines is
for validation. The text is cut into ``batch`` long columns that are read ``length`` words at a time, and the state goes
on from one piece to the next, cut off from its gradient (truncated BPTT). With --layer dsf and its default feedback,
"bptt", the losses are those of --layer torch; --feedback dsf has no matrix product on its way back through time.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

import dsf.nn


class Corpus:
    """Words as numbers: a training text and a validation text, with <eos> at the end of each line."""

    def __init__(self, place: Path) -> None:
        train, valid = _lines_of(place)
        self.words = {"<unk>": 0, "<eos>": 1}
        for line in train:
            for word in line.split():
                self.words.setdefault(word, len(self.words))
        self.train, self.valid = self._numbers(train), self._numbers(valid)

    def _numbers(self, lines: list[str]) -> Tensor:
        words = (word for line in lines for word in [*line.split(), "<eos>"])
        return torch.tensor([self.words.get(word, 0) for word in words])


def _lines_of(place: Path) -> tuple[list[str], list[str]]:
    if place.is_dir():
        for prefix in ("ptb.", ""):
            files = [place / f"{prefix}{split}.txt" for split in ("train", "valid")]
            if all(file.exists() for file in files):
                train, valid = (file.read_text(encoding="utf-8").splitlines() for file in files)
                return train, valid
        raise SystemExit(f"{place} has neither ptb.train.txt and ptb.valid.txt nor train.txt and valid.txt")
    if not place.exists():
        raise SystemExit(f"{place} does not exist; --data names a text file or a directory with the Penn Treebank")
    lines = place.read_text(encoding="utf-8").splitlines()
    cut = max(1, len(lines) - max(1, len(lines) // 10))
    return lines[:cut], lines[cut:]


def in_columns(words: Tensor, batch: int) -> Tensor:
    """[rows, batch]: ``batch`` pieces of the text side by side."""
    rows = len(words) // batch
    if rows < 2:
        raise SystemExit(f"a text of {len(words)} words is too short for --batch {batch}")
    return words[: rows * batch].view(batch, rows).t().contiguous()


class LanguageModel(nn.Module):
    """Embedding, recurrent layers, and a linear map to the vocabulary."""

    def __init__(self, layer: nn.Module, vocabulary: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, hidden)
        self.layer = layer
        self.head = nn.Linear(hidden, vocabulary)
        self.dropout = nn.Dropout(dropout)
        nn.init.uniform_(self.embedding.weight, -0.1, 0.1)
        nn.init.uniform_(self.head.weight, -0.1, 0.1)
        nn.init.zeros_(self.head.bias)

    def forward(self, words: Tensor, state: Any) -> tuple[Tensor, Any]:
        """Logits [time * batch, vocabulary] and the last state."""
        output, state = self.layer(self.dropout(self.embedding(words)), state)
        return self.head(self.dropout(output)).flatten(0, 1), state


def make_layer(options: argparse.Namespace) -> nn.Module:
    """torch.nn's or dsf.nn's: the one line in which the two programs would differ."""
    sizes: dict[str, Any] = {"num_layers": options.layers, "dropout": options.dropout if options.layers > 1 else 0.0}
    name = {"rnn": "RNN", "gru": "GRU", "lstm": "LSTM"}[options.cell]
    if options.layer == "torch":
        layer: nn.Module = getattr(nn, name)(options.hidden, options.hidden, **sizes)
    else:
        layer = getattr(dsf.nn, name)(options.hidden, options.hidden, feedback=options.feedback, **sizes)
    return layer


def detached(state: Any) -> Any:
    """The state without its history."""
    return tuple(part.detach() for part in state) if isinstance(state, tuple) else state.detach()


def pieces(columns: Tensor, length: int) -> list[tuple[Tensor, Tensor]]:
    """Inputs and targets, ``length`` rows at a time."""
    starts = range(0, len(columns) - 1, length)
    ends = [min(start + length, len(columns) - 1) for start in starts]
    return [(columns[start:end], columns[start + 1 : end + 1].flatten()) for start, end in zip(starts, ends)]


def evaluate(model: LanguageModel, columns: Tensor, length: int) -> float:
    """The mean loss per word."""
    model.eval()
    state, total, count = None, 0.0, 0
    with torch.no_grad():
        for words, targets in pieces(columns, length):
            logits, state = model(words, state)
            total += nn.functional.cross_entropy(logits, targets, reduction="sum").item()
            count += len(targets)
    return total / count


def train_epoch(
    model: LanguageModel, columns: Tensor, optimiser: torch.optim.Optimizer, options: argparse.Namespace, epoch: int
) -> None:
    """One pass over the text; a line for every --every steps."""
    model.train()
    state, total, tokens, since = None, 0.0, 0, time.perf_counter()
    work = pieces(columns, options.length)
    for step, (words, targets) in enumerate(work, 1):
        optimiser.zero_grad()
        logits, state = model(words, None if state is None else detached(state))
        loss = nn.functional.cross_entropy(logits, targets)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), options.clip)
        optimiser.step()
        total += loss.item() * len(targets)
        tokens += len(targets)
        if step % options.every == 0 or step == len(work):
            speed = tokens / (time.perf_counter() - since)
            print(f"epoch {epoch} step {step}/{len(work)} loss {total / tokens:.4f} tokens/s {speed:.0f}", flush=True)
            total, tokens, since = 0.0, 0, time.perf_counter()


def main() -> int:
    """Trains, and prints the loss curve and the perplexity after each epoch."""
    parser = argparse.ArgumentParser(description="A word-level language model with torch.nn's or dsf.nn's layers.")
    parser.add_argument("--data", type=Path, required=True, help="a text file, or a directory with the Penn Treebank")
    parser.add_argument("--layer", choices=("torch", "dsf"), default="dsf")
    parser.add_argument("--feedback", default="bptt", help="of --layer dsf: bptt, dsf, ...")
    parser.add_argument("--cell", choices=("rnn", "gru", "lstm"), default="gru")
    parser.add_argument("--hidden", type=int, default=256)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--dropout", type=float, default=0.2)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch", type=int, default=20)
    parser.add_argument("--length", type=int, default=35)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--clip", type=float, default=0.25)
    parser.add_argument("--every", type=int, default=50, help="steps from one line to the next")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()

    corpus = Corpus(options.data)
    train, valid = (in_columns(words, options.batch) for words in (corpus.train, corpus.valid))
    torch.manual_seed(options.seed)
    model = LanguageModel(make_layer(options), len(corpus.words), options.hidden, options.dropout)
    print(f"{len(corpus.words)} words, {model.layer}")
    torch.manual_seed(options.seed)  # a feedback may have drawn numbers of its own; dropout shall not notice
    optimiser = torch.optim.Adam(model.parameters(), lr=options.lr)
    for epoch in range(1, options.epochs + 1):
        began = time.perf_counter()
        train_epoch(model, train, optimiser, options, epoch)
        loss, seconds = evaluate(model, valid, options.length), time.perf_counter() - began
        print(f"epoch {epoch} valid loss {loss:.4f} perplexity {math.exp(loss):.2f} seconds {seconds:.1f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
