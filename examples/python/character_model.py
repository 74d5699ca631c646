"""A character model from text to picture, in cells as a notebook has them (``# %%``).

    python examples/python/character_model.py [--text FILE] [--out DIRECTORY] [--steps 400]

Trains the same model with DSF and with exact BPTT, prints what each has learnt, lets the better one write, and draws
the course of both into curves.png. Without a text it takes the documents of this project.
"""

# %% What to train on
from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")  # draws into files; a notebook leaves this line out
from matplotlib import pyplot as plt

import dsf

arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
arguments.add_argument("--text", type=Path)
arguments.add_argument("--out", type=Path, default=Path(tempfile.gettempdir()) / "dsf-characters")
arguments.add_argument("--steps", type=int, default=400)
arguments.add_argument("--hidden", type=int, default=128)
options = arguments.parse_args()

text = options.text
if text is None:
    pages = sorted((Path(__file__).parents[2] / "docs").glob("*.md"))
    options.out.mkdir(parents=True, exist_ok=True)
    text = options.out / "documents.txt"
    text.write_text("\n".join(page.read_text() for page in pages))

# %% Train, and look at what happens
settings: dict[str, Any] = {
    "tokenizer": "char",
    "batching": "stream",
    "context": 64,
    "batch": 32,
    "hidden": options.hidden,
    "steps": options.steps,
    "eval_every": max(options.steps // 10, 1),
    "lr": 0.003,
}
runs = {}
for feedback in ("dsf", "bptt"):
    runs[feedback] = dsf.train(
        text,
        out=options.out / feedback,
        feedback=feedback,
        force=True,
        on_eval=lambda report: print(f"  step {report['step']:5}  perplexity {report['perplexity']:.2f}"),
        **settings,
    )
    summary = runs[feedback].summary
    print(f"{feedback}: perplexity {summary['best_perplexity']:.2f}, {summary['tokens_per_second']:.0f} tokens/s")

# %% Draw
figure, axes = plt.subplots(figsize=(6, 4))
for feedback, run in runs.items():
    course = run.log("eval")
    axes.plot([line["step"] for line in course], [line["perplexity"] for line in course], label=feedback)
axes.set(xlabel="training steps", ylabel="validation perplexity", yscale="log")
axes.legend()
figure.savefig(options.out / "curves.png", dpi=120)
print(f"drew {options.out / 'curves.png'}")

# %% Let it write
best = min(runs.values(), key=lambda run: float(run.summary["best_perplexity"])).load()
for piece in best.generate("The ", tokens=200, temperature=0.8):
    print(piece, end="", flush=True)
print()
sys.exit(0 if best.evaluate()["perplexity"] < best.vocab else 1)
