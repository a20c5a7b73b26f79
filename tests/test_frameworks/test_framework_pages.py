"""The examples of langchain.md, llamaindex.md and haystack.md run as they stand, where their packages are."""

from __future__ import annotations

import contextlib
import io
import itertools
from pathlib import Path
from typing import Any

import pytest
from markdown_pages import blocks
from places import DOCS

PAGES = {"langchain.md": "langchain_core", "llamaindex.md": "llama_index.core", "haystack.md": "haystack"}


@pytest.mark.parametrize(("page", "package"), PAGES.items())
def test_the_examples_of_a_page_run_and_print_what_stands_below(
    page: str, package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HAYSTACK_TELEMETRY_ENABLED", "False")
    pytest.importorskip(package)
    monkeypatch.setenv("RAGTRIAGE_WORKSPACE", str(tmp_path / "workspace"))
    names: dict[str, Any] = {"__name__": "example"}
    listed = blocks(DOCS / page)
    ran = 0
    for block, after in itertools.pairwise(listed):
        if block.language == "python" and "run by" in block.comment:
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(block.text, f"{page}:{block.line}", "exec"), names)
            assert (after.language, printed.getvalue()) == ("text", after.text)
            ran += 1
    assert ran == 2
