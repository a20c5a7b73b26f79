"""The verdict on a run in one sentence: the same on the page, on the command line and in every report."""

import re
from collections.abc import Sequence
from dataclasses import replace
from math import ceil

from ragtriage.dashboard.headlines.headline import Headline
from ragtriage.dashboard.wording.comparisons import loss_text, ranking_text
from ragtriage.dashboard.wording.diagnosis import (
    ranking_sentence,
    ranking_statement,
    rate_clause,
    rate_labels,
)
from ragtriage.dashboard.wording.escaping import capital, in_sentence, shorten
from ragtriage.dashboard.wording.formatting import calls_share, case_noun, span
from ragtriage.dashboard.wording.leaks import critical_text, text_faults
from ragtriage.dashboard.wording.main_loss import (
    fault_statement,
    known_statement,
    loss_sentence,
    scale_statement,
)
from ragtriage.dashboard.wording.right import right_by_text_sentence, right_sentences
from ragtriage.data.comparison.guardrails import Loss
from ragtriage.data.diagnosis.diagnosis import ENOUGH_LABELS, CheckedAnswers, Diagnosis
from ragtriage.data.gates.conclusion import Conclusion
from ragtriage.data.gates.report import GateReport
from ragtriage.metrics.diagnosis.fix_first import UNEXPLAINED
from ragtriage.metrics.diagnosis.stages import STAGES, stage_code
from ragtriage.metrics.gates.gates import FEWEST_QUESTIONS, OWN_QUESTIONS, SHARES, UNCHANGED, GateResult
from ragtriage.metrics.gates.wording import GOOD_SHARE, change_text, guardrail_change, subject_of
from ragtriage.metrics.number_text import MINUS, count, number, percent, settled_by
from ragtriage.metrics.statistics.paired import MARGIN, SIGNIFICANCE

LONGEST_NAME = 40
_FIELD = re.compile(r": (`[^`]+`)")  # as ragtriage.metrics.schema.metric names what a metric lacks
MOST_QUOTED = 3  # gates in the second line
MOST_DOUBTS = 2
TIMES = 2.0  # as a multiple of the baseline from here on, as a percentage below
FEWEST_TO_EXTRAPOLATE = 100  # questions; a mean of fewer may lie far from where more would put it
A_GATE_ON_RANKING = "A gate on a metric of the ranking, such as ndcg@10, would decide"
MOST_QUESTIONS = 100  # times the questions of the run: a larger sample is not advice


def triage_headline(report: GateReport, name: str, strict: bool = False) -> Headline:
    """Return the verdict of the gates on a run as a headline.

    Args:
        report: of its gates, with the diagnosis and findings that it rests on.
        name: what the run is called.
        strict: whether gates that had nothing to judge by count too.
    """
    diagnosis = report.diagnosis
    critical = "" if diagnosis is None else critical_text(diagnosis.scored, report.findings)
    headline = _verdict(report, diagnosis, name, strict)
    fault = "" if diagnosis is None else fault_statement(diagnosis, report.findings)
    leads = bool(fault) and fault in headline.statement
    follows = fault if headline.state in ("not measured", "cannot tell") and not leads else ""
    said = fault if leads else follows
    lost = "" if diagnosis is None else loss_sentence(diagnosis, report.findings, after=said)
    faults = [each for each in text_faults(report.findings) if each not in headline.statement]
    ranking = "" if report.ranking is None else ranking_text(report.ranking)
    parts = (*faults, guardrail_clauses(report.results), ranking, follows, lost)
    first = "".join(f"{capital(part)}. " for part in parts if part)
    return replace(headline, detail=f"{first}{headline.detail}").after(critical)


def guardrail_clauses(results: Sequence[GateResult]) -> str:
    """Return which guardrails got worse, such as "2.2 times slower (1.8 s to 4.0 s)"; "" where none did."""
    failed = [each for each in results if each.gate.kind == "guardrail" and each.verdict == "FAIL"]
    return "; ".join(map(_guardrail, failed))


def _guardrail(result: GateResult) -> str:
    name, change = result.gate.metric, guardrail_change(result).removeprefix("from ")
    if name in SHARES:  # a ratio of rounded shares would not look right
        return f"{name} {guardrail_change(result)} of all questions"
    if not result.before or result.mean is None:
        return f"{name} {change}"
    ratio = result.mean / result.before
    if ratio < 1:
        return f"{name} −{percent(1 - ratio)} ({change})"
    if name == "latency" and ratio >= TIMES:
        return f"{ratio:.1f} times slower ({change})"
    often = "as long" if "latency" in name else "as much"
    more = f"+{percent(ratio - 1)}" if ratio < TIMES else f"{ratio:.{0 if ratio >= 10 else 1}f} times {often}"
    return f"{name} {more} ({change})"


