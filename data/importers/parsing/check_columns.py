"""Columns `expected_X` and `actual_X` of a table as checks of kind X, and verdicts as numbers."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ragtriage.data.importers.parsing.cells import CellError, is_blank, parse_structure
from ragtriage.data.importers.parsing.names import plain_name, synonyms
from ragtriage.metrics.diagnosis.check_kinds import is_known_kind, suite_of

FIELD = re.compile(r"checks\.(.+)\.(expected|actual)")
COLUMN = re.compile(r"(expected|actual)_(.+)")
QUALITY = re.compile(r"(?:score|quality)_.+|.+_(?:score|quality)")


def is_check_field(field: str) -> bool:
    """Return whether a field is `checks.<kind>.expected` or `checks.<kind>.actual`."""
    return FIELD.fullmatch(field) is not None


def check_columns(columns: Iterable[str]) -> dict[str, str]:
    """Return the columns that make checks -> their field, as expected_route -> checks.route.expected.

    An expected column without its actual one counts where the kind is known: its checks are then not
    measured. Names that common fields go by, such as expected_output, are none.
    """
    taken = {name for names in synonyms().values() for name in names}
    sides: dict[str, dict[str, str]] = {}
    for column in columns:
        plain = plain_name(column)
        match = COLUMN.fullmatch(plain)
        if match and plain not in taken:
            sides.setdefault(match[2], {}).setdefault(match[1], column)
    return {
        column: f"checks.{kind}.{side}"
        for kind, both in sides.items()
        if "expected" in both and ("actual" in both or is_known_kind(kind))
        for side, column in both.items()
    }


def holds_pairs(columns: Iterable[str]) -> bool:
    """Return whether some columns make checks."""
    return bool(check_columns(columns))


def has_route_checks(fields: Iterable[str]) -> bool:
    """Return whether some fields that columns fill are checks of a router."""
    kinds = [match[1] for match in map(FIELD.fullmatch, fields) if match]
    return any(suite_of(kind) == "router" for kind in kinds)


def is_route_quality(column: str) -> bool:
    """Return whether a column of numbers beside a router's checks is the quality of an answer.

    score_strong and unify_score are.
    """
    return bool(QUALITY.fullmatch(plain_name(column)))


def put_check(record: dict[str, Any], field: str, value: object, *, blank_text: bool) -> None:
    """Add one side of a check to the checks of a record; a blank cell adds nothing."""
    match = FIELD.fullmatch(field)
    if match is None or is_blank(value, blank_text=blank_text):
        return
    checks = record.setdefault("checks", [])
    if not isinstance(checks, list):  # validation says what is accepted
        return
    kind, side = match[1], match[2]
    check = next((entry for entry in checks if isinstance(entry, dict) and entry.get("name") == kind), None)
    if check is None:
        check = {"name": kind, "kind": kind}
        checks.append(check)
    check[side] = value
    with suppress(CellError):
        check[side] = parse_structure(value)


PAIRS = (
    *(("pass", "fail"), ("passed", "failed"), ("passes", "fails"), ("good", "bad"), ("right", "wrong")),
    *(("correct", "incorrect"), ("accurate", "inaccurate"), ("faithful", "unfaithful"), ("valid", "invalid")),
    *(("grounded", "ungrounded"), ("supported", "unsupported"), ("relevant", "irrelevant")),
    *(("success", "failure"), ("helpful", "unhelpful"), ("safe", "unsafe"), ("acceptable", "unacceptable")),
)
FLAGS = (("true", "false"), ("yes", "no"), ("1", "0"), ("1.0", "0.0"), ("y", "n"))
LETTERS = "abcdef"
GRADES = {letter: round(1 - at / (len(LETTERS) - 1), 6) for at, letter in enumerate(LETTERS)}
GRADE_WORDS = {"grade", "grades", "graded", "grading", "rating", "mark", "quality", "score", "verdict"}
# Words in the name of a column with flags that make TRUE good.
GOOD_WORDS = {
    *("accurate", "accuracy", "correct", "correctness", "faithful", "faithfulness", "grade", "grounded"),
    *("groundedness", "hit", "ok", "pass", "passed", "passes", "passing", "rating", "relevance", "relevancy"),
    *("score", "supported", "verdict"),
}
# Words that make it a verdict, of which only the people who judged know whether TRUE is good.
UNCLEAR_WORDS = {
    *("bias", "biased", "contradicted", "contradicts", "error", "fail", "failed", "fails", "failure"),
    *("flag", "flagged", "hallucinated", "hallucinates", "hallucination", "harmful", "incorrect", "issue"),
    *("leak", "leaked", "offensive", "problem", "toxic", "toxicity", "ungrounded", "unsafe", "unsupported"),
    *("violation", "violates", "wrong"),
}
NEGATIONS = {"no", "non", "not", "never", "without"}


@dataclass(frozen=True)
class Verdict:
    """How the words of a column are read as numbers."""

    values: Mapping[str, float]  # word in lower case -> number
    plain: bool  # whether higher is better is plain from the name and the words
    shown: str  # the words that are 1 and 0, as they stand in the column
    note: str = ""  # what to say of how they are read; "" where there is nothing to say


def verdict_of(name: str, cells: Collection[object]) -> Verdict | None:
    """Return how a column of verdicts is read; None where its cells or its name are those of none."""
    words = {str(cell).strip().lower(): str(cell).strip() for cell in cells}
    in_name = set(plain_name(name).split("_"))
    if not words:
        return None
    if words.keys() <= GRADES.keys():
        if len(words) < 2 or not GRADE_WORDS & in_name:
            return None  # as the options of a multiple choice
        steps = ", ".join(f"{letter.upper()} = {value:g}" for letter, value in GRADES.items())
        return Verdict(GRADES, True, "A to F", f"column {name!r} holds letter grades, read as {steps}")
    for good, bad in PAIRS:
        if words.keys() <= {good, bad} and (len(words) == 2 or GOOD_WORDS & in_name):
            shown = f"{words.get(good, good)}/{words.get(bad, bad)}"
            note = f"column {name!r} holds {shown}, read as 1 and 0"
            return Verdict({good: 1.0, bad: 0.0}, True, shown, note)
    return _of_flags(words, in_name)


def _of_flags(words: Mapping[str, str], in_name: Collection[str]) -> Verdict | None:
    values = {word: float(at == 0) for pair in FLAGS for at, word in enumerate(pair)}
    named = set(in_name)
    if not words.keys() <= values.keys() or not (GOOD_WORDS | UNCLEAR_WORDS) & named:
        return None
    pair = next((pair for pair in FLAGS if words.keys() & set(pair)), FLAGS[0])
    shown = "/".join(words.get(word, word) for word in pair)
    return Verdict(values, not (UNCLEAR_WORDS | NEGATIONS) & named, shown)
