"""A case links back to the tool that recorded it, by http and https alone, and shows the id of its trace."""

from __future__ import annotations

import json
from typing import Any

import pytest
from places import APP
from streamlit.testing.v1 import AppTest

from ragtriage.dashboard.present.case_html.case import safe_address, trace_html, trace_id
from ragtriage.dashboard.shell.selection import Selection
from ragtriage.data.api import add_run
from ragtriage.data.scoring.run_store import RunStore

GOOD = (
    "https://cloud.langfuse.com/project/p1/traces/1407f88cddcd38b6fbb5d853581df1d1",
    "http://localhost:6006/projects/1/traces/ab?x=1&y=2#spans",
    "HTTPS://example.com:8443/a%20b",
    "http://[::1]:3000/trace",
)
BAD = (
    "javascript:alert(1)",
    "JavaScript:alert(1)//https://example.com",
    "data:text/html;base64,PHNjcmlwdD4=",
    "vbscript:msgbox(1)",
    "file:///etc/passwd",
    "ftp://example.com/x",
    "//example.com/x",
    "/traces/1",
    "example.com/x",
    "https://",
    "https:///x",
    "https://?x",
    "https://user:secret@example.com/x",
    "https://example.com@evil.example/x",
    "https://example.com:99999/x",
    "https://example.com:abc/x",
    'https://example.com/"onmouseover="alert(1)',
    "https://example.com/<script>",
    "https://example.com/a b",
    "https://example.com/a\nb",
    "java\tscript:alert(1)",
    "https://exam\u202eple.com/",
    "https://example.com\\@evil.example",
    "https://example.com/" + "a" * 3000,
    "",
)


def _sample(**extra: Any) -> dict[str, Any]:
    return {"extra": json.dumps(extra), "tags": None}


@pytest.mark.parametrize("address", GOOD)
def test_an_address_of_the_web_becomes_a_link(address: str) -> None:
    assert safe_address(address) == address
    link = trace_html(_sample(trace_url=address, tool="langfuse"))
    assert f'href="{address.replace("&", "&amp;")}"' in link
    assert 'rel="noopener noreferrer"' in link
    assert "Open in Langfuse" in link


@pytest.mark.parametrize("address", BAD, ids=lambda address: repr(address)[:40])
def test_nothing_else_becomes_a_link(address: str) -> None:
    assert safe_address(address) == ""
    assert trace_html(_sample(trace_url=address, tool="langfuse")) == ""


def test_the_name_of_the_tool_is_text() -> None:
    link = trace_html(_sample(trace_url="https://example.com/x", tool="<b>own</b> tracer"))
    assert trace_html(_sample(trace_url=7)) == trace_html(_sample(trace_url=["https://example.com"])) == ""
    assert "Open in &lt;b&gt;own&lt;/b&gt; tracer" in link
    assert "Open in the tool that recorded it" in trace_html(_sample(trace_url="https://example.com/x"))
    assert trace_html({"extra": None, "tags": None}) == ""
    assert trace_id({"extra": None, "tags": None}) == ""
    assert trace_id(_sample(run_id="01a1")) == "01a1"
    assert safe_address(" https://example.com") == "", "callers trim"
    assert trace_id({"extra": None, "tags": [{"key": "trace_id", "value": "t1"}]}) == "t1"


def test_the_page_shows_link_and_id(workspace: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    root = str(workspace.workspace.root)
    common = {"answer": "An answer.", "scores": {"faithfulness": 0.2}}
    records = [
        {"question_id": "q1", "question": "1?", **common, "trace_id": "abc123", "tool": "phoenix",
         "trace_url": "https://phoenix.example.com/traces/abc123"},
        {"question_id": "q2", "question": "2?", **common, "trace_url": "javascript:alert(1)"},
    ]  # fmt: skip
    run = add_run(records, "traced", "p", root)
    monkeypatch.setenv("RAGTRIAGE_WORKSPACE", root)
    shown = {}
    for case in ("q1~0", "q2~0"):
        app = AppTest.from_file(str(APP), default_timeout=60)
        app.session_state["selection"] = Selection(project="p", run=run.run_id, case=case)
        app.switch_page("cases/cases.py").run()
        assert not app.exception
        html = "".join(str(part.proto.body) for part in app.get("html"))
        shown[case] = html, [str(part.value) for part in app.code]
    assert 'href="https://phoenix.example.com/traces/abc123"' in shown["q1~0"][0]
    assert "Open in Phoenix" in shown["q1~0"][0]
    assert "abc123" in shown["q1~0"][1]
    assert "Open in" not in shown["q2~0"][0]
    assert "javascript:" not in shown["q2~0"][0]