def _loss(report: GateReport, loss: Loss) -> str:
    """Return what was lost, after what was gained where the primary metric rose beyond chance."""
    lost = loss_text(loss)
    gained = [
        result
        for result in report.results
        if result.gate.kind == "regression"
        and result.blocks
        and (result.mean or 0) > 0
        and (result.adjusted_p or 1.0) < SIGNIFICANCE
        and result.margin is not None
    ]
    if not gained:
        return f"a loss to decide on: {lost}"
    return f"{gate_phrase(gained[0]).removesuffix(' against the baseline')}, but {lost}"


def _verdict(report: GateReport, diagnosis: Diagnosis | None, name: str, strict: bool) -> Headline:
    verdict, short = report.verdict_under(strict), shorten(name, LONGEST_NAME)
    concluded, faults = report.conclusion(strict), text_faults(report.findings)
    answers, decisive, doubt = (
        concluded.answers,
        concluded.decisive,
        _doubt([each for each in concluded.doubts if each not in {*report.halves.values(), *faults}]),
    )
    if concluded.state == "do_not_ship":
        failing = f"{_many(decisive, 'fails', 'fail')}: {_quoted(report, decisive)}{_questions(decisive)}"
        quoted = {result.gate.metric for result in decisive}
        halves = [clause for metric, clause in report.halves.items() if metric not in {*quoted, GOOD_SHARE}]
        detail = "; ".join(filter(None, (failing, *halves, _missing(answers))))
        return Headline("bad", f"{short}: do not ship", detail, doubt)
    if verdict in ("UNMEASURED", "INCONCLUSIVE") or (answers is not None and concluded.unchecked):
        return _open(report, diagnosis, short, concluded, doubt)
    detail = _holding(report, decisive, diagnosis)
    if concluded.losses:
        return Headline("cannot tell", f"{short}: {_loss(report, concluded.losses[0])}", detail, doubt)
    if other_questions := _other_questions(report):
        return Headline("cannot tell", f"{short}: {other_questions}", detail, doubt)
    if report.halves:
        statement = f"{short}: gates hold, but {' and '.join(report.halves.values())}"
        return Headline("cannot tell", statement, detail, doubt)
    if faults:
        return Headline("doubted", f"{short}: {faults[0]}", detail, doubt)
    if doubt:
        return Headline("doubted", f"{short}: gates hold, numbers doubted", detail, doubt)
    return Headline("good", f"{short}: ready to ship", detail)


def _open(
    report: GateReport, diagnosis: Diagnosis | None, short: str, concluded: Conclusion, doubt: str
) -> Headline:
    """Return the headline of a run without a verdict: what is known leads, then what was not measured."""
    answers, decisive, lead = concluded.answers, concluded.decisive, _lead(report, diagnosis)
    verdict = decisive[0].verdict if decisive else "UNMEASURED"
    if verdict == "UNMEASURED":
        known = [] if diagnosis is None else right_sentences(diagnosis)
        nothing = _without_verdict(decisive)
        if diagnosis is not None and (ranking := ranking_statement(diagnosis)):
            detail = f"{ranking_sentence(diagnosis)} {capital(nothing)}. {A_GATE_ON_RANKING}"
            return Headline("not measured", f"{short}: {lead or ranking}", detail, doubt)
        needed = _what_to_record(decisive)
        excused = sum(each.blocks and each.excused for each in report.results) if decisive else 0
        if excused:
            more = "1 more blocking gate has" if excused == 1 else f"{excused:,} more blocking gates have"
            needed += f". {more} nothing to judge by"
        missing = f"{capital(nothing.removeprefix('no verdict, '))}."
        detail = " ".join([*known, *([missing] if lead else []), needed])
        statement = f"no verdict; {lead}" if lead else nothing
        return Headline("not measured", f"{short}: {statement}", detail, doubt)
    undecided = _undecided(report, decisive) if verdict == "INCONCLUSIVE" else ""
    if answers is not None and concluded.unchecked:
        statement = "answers not checked" if undecided else "no fault found, answers not checked"
        by_text = "" if diagnosis is None else right_by_text_sentence(diagnosis)
        checked = by_text or f"{_unchecked(answers)}."
        detail = f"{checked} {undecided or _holding(report, decisive, diagnosis)}"
        if lead:
            detail = f"{capital(statement.rpartition('found, ')[2])}: {in_sentence(detail)}"
        return Headline("not measured", f"{short}: {lead or statement}", detail, doubt)
    if lead and not concluded.losses:
        undecided = f"Cannot tell yet: {in_sentence(undecided)}"
    statement = _loss(report, concluded.losses[0]) if concluded.losses else lead or "cannot tell yet"
    return Headline("cannot tell", f"{short}: {statement}", undecided, doubt)


