"""The page on exports to tools shows the lines that the command prints, for every tool."""

from __future__ import annotations

import pytest
from places import REPOSITORY

from ragtriage.data.exports.tools import TOOLS

PAGE = (REPOSITORY / "docs" / "export_back.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", TOOLS)
def test_the_page_has_the_lines_that_send_a_file(name: str) -> None:
    tool = TOOLS[name]
    assert f"| [{tool.title}](#{name}) |" in PAGE
    assert f"`{tool.id_name}`" in PAGE
    before, after = tool.lines("PATH", human=True).split('"PATH"')
    assert before in PAGE
    assert after in PAGE


@pytest.mark.parametrize("name", TOOLS)
def test_the_lines_are_python(name: str) -> None:
    for human in (True, False):
        assert compile(TOOLS[name].lines('a "b".csv', human), name, "exec").co_names
