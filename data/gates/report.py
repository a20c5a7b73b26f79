"""Gates over a run: the same code for the Triage page, the command and whatever watches a folder."""

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
    """The verdict on a run with all that it rests on.

    Attributes:
        run: the run.
        name: what people call it.
        baseline: what it was held against, and how that was found.
        baseline_name: what people call that; "" without one.
        source: where the gates come from.
        results: one for each gate; a gate for a family of metrics gives one for each of them.
        broken: questions that passed in the baseline and fail now.
        n_broken_cases: samples behind them; more than questions where there are repeats.
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
        """The worst verdict among the blocking gates that had something to be judged by."""
        return overall(self.results)

    def verdict_under(self, strict: bool) -> GateVerdict:
        """Give the verdict; under strict the gates count too that had nothing to be judged by."""
        return overall(self.results, strict)

    def exit_code(self, strict: bool = False) -> int:
        """Give 1 where a blocking gate fails, or where a required one, or any under strict, does not pass."""
        return exit_code(self.results, strict)

    def to_dict(self, strict: bool = False) -> dict[str, Any]:
        """Give the report as JSON values."""
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
            "gates": [_result(one) for one in self.results],
            "newly_failing": [
                {"question_id": one.question_id, "question": one.question, "critical": one.critical}
                for one in self.newly_failing
            ],
            "n_compared": self.n_compared,
            "n_repaired": self.n_repaired,
            "warnings": list(self.warnings),
            "cautions": list(self.cautions),
        }


def _result(one: GateResult) -> dict[str, Any]:
    gate = one.gate
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
        "verdict": one.verdict,
        "value": one.mean,
        "low": one.low,
        "high": one.high,
        "n_scored": one.n_scored,
        "n_total": one.n_total,
        "smallest_effect": one.smallest_effect,
        "before": one.before,
        "adjusted_p": one.adjusted_p,
        "obtained": one.obtained,
        "counts": not one.excused,
        "sentence": one.sentence,
    }


def gate_run(
    store: RunStore,
    run: Run,
    baseline: Baseline,
    config: GateConfig,
    diagnosed: Callable[[Run], Diagnosis] | None = None,
) -> GateReport:
    """Judge a run by the gates of its project, at the usual cut-offs and conventions.

    Args:
        store: of the workspace.
        run: the run.
        baseline: what it is held against, see data.gates.baseline.baseline_of.
        config: the gates, see data.gates.config.load_gates.
        diagnosed: gives the diagnosis of a run at the usual settings, where those are kept already.

    Raises:
        DataError: the run is known by its means alone, or no gate of its project blocks.
    """
    if run.means:
        raise DataError(
            f"{run.name} ({run.run_id}) is known by its means alone; accepted: a run with samples"
        )
    gates = config.gates_for(run.project)

    def usual(one: Run) -> Diagnosis:
        return diagnose(store.scored(one), DiagnosisSettings(), store.ledger.labels(one.run_id))

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
    """Give the titles of the findings that bear on every number: a column of 0 may be one not computed."""
    found = check_run(store.scored(run))
    return tuple(one.title for one in found if one.severity in ("error", "warning"))


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
        summary: aggregates of the run over all its questions, where they are at hand.
    """
    changes = judge_regressions(run, base, [gate for gate in gates if gate.kind == "regression"])
    found: list[GateResult] = []
    for gate in gates:
        if gate.kind == "regression":
            found += changes[gate]
        elif gate.kind == "critical":
            found.append(_critical(gate, run, base))
        elif gate.kind == "checks":
            found.append(judge_checks(gate, run, base))
        else:
            found.append(judge_mean_gate(gate, run, summary))
    results = tuple(replace(one, sentence=gate_sentence(one)) for one in found)
    held = Baseline(base.scored.run if base else None, "")
    if base is None:
        return GateReport(run.scored.run, run.scored.run.name, held, "", "", results)
    broken = newly_failing(base, run)
    return GateReport(
        run.scored.run,
        run.scored.run.name,
        held,
        base.scored.run.name,
        "",
        results,
        _listed(run, base, broken, gates),
        int(broken.samples.sum()),
        broken.compared,
        broken.repaired,
        tuple(unequal_sides(base, run)),
    )


def _critical(gate: Gate, run: Diagnosis, base: Diagnosis | None) -> GateResult:
    counts = critical_counts(base, run, gate.metric, gate.values, gate.slice)
    if base is None and counts.tagged:
        return unmeasured(gate, "there is no baseline", n_total=counts.tagged, excused=True)
    return judge_critical(gate, counts.failing, counts.unseen, counts.passed, counts.tagged)


def _listed(
    run: Diagnosis, base: Diagnosis, broken: NewlyFailing, gates: tuple[Gate, ...]
) -> tuple[NewlyFailingCase, ...]:
    """Read the broken questions, critical ones first."""
    critical: set[str] = set()
    for gate in gates:
        if gate.kind == "critical":
            for side in (base.scored, run.scored):
                critical |= critical_ids(side, gate.metric, gate.values, gate.slice)
    rows = [int(row) for row in broken.rows]
    texts = run.scored.samples.read(rows, ["question"])
    found = [
        NewlyFailingCase(
            str(question),
            int(run.scored.repeats[row]),
            row,
            str(text["question"])[:SHORT],
            question in critical,
        )
        for question, row, text in zip(broken.question_ids, rows, texts, strict=True)
    ]
    return tuple(sorted(found, key=lambda one: not one.critical))
