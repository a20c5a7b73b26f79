"""Gates and their results in plain words, the same on screen, on the command line and in reports."""

from collections.abc import Mapping

from ragtriage.metrics.gates.gates import (
    FEWEST_QUESTIONS,
    OWN_QUESTIONS,
    SHARES,
    UNCHANGED,
    Gate,
    GateResult,
    GateVerdict,
    allowed_loss,
)
from ragtriage.metrics.metric_registry import both_titles, bounds_of
from ragtriage.metrics.number_text import (
    chosen_percent,
    interval_text,
    number,
    percent,
    points,
    settled_by,
    signed,
)
from ragtriage.metrics.statistics.distributions import fewest_values
from ragtriage.metrics.statistics.paired import MARGIN
from ragtriage.metrics.statistics.power import still_possible

GOOD_SHARE = "pass rate"
# of a gate, for people; of a run its conclusion is said
VERDICT_WORDS: Mapping[GateVerdict, str] = {
    "PASS": "holds",
    "FAIL": "fails",
    "INCONCLUSIVE": "cannot tell",
    "UNMEASURED": "not measured",
}
_FAMILIES = ("headline", "retrieval", "generation", "answer", "system", "all")


def level_text(metric: str, value: float | None) -> str:
    """Format a mean: the pass rate in percent, every other metric as a number."""
    return percent(value) if metric == GOOD_SHARE else number(value)


def change_text(metric: str, change: float | None) -> str:
    """Format a change with its sign: of the pass rate in points, of every other metric as a number."""
    return points(change) if metric == GOOD_SHARE else signed(change)


def change_interval(metric: str, low: float | None, high: float | None) -> str:
    """Format the 95 % interval of a change, of the pass rate in points as the change itself is."""
    if metric != GOOD_SHARE or low is None or high is None:
        return interval_text(low, high)
    return interval_text(100 * low, 100 * high, 0)


def subject_of(gate: Gate) -> str:
    """Return what a gate judges, such as "Recall@5" or "Checks of kind format"."""
    if gate.kind == "checks":
        return "Checks" if gate.metric == "all" else f"Checks of kind {gate.metric}"
    if gate.kind == "critical":
        return f"Cases tagged {gate.metric}"
    if gate.kind == "questions":
        return "Questions of the run" if gate.metric == OWN_QUESTIONS else "Questions of the baseline"
    if gate.kind in ("guardrail", "secrets"):
        return f"{gate.metric[:1].upper()}{gate.metric[1:]}"
    if gate.kind == "regression" and gate.metric in _FAMILIES:
        return f"Every {'' if gate.metric == 'all' else gate.metric + ' '}metric"
    title = both_titles(gate.metric)
    title = title if title[1:2].isupper() else title[:1].upper() + title[1:]  # keep nDCG as it is
    if gate.percentile is None:
        return title
    return f"{title}, p{gate.percentile:g}{' of samples' if gate.over == 'samples' else ''}"


def where_of(gate: Gate) -> str:
    """Return the slice that a gate judges, as it follows its subject; "" for the whole run."""
    return f" where {gate.slice[0]} is {gate.slice[1]}" if gate.slice else ""


def gate_title(gate: Gate) -> str:
    """Return what a gate requires, in a few words."""
    where, subject = where_of(gate), subject_of(gate)
    if gate.kind == "critical":
        return f"{subject}: none newly fails{where}"
    if gate.kind == "questions":
        return f"{subject}: at least {chosen_percent(gate.threshold)} answered"
    if gate.kind == "secrets":
        return f"{subject}: none"
    if gate.kind == "guardrail":
        most = chosen_percent(gate.threshold)
        if gate.metric in SHARES:
            return f"{subject}: at most {most} or {points(MARGIN).removeprefix('+')} more than the baseline"
        return f"{subject}: at most {most} worse than the baseline"
    by = " by the mean" if gate.rule == "mean" else ""
    if gate.kind == "regression":
        loss = f"{100 * gate.threshold:g} points" if gate.metric == GOOD_SHARE else f"{gate.threshold:g}"
        return f"{subject}{where}: at most {loss} worse than the baseline{by}"
    if gate.kind == "checks":
        share = "every one passes" if gate.every else f"at least {chosen_percent(gate.threshold)} pass{by}"
        least = f", with at least {_count(gate.fewest)}" if gate.fewest else ""
        return f"{subject}{where}: {share}{least}"
    side = "at most" if gate.at_most else "at least"
    if gate.kind == "percentile":
        return f"{subject}{where}: {side} {gate.threshold:g}{' by its value' if by else ''}"
    return f"{subject}{where}: {side} {gate.threshold:.2f}{by}"


