#!/usr/bin/python3
"""The Penn Treebank training step (3 layers of 256 GRU units, 10,000 words) in PyTorch and in dsf.

    scripts/bench_peers.py [--dsf build/dsf] [--rounds N] [--precision f32,bf16] [--json]

PyTorch runs (a) nn.GRU with autograd and (b) DSF as a PyTorch user would write it; on full blocks
(128 x 64 tokens) and on sentences of unequal length, both padded and as a PackedSequence (dsf packs
them). It gets its best chance: first the environment is tuned, for each precision, one variable
after the other; then the best setting, PyTorch as Debian ships it, and dsf take turns, every
contestant once a round, each in a process of its own. Medians over the rounds; ratios are of tokens
a second, same precision, to PyTorch's best.

Needs Debian's python3-torch (make bench-peers installs it), hence Debian's own python3.
"""

import argparse
import functools
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time

VOCAB, HIDDEN, LAYERS, BATCH, STEPS = 10000, 256, 3, 128, 64
SENTENCES = 16 * BATCH
WORKER_TIMEOUT = 300  # seconds; bf16 without AVX-512 can take minutes a step
MODELS = ("autograd", "dsf")
PACKED = " packed"  # ends the names of contestants that get sentences as a PackedSequence

# --- the worker: one PyTorch process -------------------------------------------------------------


def make_model(torch, kind):
    """Embedding -> x + GRU(x), three times -> head; `kind` says how gradients go back in time. Rows
    are flat, step after step: step t has the first sizes[t] sequences of its batch."""
    nn = torch.nn
    pack = nn.utils.rnn.PackedSequence

    def run_gru(gru, x, sizes, packed):
        if packed:
            return gru(pack(x, sizes))[0].data
        return gru(x.reshape(len(sizes), -1, HIDDEN))[0].reshape(-1, HIDDEN)

    def predecessors(sizes):
        """For each step but the first: its first row, the row before that in time, their number."""
        counts, places, begin = sizes.tolist(), [], 0
        for before, count in zip(counts, counts[1:]):
            places.append((begin + before, begin, count))
            begin += before
        return places

    class DsfGru(nn.Module):
        """States without a graph; then all steps at once, each from its detached predecessor, with
        g_t = e_t + a g_{t+1} as a hook on the way back."""

        def __init__(self):
            super().__init__()
            self.gru = nn.GRU(HIDDEN, HIDDEN)
            self.cell = nn.GRUCell(HIDDEN, HIDDEN)
            for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
                setattr(self.cell, name, getattr(self.gru, name + "_l0"))
            self.register_buffer("diagonal", torch.rand(HIDDEN))

        def forward(self, x, sizes, packed):
            places = predecessors(sizes)
            with torch.no_grad():
                states = run_gru(self.gru, x, sizes, packed)
                first = torch.zeros_like(states[:int(sizes[0])])
                previous = torch.cat([first] + [states[i:i + count] for _, i, count in places])
            h = self.cell(x, previous.to(x.dtype))

            def feedback(e):
                g = e.clone()
                diagonal = self.diagonal.to(g.dtype)
                for row, before, count in reversed(places):
                    g[before:before + count].addcmul_(g[row:row + count], diagonal)
                return g

            if h.requires_grad:
                h.register_hook(feedback)
            return h

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(VOCAB, HIDDEN)
            self.layers = nn.ModuleList(
                DsfGru() if kind == "dsf" else nn.GRU(HIDDEN, HIDDEN) for _ in range(LAYERS))
            self.head = nn.Linear(HIDDEN, VOCAB)

        def forward(self, tokens, sizes, packed):
            x = self.embedding(tokens)
            for layer in self.layers:
                run = layer if kind == "dsf" else functools.partial(run_gru, layer)
                x = x + run(x, sizes, packed)
            return self.head(x)

    return Model()


def make_batches(torch, lengths, packed):
    """Rows of random tokens, their targets, and the rows of each step. If sentences are padded,
    the targets of the padding are ignored; packed, there is none."""
    pack = torch.nn.utils.rnn.pack_padded_sequence
    batches = []
    for begin in range(0, len(lengths), BATCH):
        group = torch.tensor(sorted(lengths[begin:begin + BATCH], reverse=True))
        shape = (int(group[0]), len(group))
        inputs, targets = torch.randint(VOCAB, shape), torch.randint(VOCAB, shape)
        if packed:
            rows = pack(inputs, group)
            batches.append((rows.data, pack(targets, group).data, rows.batch_sizes))
        else:
            targets[torch.arange(shape[0])[:, None] >= group[None, :]] = -100
            sizes = torch.full((shape[0],), len(group))
            batches.append((inputs.reshape(-1), targets.reshape(-1), sizes))
    return batches


