"""Feedback beside the calls that it is about: how it is joined, stored once, redacted, and counted."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import run

import ragtriage
from ragtriage.data.live.calls import Call, Calls, put_calls
from ragtriage.data.live.feedback.joining import feedback_of, rows_of_calls, store_feedback
from ragtriage.data.live.feedback.records import Answer, answers_of, feedback_records
from ragtriage.data.live.feedback.results import feedback_report
from ragtriage.data.live.feedback.sending import keep_feedback
from ragtriage.data.store.workspace import Workspace

START = 1_777_626_000.0  # 2026-05-01 09:00 UTC
PROJECT = "support"


def call(number: int, user: str = "", question: str | None = None, release: str = "") -> Call:
    return Call(
        trace_id=f"{number:032x}",
        time=START + 60 * number,
        release=release,
        user_id=user,
        question=question,
        stratum="rest",
        rate=1.0,
        kept=False,
        refused=None,
        answerable=None,
        error=None,
        context_tokens=None,
        output_tokens=None,
        latency_ms=None,
    )


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace.open(str(tmp_path / "workspace"), create=True)


def filled(workspace: Workspace, *made: Call) -> Calls:
    calls = Calls.of(workspace, PROJECT, create=True)
    with calls.changing() as connection:
        put_calls(connection, made)
    return calls


def said(**values: Any) -> Answer:
    return feedback_records(values, received=START)[0]


def test_an_answer_is_joined_by_its_trace_however_it_is_written(workspace: Workspace) -> None:
    calls = filled(workspace, call(1), call(2))
    stored = store_feedback(
        calls,
        [
            said(trace_id="0" * 31 + "1", thumb="up"),
            said(trace_id="00000000-0000-0000-0000-000000000002", thumb="down"),
            said(trace_id="f" * 32, thumb="down"),
        ],
    )
    assert (stored.new, stored.joined.by_trace, stored.joined.unjoined) == (3, 2, 1)
    traces = [f"{number:032x}" for number in (1, 2)]
    assert feedback_of(calls) == {traces[0]: {"thumb": 1.0}, traces[1]: {"thumb": 0.0}}


def test_an_answer_without_a_trace_is_joined_to_the_nearest_call_of_its_user_and_question(
    workspace: Workspace,
) -> None:
    asked = "How many days of leave?"
    calls = filled(workspace, call(1, "a", asked), call(9, "a", asked), call(2, "b", asked))
    answers = [
        said(user_id="a", query="  how many DAYS of leave? ", time=START + 60 * 8, stars=5),
        said(user_id="a", query=asked, time=START + 60 * 5, stars=4),  # between the two
        said(user_id="b", query=asked, time=START + 3 * 86_400, stars=3),  # days later
        said(user_id="c", query=asked, time=START + 60, stars=2),
    ]
    joined = store_feedback(
        calls, [*answers, replace(said(user_id="a", query=asked, stars=1), time=None)]
    ).joined
    assert (joined.by_trace, joined.by_question, joined.ambiguous, joined.unjoined) == (0, 1, 2, 2)
    assert feedback_of(calls) == {f"{9:032x}": {"stars": 5.0}}


def test_the_same_answer_twice_is_stored_once_and_reads_as_it_was(workspace: Workspace) -> None:
    calls = filled(workspace, call(1))
    answer = said(
        trace_id="x/y", user_id="u", query="Q?", system_type="V2", thumb="up", comment="Good, really"
    )
    assert [store_feedback(calls, [answer]).new for _ in range(2)] == [1, 0]
    assert answers_of(calls.feedback(0, 1e15)) == [answer]


def test_a_later_answer_of_a_user_to_a_call_replaces_the_earlier(workspace: Workspace) -> None:
    calls = filled(workspace, call(1, "u"))
    trace = f"{1:032x}"
    store_feedback(
        calls,
        [
            said(trace_id=trace, user_id="u", thumb="up", time=START + 5),
            said(trace_id=trace, user_id="u", thumb="down", comment="No.", time=START + 9),
            said(trace_id=trace, user_id="v", thumb="up", time=START + 9),
        ],
    )
    rows, _ = rows_of_calls(calls)
    assert sorted(zip(rows.users, rows.cells["thumb"], strict=True)) == [("u", 0.0), ("v", 1.0)]
    thumb = feedback_report(rows).results[0]
    assert (thumb.shown, thumb.answered, thumb.interval.n_scored) == (1, 1, 2)


def test_response_rate_and_bounds_are_of_the_calls(workspace: Workspace) -> None:
    calls = filled(workspace, *(call(number, f"u{number % 40}", release="V2") for number in range(200)))
    store_feedback(
        calls, [said(trace_id=f"{number:032x}", thumb="up" if number % 4 else "down") for number in range(50)]
    )
    store_feedback(calls, [said(thumb="down", feedback_id="of no call")])
    report = feedback_report(rows_of_calls(calls)[0], "release")
    whole, of_release = (each for each in report.results if each.name == "thumb")
    assert (of_release.group, of_release.shown, of_release.answered) == ("V2", 200, 50)
    assert of_release.bounds == pytest.approx((37 / 200, 187 / 200))
    assert of_release.interval.n_clusters == 40
    assert (whole.interval.n_scored, whole.answered, report.unjoined, report.left_out) == (51, 50, 1, 1)
    assert whole.interval.mean == pytest.approx(37 / 51)


def test_who_comes_back_is_counted_of_the_calls(workspace: Workspace) -> None:
    days = 86_400
    made = [replace(call(number, "a"), time=START + number * days) for number in (0, 3, 20)]
    calls = filled(workspace, *made, replace(call(50, "b"), time=START + days), replace(call(51), time=START))
    back = {each.name: each for each in feedback_report(rows_of_calls(calls)[0]).results}
    assert back["back_within_7_days"].interval.n_scored == 2  # nobody without a name
    assert back["back_within_7_days"].interval.mean == 0.5
    assert back["back_within_30_days"].interval.n_scored == 0


def test_texts_are_redacted_and_users_hashed_as_the_policy_says(workspace: Workspace) -> None:
    folder = Calls.of(workspace, PROJECT, create=True).path.parent
    (folder / "policy.toml").write_text("[redaction]\nhash_users = true\n", encoding="utf-8")
    answer = said(user_id="anna", query="I am anna@example.com", comment="Call +49 30 1234567", thumb="up")
    keep_feedback(workspace, PROJECT, [answer])
    stored = answers_of(Calls.of(workspace, PROJECT).feedback(0, 1e15))[0]
    assert (stored.question, stored.values["comment"]) == ("I am [e-mail]", "Call [phone]")
    assert stored.user_id.startswith("user-")
    assert b"anna" not in b"".join(path.read_bytes() for path in folder.iterdir())
    keep_feedback(workspace, PROJECT, [said(user_id="anna", thumb="down")])
    assert len({each.user_id for each in answers_of(Calls.of(workspace, PROJECT).feedback(0, 1e15))}) == 1


def test_python_stores_feedback_where_the_calls_are(workspace: Workspace) -> None:
    filled(workspace, call(1))
    first = ragtriage.feedback(f"{1:032x}", thumb=True, comment="Fine", workspace=workspace.root)
    assert ragtriage.feedback(f"{1:032x}", thumb="up", comment="Fine", workspace=str(workspace.root)) == first
    assert feedback_of(Calls.of(workspace, PROJECT)) == {f"{1:032x}": {"thumb": 1.0, "comment": "Fine"}}
    with pytest.raises(ragtriage.RagtriageError, match="stars: 9; accepted: a whole number from 1 to 5"):
        ragtriage.feedback("x", stars=9, workspace=workspace.root)


@pytest.fixture
def collector() -> Iterator[tuple[str, list[tuple[str, dict[str, Any], str]]]]:
    """A stand-in that keeps what it is sent, and refuses one user."""
    got: list[tuple[str, dict[str, Any], str]] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            got.append((self.path, body, self.headers.get("Authorization", "")))
            status = {"mallory": 401, "moved": 302}.get(body.get("user_id"), 200)
            self.send_response(status)
            if status == 302:
                self.send_header("Location", "http://127.0.0.1:9/elsewhere")
            self.end_headers()
            self.wfile.write(b"{}" if body.get("user_id") != "mallory" else b'{"message": "no token"}')

        def log_message(self, *_: object) -> None:
            return

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", got
    server.shutdown()
    server.server_close()


def test_python_sends_feedback_to_a_collector(
    collector: tuple[str, list[tuple[str, dict[str, Any], str]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    endpoint, got = collector
    monkeypatch.setenv("RAGTRIAGE_COLLECT_TOKEN", "secret")
    name = ragtriage.feedback("ab", thumb="down", task_completed=False, endpoint=endpoint)
    body = {"trace_id": "ab", "thumb": "down", "task_completed": False, "feedback_id": name}
    assert got == [("/v1/feedback", body, "Bearer secret")]
    with pytest.raises(ragtriage.RagtriageError, match=r"answers 401: .*no token.*; accepted: the address"):
        ragtriage.feedback("ab", thumb="down", user_id="mallory", endpoint=endpoint)
    with pytest.raises(ragtriage.RagtriageError, match="answers 302"):  # the token goes nowhere else
        ragtriage.feedback("ab", thumb="down", user_id="moved", endpoint=endpoint)
    with pytest.raises(ragtriage.RagtriageError, match="accepted: an address such as"):
        ragtriage.feedback("ab", thumb="down", endpoint="file:///etc/passwd")


def test_a_file_goes_into_a_project_once(
    capsys: pytest.CaptureFixture[str], workspace: Workspace, tmp_path: Path
) -> None:
    filled(workspace, *(call(number, release=f"V{1 + number % 2}") for number in range(8)))
    lines = [f"{number:032x},{'up' if number % 2 else 'down'}" for number in range(6)]
    file = tmp_path / "thumbs.csv"
    file.write_text("\n".join(["trace_id,thumb", *lines, "unknown,up"]), encoding="utf-8")
    first = run(capsys, workspace.root, "feedback", str(file), "--project", PROJECT)
    assert first.err.strip() == "7 of 7 answers are new in support."
    assert first.out.splitlines()[-1] == "7 answers: 6 by trace, 1 without a call."
    again = run(capsys, workspace.root, "feedback", str(file), "--project", PROJECT, "--json")
    assert again.err.strip() == "0 of 7 answers are new in support."
    assert again.json["joined"] == {
        "answers": 7, "by_trace": 6, "by_question": 0, "ambiguous": 0, "unjoined": 1
    }  # fmt: skip
    alone = run(capsys, workspace.root, "feedback", "--json")
    assert alone.json == again.json
    thumbs = {each["group"]: each for each in alone.json["results"] if each["name"] == "thumb"}
    assert (thumbs["V1"]["mean"], thumbs["V2"]["mean"], thumbs["V2"]["response_rate"]) == (0.0, 1.0, 0.75)
    assert np.isclose(thumbs[None]["mean"], 4 / 7)


def test_a_new_project_is_said_to_be_one(
    capsys: pytest.CaptureFixture[str], workspace: Workspace, tmp_path: Path
) -> None:
    filled(workspace, call(1))
    file = tmp_path / "thumbs.csv"
    user = "u" * 300  # as long as that of a span may be
    file.write_text(f"user_id,thumb\n{user},up\n", encoding="utf-8")
    first = run(capsys, workspace.root, "feedback", str(file), "--project", "nope")
    assert first.err.startswith("New project nope: it had neither runs nor traffic.")
    assert "New project" not in run(capsys, workspace.root, "feedback", str(file), "--project", "nope").err


def test_a_project_without_live_traffic_says_what_would_fill_it(
    capsys: pytest.CaptureFixture[str], workspace: Workspace
) -> None:
    answer = run(capsys, workspace.root, "feedback")
    assert answer.code == 2
    assert "has no live traffic; accepted:" in answer.err
