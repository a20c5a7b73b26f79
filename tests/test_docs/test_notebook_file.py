"""The notebook of the docs: small, without outputs, and every cell shows what the text beside it says."""

from __future__ import annotations

import ast
import html
import json
import re
from pathlib import Path
from typing import Any

import pytest
from places import DOCS

from ragtriage.results import Shown

NOTEBOOK = DOCS / "notebook.ipynb"


def _cells(kind: str) -> list[str]:
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    assert notebook["nbformat"] == 4
    return ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == kind]


def _shown(cell: str, names: dict[str, Any]) -> Any:
    """Run a cell as a notebook does, and return the value of its last line."""
    *lines, last = ast.parse(cell).body
    shows = isinstance(last, ast.Expr)
    exec(compile(ast.Module(lines if shows else [*lines, last], []), "cell", "exec"), names)
    return (
        eval(compile(ast.Expression(last.value), "cell", "eval"), names)
        if isinstance(last, ast.Expr)
        else None
    )


def _statement(value: Shown) -> str:
    (statement,) = re.findall(r"<h1>(.*?)</h1>", str(value._repr_html_()), flags=re.DOTALL)
    return html.unescape(statement)


def test_the_file_is_small_and_has_no_outputs() -> None:
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    assert NOTEBOOK.stat().st_size < 20_000
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
    assert len({cell["id"] for cell in notebook["cells"]}) == len(notebook["cells"])


def test_its_cells_go_from_records_to_the_verdict_a_comparison_a_label_and_a_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RAGTRIAGE_WORKSPACE", "")  # so that what the notebook sets is undone
    names: dict[str, Any] = {}
    shown = [_shown(cell, names) for cell in _cells("code")]
    statements = [_statement(value) for value in shown if isinstance(value, Shown)]
    assert statements == [
        "V1: do not ship",
        "V1: 20 of 60 cases lack the context they need",
        "V2 beats V1: pass rate +20 points",
        "V2: do not ship",
    ]
    assert sum(hasattr(value, "to_plotly_json") for value in shown) == 2
    (bad,) = [value for value in shown if isinstance(value, tuple)]
    assert bad == (18, 19), "one case more after the label"
    assert (tmp_path / "rooms.html").stat().st_size > 100_000


def test_its_links_lead_to_pages() -> None:
    pages = re.findall(r"\]\(([\w-]+\.md)\)", "\n".join(_cells("markdown")))
    assert pages
    assert all((DOCS / page).is_file() for page in pages)
