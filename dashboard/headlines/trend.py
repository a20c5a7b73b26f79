"""What the Trend page concludes: whether the newest version is better or worse than the baseline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ragtriage.dashboard.headlines.headline import Headline, State
from ragtriage.dashboard.wording.comparisons import (
    bound_text,
    hidden_loss,
    loss_text,
    primary_statement,
    readings_text,
)
from ragtriage.dashboard.wording.escaping import capital, in_sentence, shorten
from ragtriage.data.comparison.compare import Comparison, MetricDifference
from ragtriage.metrics.gates.wording import change_text
from ragtriage.metrics.metric_registry import title_of
from ragtriage.metrics.number_text import count

LONGEST_NAME, LONGEST_BASE = 20, 36
MOST_NAMED = 2
LONGEST_STATEMENT = 70


@dataclass(frozen=True)
class TrendFacts:
    """The basis of a trend."""

    versions: int  # number of versions on display
    measured: int  # how many of them have the metric on display
    metric: str  # full name of it
    newest: str = ""  # name of the newest version that can be compared; "" for none
    baseline: str = ""  # name of the baseline; "" for none
    # newest against baseline over the headline metrics; None where nothing was compared
    comparison: Comparison | None = None
    drawn: frozenset[str] = frozenset()  # metrics that the page draws: the statement names no others
    doubts: tuple[str, ...] = ()  # what makes the comparison unsafe
    # whether another version than the newest differs from the baseline beyond chance
    others_moved: bool = False


def trend_headline(facts: TrendFacts) -> Headline:
    """Return how the newest version compares with the baseline."""
    doubt = "; ".join(facts.doubts)
    metric = in_sentence(title_of(facts.metric)) if facts.metric else "the metric"
    if facts.versions < 2:
        detail = "This project has one version. Load the next one on the Runs page"
        return Headline("empty", "A trend needs two runs", detail, doubt)
    if not facts.measured:
        detail = "Load runs with scores, or judge one"
        return Headline("not measured", "No version has a metric that can be drawn", detail, doubt)
    if facts.measured < 2:
        statement = f"Only one of {facts.versions:,} runs has {metric}"
        return Headline("not measured", statement, "A trend needs two", doubt)
    if facts.comparison is None:
        detail = "A test needs samples of the baseline and of a version after it; means alone give none"
        return Headline("not measured", "No later version can be tested", detail, doubt)
    return _compared(facts, facts.comparison, doubt)


def _compared(facts: TrendFacts, comparison: Comparison, doubt: str) -> Headline:
    """Return the conclusion where two versions were compared."""
    newest, base = shorten(facts.newest, LONGEST_NAME), shorten(facts.baseline, LONGEST_BASE)
    tested = [row for row in comparison.differences if row.difference.n_pairs]
    if not tested:
        detail = "They share no question that has a value in both"
        return Headline("not measured", f"{newest} and {base} share no scored question", detail, doubt)
    better = [row for row in tested if row.verdict == "better"]
    worse = [row for row in tested if row.verdict == "worse"]
    n = sorted({row.difference.n_pairs for row in tested})
    least = "" if len(n) == 1 else f"{n[0]:,} to "
    basis = f"{count(len(tested), 'metric')} compared over {least}{count(n[-1], 'shared question')}"
    margins = {row.test.margin for row in tested if row.test.margin is not None}
    basis += f", margin {margins.pop():g}" if len(margins) == 1 else ""
    if readings := readings_text(comparison, newest, base):
        basis += f". {readings.rstrip('.')}"
    if not better and not worse:
        first = next((row for row in tested if not row.by_words), tested[0])
        detail = " ".join(
            filter(None, [f"{newest} against {base}: {_text(first)}.", hidden_loss(first), basis])
        )
        held = primary_statement(first, newest, base)
        if held:
            return Headline("doubted" if doubt else "good", held, detail, doubt)
        statement = (
            f"{newest} does not differ from {base} beyond chance"
            if facts.others_moved
            else f"No change beyond chance in {count(facts.measured, 'run')}"
        )
        if all(row.difference.same == row.difference.n_pairs for row in tested):
            statement = f"{newest} scores the same as {base}"
        if all(row.verdict == "no direction" for row in tested):
            statement = f"{newest} against {base}: no metric has a direction"
        return Headline("cannot tell", statement, detail, doubt)
    if comparison.losses and not worse:
        lost = loss_text(comparison.losses[0])
        statement = f"{newest} is worse than {base}: {lost}"
        if better:
            statement = f"{newest} is mixed against {base}: {_short(better[0])}, but {lost}"
        return Headline("bad", statement, f"{_text(tested[0])}. {basis}", doubt)
    if better and worse:
        detail = f"Better: {_list(better)}. Worse: {_list(worse)}. {basis}"
        return Headline(
            "doubted" if doubt else "cannot tell", f"{newest} is mixed against {base}", detail, doubt
        )
    moved, verb = (better, "beats") if better else (worse, "is worse than")
    state: State = "doubted" if doubt else "good" if better else "bad"
    rest = "; the others: cannot tell" if len(moved) < len(tested) else ""
    detail = f"{capital(_list(moved, intervals=True))}. {capital(basis)}{rest}"
    return Headline(state, _statement(newest, verb, base, moved, facts), detail, doubt)


def _statement(
    newest: str, verb: str, base: str, moved: Sequence[MetricDifference], facts: TrendFacts
) -> str:
    """Return who beats whom, with as many drawn metrics as fit."""
    head = f"{newest} {verb} {base}"
    drawn = [row for row in moved if row.metric in facts.drawn][:MOST_NAMED]
    while drawn:
        named = ", ".join(map(_short, drawn))
        if len(head) + 2 + len(named) <= LONGEST_STATEMENT:
            return f"{head}: {named}"
        drawn.pop()
    return head


def _list(rows: Sequence[MetricDifference], intervals: bool = False) -> str:
    named = [_text(row) if intervals else _short(row) for row in rows[: MOST_NAMED + 1]]
    more = f" and {len(rows) - len(named)} more" if len(rows) > len(named) else ""
    return f"{', '.join(named)}{more}"


def _short(row: MetricDifference) -> str:
    return f"{in_sentence(title_of(row.metric))} {change_text(row.metric, row.difference.difference)}"


def _text(row: MetricDifference) -> str:
    bound = bound_text(row)
    return f"{_short(row)}{'' if bound.startswith('[') else ','} {bound} over {row.difference.n_pairs:,}"
