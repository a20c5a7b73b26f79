"""Fluency is asked of the judge by its name alone, and is 1 where the judge finds no fault."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command_line import run

from ragtriage.data.api import add_run
from ragtriage.data.errors import WorkspaceError
from ragtriage.data.judge.evaluators import FLUENCY, Evaluator, add_evaluator, evaluators, find_evaluator
from ragtriage.data.labels.ratings import RATING_DIMENSIONS
from ragtriage.data.scoring.judged_scores import JudgedBatch, evaluator_scores
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.metrics.metric_registry import REGISTRY
from ragtriage.metrics.schema.scores import Source


def test_every_project_has_it_and_nobody_else_its_name(workspace: RunStore) -> None:
    ledger = workspace.ledger
    assert evaluators(ledger, "shop") == []
    assert find_evaluator(ledger, "shop", "fluency") is FLUENCY
    with pytest.raises(WorkspaceError, match="taken by the built-in one"):
        add_evaluator(ledger, "shop", Evaluator("fluency", "clumsy", "Is it clumsy?"), "Ann")
    with pytest.raises(WorkspaceError, match="built in: fluency"):
        find_evaluator(ledger, "shop", "tone")


def test_no_fault_is_1_in_the_metric_that_people_rate_too() -> None:
    replies = [json.dumps({"answer": answer, "reason": "r"}) for answer in ("no", "yes", "cannot_tell")]
    outcomes: dict[int, dict[str, Any]] = {
        at: {"status": "scored", "reason": "", "payload": reply} for at, reply in enumerate(replies)
    }
    ((key, scores),) = evaluator_scores(FLUENCY.kind, JudgedBatch(3, outcomes)).items()
    assert key == ("fluency", Source.JUDGED)
    assert scores.values[:2].tolist() == [1.0, 0.0]
    assert scores.status[2] != scores.status[0]
    assert FLUENCY.metric == key[0] == RATING_DIMENSIONS["fluency"].metric
    assert REGISTRY["fluency"].higher_is_better


def test_the_command_takes_its_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stored = add_run([{"question": "Q?", "answer": "An answer."}], "V1", "p", str(tmp_path))
    planned = run(capsys, tmp_path, "judge", stored.run_id, "--evaluator", "fluency", "--dry-run").out
    assert "1" in planned
