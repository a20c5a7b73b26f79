"""A live test from its rows to one conclusion: the split first, guardrails next, then the deciding metric."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from math import ceil, isfinite
from typing import Any, Literal

import numpy as np

from ragtriage.data.ab.looks import Look, look_ends, looks_of, shown_since
from ragtriage.data.ab.measures import Kind, Measure, covariate_of, deciding, measures_of
from ragtriage.data.ab.reading import DAY, TestRows
from ragtriage.data.errors import DataError
from ragtriage.metrics.ab.differences import ArmTotals, Difference, arm_totals, cuped, difference
from ragtriage.metrics.ab.feedback import GuardrailState, guardrail_state, nonresponse_bounds
from ragtriage.metrics.ab.split import SampleRatio, sample_ratio
from ragtriage.metrics.schema.scores import FloatArray
from ragtriage.metrics.statistics.paired import holm
from ragtriage.metrics.statistics.power import smallest_difference, units_per_arm

SIGNIFICANCE = 0.05
MANY_IN_BOTH = 0.01  # of the users in two arms: above, the assignment leaks
WORTH_SAVING = 0.05  # of the variance; a smaller saving by CUPED is said and not used
USUAL_WORTH: Mapping[str, float] = {"share": 0.05, "score": 5.0}
WORTH_OF_DEVIATION = 0.1  # of the standard deviation of a unit, for other numbers
ROUNDING = 1e-9  # a smaller difference, in deviations of a unit, is none
SLOWER = 0.2  # of the base's mean: the margin of response times that nobody set
SLOW_NAMES = ("response_time", "response_time_s", "response_time_ms", "latency", "latency_ms", "latency_s")

TestState = Literal[
    "split_broken", "not_measured", "guardrail_fails", "guardrail_open", "better", "worse", "cannot_tell"
]
Outcome = Literal["better", "worse", "differs", "cannot tell", "not measured"]
Role = Literal["decides", "wanted", "guardrail", "watched"]
Doubt = Literal["not_randomised", "users_in_both"]
# of several arms, the one that the conclusion is about: the first in this order
_FIRST: tuple[TestState, ...] = (
    *("better", "guardrail_open", "guardrail_fails", "worse", "cannot_tell"),
    *("not_measured", "split_broken"),
)


@dataclass(frozen=True)
class TestOptions:
    """What was decided before the start of a test."""

    __test__ = False  # for pytest, which collects by name

    metric: str | None = None  # that decides
    guardrails: Mapping[str, float] = field(default_factory=dict)  # metric -> largest loss accepted
    worth: float | None = None  # effect worth having of the deciding metric, in its unit
    shares: tuple[float, ...] | None = None  # planned shares, the base first; equal when left out
    randomised: bool = True  # False: people were not assigned at random, the split says nothing
    once: bool = False  # this is the only look, planned before the start
    arm: str | None = None  # that the conclusion is about; the best one when left out
    until: float | None = None  # seconds since 1970: what was known then, and nothing later


@dataclass(frozen=True)
class MetricResult:
    """One metric of one arm against the base."""

    name: str
    kind: Kind
    role: Role
    higher_is_better: bool | None
    outcome: Outcome
    result: Difference | None  # adjusted by CUPED where that is used; None: too few units
    adjusted_p: float  # after Holm over the deciding and wanted metrics; NaN for the others
    margin: float | None  # of a guardrail, in the unit of the metric
    guardrail: GuardrailState | None
    cuped_saving: float | None  # share of the variance that a pre-period takes away; None without one
    needed_per_arm: int | None  # units that show a difference of the observed size
    smallest_shown: float | None  # smallest difference that the units so far show, at a power of 0.8
    response: tuple[float, float] | None  # share of rows with a value, base and arm; None where all have one
    bounds: tuple[float, float] | None  # of the difference, whatever the rows without a value would say
    other_cells: int  # cells on no scale of the metric


@dataclass(frozen=True)
class ArmResult:
    """One arm against the base."""

    arm: str
    state: TestState
    metrics: tuple[MetricResult, ...]  # the deciding one first, then the wanted, guardrails, watched
    looks: tuple[Look, ...]  # of the deciding metric
    shown_since: str | None  # end of the look from which on the band leaves out 0
    needed_for_worth: int | None  # units an arm that show the effect worth having
    days_needed: float | None  # at the pace so far, until the arms have needed_per_arm units

    @property
    def decides(self) -> MetricResult:
        """The deciding metric."""
        return self.metrics[0]

    def guardrails(self, state: GuardrailState) -> tuple[MetricResult, ...]:
        """Return the guardrails in a state."""
        return tuple(each for each in self.metrics if each.guardrail == state)


@dataclass(frozen=True)
class LiveTest:
    """A live test with its conclusion."""

    base: str
    arms: tuple[str, ...]  # the base first
    units: Mapping[str, int]  # arm -> users, or rows without users
    rows: Mapping[str, int]  # arm -> rows
    by_user: bool  # whether a unit is a user
    first: float | None  # seconds since 1970
    last: float | None
    split: SampleRatio | None  # None where the arms were not assigned at random
    metric: str  # that decides; "" where none is recorded
    worth: float | None
    results: tuple[ArmResult, ...]
    doubts: tuple[Doubt, ...]
    in_both: int  # users in more than one arm, left out
    left_out: Mapping[str, int]
    once: bool
    worth_given: bool  # whether somebody said what effect is worth having; else it is the usual one
    about: str  # arm that the conclusion is about; "" for the best one

    @property
    def lead(self) -> ArmResult | None:
        """The arm that the conclusion is about; None where no metric is recorded."""
        named = [each for each in self.results if each.arm == self.about]
        return min(named or self.results, key=lambda each: _FIRST.index(each.state), default=None)

    @property
    def state(self) -> TestState:
        """The conclusion: a broken split hides all else."""
        if self.split is not None and self.split.broken:
            return "split_broken"
        return "not_measured" if self.lead is None else self.lead.state

    @property
    def days(self) -> float | None:
        """How many days the test has run, at least one; None where no time is recorded."""
        if self.first is None or self.last is None:
            return None
        return max(1.0, ceil(self.last / DAY) - self.first // DAY)

    def to_dict(self) -> dict[str, Any]:
        """Return the test as JSON values, null where nothing is known. A broken split gives no difference."""
        hidden = self.state == "split_broken"
        lead = None if hidden else self.lead
        split = None if self.split is None else {**asdict(self.split), "broken": self.split.broken}
        values = {
            "state": self.state,
            "base": self.base,
            "arm": None if lead is None else lead.arm,
            "metric": self.metric or None,
            "worth": self.worth,
            "worth_given": self.worth_given,
            "needed_per_arm": None if lead is None else lead.decides.needed_per_arm,
            "needed_for_worth": None if lead is None else lead.needed_for_worth,
            "days_needed": None if lead is None else lead.days_needed,
            "days": self.days,
            "unit": "user" if self.by_user else "row",
            "units": dict(self.units),
            "rows": dict(self.rows),
            "split": split,
            "doubts": list(self.doubts),
            "users_in_two_arms": self.in_both,
            "left_out": dict(self.left_out),
            "arms": [] if hidden else [asdict(result) for result in self.results],
        }
        return {name: _finite(value) for name, value in values.items()}


def live_test(rows: TestRows, options: TestOptions) -> LiveTest:
    """Compare the arms of a live test with its base and conclude.

    Raises:
        DataError: a named metric or arm is not in the rows, or the shares do not fit the arms.
    """
    if options.arm is not None and options.arm not in rows.arms[1:]:
        others = ", ".join(rows.arms[1:])
        raise DataError(f"no arm {options.arm[:40]!r} beside the base {rows.arms[0]}; accepted: {others}")
    named = [*filter(None, [options.metric]), *options.guardrails]
    measures = measures_of(rows, named)
    metric = options.metric or deciding(measures)
    guardrails = {**_slower(rows, measures, metric), **options.guardrails}
    randomised = options.randomised and (rows.randomised or options.shares is not None)
    worth_given = options.worth is not None
    worth = (options.worth or _usual_worth(measures[metric], rows)) if metric else None
    ends = look_ends(rows.times)
    if options.until is not None:
        rows, ends = rows.before(options.until), ends[ends <= options.until]
        measures = measures_of(rows, named, early=True)
        metric = metric if metric in measures else ""
        guardrails = {name: margin for name, margin in guardrails.items() if name in measures}
    counts = [len(np.unique(rows.units[rows.arm == code])) for code in range(len(rows.arms))]
    shares = options.shares or (1.0,) * len(rows.arms)
    if len(shares) != len(rows.arms):
        raise DataError(
            f"{len(shares)} shares for {len(rows.arms)} arms; accepted: one for each of "
            f"{', '.join(rows.arms)}"
        )
    results: tuple[ArmResult, ...] = ()
    if metric:
        options = replace(options, metric=metric, guardrails=guardrails, worth=worth, randomised=randomised)
        results = _results(rows, measures, options, ends)
    times = rows.times if rows.times is not None and np.isfinite(rows.times).any() else None
    return LiveTest(
        base=rows.arms[0],
        arms=rows.arms,
        units=dict(zip(rows.arms, counts, strict=True)),
        rows={name: int((rows.arm == code).sum()) for code, name in enumerate(rows.arms)},
        by_user=rows.users is not None,
        first=None if times is None else float(np.nanmin(times)),
        last=None if times is None else float(np.nanmax(times)),
        split=sample_ratio(counts, shares) if randomised else None,
        metric=metric,
        worth=worth,
        results=results,
        doubts=_doubts(rows, counts, randomised),
        in_both=rows.in_both,
        left_out=rows.left_out,
        once=options.once,
        worth_given=worth_given,
        about=options.arm or "",
    )


def _doubts(rows: TestRows, counts: Sequence[int], randomised: bool) -> tuple[Doubt, ...]:
    doubts: list[Doubt] = []
    if not randomised:
        doubts.append("not_randomised")
    if rows.in_both > MANY_IN_BOTH * (sum(counts) + rows.in_both):
        doubts.append("users_in_both")
    return tuple(doubts)


def _slower(rows: TestRows, measures: Mapping[str, Measure], metric: str) -> dict[str, float]:
    """Return the margin of response times: a fifth of the base's mean."""
    name = next((name for name in SLOW_NAMES if name in measures and name != metric), "")
    values = measures[name].values[rows.arm == 0] if name else np.zeros(0)
    given = values[np.isfinite(values)]
    margin = SLOWER * abs(float(given.mean())) if len(given) else 0.0
    return {name: margin} if margin else {}  # a margin of nothing stays open: the metric is watched


