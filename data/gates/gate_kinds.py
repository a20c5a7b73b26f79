"""Each kind of gate judged: means, percentiles and checks of a run alone, and changes since its baseline."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches

import numpy as np

from ragtriage.data.comparison.compare import Side, family_tests, metric_side, paired_side, rate_side
from ragtriage.data.comparison.compared_metrics import (
    FAMILIES,
    SHOWN_K,
    by_words,
    case_values,
    higher_is_better,
    in_family,
)
from ragtriage.data.comparison.pair_change import RunPair
from ragtriage.data.comparison.pair_labels import with_shared_labels
from ragtriage.data.comparison.question_changes import slice_mask
from ragtriage.data.comparison.question_match import QuestionMatch, first_rows, match_questions
from ragtriage.data.declarations import HOW_TO_DECLARE
from ragtriage.data.diagnosis.diagnosis import Diagnosis, pass_rate
from ragtriage.data.errors import DataError
from ragtriage.data.scoring.grouping import NOT_GIVEN
from ragtriage.data.scoring.sampling import mean_of_questions
from ragtriage.data.scoring.scored_run import MetricColumn, ScoredRun
from ragtriage.data.scoring.summaries import MetricSummary, summarise
from ragtriage.data.suites.check_table import check_table, passed_shares
from ragtriage.metrics.gates.gates import (
    UNPAIRED,
    Gate,
    GateResult,
    judge_gate,
    judge_percentile,
    judge_regression,
    unmeasured,
)
from ragtriage.metrics.gates.wording import GOOD_SHARE
from ragtriage.metrics.metric_registry import (
    REGISTRY,
    bounds_of,
    declared,
    is_share,
    known_name,
    ordered,
    title_of,
)
from ragtriage.metrics.number_text import number
from ragtriage.metrics.schema.scores import BoolArray, FloatArray, IntArray, Source, Status
from ragtriage.metrics.statistics.distributions import quantile_interval
from ragtriage.metrics.statistics.intervals import METHODS, Interval, hajek_mean, question_means
from ragtriage.metrics.statistics.max_t import FamilyTest

RECALL_OF_GOLD = ("recall", "all_hops_recall", "span_recall")


def judge_mean_gate(
    gate: Gate, run: Diagnosis, summary: Mapping[str, MetricSummary] | None = None
) -> GateResult:
    """Judge the mean of a metric over all questions or those of a slice.

    Labels of a random sample correct the mean over all; the raw one stands beside it.
    """
    scored = run.scored
    keep = None if gate.slice is None else slice_mask(scored, gate.slice)
    if gate.slice is not None and keep is None:
        return unmeasured(gate, slice_lacking(scored, gate.slice))
    if gate.metric == GOOD_SHARE:
        if keep is not None or run.label_correction is None:
            return of_interval(gate, pass_rate(run, keep), "diagnosed")
        correction = run.label_correction
        how = label_correction_text(correction.n_labelled, correction.method, correction.raw)
        return replace(of_interval(gate, run.pass_rate, how), raw=correction.raw)
    if gate.metric == "answer_f1" and gate.where_measured and run.right.says_more.any():
        # what an answer adds to all that was asked for is not an error of it, and lowers F1 all the same
        keep = ~run.right.says_more if keep is None else keep & ~run.right.says_more
    summaries = summarise(scored, [gate.metric], keep) if keep is not None or summary is None else summary
    metric_summary = summaries.get(gate.metric)
    if metric_summary is None:
        lacking = _recall_by_gold(gate, run) or metric_lacking(scored, gate.metric)
        return unmeasured(gate, lacking, n_total=len(scored.question_ids))
    if not metric_summary.n_scored:
        n = len(scored.question_ids)
        reason = "its one question has no value" if n == 1 else f"none of {n:,} questions has a value"
        if scored.is_off_scale(gate.metric):
            reason = "its values are on another scale"
        return unmeasured(gate, reason, n_total=metric_summary.n_applicable)
    if metric_summary.raw is None and by_words(scored, gate.metric):
        return unmeasured(gate, BY_WORDS, n_total=metric_summary.n_applicable)
    judged = judge_gate(
        gate,
        metric_summary.mean,
        metric_summary.low,
        metric_summary.high,
        metric_summary.n_scored,
        metric_summary.n_applicable,
        metric_summary.best if gate.at_most else metric_summary.worst,  # if all values that failed were so
        f"{metric_summary.source}, {METHODS.get(metric_summary.method, metric_summary.method)}",
    )
    if metric_summary.raw is None:
        return _of_sample(judged, metric_summary.effective_n)
    how = label_correction_text(metric_summary.n_labels, metric_summary.method, metric_summary.raw)
    return replace(judged, raw=metric_summary.raw, obtained=how)


def label_correction_text(n_labels: int, method: str, raw: float) -> str:
    """Return how labels corrected a mean."""
    name = "PPI" if method == "ppi" else method
    beside = f", raw {raw:.2f}" if np.isfinite(raw) else ""
    return f"corrected by {n_labels} labels drawn at random ({name}){beside}"


def _recall_by_gold(gate: Gate, run: Diagnosis) -> str:
    """Return the recall of a run's gold documents where a gate asks for that of claims; "" without any."""
    name = run.context_metric or ""
    if gate.metric != "context_recall" or name.partition("@")[0] not in RECALL_OF_GOLD:
        return ""
    means = question_means(run.scored.values(name), run.scored.question)[0]
    mean = hajek_mean(means, run.scored.question_weights)
    return f"it needs claims of the reference ({title_of(name)} by the gold: {number(mean)})"


