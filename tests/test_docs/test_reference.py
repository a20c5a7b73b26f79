"""The reference of commands and of the Python package stands as their help texts and docstrings have it."""

from __future__ import annotations

import re

import pytest
from doc_reference import PAGES, commands_reference, python_reference
from places import DOCS

import ragtriage
from ragtriage.dashboard.cli.main import COMMANDS


@pytest.mark.parametrize("page", PAGES)
def test_a_page_of_the_reference_is_up_to_date(page: str) -> None:
    mark, content = PAGES[page]
    shown = re.search(
        rf"<!-- {mark} -->\n(.*)<!-- /{mark} -->", (DOCS / page).read_text(encoding="utf-8"), re.DOTALL
    )
    assert shown is not None
    assert shown[1].strip() == content().strip(), "renew it: python docs/doc_reference.py"


def test_every_command_has_a_section_with_its_options() -> None:
    sections = dict(
        re.findall(r"^## (\S+)\n\n(.*?)(?=^## |\Z)", commands_reference(), re.DOTALL | re.MULTILINE)
    )
    assert set(sections) == set(COMMANDS)
    gate = sections["gate"]
    assert "ragtriage gate [OPTIONS] RUN" in gate
    assert (
        "| `--strict` | Fail on all three, also where a gate had nothing to judge by, such as a baseline. |"
        in gate
    )
    assert "--workspace" not in gate, "it is named once, above all commands"
    assert r"| `--effort [low\|medium\|high]` |" in sections["judge"], "a bar would end the cell"


def test_every_public_name_has_a_section_with_what_it_takes() -> None:
    reference = python_reference()
    assert set(re.findall(r"^### (\S+)$", reference, re.MULTILINE)) == set(ragtriage.__all__)
    assert (
        "    k: Sequence[int] = (1, 3, 5, 10),\n    workspace: str | PathLike[str] | None = None,\n"
        in reference
    )
    assert "| `n_questions` | number of different questions. |" in reference
    assert ">>>" not in reference, "examples stand in the pages, where they run"
