"""Gates: thresholds for means, changes and checks, with verdicts that admit when there is too little data."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import Literal

from ragtriage.metrics.schema.scores import MetricsError
from ragtriage.metrics.statistics.distributions import QuantileInterval, normal_quantile
from ragtriage.metrics.statistics.max_t import FamilyTest, margin_test
from ragtriage.metrics.statistics.paired import MARGIN, PairedDifference

GateVerdict = Literal["PASS", "FAIL", "INCONCLUSIVE", "UNMEASURED"]
GateKind = Literal[
    "mean", "percentile", "regression", "checks", "critical", "questions", "guardrail", "secrets"
]
GateRule = Literal["interval", "mean"]
GateUnit = Literal["questions", "samples"]
Severity = Literal["block", "warn"]
GuardrailState = Literal["worse", "not worse", "open"]
MOST_WORSE = 0.20  # share of the baseline's latency, cost, errors or wrong refusals that may be added
SHARES = ("errors", "wrong refusals")  # guardrails that are shares of the questions
LEAST_ASKED = 0.95  # share of the baseline's questions that a run must have
FEWEST_QUESTIONS = 5  # below this a mean decides nothing
POWER = 0.80
OWN_QUESTIONS = "own questions"  # of a gate on the questions that a run answered of its own
UNCHANGED = "no question changed"
ORDER: tuple[GateVerdict, ...] = ("FAIL", "INCONCLUSIVE", "UNMEASURED", "PASS")
_ROUNDING = 1e-9  # a mean of 0.7999999999 of eight tenths is 0.8


@dataclass(frozen=True)
class Gate:
    """One condition that a run must meet."""

    # of a mean or percentile: full name of the metric; of a regression: the same, "pass rate", or a
    # family of metrics; of checks: their kind, or "all"; of critical: the tag of a critical case
    metric: str
    # the value that must be reached or not exceeded; of a regression: the drop that is allowed
    threshold: float
    at_most: bool  # True where the threshold is an upper limit
    severity: Severity  # "block" keeps a version from shipping, "warn" does not
    reason: str  # why it matters, printed with the verdict
    # "mean" or "percentile" of a metric, "regression" against the baseline, "checks" passed, "critical"
    # cases, "questions" that the run answered, a "guardrail" such as latency, or the "secrets" that
    # answers tell
    kind: GateKind = "mean"
    required: bool = False  # whether INCONCLUSIVE and UNMEASURED keep a version from shipping too
    # (what it groups by, value) of the questions that count; None for all
    slice: tuple[str, str] | None = None
    values: tuple[str, ...] = ()  # of critical: the values of the tag that mean yes
    # "interval" passes and fails only where the whole 95 % interval lies on one side of the threshold,
    # "mean" by the mean (or its change, or the percentile) alone
    rule: GateRule = "interval"
    percentile: float | None = None  # of a percentile: which one, between 0 and 100; None for other kinds
    # of a percentile: whether the values are means of questions or single samples
    over: GateUnit = "questions"
    # of checks: questions with a verdict below which nothing is decided, unless one that must not fail
    # does
    fewest: int = 0
    where_measured: bool = False  # whether a run without any value of it has no such gate
    # whether it need not be measured where it is known of most answers whether they are right
    unless_right: bool = False

    @property
    def every(self) -> bool:
        """Return whether every value must meet the threshold: values are counted, as no interval passes 1."""
        if self.kind in ("regression", "percentile"):
            return False
        return self.threshold <= 0 if self.at_most else self.threshold >= 1


@dataclass(frozen=True)
class GateResult:
    """The outcome of one gate for a run."""

    gate: Gate  # the gate
    verdict: GateVerdict  # by the rule of the gate
    # of the run, or the difference from the baseline; None where not measured. Of a guardrail its value
    # in the run, of which `before` is that in the baseline
    mean: float | None
    low: float | None  # lower end of its 95 % interval; of a guardrail, of its change
    high: float | None  # upper end
    n_scored: int  # questions behind it; of critical, the critical cases that passed in the baseline
    n_total: int = 0  # questions that it could rest on
    # distance from the threshold that this sample would show 4 times in 5; None without
    smallest_effect: float | None = None
    # of a regression, p against no change: its own where the gate names one metric, corrected over the
    # family where it names a family
    adjusted_p: float | None = None
    before: float | None = None  # of a regression, the baseline's mean over the shared questions
    # distance to the threshold: above 0 on the right side of it, below 0 on the wrong one
    margin: float | None = None
    by_interval: GateVerdict = "UNMEASURED"  # the verdict that the interval alone would give
    obtained: str = ""  # sources of the values and method of the interval
    why: str = ""  # what is missing for a verdict, or what alone decided it; "" where the numbers decide
    # True where there is nothing to judge by (no baseline, no such checks): a warning that counts only
    # in strict mode
    excused: bool = False
    doubt: str = ""  # why the sanity checks doubt what the gate rests on; "" where they do not
    sentence: str = ""  # the result in plain words
    # of a regression or guardrail, how much worse it may be (95 %); None without a bound
    largest_loss: float | None = None
    # of an undecided regression, questions that would settle it; None where no practical number would,
    # and of other kinds
    needed: int | None = None
    # of a mean that human labels corrected, that of the metric alone; None of others
    raw: float | None = None
    # of a mean of weighted samples, those of one weight that would tell as much; None of others
    effective_n: float | None = None
    # of a change between samples of calls, how many the baseline and the run have scored; they are not paired
    unpaired: tuple[int, int] | None = None

    @property
    def blocks(self) -> bool:
        """Return whether a failure keeps a version from shipping."""
        return self.gate.severity == "block"


UNPAIRED = "unpaired, weighted by 1 / rate"  # how a change between samples of calls was obtained


def smallest_effect(low: float | None, high: float | None) -> float | None:
    """Return the smallest distance that such a sample detects in 80 % of repetitions (two-sided, 5 %).

    (z(0.975) + z(0.80)) standard errors = 2.80 of them, the standard error read off the 95 % interval.
    Source: Bloom 1995, "Minimum detectable effects", Evaluation Review 19(5).
    """
    if low is None or high is None:
        return None
    reach = normal_quantile(0.975)
    return (reach + normal_quantile(POWER)) * (high - low) / (2 * reach)


def unmeasured(
    gate: Gate, why: str, n_scored: int = 0, n_total: int = 0, excused: bool = False
) -> GateResult:
    """Return the result of a gate that could not be judged; a required gate is never excused."""
    excused = excused and not gate.required
    return GateResult(gate, "UNMEASURED", None, None, None, n_scored, n_total, why=why, excused=excused)


def judge_gate(
    gate: Gate,
    mean: float | None,
    low: float | None,
    high: float | None,
    n_scored: int,
    n_total: int = 0,
    adverse: float | None = None,
    obtained: str = "",
) -> GateResult:
    """Judge the mean of a metric, or the share of checks passed, by its interval or, if so ruled, by itself.

    A threshold of 1 (or at most 0) is met by every value or not at all: there values are counted.

    Args:
        gate: the threshold.
        mean: mean over questions; None where not measured.
        low: lower end of the 95 % interval; None where there is none.
        high: upper end.
        n_scored: questions with a value; by the interval, fewer than 5 decide nothing, except for checks that
            must all pass; a gate with `fewest` needs as many, unless one value fails that must not.
        n_total: questions that it could rest on.
        adverse: the mean if every value that failed to score had been the worst possible; None where none
            failed.
        obtained: sources of the values and method of the interval.
    """
    fails_anyway = mean is not None and gate.every and not _meets(gate, mean)
    if mean is None or (n_scored < max(gate.fewest, _fewest(gate)) and not fails_anyway):
        return unmeasured(gate, "" if mean is None else "too few", n_scored, n_total)
    judged = _judged(gate, (mean, low, high), (n_scored, n_total), adverse)
    return replace(judged, smallest_effect=smallest_effect(low, high), obtained=obtained)


def judge_percentile(
    gate: Gate, measured: QuantileInterval, n_total: int = 0, adverse: float | None = None, obtained: str = ""
) -> GateResult:
    """Judge a percentile by its interval or, if so ruled, by itself.

    By the interval, a percentile with an open end (fewer values than fewest_values) decides nothing.

    Args:
        gate: the threshold.
        measured: the percentile.
        n_total: questions or samples that it could rest on.
        adverse: the percentile if every value that failed to score had been the worst possible; None where
            none failed.
        obtained: sources of the values and method of the interval.
    """
    value, low, high = measured.value, measured.low, measured.high
    lacking = low is None or high is None
    if value is None or (lacking and gate.rule == "interval"):
        return unmeasured(gate, "" if value is None else "too few", measured.n, n_total)
    judged = _judged(gate, (value, low, high), (measured.n, n_total), adverse)
    ends = (None, None) if lacking else (low, high)
    return replace(judged, low=ends[0], high=ends[1], obtained=obtained)


def _judged(
    gate: Gate,
    measured: tuple[float, float | None, float | None],
    counts: tuple[int, int],
    adverse: float | None,
) -> GateResult:
    """Return the verdict on a value with its interval; a pass that unscored values could undo is none."""
    value, low, high = measured
    # a gate passes only if the end of the interval that counts against it meets the threshold
    worst, best = (high, low) if gate.at_most else (low, high)
    verdict = _verdict(gate, value, worst, best)
    why = ""
    if verdict == "PASS" and adverse is not None and not _meets(gate, adverse):
        verdict, why = "INCONCLUSIVE", "failed to score"
    return GateResult(
        gate,
        verdict,
        value,
        low,
        high,
        *counts,
        margin=gate.threshold - value if gate.at_most else value - gate.threshold,
        by_interval=_by_interval(gate, worst, best),
        why=why,
    )


def _fewest(gate: Gate) -> int:
    by_count = gate.kind == "checks" and gate.every
    return 1 if by_count or gate.rule == "mean" else FEWEST_QUESTIONS


def _meets(gate: Gate, value: float) -> bool:
    sign = -1.0 if gate.at_most else 1.0
    return sign * value >= sign * gate.threshold - _ROUNDING


def _verdict(gate: Gate, value: float, worst: float | None, best: float | None) -> GateVerdict:
    """Judge a value, and the ends of its interval, by the threshold: the one rule of all gates."""
    if gate.every or gate.rule == "mean":
        return "PASS" if _meets(gate, value) else "FAIL"
    return _by_interval(gate, worst, best)


def _by_interval(gate: Gate, worst: float | None, best: float | None) -> GateVerdict:
    if worst is None or best is None:
        return "INCONCLUSIVE"
    if _meets(gate, worst):
        return "PASS"
    return "INCONCLUSIVE" if _meets(gate, best) else "FAIL"


def judge_regression(
    gate: Gate,
    difference: PairedDifference,
    low: float,
    high: float,
    adjusted_p: float,
    higher_is_better: bool,
    before: float | None = None,
    obtained: str = "",
    in_family: bool = False,
) -> GateResult:
    """Judge the change of a metric since the baseline by the rule of all gates.

    By the interval, a metric tested alone fails where the drop is at least the threshold and a one-sided
    exact test says worse, and passes where the one-sided 95 % bound of the drop is within it (see
    ragtriage.metrics.statistics.max_t). In a family it fails with the adjusted p, and passes where the
    whole interval of the family is within the threshold.

    Args:
        gate: its threshold is the drop that is allowed.
        difference: this run minus the baseline, paired on question.
        low: lower end of the 95 % interval of the difference; NaN or infinite where there is none.
        high: its upper end.
        adjusted_p: against no change, with the correction that the interval has.
        higher_is_better: direction of the metric.
        before: the baseline's mean over the shared questions.
        obtained: how the interval was obtained.
        in_family: whether the interval and p are corrected over a family.
    """
    n = difference.n_pairs
    if n < _fewest(gate):
        return unmeasured(gate, "too few", n, n)
    bounded = isfinite(low) and isfinite(high)
    family = FamilyTest(adjusted_p, low, high) if in_family else None
    held = margin_test(difference, higher_is_better, gate.threshold, family)
    largest = held.largest_loss
    by_interval: GateVerdict = "INCONCLUSIVE"
    if held.outcome == "worse":
        by_interval = "FAIL"
    elif isfinite(largest) and _meets(gate, largest):
        by_interval = "PASS"
    by_mean: GateVerdict = "PASS" if _meets(gate, held.drop) else "FAIL"
    return GateResult(
        gate,
        by_mean if gate.rule == "mean" else by_interval,
        difference.difference,
        low if bounded else None,
        high if bounded else None,
        n,
        n,
        smallest_effect(low, high) if bounded else None,
        adjusted_p if isfinite(adjusted_p) else None,
        before,
        gate.threshold - held.drop,
        by_interval,
        obtained,
        UNCHANGED if difference.same == n else "",
        unpaired=difference.unpaired,
        largest_loss=largest if isfinite(largest) else None,
        needed=held.needed if by_interval == "INCONCLUSIVE" else None,
    )


def judge_critical(
    gate: Gate, n_failing: int, n_unseen: int, n_passed_before: int, n_tagged: int
) -> GateResult:
    """Judge the critical cases that passed in the baseline: a single one that now fails fails the gate.

    Args:
        gate: the gate.
        n_failing: of them, those that fail now.
        n_unseen: of them, those that this run does not have or did not measure.
        n_passed_before: critical cases that passed in the baseline; without any, nothing can be judged.
        n_tagged: critical cases in either run.
    """
    if not n_passed_before:
        why = "none of them passed in the baseline" if n_tagged else "no case has the tag"
        return unmeasured(gate, why, n_total=n_tagged, excused=True)
    verdict: GateVerdict = "FAIL" if n_failing else "UNMEASURED" if n_unseen else "PASS"
    share, seen = n_failing / n_passed_before, n_passed_before - n_unseen
    why = f"{n_unseen} of them not measured in this run" if n_unseen else ""
    return GateResult(gate, verdict, share, None, None, seen, n_passed_before, obtained="counted", why=why)


def judge_guardrail(
    name: str,
    before: float,
    after: float,
    n: int,
    state: GuardrailState,
    change: tuple[float, float, float],
    unpaired: tuple[int, int] | None = None,
) -> GateResult:
    """Return the warning gate of a guardrail: it fails where that got worse than allowed, beyond chance.

    Args:
        name: of the guardrail.
        before: its value in the baseline.
        after: its value in the run.
        n: questions behind it.
        state: not worse where the loss is below what is allowed with 95 % confidence.
        change: both ends of its 95 % interval, and the one-sided bound of the loss.
        unpaired: questions of both runs, where they are samples of calls.
    """
    reason = "better answers can still be slower or cost more"
    if name in SHARES:
        reason = "more questions go unanswered"
    gate = Gate(name, MOST_WORSE, name != "throughput", "warn", reason, kind="guardrail")
    verdicts: dict[GuardrailState, GateVerdict] = {
        "worse": "FAIL",
        "not worse": "PASS",
        "open": "INCONCLUSIVE",
    }
    low, high, bound = (end if isfinite(end) else None for end in change)
    result = GateResult(
        gate,
        verdicts[state],
        after,
        low,
        high,
        n,
        n,
        before=before,
        obtained="times of the requests" if name == "throughput" else "paired on question",
        largest_loss=bound,
    )
    return result if unpaired is None else replace(result, obtained=UNPAIRED, unpaired=unpaired)


def allowed_loss(name: str, before: float) -> float:
    """Return by how much a guardrail may get worse, in its own unit: a fifth of the baseline's.

    A fifth of few errors is less than any sample can show: a share may rise by the margin at least.
    """
    fifth = MOST_WORSE * abs(before)
    return max(fifth, MARGIN) if name in SHARES else fifth


def missing_questions(asked: int, of: int, both: str, of_baseline: bool = True) -> GateResult | None:
    """Return the failed gate of a run that lacks questions; None where it lacks few.

    Args:
        asked: questions that the run answered.
        of: questions that it should have answered.
        both: both readings of the pass rate, as a clause.
        of_baseline: whether these are the questions of the baseline, and not the run's own.
    """
    share = asked / of if of else 1.0
    if share >= LEAST_ASKED:
        return None
    gate = Gate(
        "questions" if of_baseline else OWN_QUESTIONS,
        LEAST_ASKED,
        False,
        "block",
        "a question left out does not count as passed",
        kind="questions",
    )
    return GateResult(
        gate, "FAIL", share, None, None, asked, of, margin=share - LEAST_ASKED, obtained="counted", why=both
    )


def overall(results: Sequence[GateResult], strict: bool = False) -> GateVerdict:
    """Return the verdict on the run: the worst among its blocking gates; warnings do not count.

    Args:
        results: of every gate.
        strict: also count gates that had nothing to judge by.

    Raises:
        MetricsError: no gate blocks.
    """
    blocking = [result for result in results if result.blocks]
    if not blocking:
        raise MetricsError("no blocking gate; accepted: at least one gate with severity block")
    counted = {result.verdict for result in blocking if strict or not result.excused}
    return next((verdict for verdict in ORDER if verdict in counted), "UNMEASURED")
