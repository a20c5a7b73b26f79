"""Every page in both themes: no serious finding of axe-core, no layout that shifts, no sideways scrolling."""

from __future__ import annotations

import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from browser_site import Site
from playwright.sync_api import Browser, Page

from ragtriage.data.scoring.run_store import RunStore

PAGES = {
    "triage": "?project=handbook",
    "compare": "compare?project=handbook",
    "production": "production?project=handbook+live",
    "ab": "ab",
    "trend": "trend?project=handbook",
    "cases": "cases?project=handbook",
    "diagnosis": "diagnosis?project=iris",
    "checks": "checks?project=clinc_router",
    "retrieval": "retrieval?project=handbook",
    "chunking": "chunking?project=state_of_the_union",
    "alignment": "alignment?project=handbook",
    "experiments": "experiments?project=experiments",
    "datasets": "datasets?project=handbook",
    "datasets, review": "datasets?project=handbook&part=review",
    "datasets, versions": "datasets?project=handbook&part=versions",
    "datasets, card": "datasets?project=handbook&part=card",
    "judge": "judge?project=mtrag%2C+judged&part=people",
    "benchmarks": "benchmarks?project=ragchecker",
    "present": "present?project=handbook",
    "runs": "runs?project=iris",
}
MOST_SHIFT = 0.1  # cumulative layout shift that counts as good
SERIOUS = ("serious", "critical")
NAVIGATION = "[data-testid=stSidebarNav]"  # Streamlit's own: its list has sections that are not list items
TRIES = 5  # a busy machine draws late what is drawn in one go otherwise
# Until the first message of the script, Streamlit shows a loading screen without the sidebar; the whole frame
# moves when the sidebar comes, which no page can change. What moves inside the frame counts.
WATCH_SHIFTS = """
window.shifts = [];
const block = "[data-testid=stMainBlockContainer]";
const frame = ({node}) => node && node.nodeType === 1 && (node.matches(block) || node.querySelector(block));
new PerformanceObserver(list => list.getEntries().forEach(entry => {
  if (!entry.hadRecentInput && !entry.sources.every(frame)) window.shifts.push(entry.value);
})).observe({type: "layout-shift", buffered: true});
"""


BACKGROUND = "getComputedStyle(document.querySelector('[data-testid=stApp]')).backgroundColor"


@pytest.mark.parametrize("name", PAGES)
def test_a_page_can_be_read_by_everyone(browser: Browser, server: tuple[str, RunStore], name: str) -> None:
    """Opened in the light theme, made narrow, opened again in the dark theme."""
    context = browser.new_context(viewport={"width": 1440, "height": 900}, color_scheme="light")
    page = context.new_page()
    page.add_init_script(WATCH_SHIFTS)
    site = Site(page, server[0], server[1])
    assert _least_shift(site, PAGES[name]) < MOST_SHIFT
    assert page.locator("h1").count() == 1
    assert page.locator("[data-testid=stException]").count() == 0
    assert page.title().endswith("ragtriage")
    assert _findings(page, {"type": "tag", "values": ["wcag2a", "wcag2aa"]}) == []
    page.set_viewport_size({"width": 1024, "height": 900})
    site.settle()
    wide, shown = page.evaluate("[document.body.scrollWidth, window.innerWidth]")
    assert wide <= shown
    page.emulate_media(color_scheme="dark")
    site.open(PAGES[name])
    page.wait_for_selector("h1", timeout=60_000)
    site.settle()
    assert sum(int(part) for part in re.findall(r"\d+", page.evaluate(BACKGROUND))[:3]) < 200
    assert _findings(page, {"type": "rule", "values": ["color-contrast"]}) == [], "in the dark theme"
    context.close()


def _least_shift(site: Site, path: str) -> float:
    shift = 1.0
    for _ in range(TRIES):
        site.open(path)
        site.page.wait_for_selector("h1", timeout=60_000)
        site.settle()
        shift = min(shift, float(site.page.evaluate("window.shifts.reduce((sum, value) => sum + value, 0)")))
        if shift < MOST_SHIFT:
            break
    return shift


def _findings(page: Page, rules: dict[str, object]) -> list[str]:
    """Return what axe-core finds serious in our part of a page, each with its first elements."""
    options = {"runOnly": rules}
    found = Axe().run(page, context={"exclude": [[NAVIGATION]]}, options=options).response["violations"]
    return [
        f"{entry['id']}: {node['html'][:200]} {node['failureSummary'][:300]}"
        for entry in found
        if entry["impact"] in SERIOUS
        for node in entry["nodes"][:4]
    ]
