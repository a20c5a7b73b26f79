"""Plain lists to array inputs, slowly and obviously: the batches the metric tests are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ragtriage.metrics.schema.batch import (
    Answers,
    Batch,
    Checks,
    Citations,
    Claims,
    ContextUse,
    Facets,
    JudgeLabels,
    Passages,
    Rankings,
    ReferenceClaims,
    SpanRankings,
    Wordings,
)
from ragtriage.metrics.schema.scores import FloatArray, Source, Status

WIDTH = 6  # ranks in the arrays of a sample


@dataclass(frozen=True)
class ClaimRow:
    """One claim: verdict 1, 0 or -1; 1-based ranks that support and contradict it, None when not recorded."""

    verdict: int = 1
    supported: Sequence[int] | None = ()
    contradicted: Sequence[int] = ()
    partly: Sequence[int] = ()


@dataclass(frozen=True)
class Mark:
    """One citation: 1, 0 or -1 each."""

    supports: int = 1
    alone: int = 1
    rest: int = 0
    in_range: bool = True


@dataclass(frozen=True)
class CitedSentence:
    """One sentence of an answer: whether its citations support it together (1, 0, -1), and these."""

    together: int = 1
    marks: Sequence[Mark] = ()
    needed: bool = True


@dataclass(frozen=True)
class Row:
    """One sample in plain words; None is "not recorded"."""

    retrieved: Sequence[str] | None = None
    gold: Mapping[str, float] | None = None
    hops: Mapping[str, str] = field(default_factory=dict)
    spans: Sequence[tuple[int, int]] | None = None  # (new gold, other new characters) of each chunk
    gold_chars: int = 0
    claims: Sequence[ClaimRow] | None = None
    reference: Sequence[ClaimRow] | None = None
    estimated: bool = False
    used: Mapping[int, float] | None = None  # rank -> share, NaN when not recorded
    refused: int = -1
    answerable: int = -1
    context_has_gold: int = -1
    checks: Sequence[bool] = ()
    labels: Sequence[int] = ()
    judged: tuple[float, float, float, float, float] | None = None  # addresses, complete, agrees, self, tried
    answered: bool = True
    cited: Sequence[CitedSentence] | None = None
    broken: int = 0
    overlap: Sequence[float] = ()  # similarity of each passage with the question
    alike: float = float("nan")  # mean similarity of two passages
    repeats: Sequence[int] = ()  # ranks of near-duplicates
    covered: float = float("nan")  # share of the reference's words that the passages have
    says: Sequence[int] = ()  # code of the answer that each passage gives
    outcome: int = -1  # of the words of answer and reference

    @property
    def documents(self) -> int:
        return len(self.retrieved or ())


def padded(rows: Sequence[Sequence[float]], width: int) -> FloatArray:
    out = np.full((len(rows), width), np.nan)
    for i, row in enumerate(rows):
        out[i, : len(row)] = row
    return out


def graded(row: Row) -> list[float]:
    seen: set[str] = set()
    grades = []
    for document in row.retrieved or ():
        grades.append(0.0 if document in seen else float((row.gold or {}).get(document, 0)))
        seen.add(document)
    return grades


def unit_ranks(row: Row) -> list[float]:
    first: dict[str, float] = {}
    for document in row.gold or {}:
        unit = row.hops.get(document, f"document {document}")
        place = list(row.retrieved or ()).index(document) + 1 if document in (row.retrieved or ()) else np.inf
        first[unit] = min(first.get(unit, np.inf), place)
    return sorted(first.values())


def rankings(rows: Sequence[Row]) -> Rankings:
    width = max([len(row.retrieved or ()) for row in rows] + [0])
    gold = [sorted((row.gold or {}).values(), reverse=True) for row in rows]
    units = [unit_ranks(row) for row in rows]
    status = np.full(len(rows), Status.SCORED, dtype=np.int8)
    reason = np.full(len(rows), "", dtype=object)
    for i, row in enumerate(rows):
        if row.retrieved is None or row.gold is None:
            status[i], reason[i] = Status.NOT_RUN, "no list or no gold was recorded"
        elif not row.gold:
            status[i], reason[i] = Status.NOT_APPLICABLE, "the question has no relevant document"
    return Rankings(
        grades=padded([graded(row) for row in rows], width),
        gold=padded(gold, max([len(g) for g in gold] + [0])),
        unit_rank=padded(units, max([len(u) for u in units] + [0])),
        status=status,
        reason=reason,
        has_hops=np.array([bool(row.hops) for row in rows], dtype=np.bool_),
    )


def span_rankings(rows: Sequence[Row]) -> SpanRankings:
    recorded = np.array([row.spans is not None for row in rows], dtype=np.bool_)
    return SpanRankings(
        gold_chars=np.array([row.gold_chars for row in rows], dtype=np.float64),
        new_gold=padded([[gold for gold, _ in row.spans or ()] for row in rows], WIDTH),
        union_chars=padded([np.cumsum([sum(c) for c in row.spans or ()]).tolist() for row in rows], WIDTH),
        chunk_chars=padded([[float(sum(c)) for c in row.spans or ()] for row in rows], WIDTH),
        hits=padded([[float(gold > 0) for gold, _ in row.spans or ()] for row in rows], WIDTH) > 0,
        status=np.where(recorded, np.int8(Status.SCORED), np.int8(Status.NOT_RUN)),
        reason=np.where(recorded, "", "no spans were recorded").astype(object),
        tokens=padded([[float(sum(chunk)) for chunk in row.spans or ()] for row in rows], WIDTH),
        relevant_chunks=np.array([_relevant_chunks(row) for row in rows], dtype=np.float64),
    )


def _relevant_chunks(row: Row) -> float:
    """As many chunks of the index hold gold as are retrieved, and two more."""
    if row.spans is None or not row.gold_chars:
        return 0.0
    return 2.0 + sum(gold > 0 for gold, _ in row.spans)


def marks(ranks: Sequence[Sequence[int]], width: int = WIDTH) -> NDArray[np.bool_]:
    out = np.zeros((len(ranks), width), dtype=np.bool_)
    for i, row in enumerate(ranks):
        out[i, [rank - 1 for rank in row]] = True
    return out


def sources(rows: Sequence[Row]) -> NDArray[np.int8]:
    return np.array([Source.ESTIMATED if row.estimated else Source.COMPUTED for row in rows], dtype=np.int8)


def recorded(blocks: Sequence[object | None]) -> NDArray[np.int8]:
    return np.array([Status.NOT_RUN if b is None else Status.SCORED for b in blocks], dtype=np.int8)


def answer_claims(rows: Sequence[Row], width: int = WIDTH) -> Claims:
    flat = [(i, claim) for i, row in enumerate(rows) for claim in row.claims or ()]
    return Claims(
        sample=np.array([i for i, _ in flat], dtype=np.int64),
        in_reference=np.array([claim.verdict for _, claim in flat], dtype=np.int8),
        supported=marks([claim.supported or () for _, claim in flat], width),
        contradicted=marks([claim.contradicted for _, claim in flat], width),
        support_known=np.array([claim.supported is not None for _, claim in flat], dtype=np.bool_),
        status=recorded([row.claims for row in rows]),
        source=sources(rows),
        partly=marks([claim.partly for _, claim in flat], width),
    )


def reference_claims(rows: Sequence[Row], width: int = WIDTH) -> ReferenceClaims:
    flat = [(i, claim) for i, row in enumerate(rows) for claim in row.reference or ()]
    return ReferenceClaims(
        sample=np.array([i for i, _ in flat], dtype=np.int64),
        in_answer=np.array([claim.verdict for _, claim in flat], dtype=np.int8),
        supported=marks([claim.supported or () for _, claim in flat], width),
        support_known=np.array([claim.supported is not None for _, claim in flat], dtype=np.bool_),
        status=recorded([row.reference for row in rows]),
        source=np.full(len(rows), Source.COMPUTED, dtype=np.int8),
    )


def use(rows: Sequence[Row]) -> ContextUse:
    share = np.full((len(rows), WIDTH), np.nan)
    for i, row in enumerate(rows):
        for rank, weight in (row.used or {}).items():
            share[i, rank - 1] = weight
    return ContextUse(
        used=marks([list(row.used or ()) for row in rows]),
        share=share,
        documents=documents(rows),
        refused=np.array([row.refused == 1 for row in rows], dtype=np.bool_),
        status=recorded([row.used for row in rows]),
        source=sources(rows),
    )


def answers(rows: Sequence[Row]) -> Answers:
    return Answers(
        refused=np.array([row.refused for row in rows], dtype=np.int8),
        refused_source=sources(rows),
        answerable=np.array([row.answerable for row in rows], dtype=np.int8),
        context_has_gold=np.array([row.context_has_gold for row in rows], dtype=np.int8),
        unread=np.full(len(rows), "", dtype=object),
    )


def checks(rows: Sequence[Row]) -> Checks:
    flat = [(i, passed) for i, row in enumerate(rows) for passed in row.checks]
    return Checks(
        sample=np.array([i for i, _ in flat], dtype=np.int64),
        suite=np.full(len(flat), "format", dtype=object),
        passed=np.array([passed for _, passed in flat], dtype=np.bool_),
    )


def citations(rows: Sequence[Row]) -> Citations:
    flat = [(i, sentence) for i, row in enumerate(rows) for sentence in row.cited or ()]
    of = [(at, mark) for at, (_, sentence) in enumerate(flat) for mark in sentence.marks]
    codes = np.array([[mark.supports, mark.alone, mark.rest] for _, mark in of], dtype=np.int8)
    codes = codes.reshape(-1, 3)
    return Citations(
        status=recorded([row.cited for row in rows]),
        reason=np.array(["" if row.cited is not None else "not recorded" for row in rows], dtype=object),
        source=sources(rows),
        broken=np.array([row.broken for row in rows], dtype=np.int64),
        sample=np.array([i for i, _ in flat], dtype=np.int64),
        needed=np.array([sentence.needed for _, sentence in flat], dtype=np.bool_),
        together=np.array([sentence.together for _, sentence in flat], dtype=np.int8),
        sentence=np.array([at for at, _ in of], dtype=np.int64),
        in_range=np.array([mark.in_range for _, mark in of], dtype=np.bool_),
        supports=codes[:, 0],
        alone=codes[:, 1],
        rest=codes[:, 2],
    )


def labels(rows: Sequence[Row]) -> NDArray[np.int8]:
    out = np.full((len(rows), WIDTH), -1, dtype=np.int8)
    for i, row in enumerate(rows):
        out[i, : len(row.labels)] = row.labels
    return out


def judgement(rows: Sequence[Row]) -> JudgeLabels:
    unknown = (np.nan,) * 5
    columns = np.array([row.judged or unknown for row in rows], dtype=np.float64).reshape(-1, 5)
    return JudgeLabels(
        addresses=columns[:, 0],
        complete=columns[:, 1],
        agrees=columns[:, 2],
        contradicts_itself=columns[:, 3],
        injections=columns[:, 4],
        has_answer=np.array([row.answered for row in rows], dtype=np.bool_),
    )


def passages(rows: Sequence[Row]) -> Passages:
    says = np.full((len(rows), WIDTH), -1, dtype=np.int64)
    for i, row in enumerate(rows):
        says[i, : len(row.says)] = row.says
    return Passages(
        with_question=padded([row.overlap for row in rows], WIDTH),
        mean_pair=np.array([row.alike for row in rows], dtype=np.float64),
        duplicate=marks([row.repeats for row in rows]),
        reference_words=np.array([row.covered for row in rows], dtype=np.float64),
        says=says,
    )


def facets(rows: Sequence[Row]) -> Facets:
    """The hops as facets: gold without a hop is a facet of its own."""
    names = [list(dict.fromkeys(row.hops.get(d, d) for d in row.gold or {})) for row in rows]
    ranked = np.zeros((len(rows), WIDTH, WIDTH), dtype=np.bool_)
    gold = np.zeros((len(rows), WIDTH, WIDTH), dtype=np.bool_)
    for i, row in enumerate(rows):
        for at, document in enumerate(row.gold or {}):
            facet = names[i].index(row.hops.get(document, document))
            gold[i, at, facet] = True
            if document in (row.retrieved or ()):
                ranked[i, list(row.retrieved or ()).index(document), facet] = True
    named = np.array([bool(row.hops) and row.retrieved is not None for row in rows], dtype=np.bool_)
    return Facets(
        ranked,
        gold,
        np.where(named, Status.SCORED, Status.NOT_APPLICABLE).astype(np.int8),
        np.where(named, "", "no facet is named").astype(object),
    )


def documents(rows: Sequence[Row]) -> NDArray[np.int64]:
    return np.array([row.documents for row in rows], dtype=np.int64)


def batch(rows: Sequence[Row]) -> Batch:
    return Batch(
        n=len(rows),
        documents=documents(rows),
        rankings=rankings(rows),
        spans=span_rankings(rows),
        claims=answer_claims(rows),
        reference_claims=reference_claims(rows),
        context_use=use(rows),
        answers=answers(rows),
        checks=checks(rows),
        document_relevant=labels(rows),
        judge_labels=judgement(rows),
        citations=citations(rows),
        facets=facets(rows),
        passages=passages(rows),
        wordings=Wordings(
            np.array([row.outcome for row in rows], dtype=np.int8),
            np.array([np.nan if row.outcome < 0 else row.outcome / 2 for row in rows], dtype=np.float64),
            np.array([row.answered for row in rows], dtype=np.bool_),
        ),
    )
