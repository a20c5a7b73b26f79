"""The slices of a run (by tag, query type, document, length) that do worse than the rest."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragtriage.metrics.schema.scores import BoolArray, FloatArray, IntArray, MetricsError
from ragtriage.metrics.statistics.distributions import normal_tail
from ragtriage.metrics.statistics.intervals import question_means
from ragtriage.metrics.statistics.paired import SIGNIFICANCE, holm

MIN_SLICE = 5  # smaller slices say nothing, and testing them costs the others their significance
_EXACT_TOTAL = 1_000_000  # the tail is summed exactly up to here; beyond it the normal limit is the same


@dataclass(frozen=True)
class SliceFinding:
    """One slice against the rest of the run."""

    name: str  # what the run was sliced by
    value: str  # the slice
    n: int  # questions in it
    n_bad: int  # bad questions in it
    rate: float  # share of bad questions in it
    rate_rest: float  # share of bad ones among the other questions
    p: float  # one-sided exact p that a slice of this size would contain so many bad questions by chance
    adjusted_p: float  # the same after Holm's correction for all slices tested
    n_looked_at: int  # number of slices tested


@dataclass(frozen=True)
class Concentration:
    """Values of one dimension that hold at least half of the bad questions, each worse than the rest."""

    name: str  # the dimension
    values: tuple[str, ...]  # the least likely by chance first
    n: int  # questions with one of them
    n_bad: int  # bad questions among those
    n_bad_all: int  # bad questions of the run


def concentration(findings: Sequence[SliceFinding], n_bad_all: int) -> Concentration | None:
    """Return where most of the bad questions come from; None where they come from everywhere.

    A value counts where it is worse than the rest beyond chance, corrected for all that were tested. Of
    several dimensions the one whose worst value is the least likely by chance.

    Args:
        findings: from `worst_slices`, without a limit.
        n_bad_all: bad questions of the run.
    """
    for name in dict.fromkeys(finding.name for finding in findings):
        worse = [each for each in findings if each.name == name and each.adjusted_p < SIGNIFICANCE]
        n_bad = sum(finding.n_bad for finding in worse)
        if worse and 2 * n_bad >= n_bad_all:
            values = tuple(finding.value for finding in worse)
            return Concentration(name, values, sum(finding.n for finding in worse), n_bad, n_bad_all)
    return None


def fisher_upper(bad_in: int, n_in: int, bad_all: int, n_all: int) -> float:
    """Fisher's exact test, one-sided: P(at least bad_in bad among n_in drawn from n_all with bad_all bad).

    The hypergeometric tail is summed exactly up to a million cases and taken from the normal limit, with
    continuity correction, beyond.
    """
    most = min(n_in, bad_all)
    if bad_in <= max(0, n_in + bad_all - n_all):
        return 1.0
    if bad_in > most:
        return 0.0
    if n_all > _EXACT_TOTAL:
        expected = n_in * bad_all / n_all
        spread = expected * (1 - bad_all / n_all) * (n_all - n_in) / (n_all - 1)
        return normal_tail((bad_in - 0.5 - expected) / float(np.sqrt(spread)))
    # in logarithms: the binomial coefficients of large runs overflow
    logs = _log_factorials(n_all)
    hits = np.arange(bad_in, most + 1)
    weights = (
        _log_choose(logs, bad_all, hits)
        + _log_choose(logs, n_all - bad_all, n_in - hits)
        - _log_choose(logs, n_all, np.array([n_in]))
    )
    return min(1.0, float(np.exp(weights).sum()))


def worst_slices(
    bad: BoolArray,
    slices: Mapping[str, NDArray[Any]],
    questions: IntArray | None = None,
    min_size: int = MIN_SLICE,
    limit: int | None = 10,
) -> list[SliceFinding]:
    """Return the slices with a higher share of bad cases than the rest, the least likely first.

    Repeats of a question are not independent, so each question counts once: bad when at least half of its
    repeats are, and in the slice of its first repeat.

    Args:
        bad: (n,) True for bad cases.
        slices: name -> (n,) values: text ("" or None for none) or whole-number codes (below 0 for none).
        questions: (n,) codes of the questions; by default each row is its own question.
        min_size: slices, and remainders, of fewer questions are not tested.
        limit: how many to return; None for all.

    Raises:
        MetricsError: a slice does not have one value per row.
    """
    codes = np.arange(len(bad)) if questions is None else np.unique(questions, return_inverse=True)[1]
    first = np.unique(codes, return_index=True)[1]
    is_bad: BoolArray = question_means(bad.astype(np.float64), codes)[0] >= 0.5
    tests = []
    for name, values in slices.items():
        if len(values) != len(bad):
            raise MetricsError(f"slice {name!r} has {len(values)} values for {len(bad)} rows")
        tests += _slices_of(name, _labels(values[first]), is_bad, min_size)
    # over all slices that were tested, not over those shown: finding them was a search
    adjusted = holm([p for *_, p in tests])
    findings = [
        SliceFinding(
            name, value, n, k, k / n, (int(is_bad.sum()) - k) / (len(is_bad) - n), p, float(q), len(tests)
        )
        for (name, value, n, k, p), q in zip(tests, adjusted, strict=True)
    ]
    worse = [finding for finding in findings if finding.rate > finding.rate_rest]
    return sorted(worse, key=lambda finding: (finding.p, -finding.n, finding.name, finding.value))[:limit]


def _labels(values: NDArray[Any]) -> NDArray[np.str_]:
    """Return the values as text, "" for none."""
    if values.dtype.kind in "iu":
        return np.where(values < 0, "", values.astype(str))
    return np.array(
        ["" if value is None or value != value else str(value) for value in values], dtype=np.str_
    )


def _slices_of(
    name: str, labels: NDArray[np.str_], is_bad: BoolArray, min_size: int
) -> list[tuple[str, str, int, int, float]]:
    total, n_bad = len(is_bad), int(is_bad.sum())
    values, code = np.unique(labels, return_inverse=True)
    sizes = np.bincount(code, minlength=len(values))
    hits = np.bincount(code, weights=is_bad, minlength=len(values)).astype(np.int64)
    return [
        (name, str(value), int(n), int(k), fisher_upper(int(k), int(n), n_bad, total))
        for value, n, k in zip(values, sizes, hits, strict=True)
        if value != "" and n >= min_size and total - n >= min_size
    ]


@lru_cache(maxsize=4)
def _log_factorials(n: int) -> FloatArray:
    return np.concatenate((np.zeros(1), np.cumsum(np.log(np.arange(1, n + 1)))))


def _log_choose(logs: FloatArray, n: int, k: IntArray) -> FloatArray:
    return np.asarray(logs[n] - logs[k] - logs[n - k], dtype=np.float64)
