"""For whom a change helped: slices of the shared questions, checked against counting by hand."""

from __future__ import annotations

import gzip
import json

import pytest
from page_text import page_text
from places import APP, BUNDLED
from streamlit.testing.v1 import AppTest

from ragtriage.data.api import add_run
from ragtriage.data.comparison.question_changes import slice_changes
from ragtriage.data.diagnosis.diagnosis import Diagnosis, DiagnosisSettings, diagnose
from ragtriage.data.scoring.run_store import RunStore


def _diagnosis(store: RunStore, name: str, kinds: dict[str, list[float]]) -> Diagnosis:
    records = [
        {
            "question_id": f"{kind}{at}", "question": f"{kind} {at}?", "answer": "a", "query_type": kind,
            "scores": {"faithfulness": value},
        }
        for kind, values in kinds.items()
        for at, value in enumerate(values)
    ]  # fmt: skip
    run = add_run(records, name, "p", str(store.workspace.root))
    return diagnose(store.scored(run), DiagnosisSettings(), [])


def test_each_slice_has_its_own_change(workspace: RunStore) -> None:
    base = _diagnosis(workspace, "base", {"fact": [0.9] * 8, "hop": [0.1] * 12, "few": [0.9] * 4})
    other = _diagnosis(workspace, "other", {"fact": [0.9] * 8, "hop": [0.9] * 12, "few": [0.1] * 4})
    changes = {change.value: change for change in slice_changes(base, other) if change.name == "query_type"}
    assert changes.keys() == {"fact", "hop"}, "four questions are too few"
    assert (changes["hop"].base, changes["hop"].other) == (0.0, 1.0)
    assert changes["hop"].difference.n_pairs == 12
    assert changes["hop"].adjusted_p < 0.05
    assert changes["fact"].difference.difference == 0.0
    assert next(iter(slice_changes(base, other))).value == "hop", "the largest change is first"


def test_runs_without_shared_questions_have_no_slices(workspace: RunStore) -> None:
    base = _diagnosis(workspace, "base", {"fact": [0.9] * 8, "hop": [0.1] * 8})
    other = _diagnosis(workspace, "other", {"list": [0.9] * 8, "chat": [0.9] * 8})
    assert slice_changes(base, other) == []


def test_the_handbook_shows_for_whom_the_reranker_helped(
    demo: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = {run.name[:2]: run for run in demo.runs("handbook") if run.name[:2] in ("V1", "V4")}
    first, last = (diagnose(demo.scored(runs[name]), DiagnosisSettings(), []) for name in ("V1", "V4"))
    with gzip.open(BUNDLED / "handbook" / "V4.jsonl.gz", "rt", encoding="utf-8") as lines:
        kinds = [json.loads(line).get("query_type") for line in lines]
    changes = [change for change in slice_changes(first, last) if change.name == "query_type"]
    assert changes
    for change in changes:
        assert change.difference.n_pairs <= kinds.count(change.value)
    monkeypatch.setenv("RAGTRIAGE_WORKSPACE", str(demo.workspace.root))
    app = AppTest.from_file(str(APP), default_timeout=120)
    app.session_state["compare_tab"] = "For whom"
    app.query_params.update({"project": "handbook", "run": runs["V4"].run_id, "since": "baseline"})
    app.switch_page("compare/compare.py").run()
    assert not app.exception
    assert "against V1 baseline" in page_text(app)
    assert any(changes[0].value in str(frame.value.to_csv()) for frame in app.dataframe)


def test_the_interval_of_a_slice_is_the_one_its_verdict_rests_on(workspace: RunStore) -> None:
    kinds = {f"kind{at}": [0.9] * 12 for at in range(9)}
    before = {**kinds, "hop": [0.1] * 6, "fact": [0.1] * 12}
    base = _diagnosis(workspace, "base", before)
    other = _diagnosis(workspace, "other", {**kinds, "hop": [0.9] * 6, "fact": [0.9] * 12})
    for change in slice_changes(base, other):
        assert (change.low > 0 or change.high < 0) == (change.adjusted_p < 0.05), change
        assert change.low <= change.difference.low
    lost = {change.value: change for change in slice_changes(base, other)}
    assert lost["hop"].adjusted_p > 0.05, "six of six, p = 0.03, are not beyond chance among eleven slices"
    assert lost["hop"].difference.low > 0 > lost["hop"].low or lost["hop"].low <= 0
