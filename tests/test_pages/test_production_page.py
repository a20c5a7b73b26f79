"""The page Production: what the command concludes, its states, links to runs and cases, a regression set."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from live_traffic import ALERTS, HALF, PROJECT, START, traffic
from page_text import headline, html_text, page_text
from places import APP
from streamlit.testing.v1 import AppTest

from ragtriage.dashboard.charts.live_traffic import lanes_chart, topics_chart
from ragtriage.dashboard.charts.tokens import LIGHT
from ragtriage.dashboard.headlines.production import production_headline
from ragtriage.dashboard.shell.regressions import added_text
from ragtriage.dashboard.shell.selection import Selection
from ragtriage.data.chunking.corpus import Corpus, Document
from ragtriage.data.datasets.dataset import Dataset, create_dataset
from ragtriage.data.datasets.item import Item
from ragtriage.data.datasets.regressions import add_regressions
from ragtriage.data.live.calls import JOURNAL, Calls, live_folder
from ragtriage.data.live.production.facts import Production, production
from ragtriage.data.live.production.times import chosen_span
from ragtriage.data.live.production.window_runs import kept_samples
from ragtriage.data.live.windows import publish
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.access import READ_ONLY
from ragtriage.data.store.workspace import Workspace


def _open(store: RunStore, monkeypatch: pytest.MonkeyPatch, **chosen: Any) -> AppTest:
    monkeypatch.setenv("RAGTRIAGE_WORKSPACE", str(store.workspace.root))
    app = AppTest.from_file(str(APP), default_timeout=60)
    app.session_state["selection"] = Selection(**chosen)
    app.switch_page("production/production.py").run()
    assert not app.exception
    return app


def _facts(store: RunStore) -> Production:
    return production(store, PROJECT, *chosen_span(Calls.of(store.workspace, PROJECT)))


def _selection(app: AppTest) -> Selection:
    selection: Selection = app.session_state["selection"]
    return selection


def _dataset(store: RunStore) -> Dataset:
    dataset = create_dataset(store.workspace, "forms")
    corpus = Corpus("forms", (Document("leave", "Form 0 says that you may ask about leave at any time."),))
    dataset.add_batch([Item("q1", "May I ask about leave, form 0?")], corpus, {"by": "file"})
    return dataset


@pytest.mark.parametrize(
    ("changes", "statement"),
    [
        ({"refused": (10, 2), "policy": ALERTS}, "Refusals rose from 10 to 50 % with release two"),
        ({"scores": (None, None)}, "Traffic only: nothing is judged"),
        ({"policy": ALERTS, "every": 60}, "Only 5 calls in the 12:55 window: too few to tell"),
        ({"policy": ALERTS.replace("0.5\n[[", "1.0\n[[")}, "No alert in 1 hour, 360 judged"),
    ],
)
def test_each_state_opens_with_the_sentence_of_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any], statement: str
) -> None:
    store = traffic(tmp_path, **changes)
    app = _open(store, monkeypatch)
    assert headline(app) == statement == production_headline(_facts(store)).statement
    text = html_text(app)
    assert "1 Mar 2026, 12:00 to 13:00 UTC" in text
    assert ("nothing judged" in text) == (changes.get("scores") is not None)


def test_before_a_first_call_the_page_says_how_to_begin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = RunStore(Workspace(tmp_path).create())
    app = _open(store, monkeypatch)
    assert headline(app) == "Send a first trace"
    assert "ragtriage collect" in page_text(app)
    assert app.button(key="bundled_traffic").label.startswith("Open the bundled example")


def test_a_project_that_has_no_run_yet_is_shown_and_stays_in_the_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = traffic(tmp_path, published=False)
    publish(store, Calls.of(store.workspace, PROJECT), "handbook", START, HALF)
    app = _open(store, monkeypatch, project=PROJECT)
    assert "360 calls" in html_text(app)
    assert app.query_params["project"] == PROJECT
    assert not app.warning
    assert (_selection(app).project, _selection(app).run) == (PROJECT, "")
    app.switch_page("triage/triage.py").run()
    assert not app.exception
    assert "There is no run of the live traffic of" in app.warning[0].value


def test_a_project_without_a_call_yet_says_how_to_begin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = traffic(tmp_path)
    (live_folder(store.workspace, "bikes") / JOURNAL).mkdir(parents=True)
    app = _open(store, monkeypatch, project="bikes")
    assert headline(app) == "Send a first trace"
    assert "ragtriage collect --project bikes" in page_text(app)


def test_the_whole_time_is_compared_with_the_time_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = traffic(tmp_path, refused=(10, 2))
    span = "2026-03-01T12:30:00Z~2026-03-01T13:00:00Z"
    app = _open(store, monkeypatch, project=PROJECT, live_span=span)
    assert headline(app) == "Refusals rose from 10 to 50 % since 12:30"
    app.selectbox(key="pick_live_span").select("").run()
    assert headline(app) == "Refusals rose from 10 to 50 % with release two"
    app.selectbox(key="pick_live_against").select("before").run()
    assert _selection(app).live_against == "before"
    assert "360 judged" in html_text(app)


def test_links_open_the_later_part_against_the_earlier(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = traffic(tmp_path, refused=(10, 2))
    earlier, later = (each.run_id for each in Calls.of(store.workspace, PROJECT).windows())
    app = _open(store, monkeypatch)
    app.button(key="live_triage").click().run()
    assert not app.exception
    assert (_selection(app).run, _selection(app).baseline) == (later, earlier)
    assert "live 12:30-13:00 2026-03-01" in headline(app)


def test_a_click_on_a_point_publishes_its_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = traffic(tmp_path, refused=(10, 2))
    app = _open(store, monkeypatch)
    point = {"customdata": [HALF, HALF + 300]}
    app.session_state["live_lanes"] = {
        "selection": {"points": [point], "point_indices": [], "box": [], "lasso": []}
    }
    app.run()
    assert not app.exception
    run = store.workspace.read_run(_selection(app).run)
    assert run.name == "live 12:30-12:35 2026-03-01"
    assert run.n == 30
    assert _selection(app).baseline == Calls.of(store.workspace, PROJECT).windows()[0].run_id


def test_a_click_on_a_topic_lists_its_cases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = traffic(tmp_path, refused=(10, 2))
    app = _open(store, monkeypatch)
    app.session_state["live_topics"] = {
        "selection": {"points": [{"customdata": ["pay"]}], "point_indices": [], "box": [], "lasso": []}
    }
    app.run()
    assert not app.exception
    assert (_selection(app).slices, _selection(app).refused) == ({"topic": "pay"}, "yes")
    assert "30 of 180" in headline(app)
    assert "whatever the context held" in page_text(app)


def test_a_regression_set_waits_in_the_review(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = traffic(tmp_path, refused=(10, 2))
    dataset = _dataset(store)
    app = _open(store, monkeypatch)
    app.button(key="regression_open").click().run()
    assert "1 of 6 questions are there already, 5 are new." in [each.value for each in app.text]
    assert app.button(key="regression_add").label == "Add 5 questions to the review"
    app.button(key="regression_add").click().run()
    assert not app.exception
    batches = dataset.batches()
    assert len(batches) == 2
    questions = [item.question for item in batches[1].items]
    assert len(questions) == len(set(questions)) == len(_facts(store).to_label) - 1  # one was there already
    assert batches[1].facts["regression"].startswith("live, 2026-03-01T12:30")
    assert all(item.tags["from"] == batches[1].facts["regression"] for item in batches[1].items)
    assert "added to" in app.success[0].value
    button = app.button(key="regression_add")
    assert (button.disabled, button.label) == (True, "No new question to add")
    said = "{0} of {0} questions are there already, 0 are new.".format(len(questions) + 1)
    assert said in [each.value for each in app.text]


def test_a_new_set_takes_the_corpus_of_another(tmp_path: Path) -> None:
    store = traffic(tmp_path, refused=(10, 2))
    old, rows = _dataset(store), _facts(store).to_label
    samples = kept_samples(Calls.of(store.workspace, PROJECT), [row.trace_id for row in rows])
    new = create_dataset(store.workspace, "regressions")
    added = add_regressions(new, [*samples, *samples], "live", old)
    assert (added.added, added.known) == (len(rows), 0)
    assert new.corpus_version == old.corpus_version
    again = add_regressions(new, samples, "live")
    assert (again.added, again.known) == (0, len(rows))
    assert added_text(new, again).startswith("0 questions added to [regressions]")


def test_nothing_that_writes_is_there_where_it_is_only_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = traffic(tmp_path, refused=(10, 2))
    _dataset(store)
    monkeypatch.setenv(READ_ONLY, "1")
    app = _open(store, monkeypatch)
    assert headline(app) == "Refusals rose from 10 to 50 % with release two"
    keys = {button.key for button in app.button}
    assert "regression_open" not in keys
    assert "live_triage" in keys
    app.session_state["live_lanes"] = {
        "selection": {
            "points": [{"customdata": [HALF, HALF + 300]}],
            "point_indices": [],
            "box": [],
            "lasso": [],
        }
    }
    app.run()
    assert not app.exception
    assert "it is not published" in app.toast[0].value


def test_lanes_are_hollow_under_thirty_and_bad_beyond_the_limit(tmp_path: Path) -> None:
    figure = lanes_chart(_facts(traffic(tmp_path, refused=(10, 2), policy=ALERTS)), LIGHT)
    by_name = {trace.name: trace for trace in figure.data}
    refused = by_name["refused"]
    assert refused.marker.line.color[:6] == (LIGHT.muted,) * 6
    assert refused.marker.line.color[6:] == (LIGHT.bad.text,) * 6
    assert refused.marker.color[6:] == (LIGHT.bad.text,) * 6
    assert set(by_name["correctness"].marker.color) == {LIGHT.background}  # about 15 judged each
    assert [list(pair) for pair in refused.customdata][6] == [HALF, HALF + 300]
    lines = [shape for shape in figure.layout.shapes if shape.type == "line" and shape.x0 == shape.x1]
    assert [f"{line.x0:%H:%M}" for line in lines] == ["12:30"]
    assert by_name["calls"].y[0] == 6


def test_silent_minutes_are_dotted(tmp_path: Path) -> None:
    store = traffic(tmp_path)
    with Calls.of(store.workspace, PROJECT).changing() as connection:
        connection.execute("DELETE FROM calls WHERE time >= ? AND time < ?", (START + 600, START + 900))
    facts = _facts(store)
    assert facts.traffic.silent == 5
    dotted = [shape for shape in lanes_chart(facts, LIGHT).layout.shapes if shape.line.dash == "dot"]
    assert [(f"{box.x0:%H:%M}", f"{box.x1:%H:%M}") for box in dotted] == [("12:10", "12:15")]


def test_a_topic_that_may_be_chance_is_hollow(tmp_path: Path) -> None:
    topics = _facts(traffic(tmp_path)).topics
    assert topics is not None
    figure = topics_chart(topics.rows, LIGHT, clickable=True)
    since = next(trace for trace in figure.data if trace.name == "since")
    assert set(since.marker.color) == {LIGHT.background}
    assert {row[0] for row in since.customdata} == {"leave", "pay", "travel"}
    assert json.loads(figure.to_json())


def test_cases_on_a_list_go_into_a_dataset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = traffic(tmp_path, refused=(10, 2))
    dataset = _dataset(store)
    run_id = Calls.of(store.workspace, PROJECT).windows()[1].run_id
    monkeypatch.setenv("RAGTRIAGE_WORKSPACE", str(store.workspace.root))
    app = AppTest.from_file(str(APP), default_timeout=60)
    app.session_state["selection"] = Selection(project=PROJECT, run=run_id, slices={"topic": "pay"})
    app.session_state["add_cases"] = True  # the popover is open
    app.switch_page("cases/cases.py").run()
    assert not app.exception
    app.button(key="cases_add").click().run()
    assert not app.exception
    (added,) = dataset.batches()[1:]
    assert {item.tags["topic"] for item in added.items} == {"pay"}
    assert len(added.items) == len({item.question for item in added.items}) == 4
    assert added.facts["regression"] == "live, live 12:30-13:00 2026-03-01"