def _usual_worth(measure: Measure, rows: TestRows) -> float:
    """Return the effect worth having where nobody said: 5 points, or a tenth of a unit's deviation."""
    if measure.scale in USUAL_WORTH:
        return USUAL_WORTH[measure.scale]
    totals = arm_totals(measure.values, rows.units)
    deviation = float(np.std(totals.sums / totals.counts)) if totals.units else 0.0
    return WORTH_OF_DEVIATION * deviation or 1.0


def _results(
    rows: TestRows, measures: Mapping[str, Measure], options: TestOptions, ends: FloatArray
) -> tuple[ArmResult, ...]:
    roles = _roles(measures, options)
    raw = [
        [_metric(rows, measures[name], code, role, options) for name, role in roles.items()]
        for code in range(1, len(rows.arms))
    ]
    family = [
        each.result.p if each.result is not None and each.role in ("decides", "wanted") else np.nan
        for arm in raw
        for each in arm
    ]
    adjusted = holm(family).reshape(len(raw), -1)
    alpha, worth = SIGNIFICANCE / len(raw), options.worth or 1.0
    decides = measures[str(options.metric)]
    arms = []
    for code, (arm, row) in enumerate(zip(raw, adjusted, strict=True), start=1):
        looks = looks_of(rows, decides, code, worth, alpha, ends) if options.randomised else ()
        metrics = [_with_p(each, float(p)) for each, p in zip(arm, row, strict=True)]
        arms.append(_arm(rows, code, metrics, options, looks))
    return tuple(arms)


