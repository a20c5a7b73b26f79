"""The same questions under several conditions: does the condition matter, and which one?"""

import math
from dataclasses import dataclass
from itertools import product
from typing import Literal

import numpy as np

from ragtriage.metrics.schema.scores import FloatArray, MetricsError
from ragtriage.metrics.statistics.paired import FLIPS, holm, mcnemar, paired

_ENOUGH_CELLS = 24  # Tate and Brown 1970: questions that vary x conditions, for the chi-square limit of Q
_ROUNDING = 1e-9

PValueMethod = Literal["Cochran's Q", "Cochran's Q, permuted", "permuted within questions", "no test"]


@dataclass(frozen=True)
class ConditionTest:
    """The test whether conditions differ, over the questions measured under all of them."""

    statistic: float  # Cochran's Q for passes and fails, else Friedman's statistic on the values themselves
    freedom: int  # degrees of freedom, conditions - 1
    p: float  # of the hypothesis that the condition changes nothing; NaN without a question
    n: int  # questions measured under every condition
    n_varying: int  # of them, those whose value is not the same throughout: the only ones that tell
    method: PValueMethod  # how p was obtained


@dataclass(frozen=True)
class PairTest:
    """Two conditions compared question by question."""

    first: int  # index of one condition
    second: int  # index of the other
    difference: float  # mean of second - first
    low: float  # lower end of its 95 % interval, by itself
    high: float  # upper end
    p: float  # exact McNemar for passes and fails, else the sign-flip test
    adjusted_p: float  # after Holm over the pairs that were tested together
    n: int  # questions measured under both


def chi_square_tail(value: float, freedom: int) -> float:
    """Return the probability that a chi-square variable with `freedom` (1 or more) exceeds a value.

    The finite sums for whole degrees of freedom (Abramowitz and Stegun 26.4.4 and 26.4.5).
    """
    if freedom < 1:
        raise MetricsError(f"chi_square_tail takes 1 or more degrees of freedom, not {freedom}")
    if not value > 0:
        return 1.0
    half = value / 2
    if freedom % 2 == 0:
        return min(1.0, math.fsum(_term(half, k) for k in range(freedom // 2)))
    rest = math.fsum(_term(half, k + 0.5) for k in range((freedom - 1) // 2))
    return min(1.0, math.erfc(math.sqrt(half)) + rest)


def _term(half: float, power: float) -> float:
    """Return exp(-half) half^power / Gamma(power + 1), without overflow."""
    return math.exp(power * math.log(half) - half - math.lgamma(power + 1))


def cochran_q(values: FloatArray) -> ConditionTest:
    """Test whether the condition matters, paired on the question.

    With T_j the passes under condition j, u_i those of question i, and c conditions,
    Q = (c - 1) (c sum T_j^2 - N^2) / (c N - sum u_i^2), N all passes; chi-square with c - 1 degrees of
    freedom where questions that vary x conditions are 24 or more, else 9,999 permutations within questions,
    p = (hits + 1) / 10,000. For values other than 0 and 1 it is always permuted.

    Args:
        values: (q, c) value of each question under each condition, NaN where not measured; such a question
            is left out.

    Raises:
        MetricsError: there are fewer than two conditions.

    Source: Cochran 1950, "The comparison of percentages in matched samples".
    """
    if values.ndim != 2 or values.shape[1] < 2:
        raise MetricsError(f"cochran_q takes (questions, 2 or more conditions), not {values.shape}")
    full = values[np.isfinite(values).all(axis=1)]
    conditions = values.shape[1]
    varying = full[np.ptp(full, axis=1) > _ROUNDING] if len(full) else full
    if not len(full):
        return ConditionTest(float("nan"), conditions - 1, float("nan"), 0, 0, "no test")
    if not len(varying):
        return ConditionTest(0.0, conditions - 1, 1.0, len(full), 0, "no test")
    method: PValueMethod
    binary = bool(np.isin(full, (0, 1)).all())
    statistic = _statistic(varying)
    if binary and len(varying) * conditions >= _ENOUGH_CELLS:
        p, method = chi_square_tail(statistic, conditions - 1), "Cochran's Q"
    else:
        rng = np.random.default_rng(0)
        hits = sum(_statistic(rng.permuted(varying, axis=1)) >= statistic - _ROUNDING for _ in range(FLIPS))
        p = (hits + 1) / (FLIPS + 1)
        method = "Cochran's Q, permuted" if binary else "permuted within questions"
    return ConditionTest(statistic, conditions - 1, p, len(full), len(varying), method)


def _statistic(values: FloatArray) -> float:
    """Return (c - 1) n^2 sum of squared deviations of the condition means / variance within questions.

    For 0 and 1 it equals Cochran's Q; questions that do not vary add nothing.
    """
    sums = values.sum(axis=0)
    within = float(((values - values.mean(axis=1, keepdims=True)) ** 2).sum())
    return float((values.shape[1] - 1) * ((sums - sums.mean()) ** 2).sum() / within)


def pair_tests(values: FloatArray, firsts: list[int], seconds: list[int]) -> list[PairTest]:
    """Test every pair of a first and a second condition, with Holm's correction over all of them.

    Args:
        values: (q, c) value of each question under each condition, NaN where not measured.
        firsts: conditions on one side.
        seconds: conditions on the other.
    """
    pairs = [(first, second) for first, second in product(firsts, seconds) if first != second]
    questions = np.arange(len(values), dtype=np.int64)
    tests = [paired(values[:, a], values[:, b], questions) for a, b in pairs]
    p_values = [_p(values[:, a], values[:, b], test.p) for (a, b), test in zip(pairs, tests, strict=True)]
    adjusted = holm(p_values)
    return [
        PairTest(a, b, test.difference, test.low, test.high, p, float(corrected), test.n_pairs)
        for (a, b), test, p, corrected in zip(pairs, tests, p_values, adjusted, strict=True)
    ]


def _p(first: FloatArray, second: FloatArray, by_signs: float) -> float:
    both = np.isfinite(first) & np.isfinite(second)
    sides = np.concatenate((first[both], second[both]))
    if not both.any() or not np.isin(sides, (0, 1)).all():
        return by_signs
    return mcnemar(first, second)
