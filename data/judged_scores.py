"""Scores from a judgement: the judge's labels laid over the samples, and the metrics computed from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from data.arrays import batch_of
from data.gold import Match
from data.judge_reading import READING, reading_from
from data.samples import SCHEMA
from metrics.catalogue import compute
from metrics.inputs import Batch, Judgement
from metrics.readings import ADDRESSES, AGREES, COMPLETE, Reading
from metrics.registry import Convention
from metrics.values import FloatArray, IntArray, Scores, Source, Status

__all__ = [
    "EVALUATOR",
    "JudgedBatch",
    "evaluator_scores",
    "is_scored",
    "judged_sample",
    "judged_scores",
    "judgement_of",
    "overlaid",
]

EVALUATOR = "evaluator:"
NOT_JUDGED = "no judge has read this sample"
ScoreKey = tuple[str, Source]


class JudgedBatch:
    """The outcomes of one judgement for the samples of a batch.

    Attributes:
        status: (n,) codes of Status.
        reason: (n,) texts, "" where scored.
        words: (n,) status in the words of data.judge_calls; "not run" where nobody asked.
        payloads: JSON of the verdict of each scored row, by its place in the batch.
    """

    def __init__(self, path: Path, rows: IntArray) -> None:
        first, last = (int(rows[0]), int(rows[-1])) if len(rows) else (0, -1)
        within = [("row", ">=", first), ("row", "<=", last), ("attempt", "=", 0)]
        found = pq.read_table(path, filters=within).to_pylist()
        place = {int(row): at for at, row in enumerate(rows)}
        self.status = np.full(len(rows), Status.NOT_RUN, dtype=np.int8)
        self.reason = np.full(len(rows), NOT_JUDGED, dtype=object)
        self.words = np.full(len(rows), "not run", dtype=object)
        self.payloads: dict[int, str] = {}
        for one in found:
            at = place.get(one["row"])
            if at is not None:
                self.status[at], self.reason[at] = _status(one["status"]), _reason(one)
                self.words[at] = one["status"]
                if one["payload"] is not None:
                    self.payloads[at] = one["payload"]

    def told(self, readings: Mapping[int, Reading]) -> Any:
        """Give the Arrow table that the Judge page reads: status in words, reason, injected instructions."""
        injections = [len(readings[at].injections) if at in readings else 0 for at in range(len(self.words))]
        return pa.table(
            {
                "status": pa.array(self.words, pa.string()),
                "reason": pa.array(self.reason, pa.string()),
                "injections": pa.array(injections, pa.int32()),
            }
        )


def _status(word: str) -> Status:
    known = {"scored": Status.SCORED, "not_applicable": Status.NOT_APPLICABLE}
    return known.get(word, Status.FAILED)


def _reason(one: Mapping[str, Any]) -> str:
    if one["status"] == "scored":
        return ""
    return str(one["reason"] if one["status"] == "not_applicable" else f"judge: {one['reason']}")


def _loads(text: str) -> Any:
    return orjson.loads(text)


def overlaid(table: Any, found: JudgedBatch) -> tuple[Any, dict[int, Reading]]:
    """Lay a judge's labels over an Arrow table of samples, where there are any.

    A person's word on a refusal stays; everything else that the judge says takes the place of what was
    recorded.

    Returns:
        The table, and the readings by place.
    """
    readings = {at: reading_from(_loads(text)) for at, text in found.payloads.items()}
    if not readings:
        return table, readings
    made: dict[str, Mapping[int, Any]] = {
        "claims": {at: _claims(one) for at, one in readings.items() if one.form.answer},
        "reference_claims": {at: _statements(one) for at, one in readings.items() if one.form.reference},
        "used": {at: _used(one) for at, one in readings.items() if one.form.answer and one.form.ranks},
        "retrieved": _relevance(table, readings),
    }
    refused = {at: one.refused for at, one in readings.items() if one.refused is not None}
    by_people = pc.equal(table["refused_source"], "human").fill_null(False).to_pylist()
    refused = {at: said for at, said in refused.items() if not by_people[at]}
    made["refused"], made["refused_source"] = refused, dict.fromkeys(refused, "judge")
    made["used_source"] = dict.fromkeys(made["used"], "judge")
    for name, values in made.items():
        table = _replaced(table, name, values)
    return table, readings


def judged_sample(sample: Mapping[str, Any], read: Reading) -> dict[str, Any]:
    """Lay a judge's labels over one sample as it is stored."""
    found = dict(sample)
    if read.form.answer:
        found["claims"] = _claims(read)
        if read.form.ranks:
            found |= {"used": _used(read), "used_source": "judge"}
        if sample["refused_source"] != "human":
            found |= {"refused": read.refused, "refused_source": "judge"}
    if read.form.reference:
        found["reference_claims"] = _statements(read)
    if read.form.ranks:
        found["retrieved"] = _labelled(sample["retrieved"], read)
    return found


def _replaced(table: Any, name: str, values: Mapping[int, Any]) -> Any:
    """Put values into a column at their places."""
    if not values:
        return table
    places = sorted(values)
    field = SCHEMA.field(name)
    fresh = pa.array([values[at] for at in places], field.type)
    order = np.arange(table.num_rows)
    order[places] = table.num_rows + np.arange(len(places))
    column = pa.chunked_array([*table[name].cast(field.type).chunks, fresh]).take(pa.array(order))
    return table.set_column(table.column_names.index(name), field, column.combine_chunks())


