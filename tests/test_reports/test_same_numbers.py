"""The same numbers in the app, at the gate, in HTML and in slides: one test reads all four."""

from __future__ import annotations

import io
import re
from html import unescape
from pathlib import Path

import pytest
from command_line import run as command
from copied_workspace import copied
from places import APP
from pptx import Presentation
from streamlit.testing.v1 import AppTest

from ragtriage.dashboard.present.export.formats import export_report
from ragtriage.dashboard.present.stories.context import StoryView
from ragtriage.dashboard.present.stories.sections import render_section
from ragtriage.dashboard.present.stories.story import Story, StorySection
from ragtriage.dashboard.shell.selection import Selection
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.workspace import Workspace
from ragtriage.metrics.number_text import interval_text, number

SHOWN = ("Faithfulness", "Answer relevancy", "Context recall", "Context precision")


@pytest.fixture(scope="module")
def own(samples_root: Path, tmp_path_factory: pytest.TempPathFactory) -> RunStore:
    """A workspace of its own, because a baseline is set in it."""
    return RunStore(Workspace(copied(samples_root, tmp_path_factory.mktemp("same") / "workspace")))


def slide_texts(content: bytes) -> str:
    found = []
    for slide in Presentation(io.BytesIO(content)).slides:
        for shape in slide.shapes:
            if shape.has_text_frame:
                found.append(shape.text_frame.text)
            if shape.has_table:
                found += [cell.text for row in shape.table.rows for cell in row.cells]
    return "\n".join(found)


def page_texts(own: RunStore, run_id: str, base_id: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("RAGTRIAGE_WORKSPACE", str(own.workspace.root))
    app = AppTest.from_file(str(APP), default_timeout=90)
    app.session_state["selection"] = Selection(project="iris", run=run_id, baseline=base_id)
    app.run()
    assert not app.exception
    tables = "\n".join(one.value.to_string() for one in app.dataframe)
    badges = "\n".join(str(one.value) for one in [*app.markdown, *app.caption])
    return f"{tables}\n{badges}"


def test_app_gate_html_and_slides_carry_the_same_numbers(
    own: RunStore, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = max((one for one in own.runs("iris") if one.name == "basic"), key=lambda one: one.n)
    base = max((one for one in own.runs("iris") if one.name == "crag"), key=lambda one: one.n)
    gate = command(capsys, own.workspace.root, "gate", run.run_id, "--baseline", base.run_id, "--json").json
    by_gate = {one["gate"]: one for one in gate["gates"]}
    view = StoryView(own, run, base)
    made = [
        render_section(view, StorySection(kind))
        for kind in ("verdict", "why", "change", "example", "next", "gates", "headline")
    ]
    story = Story("basic", run.run_id, base.run_id)
    html = unescape(
        re.sub(r"<script.*?</script>", "", export_report(view, story, made, "html").decode(), flags=re.S)
    )
    slides = slide_texts(export_report(view, story, made, "pptx"))
    page = page_texts(own, run.run_id, base.run_id, monkeypatch)
    compared = 0
    for title in SHOWN:
        one = next(found for name, found in by_gate.items() if name.startswith(f"{title}: at"))
        value, ends = number(one["value"]), interval_text(one["low"], one["high"])
        for where, text in {"html": html, "slides": slides, "page": page}.items():
            assert value in text, (title, where)
            assert ends in text, (title, where)
            compared += 1
    assert compared == 12
    state = gate["conclusion"]["state"].replace("_", " ")
    assert state == "do not ship"
    assert state in html
    assert state in slides
    assert "fails" in page
