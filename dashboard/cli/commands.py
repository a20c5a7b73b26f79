"""What the commands do: each gives its answer as JSON values, and a way to write it as text."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
import numpy as np

from dashboard.cli import compare, diagnose, show_command
from dashboard.cli.diagnose import diagnosis_of
from dashboard.cli.show_command import run_line
from dashboard.cli.terminal import plain, table, wrapped
from dashboard.wording.formatting import NOT_MEASURED, interval_text, number
from data.cases.export import EXPORTS, export_rows
from data.diagnosis.diagnosis import DiagnosisSettings
from data.errors import DataError
from data.scoring.run_store import RunStore
from data.scoring.sanity import check_run
from data.scoring.scored_run import ScoredRun
from data.scoring.summaries import interpretation_of
from data.store.workspace import Workspace
from metrics.schema.metric import Convention
from metrics.statistics.intervals import FEW_CLUSTERS, question_means

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

TOO_FEW = (
    f"too few: the interval rests on fewer than {FEW_CLUSTERS} questions (or conversations), or on values "
    "that do not vary; read it with caution."
)
Answer = tuple[Any, Callable[[], str]]


def open_workspace(given: str | None, create: bool = False) -> RunStore:
    """Open the workspace named, or the default one; a command that only reads does not make one."""
    found = Workspace.find(given)
    return RunStore(found.create() if create else found)


def list_runs(workspace: str | None) -> Answer:
    """List the runs of a workspace."""
    store = open_workspace(workspace)
    names = store.names()
    found = [run_line(run, names[run.run_id]) for run in store.runs()]
    means = {run.run_id for run in store.runs() if run.means}

    def text() -> str:
        if not found:
            return (
                f"No runs yet in {store.workspace.root}; load some with `ragtriage import FILE` or "
                "`ragtriage demo`, or name another workspace with --workspace."
            )
        rows = [
            [
                one["run_id"],
                one["project"],
                one["name"],
                NOT_MEASURED if one["run_id"] in means else f"{one['n']:,}",
                one["created_at"],
            ]
            for one in found
        ]
        return table(["run", "project", "name", "samples", "created"], rows)

    return found, text


def show_run(workspace: str | None, wanted: str) -> Answer:
    """Give the facts of a run."""
    return show_command.show_run(open_workspace(workspace), wanted)


def run_metrics(
    workspace: str | None, wanted: str, ks: tuple[int, ...], per_sample: bool, convention: Convention
) -> Answer:
    """Give every metric of a run."""
    store = open_workspace(workspace)
    run = store.find(wanted)
    options = store.options(run, ks, convention)
    summary = store.summary(run, options)
    answer: dict[str, Any] = {
        "run": run.run_id,
        "n": run.n,
        "n_questions": run.n_questions,
        "convention": convention,
        "metrics": {name: {**one.to_dict(), "source": one.source} for name, one in summary.items()},
    }
    said = {name: interpretation_of(name, one) for name, one in summary.items()}
    for name, one in said.items():
        answer["metrics"][name] |= {"band": one.band, "sentence": one.sentence}
    if per_sample:
        answer["samples"] = _per_sample(store.table(run, options), list(summary))

    def text() -> str:
        rows = [
            [
                name,
                number(one.mean, 3),
                interval_text(one.low, one.high, 3),
                f"{one.n_scored:,} of {one.n_applicable:,}",
                one.source,
                said[name].standing,
                "too few" if one.too_few and one.n_scored else "",
            ]
            for name, one in summary.items()
        ]
        header = ["metric", "mean", "95 % interval", "questions", "source", "band", "caution"]
        return "\n".join([table(header, rows), *([wrapped(TOO_FEW)] if any(row[-1] for row in rows) else [])])

    return answer, text


def _per_sample(found: ScoredRun, metrics: list[str]) -> dict[str, dict[str, float | None]]:
    columns = {name: question_means(found.values(name), found.question)[0] for name in metrics}
    return {
        str(question): {name: _json_number(values[at]) for name, values in columns.items()}
        for at, question in enumerate(found.question_ids)
    }


def _json_number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def run_diagnosis(workspace: str | None, wanted: str, **settings: Any) -> Answer:
    """Say where the cases of a run fail."""
    return diagnose.run_diagnosis(open_workspace(workspace), wanted, **settings)


def compare_runs(workspace: str | None, base: str, others: Sequence[str], family: str = "all") -> Answer:
    """Compare runs with a baseline."""
    return compare.compare_runs(open_workspace(workspace), base, others, family)


def check_numbers_of(workspace: str | None, wanted: str) -> Answer:
    """Check the numbers of a run against each other."""
    store = open_workspace(workspace)
    found = check_run(store.table(store.find(wanted)))

    def text() -> str:
        return (
            "\n".join(
                wrapped(f"{one.severity}: {plain(one.title)}: {plain(one.message)}", "  ") for one in found
            )
            or "Nothing found."
        )

    return [asdict(one) for one in found], text


def export_run(workspace: str | None, wanted: str, output: str | None, kind: str | None) -> None:
    """Write the samples of a run with scores and diagnosis."""
    store = open_workspace(workspace)
    found = diagnosis_of(store, store.find(wanted), DiagnosisSettings())
    ending = Path(output).suffix.removeprefix(".") if output else "jsonl"
    form = kind or (ending if ending in EXPORTS else "jsonl")
    content = export_rows(found, np.arange(found.scored.n), form)
    if output is None:
        sys.stdout.buffer.write(content)
        return
    try:
        Path(output).write_bytes(content)
    except OSError as error:
        raise DataError(
            f"{output}: cannot be written ({error.strerror}); accepted: a file in a writable folder"
        ) from error
    click.echo(
        f"Wrote {found.scored.n:,} samples of {found.scored.run.run_id} as {form} to {output}.", err=True
    )


def delete_runs(workspace: str | None, wanted: Sequence[str]) -> Answer:
    """Delete runs."""
    store = open_workspace(workspace)
    runs = [store.find(one) for one in wanted]
    for run in runs:
        store.workspace.delete_run(run.run_id)
    gone = [run.run_id for run in runs]
    return {"deleted": gone}, lambda: f"Deleted {', '.join(gone)}."
