"""recall@10, nDCG@10, MRR@10 and P@10 from Parquet to means: ragtriage, pytrec_eval and ranx.

    python benchmarks/retrieval_parquet.py [--questions N] [--rounds N] [--folder F]
        [--tools ragtriage,pytrec_eval,ranx] [--ranx PYTHON]

Each tool runs in a process of its own on the same draw, the tools in turn, round by round. Times are without
the start of the interpreter and its imports; memory is the greatest resident size of the process, with them.
ragtriage reads samples as they lie in a workspace; the others read long rows of question, document and score.
PYTHON is an interpreter with ranx, pyarrow and pandas: ranx need not share the environment of ragtriage.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from peak_memory import peak_mb

MEASURES = ("recall_10", "ndcg_10", "mrr_10", "p_10")
DEPTH = 10
ROWS = 65_536  # rows a row group
IDS = ["retrieved.list.element.id", "relevant.list.element.id", "relevant.list.element.grade", "context_mode"]
TOOLS = ("ragtriage", "pytrec_eval", "ranx")


def write(folder: Path, questions: int) -> None:
    """Write the same draw as samples and as long rows."""
    from retrieval_speed import as_table, draw

    found, gold, grades = draw(questions)
    pq.write_table(as_table(found, gold, grades), folder / "samples.parquet", row_group_size=ROWS)
    ids = np.array([f"q{at}" for at in range(questions)], dtype=object)
    run = {
        "question": pa.array(np.repeat(ids, DEPTH)),
        "document": pa.array([f"d{one}" for one in found.ravel()]),
        "score": pa.array(np.tile(np.arange(DEPTH, 0, -1, dtype=np.float64), questions)),
    }
    pq.write_table(pa.table(run), folder / "run.parquet", row_group_size=ROWS * DEPTH)
    known = gold >= 0
    qrels = {
        "question": pa.array(np.repeat(ids, known.sum(axis=1))),
        "document": pa.array([f"d{one}" for one in gold[known]]),
        "grade": pa.array(grades[known]),
    }
    pq.write_table(pa.table(qrels), folder / "qrels.parquet", row_group_size=ROWS * DEPTH)


def by_ragtriage(folder: Path) -> dict[str, float]:
    """Join and compute a row group at a time, two at once; the ids stay the numbers that the file has."""
    from ragtriage.data.scoring.gold_join import rankings
    from ragtriage.metrics.definitions.retrieval import ndcg, precision, recall, reciprocal_rank

    path = folder / "samples.parquet"
    groups = pq.read_metadata(path).num_row_groups
    formulas = (recall, ndcg, reciprocal_rank, precision)

    def sums(group: int) -> list[float]:
        with pq.ParquetFile(path, read_dictionary=IDS[:2]) as file:
            ranked = rankings(file.read_row_group(group, columns=IDS, use_threads=False))
        assert ranked is not None
        values = [formula(ranked, DEPTH).values for formula in formulas]
        return [*(float(np.nansum(one)) for one in values), float(np.isfinite(values[0]).sum())]

    with ThreadPoolExecutor(2) as pool:
        total = np.sum(list(pool.map(sums, range(groups))), axis=0)
    return dict(zip(MEASURES, (total[:4] / total[4]).tolist(), strict=True))


def _dictionaries(folder: Path) -> tuple[dict[str, dict[str, float]], dict[str, dict[str, int]]]:
    run: dict[str, dict[str, float]] = {}
    scored = pq.read_table(folder / "run.parquet")
    rows = zip(
        scored["question"].to_pylist(),
        scored["document"].to_pylist(),
        scored["score"].to_pylist(),
        strict=True,
    )
    for question, document, score in rows:
        run.setdefault(question, {})[document] = score
    qrels: dict[str, dict[str, int]] = {}
    scored = pq.read_table(folder / "qrels.parquet")
    rows = zip(
        scored["question"].to_pylist(),
        scored["document"].to_pylist(),
        scored["grade"].to_pylist(),
        strict=True,
    )
    for question, document, grade in rows:
        qrels.setdefault(question, {})[document] = grade
    return run, qrels


def by_pytrec_eval(folder: Path) -> dict[str, float]:
    """Build the dictionaries that it takes, and evaluate."""
    import pytrec_eval

    run, qrels = _dictionaries(folder)
    names = ("recall_10", "ndcg_cut_10", "recip_rank", "P_10")
    results = pytrec_eval.RelevanceEvaluator(
        qrels, {"recall.10", "ndcg_cut.10", "recip_rank", "P.10"}
    ).evaluate(run)
    values = np.array([[one[name] for name in names] for one in results.values()])
    return dict(zip(MEASURES, values.mean(axis=0).tolist(), strict=True))


def _frame(path: Path) -> Any:
    """Read a data frame whose texts are objects, which it insists on."""
    import pandas as pd

    frame = pd.read_parquet(path)
    texts = frame.select_dtypes(include=["string"]).columns
    return frame.astype(dict.fromkeys(texts, object))


def by_ranx(folder: Path) -> dict[str, float]:
    """Read by its own reader of data frames, and evaluate."""
    from ranx import Qrels, Run, evaluate

    columns = {"q_id_col": "question", "doc_id_col": "document"}
    run = Run.from_df(_frame(folder / "run.parquet"), score_col="score", **columns)
    qrels = Qrels.from_df(_frame(folder / "qrels.parquet"), score_col="grade", **columns)
    found = evaluate(qrels, run, ["recall@10", "ndcg@10", "mrr@10", "precision@10"])
    return dict(zip(MEASURES, [float(one) for one in found.values()], strict=True))


WORK = {"ragtriage": by_ragtriage, "pytrec_eval": by_pytrec_eval, "ranx": by_ranx}
NEEDS = {
    "ragtriage": ("ragtriage.data.scoring.gold_join", "ragtriage.metrics.definitions.retrieval", "pandas"),
    "pytrec_eval": ("pytrec_eval",),
    "ranx": ("ranx", "pandas"),
}


def one(tool: str, folder: Path) -> None:
    """Run one tool and print what it took, as JSON."""
    for name in NEEDS[tool]:
        __import__(name)
    before, start = os.times(), time.perf_counter()
    means = WORK[tool](folder)
    wall, after = time.perf_counter() - start, os.times()
    cpu = after.user - before.user + after.system - before.system
    print(json.dumps({"wall": wall, "cpu": cpu, "mb": peak_mb(), "load": os.getloadavg()[0], "means": means}))


def measured(folder: Path, tools: dict[str, str], rounds: int) -> dict[str, list[dict[str, Any]]]:
    """Run the tools in turn, each by its interpreter; gives the rounds of each that could be run."""
    found: dict[str, list[dict[str, Any]]] = {tool: [] for tool in tools}
    for _ in range(rounds):
        for tool, python in tools.items():
            command = [python, __file__, "--one", tool, "--folder", str(folder)]
            ended = subprocess.run(command, capture_output=True, text=True, check=False)
            if ended.returncode:
                why = (ended.stderr.strip() or "ended early").splitlines()[-1]
                print(f"{tool}: not run ({why})")
            else:
                found[tool].append(json.loads(ended.stdout.splitlines()[-1]))
    first = found["ragtriage"][0]["means"]
    for tool, rows in found.items():
        for row in rows:
            gap = max(abs(first[name] - row["means"][name]) for name in MEASURES)
            assert gap < 1e-6, (tool, first, row["means"])
    return {tool: rows for tool, rows in found.items() if rows}


def report(found: dict[str, list[dict[str, Any]]]) -> None:
    """Print the median of each figure, and how often ragtriage fits into each tool's time, round by round."""
    print(f"{'':14}{'processor':>10}{'wall':>10}{'memory':>10}   times ragtriage: processor, wall; load")
    ours = found["ragtriage"]
    for tool, rows in found.items():
        cpu, wall, mb, load = (
            statistics.median(row[name] for row in rows) for name in ("cpu", "wall", "mb", "load")
        )
        times = [
            statistics.median(row[name] / mine[name] for row, mine in zip(rows, ours, strict=False))
            for name in ("cpu", "wall")
        ]
        print(
            f"{tool:14}{cpu:8.2f} s{wall:8.2f} s{mb:7,.0f} MB{times[0]:10.1f} x{times[1]:8.1f} x{load:8.1f}"
        )


def main() -> None:
    """Write the files, run the tools, check that they agree, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--questions", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--tools", default="ragtriage,pytrec_eval")
    parser.add_argument("--ranx", default=sys.executable, metavar="PYTHON")
    parser.add_argument("--one", choices=TOOLS, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        one(given.one, given.folder)
        return
    tools = {tool: given.ranx if tool == "ranx" else sys.executable for tool in given.tools.split(",")}
    with tempfile.TemporaryDirectory() as scratch:
        folder = given.folder or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / "qrels.parquet").exists():
            write(folder, given.questions)
        found = measured(folder, tools, given.rounds)
    print(f"{given.questions:,} questions x {DEPTH}, Parquet to four means; all agree within 1e-6")
    report(found)


if __name__ == "__main__":
    main()