def metric_lacking(scored: ScoredRun, metric: str) -> str:
    """Return why a run has no column of a metric, with near names where it may be misspelt."""
    reason = scored.missing.get(metric) or scored.missing.get(f"{metric.partition('@')[0]}@k")
    if reason:
        return f"it {reason}"
    near = get_close_matches(metric, scored.metrics, n=3, cutoff=0.8)
    hint = f" (near names: {', '.join(near)})" if near else ""
    return f"this run has no value of {metric}{hint}"


def check_names(gates: Sequence[Gate], runs: Sequence[ScoredRun], source: str) -> None:
    """Refuse gates on a metric that nobody knows and that is nearly the name of a known one.

    A name of its own may be a score that these runs do not record: such a gate is not measured.

    Raises:
        DataError: the name and the nearest that is known.
    """
    recorded = {name for scored in runs for name in scored.metrics}
    known = recorded | {GOOD_SHARE, *FAMILIES, *REGISTRY}
    for gate in gates:
        if gate.kind == "regression" and gate.metric in recorded:
            _check_drop(gate, source)
        if gate.kind not in ("mean", "percentile", "regression") or gate.metric in known:
            continue
        near = get_close_matches(gate.metric, () if declared(gate.metric) else sorted(known), 1, MISSPELT)
        if near:
            raise DataError(
                f"{source}: no metric {gate.metric!r}; accepted: {near[0]}, or another that a run has"
            )


def _check_drop(gate: Gate, source: str) -> None:
    """Refuse a drop of 1 and more of a score of one's own, unless its scale is declared and wider."""
    low, high = bounds_of(gate.metric)
    if known_name(gate.metric) in REGISTRY or gate.threshold < min(high - low, 1.0):
        return
    if np.isinf(high - low):
        what = f"drop = {gate.threshold:g} on {gate.metric}, whose scale is not declared"
        raise DataError(f"{source}: {what}; accepted: below 1, or its scale: {HOW_TO_DECLARE}")
    if gate.threshold >= high - low:
        what = f"drop = {gate.threshold:g} on {gate.metric}, {low:g} to {high:g}, allows every loss"
        raise DataError(f"{source}: {what}; accepted: below {high - low:g}")


def slice_lacking(scored: ScoredRun, wanted: tuple[str, str]) -> str:
    """Return that a run has no such slice, and which values it has."""
    name, value = wanted
    labels = next((group.labels for group in scored.groups if group.name == name), ())
    values = [label for label in labels if label != NOT_GIVEN]
    there = f"its values of {name} are {', '.join(values[:6])}" if values else f"nothing in it records {name}"
    return f"no question of this run has {name} = {value}; {there}"


