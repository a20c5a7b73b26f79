"""Azure AI Evaluation: rows of `evaluate()` and of single evaluators, and summaries without rows."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.importer import Options, Peek, Reader, Row, run_of
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.names import metric_name
from ragtriage.data.importers.parsing.rows import object_rows, rows_at
from ragtriage.data.importers.parsing.shapes import milliseconds, tag_value
from ragtriage.data.importers.parsing.values import error_tag, fields_in, number, text_in
from ragtriage.data.store.parsed_run import ParsedRun
from ragtriage.data.store.workspace import SCALES
from ragtriage.metrics.metric_registry import REGISTRY

ONE_TO_FIVE = ("groundedness", "relevance", "coherence", "fluency", "similarity", "retrieval")
SHARES = ("f1_score", "bleu_score", "gleu_score", "rouge_score", "meteor_score", "fidelity", "ndcg@3")
HARMS = ("violence", "sexual", "self_harm", "hate_unfairness")  # a word, and a severity from 0 to 7
METRICS = {"relevance": "answer_relevancy", "similarity": "azure_similarity", "retrieval": "azure_retrieval"}
BESIDE = ("result", "threshold", "reason", "score", "passed", "status", "properties", "details", "label")
PAGE = re.compile(r"^(?P<id>\S[^\n]{0,300}?#page=\d+): ", re.MULTILINE)
QUESTIONS = ("query", "question")
ANSWERS = ("response", "answer")
REFERENCES = ("ground_truth", "truth")


@dataclass(frozen=True)
class _Value:
    """What an evaluator said of a row."""

    evaluator: str
    at: Mapping[str, Any]  # its value under "", and what stands beside it by the last word of its column


def _is_rows(peek: Peek) -> bool:
    rows = peek.rows_at("rows")
    columns = {str(name) for row in rows for name in row}
    plain = {_plain(name) for name in columns}
    if not plain & set(QUESTIONS):
        return False
    of_evaluate = any(re.fullmatch(r"outputs\.(\w+)\.(?:gpt_)?\1(?:_\w+)?", name) for name in columns)
    of_one = any({f"{name}_result", f"{name}_threshold"} <= plain for name in (*ONE_TO_FIVE, *SHARES, *HARMS))
    of_chat = bool(plain & set(REFERENCES)) and any(f"gpt_{name}" in plain for name in ONE_TO_FIVE)
    return of_evaluate or of_one or of_chat


def _plain(column: str) -> str:
    return column.rpartition(".")[2] if column.startswith(("inputs.", "outputs.")) else column


def _read(source: InputFile, _options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    columns = {_plain(str(name)).removeprefix("gpt_") for row in Peek(source).rows_at("rows") for name in row}
    scales: dict[str, tuple[float, float]] = {}
    declared: dict[str, Mapping[str, Any]] = {
        name: {"direction": "lower", "range": [0.0, 7.0]} for name in HARMS if name in columns
    }
    for name in columns.intersection(ONE_TO_FIVE):
        metric = METRICS.get(name, metric_name(name)[0])
        if metric in REGISTRY:
            scales[metric] = (1.0, 5.0)
        else:
            declared[metric] = {"direction": "higher", "range": [1.0, 5.0]}
    shares = columns.intersection(SHARES)
    declared |= {name: {"direction": "higher", "range": [0.0, 1.0]} for name in shares}

    samples = ((line, _sample(row)) for line, row in object_rows(rows_at(source, "rows", errors), errors))
    return [run_of(source, "azure", samples, config={SCALES: scales}, metrics=declared)]


def _sample(row: Row) -> Row:
    """Return a row as a sample: scores on the scales of their evaluators, passes and failures as checks."""
    values, fields = _values(row)
    scores: Row = {}
    checks: list[Row] = []
    for value in values:
        metric = METRICS.get(value.evaluator, metric_name(value.evaluator)[0])
        amount = value.at.get("score" if value.evaluator in HARMS else "")
        amount = float(amount) if isinstance(amount, bool) else number(amount)
        scores[metric] = {"value": amount, "reason": text_in(value.at.get("reason"))}
        if (check := _check(value)) is not None:
            checks.append(check)
    taken = {name for names in (QUESTIONS, ANSWERS, REFERENCES) for name in names}
    taken |= {"id", "context", "latency", "error"}
    return {
        "question_id": text_in(fields.get("id")),
        "question": _first(fields, QUESTIONS),
        "answer": _first(fields, ANSWERS),
        "reference_answer": _first(fields, REFERENCES),
        "retrieved": _passages(fields.get("context")),
        "scores": scores,
        "checks": checks or None,
        "latency_ms": milliseconds(fields.get("latency")),
        "tags": error_tag(fields.get("error")),
        "tool": "Azure AI Evaluation",
        **{f"azure_{name}": tag_value(value) for name, value in fields.items() if name not in taken},
    }


def _first(fields: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    return next((text for name in names if (text := text_in(fields.get(name))) is not None), None)


def _values(row: Row) -> tuple[list[_Value], Row]:
    """Return what the evaluators said of a row, each once, and its other fields."""
    fields: Row = {}
    for column, value in row.items():
        name = str(column)
        target = re.fullmatch(r"outputs\.(\w+)", name)  # what the system under test returned
        if target or not name.startswith("outputs."):
            fields[_plain(name)] = value
        else:
            _, evaluator, key = name.split(".", 2) if name.count(".") >= 2 else ("", "", name)
            fields[key if key.removeprefix("gpt_").startswith(evaluator) else f"{evaluator}_{key}"] = value
    names = [name for name in fields if _is_score(name, fields)]
    values = []
    for name in names:
        base = name.removeprefix("gpt_")
        if name != base and base in names:  # the old name beside the new one
            continue
        beside = {end: fields.pop(f"{base}_{end}") for end in BESIDE if f"{base}_{end}" in fields}
        values.append(_Value(base, {"": fields.get(name), **beside}))
    return values, {name: value for name, value in fields.items() if name not in names}


def _is_score(name: str, fields: Row) -> bool:
    """Return whether a field is the value of an evaluator: one of Azure's, or one with a verdict beside."""
    base = name.removeprefix("gpt_")
    known = base in (*ONE_TO_FIVE, *SHARES, *HARMS)
    judged = f"{base}_result" in fields or f"{base}_threshold" in fields
    is_share = isinstance(fields[name], int | float) and base in ("citations_matched", "any_citation")
    return known or judged or is_share


