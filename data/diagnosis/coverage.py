"""For which cases of a run it is known whether they are good or bad, and by which measurements."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ragtriage.metrics.diagnosis.patterns import BadCases, Refusals, pattern_code
from ragtriage.metrics.diagnosis.right import CORRECTNESS, Right
from ragtriage.metrics.metric_registry import title_of
from ragtriage.metrics.schema.scores import BoolArray, FloatArray


@dataclass(frozen=True)
class DiagnosisCoverage:
    """For which cases it is known whether they are good or bad, and by which measurements."""

    # measurement -> (n,) True where it decides: the metrics with a case threshold, "checks", "answerability"
    # and "people" (human labels); only those that decide any case
    by: Mapping[str, BoolArray]
    # (n,) True where any of them decides. A refusal counts only where it is known whether it was right to
    # refuse, which good scores of its context or its wording do not show
    anything: BoolArray
    # (n,) True where, in addition, no missing value could change the metric pattern, or where there is a
    # human label
    fully: BoolArray

    @property
    def names(self) -> tuple[str, ...]:
        """The measurements that decide."""
        return tuple(self.by)

    @property
    def of_refusals_alone(self) -> bool:
        """True where it is only known if refusing was right, and not whether an answer is good."""
        return self.names == ("answerability",)

    def clause(self) -> str:
        """Return what the pass rate rests on, as part of a sentence; "" where all is fully measured."""
        if self.fully.all():
            return ""
        if not self.by:
            return "nothing was measured that could make a case bad"
        names = [title_of(name) for name in self.names]
        listed = f"{', '.join(names[:-1])} and {names[-1]}" if names[1:] else f"{names[0]} alone"
        fully = f"{int(self.fully.sum()):,} of {len(self.fully):,} cases fully measured"
        return f"of what was measured: {listed}; {fully}"


def diagnosis_coverage(
    values: Mapping[str, FloatArray],
    checked: BoolArray,
    refusals: Refusals,
    labelled: BoolArray,
    bad: BadCases,
    pattern: NDArray[np.int8],
    right: Right,
) -> DiagnosisCoverage:
    """Return which cases are measured, and by what.

    `values` has for each metric that can make a case bad its (n,) values; the other arrays are (n,) as well.
    An answer whose words do not decide, where they decide the others, is not called good by anything but a
    label or a check.
    """
    decided = {metric: np.isfinite(scores) for metric, scores in values.items()}
    decided["checks"] = checked
    decided["answerability"] = refusals.right | refusals.wrong | refusals.answered
    decided["people"] = labelled
    anything = np.logical_or.reduce(list(decided.values()))
    settled = bad.bad | labelled
    anything &= ~refusals.open | settled | right.decided_by(*CORRECTNESS)
    anything &= ~right.undecided | settled | checked
    fully = anything & ((pattern != pattern_code("not_measured")) | labelled)
    by = {name: cases & anything for name, cases in decided.items() if (cases & anything).any()}
    return DiagnosisCoverage(by, anything, fully)
