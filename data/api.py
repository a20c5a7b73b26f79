"""The door for Python: records or a DataFrame become a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from data.catalogue import Catalogue
from data.errors import Problems
from data.importers.frames import drafts_from_frame
from data.importing import import_drafts
from data.workspace import Run, Workspace

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["add_run"]


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
    problems = Problems(name)
    drafts = drafts_from_frame(records, name, problems, config=dict(config or {}), dataset=dataset)
    catalogue = Catalogue(Workspace.find(workspace).create())
    return import_drafts(catalogue, drafts, project or catalogue.usual_project(), problems)[-1].run
