"""How a comparison is put in words: its tests, and titles and differences turned so that more is better."""

from collections.abc import Mapping, Sequence
from math import isfinite

from ragtriage.dashboard.wording.escaping import capital, in_sentence, shorten
from ragtriage.data.comparison.ablation import Effect
from ragtriage.data.comparison.compare import Comparison, MetricDifference
from ragtriage.data.comparison.guardrails import CRITICAL, Loss, RankingChange
from ragtriage.data.comparison.question_changes import SliceChange
from ragtriage.data.declarations import HOW_TO_DECLARE
from ragtriage.metrics.gates.gates import GateResult
from ragtriage.metrics.gates.wording import GOOD_SHARE, change_interval, guardrail_change, level_text
from ragtriage.metrics.metric_registry import declared, is_share, title_of
from ragtriage.metrics.number_text import count, number, p_value, percent, settled_by
from ragtriage.metrics.statistics.intervals import METHODS
from ragtriage.metrics.statistics.max_t import MarginTest, Outcome
from ragtriage.metrics.statistics.paired import Verdict


def is_flipped(metric: str) -> bool:
    """Return whether lower values of a metric are better, so that its differences are turned."""
    declaration = declared(metric)
    return declaration is not None and declaration.higher_is_better is False


def on_share_scale(metric: str) -> bool:
    """Return whether a metric runs from 0 to 1, as most do, and can share an axis with others."""
    return metric == GOOD_SHARE or (is_share(metric) and metric != "win_rate")


def drawable(difference: MetricDifference) -> bool:
    """Return whether a difference can stand on a common axis: from 0 to 1, measured, with a direction."""
    return (
        on_share_scale(difference.metric)
        and bool(difference.difference.n_pairs)
        and _has_direction(difference.metric)
    )


def _has_direction(metric: str) -> bool:
    declaration = declared(metric)
    return metric == GOOD_SHARE or (declaration is not None and declaration.higher_is_better is not None)


def gain_title(metric: str) -> str:
    """Return the title of a metric where right is better; with ↓ where less is, and drawn turned."""
    return f"{capital(title_of(metric))}{' ↓' if is_flipped(metric) else ''}"


def gain(difference: MetricDifference) -> float:
    """Return a difference turned so that a rise is better."""
    value = difference.difference.difference
    return -value if is_flipped(difference.metric) else value


def gain_bounds(difference: MetricDifference) -> tuple[float, float]:
    """Return the interval that the verdict rests on, turned in the same way."""
    low, high = difference.low, difference.high
    return (-high, -low) if is_flipped(difference.metric) else (low, high)


MOST_NAMED, MOST_SLICES = 6, 2
# of differences that have no margin: effects of single changes, slices, ranks before and after reranking
VERDICT_LABELS: Mapping[Verdict, str] = {
    "better": "▲ better",
    "worse": "▼ worse",
    "cannot tell": "· cannot tell",
    "unchanged": "= unchanged",
    "no direction": "? no direction",
}
OUTCOME_MARKS: Mapping[Outcome, str] = {
    "better": "▲",
    "worse": "▼",
    "no worse": "≥",
    "equal": "=",
    "cannot tell": "·",
    "no direction": "?",
    "estimated": "~",
}


def outcome_label(row: MetricDifference) -> str:
    """Return the conclusion on a metric of two runs with its mark."""
    return f"{OUTCOME_MARKS[row.verdict]} {outcome_text(row)}"


def outcome_text(row: MetricDifference) -> str:
    """Return the conclusion on a metric of two runs, with the loss that may hide in it where none is shown.

    The loss is the one-sided 95 % bound of a metric tested alone; of a family, the end of its interval.
    """
    test = row.test
    if row.by_words:
        return "estimated from words"
    if row.verdict == "worse":
        p = _one_sided(row)
        return f"worse ({p})" if p else "worse"
    if test.margin is None or row.verdict in ("better", "no direction"):
        return "unchanged" if row.verdict == "equal" else row.verdict
    if row.verdict == "equal":
        return f"equal within {test.margin:g}"
    if not isfinite(test.largest_loss):
        return row.verdict
    loss = _loss(test)
    if row.verdict == "no worse":
        return f"no worse (loss at most {loss})"
    return f"cannot tell (loss up to {loss})"


