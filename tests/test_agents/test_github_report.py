"""What the action reports: annotations that a runner reads, and one comment through a stand-in for GitHub."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from places import REPOSITORY

from ragtriage.dashboard.cli.github import STEPS, annotation
from ragtriage.dashboard.cli.github_comments import LONGEST_BODY, CommentError, Comments

TOKEN, COMMIT = "a-token-that-nobody-prints", "0123456789abcdef"
BOT, PERSON = {"login": "github-actions[bot]", "type": "Bot"}, {"login": "jane", "type": "User"}
COMMENTS = "/repos/team/shop/issues/7/comments"
MARKER = "<!-- ragtriage gate 0123 -->"


@dataclass
class StandIn:
    """A service with the comments of one pull request, and the requests that it got."""

    comments: list[dict[str, Any]] = field(default_factory=list)
    asked: list[tuple[str, str]] = field(default_factory=list)
    faults: list[tuple[int, dict[str, str]]] = field(default_factory=list)  # answered first, one a request
    fault: int = 0  # answered to every request that writes
    address: str = ""

    def answer(self, method: str, target: str, body: Any) -> tuple[int, Any]:
        """Return status and body, as the service has them."""
        address = urlsplit(target)
        if method != "GET" and self.fault:
            return self.fault, {"message": "Resource not accessible by integration"}
        if method == "GET" and address.path == COMMENTS:
            query = parse_qs(address.query)
            size, page = int(query["per_page"][0]), int(query["page"][0])
            return 200, self.comments[(page - 1) * size : page * size]
        if method == "POST" and address.path == COMMENTS:
            self.comments.append({"id": len(self.comments) + 1, "user": BOT, **body})
            return 201, {}
        if method == "PATCH" and address.path.startswith("/repos/team/shop/issues/comments/"):
            self.comments[int(address.path.rpartition("/")[2]) - 1] |= body
            return 200, {}
        return 404, {"message": "Not Found"}


@pytest.fixture
def service() -> Iterator[StandIn]:
    stand_in = StandIn()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Print nothing."""

        def _answer(self, status: int, body: Any, headers: dict[str, str] | None = None) -> None:
            content = json.dumps(body).encode()
            self.send_response(status)
            for name, value in {"Content-Length": str(len(content)), **(headers or {})}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def _handle(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or "null")
            stand_in.asked.append((self.command, self.path))
            if self.headers["Authorization"] != f"Bearer {TOKEN}":
                self._answer(401, {})
            elif stand_in.faults:
                status, headers = stand_in.faults.pop(0)
                self._answer(status, {"message": "no"}, headers)
            else:
                self._answer(*stand_in.answer(self.command, self.path, body))

        do_GET = do_POST = do_PATCH = _handle  # noqa: N815 -- names of http.server

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    stand_in.address = f"http://127.0.0.1:{server.server_port}"
    yield stand_in
    server.shutdown()
    server.server_close()


def _comments(service: StandIn, waits: list[float] | None = None, token: str = TOKEN) -> Comments:
    kept: list[float] = [] if waits is None else waits
    return Comments(service.address, "team/shop", 7, token, kept.append)


def test_a_comment_is_written_once_and_then_updated(service: StandIn) -> None:
    assert _comments(service).write(MARKER, "first") == "written"
    assert _comments(service).write(MARKER, "second") == "updated"
    assert [comment["body"] for comment in service.comments] == [f"{MARKER}\nsecond"]


def test_it_is_found_on_a_later_page(service: StandIn) -> None:
    service.comments = [{"id": at, "user": PERSON, "body": "Looks good."} for at in range(1, 251)]
    service.comments[210] |= {"user": BOT, "body": f"{MARKER}\nold"}
    assert _comments(service).write(MARKER, "new") == "updated"
    assert service.comments[210]["body"] == f"{MARKER}\nnew"
    pages = [path for method, path in service.asked if method == "GET"]
    assert [parse_qs(urlsplit(path).query)["page"] for path in pages] == [["1"], ["2"], ["3"]]


@pytest.mark.parametrize(
    ("user", "body"),
    [
        (PERSON, f"{MARKER}\nmine"),
        (BOT, f"> {MARKER}\nquoted"),
        (BOT, "<!-- ragtriage gate 4567 -->\nof another job"),
        (None, f"{MARKER}\nof a deleted user"),
    ],
)
def test_no_other_comment_is_overwritten(service: StandIn, user: Any, body: str) -> None:
    service.comments = [{"id": 1, "user": user, "body": body}, {"id": 2, "user": BOT, "body": None}]
    assert _comments(service).write(MARKER, "new") == "written"
    assert [comment["body"] for comment in service.comments] == [body, None, f"{MARKER}\nnew"]


