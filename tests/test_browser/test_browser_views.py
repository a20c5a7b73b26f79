"""The diagnostic views in a real browser: the main click of each, and an address that gives the view back."""

from __future__ import annotations

import json
import re
from pathlib import Path
from urllib.parse import quote

import pytest
from browser_site import Site
from playwright.sync_api import Locator, expect

from ragtriage.data.api import add_run
from ragtriage.data.importers.importer import Options
from ragtriage.data.importers.load import import_source
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.scoring.run_store import RunStore


def _chart(site: Site, key: str) -> Locator:
    chart = site.page.locator(f".st-key-{key} .js-plotly-plot")
    expect(chart).to_be_visible(timeout=30_000)
    chart.scroll_into_view_if_needed()
    site.page.wait_for_timeout(500)
    return chart


def _click_point(site: Site, key: str, trace: int, point: int) -> None:
    """Click where a chart draws a point of a trace."""
    chart = _chart(site, key)
    place = chart.evaluate(
        """(plot, [trace, point]) => {
            const calc = plot.calcdata[trace][point], layout = plot._fullLayout;
            const x = layout.xaxis.c2p(calc.p ?? calc.x);
            const y = layout.yaxis.c2p(calc.s === undefined ? calc.y : calc.s / 2);
            const box = plot.querySelector('.nsewdrag').getBoundingClientRect();
            return [box.left + x, box.top + y];
        }""",
        [trace, point],
    )
    site.page.mouse.move(*place)
    site.page.wait_for_timeout(200)
    site.page.mouse.click(*place)


def test_a_cell_of_the_grid_opens_its_cases(site: Site) -> None:
    site.open("chunking?project=state_of_the_union")
    chart = _chart(site, "heatmap_span_recall")
    (run_id,) = chart.evaluate("plot => plot._fullData[1].customdata[0]")
    size, overlap = chart.evaluate(
        """plot => {
            const cells = plot._fullData[1], layout = plot._fullLayout;
            return [layout.xaxis.ticktext[cells.x[0]], layout.yaxis.ticktext[cells.y[0]]];
        }"""
    )
    _click_point(site, "heatmap_span_recall", 1, 0)
    expect(site.page).to_have_url(re.compile(f"/cases.*run={run_id}"), timeout=30_000)
    heading = site.page.get_by_role("heading", level=1)
    expect(heading).to_contain_text(f"{size} / {overlap} tokens", timeout=30_000)
    passing = re.sub(r"&case=[^&]*", "", site.page.url) + "&bad=no"  # the worst case misses all of its gold
    site.page.goto(passing)
    gold = site.page.locator(".rt-gold, .rt-goldused").first
    expect(gold).to_be_visible(timeout=30_000)  # marked inside a chunk


def test_metric_and_budget_of_a_grid_live_in_the_address(site: Site) -> None:
    site.open("chunking?project=state_of_the_union&budget=500&shown_metric=span_iou")
    other = site.page.context.new_page()
    other.goto(site.page.url)
    for page in (site.page, other):
        expect(page.get_by_text("Span IoU in 500 tokens").first).to_be_visible(timeout=30_000)
    other.close()


def test_a_grid_runs_from_the_form_and_is_told_when_done(site: Site, tmp_path: Path) -> None:
    text = "\n\n".join(f"Town {at} has {at} bridges over its river." for at in range(30))
    (tmp_path / "towns.md").write_text(text)
    start = text.index("has 7 bridges")
    row = {
        "question": "Which town has 7?",
        "relevant_spans": [{"doc_id": "towns", "start": start, "end": start + 13}],
    }
    (tmp_path / "q.jsonl").write_text(json.dumps(row))
    site.open("chunking?project=musique")
    fields = {
        "Corpus: a folder or file on this machine": str(tmp_path / "towns.md"),
        "Questions with gold spans: a file on this machine": str(tmp_path / "q.jsonl"),
        "Sizes": "10, 20",
        "Overlaps": "0, 5",
        "Project": "towns in the browser",
    }
    form = site.page.locator("[data-testid=stForm]")
    for label, value in fields.items():
        form.get_by_label(label, exact=True).fill(value)
    form.get_by_role("button", name="Run the grid").click()
    expect(site.page.get_by_text("4 of 4 configurations").first).to_be_visible(timeout=60_000)
    assert len(RunStore(site.store.workspace).runs("towns in the browser")) == 4