def _check(value: _Value) -> Row | None:
    """Return the evaluator's own pass or fail; None where it gave none, as for a row it could not judge."""
    passed = {"pass": True, "fail": False}.get(str(value.at.get("result")).strip().lower())
    if passed is None and isinstance(value.at.get("passed"), bool) and number(value.at.get("")) is not None:
        passed = value.at["passed"]
    if passed is None:
        return None
    threshold = number(value.at.get("threshold"))
    name = f"{value.evaluator}_result"
    limit = None if threshold is None else f"threshold {threshold:g}"
    return {"name": name, "kind": name, "expected": limit, "passed": passed}


def _passages(context: object) -> list[Row] | None:
    """Return the passages of a context: records by id, passages that begin with file and page, else one."""
    records = fields_in(context)
    if records and all(isinstance(record, dict) for record in records.values()):
        return [{"id": str(key), "text": _record_text(record)} for key, record in records.items()]
    text = text_in(context)
    if text is None:
        return None
    starts = list(PAGE.finditer(text))
    if not starts or starts[0].start() > 0:
        return [{"text": text}] if text.strip() else []
    ends = [*(start.start() for start in starts[1:]), len(text)]
    return [
        {"id": start["id"], "text": text[start.end() : end].strip()}
        for start, end in zip(starts, ends, strict=True)
    ]


def _record_text(record: Mapping[str, Any]) -> str:
    return "\n".join(f"{key}: {value}" for key, value in record.items() if value not in (None, ""))


def _is_summary(peek: Peek) -> bool:
    """Return whether these are the counts and means of a whole evaluation."""
    facts = [value for value in peek.keys.values() if isinstance(value, dict)]
    marks = ({"pass_count", "pass_rate"}, {"low_count", "low_rate"}, {"mean_rating"})
    return (
        bool(facts)
        and len(facts) == len(peek.keys)
        and any(mark <= fact.keys() for fact in facts for mark in marks)
    )


READERS = {"azure": Reader(_read, _is_rows), "azure_summary": Reader(detect=_is_summary)}
