"""Exactly these cases as a file: native JSONL or Parquet, or CSV for a spreadsheet."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from data.cases.cases import read_cases
from data.diagnosis.diagnosis import Diagnosis
from data.errors import DataError
from metrics.diagnosis.patterns import PATTERNS
from metrics.diagnosis.stages import STAGES
from metrics.schema.scores import IntArray

__all__ = ["EXPORTS", "export_rows", "native_record", "safe_cell"]

EXPORTS = ("jsonl", "csv", "parquet")
STEP = 500  # samples read at a time
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def export_rows(diagnosis: Diagnosis, rows: IntArray, form: str) -> bytes:
    """Write cases in the given order.

    Args:
        diagnosis: of the run.
        rows: which of its samples.
        form: one of EXPORTS. JSONL and Parquet can be imported again; scores from here stand under
            `ragtriage`, apart from the imported ones.

    Raises:
        DataError: the form is not known.
    """
    if form not in EXPORTS:
        raise DataError(f"export format {form!r}; accepted: {', '.join(EXPORTS)}")
    if form == "jsonl":
        return b"".join(orjson.dumps(record) + b"\n" for record in _records(diagnosis, rows))
    if form == "csv":
        return _csv(diagnosis, rows)
    sink = io.BytesIO()
    lines = [{**record, "ragtriage": json.dumps(record["ragtriage"])} for record in _records(diagnosis, rows)]
    flat = [
        {key: value if isinstance(value, str) else json.dumps(value) for key, value in one.items()}
        for one in lines
    ]
    pq.write_table(pa.Table.from_pylist(flat), sink)
    return sink.getvalue()


def native_record(sample: dict[str, Any]) -> dict[str, Any]:
    """Give a stored sample in the native form, as an importer takes it."""
    record = {
        key: value for key, value in sample.items() if value is not None and key not in ("row", "extra")
    }
    for name, key in (("scores", "metric"), ("tags", "key")):
        if name in record:
            record[name] = {one[key]: _plain(one) for one in record[name]}
    for name in ("retrieved", "candidates"):
        record.update({name: [_document(one) for one in record[name]]} if name in record else {})
    for name in ("relevant", "claims", "reference_claims", "used", "human", "checks"):
        if name in record:
            record[name] = [{k: v for k, v in one.items() if v is not None} for one in record[name]]
    for check in record.get("checks", []):
        check.update({name: json.loads(check[name]) for name in ("expected", "actual") if name in check})
    if sample["extra"]:
        record.update(json.loads(sample["extra"]))
    return record


def _plain(one: dict[str, Any]) -> Any:
    if "metric" not in one:
        return one["value"]
    return {"value": one["value"], "reason": one["reason"]} if one["reason"] else one["value"]


def _document(one: dict[str, Any]) -> dict[str, Any]:
    more = json.loads(one["extra"]) if one.get("extra") else {}
    return {**{k: v for k, v in one.items() if v is not None and k != "extra"}, **more}


def _records(diagnosis: Diagnosis, rows: IntArray) -> Iterator[dict[str, Any]]:
    for start in range(0, len(rows), STEP):
        for sample in read_cases(diagnosis.scored, rows[start : start + STEP]):
            yield {**native_record(sample), "ragtriage": _added(diagnosis, sample["row"])}


def _added(diagnosis: Diagnosis, row: int) -> dict[str, Any]:
    """Give what was found out about a case here: scores with their sources, diagnosis, labels."""
    scores = {}
    for name in diagnosis.scored.metrics:
        column = diagnosis.scored.column(name)
        if column is not None and column.values[row] == column.values[row]:
            scores[name] = float(column.values[row])
    stage = int(diagnosis.stages.stage[row])
    return {
        "run": diagnosis.scored.run.run_id,
        "scores": scores,
        "pattern": PATTERNS[int(diagnosis.pattern[row])].key,
        "bad": bool(diagnosis.bad.bad[row]),
        "stage": STAGES[stage].key if stage >= 0 else None,
        "labels": [
            {
                "annotator": one.annotator,
                "verdict": one.verdict,
                "failure": one.failure,
                "note": one.note,
                "at": one.at,
            }
            for one in diagnosis.human_labels.labels.get(row, ())
        ],
    }


_PLAIN = ("question_id", "repeat", "question", "answer", "reference_answer", "query_type", "answerable")


def _csv(diagnosis: Diagnosis, rows: IntArray) -> bytes:
    metrics = list(diagnosis.scored.metrics)
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(
        [*_PLAIN, "contexts", "bad", "pattern", "stage", "labels", *(safe_cell(one) for one in metrics)]
    )
    for record in _records(diagnosis, rows):
        found = record["ragtriage"]
        contexts = json.dumps(record.get("retrieved", []), ensure_ascii=False)
        labels = "; ".join(
            f"{one['annotator']}: {one['verdict'] or ''} {one['failure']}" for one in found["labels"]
        )
        line = [
            *(record.get(name, "") for name in _PLAIN),
            contexts,
            found["bad"],
            found["pattern"],
            found["stage"],
            labels,
        ]
        writer.writerow(
            [safe_cell(cell) for cell in (*line, *(found["scores"].get(name, "") for name in metrics))]
        )
    return b"\xef\xbb\xbf" + text.getvalue().encode("utf-8")


def safe_cell(cell: Any) -> Any:
    """Keep a spreadsheet from reading text as a formula: a quote stands before = + - @ at its start."""
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA_STARTS) else cell
