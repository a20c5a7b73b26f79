"""The collect command: files of spans, and what it refuses in a sentence before it listens."""

from __future__ import annotations

import json
import re
import socket
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from command_line import run
from places import FIXTURES

from ragtriage.data.live.calls import LATE, Calls, add_to_count
from ragtriage.data.scoring.run_store import RunStore

OTEL = FIXTURES / "exports" / "otel"
PRINTED = FIXTURES / "opentelemetry" / "vercel-v6-all-spans.json"


def _write_policy(store: RunStore, settings: str) -> None:
    folder = store.workspace.root / "live" / "shop"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "policy.toml").write_text(settings, encoding="utf-8")


def _calls(store: RunStore) -> dict[str, str]:
    facts = Calls.of(store.workspace, "shop").facts(0, 1e12)
    return {trace: str(question) for trace, question in zip(facts.trace_id, facts.question, strict=True)}


def test_files_become_calls_and_runs_as_what_comes_over_http(
    workspace: RunStore, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [str(OTEL / f"{name}.otlp.jsonl") for name in ("genai", "openinference")]
    answer = run(capsys, workspace.workspace.root, "collect", *files, "--project", "shop")
    assert answer.code == 0
    assert answer.out.splitlines() == [
        f"{files[0]}: 35 spans of 12 traces",
        f"{files[1]}: 47 spans of 12 traces",
        "calls of project shop: 24 of 24 traces",
        "runs: live 21:00-22:00 2026-11-21",
    ]
    (live,) = workspace.runs("shop")
    assert (live.name[:5], live.n) == ("live ", 24)
    again = run(capsys, workspace.workspace.root, "collect", *files, "--project", "shop")
    assert (again.code, len(_calls(workspace))) == (0, 24)  # twice is once


def test_spans_as_sdks_print_them_go_the_same_way(
    workspace: RunStore, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = run(capsys, workspace.workspace.root, "collect", str(PRINTED), "--project", "shop")
    assert answer.out.splitlines() == [
        f"{PRINTED}: 10 spans of 10 traces",
        "calls of project shop: 8 of 10 traces; the others ask nothing",
        "runs: live 15:00-16:00 2026-02-03",
    ]
    assert "Write a haiku about programming." in _calls(workspace).values()


def test_a_printed_span_write_policys_its_error_its_events_and_the_types_of_its_attributes(
    workspace: RunStore, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    span: dict[str, Any] = {
        "name": "answer",
        "context": {"trace_id": f"0x{7:032x}", "span_id": f"0x{9:016x}"},
        "parent_id": None,
        "start_time": datetime.now(UTC).isoformat(),
        "end_time": datetime.now(UTC).isoformat(),
        "status": {"status_code": "ERROR", "description": "no answer for anna@example.com"},
        "attributes": {
            "openinference.span.kind": "LLM",
            "input.value": "Who pays?",
            "llm.token_count.completion": 12,
            "user.id": "u1",
            "nested": {"list": [1, 2.5, True, None, 1 << 70]},
        },
        "events": [{"name": "exception", "attributes": {"exception.message": "late"}}],
        "resource": {"attributes": {"service.name": "shop", "service.version": "4"}},
    }
    path = tmp_path / "printed.jsonl"
    path.write_text(json.dumps(span), encoding="utf-8")
    answer = run(capsys, workspace.workspace.root, "collect", str(path), "--project", "shop")
    assert (answer.code, answer.out.splitlines()[1:]) == (
        0,
        [
            "calls of project shop: 1 of 1 traces; taken out of texts: 1 x [e-mail]",
            "in no run yet: 1 call of a window that is not over; `ragtriage collect` publishes it then",
        ],
    )
    with Calls.of(workspace.workspace, "shop").changing() as connection:
        add_to_count(connection, LATE, 3)
    again = run(capsys, workspace.workspace.root, "collect", str(path), "--project", "shop")
    assert again.out.splitlines()[-1] == "not used so far: 3 late spans"
    with Calls.of(workspace.workspace, "shop").open() as connection:
        row = connection.execute(
            "SELECT question, user_id, release, output_tokens, error FROM calls"
        ).fetchone()
    assert tuple(row)[:4] == ("Who pays?", "u1", "4", 12)
    assert "no answer for [e-mail]" in row[4]


def test_lines_that_are_no_export_are_counted(
    workspace: RunStore, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = (OTEL / "genai.otlp.jsonl").read_text("utf-8").splitlines()
    wrong = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [{"startTimeUnixNano": "soon"}]}]}]})
    path = tmp_path / "some.jsonl"
    path.write_text("\n".join([*lines, wrong, json.dumps({"resourceMetrics": []}), "[]"]), encoding="utf-8")
    answer = run(capsys, workspace.workspace.root, "collect", str(path), "--project", "shop")
    assert (answer.code, answer.out.splitlines()[0]) == (
        0,
        f"{path}: 35 spans of 12 traces; left out: 1 spans that are malformed or lack the 16 bytes of a "
        "trace id or the 8 bytes of a span id; left out: 2 lines that are no spans",
    )


@pytest.mark.parametrize("content", ["", "hello", "{}", "[1, 2]", '{"question": "Who?"}', "a,b\n1,2"])
def test_a_file_without_spans_is_refused(
    workspace: RunStore, tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str
) -> None:
    path = tmp_path / "other.jsonl"
    path.write_text(content, encoding="utf-8")
    answer = run(capsys, workspace.workspace.root, "collect", str(path))
    assert answer.code == 2
    assert re.search(rf"{path}: .*accepted: ", answer.err)
    assert "Traceback" not in answer.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["--host", "0.0.0.0"],
            "so a token is required; accepted: --token-file",
        ),
        (
            ["--token-file", "none"],
            "token file none: No such file or directory; accepted: a file with a token",
        ),
        (["--host", "no such"], "accepted: an address of this machine"),
        (["--port", "70000"], "70000 is not in the range"),
        (["--project", ""], "accepted: 1 to 60 characters"),
        (["none.jsonl"], "none.jsonl: does not exist"),
    ],
)
def test_what_it_refuses_before_it_listens(
    workspace: RunStore, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    answer = run(capsys, workspace.workspace.root, "collect", *words)
    assert (answer.code, said in answer.err) == (2, True)


@pytest.mark.parametrize(
    "token", ["short", "with a space in the middle", "not ASCII: \xe9\xe8\xe7\xe0", "x" * 15]
)
def test_a_weak_token_is_refused(
    workspace: RunStore, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, token: str
) -> None:
    monkeypatch.setenv("RAGTRIAGE_COLLECT_TOKEN", token)
    answer = run(capsys, workspace.workspace.root, "collect")
    assert (answer.code, token in answer.err) == (2, False)
    assert "accepted: 16 or more letters, digits and signs without spaces" in answer.err


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        ("[redaction]\noff = 1", "redaction.off: 1; accepted: true or false"),
        ('[redaction]\npatterns = { a = "(" }', "redaction pattern 'a': missing ): (; accepted: a regular"),
    ],
)
def test_a_policy_that_cannot_be_read_stops_it(
    workspace: RunStore, capsys: pytest.CaptureFixture[str], policy: str, said: str
) -> None:
    _write_policy(workspace, policy)
    answer = run(capsys, workspace.workspace.root, "collect", "--project", "shop")
    assert (answer.code, said in answer.err) == (2, True)


def test_a_taken_port_leaves_no_project_behind(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        answer = run(capsys, tmp_path, "collect", "--project", "other", "--port", port)
    assert (answer.code, f"port {port} is taken" in answer.err) == (2, True)
    assert not (tmp_path / "live").exists()
