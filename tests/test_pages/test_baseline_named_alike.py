"""The baseline is named alike in header, gates and report; metrics are compared over the same questions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from command_line import run as command
from page_text import page_text
from places import APP
from streamlit.testing.v1 import AppTest

from ragtriage.dashboard.charts.chart import Chart
from ragtriage.dashboard.present.stories.context import StoryView
from ragtriage.dashboard.present.stories.report import report_facts
from ragtriage.dashboard.present.stories.sections import gate_section, render_section
from ragtriage.dashboard.present.stories.story import StorySection
from ragtriage.dashboard.shell.selection import Selection
from ragtriage.data.api import add_run
from ragtriage.data.gates.baseline import baseline_of
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.workspace import Run

LEVELS = (0.0, 0.02, -0.02, 0.03, -0.03)


def _add(store: RunStore, name: str, level: float, n: int = 20, **scores: float) -> Run:
    records: list[dict[str, Any]] = [
        {
            "question_id": f"q{at:02d}",
            "question": f"Question {at}?",
            "answer": f"Answer of {name}.",
            "scores": {"faithfulness": level + LEVELS[at % 5] * (2 if at < 10 else 1), **scores},
        }
        for at in range(n)
    ]
    return add_run(records, name, "shop", str(store.workspace.root))


@pytest.fixture
def store(workspace: RunStore) -> RunStore:
    _add(workspace, "V1", 0.80, 12)
    _add(workspace, "V2", 0.90, 20, answer_relevancy=0.9)
    return RunStore(workspace.workspace)


def _triage(
    root: Path, selection: Selection, monkeypatch: pytest.MonkeyPatch, tab: str = "All gates"
) -> AppTest:
    monkeypatch.setenv("RAGTRIAGE_WORKSPACE", str(root))
    app = AppTest.from_file(str(APP), default_timeout=60)
    app.session_state["selection"] = selection
    app.session_state["triage_tabs"] = tab
    app.run()
    assert not app.exception
    return app


def _read(app: AppTest) -> str:
    return page_text(app).replace("\\", "")


def _metrics(app: AppTest) -> dict[str, dict[str, Any]]:
    table = next(one.value for one in app.dataframe if "Compared over" in one.value.columns)
    rows = [{str(name): cell for name, cell in row.items()} for row in table.to_dict("records")]
    return {str(row["Metric"]): row for row in rows}


def test_without_a_baseline_nobody_calls_the_run_before_one(
    store: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = store.find("V2")
    app = _triage(store.workspace.root, Selection(project="shop", run=run.run_id), monkeypatch)
    text = _read(app)
    note = "project shop has no baseline, and none was named"
    assert f"Baseline: none ({note}); changes are since V1, the run before" in text
    assert f"Baseline: none ({note}); gates:" in text, "the gates name it alike"
    assert "Changed since the run before, V1" in text
    assert "The questions differ (12 in V1, 20 in the other run)" in text
    assert "in the baseline" not in text
    app = _triage(store.workspace.root, Selection(project="shop", run=run.run_id), monkeypatch, "All metrics")
    assert _metrics(app)["Faithfulness"]["V1 (run before)"] == "0.80"


def test_runs_that_share_no_question_are_said_not_to_be_compared(
    store: RunStore, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    record = {
        "question_id": "other",
        "question": "Another?",
        "answer": "Yes.",
        "scores": {"faithfulness": 0.9},
    }
    run = add_run([record], "apart", "shop", str(store.workspace.root))
    nothing = "nothing to compare: the runs share no question"
    told = command(capsys, store.workspace.root, "compare", "V2", "apart").out
    assert f"{nothing}." in told
    assert "tested alone" not in told
    base = store.find("V2")
    chosen = Selection(project="shop", run=run.run_id, baseline=base.run_id)
    text = _read(_triage(store.workspace.root, chosen, monkeypatch))
    assert f"{nothing.capitalize()}." in text
    assert "No metric moved" not in text
    assert "tested alone" not in text


def test_a_metric_is_compared_over_the_same_questions_or_said_why_not(
    store: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    base, run = store.find("V1"), store.find("V2")
    chosen = Selection(project="shop", run=run.run_id, baseline=base.run_id)
    app = _triage(store.workspace.root, chosen, monkeypatch, "All metrics")
    rows = _metrics(app)
    faithfulness = rows["Faithfulness"]
    assert faithfulness["n"] == "20 of 20"
    assert faithfulness["Compared over"].startswith("12 of 20 questions; mean here 0.90")
    assert (faithfulness["Baseline"], faithfulness["Change"].split(" ")[0]) == ("0.80", "+0.10")
    relevancy = rows["Answer relevancy ⚠"]  # every value is the same
    assert (relevancy["Baseline"], relevancy["Change"]) == ("–", "–")
    assert relevancy["Compared over"] == "no value in V1"


def test_every_row_of_compare_and_of_a_report_says_its_pairs(
    store: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = store.find("V1")
    run = _add(store, "V3", 0.70, 20, answer_relevancy=0.9)
    view = StoryView(store, run, base)
    change = render_section(view, StorySection("change"))
    assert "n = 12 pairs" in change.sentence
    assert change.chart is not None
    assert isinstance(change.chart, Chart)
    assert {n for series in change.chart.series for n in series.n} == {12}
    chosen = Selection(project="shop", run=run.run_id, baseline=base.run_id, versions=(run.run_id,))
    app = _triage(store.workspace.root, chosen, monkeypatch)
    app.switch_page("compare/compare.py").run()
    app.session_state["compare_tab"] = "Numbers"
    app.run()
    table = next(one.value for one in app.dataframe if "Pairs" in one.value.columns)
    assert set(table["Pairs"]) == {"12"}
    assert "12 shared questions" in _read(app)


def test_the_baseline_itself_is_compared_with_nothing(
    store: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = store.find("V2")
    store.ledger.set_baseline("shop", base.run_id, "Ann")
    app = _triage(store.workspace.root, Selection(project="shop", run=base.run_id), monkeypatch)
    text = _read(app)
    assert text.count("this run is the baseline of project shop") >= 2, "in the header and at the gates"
    assert "This run is the baseline; Compare shows how the others differ from it." in text
    app = _triage(
        store.workspace.root, Selection(project="shop", run=base.run_id), monkeypatch, "All metrics"
    )
    assert {row["Change"] for row in _metrics(app).values()} == {"–"}
    assert {row["Compared over"] for row in _metrics(app).values()} == {
        "this run is the baseline of project shop"
    }
    app.switch_page("compare/compare.py").run()
    assert not app.exception
    assert app.multiselect[0].value == [store.find("V1").run_id], "the newest of the others"
    assert baseline_of(store, base, "V2").run is None


def test_header_gates_and_change_of_a_report_name_one_baseline(store: RunStore) -> None:
    base, run = store.find("V1"), store.find("V2")
    store.ledger.set_baseline("shop", base.run_id, "Ann")
    view = StoryView(store, run, base)
    assert report_facts(view)["Baseline"].startswith(
        f"V1 ({base.run_id}), the baseline of project shop, made "
    )
    assert "baseline: V1 (the baseline of project shop)" in gate_section(view, {}).facts
    itself = StoryView(store, base, base)
    assert itself.baseline is None
    assert report_facts(itself)["Baseline"] == "none: this run is the baseline of project shop"
    assert "baseline: none (this run is the baseline of project shop)" in gate_section(itself, {}).facts
