"""The Markdown that readers of the repository open, taken apart for tests."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lxml import html
from markdown_it import MarkdownIt
from markdown_it.token import Token
from places import DOCS, REPOSITORY

__all__ = ["PAGES", "Block", "anchors", "blocks", "code_spans", "inline_html", "links", "name_of"]

PAGES = [
    *sorted(DOCS.glob("*.md")),
    *(REPOSITORY / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    REPOSITORY / "benchmarks" / "README.md",
    REPOSITORY / "data" / "bundled" / "ATTRIBUTION.md",
]


@dataclass(frozen=True)
class Block:
    """A fenced block of a page.

    Attributes:
        page: the name of the page.
        line: where it begins, from 1.
        language: what stands after the fence.
        text: what is in it.
        comment: of the HTML comment right above it, without its marks.
    """

    page: str
    line: int
    language: str
    text: str
    comment: str


def name_of(page: Path) -> str:
    """Return a page's path within the repository."""
    return page.relative_to(REPOSITORY).as_posix()


def _tokens(page: Path) -> list[Token]:
    return MarkdownIt("commonmark", {"html": True}).enable("table").parse(page.read_text(encoding="utf-8"))


def blocks(page: Path) -> list[Block]:
    """List the fenced blocks of a page."""
    tokens = _tokens(page)
    found = []
    for before, token in zip([None, *tokens], tokens, strict=False):
        if token.type == "fence":
            comment = before.content if before is not None and before.type == "html_block" else ""
            inner = re.fullmatch(r"<!--(.*)-->", comment.strip(), re.DOTALL)
            found.append(
                Block(
                    name_of(page),
                    (token.map or [0])[0] + 1,
                    token.info.strip(),
                    token.content,
                    inner[1].strip() if inner else "",
                )
            )
    return found


def _inline(page: Path) -> Iterator[Token]:
    for token in _tokens(page):
        yield from token.children or ()


def code_spans(page: Path) -> list[str]:
    """List the code spans of a page."""
    return [token.content for token in _inline(page) if token.type == "code_inline"]


def inline_html(page: Path) -> list[str]:
    """List the HTML within the lines of a page, comments apart."""
    return [
        token.content
        for token in _inline(page)
        if token.type == "html_inline" and not token.content.startswith("<!--")
    ]


def links(page: Path) -> list[str]:
    """List where the links and pictures of a page lead, in Markdown and in HTML."""
    found = [
        str(token.attrs[name])
        for token in _inline(page)
        for name in ("href", "src")
        if name in token.attrs and token.type in ("link_open", "image")
    ]
    for token in _tokens(page):
        raw = [token, *(token.children or ())]
        for piece in raw:
            if piece.type in ("html_block", "html_inline") and not piece.content.startswith(("<!--", "</")):
                found += html.fragment_fromstring(piece.content, create_parent="div").xpath(
                    ".//@href | .//@src | .//@srcset"
                )
    return found


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub and the site make them."""
    found: set[str] = set()
    tokens = _tokens(page)
    for opening, heading in itertools.pairwise(tokens):
        if opening.type == "heading_open":
            title = "".join(child.content for child in heading.children or ())
            slug = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
            at = 1
            while (anchor := slug if at == 1 else f"{slug}-{at - 1}") in found:
                at += 1
            found.add(anchor)
    return found
