"""Item analysis: the handbook's four versions, hand-worked correlations, and a second computation."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from handbook_items import handbook_items
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ragtriage.dashboard.pages.datasets import analysis
from ragtriage.data.api import diagnosis_of, open_store
from ragtriage.data.datasets.item import Item
from ragtriage.data.datasets.item_analysis import analyse_items
from ragtriage.data.datasets.review import DraftItem
from ragtriage.data.demo import load_project
from ragtriage.data.diagnosis.diagnosis import DiagnosisSettings
from ragtriage.data.strategy.plan import is_version
from ragtriage.metrics.analysis.items import difficulty, groups_of, item_rest
from ragtriage.metrics.schema.scores import FloatArray


def test_the_handbook_versions_tell_25_questions_apart_and_one_goes_against_them(tmp_path) -> None:  # type: ignore[no-untyped-def]
    store = open_store(str(tmp_path), create=True)
    runs = load_project(store, "handbook")
    runs = [run for run in runs if run.name[:2] in ("V1", "V2", "V3", "V4")]
    items = handbook_items()
    analysis = analyse_items(items, runs, lambda run: diagnosis_of(store, run, DiagnosisSettings()))
    assert [run.name for run in analysis.runs] == [
        "V4 rerank", "V2 smaller chunks", "V1 baseline", "V3 strict prompt",
    ]  # fmt: skip
    assert analysis.counts == {
        "everyone passes": 17, "tell apart": 25, "nobody passes": 6, "not known": 0,
    }  # fmt: skip
    assert np.nansum(analysis.passes, axis=1).tolist() == [40, 32, 28, 27]
    assert [items[at].question_id for at in analysis.against] == ["q22"]
    # the same ids with other texts are other questions
    others = [item.from_dict({**item.to_dict(), "question": f"{item.question}!"}) for item in items]
    assert analyse_items(others, runs, lambda run: diagnosis_of(store, run, DiagnosisSettings())).runs == ()


def test_a_question_that_the_best_fail_has_a_negative_correlation() -> None:
    passes = np.array([[1, 1, 0], [1, 0, 0], [0, 0, 1], [0, 0, np.nan]], dtype=float)
    values = item_rest(passes)
    # by hand: the third question of versions 1 to 3 is 0, 0, 1 and the means of the rest are 1, 0.5, 0
    assert values[2] == pytest.approx(-np.sqrt(3) / 2)
    assert values[0] == pytest.approx(0)  # 1, 1, 0, 0 against 0.5, 0, 0.5, 0
    assert difficulty(passes).tolist() == pytest.approx([0.5, 0.75, 2 / 3])
    assert groups_of(np.array([[1, 0, 0.5, np.nan], [1, 0, 1, np.nan]])) == [
        "everyone passes", "nobody passes", "tell apart", "not known",
    ]  # fmt: skip


@example(np.array([[0, 0, 1, 1, 1, 1], [0, 1, 1, 1, 1, 1], [0, 1, 1, 1, 1, 1]], dtype=float))
@given(arrays(float, st.tuples(st.integers(1, 6), st.integers(1, 6)), elements=st.sampled_from([0.0, 1.0])))
def test_without_gaps_it_is_the_corrected_item_total_correlation(passes: FloatArray) -> None:
    total = passes.sum(axis=1)
    for at, value in enumerate(item_rest(passes)):
        own, rest = passes[:, at], total - passes[:, at]
        if len(own) < 3 or own.std() == 0 or rest.std() == 0:
            assert np.isnan(value)
        else:
            assert value == pytest.approx(np.corrcoef(own, rest)[0, 1])


def test_the_page_reads_the_runs_that_advise_takes_for_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    configs: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
        "plain": ({}, {}),
        "grid": ({"grid": "g"}, {}),
        "attack": ({}, {"format": "attack"}),
        "arm": ({"experiment": "e", "experiment_kind": "arms"}, {"format": "experiment"}),
        "context": ({"experiment": "e"}, {"format": "experiment"}),
    }
    sampled: list[Any] = [
        SimpleNamespace(run_id=name, config=config, origin=origin)
        for name, (config, origin) in configs.items()
    ]
    looked_at: list[str] = []
    view: Any = SimpleNamespace(sampled=sampled, usual_diagnosis=lambda run: looked_at.append(run.run_id))
    none: Any = SimpleNamespace(runs=())
    monkeypatch.setattr(analysis, "_analysis", lambda *_: none)
    item = Item("q", "What?")
    assert analysis.versions_of([DraftItem(item, item, "", ())], view) is None
    assert looked_at == [run.run_id for run in sampled if is_version(run)] == ["plain", "arm"]
