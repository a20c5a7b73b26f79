"""What the site adds to Markdown that must also read well without it.

The home page's lists of pages become the navigation, pictures get their twins for the dark theme, and the
rows of wide tables become cards.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from docutils import nodes
from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx

__all__ = ["add_dark_pictures", "label_wide_tables", "navigation", "setup"]

WIDE = 6  # columns from which a table is drawn as one card for each row
LISTED = re.compile(r"^- \[(?P<title>[^\]]+)\]\((?P<page>[\w-]+)\.md\)", re.MULTILINE)


def navigation(text: str) -> str:
    """Return the home page with a table of contents for each section that lists pages, as it names them."""
    _, *sections = re.split(r"^## ", text, flags=re.MULTILINE)
    trees = []
    for section in sections:
        title = section.splitlines()[0].strip()
        if pages := [f"{title} <{page}>" for title, page in LISTED.findall(section)]:
            trees.append("\n".join(["```{toctree}", ":hidden:", f":caption: {title}", "", *pages, "```"]))
    return "\n\n".join([text.rstrip(), *trees]) + "\n"


def add_dark_pictures(app: Sphinx, document: nodes.document) -> None:
    """Show `name-dark.png` instead of `name.png` in the dark theme, where there is one."""
    folder = Path(app.env.doc2path(app.env.docname)).parent
    for image in list(document.findall(nodes.image)):
        path = Path(image["uri"])
        twin = path.with_name(f"{path.stem}-dark{path.suffix}")
        if (folder / twin).exists():
            dark = image.deepcopy()
            dark["uri"] = twin.as_posix()
            dark["classes"].append("only-dark")
            image["classes"].append("only-light")
            image.parent.insert(image.parent.index(image) + 1, dark)


def label_wide_tables(_: Sphinx, document: nodes.document) -> None:
    """Name the column in every cell of a table that is too wide for a page; the style sheet draws cards."""
    for table in document.findall(nodes.table):
        head = [entry.astext() for row in table.findall(nodes.thead) for entry in row.findall(nodes.entry)]
        if len(head) < WIDE:
            continue
        table["classes"].append("cards")
        named = next(at for at, title in enumerate(head) if title)  # a column without a title holds numbers
        for row in next(iter(table.findall(nodes.tbody))).findall(nodes.row):
            for at, cell in enumerate(row.findall(nodes.entry)):
                paragraph = next(iter(cell.findall(nodes.paragraph)), None)
                if at <= named:
                    cell["classes"].append("row-title" if at == named else "row-number")
                elif paragraph is None:
                    cell["classes"].append("empty")
                else:
                    paragraph.insert(0, nodes.inline("", f"{head[at]} ", classes=["cell-title"]))


def _add_navigation(app: Sphinx, page: str, source: list[str]) -> None:
    if page == app.config.root_doc:
        source[0] = navigation(source[0])


def _add_levels(_: Sphinx, __: str, ___: str, context: dict[str, Any], ____: object) -> None:
    """Give the captions of the navigation the level that their role of a heading requires."""
    tree = context.get("furo_navigation_tree", "")
    context["furo_navigation_tree"] = tree.replace('role="heading"', 'role="heading" aria-level="2"')


def setup(app: Sphinx) -> dict[str, bool]:
    """Add these to the build, and let blocks of CSV be plain text."""
    app.add_lexer("csv", TextLexer)
    app.connect("source-read", _add_navigation)
    app.connect("doctree-read", add_dark_pictures, priority=100)  # before Sphinx collects the pictures
    app.connect("doctree-read", label_wide_tables)
    app.connect("html-page-context", _add_levels, priority=900)  # after the theme has made the navigation
    return {"parallel_read_safe": True, "parallel_write_safe": True}
