"""Error analysis on the page: what was read, notes gathered into labels, the taxonomy, evaluators."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from places import APP
from streamlit.testing.v1 import AppTest

from ragtriage.dashboard.charts.agreement import MOST_BARS, label_bars
from ragtriage.dashboard.pages.judge.evaluators import missing_text
from ragtriage.dashboard.shell.selection import Selection
from ragtriage.dashboard.shell.session import open_store
from ragtriage.dashboard.tables.judged import evaluator_table
from ragtriage.data.api import add_run
from ragtriage.data.judge.evaluators import Evaluator, EvaluatorTask, add_evaluator, evaluators
from ragtriage.data.labels.failure_taxonomy import (
    LabelCount,
    define_label,
    label_counts,
    mark_reviewed,
    open_notes,
    reviewed_cases,
)
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.judge_results import JudgeResult, TaskResult, publish
from ragtriage.data.store.workspace import Run
from ragtriage.metrics.result_table import text_rows
from ragtriage.metrics.statistics.prevalence import evaluator_accuracy

HOSTILE = [
    "<script>alert(1)</script>",
    "![x](http://evil.test/x.png) [link](http://evil.test)",
    "$\\frac{1}{2}$ :red[hot] **bold** `code`",
    "=HYPERLINK(1)",
    "русский 中文 🙂\nnew line",
]
SCRIPT = """
import streamlit as st

from ragtriage.dashboard.pages.judge.error_analysis import error_analysis_section
from ragtriage.dashboard.shell.session import View, current_selection, open_store


def judge() -> None:
    error_analysis_section(View.of(open_store(), current_selection()))


def cases() -> None:
    st.write("the cases")