def judge_checks(gate: Gate, run: Diagnosis, base: Diagnosis | None) -> GateResult:
    """Judge the share of checks of a suite or a kind that passed, repeats of a question averaged.

    Checks that were not measured count as neither; the questions that have only such ones are told.
    """
    scored = run.scored
    keep = None if gate.slice is None else slice_mask(scored, gate.slice)
    if gate.slice is not None and keep is None:
        return unmeasured(gate, slice_lacking(scored, gate.slice))
    shares, n_total = _shares(scored, gate.metric, keep)
    n_scored = int(np.isfinite(shares).sum())
    if not n_total:
        before = 0 if base is None else int(np.isfinite(_shares(base.scored, gate.metric, None)[0]).sum())
        kind = "" if gate.metric == "all" else f" of kind {gate.metric}"
        reason = f"this run records no check{kind}"
        if before:
            return unmeasured(gate, f"{reason}, and the baseline does for {before:,} questions")
        return unmeasured(gate, reason, excused=True)
    if not n_scored:
        return unmeasured(gate, f"none of its checks on {n_total:,} questions has a verdict", 0, n_total)
    result = of_interval(gate, mean_of_questions(scored, shares, n_total), "computed")
    if result.verdict == "PASS" and (differ := _n_different(scored, np.isfinite(shares))) < gate.fewest:
        reason = f"only {differ:,} of its {n_scored:,} questions differ, and it needs {gate.fewest:,}"
        return unmeasured(gate, reason, n_scored, n_total)
    return result


def _n_different(scored: ScoredRun, chosen: BoolArray) -> int:
    """Return how many of the chosen questions, (q,), have a text of their own."""
    texts = scored.auxiliary_table("texts")
    if texts is None:
        return int(chosen.sum())
    return len(np.unique(texts["asked"].to_numpy()[first_rows(scored)[chosen]]))


def _shares(scored: ScoredRun, name: str, keep: BoolArray | None) -> tuple[FloatArray, int]:
    """Return (q,) the share of the checks of a suite or kind that a question passed, and how many have any.

    NaN where a question has no check with a verdict.
    """
    checks = check_table(scored)
    if checks is None:
        return np.full(len(scored.question_ids), np.nan), 0
    chosen = checks.of(name)
    if name != "all":
        chosen = chosen | checks.kind.equal(name)
    if keep is not None:
        chosen = chosen & keep[checks.sample]
    asked = len(np.unique(scored.question[checks.sample[chosen]]))
    return passed_shares(scored, checks, chosen), asked


def of_interval(gate: Gate, measured: Interval, source: str) -> GateResult:
    """Judge a mean over questions by its interval."""
    mean = measured.mean if measured.n_scored else None
    low, high = (end if np.isfinite(end) else None for end in (measured.low, measured.high))
    n, total = measured.n_scored, measured.n_applicable
    obtained = f"{source}, {METHODS.get(measured.method, measured.method)}"
    judged = judge_gate(gate, mean, low, high, n, total, obtained=obtained)
    return _of_sample(judged, measured.n_effective)


def _of_sample(judged: GateResult, n_effective: float | None) -> GateResult:
    """Return a result that says how many samples of one weight it rests on, where they are weighted."""
    if n_effective is None or judged.mean is None:
        return judged
    obtained = f"{judged.obtained}, weighted by 1 / rate (effective n {n_effective:,.0f})"
    return replace(judged, obtained=obtained, effective_n=n_effective)