def _roles(measures: Mapping[str, Measure], options: TestOptions) -> dict[str, Role]:
    """Return the role of each metric, in the order in which they are shown."""
    roles: dict[str, Role] = {str(options.metric): "decides"}
    others = [name for name in measures if name != options.metric and name not in options.guardrails]
    wanted = [
        name for name in others if measures[name].higher_is_better is not None and _is_wanted(measures[name])
    ]
    roles.update(dict.fromkeys(wanted, "wanted"))
    roles.update(dict.fromkeys((name for name in options.guardrails if name != options.metric), "guardrail"))
    roles.update(dict.fromkeys((name for name in others if name not in wanted), "watched"))
    return roles


def _is_wanted(measure: Measure) -> bool:
    return measure.kind not in ("answered", "back") and measure.name not in SLOW_NAMES


def _metric(rows: TestRows, measure: Measure, code: int, role: Role, options: TestOptions) -> MetricResult:
    masks = [rows.arm == 0, rows.arm == code]
    totals = [arm_totals(measure.values[mask], rows.units[mask]) for mask in masks]
    raw = difference(totals[0], totals[1], measure.scale)
    result, saving = raw, None
    before = covariate_of(rows, measure.name)
    if raw is not None and before is not None:
        result, saving = _adjusted(rows, measure, before, masks, raw, totals)
    margin = options.guardrails.get(measure.name)
    direction = True if measure.higher_is_better is None else measure.higher_is_better
    if margin is None:
        state = None
    else:
        state = "open" if result is None else guardrail_state(result.low, result.high, margin, direction)
    needed = shown = None
    if result is not None:
        variances = (result.base_variance, result.arm_variance)
        shown = smallest_difference(variances, (result.base_units, result.arm_units))
        seen = abs(result.difference) > ROUNDING * (sum(variances) ** 0.5 + abs(result.base))
        needed = units_per_arm(variances, result.difference) if seen else None
    answered, bounds = _response(measure, masks)
    return MetricResult(
        measure.name,
        measure.kind,
        role,
        measure.higher_is_better,
        "not measured" if result is None else "cannot tell",
        result,
        float("nan"),
        margin,
        state,
        saving,
        needed,
        shown,
        answered,
        bounds,
        measure.other,
    )


