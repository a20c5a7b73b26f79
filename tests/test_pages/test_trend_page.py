"""The trend over versions: levels, differences to the baseline, the chart, the page with 0, 1, 2 and many."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from page_text import headline, html_text, page_text
from places import APP
from streamlit.testing.v1 import AppTest

from ragtriage.dashboard.charts.tokens import DARK, LIGHT
from ragtriage.dashboard.charts.version_lines import NOT_COMPARABLE, TrendMark, small_trend, trend_lines
from ragtriage.dashboard.pages.trend.versions import comparability_warnings, tally
from ragtriage.dashboard.shell.selection import Selection
from ragtriage.data.comparison.compare import compare
from ragtriage.data.comparison.trend import (
    MOST_RUNS,
    Change,
    Level,
    change_since,
    later_than,
    level_of_mean,
    trend_metrics,
    versions_of,
)
from ragtriage.data.diagnosis.diagnosis import DiagnosisSettings, diagnose
from ragtriage.data.importers.importer import Options
from ragtriage.data.importers.load import import_source
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.versions import mark_release
from ragtriage.data.store.workspace import Run, Workspace

START = datetime(2026, 1, 1)


def _add(store: RunStore, name: str, values: list[float], day: int = 0, **options: Any) -> Run:
    """Load a run made on a day of January."""
    lines = [
        {"question_id": f"q{at}", "question": f"{at}?", "answer": "a", "scores": {"faithfulness": value}}
        for at, value in enumerate(values)
    ]
    text = "\n".join(json.dumps(line) for line in lines).encode()
    source = InputFile.from_bytes(f"{name}.jsonl", text)
    made = import_source(store, source, Options(name=name, **options), "p")[0].run
    return _dated(store, made, day)


def _dated(store: RunStore, run: Run, day: int) -> Run:
    """Say when a run was made: the importers take the time of the import where a file has none."""
    moved = replace(run, created_at=START + timedelta(days=day))
    path = store.workspace.runs_folder / run.run_id / "run.json"
    path.write_text(moved.to_json(), encoding="utf-8")
    return moved


def _versions(store: RunStore) -> tuple[Run, Run, Run, Run]:
    """Load a baseline, one that is far worse, one that is a little worse on one question, one better."""
    return (
        _add(store, "base", [0.9 - at / 1000 for at in range(12)], 0),
        _add(store, "worse", [0.55 + at * 0.1 / 11 - at / 1000 for at in range(12)], 1),
        _add(store, "same", [0.9 - at / 1000 for at in range(11)] + [0.8], 9),
        _add(store, "better", [0.99 - at / 1000 for at in range(12)], 10),
    )


def _change(store: RunStore, base: Run, run: Run) -> Change:
    """Return faithfulness in a run beside the baseline, as the page has it."""
    before, after = (diagnose(store.scored(each), DiagnosisSettings(), []) for each in (base, run))
    return change_since(before, after, compare(before, after, ["faithfulness"]), "faithfulness")


def test_each_later_version_is_compared_with_the_baseline_by_itself(workspace: RunStore) -> None:
    base, worse, same, better = _versions(workspace)
    later = later_than([base, worse, same, better], base)
    assert later == [worse, same, better]
    found = {run.run_id: _change(workspace, base, run).row for run in later}
    assert [found[run.run_id].verdict for run in later] == ["worse", "cannot tell", "better"]
    assert found[worse.run_id].adjusted_p == found[worse.run_id].difference.p == 2 / 2**12
    assert found[same.run_id].adjusted_p == 1.0
    for row in found.values():
        beyond = row.low >= 0 or row.high <= 0
        assert beyond == (row.adjusted_p < 0.05), "interval and verdict agree"
    assert found[worse.run_id].difference.difference == pytest.approx(-0.3)
    (warning,) = _change(workspace, base, worse).warnings
    assert warning == "12 of 12 shared questions have the same answer, yet faithfulness moved by −0.30."


def test_other_ground_is_told(workspace: RunStore) -> None:
    base = _add(workspace, "base", [0.9] * 12, dataset="one")
    fewer = _add(workspace, "fewer", [0.9] * 8, dataset="two", config={"judge": "other"})
    change = _change(workspace, base, fewer)
    assert change.row.difference.n_pairs == 8
    assert [one.split(" differ")[0] for one in change.warnings] == [
        "The questions",
        "The dataset",
        "The judge",
    ]
    warnings = comparability_warnings({fewer.run_id: change}, {fewer.run_id: "fewer"})
    assert warnings[1] == "fewer: The dataset differs: one in the baseline, two in the other run."


def test_the_newest_versions_are_shown_and_what_must_stay() -> None:
    runs = [_bare(f"r{at:03d}", at) for at in range(MOST_RUNS + 10)]
    runs[-1] = replace(runs[-1], config={"generated_from": "r000"})
    found = versions_of(runs, ["r000"])
    assert len(found.runs) == MOST_RUNS + 1
    assert (found.runs[0].run_id, found.runs[1].run_id, found.runs[-1].run_id) == ("r000", "r009", "r068")
    assert (found.older, found.derived) == (8, 1)
    assert versions_of(runs, [runs[-1].run_id]).derived == 0


def test_trials_of_a_grid_are_versions_only_where_there_is_nothing_else() -> None:
    runs = [replace(_bare(f"r{at}", at), config={"grid": "g"} if at < 3 else {}) for at in range(5)]
    found = versions_of(runs)
    assert ([run.run_id for run in found.runs], found.trials, found.derived) == (["r3", "r4"], 3, 0)
    assert [run.run_id for run in versions_of(runs, ["r1"]).runs] == ["r1", "r3", "r4"]
    only_trials = versions_of(runs[:3])
    assert (len(only_trials.runs), only_trials.trials) == (3, 0)


def _bare(run_id: str, day: int) -> Run:
    when = START + timedelta(days=day)
    return Run(run_id, run_id, "p", 1, 1, when, when, {}, {}, "", "", "", "", (), ())


def test_what_a_summary_does_not_hold_is_not_measured(workspace: RunStore) -> None:
    summary = workspace.summary(_add(workspace, "base", [0.5] * 12))
    assert level_of_mean(summary.get("context_recall")).mean is None
    level = level_of_mean(summary["faithfulness"])
    assert (level.mean, level.n, level.source, level.reported) == (0.5, 12, "imported", False)
    assert trend_metrics([summary]) == ["faithfulness"]


def _mark(at: int, mean: float | None, look: str, **more: Any) -> TrendMark:
    low, high = (None, None) if mean is None or more.get("stated") else (mean - 0.1, mean + 0.1)
    level = Level(mean, low, high, 12, reported=bool(more.pop("stated", False)))
    return TrendMark(
        f"r{at}", more.pop("label", f"v{at}"), START + timedelta(days=at * at), level, look, **more
    )


def _traces(figure: Any) -> dict[str, Any]:
    return {trace.name: trace for trace in figure.data}


MARKS = [
    _mark(0, 0.9, "baseline", release="1.0 <b>"),
    _mark(1, 0.6, "worse", difference_text="−0.300", not_comparable=True),
    _mark(2, None, "cannot tell"),
    _mark(3, 0.5, "mean only", stated=True, current=True, label="<i>four</i>"),
]


def test_the_chart_has_a_mark_a_verdict_intervals_and_lines() -> None:
    figure = trend_lines(MARKS, "Faithfulness", 0.9, LIGHT)
    found = _traces(figure)
    assert set(found) == {"line", NOT_COMPARABLE, "selected", "baseline", "worse", "mean only"}
    assert list(found["worse"].x) == [1]  # its place among all, the unmeasured one keeps its own
    assert list(found["worse"].error_y.array) == pytest.approx([0.1])
    assert found["mean only"].marker.symbol == "circle-open"
    assert found["mean only"].error_y.array is None
    assert list(found["mean only"].customdata[0])[:2] == ["r3", "&lt;i&gt;four&lt;/i&gt;"]
    assert "no interval" in found["mean only"].customdata[0][3]
    assert list(found["line"].x) == [0, 1, 3]
    assert [shape.line.dash for shape in figure.layout.shapes] == ["dot", "dot"]
    assert figure.layout.shapes[0].y0 == 0.9
    assert figure.layout.shapes[1].x0 == 0
    assert "1.0 &lt;b&gt;" in [one.text for one in figure.layout.annotations]


def test_the_axis_of_time_is_true() -> None:
    figure = trend_lines(MARKS, "Faithfulness", None, LIGHT, by_time=True)
    assert _traces(figure)["mean only"].x[0] == START + timedelta(days=9)
    assert figure.layout.xaxis.type == "date"
    assert figure.layout.shapes[0].x0 == START  # the release; without a baseline no dashed line
    (name,) = [one for one in figure.layout.annotations if one.textangle == -90]
    assert name.xshift < -6, "beside the interval, not on it"


def test_many_versions_do_not_crowd_the_axis() -> None:
    figure = trend_lines([_mark(at, 0.5, "cannot tell") for at in range(60)], "Faithfulness", None, LIGHT)
    assert len(figure.layout.xaxis.tickvals) == 20
    assert figure.layout.xaxis.ticktext[0] == "v59"


def test_sentences_name_the_numbers(workspace: RunStore) -> None:
    base, worse, same, better = _versions(workspace)
    changes = {run.run_id: _change(workspace, base, run) for run in (worse, same, better)}
    head, worsened, improved, undecided = re.split("[:;] ", tally(changes))
    assert head == "**Faithfulness** of 3 versions after the baseline"
    assert (worsened, improved) == ("1 worse", "1 better")
    assert undecided == "1 without a clear difference."
    assert tally({}) == ""


def _open(store: RunStore, monkeypatch: pytest.MonkeyPatch, **params: str) -> AppTest:
    monkeypatch.setenv("RAGTRIAGE_WORKSPACE", str(store.workspace.root))
    at = AppTest.from_file(str(APP), default_timeout=60)
    at.run()
    at.switch_page("trend/trend.py")
    at.query_params.clear()  # as the browser does on the way to another page
    at.query_params.update(params)
    at.run()
    assert not at.exception
    assert not at.error
    return at


def _fresh(store: RunStore) -> RunStore:
    return RunStore(Workspace(store.workspace.root))  # the dates were changed under the first one


def _spec(at: AppTest) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(at.get("plotly_chart")[0].proto.spec)
    return found


def test_without_runs_the_page_says_how_to_begin(
    workspace: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = _open(workspace, monkeypatch)
    assert headline(at) == "Load a first run"


def test_one_version_is_no_trend(workspace: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    _add(workspace, "only", [0.9] * 12)
    at = _open(workspace, monkeypatch)
    assert headline(at) == "A trend needs two runs"
    assert [trace["name"] for trace in _spec(at)["data"]] == ["selected", "baseline"]
    assert at.dataframe[0].value["Verdict"].tolist() == ["baseline"]


def test_two_versions_and_no_baseline_set(workspace: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    _add(workspace, "old", [0.9 - at / 100 for at in range(12)], 0)
    _add(workspace, "new", [0.4 - at / 100 for at in range(12)], 1)
    at = _open(workspace, monkeypatch, metric="faithfulness")
    assert at.caption[0].value.startswith(
        "Marks: against the baseline, old, the oldest version with this metric"
    )
    assert headline(at) == "new is worse than old: pass rate −92 points"
    table = at.dataframe[0].value
    assert table["Version"].tolist() == ["new", "old"]
    assert table["Verdict"].tolist() == ["▼ worse", "baseline"]
    assert table["Difference"].tolist() == ["−0.500", "–"]
    assert table["Shared"].tolist() == ["12", "–"]


def test_other_scores_for_the_same_answers_are_doubted_as_on_triage(
    workspace: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    _add(workspace, "old", [0.70 - at / 1000 for at in range(40)], 0)
    _add(workspace, "new", [0.99 - at / 1000 for at in range(40)], 1)
    at = _open(workspace, monkeypatch, metric="faithfulness")
    assert "40 of 40 shared questions have the same answer, yet faithfulness moved by +0.29" in page_text(at)


def test_the_projects_baseline_holds_also_while_it_is_on_display(
    workspace: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, worse, *_ = _versions(workspace)
    workspace.ledger.set_baseline("p", worse.run_id, "Ann")
    mark_release(workspace.ledger, "p", worse.run_id, "2.0", "Ann")
    at = _open(workspace, monkeypatch, metric="faithfulness", run=worse.run_id)
    assert at.caption[0].value == "Marks: against the baseline, worse"
    table = at.dataframe[0].value
    assert table["Verdict"].tolist() == ["▲ better", "▲ better", "baseline", "before the baseline"]
    assert table[""].tolist() == ["", "", "▸", ""]
    spec = _spec(at)
    assert [one["text"] for one in spec["layout"]["annotations"]] == ["baseline", "2.0"]
    assert "before the baseline" in [trace["name"] for trace in spec["data"]]


def test_the_address_keeps_metric_and_axis(workspace: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    _versions(workspace)
    at = _open(_fresh(workspace), monkeypatch, metric="faithfulness", axis="time")
    spec = _spec(at)
    assert spec["layout"]["xaxis"]["type"] == "date"
    assert spec["layout"]["yaxis"]["title"]["text"] == "Faithfulness"
    assert at.query_params["axis"] == "time"
    chosen = Selection.from_params({"axis": "time", "metric": "faithfulness"})
    assert chosen.to_params() == {"axis": "time", "metric": "faithfulness"}
    assert Selection.from_params({"axis": "sideways"}).axis == ""


def test_a_version_known_by_its_mean_is_hollow_and_not_compared(
    workspace: RunStore, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    table = tmp_path / "versions.csv"
    table.write_text("version,faithfulness\nV1,0.5\nV2,0.6\n", encoding="utf-8")
    import_source(workspace, InputFile.from_path(table), Options(), "p")
    at = _open(workspace, monkeypatch, metric="faithfulness")
    shown = at.dataframe[0].value
    assert set(shown["Verdict"]) == {"mean only, cannot be compared"}
    assert set(shown["95 % interval"]) == {"–"}
    traces = {trace["name"]: trace for trace in _spec(at)["data"]}
    assert traces["mean only"]["marker"]["symbol"] == "circle-open"
    assert any("2 versions with only a reported mean" in caption.value for caption in at.caption)


def test_sixty_versions(workspace: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    for day in range(60):
        _add(workspace, f"night {day:02d}", [0.5 + (day % 7) / 100 + at / 1000 for at in range(12)], day)
    at = _open(workspace, monkeypatch, metric="faithfulness")
    points = [trace for trace in _spec(at)["data"] if trace.get("customdata")]
    assert sum(len(trace["x"]) for trace in points) == 60
    assert len(at.dataframe[0].value) == 60
    assert "of 59 versions after the baseline" in page_text(at)


def test_a_label_or_another_metric_computes_little_anew(
    workspace: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    for day in range(20):
        _add(workspace, f"night {day:02d}", [0.4 + (day + at) % 12 / 24 for at in range(12)], day)
    app = _open(workspace, monkeypatch)
    app.run()
    assert app.session_state["costs"].made == 0
    last = workspace.runs()[-1]
    workspace.ledger.add_label((last.run_id, "q0", 0), "anna", "fail")
    app.run()
    made: int = app.session_state["costs"].made
    assert 0 < made <= 8, "the diagnosis of one run, its pair, and what the page says of all"


def test_the_baseline_stays_when_more_versions_come_than_a_chart_holds(
    workspace: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    oldest = _add(workspace, "V000", [0.9 - at / 100 for at in range(12)], 0)
    for day in range(1, 167):
        _add(workspace, f"V{day:03d}", [0.5 + (day % 7) / 100 + at / 1000 for at in range(12)], day)
    at = _open(workspace, monkeypatch, metric="faithfulness")
    assert at.caption[0].value.startswith(
        "Marks: against the baseline, V000, the oldest version with this metric"
    )
    told = "of the 60 newest versions after the baseline (106 versions before them not compared): 60 worse"
    assert told in page_text(at)
    table = at.dataframe[0].value
    assert len(table) == 61
    assert table["Version"].tolist()[-1] == "V000"
    assert any("106 older versions left out: neither drawn nor compared" in one.value for one in at.caption)
    assert "over 12 shared questions" in str(_spec(at))
    assert at.query_params.get("baseline", oldest.run_id) == oldest.run_id


def test_a_button_leads_to_the_comparison_with_the_trends_baseline(
    workspace: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    base, _, _, better = _versions(workspace)
    at = _open(_fresh(workspace), monkeypatch, metric="faithfulness", run=better.run_id)
    at.button(key="trend_compare").click().run()
    assert headline(at).startswith("better beats base in 1 of 2 metrics: faithfulness +")
    assert at.query_params["baseline"] == base.run_id
    assert at.query_params["versions"] == better.run_id


def test_a_name_cannot_break_out(workspace: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    _add(workspace, "old", [0.9] * 12, 0)
    hostile = "<img src=x onerror=alert(1)> [a](http://b)"
    _add(workspace, hostile, [0.4 - at / 100 for at in range(12)], 1, dataset="**x** <b>")
    at = _open(workspace, monkeypatch, metric="faithfulness")
    at.session_state["trend_caveats"] = True
    at.run()
    written = " ".join(one.value for one in [*at.markdown, *at.caption, *at.warning])
    assert "\\<img" in written
    assert not re.search(r"(?<!\\)(<img|<b>|\]\()", written)
    assert "\\<b\\>" in written  # the data set's name, as it stands in the warning
    assert "<img" not in at.get("plotly_chart")[0].proto.spec


def test_versions_without_a_shared_question_are_not_measured_rather_than_unchanged(
    workspace: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    for day, (name, first) in enumerate((("old", 0), ("new", 100))):
        lines = [
            {"question_id": f"q{at}", "question": f"{at}?", "answer": "a", "scores": {"faithfulness": 0.9}}
            for at in range(first, first + 12)
        ]
        source = InputFile.from_bytes(f"{name}.jsonl", "\n".join(map(json.dumps, lines)).encode())
        _dated(workspace, import_source(workspace, source, Options(name=name), "p")[0].run, day)
    at = _open(_fresh(workspace), monkeypatch, metric="faithfulness")
    assert headline(at) == "new and old share no question"
    assert "not measured" in page_text(at)
    assert "No change" not in page_text(at)
    assert "no shared question" in at.dataframe[0].value["Verdict"].tolist()


def test_a_small_chart_leads_to_the_large_one(workspace: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, day in (("old", 0), ("new", 1)):
        lines = [
            {
                "question_id": f"q{at}",
                "question": f"{at}?",
                "scores": {"faithfulness": 0.5 + at / 100, "answer_relevancy": 0.9 - at / 100 * (day + 1)},
            }
            for at in range(12)
        ]
        source = InputFile.from_bytes(f"{name}.jsonl", "\n".join(map(json.dumps, lines)).encode())
        _dated(workspace, import_source(workspace, source, Options(name=name), "p")[0].run, day)
    at = _open(_fresh(workspace), monkeypatch, metric="faithfulness")
    at.button(key="small_answer_relevancy").click().run()
    assert at.query_params["metric"] == "answer_relevancy"
    assert _spec(at)["layout"]["yaxis"]["title"]["text"] == "Answer relevancy"
    assert "small_faithfulness" in {one.key for one in at.button}


def test_releases_are_listed_in_their_tab(workspace: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    _, worse, *_ = _versions(workspace)
    mark_release(workspace.ledger, "p", worse.run_id, "2.0", "Ann")
    at = _open(_fresh(workspace), monkeypatch, metric="faithfulness")
    assert [tab.label for tab in at.tabs] == ["Numbers", "Releases (1)"]
    at.session_state["trend_tabs"] = "Releases (1)"
    at.run()
    (table,) = (one.value for one in at.dataframe)
    assert table["Release"].tolist() == ["2.0"]
    assert table["Marked"].tolist()[0].endswith("by Ann")
    assert table["Version"].tolist() == ["worse"]


def test_values_of_any_size_are_drawn() -> None:
    marks = [_mark(0, 1e308, "baseline"), _mark(1, -1e308, "worse"), _mark(2, float("inf"), "better")]
    figure = trend_lines(marks, "Reward", 1e308, DARK)
    traces = _traces(figure)
    assert list(traces["line"].y) == [1.0, -1.0]
    assert "better" not in traces
    assert "1e+308" in figure.layout.yaxis.title.text
    assert figure.layout.shapes[0].y0 == 1.0
    small = small_trend([mark.level for mark in marks], ["a", "b", "c"], "", "muted", DARK)
    assert list(small.data[0].y) == [1.0, -1.0]
    assert max(len(text) for text in small.data[0].text) < 12


def test_the_newest_version_is_judged_as_on_compare(demo: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGTRIAGE_WORKSPACE", str(demo.workspace.root))
    heads = []
    for page in ("compare", "trend"):
        app = AppTest.from_file(str(APP), default_timeout=60)
        app.query_params.update({"project": "handbook", "since": "baseline"})
        app.run()
        app.switch_page(f"{page}/{page}.py").run()
        heads.append(html_text(app).split(" questions")[0])
    assert headline(app).startswith("V4 rerank beats V1 baseline: pass rate +25 points")
    assert heads[0].split("Doubted")[0] == heads[1].split("Doubted")[0]


def test_what_changed_since_the_last_release_is_said(
    demo: RunStore, workspace: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAGTRIAGE_WORKSPACE", str(demo.workspace.root))
    app = AppTest.from_file(str(APP), default_timeout=60)
    app.query_params["project"] = "handbook"
    app.switch_page("trend/trend.py").run()
    assert "Since release 1.2**: V4 rerank beats V3 strict prompt: pass rate +27 points." in page_text(app)
    _versions(workspace)
    assert "Since release" not in page_text(_open(workspace, monkeypatch, metric="faithfulness"))