def _claims(one: Reading) -> list[dict[str, Any]]:
    known = bool(one.form.ranks)
    return [
        {
            "text": claim.text,
            "in_reference": claim.in_reference,
            "supported_by": list(claim.by) if known else None,
            "contradicted_by": list(claim.against) if known else None,
        }
        for claim in one.claims
    ]


def _statements(one: Reading) -> list[dict[str, Any]]:
    known = bool(one.form.ranks)
    return [
        {"text": each.text, "in_answer": each.in_answer, "supported_by": list(each.by) if known else None}
        for each in one.statements
    ]


def _used(one: Reading) -> list[dict[str, Any]]:
    return [{"rank": rank, "share": None} for rank in one.used]


def _relevance(table: Any, readings: Mapping[int, Reading]) -> dict[int, list[dict[str, Any]]]:
    """Label the documents that the judge was shown; those without a text keep no label."""
    places = sorted(at for at, one in readings.items() if one.form.ranks)
    lists = table["retrieved"].take(pa.array(places, pa.int64())).to_pylist() if places else []
    return {at: _labelled(documents, readings[at]) for at, documents in zip(places, lists, strict=True)}


def _labelled(documents: Sequence[dict[str, Any]], read: Reading) -> list[dict[str, Any]]:
    shown, relevant = set(read.form.ranks), set(read.relevant)
    return [
        {**one, "relevant": rank in relevant if rank in shown else None}
        for rank, one in enumerate(documents, start=1)
    ]


def judged_scores(
    table: Any,
    readings: Mapping[int, Reading],
    found: JudgedBatch,
    scoring: tuple[Sequence[int], Convention, Match],
) -> dict[ScoreKey, Scores]:
    """Compute the metrics that a judge's labels allow, for all n samples of a batch.

    Args:
        table: samples with the labels laid over them.
        readings: by place.
        found: the outcomes.
        scoring: cut-offs, convention, and how gold is matched.
    """
    places = np.array(sorted(readings), dtype=np.int64)
    ks, convention, match = scoring
    if not len(places):
        return {(name, Source.JUDGED): _spread(None, places, found) for name in ("faithfulness",)}
    part = table.take(pa.array(places))
    batch = replace(batch_of(part, match), judgement=judgement_of([readings[int(at)] for at in places]))
    alone = _judged_only(batch)
    return {
        (name, Source.JUDGED): _spread(scores, places, found)
        for name, scores in compute(alone, ks, convention).items()
    }


def _judged_only(batch: Batch) -> Batch:
    """Leave out what no judge speaks of."""
    use = batch.use
    if use is not None:
        told = (use.source == Source.JUDGED) | (use.status != Status.SCORED)
        use = replace(use, status=np.where(told, use.status, Status.NOT_RUN).astype(np.int8))
    return replace(batch, rankings=None, spans=None, checks=None, first_pass=None, use=use)


def judgement_of(readings: Sequence[Reading]) -> Judgement:
    """Turn the labels on whole answers into arrays."""
    return Judgement(
        addresses=_levels([one.addresses for one in readings], ADDRESSES),
        complete=_levels([one.complete for one in readings], COMPLETE),
        agrees=_levels([one.agrees for one in readings], AGREES),
        contradicts_itself=np.array([_flag(one.contradicts_itself) for one in readings]),
        injections=np.array([float(len(one.injections)) for one in readings]),
        has_answer=np.array([one.form.answer for one in readings], dtype=np.bool_),
    )


def _levels(words: Sequence[str | None], levels: Mapping[str, float]) -> FloatArray:
    return np.array([np.nan if word is None else levels[word] for word in words], dtype=np.float64)


def _flag(said: bool | None) -> float:
    return float("nan") if said is None else float(said)


def _spread(scores: Scores | None, places: IntArray, found: JudgedBatch) -> Scores:
    """Lay the scores of the judged samples among all of a batch."""
    n = len(found.status)
    values, status = np.full(n, np.nan), found.status.copy()
    reason: NDArray[np.object_] = found.reason.copy()
    if scores is not None:
        values[places], status[places], reason[places] = scores.values, scores.status, scores.reason
    return Scores(values, status, reason, np.full(n, Source.JUDGED, dtype=np.int8))


def is_scored(kind: str) -> bool:
    """Whether a judgement of a kind becomes scores of the run; answers made from it do not."""
    return kind == READING or kind.startswith(EVALUATOR)


def evaluator_scores(kind: str, found: JudgedBatch) -> dict[ScoreKey, Scores]:
    """Give an evaluator's answers as a metric: 1 where it found the failure."""
    values = np.full(len(found.status), np.nan)
    for at, text in found.payloads.items():
        values[at] = float(_loads(text)["answer"] == "yes")
    status = np.where(np.isnan(values) & (found.status == Status.SCORED), Status.FAILED, found.status)
    source = np.full(len(values), Source.JUDGED, dtype=np.int8)
    scores = Scores(values, status.astype(np.int8), found.reason, source)
    return {(f"evaluator_{kind.removeprefix(EVALUATOR)}", Source.JUDGED): scores}
