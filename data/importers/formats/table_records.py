"""Rows of a plain table as records, by the plan of its columns."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.parsing.cells import (
    OBJECT_KEYS,
    CellError,
    is_blank,
    object_in,
    read_cell,
    read_score,
)
from ragtriage.data.importers.parsing.columns import NUMBER_FIELDS, WEIGHT, Plan
from ragtriage.data.importers.parsing.containers import TOTALS
from ragtriage.data.importers.parsing.head_column import put_check, with_point
from ragtriage.data.importers.parsing.headings import PASSED
from ragtriage.data.importers.parsing.nested_ids import is_nested, nested_value
from ragtriage.data.importers.parsing.rows import Table
from ragtriage.data.importers.parsing.shapes import objects
from ragtriage.data.store.parsed_run import Record
from ragtriage.data.store.sample_schema import FIELDS, document_id

A_PERSON = "a person"  # who judged, where no column says it
DOCUMENT_KEYS = ("retrieved_contexts", "contexts", "context", "documents", "source_documents", "chunks")
SAME_ID = "another question under the same id: each is a question of its own, as in files put together"


def records_of(
    rows: Iterable[tuple[int, dict[str, Any]]], plan: Plan, errors: ValidationErrors, gold: Gold
) -> Iterator[Record]:
    """Yield rows as native records; a row that cannot be read is left out and its errors are added."""
    builder = _Builder(plan, errors, gold)
    if plan.rater:
        rows = _ratings_together(rows, plan, errors)
    for line, row in rows:
        record = builder.record(line, row)
        if record is not None:
            yield line, record


RATINGS = "ratings"  # key under which a row holds the rows of all who rated its answer


def _ratings_together(
    rows: Iterable[tuple[int, dict[str, Any]]], plan: Plan, errors: ValidationErrors
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield one row for each answer, with the rows of the people who rated it; they are read whole first."""
    same = [column for column, field in plan.fields.items() if field in FIELDS or field == "run"]
    answers: dict[str, tuple[int, list[dict[str, Any]]]] = {}
    for line, row in rows:
        key = repr([row.get(column) for column in same])
        answers.setdefault(key, (line, []))[1].append(row)
    if further := sum(len(given) - 1 for _, given in answers.values()):
        errors.leave_out("a further rating of an answer, kept as its label", further)
    for line, given in answers.values():
        yield line, {**given[0], RATINGS: given}


@dataclass(frozen=True)
class Gold:
    """The use of reference passages in the form of texts: gold only if some are among the retrieved ones."""

    usable: bool
    notes: tuple[str, ...]

    @classmethod
    def of(cls, table: Table, plan: Plan) -> Gold:
        """Return whether the head of a table holds such passages, and what to say of it."""
        texts, retrieved = plan.column("relevant_texts"), plan.column("retrieved")
        if texts is None or plan.column("relevant") is not None:
            return cls(False, ())
        shared = any(
            _texts(row.get(texts), "relevant_texts") & _texts(row.get(retrieved), "retrieved")
            for _, row in table.head
            if isinstance(row, dict)
        )
        matched = f"column {texts!r} holds the relevant passages; they are matched by their text"
        none = (
            f"no passage of {texts!r} is among the retrieved ones word for word: kept as extra, not as gold"
        )
        return cls(shared, (matched if shared else none,))


def _texts(value: object, field: str) -> set[str]:
    try:
        parsed = read_cell(field, value)
    except CellError:
        return set()
    items = parsed if isinstance(parsed, list) else []
    texts = (item.get("text") if isinstance(item, dict) else item for item in items)
    return {text for text in texts if isinstance(text, str)}


