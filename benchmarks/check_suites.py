"""How long do checks take? Samples with five checks each: import, evaluating, scoring, opening the page.

python benchmarks/check_suites.py [--samples 100000] [--folder FOLDER]
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from ragtriage.dashboard.suites.registry import shown_suite
from ragtriage.data.api import add_file, open_store
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.store.sample_schema import conform
from ragtriage.data.suites.check_table import CheckFilter, check_page, suite_summaries
from ragtriage.data.suites.registry import evaluated_checks

ROUTES = ["billing", "sales", "support", "oos"]
WRONG = 0.1  # share of each check that fails


def samples(n: int, seed: int = 7) -> Iterator[dict[str, Any]]:
    """Yield samples with a check of a router, a tool, a filter, a format and of a suite of their own."""
    draws = np.random.default_rng(seed).random((n, 6))
    for at, (route, taken, tool, dates, words, tone) in enumerate(draws.tolist()):
        expected = ROUTES[int(route * len(ROUTES))]
        city = "Bonn" if tool > WRONG else "Cologne"
        yield {
            "question_id": f"q{at}",
            "question": f"Number {at}: two nights in Bonn after 2024?",
            "answer": "A hotel. [1]",
            "checks": [
                _check("route", "router", expected, expected if taken > WRONG else "oos"),
                _check("call", "tool", [_call("Bonn")], [_call(city)]),
                _check("year", "filter", {"year": 2024}, {"year": 2024 if dates > WRONG else 2023}),
                _check("pattern", "format", {"regex": r"\[\d+\]"}, "See [1]" if words > WRONG else "See it"),
                _check("tone", "tone", "calm", "calm" if tone > WRONG else "loud"),
            ],
        }


def _check(name: str, kind: str, expected: Any, actual: Any) -> dict[str, Any]:
    return {"name": name, "kind": kind, "expected": expected, "actual": actual}


def _call(city: str) -> dict[str, Any]:
    return {"name": "search", "arguments": {"city": city, "nights": 2}}


def _timed(title: str, work: Callable[[], Any]) -> Any:
    start, before = time.perf_counter(), sum(os.times()[:4])
    result = work()
    wall, processor = time.perf_counter() - start, sum(os.times()[:4]) - before
    print(f"| {title} | {wall:.2f} s | {processor:.2f} s |", flush=True)
    return result


def open_page(scored: ScoredRun) -> int:
    """Do what the page Checks does when it is opened on each suite in turn; return the failing checks."""
    total = 0
    for summary in suite_summaries(scored):
        shown_suite(scored, summary.key)
        total += check_page(scored, CheckFilter(summary.key)).total
    return total


def main() -> None:
    """Print a row for each step."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--samples", type=int, default=100_000)
    parser.add_argument("--folder", default="")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(chosen.folder or temporary)
        path, workspace = folder / "checks.jsonl", str(folder / "workspace")
        with path.open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(sample) + "\n" for sample in samples(chosen.samples))
        print(f"{chosen.samples:,} samples x 5 checks, {path.stat().st_size / 1e6:.0f} MB\n")
        print("| step | time | processor time |\n|---|---|---|")
        (run,) = _timed("import and scoring", lambda: add_file(str(path), workspace=workspace))
        store = open_store(workspace)
        table = conform(pq.read_table(store.workspace.samples_path(run.run_id)))
        _timed("evaluating the checks, one process", lambda: evaluated_checks(table))
        scored = store.scored(run)
        _timed("the worst suite and its first page", lambda: _first(scored))
        failing = _timed("every suite, its section and first page", lambda: open_page(store.scored(run)))
        _timed("another page of failing checks", lambda: check_page(scored, CheckFilter("tone"), page=200))
        print(f"\n{failing:,} checks fail")


def _first(scored: ScoredRun) -> None:
    worst = suite_summaries(scored)[0].key
    shown_suite(scored, worst)
    check_page(scored, CheckFilter(worst))


if __name__ == "__main__":
    main()