def work(spec):
    """Trains for `runs` passes over the batches after one that warms up; prints seconds of each."""
    import torch

    if spec["threads"]:
        torch.set_num_threads(spec["threads"])
    torch.manual_seed(1)
    model = make_model(torch, spec["model"])
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-4, foreach=True)
    batches = make_batches(torch, spec["lengths"], spec["packed"])
    autocast = torch.autocast("cpu", dtype=torch.bfloat16, enabled=spec["precision"] == "bf16")

    def train(inputs, targets, sizes):
        with autocast:
            logits = model(inputs, sizes, spec["packed"])
            loss = torch.nn.functional.cross_entropy(logits, targets)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        optimiser.step()

    seconds = []
    for _ in range(1 + spec["runs"]):
        begin = time.perf_counter()
        for batch in batches:
            train(*batch)
        seconds.append(time.perf_counter() - begin)
    print(json.dumps({"seconds": seconds[1:], "torch": torch.__version__}))


# --- settings ------------------------------------------------------------------------------------


def cpu_flags():
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as info:
        return next((set(line.split()) for line in info if line.startswith("flags")), set())


def tuning_axes():
    """What is tried in place of the defaults, one axis after the other: lists of environments."""
    flags = cpu_flags()
    cores = [("Cooperlake", "avx512_bf16"), ("SkylakeX", "avx512f"), ("Zen", "avx2"),
             ("Haswell", "avx2")]
    openmp_blas = "/usr/lib/x86_64-linux-gnu/openblas-openmp"
    large = str(1 << 30)
    keep_memory = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": large,
                   "MALLOC_TOP_PAD_": large}
    return [[{"OPENBLAS_CORETYPE": core} for core, flag in cores if flag in flags],
            [keep_memory],
            [{"OMP_WAIT_POLICY": "PASSIVE"}],
            [{"LD_LIBRARY_PATH": openmp_blas}] if os.path.isdir(openmp_blas) else []]


def run_worker(model, precision, lengths, environment, threads, runs, packed=False):
    """Seconds of each pass, or None if PyTorch does not finish in time."""
    spec = {"model": model, "precision": precision, "lengths": lengths, "threads": threads,
            "runs": runs, "packed": packed}
    command = [sys.executable, os.path.abspath(__file__), "--worker", json.dumps(spec)]
    try:
        done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True,
                              text=True, timeout=WORKER_TIMEOUT, check=False)
    except subprocess.TimeoutExpired:
        return None
    if done.returncode != 0:
        raise SystemExit("PyTorch failed:\n" + done.stderr)
    return json.loads(done.stdout)["seconds"]


def tune(precision, threads):
    """The environment in which (a) is fastest on full blocks, or None if it takes too long."""

    def measure(environment):
        seconds = run_worker("autograd", precision, [STEPS] * BATCH, environment, threads, 2)
        say(f"  {environment or 'no setting'}: "
            + (f"{min(seconds) * 1e3:.0f} ms" if seconds else "too slow"))
        return min(seconds) if seconds else float("inf")

    environment = {}
    best = measure(environment)
    for choices in tuning_axes():
        for candidate in [{**environment, **choice} for choice in choices]:
            seconds = measure(candidate)
            if seconds < best:
                best, environment = seconds, candidate
    return environment if best < float("inf") else None


# --- the race ------------------------------------------------------------------------------------


def say(text):
    print(text, file=sys.stderr, flush=True)


