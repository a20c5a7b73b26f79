"""Right by text: how long it takes, and how often 20 and more labels hold the share of right answers.

    python benchmarks/right_by_text.py [--answers 10000] [--draws 400]

The answers are those of the bundled handbook. The simulation draws runs whose words decide as those of short
and long references do against people's labels, labels some at random, and counts how often the interval holds
the run's own share, beside an interval of Wilson from the labels alone.
"""

from __future__ import annotations

import argparse
import gzip
import json
import time
from pathlib import Path

import numpy as np

from ragtriage.data.text.right_by_text import right_by_text
from ragtriage.metrics.statistics.intervals import interval
from ragtriage.metrics.statistics.ppi import post_stratified

HANDBOOK = Path(__file__).parent.parent / "data" / "bundled" / "handbook" / "V1.jsonl.gz"
# of other, undecided, same: share of the run, and of each the share that people call right
RUNS = {
    "short references": ((0.30, 0.15, 0.55), (0.10, 0.55, 0.98)),
    "names in other words": ((0.35, 0.23, 0.42), (0.22, 0.50, 0.93)),
    "long references": ((0.05, 0.80, 0.15), (0.10, 0.60, 0.90)),
    "nearly all right": ((0.02, 0.13, 0.85), (0.50, 0.90, 0.99)),
}
LABELS, SIZES = (20, 30, 50), (100, 200)


def speed(n: int) -> None:
    """Print how long it takes to compare n answers with their references."""
    samples = [json.loads(line) for line in gzip.decompress(HANDBOOK.read_bytes()).splitlines()]
    pairs = [
        (sample["answer"], [sample["reference_answer"]], sample["question"])
        for sample in samples
        if sample.get("reference_answer")
    ]
    started = time.process_time()
    for at in range(n):
        right_by_text(*pairs[at % len(pairs)])
    print(f"{n:,} answers against their references: {time.process_time() - started:.1f} s of processor time")


def coverage(draws: int) -> None:
    """Print coverage and width of the corrected share, and of an interval from the labels alone."""
    random = np.random.default_rng(0)
    print(
        f"\n{'run':<22} {'answers':>7} {'labels':>6} {'coverage':>9} {'width':>6} {'alone':>6} {'width':>6}"
    )
    for name, (shares, right_shares) in RUNS.items():
        for size in SIZES:
            for labels in LABELS:
                held, widths, alone, alone_widths = 0, 0.0, 0, 0.0
                for draw in range(draws):
                    outcome = random.choice(3, size, p=shares).astype(np.int8)
                    right = (random.random(size) < np.array(right_shares)[outcome]).astype(np.float64)
                    labelled = np.zeros(size, dtype=np.bool_)
                    labelled[random.choice(size, labels, replace=False)] = True
                    corrected = post_stratified(outcome, labelled, right, seed=draw)
                    held += corrected.low <= right.mean() <= corrected.high
                    widths += corrected.high - corrected.low
                    chosen = right[labelled]
                    plain = interval(chosen, np.arange(labels), labels, True)
                    alone += plain.low <= right.mean() <= plain.high
                    alone_widths += plain.high - plain.low
                figures = (held / draws, widths / draws, alone / draws, alone_widths / draws)
                print(
                    f"{name:<22} {size:>7} {labels:>6} {figures[0]:>9.3f} {figures[1]:>6.3f} "
                    f"{figures[2]:>6.3f} {figures[3]:>6.3f}"
                )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--answers", type=int, default=10_000)
    parser.add_argument("--draws", type=int, default=400)
    options = parser.parse_args()
    speed(options.answers)
    coverage(options.draws)
