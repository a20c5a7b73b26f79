"""How many samples a second are imported and scored on one core and on two, and with how much memory?

    python benchmarks/scoring_speed.py [--questions 20000] [--folder F]

A process of its own imports one drawn file (ten chunks a question) into a new workspace, from the file to
stored scores; its start does not count. Memory is the greatest resident size of the importing process: of the
whole file, and of a tenth of it.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from make_runs import make_runs
from peak_memory import peak_mb


def imported(path: Path, cores: int) -> dict[str, float]:
    """Import and score a file in a process of its own; gives samples, wall and processor seconds, and MB."""
    command = [sys.executable, __file__, "--import-file", str(path), "--cores", str(cores)]
    ended = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    result: dict[str, float] = json.loads(ended.stdout.splitlines()[-1])
    return result


def _import(path: Path, cores: int) -> dict[str, float]:
    from ragtriage.data.importers.importer import Options
    from ragtriage.data.importers.load import import_source
    from ragtriage.data.importers.parsing.input_file import InputFile
    from ragtriage.data.scoring.run_store import RunStore
    from ragtriage.data.store.workspace import Workspace

    os.sched_setaffinity(0, set(itertools.islice(sorted(os.sched_getaffinity(0)), cores)))
    with tempfile.TemporaryDirectory(prefix="ragtriage-bench-") as folder:
        store = RunStore(Workspace(Path(folder) / "workspace").create())
        start, before = time.perf_counter(), sum(os.times()[:4])
        samples = import_source(store, InputFile.from_path(path), Options(), "bench")[0].run.n
        wall, processor = time.perf_counter() - start, sum(os.times()[:4]) - before
    return {"samples": samples, "wall": wall, "processor": processor, "mb": peak_mb()}


def measure(folder: Path, questions: int) -> dict[str, float]:
    """Return samples a second on two cores, on one, and by processor time, and MB of all and of a tenth."""
    whole, tenth = (_drawn(folder / f"{n}-questions", n) for n in (questions, questions // 10))
    two, one = imported(whole, 2), imported(whole, 1)
    return {
        "two": two["samples"] / two["wall"],
        "one": one["samples"] / one["wall"],
        "a core": one["samples"] / one["processor"],
        "mb": two["mb"],
        "mb of a tenth": imported(tenth, 2)["mb"],
    }


def _drawn(folder: Path, questions: int) -> Path:
    path = folder / "version-1.jsonl"
    return path if path.exists() else make_runs(folder, questions, 1)[0]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--questions", type=int, default=20_000)
    parser.add_argument("--folder", type=Path, help="keep the drawn files here and use them again")
    parser.add_argument("--import-file", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--cores", type=int, default=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.import_file:
        print(json.dumps(_import(given.import_file, given.cores)))
        return
    with tempfile.TemporaryDirectory(prefix="ragtriage-bench-") as temporary:
        found = measure(given.folder or Path(temporary), given.questions)
    print(f"{given.questions:,} questions, import and scoring")
    print(f"{'on two cores':44}{found['two']:12,.0f} samples/s")
    print(f"{'on one core':44}{found['one']:12,.0f} samples/s")
    print(f"{'by processor time of one core':44}{found['a core']:12,.0f} samples/s")
    print(f"{'memory of the whole file':44}{found['mb']:12,.0f} MB")
    print(f"{'memory of a tenth':44}{found['mb of a tenth']:12,.0f} MB")


if __name__ == "__main__":
    main()
