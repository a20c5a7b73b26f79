"""The dashboard loads its libraries while the browser loads what draws it, and no session begins before."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from places import APP, REPOSITORY
from starlette.types import Message, Receive, Scope, Send

from ragtriage.dashboard.entry import SameOrigin
from ragtriage.dashboard.shell import process
from ragtriage.data.api import add_run

HEADING = """
import sys
sys.path.insert(0, sys.argv[1])
import streamlit as st
from streamlit.testing.v1 import AppTest
from ragtriage.dashboard.shell import process

process.start_preloading()
process.wait_for_preload()
loaded, missed = set(sys.modules), []
drawn = st.html
def html(body, *rest, **named):
    if "<h1" in str(body) and not missed:
        missed.extend(sorted({"-"} | set(sys.modules) - loaded))
    return drawn(body, *rest, **named)
st.html = html
app = AppTest.from_file(sys.argv[2], default_timeout=100).run()
assert not app.exception
print(" ".join(missed))
"""


def _answer(code: str, *words: str, **environment: str) -> list[str]:
    answer = subprocess.run(
        [sys.executable, "-c", code, *words],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **environment},
    )
    return answer.stdout.splitlines()[-1].split()


def test_the_first_heading_needs_no_module_that_was_not_preloaded(tmp_path: Path) -> None:
    add_run(
        [{"question": f"{at}?", "answer": "a", "scores": {"faithfulness": at / 9}} for at in range(10)],
        "one",
        "p",
        str(tmp_path / "ws"),
    )
    missed = _answer(HEADING, str(APP.parent), str(APP), RAGTRIAGE_WORKSPACE=str(tmp_path / "ws"))
    assert "-" in missed, "the page drew its heading"
    heavy = ("dashboard", "data", "metrics", "pandas", "numpy", "duckdb", "pyarrow.", "plotly", "PIL")
    assert [name for name in missed if name.startswith(heavy) and not name.startswith("pyarrow._")] == []


def test_the_server_starts_before_the_libraries_are_loaded() -> None:
    loaded = _answer("import sys, ragtriage.dashboard.cli.serve; print(*sys.modules)")
    assert not {"numpy", "pandas", "pyarrow", "duckdb", "streamlit", "ragtriage.data.api"} & set(loaded)


def test_a_session_begins_once_everything_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    done, order = threading.Event(), list[str]()
    thread = threading.Thread(target=done.wait)
    thread.start()
    monkeypatch.setattr(process, "_threads", [thread])

    async def inner(scope: Scope, receive: Receive, send: Send) -> None:
        order.append(scope["type"])

    async def send(message: Message) -> None:
        order.append(message["type"])

    async def receive() -> Message:
        return {"type": "websocket.connect"}

    async def visit() -> None:
        guarded = SameOrigin(inner)
        headers = [(b"host", b"localhost:8501")]
        session = asyncio.create_task(guarded({"type": "websocket", "headers": headers}, receive, send))
        await guarded({"type": "http", "headers": headers}, receive, send)
        order.append("loaded")
        done.set()
        await session

    with ThreadPoolExecutor(1) as own_thread:  # browser tests leave an event loop running in this one
        own_thread.submit(asyncio.run, visit()).result(30)
    assert order == ["http", "loaded", "websocket"]
