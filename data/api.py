"""The door for Python: records or a DataFrame become a run, and a run gets its verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from data.errors import ValidationErrors
from data.gates.baseline import baseline_of
from data.gates.config import load_gates
from data.gates.report import GateReport, gate_run
from data.importers.formats.frames import runs_from_frame
from data.importers.load import import_parsed_runs
from data.scoring.run_store import RunStore
from data.store.workspace import Run, Workspace

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["add_run", "gate"]


def add_run(
    records: pd.DataFrame | Sequence[Mapping[str, Any]],
    name: str,
    project: str | None = None,
    workspace: str | None = None,
    config: Mapping[str, Any] | None = None,
    dataset: str = "",
) -> Run:
    """Make a run of records or of a DataFrame, score it, and put it into a workspace.

    Args:
        records: samples in the native form (docs/format.md), or a table whose columns can be guessed.
        name: what to call the run.
        project: what it belongs to; the workspace's only project, or `default`, when left out.
        workspace: folder; RAGTRIAGE_WORKSPACE or ./ragtriage-workspace when left out.
        config: pipeline configuration.
        dataset: name of the question set.

    Returns:
        The run; the one that was there already when its content is the same.

    Raises:
        InputError: a record cannot be used; the message names the row and the field.
    """
    problems = ValidationErrors(name)
    drafts = runs_from_frame(records, name, problems, config=dict(config or {}), dataset=dataset)
    store = RunStore(Workspace.find(workspace).create())
    return import_parsed_runs(store, drafts, project or store.usual_project(), problems)[-1].run


def gate(run: str, baseline: str = "", config: str | None = None, workspace: str | None = None) -> GateReport:
    """Judge a run by the gates of its project, as `ragtriage gate` does.

    Args:
        run: id or name.
        baseline: id or name of what it is held against; the project's baseline when left out.
        config: a gates.toml; the workspace's, else the bundled one, when left out.
        workspace: folder; RAGTRIAGE_WORKSPACE or ./ragtriage-workspace when left out.

    Raises:
        DataError: a run is not there, or the gates cannot be read; the message says what would be accepted.
    """
    store = RunStore(Workspace.find(workspace))
    found = store.find(run)
    return gate_run(store, found, baseline_of(store, found, baseline), load_gates(store.workspace, config))
