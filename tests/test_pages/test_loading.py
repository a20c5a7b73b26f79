"""Loading a file on the page Runs: the way out where no column reads as the question."""

from __future__ import annotations

from pathlib import Path

import pytest
from places import APP
from streamlit.testing.v1 import AppTest
from workbooks import cells, workbook

from ragtriage.data.scoring.run_store import RunStore


def _runs_page(workspace: RunStore, monkeypatch: pytest.MonkeyPatch) -> AppTest:
    monkeypatch.setenv("RAGTRIAGE_WORKSPACE", str(workspace.workspace.root))
    app = AppTest.from_file(str(APP), default_timeout=60)
    app.switch_page("runs/runs.py").run()
    return app


def test_a_table_without_a_question_offers_its_columns(
    workspace: RunStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = _runs_page(workspace, monkeypatch)
    path = tmp_path / "made_up.csv"
    path.write_text("Froge,answer,kurz\nWer?,Ann,x\nWann?,Mai,y\n", encoding="utf-8")
    app.text_input(key="upload_path").set_value(str(path)).run()
    assert "`--map question=COLUMN`" in app.error[0].value.replace("\\", "")
    (choice,) = (box for box in app.selectbox if box.label == "Column with the question")
    assert choice.options == ["Froge", "answer", "kurz"]
    choice.set_value("Froge").run()
    assert not app.error
    app.button(key="load").click().run()
    assert not app.exception
    (run,) = workspace.runs()
    assert run.n == 2
    assert set(run.fields) >= {"question", "answer"}


def test_a_score_on_another_scale_asks_for_it(
    workspace: RunStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = _runs_page(workspace, monkeypatch)
    path = tmp_path / "graded.csv"
    path.write_text("question,answer,faithfulness\nWho?,Ann,2\nWhen?,May,5\n", encoding="utf-8")
    app.text_input(key="upload_path").set_value(str(path)).run()
    (choice,) = (box for box in app.selectbox if box.label.startswith("Scale of faithfulness"))
    assert choice.label == "Scale of faithfulness: its values go from 2 to 5"
    assert choice.options == ["1 to 5", "0 to 5", "0 to 10", "0 to 100"]
    choice.set_value((1.0, 5.0)).run()
    app.button(key="load").click().run()
    assert not app.exception
    (run,) = workspace.runs()
    assert sorted(workspace.scored(run).values("faithfulness")) == [0.25, 1]


def test_of_a_workbook_with_several_sheets_one_or_all_are_chosen(
    workspace: RunStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = _runs_page(workspace, monkeypatch)
    path = tmp_path / "bot.xlsx"
    rows = cells(("question", "answer"), ("Which?", "That one."))
    path.write_bytes(workbook(may=rows, june=rows.replace("That", "This")))
    app.text_input(key="upload_path").set_value(str(path)).run()
    assert not app.error
    assert any("2 lists of questions: choose" in caption.value for caption in app.caption)
    (choice,) = (box for box in app.selectbox if box.label == "List of rows to read")
    assert choice.options == ["may (1 row)", "june (1 row)", "All of them, a run each"]
    choice.set_value("*").run()
    app.button(key="load").click().run()
    assert not app.exception
    assert {run.name for run in workspace.runs()} == {"may", "june"}


def test_a_file_of_ones_own_is_not_put_into_a_bundled_sample(
    own_demo: RunStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = _runs_page(own_demo, monkeypatch)
    app.button(key="open_loader").click().run()
    assert app.text_input(key="upload_project").value == "handbook"
    path = tmp_path / "support bot.csv"
    path.write_text("question,answer\nWho?,Ann\n", "utf-8")
    app.text_input(key="upload_path").set_value(str(path)).run()
    assert app.text_input(key="upload_project").value == "support bot"
    app.text_input(key="upload_project").set_value("mine").run()
    assert app.text_input(key="upload_project").value == "mine"


def test_the_answers_are_demanded_unless_there_are_none(
    workspace: RunStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = _runs_page(workspace, monkeypatch)
    path = tmp_path / "blob.csv"
    path.write_text("question,faithfulness,blob\nWho?,0.5,Ann did.\nWhen?,0.75,In May.\n", encoding="utf-8")
    app.text_input(key="upload_path").set_value(str(path)).run()
    assert app.button(key="load").disabled
    (choice,) = (box for box in app.selectbox if box.label == "Column with the answers")
    assert choice.options == ["faithfulness", "blob", "No answers in this file"]
    choice.set_value("No answers in this file").run()
    assert not app.button(key="load").disabled
    choice.set_value("blob").run()
    app.button(key="load").click().run()
    assert not app.exception
    (run,) = workspace.runs()
    assert set(run.fields) >= {"question", "answer"}


def test_questions_alone_become_a_set_where_the_user_says_so(
    workspace: RunStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = _runs_page(workspace, monkeypatch)
    path = tmp_path / "asked.csv"
    path.write_text("question,tag\nWho?,x\nWhen?,y\n", encoding="utf-8")
    app.text_input(key="upload_path").set_value(str(path)).run()
    assert "holds nothing that can be measured" in app.error[0].value
    (choice,) = (box for box in app.selectbox if box.label == "Column with the answers")
    choice.set_value("No answers in this file").run()
    app.button(key="load").click().run()
    assert not app.exception
    assert "as question set asked" in app.success[0].value
    assert not workspace.runs()


def test_who_judged_decides_between_score_and_label(
    workspace: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = _runs_page(workspace, monkeypatch)
    table = "Question\tAnswer\tHelpful\nWho?\tAnn did.\tyes\nWhen?\tIn May.\tno\n"
    app.text_area(key="upload_text").set_value(table).run()
    (judges,) = (each for each in app.segmented_control if "Who judged “Helpful”" in each.label)
    judges.set_value("human").run()
    app.button(key="load").click().run()
    assert not app.exception
    (run,) = workspace.runs()
    assert run.name == "pasted"
    assert "human" in run.fields


def test_yes_and_no_may_be_what_people_say_of_an_answer_and_triage_opens(
    workspace: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = _runs_page(workspace, monkeypatch)
    table = "Question\tAnswer\tHelpful\tRating\nWho?\tAnn did.\tyes\t4\nWhen?\tIn May.\tno\t2\n"
    app.text_area(key="upload_text").set_value(table).run()
    judges = {each.label: each for each in app.segmented_control if each.label.startswith("Who judged")}
    assert judges["Who judged “Helpful”?"].options == ["A tool or model", "People", "People: right or wrong"]
    assert "People: right or wrong" not in judges["Who judged “Rating”?"].options
    judges["Who judged “Helpful”?"].set_value("human.correctness").run()
    app.button(key="load").click().run()
    assert not app.exception
    assert "2 samples from your table" in app.success[0].value
    assert "triage_tabs" in app.session_state
    (run,) = workspace.runs()
    assert sorted(workspace.scored(run).values("correctness")) == [0, 1]
