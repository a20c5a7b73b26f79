"""How far the metrics of a run agree with people, and people with each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from data.labels.evaluated_metric import (
    EvaluatedMetric,
    column_of,
    evaluated_metrics,
    on_scale,
    oriented,
    passes,
)
from data.labels.human_ratings import HumanRatings, annotator_values
from data.scoring.scored_run import ScoredRun
from data.store.ledger import Ledger
from metrics.schema.scores import BoolArray, FloatArray, IntArray, Status
from metrics.statistics.agreement import (
    Agreement,
    Confusion,
    Level,
    agreement,
    binary_agreement,
    bootstrap_interval,
    confusion,
    krippendorff_alpha,
)

__all__ = [
    "CELLS",
    "DEFAULT_CUTS",
    "Alpha",
    "BinaryLabels",
    "Calibration",
    "Cell",
    "Cuts",
    "alpha_of",
    "binary_labels_of",
    "calibrate",
    "ranking",
]

Cuts = tuple[float, float]  # of people's values and of those held against them, as shares of the scales
DEFAULT_CUTS: Cuts = (0.5, 0.5)
Cell = Literal["yes-yes", "yes-no", "no-yes", "no-no"]  # people first
CELLS: tuple[Cell, ...] = ("yes-yes", "yes-no", "no-yes", "no-no")


@dataclass(frozen=True)
class BinaryLabels:
    """People and a metric side by side over the n samples of a run.

    Attributes:
        known: (n,) True where both have a value.
        held: (n,) values of the metric, NaN where it has none.
        people_yes: (n,) whether people's value reaches their cut-off; False where not known.
        held_yes: (n,) the same of the metric.
        gap: (n,) distance of the two on scales of 0 to 1; NaN where not known.
        missing: status -> how many samples that people spoke of lack a value of the metric for it.
    """

    known: BoolArray
    held: FloatArray
    people_yes: BoolArray
    held_yes: BoolArray
    gap: FloatArray
    missing: Mapping[str, int]

    @property
    def comparable(self) -> BoolArray:
        """(n,) samples on which both have a value and a verdict; none where the metric has no scale."""
        return np.isfinite(self.gap)

    def cell(self, cell: Cell) -> BoolArray:
        """(n,) samples of one cell of the confusion matrix."""
        people, held = (word == "yes" for word in cell.split("-"))
        return np.asarray(self.comparable & (self.people_yes == people) & (self.held_yes == held))

    @property
    def apart(self) -> BoolArray:
        """(n,) samples on which the verdicts differ."""
        return np.asarray(self.comparable & (self.people_yes != self.held_yes))


@dataclass(frozen=True)
class Calibration:
    """How far one metric agrees with people.

    Attributes:
        verdicts: sample by sample.
        confusion: counts of the pairs, positive where people say yes; None where the metric has no scale.
        spearman: rank correlation of the values.
        rates: true positive rate, true negative rate, kappa, accuracy; empty without a confusion matrix.
        rows: samples on which the verdicts differ, the widest gap first.
    """

    verdicts: BinaryLabels
    confusion: Confusion | None
    spearman: Agreement
    rates: tuple[Agreement, ...]
    rows: IntArray


@dataclass(frozen=True)
class Alpha:
    """How far people agree with each other.

    Attributes:
        value: Krippendorff's alpha; NaN where it cannot be told.
        low: lower end of the 95 % interval; NaN where there is none.
        high: upper end.
        n: samples that at least two people spoke of.
        people: how many different people there are.
        level: how values were compared.
    """

    value: float
    low: float
    high: float
    n: int
    people: int
    level: Level


def binary_labels_of(
    scored: ScoredRun, people: HumanRatings, held: EvaluatedMetric, cuts: Cuts = DEFAULT_CUTS
) -> BinaryLabels:
    """Set people and a metric side by side.

    Args:
        scored: the run.
        people: what they said.
        held: the metric.
        cuts: least share of each scale that counts as yes; a verdict of people needs more than half of them.

    Raises:
        DataError: the run does not have the metric.
    """
    spoken = np.isfinite(people.values)
    column = column_of(scored, held, np.flatnonzero(spoken))
    values = np.where(column.status == Status.SCORED, column.values, np.nan)
    known = spoken & np.isfinite(values)
    missing = {
        status.label: int((spoken & (column.status == status)).sum())
        for status in Status
        if status != Status.SCORED and (spoken & (column.status == status)).any()
    }
    human = on_scale(people.values, people.scale)
    if people.falling:
        human = 1.0 - human
    other = oriented(held, values)
    people_yes = human > 0.5 if people.binary else passes(human, cuts[0])
    return BinaryLabels(
        known=known,
        held=values,
        people_yes=known & people_yes,
        held_yes=known & passes(other, cuts[1]),
        gap=np.where(known, np.abs(human - other), np.nan),
        missing=missing,
    )


def calibrate(
    scored: ScoredRun, people: HumanRatings, held: EvaluatedMetric, cuts: Cuts = DEFAULT_CUTS
) -> Calibration:
    """Measure how far a metric agrees with people; see verdicts_of for the cut-offs."""
    verdicts = binary_labels_of(scored, people, held, cuts)
    known, clusters = verdicts.known, scored.clusters[scored.question]
    ranked = _ranked(scored, people, verdicts)
    if not verdicts.comparable.any():
        return Calibration(verdicts, None, ranked, (), np.zeros(0, dtype=np.int64))
    pair = verdicts.held_yes[known], verdicts.people_yes[known]
    apart = np.flatnonzero(verdicts.apart)
    rows = apart[np.argsort(-verdicts.gap[apart], kind="stable")]
    return Calibration(verdicts, confusion(*pair), ranked, binary_agreement(*pair, clusters[known]), rows)


def _ranked(scored: ScoredRun, people: HumanRatings, verdicts: BinaryLabels) -> Agreement:
    known, clusters = verdicts.known, scored.clusters[scored.question]
    return agreement(verdicts.held[known], people.values[known], clusters[known])[0]


def ranking(scored: ScoredRun, people: HumanRatings) -> list[tuple[EvaluatedMetric, Agreement]]:
    """Give the rank correlation of every metric with a quantity, the strongest first, undefined ones last."""
    found = [
        (held, _ranked(scored, people, binary_labels_of(scored, people, held)))
        for held in evaluated_metrics(scored, people)
    ]
    return sorted(found, key=lambda pair: np.nan_to_num(-abs(pair[1].value), nan=1.0))


def alpha_of(scored: ScoredRun, ledger: Ledger, key: str) -> Alpha:
    """Measure how far the people who spoke of a quantity agree with each other."""
    values, people, level = annotator_values(scored, ledger, key)
    paired = np.isfinite(values).sum(axis=1) >= 2
    clusters = scored.clusters[scored.question][paired]
    kept = values[paired]
    low, high = bootstrap_interval(lambda drawn: krippendorff_alpha(drawn, level), (kept,), clusters)
    return Alpha(krippendorff_alpha(kept, level), low, high, int(paired.sum()), people, level)
