"""Sentences about a diagnosis and the F1 tree, the same on the pages and on the command line."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ragtriage.dashboard.wording.escaping import capital, in_sentence
from ragtriage.dashboard.wording.formatting import calls_share, case_noun
from ragtriage.dashboard.wording.leaks import texts_at_fault
from ragtriage.dashboard.wording.right import named_score
from ragtriage.data.cases.checks import failed_checks_text
from ragtriage.data.cases.refusal_cohorts import REFUSAL_RATES
from ragtriage.data.comparison.oracle_gap import GapKind
from ragtriage.data.diagnosis.context import not_the_context, part_title
from ragtriage.data.diagnosis.diagnosis import CheckedAnswers, Diagnosis
from ragtriage.data.diagnosis.doubts import metric_doubts, stage_doubt
from ragtriage.data.diagnosis.f1_tree import F1Diagnosis
from ragtriage.data.diagnosis.other_languages import refusals_not_measured, right_not_measured
from ragtriage.data.diagnosis.ranking import ranking_of
from ragtriage.data.scoring.summaries import summarise
from ragtriage.data.strategy.expected_gains import Outlook
from ragtriage.metrics.diagnosis.explanations import evidence_sentence
from ragtriage.metrics.diagnosis.f1_tree import F1_PARTS, F1Branch, F1Part, F1Tree
from ragtriage.metrics.diagnosis.fix_first import UNEXPLAINED, FixFirst
from ragtriage.metrics.diagnosis.patterns import PATTERNS, Pattern, pattern_code
from ragtriage.metrics.diagnosis.stages import STAGES, stage_code
from ragtriage.metrics.metric_registry import title_of
from ragtriage.metrics.number_text import count, interval_text, number, percent, signed
from ragtriage.metrics.sanity.rule import Finding
from ragtriage.metrics.schema.scores import BoolArray
from ragtriage.metrics.statistics.intervals import Interval

EVIDENCE_NAMES = (
    "refused", "answerable", "gold_in_candidates", "gold_in_context", "has_candidates", "noise_sensitivity",
    "format_failed", "contradicts_itself", "contradicts_context", "faithfulness", "context_utilization",
    "omission", "answer_relevancy", "correctness", "context",
)  # fmt: skip
GAP_PARTS: Mapping[GapKind, str] = {
    "retrieval": "Retrieval error",
    "generation": "Generation error",
    "context": "Added by the context",
}
MOST_STAGES = 3  # of a metric pattern
NOTHING_MEASURED = (
    "Nothing was measured that could make a case bad: no context metric, faithfulness, answer relevancy, "
    "correctness or check, and no human label. Record one of them, run the judge, or label cases; a label of "
    "which questions can be answered makes refusals count."
)

_RANKING_ALONE = "A ranking calls no case good or bad where more documents are relevant than it has places."

REFUSALS_ALONE = "Only the refusals can be judged; record, import or judge scores of the answers"


def context_metric_text(diagnosis: Diagnosis) -> str:
    """Return which metric says for how many cases whether the context holds what is needed."""
    counts = diagnosis.context.counts
    if not diagnosis.context.prevailing:
        return "none measured"
    if len(counts) == 1:
        return title_of(next(iter(counts)))
    return ", ".join(f"{title_of(name)} ({n:,} cases)" for name, n in counts.items() if n)


def unused_context_metrics(diagnosis: Diagnosis) -> list[str]:
    """Return a sentence for each imported column that may or may not be of the context, and is not used."""
    return [
        f"The imported {name} is not used as the context metric: {reason}. If it measures the retrieved "
        "documents, choose it."
        for name, reason in not_the_context(diagnosis.scored).items()
        if name not in diagnosis.context.metrics
    ]


def gold_part_text(diagnosis: Diagnosis) -> str:
    """Return what the contexts with only part of the gold lack, with the number of cases of each."""
    return "; ".join(f"{part_title(part)}: {n:,}" for part, n in diagnosis.gold_parts.items())


def rate_title(diagnosis: Diagnosis) -> str:
    """Return the title of the pass rate, with the metric it is based on where there is only one.

    Where too few answers were checked, it is no more than the share of cases without a fault found.
    """
    names = diagnosis.coverage.names
    title = rate_name(diagnosis.answers.enough)
    return f"{title}, {title_of(names[0])} alone" if len(names) == 1 else title


def rate_name(enough_checked: bool) -> str:
    """Return what the share of good cases is called: no pass rate where too few answers were checked."""
    return "Pass rate" if enough_checked else "No fault found"


def rate_clause(answers: CheckedAnswers | None, rate: Interval, findings: Sequence[Finding] = ()) -> str:
    """Return the share of good cases under its name, in percent, to stand in a sentence."""
    enough = answers is None or answers.enough
    name = "No other fault found" if not enough and texts_at_fault(findings) else rate_name(enough)
    return f"{name}{'' if enough else ' in'} {percent(rate.mean)}"


def rate_basis(diagnosis: Diagnosis) -> str:
    """Return what the pass rate rests on, as part of a sentence: human labels, and what was measured."""
    parts = [rate_labels(diagnosis), not_measured_in(diagnosis), diagnosis.coverage.clause()]
    return "; ".join(filter(None, parts))


def not_measured_in(diagnosis: Diagnosis) -> str:
    """Return in which languages no estimate tells what is right or a refusal; "" where that concerns none."""
    unmeasured = {
        "refusals": refusals_not_measured(diagnosis.scored),
        "right by text": right_not_measured(diagnosis.scored),
    }
    languages: dict[str, list[str]] = {}
    for estimate, where in unmeasured.items():
        if where.n:
            languages.setdefault(where.languages, []).append(estimate)
    return "; ".join(f"{' and '.join(names)} not measured in {where}" for where, names in languages.items())


def rate_labels(diagnosis: Diagnosis) -> str:
    """Return how human labels enter the pass rate; "" without any."""
    corrected = diagnosis.label_correction
    if corrected is not None:
        return f"corrected by {corrected.n_labelled:,} random labels (raw {percent(corrected.raw)})"
    n = int(diagnosis.human_labels.decided.sum())
    return f"{n:,} of {diagnosis.scored.n:,} set by people" if n else ""


def bad_cases_text(diagnosis: Diagnosis) -> str:
    """Return how many cases are bad, of those for which that is known."""
    n, measured = diagnosis.scored.n, int(diagnosis.measured.sum())
    if not measured:
        return f"none of {count(n, 'case')} is measured"
    noun = case_noun(diagnosis.scored)
    of = count(n, noun) if measured == n else f"{measured:,} measured {noun}s (of {n:,})"
    bad, share = int(diagnosis.bad.bad.sum()), calls_share(diagnosis.share_of_calls(diagnosis.bad.bad))
    return f"{bad:,} of {of} {'is' if 1 in (bad, n) else 'are'} bad{share}"


def no_bad_case(diagnosis: Diagnosis, findings: Sequence[Finding] = ()) -> str:
    """Return the sentence that there is no bad case, or that nothing was measured."""
    if not diagnosis.measured.any():
        return _RANKING_ALONE if ranking_sentence(diagnosis) else NOTHING_MEASURED
    measured = int(diagnosis.measured.sum())
    among = "" if measured == diagnosis.scored.n else f" among the {measured:,} measured ones"
    clause = rate_basis(diagnosis)
    none = "No case with another fault" if texts_at_fault(findings) else "No bad case"
    return f"{none}{among}{f' ({clause})' if clause else ''}."


def ownership(entry: FixFirst, bad: int, weighted: bool = False) -> str:
    """Return how many bad cases are attributed to a stage; the stage's title precedes the text."""
    if entry.key == UNEXPLAINED:
        return f"{entry.n_bad:,} of {bad:,} bad cases cannot be explained by what is recorded"
    by_weight = f", {percent(entry.share)} by weight" if weighted else ""
    return f"accounts for {entry.n_bad:,} of {bad:,} bad cases{by_weight}"


