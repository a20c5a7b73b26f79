"""Asking many questions: once each, within limits, through a kill, one process at a time."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from places import REPOSITORY

from ragtriage.data.errors import DataError
from ragtriage.data.systems.runner import Journal, ask_all, open_journal
from ragtriage.data.systems.system import SystemLimits, SystemReply, SystemRequest

ASKING = """
import sys
from pathlib import Path
from ragtriage.data.systems.command import CommandSystem
from ragtriage.data.systems.runner import ask_all
from ragtriage.data.systems.system import SystemLimits, SystemRequest
system = CommandSystem([sys.executable, "tests/faulty_system.py", "--log", sys.argv[2]])
requests = [SystemRequest(f"q{i}", f"slow question {i}") for i in range(12)]
asked = ask_all(system, requests, Path(sys.argv[1]), SystemLimits(concurrency=2))
print(asked.progress.answered, asked.progress.cached)
"""


@dataclass
class Told:
    """A system of this test: replies by question, and what it was asked."""

    replies: dict[str, SystemReply] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    name: str = "told"
    identity: str = "told-1"
    closed: bool = False

    def ask(self, request: SystemRequest, limits: SystemLimits) -> SystemReply:
        self.asked.append(request.question_id)
        plain = SystemReply("answered", {"answer": limits.concurrency, "cost_usd": 1.0})
        return self.replies.get(request.question_id, plain)

    def close(self) -> None:
        self.closed = True


def requests(n: int) -> list[SystemRequest]:
    return [SystemRequest(f"q{number}", f"question {number}") for number in range(n)]


def test_every_question_is_asked_once_and_never_again(tmp_path: Path) -> None:
    system, path = Told(), tmp_path / "folder" / "journal.jsonl"
    first = ask_all(system, requests(5) * 2, path, SystemLimits())
    again = ask_all(system, requests(7), path, SystemLimits())
    assert sorted(system.asked) == [f"q{number}" for number in range(7)]
    assert (first.progress.answered, again.progress.cached, again.progress.answered) == (5, 5, 7)
    assert all(reply.status == "answered" for reply in again.replies.values())


def test_only_failures_of_the_passing_kind_are_asked_again(tmp_path: Path) -> None:
    failures = {
        "q0": SystemReply("failed", reason="it answered 429", passing=True),
        "q1": SystemReply("failed", reason="its output is not JSON"),
    }
    system, path = Told(failures), tmp_path / "journal.jsonl"
    assert ask_all(system, requests(3), path, SystemLimits()).progress.failed == 2
    system.replies = {}
    asked = ask_all(system, requests(3), path, SystemLimits())
    assert Counter(system.asked) == {"q0": 2, "q1": 1, "q2": 1}
    assert asked.replies[requests(2)[1].key].reason == "its output is not JSON"


def test_a_cap_and_a_stop_leave_the_rest_not_asked(tmp_path: Path) -> None:
    system = Told()
    capped = ask_all(system, requests(5), tmp_path / "a.jsonl", SystemLimits(most_requests=2))
    assert (len(system.asked), capped.stopped) == (2, "the limit of 2 requests is reached")
    assert Counter(reply.status for reply in capped.replies.values()) == {"answered": 2, "not_asked": 3}
    stopped = ask_all(system, requests(5), tmp_path / "b.jsonl", SystemLimits(), stopped=lambda: True)
    assert (len(system.asked), stopped.stopped) == (2, "stopped")


def test_a_budget_is_never_exceeded_by_answers_of_one_price(tmp_path: Path) -> None:
    system, path = Told(), tmp_path / "journal.jsonl"
    asked = ask_all(system, requests(20), path, SystemLimits(concurrency=8, budget_usd=5.0))
    assert (len(system.asked), asked.progress.cost_usd) == (5, 5.0)
    assert asked.stopped == "the budget of $5.00 is used up ($5.0000 spent)"
    ask_all(system, requests(20), path, SystemLimits(budget_usd=5.0))
    assert len(system.asked) == 5  # what was spent before the stop counts


def test_a_half_written_line_is_dropped_and_asked_again(tmp_path: Path) -> None:
    system, path = Told(), tmp_path / "journal.jsonl"
    ask_all(system, requests(3), path, SystemLimits(concurrency=1))
    path.write_bytes(path.read_bytes()[:-20])
    asked = ask_all(system, requests(3), path, SystemLimits(concurrency=1))
    assert (asked.progress.cached, system.asked) == (2, ["q0", "q1", "q2", "q2"])
    assert len(path.read_bytes().splitlines()) == 4


@pytest.mark.parametrize(
    "damaged",
    [
        b"\x00\xff half",
        b"[]",
        b'{"key": 5}',
        b'{"key": "x", "status": "answered", "sample": [], "seconds": "x"}',
    ],
)
def test_a_damaged_line_costs_one_question_and_no_more(tmp_path: Path, damaged: bytes) -> None:
    system, path = Told(), tmp_path / "journal.jsonl"
    ask_all(system, requests(3), path, SystemLimits(concurrency=1))
    lines = path.read_bytes().splitlines()
    path.write_bytes(b"\n".join([*lines[:2], damaged, lines[3], b""]))
    asked = ask_all(system, requests(3), path, SystemLimits(concurrency=1))
    assert (asked.progress.cached, system.asked) == (2, ["q0", "q1", "q2", "q1"])
    ask_all(system, requests(3), path, SystemLimits(concurrency=1))
    assert len(system.asked) == 4


def test_a_journal_without_its_first_line_is_refused_and_kept(tmp_path: Path) -> None:
    system, path = Told(), tmp_path / "journal.jsonl"
    ask_all(system, requests(2), path, SystemLimits())
    path.write_bytes(b"damaged\n" + path.read_bytes().partition(b"\n")[2])
    kept = path.read_bytes()
    with pytest.raises(DataError, match="its first line is damaged"):
        ask_all(system, requests(2), path, SystemLimits())
    assert path.read_bytes() == kept


def test_a_full_disk_is_said_in_a_sentence(tmp_path: Path) -> None:
    with open_journal(tmp_path / "journal.jsonl", Told()) as journal:
        full = Journal(Path("/dev/full").open("r+b", buffering=0), {})  # noqa: SIM115
        with pytest.raises(DataError, match="free space"):
            full.keep("key", SystemReply("answered", {"answer": "yes"}))
        assert (full.replies, journal.replies) == ({}, {})


def test_a_journal_of_another_system_is_refused(tmp_path: Path) -> None:
    ask_all(Told(), requests(1), tmp_path / "journal.jsonl", SystemLimits())
    with pytest.raises(DataError, match="answers of another system"):
        ask_all(Told(identity="told-2"), requests(1), tmp_path / "journal.jsonl", SystemLimits())


def test_a_second_process_on_one_journal_is_told_so(tmp_path: Path) -> None:
    path, system = tmp_path / "journal.jsonl", Told()
    with open_journal(path, system), pytest.raises(DataError, match="another process"):
        ask_all(system, requests(1), path, SystemLimits())
    assert system.asked == []


def test_the_system_is_closed_where_asking_breaks_off(tmp_path: Path) -> None:
    system = Told()

    def interrupt(_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ask_all(system, requests(3), tmp_path / "journal.jsonl", SystemLimits(), progress=interrupt)


def test_a_kill_loses_no_answer_and_asks_nothing_twice(tmp_path: Path) -> None:
    journal, log = tmp_path / "journal.jsonl", tmp_path / "log"
    command = [sys.executable, "-c", ASKING, str(journal), str(log)]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    process = subprocess.Popen(command, cwd=REPOSITORY, env=environment)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and (not journal.exists() or journal.read_bytes().count(b"\n") < 4):
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    kept = journal.read_bytes().count(b"\n") - 1
    assert 3 <= kept < 12
    done = subprocess.run(command, cwd=REPOSITORY, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["12", str(kept)]
    times = Counter(line.split()[0] for line in log.read_text().splitlines())
    assert len(times) == 12
    assert sum(times.values()) <= 12 + 2  # those in flight at the kill have no answer on disk
