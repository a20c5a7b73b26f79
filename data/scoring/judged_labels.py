"""A judge's labels laid over the samples that it read, in the place of what was recorded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from ragtriage.data.store.judge_replies import JudgeReply, reply_from
from ragtriage.data.store.sample_schema import SCHEMA


def overlaid(table: pa.Table, payloads: Mapping[int, str]) -> tuple[Any, dict[int, JudgeReply]]:
    """Replace the labels of an Arrow table of samples by a judge's, where there are any.

    A person's word on a refusal stays; everything else that the judge says takes the place of what was
    recorded.

    Args:
        table: the samples.
        payloads: JSON of the judge's readings, by place.

    Returns:
        The table, and the readings by place.
    """
    readings = {at: reply_from(orjson.loads(text)) for at, text in payloads.items()}
    if not readings:
        return table, readings
    labels: dict[str, Mapping[int, Any]] = {
        "claims": {at: _claims(reply) for at, reply in readings.items() if reply.form.answer},
        "reference_claims": {
            at: _statements(reply) for at, reply in readings.items() if reply.form.reference
        },
        "used": {
            at: _used(reply) for at, reply in readings.items() if reply.form.answer and reply.form.ranks
        },
        "retrieved": _relevance(table, readings),
    }
    refused = {at: reply.refused for at, reply in readings.items() if reply.refused is not None}
    by_people = pc.equal(table["refused_source"], "human").fill_null(False).to_pylist()
    refused = {at: refuses for at, refuses in refused.items() if not by_people[at]}
    labels["refused"], labels["refused_source"] = refused, dict.fromkeys(refused, "judge")
    labels["used_source"] = dict.fromkeys(labels["used"], "judge")
    for name, values in labels.items():
        table = _replaced(table, name, values)
    return table, readings


def judged_sample(sample: Mapping[str, Any], read: JudgeReply) -> dict[str, Any]:
    """Return a stored sample with a judge's labels in place of its own."""
    labelled = dict(sample)
    if read.form.answer:
        labelled["claims"] = _claims(read)
        if read.form.ranks:
            labelled |= {"used": _used(read), "used_source": "judge"}
        if sample["refused_source"] != "human":
            labelled |= {"refused": read.refused, "refused_source": "judge"}
    if read.form.reference:
        labelled["reference_claims"] = _statements(read)
    if read.form.ranks:
        labelled["retrieved"] = _labelled(sample["retrieved"], read)
    return labelled


def _replaced(table: pa.Table, name: str, values: Mapping[int, Any]) -> pa.Table:
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


def _claims(one: JudgeReply) -> list[dict[str, Any]]:
    known = bool(one.form.ranks)
    return [
        {
            "text": claim.text,
            "in_reference": _wholly(claim.in_reference),
            "supported_by": list(claim.by) if known else None,
            "contradicted_by": list(claim.against) if known else None,
        }
        for claim in one.claims
    ]


def _statements(one: JudgeReply) -> list[dict[str, Any]]:
    known = bool(one.form.ranks)
    return [
        {
            "text": each.text,
            "in_answer": _wholly(each.in_answer),
            "supported_by": list(each.by) if known else None,
        }
        for each in one.statements
    ]


def _wholly(said: float | None) -> bool | None:
    """Return whether the whole is said, as samples have it; metrics count a part by half."""
    return None if said is None else said == 1.0


def _used(one: JudgeReply) -> list[dict[str, Any]]:
    return [{"rank": rank, "share": None} for rank in one.used]


def _relevance(table: pa.Table, readings: Mapping[int, JudgeReply]) -> dict[int, list[dict[str, Any]]]:
    """Label the documents that the judge was shown; those without a text keep no label."""
    places = sorted(at for at, reply in readings.items() if reply.form.ranks)
    lists = table["retrieved"].take(pa.array(places, pa.int64())).to_pylist() if places else []
    return {at: _labelled(documents, readings[at]) for at, documents in zip(places, lists, strict=True)}


def _labelled(documents: Sequence[dict[str, Any]], read: JudgeReply) -> list[dict[str, Any]]:
    shown, relevant = set(read.form.ranks), set(read.relevant)
    return [
        {**document, "relevant": rank in relevant if rank in shown else None}
        for rank, document in enumerate(documents, start=1)
    ]
