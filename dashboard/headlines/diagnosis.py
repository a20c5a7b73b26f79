"""The conclusion of the Diagnosis page: what is wrong with most bad cases, or why that cannot be told."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ragtriage.dashboard.headlines.headline import Headline, State
from ragtriage.dashboard.wording.diagnosis import (
    NOTHING_MEASURED,
    REFUSALS_ALONE,
    bad_cases_text,
    ranking_sentence,
    ranking_statement,
    rate_basis,
    rate_clause,
)
from ragtriage.dashboard.wording.escaping import capital, shorten
from ragtriage.dashboard.wording.formatting import case_noun
from ragtriage.dashboard.wording.leaks import critical_text, text_faults
from ragtriage.dashboard.wording.main_loss import (
    against_reference,
    by_words_alone,
    fault_statement,
    known_statement,
    loss_sentence,
    loss_statement,
    scale_statement,
    wordy_statement,
)
from ragtriage.dashboard.wording.right import right_sentences
from ragtriage.data.diagnosis.diagnosis import Diagnosis
from ragtriage.data.diagnosis.doubts import pass_rate_doubts, stage_doubt
from ragtriage.data.diagnosis.main_loss import main_loss
from ragtriage.metrics.diagnosis.stages import STAGES, stage_code
from ragtriage.metrics.gates.gates import FEWEST_QUESTIONS
from ragtriage.metrics.number_text import count, interval_text
from ragtriage.metrics.sanity.documents import FAULTS_OF_TEXTS, read_first
from ragtriage.metrics.sanity.rule import Finding

MOST_STAGES = 3
LONGEST_NAME = 26
_STAGE_UNKNOWN = "Estimated from their words; no context, judge or check shows at which stage they fail"

CONCLUSIONS: Mapping[str, tuple[str, str]] = {  # pattern -> what its bad cases have in common: several, one
    "refusal": ("are refusals", "is a refusal"),
    "wrong_section": ("use the wrong section", "uses the wrong section"),
    "hallucination": ("go beyond their context", "goes beyond its context"),
    "retrieval": ("lack the context they need", "lacks the context it needs"),
    "disputed": ("disagree with the reference", "disagrees with the reference"),
    "bad_otherwise": ("are bad with high metrics", "is bad with high metrics"),
}


def diagnosis_headline(
    name: str, diagnosis: Diagnosis, findings: Sequence[Finding], has_answers: bool = True
) -> Headline:
    """Return what most bad cases of a run have in common.

    Args:
        name: of the run.
        diagnosis: of the run, under the thresholds in use.
        findings: of its sanity checks.
        has_answers: whether the run records answers.
    """
    headline = _conclusion(name, diagnosis, findings, has_answers)
    lost = loss_sentence(diagnosis, findings, with_stage=False)
    if lost and not headline.statement.endswith(lost):
        headline = replace(headline, detail=f"{lost}. {headline.detail}")
    known = [*text_faults(findings), scale_statement(findings), known_statement(diagnosis)]
    faults = "".join(f"{capital(fault)}. " for fault in known if fault)
    headline = replace(headline, detail=f"{faults}{headline.detail}")
    return headline.after(critical_text(diagnosis.scored, findings))


def _conclusion(name: str, diagnosis: Diagnosis, findings: Sequence[Finding], has_answers: bool) -> Headline:
    name, doubt = shorten(name, LONGEST_NAME), _doubt(diagnosis, findings)
    if not diagnosis.measured.any():
        if ranking := ranking_statement(diagnosis):
            return Headline("not measured", f"{name}: {ranking}", ranking_sentence(diagnosis), doubt)
        if not has_answers:
            return Headline("empty", f"{name}: no answers in this run", NOTHING_MEASURED, doubt)
        return Headline("not measured", f"{name}: no deciding metric is measured", NOTHING_MEASURED, doubt)
    bad = diagnosis.pattern_counts(diagnosis.bad.bad)
    lacking = int((~diagnosis.coverage.fully & ~diagnosis.bad.bad).sum())
    top = max((*CONCLUSIONS, "not_measured"), key=lambda key: bad[key])
    n, n_bad = diagnosis.scored.n, int(diagnosis.bad.bad.sum())
    if by_words_alone(diagnosis) and n_bad:
        statement = f"{name}: {against_reference(diagnosis)}"
        return Headline("bad", statement, f"{_STAGE_UNKNOWN}. {_detail(diagnosis, findings)}", doubt)
    loss = main_loss(diagnosis, findings)
    wordy = "" if loss is None else wordy_statement(loss)
    lost = ("" if loss is None else loss_statement(loss)) or (
        "" if wordy else fault_statement(diagnosis, findings)
    )
    if lacking > n_bad and not lost:
        verb = "lacks" if lacking == 1 else "lack"
        unknown = f"{lacking:,} of {count(n, 'case')} {verb} a deciding value"
        return Headline("cannot tell", f"{name}: {wordy or unknown}", _detail(diagnosis, findings), doubt)
    if not bad[top]:
        return _without_bad(name, diagnosis, findings, doubt)
    more = lost and (lacking > n_bad or (loss is not None and loss.lacking > bad[top]))
    statement = f"{name}: {lost if more else _common(diagnosis, top, bad[top], n_bad)}"
    state: State = "doubted" if _all_doubted(diagnosis, findings) else "bad"
    return Headline(state, statement, _detail(diagnosis, findings), doubt)


def _common(diagnosis: Diagnosis, top: str, n_top: int, n_bad: int) -> str:
    """Return how many cases are bad and what most of them share: their metric pattern, or else their stage.

    Args:
        diagnosis: of a run with bad cases.
        top: the metric pattern of most bad cases.
        n_top: bad cases that have it.
        n_bad: all bad cases.
    """
    cases = count(diagnosis.scored.n, case_noun(diagnosis.scored))
    of, are = f"{n_bad:,} of {cases}", "is bad" if n_bad == 1 else "are bad"
    if top == "not_measured":  # some metric of the pattern table is missing, so that the stage says more
        stages = diagnosis.stage_counts()
        stage = max(stages, key=lambda key: stages[key])
        return f"{of} {are}, {STAGES[stage_code(stage)].count(stages[stage]).removesuffix(' (inferred)')}"
    common, several = CONCLUSIONS[top][n_top == 1], n_top < diagnosis.pattern_counts()[top]
    if 2 * n_top <= n_bad or (top == "refusal" and several):
        return f"{of} {are}; {n_top:,} of them {common}"
    if top == "refusal":
        common = "is a wrong refusal" if n_top == 1 else "are wrong refusals"
    return f"{n_top:,} of {cases} {common}"


def _without_bad(name: str, diagnosis: Diagnosis, findings: Sequence[Finding], doubt: str) -> Headline:
    """Return that no case is bad: good, unless too few questions or their refusals alone were judged."""
    n, measured = diagnosis.scored.n, int(diagnosis.measured.sum())
    which = "all" if measured > 1 else "the one"
    among = "" if measured == n else "measured "
    cases = f"{which} {f'{measured:,} ' if measured > 1 else ''}{among}{'case' if measured == 1 else 'cases'}"
    healthy = diagnosis.pattern_counts()["healthy"] == measured
    outcome = f"{name}: {cases} {'is' if measured == 1 else 'are'} {'healthy' if healthy else 'good'}"
    detail = _detail(diagnosis, findings)
    if diagnosis.coverage.of_refusals_alone:
        statement = f"{name}: {cases} judged by answerability alone"
        return Headline("cannot tell", statement, f"{REFUSALS_ALONE}. {detail}", doubt)
    if diagnosis.pass_rate.n_scored < FEWEST_QUESTIONS:
        return Headline("cannot tell", f"{outcome}, too few to tell", detail, doubt)
    return Headline("good", outcome, detail, doubt)


def _detail(diagnosis: Diagnosis, findings: Sequence[Finding]) -> str:
    """Return the stages of the bad cases, how many are bad, and what the pass rate rests on."""
    counts = diagnosis.stage_counts()
    top = sorted((key for key in counts if counts[key]), key=lambda key: -counts[key])
    listed = [STAGES[stage_code(key)].count(counts[key]) for key in top[:MOST_STAGES]]
    if others := sum(counts[key] for key in top[MOST_STAGES:]):
        listed.append(f"{others:,} at other stages")
    rate = diagnosis.pass_rate
    bad = bad_cases_text(diagnosis)
    stages = f"{bad}: {', '.join(listed)}" if listed else bad
    passed = (
        f"{rate_clause(diagnosis.answers, rate, findings)} {interval_text(rate.low, rate.high)}, "
        f"n = {rate.n_scored:,} of {count(rate.n_applicable, 'question')}"
    )
    coverage = rate_basis(diagnosis)
    sentences = " ".join(["", *right_sentences(diagnosis)])
    return f"{stages}. {passed}{f'; {coverage}' if coverage else ''}.{sentences}"


def _doubt(diagnosis: Diagnosis, findings: Sequence[Finding]) -> str:
    first = [each for each in read_first(findings) if each.rule not in FAULTS_OF_TEXTS]
    doubting = [*first, *pass_rate_doubts(diagnosis, findings)]
    return "; ".join(dict.fromkeys(finding.clause for finding in doubting))


def _all_doubted(diagnosis: Diagnosis, findings: Sequence[Finding]) -> bool:
    """Return whether every case of the stage with the most bad cases rests on what the checks doubt."""
    doubt = stage_doubt(diagnosis, findings, diagnosis.fix_first[0].key)
    return bool(read_first(findings)) or (doubt is not None and doubt.whole)
