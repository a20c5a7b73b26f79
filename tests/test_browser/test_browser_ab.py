"""The page A/B in a real browser: a metric, a look, an arm's run and back, a reload, another window."""

from __future__ import annotations

from browser_site import Site
from playwright.sync_api import expect

PATIENCE = 30_000
CLICK_LOOK = """at => {
    const plot = document.querySelector(".st-key-live_looks .js-plotly-plot");
    const marker = plot.querySelectorAll(".scatterlayer .trace path.point")[at];
    const box = marker.getBoundingClientRect();
    return [box.x + box.width / 2, box.y + box.height / 2];
}"""


def test_a_live_test_is_read_and_its_arm_opened(site: Site) -> None:
    page = site.page
    site.open("ab")
    statement = page.locator("h1")
    expect(statement).to_have_text(
        "V2 completes more, +6.0 points; coming back is not settled", timeout=PATIENCE
    )
    page.wait_for_selector(".st-key-live_looks .scatterlayer path.point", timeout=PATIENCE)
    place = page.evaluate(CLICK_LOOK, 2)
    page.mouse.move(*place)
    page.wait_for_timeout(200)
    page.mouse.click(*place)
    expect(page.get_by_text("As known at look 3 of 14")).to_be_visible(timeout=PATIENCE)
    site.settle()
    assert "look=3" in page.url
    known = statement.inner_text()
    assert known.startswith("V2 against V1: cannot tell")
    page.reload()
    expect(statement).to_have_text(known, timeout=PATIENCE)
    other = page.context.new_page()
    other.goto(page.url)
    expect(other.locator("h1")).to_have_text(known, timeout=PATIENCE)
    other.close()
    page.get_by_role("button", name="All that is known now").click()
    expect(statement).to_contain_text("V2 completes more", timeout=PATIENCE)
    site.settle()
    page.locator(".st-key-pick_deciding").click()
    page.get_by_role("option", name="NPS").click()
    expect(statement).to_contain_text("NPS", timeout=PATIENCE)
    site.settle()
    assert "deciding=nps_score" in page.url
    page.locator(".st-key-arm_1 button").first.click()
    expect(statement).to_contain_text("V2 smaller chunks", timeout=PATIENCE)
    site.settle()
    page.get_by_role("link", name="live: task completed +6.0 points").click()
    expect(statement).to_contain_text("V2 completes more", timeout=PATIENCE)
    assert site.outside == []
