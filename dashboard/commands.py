"""What the commands do: each gives its answer as JSON values, and a way to write it as text."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from dashboard import diagnose_command
from dashboard.diagnose_command import diagnosis_of
from dashboard.rounding import interval_text, number, p_value, signed
from dashboard.terminal import plain, table
from data.catalogue import Catalogue
from data.comparisons import Comparison, compare
from data.diagnoses import DiagnosisSettings
from data.errors import DataError
from data.exports import EXPORTS, export_rows
from data.families import shared_metrics
from data.findings import check_run
from data.summaries import title_of
from data.tables import RunTable
from data.workspace import Run, Workspace
from metrics.registry import Convention
from metrics.statistics import question_means

__all__ = [
    "check_numbers_of",
    "compare_runs",
    "delete_runs",
    "export_run",
    "list_runs",
    "open_workspace",
    "run_diagnosis",
    "run_metrics",
    "show_run",
]

Answer = tuple[Any, Callable[[], str]]
HEADLINE = ("faithfulness", "answer_relevancy", "context_recall", "context_precision")


def open_workspace(given: str | None) -> Catalogue:
    """Open the workspace named, or the default one."""
    return Catalogue(Workspace.find(given).create())


def list_runs(workspace: str | None) -> Answer:
    """List the runs of a workspace."""
    catalogue = open_workspace(workspace)
    names = catalogue.names()
    found = [_run_line(run, names[run.run_id]) for run in catalogue.runs()]

    def text() -> str:
        if not found:
            return "No runs yet; load some with `ragtriage import FILE` or `ragtriage demo`."
        rows = [
            [one["run_id"], one["project"], one["name"], f"{one['n']:,}", one["created_at"]] for one in found
        ]
        return table(["run", "project", "name", "samples", "created"], rows)

    return found, text


def _run_line(run: Run, name: str) -> dict[str, Any]:
    return {
        "run_id": run.run_id,
        "name": name,
        "project": run.project,
        "n": run.n,
        "n_questions": run.n_questions,
        "created_at": run.created_at.isoformat(),
    }


def show_run(workspace: str | None, wanted: str) -> Answer:
    """Give the facts of a run."""
    catalogue = open_workspace(workspace)
    run = catalogue.find(wanted)
    facts = {
        **_run_line(run, catalogue.names()[run.run_id]),
        "imported_name": run.name,
        "imported_at": run.imported_at.isoformat(),
        "origin": run.origin,
        "config": run.config,
        "dataset": run.dataset,
        "dataset_version": run.dataset_version,
        "corpus_version": run.corpus_version,
        "content_hash": run.content_hash,
        "fields": list(run.fields),
        "notes": list(run.notes),
        "not_computable": catalogue.table(run).missing,
    }
    return facts, lambda: "\n".join(f"{key}: {plain(str(value))}" for key, value in facts.items())


def run_metrics(
    workspace: str | None, wanted: str, ks: tuple[int, ...], per_sample: bool, convention: Convention
) -> Answer:
    """Give every metric of a run."""
    catalogue = open_workspace(workspace)
    run = catalogue.find(wanted)
    options = catalogue.options(run, ks, convention)
    summary = catalogue.summary(run, options)
    answer: dict[str, Any] = {
        "run": run.run_id,
        "n": run.n,
        "n_questions": run.n_questions,
        "convention": convention,
        "metrics": {name: {**one.to_dict(), "source": one.source} for name, one in summary.items()},
    }
    if per_sample:
        answer["samples"] = _per_sample(catalogue.table(run, options), list(summary))

    def text() -> str:
        rows = [
            [
                name,
                number(one.mean, 3),
                interval_text(one.low, one.high, 3),
                f"{one.n_scored:,} of {one.n_applicable:,}",
                one.source,
                "too few" if one.too_few else "",
            ]
            for name, one in summary.items()
        ]
        return table(["metric", "mean", "95 % interval", "questions", "source", ""], rows)

    return answer, text


def _per_sample(found: RunTable, metrics: list[str]) -> dict[str, dict[str, float | None]]:
    columns = {name: question_means(found.values(name), found.question)[0] for name in metrics}
    return {
        str(question): {name: _json_number(values[at]) for name, values in columns.items()}
        for at, question in enumerate(found.question_ids)
    }


def _json_number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def run_diagnosis(workspace: str | None, wanted: str, **settings: Any) -> Answer:
    """Say where the cases of a run fail."""
    return diagnose_command.run_diagnosis(open_workspace(workspace), wanted, **settings)


def compare_runs(workspace: str | None, base: str, others: Sequence[str], family: str = "all") -> Answer:
    """Compare runs with a baseline."""
    catalogue = open_workspace(workspace)
    runs = [catalogue.find(wanted) for wanted in (base, *others)]
    found = [diagnosis_of(catalogue, run, DiagnosisSettings()) for run in runs]
    names = catalogue.names()
    sides = [
        compare(found[0], one, shared_metrics([found[0].table, one.table], family=family))
        for one in found[1:]
    ]
    answer = {
        "baseline": runs[0].run_id,
        "family": family,
        "comparisons": [_comparison(run, side) for run, side in zip(runs[1:], sides, strict=True)],
    }

    def text() -> str:
        parts = [
            _comparison_text(f"{names[run.run_id]} against {names[runs[0].run_id]}", side)
            for run, side in zip(runs[1:], sides, strict=True)
        ]
        return "\n\n".join(parts)

    return answer, text


def _comparison(run: Run, side: Comparison) -> dict[str, Any]:
    return {
        "run": run.run_id,
        "warnings": list(side.warnings),
        "n_shared": len(side.alignment.base),
        "metrics": {
            one.metric: {
                "baseline": _json_number(one.base),
                "run": _json_number(one.other),
                "difference": _json_number(one.difference.difference),
                "low": _json_number(one.difference.low),
                "high": _json_number(one.difference.high),
                "p": _json_number(one.difference.p),
                "adjusted_p": _json_number(one.adjusted_p),
                "n_pairs": one.difference.n_pairs,
                "verdict": one.verdict,
            }
            for one in side.differences
        },
    }


def _comparison_text(title: str, side: Comparison) -> str:
    rows = [
        [
            title_of(one.metric),
            number(one.base, 3),
            number(one.other, 3),
            signed(one.difference.difference, 3),
            interval_text(one.difference.low, one.difference.high, 3),
            p_value(one.adjusted_p),
            one.verdict,
        ]
        for one in side.differences
    ]
    header = ["metric", "baseline", "run", "difference", "95 % interval", "p (Holm)", "verdict"]
    family = f"{len(rows)} metrics, {len(side.alignment.base):,} shared questions"
    return "\n".join([f"{plain(title)} ({family})", *side.warnings, table(header, rows)])


def check_numbers_of(workspace: str | None, wanted: str) -> Answer:
    """Check the numbers of a run against each other."""
    catalogue = open_workspace(workspace)
    found = check_run(catalogue.table(catalogue.find(wanted)))

    def text() -> str:
        return (
            "\n".join(f"{one.severity}: {one.title}: {plain(one.message)}" for one in found)
            or "Nothing found."
        )

    return [asdict(one) for one in found], text


def export_run(workspace: str | None, wanted: str, output: str | None, kind: str | None) -> None:
    """Write the samples of a run with scores and diagnosis."""
    catalogue = open_workspace(workspace)
    found = diagnosis_of(catalogue, catalogue.find(wanted), DiagnosisSettings())
    ending = Path(output).suffix.removeprefix(".") if output else "jsonl"
    form = kind or (ending if ending in EXPORTS else "jsonl")
    content = export_rows(found, np.arange(found.table.n), form)
    if output is None:
        sys.stdout.buffer.write(content)
        return
    try:
        Path(output).write_bytes(content)
    except OSError as error:
        raise DataError(
            f"{output}: cannot be written ({error.strerror}); accepted: a file in a writable folder"
        ) from error


def delete_runs(workspace: str | None, wanted: Sequence[str]) -> Answer:
    """Delete runs."""
    catalogue = open_workspace(workspace)
    runs = [catalogue.find(one) for one in wanted]
    for run in runs:
        catalogue.workspace.delete_run(run.run_id)
    gone = [run.run_id for run in runs]
    return {"deleted": gone}, lambda: f"Deleted {', '.join(gone)}."