class _Builder:
    """Builder of the records of one run; it counts questions to number their repeats."""

    def __init__(self, plan: Plan, errors: ValidationErrors, gold: Gold) -> None:
        self._plan = plan
        self._errors = errors
        self._gold = gold
        self._asked: Counter[object] = Counter()
        self._labels: dict[str, int] = {}
        self._seen: set[object] = set()
        self._texts: dict[object, list[str]] = {}  # id -> the different questions under it

    def record(self, line: int, row: dict[str, Any]) -> dict[str, Any] | None:
        before = self._errors.total
        record: dict[str, Any] = {}
        ratings = row.pop(RATINGS, [row]) if self._plan.rater else [row]
        for column, value in row.items():
            try:
                self._put(record, str(column), value, line)
            except CellError as fault:
                field = self._plan.fields.get(str(column), "")
                shown = field if field == column or not field else f"{column} (as {field})"
                self._errors.add(line, shown or str(column), fault.what, fault.accepted)
        if self._errors.total > before:
            return None
        for rating in ratings:
            self._label(record, line, rating)
        refusals = (self._plan.refusals or {}).items()
        if any(str(row.get(column)).strip().lower() in words for column, words in refusals):
            record.setdefault("refused", True)
        self._explain(record, row)
        self._decide(record, row)
        if is_total(record):
            self._errors.leave_out("a row that sums up others")
            return None
        _split_conversation(record)
        self._join_documents(record, line)
        self._number_repeat(record)
        return record if self._errors.total == before else None

    def _label(self, record: dict[str, Any], line: int, row: Mapping[str, Any]) -> None:
        """Put what a person gave among the labels of the record."""
        for column, field in self._plan.fields.items():
            kind, _, metric = field.partition(".")
            if kind != "human" or not metric or is_blank(row.get(column), blank_text=True):
                continue
            try:
                value = self._score(column, row[column])
            except CellError as fault:
                self._errors.add(line, column, fault.what, fault.accepted)
                continue
            if not isinstance(value, int | float) or math.isnan(value):
                continue
            low, high = (self._plan.ends or {}).get(column, (None, None))
            annotator = str(row.get(self._plan.rater) or A_PERSON).strip()
            label = {
                "annotator": annotator,
                "metric": metric,
                "value": float(value),
                "low": low,
                "high": high,
            }
            record.setdefault("human", []).append(label)

    def _explain(self, record: dict[str, Any], row: dict[str, Any]) -> None:
        """Put the reasons that have columns of their own beside the scores that they explain."""
        for column, metric in (self._plan.reasons or {}).items():
            reason, scores = row.get(column), record.get("scores")
            if is_blank(reason, blank_text=True) or not isinstance(scores, dict) or metric not in scores:
                continue
            if not isinstance(scores[metric], dict):
                scores[metric] = {"value": scores[metric], "reason": str(reason)}
                record.pop(column, None)

    def _decide(self, record: dict[str, Any], row: Mapping[str, Any]) -> None:
        """Put what the tool itself decided on the row among its checks."""
        for column, verdict in (self._plan.siblings.verdicts if self._plan.siblings else {}).items():
            passed = PASSED.get(str(row.get(column)).strip().lower())
            checks = record.setdefault("checks", []) if passed is not None else None
            if isinstance(checks, list):
                sides = {"expected": row.get(verdict.threshold), "actual": row.get(verdict.score)}
                checks.append({"name": column, "kind": "metric", **sides, "passed": passed})

    def _put(self, record: dict[str, Any], column: str, value: object, line: int) -> None:
        field = self._plan.fields.get(column, "")
        kind, _, key = field.partition(".")
        if (kind == "human" and key) or column == self._plan.rater:
            return
        if field in NUMBER_FIELDS and column in self._plan.decimal_commas:
            value = with_point(value)
        if kind == "scores" and key:
            scores = record.setdefault("scores", {})
            if isinstance(scores, dict):
                scores[key] = self._score(column, value)
            return
        if kind == "checks" and key:
            put_check(record, field, value, blank_text=self._plan.blank_text)
            return
        if field == "run" or is_blank(value, blank_text=self._plan.blank_text):
            return
        if kind == "tags" and key:
            tags = record.setdefault("tags", {})
            if isinstance(tags, dict):
                tags[key] = value.lower() if value in ("True", "False") else value
        elif not field or (field == "relevant_texts" and not self._gold.usable):
            record[f"{column} (column)" if column in FIELDS else column] = value
        else:
            self._put_field(record, field, column, value)
            self._keep_object(record, field, column, value, line)

    def _score(self, column: str, value: object) -> object:
        """Return a score; of a column of verdicts, a word that is none of them is a failed one."""
        value = with_point(value) if column in self._plan.decimal_commas else value
        values = (self._plan.verdicts or {}).get(column)
        if values is None or is_blank(value, blank_text=True):
            return read_score(value)
        try:
            word = str(value).strip().lower()
            return values[word] if word in values else read_score(value)
        except CellError as fault:
            return {"value": None, "reason": fault.what}

    def _put_field(self, record: dict[str, Any], field: str, column: str, value: object) -> None:
        parsed = read_cell(field, value)
        factor = self._plan.factors.get(column)
        if factor is not None and isinstance(parsed, int | float):
            parsed = parsed * factor
        if field in {"scores", "tags"} and isinstance(parsed, dict):
            before = record.setdefault(field, {})
            if isinstance(before, dict):
                before.update(parsed)
            if field == "scores" and isinstance(value, list):  # with labels, annotators and the like
                record[f"{column} (list)" if column in FIELDS else column] = value
            return
        if field == WEIGHT:
            field, parsed = "sampling_rate", 1 / parsed  # type: ignore[operator]  # a number, as it was read
        record["latency_ms" if field == "latency_s" else field] = parsed
        if field == "reference_answer":
            others = read_cell("relevant_texts", value) if parsed != value else []
            if isinstance(others, list) and len(others) > 1:
                record[f"{column} (all)"] = others

    def _keep_object(self, record: dict[str, Any], field: str, column: str, value: object, line: int) -> None:
        """Keep the rest of an object from which a question or an answer was read, and take its documents."""
        fields = object_in(value) if field in OBJECT_KEYS else {}
        if not any(key in fields for key in OBJECT_KEYS.get(field, ())):
            return
        self._errors.remark(f"{field} is read out of the objects in column {column!r}", line)
        if len(fields) > 1:
            record[f"{column} (object)"] = fields
        documents = next((fields[name] for name in DOCUMENT_KEYS if isinstance(fields.get(name), list)), None)
        if documents is not None and self._plan.column("retrieved") is None:
            record.setdefault("retrieved", read_cell("retrieved", documents))

    def _join_documents(self, record: dict[str, Any], line: int) -> None:
        documents = record.get("retrieved")
        path = self._plan.column("retrieved_ids") or ""
        if is_nested(path) and isinstance(documents, list):
            paths = [nested_value(item, path) if isinstance(item, dict) else None for item in documents]
            documents = [
                item if name is None else {**item, "id": name}
                for item, name in zip(documents, paths, strict=True)
            ]
        for field, part in (("retrieved_ids", "id"), ("retrieved_scores", "score")):
            values = record.pop(field, None)
            if values is None:
                continue
            if documents is None and part == "id":
                documents = [{} for _ in values]
            if not isinstance(documents, list) or len(documents) != len(values):
                count = len(documents) if isinstance(documents, list) else 0
                what = f"has {len(values)} items for {count} documents"
                self._errors.add(line, field, what, "one item per document")
                return
            documents = [
                {**item, part: value} if isinstance(item, dict) else item
                for item, value in zip(documents, values, strict=True)
            ]
        if documents is not None:
            record["retrieved"] = documents
        texts = record.pop("relevant_texts", None)
        if texts is not None:
            listed = objects(documents)  # validation says what is accepted
            ids = {
                item["text"]: item["id"] for item in reversed(listed) if item.get("text") and item.get("id")
            }
            record["relevant"] = [
                {"id": ids.get(text, document_id(text)) if isinstance(text, str) else text} for text in texts
            ]

    def _number_repeat(self, record: dict[str, Any]) -> None:
        """Make (question, repeat) unique: keep the record's repeat if it is not taken, else take the next."""
        question = record.get("question_id") or repr((record.get("history"), record.get("question")))
        question = question if isinstance(question, str | int) else repr(question)
        if record.get("question_id"):
            question = record["question_id"] = self._told_apart(question, record.get("question"))
        repeat = record.pop("repeat", None)
        if isinstance(repeat, str):
            repeat = self._labels.setdefault(repeat, len(self._labels))
        if repeat is None or (question, repeat) in self._seen:
            repeat = self._asked[question]
            while (question, repeat) in self._seen:
                repeat += 1
        self._seen.add((question, repeat))
        self._asked[question] += 1
        if repeat:
            record["repeat"] = repeat

    def _told_apart(self, question: str | int, text: object) -> str | int:
        """Return the id of a question; another text under the same id is another question, as "7 (2)"."""
        texts = self._texts.setdefault(question, [])
        words = " ".join(str(text).casefold().split())
        if words not in texts:
            texts.append(words)
            if len(texts) > 1:
                self._errors.remark(SAME_ID)
        at = texts.index(words)
        return question if not at else f"{question} ({at + 1})"


def is_total(record: Mapping[str, Any]) -> bool:
    """Return whether a row sums up others: "Average" in place of the question, and no other text."""
    question = str(record.get("question") or record.get("question_id") or "").strip()
    return (
        TOTALS.fullmatch(question) is not None
        and not {"answer", "reference_answer", "retrieved"} & record.keys()
    )


def _split_conversation(record: dict[str, Any]) -> None:
    """Split a question in the form of turns: the user's last one is the question, the earlier are history."""
    turns = record.get("question")
    if not isinstance(turns, list):
        return
    by_user = [i for i, turn in enumerate(turns) if isinstance(turn, dict) and turn.get("role") == "user"]
    if not by_user:
        return
    last = by_user[-1]
    record["question"] = turns[last]["text"]
    if last:
        record["history"] = turns[:last]
    answers = [turn["text"] for turn in turns[last + 1 :] if isinstance(turn, dict)]
    if answers and "answer" not in record:
        record["answer"] = answers[-1]
