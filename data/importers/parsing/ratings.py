"""Scores in a table by hand: what they were given from, on which scale, which way is good, who gave them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ragtriage.data.declarations import declaration_fault
from ragtriage.data.importers.parsing.head_column import HeadColumn, Verdict
from ragtriage.data.importers.parsing.headings import ends_of, is_rating
from ragtriage.data.importers.parsing.siblings import Siblings

REASON_WORDS = ("reason", "reasoning", "explanation")


def ratings(
    columns: Sequence[HeadColumn], fields: Mapping[str, str], siblings: Siblings
) -> dict[str, dict[str, Any]]:
    """Return the scale of each rating that is no metric of ours: more is better, up to its greatest mark."""
    scales = {}
    for column in columns:
        kind, _, metric = fields[column.name].partition(".")
        if kind not in ("scores", "human") or not metric or column.name in siblings.limits:
            continue
        if column.verdict is None and is_rating(column) and (ends := ends_of(column)):
            scales[metric] = {"direction": "higher", "range": [*ends]}
    return {key: entry for key, entry in scales.items() if declaration_fault(key, entry) is None}


def ends_of_labels(
    columns: Sequence[HeadColumn], fields: Mapping[str, str]
) -> dict[str, tuple[float, float]]:
    """Return the scale of each column of labels, as far as it is known."""
    labels = [column for column in columns if fields[column.name].startswith("human.")]
    in_words = {column.name: (0.0, 1.0) for column in labels if column.verdict is not None}
    rated = ((column.name, ends_of(column)) for column in labels if column.verdict is None and column.finite)
    return in_words | {name: ends for name, ends in rated if ends is not None}


def is_given(column: HeadColumn) -> bool:
    """Return whether a column holds what a person may have given: a verdict or a rating."""
    return column.verdict is not None or is_rating(column)


def directions(verdicts: Mapping[str, Verdict], fields: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """Return what is plain of the direction of verdicts, unless the metric has a declaration of its own."""
    plain = {
        fields[name].partition(".")[2]: {"direction": "higher"} | ({"range": [0, 1]} if verdict.note else {})
        for name, verdict in verdicts.items()
        if verdict.plain
    }
    return {metric: entry for metric, entry in plain.items() if declaration_fault(metric, entry) is None}


def reasons_in(columns: Sequence[HeadColumn], fields: Mapping[str, str]) -> dict[str, str]:
    """Return the columns that explain a metric, as `faithfulness_reason` does, with its key."""
    reasons = {}
    for column in columns:
        metric, _, word = column.name.rpartition("_")
        kind, _, key = fields.get(metric, "").partition(".")
        if column.name not in fields and word in REASON_WORDS and kind == "scores" and key:
            reasons[column.name] = key
    return reasons
