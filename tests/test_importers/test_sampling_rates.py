"""Sampling rates as files have them: read, turned from weights, refused where they are wrong or missing."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from command_line import run
from sampled_calls import calls, written

from ragtriage.data.scoring.run_store import RunStore


def _table(path: Path, column: str, values: list[Any]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as stream:
        rows = csv.writer(stream)
        rows.writerow(["question_id", "question", "answer", "correctness", column])
        for at, value in enumerate(values):
            rows.writerow([f"q{at}", f"What is item {at}?", f"It is {at}.", at % 2, value])
    return path


def _imported(workspace: RunStore, capsys: Any, path: Path) -> Any:
    return run(capsys, workspace.workspace.root, "import", str(path))


def test_native_records_are_a_weighted_sample(workspace: RunStore, capsys: Any, tmp_path: Path) -> None:
    assert _imported(workspace, capsys, written(tmp_path / "live.jsonl", calls())).code == 0
    scored = workspace.scored(workspace.find("live"))
    assert scored.sampling is not None
    assert (scored.sampling.kept, scored.sampling.calls) == (100, 600)
    assert (scored.sampling.least, scored.sampling.most) == (0.05, 1.0)
    answer = run(capsys, workspace.workspace.root, "metrics", "live", "--json")
    correctness = json.loads(answer.out)["metrics"]["correctness"]
    assert correctness["mean"] == pytest.approx(275 / 600)
    assert correctness["effective_n"] == pytest.approx(40.909, abs=1e-3)


def test_a_run_without_rates_says_nothing_of_them(workspace: RunStore, capsys: Any, tmp_path: Path) -> None:
    records = ({name: value for name, value in each.items() if name != "sampling_rate"} for each in calls())
    _imported(workspace, capsys, written(tmp_path / "plain.jsonl", records))
    answer = run(capsys, workspace.workspace.root, "metrics", "plain", "--json")
    assert "effective_n" not in answer.out
    scored = workspace.scored(workspace.find("plain"))
    assert scored.sampling is None
    assert scored.question_weights is None


def test_equal_rates_say_of_how_many_calls_and_weigh_nothing(
    workspace: RunStore, capsys: Any, tmp_path: Path
) -> None:
    _imported(workspace, capsys, written(tmp_path / "tenth.jsonl", calls(strata=((30, 0.1, 20),))))
    scored = workspace.scored(workspace.find("tenth"))
    assert scored.sampling is not None
    assert (scored.sampling.kept, scored.sampling.calls, scored.question_weights) == (30, 300, None)


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("sampling_rate", [0.05, 0.2, 1] * 4),
        ("sample_rate", [0.05, 0.2, 1] * 4),
        ("sampling_weight", [20, 5, 1] * 4),
        ("weight", [20, 5, 1] * 4),
    ],
)
def test_columns_of_tables(
    workspace: RunStore, capsys: Any, tmp_path: Path, column: str, values: list[float]
) -> None:
    assert _imported(workspace, capsys, _table(tmp_path / "calls.csv", column, values)).code == 0
    scored = workspace.scored(workspace.find("calls"))
    assert scored.sampling is not None
    assert scored.sampling.calls == 4 * 26
    assert sorted(scored.question_weights) == [1] * 4 + [5] * 4 + [20] * 4  # type: ignore[arg-type]


@pytest.mark.parametrize("values", [[0.5, 2, 3] * 4, [1] * 12, [16000] * 12])
def test_a_weight_of_something_else_stays_extra(
    workspace: RunStore, capsys: Any, tmp_path: Path, values: list[float]
) -> None:
    column = "sample_rate" if values[0] == 16000 else "weight"
    assert _imported(workspace, capsys, _table(tmp_path / "calls.csv", column, values)).code == 0
    assert workspace.scored(workspace.find("calls")).sampling is None


@pytest.mark.parametrize(
    ("column", "values", "said"),
    [
        ("sampling_rate", [0.05] * 11 + [1.5], "sampling_rate: found 1.5; accepted: a number above 0"),
        ("sampling_rate", [5, 20, 100] * 4, "sampling_rate: found 5; accepted: a number above 0"),
        ("sampling_rate", [0.0] + [0.1] * 11, "sampling_rate: found 0"),
        (
            "sampling_weight",
            [0.4, 2] * 6,
            "sampling_weight: found '0.4'; accepted: a weight of 1 or more",
        ),
        ("sampling_rate", [0.05] * 9 + [""] * 3, "missing on 3 of 12 samples, though the others have one"),
    ],
)
def test_a_rate_that_is_wrong_or_missing_is_refused(
    workspace: RunStore, capsys: Any, tmp_path: Path, column: str, values: list[Any], said: str
) -> None:
    answer = _imported(workspace, capsys, _table(tmp_path / "calls.csv", column, values))
    assert answer.code == 2
    assert said in answer.err
    assert not workspace.runs()


def test_a_question_asked_twice_is_two_calls(workspace: RunStore, capsys: Any, tmp_path: Path) -> None:
    rows = [
        "question,answer,correctness,sampling_rate",
        "How does it work?,So.,1,0.05",
        "How does it work?,I cannot say.,0,0.2",
    ]
    path = tmp_path / "calls.csv"
    path.write_text("\n".join(rows), encoding="utf-8")
    assert _imported(workspace, capsys, path).code == 0
    scored = workspace.scored(workspace.find("calls"))
    assert len(scored.question_ids) == 2
    assert len(set(scored.clusters)) == 1  # of one question, and so not independent
    answer = run(capsys, workspace.workspace.root, "metrics", "calls", "--json")
    assert json.loads(answer.out)["metrics"]["correctness"]["mean"] == pytest.approx(20 / 25)
