"""Imported scores on other scales than their metric's: never clipped or passed, converted where declared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import run

from ragtriage.data.api import add_run, gate
from ragtriage.data.diagnosis.run_checks import check_run
from ragtriage.data.scoring.imported_scores import declared_scales
from ragtriage.data.scoring.run_store import RunStore


def _rows(metric: str, values: list[float]) -> list[dict[str, Any]]:
    return [
        {"question_id": f"q{at}", "question": f"{at}?", "answer": "Yes.", "scores": {metric: value}}
        for at, value in enumerate(values)
    ]


@pytest.mark.parametrize(
    ("metric", "values", "option"),
    [
        ("faithfulness", [1.0, 5.0, 4.0, 1.0] * 5, "faithfulness=1..5"),
        ("answer_relevancy", [61.0, 99.5, 80.0, 100.0] * 5, "answer_relevancy=0..100"),
        ("context_recall", [4.0, 10.0, 0.0, 7.0] * 5, "context_recall=0..10"),
    ],
)
def test_a_column_on_another_scale_is_not_scored(
    workspace: RunStore, metric: str, values: list[float], option: str
) -> None:
    imported = add_run(_rows(metric, values), "V1", "shop", str(workspace.workspace.root))
    scored = workspace.scored(imported)
    assert np.isnan(scored.values(metric)).all()  # not even the 1 of 5, which would read as perfect
    assert workspace.summary(imported)[metric].mean is None
    finding = next(each for each in check_run(scored) if each.rule == "scale")
    assert finding.severity == "error"
    assert f"--scale {option}" in finding.message
    assert not [each for each in check_run(scored) if each.rule == "empty_column" and metric in each.metrics]
    report = gate(imported.run_id, workspace=str(workspace.workspace.root))
    results = [each for each in report.results if each.gate.metric == metric]
    assert [(each.verdict, each.why) for each in results] == [
        ("UNMEASURED", "its values are on another scale")
    ]


def test_a_stray_value_alone_is_not_scored(workspace: RunStore) -> None:
    values = [0.9] * 99 + [7.0]
    imported = add_run(_rows("faithfulness", values), "V1", "shop", str(workspace.workspace.root))
    scored = workspace.scored(imported).values("faithfulness")
    assert np.isnan(scored).sum() == 1
    assert np.nanmax(scored) == pytest.approx(0.9)


def test_a_declared_scale_is_converted(workspace: RunStore, capsys: Any, tmp_path: Path) -> None:
    root = workspace.workspace.root
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(map(json.dumps, _rows("faithfulness", [1, 2, 3, 4, 5, 6]))), encoding="utf-8")
    assert run(capsys, root, "import", str(path), "--scale", "faithfulness=1..5").code == 0
    scored = workspace.scored(workspace.find("rows"))
    order = np.argsort(scored.question_ids)
    np.testing.assert_allclose(scored.values("faithfulness")[order], [0, 0.25, 0.5, 0.75, 1, np.nan])
    assert scored.as_imported("faithfulness")[order].tolist() == [1, 2, 3, 4, 5, 6]  # kept as they came


@pytest.mark.parametrize(
    "text", ["faithfulness", "faithfulness=5", "faithfulness=5..1", "=1..5", "a=x..y", "a=0..inf"]
)
def test_a_scale_that_is_none_is_refused(workspace: RunStore, capsys: Any, tmp_path: Path, text: str) -> None:
    answer = run(capsys, workspace.workspace.root, "import", str(tmp_path / "none.jsonl"), "--scale", text)
    assert answer.code == 2
    assert "accepted: NAME=LEAST..GREATEST" in answer.err


def test_damaged_settings_declare_nothing() -> None:
    odd = {"a": [1], "b": [5, 1], "c": ["x", 2], "d": [0, float("inf")], "e": None, "f": [1, 5]}
    assert declared_scales({"score_scales": odd}) == {"f": (1.0, 5.0)}
    assert declared_scales({"score_scales": 7}) == {}
