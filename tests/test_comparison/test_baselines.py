"""Baselines and releases: who moved what when, in the ledger, on the command line and on the Runs page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from command_line import run
from places import APP
from streamlit.testing.v1 import AppTest

from ragtriage.data.api import add_run
from ragtriage.data.errors import WorkspaceError
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.ledger import Ledger
from ragtriage.data.store.versions import (
    LONGEST_RELEASE,
    baseline_history,
    clear_baseline,
    mark_release,
    releases_of,
    unmark_release,
)
from ragtriage.data.store.workspace import Run


def _add(store: RunStore, name: str, faithfulness: float) -> Run:
    records = [
        {
            "question_id": f"q{at}",
            "question": f"{at}?",
            "answer": "a",
            "scores": {"faithfulness": faithfulness},
        }
        for at in range(12)
    ]
    return add_run(records, name, "p", str(store.workspace.root))


def test_the_history_of_a_baseline_is_kept(workspace: RunStore) -> None:
    ledger = workspace.ledger
    assert baseline_history(ledger, "p") == []
    assert not ledger.path.exists()  # reading makes no ledger
    ledger.set_baseline("p", "first", "Ann")
    ledger.set_baseline("p", "second", "")
    ledger.set_baseline("other", "third", "Bob")
    assert clear_baseline(ledger, "p", "Cy")
    assert not clear_baseline(ledger, "p", "Cy")  # there is none any more
    moves = [(one.run_id, one.who) for one in baseline_history(ledger, "p")]
    assert moves == [("", "Cy"), ("second", ""), ("first", "Ann")]
    assert ledger.baselines() == {"other": "third"}
    ledger.set_baseline("p", "first", "Dee")
    assert ledger.baselines() == {"other": "third", "p": "first"}


def test_a_release_is_marked_renamed_and_taken_away(workspace: RunStore) -> None:
    ledger = workspace.ledger
    assert releases_of(ledger, "p") == {}
    mark_release(ledger, "p", "a", "  1.0\nbeta ", "Ann")
    mark_release(ledger, "p", "b", "2.0", "Bob")
    mark_release(ledger, "p", "a", "1.1", "Cy")
    found = releases_of(ledger, "p")
    assert {run_id: (one.name, one.who) for run_id, one in found.items()} == {
        "a": ("1.1", "Cy"),
        "b": ("2.0", "Bob"),
    }
    assert unmark_release(ledger, "p", "a", "Ann")
    assert not unmark_release(ledger, "p", "a", "Ann")
    assert list(releases_of(ledger, "p")) == ["b"]
    for name in ("", "   ", "x" * (LONGEST_RELEASE + 1)):
        with pytest.raises(WorkspaceError, match="accepted: 1 to 60 characters"):
            mark_release(ledger, "p", "a", name, "Ann")


def test_the_commands_say_what_holds_and_what_was(
    capsys: pytest.CaptureFixture[str], workspace: RunStore
) -> None:
    root = workspace.workspace.root
    first, second = _add(workspace, "first", 0.9), _add(workspace, "second", 0.8)
    assert "has no baseline" in run(capsys, root, "baseline").out
    assert run(capsys, root, "baseline", "first", "--who", "Ann").code == 0
    assert "Baseline of p: second, set by Bob" in run(capsys, root, "baseline", "second", "--who", "Bob").out
    answer = run(capsys, root, "baseline", "--json").json
    assert answer["baseline"] == {"run": second.run_id, "name": "second"}
    assert [(one["run_id"], one["who"]) for one in answer["history"]] == [
        (second.run_id, "Bob"),
        (first.run_id, "Ann"),
    ]
    assert run(capsys, root, "baseline", "--clear", "--who", "").code == 0
    assert "by an unnamed user" in run(capsys, root, "baseline").out
    assert run(capsys, root, "baseline", "--clear").code == 2
    assert run(capsys, root, "baseline", "first", "--clear").code == 2
    assert run(capsys, root, "baseline", "nowhere").code == 2


@pytest.mark.parametrize("command", ["baseline", "release"])
def test_of_several_projects_one_must_be_named(
    capsys: pytest.CaptureFixture[str], demo: RunStore, command: str
) -> None:
    asked = run(capsys, demo.workspace.root, command)
    assert asked.code == 2
    assert "accepted: --project with" in asked.err
    assert run(capsys, demo.workspace.root, command, "--project", "iris").code == 0


def test_the_release_command(capsys: pytest.CaptureFixture[str], workspace: RunStore) -> None:
    root = workspace.workspace.root
    made = _add(workspace, "first", 0.9)
    assert "has no release" in run(capsys, root, "release").out
    answer = run(capsys, root, "release", "first", "2.4", "--who", "Ann", "--json").json
    assert [(one["run"], one["name"], one["who"]) for one in answer["releases"]] == [
        (made.run_id, "2.4", "Ann")
    ]
    assert run(capsys, root, "release", "first").code == 2
    assert run(capsys, root, "release", "--remove").code == 2
    assert run(capsys, root, "release", "first", "--remove", "--json").json["releases"] == []
    assert run(capsys, root, "release", "first", "--remove").code == 2


def test_a_version_without_samples_is_no_baseline(
    capsys: pytest.CaptureFixture[str], workspace: RunStore, tmp_path: Path
) -> None:
    means = tmp_path / "versions.csv"
    means.write_text("version,faithfulness,recall@5\nV1,0.5,0.4\nV2,0.6,0.5\n", encoding="utf-8")
    root = workspace.workspace.root
    assert run(capsys, root, "import", str(means)).code == 0
    refused = run(capsys, root, "baseline", "V1")
    assert (refused.code, "summary scores only" in refused.err) == (2, True)


def _opened(store: RunStore, monkeypatch: pytest.MonkeyPatch) -> AppTest:
    monkeypatch.setenv("RAGTRIAGE_WORKSPACE", str(store.workspace.root))
    at = AppTest.from_file(str(APP), default_timeout=60)
    return at.switch_page("runs/runs.py").run()


def test_the_runs_page_moves_the_baseline_and_says_who_did(
    workspace: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    _add(workspace, "first", 0.9)
    second = _add(workspace, "second", 0.8)
    at = _opened(workspace, monkeypatch)
    assert any("No baseline is set" in one.value for one in at.caption)
    at.text_input(key="annotator_name").input("Ann <b>").run()
    at.button(key="set_baseline").click().run()
    assert workspace.ledger.baselines() == {"p": second.run_id}
    told = next(one.value for one in at.caption if one.value.startswith("Baseline:"))
    assert "second" in told
    assert "set by Ann \\<b\\>" in told  # a name is text, not markup
    assert "never changed" in told
    at.button(key="clear_baseline").click().run()
    assert workspace.ledger.baselines() == {}
    assert any("removed by Ann" in one.value for one in at.caption)


def test_the_runs_page_marks_a_release(workspace: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    made = _add(workspace, "first", 0.9)
    at = _opened(workspace, monkeypatch)
    assert at.button(key="mark_release").disabled
    at.text_input(key=f"release_{made.run_id}").input("2.4").run()
    at.button(key="mark_release").click().run()
    assert releases_of(workspace.ledger, "p")[made.run_id].name == "2.4"
    assert at.dataframe[0].value["Labels"].tolist() == ["release 2.4"]
    at.button(key="unmark_release").click().run()
    assert releases_of(workspace.ledger, "p") == {}


def test_a_move_carries_its_time_to_the_second(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.sqlite")
    ledger.set_baseline("p", "a", "Ann")
    rows: list[Any] = [(one.run_id, one.who, len(one.at)) for one in baseline_history(ledger, "p")]
    assert rows == [("a", "Ann", 19)]
