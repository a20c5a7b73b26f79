"""A dashboard for reading: no page offers a change, and the data package refuses every one."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import click
import pytest
from command_line import run
from copied_workspace import copied
from places import APP, REPOSITORY
from streamlit.testing.v1 import AppTest

from ragtriage.dashboard.cli.serve import EXPOSED, BindAddress, claimed_port
from ragtriage.dashboard.pages.registry import address_of
from ragtriage.dashboard.present.stories.sections import default_sections
from ragtriage.dashboard.present.stories.story import Story
from ragtriage.dashboard.shell.jobs import start_job
from ragtriage.dashboard.shell.user import may_write
from ragtriage.data.api import add_run
from ragtriage.data.errors import WorkspaceError
from ragtriage.data.jobs import ask_to_stop, begin_job, end_job
from ragtriage.data.judge.evaluators import Evaluator, add_evaluator, remove_evaluator
from ragtriage.data.labels.failure_taxonomy import define_label, mark_reviewed, merge_labels, remove_label
from ragtriage.data.labels.ratings import rate, start_queue
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.access import READ_ONLY
from ragtriage.data.store.ledger import Ledger
from ragtriage.data.store.stories import add_story
from ragtriage.data.store.versions import baseline_history, clear_baseline, mark_release, unmark_release
from ragtriage.data.store.workspace import Workspace

PAGES = sorted(path.parent.name for path in APP.parent.glob("*/*.py") if path.stem == path.parent.name)
CASE = ("run", "q1", 0)
WRITING = (
    *(
        "load",
        "rename",
        "add_tag",
        "set_baseline",
        "clear_baseline",
        "mark_release",
        "unmark_release",
        "delete",
    ),
    *("label_Pass", "label_Fail", "label_Note only", "label_undo", "queue_start", "queue_own", "rate_undo"),
    *("gather", "define", "remove", "create_evaluator", "remove_evaluator_invented"),
    *("judge_start", "grid_form", "judge_form"),
    *("story_new", "story_remove", "story_add"),
)


def _digest(store: RunStore) -> str:
    """Say what people and runs left in a workspace; scores and index are derived and may come."""
    found = hashlib.sha256()
    root = store.workspace.root
    for path in sorted(root.rglob("*")):
        inside = path.relative_to(root)
        if (
            path.is_file()
            and inside.parts[0] not in ("scores", "catalogue.sqlite")
            and "sqlite" not in path.name
        ):
            found.update(f"{inside} {path.stat().st_size} {path.stat().st_mtime_ns}\n".encode())
    with closing(sqlite3.connect(store.ledger.path)) as connection:
        for line in connection.iterdump():
            found.update(line.encode())
    return found.hexdigest()


@pytest.fixture(scope="module")
def filled(demo: RunStore, tmp_path_factory: pytest.TempPathFactory) -> RunStore:
    """The bundled samples with something of everything that people add."""
    root = tmp_path_factory.mktemp("read-only") / "workspace"
    copied(demo.workspace.root, root)
    store = RunStore(Workspace(root))
    ledger = store.ledger
    target = store.runs("iris")[-1]
    for run_ in store.runs("iris"):
        if run_.n > run_.n_questions:
            target = run_
    question = str(store.scored(target).question_ids[0])
    ledger.add_label((target.run_id, question, 0), "Ann", "fail", "invented", "it names a date")
    ledger.add_label((target.run_id, question, 1), "Ann", None, "", "a note to gather")
    ledger.tag(target.run_id, "nightly", "Ann")
    define_label(ledger, "iris", "invented", "what no document says", "Ann")
    add_evaluator(ledger, "iris", Evaluator("invented", "invented", "Is a date invented?"), "Ann")
    start_queue(ledger, target.run_id, "pass", "Ann")
    mark_release(ledger, "iris", target.run_id, "1.0", "Ann")
    ledger.set_baseline("iris", target.run_id, "Ann")
    job = begin_job(ledger, "reading", target.run_id, {"model": "m", "samples": 3})
    end_job(ledger, job, "stopped", "", {})
    grid = begin_job(ledger, "grid:abc", "", {"name": "towns"}, "towns")
    end_job(ledger, grid, "stopped", "", {})
    story = Story("For all", target.run_id, sections=default_sections("lead"))
    add_story(ledger, "iris", story.title, story.to_json(), "Ann")
    return store


@pytest.fixture
def reading(filled: RunStore, monkeypatch: pytest.MonkeyPatch) -> Iterator[RunStore]:
    """That workspace, and an environment in which it is only read; what it holds stays as it is."""
    monkeypatch.setenv("RAGTRIAGE_WORKSPACE", str(filled.workspace.root))
    monkeypatch.setenv(READ_ONLY, "1")
    before = _digest(filled)
    yield RunStore(filled.workspace)
    assert _digest(filled) == before


def _open(store: RunStore, page: str, **params: str) -> AppTest:
    at = AppTest.from_file(str(APP), default_timeout=120)
    at.session_state["annotator_name"] = "Eve"  # a name alone opens no door
    if address_of(page) != page:
        at.run()  # AppTest finds a page whose address is not its file's name once the pages are known
    at.switch_page(f"{page}/{page}.py")
    target = store.ledger.baselines()["iris"]
    at.query_params.update({"project": "iris", "run": target, **params})
    at.run()
    assert not at.exception
    return at


VIEWS = [
    *((page, {}) for page in PAGES),
    ("judge", {"part": "people"}),
    ("judge", {"part": "errors"}),
    ("cases", {"queue": "1"}),
    ("chunking", {"project": "state_of_the_union", "run": ""}),
]


@pytest.mark.parametrize(
    ("page", "params"), VIEWS, ids=lambda one: "-".join([one] if isinstance(one, str) else one)
)
def test_no_page_offers_a_change_and_no_button_makes_one(
    reading: RunStore, page: str, params: dict[str, str]
) -> None:
    at = _open(reading, page, **params)
    assert any("Read only" in str(one.value) for one in at.main.markdown), "the header says so"
    offered = {one.key for one in at.button if one.key and not one.disabled}
    assert not offered & set(WRITING)
    of_jobs = ("judge_stop_", "judge_resume_", "grid_stop_", "grid_resume_")
    assert not [key for key in offered if key.startswith(("piece_", "rate_", *of_jobs))]
    assert not at.get("file_uploader")
    one_of_each = {re.sub(r"_[0-9a-f]{12}_|\d+$", "", key): key for key in sorted(offered)}
    for key in one_of_each.values():
        again = _open(reading, page, **params)
        there = [one for one in again.button if one.key == key and not one.disabled]
        assert there, key
        there[0].click().run()
        assert not again.exception, key
        assert not [one.value for one in again.toast if "only reads" in one.value], key


def test_the_same_pages_offer_changes_to_those_who_may_make_them(
    filled: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAGTRIAGE_WORKSPACE", str(filled.workspace.root))
    offered = {
        one.key
        for page, params in VIEWS
        for one in _open(filled, page, **params).button
        if one.key and not one.disabled
    }
    expected = {"rename", "clear_baseline", "unmark_release", "delete", "label_Pass", "queue_start"}
    expected |= {"judge_resume_1", "grid_resume_2", "remove_evaluator_invented", "story_new", "story_remove"}
    assert expected <= offered


WRITES: dict[str, Callable[[Ledger], object]] = {
    "label": lambda ledger: ledger.add_label(CASE, "Eve", "pass"),
    "undo": lambda ledger: ledger.undo_label("run", "Ann"),
    "rename": lambda ledger: ledger.rename("run", "x", "Eve"),
    "tag": lambda ledger: ledger.tag("run", "x", "Eve"),
    "untag": lambda ledger: ledger.untag("run", "nightly"),
    "baseline": lambda ledger: ledger.set_baseline("iris", "run", "Eve"),
    "clear": lambda ledger: clear_baseline(ledger, "iris", "Eve"),
    "release": lambda ledger: mark_release(ledger, "iris", "run", "x", "Eve"),
    "unrelease": lambda ledger: unmark_release(ledger, "iris", ledger.baselines()["iris"], "Eve"),
    "rate": lambda ledger: rate(ledger, CASE, "Eve", "faithfulness", 1.0),
    "read": lambda ledger: mark_reviewed(ledger, CASE, "Eve"),
    "queue": lambda ledger: start_queue(ledger, "run", "pass", "Eve"),
    "define": lambda ledger: define_label(ledger, "iris", "x", "y", "Eve"),
    "merge": lambda ledger: merge_labels(ledger, "iris", ["run"], "invented", "x", "Eve"),
    "remove label": lambda ledger: remove_label(ledger, "iris", "invented"),
    "evaluator": lambda ledger: add_evaluator(ledger, "iris", Evaluator("x", "x", "x?"), "Eve"),
    "remove evaluator": lambda ledger: remove_evaluator(ledger, "iris", "invented"),
    "job": lambda ledger: begin_job(ledger, "reading", "run", {}),
    "stop": lambda ledger: ask_to_stop(ledger, 1),
    "story": lambda ledger: add_story(ledger, "iris", "x", "{}", "Eve"),
}


@pytest.mark.parametrize("what", WRITES)
def test_the_ledger_refuses(reading: RunStore, what: str) -> None:
    with pytest.raises(WorkspaceError, match="cannot be changed: this process only reads"):
        WRITES[what](reading.ledger)


def test_the_workspace_refuses(reading: RunStore, tmp_path: Path) -> None:
    root = reading.workspace.root
    one = reading.runs("iris")[0]
    with pytest.raises(WorkspaceError, match="only reads"):
        add_run([{"question": "new?"}], "new", "iris", str(root))
    with pytest.raises(WorkspaceError, match="only reads"):
        reading.workspace.delete_run(one.run_id)
    with pytest.raises(WorkspaceError, match="only reads"), reading.workspace.staging(root / "judgements"):
        pass
    with pytest.raises(WorkspaceError, match="only reads"):
        start_job(reading, ["judge", one.run_id, "--limit", "1"])
    with pytest.raises(WorkspaceError, match="only reads"):
        start_job(reading, ["grid", "corpus", "--questions", "q.jsonl"])
    assert not may_write()


def test_scores_are_derived_and_may_still_be_made(reading: RunStore) -> None:
    one = reading.runs("iris")[0]
    shutil.rmtree(reading.workspace.scores_folder / one.run_id)
    assert reading.summary(one)
    assert (reading.workspace.scores_folder / one.run_id).is_dir()


def test_commands_refuse_too(reading: RunStore, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    root, one = reading.workspace.root, reading.runs("iris")[0]
    file = tmp_path / "new.jsonl"
    file.write_text(json.dumps({"question": "new?"}), encoding="utf-8")
    for words in (
        ("import", str(file)),
        ("delete", one.run_id, "--yes"),
        ("baseline", one.run_id),
        ("baseline", "--clear", "--project", "iris"),
        ("release", one.run_id, "2.0"),
        ("watch", str(tmp_path), "--once"),
    ):
        answer = run(capsys, root, *words)
        assert (answer.code, "only reads" in answer.err) == (2, True), words
    assert run(capsys, root, "baseline", "--project", "iris").code == 0  # reading is what it is for


def test_a_ledger_that_is_not_there_or_is_old_is_read_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = Ledger(tmp_path / "ledger.sqlite")
    script = REPOSITORY / "data" / "sql" / "ledger_001.sql"
    with closing(sqlite3.connect(old.path)) as connection, connection:
        connection.executescript(script.read_text(encoding="utf-8"))
        connection.execute("INSERT INTO baselines VALUES ('p', 'a', 'Ann', '2026-01-01T00:00:00')")
    before = old.path.read_bytes()
    monkeypatch.setenv(READ_ONLY, "1")
    assert [one.who for one in baseline_history(old, "p")] == ["Ann"]
    assert old.version() == (0, 100003)  # also of tables that it has not yet
    with pytest.raises(WorkspaceError, match="only reads"):
        old.set_baseline("p", "b", "Eve")
    assert old.path.read_bytes() == before
    new = Ledger(tmp_path / "none" / "ledger.sqlite")
    assert (new.labels("a"), new.baselines(), new.version()) == ([], {}, (0, 0))
    with new.open() as connection:
        assert connection.execute("SELECT count(*) FROM releases").fetchone() == (0,)
    with pytest.raises(WorkspaceError, match="only reads"):
        new.tag("a", "b", "Eve")
    assert not new.path.exists()


def test_reading_an_empty_workspace_makes_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(READ_ONLY, "1")
    assert Workspace(tmp_path / "ws").create().run_ids() == set()
    assert not (tmp_path / "ws").exists()
    monkeypatch.setenv(READ_ONLY, "0")
    assert may_write()


def test_others_are_let_in_only_when_that_was_said() -> None:
    for host in ("127.0.0.1", "localhost", "127.0.0.9"):
        BindAddress(host).check()
        assert BindAddress(host).loopback
    for host in ("0.0.0.0", "::", "192.0.2.1"):
        with pytest.raises(click.UsageError, match=r"there is no login.*accepted: --expose"):
            BindAddress(host).check()
        BindAddress(host, expose=True).check()
    for host in ("", "  ", "no such host", "host.invalid"):
        with pytest.raises(click.UsageError, match="accepted"):
            BindAddress(host, expose=True).check()
    assert (BindAddress("0.0.0.0").url(1), BindAddress("::").url(1)) == (
        "http://127.0.0.1:1/",
        "http://[::1]:1/",
    )


def test_an_address_of_another_machine_is_told() -> None:
    with (
        pytest.raises(click.UsageError, match="is not an address of this machine"),
        claimed_port(None, "192.0.2.1"),
    ):
        pass
    with claimed_port(None, "0.0.0.0") as port:
        assert port >= 8501


def _served(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], root: str, *words: str
) -> tuple[Any, str]:
    """Run `serve` up to where the server would start; gives its words and what was said."""
    given: list[Any] = []
    monkeypatch.setattr("streamlit.web.cli.main_run", lambda words, **_: given.append(words))
    monkeypatch.setattr("ragtriage.dashboard.cli.serve.signal.signal", lambda *_: None)
    monkeypatch.setenv(READ_ONLY, "")  # serve sets both; what they were comes back after the test
    monkeypatch.setenv("RAGTRIAGE_WORKSPACE", root)
    answer = run(capsys, Path(root), "serve", *words)
    return (given[0] if given else None), answer.out + answer.err


def test_serve_says_what_it_lets_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root = str(tmp_path / "ws")
    words, said = _served(monkeypatch, capsys, root)
    assert "--server.address=127.0.0.1" in words
    assert "read only" not in said
    assert "login" not in said
    words, said = _served(monkeypatch, capsys, root, "--host", "0.0.0.0")
    assert words is None
    assert "accepted: --expose" in said
    words, said = _served(monkeypatch, capsys, root, "--host", "0.0.0.0", "--expose")
    assert "--server.address=0.0.0.0" in words
    assert EXPOSED.format(" and can change and delete all of it") in said
    words, said = _served(monkeypatch, capsys, root, "--host", "0.0.0.0", "--expose", "--read-only")
    assert "read only: nothing can be changed from the pages" in said
    assert EXPOSED.format("") in said