def stage_title(diagnosis: Diagnosis, key: str, findings: Sequence[Finding]) -> str:
    """Return the title of a failure stage, with how many of its cases rest on what the checks doubt."""
    title, doubt = STAGES[stage_code(key)].title, stage_doubt(diagnosis, findings, key)
    if doubt is None:
        return title
    return f"{title} (doubted)" if doubt.whole else f"{title} ({doubt.n:,} of {doubt.n_cases:,} doubted)"


def stage_advice(diagnosis: Diagnosis, key: str, findings: Sequence[Finding]) -> str:
    """Return what to try for a failure stage; withheld where all of its cases rest on what is doubted."""
    advice, doubt = STAGES[stage_code(key)].advice, stage_doubt(diagnosis, findings, key)
    if doubt is None:
        return advice
    because = "; ".join(doubt.because)
    if doubt.whole:
        return f"Check this first: {because}."
    return f"{advice} {doubt.n:,} of its {doubt.n_cases:,} cases are doubted: {because}."


def pattern_stages(diagnosis: Diagnosis, key: str, findings: Sequence[Finding]) -> str:
    """Return the stages of the bad cases of a metric pattern, most first, and the advice of the first."""
    counts = diagnosis.stage_counts(diagnosis.pattern == pattern_code(key))
    stages = sorted((stage for stage in counts if counts[stage]), key=lambda stage: -counts[stage])
    if not stages:
        return ""
    listed = [
        f"{stage_title(diagnosis, stage, findings)}: {counts[stage]:,}" for stage in stages[:MOST_STAGES]
    ]
    if others := sum(counts[stage] for stage in stages[MOST_STAGES:]):
        listed.append(f"other stages: {others:,}")
    return f"Bad: {'; '.join(listed)}. {stage_advice(diagnosis, stages[0], findings)}"