st.navigation([st.Page(judge, default=True), st.Page("cases/cases.py")]).run()
"""


def _run(store: RunStore, n: int = 60, name: str = "run") -> Run:
    records = [
        {"question_id": f"q{at:03}", "question": f"{at}?", "answer": f"{name} {at}."} for at in range(n)
    ]
    return add_run(records, name, "p", str(store.workspace.root))


def _label(store: RunStore, run: Run, start: int, failures: list[str]) -> None:
    for at, failure in enumerate(failures, start=start):
        case = (run.run_id, f"q{at:03}", 0)
        store.ledger.add_label(case, "Ann", "fail" if failure else "pass", failure)


def _open(
    store: RunStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, person: str = "Ann", **chosen: Any
) -> AppTest:
    monkeypatch.setenv("RAGTRIAGE_WORKSPACE", str(store.workspace.root))
    (tmp_path / "cases").mkdir(exist_ok=True)
    (tmp_path / "cases" / "cases.py").write_text("import streamlit as st\nst.write('the cases')\n")
    (tmp_path / "page.py").write_text(SCRIPT)
    app = AppTest.from_file(str(tmp_path / "page.py"), default_timeout=60)
    app.session_state["selection"] = Selection(**{"project": "p", **chosen})
    if person:
        app.session_state["annotator_name"] = person
    app.run()
    assert not app.exception
    return app


def _words(app: AppTest) -> str:
    parts = [*app.subheader, *app.markdown, *app.caption, *app.info, *app.warning, *app.code, *app.toast]
    return "\n".join([*(str(one.value) for one in parts), *_progress(app)])


def _progress(app: AppTest) -> list[str]:
    return [one.proto.text for one in app.get("progress")]


def _bars(app: AppTest) -> Any:
    charts = app.get("plotly_chart")
    return json.loads(charts[0].proto.spec)["data"][0] if charts else None


def _note(store: RunStore, run: Run, notes: list[str]) -> None:
    for at, note in enumerate(notes):
        store.ledger.add_label((run.run_id, f"q{at:03}", 0), "Ann", None, "", note)


def test_with_nothing_read_the_page_says_where_to_begin(
    workspace: RunStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _run(workspace)
    app = _open(workspace, tmp_path, monkeypatch, person="")
    words = _words(app)
    assert "**0 of 60 cases** reviewed. Read 50 to 100 before trusting a judge" in words
    assert "press N" in words
    assert "None yet. Make them" in words
    assert _bars(app) is None
    app.button(key="read_cases").click().run()
    assert app.session_state["selection"].label == "none"


@pytest.mark.parametrize(
    ("n", "read", "told"),
    [
        (60, 1, "1 of 60 cases** reviewed. Read 50 to 100 before trusting a judge: 49"),
        (60, 50, "50 of 60 cases** reviewed. 100 are better"),
        (60, 60, "60 of 60 cases** reviewed: enough"),
        (120, 100, "100 of 120 cases** reviewed: enough"),
        (3, 1, "1 of 3 cases** reviewed. Read all 3 before trusting a judge: 2 to go"),
    ],
)
def test_how_many_were_read_and_how_many_are_advised(
    workspace: RunStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n: int, read: int, told: str
) -> None:
    run = _run(workspace, n)
    for at in range(read):
        mark_reviewed(workspace.ledger, (run.run_id, f"q{at:03}", 0), "B*o*")
    app = _open(workspace, tmp_path, monkeypatch)
    assert told in _progress(app)[0]
    assert f"B\\*o\\* {read}" in _words(app)


@pytest.mark.parametrize("n", [1, 2, 130])
def test_notes_are_listed_and_gathered(
    workspace: RunStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n: int
) -> None:
    run = _run(workspace, 140)
    _note(workspace, run, [f"note {at}" for at in range(n)])
    define_label(workspace.ledger, "p", "wrong date", "", "Cy")
    app = _open(workspace, tmp_path, monkeypatch)
    table = app.dataframe[0].value
    assert table["Note"].iloc[0] == f"note {n - 1}"
    assert table["Question"].iloc[0] == f"{n - 1}?"
    assert len(table) == min(n, 100)
    assert f"{min(n, 100)} of {n} note" in _words(app)
    assert app.button(key="gather").disabled
    chosen = list(range(min(n, 2)))
    key = f"open_notes_{open_notes(workspace.ledger, [run.run_id])[0].label_id}_{len(table)}"
    app.session_state[key] = {"selection": {"rows": chosen, "columns": [], "cells": []}}
    app.selectbox(key="gather_label").select("wrong date").run()
    app.button(key="gather").click().run()
    assert not app.exception
    (found,) = label_counts(workspace.ledger, "p", [run.run_id])
    assert (found.label, found.cases, found.who) == ("wrong date", len(chosen), "Cy")
    assert len(open_notes(workspace.ledger, [run.run_id])) == n - len(chosen)
    assert _bars(app)["x"] == [len(chosen)]


def test_hostile_notes_and_labels_stay_text(
    workspace: RunStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = _run(workspace)
    _note(workspace, run, HOSTILE)
    _label(workspace, run, 10, HOSTILE)
    for text in HOSTILE:
        define_label(workspace.ledger, "p", text, text, text)
    add_evaluator(workspace.ledger, "p", Evaluator("e", HOSTILE[0], HOSTILE[1]), "Ann")
    app = _open(workspace, tmp_path, monkeypatch)
    notes = list(app.dataframe[0].value["Note"])
    assert notes == [" ".join(text.split()) for text in reversed(HOSTILE)]
    markup = "\n".join(str(one.value) for one in [*app.markdown, *app.caption])
    assert "<script>" not in markup
    assert "![x](" not in markup
    assert "](http://evil.test)" not in markup
    ticks = json.loads(app.get("plotly_chart")[0].proto.spec)["layout"]["yaxis"]["ticktext"]
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in ticks


def test_counts_are_of_the_run_on_display_and_of_the_project(
    workspace: RunStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = _run(workspace, 10, "one"), _run(workspace, 10, "two")
    _label(workspace, first, 0, ["a", "a", "b"])
    _label(workspace, second, 0, ["b", "b", "b"])
    _note(workspace, second, ["", "", ""])
    app = _open(workspace, tmp_path, monkeypatch, run=first.run_id)
    bars = _bars(app)
    assert [(data[0], x) for data, x in zip(bars["customdata"], bars["x"], strict=True)] == [
        ("a", 2),
        ("b", 1),
    ]
    table = app.dataframe[0].value
    rows = table[["Failure label", "Cases, this run", "Cases, project"]].to_numpy().tolist()
    assert sorted(rows) == [["a", 2, 2], ["b", 1, 1]]
    assert list(table["Defined by"]) == ["not in the taxonomy yet"] * 2


def test_a_label_opens_its_cases(
    workspace: RunStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = _run(workspace)
    _label(workspace, run, 0, ["b", "a", "a"])
    app = _open(workspace, tmp_path, monkeypatch)
    app.button(key="open_label_0").click().run()
    assert app.session_state["selection"].failure == "a"


def test_the_taxonomy_is_edited_under_a_name(
    workspace: RunStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = _run(workspace)
    _label(workspace, run, 0, ["date", "year"])
    app = _open(workspace, tmp_path, monkeypatch, person="")
    app.selectbox(key="define_label").select("date").run()
    app.text_area(key="definition_date").set_value("A wrong date.").run()
    assert app.button(key="define").disabled
    app.text_input(key="annotator_name").set_value("Bo").run()
    app.button(key="define").click().run()
    by_label = {one.label: one for one in label_counts(workspace.ledger, "p", [run.run_id])}
    assert (by_label["date"].definition, by_label["date"].who) == ("A wrong date.", "Bo")
    app.selectbox(key="rename_from").select("year").run()
    app.selectbox(key="rename_to").select("date").run()
    assert app.button(key="rename").label == "Merge into date"
    app.button(key="rename").click().run()
    assert [(one.label, one.cases) for one in label_counts(workspace.ledger, "p", [run.run_id])] == [
        ("date", 2)
    ]
    app.button(key="remove").click().run()
    assert not app.exception
    (left,) = label_counts(workspace.ledger, "p", [run.run_id])
    assert (left.defined, left.cases) == (False, 2)


def test_an_evaluator_is_made_from_a_label_and_says_how_to_run_it(
    workspace: RunStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = _run(workspace)
    define_label(workspace.ledger, "p", "wrong date", "It names a date that no document states.", "Ann")
    app = _open(workspace, tmp_path, monkeypatch)
    question = "Is this true of the answer? It names a date that no document states."
    assert [one.value for one in app.text_area if "Question" in one.label] == [question]
    app.button(key="create_evaluator").click().run()
    (made,) = evaluators(workspace.ledger, "p")
    assert (made.name, made.label, made.question) == ("wrong_date", "wrong date", question)
    assert f"ragtriage judge {run.run_id} --evaluator wrong_date" in _words(app)
    assert app.button(key="create_evaluator").disabled  # the name is taken
    app.button(key="remove_evaluator_wrong_date").click().run()
    assert evaluators(workspace.ledger, "p") == []


def _judged(store: RunStore, run: Run, found: list[bool | None], prompt: str = "") -> Evaluator:
    made = Evaluator("date", "wrong date", "Is a date wrong?")
    add_evaluator(store.ledger, "p", made, "Ann")
    prompt = prompt or EvaluatorTask.of(made).prompt
    outcomes = {
        (row, 0): TaskResult("timeout", "no reply")
        if one is None
        else TaskResult("scored", "", {"answer": "yes" if one else "no", "reason": "So."})
        for row, one in enumerate(found)
    }
    judgement = JudgeResult(run.run_id, made.kind, "model-1", prompt, "2", "", 0, 0, "")
    publish(store.workspace, store.ledger, judgement, outcomes)
    return made


@pytest.mark.parametrize(
    ("failures", "told"),
    [
        ([], ["on 0 cases", "20 more labelled cases", "a case labelled wrong date", "labelled otherwise"]),
        (
            ["wrong date"] * 3 + [""] * 9,
            ["on 12 cases", "3 with this failure, 9 otherwise", "8 more labelled"],
        ),
        (["wrong date"] * 25, ["25 with this failure, 0 otherwise", "labelled otherwise"]),
        (["other"] * 25, ["0 with this failure, 25 otherwise", "a case labelled wrong date"]),
    ],
)
def test_a_rate_is_withheld_until_it_can_be_checked(
    workspace: RunStore,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    failures: list[str],
    told: list[str],
) -> None:
    run = _run(workspace)
    _label(workspace, run, 0, failures)
    _judged(workspace, run, [at % 2 == 0 for at in range(60)])
    app = _open(workspace, tmp_path, monkeypatch)
    words = _words(app)
    assert all(one in words for one in told)
    assert "50 %" not in words  # the judge's own rate
    assert not [one for one in app.dataframe if "Value" in one.value.columns]


def test_with_labels_enough_the_rate_stands_beside_its_check(
    workspace: RunStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = _run(workspace)
    _label(workspace, run, 0, ["wrong date"] * 10 + [""] * 15)
    found: list[bool | None] = [*[True] * 8, *[False] * 2, *[True] * 3, *[False] * 12]
    _judged(workspace, run, [*found, *[True] * 9, *[False] * 16, *[None] * 10], prompt="an earlier one")
    app = _open(workspace, tmp_path, monkeypatch)
    table = next(one.value for one in app.dataframe if "Value" in one.value.columns)
    rows = {row[""]: row for row in table.to_dict("records")}
    assert rows["Rate, as judged"]["Value"] == "40 %"
    assert rows["Rate, as judged"]["n"] == "50 of 60 questions"
    assert rows["Rate, corrected"]["Value"] == "33 %"
    assert rows["True positive rate"]["Value"] == rows["True negative rate"]["Value"] == "80 %"
    assert rows["True positive rate"]["n"] == "10 with the failure"
    assert rows["Cohen's kappa"]["Value"] == "0.59"
    assert all("to" in rows[name]["95 %"] for name in rows if name != "Cohen's kappa")
    words = _words(app)
    assert "10 questions failed: the rate is 33 % to 50 %" in words
    assert "0 of 25 labelled cases drawn at random" in words
    assert "question or prompt has changed" in words
    app.button(key="missed_date").click().run()
    chosen = app.session_state["selection"]
    assert (chosen.failure, chosen.sort, chosen.descending) == ("wrong date", "evaluator_date", False)


def test_prompts_of_the_workspace_are_no_change_of_the_question(
    workspace: RunStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = _run(workspace)
    _label(workspace, run, 0, ["wrong date"] * 10 + [""] * 15)
    folder = workspace.workspace.root / "prompts"
    folder.mkdir()
    (folder / "evaluator.md").write_text("Our own prompt.", encoding="utf-8")
    asked = EvaluatorTask.of(Evaluator("date", "wrong date", "Is a date wrong?"), folder).prompt
    _judged(workspace, run, [at % 2 == 0 for at in range(60)], prompt=asked)
    app = _open(workspace, tmp_path, monkeypatch)
    assert "question or prompt has changed" not in _words(app)
    (folder / "evaluator.md").write_text("Another prompt.", encoding="utf-8")
    app.run()
    assert "question or prompt has changed" in _words(app)


def test_injections_and_what_cannot_be_told_stand_beside_an_evaluator(
    workspace: RunStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = _run(workspace)
    _label(workspace, run, 0, ["wrong date"] * 10 + [""] * 15)
    made = _judged(workspace, run, [at % 2 == 0 for at in range(60)])
    tried = [{"where": "answer", "quote": "say no"}]
    words = {0: ("yes", tried), 58: ("cannot_tell", []), 59: ("cannot_tell", [])}
    outcomes = {
        (row, 0): TaskResult("scored", "", {"answer": answer, "reason": "So.", "instructions": found})
        for row, (answer, found) in words.items()
    }
    prompt = EvaluatorTask.of(made).prompt
    judgement = JudgeResult(run.run_id, made.kind, "model-1", prompt, "2", "", 0, 0, "")
    publish(workspace.workspace, workspace.ledger, judgement, outcomes)
    app = _open(workspace, tmp_path, monkeypatch)
    assert "In 1 sample some text tries to instruct the judge" in _words(app)
    assert "2 samples left out: no answer, or the data cannot tell" in _words(app)
    table = next(one.value for one in app.dataframe if "Value" in one.value.columns)
    rows = {row[""]: row for row in table.to_dict("records")}
    assert rows["Rate, as judged"]["n"] == "58 of 58 questions"


def test_a_judge_no_better_than_chance_cannot_be_corrected() -> None:
    truth = np.repeat([1.0, 0.0], [10, 15])
    check = evaluator_accuracy(1 - truth, truth, np.arange(25), np.arange(25))
    first, *_ = text_rows(evaluator_table(check, "wrong_date"))
    assert (first["Value"], first["95 %"]) == ("–", "–")
    assert "no better than chance" in str(first["How"])


def test_labels_on_cases_not_judged_are_named() -> None:
    found = np.repeat([1.0, np.nan], [5, 20])
    check = evaluator_accuracy(found, np.ones(25), np.arange(25), np.arange(25))
    assert "20 labelled cases it has not judged" in missing_text(check, "wrong date")


def test_the_chart_keeps_to_the_most_frequent() -> None:
    counts = [LabelCount(f"label {at}", "", "", "", {"r": at + 1, "s": 100 - at}) for at in range(30)]
    bars = label_bars(counts, "r").data[0]
    assert len(bars.x) == MOST_BARS
    assert (bars.x[0], bars.customdata[0][0]) == (30, "label 29")
    (only,) = label_bars([*counts[:1], LabelCount("none here", "", "", "", {"s": 3})], "r").data
    assert list(only.x) == [1]


def test_going_on_under_a_name_marks_a_case_as_read(
    workspace: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = _run(workspace, 3)
    define_label(workspace.ledger, "p", "zebra", "", "Ann")
    _label(workspace, run, 2, ["a label in use"])
    monkeypatch.setenv("RAGTRIAGE_WORKSPACE", str(workspace.workspace.root))
    app = AppTest.from_file(str(APP), default_timeout=60)
    app.session_state["selection"] = Selection(project="p")
    app.switch_page("cases/cases.py").run()
    before = open_store().ledger.version()
    app.button(key="step_on").click().run()
    assert reviewed_cases(workspace.ledger, [run.run_id]).by_annotator == {"Ann": 1}  # the label alone
    app.text_input(key="annotator_name").set_value("Bo").run()
    assert app.selectbox(key="failure_label").options[0] == "zebra"
    app.button(key="step_on").click().run()
    assert not app.exception
    assert app.session_state["selection"].case == "q002~0"
    assert reviewed_cases(workspace.ledger, [run.run_id]).by_annotator == {"Ann": 1, "Bo": 1}
    assert open_store().ledger.version() == before  # reading on makes no diagnosis anew
