"""Every recorded setting is a factor, so that no effect looks isolated that is not."""

from __future__ import annotations

from typing import Any

import pytest
from places import APP
from streamlit.testing.v1 import AppTest

from ragtriage.dashboard.shell.selection import Selection
from ragtriage.dashboard.tables.comparison import cost_table
from ragtriage.dashboard.wording.formatting import mean_text
from ragtriage.data.api import add_run
from ragtriage.data.comparison.ablation import Ablation, ablation, factors_of
from ragtriage.data.comparison.leaderboard import CostPoint
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.scoring.summaries import MetricSummary
from ragtriage.data.store.workspace import Run
from ragtriage.metrics.result_table import text_rows
from ragtriage.metrics.statistics.intervals import Interval


def _run(store: RunStore, name: str, config: dict[str, Any], shift: float = 0.0) -> Run:
    records = [
        {"question_id": f"q{at}", "question": f"{at}?", "scores": {"faithfulness": 0.4 + 0.01 * at + shift}}
        for at in range(12)
    ]
    return add_run(records, name, "p", str(store.workspace.root), config)


def _found(store: RunStore, *runs: Run) -> Ablation:
    return ablation(runs, [store.scored(run) for run in runs], "faithfulness")


def test_a_run_named_after_its_setting_keeps_it(workspace: RunStore) -> None:
    runs = [_run(workspace, name, {"retriever": name}) for name in ("bm25", "dense", "hybrid")]
    (factor,) = factors_of(runs)
    assert (factor.key, list(factor.values.values())) == ("retriever", ["bm25", "dense", "hybrid"])


@pytest.mark.parametrize("part", ["retriever", "generator", "embedding"])
def test_the_name_of_a_part_is_a_setting(workspace: RunStore, part: str) -> None:
    runs = [
        _run(workspace, "one", {"chunk_size": 256, part: {"name": "a"}}),
        _run(workspace, "two", {"chunk_size": 512, part: {"name": "b"}}, 0.2),
    ]
    found = _found(workspace, *runs)
    assert [one.key for one in found.factors] == [f"chunk_size + {part}.name"]
    assert [one.factor for one in found.effects] == [f"chunk_size + {part}.name"]


@pytest.mark.parametrize(
    ("setting", "values"),
    [("corpus", ("wiki", "news")), ("chunk_unit", ("tokens", "characters")), ("judge", ("x", "y"))],
)
def test_what_changes_the_ground_is_no_clean_pair(
    workspace: RunStore, setting: str, values: tuple[str, str]
) -> None:
    first = _run(workspace, "one", {"chunk_size": 256, "top_k": 3, setting: values[0]})
    second = _run(workspace, "two", {"chunk_size": 512, "top_k": 3, setting: values[1]}, 0.2)
    third = _run(workspace, "three", {"chunk_size": 512, "top_k": 5, setting: values[0]}, 0.2)
    found = _found(workspace, first, second, third)
    assert found.effects == ()
    assert {one.factor for one in found.confounded} == {setting, "chunk_size", "top_k"}
    beside = {one.factor: one.beside for one in found.confounded}
    assert beside["chunk_size"] == tuple(sorted((setting, "top_k")))


def test_the_name_of_a_run_is_none(workspace: RunStore) -> None:
    runs = [_run(workspace, name, {"name": name, "pipeline": name, "top_k": 3}) for name in ("one", "two")]
    assert factors_of(runs) == []


def test_a_mean_in_a_table_says_how_many_questions_it_rests_on() -> None:
    one = MetricSummary("faithfulness", 0.5, 0.4, 0.6, 1200, 1200, 0, "bootstrap", False, {}, None, None)
    assert mean_text(one) == "0.500 [0.400, 0.600], n = 1,200"
    assert mean_text(None) == "–"


def test_a_cost_tells_questions_from_samples(workspace: RunStore) -> None:
    records = [
        {"question_id": "q", "question": "q?", "repeat": repeat, "latency_ms": 10.0 * repeat}
        for repeat in (1, 2, 3)
    ]
    run = add_run(records, "r", "p", str(workspace.workspace.root))
    scored = workspace.scored(run)

    span = Interval(20.0, 15.0, 25.0, 1, 1, 1, "t", too_few=True)
    point = CostPoint(run.run_id, None, span, True)
    (row,) = text_rows(cost_table([("r", scored, point)], "latency_ms", "latency"))
    assert (row["Questions"], row["Samples"], row["Quality"]) == ("1", "3", "–")


def test_an_effect_says_how_many_of_its_pairs_are_offered(
    workspace: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = [
        _run(workspace, f"{model} {k}", {"generator": {"name": model}, "top_k": k}, shift)
        for model, shift in (("a", 0.0), ("b", 0.1))
        for k in range(1, 9)
    ]
    first, *others = (run.run_id for run in runs)
    monkeypatch.setenv("RAGTRIAGE_WORKSPACE", str(workspace.workspace.root))
    app = AppTest.from_file(str(APP), default_timeout=60)
    app.session_state["selection"] = Selection(project="p", baseline=first, versions=tuple(others))
    app = app.switch_page("compare/compare.py").run()
    app.session_state["compare_tab"] = "Factors"
    app.run()
    effects = next(one.value for one in app.dataframe if "Pairs of runs" in one.value)
    row = list(effects["Change"]).index("generator.name: a → b")
    app.session_state["effects_table"] = {"selection": {"rows": [row], "columns": [], "cells": []}}
    app.run()
    assert not app.exception
    assert effects["Pairs of runs"][row] == "8"
    assert sum(str(one.key).startswith("pair_") for one in app.button) == 6
    assert any("The first 6 of 8 pairs" in str(one.value) for one in app.caption)
    app.session_state["compare_tab"] = "Configurations"
    app.run()
    settings = next(one.value for one in app.dataframe if "Setting" in one.value)
    assert {"generator.name", "top_k"} <= set(settings["Setting"])
