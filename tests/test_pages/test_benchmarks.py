"""Published rows, targets, versions known by their means, the checks on them, and their page."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from command_line import run as command
from page_text import headline, page_text
from places import APP, REPOSITORY
from streamlit.testing.v1 import AppTest

from ragtriage.dashboard.charts.published import (
    Track,
    TrackPoint,
    VersionPoint,
    band_tracks,
    dot_plot,
    progress,
)
from ragtriage.dashboard.charts.tokens import DARK, LIGHT
from ragtriage.dashboard.shell.selection import Selection
from ragtriage.dashboard.tables.published import step_table
from ragtriage.data.api import add_run
from ragtriage.data.comparison.published_results import read_published
from ragtriage.data.diagnosis.run_checks import check_run
from ragtriage.data.errors import InputError, ValidationErrors
from ragtriage.data.importers.detect import detect, read_runs
from ragtriage.data.importers.importer import Options
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.scoring.summaries import reported_means
from ragtriage.data.store.workspace import Run
from ragtriage.metrics.result_table import text_rows
from ragtriage.metrics.sanity.means import MEAN_RULES, Means, check_means
from ragtriage.metrics.sanity.run import RULES

DOCS = REPOSITORY / "docs" / "benchmarks.md"
PAGES = (
    "triage",
    "diagnosis",
    "cases",
    "compare",
    "retrieval",
    "chunking",
    "alignment",
    "benchmarks",
    "runs",
)
ROWS = {
    "BM25 + GPT-4": (56.9, 50.0, 46.7, 81.1, 41.3, 56.4, 29.4, 5.9, 7.5, 2.2, 90.3),
    "BM25 + Mixtral-8x7b": (49.6, 48.6, 42.2, 81.1, 41.3, 55.2, 31.9, 7.5, 10.8, 2.0, 87.2),
    "E5-Mistral + GPT-4": (59.7, 51.1, 47.9, 81.5, 43.6, 59.9, 31.1, 3.8, 5.4, 2.3, 92.3),
    "E5-Mistral + Llama3-8b": (50.4, 50.9, 43.5, 81.5, 43.6, 59.4, 33.2, 6.4, 10.0, 1.5, 88.5),
}
COLUMNS = (
    *("answer_precision", "answer_recall", "answer_f1", "context_recall", "chunk_precision"),
    *("context_utilization", "noise_sensitivity_relevant", "noise_sensitivity_irrelevant"),
    *("hallucination", "self_knowledge", "faithfulness"),
)


def test_the_published_rows_are_those_of_the_paper(demo: RunStore) -> None:
    found_there = read_published(demo.workspace)
    (table,) = found_there.tables
    assert not found_there.errors
    assert "2408.08067" in table.source
    found = {row.name: tuple(round(100 * row.values[name], 1) for name in COLUMNS) for row in table.rows}
    assert found == ROWS


def test_shares_add_up_and_two_rows_are_warned_of(demo: RunStore) -> None:
    (table,) = read_published(demo.workspace).tables
    found = {row.name: [(one.rule, one.severity) for one in check_means(row.means)] for row in table.rows}
    warned = [("precision_parts_of_means", "warning")]
    assert found == {
        "BM25 + GPT-4": warned,
        "BM25 + Mixtral-8x7b": warned,
        "E5-Mistral + GPT-4": [],
        "E5-Mistral + Llama3-8b": [],
    }
    sums = [check_means(row.means)[0].title for row in table.rows[:2]]
    assert [title.split("add up to ")[1] for title in sums] == ["99.7 %", "99.8 %"]


def test_the_history_raises_exactly_what_is_wrong_with_it(demo: RunStore) -> None:
    runs = {run.name: run for run in demo.runs("version history")}
    found = {name: check_run(demo.scored(run)) for name, run in runs.items()}
    assert [(one.rule, one.severity) for one in found["V1"]] == [("zero_mean", "warning")]
    assert [(one.rule, one.severity) for one in found["V2"]] == [("zero_mean", "warning")]
    assert found["V1"][0].evidence == (("faithfulness", 0.0), ("hallucination", 0.0))
    (third,) = found["V3"]
    assert third.severity == "error"
    for told in ("32.59", "10.22", "57.19", "39.50", "17.7 %", "Either", "do not show which"):
        assert told in third.message


@pytest.mark.parametrize(
    ("values", "rules"),
    [
        ({"faithfulness": 0.9, "self_knowledge": 0.05, "hallucination": 0.05}, []),
        ({"faithfulness": 0.9, "self_knowledge": 0.05, "hallucination": 0.02}, ["claim_shares_of_means"]),
        ({"faithfulness": 0.9, "hallucination": 0.0}, []),
        ({"faithfulness": 0.0, "answer_f1": 0.5}, ["zero_mean"]),
        ({"answer_f1": 0.5, "recall@5": 0.0}, ["zero_mean"]),
        ({"answer_f1": 0.0}, []),
        ({"answer_precision": 0.4, "answer_recall": 0.4, "answer_f1": 0.41}, ["f1_of_the_means"]),
        ({"answer_precision": 0.4, "self_knowledge": 0.5}, ["self_knowledge_of_means"]),
        ({"answer_f1": 41.0}, ["scale_of_means"]),
        ({"faithfulness": 0.5, "hallucination": 0.1, "answer_precision": 0.4}, []),
        ({"faithfulness": 0.5, "hallucination": 0.1, "answer_precision": 0.39}, ["claim_shares_of_means"]),
    ],
)
def test_each_rule_by_hand(values: dict[str, float], rules: list[str]) -> None:
    renamed = {"self_knowledge_room": "claim_shares_of_means"}
    assert [renamed.get(one.rule, one.rule) for one in check_means(Means(values))] == rules


def test_the_docs_list_every_rule() -> None:
    page = DOCS.read_text(encoding="utf-8")
    for on_means in MEAN_RULES.values():
        assert f"| `{on_means.key}` {on_means.title} | {on_means.condition} |" in page
    for rule in RULES.values():
        assert f"| `{rule.key}` {rule.title} | {rule.condition} |" in page


def test_the_examples_of_the_docs_are_read(workspace: RunStore) -> None:
    blocks = [part.split("```")[0] for part in DOCS.read_text(encoding="utf-8").split("```json\n")[1:]]
    folder = workspace.workspace.root / "benchmarks"
    folder.mkdir()
    for at, block in enumerate(blocks):
        (folder / f"{at}.json").write_text(block, encoding="utf-8")
    published = read_published(workspace.workspace)
    tables, bands = published.tables, published.bands
    assert not published.errors
    assert [row.name for row in tables[1].rows] == ["vendor A", "vendor B"]
    assert tables[1].rows[0].values["faithfulness"] == pytest.approx(0.83)
    assert bands["hallucination"].good == pytest.approx(0.08)
    assert bands["faithfulness"].good == pytest.approx(0.85)
    table = DOCS.read_text(encoding="utf-8").split("```csv\nversion,")[1].split("```")[0]
    (draft,) = _read(f"version,{table}")
    assert draft.means["answer_f1"] == pytest.approx(0.2626)
    assert draft.config["n_questions"] == 300


FACTS = '"title": "t", "source": "s", "date": "d"'


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[]", "is not a file of published results"),
        ('{"rows": [], "unit": "percent"}', "rows: is not a list with at least one entry; accepted: a list"),
        (
            '{"rows": [{"name": "x", "values": {}}], "unit": "points"}',
            "unit: found 'points'; accepted: percent",
        ),
        ('{"rows": [{"values": {}}], "unit": "share", %s}', "rows.0..name: missing"),
        (
            '{"rows": [{"name": "x", "values": {"bleurt": 1}}], "unit": "share", %s}',
            "bleurt: is not a known metric",
        ),
        (
            '{"rows": [{"name": "x", "values": {"answer_f1": "a"}}], "unit": "share", %s}',
            "answer_f1: found 'a'",
        ),
    ],
)
def test_a_broken_file_is_told_and_leaves_the_others(workspace: RunStore, content: str, message: str) -> None:
    folder = workspace.workspace.root / "benchmarks"
    folder.mkdir()
    (folder / "mine.json").write_text(content.replace("%s", FACTS), encoding="utf-8")
    found = read_published(workspace.workspace)
    assert len(found.tables) == 1
    assert len(found.bands) == 6
    with pytest.raises(InputError, match=message):
        raise found.errors[0]


def test_bands_follow_the_direction_of_the_metric(demo: RunStore) -> None:
    bands = read_published(demo.workspace).bands
    assert [bands["answer_f1"].as_bands().at(value) for value in (0.39, 0.40, 0.55, 0.6)] == [
        *("needs work", "minimum", "good", "excellent"),
    ]
    assert [bands["hallucination"].as_bands().at(value) for value in (0.21, 0.2, 0.1, 0.05)] == [
        *("needs work", "minimum", "good", "excellent"),
    ]


def _read(content: str) -> list[Any]:
    problems = ValidationErrors("versions.csv")
    drafts = read_runs(InputFile.from_bytes("versions.csv", content.encode()), Options(), problems)
    problems.raise_if_any()
    return drafts


def test_versions_in_percent_in_shares_and_with_gaps() -> None:
    percent = _read("version,F1,Faithfulness\na,50.5,\nb,-,70%\n")
    assert [dict(one.means) for one in percent] == [{"answer_f1": 0.505}, {"faithfulness": 0.7}]
    shares = _read("version,answer_f1,recall@5\na,0.5,1.0\n")
    assert dict(shares[0].means) == {"answer_f1": 0.5, "recall@5": 1.0}
    said = _read("version,answer_f1,unit\na,0.5,percent\n")
    assert dict(said[0].means) == {"answer_f1": 0.005}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("version,f1\n,50\n", "versions.csv:2: version: missing"),
        ("version,f1\na,high\n", "versions.csv:2: f1: found 'high'"),
        ("version,f1,unit\na,5,points\n", "unit: found 'points'"),
        ("version,f1\na,\n", "has no mean"),
        ("version,f1,date\na,50,soon\n", "date: found 'soon'"),
    ],
)
def test_versions_that_cannot_be_read_are_named(content: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        _read(content)


def test_a_table_with_questions_is_not_taken_for_versions() -> None:
    assert detect(InputFile.from_bytes("t.csv", b"version,f1\nV1,3\n")) == "versions"
    assert detect(InputFile.from_bytes("t.csv", b"question,answer,version,f1\nq,a,V1,3\n")) == "table"


def test_every_command_knows_a_version_without_samples(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "v.csv"
    file.write_text("version,f1,faithfulness,n\nV1,26.26,0.00,120\nV2,30.1,80.2,120\n")
    loaded = command(capsys, tmp_path / "w", "import", str(file), "--project", "h", "--json")
    assert loaded.code == 0, loaded.err
    assert [(one["name"], one["n"]) for one in loaded.json["runs"]] == [("V1", 0), ("V2", 0)]
    assert [one["rule"] for one in loaded.json["findings"]] == ["zero_mean"]
    assert (
        command(capsys, tmp_path / "w", "import", str(file), "--project", "h", "--json").json["runs"][0][
            "status"
        ]
        == "unchanged"
    )
    metrics = command(capsys, tmp_path / "w", "metrics", "V2", "--json").json
    assert metrics["metrics"]["answer_f1"]["mean"] == pytest.approx(0.301)
    assert metrics["metrics"]["answer_f1"]["low"] is None
    assert metrics["metrics"]["answer_f1"]["n_scored"] == 120
    assert command(capsys, tmp_path / "w", "show", "V1").code == 0
    assert "0.00" in command(capsys, tmp_path / "w", "check", "V1").out
    for words in (("diagnose", "V1"), ("compare", "V1", "V2"), ("export", "V1")):
        answer = command(capsys, tmp_path / "w", *words)
        assert answer.code == 2, words
        assert "summary scores only" in answer.err


@pytest.mark.parametrize(
    "config",
    [
        {"synthetic": 1.0},
        {"dataset_date": "2024-01-01", "corpus_date": "2025-01-01"},
        {"retrieval_test_set": "a", "generation_test_set": "a"},
    ],
)
def test_what_the_configuration_says_of_the_questions_is_checked(
    workspace: RunStore, config: dict[str, Any]
) -> None:
    run = add_run(
        [{"question": "q", "scores": {"faithfulness": 1.0}}], "r", "p", str(workspace.workspace.root), config
    )
    rules = {one.rule for one in check_run(workspace.scored(run))}
    expected = {
        "synthetic": "synthetic_only",
        "dataset_date": "stale_dataset",
        "retrieval_test_set": "one_test_set",
    }
    assert expected[next(iter(config))] in rules


def _open(store: RunStore, page: str, monkeypatch: pytest.MonkeyPatch, **chosen: Any) -> AppTest:
    monkeypatch.setenv("RAGTRIAGE_WORKSPACE", str(store.workspace.root))
    app = AppTest.from_file(str(APP), default_timeout=60)
    app.session_state["selection"] = Selection(**chosen)
    if page != "triage":
        app.switch_page(f"{page}/{page}.py")
    return app.run()


def _tab(app: AppTest, title: str) -> AppTest:
    """Open a tab of the Benchmarks page."""
    app.session_state["benchmark_tabs"] = title
    return app.run()


def _words(app: AppTest) -> str:
    parts = [*app.title, *app.subheader, *app.markdown, *app.caption, *app.info, *app.warning]
    return "\n".join(str(one.value) for one in parts)


@pytest.mark.parametrize("page", PAGES)
def test_every_page_stands_a_version_without_samples(
    demo: RunStore, page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = _open(demo, page, monkeypatch, project="version history")
    assert not app.exception
    assert not app.error
    if page not in ("benchmarks", "runs"):
        assert "summary scores only" in headline(app)


def test_means_beside_a_run_with_samples(workspace: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    root = str(workspace.workspace.root)
    claims = [{"text": "x", "in_reference": True, "supported_by": [1]}]
    record = {
        "question": "q?",
        "answer": "a",
        "retrieved": ["a b c"],
        "claims": claims,
        "reference_claims": [],
    }
    add_run([record], "sampled", "mixed", root)
    source = InputFile.from_bytes("v.csv", b"version,faithfulness,hallucination\nV1,80,10\nV0,0.0,0.0\n")
    from ragtriage.data.importers.load import import_source

    import_source(workspace, source, Options(), "mixed")
    for page in PAGES:
        app = _open(workspace, page, monkeypatch, project="mixed")
        assert not app.exception, page
        assert not app.error, page
    app = _open(workspace, "benchmarks", monkeypatch, project="mixed", shown_metric="faithfulness")
    app = _tab(app, "Progress")
    line, *crosses = json.loads(app.get("plotly_chart")[-1].proto.spec)["data"]
    assert len(line["x"]) == 3
    assert len(crosses) == 0 or crosses[0]["x"]


def test_differences_are_turned_and_make_no_claim(demo: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    app = _open(demo, "benchmarks", monkeypatch, project="ragchecker", against="ragchecker_clapnq:2")
    words = _words(app)
    assert "Other questions, so no ranking" in words
    frame = app.dataframe[0].value.set_index("Metric")
    assert list(frame.columns)[4] == "Published: E5-Mistral + GPT-4"
    assert "Difference, + is better" not in frame, "other questions: nothing is ranked"
    assert len(app.dataframe) == 1, "what is folded is not computed"
    app.session_state["published_conditions"] = True
    app.run()
    conditions = app.dataframe[1].value.set_index("Condition")
    assert list(conditions.index) == ["Questions", "Retriever", "Model", "Language"]
    language = conditions.loc["Language"]
    assert (language["Ours"], language["Published: E5-Mistral + GPT-4"], language["Alike"]) == (
        "en",
        "en",
        "yes",
    )
    assert any("differ or are not known" in one.label for one in app.expander)
    gap = app.dataframe[2].value.set_index("Metric").loc["Faithfulness"]
    assert (gap["Real gap"], gap["Questions"], gap["Retriever"], gap["Model"], gap["Explained"]) == (
        "−24.1",
        "no row",
        "± 2.0, 1 pair",
        "± 3.1 to 3.8, 2 pairs",
        "0.0 to 5.8 of 24.1",
    )


def test_charts_show_every_system_and_no_false_zero(demo: RunStore) -> None:
    (table,) = read_published(demo.workspace).tables
    ours = {name: one for name, one in demo.summary(demo.runs("ragchecker")[0]).items() if name in COLUMNS}
    figure = dot_plot(ours, "ours", table.rows)
    assert [one.name for one in figure.data] == [*ROWS, "ours"]
    assert len({one.marker.symbol for one in figure.data}) == 5
    assert [one[0] for one in figure.data[-1].customdata] == list(ours)
    first = reported_means(demo.runs("version history")[0])["faithfulness"]
    third = reported_means(demo.runs("version history")[2])["faithfulness"]
    points = [
        VersionPoint("V1", first, True),
        VersionPoint("V2", None, False),
        VersionPoint("V3", third, False),
    ]
    line, crosses = progress(points, "faithfulness", 0.85).data
    assert list(line.y) == [None, None, pytest.approx(32.59)]
    assert list(crosses.x) == [0]


def test_versions_whose_names_are_cut_alike_keep_their_places() -> None:
    means = [reported_means(run)["answer_f1"] for run in _f1_runs(0.2626, 0.2834, 0.3333)]
    names = [f"nightly build of the support assistant, part {at}" for at in (1, 2, 3)]
    points = [VersionPoint(name, mean, False) for name, mean in zip(names, means, strict=True)]
    figure = progress(points, "answer_f1", None)
    (line,) = figure.data
    assert list(line.x) == [0, 1, 2]
    assert list(line.customdata) == names
    assert list(figure.layout.xaxis.tickvals) == [2, 1, 0]
    assert len(set(figure.layout.xaxis.ticktext)) == 1  # as places on the axis these three were one


def _f1_runs(*means: float) -> list[Run]:
    template = Run(
        *("id", "v", "p", 0, 0, datetime(2026, 1, 1), datetime(2026, 1, 1), {}, {}, "", "", "", "", (), ())
    )
    return [replace(template, means={"answer_f1": mean}) for mean in means]


def test_steps_are_to_the_first_the_previous_and_the_best_published(
    demo: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = _tab(_open(demo, "benchmarks", monkeypatch, project="version history"), "Progress")
    frame = next(table.value for table in app.dataframe if "vs first" in table.value.columns)
    rows = frame.set_index("Version")
    assert list(rows["Answer F1"]) == ["26.26", "28.34", "33.33"]
    assert list(rows["vs first"]) == ["–", "+2.08 ▲", "+7.07 ▲"]
    assert list(rows["vs previous"]) == ["–", "+2.08 ▲", "+4.99 ▲"]
    assert list(rows["vs published 47.9"]) == ["−21.6 ▼", "−19.6 ▼", "−14.6 ▼"]


def test_steps_skip_versions_without_the_metric_and_know_the_direction() -> None:
    (run,) = _f1_runs(0.5)
    fallen = replace(run, means={"hallucination": 0.3}), replace(run, means={"hallucination": 0.2})
    first, last = (reported_means(one)["hallucination"] for one in fallen)
    points = [
        VersionPoint("V1", first, False),
        VersionPoint("V2", None, False),
        VersionPoint("V3", last, True),
        VersionPoint("V4", last, False),
    ]
    rows = text_rows(step_table(points, [0.0, 0.0, 0.01, 0.01], "hallucination", None))
    assert [row["vs previous"] for row in rows] == ["–", "–", "–", "−10 ▲"]
    assert [row["Hallucination (lower is better)"] for row in rows] == ["30.00", "–", "not computed?", "20"]


def test_the_page_opens_with_the_bands_and_what_is_doubted(
    demo: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = next(run for run in demo.runs("version history") if run.name == "V3")
    app = _open(demo, "benchmarks", monkeypatch, project="version history", run=run.run_id)
    assert not app.exception
    assert headline(app) == "V3 is below the minimum on 4 of 5 targets"
    text = page_text(app)
    for fact in ("faithfulness 33 %, minimum from 70 %", "more self-knowledge than precision allows"):
        assert fact in text
    assert "The claims of V3 do not add up" in text
    assert "unaccounted for 17.7 %" in text
    assert "+37.4" in text
    (spec, *_) = (json.loads(one.proto.spec) for one in app.get("plotly_chart"))
    notes = [note["text"] for note in spec["layout"]["annotations"]]
    assert sum("not measured, written as 0.00" in note for note in notes) == 2
    assert any("V3 32.6 % !" in note for note in notes), "the doubt is drawn on the figure"


def test_closed_tabs_hold_nothing_and_each_opens(demo: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    app = _open(demo, "benchmarks", monkeypatch, project="version history")
    assert "vs first" not in page_text(app)
    for title, text in (
        ("Target bands", "an edge belongs to the better band"),
        ("Progress", "vs first"),
        ("Figures that do not add up", "add up to 99.7"),
        ("Sources", "2408.08067"),
    ):
        app = _tab(app, title)
        assert not app.exception
        assert text in page_text(app).replace("\\", "")


def test_tracks_turn_what_is_better_lower_and_keep_odd_values_inside(demo: RunStore) -> None:
    bands = read_published(demo.workspace).bands
    for tokens in (LIGHT, DARK):
        tracks = [
            Track(
                "hallucination",
                TrackPoint("<b>ours</b>", 0.1, "r"),
                0.05,
                0.2,
                "good",
                bands["hallucination"].as_bands(),
                (TrackPoint("old", 1e308, "o"),),
                (TrackPoint("A", 0.25), TrackPoint("B", -1e308)),
            )
        ]
        published, versions, ours = band_tracks(tracks, "A", tokens).data
        assert list(published.x) == [75.0, 100.0]
        assert list(versions.x) == [0.0, 90.0]
        assert [list(data) for data in versions.customdata] == [
            ["hallucination", "o"],
            ["hallucination", "r"],
        ]
        assert list(ours.x) == [90.0]
        assert (ours.error_x.arrayminus[0], ours.error_x.array[0]) == (
            pytest.approx(10.0),
            pytest.approx(5.0),
        )
        notes = [note.text for note in band_tracks(tracks, "A", tokens).layout.annotations]
        assert any("&lt;b&gt;ours" in note for note in notes)
        assert any(note.startswith("A 75.0") for note in notes), "the chosen system is named"
    assert band_tracks([], "A", LIGHT).data == ()
