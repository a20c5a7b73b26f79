"""A system that is an HTTP endpoint: what it answers, each way in which it fails, and that its key stays."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from faulty_server import FaultyServer

from ragtriage.data.errors import DataError
from ragtriage.data.systems.http import HttpSystem, _retry_after, open_system
from ragtriage.data.systems.system import SystemLimits, SystemReply, SystemRequest

KEY = "Bearer hunter2-hunter2-hunter2"
LIMITS = SystemLimits(timeout_seconds=10.0, most_bytes=100_000)


@pytest.fixture
def server() -> Iterator[FaultyServer]:
    with FaultyServer() as server:
        yield server


def ask(server: FaultyServer, question: str, limits: SystemLimits = LIMITS) -> SystemReply:
    return HttpSystem(server.address).ask(SystemRequest("q1", question), limits)


def test_an_endpoint_answers(server: FaultyServer) -> None:
    assert ask(server, "plain leak CANARY").sample["answer"] == "Of course. It is CANARY."


@pytest.mark.parametrize(
    ("question", "reason", "passing"),
    [
        ("error", "it answered 500: internal error with", False),
        ("redirect", "it answered 307, a redirect to http://other.example/ask, which is not followed", False),
        ("long wait", "it answered 503; it asks for 3,600 s, more than 30 s", True),
        ("flood", "it wrote more than 100,000 bytes", False),
        ("no json", "its output is not JSON", False),
        ("half", "its output is not JSON", False),
        ("not utf-8", "its output is not UTF-8", False),
        ("silent", "it wrote nothing", False),
        ("packed", "its answer is packed", False),
        ("short", "its answer ended early", True),
    ],
)
def test_each_fault_has_its_reason(server: FaultyServer, question: str, reason: str, passing: bool) -> None:
    reply = ask(server, question)
    assert (reply.status, reply.passing) == ("failed", passing)
    assert reply.reason.startswith(reason)


def test_one_that_is_busy_is_asked_again(server: FaultyServer) -> None:
    assert ask(server, "busy").status == "answered"
    assert server.asked == ["busy", "busy"]


def test_one_that_stays_busy_fails_for_a_passing_reason(server: FaultyServer) -> None:
    server.busy = 99
    reply = ask(server, "busy")
    assert (reply.reason, reply.passing, len(server.asked)) == ("it answered 429: slow down", True, 3)


def test_one_that_drips_is_cut_off(server: FaultyServer) -> None:
    reply = ask(server, "drip", SystemLimits(timeout_seconds=0.5))
    assert (reply.reason, reply.passing) == ("no answer within 0.5 s", True)
    assert reply.seconds < 5


def test_one_that_is_not_there_fails_for_a_passing_reason() -> None:
    reply = HttpSystem("http://127.0.0.1:9/ask").ask(SystemRequest("q1", "hello"), LIMITS)
    assert (reply.status, reply.passing) == ("failed", True)
    assert "Connection refused" in reply.reason


def test_the_key_is_sent_and_nowhere_else(server: FaultyServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_SYSTEM", KEY)
    system = HttpSystem(server.address, {"Authorization": "MY_SYSTEM"})
    replies = [system.ask(SystemRequest("q1", question), LIMITS) for question in ("echo key", "error")]
    assert server.keys == [KEY, KEY]
    assert replies[0].sample["answer"] == "[MY_SYSTEM]"
    assert "hunter2" not in f"{replies} {system.name} {vars(system)['_address']}"


@pytest.mark.parametrize(
    ("address", "headers"),
    [
        ("http://", {}),
        ("http://a b/", {}),
        ("http://user:hunter2@host/", {}),
        ("http://host:99999/", {}),
        ("http://host/", {"Authorization": "NO_SUCH_VARIABLE"}),
        ("http://host/", {"A b": "HOME"}),
    ],
)
def test_an_address_or_header_that_is_none_is_said_without_the_key(
    address: str, headers: dict[str, str]
) -> None:
    with pytest.raises(DataError) as error:
        open_system(address, header_env=headers)
    assert "hunter2" not in str(error.value)


def test_the_name_hides_keys_in_the_address() -> None:
    assert HttpSystem("http://host/ask?api_key=abc&top=5").name == "http://host/ask?api_key=[secret]&top=5"


def test_a_key_of_the_address_is_in_no_answer(server: FaultyServer) -> None:
    system = HttpSystem(f"{server.address}?api_key=hunter2-hunter2")
    reply = system.ask(SystemRequest("q1", "plain leak hunter2-hunter2"), LIMITS)
    assert reply.sample["answer"] == "Of course. It is [api_key]."


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ("999999999999", None),
        ("-5", None),
        ("Mon, 01 Jan 0001 00:00:00 +99999999999999999999", None),
        ("Mon, 32 Foo 99999 99:99:99", None),
        ("Mon, 01 Jan 2001 00:00:00 GMT", 0.0),
        ("999999999", 999999999.0),
    ],
)
def test_an_absurd_retry_after_is_none_or_a_number(said: str, seconds: float | None) -> None:
    assert _retry_after(said) == seconds
