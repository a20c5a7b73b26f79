"""Span, budget and chunk-count metrics against sets of characters, where characters are not bytes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragtriage.data.chunking.chunkers import STRATEGIES, UNITS, Chunking, Strategy, TokenizedText, chunks_of
from ragtriage.data.chunking.corpus import Corpus, Document
from ragtriage.data.chunking.grid_plan import GridPlan, plan_configurations
from ragtriage.data.chunking.grid_search import run_grid
from ragtriage.data.chunking.questions import Questions
from ragtriage.data.scoring.gold_join import span_rankings
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.sample_schema import SCHEMA
from ragtriage.metrics.definitions.spans import BUDGETS
from ragtriage.metrics.metric_registry import compute
from ragtriage.metrics.schema.batch import Batch

KS = (1, 3, 10)
NAN = float("nan")
MIXED = st.text(alphabet="ab .\n#北京是的😀👩\u200dжда", min_size=1, max_size=120)
Place = tuple[str, int]


@dataclass(frozen=True)
class Ranked:
    """One retrieved chunk: its characters and its tokens."""

    read: frozenset[Place]
    tokens: int


def _characters(one: Any) -> frozenset[Place]:
    return frozenset((one["doc_id"], at) for at in range(one["start"], one["end"]))


def _spans(gold: frozenset[Place], top: Sequence[Ranked]) -> dict[str, float]:
    """Recall, precision, IoU and nDCG of the characters in a list, each character looked at by itself.

    Precision and IoU divide by the lengths of the chunks, as chunking_evaluation does.
    """
    read: set[Place] = set()
    gain = 0.0
    lengths = sum(len(chunk.read) for chunk in top)
    for rank, chunk in enumerate(top, 1):
        gain += len((chunk.read - read) & gold) / math.log2(rank + 1)
        read |= chunk.read
    return {
        "recall": len(read & gold) / len(gold),
        "precision": len(read & gold) / lengths if read else NAN,
        "iou": len(read & gold) / (lengths + len(gold - read)),
        "distinct_precision": len(read & gold) / len(read) if read else NAN,
        "distinct_iou": len(read & gold) / len(read | gold),
        "ndcg": gain / len(gold),
    }


def _counts(gold: frozenset[Place], top: Sequence[Ranked], k: int, relevant: int) -> dict[str, float]:
    """Recall, precision and nDCG of the chunks with gold among the first k."""
    hits = [bool(chunk.read & gold) for chunk in top]
    ideal = sum(1 / math.log2(rank + 1) for rank in range(1, min(relevant, k) + 1))
    gain = sum(1 / math.log2(rank + 1) for rank, hit in enumerate(hits, 1) if hit)
    return {
        "recall": sum(hits) / relevant if relevant else NAN,
        "precision": sum(hits) / k,
        "ndcg": gain / ideal if relevant else NAN,
    }


def _within(ranked: Sequence[Ranked], budget: int) -> Sequence[Ranked]:
    for at in range(len(ranked)):
        if sum(chunk.tokens for chunk in ranked[: at + 1]) > budget:
            return ranked[:at]
    return ranked


def _slowly(gold: frozenset[Place], ranked: Sequence[Ranked], relevant: int) -> dict[str, float]:
    found: dict[str, float] = {}
    for k in KS:
        found |= {f"span_{name}@{k}": value for name, value in _spans(gold, ranked[:k]).items()}
        counts = _counts(gold, ranked[:k], k, relevant)
        found |= {f"chunk_count_{name}@{k}": value for name, value in counts.items()}
    for budget in BUDGETS:
        inside = _spans(gold, _within(ranked, budget))
        found |= {f"span_{name}_budget@{budget}": value for name, value in inside.items()}
    return found


def _computed(sample: dict[str, Any]) -> dict[str, float]:
    table = pa.Table.from_pylist([sample], schema=SCHEMA)
    batch = Batch(n=1, documents=np.array([len(sample["retrieved"])]), spans=span_rankings(table))
    return {name: float(one.values[0]) for name, one in compute(batch, KS).items()}


@st.composite
def _samples(draw: st.DrawFn) -> tuple[dict[str, Any], int]:
    """Two texts cut in one way, some of their chunks in any order, and gold anywhere in them.

    The tokens of the chunks are drawn, so that lists run over every budget.
    """
    texts = {"a": draw(MIXED), "b": draw(MIXED)}
    strategy, size = draw(st.sampled_from(STRATEGIES)), draw(st.integers(1, 12))
    overlap = draw(st.integers(0, size - 1)) if strategy == "fixed" else 0
    cut = Chunking(strategy, size, overlap, draw(st.sampled_from(UNITS)))
    pieces = [
        {"id": f"{name}:{at}", "doc_id": name, "start": one.start, "end": one.end}
        for name, text in texts.items()
        for at, one in enumerate(chunks_of(TokenizedText(text), cut))
    ]
    spans = []
    for _ in range(draw(st.integers(1, 4))):
        name = draw(st.sampled_from(["a", "b"]))
        start = draw(st.integers(0, len(texts[name]) - 1))
        spans.append({"doc_id": name, "start": start, "end": draw(st.integers(start + 1, len(texts[name])))})
    found = draw(st.permutations(pieces))[: draw(st.integers(0, 12))]
    gold = frozenset[Place]().union(*map(_characters, spans))
    relevant = sum(bool(_characters(piece) & gold) for piece in pieces)
    tokens = [draw(st.integers(1, 900)) for _ in found]
    sample = {"retrieved": found, "relevant_spans": spans, "retrieved_tokens": tokens}
    return sample, relevant


@settings(max_examples=200)
@given(_samples())
def test_metrics_equal_a_count_of_characters(drawn: tuple[dict[str, Any], int]) -> None:
    sample, relevant = drawn
    gold = frozenset[Place]().union(*map(_characters, sample["relevant_spans"]))
    pairs = zip(sample["retrieved"], sample["retrieved_tokens"], strict=True)
    ranked = [Ranked(_characters(one), tokens) for one, tokens in pairs]
    computed = _computed({**sample, "relevant_chunks": relevant})
    expected = _slowly(gold, ranked, relevant)
    if not ranked:  # without any list of tokens, the budgets are not computed
        expected = {name: value for name, value in expected.items() if name in computed}
    assert {name: computed[name] for name in expected} == pytest.approx(expected, abs=1e-12, nan_ok=True)


def test_overlap_lowers_precision_and_iou_and_not_their_distinct_forms() -> None:
    """By hand, as chunking_evaluation does: it adds up the lengths of the chunks that it retrieved."""
    chunks = [
        {"id": f"{start}", "doc_id": "a", "start": start, "end": end} for start, end in ((0, 8), (4, 12))
    ]
    sample = {
        "retrieved": [
            *chunks,
            {**chunks[0], "id": "again"},
            {"id": "b", "doc_id": "b", "start": 0, "end": 6},
        ],
        "relevant_spans": [{"doc_id": "a", "start": 0, "end": 10}, {"doc_id": "a", "start": 20, "end": 25}],
        "retrieved_tokens": [2, 2, 2, 2],
    }
    found = _computed(sample)
    assert found["span_precision@10"] == pytest.approx(10 / 30)
    assert found["span_iou@10"] == pytest.approx(10 / 35)
    assert found["span_distinct_precision@10"] == pytest.approx(10 / 18)
    assert found["span_distinct_iou@10"] == pytest.approx(10 / 23)
    assert found["span_precision_budget@250"] == pytest.approx(10 / 30)
    assert found["span_recall@10"] == pytest.approx(10 / 15)


EMOJI = (
    "# 河流 🏞️\n\n长江是亚洲最长的河流👍🏽,全长约六千三百公里。它发源于青藏高原。\n\n"
    "# Озёра\n\nБайкал — самое глубокое озеро 🌊 на Земле. Его глубина 1642 метра.\n\n"
    "# Family 👩‍👩‍👧\n\nThe café on the quay 😀 opens at nine; the naïve guest 🧍 comes at eight."
)
ASKED = [
    ("长江全长多少?", ["全长约六千三百公里", "长江是亚洲最长的河流👍🏽"]),
    ("Какова глубина озера Байкал?", ["озеро 🌊 на Земле. Его глубина 1642"]),
    ("When does the café open for the guest?", ["café on the quay 😀 opens at nine", "guest 🧍"]),
]


def _gold(text: str) -> dict[str, Any]:
    start = EMOJI.index(text)
    return {"doc_id": "e", "start": start, "end": start + len(text)}


def test_a_stored_grid_has_the_scores_of_a_count_of_characters(workspace: RunStore) -> None:
    corpus = Corpus("e", (Document("e", EMOJI, "Places", "e.md"),))
    records = tuple(
        {"question_id": f"q{at}", "question": question, "relevant_spans": [_gold(one) for one in texts]}
        for at, (question, texts) in enumerate(ASKED)
    )
    along: tuple[Strategy, ...] = ("paragraph", "heading", "recursive")
    cells, _ = plan_configurations((8, 24), (0, 5), "tokens", along, (False, True))
    plan = GridPlan(corpus, Questions("asked", records), cells)
    for cell, run in zip(cells, run_grid(workspace, plan, "p"), strict=True):
        index = chunks_of(TokenizedText(EMOJI), cell)
        scored = workspace.scored(run)
        for row, sample in enumerate(scored.samples.read(range(run.n))):
            gold = frozenset[Place]().union(*map(_characters, sample["relevant_spans"]))
            relevant = sum(any(("e", at) in gold for at in range(one.start, one.end)) for one in index)
            assert sample["relevant_chunks"] == relevant
            pairs = zip(sample["retrieved"], sample["retrieved_tokens"], strict=True)
            ranked = [Ranked(_characters(one), tokens) for one, tokens in pairs]
            expected = _slowly(gold, ranked, relevant)
            stored = {name: float(scored.values(name)[row]) for name in expected}
            assert stored == pytest.approx(expected, abs=1e-12, nan_ok=True), cell.title
