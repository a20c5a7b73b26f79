"""Item analysis: what each question of a test set says of the versions that answered it.

Arrays are (v, q): versions by questions, 1 where a version passes, 0 where it fails, between them for the
mean of repeats, NaN where it is not known.
"""

from typing import Literal

import numpy as np

from ragtriage.metrics.schema.scores import FloatArray

Group = Literal["everyone passes", "tell apart", "nobody passes", "not known"]
GROUPS: tuple[Group, ...] = ("everyone passes", "tell apart", "nobody passes", "not known")
AGAINST = -0.2  # item-rest correlation below which a question goes against the others
FEWEST_VERSIONS = 8  # below this a correlation over versions is a hint alone
ROUNDING = 1e-9  # a side that differs by less is constant


def difficulty(passes: FloatArray) -> FloatArray:
    """Return 1 minus the mean of each question over the versions that answered it; (q,), NaN for none.

    Source: classical test theory, as in Lord and Novick 1968, "Statistical Theories of Mental Test Scores".
    """
    known = np.isfinite(passes)
    n = known.sum(axis=0)
    sums = np.where(known, passes, 0.0).sum(axis=0)
    result: FloatArray = 1 - np.divide(sums, n, out=np.full(passes.shape[1], np.nan), where=n > 0)
    return result


def groups_of(passes: FloatArray) -> list[Group]:
    """Return for each question whether all versions that answered it pass, none, or some; q entries."""
    hardness = difficulty(passes)
    names: list[Group] = []
    for value in hardness:
        if np.isnan(value):
            names.append("not known")
        else:
            names.append("everyone passes" if value == 0 else "nobody passes" if value == 1 else "tell apart")
    return names


def item_rest(passes: FloatArray) -> FloatArray:
    """Return how each question agrees with the rest over versions: Pearson's r with the mean of the others.

    Below 0 the better versions fail it more often: its gold may be wrong. Versions count that answered the
    question and at least one other.

    Returns:
        (q,) correlations in [-1, 1]; NaN where fewer than three versions answered, or one side is constant.

    Source: the corrected item-total correlation, as in Nunnally and Bernstein 1994, "Psychometric Theory".
    """
    known = np.isfinite(passes)
    filled = np.where(known, passes, 0.0)
    sums, counts = filled.sum(axis=1), known.sum(axis=1)
    result = np.full(passes.shape[1], np.nan)
    for at in range(passes.shape[1]):
        others = counts - known[:, at]
        rows = known[:, at] & (others > 0)
        if rows.sum() < 3:
            continue
        rest = (sums[rows] - filled[rows, at]) / others[rows]
        own = passes[rows, at]
        if min(np.ptp(own), np.ptp(rest)) > ROUNDING:
            result[at] = float(np.corrcoef(own, rest)[0, 1])
    return result


def share_differing(passes: FloatArray) -> float:
    """Return the share of questions on which two versions differ, the mean over all pairs of versions.

    With repeats it is the chance that one repeat of each differ: p (1 - q) + q (1 - p).

    Returns:
        In [0, 1]; NaN with fewer than two versions that share questions.
    """
    shares = [
        float(np.mean(both))
        for at, one in enumerate(passes)
        for other in passes[at + 1 :]
        if len(both := (one * (1 - other) + other * (1 - one))[np.isfinite(one) & np.isfinite(other)])
    ]
    return float(np.mean(shares)) if shares else np.nan
