"""The Retrieval page in a real browser: what its buttons and its settings lead to."""

from __future__ import annotations

import re

from browser_site import Site
from playwright.sync_api import expect


def test_a_missed_hop_opens_its_cases_without_a_pointer_on_the_chart(site: Site) -> None:
    site.open("retrieval?project=musique&k=3")
    site.page.get_by_role("tab", name="Hops").click()
    site.page.locator(".st-key-hops_open button").first.click()
    button = site.page.get_by_role("button", name=re.compile(r"Hop 2 missed \(\d+\)"))
    expect(button).to_be_visible(timeout=30_000)
    found = re.search(r"\((\d+)\)", button.inner_text())
    assert found
    button.click()
    expect(site.page).to_have_url(re.compile("/cases.*cohort=hop_missed"), timeout=30_000)
    main = site.page.locator("[data-testid=stMain]")
    expect(main).to_contain_text(f"{found[1]} cases of 68", timeout=30_000)
    other = site.page.context.new_page()
    other.goto(site.page.url)
    expect(other.locator("[data-testid=stMain]")).to_contain_text("hop 2 was not found", timeout=30_000)
    other.close()


def test_the_kind_of_a_type_moves_its_metric_and_lives_in_the_address(site: Site) -> None:
    site.open("retrieval?project=musique&k=3&unfolded=type_curves")
    site.page.get_by_text("Kind of each question type").click()
    picker = site.page.locator(".st-key-kind_multi-hop input")
    for _ in range(5):  # a rerun that is still on its way closes the list again
        site.settle()
        picker.click()
        picker.press_sequentially("single fact", delay=20)
        picker.press("Enter")
        site.settle()
        if "kinds=" in site.page.url:
            break
    expect(site.page).to_have_url(re.compile("kinds="), timeout=30_000)
    chart = site.page.locator(".st-key-type_lines .js-plotly-plot").last
    expect(chart).to_contain_text("MRR", timeout=30_000)
    other = site.page.context.new_page()
    other.goto(site.page.url)
    shown = other.locator(".st-key-type_lines .js-plotly-plot").last
    expect(shown).to_contain_text("MRR", timeout=30_000)
    other.close()
