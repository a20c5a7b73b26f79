"""The gate report of a run: the same for the Triage page, the gate command and the watch."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from ragtriage.data.comparison.answered import judged_otherwise, refusal_pairs, refusal_sentence
from ragtriage.data.comparison.compared_metrics import primary_metric
from ragtriage.data.comparison.guardrails import (
    Loss,
    RankingChange,
    judged_guardrails,
    losses,
    ranking_change,
)
from ragtriage.data.comparison.pair_labels import left_out_labels
from ragtriage.data.comparison.question_changes import (
    NewlyFailing,
    critical_counts,
    critical_ids,
    newly_failing,
    slice_changes,
)
from ragtriage.data.comparison.question_match import QuestionMatch, match_questions
from ragtriage.data.comparison.questions_asked import QuestionsAsked, questions_asked
from ragtriage.data.declarations import use_declarations
from ragtriage.data.diagnosis.diagnosis import Diagnosis, DiagnosisSettings, diagnose
from ragtriage.data.diagnosis.doubts import metric_doubts, pass_rate_doubts, right_doubts
from ragtriage.data.diagnosis.low_ratings import low_ratings
from ragtriage.data.diagnosis.main_loss import main_loss, many_refused
from ragtriage.data.diagnosis.run_checks import check_run
from ragtriage.data.diagnosis.weak_judge import WEAK_JUDGE
from ragtriage.data.errors import DataError
from ragtriage.data.gates.baseline import Baseline, unequal_sides
from ragtriage.data.gates.built_in import (
    GOOD_CASES,
    RIGHT_ANSWERS,
    against_people,
    few_passing,
    given_context,
    judge_halves,
    judge_questions,
    judge_secrets,
    mixed_questions,
    quality_holds,
    stand_in,
    weak_slice,
    wrong_citations,
)
from ragtriage.data.gates.conclusion import FAILING, Conclusion, Fault, conclude, exit_code, known_faults
from ragtriage.data.gates.config import GateConfig
from ragtriage.data.gates.gate_kinds import (
    check_names,
    judge_checks,
    judge_mean_gate,
    judge_percentile_gate,
    judge_regressions,
)
from ragtriage.data.gates.next_steps import next_steps
from ragtriage.data.scoring.run_store import RunStore, distinct_labels
from ragtriage.data.scoring.summaries import MetricSummary
from ragtriage.data.store.workspace import Run
from ragtriage.metrics.gates.gates import Gate, GateResult, GateVerdict, judge_critical, overall, unmeasured
from ragtriage.metrics.gates.wording import GOOD_SHARE, gate_sentence, gate_title
from ragtriage.metrics.sanity.documents import read_first
from ragtriage.metrics.sanity.rule import Finding

SHORT = 300  # characters of a question


@dataclass(frozen=True)
class NewlyFailingCase:
    """A question that passed in the baseline and fails now."""

    question_id: str
    repeat: int  # the first repeat that fails
    row: int  # its row in the run
    question: str  # the text, shortened
    critical: bool  # whether it bears the tag of a critical case


@dataclass(frozen=True)
class GateReport:
    """The verdict on a run with everything it rests on."""

    run: Run
    name: str  # what it is called
    baseline: Baseline  # what it was compared with, and how that was found
    baseline_name: str  # what that is called; "" without one
    source: str  # where the gates come from
    # one for each gate; a gate for a family of metrics has one for each metric
    results: tuple[GateResult, ...]
    newly_failing: tuple[NewlyFailingCase, ...] = ()  # questions that passed in the baseline and fail now
    n_newly_failing: int = 0  # samples behind them; more than questions where there are repeats
    n_compared: int = 0  # questions whose passing both sides measured
    n_repaired: int = 0  # questions that failed in the baseline and pass now
    # how many of its questions it answered, and the pass rate read both ways
    asked: QuestionsAsked | None = None
    warnings: tuple[str, ...] = ()  # what makes the sides unequal
    cautions: tuple[str, ...] = ()  # what the checks on the numbers say to read before trusting them
    # those findings of the checks, in full, that must be known before the verdict is read
    read_first: tuple[str, ...] = ()
    # what keeps it from shipping whatever its gates say, as clauses: shares that are at most half, and other
    # doubts, such as other questions than the baseline's
    halves: Mapping[str, str] = field(default_factory=dict)  # by what is counted
    reasons: tuple[str, ...] = ()
    mixed: QuestionMatch | None = None  # what it shares with a baseline of which it asks other questions
    losses: tuple[Loss, ...] = ()  # what no gain pays for: groundedness and slices that got worse
    ranking: RankingChange | None = None  # how the ranking moved where the answers did not
    # of the run, at the usual settings
    diagnosis: Diagnosis | None = field(default=None, compare=False, repr=False)
    findings: tuple[Finding, ...] = ()  # of the sanity checks on the run

    @property
    def verdict(self) -> GateVerdict:
        """The worst verdict among the blocking gates that could be judged."""
        return overall(self.results)

    def verdict_under(self, strict: bool) -> GateVerdict:
        """Return the verdict; under strict, gates that could not be judged count too."""
        return overall(self.results, strict)

    def exit_code(self, strict: bool = False, fail_on: Collection[str] | None = None) -> int:
        """Return what `gate` ends with, see ragtriage.data.gates.conclusion; strict fails on every state."""
        return exit_code(self.conclusion(strict), self.results, FAILING if strict else fail_on)

    def conclusion(self, strict: bool = False) -> Conclusion:
        """Return what may be said of the run."""
        return self._strict_conclusion if strict else self._usual_conclusion

    @cached_property
    def _usual_conclusion(self) -> Conclusion:
        return self._conclude(strict=False)

    @cached_property
    def _strict_conclusion(self) -> Conclusion:
        return self._conclude(strict=True)

    def _conclude(self, strict: bool) -> Conclusion:
        answers = None if self.diagnosis is None else self.diagnosis.answers
        concluded = conclude(
            self.results, answers, self.findings, strict, (*self.halves.values(), *self.reasons), self.losses
        )
        steps = next_steps(self.diagnosis, self.results, self.findings)
        refused = self.diagnosis is not None and many_refused(self.diagnosis)
        loss = None if self.diagnosis is None else main_loss(self.diagnosis, self.findings)
        faults = known_faults(self.findings, loss, answers)
        if self.diagnosis is not None:
            low = low_ratings(self.diagnosis.scored)
            faults += tuple(Fault(f"low {each.metric}", each.n, each.of) for each in low)
        return replace(concluded, next_steps=steps, faults=faults, many_refused=refused, ranking=self.ranking)

    def to_dict(self, strict: bool = False, fail_on: Collection[str] | None = None) -> dict[str, Any]:
        """Return the report as JSON values."""
        base = self.baseline.run
        return {
            "run": self.run.run_id,
            "name": self.name,
            "project": self.run.project,
            "verdict": self.verdict_under(strict),
            "exit_code": self.exit_code(strict, fail_on),
            "strict": strict,
            "conclusion": self.conclusion(strict).to_dict(),
            "config": self.source,
            "baseline": None if base is None else {"run": base.run_id, "name": self.baseline_name},
            "baseline_note": self.baseline.note,
            "gates": [_result(result) for result in self.results],
            "newly_failing": [
                {"question_id": case.question_id, "question": case.question, "critical": case.critical}
                for case in self.newly_failing
            ],
            "n_compared": self.n_compared,
            "n_repaired": self.n_repaired,
            "warnings": list(self.warnings),
            "cautions": list(self.cautions),
            "read_first": list(self.read_first),
        }


def _result(result: GateResult) -> dict[str, Any]:
    gate = result.gate
    return {
        "gate": gate_title(gate),
        "kind": gate.kind,
        "metric": gate.metric,
        "slice": None if gate.slice is None else {gate.slice[0]: gate.slice[1]},
        "threshold": gate.threshold,
        "at_most": gate.at_most,
        "percentile": gate.percentile,
        "fewest": gate.fewest or None,
        "over": gate.over,
        "rule": gate.rule,
        "severity": gate.severity,
        "required": gate.required,
        "reason": gate.reason,
        "verdict": result.verdict,
        "value": result.mean,
        "low": result.low,
        "high": result.high,
        "n_scored": result.n_scored,
        "n_total": result.n_total,
        "margin": result.margin,
        "smallest_effect": result.smallest_effect,
        "before": result.before,
        "largest_loss": result.largest_loss,
        "needed": result.needed,
        "raw": result.raw,
        **({} if result.effective_n is None else {"effective_n": result.effective_n}),
        "adjusted_p": result.adjusted_p,
        "obtained": result.obtained,
        "counts": not result.excused,
        "doubt": result.doubt,
        "sentence": result.sentence,
    }


def gate_run(
    store: RunStore,
    run: Run,
    baseline: Baseline,
    config: GateConfig,
    diagnosed: Callable[[Run], Diagnosis] | None = None,
) -> GateReport:
    """Judge a run by the gates of its project, at the usual thresholds and conventions.

    `diagnosed` returns the diagnosis of a run at the usual settings, where a caller caches them.

    Raises:
        DataError: the run has summary scores only, no gate of its project blocks, or metrics.toml
            cannot be read.
    """
    if run.means:
        raise DataError(f"{run.name} ({run.run_id}) has summary scores only; accepted: a run with samples")
    use_declarations(store.workspace, run.project)
    gates = config.gates_for(run.project)
    check_names(
        gates, [store.scored(each) for each in (run, baseline.run) if each is not None], config.source
    )

    def usual(judged: Run) -> Diagnosis:
        return diagnose(store.scored(judged), DiagnosisSettings(), store.ledger.labels(judged.run_id))

    find = diagnosed or usual
    names = distinct_labels([run] if baseline.run is None else [run, baseline.run], store.names())
    base = None if baseline.run is None else find(baseline.run)
    primary = primary_metric(store.workspace, run.project)
    findings = check_run(store.scored(run))
    of_baseline = [] if baseline.run is None else check_run(store.scored(baseline.run))
    diagnosis = find(run)
    report = judge_run(diagnosis, base, gates, store.summary(run), primary, findings, of_baseline)
    return replace(
        report,
        name=names[run.run_id],
        baseline=baseline,
        baseline_name="" if baseline.run is None else names[baseline.run.run_id],
        source=config.source,
        # a column of 0 may be one not computed, so errors and warnings stand beside the verdict
        cautions=tuple(finding.title for finding in findings if finding.severity in ("error", "warning")),
        read_first=(
            *(f"{finding.title}. {finding.message}" for finding in read_first(findings)),
            *(f"In the baseline: {finding.title}. {finding.message}" for finding in read_first(of_baseline)),
        ),
    )


def judge_run(
    run: Diagnosis,
    base: Diagnosis | None,
    gates: tuple[Gate, ...],
    summary: Mapping[str, MetricSummary] | None = None,
    primary: str = GOOD_SHARE,
    findings: Sequence[Finding] = (),
    base_findings: Sequence[Finding] = (),
) -> GateReport:
    """Judge a diagnosed run by gates, against a diagnosed baseline where there is one.

    The summary is over all questions, where a caller has it; a gate on a family tests the primary metric
    alone.
    """
    halves = judge_halves(run, gates)
    results = _judged_gates(run, base, gates, summary, primary)
    failing = any(result.blocks and result.verdict == "FAIL" for result in results)
    fallen = [result for result in halves if result.verdict == "FAIL"]
    results += [result for result in fallen if result.gate.kind == "checks"]
    # Where no gate fails, most answers wrong fails the run. So do most cases bad, unless a gate on what the
    # cases are judged by holds: then the conclusion is open.
    allowed = (RIGHT_ANSWERS,) if quality_holds(results, run) else (RIGHT_ANSWERS, GOOD_CASES)
    results += [result for result in fallen if not failing and result.gate in allowed][:1]
    results = stand_in(results, halves[0], run, findings)
    results = [replace(result, doubt=_doubt(result, run, findings)) for result in results]
    shared = None if base is None else match_questions(base.scored, run.scored)
    if base is not None and shared is not None:
        results = [_with_doubt_of_baseline(result, base, base_findings) for result in results]
        results += judged_guardrails(base, run, shared)
    asked = questions_asked(run, base, shared)
    own = [judge_secrets(findings), judge_questions(run, asked)]
    worded = tuple(
        replace(result, sentence=gate_sentence(result)) for result in [*filter(None, own), *results]
    )
    report = GateReport(
        run.scored.run,
        run.scored.run.name,
        Baseline(base.scored.run if base else None, ""),
        base.scored.run.name if base else "",
        "",
        worded,
        asked=asked,
        warnings=tuple(filter(None, [asked.sentence("this run")])),
        halves={**few_passing(halves, gates), **weak_slice(run, gates)},
        reasons=(
            *against_people(run),
            *given_context(run),
            *wrong_citations(run),
            *(each.clause for each in right_doubts(run, findings)),
        ),
        diagnosis=run,
        findings=tuple(findings),
    )
    return report if base is None or shared is None else _compared(report, run, base, shared, gates)


def _judged_gates(
    run: Diagnosis,
    base: Diagnosis | None,
    gates: tuple[Gate, ...],
    summary: Mapping[str, MetricSummary] | None,
    primary: str,
) -> list[GateResult]:
    """Judge each gate by its kind; those that a run has nothing for are left out where they say so."""
    changes = judge_regressions(run, base, [gate for gate in gates if gate.kind == "regression"], primary)
    results: list[GateResult] = []
    for gate in gates:
        if gate.kind == "regression":
            results += changes[gate]
        elif gate.kind == "critical":
            results.append(_critical(gate, run, base))
        elif gate.kind == "checks":
            results.append(judge_checks(gate, run, base))
        elif gate.kind == "percentile":
            results.append(judge_percentile_gate(gate, run))
        else:
            results.append(judge_mean_gate(gate, run, summary))
    return [each for each in results if not each.gate.where_measured or _is_measured(each)]


def _compared(
    report: GateReport, run: Diagnosis, base: Diagnosis, shared: QuestionMatch, gates: tuple[Gate, ...]
) -> GateReport:
    """Add to a report what the comparison with the baseline says beside its gates."""
    failing, mixed = newly_failing(base, run), mixed_questions(run, base, shared)
    return replace(
        report,
        newly_failing=_listed(run, base, failing, gates),
        n_newly_failing=int(failing.samples.sum()),
        n_compared=failing.compared,
        n_repaired=failing.repaired,
        warnings=(
            *report.warnings,
            *unequal_sides(base, run),
            *filter(None, [left_out_labels(base, run)]),
            *_refused_in_one_run(base, run, shared, report.results),
        ),
        reasons=(*filter(None, [mixed]), *judged_otherwise(base, run, shared), *report.reasons),
        mixed=shared if mixed else None,
        losses=losses(base, run, slice_changes(base, run)),
        ranking=ranking_change(base, run, shared),
    )


def _is_measured(result: GateResult) -> bool:
    """Whether a run has anything for a gate; a check that nothing decides is there all the same."""
    return bool(result.n_scored or (result.gate.kind == "checks" and result.n_total))


def _doubt(result: GateResult, side: Diagnosis, findings: Sequence[Finding]) -> str:
    """Return why the checks doubt what a gate was judged by; "" where they do not, or nothing was judged."""
    gate = result.gate
    if gate.kind == "checks" or result.mean is None:
        return ""
    by_pass_rate = gate.kind == "critical" or gate.metric == GOOD_SHARE
    doubts = (
        pass_rate_doubts(side, findings)
        if by_pass_rate
        else metric_doubts(side.scored, findings, gate.metric)
    )
    # a mean that labels corrected does not rest on what the judge says
    weak = [] if result.raw is None else [finding for finding in doubts if finding.rule == WEAK_JUDGE]
    return "; ".join(finding.clause for finding in doubts if finding not in weak)


def _with_doubt_of_baseline(result: GateResult, base: Diagnosis, findings: Sequence[Finding]) -> GateResult:
    compared = result.gate.kind in ("regression", "critical")
    doubt = _doubt(result, base, findings) if compared else ""
    if not doubt:
        return result
    return replace(result, doubt="; ".join(filter(None, [result.doubt, f"in the baseline: {doubt}"])))


def _refused_in_one_run(
    base: Diagnosis, run: Diagnosis, shared: QuestionMatch, results: Sequence[GateResult]
) -> list[str]:
    """Return a sentence for each metric of a change that lost pairs because one run refused."""
    changed = [result.gate.metric for result in results if result.gate.kind == "regression"]
    pairs = refusal_pairs(base, run, (shared.base, shared.other), list(dict.fromkeys(changed)))
    return [refusal_sentence(lost) for lost in pairs]


def _critical(gate: Gate, run: Diagnosis, base: Diagnosis | None) -> GateResult:
    counts = critical_counts(base, run, gate.metric, gate.values, gate.slice)
    if base is None and counts.tagged:
        return unmeasured(gate, "there is no baseline", n_total=counts.tagged, excused=True)
    return judge_critical(gate, counts.failing, counts.unseen, counts.passed, counts.tagged)


def _listed(
    run: Diagnosis, base: Diagnosis, failing: NewlyFailing, gates: tuple[Gate, ...]
) -> tuple[NewlyFailingCase, ...]:
    """Read the questions that newly fail, critical ones first."""
    critical: set[str] = set()
    for gate in gates:
        if gate.kind == "critical":
            for side in (base.scored, run.scored):
                critical |= critical_ids(side, gate.metric, gate.values, gate.slice)
    rows = [int(row) for row in failing.rows]
    texts = run.scored.samples.read(rows, ["question"])
    cases = [
        NewlyFailingCase(
            str(question),
            int(run.scored.repeats[row]),
            row,
            str(text["question"])[:SHORT],
            question in critical,
        )
        for question, row, text in zip(failing.question_ids, rows, texts, strict=True)
    ]
    return tuple(sorted(cases, key=lambda case: not case.critical))
