"""The tools about a run as a whole: triage, diagnosis, metrics, gates, and comparison with another run."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

from ragtriage.dashboard.headlines.compare import compare_headline, drawn_metrics, metric_doubts_of
from ragtriage.dashboard.headlines.headline import Headline
from ragtriage.dashboard.headlines.triage import gates_unreadable, report_headline, reported_means_headline
from ragtriage.dashboard.mcp_server.chosen_runs import (
    DATA_NOTE,
    Cursor,
    RunName,
    Tools,
    headline_values,
    name_text,
    quoted,
)
from ragtriage.dashboard.wording.diagnosis import (
    doubted_metrics,
    fix_first_sentence,
    no_bad_case,
    rate_basis,
    rate_name,
    stage_advice,
    stage_title,
)
from ragtriage.dashboard.wording.gates import newly_failing_text
from ragtriage.dashboard.wording.next_steps import step_sentences
from ragtriage.data.api import (
    comparison_answer,
    comparisons_with,
    diagnosis_answer,
    metrics_answer,
    next_steps_of,
)
from ragtriage.data.comparison.compare import Comparison
from ragtriage.data.diagnosis.diagnosis import Diagnosis, DiagnosisSettings
from ragtriage.data.diagnosis.run_checks import check_run
from ragtriage.data.errors import DataError
from ragtriage.data.gates.baseline import baseline_of
from ragtriage.data.gates.config import load_gates
from ragtriage.data.gates.report import GateReport, gate_run
from ragtriage.data.store.workspace import Run
from ragtriage.metrics.diagnosis.stages import STAGES, stage_code
from ragtriage.metrics.sanity.rule import Finding

_ORDER = ("FAIL", "INCONCLUSIVE", "PASS", "UNMEASURED")  # of gates in a first look
MOST_QUESTIONS = 20  # newly failing ones that an answer names
BaselineName = Annotated[
    str,
    Field(description="Id or name of the run to compare with; empty for the baseline of the run's project."),
]
Strict = Annotated[
    bool, Field(description="Whether gates that are inconclusive or unmeasured count as failed.")
]
Family = Literal["headline", "retrieval", "generation", "answer", "system", "all"]


class VerdictTools(Tools):
    """The tools about whole runs."""

    def triage(
        self, run: RunName = "", baseline: BaselineName = "", strict: Strict = False
    ) -> dict[str, Any]:
        """Return whether a run may ship, where its cases fail and what to fix first. Call this first.

        Returns the verdict of the quality gates as one headline, the failure stage to fix first with advice,
        the number of bad cases at each stage, every gate, and how many questions newly fail against the
        baseline. `read_first` and `doubt` say what is wrong with the numbers themselves: believe them first.
        """
        chosen = self.chosen_run(run)
        if chosen.means:
            headline = reported_means_headline(self.store.names()[chosen.run_id])
            has_means = [f'metrics(run="{chosen.run_id}") has the reported means']
            return self.answer(chosen, has_means, headline=headline_values(headline))
        against = baseline_of(self.store, chosen, baseline)
        try:
            report = gate_run(self.store, chosen, against, load_gates(self.store.workspace, None))
        except DataError as error:
            return self._without_gates(chosen, str(error))
        diagnosis, findings = _diagnosed(report)
        entries = _stages(diagnosis, findings)
        return self.answer(
            chosen,
            _next_steps(chosen, entries, report),
            *("warnings", "gates", "newly_failing", "stages", "read_first"),
            headline=headline_values(report_headline(report, strict)),
            read_first=list(report.read_first),
            next_steps=step_sentences(report.conclusion().next_steps),
            **_diagnosis_head(diagnosis, findings),
            stages=entries,
            **self._gate_values(report, strict),
        )

    def gate(
        self, run: RunName = "", baseline: BaselineName = "", strict: Strict = False, cursor: Cursor = ""
    ) -> dict[str, Any]:
        """Judge a run by its quality gates, as the command `ragtriage gate` does in CI.

        `exit_code` 0: ship, 1: do not ship, 3: cannot tell or not checked. Each gate has its verdict (PASS,
        FAIL, INCONCLUSIVE where the sample cannot tell, UNMEASURED), value, interval, threshold and a
        sentence; `next_cursor` goes on. `newly_failing` names the questions that passed in the baseline and
        fail now.
        """
        chosen = self.chosen_run(run)
        gates = load_gates(self.store.workspace, None)
        report = gate_run(self.store, chosen, baseline_of(self.store, chosen, baseline), gates)
        diagnosis, findings = _diagnosed(report)
        values = self._gate_values(report, strict, whole=True)
        entries = [
            {key: value for key, value in gate.items() if value is not None} for gate in values.pop("gates")
        ]
        head = {
            "run": self.run_values(chosen),
            "headline": headline_values(report_headline(report, strict)),
            "read_first": list(report.read_first),
            "next_steps": step_sentences(report.conclusion().next_steps),
            **values,
            "note": DATA_NOTE,
            "next": _next_steps(chosen, _stages(diagnosis, findings), report),
        }
        lists = ("warnings", "newly_failing", "next_steps", "read_first")
        return self.paged(head, lists, "gates", "gate", entries, cursor)

    def diagnose(
        self,
        run: RunName = "",
        context_metric: Annotated[
            str,
            Field(
                description="Metric that decides whether the context sufficed; empty for the run's usual one."
            ),
        ] = "",
    ) -> dict[str, Any]:
        """Show in full where the cases of a run fail: stages, metric patterns, slices, refusals, symptoms.

        Use it after `triage`, to see what the diagnosis rests on: thresholds, the context metric, how many
        cases were measured by what, which slices (query type, tag) do worse than the rest.
        """
        chosen = self.chosen_run(run)
        settings = DiagnosisSettings(context_metric=context_metric or None)
        diagnosis = self.diagnosis(chosen, settings)
        findings = check_run(diagnosis.scored)
        values = diagnosis_answer(diagnosis, settings)
        for key in ("run", "context_by_question", "fix_first", "stages", "pass_rate"):
            del values[key]
        return self.answer(
            chosen,
            f'cases(run="{chosen.run_id}", stage="...") lists the cases of a stage',
            *("not_the_context", "worst_slices", "read_first"),
            **_diagnosis_head(diagnosis, findings),
            stages=_stages(diagnosis, findings),
            **values,
            doubted_metrics=doubted_metrics(diagnosis, findings),
            next_steps=step_sentences(next_steps_of(self.store, diagnosis, findings)),
        )

    def metrics(
        self,
        run: RunName = "",
        names: Annotated[
            list[str] | None,
            Field(description='Full names of metrics, such as "faithfulness" or "recall@5"; none for all.'),
        ] = None,
        cursor: Cursor = "",
    ) -> dict[str, Any]:
        """Return every metric of a run: mean, 95 % interval, questions scored, source, and its target band.

        `n_scored` of `n_applicable` questions have a value; `source` says whether it was computed here,
        imported or judged by a model; `too_few` warns of an interval that rests on too little.
        """
        chosen = self.chosen_run(run)
        values = metrics_answer(self.store, chosen, self.store.options(chosen))
        metrics = values["metrics"]
        unknown = [name for name in names or () if name not in metrics]
        if unknown:
            accepted = ", ".join(list(metrics)[:60]) or "none, this run has no metrics"
            raise DataError(f"metric {unknown[0][:60]!r} is not in this run; accepted: {accepted}")
        kept = ("mean", "low", "high", "n_scored", "n_applicable", "n_failed", "source", "band", "too_few")
        entries = [(name, {key: metrics[name][key] for key in kept}) for name in names or metrics]
        head = {
            "run": self.run_values(chosen),
            "note": DATA_NOTE,
            "next": f'cases(run="{chosen.run_id}", metric="...", at_most=0.5) lists low values',
        }
        page = self.paged(head, (), "metrics", "metric", entries, cursor)
        return {**page, "metrics": dict(page["metrics"])}

    def compare(
        self,
        base: BaselineName = "",
        run: RunName = "",
        family: Annotated[
            Family, Field(description="Metrics to compare; p values are corrected over them.")
        ] = "headline",
        cursor: Cursor = "",
    ) -> dict[str, Any]:
        """Compare a run with a baseline, paired on question: what got better or worse beyond chance.

        `verdict` per metric is better, worse, "no worse" (a loss is below `margin`), equal (a gain too), or
        "cannot tell": then do not claim a change; a loss of up to `largest_loss` may hide, and `needed`
        questions would settle it; "estimated" is told from words and decides nothing. `warnings` say
        what makes the two runs unequal.
        """
        after = self.chosen_run(run)
        before = self.chosen_run(base) if base else self._baseline(after)
        if before.run_id == after.run_id:
            raise DataError(
                f"run {after.run_id} is the baseline itself; accepted: two different runs as base and run"
            )
        comparisons = comparisons_with(self.store, before, [after], family)
        values = comparison_answer(before, [after], comparisons, family)["comparisons"][0]
        for change in values["metrics"].values():
            for unadjusted in ("low", "high", "p"):
                del change[unadjusted]
        entries = list(values.pop("metrics").items())
        head = {
            "run": self.run_values(after),
            "baseline": self.run_values(before),
            "headline": headline_values(self._change_headline(before, after, comparisons[0])),
            **{key: value for key, value in values.items() if key != "run"},
            "note": DATA_NOTE,
            "next": f'cases(run="{after.run_id}", against="{before.run_id}") lists what newly fails',
        }
        page = self.paged(head, ("warnings", "refusals", "slices"), "metrics", "metric", entries, cursor)
        return {**page, "metrics": dict(page["metrics"])}

    def _baseline(self, run: Run) -> Run:
        """Return the baseline of a run's project.

        Raises:
            DataError: it has none; the message says why.
        """
        baseline = baseline_of(self.store, run, "")
        if baseline.run is None:
            raise DataError(
                f"base is not given, and {baseline.note}; accepted: base, the id or name of a run"
            )
        return baseline.run

    def _change_headline(self, before: Run, after: Run, comparison: Comparison) -> Headline:
        """Return the headline of the page Compare for a pair of runs."""
        names, drawn = self.store.names(), drawn_metrics(comparison)
        sides = [
            (names[side.run_id], self.diagnosis(side), check_run(self.store.scored(side)))
            for side in (after, before)
        ]
        return compare_headline(
            after.run_id,
            {after.run_id: comparison},
            names,
            names[before.run_id],
            drawn,
            {metric: metric_doubts_of(sides, metric) for metric in drawn},
        )

    def _gate_values(self, report: GateReport, strict: bool, whole: bool = False) -> dict[str, Any]:
        """Return the gates of a report and what newly fails; in full, or what a first look needs."""
        values = report.to_dict(strict)
        gates = values["gates"]
        if not whole:
            kept = ("gate", "severity", "verdict", "sentence")
            ranked = sorted(gates, key=lambda gate: _ORDER.index(gate["verdict"]))
            gates = [{key: gate[key] for key in kept} for gate in ranked]
        failing = [
            {
                "question_id": case.question_id,
                "repeat": case.repeat,
                "critical": case.critical,
                "quoted": {"question": quoted(case.question, 200)},
            }
            for case in report.newly_failing[: MOST_QUESTIONS if whole else 5]
        ]
        base = report.baseline.run
        return {
            "verdict": values["verdict"],
            "exit_code": values["exit_code"],
            "baseline": None if base is None else self.run_values(base),
            "baseline_note": name_text(values["baseline_note"]),
            "changes": newly_failing_text(report),
            "n_newly_failing": len(report.newly_failing),
            "newly_failing": failing,
            "gates": gates,
            "warnings": [*report.warnings, *report.cautions],
        }

    def _without_gates(self, run: Run, problem: str) -> dict[str, Any]:
        """Return what is known of a run whose gates cannot be read: its diagnosis."""
        diagnosis = self.diagnosis(run)
        findings = check_run(diagnosis.scored)
        headline = gates_unreadable(self.store.names()[run.run_id], " ".join(problem.split()))
        return self.answer(
            run,
            [f'cases(run="{run.run_id}") lists the failing cases'],
            "stages",
            headline=headline_values(headline),
            **_diagnosis_head(diagnosis, findings),
            stages=_stages(diagnosis, findings),
        )


def _diagnosed(report: GateReport) -> tuple[Diagnosis, Sequence[Finding]]:
    """Return the diagnosis and the findings that a report of gate_run always carries."""
    if report.diagnosis is None:
        raise DataError(f"run {report.run.run_id} has no diagnosis; accepted: a run with samples")
    return report.diagnosis, report.findings


def _diagnosis_head(diagnosis: Diagnosis, findings: Sequence[Finding]) -> dict[str, Any]:
    """Return the pass rate and what to fix first, with the sentence of the pages and commands."""
    rate, fix_first = diagnosis.pass_rate, diagnosis.fix_first
    return {
        "pass_rate": {
            "mean": rate.mean,
            "low": rate.low,
            "high": rate.high,
            "n_questions": rate.n_scored,
            "name": rate_name(diagnosis.answers.enough),
            "rests_on": rate_basis(diagnosis),
        },
        "fix_first": {
            "sentence": (fix_first_sentence if fix_first else no_bad_case)(diagnosis, findings),
            "stage": fix_first[0].key if fix_first else None,
            "advice": stage_advice(diagnosis, fix_first[0].key, findings) if fix_first else "",
        },
    }


def _stages(diagnosis: Diagnosis, findings: Sequence[Finding]) -> list[dict[str, Any]]:
    """List the failure stages with bad cases, most first."""
    return [
        {
            "stage": entry.key,
            "title": stage_title(diagnosis, entry.key, findings),
            "owner": entry.owner,
            "n_bad": entry.n_bad,
            "pass_rate_if_fixed_at_most": entry.pass_rate_if_perfect,
            "meaning": STAGES[stage_code(entry.key)].meaning,
            "advice": stage_advice(diagnosis, entry.key, findings),
        }
        for entry in diagnosis.fix_first
    ]


def _next_steps(run: Run, stages: Sequence[dict[str, Any]], report: GateReport) -> list[str]:
    steps = []
    if report.newly_failing and report.baseline.run:
        base = report.baseline.run.run_id
        steps.append(f'cases(run="{run.run_id}", against="{base}") lists what newly fails, with reasons')
    if stages:
        steps.append(f'cases(run="{run.run_id}", stage="{stages[0]["stage"]}") lists the cases to fix first')
    if report.baseline.run:
        steps.append(f'compare(base="{report.baseline.run.run_id}", run="{run.run_id}") tests every metric')
    steps.append(f'gate(run="{run.run_id}") has every gate in full')
    return [*steps, f'metrics(run="{run.run_id}") has every metric']