def test_a_long_text_is_cut_to_what_the_service_takes(service: StandIn) -> None:
    _comments(service).write(MARKER, "x" * 100_000)
    assert len(service.comments[0]["body"]) == LONGEST_BODY
    assert service.comments[0]["body"].endswith("*Cut: the summary of the job has it whole.*\n")


@pytest.mark.parametrize(
    ("status", "headers", "waits"),
    [
        (429, {"Retry-After": "7"}, [7.0]),
        (429, {}, [1.0]),
        (403, {"Retry-After": "3"}, [3.0]),
        (403, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1"}, [1.0]),
        (502, {}, [1.0]),
    ],
)
def test_a_busy_service_is_asked_again_after_its_time(
    service: StandIn, status: int, headers: dict[str, str], waits: list[float]
) -> None:
    service.faults = [(status, headers)]
    waited: list[float] = []
    assert _comments(service, waited).write(MARKER, "text") == "written"
    assert waited == waits
    assert len(service.comments) == 1


@pytest.mark.parametrize(
    ("faults", "sentence", "asked"),
    [
        ([(403, {})], "the token may not write comments, as in a pull request from a fork (403)", 1),
        ([(404, {})], "the pull request cannot be seen with this token (404)", 1),
        ([(422, {})], "the service did not take it (422)", 1),
        ([(429, {"Retry-After": "3600"})], "the service asks to wait for longer than a minute (429)", 1),
        ([(503, {})] * 4, "the service did not take it (503)", 4),
        ([(302, {"Location": "/elsewhere"})], "the service did not take it (302)", 1),
    ],
)
def test_what_cannot_be_written_is_said(
    service: StandIn, faults: list[tuple[int, dict[str, str]]], sentence: str, asked: int
) -> None:
    service.faults = faults
    with pytest.raises(CommentError) as error:
        _comments(service).write(MARKER, "text")
    assert str(error.value) == sentence
    assert len(service.asked) == asked
    assert not service.comments


def test_an_address_that_is_none_or_nobody_answers_at_is_said(service: StandIn) -> None:
    with pytest.raises(CommentError, match="accepted: an http or https address"):
        Comments("file:///etc", "team/shop", 7, TOKEN)
    with pytest.raises(CommentError, match="cannot be reached"):
        Comments("http://127.0.0.1:9", "team/shop", 7, TOKEN, lambda _: None).write(MARKER, "text")
    with pytest.raises(CommentError, match=r"the token is not valid \(401\)"):
        _comments(service, token="another").write(MARKER, "text")


def test_a_text_ends_no_command_and_no_property() -> None:
    hostile = "100 % of it\n::set-output name=x::y\r::error::z"
    line = annotation("error", hostile, "a:b,c%", "eval/a,b:c.jsonl", 3)
    assert line == (
        "::error title=a%3Ab%2Cc%25,file=eval/a%2Cb%3Ac.jsonl,line=3::"
        "100 %25 of it%0A::set-output name=x::y%0A::error::z"
    )


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with a baseline and results, of which 12 newly fail, and the event of a pull request."""
    (tmp_path / "eval").mkdir()
    for name, failing in (("baseline", 0), ("results", 12)):
        records = [
            {
                "question_id": f"q{at:02d}",
                "question": f"Who, @jane, reads #{at}? 100 %\n::error::hacked",
                "answer": f"Number {at} is read.",
                "scores": {"faithfulness": 0.1 if at < failing else 0.95},
            }
            for at in range(40)
        ]
        lines = [{"ragtriage_run": {"name": name}}, *records]
        (tmp_path / "eval" / f"{name}.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    event = {"pull_request": {"number": 7, "head": {"sha": COMMIT}}}
    (tmp_path / "event.json").write_text(json.dumps(event), encoding="utf-8")
    return tmp_path


def _step(checkout: Path, name: str, **environment: str) -> tuple[int, str, str]:
    """Run a step in the checkout; return its exit code and what it wrote."""
    out, err = io.StringIO(), io.StringIO()
    with chdir(checkout), redirect_stdout(out), redirect_stderr(err):
        code = STEPS[name](
            {
                "RUNNER_TEMP": str(checkout),
                "GITHUB_WORKSPACE": str(checkout),
                "GITHUB_REPOSITORY": "team/shop",
                "GITHUB_EVENT_PATH": str(checkout / "event.json"),
                "INPUT_PROJECT": "shop",
                **environment,
            }
        )
    return code, out.getvalue(), err.getvalue()


def _judged(checkout: Path, file: str = "eval/results.jsonl", **inputs: str) -> str:
    """Judge a file; return the folder for the step that reports."""
    output = checkout / "output.txt"
    output.unlink(missing_ok=True)
    _step(checkout, "gate", INPUT_FILE=file, GITHUB_OUTPUT=str(output), **inputs)
    (folder,) = re.findall("^folder=(.*)$", output.read_text(encoding="utf-8"), re.MULTILINE)
    return str(folder)


def _reported(checkout: Path, folder: str, service: StandIn, **more: str) -> list[str]:
    code, out, err = _step(
        checkout,
        "report",
        **{
            "RESULT_FOLDER": folder,
            "INPUT_FILE": "eval/results.jsonl",
            "INPUT_COMMENT": "true",
            "INPUT_TOKEN": TOKEN,
            "GITHUB_API_URL": service.address,
            **more,
        },
    )
    assert (code, err) == (0, "")
    assert TOKEN not in out
    return out.splitlines()


def test_a_failing_job_is_annotated_and_commented_once(checkout: Path, service: StandIn) -> None:
    folder = _judged(checkout, INPUT_BASELINE_FILE="eval/baseline.jsonl")
    lines = _reported(checkout, folder, service)
    assert len(lines) == 11
    place = r"file=eval/results\.jsonl,line=(\d+)::q(\d\d): Who, @jane, reads #\d+\? 100 %25 ::error::hacked"
    for line in lines[:10]:
        found = re.fullmatch(rf"::error title=newly failing%3A [\w ]+,{place}", line)
        assert found, line
        assert int(found[1]) == int(found[2]) + 2  # the first line is the run's
    assert lines[10] == "::notice title=ragtriage::2 more newly failing cases; the summary has the counts"
    _reported(checkout, folder, service)
    (comment,) = service.comments
    assert "do not ship" in comment["body"]
    assert re.match("<!-- ragtriage gate [0-9a-f]{16} -->\n## ", comment["body"])
    assert comment["body"].endswith(f"\nCommit {COMMIT[:12]}.\n")
    assert not re.search(r"[@#]\w", comment["body"])  # nobody is notified, no issue is linked


def test_cases_of_a_job_that_does_not_fail_are_warnings(checkout: Path, service: StandIn) -> None:
    folder = _judged(checkout, INPUT_FAIL_ON="cannot_tell")
    result = json.loads((Path(folder) / "result.json").read_text(encoding="utf-8"))
    assert (result["conclusion"], result["code"]) == ("do_not_ship", 0)
    lines = _reported(checkout, folder, service, INPUT_COMMENT="false")
    assert sum(line.startswith("::warning title=bad") for line in lines) == 10
    assert not service.asked


def test_a_file_that_cannot_be_read_is_annotated_and_commented(checkout: Path, service: StandIn) -> None:
    lines = _reported(checkout, _judged(checkout, "eval/lost.jsonl"), service)
    assert lines[0].startswith("::error title=ragtriage%3A nothing could be judged::eval/lost.jsonl")
    assert "Nothing could be judged" in service.comments[0]["body"]


@pytest.mark.parametrize(
    ("token", "fault", "sentence"),
    [
        ("", 0, "No comment was written: the job has no token; accepted: `permissions%3A"),
        (
            TOKEN,
            403,
            "No comment was written: the token may not write comments, as in a pull request from a fork",
        ),
        (TOKEN, 404, "No comment was written: the pull request cannot be seen with this token (404)"),
    ],
)
def test_a_fork_gets_a_notice(
    checkout: Path, service: StandIn, token: str, fault: int, sentence: str
) -> None:
    service.fault = fault
    lines = _reported(checkout, _judged(checkout), service, INPUT_TOKEN=token)
    assert lines[-1].startswith(f"::notice title=ragtriage::{sentence.replace('%3A', ':')}")
    assert not service.comments


def test_without_a_pull_request_nothing_is_asked(checkout: Path, service: StandIn) -> None:
    (checkout / "event.json").write_text('{"ref": "refs/heads/main"}', encoding="utf-8")
    lines = _reported(checkout, _judged(checkout), service)
    assert not service.asked
    assert not any("comment" in line for line in lines)


def test_a_step_that_is_none_is_one_sentence(checkout: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "ragtriage.dashboard.cli.github", "gates"],
        cwd=checkout, env={"PYTHONPATH": str(REPOSITORY)}, capture_output=True, text=True,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (2, "error: 'gates'; accepted: gate or report\n")