def pair_sentences(diagnosis: Diagnosis) -> list[str]:
    """Return what precision and recall say together, of the context and of the answers, with their means."""
    return [
        f"{title_of(each.precision)} {number(each.values[0])} ({_level(each.high[0])}), "
        f"{in_sentence(title_of(each.recall))} {number(each.values[1])} ({_level(each.high[1])}): "
        f"{each.meaning} {each.advice}".rstrip()
        for each in diagnosis.pair_readings
    ]


def _level(high: bool) -> str:
    return "high" if high else "low"


def case_conclusion(diagnosis: Diagnosis, row: int) -> str:
    """Return the one conclusion on a case: the failure stage of a bad one, else label or pattern."""
    stage = int(diagnosis.stages.stage[row])
    if stage >= 0:
        return STAGES[stage].title
    if diagnosis.bad.overruled[row]:
        return "Good by human label"
    title = PATTERNS[int(diagnosis.pattern[row])].title
    if diagnosis.pattern[row] != pattern_code("not_measured"):
        return title
    return f"{title}: {', '.join(name for name, missing in _missing(diagnosis).items() if missing[row])}"


def stage_evidence(diagnosis: Diagnosis, sample: Mapping[str, Any]) -> str:
    """Return the evidence for the failure stage of a bad case as a sentence; "" where there is none."""
    row = int(sample["row"])
    stage, context = int(diagnosis.stages.stage[row]), diagnosis.context.metric_at(row)
    if stage < 0:
        return ""
    evidence: dict[str, float | str | None] = {
        name: float(diagnosis.features.known(name)[row]) for name in EVIDENCE_NAMES
    }
    metric = str(diagnosis.right.metric[row])
    evidence["right_by"], evidence["right_named"] = metric, metric and named_score(diagnosis, metric)
    evidence["failed_checks"] = failed_checks_text(sample)
    evidence["context_signal"] = capital(title_of(context)) if context else None
    return evidence_sentence(STAGES[stage].key, evidence)


def pattern_meaning(diagnosis: Diagnosis, entry: Pattern) -> str:
    """Return what a metric pattern means; for "not measured" with the metrics that its cases lack."""
    if entry.key != "not_measured":
        return entry.meaning
    cases = diagnosis.pattern == pattern_code(entry.key)
    counts = {name: int((missing & cases).sum()) for name, missing in _missing(diagnosis).items()}
    lacking = ", ".join(f"{name} ({count(n, 'case')})" for name, n in counts.items() if n)
    return f"{entry.meaning} Missing: {lacking}." if lacking else entry.meaning


def _missing(diagnosis: Diagnosis) -> dict[str, BoolArray]:
    features = diagnosis.features
    values = {
        "context metric": features.context,
        "faithfulness": features.faithfulness,
        "answer relevancy": features.answer_relevancy,
    }
    return {name: np.isnan(scores) for name, scores in values.items() if scores is not None}


def ranking_statement(diagnosis: Diagnosis) -> str:
    """Return how well a run without answers ranks in the few words of a title; "" for any other."""
    ranking = ranking_of(diagnosis)
    if ranking is None or ranking.summary.mean is None:
        return ""
    return f"retrieval only, {title_of(ranking.metric)} {number(ranking.summary.mean)}"


