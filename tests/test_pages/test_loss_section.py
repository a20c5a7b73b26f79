"""The oracle gap on the Diagnosis page: without an oracle-context run, with an imported one, and several."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from places import APP
from streamlit.testing.v1 import AppTest

from ragtriage.dashboard.charts.causes import oracle_gap_bars
from ragtriage.dashboard.charts.plotly_figure import plotly_figure
from ragtriage.dashboard.pages.diagnosis.oracle_gap import TITLE
from ragtriage.dashboard.shell.selection import Selection
from ragtriage.data.api import add_run
from ragtriage.data.cases.comparison_cohorts import oracle_gap_cohort_key
from ragtriage.data.comparison.oracle_gap import GapEstimate, OracleGap
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.workspace import Run

HOSTILE = "<script>alert(1)</script> [x](javascript:y)"
LOW = [0.0, 0.0, 1.0, 0.0, 0.5, 1.0, 0.0, 0.0, 1.0, 0.0]
HIGH = [1.0, 0.0, 1.0, 1.0, 1.0, 0.0, 1.0, 0.0, 1.0, 1.0]


def _records(values: list[float], mode: str | None = None, gold: bool = True) -> list[dict[str, Any]]:
    more = {"context_mode": mode} if mode else {}
    return [
        {
            "question_id": f"q{at}",
            "question": f"Question {at}?",
            "answer": f"{mode} says {at}.",
            "retrieved": None
            if mode == "closed_book"
            else [{"id": "a", "text": f"a of {at}"}, {"id": "b", "text": "b"}],
            "relevant": ["a"] if gold else None,
            "scores": {"correctness": value},
            **more,
        }
        for at, value in enumerate(values)
    ]


def _add(store: RunStore, records: list[dict[str, Any]], name: str, **config: Any) -> Run:
    return add_run(records, name, "p", str(store.workspace.root), config)


def _open(
    store: RunStore, monkeypatch: pytest.MonkeyPatch, page: str = "diagnosis", **chosen: Any
) -> AppTest:
    monkeypatch.setenv("RAGTRIAGE_WORKSPACE", str(store.workspace.root))
    app = AppTest.from_file(str(APP), default_timeout=60)
    app.session_state["selection"] = Selection(project="p", **chosen)
    app.switch_page(f"{page}/{page}.py").run()
    assert not app.exception
    return app


def _words(app: AppTest) -> str:
    parts = [*app.subheader, *app.markdown, *app.caption, *app.info, *app.warning, *app.error]
    return "\n".join(str(part.value) for part in parts)


def _bars(app: AppTest) -> dict[str, Any] | None:
    for chart in app.get("plotly_chart"):
        bar: dict[str, Any] = json.loads(chart.proto.spec)["data"][0]
        if "Generation error" in (bar.get("y") or ()):
            return bar
    return None


def _keys(app: AppTest, kind: str) -> set[str]:
    return {str(widget.key) for widget in app.get(kind)}


def test_without_a_partner_a_run_with_gold_says_how_to_get_one(
    workspace: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = _add(workspace, _records(LOW), "v1")
    app = _open(workspace, monkeypatch)
    assert f"ragtriage generate {run.run_id} --context oracle" in _words(app)
    assert TITLE in [heading.value for heading in app.subheader]
    assert _bars(app) is None


def test_without_gold_there_is_one_line(workspace: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    _add(workspace, _records(LOW, gold=False), "v1")
    app = _open(workspace, monkeypatch)
    assert "records no gold" in _words(app)
    assert "ragtriage generate" not in _words(app)
    assert TITLE not in [heading.value for heading in app.subheader]


def test_an_imported_partner_gives_two_bars_with_intervals(
    workspace: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = _add(workspace, _records(LOW), "v1", model="m")
    oracle = _add(workspace, _records(HIGH, "oracle"), HOSTILE, model="m")
    app = _open(workspace, monkeypatch, run=run.run_id)
    bars = _bars(app)
    assert bars is not None
    assert bars["y"] == ["Retrieval error", "Generation error"]
    assert [one[0] for one in bars["customdata"]] == [
        oracle_gap_cohort_key("retrieval", oracle.run_id, "correctness"),
        oracle_gap_cohort_key("generation", oracle.run_id, "correctness"),
    ]
    assert all(details.endswith("n = 10") for details in bars["hovertext"])
    words = _words(app)
    for told in ("0.35 as retrieved", "0.70 with the gold documents", "0.35", "0.30", "n = 10 questions"):
        assert told in words
    assert "correctness: imported" in words.lower()
    assert "Dirichlet-weighted" in words
    assert "<script>" not in words
    assert not app.warning
    assert "pick_other" not in _keys(app, "selectbox")


@pytest.mark.parametrize(
    ("button", "listed", "title"),
    [
        ("cases_retrieval", {"q0", "q3", "q6", "q9"}, "retrieval lost the answer"),
        ("cases_generation", {"q1", "q7"}, "wrong with the gold documents too"),
    ],
)
def test_each_bar_leads_to_its_cases(
    workspace: RunStore, monkeypatch: pytest.MonkeyPatch, button: str, listed: set[str], title: str
) -> None:
    run = _add(workspace, _records(LOW), "v1", model="m")
    _add(workspace, _records(HIGH, "oracle"), "oracle", model="m")
    app = _open(workspace, monkeypatch, run=run.run_id)
    app.button(key=button).click().run()
    assert not app.exception
    assert f"**{len(listed)} cases** of 10" in _words(app)
    assert title in _words(app)
    mark = app.session_state["selection"].cohort
    again = _open(workspace, monkeypatch, "cases", run=run.run_id, cohort=mark)
    assert f"**{len(listed)} cases** of 10" in _words(again)
    assert Selection.from_params(Selection(cohort=mark).to_params()).cohort == mark


def test_a_mark_of_a_run_that_is_gone_says_so(workspace: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    run = _add(workspace, _records(LOW), "v1")
    app = _open(workspace, monkeypatch, "cases", run=run.run_id, cohort="lost_retrieval:gone:correctness")
    assert "is not in p" in _words(app)


def test_two_partners_and_a_closed_book_can_be_chosen_from(
    workspace: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = _add(workspace, _records(LOW), "v1", model="m")
    made = _add(
        workspace, _records(HIGH, "oracle"), "made", generated_from=run.run_id, generator_model="claude"
    )
    other = _add(workspace, _records([1.0] * 10, "oracle"), "other", model="m")
    _add(workspace, _records([0.0] * 10, "closed_book"), "closed", model="m")
    app = _open(workspace, monkeypatch, run=run.run_id)
    picker = app.selectbox(key="pick_other")
    assert picker.value == made.run_id
    bars = _bars(app)
    assert bars is not None
    assert bars["y"] == ["Retrieval error", "Generation error", "Added by the context"]
    assert bars["customdata"][2] == [""]
    assert "+0.35" in bars["hovertext"][2]
    warned = "\n".join(str(one.value) for one in app.warning)
    assert "the generator differs" in warned
    assert f"ragtriage generate {run.run_id} --context retrieved" in warned
    picker.select(other.run_id).run()
    assert app.session_state["selection"].other == other.run_id
    bars = _bars(app)
    assert bars is not None
    assert "generation error **0.00 [0.00, 0.31]**" in _words(app)  # a bound: all ten answers are right
    assert not app.warning


def test_the_quality_can_be_chosen_and_unmeasured_partners_ask_for_a_judge(
    workspace: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = _add(workspace, _records(LOW), "v1")
    bare = [{**one, "scores": {}, "retrieved": None, "answer": None} for one in _records(HIGH, "oracle")]
    oracle = _add(workspace, bare, "oracle", generated_from=run.run_id)
    app = _open(workspace, monkeypatch, run=run.run_id)
    assert f"ragtriage judge {oracle.run_id}" in _words(app)
    assert _bars(app) is None
    measured = _add(workspace, _records(HIGH, "oracle"), "measured", generated_from=run.run_id)
    app = _open(workspace, monkeypatch, run=run.run_id, other=measured.run_id)
    app.selectbox(key="pick_outcome").select("pass rate").run()
    assert not app.exception
    assert "the pass rate blames" in "\n".join(str(one.value) for one in app.warning)


def test_a_generated_run_leads_back_and_an_imported_oracle_shows_its_one_bar(
    workspace: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = _add(workspace, _records(LOW), "v1")
    made = _add(workspace, _records(HIGH, "oracle"), "made", generated_from=run.run_id)
    closed = _add(workspace, _records(LOW, "closed_book"), "closed")
    app = _open(workspace, monkeypatch, run=made.run_id)
    bars = _bars(app)
    assert bars is not None
    assert bars["y"] == ["Generation error"]
    app.button(key="open_original").click().run()
    assert app.session_state["selection"].run == run.run_id
    alone = _open(workspace, monkeypatch, run=closed.run_id)
    assert "without documents" in _words(alone)
    assert _bars(alone) is None


def test_a_run_given_one_passage_is_called_near_to_an_oracle(
    demo: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAGTRIAGE_WORKSPACE", str(demo.workspace.root))
    app = AppTest.from_file(str(APP), default_timeout=60)
    app.session_state["selection"] = Selection(project="clapnq")
    app.switch_page("diagnosis/diagnosis.py").run()
    assert not app.exception
    assert "one given passage" in _words(app)
    bars = _bars(app)
    assert bars is not None
    assert bars["y"] == ["Generation error"]


def _found(**losses: tuple[float, float, float]) -> OracleGap:
    made = tuple(
        GapEstimate(key, *values, n=1200, method="bootstrap", too_few=False)  # type: ignore[arg-type] # a kind of loss
        for key, values in losses.items()
    )
    return OracleGap("correctness", 0.5, made, 0.5, 0.6, np.nan, 0, {}, ((), (), ()))


def test_bars_have_arms_patterns_and_room_for_their_figures() -> None:
    found = _found(retrieval=(-0.1, -0.2, 0.05), generation=(0.4, 0.3, 0.5))
    figure = plotly_figure(oracle_gap_bars(found, {"retrieval": "lost_retrieval:x:y"}, "Correct<b>ness"))
    bar = figure.data[0]
    assert list(bar.error_x.array) == pytest.approx([0.15, 0.1])
    assert list(bar.error_x.arrayminus) == pytest.approx([0.1, 0.1])
    assert [one[0] for one in bar.customdata] == ["lost_retrieval:x:y", ""]
    assert len(set(bar.marker.pattern.shape)) == 2
    assert figure.layout.xaxis.range[0] < -0.2
    assert figure.layout.xaxis.range[1] > 0.5
    assert "&lt;b&gt;" in figure.layout.xaxis.title.text
    texts = [one.text for one in figure.layout.annotations]
    assert texts == ["−0.10  n = 1,200", "0.40  n = 1,200"]
