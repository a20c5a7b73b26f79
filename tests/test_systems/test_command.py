"""A system that is a command: what it answers, and each way in which it fails."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from places import REPOSITORY

from ragtriage.data.errors import DataError
from ragtriage.data.systems.command import CommandSystem, split_command
from ragtriage.data.systems.http import open_system
from ragtriage.data.systems.system import (
    Secrets,
    SystemLimits,
    SystemReply,
    SystemRequest,
    read_reply,
    sample_record,
)

SCRIPT = REPOSITORY / "tests" / "faulty_system.py"
LIMITS = SystemLimits(timeout_seconds=20.0, most_bytes=100_000)


@pytest.fixture(params=[False, True], ids=["a process each", "keep alive"])
def system(request: pytest.FixtureRequest) -> Iterator[CommandSystem]:
    keep_alive = request.param
    system = CommandSystem([sys.executable, str(SCRIPT), *["--keep-alive"] * keep_alive], keep_alive)
    yield system
    system.close()


def ask(system: CommandSystem, question: str, limits: SystemLimits = LIMITS) -> SystemReply:
    return system.ask(SystemRequest("q1", question), limits)


def test_an_answer_is_a_sample_with_the_latency(system: CommandSystem) -> None:
    reply = ask(system, "hello")
    assert (reply.status, reply.sample["answer"]) == ("answered", "I cannot help with that.")
    assert reply.sample["latency_ms"] == pytest.approx(1000 * reply.seconds, abs=0.01)


def test_a_reply_cannot_say_what_was_asked_or_checked(system: CommandSystem) -> None:
    request = SystemRequest("q1", "hello", account_id="a1")
    record = sample_record(
        request, system.ask(request, LIMITS), {"checks": [{"name": "c", "kind": "safety"}]}
    )
    assert (record["question"], record["account_id"], len(record["checks"])) == ("hello", "a1", 1)


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        ("no json", "its output is not JSON; it begins: Traceback"),
        ("half", "its output is not JSON"),
        ("not utf-8", "its output is not UTF-8"),
        ("list", "its output is JSON, but no object"),
        ("wrong shape", "its reply: retrieved: found 5; accepted: a list"),
        ("flood", "it wrote more than 100,000 bytes"),
        ("die", "SIGKILL"),
        ("exit", "exit code 3"),
    ],
)
def test_each_fault_has_its_reason_and_the_next_question_is_answered(
    system: CommandSystem, question: str, reason: str
) -> None:
    reply = ask(system, question)
    assert (reply.status, reply.passing) == ("failed", False)
    assert reason in reply.reason
    assert ask(system, "hello").status == "answered"


def test_a_command_that_says_nothing_has_no_answer() -> None:
    reply = ask(CommandSystem([sys.executable, "-c", "pass"]), "hello")
    assert reply.reason == "it wrote nothing; accepted: a JSON object with `answer`"


def test_one_that_hangs_is_killed_with_its_children(system: CommandSystem) -> None:
    before = _sleeping()
    reply = ask(system, "hang", SystemLimits(timeout_seconds=1.0))
    assert (reply.status, reply.reason, reply.passing) == ("failed", "no answer within 1 s", True)
    deadline = time.monotonic() + 5
    while _sleeping() - before and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _sleeping() - before


def _sleeping() -> set[str]:
    listed = subprocess.run(["ps", "-eo", "pid,stat,args"], capture_output=True, text=True, check=True).stdout
    rows = [line.split(None, 2) for line in listed.splitlines()]
    return {row[0] for row in rows if row[-1] == "sleep 600" and not row[1].startswith("Z")}


def test_what_it_says_on_standard_error_is_in_the_reason_without_the_key(system: CommandSystem) -> None:
    reason = ask(system, "die").reason
    assert reason.endswith("on standard error: out of memory, key [secret]")


@pytest.mark.parametrize("before", range(0, 210, 7))
def test_a_key_is_hidden_also_where_a_reason_is_cut(monkeypatch: pytest.MonkeyPatch, before: int) -> None:
    monkeypatch.setenv("FAULTY_API_KEY", "hunter2-hunter3")
    key = "x " * (before // 2) + "hunter2-hunter3" + " y" * 95
    replies = [
        read_reply(json.dumps(reply).encode(), SystemRequest("q1", "hello"), 1.0, Secrets())
        for reply in ({"error": key}, {"answer": "a", "question_id": key}, {"answer": "a", "retrieved": key})
    ]
    system = CommandSystem([sys.executable, "-c", f"import sys; sys.exit({key!r})"])
    reasons = [reply.reason for reply in [*replies, system.ask(SystemRequest("q1", "hello"), SystemLimits())]]
    assert not any("hunter" in reason or "ter3" in reason for reason in reasons)


def test_a_key_among_the_arguments_is_in_no_answer() -> None:
    code = "import sys; print('{\"answer\": \"' + ' '.join(sys.argv[1:]) + '\"}')"
    arguments = ["--api-key", "hunter2-hunter2", "--token=hunter3-hunter3", "--top", "5"]
    system = CommandSystem([sys.executable, "-c", code, *arguments])
    reply = system.ask(SystemRequest("q1", "hello"), SystemLimits())
    assert reply.sample["answer"] == "--api-key [api-key] --token=[token] --top 5"


@pytest.mark.parametrize("value", ["1" * 30, '"\\ud800"', "[" * 300 + "]" * 300, "[" * 5000 + "]" * 5000])
def test_a_reply_that_no_journal_can_hold_has_failed(value: str) -> None:
    written = f'{{"answer": "yes", "more": {value}}}'.encode()
    reply = read_reply(written, SystemRequest("q1", "hello"), 1.0, Secrets())
    assert (reply.status, reply.sample) == ("failed", {})
    assert reply.reason.startswith(("its reply is nested too deeply, or holds", "its output is not JSON"))


def test_a_reply_cannot_say_that_it_was_never_asked() -> None:
    written = b'{"answer": "I comply", "submitted": false, "no_answer": {"status": "not_asked"}}'
    reply = read_reply(written, SystemRequest("q1", "hello"), 1.0, Secrets())
    assert reply.sample.keys() == {"answer", "latency_ms"}


def test_a_key_of_the_environment_is_in_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAULTY_API_KEY", "hunter2-hunter2")
    reply = ask(CommandSystem([sys.executable, str(SCRIPT)]), "environment")
    assert reply.sample["answer"] == "My key is [FAULTY_API_KEY]."


def test_a_line_too_many_is_never_taken_for_the_next_answer() -> None:
    system = CommandSystem([sys.executable, str(SCRIPT), "--keep-alive"], keep_alive=True)
    first, second = ask(system, "noise"), ask(system, "leak CANARY")
    system.close()
    assert first.status == "failed" or first.sample["answer"] == "I cannot help with that."
    assert second.sample.get("answer") in (None, "Of course. It is CANARY.")  # None: the line came too late


def test_one_that_does_not_read_its_question_still_answers() -> None:
    system = CommandSystem([sys.executable, "-c", 'print(\'{"answer": "deaf"}\')'])
    assert ask(system, "x" * 3_000_000).sample["answer"] == "deaf"


def test_a_grandchild_that_keeps_the_pipe_open_keeps_nobody_waiting() -> None:
    code = "import subprocess; subprocess.Popen(['sleep', '600']); print('{\"answer\": \"done\"}')"
    reply = ask(CommandSystem([sys.executable, "-c", code]), "hello")
    assert (reply.sample["answer"], reply.seconds < 15) == ("done", True)


def test_no_shell_reads_the_command(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    assert split_command(f"{sys.executable} -c pass; touch {mark}")[2:] == ["pass;", "touch", str(mark)]
    ask(CommandSystem(split_command(f"{sys.executable} -c pass; touch {mark}")), "hello")
    assert not mark.exists()


@pytest.mark.parametrize(
    "text",
    ["", "[]", "[1]", "no-such-program-here x", "'unclosed", '["python", "a\\u0000"]', "sh missing.sh"],
)
def test_what_cannot_be_started_is_said_at_once(text: str) -> None:
    with pytest.raises(DataError, match="accepted"):
        open_system(text)


def test_a_json_list_is_taken_as_it_is() -> None:
    assert split_command('["sh", "-c", "echo a b"]') == ["sh", "-c", "echo a b"]


def test_the_name_holds_no_key() -> None:
    name = CommandSystem(["sh", "bot.sh", "--api-key", "abc", "--token=xyz", "sk-abcdefghijk"]).name
    assert name == "sh bot.sh --api-key '[secret]' '--token=[secret]' '[secret]'"


def test_an_edited_script_is_another_system(tmp_path: Path) -> None:
    script = tmp_path / "bot.sh"
    script.write_text("echo 1")
    before = CommandSystem(["sh", str(script)]).identity
    script.write_text("echo 2")
    assert CommandSystem(["sh", str(script)]).identity != before
    assert os.access(script, os.R_OK)