def _lead(report: GateReport, diagnosis: Diagnosis | None) -> str:
    """Return what is known of a run that has no verdict, and leads; "" where little is."""
    if diagnosis is None:
        return ""
    statements = _other_questions(report), scale_statement(report.findings)
    fault = fault_statement(diagnosis, report.findings)
    return next(filter(None, [*statements, fault, known_statement(diagnosis)]), "")


def _other_questions(report: GateReport) -> str:
    """Return how many questions a run of another mix shares with its baseline, and the change on these."""
    if report.mixed is None:
        return ""
    shared, base = len(report.mixed.base), shorten(report.baseline_name, 30) or "the baseline"
    on_them = "" if report.mixed.sampled else " on them"
    change = next(
        (
            f", {in_sentence(subject_of(each.gate))} {_change(each.gate.metric, each.mean)}{on_them}"
            for each in report.results
            if each.gate.kind == "regression" and each.blocks and each.mean is not None
        ),
        "",
    )
    of_questions = "other calls than" if report.mixed.sampled else "other questions than"
    shares = "unpaired" if report.mixed.sampled else f"{shared:,} shared"
    return f"{of_questions} {base}, {shares}{change}"


def _unchecked(answers: CheckedAnswers) -> str:
    """Return how few of the answers were checked, and what would check them."""
    of = count(answers.n, "answer")
    checked = f"Only {answers.checked:,} of {of}" if answers.checked else f"None of {of}"
    were = "were" if answers.checked > 1 else "was"
    return (
        f"{checked} {were} checked against a reference, a label or a rule: judge them against references, or "
        f"label {ENOUGH_LABELS} drawn at random"
    )


def report_headline(report: GateReport, strict: bool = False) -> Headline:
    """Return the verdict of a report that carries the diagnosis and findings it rests on."""
    return triage_headline(report, report.name, strict)


def reported_means_headline(name: str) -> Headline:
    """Return the headline of a run without samples: nothing of it can be judged."""
    return Headline(
        "not measured",
        f"{shorten(name, LONGEST_NAME)}: no verdict, summary scores only",
        "Gates, intervals and failure stages need one record per question; load the run with its questions",
    )


def gates_unreadable(name: str, problem: str) -> Headline:
    """Return the headline of a run whose gates cannot be read or applied."""
    return Headline(
        "not measured", f"{shorten(name, LONGEST_NAME)}: no verdict, the gates cannot be read", problem
    )


def river_statement(diagnosis: Diagnosis) -> str:
    """Return how many cases are lost and at which step most of them, without full stop."""
    n, measured, lost = diagnosis.scored.n, int(diagnosis.measured.sum()), int(diagnosis.bad.bad.sum())
    if not lost and measured and not diagnosis.answers.enough:
        return f"No fault found in {count(measured, 'case')}, answers not checked"
    if not lost:
        fully = int(diagnosis.coverage.fully.sum())
        cases = "The only case" if n == 1 else f"None of {count(n, 'case')}"
        if not measured:
            return f"{cases} {'cannot' if n == 1 else 'can'} be called good or bad"
        if fully < n:
            unclear = "not fully measured"
            return f"{cases} is {unclear}" if n == 1 else f"{cases} fails so far, {n - fully:,} {unclear}"
        return f"{cases} does not fail" if n == 1 else f"{cases} fails"
    noun = case_noun(diagnosis.scored)
    of = count(measured, noun if measured == n else f"measured {noun}")
    share = calls_share(diagnosis.share_of_calls(diagnosis.bad.bad))
    fail = "fails" if lost == 1 else "fail"
    lost_text = "The only case fails" if n == 1 else f"{lost:,} of {of} {fail}{share}"
    ranked = sorted(diagnosis.fix_first, key=lambda entry: (entry.key == UNEXPLAINED, -entry.share))
    top, *others = ranked
    if others and others[0].n_bad == top.n_bad:
        return f"{lost_text}, at {count(len(others) + 1, 'step')}"
    if others and others[-1].n_bad > top.n_bad:
        return f"{lost_text}, {others[-1].n_bad:,} of them for no recorded reason"
    where = "at one step" if top.n_bad == lost else "most at one step" if top.share > 0.5 else "most often"
    step = STAGES[stage_code(top.key)].counted.removesuffix(" (inferred)")
    return f"{lost_text}, {where}: {step} ({top.n_bad:,})"


