"""Results in a notebook: the sentence of command and page, the figure of the page; texts stay text."""

from __future__ import annotations

import copy
import html
import json
import pickle
import re
from pathlib import Path
from typing import Any

import pytest
from command_line import run as command
from page_text import headline
from places import APP
from streamlit.testing.v1 import AppTest

import ragtriage
from ragtriage.dashboard.charts.tokens import THEMES
from ragtriage.dashboard.shell.selection import Selection
from ragtriage.data.api import add_run
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.results import Shown

Capture = pytest.CaptureFixture[str]
BASE, RUN = "handbook: V3 strict prompt", "handbook: V4 rerank"
HOSTILE = '<script>alert(1)</script>"><img src=x onerror=alert(2)> {{ 7 * 7 }}'


def _html(result: Shown) -> str:
    shown = result._repr_html_()
    assert shown is not None
    return shown


def _words(text: str) -> str:
    return re.sub(r"[\s.]+", " ", text)


def _text(result: Shown) -> str:
    """Return what a person reads of the HTML of a result."""
    body = re.sub(r"<style>.*?</style>", "", _html(result), flags=re.DOTALL)
    return _words(html.unescape(re.sub(r"<[^>]+>", " ", body)))


def _statement(result: Shown) -> str:
    (statement,) = re.findall(r"<h1>(.*?)</h1>", _html(result), flags=re.DOTALL)
    return html.unescape(statement)


def _page(root: Path, monkeypatch: pytest.MonkeyPatch, page: str, **chosen: Any) -> AppTest:
    monkeypatch.setenv("RAGTRIAGE_WORKSPACE", str(root))
    app = AppTest.from_file(str(APP), default_timeout=60)
    app.session_state["selection"] = Selection(**chosen)
    return app.run() if page == "triage" else app.switch_page(f"{page}/{page}.py").run()


def _traces(figure: Any) -> Any:
    return json.loads(figure.to_json())["data"]


def _band(result: Shown) -> str:
    """Return statement, detail and doubt of a result as one text, without full stops."""
    (band,) = re.findall(r"<h1>(.*?)</div>", _html(result), flags=re.DOTALL)
    text = re.sub(r"<[^>]+>", " ", re.sub(r'<span class="rt-hidden">.*?</span>', "", band))
    return _words(html.unescape(text).replace("! Doubted", "Doubted")).strip()


@pytest.mark.parametrize("run", ["V1 baseline", "V2 smaller chunks", "gpt-4o, airline", "clapnq: Mistral"])
def test_a_gate_report_opens_with_the_sentence_of_the_command(
    capsys: Capture, demo: RunStore, run: str
) -> None:
    root = demo.workspace.root
    report = ragtriage.gate(run, workspace=root)
    printed = _words(command(capsys, root, "gate", run).out)
    assert printed.startswith(f"{_band(report)} ")


