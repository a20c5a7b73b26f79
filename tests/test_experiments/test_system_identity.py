"""An experiment answers for the system that it asked: one that changed at its address is asked anew."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from command_line import run
from reading_systems import answer, write_questions

from ragtriage.data.api import open_store

Capture = pytest.CaptureFixture[str]


class Service:
    """A system at an address, whose answers and version a test may change."""

    def __init__(self) -> None:
        self.version, self.asked, self.mode = "", 0, "broken"
        self._numbers = count()
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                service.asked += 1
                body = json.dumps({"answer": service.answer(asked)}).encode()
                self.send_response(200)
                if service.version:
                    self.send_header("X-System-Version", service.version)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_address[1]}/ask"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def answer(self, asked: dict[str, Any]) -> str:
        """Return the answer of the present mode."""
        if self.mode == "broken":
            return "I cannot answer this."
        if self.mode == "reads documents" and not asked["contexts"]:
            return "I cannot answer this."
        found = answer(asked, lambda *_: 1.0)
        return found if self.mode in ("repaired", "reads documents") else f"{found} ({next(self._numbers)})"

    def close(self) -> None:
        """Stop answering."""
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def service() -> Iterator[Service]:
    service = Service()
    yield service
    service.close()


@pytest.fixture
def words(service: Service, tmp_path: Path) -> list[str]:
    questions = write_questions(tmp_path / "codes.jsonl", 10)
    return ["experiment", "noise", "--system", service.address, "--questions", str(questions), "--json"]


def _quality(capsys: Capture, tmp_path: Path, words: list[str]) -> tuple[dict[str, Any], str]:
    result = run(capsys, tmp_path / "w", *words)
    assert result.code == 0, result.err
    return result.json, result.err


def test_a_repair_that_only_shows_where_there_are_documents_is_noticed(
    capsys: Capture, tmp_path: Path, service: Service
) -> None:
    questions = write_questions(tmp_path / "codes.jsonl", 12)
    words = ["experiment", "position", "--system", service.address, "--questions", str(questions)]
    words += [
        "--documents",
        "4",
        "--json",
    ]  # with the floor and the ceiling six arms: three steps of 24 are of one
    _quality(capsys, tmp_path, words)
    service.mode = "reads documents"
    assert "the system has changed, and everything is asked again" in _quality(capsys, tmp_path, words)[1]


def test_a_repaired_service_at_the_same_address_is_asked_anew(
    capsys: Capture, tmp_path: Path, service: Service, words: list[str]
) -> None:
    first, _ = _quality(capsys, tmp_path, words)
    begun = service.asked
    unchanged, said = _quality(capsys, tmp_path, words)
    assert unchanged["experiment"]["experiment_id"] == first["experiment"]["experiment_id"]
    assert (service.asked - begun, unchanged["progress"]["asked"], "asked anew" in said) == (3, 0, False)
    service.mode = "repaired"
    second, said = _quality(capsys, tmp_path, words)
    assert "3 of 3 questions asked anew got another answer than before" in said.replace("\n", " ")
    assert second["experiment"]["experiment_id"] != first["experiment"]["experiment_id"]
    assert second["progress"]["asked"] == first["progress"]["asked"]
    means = [result["arms"][0]["quality"]["mean"] for result in (first, second)]
    assert means == [0.0, 1.0]
    names = {each.name for each in open_store(str(tmp_path / "w")).runs()}
    assert {"Noise 0 %", "Noise 0 % (attempt 2)"} <= names
    third, _ = _quality(capsys, tmp_path, words)
    assert third["experiment"]["experiment_id"] == second["experiment"]["experiment_id"]


def test_a_service_that_varies_by_itself_keeps_its_answers_and_it_is_said(
    capsys: Capture, tmp_path: Path, service: Service, words: list[str]
) -> None:
    service.mode = "varying"
    first, _ = _quality(capsys, tmp_path, words)
    second, said = _quality(capsys, tmp_path, words)
    assert second["progress"]["asked"] == 0
    assert "asked anew got another answer each time" in said.replace("\n", " ")
    again, _ = _quality(capsys, tmp_path, [*words, "--again"])
    assert again["progress"]["asked"] == first["progress"]["asked"]
    assert again["experiment"]["attempt"] == 2


def test_the_version_that_a_system_sends_decides_before_its_answers(
    capsys: Capture, tmp_path: Path, service: Service, words: list[str]
) -> None:
    service.mode, service.version = "varying", "1.0"
    first, _ = _quality(capsys, tmp_path, words)
    same, said = _quality(capsys, tmp_path, words)
    assert (same["progress"]["asked"], "asked anew" in said) == (0, False)
    service.version = "1.1"
    second, _ = _quality(capsys, tmp_path, words)
    assert second["progress"]["asked"] == first["progress"]["asked"]
    runs = {each.name: each.config for each in open_store(str(tmp_path / "w")).runs()}
    assert [runs[name]["system_version"] for name in ("Noise 0 %", "Noise 0 % (attempt 2)")] == ["1.0", "1.1"]


def test_names_tell_the_arms_of_two_versions_apart(
    capsys: Capture, tmp_path: Path, service: Service, words: list[str]
) -> None:
    _quality(capsys, tmp_path, [*words, "--name", "July"])
    service.mode = "repaired"
    _quality(capsys, tmp_path, [*words, "--name", "August"])
    names = {each.name for each in open_store(str(tmp_path / "w")).runs()}
    assert {"Noise 0 % (July)", "Noise 0 % (August)"} <= names
