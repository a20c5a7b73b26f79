"""Names of columns and metrics in files of other tools: common names of fields, and metrics under ours."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Sequence
from functools import cache
from pathlib import Path

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


@cache
def synonyms() -> dict[str, list[str]]:
    """Return field -> the plain names that are read as it, the most certain first."""
    text = Path(__file__).with_name("columns.json").read_text(encoding="utf-8")
    names: dict[str, list[str]] = json.loads(text)
    return {**names, **{field: [field] for field in FIELDS if field not in names}}


def guessed_fields(columns: Iterable[str]) -> set[str]:
    """Return the fields that these column names are common names for."""
    plain = {plain_name(column) for column in columns}
    return {
        field
        for field, names in synonyms().items()
        if any(name in plain and not is_option(name, plain) for name in names)
    }


def is_option(name: str, plain: Collection[str]) -> bool:
    """Return whether a column is an option of a multiple choice: `a` beside `b` is not an answer."""
    return name == "a" and "b" in plain