def distance_text(result: GateResult, digits: int = 2) -> str:
    """Return how far a value is from the threshold, such as "0.06 below the threshold"; "" where nothing is.

    Of a change the threshold is what it may lose.
    """
    if result.margin is None or (result.gate.every and result.verdict == "PASS"):
        return ""
    distance = f"{abs(result.margin):.{digits}f}"
    if float(distance) == 0:
        return "at the threshold"
    if result.margin > 0:
        return f"margin {distance}"
    if result.gate.kind == "regression":
        return f"{distance} beyond what is allowed"
    return f"{distance} {'above' if result.gate.at_most else 'below'} the threshold"


def judged_title(result: GateResult) -> str:
    """Return what a gate requires, and whether the checks doubt what it rests on."""
    return f"{gate_title(result.gate)}{' (doubted)' if result.doubt else ''}"


def gate_sentence(result: GateResult) -> str:
    """Return a gate's result as a sentence: number, uncertainty, reason for the verdict, what is doubted."""
    sentence = _judged(result)
    return f"{sentence[:-1]}; doubted by the checks: {result.doubt}." if result.doubt else sentence


def _judged(result: GateResult) -> str:
    if result.gate.kind == "critical":
        return _critical(result)
    if result.gate.kind == "secrets":
        return f"{result.why}."
    if result.gate.kind == "questions":
        whose = "its own" if result.gate.metric == OWN_QUESTIONS else "the baseline's"
        return f"The run answered {result.n_scored:,} of {whose} {_count(result.n_total)}; {result.why}."
    if result.mean is None or result.verdict == "UNMEASURED":
        subject = subject_of(result.gate)
        if result.why == "too few":
            share = result.gate.percentile
            least = (
                fewest_values(share / 100) if share is not None else result.gate.fewest or FEWEST_QUESTIONS
            )
            measured = _count(result.n_scored, result.gate.over[:-1])
            return f"{subject}: measured on {measured}, too few to decide; at least {least:,} are needed."
        return f"{subject}: not measured; {result.why or 'this run has no value of it'}."
    if result.gate.kind == "guardrail":
        return _guardrail(result)
    if result.gate.kind == "regression":
        return _regression(result, result.mean)
    return _mean(result, result.mean)


def _guardrail(result: GateResult) -> str:
    """Return what a guardrail did: worse, not worse, or how much may hide."""
    name, over = subject_of(result.gate), _over(result, shared=True)
    if result.gate.metric == "throughput":
        over = f"over {_count(result.n_scored, 'request')}"
    allowed = f"{chosen_percent(result.gate.threshold)} is allowed"
    if result.gate.metric in SHARES:
        allowed = (
            f"{points(allowed_loss(result.gate.metric, result.before or 0.0)).removeprefix('+')} are allowed"
        )
    conclusion = f"worse beyond chance, {allowed}"
    if result.verdict != "FAIL":
        more = "" if result.largest_loss is None else guardrail_more(result, max(result.largest_loss, 0.0))
        hides = f"up to {more} may hide" if more else "any change may hide"
        conclusion = f"at most {more} (95 %)" if result.verdict == "PASS" else f"{hides}, {allowed}"
    return f"{name}: {guardrail_change(result)}{guardrail_interval(result)} {over}; {conclusion}."


def guardrail_interval(result: GateResult) -> str:
    """Return the 95 % interval of the change of a guardrail; "" where there is none."""
    if result.low is None or result.high is None:
        return ""
    ends = ((end, guardrail_value(result.gate.metric, abs(end))) for end in (result.low, result.high))
    return f" [{', '.join(f'{_sign(end)}{text}' for end, text in ends)}]"


