"""Files of published results and target bands: each is read or told, and numbers keep their scale."""

from __future__ import annotations

import json
from typing import Any

import pytest
from places import APP
from streamlit.testing.v1 import AppTest

from ragtriage.dashboard.shell.selection import Selection
from ragtriage.dashboard.tables.published import band_table, explained_table, published_table, system_table
from ragtriage.data.api import add_run, metrics_answer
from ragtriage.data.comparison.published_gap import conditions_of, explained_gaps
from ragtriage.data.comparison.published_results import Published, PublishedRow, read_published
from ragtriage.data.importers.importer import Options
from ragtriage.data.importers.load import import_source
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.scoring.summaries import MetricSummary
from ragtriage.metrics.analysis.bands import BandScale
from ragtriage.metrics.number_text import NOT_MEASURED
from ragtriage.metrics.result_table import text_rows
from ragtriage.metrics.sanity.means import Means, check_means

FACTS = {"title": "Mine", "source": "my team", "date": "2026", "unit": "percent"}
BAND = {"metric": "answer_f1", "minimum": 1, "good": 2, "excellent": 3}
ROW = {"name": "A", "values": {"answer_f1": 11}}


def _read(store: RunStore, **documents: Any) -> Published:
    folder = store.workspace.root / "benchmarks"
    folder.mkdir(exist_ok=True)
    for name, one in documents.items():
        text = one if isinstance(one, str) else json.dumps(one)
        (folder / f"{name}.json").write_text(text, encoding="utf-8")
    return read_published(store.workspace)


def test_a_band_says_who_set_it(workspace: RunStore) -> None:
    found = _read(workspace, mine={**FACTS, "bands": [BAND]})
    assert (found.bands["answer_f1"].title, found.bands["answer_f1"].source) == ("Mine", "my team")
    others = {one.source for name, one in found.bands.items() if name != "answer_f1"}
    assert others == {"ragtriage"}
    assert len(found.bands) == 6


def test_a_broken_file_of_rows_leaves_the_bands(workspace: RunStore) -> None:
    found = _read(workspace, broken="{not json", mine={**FACTS, "bands": [BAND]})
    assert len(found.errors) == 1
    assert found.bands["answer_f1"].source == "my team"
    assert len(found.bands) == 6


@pytest.mark.parametrize(
    ("document", "told"),
    [
        ({**FACTS, "bands": None}, "bands: is not a list"),
        ({**FACTS, "bands": {}}, "bands: is not a list"),
        ({**FACTS, "unit": ["percent"], "rows": [ROW]}, "unit: found"),
        ({**FACTS, "unit": {}, "bands": [BAND]}, "unit: found"),
        ({**FACTS, "bands": ["answer_f1"]}, "bands[0]: is not an object"),
        ({**FACTS, "bands": [{**BAND, "metric": ["answer_f1"]}]}, "bands[0].metric"),
        ({**FACTS, "bands": [{**BAND, "good": float("nan")}]}, "bands[0].good: found 'nan'"),
        ({**FACTS, "rows": [{"name": "A", "values": {"answer_f1": float("nan")}}]}, "found 'nan'"),
        ({**FACTS, "rows": [{"name": "A", "values": {"answer_f1": float("inf")}}]}, "found 'inf'"),
        ({**FACTS, "rows": [{"name": "A", "values": {"answer_f1": 10**400}}]}, "found '1000"),
        ({**FACTS, "rows": [{**ROW, "conditions": {"model": []}}]}, "rows[0].conditions: is not an object"),
        ({**FACTS, "rows": [{**ROW, "conditions": "GPT-4"}]}, "rows[0].conditions: is not an object"),
        ({**FACTS, "rows": [ROW], "bands": None}, "bands: is not a list"),
    ],
)
def test_what_is_no_number_or_list_is_told(workspace: RunStore, document: Any, told: str) -> None:
    found = _read(workspace, mine=document)
    assert [told in str(error) for error in found.errors] == [True]
    assert (len(found.tables), len(found.bands)) == (1, 6), "nothing of the file is used"


def test_a_file_with_the_name_of_one_that_ships_has_keys_of_its_own(workspace: RunStore) -> None:
    found = _read(workspace, ragchecker_clapnq={**FACTS, "rows": [ROW]})
    keys = [row.key for table in found.tables for row in table.rows]
    assert keys[-1] == "own/ragchecker_clapnq:0"
    assert len(set(keys)) == len(keys) == 5