def judge_percentile_gate(gate: Gate, run: Diagnosis) -> GateResult:
    """Judge a percentile of a metric over all questions (or samples) or those of a slice."""
    scored = run.scored
    keep = None if gate.slice is None else slice_mask(scored, gate.slice)
    if gate.slice is not None and keep is None:
        return unmeasured(gate, slice_lacking(scored, gate.slice))
    column = scored.column(gate.metric)
    if column is None:
        return unmeasured(gate, metric_lacking(scored, gate.metric), n_total=len(scored.question_ids))
    if scored.question_weights is not None:
        return unmeasured(gate, NO_PERCENTILE, n_total=len(scored.question_ids))
    values, clusters, failed, total = _percentile_values(gate, scored, column, keep)
    share = (gate.percentile or 50.0) / 100
    measured = quantile_interval(values, share, len(np.unique(clusters[np.isfinite(values)])))
    if measured.value is None:
        return unmeasured(gate, f"none of {total:,} {gate.over} has a value", n_total=total)
    if by_words(scored, gate.metric):
        return unmeasured(gate, BY_WORDS, n_total=total)
    sources = "+".join(column.sources) or "none"
    dependent = "" if measured.independent == measured.n else f", {measured.independent:,} independent"
    obtained = f"{sources}, order statistics{dependent}"
    adverse = _adverse_percentile(gate, values, failed, share) if failed else None
    return judge_percentile(gate, measured, total, adverse, obtained)


def _percentile_values(
    gate: Gate, scored: ScoredRun, column: MetricColumn, keep: BoolArray | None
) -> tuple[FloatArray, IntArray, int, int]:
    """Return values and clusters by question or sample, how many failed to score, how many there are."""
    kept = np.ones(scored.n, dtype=np.bool_) if keep is None else keep
    values = np.where(kept, column.values, np.nan)
    applicable = kept & (column.status != Status.NOT_APPLICABLE)
    failed = kept & (column.status == Status.FAILED)
    if gate.over == "samples":
        return values, scored.clusters[scored.question], int(failed.sum()), int(applicable.sum())
    means = question_means(values, scored.question)[0]
    lost = np.unique(scored.question[failed])
    n_lost = int(np.isnan(means[lost]).sum())
    return means, scored.clusters, n_lost, len(np.unique(scored.question[applicable]))


def _adverse_percentile(gate: Gate, values: FloatArray, failed: int, share: float) -> float:
    """Return the percentile if every value that failed to score had been the worst that there can be."""
    low, high = bounds_of(gate.metric)
    worst = np.full(failed, high if gate.at_most else low)
    known = np.concatenate([values[np.isfinite(values)], worst])
    return float(np.quantile(known, share, method="higher" if gate.at_most else "lower"))


NO_PERCENTILE = "percentiles of samples that are weighted have no interval"  # why a gate is not judged
BY_WORDS = "estimated from words: a judge or labels decide it"  # why a gate is not judged
MISSPELT = 0.9  # likeness of two names from which on one is the other misspelt
WITH_PASS_RATE = ("headline", "all")  # families that the pass rate belongs to


def judge_regressions(
    run: Diagnosis, base: Diagnosis | None, gates: Sequence[Gate], primary: str = GOOD_SHARE
) -> Mapping[Gate, list[GateResult]]:
    """Judge every regression gate, with the intervals that a comparison of the two runs shows.

    A gate on one metric is tested alone. In a gate on a family the primary metric is tested alone, the others
    together by step-down max-T.
    """
    if base is None:
        return {gate: [unmeasured(gate, "there is no baseline", excused=True)] for gate in gates}
    labelled = base, run
    base, run = with_shared_labels(base, run)
    named = {(gate.metric, gate.slice) for gate in gates}
    shared = match_questions(base.scored, run.scored)
    results: dict[Gate, list[GateResult]] = {}
    for written in gates:
        family = _expand(written, named, base, primary)
        reasons = {gate: _lacking(gate, run, base) for gate in family}
        compared = [gate for gate in family if not reasons[gate]]
        sides = [_side(gate, run, base, shared, labelled) for gate in compared]
        alone = primary if len(family) > 1 else written.metric
        judged = {
            gate: _judged(
                gate, side, test, 1 if gate.metric == alone else sum(side.metric != alone for side in sides)
            )
            for gate, side, test in zip(compared, sides, family_tests(sides, alone), strict=True)
        }
        results[written] = [judged.get(gate) or unmeasured(gate, reasons[gate]) for gate in family]
        if not family:
            results[written] = [unmeasured(written, "the baseline has no value of any of them")]
    return results


