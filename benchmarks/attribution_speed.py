"""What the words of a sample cost: attribution, overlap of documents and refusals, compiled and in Python.

    python benchmarks/attribution_speed.py [--questions 4000] [--folder F]

Processor time of one process over drawn samples (ten chunks a question), the loops loaded before. Compiled
needs the extra `fast`. A refusal is what one answer costs, by the expressions that its words allow.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from make_runs import make_runs

from ragtriage.data.store.sample_schema import Ragged
from ragtriage.data.suites.contexts import BatchWords, CompiledWords, PlainWords
from ragtriage.data.text.compiled.engine import compiled_loops
from ragtriage.data.text.refusal_detection import detect_refusal


def measure(folder: Path, questions: int) -> dict[str, float]:
    """Return samples a second of attribution alone and with overlaps, by way, and microseconds a refusal."""
    path = folder / "version-1.jsonl"
    lines = (
        (path if path.exists() else make_runs(folder, questions, 1)[0]).read_text("utf-8").splitlines()[1:]
    )
    samples = [json.loads(line) for line in lines]
    documents = [[{"text": document["text"]} for document in sample["retrieved"]] for sample in samples]
    retrieved = Ragged.of(pa.array(documents))
    loops = compiled_loops()
    ways: dict[str, Callable[[], BatchWords]] = {"Python": lambda: PlainWords(retrieved)}
    if loops is not None:
        CompiledWords(retrieved, loops).shares(np.arange(1), ["loaded"])
        ways["compiled"] = lambda: CompiledWords(retrieved, loops)
    found = {}
    for name, made in ways.items():
        found[f"attribution, {name}"] = len(samples) / _seconds(_attribute, made, samples)
        found[f"attribution and overlap, {name}"] = len(samples) / _seconds(_both, made, samples)
    answers = [sample["answer"] for sample in samples]
    found["refusal"] = (
        _seconds(lambda: [detect_refusal.__wrapped__(answer) for answer in answers]) / len(answers) * 1e6
    )
    return found


def _attribute(made: Callable[[], BatchWords], samples: list[Any]) -> BatchWords:
    words = made()
    words.shares(np.arange(len(samples)), [sample["answer"] for sample in samples])
    return words


def _both(made: Callable[[], BatchWords], samples: list[Any]) -> None:
    words = _attribute(made, samples)
    words.overlaps(np.arange(len(samples)), [sample["question"] for sample in samples])


def _seconds(work: Callable[..., Any], *given: Any, rounds: int = 3) -> float:
    """Return the least processor time of a few rounds."""
    times = []
    for _ in range(rounds):
        start = time.process_time()
        work(*given)
        times.append(time.process_time() - start)
    return min(times)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--questions", type=int, default=4_000)
    parser.add_argument("--folder", type=Path, help="keep the drawn file here and use it again")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ragtriage-bench-") as temporary:
        found = measure(given.folder or Path(temporary), given.questions)
    for name, value in found.items():
        print(f"{name:44}{value:12,.0f} {'microseconds' if name == 'refusal' else 'samples/s'}")


if __name__ == "__main__":
    main()