def guardrail_more(result: GateResult, loss: float) -> str:
    """Return a loss of a guardrail: as a share of the baseline, such as "12 % more", or in its own unit."""
    name = result.gate.metric
    less = "less" if name == "throughput" else "more"
    if name in SHARES:
        return f"{points(loss).removeprefix('+')} {less}"
    if not result.before:
        return f"{guardrail_value(name, loss)} {less}"
    return f"{percent(loss / result.before)} {less}"


def guardrail_change(result: GateResult) -> str:
    """Return a guardrail in the baseline and in the run, such as "from 1.8 s to 4.0 s"."""
    before, after = (guardrail_value(result.gate.metric, value) for value in (result.before, result.mean))
    return f"{before} in both" if before == after else f"from {before} to {after}"


def guardrail_value(name: str, value: float | None) -> str:
    """Return the value of a guardrail with its unit: seconds, dollars, or a share of the questions."""
    if value is None:
        return "–"
    if name == "throughput":
        return f"{value:.3g} per minute"
    if "latency" in name:
        return f"{value / 1000:.1f} s" if value >= 1000 else f"{value:.0f} ms"
    return f"{value:.3g} USD" if name == "cost" else percent(value)


def _mean(result: GateResult, mean: float) -> str:
    gate = result.gate
    digits = _digits(mean, gate.threshold)
    number = f"{mean:.{digits}f}{_interval(result, digits)} {_over(result)}"
    if result.raw is not None:
        number += f", corrected by human labels ({result.raw:.{digits}f} without them)"
    name = f"Share passed of {subject_of(gate).lower()}" if gate.kind == "checks" else subject_of(gate)
    if gate.every and result.verdict != "INCONCLUSIVE":
        side = "at most" if gate.at_most else "at least"
        conclusion = f"not every value is {side} {gate.threshold:.{digits}f}"
        if result.verdict == "PASS":
            conclusion = f"every value meets the threshold{_still_possible(result)}"
        return f"{name}: {number}; {conclusion}."
    threshold = f"{gate.threshold:.{digits}f}"
    side, other = ("at most", "above") if gate.at_most else ("at least", "below")
    conclusion = _conclusion(result, f"is {side} {threshold}", f"is {other} {threshold}", threshold)
    return f"{name}: {number}; {distance_text(result, digits)}: {conclusion}."


def _still_possible(result: GateResult) -> str:
    """Return what no failure among the checks still allows; "" for other gates."""
    if result.gate.kind != "checks" or not result.n_scored:
        return ""
    return f"; {no_failure_text(result.n_scored)}"


def no_failure_text(n: int) -> str:
    """Return what no failure in n checks still allows."""
    bound = still_possible(n)
    return (
        f"no failure in {n:,} still allows up to {percent(bound, 0 if bound >= 0.095 else 1)} to fail (95 %)"
    )


def _regression(result: GateResult, change: float) -> str:
    gate = result.gate
    digits = _digits(abs(change), gate.threshold)
    name, over = subject_of(gate), _over(result, shared=True)
    allowed = f"{gate.threshold:g} is allowed"
    loss = "" if result.largest_loss is None else f"{max(result.largest_loss, 0.0):.{digits}f}"
    if gate.rule == "mean":
        beyond = f"worse by {gate.threshold:g} or more"
        conclusion = _conclusion(
            result, f"is not {beyond}", f"is {beyond}", f"a worsening of {gate.threshold:g}"
        )
    elif result.verdict == "FAIL":
        conclusion = f"worse beyond chance, {allowed}"
    elif result.verdict == "PASS":
        conclusion = f"worse by at most {loss} (95 %), {allowed}"
    else:
        hides = f"a loss of up to {loss} may hide, " if loss else "without an interval any loss may hide, "
        conclusion = f"{hides}{allowed}{_settled_by(result)}"
    if result.why == UNCHANGED:
        level = "" if result.before is None else f" at {result.before:.{digits}f}"
        return f"{name}: unchanged{level} {over}; {conclusion}."
    moved = f"a change of {_signed(change, digits)}{_interval(result, digits, signed=True)}"
    if result.before is not None:
        moved += f" from {result.before:.{digits}f} to {result.before + change:.{digits}f}"
    return f"{name}: {moved} {over}; {conclusion}."


