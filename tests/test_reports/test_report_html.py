"""The report as one HTML file: nothing fetched, nothing from outside runs, everything is in it."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from made_reports import HOSTILE, LONG_ANSWER, bars, full_report, long_rows, many_points, table
from playwright.sync_api import Browser
from plotly.offline import get_plotlyjs_version

from ragtriage.dashboard.charts.chart import finite
from ragtriage.dashboard.present.export.html_report import html_report, paper_report
from ragtriage.dashboard.present.stories.story import RenderedSection
from ragtriage.metrics.result_table import Row


@pytest.fixture(scope="module")
def page() -> str:
    return html_report(full_report())


def _scripts(page: str) -> list[str]:
    return re.findall(r"<script>(.*?)</script>", page, re.DOTALL)


def _downloads(page: str) -> dict[str, list[dict[str, str]]]:
    found = re.findall(r'download="([^"]+)" href="data:text/csv;charset=utf-8;base64,([^"]+)"', page)
    texts = {name: base64.b64decode(held).decode("utf-8-sig") for name, held in found}
    return {name: list(csv.DictReader(io.StringIO(text))) for name, text in texts.items()}


def test_the_drawing_library_is_in_the_file_once_and_its_digest_is_the_only_leave_to_run(page: str) -> None:
    scripts = _scripts(page)
    assert len(scripts) == 2
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]+)"', page)
    assert policy is not None
    for script in scripts:
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy.group(1)
    assert "default-src 'none'" in policy.group(1)
    assert "connect-src 'none'" in policy.group(1)
    assert "script-src 'unsafe" not in policy.group(1)
    assert page.count("* plotly.js (cartesian - minified) v") == 1


def test_the_drawing_library_is_of_the_version_that_writes_the_figures(page: str) -> None:
    version = re.search(r"plotly\.js \(cartesian - minified\) v([\d.]+)", page)
    assert version is not None
    assert version[1] == get_plotlyjs_version(), "npm pack plotly.js-cartesian-dist-min@VERSION has the file"


def test_every_kind_of_trace_in_a_report_is_drawn_by_the_library(page: str) -> None:
    figures = re.findall(r'<script type="application/json" id="figure-\d+">(.*?)</script>', page, re.DOTALL)
    kinds = {trace.get("type", "scatter") for figure in figures for trace in json.loads(figure)["data"]}
    assert kinds == {"bar", "scatter", "heatmap"}
    assert all(f'name:"{kind}"' in _scripts(page)[0] for kind in kinds)


def test_no_text_from_outside_is_markup(page: str) -> None:
    assert "<script>alert" not in page
    assert "<img src=x" not in page
    assert not re.search("[\x00-\x08\x0b-\x1f\u202e]", page.replace(_scripts(page)[0], ""))
    assert page.count("&lt;script&gt;alert(1)&lt;/script&gt;") >= 4  # question, context, heading, note, fact


def test_a_report_without_charts_holds_no_script() -> None:
    page = html_report(full_report([RenderedSection("text", "Words", note="alone")]))
    assert _scripts(page) == []
    assert "script-src 'none'" in page
    assert len(page) < 30_000


def test_counts_stay_on_one_line() -> None:
    rows: list[Row] = [{"Gate": "Faithfulness", "n": "3 of 3"}, {"Gate": "F1", "n": "1,000 of 2,000"}]
    page = html_report(full_report([RenderedSection("gates", "Gates", table=table(rows))]))
    assert '<td class="count">3 of 3</td>' in page
    assert "td.count { white-space: nowrap; }" in page


def test_every_link_leads_to_a_place_in_the_page(page: str) -> None:
    body = page.partition("<body>")[2]
    targets = set(re.findall(r' id="([^"]+)"', body))
    links = set(re.findall(r'href="#([^"]+)"', body))
    assert {"section-1", "section-11", "numbers", "case-10-1-document-1"} <= links
    assert links <= targets
    assert len(re.findall(r' id="case-10-1-document-1"', body)) == 1


def test_the_data_behind_a_chart_can_be_saved(page: str) -> None:
    files = _downloads(page)
    rows = files["section-5-chart.csv"]
    at_five = next(row for row in rows if row["series"] == "Recall" and row["k"] == "5")
    assert float(at_five["mean over questions"]) == pytest.approx(0.6)
    assert (float(at_five["low"]), float(at_five["high"])) == pytest.approx((0.56, 0.63))
    assert at_five["n"] == "1005"
    assert [row["bad cases"] for row in files["section-3-chart.csv"]] == ["412", "120", "1234"]


def test_cells_that_a_spreadsheet_would_run_are_neutralised_names_too(page: str) -> None:
    files = _downloads(page)
    assert files["section-1-table.csv"] == [{"Metric": "Faithfulness", "Mean": "0.78", "'=SUM(A1)": "'+0.1"}]
    cells = [cell for rows in files.values() for row in rows for cell in [*row, *row.values()]]
    numbers = re.compile(r"-?\d+(\.\d+)?(e-?\d+)?$")
    assert not [cell for cell in cells if cell[:1] in tuple("=+-@\t\r") and cell and not numbers.match(cell)]
    assert any(cell.startswith("'=cmd") for cell in cells)


def test_a_chosen_case_is_there_in_full(page: str) -> None:
    assert LONG_ANSWER in re.sub(r"<[^<>]*>", "", page[page.index('id="case-10-2"') :])
    first = page[page.index('id="case-10-1"') : page.index('id="case-10-2"')]
    for text in (
        "Привет",
        "你好",
        "谁写的？",
        "Лев Толстой",
        "战争与和平是列夫",
        "lang: ru",
        "as the reference",
    ):
        assert text in first
    for verdict in ("supported · right", "not in the context", "contradicted"):
        assert verdict in first
    assert "<summary>2 documents, as ranked</summary>" in first
    assert "0.500" in first


def test_facts_caveats_and_commands_close_the_report(page: str) -> None:
    last = page[page.index('<section id="numbers">') :]
    assert "abcdef123456" in last
    assert "120 answers were not scored." in last
    assert "ragtriage metrics abcdef123456 --k 1,5\nragtriage gate abcdef123456" in last


def test_numbers_are_rounded_and_the_chart_is_left_as_it_was() -> None:
    chart = bars()
    thirds = replace(chart.series[0], x=finite([1 / 3, float("nan")]))
    chart = replace(chart, series=(thirds,))
    before = str(chart)
    page = html_report(full_report([RenderedSection("x", "x", chart=chart)]))
    held = re.search(r'<script type="application/json" id="figure-1">(.*?)</script>', page, re.DOTALL)
    assert held is not None
    assert json.loads(held.group(1))["data"][0]["x"] == [0.333333, None]
    assert str(chart) == before


def test_long_data_is_shown_in_part_and_saved_whole() -> None:
    page = html_report(full_report([RenderedSection("x", "x", chart=many_points(500))]))
    assert "300 more rows are in the CSV" in page
    assert len(_downloads(page)["section-1-chart.csv"]) == 500


def test_paper_opens_the_context_for_engineers_and_its_beginning_for_others() -> None:
    made = full_report().sections[9]
    engineer = paper_report(full_report([made], audience="engineer"))
    stakeholder = paper_report(full_report([made], audience="stakeholder"))
    assert "<details open><summary>all 1,120 characters" in engineer
    assert "<details><summary>all 1,120 characters" in stakeholder
    assert "documents, as ranked" not in stakeholder


def test_a_case_that_cannot_be_read_says_so_and_shows_what_it_has() -> None:
    page = html_report(
        full_report([RenderedSection("cases", "x", cases=[{"question": "why?", "retrieved": 5}])])
    )
    assert "cannot be read in full" in page
    assert "why?" in page


@pytest.mark.browser
def test_opened_from_disk_it_asks_for_nothing_and_draws(browser: Browser, tmp_path: Path, page: str) -> None:
    file = tmp_path / "report.html"
    file.write_text(page, encoding="utf-8")
    context = browser.new_context(color_scheme="dark", accept_downloads=True)
    tab = context.new_page()
    asked: list[str] = []
    said: list[str] = []
    tab.on("request", lambda one: asked.append(one.url))
    tab.on("console", lambda one: said.append(one.text) if one.type in ("error", "warning") else None)
    tab.on("pageerror", lambda one: said.append(str(one)))
    tab.goto(file.as_uri())
    for at in range(2, 8):
        tab.locator(f"#section-{at}").scroll_into_view_if_needed()
        tab.wait_for_selector(f"#section-{at} .chart .main-svg", timeout=20_000)
    assert asked == [file.as_uri()]
    assert said == []
    assert tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(17, 24, 31)"
    tab.locator("#section-3 details > summary").click()
    with tab.expect_download() as saving:
        tab.locator("#section-3 a[download]").click()
    assert saving.value.suggested_filename == "section-3-chart.csv"
    assert "不忠实的回答" in Path(saving.value.path()).read_text(encoding="utf-8-sig")
    refused = tab.evaluate("fetch('https://example.org/').then(() => 'sent', () => 'refused')")
    assert refused == "refused"
    context.close()


@pytest.mark.browser
def test_nothing_is_wider_than_a_small_screen(browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    file.write_text(
        html_report(full_report([RenderedSection("x", "W" * 300, HOSTILE * 3, table=table(long_rows(5)))])),
        "utf-8",
    )
    context = browser.new_context(viewport={"width": 390, "height": 800})
    tab = context.new_page()
    tab.goto(file.as_uri())
    assert tab.evaluate("document.documentElement.scrollWidth") <= 390
    context.close()


def test_what_was_not_measured_is_a_list() -> None:
    report = full_report()
    lacking = RenderedSection("f1", "Why is F1 low, and what would a fix bring?", "", measured=False)
    page = html_report(replace(report, sections=(*report.sections, lacking)))
    assert "<p>Not measured, so left out:</p>" in page
    assert "<li>Why is F1 low, and what would a fix bring?</li>" in page
