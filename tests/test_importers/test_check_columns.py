"""Columns expected_X and actual_X are checks of kind X; scores of -1 beside them are failed judgements."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from places import FIXTURES

from ragtriage.data.api import add_file, add_run
from ragtriage.data.diagnosis.run_checks import check_run
from ragtriage.data.importers.importer import Options
from ragtriage.data.importers.parsing.head_column import check_columns
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.preview import preview
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.suites.check_table import CheckTable, check_table
from ragtriage.metrics.schema.scores import Status

MTBENCH = FIXTURES / "suites" / "routellm_mtbench"


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (["expected_route", "actual_route"], {"route": 2}),
        (["Expected Route", "actualRoute"], {"route": 2}),
        (["expected_tone", "actual_tone"], {"tone": 2}),
        (["expected_tone"], {}),
        (["actual_route"], {}),
        (["expected_intent"], {"intent": 1}),
        (["expected_output", "actual_output"], {}),
        (["expected_answer", "actual_answer"], {}),
        (["expected_ids", "actual_ids"], {}),
    ],
)
def test_which_columns_are_checks(columns: list[str], expected: dict[str, int]) -> None:
    kinds = [field.split(".")[1] for field in check_columns(columns).values()]
    assert {kind: kinds.count(kind) for kind in kinds} == expected


def _table_of(store: RunStore, content: str, name: str, tmp_path: Path) -> CheckTable:
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    (run,) = add_file(str(path), workspace=str(store.workspace.root))
    checks = check_table(store.scored(run))
    assert checks is not None
    return checks


def test_a_row_without_an_actual_value_is_not_measured(workspace: RunStore, tmp_path: Path) -> None:
    content = "question,expected_route,actual_route\nA?,x,x\nB?,x,y\nC?,x,\nD?,,y\nE?,,\n"
    checks = _table_of(workspace, content, "t.csv", tmp_path)
    assert checks.passed.tolist() == [1, 0, -1, -1]
    assert checks.texts("reason", [2, 3]) == ["no actual value is recorded", "no expected value is recorded"]
    assert set(checks.suite.values) == {"router"}


def test_objects_in_cells_are_compared_as_values(workspace: RunStore, tmp_path: Path) -> None:
    rows = [{"question": "A?", "expected_filter": {"a": 1, "b": 2}, "actual_filter": {"b": 2, "a": 1}}]
    checks = _table_of(workspace, "\n".join(map(json.dumps, rows)), "t.jsonl", tmp_path)
    assert checks.values("actual", [0]) == [{"a": 1, "b": 2}]


def test_a_row_with_native_fields_keeps_its_checks_too(workspace: RunStore, tmp_path: Path) -> None:
    row: dict[str, Any] = {
        "question": "A?",
        "conversation_id": "c",
        "checks": [{"name": "len", "kind": "format", "passed": True}],
        "expected_route": "x",
        "actual_route": "y",
    }
    checks = _table_of(workspace, json.dumps(row), "t.jsonl", tmp_path)
    assert sorted(checks.suite.values) == ["format", "router"]


def test_the_preview_shows_the_checks() -> None:
    shown = preview(InputFile.from_path(MTBENCH / "rows.jsonl"), Options())
    fields = {column.column: column.field for column in shown.mapping}
    assert fields["expected_route"] == "checks.route.expected"
    assert fields["actual_route"] == "checks.route.actual"
    assert fields["unify_score"] == "scores.unify_score"


def _mtbench(store: RunStore, tmp_path: Path, failed: float | None) -> ScoredRun:
    """The real rows; the one judgement that failed as it is stored in the source, or as null."""
    rows = [json.loads(line) for line in (MTBENCH / "rows.jsonl").read_text(encoding="utf-8").splitlines()]
    for row in rows:
        row["unify_score"] = failed if row["unify_score"] is None else row["unify_score"]
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    (run,) = add_file(str(path), workspace=str(store.workspace.root))
    return store.scored(run)


@pytest.mark.parametrize("failed", [None, -1, -1.0])
def test_a_failed_judgement_is_no_score(workspace: RunStore, tmp_path: Path, failed: float | None) -> None:
    expected = json.loads((MTBENCH / "expected.json").read_text(encoding="utf-8"))
    scored = _mtbench(workspace, tmp_path, failed)
    values = scored.values("unify_score")
    assert np.nanmean(values) == pytest.approx(expected["unify"]["mean"], abs=1e-12)
    assert int(np.isfinite(values).sum()) == expected["unify"]["n"]
    assert np.nanmean(scored.values("martian_score")) == expected["martian"]["mean"]


def test_the_trap_is_told(workspace: RunStore, tmp_path: Path) -> None:
    scored = _mtbench(workspace, tmp_path, -1)
    (finding,) = [one for one in check_run(scored) if one.rule == "failed_code"]
    assert finding.severity == "warning"
    assert "8.7579 (n = 159)" in finding.message
    assert "8.6969 (n = 160)" in finding.message  # the mean that the source's README warns of
    assert finding.samples == ("mt-131-t2~0",)
    assert not [one for one in check_run(_mtbench(workspace, tmp_path, None)) if one.rule == "failed_code"]


@pytest.mark.parametrize(
    ("scores", "failed"),
    [
        ([-1.0, 3.0, 8.0], 1),
        ([-1.0, 0.0, 1.0], 0),  # labels from -1 to 1
        ([-1.0, -0.5, 0.7], 0),  # a scale below 0
        ([-1.0, -1.0], 0),  # nothing to hold it against
    ],
)
def test_which_minus_one_is_a_failed_judgement(workspace: RunStore, scores: list[float], failed: int) -> None:
    records = [{"question": f"{at}?", "scores": {"mood": score}} for at, score in enumerate(scores)]
    scored = workspace.scored(add_run(records, "run", "p", str(workspace.workspace.root)))
    column = scored.column("mood")
    assert column is not None
    assert int((column.status == Status.FAILED).sum()) == failed
