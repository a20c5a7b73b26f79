"""Watching a folder: what is taken, what is told, the command on FAIL, and how it ends."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from command_line import run
from places import REPOSITORY

from ragtriage.data.errors import DataError, WorkspaceError
from ragtriage.data.gates.config import load_gates
from ragtriage.data.gates.hook import command_words
from ragtriage.data.gates.watch import Watched, Watcher, WatchOptions, files_in, report_hook
from ragtriage.data.scoring.run_store import RunStore

GOOD, BAD = 0.97, 0.3


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "results"
    made.mkdir()
    return made


def _lines(mean: float, n: int = 30) -> str:
    scores = {"answer_relevancy": 0.9, "context_recall": 0.9, "context_precision": 0.9}
    return "".join(
        json.dumps(
            {
                "question_id": f"q{at}",
                "question": f"{at}?",
                "answer": "a",
                "scores": {"faithfulness": mean - at % 5 / 100, **scores},
            }
        )
        + "\n"
        for at in range(n)
    )


def _watcher(store: RunStore, folder: Path, baseline: str = "") -> Watcher:
    gates = load_gates(store.workspace)
    return Watcher(store, WatchOptions(folder, "p", gates, baseline))


def _taken(watcher: Watcher) -> list[Watched]:
    return [one for name in watcher.look() for one in watcher.take(name)]


def _seen_twice(watcher: Watcher) -> list[Watched]:
    watcher.look()
    return _taken(watcher)


def test_a_file_is_taken_when_it_stands_still(workspace: RunStore, folder: Path) -> None:
    watcher = _watcher(workspace, folder)
    whole = _lines(GOOD)
    path = folder / "night.jsonl"
    path.write_text(whole[: len(whole) // 2], encoding="utf-8")
    assert _taken(watcher) == []  # seen for the first time
    assert watcher.moving == ["night.jsonl"]
    path.write_text(whole, encoding="utf-8")
    assert _taken(watcher) == []  # it grew in between
    (one,) = _taken(watcher)
    assert (one.file, one.status) == ("night.jsonl", "imported")
    assert one.run is not None
    assert (one.run.n, one.run.project) == (30, "p")
    assert one.report is not None
    assert one.report.verdict == "PASS"
    assert _seen_twice(watcher) == []  # once


def test_each_content_is_taken_once_also_after_a_restart(workspace: RunStore, folder: Path) -> None:
    (folder / "one.jsonl").write_text(_lines(GOOD), encoding="utf-8")
    assert len(_seen_twice(_watcher(workspace, folder))) == 1
    (folder / "copy.jsonl").write_text(_lines(GOOD), encoding="utf-8")
    again = _watcher(workspace, folder)
    assert _seen_twice(again) == []
    assert len(workspace.runs()) == 1
    (folder / "copy.jsonl").write_text(_lines(BAD), encoding="utf-8")  # a file that changes is a new run
    (one,) = _seen_twice(again)
    assert one.report is not None
    assert one.report.verdict == "FAIL"
    assert len(workspace.runs()) == 2


def test_what_the_workspace_has_already_is_gated_and_called_unchanged(
    workspace: RunStore, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = folder / "one.jsonl"
    path.write_text(_lines(GOOD), encoding="utf-8")
    assert run(capsys, workspace.workspace.root, "import", str(path), "--project", "p").code == 0
    (one,) = _seen_twice(_watcher(workspace, folder))
    assert one.status == "unchanged"
    assert one.report is not None


def test_a_broken_file_is_told_once_and_again_when_it_changes(workspace: RunStore, folder: Path) -> None:
    path = folder / "broken.jsonl"
    path.write_text("no json\n", encoding="utf-8")
    watcher = _watcher(workspace, folder)
    (one,) = _seen_twice(watcher)
    assert (one.status, one.run, "is not JSON" in one.problem) == ("refused", None, True)
    assert _seen_twice(watcher) == []
    os.utime(path)  # another time, the same content
    assert _seen_twice(watcher) == []
    assert _seen_twice(_watcher(workspace, folder)) == []  # nor after a restart
    path.write_text("still no json\n", encoding="utf-8")
    assert [one.status for one in _seen_twice(watcher)] == ["refused"]
    path.write_text(_lines(GOOD), encoding="utf-8")
    assert [one.status for one in _seen_twice(watcher)] == ["imported"]


def test_a_question_set_is_kept_and_is_no_run(workspace: RunStore, folder: Path) -> None:
    line = '{"question": "Who?", "reference_answer": "Ann"}\n'
    (folder / "set.jsonl").write_text(line, encoding="utf-8")
    watcher = _watcher(workspace, folder)
    (one,) = _seen_twice(watcher)
    assert (one.status, one.run) == ("kept", None)
    assert one.problem.startswith("question set set (")
    assert workspace.runs() == []
    assert _seen_twice(watcher) == []


def test_a_trouble_of_the_workspace_is_told_once_and_tried_again(
    workspace: RunStore, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "one.jsonl").write_text(_lines(GOOD), encoding="utf-8")
    watcher = _watcher(workspace, folder)

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as trouble:
        trouble.setattr("ragtriage.data.gates.watch.load_source", full)
        assert ["No space left" in one.problem for one in _seen_twice(watcher)] == [True]
        assert _seen_twice(watcher) == []
    assert [one.status for one in _seen_twice(watcher)] == ["imported"]


def test_hidden_temporary_and_other_files_are_left_alone(workspace: RunStore, folder: Path) -> None:
    for name in (".hidden", "a.tmp", "b.jsonl.part", "c.CRDOWNLOAD", "d~", "~e.jsonl", "#f#", "g.jsonl.swp"):
        (folder / name).write_text(_lines(GOOD), encoding="utf-8")
    (folder / ".git").mkdir()
    (folder / ".git" / "x.jsonl").write_text(_lines(GOOD), encoding="utf-8")
    (folder / "inner").mkdir()
    (folder / "inner" / "taken.jsonl").write_text(_lines(GOOD), encoding="utf-8")
    (folder / "loop").symlink_to(folder, target_is_directory=True)
    (folder / "nowhere.jsonl").symlink_to(folder / "gone")
    os.mkfifo(folder / "pipe.jsonl")
    workspace_inside = folder / "ws"
    workspace_inside.mkdir()
    (workspace_inside / "x.jsonl").write_text("{}", encoding="utf-8")
    assert list(files_in(folder, workspace_inside)) == [str(Path("inner", "taken.jsonl"))]
    assert files_in(folder / "gone", workspace_inside) == {}


def test_names_from_outside_stay_on_their_line(
    workspace: RunStore, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hostile = os.fsdecode(b"a\xff\n\x1b[31mPASS  $(touch x).jsonl")
    (folder / hostile).write_text(_lines(BAD), encoding="utf-8")
    answer = run(capsys, workspace.workspace.root, "watch", str(folder), "--once", "--every", "0.05")
    (line,) = answer.out.splitlines()
    assert line.startswith("do not ship ")
    assert "\x1b" not in line
    assert answer.code == 1
    assert [path.name for path in folder.iterdir()] == [hostile]


def test_once_gives_the_exit_code_of_a_gate(
    workspace: RunStore, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def watched() -> tuple[int, list[Any]]:
        words = ("watch", str(folder), "--once", "--every", "0.05", "--json", "--project", "p")
        answer = run(capsys, workspace.workspace.root, *words)
        return answer.code, [json.loads(line) for line in answer.out.splitlines()]

    assert watched() == (0, [])
    (folder / "broken.jsonl").write_text("no json\n", encoding="utf-8")
    code, told = watched()
    assert (code, [one["status"] for one in told]) == (2, ["refused"])
    (folder / "bad.jsonl").write_text(_lines(BAD), encoding="utf-8")
    (folder / "broken2.jsonl").write_text("also no json\n", encoding="utf-8")
    code, told = watched()
    assert code == 1  # a run that fails outweighs a file that cannot be read
    (bad,) = [one for one in told if one["status"] == "imported"]
    gate = run(capsys, workspace.workspace.root, "gate", bad["run_id"], "--json")
    assert bad["gate"] == gate.json
    assert (bad["verdict"], bad["project"], bad["file"]) == ("FAIL", "p", "bad.jsonl")


def test_once_says_that_it_scans_twice(
    workspace: RunStore, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = run(capsys, workspace.workspace.root, "watch", str(folder), "--once", "--every", "0.05")
    assert answer.err.endswith(": scans twice.\n")


def test_bad_usage_is_said_before_anything_is_watched(
    workspace: RunStore, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = workspace.workspace.root
    (folder / "one.jsonl").write_text(_lines(GOOD), encoding="utf-8")
    for words in (
        (str(folder / "nowhere"),),
        (str(folder), "--baseline", "nowhere"),
        (str(folder), "--on-fail", "sh -c 'open"),
        (str(folder), "--on-fail", "  "),
        (str(folder), "--config", str(folder / "nowhere.toml")),
        (str(folder), "--every", "0"),
    ):
        assert run(capsys, root, "watch", *words, "--once").code == 2
    assert workspace.runs() == []


def test_a_baseline_that_is_named_is_used_and_the_projects_own_is_followed(
    workspace: RunStore, folder: Path
) -> None:
    (folder / "first.jsonl").write_text(_lines(GOOD), encoding="utf-8")
    (first,) = _seen_twice(_watcher(workspace, folder))
    assert first.run is not None
    (folder / "second.jsonl").write_text(_lines(0.96), encoding="utf-8")
    (second,) = _seen_twice(_watcher(workspace, folder, first.run.run_id))
    assert second.report is not None
    assert second.report.baseline.run == first.run
    workspace.ledger.set_baseline("p", first.run.run_id, "Ann")
    (folder / "third.jsonl").write_text(_lines(0.60), encoding="utf-8")
    (third,) = _seen_twice(_watcher(workspace, folder))
    assert third.report is not None
    assert third.report.baseline.run == first.run
    assert third.report.verdict == "FAIL"  # below the threshold, and a regression


def test_versions_known_by_their_means_are_loaded_and_not_gated(workspace: RunStore, folder: Path) -> None:
    (folder / "means.csv").write_text("version,faithfulness\nV1,0.5\nV2,0.6\n", encoding="utf-8")
    found = _seen_twice(_watcher(workspace, folder))
    assert [(one.status, one.report, "summary scores only" in one.problem) for one in found] == [
        ("imported", None, True),
        ("imported", None, True),
    ]


def _report(workspace: RunStore, folder: Path) -> Any:
    (folder / "bad.jsonl").write_text(_lines(BAD), encoding="utf-8")
    (one,) = _seen_twice(_watcher(workspace, folder))
    assert one.report is not None
    return one.report


def _python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def test_the_command_is_given_what_the_documentation_says(workspace: RunStore, folder: Path) -> None:
    report, said = _report(workspace, folder), folder / "said.txt"
    code = (
        "import json, os, sys; gate = json.load(sys.stdin);"
        "names = ['RAGTRIAGE_RUN', 'RAGTRIAGE_VERDICT', 'RAGTRIAGE_PROJECT'];"
        f"open({str(said)!r}, 'w').write(json.dumps([[os.environ[one] for one in names], gate]))"
    )
    assert report_hook(_python(code), report) == ""
    names, gate = json.loads(said.read_text(encoding="utf-8"))
    assert names == [report.run.run_id, "FAIL", "p"]
    assert gate == report.to_dict()


def test_no_shell_reads_the_command(workspace: RunStore, folder: Path) -> None:
    report, said = _report(workspace, folder), folder / "said.txt"
    code = f"import sys; open({str(said)!r}, 'w').write(repr(sys.argv[1:]))"
    words = command_words(f"{shlex.join(_python(code))} $HOME '; touch x' `id` *")
    assert report_hook(words, report) == ""
    assert said.read_text(encoding="utf-8") == "['$HOME', '; touch x', '`id`', '*']"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["/nowhere/at/all"], "cannot be run (No such file or directory)"),
        (["a\0b"], "cannot be run (embedded null byte)"),
        (_python("import sys; sys.exit(7)"), "exit code 7"),
        (_python("import os; os.kill(os.getpid(), 9)"), "exit code -9"),
        (_python("import time; time.sleep(60)"), "killed after 0.5 s"),
    ],
)
def test_a_command_that_fails_is_told(workspace: RunStore, folder: Path, words: list[str], told: str) -> None:
    report, begun = _report(workspace, folder), time.monotonic()
    assert told in report_hook(words, report, seconds=0.5)
    assert time.monotonic() - begun < 20


def test_a_command_that_takes_too_long_ends_with_what_it_has_started(
    workspace: RunStore, folder: Path
) -> None:
    report, number = _report(workspace, folder), folder / "pid"
    script = f"sleep 60 & echo $! > {shlex.quote(str(number))}; wait"
    assert "killed after 1 s" in report_hook(["sh", "-c", script], report, seconds=1.0)
    child = int(number.read_text(encoding="utf-8"))
    end = time.monotonic() + 5
    while _lives(child) and time.monotonic() < end:
        time.sleep(0.05)
    assert not _lives(child)


def _lives(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def test_a_failing_command_does_not_stop_the_watch(
    workspace: RunStore, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for at, mean in enumerate((BAD, 0.2, GOOD)):
        (folder / f"{at}.jsonl").write_text(_lines(mean), encoding="utf-8")
    words = ("--once", "--every", "0.05", "--on-fail", "/nowhere/at/all")
    answer = run(capsys, workspace.workspace.root, "watch", str(folder), *words)
    assert [line[:11].strip() for line in answer.out.splitlines()] == [
        "do not ship",
        "do not ship",
        "not checked",
    ]
    assert answer.err.count("/nowhere/at/all: cannot be run") == 2  # not for the one that passed


@pytest.mark.parametrize("started", [signal.SIG_DFL, signal.SIG_IGN])  # in front, and as `cmd &` of a shell
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_ends_it_in_order(
    tmp_path: Path, folder: Path, number: signal.Signals, started: signal.Handlers
) -> None:
    (folder / "bad.jsonl").write_text(_lines(BAD), encoding="utf-8")
    hook = shlex.join(
        _python("import os, time; print('hook began', os.getpid(), flush=True); time.sleep(60)")
    )
    root = tmp_path / "ws"
    words = ["--workspace", str(root), "watch", str(folder), "--every", "0.1", "--on-fail", hook]
    process = subprocess.Popen(
        [sys.executable, "-m", "ragtriage.dashboard.cli", *words],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, cwd=REPOSITORY, env={**os.environ, "PYTHONPATH": str(REPOSITORY), "PYTHONUNBUFFERED": "1"},
        preexec_fn=lambda: signal.signal(signal.SIGINT, started),
    )  # fmt: skip
    try:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline().startswith("do not ship")
        line = ""
        while "hook began" not in line:
            line = process.stderr.readline()
            assert line, "ended before its command began"
        process.send_signal(number)  # while the command runs
        out, err = process.communicate(timeout=20)
    finally:
        process.kill()
        process.wait(10)
    assert (process.returncode, out, err.splitlines()[-1]) == (0, "", "Stopped.")
    assert not _lives(int(line.split()[-1]))
    assert not list((root / "runs").glob(".staging*"))


def test_a_signal_while_the_command_begins_ends_it_too(workspace: RunStore, folder: Path) -> None:
    report, number = _report(workspace, folder), folder / "pid"
    code = f"import os, time; open({str(number)!r}, 'w').write(str(os.getpid())); time.sleep(60)"

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, interrupt)
    begin = subprocess.Popen.__init__

    def begin_and_interrupt(*args: Any, **settings: Any) -> None:
        begin(*args, **settings)
        while not (number.exists() and number.read_text(encoding="utf-8")):
            time.sleep(0.01)
        signal.raise_signal(signal.SIGINT)  # before Popen() returns to its caller

    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(subprocess.Popen, "__init__", begin_and_interrupt)
            with pytest.raises(KeyboardInterrupt):
                report_hook(_python(code), report)
        assert signal.getsignal(signal.SIGINT) is interrupt
    finally:
        signal.signal(signal.SIGINT, before)
    assert not _lives(int(number.read_text(encoding="utf-8")))


def test_nothing_is_watched_where_nothing_may_be_written(
    workspace: RunStore, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAGTRIAGE_READ_ONLY", "1")
    with pytest.raises(WorkspaceError, match="only reads"):
        _watcher(workspace, folder)


def test_a_command_needs_a_word() -> None:
    assert command_words("notify --to 'the team'") == ["notify", "--to", "the team"]
    with pytest.raises(DataError, match="accepted: a program and its arguments"):
        command_words("")
