"""In a browser: a part of F1 leads to its cases, and the evaluation plan follows its use case."""

from __future__ import annotations

from browser_site import Site
from playwright.sync_api import expect

from ragtriage.data.cases.cohorts import cohort_rows


def test_the_largest_part_of_f1_opens_its_cases(site: Site) -> None:
    run = site.store.find("V1 baseline")
    n = int(cohort_rows(site.store.scored(run), "f1:noise_relevant").sum())
    site.open(f"?project=handbook&run={run.run_id}")
    site.page.get_by_role("tab", name="Why F1").click()
    site.page.get_by_text("true or not: read the cases before repairing").wait_for(timeout=60_000)
    site.page.get_by_role("button", name=f"Open its {n} cases").click()
    site.page.wait_for_url("**/cases**", timeout=60_000)
    site.page.get_by_text("F1 lost to noise from relevant documents").first.wait_for(timeout=60_000)
    assert "cohort=f1%3Anoise_relevant" in site.page.url or "cohort=f1:noise_relevant" in site.page.url


def test_the_plan_follows_the_use_case(site: Site) -> None:
    site.open("runs?project=handbook&use_case=regulated")
    site.page.get_by_role("tab", name="What to measure next").click()
    expect(site.page.get_by_text("Regulated, handbook:")).to_be_visible(timeout=60_000)
