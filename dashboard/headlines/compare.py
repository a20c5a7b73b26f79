"""The headline of the Compare page: what changed beyond chance from the baseline to a version."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from ragtriage.dashboard.headlines.headline import Headline, State
from ragtriage.dashboard.headlines.triage import guardrail_clauses
from ragtriage.dashboard.wording.comparisons import (
    bound_text,
    drawable,
    gain,
    hidden_loss,
    loss_text,
    primary_statement,
    readings_text,
)
from ragtriage.dashboard.wording.escaping import capital, in_sentence, shorten
from ragtriage.data.comparison.compare import Comparison, MetricDifference
from ragtriage.data.comparison.guardrails import Loss
from ragtriage.data.diagnosis.diagnosis import Diagnosis
from ragtriage.data.diagnosis.doubts import metric_doubts, pass_rate_doubts
from ragtriage.metrics.gates.wording import GOOD_SHARE, change_text, level_text
from ragtriage.metrics.metric_registry import title_of
from ragtriage.metrics.number_text import count
from ragtriage.metrics.sanity.rule import Finding

MOST_METRICS, MOST_VERSIONS = 7, 6
NAME = 22
MOST_NAMED = 3  # metrics or versions in one sentence
LEAST_SHOWN = 0.005  # a smaller change is written as 0.00
NO_SECOND_RUN = Headline(
    "empty",
    "Load a second run to compare",
    "A comparison needs two runs of the same questions in this project.",
)


def _sayable(row: MetricDifference) -> bool:
    """Return whether a sentence may rest on a difference: it is drawn, and not an estimate from words."""
    return drawable(row) and not row.by_words


def drawn_metrics(comparison: Comparison) -> list[str]:
    """List the metrics that are drawn, at most seven: the primary one, then those furthest beyond chance.

    They are the only ones that the headline names. Only metrics from 0 to 1 with a direction share an axis.
    """
    rows = [row for row in comparison.differences if _sayable(row)]
    nearest = sorted(rows, key=lambda row: -1.0 if row.primary else row.adjusted_p)[:MOST_METRICS]
    return [row.metric for row in rows if row in nearest]


def drawn_versions(versions: Mapping[str, Comparison], first: str) -> list[str]:
    """List the keys of the drawn versions, at most six: the first, then those furthest beyond chance."""

    def least_p(key: str) -> float:
        known = [row.adjusted_p for row in versions[key].differences if _sayable(row)]
        return min(known, default=2.0)

    others = sorted((key for key in versions if key != first), key=least_p)[: MOST_VERSIONS - 1]
    return [key for key in versions if key == first or key in others]


def most_decisive(versions: Mapping[str, Comparison]) -> str:
    """Return the key of the version that differs beyond chance with the largest change; else the first."""

    def size(key: str) -> float:
        significant = [
            abs(gain(row))
            for row in versions[key].differences
            if _sayable(row) and row.verdict in ("better", "worse")
        ]
        return max(significant, default=0.0)

    return max(versions, key=size)


@dataclass(frozen=True)
class _Outcome:
    """The drawn metrics of one version by verdict; the primary first, then the largest change."""

    better: tuple[MetricDifference, ...]
    worse: tuple[MetricDifference, ...]
    open: tuple[MetricDifference, ...]

    @classmethod
    def of(cls, comparison: Comparison, metrics: Sequence[str]) -> Self:
        rows = [row for row in comparison.differences if row.metric in metrics and _sayable(row)]
        rows.sort(key=lambda row: -abs(gain(row)))

        def primary_first(*verdicts: str) -> tuple[MetricDifference, ...]:
            of_verdict = (row for row in rows if row.verdict in verdicts)
            return tuple(sorted(of_verdict, key=lambda row: not row.primary))

        open_rows = primary_first("cannot tell", "no worse", "equal")
        return cls(primary_first("better"), primary_first("worse"), open_rows)


def leading_metric(comparison: Comparison, metrics: Sequence[str]) -> str:
    """Return the metric that the headline names first; "" where none is drawn."""
    outcome = _Outcome.of(comparison, metrics)
    rows = (*outcome.better, *outcome.worse) or outcome.open
    return rows[0].metric if rows else ""


def metric_doubts_of(sides: Sequence[tuple[str, Diagnosis, Sequence[Finding]]], metric: str) -> list[str]:
    """Return what the checks doubt about a metric in the runs of a comparison, as clauses.

    Args:
        sides: name, diagnosis and findings of each run.
        metric: name of the metric, or the pass rate.
    """
    named: dict[str, list[str]] = {}
    for name, diagnosis, findings in sides:
        doubting = (
            pass_rate_doubts(diagnosis, findings)
            if metric == GOOD_SHARE
            else metric_doubts(diagnosis.scored, findings, metric)
        )
        for finding in doubting:
            named.setdefault(finding.clause, []).append(name)
    return [f"{clause} ({' and '.join(dict.fromkeys(names))})" for clause, names in named.items()]


def compare_headline(
    subject: str,
    versions: Mapping[str, Comparison],
    names: Mapping[str, str],
    base_name: str,
    metrics: Sequence[str],
    doubts: Mapping[str, Sequence[str]] | None = None,
    without_answers: Collection[str] = (),
) -> Headline:
    """Conclude what changed from the baseline to one version, by tests corrected over the family of metrics.

    Args:
        subject: key of the version that the statement is about.
        versions: key -> its comparison with the baseline.
        names: key -> its name.
        base_name: name of the baseline.
        metrics: the drawn metrics; no other is named.
        doubts: metric -> what the checks doubt about its values in one of the two runs.
        without_answers: keys of versions that record no answer, where the baseline does.
    """
    comparison, name, base = versions[subject], shorten(names[subject], NAME), shorten(base_name, NAME)
    if not len(comparison.matched.base) and not comparison.matched.sampled:
        detail = "Compare runs of the same questions, or give matching questions the same ids."
        return Headline("not measured", f"{name} and {base} share no question", detail)
    outcome = _Outcome.of(comparison, metrics)
    if not (outcome.better or outcome.worse or outcome.open):
        estimated = any(row.by_words and row.difference.n_pairs for row in comparison.differences)
        statement = f"No metric {'that decides ' if estimated else ''}is shared with {base}"
        return Headline("not measured", statement, _nothing_to_draw(comparison))
    state, statement, rows = _statement(outcome, name, base, comparison.losses)
    guarded = guardrail_clauses(comparison.guardrails)
    detail = " ".join(
        filter(
            None,
            [
                f"{capital(guarded)}." if guarded else "",
                _numbers(rows, comparison),
                hidden_loss(rows[0]) if state == "cannot tell" else "",
                readings_text(comparison, name, base),
                _others(subject, versions, names, base, without_answers),
            ],
        )
    )
    return Headline(state, statement, detail, _doubt(rows, comparison, doubts or {}))


def pair_headline(
    comparison: Comparison, names: tuple[str, str], sides: Sequence[tuple[str, Diagnosis, Sequence[Finding]]]
) -> Headline:
    """Conclude what changed from a baseline to one run, in the words of the page.

    Args:
        comparison: of the two.
        names: of the run and of the baseline.
        sides: name, diagnosis and findings of each.
    """
    drawn = drawn_metrics(comparison)
    doubts = {metric: metric_doubts_of(sides, metric) for metric in drawn}
    return compare_headline("run", {"run": comparison}, {"run": names[0]}, names[1], drawn, doubts)


def _statement(
    outcome: _Outcome, name: str, base: str, losses: Sequence[Loss]
) -> tuple[State, str, tuple[MetricDifference, ...]]:
    """Return state and statement, and the differences that it rests on, the first of which it names.

    A version that gains and loses is bad: the loss needs a decision before it replaces the baseline.
    """
    better, worse = outcome.better, outcome.worse
    if better and worse:
        statement = f"{name} gains and loses: {_change(better[0])}, {_change(worse[0])}"
        return "bad", statement, (better[0], worse[0], *better[1:], *worse[1:])
    if losses and not worse:
        rows = better or outcome.open
        gained = f"{_change(better[0])}, but " if better else ""
        verb = "gains and loses" if better else f"is worse than {base}"
        return "bad", f"{name} {verb}: {gained}{loss_text(losses[0])}", rows
    if better:
        return "good", f"{name} beats {base}{_scope(better, outcome)}: {_change(better[0])}", better
    if worse:
        scope = _scope(worse, outcome)
        return "bad", f"{name} is worse than {base}{scope}: {_change(worse[0])}", worse
    by_primary = {row: primary_statement(row, name, base) for row in outcome.open if row.primary}
    for row, statement in by_primary.items():
        if statement:
            others = (other for other in outcome.open if other is not row)
            return "good", f"{statement}: {_change(row)}", (row, *others)
    if all(row.difference.same == row.difference.n_pairs for row in outcome.open):
        return "cannot tell", f"No metric shown here differs between {name} and {base}", outcome.open
    return "cannot tell", f"No significant difference between {name} and {base}", outcome.open


def _scope(rows: Sequence[MetricDifference], outcome: _Outcome) -> str:
    """Return in how many of the drawn metrics a version differs; "" where the primary is one of them."""
    drawn = len(outcome.better) + len(outcome.worse) + len(outcome.open)
    return "" if rows[0].primary or drawn == 1 else f" in {len(rows)} of {drawn} metrics"


def _change(row: MetricDifference) -> str:
    change = change_text(row.metric, row.difference.difference)
    return f"{shorten(in_sentence(title_of(row.metric)), 26)} {change}"


def _numbers(rows: Sequence[MetricDifference], comparison: Comparison) -> str:
    parts = []
    for row in rows[:MOST_NAMED] if rows[0].verdict in ("better", "worse") else rows[:1]:
        before, after = (level_text(row.metric, value) for value in (row.base, row.other))
        bound = bound_text(row)
        interval = f" {bound}" if bound.startswith("[") else f", {bound}"
        values = f"from {before} to {after}"
        parts.append(f"{_change(row)}{interval}, {values}")
    largest = "" if rows[0].primary or rows[0].verdict in ("better", "worse") else "Largest change: "
    if largest and abs(gain(rows[0])) < LEAST_SHOWN:
        largest, parts = "", ["no drawn metric changed by 0.01 or more"]
    text = largest + "; ".join(parts)
    shared = count(len(comparison.matched.base), "shared question")
    if rows[0].difference.unpaired is not None:
        shared = comparison.warnings[0].rstrip(".")
    together = f", corrected over {count(comparison.n_family, 'metric')} besides the primary one"
    corrected = together if comparison.n_family > 1 else ""
    return f"{text[:1].upper()}{text[1:]}. {shared}{corrected}."


def _others(
    subject: str,
    versions: Mapping[str, Comparison],
    names: Mapping[str, str],
    base: str,
    without_answers: Collection[str],
) -> str:
    """Return which of the other versions are better or worse than the baseline, and in what.

    A version without answers is counted alone: its pass rate is another quantity than that of answers.
    """
    others = [key for key in versions if key != subject and key not in without_answers]
    n_apart = len([key for key in without_answers if key in versions and key != subject])
    have = "has" if n_apart == 1 else "have"
    apart = f"{count(n_apart, 'version')} {have} no answers to compare." if n_apart else ""
    if not others:
        return apart
    groups: dict[str, list[str]] = {}
    for key in others:
        outcome = _Outcome.of(versions[key], drawn_metrics(versions[key]))
        if what := _outcome_text(outcome, base):
            groups.setdefault(what, []).append(names[key])
    if len(others) == 1:
        differs = next((f"is {what}" for what in groups), "does not differ significantly")
        text = f"The other version {differs}."
    elif not groups:
        text = f"None of {count(len(others), 'other version')} differs significantly."
    else:
        same = len(others) - sum(map(len, groups.values()))
        parts = [f"{len(members):,} {what} ({_listed(members)})" for what, members in sorted(groups.items())]
        parts += [f"{same:,} without a significant difference"] if same else []
        text = f"Of {count(len(others), 'other version')}: {'; '.join(parts)}."
    return f"{text} {apart}".rstrip()


def _outcome_text(outcome: _Outcome, base: str) -> str:
    """Return how a version differs from the baseline, and whether in the primary metric; "" where not."""
    better, worse = outcome.better, outcome.worse
    if better and worse:
        return "better in some metrics and worse in others"
    if not better and not worse:
        return ""
    text = f"{'better' if better else 'worse'} than {base}"
    primary = next((row for row in outcome.open if row.primary), None)
    return f"{text}, though not in {in_sentence(title_of(primary.metric))}" if primary else text


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(shorten(name, NAME) for name in names[:MOST_NAMED])
    return f"{shown} and {len(names) - MOST_NAMED:,} more" if len(names) > MOST_NAMED else shown


def _nothing_to_draw(comparison: Comparison) -> str:
    """Return why no metric can be drawn."""
    measured = [row for row in comparison.differences if row.difference.n_pairs]
    if measured and all(row.by_words for row in measured):
        named = ", ".join(capital(title_of(row.metric)) for row in measured[:MOST_NAMED])
        return f"In both only estimates from words ({named}): a judge or labels decide these."
    if measured:
        return (
            f"{count(len(measured), 'metric')} with values in both runs, but none from 0 to 1 with a "
            "direction: see the tab Numbers."
        )
    return "Record the same scores in both runs, or judge both."


def _doubt(
    rows: Sequence[MetricDifference], comparison: Comparison, doubts: Mapping[str, Sequence[str]]
) -> str:
    """Return what is doubted about the differences that the statement names, and about the pair of runs."""
    named = [row for row in rows if row.verdict in ("better", "worse")] or rows[:1]
    clauses = [clause for row in named for clause in doubts.get(row.metric, ())]
    return "; ".join(dict.fromkeys([*clauses, *pair_doubts(named, comparison)]))


def pair_doubts(named: Sequence[MetricDifference], comparison: Comparison) -> list[str]:
    """List what makes two runs unequal: refusals that leave out questions of a named metric, and the rest."""
    clauses = []
    for pairs in comparison.refusals:
        if pairs.metric in [row.metric for row in named]:
            title = capital(title_of(pairs.metric))
            refused = count(pairs.n_one_side, "question")
            clauses.append(f"{title} excludes {refused} that only one run refuses")
    said = int(comparison.matched.sampled)  # that they are not paired stands beside the numbers
    unequal = comparison.warnings[said : len(comparison.warnings) - len(comparison.refusals)]
    readings = {comparison.labels, *(f"{asked.both}." for asked in comparison.asked or ())}
    others = [each.rstrip(".") for each in unequal if not each.endswith(tuple(filter(None, readings)))]
    return [*clauses, *others]