def _expand(
    gate: Gate, named: set[tuple[str, tuple[str, str] | None]], base: Diagnosis, primary: str
) -> list[Gate]:
    """Return a gate for each metric of a family that the baseline has and no other gate names.

    Of a family with the primary metric only that keeps a version from shipping: among a dozen metrics one
    falls by chance. An estimate from words keeps none.
    """
    if gate.metric not in FAMILIES:
        return [gate]
    names = [GOOD_SHARE] if gate.metric in WITH_PASS_RATE else []
    names += [name for name in ordered(base.scored.metrics) if _belongs(name, gate.metric)]
    if gate.metric in WITH_PASS_RATE and primary not in names:
        names.insert(0, primary)
    members = [
        name
        for name in names
        if (name, gate.slice) not in named
        and np.isfinite(case_values(base, name)).any()
        and (name == primary or not by_words(base.scored, name))
    ]
    blocking = [primary] if primary in members else members
    return [
        replace(
            gate,
            metric=name,
            severity=gate.severity if name in blocking and not _by_words_alone(base, name) else "warn",
        )
        for name in members
    ]


def _by_words_alone(run: Diagnosis, metric: str) -> bool:
    """Return whether every value of a metric is an estimate; the pass rate is not one of the metrics."""
    return set(run.scored.sources.get(metric, ())) == {Source.ESTIMATED}


def _belongs(metric: str, family: str) -> bool:
    """Return whether a family has a metric: a share with a direction, at one rank k for all."""
    directed = higher_is_better(metric) is not None and is_share(metric)
    return directed and in_family(metric, family) and ("@" not in metric or metric.endswith(f"@{SHOWN_K}"))


def _lacking(gate: Gate, run: Diagnosis, base: Diagnosis) -> str:
    """Return why a metric cannot be compared with the baseline; "" where it can."""
    if gate.metric != GOOD_SHARE and higher_is_better(gate.metric) is None:
        return f"no direction is declared for {gate.metric}; {HOW_TO_DECLARE}"
    if gate.slice is not None and slice_mask(run.scored, gate.slice) is None:
        return slice_lacking(run.scored, gate.slice)
    for diagnosis, side in ((base, "the baseline"), (run, "this run")):
        if not np.isfinite(case_values(diagnosis, gate.metric)).any():
            return f"{side} has no value of it"
        if by_words(diagnosis.scored, gate.metric):
            return BY_WORDS
    return ""


def _side(
    gate: Gate, run: Diagnosis, base: Diagnosis, shared: QuestionMatch, labelled: tuple[Diagnosis, Diagnosis]
) -> Side:
    """Compare one metric with the baseline, over the questions of the gate's slice; corrected over all."""
    if gate.slice is None and gate.metric == GOOD_SHARE:
        return rate_side(*labelled, shared)
    if gate.slice is None:
        return metric_side(base.scored, run.scored, gate.metric, shared)
    then = _by_question(base, case_values(base, gate.metric), gate.slice)
    now = _by_question(run, case_values(run, gate.metric), gate.slice)
    return paired_side(gate.metric, then, now, RunPair(base.scored, run.scored, shared))


def _judged(gate: Gate, side: Side, test: FamilyTest, n_together: int) -> GateResult:
    by = "step-down max-T" if side.difference.unpaired is None else "Holm"
    how = f"corrected over {n_together} metrics ({by})" if n_together > 1 else "tested alone"
    obtained = "paired, sign flips" if side.difference.unpaired is None else UNPAIRED
    return judge_regression(
        gate,
        side.difference,
        test.low,
        test.high,
        test.p,
        higher_is_better(gate.metric) is not False,
        side.base if np.isfinite(side.base) else None,
        f"{obtained}, {how}",
        n_together > 1,
    )


def _by_question(diagnosis: Diagnosis, values: FloatArray, wanted: tuple[str, str] | None) -> FloatArray:
    scored = diagnosis.scored
    if wanted is not None:
        keep = slice_mask(scored, wanted)
        values = np.full(scored.n, np.nan) if keep is None else np.where(keep, values, np.nan)
    return question_means(values, scored.question)[0]
