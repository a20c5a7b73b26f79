"""What a judge is asked to do with a run: the reading, or one of the project's evaluators."""

from __future__ import annotations

from pathlib import Path

from data.errors import DataError
from data.evaluators import EvaluatorWork, find_evaluator
from data.judge_calls import Work
from data.judge_reading import ReadingWork
from data.ledger import Ledger
from data.model_prices import Model
from data.workspace import Workspace

__all__ = ["judge_work", "own_prompts"]


def own_prompts(workspace: Workspace) -> Path:
    """Where a workspace's own prompts lie, if it has any."""
    return workspace.root / "prompts"


def judge_work(
    workspace: Workspace, project: str, model: Model, evaluator: str = "", prompts: str | None = None
) -> Work:
    """Give the work.

    Args:
        workspace: of the run.
        project: of the run.
        model: whom it is asked of.
        evaluator: name of one, "" for the reading.
        prompts: folder with prompts of one's own; the workspace's where left out.

    Raises:
        DataError: no such folder, or no such evaluator.
    """
    folder = Path(prompts) if prompts else own_prompts(workspace)
    if prompts and not folder.is_dir():
        raise DataError(f"prompts {prompts}: no such folder; accepted: one with reading.md and the like")
    if evaluator:
        found = find_evaluator(Ledger(workspace.ledger_path), project, evaluator)
        return EvaluatorWork.of(found, folder)
    return ReadingWork.of(model.window, folder)