def test_only_shares_are_percent(workspace: RunStore) -> None:
    values = {"answer_f1": 41.2, "latency_ms": 5.25, "win_rate": 55.0}
    bands = [{"metric": "latency_ms", "minimum": 900, "good": 500, "excellent": 100}]
    found = _read(workspace, mine={**FACTS, "rows": [{"name": "A", "values": values}], "bands": bands})
    (row,) = found.tables[-1].rows
    assert row.values == {"answer_f1": pytest.approx(0.412), "latency_ms": 5.25, "win_rate": 55.0}
    assert row.step == pytest.approx(0.001), "the digits of the shares"
    assert found.bands["latency_ms"].good == 500
    assert check_means(row.means) == []
    assert [one.rule for one in check_means(Means({"latency_ms": -1.0, "answer_f1": 0.5}))] == [
        "scale_of_means"
    ]


def test_versions_keep_metrics_that_are_no_shares(workspace: RunStore) -> None:
    source = InputFile.from_bytes("v.csv", b"version,answer_f1,latency_ms\nV1,0.5,812.25\nV2,0.6,700\n")
    first, _ = (one.run for one in import_source(workspace, source, Options(), "h"))
    assert first.means == {"answer_f1": 0.5, "latency_ms": 812.25}
    assert first.config["step"] == pytest.approx(0.1)


def _mean(metric: str, mean: float) -> MetricSummary:
    return MetricSummary(
        metric, mean, mean - 0.1, mean + 0.1, 30, 30, 0, "bootstrap", False, {"computed": 30}, None, None
    )


def test_a_row_called_ours_does_not_take_our_place(workspace: RunStore) -> None:
    ours = {"answer_f1": _mean("answer_f1", 0.5)}
    against = PublishedRow("own/x:0", "Ours", {"answer_f1": 0.9}, 0.001)
    (row,) = text_rows(published_table(ours, ["answer_f1"], against))
    assert (row["Ours"], row["Published: Ours"]) == ("50.0", "90.0")
    bands = read_published(workspace.workspace).bands
    scale = BandScale("targets", "targets", {"answer_f1": bands["answer_f1"].as_bands()})
    (banded,) = text_rows(band_table(ours, scale, against))
    assert (banded["Ours"], banded["95 % interval"], banded["n"]) == ("50.0 · good", "[40.0, 60.0]", "30")
    assert banded["Published: Ours"] == "90.0 · excellent"


@pytest.mark.parametrize(
    ("metric", "ours", "theirs", "written"),
    [
        ("answer_f1", 0.5003, 0.5, "= the same"),
        ("answer_f1", 0.4996, 0.5, "= the same"),
        ("answer_f1", 0.5006, 0.5, "+0.1 ▲ better by the number"),
        ("hallucination", 0.51, 0.5, "−1.0 ▼ worse by the number"),
        ("self_knowledge", 0.51, 0.5, "+1.0 (no direction)"),
        ("latency_ms", 700.0, 812.5, "+112.500 ▲ better by the number"),
    ],
)
def test_a_difference_is_told_as_it_is_printed(metric: str, ours: float, theirs: float, written: str) -> None:
    against = PublishedRow("own/x:0", "A", {metric: theirs}, 0.001)
    (row,) = text_rows(published_table({metric: _mean(metric, ours)}, [metric], against))
    assert row["Difference, + is better"] == written


def test_no_star_without_a_direction(demo: RunStore) -> None:
    (table,) = read_published(demo.workspace).tables
    names = ["answer_f1", "hallucination", "self_knowledge"]
    ours = {name: _mean(name, 0.99) for name in names}
    rows = text_rows(system_table("v1", ours, table, names))
    assert rows[0] == {
        "System": "v1 (ours)",
        "Answer F1": "99.0 ★",
        "Hallucination (lower is better)": "99.0",
        "Self-knowledge": "99.0",
    }
    assert not any("★" in str(row["Self-knowledge"]) for row in rows)
    assert [row["System"] for row in rows if "★" in str(row["Hallucination (lower is better)"])] == [
        "E5-Mistral + GPT-4"
    ]