def gate_phrase(result: GateResult, base: str = "") -> str:
    """Return what a gate measured and needs, such as "faithfulness 0.26, needs 0.85".

    Args:
        result: of the gate.
        base: what the baseline is called, "" for no name.
    """
    gate, title = result.gate, in_sentence(subject_of(result.gate))
    if gate.slice:
        title += f" ({gate.slice[0]} {gate.slice[1]})"
    if result.mean is None:
        return f"{title} not measured"
    if gate.kind == "critical":
        failing = count(round(result.mean * result.n_total), "critical case")
        return f"{failing} of {result.n_total:,} newly {'fails' if failing.startswith('1 ') else 'fail'}"
    if gate.kind == "secrets":
        return f"secrets in {round(result.mean * result.n_total):,} of {count(result.n_total, 'answer')}"
    if gate.kind == "questions":
        whose = "" if gate.metric == OWN_QUESTIONS else f" of {shorten(base, 30) or 'the baseline'}"
        return f"answered {result.n_scored:,} of {result.n_total:,} questions{whose}"
    if gate.kind == "guardrail":
        return _guardrail(result)
    if gate.kind == "regression":
        change = _change(gate.metric, result.mean)
        return f"{title} {change} against {shorten(base, 30) or 'the baseline'}"
    digits = 3 if number(result.mean) == number(gate.threshold) and result.verdict != "PASS" else 2
    if gate.kind == "checks":
        return f"{title}: {percent(result.mean)} pass, {percent(gate.threshold)} must"
    limit = f"at most {number(gate.threshold, digits)}" if gate.at_most else number(gate.threshold, digits)
    raw = "" if result.raw is None else f" by human labels ({number(result.raw, digits)} without them)"
    return f"{title} {number(result.mean, digits)}{raw}, needs {limit}"


def _change(metric: str, change: float) -> str:
    text = change_text(metric, change)
    return text if text[:1] in ("+", MINUS) else f"±{text}"


def _quoted(report: GateReport, results: Sequence[GateResult]) -> str:
    """Return the gates farthest from holding, the first three."""
    farthest = sorted(results, key=lambda result: result.margin if result.margin is not None else 0.0)
    phrases = [gate_phrase(result, report.baseline_name) for result in farthest[:MOST_QUOTED]]
    more = f"; and {len(results) - MOST_QUOTED} more" if len(results) > MOST_QUOTED else ""
    return f"{'; '.join(phrases)}{more}"


def _many(results: Sequence[GateResult], one: str, many: str) -> str:
    n = len(results)
    return f"{count(n, 'blocking gate')} {one if n == 1 else many}"


def _questions(results: Sequence[GateResult]) -> str:
    """Return the number of questions behind gates, where it is the same for all."""
    sizes = {result.n_scored for result in results}
    return f" ({count(next(iter(sizes)), 'question')})" if len(sizes) == 1 else ""


def _undecided(report: GateReport, results: Sequence[GateResult]) -> str:
    """Return which gates the sample cannot decide, and how many questions would decide them."""
    who = f"{len(results):,} {'is' if len(results) == 1 else 'are'} undecided"
    text = f"No blocking gate fails, {who}: {_quoted(report, results)}{_questions(results)}"
    failed = [result for result in results if result.why and result.why != UNCHANGED]
    if failed:
        return f"{text}. Score the values that {failed[0].why} first"
    if any(result.smallest_effect is None for result in results):
        return f"{text}. More questions are needed to tell"
    needed = [(n, result.n_scored) for result in results if (n := _questions_needed(result)) is not None]
    if len(needed) < len(results) and min(result.n_scored for result in results) < FEWEST_TO_EXTRAPOLATE:
        useful = max(_questions_for_margin(result) for result in results)
        narrow = (
            f"{text}. About {useful:,} questions would narrow the interval to {number(MARGIN)} either way"
        )
        return narrow if useful > max(result.n_scored for result in results) else text
    if len(needed) < len(results):
        times = f"{MOST_QUESTIONS:,} times as many questions"
        return f"{text}. A value this close to its limit would stay open with {times}: read the cases"
    return f"{text}. {capital(settled_by(*max(needed)))}"


