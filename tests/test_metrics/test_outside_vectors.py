"""The numbers of trec_eval, RAGChecker and a published Russian evaluation, reproduced."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st
from metric_batches import ClaimRow, Row, answer_claims, documents, rankings, reference_claims
from places import FIXTURES

from ragtriage.metrics.definitions import retrieval
from ragtriage.metrics.metric_registry import compute
from ragtriage.metrics.schema.batch import Batch
from ragtriage.metrics.schema.scores import Status

KS = (1, 3, 10)
TREC = {
    "recall@{}": "recall_{}",
    "precision@{}": "P_{}",
    "hit@{}": "success_{}",
    "ndcg@{}": "ndcg_cut_{}",
    "map@{}": "map_cut_{}",
}
DOCUMENT = st.integers(0, 25).map("d{}".format)
RUN = st.dictionaries(DOCUMENT, st.integers(-3, 6), min_size=1, max_size=15)  # few scores, many ties
JUDGED = st.dictionaries(DOCUMENT, st.integers(0, 3), min_size=1, max_size=12)


def trec_order(run: dict[str, int]) -> list[str]:
    """Score descending, ties by document id descending, as trec_eval sorts."""
    return sorted(sorted(run, reverse=True), key=lambda document: -run[document])


def ours(rows: list[Row], ks: tuple[int, ...]) -> dict[str, Any]:
    batch = Batch(n=len(rows), documents=documents(rows), rankings=rankings(rows))
    return compute(batch, ks)


def trec(qrels: dict[str, dict[str, int]], runs: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
    cuts = ",".join(map(str, KS))
    measures = {f"{name}.{cuts}" for name in ("recall", "P", "success", "ndcg_cut", "map_cut")}
    results: dict[str, dict[str, float]] = pytrec_eval.RelevanceEvaluator(
        qrels, measures | {"recip_rank"}
    ).evaluate(runs)
    return results


@settings(max_examples=150)
@given(topics=st.lists(st.tuples(st.none() | RUN, JUDGED), min_size=1, max_size=5))
def test_trec_eval_agrees_over_random_rankings(
    topics: list[tuple[dict[str, int] | None, dict[str, int]]],
) -> None:
    qrels = {f"q{i}": judged for i, (_, judged) in enumerate(topics)}
    runs = {
        f"q{i}": {d: float(s) for d, s in run.items()} for i, (run, _) in enumerate(topics) if run is not None
    }
    rows = [
        Row(
            retrieved=None if run is None else trec_order(run),
            gold={document: grade for document, grade in judged.items() if grade > 0},
        )
        for run, judged in topics
    ]
    expected = trec(qrels, runs) if runs else {}
    scores = ours(rows, KS)
    for i, (run, _) in enumerate(topics):
        for name, measure in [(a.format(k), b.format(k)) for a, b in TREC.items() for k in KS]:
            if run is None:  # trec_eval leaves a missing topic out; it is not run here
                assert f"q{i}" not in expected
                assert scores[name].status[i] == Status.NOT_RUN
            elif not rows[i].gold:  # trec_eval gives 0; without relevant documents it has no meaning here
                assert expected[f"q{i}"][measure] == 0.0
                assert scores[name].status[i] == Status.NOT_APPLICABLE
            else:
                assert scores[name].values[i] == pytest.approx(expected[f"q{i}"][measure], abs=1e-9), name


@settings(max_examples=100)
@given(run=RUN, judged=JUDGED.filter(lambda judged: any(judged.values())), k=st.integers(1, 20))
def test_reciprocal_rank_at_k_is_trec_evals_on_a_run_cut_at_k(
    run: dict[str, int], judged: dict[str, int], k: int
) -> None:
    order = trec_order(run)
    cut = {document: float(-rank) for rank, document in enumerate(order[:k])}
    gold = {document: grade for document, grade in judged.items() if grade > 0}
    value = retrieval.reciprocal_rank(rankings([Row(retrieved=order, gold=gold)]), k).values[0]
    assert value == pytest.approx(trec({"q": judged}, {"q": cut})["q"]["recip_rank"], abs=1e-9)


@settings(max_examples=100)
@given(
    order=st.lists(DOCUMENT, min_size=1, max_size=15),
    judged=JUDGED.filter(lambda judged: any(judged.values())),
)
def test_a_repeat_scores_as_an_unjudged_document_in_its_place(
    order: list[str], judged: dict[str, int]
) -> None:
    seen: set[str] = set()
    run: dict[str, float] = {}
    for rank, document in enumerate(order):
        run[f"repeat at {rank}" if document in seen else document] = float(-rank)
        seen.add(document)
    gold = {document: grade for document, grade in judged.items() if grade > 0}
    scores = ours([Row(retrieved=order, gold=gold)], KS)
    expected = trec({"q": judged}, {"q": run})["q"]
    for name, measure in [(a.format(k), b.format(k)) for a, b in TREC.items() for k in KS]:
        assert scores[name].values[0] == pytest.approx(expected[measure], abs=1e-9), name


def trec_eval_rows() -> tuple[list[str], list[Row]]:
    runs: dict[str, dict[str, float]] = {}
    for line in (FIXTURES / "trec_eval" / "results.test").read_text().splitlines():
        topic, _, document, _, score, _ = line.split()
        runs.setdefault(topic, {})[document] = float(score)
    gold: dict[str, dict[str, float]] = {}
    for line in (FIXTURES / "trec_eval" / "qrels.relevant").read_text().splitlines():
        topic, _, document, grade = line.split()
        gold.setdefault(topic, {})[document] = float(grade)
    order = {t: sorted(sorted(run, reverse=True), key=lambda d: -run[d]) for t, run in runs.items()}
    return list(runs), [Row(retrieved=order[topic], gold=gold[topic]) for topic in runs]


def test_trec_evals_own_published_numbers() -> None:
    topics, rows = trec_eval_rows()
    lines = (FIXTURES / "trec_eval" / "out.test.aq").read_text().splitlines()
    published = {(m, topic): value for m, topic, value in map(str.split, lines)}
    ks = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
    names = [
        (a.format(k), b.format(k)) for a, b in TREC.items() for k in ks if (b.format(k), "all") in published
    ]
    names += [("mrr@1000", "recip_rank"), ("map@1000", "map")]
    scores = ours(rows, ks)
    for name, measure in names:
        for i, topic in enumerate(topics):
            assert f"{scores[name].values[i]:.4f}" == published[measure, topic], (name, topic)
        assert f"{np.mean(scores[name].values):.4f}" == published[measure, "all"], name
    assert len(names) == 9 * 4 + 2 + 2  # success has cut-offs 5 and 10 only


RAGCHECKER = {
    "precision": "answer_precision",
    "recall": "answer_recall",
    "f1": "answer_f1",
    "claim_recall": "context_recall",
    "context_precision": "chunk_precision",
    "context_utilization": "context_utilization",
    "noise_sensitivity_in_relevant": "noise_sensitivity_relevant",
    "noise_sensitivity_in_irrelevant": "noise_sensitivity_irrelevant",
    "hallucination": "hallucination",
    "self_knowledge": "self_knowledge",
    "faithfulness": "faithfulness",
}


def ragchecker_row(result: dict[str, Any]) -> Row:
    def claims(verdicts: list[str], by_document: list[list[str]]) -> list[ClaimRow]:
        def ranks(labels: list[str], wanted: str) -> list[int]:
            return [rank for rank, label in enumerate(labels, start=1) if label == wanted]

        return [
            ClaimRow(int(verdict == "Entailment"), ranks(row, "Entailment"), ranks(row, "Contradiction"))
            for verdict, row in zip(verdicts, by_document, strict=True)
        ]

    return Row(
        retrieved=[context["doc_id"] for context in result["retrieved_context"]],
        claims=claims(result["answer2response"], result["retrieved2response"]),
        reference=claims(result["response2answer"], result["retrieved2answer"]),
    )


def test_ragcheckers_own_published_numbers() -> None:
    published = json.loads((FIXTURES / "ragchecker" / "checking_outputs.json").read_text())
    rows = [ragchecker_row(result) for result in published["results"]]
    batch = Batch(
        n=len(rows),
        documents=documents(rows),
        claims=answer_claims(rows),
        reference_claims=reference_claims(rows),
    )
    scores = compute(batch, convention="ragchecker")
    per_question = [
        (scores[RAGCHECKER[name]].values[i], value)
        for i, result in enumerate(published["results"])
        for name, value in result["metrics"].items()
    ]
    assert len(per_question) == 22
    assert [ours for ours, _ in per_question] == pytest.approx(
        [theirs for _, theirs in per_question], abs=1e-15
    )
    aggregates = {name: value for part in published["metrics"].values() for name, value in part.items()}
    assert len(aggregates) == 11
    means = {name: round(100 * float(np.mean(scores[RAGCHECKER[name]].values)), 1) for name in aggregates}
    assert means == aggregates


def test_a_published_evaluation_recomputed() -> None:
    """Its mrr@10 holds; its ndcg@5 (.5326) is normalised by what it found, its map (.5972) is too high."""
    questions = json.loads((FIXTURES / "ru_transneft" / "rankings.json").read_text())
    rows = [Row(retrieved=q["retrieved"], gold=dict.fromkeys(q["relevant"], 1.0)) for q in questions]
    scores = ours(rows, (5, 10, 100))
    assert round(float(np.mean(scores["mrr@10"].values)), 4) == 0.5333
    assert round(float(np.mean(scores["ndcg@5"].values)), 4) == 0.4745
    assert round(float(np.mean(scores["map@100"].values)), 4) == 0.4306
    assert scores["recall@5"].status.tolist() == [Status.SCORED] * 10  # one list is empty, and scores 0