def run_dsf(program, arguments):
    done = subprocess.run([program, "bench", *arguments, "--json"], capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        raise SystemExit(f"{program} failed:\n{done.stderr}")
    return json.loads(done.stdout)["results"]


class Race:
    """Contestants that run once a round; tokens a second by (who, workload, precision)."""

    def __init__(self):
        self.contestants = []
        self.rates = {}

    def add(self, run):
        self.contestants.append(run)

    def note(self, key, rate):
        self.rates.setdefault(key, []).append(rate)

    def run(self, rounds):
        for number in range(rounds):
            say(f"round {number + 1} of {rounds}")
            shift = number % len(self.contestants)
            for run in self.contestants[shift:] + self.contestants[:shift]:
                run(self)

    def median(self, key):
        return statistics.median(self.rates[key]) if key in self.rates else None


def add_torch(race, who, model, precision, workload, lengths, environment, threads, packed=False):
    def run(race):
        seconds = run_worker(model, precision, lengths, environment, threads, 3, packed)
        if seconds:
            race.note((who, workload, precision), sum(lengths) / statistics.median(seconds))

    race.add(run)


def add_dsf(race, program, precision, lengths_file, threads):
    common = ["--only", "ptb_3L256", "--precision", precision, "--method", "bptt,dsf",
              "--threads", str(threads)]

    def run(race):
        for result in run_dsf(program, ["step", *common, "--seconds", "60"]):
            if (result["batch"], result["steps"]) != (BATCH, STEPS):
                raise SystemExit(f"dsf measured {result['batch']} x {result['steps']}, not "
                                 f"{BATCH} x {STEPS}: not comparable")
            race.note(("dsf " + result["method"], "blocks", precision),
                      result["tokens_per_second"])
        for result in run_dsf(program, ["epoch", *common, "--lengths", lengths_file, "--seconds",
                                        "60"]):
            race.note(("dsf " + result["method"], "sentences", precision),
                      result["tokens_per_second"])

    race.add(run)


def sentence_lengths():
    """Like the Penn Treebank's: log-normal, 22 tokens on average, cut at the context."""
    draw = random.Random(1)
    return [min(max(round(draw.lognormvariate(2.95, 0.54)), 1), STEPS) for _ in range(SENTENCES)]


def collect(race, precisions):
    results = []
    for (who, workload, precision), rates in sorted(race.rates.items()):
        results.append({"contestant": who, "workload": workload, "precision": precision,
                        "tokens_per_second": statistics.median(rates),
                        "tokens_per_second_best": max(rates), "rounds": len(rates)})
    ratios = []
    for precision in precisions:
        for workload in ("blocks", "sentences"):
            theirs = [race.median(("torch " + model + form, workload, precision))
                      for model in MODELS for form in ("", PACKED)]
            theirs = [rate for rate in theirs if rate]
            for method in ("bptt", "dsf"):
                ours = race.median(("dsf " + method, workload, precision))
                if ours and theirs:
                    ratios.append({"ours": "dsf " + method, "theirs": "torch, its best",
                                   "workload": workload, "precision": precision,
                                   "ratio": ours / max(theirs)})
    shipped = race.median(("torch as shipped", "blocks", "f32"))
    for precision in precisions:
        ours = race.median(("dsf dsf", "blocks", precision))
        if ours and shipped:
            ratios.append({"ours": "dsf dsf", "theirs": "torch as shipped (f32)",
                           "workload": "blocks", "precision": precision, "ratio": ours / shipped})
    return results, ratios


def print_tables(results, ratios):
    print(f"{'contestant':<22} {'workload':<10} {'precision':<10} {'tokens/s':>10} {'best':>10}")
    for r in results:
        print(f"{r['contestant']:<22} {r['workload']:<10} {r['precision']:<10} "
              f"{r['tokens_per_second']:>10.0f} {r['tokens_per_second_best']:>10.0f}")
    print()
    for r in ratios:
        print(f"{r['ours']} over {r['theirs']}, {r['workload']}, {r['precision']}: "
              f"{r['ratio']:.2f} x")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dsf", default="build/dsf", help="the program (default: build/dsf)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--precision", default="f32,bf16", help="f32, bf16 or both")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        work(json.loads(options.worker))
        return

    precisions = options.precision.split(",")
    blocks, sentences = [STEPS] * BATCH, sentence_lengths()
    race, settings = Race(), {}
    add_torch(race, "torch as shipped", "autograd", "f32", "blocks", blocks, {}, None)
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as lengths_file:
        lengths_file.write("".join(f"{length}\n" for length in sentences))
        lengths_file.flush()
        for precision in precisions:
            say(f"tuning PyTorch's environment for {precision}")
            settings[precision] = tune(precision, options.threads)
            if settings[precision] is None:
                say(f"PyTorch needs more than {WORKER_TIMEOUT} s for a few {precision} steps here")
            else:
                for model in MODELS:
                    for workload, lengths in (("blocks", blocks), ("sentences", sentences)):
                        add_torch(race, "torch " + model, model, precision, workload, lengths,
                                  settings[precision], options.threads)
                    add_torch(race, "torch " + model + PACKED, model, precision, "sentences",
                              sentences, settings[precision], options.threads, packed=True)
            add_dsf(race, options.dsf, precision, lengths_file.name, options.threads)
        race.run(options.rounds)

    results, ratios = collect(race, precisions)
    if options.json:
        machine = {"threads": options.threads, "torch_settings": settings}
        print(json.dumps({"machine": machine, "results": results, "ratios": ratios}))
    else:
        print_tables(results, ratios)


if __name__ == "__main__":
    main()
