"""The page A/B: what the command concludes, looks, arms that lead to runs, empty and damaged states."""

from __future__ import annotations

import json
from math import ceil
from pathlib import Path
from typing import Any

import pytest
from command_line import run
from live_test_rows import write_rows
from page_text import headline, html_text, page_text
from places import APP
from streamlit.testing.v1 import AppTest

from ragtriage.dashboard.pages.ab_tests.plan import SHARE
from ragtriage.dashboard.shell.selection import Selection
from ragtriage.data.ab.ab_test import TestOptions, live_test
from ragtriage.data.ab.reading import read_test
from ragtriage.data.ab.stored_tests import StoredTest, find_test, keep_test
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.access import READ_ONLY
from ragtriage.metrics.ab.sequence import units_for_band
from ragtriage.metrics.statistics.power import units_per_arm

GUARDED = TestOptions(guardrails={"back_within_7_days": 0.03}, worth=0.05)


@pytest.fixture
def rows_file(tmp_path: Path) -> Path:
    return write_rows(tmp_path / "rows.csv")


@pytest.fixture
def kept(workspace: RunStore, rows_file: Path) -> StoredTest:
    rows = read_test([rows_file])
    return keep_test(workspace.workspace, rows, GUARDED, "V2 <b>live</b>", "rows.csv", "users drawn")


def _open(store: RunStore, monkeypatch: pytest.MonkeyPatch, **chosen: Any) -> AppTest:
    monkeypatch.setenv("RAGTRIAGE_WORKSPACE", str(store.workspace.root))
    app = AppTest.from_file(str(APP), default_timeout=60)
    app.run()  # AppTest finds a page whose address is not its file's name once the pages are known
    app.session_state["selection"] = Selection(**chosen)
    app.switch_page("ab_tests/ab_tests.py").run()
    assert not app.exception
    return app


def _box(app: AppTest, key: str) -> Any:
    return next(box for box in app.text_input if box.key == key)


def _selection(app: AppTest) -> Selection:
    selection: Selection = app.session_state["selection"]
    return selection


