"""Feedback of users: net promoter score, who came back, and those who gave no answer."""

from __future__ import annotations

from dataclasses import dataclass
from math import nan, sqrt
from typing import Literal

import numpy as np

from ragtriage.metrics.ab.differences import Z
from ragtriage.metrics.schema.scores import BoolArray, FloatArray, IntArray, MetricsError
from ragtriage.metrics.statistics.intervals import missing_bounds

PROMOTER, DETRACTOR = 9, 6  # 9 and 10 promote, 0 to 6 detract
GuardrailState = Literal["holds", "open", "fails"]


@dataclass(frozen=True)
class NetPromoter:
    """A net promoter score, from -100 to 100."""

    score: float  # 100 (promoters - detractors) / n; NaN without answers
    error: float  # its standard error
    low: float  # lower end of the 95 % interval
    high: float  # upper end
    promoters: int  # answers of 9 and 10
    detractors: int  # answers of 0 to 6
    n: int


def promoter_values(answers: FloatArray) -> FloatArray:
    """Return (n,) 100 for a promoter, 0 for a passive, -100 for a detractor; their mean is the NPS.

    Args:
        answers: (n,) whole numbers from 0 to 10, NaN where not answered.

    Raises:
        MetricsError: an answer is outside the scale.
    """
    given = answers[np.isfinite(answers)]
    if not bool(np.all((given >= 0) & (given <= 10) & (given == np.floor(given)))):
        raise MetricsError("an answer is not on the scale; accepted: whole numbers from 0 to 10")
    values = np.where(answers >= PROMOTER, 100.0, np.where(answers <= DETRACTOR, -100.0, 0.0))
    return np.where(np.isfinite(answers), values, np.nan)


def net_promoter(answers: FloatArray) -> NetPromoter:
    """Return the net promoter score of answers from 0 to 10 with its standard error.

    SE = 100 sqrt((p + d - (p - d)^2) / n), the error of a mean of -1, 0 and 1.
    Source: Reichheld 2003, "The One Number You Need to Grow", Harvard Business Review.

    Args:
        answers: (n,) whole numbers from 0 to 10, one a person; NaN where not answered.

    Raises:
        MetricsError: an answer is outside the scale.
    """
    values = promoter_values(answers)
    values = values[np.isfinite(values)]
    n = len(values)
    if not n:
        return NetPromoter(nan, nan, nan, nan, 0, 0, 0)
    promoters, detractors = int((values > 0).sum()), int((values < 0).sum())
    score, error = float(values.mean()), float(values.std()) / sqrt(n)
    return NetPromoter(score, error, score - Z * error, score + Z * error, promoters, detractors, n)


def retained(
    users: IntArray, days: IntArray, window: int, last_day: int | None = None
) -> tuple[BoolArray, BoolArray]:
    """Return for each user whether the window has ended, and whether the user came back within it.

    A user comes back on a later day, at most `window` days after the first. A window that is still open at
    the end of the log says nothing yet: such a user is left out, never counted as gone.

    Args:
        users: (n,) codes of the users, 0 to u - 1; each has an event.
        days: (n,) day of each event, as a whole number.
        window: days; 1 or more.
        last_day: last whole day of the log; that of the last event where it is not known.

    Returns:
        Two (u,) arrays: eligible, returned.

    Raises:
        MetricsError: the window is below 1, or the two arrays differ in length.
    """
    if window < 1 or len(users) != len(days):
        raise MetricsError(
            f"window {window}, {len(users)} users and {len(days)} days; accepted: a window of 1 day or more "
            "and a day for each event"
        )
    size = int(users.max()) + 1 if len(users) else 0
    first = np.full(size, np.iinfo(np.int64).max, dtype=np.int64)
    np.minimum.at(first, users, days)
    later = days - first[users]
    returned = np.zeros(size, dtype=np.bool_)
    returned[users[(later >= 1) & (later <= window)]] = True
    end = int(days.max(initial=0)) if last_day is None else last_day
    return first + window <= end, returned


def cohort_matrix(users: IntArray, months: IntArray) -> FloatArray:
    """Return how many users of each monthly cohort were active by months since their first.

    (cohorts, months): row c, column m holds the users first seen in month c who were active m months later;
    NaN beyond the log, which is cut off and not 0.

    Args:
        users: (n,) codes of the users, 0 to u - 1.
        months: (n,) month of each event as a whole number, 0 to the last.
    """
    length = int(months.max()) + 1 if len(months) else 0
    active = np.zeros((int(users.max()) + 1 if len(users) else 0, length), dtype=np.bool_)
    active[users, months] = True
    first = active.argmax(axis=1)
    matrix = np.full((length, length), np.nan)
    for cohort in range(length):
        row = active[first == cohort].sum(axis=0)
        matrix[cohort, : length - cohort] = row[cohort:]
    return matrix


def nonresponse_bounds(base: FloatArray, arm: FloatArray, low: float, high: float) -> tuple[float, float]:
    """Return the least and the greatest difference, arm - base, whatever those without an answer would say.

    Source: Manski 1989, "Anatomy of the Selection Problem", Journal of Human Resources 24(3).

    Args:
        base: (n,) answers of the base, NaN where there is none.
        arm: the same of the other arm.
        low: least answer possible.
        high: greatest answer possible.

    Returns:
        The two ends; NaN where an arm has nobody.
    """
    ends = [missing_bounds(side, int((~np.isfinite(side)).sum()), low, high) for side in (base, arm)]
    return ends[1][0] - ends[0][1], ends[1][1] - ends[0][0]


def guardrail_state(low: float, high: float, margin: float, higher_is_better: bool) -> GuardrailState:
    """Return whether a loss beyond a margin is ruled out, still open, or shown.

    By the interval and not by p: too little data leaves a guardrail open, it does not let it pass.

    Args:
        low: lower end of the 95 % interval of arm - base.
        high: upper end.
        margin: largest loss that is accepted, in the unit of the metric; 0 or more.
        higher_is_better: the direction of the metric.

    Raises:
        MetricsError: the margin is below 0 or not finite.
    """
    if not 0 <= margin < np.inf:
        raise MetricsError(f"margin {margin!r}; accepted: a number from 0 up")
    least, greatest = (-high, -low) if higher_is_better else (low, high)  # of the loss
    if not (np.isfinite(least) and np.isfinite(greatest)):
        return "open"
    return "holds" if greatest <= margin else "fails" if least > margin else "open"
