#!/usr/bin/env python3
"""Watches the memory and the open files of a process, and says whether they grow.

    scripts/soak.py PID                    a process that runs already
    scripts/soak.py -- build/dsf train ... a process to start

It samples until the process ends, --seconds have passed, or Ctrl-C, and then compares the end with
the beginning. The first --warmup seconds, in which buffers grow to the largest batch, do not count.

    exit code 0   resident memory grew by less than --limit per cent, open files did not grow
              1   one of them grew, or the process that was started failed
              2   nothing could be measured
"""

import argparse
import os
import signal
import statistics
import subprocess
import sys
import time


def give_up(message):
    """Ends the program: nothing could be measured."""
    print(f"soak: {message}", file=sys.stderr)
    sys.exit(2)


def sample(pid):
    """(resident KiB, anonymous KiB, open files, threads) of a process, or None if it is gone."""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as status:
            fields = dict(line.split(":", 1) for line in status)
        if fields["State"].split()[0] in "ZX":
            return None
        resident, anonymous = (int(fields[name].split()[0]) for name in ("VmRSS", "RssAnon"))
        return resident, anonymous, len(os.listdir(f"/proc/{pid}/fd")), int(fields["Threads"])
    except (FileNotFoundError, ProcessLookupError, KeyError):
        return None
    except PermissionError:
        give_up(f"process {pid} belongs to somebody else")


def watch(pid, seconds, every, out):
    """Samples [(time since start, resident, anonymous, files, threads)]."""
    samples = []
    start = time.monotonic()
    try:
        while True:
            now = time.monotonic() - start
            taken = sample(pid)
            if taken is None:
                break
            samples.append((now, *taken))
            if out:
                print(",".join([f"{now:.1f}", *map(str, taken)]), file=out, flush=True)
            if seconds and now >= seconds:
                break
            time.sleep(every)
    except KeyboardInterrupt:
        pass
    return samples


def growth_of(name, column, head, tail, kept):
    """Prints the course of a column; its growth in per cent."""
    # Medians of the first and last tenth: a checkpoint in progress does not count as growth.
    begin = statistics.median(s[column] for s in head)
    end = statistics.median(s[column] for s in tail)
    growth = 100.0 * (end - begin) / begin
    print(f"{name}  {begin / 1024:.1f} MiB at the start, {end / 1024:.1f} MiB at the end, "
          f"{max(s[column] for s in kept) / 1024:.1f} MiB at most: {growth:+.2f} %")
    return growth


def report(samples, warmup, limit):
    """Prints the figures; True if nothing grew."""
    kept = [s for s in samples if s[0] >= warmup]
    if len(kept) < 10:
        give_up(f"{len(kept)} samples after {warmup:g} s of warm-up, at least 10 are needed")
    tenth = max(len(kept) // 10, 1)
    head, tail = kept[:tenth], kept[-tenth:]
    print(f"time             {kept[-1][0] - kept[0][0]:.0f} s after {warmup:g} s of warm-up, "
          f"{len(kept)} samples")
    growth = growth_of("resident memory", 1, head, tail, kept)
    # Without the pages of programs and files, which the system drops and takes up again as it likes.
    growth_of("of it anonymous", 2, head, tail, kept)
    # While a checkpoint is written a file more is open: the usual number counts.
    files_begin = statistics.mode(s[3] for s in head)
    files_end = statistics.mode(s[3] for s in tail)
    files = [s[3] for s in kept]
    threads = [s[4] for s in kept]
    print(f"open files       {files_begin} at the start, {files_end} at the end, "
          f"{min(files)} to {max(files)} in between")
    print(f"threads          {min(threads)} to {max(threads)}")
    grew = growth >= limit or files_end > files_begin
    print(f"grew             {'yes' if grew else 'no'}")
    return not grew


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", nargs="+", metavar="PID | COMMAND",
                        help="the process to watch, or a command to start and watch")
    parser.add_argument("--seconds", type=float, default=0, help="stop after so long (0: never)")
    parser.add_argument("--every", type=float, default=5, help="seconds between two samples")
    parser.add_argument("--warmup", type=float, default=60, help="seconds that do not count")
    parser.add_argument("--limit", type=float, default=1, help="per cent that memory may grow")
    parser.add_argument("--csv", help="a file to write every sample to")
    options = parser.parse_args()

    started = None
    if len(options.target) == 1 and options.target[0].isdigit():
        pid = int(options.target[0])
        if sample(pid) is None:
            give_up(f"there is no process {pid}")
    else:
        started = subprocess.Popen(options.target)
        pid = started.pid
    out = open(options.csv, "w", encoding="ascii") if options.csv else None
    if out:
        print("seconds,resident_kib,anonymous_kib,open_files,threads", file=out)
    samples = watch(pid, options.seconds, options.every, out)
    if started and started.poll() is None:
        started.send_signal(signal.SIGTERM)
        started.wait()
    if started and started.returncode not in (0, -signal.SIGTERM, -signal.SIGINT):
        print(f"soak: the process ended with {started.returncode}", file=sys.stderr)
        sys.exit(1)
    sys.exit(0 if report(samples, options.warmup, options.limit) else 1)


if __name__ == "__main__":
    main()