def _adjusted(
    rows: TestRows,
    measure: Measure,
    before: FloatArray,
    masks: Sequence[np.ndarray],
    raw: Difference,
    totals: Sequence[ArmTotals],
) -> tuple[Difference, float | None]:
    """Return the difference adjusted for the pre-period where it saves enough, and the saving."""
    sides = []
    for mask, total in zip(masks, totals, strict=True):
        measured = mask & np.isfinite(measure.values)
        codes = np.unique(rows.units[measured], return_inverse=True)[1]
        known = np.isfinite(before[measured])
        sums = np.bincount(codes[known], weights=before[measured][known], minlength=total.units)
        counts = np.bincount(codes[known], minlength=total.units)
        sides.append(np.divide(sums, counts, out=np.full(total.units, np.nan), where=counts > 0))
    everyone = np.concatenate(sides)
    if not np.isfinite(everyone).any():
        return raw, None
    mean = float(np.nanmean(everyone))  # who was not there before is taken as average
    filled = [np.where(np.isfinite(side), side, mean) for side in sides]
    adjusted = cuped(raw, (totals[0], filled[0]), (totals[1], filled[1]))
    if adjusted is None:
        return raw, None
    return (adjusted.result if adjusted.saving >= WORTH_SAVING else raw), adjusted.saving


def _response(
    measure: Measure, masks: Sequence[np.ndarray]
) -> tuple[tuple[float, float] | None, tuple[float, float] | None]:
    """Return the shares of rows with a value and the bounds that the others leave; None if all have one."""
    sides = [measure.values[mask] for mask in masks]
    shares = [float(np.isfinite(side).mean()) if len(side) else 0.0 for side in sides]
    if measure.kind == "back" or min(shares) == 1:
        return None, None
    bounds = None if measure.ends is None else nonresponse_bounds(sides[0], sides[1], *measure.ends)
    return (shares[0], shares[1]), bounds


def _with_p(metric: MetricResult, p: float) -> MetricResult:
    if metric.result is None:
        return metric
    shown = (
        p < SIGNIFICANCE if metric.role != "guardrail" and np.isfinite(p) else metric.result.p < SIGNIFICANCE
    )
    return replace(metric, adjusted_p=p, outcome=_outcome(metric, shown, metric.result.difference))


def _outcome(metric: MetricResult, shown: bool, change: float) -> Outcome:
    if not shown:
        return "cannot tell"
    if metric.higher_is_better is None:
        return "differs"
    return "better" if (change > 0) == metric.higher_is_better else "worse"


def _arm(
    rows: TestRows,
    code: int,
    metrics: list[MetricResult],
    options: TestOptions,
    looks: tuple[Look, ...],
) -> ArmResult:
    if options.randomised and not options.once and metrics[0].result is not None:
        last = looks[-1] if looks else None
        beyond = last is not None and not last.band_low <= 0 <= last.band_high
        metrics[0] = replace(
            metrics[0], outcome=_outcome(metrics[0], beyond, last.difference if last else 0.0)
        )
    first = metrics[0]
    result = first.result
    for_worth = days = None
    if result is not None:
        for_worth = units_per_arm((result.base_variance, result.arm_variance), options.worth or 1.0)
    if (
        result is not None
        and first.needed_per_arm
        and rows.times is not None
        and np.isfinite(rows.times).any()
    ):
        span = np.ceil(np.nanmax(rows.times) / DAY) - np.nanmin(rows.times) // DAY
        days = first.needed_per_arm / (min(result.base_units, result.arm_units) / max(float(span), 1.0))
    since = shown_since(looks)
    return ArmResult(rows.arms[code], _state(metrics), tuple(metrics), looks, since, for_worth, days)


def _state(metrics: Sequence[MetricResult]) -> TestState:
    """Return the first that holds; a loss that is shown is no smaller for a guardrail that is still open."""
    states = [each.guardrail for each in metrics]
    outcome = metrics[0].outcome
    if "fails" in states:
        return "guardrail_fails"
    if outcome == "not measured":
        return "not_measured"
    if outcome == "worse":
        return "worse"
    if "open" in states:
        return "guardrail_open"
    return "better" if outcome == "better" else "cannot_tell"


def _finite(value: Any) -> Any:
    """Return JSON values with None in place of what is not finite."""
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, Mapping):
        return {name: _finite(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return value
