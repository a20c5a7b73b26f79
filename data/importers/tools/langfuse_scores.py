"""Langfuse: scores by people and evaluators, in files of their own or beside what they are about."""

from collections.abc import Iterable, Mapping
from statistics import fmean
from typing import Any

from ragtriage.data.declarations import declaration_fault
from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.importer import Peek
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.names import metric_name
from ragtriage.data.importers.parsing.rows import Spool, rows_at
from ragtriage.data.importers.parsing.values import Fields, number, value_in
from ragtriage.data.importers.spans.samples import SCORED_WITHOUT_ANSWER

ANNOTATOR = "langfuse"  # where a rating does not say whose it is
AVERAGED = "several scores of one name on a trace are averaged"


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
                self.add(line, row)

    def add(self, line: int, row: object) -> None:
        """Keep a score."""
        score = Fields(row)
        subject = score.fields("subject")
        about = (subject.text("id"), subject.text("traceId"), score.text("traceId", "observationId"))
        for name in {name for name in about if name}:
            self._spool.add(name, line, row)

    def of(self, *ids: object) -> list[Mapping[str, Any]]:
        """Return the scores of a trace, or of its observations, each once."""
        rows = [row for about in ids if isinstance(about, str) for _, row in self._spool.rows(about)]
        return list({str(row.get("id", position)): row for position, row in enumerate(rows)}.values())


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
    for row in map(Fields, rows):
        name = row.text("name")
        if name is None:
            continue
        metric, comment = metric_name(name)[0], row.text("comment")
        value, word = _value_and_word(row)
        if value is not None and word is not None and metric not in declared:
            declaration = {"direction": "higher", "range": [0, 1]}
            if declaration_fault(metric, declaration) is None:
                declared[metric] = declaration
        if row.at("source") == "ANNOTATION":
            annotator = row.text("authorUserId", "author", "userId") or ANNOTATOR
            note = ": ".join(filter(None, (word, comment))) or None
            # One of two sides, or a word that says which, is on a scale of 0 to 1.
            two_sided = value is not None and row.at("dataType") in ("CATEGORICAL", "BOOLEAN")
            scale = {"low": 0.0, "high": 1.0} if two_sided else {}
            human.append({"annotator": annotator, "metric": metric, "value": value, "note": note, **scale})
        elif value is not None:
            by_name.setdefault(metric, []).append((value, comment))
        elif word is not None:
            tags[name] = word
    scores = {
        name: {"value": fmean(value for value, _ in same), "reason": next((c for _, c in same if c), None)}
        for name, same in by_name.items()
    }
    if any(len(same) > 1 for same in by_name.values()):
        errors.remark(AVERAGED, line)
    if scores and record.get("answer") is None:
        errors.remark(SCORED_WITHOUT_ANSWER, line)
    return {
        **record,
        **({"scores": {**record.get("scores", {}), **scores}} if scores else {}),
        **({"human": [*record.get("human", []), *human]} if human else {}),
        **({"tags": {**record.get("tags", {}), **tags}} if tags else {}),
    }


def _value_and_word(row: Fields) -> tuple[float | None, str | None]:
    """Return the number of a score, and its category or text; of a number the word is None.

    A category is a number where its word says which side is good: the number beside it is its place in a
    list, not a value.
    """
    kind, value = row.at("dataType"), row.at("value")
    word = row.at("stringValue") or value
    word = word.strip() or None if isinstance(word, str) and number(word) is None else None
    if kind in ("TEXT", "CORRECTION"):
        return None, word
    if kind == "CATEGORICAL" or (word is not None and value in (None, "", word)):
        return value_in(word) if word is not None else None, word
    return value_in(value), word