def test_a_bar_of_retrieval_opens_its_cases(site: Site) -> None:
    site.open("retrieval?project=musique&k=3")
    bar = _chart(site, "gold_ranks").locator(".barlayer .point path").nth(1)
    bar.scroll_into_view_if_needed()
    site.page.wait_for_timeout(500)
    box = bar.bounding_box()
    assert box is not None
    site.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    expect(site.page).to_have_url(re.compile("/cases.*cohort=hop_at"), timeout=30_000)
    main = site.page.locator("[data-testid=stMain]")
    expect(main).to_contain_text("hop 1 is at rank 2", timeout=30_000)
    other = site.page.context.new_page()
    other.goto(site.page.url)
    expect(other.locator("[data-testid=stMain]")).to_contain_text("is at rank 2", timeout=30_000)
    other.close()
    site.page.get_by_role("button", name="Clear filters").click()
    expect(main).to_contain_text("68 cases of 68", timeout=30_000)


def test_the_k_in_use_moves_the_view_and_its_address(site: Site) -> None:
    site.open("retrieval?project=musique")
    box = site.page.get_by_test_id("stNumberInputField")
    box.fill("3")
    box.press("Enter")
    expect(site.page).to_have_url(re.compile("k=3(&|$)"), timeout=30_000)
    expect(site.page.get_by_role("heading", level=1)).to_contain_text("the top 3", timeout=30_000)
    site.page.reload()
    expect(site.page.get_by_test_id("stNumberInputField")).to_have_value("3", timeout=30_000)


def test_a_version_of_alignment_opens_its_cases(site: Site) -> None:
    site.open("alignment?project=mtrag")
    chart = _chart(site, "version_rates")
    run_id = chart.evaluate("plot => plot._fullData[0].customdata[1][0]")
    _click_point(site, "version_rates", 0, 1)
    expect(site.page).to_have_url(re.compile(f"/cases.*run={run_id}.*cohort=ignored_top"), timeout=30_000)
    main = site.page.locator("[data-testid=stMain]")
    expect(main).to_contain_text("ignores the top-ranked document", timeout=30_000)


def test_our_point_among_published_ones_opens_its_cases(site: Site) -> None:
    site.open("benchmarks?project=ragchecker&against=ragchecker_clapnq%3A2")
    box = site.page.get_by_role("combobox", name="Against")
    expect(box.or_(site.page.get_by_text("E5-Mistral + GPT-4").first).first).to_be_visible(timeout=30_000)
    site.page.get_by_text("All published rows").click()
    ours = _chart(site, "dots").evaluate("plot => plot._fullData.length") - 1
    metric = _chart(site, "dots").evaluate("plot => plot._fullData.at(-1).customdata[0][0]")
    _click_point(site, "dots", ours, 0)
    expect(site.page).to_have_url(re.compile(f"/cases.*sort={metric}"), timeout=30_000)


def test_a_pair_of_an_effect_is_compared(site: Site) -> None:
    base, other = (site.run_id("state_of_the_union", name) for name in ("128 / 0 tokens", "256 / 0 tokens"))
    site.open(f"compare?project=state_of_the_union&baseline={base}&run={other}&versions={other}")
    site.page.get_by_role("tab", name="Factors").click()
    expect(_chart(site, "effects")).to_contain_text("chunk_size: 128 → 256", timeout=30_000)
    table = site.page.locator(".st-key-effects_table")
    table.scroll_into_view_if_needed()
    box = table.bounding_box()
    assert box is not None
    site.page.mouse.click(box["x"] + 18, box["y"] + 52)  # the mark of the first row
    pair = site.page.get_by_role("button", name="128 / 0 tokens → 256 / 0 tokens")
    expect(pair).to_be_visible(timeout=30_000)
    pair.click()
    expect(site.page).to_have_url(re.compile(f"baseline={base}.*other={other}"), timeout=30_000)


def test_a_version_without_samples_is_explained_everywhere(site: Site) -> None:
    for page in ("", "cases", "alignment"):
        site.open(f"{page}?project=version%20history")
        expect(site.page.get_by_role("heading", level=1)).to_contain_text(
            "summary scores only", timeout=30_000
        )
    site.page.get_by_role("link", name=re.compile("Benchmarks")).last.click()
    expect(site.page).to_have_url(re.compile("/benchmarks"), timeout=30_000)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("page", ["retrieval", "chunking", "alignment", "benchmarks", "compare"])
def test_the_views_fit_a_narrow_window_in_both_themes(site: Site, page: str, theme: str) -> None:
    site.page.set_viewport_size({"width": 1024, "height": 900})
    site.page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
    project = {"retrieval": "musique", "alignment": "iris", "benchmarks": "ragchecker"}.get(
        page, "state_of_the_union"
    )
    site.open(f"{page}?project={project}")
    expect(site.page.locator(".js-plotly-plot").first).to_be_visible(timeout=30_000)
    assert site.page.locator("[data-testid=stException]").count() == 0
    wide = site.page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth")
    assert wide <= 1024