def _loss(test: MarginTest) -> str:
    """Return the largest loss, with a third digit where two would hide on which side of the margin it is."""
    loss = max(test.largest_loss, 0.0)
    return number(loss, 3 if number(loss) == number(test.margin) else 2)


def hidden_loss(row: MetricDifference) -> str:
    """Return the loss that an open comparison may hide, and what would settle it; "" for others."""
    test, n = row.test, row.difference.n_pairs
    if row.verdict != "cannot tell" or test.margin is None or not isfinite(test.largest_loss):
        return ""
    settled = "" if test.needed is None else f"; {settled_by(test.needed, n)}"
    return f"A loss of up to {_loss(test)} may hide with {count(n, 'question')}{settled}."


def primary_statement(row: MetricDifference, name: str, base: str) -> str:
    """Return what a version is beside the baseline by a primary metric that shows no loss; "" by others."""
    if not row.primary or row.test.margin is None:
        return ""
    if row.verdict == "equal":
        return f"{name} equals {base} within {row.test.margin:g}"
    return f"{name} is at most {row.test.margin:g} worse than {base}" if row.verdict == "no worse" else ""


def bound_text(row: MetricDifference) -> str:
    """Return what the verdict on a change rests on: a one-sided bound or p, or its interval."""
    if row.primary and row.verdict in ("equal", "no worse") and row.test.margin is not None:
        return f"at most {_loss(row.test)} worse (one-sided 95 %)"
    interval = change_interval(row.metric, row.low, row.high)
    return ", ".join(filter(None, [interval, _one_sided(row)]))


def _one_sided(row: MetricDifference) -> str:
    """Return the p that says worse where the two-sided interval includes 0; "" for others."""
    if row.verdict != "worse" or not row.low <= 0 <= row.high:
        return ""
    return f"one-sided p {p_value(min(row.difference.p_fall, row.difference.p_rise))}"


def not_compared_text(comparison: Comparison) -> str:
    """Return why two runs have no metric to compare; empty where they have one."""
    if not len(comparison.matched.base) and not comparison.matched.sampled:
        return "nothing to compare: the runs share no question"
    if not any(row.difference.n_pairs for row in comparison.differences):
        return "nothing to compare: no metric has a value in both runs on a shared question"
    return ""


def tested_text(comparison: Comparison) -> str:
    """Return which metric was tested alone and how many together, and how; or why none was tested."""
    nothing = not_compared_text(comparison)
    if nothing:
        return nothing
    unpaired = comparison.matched.sampled
    by = "unpaired" if unpaired else "by sign flips"
    alone = f"primary: {title_of(comparison.primary.metric)}, tested alone {by}"
    if not comparison.n_family:
        return alone
    if comparison.n_family == 1:
        return f"{alone}; one more metric, tested alone"
    together = "tested together by step-down max-T over shared sign flips"
    if unpaired:
        together = "corrected together by Holm"
    return f"{alone}; {comparison.n_family} more metrics, {together}"


def correction_text(comparison: Comparison, change: MetricDifference) -> str:
    """Return over how many metrics the interval of a change is corrected."""
    if change.primary:
        return "primary, tested alone"
    return "tested alone" if comparison.n_family == 1 else f"corrected over {comparison.n_family} metrics"


def readings_text(comparison: Comparison, name: str, base: str) -> str:
    """Return the pass rates read both ways where a run lacks questions, and the raw ones beside labels."""
    sides = () if comparison.asked is None else zip(comparison.asked, (base, name), strict=True)
    return " ".join(filter(None, [*(asked.sentence(side) for asked, side in sides), comparison.labels]))


