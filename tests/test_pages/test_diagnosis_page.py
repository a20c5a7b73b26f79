"""The Diagnosis page: what its rows, bars and bubbles show, and the cases that they open."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from page_text import headline, page_text
from places import APP
from streamlit.testing.v1 import AppTest

from ragtriage.dashboard.charts.causes import Bubble, case_bubbles
from ragtriage.dashboard.charts.tokens import DARK, LIGHT
from ragtriage.dashboard.present.page_html.blocks import pattern_head, stage_row
from ragtriage.dashboard.present.page_html.pictures import bar_image
from ragtriage.dashboard.shell.selection import Selection
from ragtriage.data.api import add_run
from ragtriage.data.cases.cohorts import cohort_rows, cohort_title
from ragtriage.data.cases.diagnosis_cohorts import map_cell_key, map_cells
from ragtriage.data.errors import DataError
from ragtriage.data.scoring.run_store import RunStore

HOSTILE = "<script>alert(1)</script>"
SCORES = [(1.0, 0.05), (1.0, 0.05), (0.95, 1.0), (0.1, 0.9), (None, 0.4)]  # context recall, faithfulness


def _loaded(store: RunStore) -> None:
    records: list[dict[str, Any]] = []
    for at, (context, faithfulness) in enumerate(SCORES):
        scores = {"faithfulness": faithfulness, "answer_relevancy": 1.0}
        scores |= {} if context is None else {"context_recall": context}
        question = {"question_id": f"q{at}", "question": f"Question {at}?", "answer": "An answer."}
        records.append({**question, "scores": scores})
    add_run(records, "V1", "p", str(store.workspace.root))


def _open(store: RunStore, monkeypatch: pytest.MonkeyPatch, tab: str = "", **chosen: Any) -> AppTest:
    monkeypatch.setenv("RAGTRIAGE_WORKSPACE", str(store.workspace.root))
    app = AppTest.from_file(str(APP), default_timeout=60)
    app.session_state["selection"] = Selection(project="p", **chosen)
    if tab:
        app.session_state["diagnosis_tab"] = tab
    app.switch_page("diagnosis/diagnosis.py").run()
    assert not app.exception
    return app


def test_every_bar_is_a_button_to_its_cases(workspace: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    _loaded(workspace)
    app = _open(workspace, monkeypatch)
    assert headline(app) == "V1: 4 of 5 cases are bad; 2 of them go beyond their context"
    assert app.button(key="open_hallucination").label.endswith("**2**")
    assert "open_refusal" not in {button.key for button in app.button}, "patterns without a case are folded"
    app.session_state["absent_patterns"] = True
    app.run()
    assert app.button(key="open_refusal").disabled
    text = page_text(app)
    assert "2 unfaithful. Look at the prompt" in text
    assert "at most" in text
    app.button(key="open_hallucination").click().run()
    assert app.session_state["selection"].pattern == "hallucination"
    stages = _open(workspace, monkeypatch)
    stages.button(key="open_stage_unfaithful").click().run()
    assert stages.session_state["selection"].stage == "unfaithful"


def test_a_bubble_stands_for_exactly_the_cases_that_it_opens(
    workspace: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    _loaded(workspace)
    app = _open(workspace, monkeypatch)
    bubbles = json.loads(app.get("plotly_chart")[0].proto.spec)["data"][0]
    by_key = dict(zip([key for (key,) in bubbles["customdata"]], bubbles["text"], strict=True))
    assert by_key == {"map_cell::1:9": "1", "map_cell::9:0": "2", "map_cell::9:9": "1"}
    assert "n = 4 of 5 cases with both values" in page_text(app)
    (run,) = workspace.runs("p")
    for key, n in by_key.items():
        assert cohort_rows(workspace.scored(run), key).sum() == int(n)
        assert Selection.from_params({"cohort": key}).cohort == key


def test_cells_of_the_map_and_their_titles(workspace: RunStore) -> None:
    assert map_cells(np.array([0.0, 0.3, 0.99, 1.0, 1.2, np.nan])).tolist() == [0, 3, 9, 9, 9, -1]
    key = map_cell_key("context_recall", 9, 0)
    assert cohort_title(key) == "context_recall 0.9 to 1.0, faithfulness 0.0 to 0.1"
    _loaded(workspace)
    (run,) = workspace.runs("p")
    assert cohort_rows(workspace.scored(run), key).tolist() == [True, True, False, False, False]
    for wrong in ("map_cell:9:0:x", "map_cell:", "map_cell:no_metric:1:1"):
        with pytest.raises(DataError, match="cohort"):
            cohort_rows(workspace.scored(run), wrong)


def test_bubbles_carry_colour_number_and_what_they_lead_to() -> None:
    bubbles = [Bubble(9, 0, 7, "generation", "7 cases: 7 unfaithful", "map_cell::9:0")]
    bubbles.append(Bubble(9, 9, 1, None, HOSTILE, "map_cell::9:9"))
    for tokens in (LIGHT, DARK):
        trace, by_x, by_y = case_bubbles(bubbles, (0.5, 0.8), HOSTILE, tokens).data
        assert list(trace.marker.color) == [tokens.stages["generation"], tokens.alive]
        assert trace.marker.size[0] > trace.marker.size[1]
        assert "<script>" not in "".join(trace.hovertext)
        assert (sum(by_x.y), sum(by_y.x)) == (8, 8)


def test_rows_escape_what_they_are_given() -> None:
    assert "<script>" not in stage_row("#fff", HOSTILE, HOSTILE, HOSTILE, HOSTILE, HOSTILE)
    assert "<script>" not in pattern_head([(HOSTILE, HOSTILE, HOSTILE)])
    assert bar_image([(1, "#000000")], 4, "light").startswith("data:image/svg+xml;base64,")


@pytest.mark.parametrize(
    ("tab", "fact"),
    [
        ("Refusals", "This table needs answers"),
        ("Symptoms", "Not checked, because their metrics"),
        ("Order of the stages", "attributed to the first stage in this order"),
    ],
)
def test_a_tab_runs_when_it_is_opened(
    workspace: RunStore, monkeypatch: pytest.MonkeyPatch, tab: str, fact: str
) -> None:
    _loaded(workspace)
    assert fact not in page_text(_open(workspace, monkeypatch))
    assert fact in page_text(_open(workspace, monkeypatch, tab))
