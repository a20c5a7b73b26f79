"""Grid searches as jobs: they outlive the server, stop, go on, may die, and run once at a time."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from command_line import run as command
from places import REPOSITORY
from streamlit.testing.v1 import AppTest

from ragtriage.dashboard.shell import jobs as shell_jobs
from ragtriage.dashboard.shell.jobs import JobPanel, start_job
from ragtriage.data.chunking.chunkers import Strategy
from ragtriage.data.chunking.corpus import corpus_of, read_corpus
from ragtriage.data.chunking.grid_search import GridOptions, command_words, grid_jobs, keep_upload
from ragtriage.data.errors import DataError
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.jobs import Job, ask_to_stop, begin_job, end_job
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.workspace import Workspace

TEXT = "Alpha came first. Beta was second. Gamma closed the row. " * 6
GOLD = {"doc_id": "t", "start": 18, "end": 34}
SIZES = tuple(range(20, 160))  # several times what is done between two heartbeats


@pytest.fixture
def inputs(tmp_path: Path) -> dict[str, Any]:
    """A corpus, questions, and more configurations than are run before somebody looks."""
    (tmp_path / "t.txt").write_text(TEXT, encoding="utf-8")
    row = {"question_id": "q", "question": "Who was second?", "relevant_spans": [GOLD]}
    (tmp_path / "q.jsonl").write_text(json.dumps(row), encoding="utf-8")
    return {
        "corpus": [str(tmp_path / "t.txt")],
        "questions": str(tmp_path / "q.jsonl"),
        "sizes": SIZES,
        "overlaps": (0,),
        "project": "p",
    }


def _until(met: Callable[[], object], seconds: float = 90) -> None:
    end = time.monotonic() + seconds
    while not met():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


def _done(store: RunStore) -> int:
    return int(grid_jobs(store.ledger)[0].progress.get("done", 0))


def _run_ids(store: RunStore) -> set[str]:
    return Workspace(store.workspace.root).run_ids()


def _alone(inputs: dict[str, Any], folder: Path, capsys: pytest.CaptureFixture[str]) -> set[str]:
    """Run the same grid in another workspace without a disturbance; return its runs."""
    assert command(capsys, folder, *command_words(inputs)).code == 0
    return Workspace(folder).run_ids()


def test_a_grid_outlives_the_server_that_started_it(workspace: RunStore, inputs: dict[str, Any]) -> None:
    code = (
        "import os, signal, sys; from ragtriage.dashboard.shell.jobs import start_job; "
        "from ragtriage.data.scoring.run_store import RunStore; "
        "from ragtriage.data.store.workspace import Workspace; "
        "start_job(RunStore(Workspace(sys.argv[1])), sys.argv[2:]); os.kill(os.getpid(), signal.SIGKILL)"
    )
    line = [sys.executable, "-c", code, str(workspace.workspace.root), *command_words(inputs)]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    server = subprocess.run(line, env=environment, stderr=subprocess.PIPE, check=False)
    assert server.returncode == -signal.SIGKILL, server.stderr
    (job,) = grid_jobs(workspace.ledger)
    assert job.state == "running"
    assert job.spec["name"] == "t"
    _until(lambda: grid_jobs(workspace.ledger)[0].state == "done")
    assert len(_run_ids(workspace)) == len(SIZES)
    assert _done(workspace) == len(SIZES)


def test_a_grid_that_is_stopped_and_then_killed_goes_on_to_the_same_runs(
    workspace: RunStore, inputs: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    job = start_job(workspace, command_words(inputs))
    _until(lambda: _done(workspace) >= 2)
    ask_to_stop(workspace.ledger, job.job_id)
    _until(lambda: grid_jobs(workspace.ledger)[0].state != "running")
    stopped = grid_jobs(workspace.ledger)[0]
    assert (stopped.state, "stopped on request" in stopped.message) == ("stopped", True)
    when_stopped = _run_ids(workspace)
    assert 2 <= len(when_stopped) < len(SIZES)
    assert stopped.progress["done"] == len(when_stopped)
    again = start_job(workspace, command_words(stopped.spec), stopped.spec["folder"])
    assert (again.kind, again.project, again.run_id) == (job.kind, "p", "")
    _until(lambda: len(_run_ids(workspace)) >= len(when_stopped) + 2)
    os.kill(again.pid, signal.SIGKILL)
    _until(lambda: grid_jobs(workspace.ledger)[0].state == "died", seconds=5)  # a child that ended is reaped
    kept = _run_ids(workspace)
    assert when_stopped < kept
    assert len(kept) < len(SIZES)
    start_job(workspace, command_words(grid_jobs(workspace.ledger)[0].spec))
    _until(lambda: grid_jobs(workspace.ledger)[0].state == "done")
    assert kept < _run_ids(workspace)
    assert _run_ids(workspace) == _alone(inputs, tmp_path / "alone", capsys)


def test_the_same_grid_runs_once_at_a_time_in_a_project(workspace: RunStore, inputs: dict[str, Any]) -> None:
    job = start_job(workspace, command_words(inputs))
    with pytest.raises(DataError, match=f"job {job.job_id} is doing this already"):
        start_job(workspace, command_words(inputs))
    other = start_job(workspace, command_words({**inputs, "project": "other"}))
    assert (other.kind, other.project) == (job.kind, "other")
    os.kill(other.pid, signal.SIGTERM)  # asks for a stop
    _until(lambda: all(job.state != "running" for job in grid_jobs(workspace.ledger)))
    assert {one.project: one.state for one in grid_jobs(workspace.ledger)} == {
        "p": "done",
        "other": "stopped",
    }
    assert len(workspace.runs("p")) == len(SIZES)


def test_a_grid_of_the_command_line_is_recorded_too(
    workspace: RunStore, inputs: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    few = {**inputs, "sizes": (20, 30)}
    assert command(capsys, workspace.workspace.root, *command_words(few)).code == 0
    absent = command_words({**few, "retriever": "embedding:/nowhere"})
    assert command(capsys, workspace.workspace.root, *absent).code == 2
    failed, done = grid_jobs(workspace.ledger)
    assert (done.state, done.progress["done"], done.message) == ("done", 2, "")
    assert (failed.state, failed.progress["done"]) == ("failed", 0)
    assert "accepted: bm25" in failed.message


def test_an_interrupted_command_is_recorded_as_stopped(
    workspace: RunStore, inputs: dict[str, Any], capsys: pytest.CaptureFixture[str], monkeypatch: Any
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("ragtriage.data.chunking.grid_search.run_configuration", interrupted)
    answer = command(capsys, workspace.workspace.root, *command_words(inputs))
    assert answer.code == 130
    assert "Stopped" in answer.err
    assert grid_jobs(workspace.ledger)[0].state == "stopped"


@pytest.mark.parametrize("strategies", [(), ("paragraph", "heading")])
def test_the_words_of_a_grid_are_read_as_they_were_meant(
    inputs: dict[str, Any], strategies: tuple[Strategy, ...], monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    options = GridOptions(
        ("-odd name", "b"), "q", (8, 16), (0, 4), "characters", strategies, "yes", 7, "embedding:m", "-p", "t"
    )
    read: list[GridOptions] = []

    def run(_: object, given: GridOptions, __: object) -> int:
        read.append(given)
        return 0

    monkeypatch.setattr("ragtriage.dashboard.cli.asking.grid._run", run)
    assert command(capsys, Path("unused"), *command_words(vars(options))).code == 0
    assert read == [options]


def test_uploads_are_kept_where_the_process_reads_the_same_corpus(workspace: RunStore) -> None:
    uploads = {"b.md": b"# One\n\ntext", "a.txt": TEXT.encode(), "../c.txt": b"inside"}
    paths = [keep_upload(workspace.workspace, name, content) for name, content in uploads.items()]
    root = workspace.workspace.root
    assert all(Path(path).is_relative_to(root / "uploads") for path in paths)
    names = [Path(path).name for path in paths]
    assert names == ["b.md", "a.txt", "c.txt"]
    sources = zip(names, uploads.values(), strict=True)
    in_memory = corpus_of(((name, InputFile.from_bytes(name, content)) for name, content in sources), "b")
    assert read_corpus(paths) == in_memory
    assert keep_upload(workspace.workspace, "a.txt", TEXT.encode()) == paths[1]


def _page(root: str) -> None:
    from ragtriage.dashboard.pages.chunking.grid_search import grid_searches
    from ragtriage.data.scoring.run_store import RunStore
    from ragtriage.data.store.workspace import Workspace

    grid_searches(RunStore(Workspace(root)))


def _opened(store: RunStore) -> AppTest:
    app = AppTest.from_function(_page, args=(str(store.workspace.root),), default_timeout=60).run()
    assert not app.exception
    return app


def _shown(app: AppTest) -> str:
    return "\n".join(str(part.value) for part in [*app.markdown, *app.caption])


def test_one_plan_in_two_projects_is_stopped_one_by_one(workspace: RunStore) -> None:
    first, second = (
        begin_job(workspace.ledger, "grid:a", "", {"name": "t"}, name) for name in ("one", "two")
    )
    progress = {"total": 6, "done": 3, "configuration": "fixed <b>", "seconds_left": 200.0}
    with workspace.ledger.open() as connection:
        connection.execute("UPDATE jobs SET progress = ? WHERE job_id = ?", (json.dumps(progress), first))
    app = _opened(workspace)
    texts = {bar.proto.text: bar.proto.value for bar in app.get("progress")}
    assert texts == {"t: 3 of 6 configurations, about 3 min left · fixed \\<b\\>": 50, "t: beginning": 0}
    app.button(key=f"grid_stop_{second}").click().run()
    asked = {job.job_id: job.stop_asked for job in grid_jobs(workspace.ledger)}
    assert asked == {first: False, second: True}
    assert app.button(key=f"grid_stop_{second}").disabled


def test_a_grid_that_died_is_shown_and_goes_on(workspace: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = {"name": "t", "corpus": ["/c"], "questions": "q", "sizes": [8, 16], "folder": "/there"}
    job = begin_job(workspace.ledger, "grid:a", "", spec, "two")
    with workspace.ledger.open() as connection:
        gone = "UPDATE jobs SET heartbeat = ?, host = 'elsewhere', progress = ? WHERE job_id = ?"
        connection.execute(gone, (time.time() - 60, '{"done": 1, "total": 2}', job))
    app = _opened(workspace)
    assert ":red-badge[died]" in _shown(app)
    assert "grid over t in project two · 1 of 2 configurations" in _shown(app)
    assert "are kept" in _shown(app)
    started: list[object] = []
    monkeypatch.setattr("ragtriage.dashboard.shell.jobs.start_job", lambda _, *given: started.append(given))
    app.button(key=f"grid_resume_{job}").click().run()
    assert started == [(["grid", "--questions", "q", "--sizes", "8,16", "--", "/c"], "/there")]


def test_a_grid_goes_on_with_files_of_this_machine_only_once_they_are_confirmed(
    workspace: RunStore, tmp_path: Path
) -> None:
    (tmp_path / "private").mkdir()
    uploaded = keep_upload(workspace.workspace, "q.jsonl", b"{}")
    spec = {"name": "t", "corpus": ["private"], "questions": uploaded, "folder": str(tmp_path)}
    end_job(workspace.ledger, begin_job(workspace.ledger, "grid:a", "", spec, "t"), "stopped", "", {})
    app = _opened(workspace)
    assert app.button(key="grid_resume_1").disabled
    (confirm,) = [one for one in app.checkbox if one.key == "grid_confirm_1"]
    assert confirm.label.replace("\\", "") == f"Resume with the corpus {tmp_path / 'private'}"
    assert not confirm.check().run().button(key="grid_resume_1").disabled


def test_a_grid_that_cannot_go_on_says_why(workspace: RunStore) -> None:
    spec = {"name": "t", "corpus": ["/nowhere"], "questions": "/q"}
    job = begin_job(workspace.ledger, "grid:a", "", spec, "t")
    end_job(workspace.ledger, job, "stopped", "", {})
    app = _opened(workspace)
    app.button(key=f"grid_resume_{job}").click().run()
    assert not app.exception
    (error,) = app.error
    assert "/nowhere: does not exist" in str(error.value).replace("\\", "")


@pytest.mark.parametrize(
    ("shown", "running", "again"),
    [
        ({1, 2}, {1, 2}, False),
        ({1, 2}, {2}, True),
        ({2}, {2}, False),
        ({2}, set(), True),
        ({2}, {2, 3}, True),
    ],
)
def test_the_page_is_drawn_anew_when_any_grid_ends_or_begins(
    monkeypatch: pytest.MonkeyPatch, shown: set[int], running: set[int], again: bool
) -> None:
    drawn: list[bool] = []
    monkeypatch.setattr("streamlit.rerun", lambda: drawn.append(True))
    jobs: Any = [
        SimpleNamespace(
            job_id=at, state="running" if at in running else "done", progress={}, stop_asked=False
        )
        for at in (3, 2, 1)
    ]
    store: Any = SimpleNamespace(ledger=None)

    def text(_: Job) -> str:
        return "text"

    panel = JobPanel(
        "grid", lambda: jobs, text, lambda _: [], lambda _: [], lambda _: False, "kept", lambda _: {}
    )
    shell_jobs._running(store, panel, shown)
    assert drawn == ([True] if again else [])
