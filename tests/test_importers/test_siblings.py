"""Columns beside a score: they prove its scale, and the tool's own pass or fail is not a score."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.detect import read_runs
from ragtriage.data.importers.importer import Options
from ragtriage.data.importers.load import import_source
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.preview import preview
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.parsed_run import ParsedRun

GRADES = [1, 2, 3, 4, 5, 3]
SPLIT = ["fail", "fail", "pass", "pass", "pass", "pass"]


def _file(columns: Mapping[str, Sequence[object]]) -> InputFile:
    n = len(next(iter(columns.values())))
    rows = [
        {"question": f"{at}?", "answer": "Yes.", **{name: cells[at] for name, cells in columns.items()}}
        for at in range(n)
    ]
    return InputFile.from_bytes("t.jsonl", "\n".join(map(json.dumps, rows)).encode())


def _read(columns: Mapping[str, Sequence[object]], **options: Any) -> tuple[ParsedRun, list[Any]]:
    errors = ValidationErrors("t.jsonl")
    (parsed,) = read_runs(_file(columns), Options(**options), errors)
    records = [record for _, record in parsed.records]
    assert not errors.total
    return parsed, records


@pytest.mark.parametrize(
    ("columns", "scale"),
    [
        ({"faithfulness": GRADES, "faithfulness_threshold": [3] * 6}, (1, 5)),
        ({"faithfulness_score": GRADES, "faithfulness_threshold": [3] * 6}, (1, 5)),
        ({"groundedness": GRADES, "groundedness_threshold": [3] * 6}, (1, 5)),
        ({"faithfulness": GRADES, "faithfulness_result": SPLIT}, (1, 5)),
        ({"faithfulness": GRADES, "faithfulness_threshold": [3] * 6, "faithfulness_result": SPLIT}, (1, 5)),
        ({"faithfulness": [2, 3, 2, 4, 4, 3], "max_score": [5] * 6}, (1, 5)),
        ({"faithfulness": [0, 3, 2, 4, 4, 3], "max_score": [5] * 6}, (0, 5)),
        ({"faithfulness": [2, 3, 2, 4, 4, 3], "max_score": [20] * 6}, (0, 20)),
        ({"faithfulness": [61, 99.5, 80, 70, 66, 90], "threshold": [70] * 6}, (0, 100)),
        ({"faithfulness": [0, 10, 8, 7, 6, 9], "faithfulness_threshold": [7] * 6}, (0, 10)),
    ],
)
def test_a_column_beside_a_score_proves_its_scale(
    columns: dict[str, list[object]], scale: tuple[float, float]
) -> None:
    parsed, _ = _read(columns)
    assert parsed.config["score_scales"] == {"faithfulness": scale}
    assert any(
        f"is on a scale of {scale[0]} to {scale[1]}, as" in note and "converted to 0 to 1" in note
        for note in parsed.notes
    )


@pytest.mark.parametrize(
    "columns",
    [
        {"faithfulness": GRADES},
        {"faithfulness": [0.2, 0.9, 0.4, 1, 0, 1], "faithfulness_threshold": [0.5] * 6},
        {"faithfulness": GRADES, "faithfulness_threshold": [0.5] * 6},  # of another scale
        {"faithfulness": [2, 3, 4, 2, 3, 4], "faithfulness_threshold": [3] * 6},  # perhaps 1 to 4
        {"faithfulness": GRADES, "answer_relevancy": GRADES, "threshold": [3] * 6},  # of which of them?
        {"faithfulness": GRADES, "max_score": [4] * 6},
        {"faithfulness": GRADES, "max_score": [5, 5, 5, 5, 5, 10]},
        {"faithfulness": GRADES, "faithfulness_threshold": [3] * 6, "faithfulness_result": SPLIT[::-1]},
    ],
)
def test_what_proves_no_scale_leaves_it_open(columns: dict[str, list[object]]) -> None:
    assert "score_scales" not in _read(columns)[0].config


def test_the_scale_of_the_user_goes_before_a_proven_one_and_leaves_the_others() -> None:
    columns = {"faithfulness": GRADES, "context_recall": GRADES, "max_score": [5] * 6}
    parsed, _ = _read(columns, config={"score_scales": {"faithfulness": [0, 10]}, "model": "m"})
    assert parsed.config == {
        "score_scales": {"faithfulness": [0, 10], "context_recall": (1, 5)},
        "model": "m",
    }


def test_a_proven_scale_is_converted(workspace: RunStore) -> None:
    source = _file({"faithfulness": GRADES, "faithfulness_threshold": [3] * 6})
    (entry,) = import_source(workspace, source, Options(), "shop")
    values = workspace.scored(entry.run).values("faithfulness")
    np.testing.assert_allclose(sorted(values), [0, 0.25, 0.5, 0.5, 0.75, 1])


def test_a_pass_of_the_tool_is_a_check_named_after_its_column() -> None:
    columns: dict[str, Sequence[object]] = {"faithfulness": GRADES, "faithfulness_threshold": [3] * 6}
    columns["faithfulness_result"] = SPLIT
    _, records = _read({**columns, "success": [True, False, None, True, True, True]})
    assert records[0]["scores"] == {"faithfulness": 1}
    assert records[0]["checks"] == [
        {"name": "faithfulness_result", "kind": "metric", "expected": 3, "actual": 1, "passed": False},
        {"name": "success", "kind": "metric", "expected": None, "actual": None, "passed": True},
    ]
    assert [check["name"] for check in records[2]["checks"]] == [
        "faithfulness_result"
    ]  # null decides nothing
    assert records[0]["faithfulness_threshold"] == 3  # kept as extra, not as a score or tag


def test_a_pass_that_the_user_calls_a_score_is_a_score() -> None:
    columns: dict[str, Sequence[object]] = {"faithfulness": GRADES, "faithfulness_result": SPLIT}
    _, records = _read(columns, mapping={"faithfulness_result": "scores.ok"})
    assert (records[0]["scores"], "checks" in records[0]) == ({"faithfulness": 1, "ok": 0.0}, False)


def test_a_success_beside_errors_says_that_the_call_went_well() -> None:
    _, records = _read({"faithfulness": [0.5, 1], "success": [True, False], "error": ["", "timeout"]})
    assert [record.get("checks") for record in records] == [None, None]


def test_an_answer_is_no_pass() -> None:
    _, records = _read(
        {"result": ["yes", "no"] * 3, "output_success": ["n", "y"] * 3}, mapping={"result": "answer"}
    )
    assert [record["answer"] for record in records[:2]] == ["yes", "no"]


def test_a_preview_names_the_scores_that_need_a_scale() -> None:
    source = _file({"faithfulness": GRADES, "context_recall": [0.5] * 6})
    assert preview(source, Options()).off_scale == {"faithfulness": (1, 5)}
    declared = Options(config={"score_scales": {"faithfulness": [1, 5]}})
    assert preview(source, declared).off_scale == {}
