"""Columns beside a score: its threshold, its greatest value, and what the tool decided from it.

A threshold of 3 beside values from 1 to 5 proves that the tool scored from 1 to 5. A tool's own
pass or fail is not a score: it becomes a check named after its column.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

from ragtriage.data.importers.parsing.head_column import FLAGS, PAIRS, HeadColumn
from ragtriage.data.importers.parsing.names import metric_name, plain_name
from ragtriage.metrics.metric_registry import REGISTRY
from ragtriage.metrics.sanity.columns import usual_scale

ENDINGS = {
    "threshold": ("threshold", "min_score", "minimum_score", "cutoff"),
    "greatest": ("max_score", "maximum_score", "scale_max", "max"),
    "verdict": ("result", "passed", "pass", "success"),
}  # what a column beside a score holds -> the last words of its name
PASSED = {
    word: position == 0 for pair in (*PAIRS, *FLAGS) for position, word in enumerate(pair)
}  # words of a verdict in lower case -> whether they mean a pass


@dataclass(frozen=True)
class ToolVerdict:
    """The tool's own decision on a sample, and what it rests on."""

    score: str  # column of the score that it decides on; "" where it decides on the whole sample
    threshold: str  # column of the threshold; "" where there is none


@dataclass(frozen=True)
class Siblings:
    """The columns beside the scores of a table."""

    limits: tuple[str, ...]  # columns of thresholds and of greatest values
    verdicts: Mapping[str, ToolVerdict]  # column of a pass or fail -> what it rests on
    # metric -> least and greatest value, where a column beside it proves them
    scales: Mapping[str, tuple[float, float]]
    notes: tuple[str, ...]  # how the scales were found


def siblings_of(columns: Sequence[HeadColumn], fields: Mapping[str, str], fixed: Collection[str]) -> Siblings:
    """Return the columns beside scores."""
    by_score: dict[str, dict[str, HeadColumn]] = {}  # score -> kind of column beside it -> that column
    scores: list[HeadColumn] = []
    plains = {plain_name(column.name) for column in columns}
    of_rows: list[str] = []  # columns of a pass or fail without the name of a score
    errors = any(plain_name(column.name) in ("error", "errors", "error_message") for column in columns)
    for column in columns:
        kind, base = _kind_and_base(column.name)
        taken = {column.name, metric_name(column.name)[0]}.intersection(fixed)
        free = not taken and fields.get(column.name, "scores.").startswith(("scores.", "tags."))
        if errors and plain_name(column.name) == "success":
            continue  # says that the call did not fail
        words = {str(value).strip().lower() for value in column.values if kind == "verdict"}
        is_kind = column.numeric == 1.0 if kind != "verdict" else bool(words) and words <= PASSED.keys()
        if kind and free and is_kind:
            by_alias = not {base, f"{base}_score"} & plains  # groundedness_threshold beside faithfulness
            for name in {base, metric_name(base)[0]} if base and by_alias else {base}:
                by_score.setdefault(name, {}).setdefault(kind, column)
            of_rows += [column.name] if kind == "verdict" and not base else []
        elif fields.get(column.name, "").startswith("scores."):
            scores.append(column)
    of_all = by_score.get("", {})
    limits: dict[str, None] = {}
    verdicts: dict[str, ToolVerdict] = {}
    scales: dict[str, tuple[float, float]] = {}
    notes: list[str] = []
    for score in scores:
        plain, key = plain_name(score.name), metric_name(score.name)[0]
        only = plain == "score" or len(scores) == 1
        own = {kind: column for kind, column in of_all.items() if only or kind == "greatest"}
        own |= by_score.get(key, {}) | by_score.get(plain.removesuffix("_score"), {})
        threshold, greatest, verdict = (own.get(kind) for kind in ("threshold", "greatest", "verdict"))
        limits |= {column.name: None for column in (threshold, greatest) if column is not None}
        if verdict is not None:
            verdicts[verdict.name] = ToolVerdict(score.name, threshold.name if threshold else "")
        metric = fields[score.name].removeprefix("scores.")
        known = REGISTRY.get(metric)
        to_one = known is not None and known.bounds == (0.0, 1.0)
        scale = _scale(score, own) if to_one and max(score.finite, default=0.0) > 1.0 else None
        if scale is not None:
            scales[metric] = scale
            proof = next(column.name for column in (greatest, threshold, verdict) if column is not None)
            ends = f"{scale[0]:g} to {scale[1]:g}"
            notes.append(f"{score.name} is on a scale of {ends}, as {proof!r} shows: converted to 0 to 1")
    for name in of_rows if scores else ():  # alone, a column of passes is the score
        verdicts.setdefault(name, ToolVerdict("", ""))
    return Siblings(tuple(limits), verdicts, scales, tuple(notes))


def _kind_and_base(name: str) -> tuple[str, str]:
    """Return what a column beside a score holds, by its last words, and the words before; "" for none."""
    plain = plain_name(name)
    for kind, endings in ENDINGS.items():
        for ending in endings:
            if plain == ending or plain.endswith(f"_{ending}"):
                return kind, plain.removesuffix(ending).rstrip("_")
    return "", ""


def _scale(score: HeadColumn, beside: Mapping[str, HeadColumn]) -> tuple[float, float] | None:
    """Return the scale of a score that the columns beside it prove; None where they do not.

    The greatest value proves it alone. A threshold does where it lies inside the scale that the values are
    usually on and they reach its ends; passes do where they are all above or all below the failures.
    """
    least, most = min(score.finite), max(score.finite)
    usual = usual_scale(least, most)
    if "greatest" in beside:
        tops = set(beside["greatest"].finite)
        if len(tops) == 1 and most <= (top := tops.pop()):
            return (1.0 if usual == (1.0, 5.0) == (1.0, top) else 0.0), top
    splits = _splits(score, beside["verdict"]) if "verdict" in beside else None
    if usual is None or splits is False:
        return None
    limits = beside["threshold"].finite if "threshold" in beside else ()
    if not limits:
        return usual if splits and (least, most) == usual else None
    reached = most == usual[1] and (least == usual[0] or usual[0] == 0)
    inside = all(1 < limit <= usual[1] for limit in limits)
    return usual if inside and (reached or min(limits) > 10) else None  # above 10 no other scale is usual


def _splits(score: HeadColumn, verdict: HeadColumn) -> bool | None:
    """Return whether all passes lie above all failures, or all below; None where that cannot be seen."""
    if not len(score.numbers) == len(verdict.values) == score.rows:
        return None  # with blanks left out, the cells are not those of the same rows
    by_outcome: dict[bool, list[float]] = {True: [], False: []}
    for number, word in zip(score.numbers, verdict.values, strict=True):
        if number is not None and isfinite(number):
            by_outcome[PASSED[str(word).strip().lower()]].append(number)
    passes, failures = by_outcome[True], by_outcome[False]
    if not passes or not failures:
        return None
    return min(passes) >= max(failures) or max(passes) <= min(failures)
