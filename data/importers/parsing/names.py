"""Names of columns and metrics in files of other tools: common names of fields, and metrics under ours."""

import json
import re
from collections.abc import Collection, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from ragtriage.data.errors import InputError, ValidationError
from ragtriage.data.store.sample_schema import FIELDS

AT_K = re.compile(
    r"(recall|precision|hit|hit_rate|mrr|ndcg|map|all_hops_recall|wasted_context|deep_reliance)"
    r"(?:@|_at_|_)(\d{1,4})"
)
CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z][a-z])")
# The kind of a metric that DeepEval adds to its name, as in "Correctness [GEval]".
_KIND = re.compile(r"\s*[\[(](?:Conversational )?(?:G-?Eval|DAG|Arena GEval)[\])]\s*$", re.IGNORECASE)
MAX_LENGTH = 80


@cache
def _table() -> dict[str, str]:
    text = Path(__file__).with_name("metric_names.json").read_text(encoding="utf-8")
    aliases: dict[str, list[str]] = json.loads(text)
    return {alias: key for key, names in aliases.items() for alias in (key, *names)}


def plain_name(name: str) -> str:
    """Return a name in lower case, with underscores in place of all but letters, digits and @."""
    return re.sub(r"[^\w@]+", "_", CAMEL.sub("_", name.strip()).lower()).strip("_")


def metric_name(name: str) -> tuple[str, bool]:
    """Return the key of a metric, and whether it is one of ours.

    Parameters in the name are part of it: `noise_sensitivity(mode=relevant)` is `noise_sensitivity_relevant`.
    """
    base, _, parameters = _KIND.sub("", name).strip().partition("(")
    values = [part.partition("=")[2] or part for part in parameters.rstrip(")").split(",")]
    plain = plain_name("_".join([base, *values]))
    if key := _table().get(plain):
        return key, True
    if at_k := AT_K.fullmatch(plain):
        family = "hit" if at_k[1] == "hit_rate" else at_k[1]
        return f"{family}@{int(at_k[2])}", True
    return plain[:MAX_LENGTH] or "metric", False


MAP_QUESTION = "`--map question=COLUMN`"


class NoQuestionError(InputError):
    """A table is refused because none of its columns reads as the question; the user may name one.

    Attributes:
        columns: the columns of the table.
    """

    def __init__(self, error: ValidationError, columns: Sequence[str]) -> None:
        super().__init__([error])
        self.columns = tuple(columns)


class NothingMeasuredError(NoQuestionError):
    """A table is refused because it has questions, and no column that reads as what is measured of a run."""


@cache
def synonyms() -> dict[str, list[str]]:
    """Return field -> the plain names that are read as it, the most certain first."""
    text = Path(__file__).with_name("columns.json").read_text(encoding="utf-8")
    names: dict[str, list[str]] = json.loads(text)
    return {**names, **{field: [field] for field in FIELDS if field not in names}}


def guessed_fields(columns: Iterable[str]) -> set[str]:
    """Return the fields that these column names are common names for, or that a word in them stands for."""
    plain = {plain_name(column): column for column in columns}
    return {
        field
        for field, names in synonyms().items()
        if any(name in plain and not is_option(name, plain) for name in names)
    } | {role for column in plain.values() if (role := role_of(column))}


def role_of(heading: str, *, of_text: bool = False) -> str:
    """Return the field that a word in a heading stands for, as in "Bot answer" or "Pregunta"; "" for none.

    With `of_text` the cells are known to be text, and "Answer of the bot" is an answer too.
    """
    if metric_name(heading)[1]:
        return ""
    for field, word, others in ROLES:
        if says(heading, word) and not says(heading, *others):
            ends_with_it = plain_name(heading).rpartition("_")[2] in heading_words(word)
            is_sure = of_text or field != "answer" or ends_with_it or not _ENGLISH & words_of(heading)
            return field if is_sure else ""
    return ""


# field, the kind of word that stands for it, and the kinds that make the heading that of something else
_NO_TEXT = ("against", "about_text", "score", "latency", "cost", "rater", "judged_right", "helpful")
ROLES = (
    ("reference_answer", "reference", ("against", "documents", "about_text", "rater")),
    ("answer", "answer", (*_NO_TEXT, "correct", "question", "documents")),
    ("question", "question", (*_NO_TEXT, "answer", "documents")),
    ("retrieved", "documents", (*_NO_TEXT, "correct", "reference", "question", "answer")),
)
_ENGLISH = {"answer", "response", "reply", "output", "completion"}  # they also begin other names


def words_of(heading: str) -> set[str]:
    """Return the words of a heading in lower case."""
    return set(plain_name(heading).split("_"))


def says(heading: str, *kinds: str) -> bool:
    """Return whether a heading has a word of one of the kinds of `heading_words`."""
    plain, words = plain_name(heading), words_of(heading)
    return any(
        plain in heading_words(kind)
        or not words.isdisjoint(heading_words(kind))
        or any(word in plain for word in _unspaced(kind))
        for kind in kinds
    )


@cache
def heading_words(kind: str) -> frozenset[str]:
    """Return the words of a kind that people write in headings and cells, in a dozen languages."""
    return frozenset(_heading_words()[kind])


def words_in_order(kind: str) -> list[list[str]]:
    """Return pairs of verdicts or scales that people answer in, each from its best word to its worst."""
    return _heading_words()[kind]


@cache
def _unspaced(kind: str) -> tuple[str, ...]:
    """Return the words of a kind that stand in a heading without spaces around them, as in Chinese."""
    return tuple(word for word in heading_words(kind) if len(word) > 1 and "\u3040" <= word[0] <= "\u9fff")


@cache
def _heading_words() -> dict[str, list[Any]]:
    text = Path(__file__).with_name("heading_words.json").read_text(encoding="utf-8")
    words: dict[str, list[Any]] = json.loads(text)
    return words


_OUT_OF = re.compile(r"(?:/|\b(?:out of|of|von|sur|de|su|van|из)\b)\s*(\d{1,3})\W*$", re.IGNORECASE)
_FROM_TO = re.compile(r"\b(\d{1,3})\s*(?:-|–|—|\.\.|to|bis|à|a)\s*(\d{1,3})\b", re.IGNORECASE)


def scale_in(heading: str) -> tuple[float, float] | None:
    """Return the scale that a heading names, as "Note /10" or "Quality (1-5)" does; None for none."""
    if match := _FROM_TO.search(heading):
        low, high = float(match[1]), float(match[2])
    elif match := _OUT_OF.search(heading):
        low, high = 0.0, float(match[1])
    else:
        return None
    return (low, high) if low in (0.0, 1.0) and 2 <= high <= 100 else None


def is_option(name: str, plain: Collection[str]) -> bool:
    """Return whether a column is an option of a multiple choice: `a` beside `b` is not an answer."""
    return name == "a" and "b" in plain