def _questions_for_margin(result: GateResult) -> int:
    """Return how many questions would narrow the interval to the margin on either side."""
    if result.low is None or result.high is None:
        return 0
    return ceil(result.n_scored * ((result.high - result.low) / (2 * MARGIN)) ** 2)


def _questions_needed(result: GateResult) -> int | None:
    """Return how many questions would show the same distance from the threshold 4 times in 5.

    The detectable distance falls with the square root of the number of questions. A change since the
    baseline has its own number, of its one-sided test.
    """
    if result.gate.kind == "regression":
        return result.needed
    if result.smallest_effect is None or not result.margin:
        return None
    needed = result.n_scored * (result.smallest_effect / abs(result.margin)) ** 2
    return ceil(needed) if needed <= MOST_QUESTIONS * result.n_scored else None


def _without_verdict(results: Sequence[GateResult]) -> str:
    if not results:
        return "no verdict, nothing to judge by"
    few = sum(result.why == "too few" for result in results)
    if few == len(results):
        return "no verdict, too few questions"
    if few:
        missing = count(len(results) - few, "blocking gate")
        return f"no verdict, {missing} not measured and {few:,} on too few questions"
    if len(results) == 1:
        return shorten(f"no verdict, {in_sentence(subject_of(results[0].gate))} not measured", 60)
    return f"no verdict, {count(len(results), 'blocking gate')} not measured"


def _what_to_record(results: Sequence[GateResult]) -> str:
    """Return what each gate without a value lacks."""
    if not results:
        return "No blocking gate has anything to judge by; import scores, or run ragtriage judge"
    needs = []
    for result in results[:MOST_QUOTED]:
        title = in_sentence(subject_of(result.gate))
        least = result.gate.fewest or FEWEST_QUESTIONS
        few = f"measured on {count(result.n_scored, 'question')}, needs at least {least:,}"
        why = few if result.why == "too few" else result.why or "this run has no value of it"
        needs.append(f"{title} {why[3:]}" if why.startswith("it needs") else f"{title}: {why}")
    more = f"; and {len(results) - MOST_QUOTED} more" if len(results) > MOST_QUOTED else ""
    return _FIELD.sub(r" (\1)", f"{capital('; '.join(needs))}{more}").replace("`", "")


def _holding(report: GateReport, results: Sequence[GateResult], diagnosis: Diagnosis | None) -> str:
    """Return the pass rate, that the blocking gates hold, and which warning gates fail."""
    held = f"{_many(results, 'holds', 'hold')}{_questions(results)}"
    warned = [
        result
        for result in report.results
        if not result.blocks and result.verdict == "FAIL" and result.gate.kind != "guardrail"
    ]
    open_gates = [
        result for result in report.results if result.blocks and result.verdict != "PASS" and result.excused
    ]
    rate = None if diagnosis is None else diagnosis.pass_rate
    fail = "one warning gate fails" if len(warned) == 1 else f"{len(warned):,} warning gates fail"
    answers = None if diagnosis is None else diagnosis.answers
    of_labels = "" if diagnosis is None else rate_labels(diagnosis)
    parts = [
        f"{rate_clause(answers, rate, report.findings)} ({span(rate)})" if rate and rate.n_scored else "",
        of_labels,
        _missing(answers),
        held,
        f"{count(len(open_gates), 'gate')} had nothing to judge by" if open_gates else "",
        f"{fail}: {_quoted(report, warned)}" if warned else "",
    ]
    return "; ".join(filter(None, parts))


def _missing(answers: CheckedAnswers | None) -> str:
    """Return how many questions ended in an error; "" where none did."""
    if answers is None or not answers.missing:
        return ""
    of = count(answers.asked, "question")
    return f"{answers.missing:,} of {of} ended in an error or without an answer"


def _doubt(doubts: Sequence[str]) -> str:
    more = f"; and {len(doubts) - MOST_DOUBTS} more" if len(doubts) > MOST_DOUBTS else ""
    return f"{'; '.join(doubts[:MOST_DOUBTS])}{more}"
