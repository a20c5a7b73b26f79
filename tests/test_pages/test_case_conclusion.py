"""A case has one conclusion and one advice; its checks stand on the page, in the report and on the slide."""

from __future__ import annotations

import html
import io
import re
from pathlib import Path
from typing import Any

import pytest
from page_text import html_text, page_text
from places import APP
from pptx import Presentation
from streamlit.testing.v1 import AppTest

from ragtriage.dashboard.present.case_html.report_case import case_html
from ragtriage.dashboard.present.export.pptx.report_slides import case_slide
from ragtriage.dashboard.present.export.pptx.slides import Deck
from ragtriage.dashboard.shell.selection import Selection
from ragtriage.dashboard.wording.diagnosis import case_conclusion, pattern_stages
from ragtriage.data.api import add_run
from ragtriage.data.cases.cases import read_case
from ragtriage.data.cases.export import native_record
from ragtriage.data.diagnosis.diagnosis import Diagnosis, DiagnosisSettings, diagnose
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.ledger import Label
from ragtriage.metrics.diagnosis.patterns import PATTERNS, pattern_code

GOOD = {"faithfulness": 1.0, "answer_relevancy": 1.0, "context_recall": 1.0}
ROUTER = {"name": "route", "kind": "router", "expected": "billing", "actual": "sales"}
LANGUAGE = {"name": "language", "kind": "keyword", "expected": "de", "actual": "de"}
ADVICE = "Look at the router"


def _record(question: str, scores: dict[str, float], *checks: dict[str, str]) -> dict[str, Any]:
    return {
        "question_id": question,
        "question": f"Question {question}?",
        "answer": "An answer.",
        "scores": scores,
        "checks": list(checks),
    }


@pytest.fixture
def store(workspace: RunStore) -> RunStore:
    records = [
        _record("q1", GOOD, LANGUAGE, ROUTER),
        _record("q2", GOOD, {**ROUTER, "actual": "billing"}),
        _record("q3", {**GOOD, "context_recall": 0.0}, ROUTER),
        _record("q4", {**GOOD, "context_recall": 0.0}),
    ]
    add_run(records, "V1", "shop", str(workspace.workspace.root))
    return RunStore(workspace.workspace)


def _open(root: Path, page: str, selection: Selection, monkeypatch: pytest.MonkeyPatch) -> AppTest:
    monkeypatch.setenv("RAGTRIAGE_WORKSPACE", str(root))
    app = AppTest.from_file(str(APP), default_timeout=60)
    app.session_state["selection"] = selection
    app.switch_page(f"{page}/{page}.py").run()
    assert not app.exception
    return app


def _read(app: AppTest) -> str:
    return "\n".join(str(part.value) for part in [*app.markdown, *app.caption]).replace("\\", "")


def _diagnosed(store: RunStore, *labels: Label) -> Diagnosis:
    (run,) = store.runs("shop")
    return diagnose(store.scored(run), DiagnosisSettings(), labels)


def test_the_case_page_lists_the_checks_failed_ones_first(
    store: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = _open(store.workspace.root, "cases", Selection(project="shop", case="q1~0"), monkeypatch)
    table = next(one.value for one in app.dataframe if "Expected" in one.value.columns)
    assert table.to_dict("records") == [
        {"Check": "route (router)", "Result": "failed", "Expected": '"billing"', "Actual": '"sales"'},
        {"Check": "language (keyword)", "Result": "passed", "Expected": '"de"', "Actual": '"de"'},
    ]
    listed = next(one.value for one in app.dataframe if "State" in one.value.columns)
    states = {
        question: list(state) for question, state in zip(listed["Question"], listed["State"], strict=True)
    }
    assert states == {
        "Question q1?": ["Wrong route"],
        "Question q2?": ["Good"],
        "Question q3?": ["Wrong route"],
        "Question q4?": ["Retrieval miss"],
    }
    assert list(states)[-1] == "Question q2?", "the worst is first"


@pytest.mark.parametrize("question", ["q1", "q3"])
def test_the_case_page_has_one_conclusion_and_one_advice(
    store: RunStore, question: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = _open(store.workspace.root, "cases", Selection(project="shop", case=f"{question}~0"), monkeypatch)
    text = html_text(app)
    assert text.count("Wrong route") == 1
    assert text.count("What to try: ") == text.count(ADVICE) == 1
    assert "Healthy" not in text
    assert "Retrieval problem" not in text


def test_a_good_case_is_healthy_on_its_page(store: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    app = _open(store.workspace.root, "cases", Selection(project="shop", case="q2~0"), monkeypatch)
    assert re.search(r"✓ Good\s+Healthy\s+Question q2\?", html_text(app))


def test_the_pattern_table_gives_the_advice_of_the_stage(
    store: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = _diagnosed(store)
    counts = {key: n for key, n in found.pattern_counts().items() if n}
    assert counts == {"retrieval": 2, "healthy": 1, "bad_otherwise": 1}
    assert pattern_stages(found, "healthy", []) == ""
    assert pattern_stages(found, "bad_otherwise", []).startswith(f"Bad: Wrong route: 1. {ADVICE}")
    app = _open(store.workspace.root, "diagnosis", Selection(project="shop"), monkeypatch)
    bodies = [str(block.proto.body) for block in app.get("html")]
    rows = {key: next(body for body in bodies if _title(key) in body) for key in counts}
    assert ADVICE in html.unescape(rows["bad_otherwise"])
    assert "Wrong route: 1" in rows["retrieval"]
    assert "Retrieval miss (inferred): 1" in rows["retrieval"]
    assert "Nothing to fix" not in page_text(app)
    assert app.button(key="open_healthy").label.endswith("**1**")


def _title(pattern: str) -> str:
    return f"<b>{PATTERNS[pattern_code(pattern)].title}</b>"


def test_a_label_that_overrules_is_the_conclusion(store: RunStore) -> None:
    (run,) = store.runs("shop")
    store.ledger.add_label((run.run_id, "q4", 0), "ann", "pass")
    found = _diagnosed(store, *store.ledger.labels(run.run_id))
    assert [case_conclusion(found, row) for row in (1, 3)] == ["Healthy", "Good by human label"]


def test_report_and_slide_show_the_checks_and_one_conclusion(store: RunStore) -> None:
    found = _diagnosed(store)
    record = native_record(read_case(found.scored, 0))
    record["ragtriage"] = {"pattern": "healthy", "stage": "check_router"}
    page = case_html(record, "case", "open")
    table = page[page.index("<h4>Checks</h4>") : page.index("<h4>Scores</h4>")]
    assert table.index("route (router)") < table.index("language (keyword)")
    assert "<td>failed</td><td>&#34;billing&#34;</td><td>&#34;sales&#34;</td>" in table
    assert "Wrong route" in page
    assert "Healthy" not in page
    deck = Deck("Report")
    case_slide(deck, record, "Examples", [])
    (slide,) = Presentation(io.BytesIO(deck.to_bytes())).slides
    line = '✗ route (router): expected "billing", got "sales"'
    assert line in "\n".join(shape.text_frame.text for shape in slide.shapes if shape.has_text_frame)
    assert line in slide.notes_slide.notes_text_frame.text


def test_a_case_without_checks_has_no_table_of_them(store: RunStore) -> None:
    record = native_record(read_case(_diagnosed(store).scored, 3))
    assert "<h4>Checks</h4>" not in case_html(record, "case", "open")
