"""Every link of the Markdown leads somewhere: to a file, a heading, a picture or a well-formed address."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from markdown_pages import PAGES, anchors, code_spans, inline_html, links, name_of
from places import DOCS, REPOSITORY

ROOMS = "|".join(
    sorted(path.name for path in REPOSITORY.iterdir() if path.is_dir() and path.name[0] not in "._")
)
EXAMPLE = re.compile(r"\b(?:hello|tone|capitals|acme)\b")  # the files that CONTRIBUTING lets a reader add
A_PATH = re.compile(rf"(?:{ROOMS})/[\w./-]+")


def _problem(page: Path, link: str) -> str | None:
    """Return what is wrong with a link, or None."""
    parts = urlsplit(link)
    if parts.scheme:
        if parts.scheme == "https" and re.fullmatch(r"[\w-]+(\.[\w-]+)+", parts.hostname or ""):
            return None
        return "is not an https address"
    target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    if not target.is_relative_to(REPOSITORY) or not target.exists():
        return "leads to no file of the repository"
    if parts.fragment and (target.suffix != ".md" or parts.fragment not in anchors(target)):
        return f"leads to no heading of {target.name}"
    return None


def test_every_link_leads_somewhere() -> None:
    judged = {(name_of(page), link): _problem(page, link) for page in PAGES for link in links(page)}
    assert judged
    assert {place: problem for place, problem in judged.items() if problem} == {}


def test_every_file_of_the_repository_that_is_named_exists() -> None:
    pages = [page for page in PAGES if page.name != "CHANGELOG.md"]  # which names files as they were
    named = [
        (name_of(page), span)
        for page in pages
        for span in code_spans(page)
        if A_PATH.fullmatch(span) and not EXAMPLE.search(span)
    ]
    assert named
    assert [(page, span) for page, span in named if not (REPOSITORY / span).exists()] == []


def test_no_name_in_angle_brackets_vanishes_as_html() -> None:
    assert {name_of(page): found for page in DOCS.glob("*.md") if (found := inline_html(page))} == {}


def test_every_page_is_on_the_home_page() -> None:
    listed = {link for link in links(DOCS / "index.md") if link.endswith(".md")}
    assert listed == {page.name for page in DOCS.glob("*.md")} - {"index.md"}


@pytest.mark.parametrize(
    ("link", "problem"),
    [
        ("gates.md#verdicts", None),
        ("#the-bundled-gates", None),
        ("../README.md#four-things-to-do-next", None),
        ("triage.png", None),
        ("https://docs.astral.sh/uv/", None),
        ("gates.md#verdict", "leads to no heading of gates.md"),
        ("gate.md", "leads to no file of the repository"),
        ("../../elsewhere.md", "leads to no file of the repository"),
        ("http://example.com", "is not an https address"),
        ("https://", "is not an https address"),
        ("javascript:alert(1)", "is not an https address"),
    ],
)
def test_a_link_is_judged(link: str, problem: str | None) -> None:
    assert _problem(DOCS / "gates.md", link) == problem
