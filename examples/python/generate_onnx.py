"""Generates text from an exported model with onnxruntime and NumPy alone.

    dsf export RUN --format onnx --out exported/model.onnx
    pip install onnxruntime
    python examples/python/generate_onnx.py exported/model.onnx --prompt "The " --tokens 200

The tokenizer is read from the config.json beside the model: bytes, characters or words. At temperature 0 the text is
that of `dsf generate --temperature 0`.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime


class Tokenizer:
    """Text to ids and back, as docs/commands.md describes the tokenizers; <bos> is 1, or 256 for bytes."""

    def __init__(self, stored: dict[str, Any]) -> None:
        self.kind = stored["kind"]
        if self.kind not in ("byte", "char", "word"):
            raise SystemExit(f"this example does not know {self.kind} tokenizers: it knows byte, char and word")
        self.tokens: list[str] = stored.get("tokens", [])
        self.ids = {text: i for i, text in enumerate(self.tokens)}
        self.bos = 256 if self.kind == "byte" else 1
        self.eos = ord("\n") if self.kind == "byte" else 2

    def encode(self, text: str) -> list[int]:
        """The ids of a text; a line end is the token eos."""
        if self.kind == "byte":
            return list(text.encode())
        if self.kind == "char":
            return [self.ids.get(character, 0) for character in text]
        lines = [[self.ids.get(word, 0) for word in re.findall(r"[^ \t\v\f\r]+", line)] for line in text.split("\n")]
        return [token for i, line in enumerate(lines) for token in ([self.eos] if i else []) + line]

    def decode(self, tokens: list[int]) -> str:
        """The text of ids."""
        if self.kind == "byte":
            return bytes(tokens).decode(errors="replace")
        if self.kind == "char":
            return "".join(self.tokens[token] if token else "\ufffd" for token in tokens)
        words = " ".join("\n" if token == self.eos else self.tokens[token] for token in tokens)
        return re.sub(" ?\n ?", "\n", words)


class Model:
    """A model and where it is in its text: the state, and the logits of the next token."""

    def __init__(self, path: Path) -> None:
        config = json.loads((path.parent / "config.json").read_text(encoding="utf-8"))
        self.tokenizer = Tokenizer(config["tokenizer"])
        self.sentences = config["config"]["data"]["batching"] == "sentences"
        self.session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        self.restart()

    def restart(self) -> None:
        """Goes to the beginning of a text: a state of zeros, and what stood before the first token in training."""
        (layers, _, width) = next(value.shape for value in self.session.get_inputs() if value.name == "state")
        self.state = np.zeros((layers, 1, width), np.float32)
        self._run([self.tokenizer.bos if self.sentences else self.tokenizer.eos])

    def read(self, tokens: list[int]) -> None:
        """Reads on. A model that was trained on sentences forgets everything at the end of one."""
        for token in tokens:
            if self.sentences and token == self.tokenizer.eos:
                self.restart()
            else:
                self._run([token])

    def _run(self, tokens: list[int]) -> None:
        inputs = {"tokens": np.array(tokens, np.int64)[:, None], "state": self.state}  # [time, batch]
        logits, self.state = self.session.run(["logits", "next_state"], inputs)
        self.logits = logits[-1, 0].astype(np.float64)
        self.logits[self.tokenizer.bos] = -np.inf  # it never follows anything

    def next_token(self, temperature: float, random: np.random.Generator) -> int:
        """Draws the next token from the logits; temperature 0 takes the most probable one."""
        if temperature == 0:
            return int(self.logits.argmax())
        p = np.exp((self.logits - self.logits.max()) / temperature)
        return int(random.choice(p.size, p=p / p.sum()))


def main() -> int:
    """Prints the prompt and what the model makes of it."""
    parser = argparse.ArgumentParser(description="Generates text with onnxruntime.")
    parser.add_argument("model", type=Path, help="the file of dsf export --format onnx")
    parser.add_argument("--prompt", default="")
    parser.add_argument("--tokens", type=int, default=200)
    parser.add_argument("--temperature", type=float, default=0.8)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()

    model = Model(options.model)
    random = np.random.default_rng(options.seed)
    tokens = model.tokenizer.encode(options.prompt)
    model.read(tokens)
    for _ in range(options.tokens):
        token = model.next_token(options.temperature, random)
        tokens.append(token)
        model.read([token])
    print(model.tokenizer.decode(tokens))
    return 0


if __name__ == "__main__":
    sys.exit(main())