def ranking_sentence(diagnosis: Diagnosis) -> str:
    """Return how well a run without answers ranks; "" for one with answers or without gold."""
    ranking = ranking_of(diagnosis)
    if ranking is None or ranking.summary.mean is None:
        return ""
    summary, beyond = ranking.summary, ""
    if ranking.beyond_k:
        n = count(ranking.beyond_k, "question")
        beyond = (
            f" More than {ranking.k} documents are relevant to {n}, where recall cannot reach 1: "
            f"{percent(ranking.capped_recall)} of what {ranking.k} can hold is found."
        )
    return (
        f"Retrieval only, no answers: {title_of(ranking.metric)} {number(summary.mean)} "
        f"{interval_text(summary.low, summary.high)} over {count(summary.n_scored, 'question')}.{beyond}"
    )


def refusal_rates_text(diagnosis: Diagnosis) -> str:
    """Return the rates of refusals, each with its interval and the questions it is over; "" without any."""
    rates = summarise(diagnosis.scored, [name for name in REFUSAL_RATES if name in diagnosis.scored.metrics])
    shown = [
        f"{title_of(name)}: {percent(rate.mean)} ({percent(rate.low)} to {percent(rate.high)}) of "
        f"{count(rate.n_scored, 'question')} {_QUESTIONS[name]}"
        for name, rate in rates.items()
        if rate.mean is not None
    ]
    return f"{'; '.join(shown)}." if shown else ""


_QUESTIONS = {
    "refused_answerable": "that can be answered",
    "over_refusal": "whose context holds the answer",
    "negative_rejection_rate": "whose context lacks it",
    "corpus_rejection_rate": "that cannot be answered",
}


def doubted_by(findings: Sequence[Finding]) -> str:
    """Return that the checks doubt a number, and why, as the end of a sentence; "" where none does."""
    return f"doubted by the checks: {'; '.join(finding.clause for finding in findings)}" if findings else ""


def doubted_metrics(diagnosis: Diagnosis, findings: Sequence[Finding]) -> list[str]:
    """Return a sentence for each metric of the pattern table that the checks doubt."""
    doubts = {
        name: doubted_by(metric_doubts(diagnosis.scored, findings, name))
        for name in (*diagnosis.context.metrics, "faithfulness", "answer_relevancy")
    }
    return [f"{capital(title_of(name))} is {text}." for name, text in doubts.items() if text]


def fix_first_sentence(diagnosis: Diagnosis, findings: Sequence[Finding], bound: str = "") -> str:
    """Return which stage to fix first, or that none can be recommended, with all that speaks against it.

    Args:
        diagnosis: of a run with bad cases.
        findings: of its sanity checks.
        bound: what fixing the stage could bring, a sentence; left out where the stage is doubted.
    """
    top = diagnosis.fix_first[0]
    weighted = diagnosis.scored.question_weights is not None
    owned = ownership(top, int(diagnosis.bad.bad.sum()), weighted)
    doubt = stage_doubt(diagnosis, findings, top.key)
    if doubt is not None:
        subject = "its cases rest" if doubt.whole else f"{doubt.n:,} of its cases rest"
        metrics = " and ".join(_with_source(diagnosis, name) for name in doubt.metrics)
        resting = f"{subject} on {metrics}, which the checks doubt ({'; '.join(doubt.because)})"
    if top.key == UNEXPLAINED:
        parts = [f"{owned}{'' if doubt is None else f'; {resting}'}.", bound]
    elif doubt is None:
        parts = [f"Fix first: {top.title}, which {owned}.", bound]
    elif doubt.whole:
        parts = [f"No stage can be recommended yet: “{top.title}” {owned}, but {resting}. Check that first."]
    else:
        parts = [f"Fix first: {top.title}, which {owned}, but {resting}.", bound]
    return " ".join(filter(None, [*parts, inference_caveat(diagnosis, top)]))


def inference_caveat(diagnosis: Diagnosis, entry: FixFirst) -> str:
    """Return that the context metric stands in for gold in the cases of a stage; "" where gold decides."""
    if not entry.n_inferred or diagnosis.context_metric is None:
        return ""
    which = "Its cases" if entry.n_inferred == entry.n_bad else f"{entry.n_inferred:,} of its cases"
    metric = _with_source(diagnosis, diagnosis.context_metric)
    return f"{which} are inferred: no gold is recorded, so {metric} is used."


