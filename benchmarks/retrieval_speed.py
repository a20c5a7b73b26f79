"""How fast are recall, precision, MRR and nDCG at 10? ragtriage against pytrec_eval, in one process.

python benchmarks/retrieval_speed.py [--questions 200000] [--rounds 3]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pytrec_eval

from ragtriage.data.scoring.gold_join import rankings
from ragtriage.data.store.sample_schema import SCHEMA
from ragtriage.metrics.definitions.retrieval import ndcg, precision, recall, reciprocal_rank
from ragtriage.metrics.schema.batch import Rankings
from ragtriage.metrics.schema.scores import FloatArray, IntArray

DEPTH = 10
POOL = 1_000  # ids a question's list and gold are drawn from are near each other, so that many are found
MEASURES = {"recall_10", "P_10", "recip_rank", "ndcg_cut_10"}
Means = dict[str, float]
TrecRun = dict[str, dict[str, float]]
Gold = dict[str, dict[str, int]]


def draw(questions: int, seed: int = 7) -> tuple[IntArray, IntArray, IntArray]:
    """Draw ranked lists (n, 10), gold ids (n, 3) and their grades (n, 3); a gold id of -1 is none."""
    rng = np.random.default_rng(seed)
    base = rng.integers(0, POOL, (questions, 1))
    found = base + np.argsort(rng.random((questions, 2 * DEPTH)), axis=1)[:, :DEPTH]
    gold = base + np.argsort(rng.random((questions, 2 * DEPTH)), axis=1)[:, :3]
    gold[rng.random(gold.shape) < 0.4] = -1
    gold[:, 0] = np.where(gold[:, 0] < 0, base[:, 0], gold[:, 0])
    gold[(gold[:, 1:] == gold[:, :1]).any(axis=1), 1:] = -1
    return found, gold, rng.integers(1, 4, gold.shape)


def as_table(found: IntArray, gold: IntArray, grades: IntArray) -> Any:
    """Lay the draw out as samples, as they lie in a workspace."""
    n = len(found)
    document, relevant = SCHEMA.field("retrieved").type, SCHEMA.field("relevant").type
    names = pa.array([f"d{one}" for one in found.ravel()])
    documents = _structs(document.value_type, {"id": names})
    known = gold >= 0
    golds = _structs(
        relevant.value_type,
        {"id": pa.array([f"d{one}" for one in gold[known]]), "grade": pa.array(grades[known].astype(float))},
    )
    ends = np.concatenate(([0], np.cumsum(known.sum(axis=1))))
    return pa.table(
        {
            "retrieved": pa.ListArray.from_arrays(np.arange(n + 1, dtype=np.int32) * DEPTH, documents),
            "relevant": pa.ListArray.from_arrays(ends.astype(np.int32), golds),
            "context_mode": pa.nulls(n, pa.string()),
        }
    )


def _structs(kind: Any, given: Mapping[str, Any]) -> Any:
    size = len(given["id"])
    parts = [given.get(field.name, pa.nulls(size, field.type)) for field in kind]
    return pa.StructArray.from_arrays(parts, fields=list(kind))


def as_dicts(found: IntArray, gold: IntArray, grades: IntArray) -> tuple[TrecRun, Gold]:
    """Lay the draw out as pytrec_eval takes it."""
    run = {
        f"q{at}": {f"d{one}": float(DEPTH - rank) for rank, one in enumerate(row)}
        for at, row in enumerate(found.tolist())
    }
    judged = {
        f"q{at}": {f"d{one}": grade for one, grade in zip(ids, levels, strict=True) if one >= 0}
        for at, (ids, levels) in enumerate(zip(gold.tolist(), grades.tolist(), strict=True))
    }
    return run, judged


def by_ragtriage(table: Any) -> Means:
    """Join the lists with their gold and compute the four metrics."""
    ranked = rankings(table)
    assert ranked is not None
    return by_metrics(ranked)


def by_metrics(ranked: Rankings) -> Means:
    """Compute the four metrics on lists that are joined already."""
    formulas = {"recall_10": recall, "P_10": precision, "recip_rank": reciprocal_rank, "ndcg_cut_10": ndcg}
    return {name: float(np.mean(formula(ranked, DEPTH).values)) for name, formula in formulas.items()}


def by_pytrec_eval(run: TrecRun, judged: Gold) -> Means:
    """Compute the four metrics by trec_eval's own code."""
    names = {"recall.10", "P.10", "recip_rank", "ndcg_cut.10"}
    results = pytrec_eval.RelevanceEvaluator(judged, names).evaluate(run)
    values: FloatArray = np.array([[one[name] for name in sorted(MEASURES)] for one in results.values()])
    return dict(zip(sorted(MEASURES), values.mean(axis=0).tolist(), strict=True))


def fastest(work: Callable[[], Means], rounds: int) -> tuple[float, Means]:
    """Give the best wall time in seconds, and what was computed."""
    best, found = float("inf"), {}
    for _ in range(rounds):
        start = time.perf_counter()
        found = work()
        best = min(best, time.perf_counter() - start)
    return best, found


def main() -> None:
    """Measure, check that both sides agree, and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--questions", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    drawn = draw(given.questions)
    scored = as_table(*drawn)
    run, judged = as_dicts(*drawn)
    ranked = rankings(scored)
    assert ranked is not None
    theirs, wanted = fastest(lambda: by_pytrec_eval(run, judged), given.rounds)
    whole, found = fastest(lambda: by_ragtriage(scored), given.rounds)
    formulas, _ = fastest(lambda: by_metrics(ranked), given.rounds)
    assert all(abs(found[name] - wanted[name]) < 1e-9 for name in MEASURES), (found, wanted)
    print(f"{given.questions:,} questions x {DEPTH}; both sides agree on the four means within 1e-9")
    print(f"{'pytrec_eval, dictionaries to means':44}{theirs:8.3f} s")
    print(f"{'ragtriage, Arrow table to means':44}{whole:8.3f} s{theirs / whole:8.1f} x as fast")
    print(f"{'ragtriage, joined arrays to means':44}{formulas:8.3f} s{theirs / formulas:8.1f} x as fast")


if __name__ == "__main__":
    main()
