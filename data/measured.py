"""What says of each case whether it is good or bad, so that no pass rate claims more than was looked at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from metrics.catalogue import title_of
from metrics.diagnosis import BadCases, Refusals, pattern_code
from metrics.values import BoolArray, FloatArray

__all__ = ["Measured", "measured_by"]


@dataclass(frozen=True)
class Measured:
    """What was looked at, case by case.

    Attributes:
        by: what says it -> (n,) True where it does: the metrics that have a cut-off, "checks",
            "answerability" and "people"; only those that say it of any case.
        anything: (n,) True where any of them does. A refusal counts only where something says whether it was
            right: that its context or its wording scores well says nothing of that.
        fully: (n,) True where, besides, no missing value could change the metric pattern, or a person spoke.
    """

    by: Mapping[str, BoolArray]
    anything: BoolArray
    fully: BoolArray

    @property
    def names(self) -> tuple[str, ...]:
        """What the verdicts rest on."""
        return tuple(self.by)

    def clause(self) -> str:
        """Say what a pass rate rests on, as part of a sentence; "" where every case is fully measured."""
        if self.fully.all():
            return ""
        if not self.by:
            return "nothing was measured that could make a case bad"
        names = [title_of(name) for name in self.names]
        listed = f"{', '.join(names[:-1])} and {names[-1]}" if names[1:] else f"{names[0]} alone"
        fully = f"{int(self.fully.sum()):,} of {len(self.fully):,} cases fully measured"
        return f"of what was measured: {listed}; {fully}"


def measured_by(
    values: Mapping[str, FloatArray],
    checked: BoolArray,
    refusals: Refusals,
    spoken: BoolArray,
    bad: BadCases,
    pattern: NDArray[np.int8],
    correctness: str,
) -> Measured:
    """Say what was looked at.

    Args:
        values: metric -> (n,) values that make a case bad.
        checked: (n,) True where a check was made.
        refusals: what is known of the refusals.
        spoken: (n,) True where a person gave a verdict.
        bad: which cases are bad.
        pattern: (n,) codes into PATTERNS.
        correctness: which of the values holds an answer against its reference, refusals too.
    """
    told = {name: np.isfinite(one) for name, one in values.items()}
    told["checks"] = checked
    told["answerability"] = refusals.right | refusals.wrong | refusals.answered
    told["people"] = spoken
    anything = np.logical_or.reduce(list(told.values()))
    settled = bad.bad | spoken | told.get(correctness, np.zeros(len(spoken), dtype=np.bool_))
    anything &= ~refusals.open | settled
    fully = anything & ((pattern != pattern_code("not_measured")) | spoken)
    by = {name: one & anything for name, one in told.items()}
    return Measured({name: one for name, one in by.items() if one.any()}, anything, fully)
