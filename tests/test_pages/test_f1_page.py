"""The F1 tree on Triage, on the command line, in reports and as cohorts, over the bundled handbook."""

from __future__ import annotations

import numpy as np
import pytest
from command_line import run as run_command
from page_text import page_text
from places import APP
from streamlit.testing.v1 import AppTest

from ragtriage.dashboard.charts.causes import f1_bars
from ragtriage.dashboard.shell.selection import Selection
from ragtriage.data.cases.cohorts import cohort_rows, cohort_title
from ragtriage.data.diagnosis.f1_tree import f1_diagnosis
from ragtriage.data.errors import DataError
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.strategy.expected_gains import expected_gains


def _page(store: RunStore, monkeypatch: pytest.MonkeyPatch, run: str) -> AppTest:
    monkeypatch.setenv("RAGTRIAGE_WORKSPACE", str(store.workspace.root))
    app = AppTest.from_file(str(APP), default_timeout=60)
    app.session_state["selection"] = Selection(project="handbook", run=store.find(run).run_id)
    return app


def test_the_tree_of_the_bundled_run_agrees_with_its_metrics(demo: RunStore) -> None:
    run = demo.find("V1 baseline")
    tree = f1_diagnosis(demo.scored(run)).tree
    assert tree is not None
    scored = demo.scored(run)
    known = np.isfinite(scored.values("answer_f1"))
    assert tree.f1.mean == pytest.approx(scored.values("answer_f1")[known].mean())
    assert tree.n_samples == int(known.sum()) < demo.summary(run)["answer_precision"].n_scored
    for branch in tree.branches:
        if branch.part.key != "noise_irrelevant":  # there the metric counts claims of both kinds of document
            values = scored.values(branch.part.metric)[known]
            assert branch.value.mean == pytest.approx(np.nanmean(values)), branch.part.key
    assert [branch.part.key for branch in tree.branches][:2] == ["precision", "noise_relevant"]


def test_a_part_leads_to_the_cases_that_it_counts(demo: RunStore) -> None:
    scored = demo.scored(demo.find("V1 baseline"))
    tree = f1_diagnosis(scored).tree
    assert tree is not None
    for branch in tree.branches:
        rows = cohort_rows(scored, f"f1:{branch.part.key}")
        assert int(rows.sum()) == branch.n_cases
        assert np.isfinite(scored.values("answer_f1")[rows]).all()
    assert cohort_title("f1:noise_relevant") == "F1 lost to noise from relevant documents"
    with pytest.raises(DataError, match="accepted: precision, recall"):
        cohort_rows(scored, "f1:luck")


def test_bars_follow_the_tree_and_lead_to_cases(demo: RunStore) -> None:
    tree = f1_diagnosis(demo.scored(demo.find("V1 baseline"))).tree
    assert tree is not None
    chart = f1_bars(tree)
    (bars,) = chart.series
    shown = [branch for branch in tree.branches if branch.part.costs_f1]
    assert list(bars.x) == [branch.gain.mean for branch in shown]
    assert chart.y.names[::-1][0] == "Precision"
    assert bars.keys[0] == ("f1:precision",)
    assert all(low is not None and high is not None for low, high in zip(bars.low, bars.high, strict=True))


def test_the_command_gives_the_tree_as_text_and_json(
    demo: RunStore, capsys: pytest.CaptureFixture[str]
) -> None:
    text = run_command(capsys, demo.workspace.root, "f1", "V1 baseline").out
    assert "F1 is 0.72" in text
    assert "true or not: read the cases before repairing" in " ".join(text.split())
    answer = run_command(capsys, demo.workspace.root, "f1", "V1 baseline", "--json").json
    assert (answer["f1"]["n"], answer["n_total"], answer["source"]) == (41, 48, "computed")
    parts = {part["part"]: part for part in answer["parts"]}
    assert parts["hallucination"]["parent"] == "faithfulness"
    own = parts["self_knowledge"]["gain_if_perfect"]
    assert (own["mean"], own["low"], own["high"]) == (0.0, 0.0, 0.0)


def test_a_run_without_claims_says_what_is_lacking(
    demo: RunStore, capsys: pytest.CaptureFixture[str]
) -> None:
    run = demo.runs("iris")[0].run_id
    text = run_command(capsys, demo.workspace.root, "f1", run).out
    assert "F1 is not measured: the run has no value of answer precision" in " ".join(text.split())


def test_an_expected_gain_is_entered_marked_and_undone_on_the_page(
    own_demo: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = own_demo
    run = store.find("V1 baseline")
    app = _page(store, monkeypatch, "V1 baseline")
    app.session_state["triage_tabs"] = "Why F1"
    app.session_state["annotator_name"] = "Ada"
    app.run()
    assert "Assumptions of the team, not computed" in page_text(app)
    app.text_input(key="expected_measure").set_value("Rerank <b>all</b>")
    app.number_input(key="expected_gain").set_value(0.3)
    app.selectbox(key="expected_part").set_value("noise_relevant")
    app.button(key="expect_add").click().run()
    (entry,) = expected_gains(store.ledger, run.run_id)
    assert (entry.part, entry.gain, entry.measure, entry.who) == (
        "noise_relevant",
        0.3,
        "Rerank <b>all</b>",
        "Ada",
    )
    said = page_text(app).replace("\\", "")
    assert "1 assumption, together +0.30 F1" in said
    assert "V2 smaller chunks, brought" in said
    assert "0.30 is expected, and a perfect part gives at most 0.11" in said
    app.button(key="expect_undo").click().run()
    assert expected_gains(store.ledger, run.run_id) == ()
    assert not app.exception
