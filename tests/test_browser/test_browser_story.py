"""A new user's path in a real browser: FAIL, why, the better version, and what others get to read."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from browser_site import Site
from playwright.sync_api import expect
from pptx import Presentation

PATIENCE = 60_000


def test_from_fail_to_a_report_that_opens_without_the_tool(site: Site, tmp_path: Path) -> None:
    page = site.page
    run, base = site.run_id("iris", "basic"), site.run_id("iris", "crag")
    site.open(f"?project=iris&run={run}&baseline={base}")
    shown = page.locator("[data-testid=stMain]")
    expect(page.locator("h1")).to_contain_text("basic: do not ship", timeout=PATIENCE)
    site.settle()
    page.locator(".st-key-open_stage button").first.click()
    expect(page).to_have_url(re.compile("/cases.*stage="), timeout=PATIENCE)
    expect(page.locator("h1")).to_contain_text("cases shown, all bad", timeout=PATIENCE)
    expect(shown).to_contain_text("Unfaithful", timeout=PATIENCE)
    site.open(f"compare?project=iris&run={run}&baseline={base}")
    expect(page.locator("h1")).to_contain_text("crag", timeout=PATIENCE)
    site.open(f"present?project=iris&run={run}&baseline={base}")
    page.get_by_role("button", name="New deck of this run").click()
    expect(page).to_have_url(re.compile("story="), timeout=PATIENCE)
    expect(page.locator("h1")).to_contain_text("5 slides are ready: do not ship", timeout=PATIENCE)
    files = {form: _downloaded(site, form, tmp_path) for form in ("html", "pptx", "pdf")}
    slides = Presentation(io.BytesIO(files["pptx"].read_bytes())).slides
    assert len(slides) == 5
    assert any(shape.has_chart for slide in slides for shape in slide.shapes)
    assert files["pdf"].read_bytes().startswith(b"%PDF")
    _opens_from_disk(site, files["html"])


def _downloaded(site: Site, form: str, folder: Path) -> Path:
    with site.page.expect_download(timeout=PATIENCE) as started:
        site.page.locator(f".st-key-story_export_{form} button").click()
    path = folder / f"story.{form}"
    started.value.save_as(path)
    assert path.stat().st_size < 10_000_000
    return path


def _opens_from_disk(site: Site, path: Path) -> None:
    """The file asks for nothing, draws its charts, and says what the page said."""
    fresh = site.page.context.new_page()
    asked: list[str] = []
    fresh.on("request", lambda request: asked.append(request.url))
    fresh.goto(path.as_uri())
    fresh.locator(".chart").first.scroll_into_view_if_needed()
    expect(fresh.locator(".js-plotly-plot .main-svg").first).to_be_visible(timeout=PATIENCE)
    expect(fresh.locator("body")).to_contain_text("basic: do not ship")
    expect(fresh.locator("body")).to_contain_text("ragtriage metrics")
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []
    fresh.close()


def test_a_presentation_follows_the_arrow_keys(site: Site) -> None:
    run = site.run_id("mtrag", "GPT-4.0")
    site.open(f"present?project=mtrag&run={run}")
    page = site.page
    page.get_by_role("button", name="New deck of this run").click()
    expect(page).to_have_url(re.compile("story="), timeout=PATIENCE)
    page.locator(".st-key-story_present button").click()
    expect(page).to_have_url(re.compile("slide=1"), timeout=PATIENCE)
    expect(page.locator("[data-testid=stSidebarNav]")).to_have_count(0)
    site.settle()
    page.keyboard.press("ArrowRight")
    expect(page).to_have_url(re.compile("slide=2"), timeout=PATIENCE)
    expect(page.locator("h1")).to_contain_text("of 159 answers are bad")
    other = page.context.new_page()
    other.goto(page.url)
    expect(other.locator("h1")).to_contain_text("of 159 answers are bad", timeout=PATIENCE)
    other.close()
    page.keyboard.press("Escape")
    expect(page).not_to_have_url(re.compile("slide="), timeout=PATIENCE)


@pytest.mark.parametrize(
    "path", ["?project=iris&slide=3", "cases?project=iris&slide=3", "present?project=ragchecker&slide=3"]
)
def test_an_address_with_a_slide_but_no_deck_keeps_the_navigation(site: Site, path: str) -> None:
    site.open(path)
    expect(site.page.locator("[data-testid=stSidebarNav]")).to_be_visible(timeout=PATIENCE)
    expect(site.page).not_to_have_url(re.compile("slide="), timeout=PATIENCE)
