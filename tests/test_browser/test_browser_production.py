"""Production in a real browser: a point, back, a topic, a regression set, a reload, a new window."""

from __future__ import annotations

import re

from browser_site import Site
from playwright.sync_api import expect

from ragtriage.data.datasets.dataset import datasets, delete_dataset, find_dataset

PATIENCE = 60_000
STATEMENT = "Wrong refusals rose from 2 to 50 % with V3 strict prompt"
REGRESSIONS = "regressions of handbook live"


def _click_mark(site: Site, chart: str, trace: str, at: int) -> None:
    """Click a point of a chart where Plotly drew it."""
    place = f".st-key-{chart} .js-plotly-plot"
    site.page.wait_for_selector(f"{place} .scatterlayer .point", timeout=PATIENCE)
    index = site.page.evaluate(
        "([place, name]) => document.querySelector(place).data.filter(t => t.type === 'scatter')"
        ".findIndex(t => t.name === name)",
        [place, trace],
    )
    point = site.page.locator(f"{place} .scatterlayer .trace").nth(index).locator(".point").nth(at)
    box = point.bounding_box()
    assert box is not None
    site.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    site.settle()


def test_from_the_traffic_to_runs_cases_and_a_dataset(site: Site) -> None:
    page, statement = site.page, site.page.locator("h1")
    site.open("production?project=handbook+live")
    expect(statement).to_have_text(STATEMENT, timeout=PATIENCE)
    _click_mark(site, "live_lanes", "wrongly_refused", 6)
    expect(statement).to_contain_text("live 18:45-18:50 2023-11-16", timeout=PATIENCE)
    assert "/production" not in page.url
    page.go_back()
    expect(statement).to_have_text(STATEMENT, timeout=PATIENCE)
    site.settle()
    _click_mark(site, "live_topics", "since", 0)
    expect(page).to_have_url(re.compile("/cases"), timeout=PATIENCE)
    expect(statement).to_contain_text("of 521 cases shown", timeout=PATIENCE)
    page.go_back()
    expect(statement).to_have_text(STATEMENT, timeout=PATIENCE)
    site.settle()
    if any(
        each.name == REGRESSIONS for each in datasets(site.store.workspace)
    ):  # of a run of this test before
        delete_dataset(find_dataset(site.store.workspace, REGRESSIONS))
    page.locator(".st-key-regression_open button").click()
    box = page.locator(".st-key-regression_into input")
    expect(box).to_be_visible(timeout=PATIENCE)
    box.click()
    page.get_by_role("option", name="a new dataset").click()
    site.settle()
    page.locator(".st-key-regression_add button").click()
    expect(page.get_by_text("10 questions added to")).to_be_visible(timeout=PATIENCE)
    made = find_dataset(site.store.workspace, REGRESSIONS)
    assert [len(batch.items) for batch in made.batches()] == [10]
    assert all(item.spans for item in made.batches()[0].items), "gold came with the traces"
    delete_dataset(made)
    site.settle()
    page.reload()
    expect(statement).to_have_text(STATEMENT, timeout=PATIENCE)
    other = page.context.new_page()
    other.goto(page.url)
    expect(other.locator("h1")).to_have_text(STATEMENT, timeout=PATIENCE)
    other.close()
