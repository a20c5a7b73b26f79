"""The metrics of a live test: what each column measures, in which direction, and its values."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ragtriage.data.ab.reading import DAY, TestRows
from ragtriage.data.errors import DataError
from ragtriage.data.importers.parsing.names import plain_name
from ragtriage.data.importers.parsing.values import number
from ragtriage.metrics.ab.differences import ArmLevel, Scale, arm_level, arm_totals
from ragtriage.metrics.ab.feedback import promoter_values, retained
from ragtriage.metrics.schema.scores import FloatArray

Kind = Literal["share", "satisfied", "nps", "mean", "back", "answered"]
SCALES: Mapping[Kind, Scale] = {
    **{"share": "share", "satisfied": "share", "back": "share", "answered": "share"},
    **{"nps": "score", "mean": "number"},
}
YES = {"yes", "y", "true", "t", "up", "thumbs_up", "like", "positive", "success", "completed", "\U0001f44d"}
NO = {
    "no",
    "n",
    "false",
    "f",
    "down",
    "thumbs_down",
    "dislike",
    "negative",
    "failure",
    "failed",
    "\U0001f44e",
}
WORDS_OF_YES_NO = 5  # a column of yes and no may have a few other answers, which are not a yes
LEAST_YES_NO = 2 / 3
NUMBERS = 0.95  # of the answers are numbers in a column of numbers
LARGEST = 1e12  # a larger number is damage, and its square would overflow
LOWER = re.compile(
    r"time|latency|duration|seconds|_ms$|_s$|cost|price|tokens|error|fail|refus|escalat|bounce|complain|churn|retr(y|ies)"
)
HIGHER = re.compile(
    r"satisf|csat|complet|nps|click|success|resolv|solved|recommend|convert|conversion|thumb|rating|stars|helpful"
    r"|correct|accept|useful|retention|engag"
)
NO_METRIC = re.compile(
    r"(^|_)(id|uuid|index|row|line|seed|propensity|propensity_score|weight|hash|version|year)$"
)
BEFORE = re.compile(r"^pre_|_pre$|_before$|^before_")
DECIDING = ("task_completed", "completed", "satisfaction_score", "satisfaction", "nps_score", "nps")
BACK = re.compile(r"back_within_(\d{1,3})_days")
USUAL_WINDOW = 7
ANSWERED = "feedback_given"
FEEDBACK = re.compile(r"satisf|csat|nps|thumb|stars|rating")


@dataclass(frozen=True)
class Measure:
    """A metric of a live test."""

    name: str  # of its column, or back_within_7_days, feedback_given
    kind: Kind  # "satisfied" is the share of 4 and 5 of 5; "back" the share of users who came back
    higher_is_better: bool | None  # None where nobody said
    values: (
        FloatArray  # (n,) of the rows; shares as 0 and 1, an NPS as -100, 0 and 100; NaN where not measured
    )
    late: int = 0  # days after its row until a value is known
    other: int = 0  # cells that are on no scale of it, such as a text in a column of numbers: not counted

    @property
    def scale(self) -> Scale:
        """What the values are."""
        return SCALES[self.kind]

    @property
    def ends(self) -> tuple[float, float] | None:
        """The least and the greatest value; None where there are none."""
        return {"share": (0.0, 1.0), "score": (-100.0, 100.0), "number": None}[self.scale]


def measures_of(rows: TestRows, named: Sequence[str] = (), early: bool = False) -> dict[str, Measure]:
    """Return the metrics by name: columns of numbers, of yes and no, and what users and times add to them.

    Args:
        rows: the rows of the test.
        named: metrics that are asked for; their columns count whatever they are called.
        early: whether one of these may be none so far, such as who came back in the first days.

    Raises:
        DataError: one of these is none.
    """
    found: dict[str, Measure] = {}
    for column, cells in rows.cells.items():
        plain = plain_name(column)
        if column in named or not (NO_METRIC.search(plain) or BEFORE.search(plain)):
            measure = _measure(column, cells)
            if measure is not None:
                found[column] = measure
    windows = {int(match[1]) for name in named if (match := BACK.fullmatch(name))}
    for window in sorted(windows | {USUAL_WINDOW}):
        back = back_within(rows, window)
        if back is not None:
            found[back.name] = back
    answered = _answered(found)
    if answered is not None:
        found[ANSWERED] = answered
    for name in named:
        if name not in found and not early:
            needs = " with a user and a time in each row" if BACK.fullmatch(name) else ""
            accepted = ", ".join(list(found)[:12]) or "a column of numbers or of yes and no"
            raise DataError(f"no metric {name[:60]!r}{needs} in the rows; accepted: {accepted}")
    return found


def arm_levels(rows: TestRows, measure: Measure) -> dict[str, ArmLevel]:
    """Return arm -> mean of a metric with its 95 % interval."""
    masks = {name: rows.arm == code for code, name in enumerate(rows.arms)}
    return {
        name: arm_level(arm_totals(measure.values[mask], rows.units[mask]), measure.scale)
        for name, mask in masks.items()
    }


def answer_counts(rows: TestRows, name: str) -> dict[str, list[int]]:
    """Return arm -> how many answered 0, 1, ... 10 in a column of such answers."""
    answers = [_amount(cell) for cell in rows.cells[name]]
    counts = {arm: [0] * 11 for arm in rows.arms}
    for code, answer in zip(rows.arm.tolist(), answers, strict=True):
        if answer is not None and answer in range(11):
            counts[rows.arms[code]][int(answer)] += 1
    return counts


def measured_columns(rows: TestRows, named: Sequence[str] = ()) -> list[str]:
    """Return the columns that metrics are made of, and those that have them from before the test."""
    metrics = measures_of(rows, named)
    return [
        column
        for column, cells in rows.cells.items()
        if column in metrics or (BEFORE.search(plain_name(column)) and _measure(column, cells) is not None)
    ]


def deciding(measures: Mapping[str, Measure]) -> str:
    """Return the metric that decides where none is named: completion, satisfaction, NPS, a yes, the first."""
    plain = {plain_name(name): name for name in measures}
    known = next((plain[name] for name in DECIDING if name in plain), "")
    liked = [name for name, each in measures.items() if each.kind not in ("back", "answered")]
    wanted = [name for name in liked if measures[name].higher_is_better]
    shares = [name for name in liked if measures[name].scale == "share"]
    return known or next(iter([*wanted, *shares, *liked]), "")


def covariate_of(rows: TestRows, name: str) -> FloatArray | None:
    """Return (n,) values of a metric from before the test, of a column such as pre_NAME; None without it."""
    plain = plain_name(name)
    for column, cells in rows.cells.items():
        before = plain_name(column)
        if BEFORE.search(before) and BEFORE.sub("", before) == plain:
            measure = _measure(column, cells)
            return None if measure is None else measure.values
    return None


def _measure(column: str, cells: Sequence[object]) -> Measure | None:
    """Return what a column measures; None where it holds neither numbers nor yes and no."""
    words = [_word(cell) for cell in cells]
    answers = [word for word in words if word]
    if not answers:
        return None
    plain = plain_name(column)
    distinct = set(answers)
    yes_no = sum(word in YES or word in NO for word in answers)
    direction = False if LOWER.search(plain) else True if HIGHER.search(plain) else None
    if distinct & YES and len(distinct) <= WORDS_OF_YES_NO and yes_no >= LEAST_YES_NO * len(answers):
        values = np.array([np.nan if not word else float(word in YES) for word in words])
        return Measure(column, "share", direction is not False if direction is None else direction, values)
    if distinct <= NO:
        return Measure(column, "share", direction, np.array([np.nan if not word else 0.0 for word in words]))
    numbers = [_amount(cell) for cell in cells]
    measured = np.array([np.nan if amount is None else amount for amount in numbers])
    known = int(np.isfinite(measured).sum())
    endless = sum(word.lstrip("+-") in ("inf", "infinity") for word in answers)  # numbers, but not counted
    if not known or known + endless < NUMBERS * len(answers):
        return None
    return _of_numbers(column, plain, measured, len(answers) - known, direction)


def _of_numbers(column: str, plain: str, values: FloatArray, other: int, direction: bool | None) -> Measure:
    given = values[np.isfinite(values)]
    whole = bool(np.all(given == np.floor(given)))
    if whole and bool(np.all((given == 0) | (given == 1))):
        return Measure(column, "share", direction, values, other=other)
    if "nps" in plain.split("_"):
        fits = (values >= 0) & (values <= 10) & (values == np.floor(values))
        outside = int((np.isfinite(values) & ~fits).sum())
        return Measure(
            column, "nps", True, promoter_values(np.where(fits, values, np.nan)), other=other + outside
        )
    if whole and re.search(r"satisf|csat|stars", plain) and given.min() >= 1 and given.max() <= 5:
        return Measure(
            column, "satisfied", True, np.where(np.isfinite(values), values >= 4, np.nan), other=other
        )
    return Measure(column, "mean", direction, values, other=other)


def _word(cell: object) -> str:
    if cell is None or cell != cell:
        return ""
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if not isinstance(cell, str | int | float):
        return "?"
    word = str(cell)[:40].strip(" .!\t").lower()
    return "" if word in ("nan", "none", "null", "n/a") else word


def _amount(cell: object) -> float | None:
    amount = number(cell.strip() if isinstance(cell, str) else cell)
    return amount if amount is not None and abs(amount) <= LARGEST else None


def back_within(rows: TestRows, window: int) -> Measure | None:
    """Return who came back on a later day within a window; a user whose window has not ended is left out."""
    if rows.users is None or rows.times is None or window < 1:
        return None
    timed = np.isfinite(rows.times)
    if not timed.any():
        return None
    days = np.zeros(rows.n, dtype=np.int64)
    days[timed] = np.floor(rows.times[timed] / DAY).astype(np.int64)
    eligible, returned = retained(rows.users[timed], days[timed], window)
    values = np.full(rows.n, np.nan)
    by_time = np.flatnonzero(timed)[np.argsort(rows.times[timed], kind="stable")]
    seen, first = np.unique(rows.users[by_time], return_index=True)
    ended = eligible[seen]
    values[by_time[first[ended]]] = returned[seen[ended]]  # at the first row of each
    if not ended.any():
        return None
    return Measure(f"back_within_{window}_days", "back", True, values, late=window)


def _answered(measures: Mapping[str, Measure]) -> Measure | None:
    """Return which rows have any feedback; None where all have, or no feedback is collected."""
    given = [each.values for name, each in measures.items() if FEEDBACK.search(plain_name(name))]
    if not given:
        return None
    answered = np.isfinite(np.stack(given)).any(axis=0)
    return None if bool(answered.all()) else Measure(ANSWERED, "answered", True, np.where(answered, 1.0, 0.0))
