"""Scores of Langfuse: numbers by evaluators, ratings by people, and categories; failures and addresses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from statistics import fmean
from typing import Any

from ragtriage.data.declarations import declaration_fault
from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.metric_names import metric_name
from ragtriage.data.importers.parsing.peek import Peek
from ragtriage.data.importers.parsing.rows import rows_at
from ragtriage.data.importers.parsing.spool import Spool
from ragtriage.data.importers.spans.samples import SCORED_WITHOUT_ANSWER
from ragtriage.data.importers.spans.values import number
from ragtriage.data.importers.tools.facts import (
    field_of,
    fields_in,
    last_line,
    text_in,
    value_in,
)

ANNOTATOR = "langfuse"  # where a rating does not say whose it is


def is_scores(peek: Peek) -> bool:
    """Return whether these are scores alone: in the API by subject, on the screen and before by trace."""
    return any(
        {"name", "dataType"} <= row.keys()
        and (isinstance(row.get("subject"), dict) or {"traceId", "value"} <= row.keys())
        for row in peek.rows_at("data")
    )


class ScoresById:
    """Scores of files that hold nothing else, on disk by the trace or observation that they are about."""

    def __init__(self, files: Iterable[InputFile], errors: ValidationErrors) -> None:
        self._spool = Spool()
        for file in files:
            for line, row in rows_at(file, "data", errors):
                if isinstance(row, Mapping):
                    self.add(line, row)

    def add(self, line: int, row: Mapping[str, Any]) -> None:
        """Keep a score."""
        for about in _subjects(row):
            self._spool.add(about, line, row)

    def of(self, *ids: object) -> list[Mapping[str, Any]]:
        """Return the scores of a trace, or of its observations, each once."""
        found = [row for about in ids if isinstance(about, str) for _, row in self._spool.rows(about)]
        return list({str(row.get("id", position)): row for position, row in enumerate(found)}.values())


def _subjects(row: Mapping[str, Any]) -> set[str]:
    subject = fields_in(row.get("subject"))
    about = (subject.get("id"), subject.get("traceId"), field_of(row, "traceId", "observationId"))
    return {text for text in map(text_in, about) if text}


def with_scores(
    record: dict[str, Any],
    rows: Iterable[Mapping[str, Any]],
    line: int,
    errors: ValidationErrors,
    declared: dict[str, Any],
) -> dict[str, Any]:
    """Return a record with scores: those by people as human labels, categories without a direction as tags.

    Several numbers of one name are averaged, as the tool does. A metric whose categories say which side is
    good is added to `declared`.
    """
    by_name: dict[str, list[tuple[float, str | None]]] = {}
    human: list[dict[str, Any]] = []
    tags: dict[str, Any] = {}
    for row in rows:
        name = text_in(row.get("name"))
        if name is None:
            continue
        value, word, comment = _value(row), _word(row), text_in(row.get("comment"))
        if value is not None and word is not None:
            metric = metric_name(name)[0]
            declaration = {"direction": "higher", "range": [0, 1]}
            if metric not in declared and declaration_fault(metric, declaration) is None:
                declared[metric] = declaration
        if row.get("source") == "ANNOTATION":
            human.append(_rating(row, name, value, word, comment))
        elif value is not None:
            by_name.setdefault(metric_name(name)[0], []).append((value, comment))
        elif word is not None:
            tags[name] = word
    scores = {name: _averaged(values) for name, values in by_name.items()}
    if any(len(values) > 1 for values in by_name.values()):
        errors.remark("several scores of one name on a trace are averaged", line)
    if scores and record.get("answer") is None:
        errors.remark(SCORED_WITHOUT_ANSWER, line)
    return {
        **record,
        **({"scores": {**record.get("scores", {}), **scores}} if scores else {}),
        **({"human": [*record.get("human", []), *human]} if human else {}),
        **({"tags": {**record.get("tags", {}), **tags}} if tags else {}),
    }


def _averaged(values: list[tuple[float, str | None]]) -> dict[str, Any]:
    reason = next((comment for _, comment in values if comment), None)
    return {"value": fmean(value for value, _ in values), "reason": reason}


def _word(row: Mapping[str, Any]) -> str | None:
    """Return the category or the text of a score; None for a number."""
    word = field_of(row, "stringValue") or row.get("value")
    return word.strip() or None if isinstance(word, str) and number(word) is None else None


def _value(row: Mapping[str, Any]) -> float | None:
    """Return the number of a score; a category is one where its word says which side is good.

    The number beside a category is its place in a list, not a value.
    """
    kind, word = row.get("dataType"), _word(row)
    if kind in ("TEXT", "CORRECTION"):
        return None
    if kind == "CATEGORICAL" or (word is not None and row.get("value") in (None, "", word)):
        return value_in(word) if word is not None else None
    return value_in(row.get("value"))


def _rating(
    row: Mapping[str, Any], name: str, value: float | None, word: str | None, comment: str | None
) -> dict[str, Any]:
    """Return a rating by a person; one of two sides, or a word that says which, is on a scale of 0 to 1."""
    rating: dict[str, Any] = {
        "annotator": text_in(field_of(row, "authorUserId", "author", "userId")) or ANNOTATOR,
        "metric": metric_name(name)[0],
        "value": value,
        "note": ": ".join(filter(None, (word, comment))) or None,
    }
    if value is not None and row.get("dataType") in ("CATEGORICAL", "BOOLEAN"):
        rating |= {"low": 0.0, "high": 1.0}
    return rating


def error_of(row: Mapping[str, Any]) -> str | None:
    """Return why a trace, an item or an observation failed; None where it did not."""
    if row.get("level") != "ERROR":
        return None
    return last_line(row.get("statusMessage")) or "failed (level ERROR)"


def url_of(row: Mapping[str, Any]) -> str | None:
    """Return the address of a trace, where the row has the whole of it."""
    address = text_in(field_of(row, "url", "traceUrl", "htmlPath"))
    if address and address.startswith("/"):
        host = text_in(field_of(row, "host", "baseUrl")) or ""
        address = host.rstrip("/") + address
    return address if address and address.startswith(("https://", "http://")) else None