def test_the_sentences_of_a_comparison_and_a_diagnosis_are_those_of_command_and_page(
    capsys: Capture, demo: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = demo.workspace.root
    comparison = ragtriage.compare(BASE, RUN, workspace=root)
    assert _words(command(capsys, root, "compare", BASE, RUN).out).startswith(f"{_band(comparison)} ")
    diagnosis = ragtriage.diagnose(RUN, faithfulness=0.9, workspace=root)
    app = _page(root, monkeypatch, "diagnosis", project="handbook", run=diagnosis.run_id, faithfulness=0.9)
    assert _statement(diagnosis) == headline(app)


def test_figures_are_those_of_the_pages(demo: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    root = demo.workspace.root
    report = ragtriage.gate(RUN, BASE, workspace=root)
    chosen = {"project": "handbook", "run": report.run_id, "baseline": report.baseline_id}
    app = _page(root, monkeypatch, "triage", **chosen)
    (river,) = (json.loads(chart.proto.spec) for chart in app.get("plotly_chart")[:1])
    assert headline(app) == _statement(report)
    assert _traces(report.plot()) == river["data"]
    drawn = json.loads(report.plot().to_json())["layout"]
    assert drawn["annotations"] == river["layout"]["annotations"]
    assert drawn["shapes"] == river["layout"]["shapes"]
    app = _page(root, monkeypatch, "compare", versions=(report.run_id,), **chosen)
    forest = json.loads(app.get("plotly_chart")[0].proto.spec)
    assert _traces(ragtriage.compare(BASE, RUN, workspace=root).plot()) == forest["data"]


def test_tiles_have_n_and_interval_and_the_table_has_every_gate(demo: RunStore) -> None:
    report = ragtriage.gate(RUN, BASE, workspace=demo.workspace.root)
    text = _text(report)
    assert "Pass rate ✓ holds 83 % V3 strict prompt 56 % 95 % CI 70 % to 91 % · 48 questions" in text
    assert _html(report).count("<tr>") == len(report.gates) + 1
    bundled = ragtriage.gate("clapnq: Mistral", workspace=demo.workspace.root)
    unmeasured = int((bundled.gates["verdict"] == "UNMEASURED").sum())
    assert f"· {unmeasured} gates not measured" in _text(bundled)
    assert _html(bundled).count("<tr>") == len(bundled.gates) - unmeasured + 1
    assert "Bad cases by failure stage" in _text(ragtriage.diagnose(RUN, workspace=demo.workspace.root))
    compared = _text(ragtriage.compare(BASE, RUN, workspace=demo.workspace.root))
    assert "Pass rate ✓ better +0 27 0 56 → 0 83 interval [0 14, 0 41] · n = 48 pairs" in compared


def test_a_new_run_shows_the_verdict_on_it_and_texts_from_outside_stay_text(tmp_path: Path) -> None:
    records = [
        {
            "question_id": f"{HOSTILE}{at}",
            "question": f"{HOSTILE} {at}?",
            "answer": HOSTILE,
            "tags": {HOSTILE: HOSTILE},
            "scores": {"faithfulness": 0.9 if at % 2 else 0.1, HOSTILE: 0.5},
        }
        for at in range(30)
    ]
    first = ragtriage.add_run(records[:25], f"{HOSTILE} 1", project=HOSTILE, workspace=tmp_path)
    run = ragtriage.add_run(records, f"{HOSTILE} 2", project=HOSTILE, workspace=tmp_path)
    results = (
        run,
        ragtriage.gate(run, first, workspace=tmp_path),
        ragtriage.diagnose(run, workspace=tmp_path),
        ragtriage.compare(first, run, workspace=tmp_path),
    )
    for result in results:
        shown = _html(result)
        assert not re.search(r"<(script|img)", shown)
        assert "49" not in _statement(result)
        assert "&lt;script&gt;" in shown
        assert "<script" not in result.plot().to_json()
        assert not re.search(r"\b(src|href|url)\b\s*[=(]", re.sub(r"&[^;]+;[^<]*", "", shown)), "no request"
    assert _statement(run).endswith("do not ship")


def test_html_and_figure_are_light_and_dark(demo: RunStore) -> None:
    report = ragtriage.gate(RUN, BASE, workspace=demo.workspace.root)
    shown = _html(report)
    assert THEMES["light"].background in shown
    assert re.search(r'data-jp-theme-light="false".*?--bg: #10161C', shown, flags=re.DOTALL)
    assert report.plot().layout.paper_bgcolor == THEMES["light"].background
    assert report.plot("dark").layout.paper_bgcolor == THEMES["dark"].background
    with pytest.raises(ragtriage.RagtriageError, match=r"theme 'pink'; accepted: \"light\" or \"dark\""):
        report.plot("pink")  # type: ignore[arg-type] # as a user may write it


def test_a_result_shows_what_it_holds_whatever_was_labelled_since(own_demo: RunStore) -> None:
    root = own_demo.workspace.root
    before = ragtriage.diagnose(RUN, workspace=root)
    statement = _statement(before)
    for question_id in ragtriage.samples(RUN, root)["question_id"]:
        own_demo.ledger.add_label((before.run_id, question_id, 0), "reader", "fail")
    assert _statement(before) == statement
    assert _statement(ragtriage.diagnose(RUN, workspace=root)) != statement


def test_a_pickled_result_keeps_its_values_alone(demo: RunStore) -> None:
    report = ragtriage.gate(RUN, BASE, workspace=demo.workspace.root)
    for same in (pickle.loads(pickle.dumps(report)), copy.deepcopy(report)):
        assert (same.run_id, same.state, len(same.gates)) == (report.run_id, report.state, len(report.gates))
        assert same._repr_html_() is None
        with pytest.raises(ragtriage.RagtriageError, match="values alone"):
            same.plot()


def test_metrics_declared_for_a_run_are_in_force_when_it_is_drawn(tmp_path: Path) -> None:
    def records(kind: float) -> list[dict[str, Any]]:
        return [
            {"question_id": f"q{at}", "question": f"{at}?", "answer": "a", "scores": {"toxicity": kind}}
            for at in range(20)
        ]

    lower = {"toxicity": {"direction": "lower", "range": [0, 1], "title": "Toxicity"}}
    for name, value in (("before", 0.1), ("after", 0.8)):
        ragtriage.add_run(records(value), name, metrics=lower, workspace=tmp_path)
    comparison = ragtriage.compare("before", "after", family="all", workspace=tmp_path)
    (points,) = [trace for trace in _traces(comparison.plot()) if trace["customdata"][0][1] == "toxicity"]
    assert points["x"][0] == pytest.approx(-0.7), "lower is better, so that a rise is drawn as a loss"


def test_nothing_shared_has_no_figure(workspace: RunStore) -> None:
    root = workspace.workspace.root
    for name in ("a", "b"):
        record = {"question": f"{name}?", "answer": "x", "scores": {"faithfulness": 1}}
        add_run([record], name, "p", str(root))
    comparison = ragtriage.compare("a", "b", workspace=root)
    assert "share no question" in _text(comparison)
    with pytest.raises(ragtriage.RagtriageError, match="no figure: the two runs share no measured metric"):
        comparison.plot()