def test_a_broken_file_and_a_live_date_do_no_harm_on_the_page(
    workspace: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    date = "2026 ![x](https://evil.example/p.png) [free](https://evil.example)"
    values = {"faithfulness": 80.0, "latency_ms": 900}
    _read(
        workspace,
        mine={**FACTS, "date": date, "rows": [{"name": "A", "values": values}]},
        broken={**FACTS, "bands": None},
    )
    records = [{"question": "q?", "scores": {"faithfulness": 0.5}, "latency_ms": 100.0}]
    add_run(records, "run", "p", str(workspace.workspace.root))
    monkeypatch.setenv("RAGTRIAGE_WORKSPACE", str(workspace.workspace.root))
    app = AppTest.from_file(str(APP), default_timeout=60)
    app.session_state["selection"] = Selection(project="p", against="own/mine:0")
    app = app.switch_page("benchmarks/benchmarks.py").run()
    assert not app.exception
    assert ["bands" in str(one.value) for one in app.error] == [True]
    words = "\n".join(str(one.value) for one in [*app.markdown, *app.caption])
    assert "evil" in words
    assert "![" not in words
    assert "](" not in words
    frame = app.dataframe[0].value.set_index("Metric")
    assert list(frame["Ours"]) == ["50.0", "100.000"]
    app.session_state["published_all"] = True
    app.run()
    charts = [json.loads(one.proto.spec) for one in app.get("plotly_chart")]
    assert charts[-1]["data"][-1]["y"] == ["Faithfulness"], "shares alone share an axis"


def test_a_band_names_its_scale_and_an_uncomputed_mean_has_none(workspace: RunStore) -> None:
    text = b"version,f1,precision,recall,hallucination,faithfulness,unit\nV1,26.26,28.25,39.91,0,0,percent\n"
    run = import_source(workspace, InputFile.from_bytes("versions.csv", text), Options(), "p")[0].run
    guide = metrics_answer(workspace, run, workspace.options(run), bands="ragchecker")["metrics"]
    targets = metrics_answer(workspace, run, workspace.options(run))["metrics"]
    assert (guide["answer_f1"]["band"], guide["answer_f1"]["band_scale"]) == (
        "fair",
        "RAGChecker guide, strict use",
    )
    assert (targets["answer_f1"]["band"], targets["answer_f1"]["band_scale"]) == (
        "needs work",
        "production targets",
    )
    assert {guide[name]["band"] for name in ("faithfulness", "hallucination")} == {None}


def _row(value: float, **conditions: object) -> dict[str, Any]:
    return {"name": f"row {value}", "conditions": conditions, "values": {"answer_f1": value}}


def test_the_gap_is_explained_by_rows_that_differ_in_one_condition_alone(workspace: RunStore) -> None:
    """Ours has model b and another corpus: model b alone costs 10 points, a tenfold corpus 4 to 6."""
    rows = [
        _row(60, model="A", corpus_size=1000, language="en"),
        _row(50, model="B", corpus_size=1000, language="en"),
        _row(54, model="A", corpus_size=10_000, language="en"),
        _row(46, model="B", corpus_size=10_000, language="en"),
        _row(20, model="C", corpus_size=99, language="fi"),
    ]
    (*_, table) = _read(workspace, mine={**FACTS, "dataset": "d", "rows": rows}).tables
    config = {"model": "b", "index": {"corpus_size": 500}}
    root = str(workspace.workspace.root)
    run = add_run([{"question": "why?", "answer": "so"}], "one", "p", root, config=config, dataset="D")
    against = table.rows[0]
    conditions = conditions_of(run, ["en"], table, against)
    assert [(each.name, each.alike) for each in conditions] == [
        ("questions", True),
        ("model", False),
        ("corpus_size", False),
        ("language", True),
    ]
    (gap,) = explained_gaps({"answer_f1": _mean("answer_f1", 0.4)}, conditions, table, against)
    model, corpus = gap.effects
    assert (model.pairs, model.low, model.high) == pytest.approx((2, -0.1, -0.1))
    assert (corpus.pairs, corpus.smallest, corpus.largest) == pytest.approx((2, 0.04, 0.06))
    assert (corpus.low, corpus.high) == pytest.approx((-0.06, 0.06))
    assert (gap.real, gap.low, gap.high) == pytest.approx((-0.2, -0.3, -0.1))
    assert gap.explained == pytest.approx((0.04, 0.16))
    (row,) = text_rows(explained_table([gap], against))
    assert row["Model"] == "−10.0 with our level, 2 pairs"
    assert row["Explained"] == "4.0 to 16.0 of 20.0"


def test_a_condition_in_which_no_rows_differ_alone_is_not_known(workspace: RunStore) -> None:
    rows = [_row(60, model="A", language="en"), _row(20, model="B", language="fi")]
    (*_, table) = _read(workspace, mine={**FACTS, "rows": rows}).tables
    run = add_run([{"question": "why?"}], "one", "p", str(workspace.workspace.root))
    conditions = conditions_of(run, ["de"], table, table.rows[0])
    (gap,) = explained_gaps({"answer_f1": _mean("answer_f1", 0.4)}, conditions, table, table.rows[0])
    assert [(effect.condition, effect.pairs) for effect in gap.effects] == [
        ("questions", 0),
        ("model", 0),
        ("language", 0),
    ]
    (row,) = text_rows(explained_table([gap], table.rows[0]))
    assert (row["Model"], row["Explained"]) == ("no row", NOT_MEASURED)