def loss_text(loss: Loss) -> str:
    """Return what got worse, whatever else got better."""
    where = f" where {loss.slice[0]} is {loss.slice[1]}" if loss.slice else ""
    if loss.slice and loss.slice[0] == CRITICAL[0]:
        where = " of critical cases"
    base, other = (level_text(loss.metric, value) for value in (loss.base, loss.other))
    return f"{in_sentence(title_of(loss.metric))}{where} {base} to {other}"


def ranking_text(change: RankingChange) -> str:
    """Return that the ranking moved, and the pass rate is the same."""
    moved = "improved" if change.after > change.before else "got worse"
    values = " to ".join(level_text(change.metric, value) for value in (change.before, change.after))
    return f"the ranking {moved} ({title_of(change.metric)} {values}), the pass rate did not"


def slices_text(changes: Sequence[SliceChange]) -> str:
    """Return how many slices got better or worse beyond chance."""
    moved = [change for change in changes if change.verdict in ("better", "worse")]
    if not moved:
        return f"None of {count(len(changes), 'slice')} changed beyond chance (corrected)"
    return f"{count(len(moved), 'slice')} of {len(changes):,} changed beyond chance"


def slice_title(change: SliceChange) -> str:
    """Return the name of a slice with its value."""
    return f"{change.name}: {change.value}"


def for_whom_text(changes: Sequence[SliceChange], sampled: bool = False) -> str:
    """Return the slices whose pass rate moved beyond chance, with their pass rates; else that none did.

    Slices of samples of calls are not compared, as nothing pairs them.
    """
    if sampled:
        return "not compared, as samples of calls are not paired"
    moved = [change for change in changes if change.verdict in ("better", "worse")]
    if not moved:
        return slices_text(changes) if changes else "no slice has enough questions"
    named = [
        f"{shorten(slice_title(change), 40)} {percent(change.base)} → {percent(change.other)} "
        f"({change.verdict})"
        for change in moved[:MOST_SLICES]
    ]
    more = len(moved) - len(named)
    return "; ".join([*named, *([f"{more} more"] if more else [])])


def cost_text(results: Sequence[GateResult]) -> str:
    """Return each guardrail that both runs measured, in both, and which of latency and cost they lack."""
    parts = [
        f"{result.gate.metric} {guardrail_change(result).removeprefix('from ')}"
        f"{' (worse)' if result.verdict == 'FAIL' else ''}"
        for result in results
    ]
    measured = {result.gate.metric for result in results}
    missing = [name for name in ("latency", "cost") if name not in measured]
    return ", ".join([*parts, *([f"{' and '.join(missing)} not recorded"] if missing else [])])


def paired_method_text(method: str) -> str:
    """Return how the interval and the test of a paired difference were obtained, in words."""
    interval, _, test = method.partition(" interval, ")
    return f"{METHODS.get(interval, interval)}; {test}"


def effect_label(effect: Effect) -> str:
    """Return what an effect changed."""
    return f"{shorten(effect.factor, 30)}: {shorten(effect.before, 22)} → {shorten(effect.after, 22)}"


def family_text(n_tested: int, noun: str) -> str:
    """Return how differences on one page are tested, and which interval is shown."""
    if n_tested == 1:
        return f"one {noun}, tested by sign flips; the interval shown is the one the verdict uses"
    return (
        f"{count(n_tested, noun)}, tested together by step-down max-T over shared sign flips; the interval "
        "shown is the one the verdict uses"
    )


def undirected_text(comparison: Comparison) -> str:
    """Return which metrics are neither better nor worse for want of a direction, and how to declare it."""
    names = [
        row.metric
        for row in comparison.differences
        if row.verdict == "no direction" and row.difference.same < row.difference.n_pairs
    ]
    if not names or not_compared_text(comparison):
        return ""
    more = f" and {len(names) - MOST_NAMED:,} more" if len(names) > MOST_NAMED else ""
    named = f"{', '.join(map(title_of, names[:MOST_NAMED]))}{more}"
    known = all(declared(name) is not None for name in names)
    advice = "" if known else f"; {HOW_TO_DECLARE}"
    return f"No direction, so neither better nor worse: {named}{advice}."