def _with_source(diagnosis: Diagnosis, metric: str) -> str:
    column = diagnosis.scored.column(metric)
    return f"{title_of(metric)} ({'+'.join(column.sources) if column else 'given'})"


BOUND_NOTE = (
    "at most: the mean F1 if the part were perfect and the other side of F1 stayed as it is; parts of one "
    "side overlap, so their gains do not add up"
)
TRUE_TOO = "Claims that the reference lacks count here, true or not: read the cases before repairing."
_PARENTS = {part.key: part.parent for part in F1_PARTS}
_TITLES = {part.key: part.title for part in F1_PARTS}
MOST_NAMED = 3


def depth_of(part: F1Part) -> int:
    """Return how far below F1 a part stands: 0 for precision and recall."""
    depth, key = 0, part.parent
    while key:
        depth, key = depth + 1, _PARENTS[key]
    return depth


def f1_part_title(key: str) -> str:
    """Return the title of a part of the tree; the key itself where there is none."""
    return _TITLES.get(key, key)


def largest_leaf(tree: F1Tree) -> F1Branch | None:
    """Return the part without parts of its own that could give the most F1; None where none gives any."""
    parents = {branch.part.parent for branch in tree.branches}
    leaves = [branch for branch in tree.branches if branch.part.key not in parents and branch.n_cases]
    return max(leaves, key=lambda branch: branch.gain.mean, default=None)


def f1_sentence(diagnosis: F1Diagnosis) -> str:
    """Return why F1 is what it is: the side and the part that cost most, with numbers."""
    tree = diagnosis.tree
    if tree is None:
        lacking = ", ".join(in_sentence(title_of(name)) for name in diagnosis.lacking[:MOST_NAMED])
        return f"F1 is not measured: the run has no value of {lacking or 'answer F1'}."
    questions = count(tree.f1.n_scored, "question")
    now = f"F1 is {number(tree.f1.mean)} {interval_text(tree.f1.low, tree.f1.high)} over {questions}"
    leaf = largest_leaf(tree)
    if leaf is None:
        return f"{now}; answers and references make the same claims in every case."
    side = next(branch for branch in tree.branches if not branch.part.parent)
    costs = f"{side.part.title} costs most: perfect, it would give at most {number(side.bound)}"
    if leaf.part.key == side.part.key:
        return f"{now}. {costs}."
    check = f" {TRUE_TOO}" if leaf.part.key == "noise_relevant" else ""
    return (
        f"{now}. {costs}. The largest single part is {in_sentence(leaf.part.title)}: at most "
        f"{number(leaf.bound)}, in {count(leaf.n_cases, 'case')}.{check}"
    )


def left_out_text(diagnosis: F1Diagnosis) -> str:
    """Return how many cases the tree does not rest on, and why; "" where it rests on all."""
    tree = diagnosis.tree
    if tree is None:
        return ""
    without, unlabelled = diagnosis.n_total - tree.n_f1, tree.n_f1 - tree.n_samples
    parts = [
        f"{count(without, 'case')} of {diagnosis.n_total:,} without F1 (refused, no claims, or not labelled) "
        "left out"
        if without
        else "",
        f"{count(unlabelled, 'case')} with F1 left out: claims without support labels, or that do not add up"
        if unlabelled
        else "",
        "" if tree.by_support else "which documents support the claims is not known, so there are no parts",
    ]
    return "; ".join(part for part in parts if part)


def expected_text(outlook: Outlook) -> str:
    """Return what is assumed in sum, and what the next run brought."""
    if not outlook.gains:
        return ""
    entries = count(len(outlook.gains), "assumption")
    total = f"{entries}, together {signed(outlook.total)} F1"
    outcome = outlook.outcome
    if outcome is None:
        return f"{total}; the project has no later run with F1 yet."
    if outcome.got is None:
        return f"{total}; the next run, {outcome.run.name}, shares no question with F1."
    late = f" {count(outcome.late, 'assumption')} entered after that run was loaded." if outcome.late else ""
    got = f"{signed(outcome.got)} {interval_text(outcome.low, outcome.high)}"
    over = count(outcome.n, "shared question")
    return f"{total}. The next run, {outcome.run.name}, brought {got} over {over}: {outcome.standing}.{late}"