HOSTILE = (
    '<script>window.hit=1</script><img src=x onerror="window.hit=1"> [l](javascript:window.hit=1) :red[r] $x$'
)


def test_nothing_in_names_settings_types_and_files_runs(site: Site) -> None:
    root = str(site.store.workspace.root)
    for size in (128, 256):
        gold = {"id": HOSTILE, "hop": HOSTILE}
        record = {
            "question": HOSTILE,
            "answer": HOSTILE,
            "query_type": HOSTILE,
            "retrieved": [{"id": HOSTILE, "text": HOSTILE}],
            "candidates": [{"id": "a"}, {"id": HOSTILE}],
            "relevant": [gold, {"id": "missing", "hop": f"2 {HOSTILE}"}],
            "scores": {"faithfulness": size / 512, HOSTILE: 0.5},
            "latency_ms": float(size),
        }
        others = [
            {**record, "question": f"{HOSTILE} {at}", "query_type": f"{HOSTILE}{at % 2}"} for at in range(4)
        ]
        config = {"chunk_size": size, "chunk_overlap": 0, HOSTILE: f"{HOSTILE} {size}", "grid_title": HOSTILE}
        add_run(others, f"{HOSTILE} {size}", HOSTILE, root, config, HOSTILE)
    versions = InputFile.from_bytes(
        "v.csv", f'version,f1,faithfulness\n"{HOSTILE.replace(chr(34), "")}",5,0.0\n'.encode()
    )
    import_source(site.store, versions, Options(), HOSTILE)
    folder = site.store.workspace.root / "benchmarks"
    folder.mkdir(exist_ok=True)
    row = {"name": HOSTILE, "values": {"faithfulness": 50.0}}
    told = {"title": HOSTILE, "source": HOSTILE, "date": HOSTILE, "unit": "percent", "rows": [row]}
    (folder / "hostile.json").write_text(json.dumps(told))
    (folder / "broken.json").write_text(json.dumps({**told, "unit": HOSTILE}))
    try:
        for page in ("retrieval", "chunking", "alignment", "benchmarks", "compare", "runs", ""):
            site.open(f"{page}?project={quote(HOSTILE)}")
            expect(site.page.get_by_role("heading", level=1).first).to_be_visible(timeout=30_000)
            assert site.page.evaluate("window.hit") is None, page
            assert site.page.locator("[data-testid=stException]").count() == 0, page
            main = site.page.locator("[data-testid=stMain]")
            assert main.locator("a[href^='javascript']").count() == 0, page
            assert main.locator("img[src='x']").count() == 0, page
    finally:
        (folder / "hostile.json").unlink()
        (folder / "broken.json").unlink()


def test_a_cell_of_the_confusion_matrix_opens_its_cases(site: Site) -> None:
    site.open("checks?project=clinc_router")
    chart = _chart(site, "router_chart")
    (cohort,) = chart.evaluate("plot => plot._fullData[1].customdata[0]")
    _click_point(site, "router_chart", 1, 0)
    expect(site.page).to_have_url(re.compile(r"/cases.*cohort=route"), timeout=30_000)
    expect(site.page.get_by_text("Only cases where")).to_be_visible(timeout=30_000)
    assert re.fullmatch(r"route:[\w%]+>[\w%]+", cohort)


def test_triage_has_an_address_that_can_be_typed(site: Site) -> None:
    site.open("triage?project=state_of_the_union")
    expect(site.page).to_have_url(re.compile(r"/\?project=state_of_the_union"), timeout=30_000)
    expect(site.page.get_by_role("heading", level=1)).to_be_visible(timeout=30_000)
    expect(site.page.get_by_text("Page not found")).to_have_count(0)


def test_the_open_tab_lives_in_the_address(site: Site) -> None:
    site.open("diagnosis?project=handbook")
    tab = site.page.get_by_role("tab", name="Order of the stages")
    tab.click()
    expect(site.page).to_have_url(re.compile("[?&]tab=order"), timeout=30_000)
    other = site.page.context.new_page()
    other.goto(site.page.url)
    expect(other.get_by_role("tab", name="Order of the stages")).to_have_attribute(
        "aria-selected", "true", timeout=30_000
    )
    other.close()
    site.page.get_by_role("tab", name="Refusals").click()
    expect(site.page).to_have_url(re.compile("[?&]tab=refusals"), timeout=30_000)
    site.settle()
    site.page.go_back()
    expect(tab).to_have_attribute("aria-selected", "true", timeout=30_000)
    site.page.get_by_role("link", name="Compare").first.click()
    expect(site.page).to_have_url(re.compile("/compare"), timeout=30_000)
    expect(site.page.get_by_role("tab", name="Every question")).to_have_attribute(
        "aria-selected", "true", timeout=30_000
    )
    assert "tab=" not in site.page.url
