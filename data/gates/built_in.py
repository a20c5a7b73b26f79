"""What every run is judged by beside its gates.toml: questions answered, answers right, checks passed."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from ragtriage.data.analysis.citations import citation_counts, citations_of_run
from ragtriage.data.comparison.question_match import QuestionMatch
from ragtriage.data.comparison.questions_asked import QuestionsAsked, other_set
from ragtriage.data.diagnosis.diagnosis import NOT_OF_THE_QUESTION, Diagnosis, corrected_interval
from ragtriage.data.diagnosis.main_loss import WORDY
from ragtriage.data.gates.gate_kinds import judge_checks, of_interval
from ragtriage.data.scoring.label_correction import rated_values
from ragtriage.data.scoring.sampling import mean_of_questions
from ragtriage.data.suites.check_table import check_table
from ragtriage.metrics.diagnosis.check_kinds import FORMAT
from ragtriage.metrics.diagnosis.right import CORRECTNESS
from ragtriage.metrics.gates.gates import (
    LEAST_ASKED,
    Gate,
    GateResult,
    judge_gate,
    missing_questions,
    unmeasured,
)
from ragtriage.metrics.gates.wording import GOOD_SHARE, subject_of
from ragtriage.metrics.metric_registry import declared
from ragtriage.metrics.number_text import percent
from ragtriage.metrics.sanity.documents import off_scale
from ragtriage.metrics.sanity.rule import Finding
from ragtriage.metrics.schema.scores import FloatArray
from ragtriage.metrics.statistics.distributions import regularised_beta
from ragtriage.metrics.statistics.intervals import question_means
from ragtriage.metrics.statistics.ppi import CorrectedMean, corrected_share

RIGHT_ANSWERS = Gate("right answers", 0.5, False, "block", "most of its answers are wrong")
FEWEST_CITING = 10  # answers with a citation
FEWEST_READ = 5  # cases that people read
SCORES_ERR = 0.25  # share of what scores call right that people may call bad
FEW_RIGHT = 0.75  # share of right answers that is not few, where no gate of its own says how many must be
FEWEST_OF_SLICE, LONGEST_SLICE = 20, 40  # questions of a slice that is judged; characters of its value
GOOD_CASES = Gate(GOOD_SHARE, 0.5, False, "block", "most of its cases are bad")


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
    if run.right_by_text and run.label_correction is not None:
        return of_interval(RIGHT_ANSWERS, run.pass_rate, "diagnosed")
    if (corrected := _corrected_right(run, np.where(known, ~wrong, np.nan))) is not None:
        return of_interval(RIGHT_ANSWERS, corrected_interval(corrected), "diagnosed")
    means, _ = question_means(values, run.scored.question)
    measured = mean_of_questions(run.scored, means, len(run.scored.question_ids))
    return of_interval(RIGHT_ANSWERS, measured, "diagnosed")


def _corrected_right(run: Diagnosis, right: FloatArray) -> CorrectedMean | None:
    """Return the share of right answers as labels of a random sample correct it; None with too few.

    None too where samples are weighted.

    Args:
        run: its labels say of an answer that the case passes or fails, its ratings that it is right.
        right: (n,) 1 right, 0 wrong, NaN unknown, without labels.
    """
    people = run.human_labels
    if run.scored.question_weights is not None:
        return None
    labelled = people.drawn & (people.good | people.bad)
    drawn = np.where(labelled, people.good.astype(np.float64), run.rated_right)
    codes, scored = np.nan_to_num(2 * right, nan=1.0), run.scored
    return corrected_share(codes, drawn, scored.question, 3, clusters=scored.clusters)


def judge_suites(run: Diagnosis, judged: Collection[str]) -> Iterator[GateResult]:
    """Judge whether most checks of each suite pass, but for those of format and those that have gates."""
    table = check_table(run.scored)
    suites = [] if table is None else sorted(set(table.suite.values))
    for suite in suites:
        if suite not in {FORMAT, *judged} and "all" not in judged:
            gate = Gate(suite, 0.5, False, "block", "most of its checks fail", kind="checks")
            yield judge_checks(gate, run, None)


def judge_secrets(findings: Sequence[Finding]) -> GateResult | None:
    """Return the failed gate of a run whose answers tell secrets; None where none does."""
    found = next((each for each in findings if each.rule == "secrets"), None)
    if found is None:
        return None
    n, of = found.n_affected, round(float(dict(found.evidence)["answers"]))
    gate = Gate("secrets in answers", 0.0, True, "block", "a leaked secret cannot be taken back", "secrets")
    why = f"{found.title}. {found.message.removesuffix('.')}"
    return GateResult(gate, "FAIL", n / of, None, None, of, of, margin=-n / of, obtained="counted", why=why)


def judge_questions(run: Diagnosis, asked: QuestionsAsked) -> GateResult | None:
    """Return the failed gate of a run that lacks answers or questions; None where few are missing."""
    n = run.answers.missing
    ended = f"{n:,} of those asked ended in an error or without an answer" if n else ""
    why = "; ".join(filter(None, [ended, asked.both]))
    return missing_questions(asked.answered, asked.of, why, asked.of_baseline)


def mixed_questions(run: Diagnosis, base: Diagnosis, shared: QuestionMatch) -> str:
    """Return that a run asks other questions than its baseline; "" where nearly all are shared."""
    if shared.sampled:
        return "samples of calls share no questions, so it is compared with its baseline unpaired"
    of, asked, own = len(base.scored.question_ids), len(shared.base), shared.only_other
    if asked >= LEAST_ASKED * of or not (own or other_set(run, base)):
        return ""
    of_own = f"asks {own:,} of its own" if own else f"names another data set ({run.scored.run.dataset})"
    return f"it shares {asked:,} of the {of:,} questions of the baseline and {of_own}"


def given_context(run: Diagnosis) -> list[str]:
    """Return the clause that retrieval was not tested, as most cases were given their gold; else nothing."""
    modes = run.scored.context_modes
    given = [code for code, label in enumerate(modes.labels) if label == "oracle"]
    n, of = int(np.isin(modes.codes, given).sum()), run.scored.n
    return [f"{n:,} of {of:,} cases were given their gold, so retrieval is not tested"] if 2 * n > of else []


def against_people(run: Diagnosis) -> list[str]:
    """Return the clauses that people contradict the scores of the run, or one another.

    What people call bad of the answers that scores call right is more than scores err by where an exact
    one-sided test says so; on cases that several people read, more than half differ.
    """
    people, rated = run.human_labels, rated_values(run.scored, CORRECTNESS[0])
    called_bad, called_good = people.bad, people.good
    if rated is not None:
        open_rows = ~(called_bad | called_good)
        called_bad = called_bad | (open_rows & (rated < run.settings.thresholds.correctness))
        called_good = called_good | (open_rows & (rated >= run.settings.thresholds.correctness))
    read = (called_bad | called_good) & (run.right.values >= run.settings.thresholds.correctness)
    shares = question_means(np.where(read, called_bad, np.nan), run.scored.question)[0]
    n, bad = int(np.isfinite(shares).sum()), int((shares >= 0.5).sum())
    clauses = []
    if n >= FEWEST_READ and bad and regularised_beta(bad, n - bad + 1, SCORES_ERR) < 0.05:
        clauses.append(f"people call {bad:,} of {n:,} answers bad that scores call right")
    verdicts = [
        {label.annotator: label.verdict for label in labels if label.verdict is not None}
        for labels in people.labels.values()
    ]
    both = [set(by_person.values()) for by_person in verdicts if len(by_person) > 1]
    differ = sum(len(said) > 1 for said in both)
    if len(both) >= FEWEST_READ and 2 * differ > len(both):
        clauses.append(f"people differ on {differ:,} of {len(both):,} cases that several read")
    return clauses


def wrong_citations(run: Diagnosis) -> list[str]:
    """Return the clause that most citations do not support their sentence, beyond chance; else nothing."""
    counts = citation_counts(run.scored)
    if counts is None or 2 * counts.supporting.sum() >= counts.decided.sum():
        return []  # without its intervals
    cited = citations_of_run(run.scored)
    shares = () if cited is None or cited.citing < FEWEST_CITING else cited.shares
    return [
        f"{each.part:,} of {each.whole:,} citations support their sentence"
        for each in shares
        if each.key == "supported" and each.value.mean is not None and each.value.high < 0.5
    ]


def quality_holds(results: Iterable[GateResult], run: Diagnosis) -> bool:
    """Return whether a blocking gate on the answers of the run itself, or on its ranking, holds.

    Such a gate may ask for less than the thresholds of a case. A run without answers has its ranking alone;
    that nothing got worse since the baseline says nothing about how good it is.
    """
    components = ("generation", "answer") if run.answers.n else ("retrieval",)
    return any(
        result.blocks
        and result.verdict == "PASS"
        and result.gate.kind in ("mean", "percentile")
        and (entry := declared(result.gate.metric)) is not None
        and entry.component in components
        for result in results
    )


def stand_in(
    results: Sequence[GateResult], right: GateResult, run: Diagnosis, findings: Sequence[Finding]
) -> list[GateResult]:
    """Return results in which the share of right answers stands for gates that need not be measured then.

    It must not be few. Words alone tell too little for that, unless labels correct what they tell; right
    refusals say nothing of answers, and right answers that say more than asked are not to the point. Scores
    on a scale that nobody declared are no missing ones.
    """
    undeclared = {name for finding in off_scale(findings) for name in finding.metrics}
    excused = [
        each.verdict == "UNMEASURED" and each.gate.unless_right and each.gate.metric not in undeclared
        for each in results
    ]
    refused, say_more = run.scored.stage_features["refused"] == 1, run.answers.say_more
    too_little = (run.right_by_text and run.label_correction is None) or 2 * refused.sum() > run.scored.n
    too_little |= not run.answers.n  # checks of what was retrieved say nothing of answers
    too_much = say_more >= max(1, WORDY * run.answers.n)
    if too_little or too_much or right.verdict not in ("PASS", "INCONCLUSIVE") or not any(excused):
        return [*results]
    gate = replace(RIGHT_ANSWERS, threshold=FEW_RIGHT, reason="too few of its answers are right")
    values = right.mean, right.low, right.high, right.n_scored, right.n_total
    stricter = judge_gate(gate, *values, obtained=right.obtained)
    kept = [
        replace(each, excused=each.excused or lacks) for each, lacks in zip(results, excused, strict=True)
    ]
    return [*kept, right if stricter.verdict == "FAIL" else stricter]


def few_passing(results: Collection[GateResult], gates: Collection[Gate]) -> dict[str, str]:
    """Return a clause for each share that is no more than half, though too few questions may show it.

    Right answers are few below FEW_RIGHT, unless a gate of its own says how many must be.
    """
    own = any(gate.kind == "mean" and gate.metric in (GOOD_SHARE, *CORRECTNESS) for gate in gates)
    clauses = {}
    for result in results:
        least = FEW_RIGHT if result.gate == RIGHT_ANSWERS and not own else 0.0
        if result.mean is not None and (result.mean < least or result.mean <= result.gate.threshold):
            checks = f"the {subject_of(result.gate).lower()} pass"
            of_all = "the cases are good" if result.gate == GOOD_CASES else "the answers are right"
            what = checks if result.gate.kind == "checks" else of_all
            clauses[result.gate.metric] = f"{percent(result.mean)} of {what}"
    return clauses


def weak_slice(run: Diagnosis, gates: Collection[Gate]) -> dict[str, str]:
    """Return a clause for the query type, language or tag that fails most beyond the rest; nothing for none.

    Fewer than FEW_RIGHT of its questions are good, beyond chance, whatever the whole run says.
    """
    if any(gate.kind == "mean" and gate.metric == GOOD_SHARE for gate in gates):
        return {}
    for each in run.all_worse_slices:
        if each.name in (*NOT_OF_THE_QUESTION, "question length") or each.n < FEWEST_OF_SLICE:
            continue
        if regularised_beta(each.n_bad, each.n - each.n_bad + 1, 1 - FEW_RIGHT) < 0.05:
            where = f"{each.name.replace('_', ' ')} {each.value[:LONGEST_SLICE]}"
            clause = f"{percent(1 - each.rate)} of the questions with {where} are good"
            return {f"{each.name}={each.value}": clause}
    return {}


def judge_halves(run: Diagnosis, gates: Collection[Gate]) -> tuple[GateResult, ...]:
    """Judge whether most answers are right, cases good and checks passed, where no gate asks for more."""
    judged = {gate.metric for gate in gates if gate.kind == "checks"}
    halves: list[GateResult] = [judge_right_answers(run), *judge_suites(run, judged)]
    of_its_own = any(gate.metric == GOOD_SHARE and gate.kind == "mean" for gate in gates)
    # where few cases can be called good or bad, most of these are bad: what is good takes more to know
    if not of_its_own and 2 * run.pass_rate.n_scored >= len(run.scored.question_ids):
        halves.insert(1, of_interval(GOOD_CASES, run.pass_rate, "diagnosed"))
    return tuple(halves)
