"""The documentation site builds without a warning, and neither its links nor its files lead astray."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Literal
from urllib.parse import unquote, urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from lxml import html
from places import DOCS, REPOSITORY
from playwright.sync_api import Browser, Page, Request, expect
from site_extension import navigation

pytestmark = pytest.mark.xdist_group("docs")
OUTSIDE = re.compile(r"^(?:[a-z]+:)?//", re.IGNORECASE)


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as `make docs` builds it: a warning is an error."""
    target = tmp_path_factory.mktemp("site") / "docs"
    make = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    command = re.search(r"-m (sphinx .*) docs build/docs$", make, re.MULTILINE)
    assert command is not None
    assert {"-W", "-n"} <= set(command[1].split())
    built = subprocess.run(
        [sys.executable, "-m", *command[1].split(), str(DOCS), str(target)], capture_output=True, text=True
    )
    assert built.returncode == 0, built.stdout + built.stderr
    assert built.stderr == ""
    return target


def _pages(site: Path) -> list[Path]:
    return sorted(site.glob("*.html"))


def test_every_page_is_built(site: Path) -> None:
    names = {page.stem for page in _pages(site)}
    assert {page.stem for page in DOCS.glob("*.md")} <= names
    assert {"genindex", "search"} <= names


def test_every_link_of_the_site_leads_somewhere(site: Path) -> None:
    documents = {page: html.parse(page) for page in _pages(site)}
    anchors = {page: set(document.xpath("//@id")) for page, document in documents.items()}
    lost = []
    for page, document in documents.items():
        for link in document.xpath("//@href | //@src"):
            parts = urlsplit(link)
            if parts.scheme or OUTSIDE.match(link):
                continue
            target = page.parent / unquote(parts.path) if parts.path else page
            if not target.exists() or (parts.fragment and parts.fragment not in anchors.get(target, set())):
                lost.append(f"{page.name}: {link}")
    assert lost == []


def test_the_site_loads_nothing_from_outside(site: Path) -> None:
    """Scripts, styles, fonts and pictures are its own; only what a reader clicks on may lead away."""
    loading = "//link/@href | //script/@src | //img/@src | //img/@srcset | //source/@srcset | //iframe/@src"
    for page in _pages(site):
        assert [link for link in html.parse(page).xpath(loading) if OUTSIDE.match(link)] == []
    for style in site.rglob("*.css"):
        text = style.read_text(encoding="utf-8")
        assert re.findall(r"(?:url\(|@import)\s*['\"]?(?:https?:)?//", text) == []


def test_the_home_page_s_lists_become_the_navigation(site: Path) -> None:
    text = "# Title\n\n## First\n\n- [A](a.md): one\n- [B](b.md)\n\n## No list\n\nWords: [C](c.md).\n"
    tree = "```{toctree}\n:hidden:\n:caption: First\n\nA <a>\nB <b>\n```\n"
    assert navigation(text) == f"{text}\n{tree}"
    index = html.parse(site / "index.html")
    captions = index.xpath("//*[@class='sidebar-tree']//p[@class='caption']/span/text()")
    assert {"Start", "Reference"} <= set(captions)


def test_a_row_of_a_wide_table_names_its_columns(site: Path) -> None:
    row = html.parse(site / "metrics.html").xpath("//table[contains(@class, 'cards')]//tr[td//code='mrr@k']")[
        0
    ]
    titles = [title.strip() for title in row.xpath(".//span[@class='cell-title']/text()")]
    assert titles == ["Meaning", "Formula", "Better", "Range", "Needs", "Not applicable", "Source"]


@pytest.fixture
def page(browser: Browser) -> Page:
    return browser.new_page(viewport={"width": 1024, "height": 900})


@pytest.mark.browser
def test_search_works_from_disk_without_a_network(site: Path, page: Page) -> None:
    requests: list[str] = []

    def note(request: Request) -> None:
        requests.append(request.url)

    page.on("request", note)
    page.goto(f"{(site / 'search.html').as_uri()}?q=faithfulness")
    expect(page.locator("#search-results")).to_contain_text("Diagnosis: what the terms mean")
    assert [url for url in requests if not url.startswith(("file:", "data:"))] == []


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(site: Path, browser: Browser, scheme: Literal["light", "dark"]) -> None:
    page = browser.new_page(color_scheme=scheme, viewport={"width": 1440, "height": 900})
    findings = []
    for name in ("index", "tutorial", "metrics", "gates", "commands"):
        page.goto((site / f"{name}.html").as_uri())
        for violation in Axe().run(page).response["violations"]:
            serious = violation["impact"] in ("serious", "critical")
            if (
                serious and violation["id"] != "scrollable-region-focusable"
            ):  # browsers focus these themselves
                findings.append(f"{name}: {violation['id']}: {violation['nodes'][0]['html'][:120]}")
    page.close()
    assert findings == []


@pytest.mark.browser
def test_no_page_is_wider_than_the_screen(site: Path, page: Page) -> None:
    wide = {}
    for path in _pages(site):
        page.goto(path.as_uri())
        excess = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        if excess > 0:
            wide[path.name] = excess
    assert wide == {}
