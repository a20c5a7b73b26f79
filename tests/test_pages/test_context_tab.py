"""The tab Context of the page Retrieval, and the cases behind its numbers."""

from __future__ import annotations

import pytest
from page_text import page_text
from places import APP
from streamlit.testing.v1 import AppTest

from ragtriage.dashboard.shell.selection import Selection
from ragtriage.data.api import add_run
from ragtriage.data.cases.cohorts import cohort_rows
from ragtriage.data.errors import DataError
from ragtriage.data.scoring.run_store import RunStore


def _opened(store: RunStore, monkeypatch: pytest.MonkeyPatch, project: str) -> AppTest:
    monkeypatch.setenv("RAGTRIAGE_WORKSPACE", str(store.workspace.root))
    app = AppTest.from_file(str(APP), default_timeout=60)
    app.session_state["selection"] = Selection(project=project)
    app.session_state["retrieval_tab"] = "Context"
    return app.switch_page("retrieval/retrieval.py").run()


def test_the_tab_shows_each_metric_with_n_and_source(demo: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    app = _opened(demo, monkeypatch, "handbook")
    assert not app.exception
    (table,) = (frame.value for frame in app.dataframe if "What it says" in frame.value.columns)
    rows = {row["Metric"]: row for row in table.to_dict("records")}
    assert rows["Context coverage"]["Source"] == "computed"
    assert rows["Context redundancy (words)"]["Source"] == "estimated"
    assert rows["Context diversity (words)"]["n"] == "48 of 48"


def test_a_run_without_gold_has_it_below_what_to_record(
    demo: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = page_text(_opened(demo, monkeypatch, "iris"))
    assert "Context quality beyond relevance" in text
    assert "Context redundancy (words)" in text


def test_cohorts_choose_by_labels_and_by_repeats(workspace: RunStore) -> None:
    twice = "The Rhine is 1,230 kilometres long and flows through six countries."
    records = [
        {
            "question": "How long is the Rhine?",
            "retrieved": [{"text": twice, "answer": "1,230"}, {"text": twice, "answer": "1,320"}],
            "reference_claims": [{"text": "It is 1,230 km.", "supported_by": [1]}],
        },
        {
            "question": "Where does it end?",
            "retrieved": [{"text": "In the sea.", "answer": "sea"}, {"text": "Far away.", "answer": "Sea "}],
            "reference_claims": [{"text": "In the North Sea.", "supported_by": []}],
        },
    ]
    scored = workspace.scored(add_run(records, "run", "p", str(workspace.workspace.root)))
    assert cohort_rows(scored, "redundant").tolist() == [True, False]
    assert cohort_rows(scored, "inconsistent").tolist() == [True, False]
    assert cohort_rows(scored, "uncovered").tolist() == [False, True]


def test_words_alone_call_no_case_uncovered(workspace: RunStore) -> None:
    records = [{"question": "q", "reference_answer": "Cologne", "retrieved": [{"text": "Bonn"}]}]
    scored = workspace.scored(add_run(records, "run", "p", str(workspace.workspace.root)))
    assert scored.values("context_coverage").tolist() == [0.0]
    with pytest.raises(DataError, match="no labels"):
        cohort_rows(scored, "uncovered")