def test_the_page_concludes_what_the_command_does(
    workspace: RunStore,
    kept: StoredTest,
    rows_file: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    app = _open(workspace, monkeypatch)
    words = ("--guardrail", "back_within_7_days:0.03", "--worth", "0.05")
    answer = run(capsys, workspace.workspace.root, "ab", str(rows_file), *words, "--json").json
    shown = headline(app)
    assert shown.split(";")[0] in answer["sentence"]
    assert answer["state"] == "guardrail_open"
    text = html_text(app)
    for metric in answer["arms"][0]["metrics"]:
        if metric["name"] == "nps_score":
            assert f"{metric['result']['difference']:+.1f}".replace("-", "−") in text
    assert "Guardrails: the tick is the margin" in text
    assert "users drawn" in text


def test_an_empty_workspace_shows_how_to_begin(workspace: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    app = _open(workspace, monkeypatch)
    assert headline(app) == "Start a first test"
    assert {"bundled_tests", "open_test_loader", "open_plan"} <= {button.key for button in app.button}
    assert "ragtriage ab events.csv" in app.code[0].value
    monkeypatch.setenv(READ_ONLY, "1")
    app = _open(workspace, monkeypatch)
    assert not {"bundled_tests", "open_test_loader", "open_plan"} & {button.key for button in app.button}


def test_another_metric_and_a_look_stand_in_the_address(
    workspace: RunStore, kept: StoredTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = _open(workspace, monkeypatch)
    picker = next(box for box in app.selectbox if box.key == "pick_deciding")
    assert picker.options[0] == "Task completed (decides)"
    picker.set_value("nps_score").run()
    assert _selection(app).deciding == "nps_score"
    assert "NPS" in headline(app)
    assert "chosen now; task completed was to decide" in html_text(app)
    app = _open(workspace, monkeypatch, look=3)
    assert "As known at look 3 of 14" in "".join(badge.value for badge in app.markdown)
    users = int(html_text(app).split(" users · ")[0].rsplit(None, 1)[-1].replace(",", ""))
    assert users < 600
    next(button for button in app.button if button.key == "last_look").click().run()
    assert _selection(app).look == 0
    assert "600 users" in html_text(app)


def test_an_arm_leads_to_its_run(own_demo: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bundled test: a name opens Triage, the list Cases, and the pair Compare, on the handbook runs."""
    runs = {run.name: run.run_id for run in own_demo.runs("handbook")}
    base, arm = runs["V1 baseline"], runs["V2 smaller chunks"]
    for key, run_id, baseline in (("arm_0", base, ""), ("arm_cases_1", arm, ""), ("compare_arms", arm, base)):
        app = _open(own_demo, monkeypatch)
        next(button for button in app.button if button.key == key).click().run()
        assert not app.exception
        assert (_selection(app).project, _selection(app).run) == ("handbook", run_id)
        assert baseline in (_selection(app).baseline, "")


def test_the_survey_shows_answers_and_a_doubt(own_demo: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    survey = find_test(own_demo.workspace, "2020 against 2019, survey")
    app = _open(own_demo, monkeypatch, test=survey.test_id)
    text = html_text(app)
    assert headline(app) == "2020 against 2019: cannot tell, NPS −15.6 points; 2017 is lower by 26.4"
    assert "Beyond chance, by Holm: NPS −26.4 points in 2017, p < 0.001; has recommended" in text
    assert "nobody was assigned to an arm at random" in text
    assert "Fewer nines and tens, more sevens and eights" in text
    assert "62.7 → 47.1" in text
    assert "published NPS 63 and 47" in text
    app = _open(own_demo, monkeypatch, test=survey.test_id, arm="2017")
    assert headline(app) == "2017 is worse than 2019: NPS −26.4 points"


def test_names_in_the_address_that_are_not_there_give_way(
    workspace: RunStore, kept: StoredTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = _open(workspace, monkeypatch, test="none", deciding="none", arm="none", look=10**9)
    assert headline(app).startswith("V2 completes more, +")


def test_a_broken_split_hides_all_else(
    workspace: RunStore, rows_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = read_test([rows_file])
    keep_test(workspace.workspace, rows, TestOptions(shares=(60.0, 40.0)), "broken", "rows.csv")
    app = _open(workspace, monkeypatch)
    text = html_text(app)
    assert headline(app) == "Split is 50.0 : 50.0: nothing here counts"
    assert "300 users" in text
    for hidden in ("+15", "wanted metric", "always-valid", "Before you decide"):
        assert hidden not in text


def test_a_damaged_test_is_named_and_the_others_are_shown(
    workspace: RunStore, kept: StoredTest, rows_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = keep_test(workspace.workspace, read_test([rows_file]), TestOptions(), "other", "rows.csv")
    (other.folder / "test.json").write_text("{", encoding="utf-8")
    app = _open(workspace, monkeypatch)
    assert headline(app).startswith("V2 completes more, +")
    assert "test.json: cannot be read" in app.warning[0].value.replace("\\", "")


def test_rows_that_were_changed_are_not_concluded_from(
    workspace: RunStore, kept: StoredTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    (kept.folder / "rows.parquet").write_bytes(b"")
    app = _open(workspace, monkeypatch)
    assert "rows.parquet: was changed" in app.error[0].value.replace("\\", "")


def test_the_json_of_the_menu_is_that_of_the_command(
    workspace: RunStore, kept: StoredTest, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from ragtriage.dashboard.pages.ab_tests.chosen_test import open_test
    from ragtriage.dashboard.pages.ab_tests.manage import answer_json

    monkeypatch.setenv("RAGTRIAGE_WORKSPACE", str(workspace.workspace.root))
    answer = json.loads(answer_json(open_test(kept)))
    assert answer == run(capsys, workspace.workspace.root, "ab", kept.name, "--json").json


def test_a_run_that_is_an_arm_says_what_users_did(
    own_demo: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Triage and Compare of V2 have the verdict as a chip; of the base with the arm's name; of V3 none."""
    monkeypatch.setenv("RAGTRIAGE_WORKSPACE", str(own_demo.workspace.root))
    runs = {run.name: run.run_id for run in own_demo.runs("handbook")}

    def chips(name: str) -> list[str]:
        app = AppTest.from_file(str(APP), default_timeout=60)
        app.query_params.update({"project": "handbook", "run": runs[name]})
        app.run()
        assert not app.exception
        labels = [link.proto.label.replace("\\", "") for link in app.get("page_link")]
        return [label for label in labels if "live:" in label]

    assert chips("V2 smaller chunks") == [":orange-badge[! live: task completed +6.0 points]"]
    assert chips("V1 baseline") == [":orange-badge[! live: V2 task completed +6.0 points]"]
    assert chips("V3 strict prompt") == []


def test_a_file_is_read_previewed_and_kept(
    workspace: RunStore, rows_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = _open(workspace, monkeypatch)
    next(button for button in app.button if button.key == "open_test_loader").click().run()
    _box(app, "test_path").set_value(str(rows_file)).run()
    assert any("1,794 rows" in each.value for each in app.markdown)
    assert "share of 4 and 5" in page_text(app)
    _box(app, "test_guardrails").set_value("response_time").run()
    assert "accepted: NAME:MARGIN" in app.error[0].value.replace("\\", "")
    assert "keep_test" not in {button.key for button in app.button}
    _box(app, "test_guardrails").set_value("response_time:0.3").run()
    _box(app, "test_name").set_value("loaded here").run()
    next(button for button in app.button if button.key == "keep_test").click().run()
    assert not app.exception
    kept = find_test(workspace.workspace, "loaded here")
    assert kept.options.guardrails == {"response_time": 0.3}
    assert _selection(app).test == kept.test_id
    assert headline(app).startswith("V2 beats V1: task completed")


def test_a_plan_takes_what_the_formulas_say(
    workspace: RunStore, kept: StoredTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = _open(workspace, monkeypatch)
    next(button for button in app.button if button.key == "open_plan").click().run()
    numbers = {box.label: box for box in app.number_input}
    assert numbers["Effect worth having"].value == 0.05
    # several rows a user: prefilled by the variance of a user, it says what the page says
    lead = live_test(kept.rows(), kept.options).lead
    assert lead is not None
    plan = next(frame.value for frame in app.dataframe if "Effect" in frame.value.columns)
    assert plan.iloc[1]["Users an arm, one look"] == f"{lead.needed_for_worth:,}"
    assert any("has several rows" in each.value for each in app.caption)
    app.session_state[f"plan_kind_{kept.test_id}_task_completed"] = SHARE
    app.run()
    numbers = {box.label: box for box in app.number_input}
    numbers["Base rate"].set_value(0.58)
    numbers["Users a day"].set_value(100)
    app.run()
    plan = next(frame.value for frame in app.dataframe if "Effect" in frame.value.columns)
    needed = units_per_arm((0.58 * 0.42, 0.63 * 0.37), 0.05)
    daily = units_for_band((0.58 * 0.42, 0.63 * 0.37), 0.05)
    row = plan.iloc[1]
    assert row["Effect"] == "0.05 (worth having)"
    assert row["Users an arm, one look"] == f"{needed:,}"
    assert row["Users an arm, looks every day"] == f"{daily:,}"
    assert row["Days"] == f"{ceil(2 * needed / 100):,}"
    numbers = {box.label: box for box in app.number_input}
    numbers["Effect worth having"].set_value(0.0).run()
    assert "Effect worth having: above 0" in app.error[0].value


def test_a_test_is_renamed_and_deleted_from_its_menu(
    workspace: RunStore, kept: StoredTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = _open(workspace, monkeypatch)
    app.session_state["test_menu"] = True
    app.run()
    _box(app, f"test_rename_{kept.test_id}").set_value("chunks").run()
    assert find_test(workspace.workspace, "chunks").test_id == kept.test_id
    next(button for button in app.button if button.key == "test_delete_yes").click().run()
    assert headline(app) == "Start a first test"
