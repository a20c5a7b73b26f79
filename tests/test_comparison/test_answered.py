"""Versions that left questions unanswered: counted from rows and answers, said on Trend, Runs and Compare."""

from __future__ import annotations

from typing import Any

import pytest
from command_line import run as command
from places import APP
from streamlit.testing.v1 import AppTest

from ragtriage.dashboard.shell.selection import Selection
from ragtriage.data.api import add_run
from ragtriage.data.comparison.answered import Answered, answered_of
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.workspace import Run


def _add(store: RunStore, name: str, rows: int, answered: int, level: float) -> Run:
    records: list[dict[str, Any]] = [
        {
            "question_id": f"q{at:02d}",
            "question": f"Question {at}?",
            "answer": f"{name} {at}" if at < answered else None,
            "scores": {"faithfulness": level - at % 5 / 50} if at < answered else {},
        }
        for at in range(rows)
    ]
    return add_run(records, name, "challenge", str(store.workspace.root))


def test_what_a_run_answered_is_counted_from_rows_and_answers(workspace: RunStore) -> None:
    full = _add(workspace, "full", 99, 99, 0.8)
    part = _add(workspace, "part", 38, 38, 0.9)
    gaps = _add(workspace, "gaps", 99, 38, 0.9)
    lists = _add(workspace, "lists", 50, 0, 0.9)
    empty = add_run(
        [{"question_id": f"q{at:02d}", "question": f"Question {at}?", "answer": ""} for at in range(99)],
        "empty", "challenge", str(workspace.workspace.root),
    )  # fmt: skip
    other = add_run(
        [{"question_id": f"other{at}", "question": "Another?", "answer": "Yes."} for at in range(5)],
        "other", "challenge", str(workspace.workspace.root),
    )  # fmt: skip
    runs = [full, part, gaps, lists, empty, other]
    found = answered_of([workspace.scored(run) for run in runs])
    assert [found[run.run_id] for run in runs] == [
        Answered(99, 99),
        Answered(38, 99),
        Answered(38, 99),
        Answered(50, 99),  # no answer is recorded: a run of retrieval alone, over half of the questions
        Answered(99, 99),  # an empty answer is an abstention
        Answered(5, 5),  # other questions are not part of these
    ]


@pytest.mark.parametrize("rows", [38, 99])
def test_trend_runs_and_compare_say_it(
    workspace: RunStore, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], rows: int
) -> None:
    full = _add(workspace, "full", 99, 99, 0.8)
    part = _add(workspace, "part", rows, 38, 0.9)
    monkeypatch.setenv("RAGTRIAGE_WORKSPACE", str(workspace.workspace.root))
    app = AppTest.from_file(str(APP), default_timeout=60)
    app.session_state["selection"] = Selection(project="challenge", metric="faithfulness")
    app.switch_page("trend/trend.py").run()
    assert not app.exception
    assert any("part answered 38 of 99 questions" in str(one.value) for one in app.warning)
    table = app.dataframe[0].value.set_index("Version")
    assert (table.loc["part", "Answered"], table.loc["full", "Answered"]) == ("38 of 99", "99 of 99")
    app.session_state["runs_tab"] = "Means of challenge"
    app.switch_page("runs/runs.py").run()
    assert not app.exception
    runs = next(one.value for one in app.dataframe if "Questions" in one.value.columns).set_index("Run")
    assert (runs.loc["part", "Questions"], runs.loc["full", "Questions"]) == ("38 of 99 answered", "99")
    text = command(capsys, workspace.workspace.root, "compare", full.run_id, part.run_id).out
    assert "The other run answered 38 of the 99 questions of the baseline: pass rate" in text
    assert ("The questions differ (99" in text) == (rows == 38)
