"""Checks and Experiments in a browser: a click chooses, the address keeps it; empty pages are under More."""

from __future__ import annotations

import re

from browser_site import Site
from playwright.sync_api import expect


def test_the_chosen_suite_and_tab_live_in_the_address(site: Site) -> None:
    site.open("checks?project=memory")
    site.page.get_by_role("button", name="Isolation", exact=True).click()
    expect(site.page).to_have_url(re.compile("suite=isolation"), timeout=30_000)
    changed = re.compile("changed since")
    site.page.get_by_role("tab", name=changed).click()
    expect(site.page).to_have_url(re.compile("tab=changes"), timeout=30_000)
    other = site.page.context.new_page()
    other.goto(site.page.url)
    expect(other.get_by_role("tab", name=changed)).to_have_attribute("aria-selected", "true", timeout=30_000)
    other.close()
    site.page.go_back()
    usual = site.page.get_by_role("tab", name="Failing checks")
    expect(usual).to_have_attribute("aria-selected", "true", timeout=30_000)


def test_a_click_shows_another_experiment(site: Site) -> None:
    site.open("experiments?project=experiments")
    site.page.get_by_role("button", name="Stability", exact=True).click()
    headline = site.page.get_by_role("heading", level=1)
    expect(headline).to_contain_text("of the questions flips", timeout=30_000)


def test_pages_without_content_are_under_more(site: Site) -> None:
    site.open("?project=tau-bench")
    sidebar = site.page.locator("[data-testid=stSidebar]")
    expect(sidebar.get_by_role("link", name="Checks")).to_be_visible(timeout=30_000)
    expect(sidebar.get_by_role("link", name="Judge")).not_to_be_visible()
    sidebar.get_by_text("More", exact=True).click()
    sidebar.get_by_role("link", name="Judge").click()
    expect(site.page).to_have_url(re.compile("/judge"), timeout=30_000)
    expect(site.page.get_by_text("Open the example")).to_be_visible(timeout=30_000)
