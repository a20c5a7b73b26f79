"""What can be done with runs from Python: the implementation of `ragtriage` and of the commands' answers.

Functions named `..._answer` return the JSON values that the command of that name prints with --json.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import numpy as np

from ragtriage.data.cases.cases import stage_order
from ragtriage.data.cases.export import native_record
from ragtriage.data.cases.refusal_cohorts import refusal_counts
from ragtriage.data.comparison.answered import RefusalPairs
from ragtriage.data.comparison.compare import Comparison, compare
from ragtriage.data.comparison.compared_metrics import (
    DEFAULT_FAMILY,
    pair_metrics,
    primary_metric,
    resolved_primary,
)
from ragtriage.data.comparison.guardrails import judged_guardrails
from ragtriage.data.comparison.published_results import band_scale, interpretations
from ragtriage.data.comparison.question_changes import newly_failing
from ragtriage.data.declarations import declaration_of, declare, use_declarations
from ragtriage.data.diagnosis.context import context_metrics_of, not_the_context, part_title
from ragtriage.data.diagnosis.diagnosis import Diagnosis, DiagnosisSettings, diagnose
from ragtriage.data.diagnosis.doubts import pass_rate_doubts, stage_doubt
from ragtriage.data.diagnosis.good_case import part_summary, right_summary
from ragtriage.data.diagnosis.run_checks import check_run
from ragtriage.data.errors import DataError, ValidationErrors
from ragtriage.data.gates.baseline import baseline_of
from ragtriage.data.gates.config import load_gates
from ragtriage.data.gates.next_steps import NextStep, next_steps
from ragtriage.data.gates.report import GateReport, gate_run
from ragtriage.data.importers.formats.frames import runs_from_frame
from ragtriage.data.importers.importer import Options
from ragtriage.data.importers.load import import_parsed_runs, import_source, inputs_of, joined
from ragtriage.data.importers.registry import tool_rows
from ragtriage.data.scoring.batch_scores import ScoreOptions
from ragtriage.data.scoring.run_store import RunStore, distinct_labels
from ragtriage.data.scoring.run_store import open_store as open_store
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.store.workspace import Run
from ragtriage.metrics.diagnosis.stages import STAGES
from ragtriage.metrics.gates.wording import GOOD_SHARE
from ragtriage.metrics.metric_registry import REGISTRY, declared, ordered
from ragtriage.metrics.sanity.documents import said_first
from ragtriage.metrics.sanity.rule import Finding
from ragtriage.metrics.schema.scores import finite_or_none
from ragtriage.metrics.statistics.intervals import Interval, question_means

if TYPE_CHECKING:
    import pandas as pd


def add_run(
    records: pd.DataFrame | Sequence[Mapping[str, Any]],
    name: str,
    project: str | None = None,
    workspace: str | None = None,
    config: Mapping[str, Any] | None = None,
    dataset: str = "",
    metrics: Mapping[str, Mapping[str, Any]] | None = None,
) -> Run:
    """Add a run made of records or of a DataFrame to a workspace, and score it.

    Args:
        records: samples in the native form (docs/format.md), or a table whose columns can be guessed.
        name: what to call the run.
        project: what it belongs to; the workspace's only project, or `default`, when left out.
        workspace: folder; RAGTRIAGE_WORKSPACE or ./ragtriage-workspace when left out.
        config: pipeline configuration.
        dataset: name of the question set.
        metrics: what to declare of its imported scores: name -> {direction, range, title}.

    Returns:
        The run; the one that is already there when its content is the same.

    Raises:
        InputError: a record cannot be used; the message names the row and the field.
    """
    errors = ValidationErrors(name)
    declarations = {metric: declaration_of(metric, entry, name) for metric, entry in (metrics or {}).items()}
    parsed_runs = runs_from_frame(
        records, name, errors, config=dict(config or {}), dataset=dataset, tools=tool_rows()
    )
    store = open_store(workspace, create=True)
    project = project or store.usual_project()
    run = import_parsed_runs(store, parsed_runs, project, errors)[-1].run
    declare(store.workspace, project, declarations)
    return run


def add_file(path: str, name: str | None = None, workspace: str | None = None) -> list[Run]:
    """Import a file that an evaluation wrote, as `ragtriage import` does; its format is detected.

    Args:
        path: the file, or the folder of a tool.
        name: what to call the run; with several in the file, a prefix of their names.
        workspace: folder; RAGTRIAGE_WORKSPACE or ./ragtriage-workspace when left out.

    Raises:
        DataError: it cannot be read; nothing of it was loaded.
    """
    store, options = open_store(workspace, create=True), Options(name=name)
    project = store.usual_project()
    return [
        imported.run
        for source, source_options in joined(inputs_of(path, options))
        for imported in import_source(store, source, source_options, project)
    ]


def gate(run: str, baseline: str = "", config: str | None = None, workspace: str | None = None) -> GateReport:
    """Judge a run by the gates of its project, as `ragtriage gate` does.

    Args:
        run: id or name.
        baseline: id or name of the run to compare with; the project's baseline when left out.
        config: a gates.toml; the workspace's, else the bundled one, when left out.
        workspace: folder; RAGTRIAGE_WORKSPACE or ./ragtriage-workspace when left out.

    Raises:
        DataError: a run is not there, or the gates cannot be read; the message says what would be accepted.
    """
    store = open_store(workspace)
    judged = store.find(run)
    against = baseline_of(store, judged, baseline)
    if baseline and against.itself:
        raise DataError(
            f"baseline {baseline!r}: is the run that is judged; accepted: another run, or no baseline at all"
        )
    return gate_run(store, judged, against, load_gates(store.workspace, config))


def runs_answer(store: RunStore) -> list[dict[str, Any]]:
    """List the runs of a workspace, oldest first."""
    runs = store.runs()  # before the names: a run that another process has just added has a name by then
    names = store.names()
    return [run_entry(run, names.get(run.run_id, run.name)) for run in runs]


def run_entry(run: Run, name: str) -> dict[str, Any]:
    """Return what a list of runs has about one."""
    return {
        "run_id": run.run_id,
        "name": name,
        "project": run.project,
        "n": run.n,
        "n_questions": run.n_questions,
        "created_at": run.created_at.isoformat(),
    }


def samples_answer(store: RunStore, run: Run) -> list[dict[str, Any]]:
    """List the samples of a run in the native form (docs/format.md)."""
    return [native_record(sample) for sample in store.scored(run).samples.read(range(run.n))] if run.n else []


def scores_answer(store: RunStore, run: Run) -> dict[str, list[Any]]:
    """Return the scores of a run by column: question_id, repeat, and each metric, None where not scored."""
    if not run.n:
        return {"question_id": [], "repeat": []}
    scored = store.scored(run)
    columns: dict[str, list[Any]] = {
        "question_id": scored.question_ids[scored.question].tolist(),
        "repeat": scored.repeats.tolist(),
    }
    for metric in ordered(scored.metrics):
        values = scored.values(metric)
        columns[metric] = [finite_or_none(value) for value in values]
    return columns


def failing_cases_answer(store: RunStore, run: Run, base: Run | None, most: int) -> dict[str, Any]:
    """Return the cases that newly fail against a baseline; without one, or where none does, the bad ones.

    Args:
        store: of the workspace.
        run: the run.
        base: the baseline, if there is one.
        most: cases to list; `total` counts all.
    """
    diagnosis = diagnosis_of(store, run, DiagnosisSettings())
    rows, kind = stage_order(diagnosis), "newly failing" if base else "bad"
    if base is not None:
        failing = newly_failing(diagnosis_of(store, base, DiagnosisSettings()), diagnosis).samples
        rows = rows[failing[rows]]
    if not len(rows) or base is None:
        kind, rows = "bad", stage_order(diagnosis)
        rows = rows[diagnosis.bad.bad[rows]]
    listed = rows[:most].tolist()
    samples = diagnosis.scored.samples.read(listed, ["question_id", "repeat", "question"])
    stages = [int(diagnosis.stages.stage[row]) for row in listed]
    return {
        "kind": kind,
        "total": len(rows),
        "cases": [
            {
                "question_id": sample["question_id"],
                "repeat": int(sample["repeat"]),
                "question": str(sample["question"])[:300],
                "stage": STAGES[stage].title if stage >= 0 else "",
            }
            for sample, stage in zip(samples, stages, strict=True)
        ],
    }


def metrics_answer(
    store: RunStore, run: Run, options: ScoreOptions, per_sample: bool = False, bands: str = ""
) -> dict[str, Any]:
    """Return every metric of a run: mean, interval, counts, source and interpretation.

    Args:
        store: of the workspace.
        run: the run.
        options: ranks k and zero-division convention, see RunStore.options.
        per_sample: whether to add one value a question and metric.
        bands: key of the scale of bands; the production targets when left out.
    """
    summaries = store.summary(run, options)
    sentences = interpretations(store.scored(run, options), summaries, band_scale(store.workspace, bands))
    metrics: dict[str, Any] = {}
    for name, summary in summaries.items():
        interpretation = sentences[name]
        metrics[name] = {
            **summary.to_dict(),
            "source": summary.source,
            "band": interpretation.band,
            "band_scale": interpretation.scale or None,
            "sentence": interpretation.sentence,
        }
    answer: dict[str, Any] = {
        "run": run.run_id,
        "n": run.n,
        "n_questions": run.n_questions,
        "convention": options.convention,
        **_sampling(store.scored(run, options)),
        "metrics": metrics,
    }
    if per_sample:
        scored = store.scored(run, options)
        columns = {name: question_means(scored.values(name), scored.question)[0] for name in summaries}
        answer["samples"] = {
            str(question): {name: finite_or_none(values[row]) for name, values in columns.items()}
            for row, question in enumerate(scored.question_ids)
        }
    return answer


def next_steps_of(store: RunStore, diagnosis: Diagnosis, findings: Sequence[Finding]) -> tuple[NextStep, ...]:
    """Return what to do about a diagnosed run, without steps on its gates where none can be read."""
    run, usual = diagnosis.scored.run, diagnosis.settings == DiagnosisSettings()

    def diagnosed(judged: Run) -> Diagnosis:
        if usual and judged.run_id == run.run_id:
            return diagnosis
        return diagnosis_of(store, judged, DiagnosisSettings())

    try:
        gates = load_gates(store.workspace, None)
        results = gate_run(store, run, baseline_of(store, run), gates, diagnosed).results
    except DataError:
        results = ()
    return next_steps(diagnosis, results, findings)


def diagnosis_of(store: RunStore, run: Run, settings: DiagnosisSettings) -> Diagnosis:
    """Diagnose a run with its human labels.

    Raises:
        DataError: the run has no samples, or not the context metric that the settings ask for.
    """
    scored = store.scored(run.with_samples())
    wanted, available = settings.context_metric, context_metrics_of(scored)
    if wanted is not None and wanted not in available:
        accepted = ", ".join(available) or "none, for this run has no such metric"
        raise DataError(f"context metric {wanted!r} is not in this run; accepted: {accepted}")
    return diagnose(scored, settings, store.ledger.labels(run.run_id))


def _sampling(scored: ScoredRun) -> dict[str, Any]:
    """Return how the samples of a run were drawn from more calls; nothing where they are all there is."""
    sampling = scored.sampling
    if sampling is None:
        return {}
    facts = {"kept": sampling.kept, "calls": sampling.calls, "counted": sampling.counted}
    rates = {"least_rate": sampling.least, "most_rate": sampling.most, "effective_n": sampling.n_effective}
    return {"sampling": {**facts, **rates}}


def diagnosis_answer(diagnosis: Diagnosis, settings: DiagnosisSettings) -> dict[str, Any]:
    """Return where the cases of a run fail and what to fix first, with what the sanity checks doubt."""
    findings = check_run(diagnosis.scored)
    doubts = {stage.key: stage_doubt(diagnosis, findings, stage.key) for stage in STAGES}
    return {
        "run": diagnosis.scored.run.run_id,
        "n": diagnosis.scored.n,
        **_sampling(diagnosis.scored),
        "signal": diagnosis.context_metric,
        "context_metrics": diagnosis.context.counts,
        "context_by_question": _context_by_question(diagnosis),
        "not_the_context": not_the_context(diagnosis.scored),
        "cutoffs": asdict(settings.thresholds),
        "read_first": [finding.to_dict() for finding in said_first(findings)],
        "bad": int(diagnosis.bad.bad.sum()),
        "n_measured": int(diagnosis.measured.sum()),
        "n_fully_measured": int(diagnosis.coverage.fully.sum()),
        "measured_by": {name: int(measured.sum()) for name, measured in diagnosis.coverage.by.items()},
        "pass_rate": {
            **_interval(diagnosis.pass_rate),
            "answers_checked": diagnosis.answers.enough,
            "raw": None if diagnosis.label_correction is None else diagnosis.label_correction.raw,
            "n_labels": 0 if diagnosis.label_correction is None else diagnosis.label_correction.n_labelled,
            "set_by_people": int(diagnosis.human_labels.decided.sum()),
        },
        "parts": part_summary(diagnosis),
        "right": right_summary(diagnosis),
        "patterns": diagnosis.pattern_counts(),
        "stages": diagnosis.stage_counts(),
        "doubts": {key: asdict(doubt) for key, doubt in doubts.items() if doubt is not None},
        "pass_rate_doubts": [finding.title for finding in pass_rate_doubts(diagnosis, findings)],
        "partial_gold": {part_title(part): n for part, n in diagnosis.gold_parts.items()},
        "fix_first": [asdict(stage) for stage in diagnosis.fix_first],
        "worst_slices": [asdict(worst) for worst in diagnosis.worst_slices],
        "refusals": refusal_counts(diagnosis.scored),
        "symptoms": [symptom.key for symptom in diagnosis.symptoms],
        "precision_recall": [asdict(reading) for reading in diagnosis.pair_readings],
    }


def _context_by_question(diagnosis: Diagnosis) -> dict[str, dict[str, Any]]:
    """Return the context metric of each question, repeats averaged; None where none was measured."""
    scored = diagnosis.scored
    means = question_means(diagnosis.context.values, scored.question)[0]
    names: dict[int, str | None] = {}
    for row in np.argsort(diagnosis.context.code < 0, kind="stable"):
        names.setdefault(int(scored.question[row]), diagnosis.context.metric_at(int(row)))
    return {
        str(question): {"metric": names[at], "value": finite_or_none(means[at])}
        for at, question in enumerate(scored.question_ids)
    }


def _interval(interval: Interval) -> dict[str, Any]:
    return {
        "mean": finite_or_none(interval.mean),
        "low": finite_or_none(interval.low),
        "high": finite_or_none(interval.high),
        "n_questions": interval.n_scored,
        "method": interval.method,
        "too_few": interval.too_few,
    }


def comparisons_with(
    store: RunStore, base: Run, others: Sequence[Run], family: str = DEFAULT_FAMILY, primary: str = ""
) -> list[Comparison]:
    """Compare runs with a baseline, paired on question: the primary metric alone, the family corrected.

    Raises:
        DataError: the primary metric that the caller names is neither known nor a score of these runs.
    """
    use_declarations(store.workspace, base.project)
    named = resolved_primary(primary, "--primary") if primary else ""
    primary = named or primary_metric(store.workspace, base.project)
    base_diagnosis, *diagnoses = [diagnosis_of(store, run, DiagnosisSettings()) for run in (base, *others)]
    if named and named != GOOD_SHARE and declared(named) is None:
        scores = {name for side in (base_diagnosis, *diagnoses) for name in side.scored.metrics}
        if named not in scores:
            near = get_close_matches(named, [GOOD_SHARE, *REGISTRY, *sorted(scores)], n=3, cutoff=0.4)
            accepted = f'"{GOOD_SHARE}", a metric of docs/metrics.md or an imported score'
            meant = f"; near names: {', '.join(near)}" if near else ""
            raise DataError(f"--primary {named[:60]!r}: no run has it; accepted: {accepted}{meant}")
    compared: list[Comparison] = []
    for diagnosis in diagnoses:
        metrics = pair_metrics(base_diagnosis.scored, diagnosis.scored, family)
        comparison = compare(base_diagnosis, diagnosis, metrics, primary=primary)
        guarded = judged_guardrails(base_diagnosis, diagnosis, comparison.matched)
        compared.append(replace(comparison, guardrails=tuple(guarded)))
    return compared


def sides_of(store: RunStore, runs: Sequence[Run]) -> list[tuple[str, Diagnosis, list[Finding]]]:
    """Return what each of several runs is called beside the others, its diagnosis and the findings on it."""
    labels = distinct_labels(runs, store.names())
    return [
        (
            labels[run.run_id],
            diagnosis_of(store, run, DiagnosisSettings()),
            list(check_run(store.scored(run))),
        )
        for run in runs
    ]


def comparison_answer(
    base: Run, others: Sequence[Run], comparisons: Sequence[Comparison], family: str
) -> dict[str, Any]:
    """Return the paired difference of every metric, for each run beside the baseline."""
    return {
        "baseline": base.run_id,
        "family": family,
        "comparisons": [
            {
                "run": run.run_id,
                "warnings": list(comparison.warnings),
                "n_shared": len(comparison.matched.base),
                "refusals": [_refusals(pairs) for pairs in comparison.refusals],
                "primary": comparison.primary.metric,
                "n_family": comparison.n_family,
                "metrics": {
                    row.metric: {
                        "baseline": finite_or_none(row.base),
                        "run": finite_or_none(row.other),
                        "difference": finite_or_none(row.difference.difference),
                        "low": finite_or_none(row.difference.low),
                        "high": finite_or_none(row.difference.high),
                        "p": finite_or_none(row.difference.p),
                        "adjusted_p": finite_or_none(row.adjusted_p),
                        "verdict_low": finite_or_none(row.low),
                        "verdict_high": finite_or_none(row.high),
                        "primary": row.primary,
                        "n_pairs": row.difference.n_pairs,
                        "verdict": row.verdict,
                        "margin": row.test.margin,
                        "largest_loss": finite_or_none(row.test.largest_loss),
                        "needed": row.test.needed,
                    }
                    for row in comparison.differences
                },
                **comparison.parts_answer(),
            }
            for run, comparison in zip(others, comparisons, strict=True)
        ],
    }


def _refusals(pairs: RefusalPairs) -> dict[str, Any]:
    change = pairs.difference
    return {
        "metric": pairs.metric,
        "n_refused_in_one_run": pairs.n_one_side,
        "n_rightly": pairs.n_rightly,
        "n_pairs": pairs.n_pairs,
        "baseline_with_refusals": pairs.base,
        "run_with_refusals": pairs.other,
        "difference": finite_or_none(change.difference),
        "low": finite_or_none(change.low),
        "high": finite_or_none(change.high),
        "n_with_refusals": change.n_pairs,
    }