def _settled_by(result: GateResult) -> str:
    """Return how many questions would settle a comparison, in total and in addition; "" without a number."""
    return "" if result.needed is None else f"; {settled_by(result.needed, result.n_scored)}"


def _conclusion(result: GateResult, within: str, beyond: str, threshold: str) -> str:
    """Return what decided: the rule of the gate, applied to its number.

    Args:
        result: measured, by the interval or by the mean.
        within: what meets the gate.
        beyond: what does not.
        threshold: the limit between the two.
    """
    if result.verdict == "INCONCLUSIVE" and result.why:
        moved = "percentile" if result.gate.kind == "percentile" else "mean"
        return (
            f"counting values that {result.why} as the worst possible would move the {moved} past {threshold}"
        )
    met = within if result.verdict == "PASS" else beyond
    if result.gate.rule == "mean":
        subject = {"regression": "change", "percentile": "percentile"}.get(result.gate.kind, "mean")
        doubt = "" if result.by_interval == result.verdict else f"; its interval includes {threshold}"
        return f"the {subject} alone decides, and it {met}{'' if result.low is None else doubt}"
    if result.verdict != "INCONCLUSIVE":
        return f"the whole interval {met}"
    if result.low is None:
        return f"without an interval it is unclear on which side of {threshold} the true value is"
    return f"the interval includes {threshold}, so there are too few questions to tell{_effect(result)}"


def _critical(result: GateResult) -> str:
    gate, n = result.gate, result.n_total
    if result.mean is None:
        also = f" ({_count(n, 'case')})" if n else ""
        return f"{subject_of(gate)}{also}: not evaluated; {result.why}."
    failing = round(result.mean * n)
    also = f"; {result.why}" if result.why else ""
    name = f"cases tagged {gate.metric} that passed in the baseline"
    return f"Of {n:,} {name}, {failing:,} {'fails' if failing == 1 else 'fail'} now{also}."


def nothing_shows(result: GateResult) -> bool:
    """Return whether the smallest effect is larger than any distance from the threshold can be."""
    gate = result.gate
    if result.smallest_effect is None:
        return False
    is_rate = gate.kind == "checks" or gate.metric == GOOD_SHARE
    low, high = (0.0, 1.0) if is_rate else bounds_of(gate.metric)
    farthest = high - low if gate.kind == "regression" else max(high - gate.threshold, gate.threshold - low)
    return result.smallest_effect > farthest


def _effect(result: GateResult) -> str:
    if result.smallest_effect is None:
        return ""
    if nothing_shows(result):
        return f"; with {_count(result.n_scored)} no possible difference is detectable (80 % power)"
    return f"; detectable difference (80 % power): {result.smallest_effect:.2f}"


def _over(result: GateResult, shared: bool = False) -> str:
    if result.unpaired is not None:
        before, now = result.unpaired
        return f"over {before:,} and {now:,} sampled calls, unpaired"
    if shared:
        return f"over {_count(result.n_scored, 'shared question')}"
    of = f" of {result.n_total:,}" if result.n_total else ""
    unit = result.gate.over[:-1]
    return f"over {result.n_scored:,}{of} {unit}{'' if (result.n_total or result.n_scored) == 1 else 's'}"


def _count(n: int, noun: str = "question") -> str:
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def _interval(result: GateResult, digits: int, signed: bool = False) -> str:
    if result.low is None or result.high is None:
        return ", no interval,"
    ends = (_signed(end, digits) if signed else f"{end:.{digits}f}" for end in (result.low, result.high))
    return f" [{', '.join(ends)}]"


def _digits(value: float, threshold: float) -> int:
    """Return 2 digits, or 3 where 2 would hide on which side of the threshold a value lies."""
    return 3 if value != threshold and f"{value:.2f}" == f"{threshold:.2f}" else 2


def _sign(value: float) -> str:
    return "+" if value > 0 else "−" if value < 0 else ""


def _signed(value: float, digits: int) -> str:
    text = f"{abs(value):.{digits}f}"
    if float(text) == 0:
        return text
    return f"{_sign(value)}{text}"
