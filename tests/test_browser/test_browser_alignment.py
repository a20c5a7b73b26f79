"""The Alignment page in a real browser: points lead to their cases, and an address gives the view back."""

from __future__ import annotations

import re

from browser_site import Site
from playwright.sync_api import expect

from ragtriage.data.api import add_run

PROJECT = "two origins"


def _load(site: Site) -> None:
    """Six judged answers, of which two ignore rank 1, and six imported ones, of which four do."""
    records = []
    for at in range(12):
        origin, least = ("judge", 2) if at < 6 else ("imported", 4)
        rank = 2 if at % 6 < least else 1
        records.append(
            {
                "question_id": f"q{at}",
                "question": f"Question {at}?",
                "answer": "An answer.",
                "retrieved": [{"id": one, "text": one} for one in "abc"],
                "used": [{"rank": rank}],
                "used_source": origin,
            }
        )
    add_run(records, "run", PROJECT, str(site.store.workspace.root))


def _click_point(site: Site, key: str, trace: int, point: int) -> None:
    chart = site.page.locator(f".st-key-{key} .js-plotly-plot")
    expect(chart).to_be_visible(timeout=30_000)
    chart.scroll_into_view_if_needed()
    site.page.wait_for_timeout(500)
    place = chart.evaluate(
        """(plot, [trace, point]) => {
            const calc = plot.calcdata[trace][point], layout = plot._fullLayout;
            const box = plot.querySelector('.nsewdrag').getBoundingClientRect();
            return [box.left + layout.xaxis.c2p(calc.x), box.top + layout.yaxis.c2p(calc.y)];
        }""",
        [trace, point],
    )
    site.page.mouse.move(*place)
    site.page.wait_for_timeout(200)
    site.page.mouse.click(*place)


def test_a_mark_opens_the_cases_of_its_origin_alone(site: Site) -> None:
    _load(site)
    site.open("alignment?project=two%20origins")
    _click_point(site, "version_rates", 1, 0)  # judged is the first trace, imported the second
    expect(site.page).to_have_url(re.compile("/cases.*cohort=ignored_top%3Aimported"), timeout=30_000)
    main = site.page.locator("[data-testid=stMain]")
    expect(main).to_contain_text("4 cases of 12", timeout=30_000)
    expect(main).to_contain_text("ignores the top-ranked document (imported)", timeout=30_000)


def test_a_point_over_k_opens_its_cases(site: Site) -> None:
    _load(site)
    site.open("alignment?project=two%20origins&source=imported&k=1")
    site.page.get_by_role("tab", name="Over k").click()
    _click_point(site, "k_lines", 1, 0)  # deep reliance at 1
    expect(site.page).to_have_url(re.compile("/cases.*cohort=deep%3A1%3Aimported"), timeout=30_000)
    expect(site.page.locator("[data-testid=stMain]")).to_contain_text("4 cases of 12", timeout=30_000)


def test_the_address_gives_origin_and_k_back_in_a_new_window(site: Site) -> None:
    _load(site)
    site.open("alignment?project=two%20origins&source=imported&k=2")
    other = site.page.context.new_page()
    other.goto(site.page.url)
    for page in (site.page, other):
        main = page.locator("[data-testid=stMain]")
        page.get_by_role("tab", name="Over k").click(timeout=30_000)
        expect(main).to_contain_text("67 % of the answers ignore the top-ranked document", timeout=30_000)
        expect(main).to_contain_text("wasted context@2: 50 %", timeout=30_000)
    other.close()


def test_a_citation_of_a_case_points_at_its_document(site: Site) -> None:
    """By keyboard as by mouse; a citation of nothing is not a link."""
    documents = [{"id": "a", "text": "Cats purr loudly."}, {"id": "b", "text": "Dogs bark at night."}]
    answer = "Cats purr loudly [1]. Dogs bark at night [2] [9]."
    record = {"question_id": "q", "question": "What do they do?", "answer": answer, "retrieved": documents}
    add_run([record], "cites", "citations", str(site.store.workspace.root))
    site.open("cases?project=citations")
    card = site.page.locator(".rt-card", has=site.page.locator("#document-2"))
    link = site.page.get_by_role("link", name="citation 2: supports it, document 2")
    expect(link).to_be_visible(timeout=30_000)
    assert card.evaluate("card => getComputedStyle(card).outlineStyle") == "none"
    link.focus()
    site.page.keyboard.press("Shift+Tab")
    site.page.keyboard.press("Tab")
    assert card.evaluate("card => getComputedStyle(card).outlineStyle") == "solid"
    site.page.mouse.move(0, 0)
    site.page.keyboard.press("Tab")
    assert card.evaluate("card => getComputedStyle(card).outlineStyle") == "none"
    link.hover()
    assert card.evaluate("card => getComputedStyle(card).outlineStyle") == "solid"
    expect(site.page.get_by_text("9 ✕ not in the context")).to_be_visible()
    assert site.page.get_by_role("link", name="9").count() == 0
