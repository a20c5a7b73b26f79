"""The gate report of a run: the same for the Triage page, the gate command and the watch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from data.comparison.newly_failing import NewlyFailing, critical_counts, critical_ids, newly_failing
from data.diagnosis.diagnosis import Diagnosis, DiagnosisSettings, diagnose
from data.errors import DataError
from data.gates.baseline import Baseline, unequal_sides
from data.gates.config import GateConfig
from data.gates.regressions import judge_regressions
from data.gates.thresholds import judge_checks, judge_mean_gate
from data.scoring.run_store import RunStore
from data.scoring.sanity import check_run
from data.scoring.summaries import MetricSummary
from data.store.workspace import Run
from metrics.gates.gates import Gate, GateResult, GateVerdict, exit_code, judge_critical, overall, unmeasured
from metrics.gates.wording import gate_sentence, gate_title

__all__ = ["GateReport", "NewlyFailingCase", "gate_run", "judge_run"]

SHORT = 300  # characters of a question


@dataclass(frozen=True)
class NewlyFailingCase:
    """A question that passed in the baseline and fails now.

    Attributes:
        question_id: the question.
        repeat: the first repeat that fails.
        row: its row in the run.
        question: the text, shortened.
        critical: whether it bears the tag of a critical case.
    """

    question_id: str
    repeat: int
    row: int
    question: str
    critical: bool


@dataclass(frozen=True)
class GateReport:
    """The verdict on a run with everything it rests on.

    Attributes:
        run: the run.
        name: what it is called.
        baseline: what it was compared with, and how that was found.
        baseline_name: what that is called; "" without one.
        source: where the gates come from.
        results: one for each gate; a gate for a family of metrics has one for each metric.
        newly_failing: questions that passed in the baseline and fail now.
        n_newly_failing: samples behind them; more than questions where there are repeats.
        n_compared: questions whose passing both sides measured.
        n_repaired: questions that failed in the baseline and pass now.
        warnings: what makes the sides unequal.
        cautions: what the checks on the numbers say to read before trusting them.
    """

    run: Run
    name: str
    baseline: Baseline
    baseline_name: str
    source: str
    results: tuple[GateResult, ...]
    newly_failing: tuple[NewlyFailingCase, ...] = ()
    n_newly_failing: int = 0
    n_compared: int = 0
    n_repaired: int = 0
    warnings: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()

    @property
    def verdict(self) -> GateVerdict:
        """The worst verdict among the blocking gates that could be judged."""
        return overall(self.results)

    def verdict_under(self, strict: bool) -> GateVerdict:
        """Return the verdict; under strict, gates that could not be judged count too."""
        return overall(self.results, strict)

    def exit_code(self, strict: bool = False) -> int:
        """Return 1 where a blocking gate fails, or a required one, or any under strict, does not pass."""
        return exit_code(self.results, strict)

    def to_dict(self, strict: bool = False) -> dict[str, Any]:
        """Return the report as JSON values."""
        base = self.baseline.run
        return {
            "run": self.run.run_id,
            "name": self.name,
            "project": self.run.project,
            "verdict": self.verdict_under(strict),
            "exit_code": self.exit_code(strict),
            "strict": strict,
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
        "severity": gate.severity,
        "required": gate.required,
        "reason": gate.reason,
        "verdict": result.verdict,
        "value": result.mean,
        "low": result.low,
        "high": result.high,
        "n_scored": result.n_scored,
        "n_total": result.n_total,
        "smallest_effect": result.smallest_effect,
        "before": result.before,
        "adjusted_p": result.adjusted_p,
        "obtained": result.obtained,
        "counts": not result.excused,
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

    Args:
        store: of the workspace.
        run: the run.
        baseline: what it is compared with, see data.gates.baseline.baseline_of.
        config: the gates, see data.gates.config.load_gates.
        diagnosed: returns the diagnosis of a run at the usual settings, where a caller caches them.

    Raises:
        DataError: the run is known by its means alone, or no gate of its project blocks.
    """
    if run.means:
        raise DataError(
            f"{run.name} ({run.run_id}) is known by its means alone; accepted: a run with samples"
        )
    gates = config.gates_for(run.project)

    def usual(judged: Run) -> Diagnosis:
        return diagnose(store.scored(judged), DiagnosisSettings(), store.ledger.labels(judged.run_id))

    find, names = diagnosed or usual, store.names()
    base = None if baseline.run is None else find(baseline.run)
    report = judge_run(find(run), base, gates, store.summary(run))
    return replace(
        report,
        name=names.get(run.run_id, run.name),
        baseline=baseline,
        baseline_name="" if baseline.run is None else names.get(baseline.run.run_id, baseline.run.name),
        source=config.source,
        cautions=_cautions(store, run),
    )


def _cautions(store: RunStore, run: Run) -> tuple[str, ...]:
    """List the sanity checks' errors and warnings by title: a column of 0 may be one not computed."""
    findings = check_run(store.scored(run))
    return tuple(finding.title for finding in findings if finding.severity in ("error", "warning"))


def judge_run(
    run: Diagnosis,
    base: Diagnosis | None,
    gates: tuple[Gate, ...],
    summary: Mapping[str, MetricSummary] | None = None,
) -> GateReport:
    """Judge a diagnosed run by gates, against a diagnosed baseline where there is one.

    Args:
        run: the run.
        base: the baseline, if any.
        gates: the gates.
        summary: the run's metric summaries over all its questions, where a caller has them.
    """
    changes = judge_regressions(run, base, [gate for gate in gates if gate.kind == "regression"])
    results: list[GateResult] = []
    for gate in gates:
        if gate.kind == "regression":
            results += changes[gate]
        elif gate.kind == "critical":
            results.append(_critical(gate, run, base))
        elif gate.kind == "checks":
            results.append(judge_checks(gate, run, base))
        else:
            results.append(judge_mean_gate(gate, run, summary))
    worded = tuple(replace(result, sentence=gate_sentence(result)) for result in results)
    baseline = Baseline(base.scored.run if base else None, "")
    if base is None:
        return GateReport(run.scored.run, run.scored.run.name, baseline, "", "", worded)
    failing = newly_failing(base, run)
    return GateReport(
        run.scored.run,
        run.scored.run.name,
        baseline,
        base.scored.run.name,
        "",
        worded,
        _listed(run, base, failing, gates),
        int(failing.samples.sum()),
        failing.compared,
        failing.repaired,
        tuple(unequal_sides(base, run)),
    )


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
