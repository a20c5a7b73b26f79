"""A gate on Triage opens the cases that it counts, the worst first."""

from __future__ import annotations

import re
from html import unescape
from urllib.parse import parse_qs, urlsplit

import pytest
from places import APP
from streamlit.testing.v1 import AppTest

from ragtriage.data.scoring.run_store import RunStore


def test_every_gate_of_triage_opens_its_cases(demo: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    run = next(run for run in demo.runs("handbook") if run.name.startswith("V3"))
    monkeypatch.setenv("RAGTRIAGE_WORKSPACE", str(demo.workspace.root))
    app = AppTest.from_file(str(APP), default_timeout=120)
    app.query_params.update({"project": "handbook", "run": run.run_id})
    app.run()
    bodies = " ".join(str(block.proto.body) for block in app.get("html"))
    rows = re.findall(r'<a href="(cases\?[^"]*)"><b>(.*?)</b>', bodies)
    assert len(rows) >= 5
    links = {name: parse_qs(urlsplit(unescape(href)).query) for href, name in rows}
    refusals = links["Wrong refusals"]
    assert (refusals["refused"], refusals["bad"]) == (["yes"], ["yes"]), "not every bad case"
    for name, chosen in links.items():
        assert chosen["run"] == [run.run_id]
        opened = AppTest.from_file(str(APP), default_timeout=120)
        opened.query_params.update({key: values[0] for key, values in chosen.items()})
        opened.switch_page("cases/cases.py").run()
        assert not opened.exception, name
    sorted_by = [parse_qs(urlsplit(unescape(href)).query).get("sort", [""])[0] for href, _ in rows]
    assert "over_refusal" in " ".join(sorted_by) or "correctness" in sorted_by
