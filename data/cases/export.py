"""Export cases as a file: native JSONL or Parquet, or CSV for a spreadsheet."""

import csv
import io
import json
from collections.abc import Iterator, Sequence
from typing import Any
from unicodedata import category, normalize

import orjson

from ragtriage.data.cases.cases import read_cases
from ragtriage.data.cases.parquet_export import parquet_pieces
from ragtriage.data.diagnosis.diagnosis import Diagnosis
from ragtriage.data.errors import DataError
from ragtriage.data.store.sample_reader import further_fields
from ragtriage.metrics.diagnosis.patterns import PATTERNS
from ragtriage.metrics.diagnosis.stages import STAGES
from ragtriage.metrics.schema.scores import IntArray

EXPORTS = ("jsonl", "csv", "parquet")
STEP = 500  # samples read at a time
_FORMULA_STARTS = ("=", "+", "-", "@")
_BEFORE_FORMULAS = {
    "Cc",
    "Cf",
    "Zl",
    "Zp",
    "Zs",
}  # Unicode categories that spreadsheets trim: controls, spaces


def export_rows(diagnosis: Diagnosis, rows: IntArray, form: str) -> bytes:
    """Return a file with cases in the given order, see `export_pieces`."""
    return b"".join(export_pieces(diagnosis, rows, form))


def export_pieces(diagnosis: Diagnosis, rows: IntArray, form: str) -> Iterator[bytes]:
    """Return a file with cases in the given order, in pieces.

    Args:
        diagnosis: diagnosis of the run.
        rows: rows of the cases.
        form: one of EXPORTS. JSONL and Parquet can be imported again; computed scores and the diagnosis are
            under `ragtriage`, apart from the imported scores.

    Raises:
        DataError: there is no such format.
    """
    if form not in EXPORTS:
        raise DataError(f"export format {form!r}; accepted: {', '.join(EXPORTS)}")
    if form == "jsonl":
        return (_line(record) for record in _records(diagnosis, rows))
    return _csv(diagnosis, rows) if form == "csv" else parquet_pieces(diagnosis, rows)


def native_record(sample: dict[str, Any]) -> dict[str, Any]:
    """Return a stored sample in the native format, which can be imported again."""
    apart = ("row", "extra", "verdict")
    record = {key: value for key, value in sample.items() if value is not None and key not in apart}
    for name, key in (("scores", "metric"), ("tags", "key")):
        if name in record:
            record[name] = {entry[key]: _plain(entry) for entry in record[name]}
    for name in ("retrieved", "candidates"):
        record.update({name: [_document(document) for document in record[name]]} if name in record else {})
    for name in ("relevant", "claims", "reference_claims", "used", "human", "checks"):
        if name in record:
            record[name] = [{k: v for k, v in entry.items() if v is not None} for entry in record[name]]
    for check in record.get("checks", []):
        check.update({name: json.loads(check[name]) for name in ("expected", "actual") if name in check})
    record.update(further_fields(sample["extra"]))
    return record


def _line(record: dict[str, Any]) -> bytes:
    """Return a record as a line of JSON, also with whole numbers of more than 64 bits."""
    try:
        return orjson.dumps(record) + b"\n"
    except orjson.JSONEncodeError:
        return json.dumps(record).encode() + b"\n"


def _plain(entry: dict[str, Any]) -> Any:
    """Return the value of a tag or of an imported score, with the reason of a score that has one."""
    if entry.get("reason"):
        return {"value": entry["value"], "reason": entry["reason"]}
    return entry["value"]


def _document(document: dict[str, Any]) -> dict[str, Any]:
    recorded = {k: v for k, v in document.items() if v is not None and k != "extra"}
    return {**recorded, **further_fields(document.get("extra"))}


def _records(diagnosis: Diagnosis, rows: IntArray) -> Iterator[dict[str, Any]]:
    for start in range(0, len(rows), STEP):
        for sample in read_cases(diagnosis.scored, rows[start : start + STEP]):
            yield {**native_record(sample), "ragtriage": case_result(diagnosis, sample["row"])}


def case_result(diagnosis: Diagnosis, row: int) -> dict[str, Any]:
    """Return the scores, the diagnosis and the human labels of a case."""
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
                "annotator": label.annotator,
                "verdict": label.verdict,
                "failure": label.failure,
                "note": label.note,
                "at": label.at,
            }
            for label in diagnosis.human_labels.labels.get(row, ())
        ],
    }


_PLAIN = ("question_id", "repeat", "question", "answer", "reference_answer", "query_type", "answerable")


def _csv(diagnosis: Diagnosis, rows: IntArray) -> Iterator[bytes]:
    metrics = list(diagnosis.scored.metrics)
    header = [*_PLAIN, "contexts", "bad", "pattern", "stage", "labels", *map(safe_cell, metrics)]
    yield b"\xef\xbb\xbf" + csv_line(header)
    for record in _records(diagnosis, rows):
        result = record["ragtriage"]
        contexts = json.dumps(record.get("retrieved", []), ensure_ascii=False)
        labels = "; ".join(
            f"{label['annotator']}: {label['verdict'] or ''} {label['failure']}" for label in result["labels"]
        )
        line = [
            *(record.get(name, "") for name in _PLAIN),
            contexts,
            result["bad"],
            result["pattern"],
            result["stage"],
            labels,
        ]
        scores = (result["scores"].get(metric, "") for metric in metrics)
        yield csv_line([safe_cell(cell) for cell in (*line, *scores)])


def csv_line(cells: Sequence[Any]) -> bytes:
    """Return a line of CSV."""
    text = io.StringIO()
    csv.writer(text).writerow(cells)
    return text.getvalue().encode("utf-8")


def safe_cell(cell: Any) -> Any:
    """Return a cell that no spreadsheet takes for a formula: text that begins as one gets a quote before it.

    Spaces and invisible characters before it are trimmed on reading; full-width signs are read as plain ones.
    """
    if not isinstance(cell, str):
        return cell
    first = next((each for each in cell if category(each) not in _BEFORE_FORMULAS), "")
    is_formula = normalize("NFKC", first).startswith(_FORMULA_STARTS) or cell.startswith(("\t", "\r"))
    return f"'{cell}" if is_formula else cell
