"""What every run is judged by beside its gates.toml: questions answered, answers right, checks passed."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np

from ragtriage.data.comparison.question_match import QuestionMatch
from ragtriage.data.diagnosis.diagnosis import Diagnosis
from ragtriage.data.gates.gate_kinds import judge_checks, of_interval
from ragtriage.data.suites.check_table import check_table
from ragtriage.metrics.gates.gates import LEAST_ASKED, Gate, GateResult, missing_questions, unmeasured
from ragtriage.metrics.gates.wording import subject_of
from ragtriage.metrics.number_text import percent
from ragtriage.metrics.statistics.intervals import interval
from ragtriage.metrics.statistics.question_means import question_means

RIGHT_ANSWERS = Gate("right answers", 0.5, False, "block", "most of its answers are wrong")


def judge_right_answers(run: Diagnosis) -> GateResult:
    """Judge whether most of the answers are right, of those of which it is known.

    Whatever the other gates look at, a run of which most answers are known to be wrong is not ready. Wrong
    refusals do not stand for answers that nothing checked.
    """
    if not run.answers.enough:
        return unmeasured(RIGHT_ANSWERS, "too few answers were checked")
    people, refusals, right = run.human_labels, run.refusals, run.right.values
    content = run.scored.stage_features["content_failed"]
    wrong = (
        refusals.wrong | refusals.answered | (right < run.settings.thresholds.correctness) | (content == 1)
    )
    known = wrong | refusals.right | np.isfinite(right) | np.isfinite(content)
    values = np.where(people.good | (known & ~wrong), 1.0, np.where(known, 0.0, np.nan))
    values[people.bad] = 0.0
    means, _ = question_means(values, run.scored.question)
    binary = bool(np.isin(means[np.isfinite(means)], (0, 1)).all())
    measured = interval(means, run.scored.clusters, len(run.scored.question_ids), binary)
    return of_interval(RIGHT_ANSWERS, measured, "diagnosed")


def judge_suites(run: Diagnosis, judged: Collection[str]) -> Iterator[GateResult]:
    """Judge whether most checks of each suite pass, but for those that have gates already."""
    table = check_table(run.scored)
    suites = [] if table is None else sorted(set(table.suite.values))
    for suite in suites:
        if suite not in judged and "all" not in judged:
            gate = Gate(suite, 0.5, False, "block", "most of its checks fail", kind="checks")
            yield judge_checks(gate, run, None)


def judge_questions(
    run: Diagnosis, base: Diagnosis | None, shared: QuestionMatch | None
) -> GateResult | None:
    """Return the failed gate of a run that lacks answers, or questions of its baseline; None where few are.

    Questions are counted against the baseline where the run brings none of its own and names no other data
    set. A sample that ended in an error counts as missing.
    """
    lacking = question_means(run.unanswered.astype(np.float64), run.scored.question)[0]
    of_baseline = (
        base is not None and shared is not None and not shared.only_other and not _other_set(run, base)
    )
    if base is not None and shared is not None and of_baseline:
        of, asked = len(base.scored.question_ids), len(shared.base) - float(lacking[shared.other].sum())
    else:
        of, asked = len(lacking), len(lacking) - float(lacking.sum())
    n = run.answers.missing
    ended = f"{n:,} of those asked ended in an error or without an answer" if n else ""
    why = "; ".join(filter(None, [ended, _both_rates(run, asked, of)]))
    return missing_questions(round(asked), of, why, of_baseline)


def _both_rates(run: Diagnosis, asked: float, of: int) -> str:
    """Return the pass rate of the questions asked, and with the missing ones as failed."""
    rate = run.pass_rate
    if not rate.n_scored:
        return "none of them can be called good or bad"
    missing = percent(rate.mean * rate.n_scored / max(of - asked + rate.n_scored, 1))
    return f"pass rate {percent(rate.mean)} of those answered, {missing} with the missing ones as failed"


def _other_set(run: Diagnosis, base: Diagnosis) -> bool:
    """Whether a run names a data set, or version of it, that is not the baseline's."""
    ours, theirs = run.scored.run, base.scored.run
    if not ours.dataset:
        return False
    return (ours.dataset, ours.dataset_version) != (theirs.dataset, theirs.dataset_version)


def mixed_questions(run: Diagnosis, base: Diagnosis, shared: QuestionMatch) -> str:
    """Return that a run asks other questions than its baseline; "" where nearly all are shared."""
    of, asked, own = len(base.scored.question_ids), len(shared.base), shared.only_other
    if asked >= LEAST_ASKED * of or not (own or _other_set(run, base)):
        return ""
    of_own = f"asks {own:,} of its own" if own else f"names another data set ({run.scored.run.dataset})"
    return f"it shares {asked:,} of the {of:,} questions of the baseline and {of_own}"


def half_failing(results: Collection[GateResult]) -> dict[str, str]:
    """Return a clause for each share that is no more than half, though too few questions may show it."""
    clauses = {}
    for result in results:
        if result.mean is not None and result.mean <= result.gate.threshold:
            checks = f"the {subject_of(result.gate).lower()} pass"
            what = checks if result.gate.kind == "checks" else "the answers are right"
            clauses[result.gate.metric] = f"{percent(result.mean)} of {what}"
    return clauses


def judge_halves(run: Diagnosis, gates: Collection[Gate]) -> tuple[GateResult, ...]:
    """Judge whether most answers are right, and most checks of each suite without a gate of its own pass."""
    judged = {gate.metric for gate in gates if gate.kind == "checks"}
    return (judge_right_answers(run), *judge_suites(run, judged))
