"""The product in a real browser: what a newcomer does, and what a hostile file tries."""

from __future__ import annotations

import json
import re
from pathlib import Path

from browser_site import Site
from playwright.sync_api import expect

QUIET = "[data-testid=stApp][data-test-script-state=notRunning]"
HOSTILE = (
    '<script>window.hit=1</script><img src=x onerror="window.hit=1"> [link](javascript:window.hit=1) '
    "![pic](http://example.invalid/a.png) :red[red] $x$ <http://example.invalid>"
)


def _cases_of(site: Site, pattern: str) -> int:
    button = site.page.locator(f".st-key-open_{pattern} button").inner_text()
    return int(button.strip().replace(",", ""))


def test_moving_a_cutoff_changes_the_counts_and_the_address(site: Site) -> None:
    site.open(f"diagnosis?project=iris&run={site.run_id('iris', 'crag')}")
    before = _cases_of(site, "hallucination")
    slider = site.page.get_by_role("slider", name="Faithfulness threshold")
    slider.focus()
    for value in ("0.75", "0.7", "0.65", "0.6"):
        slider.press("ArrowLeft")
        expect(site.page).to_have_url(re.compile(f"faithfulness={value}(&|$)"), timeout=30_000)
        site.settle()
    assert _cases_of(site, "hallucination") < before
    site.page.go_back()
    site.settle()
    site.page.reload()
    site.settle()
    assert site.page.get_by_role("heading", level=1).is_visible()


def test_a_pattern_row_opens_exactly_its_cases_and_the_address_brings_them_back(site: Site) -> None:
    site.open(f"diagnosis?project=iris&run={site.run_id('iris', 'crag')}")
    count = _cases_of(site, "retrieval")
    site.page.locator(".st-key-open_retrieval button").click()
    expect(site.page.locator("h1")).to_contain_text(f"crag: {count} of 30 cases shown", timeout=30_000)
    site.settle()
    assert f"{count} cases of 30" in site.text()
    site.page.get_by_role("button", name="Next").click()
    site.settle()
    question = site.page.locator("h2.rt-question").inner_text()
    address = site.page.url
    assert "pattern=retrieval" in address
    assert "case=" in address
    other = site.page.context.new_page()
    other.goto(address)
    expect(other.locator("h2.rt-question")).to_have_text(question, timeout=30_000)


def test_labels_by_key_with_undo_and_not_while_typing(site: Site) -> None:
    run = site.run_id("iris", "hyde")
    site.open(f"cases?project=iris&run={run}")
    ledger = site.store.ledger
    name = site.page.get_by_label("Your name")
    site.page.keyboard.press("n")
    expect(name, "a key without a name leads to its box").to_be_focused(timeout=15_000)
    name.fill("pfuj")
    name.press("Enter")
    site.settle()
    assert ledger.labels(run) == [], "keys fired while typing"
    expect(name, "the name is asked for once").to_have_count(0)
    site.page.locator("h1").click()
    bar = site.page.locator(".st-key-case_bar")
    expect(bar).to_contain_text("1 of 30")
    site.page.keyboard.press("f")
    expect(bar, "labelling goes on to the next case").to_contain_text("2 of 30", timeout=15_000)
    labels = ledger.labels(run)
    assert [(one.annotator, one.verdict) for one in labels] == [("pfuj", "fail")]
    site.settle()
    site.page.keyboard.press("n")
    expect(site.page.get_by_label("Note", exact=True)).to_be_focused(timeout=15_000)
    site.page.keyboard.press("Escape")
    site.page.locator("h1").click()
    site.settle()
    site.page.keyboard.press("u")
    expect(bar, "undo goes back to the case").to_contain_text("1 of 30", timeout=15_000)
    assert ledger.labels(run) == []


def test_a_click_on_a_row_a_key_and_back_open_cases(site: Site) -> None:
    site.open(f"cases?project=iris&run={site.run_id('iris', 'colbert')}")
    bar, question = site.page.locator(".st-key-case_bar"), site.page.locator("h2.rt-question")
    expect(bar).to_contain_text("1 of 30")
    table = site.page.get_by_test_id("stDataFrame").first.bounding_box()
    assert table is not None
    row_3, row_height = table["y"] + 34 * 3.5, 34
    site.page.mouse.click(table["x"] + 300, row_3)
    expect(bar, "a click on the question").to_contain_text("3 of 30", timeout=15_000)
    third = question.inner_text()
    site.settle()
    site.page.keyboard.press("j")
    expect(bar).to_contain_text("4 of 30", timeout=15_000)
    site.settle()
    site.page.mouse.click(table["x"] + 60, row_3)
    expect(bar, "a click on the state, in the row that was clicked before").to_contain_text("3 of 30")
    site.settle()
    site.page.mouse.click(table["x"] + 60, row_3 + row_height)
    expect(bar).to_contain_text("4 of 30", timeout=15_000)
    site.settle()
    site.page.go_back()
    expect(bar).to_contain_text("3 of 30", timeout=15_000)
    site.page.reload()
    expect(question).to_have_text(third, timeout=30_000)
    expect(bar).to_contain_text("3 of 30")


def test_question_and_answer_stand_above_the_fold_and_documents_are_folded(site: Site) -> None:
    site.page.set_viewport_size({"width": 1440, "height": 900})
    site.open(f"cases?project=ragchecker&run={site.run_id('ragchecker', 'RAGChecker example')}")
    for part in ("h2.rt-question", ".rt-answer", ".rt-case li >> nth=-1"):
        box = site.page.locator(part).first.bounding_box()
        assert box is not None
        assert box["y"] + box["height"] < 900, part
    cards = site.page.locator("details.rt-card")
    opened = cards.evaluate_all("cards => cards.map(card => card.open)")
    used = cards.evaluate_all("cards => cards.map(card => card.classList.contains('rt-used'))")
    assert opened == used
    assert 0 < sum(opened) < len(opened)
    site.page.locator(".rt-case li a").first.click()
    assert "#document-" in site.page.url or cards.first.is_visible()


def test_a_chip_filters_by_state_and_shows_in_the_address(site: Site) -> None:
    site.open(f"cases?project=iris&run={site.run_id('iris', 'colbert')}")
    chip = site.page.get_by_test_id("stMain").get_by_text(re.compile(r"^Unfaithful \d+$")).first
    n = int(chip.inner_text().split()[-1])
    chip.click()
    expect(site.page.locator("h1")).to_contain_text(f"{n} of 30 cases shown", timeout=15_000)
    assert "stage=unfaithful" in site.page.url
    site.page.get_by_role("button", name="Clear filters").click()
    expect(site.page.locator("h1")).not_to_contain_text("shown", timeout=15_000)
    assert "stage=" not in site.page.url


def test_filters_search_and_clear(site: Site) -> None:
    site.open(f"cases?project=iris&run={site.run_id('iris', 'hyde')}")
    box = site.page.get_by_role("searchbox", name="Search")
    box.fill("STATINS")
    box.press("Enter")
    site.settle()
    assert "3 cases of 30" in site.text()
    assert "text=STATINS" in site.page.url
    site.page.get_by_role("button", name="Clear filters").click()
    site.settle()
    assert "30 cases of 30" in site.text()
    assert "text=" not in site.page.url


def test_three_versions_side_by_side(site: Site) -> None:
    versions = ",".join(site.run_id("iris", name) for name in ("crag", "hyde", "graphrag"))
    site.open(f"compare?project=iris&versions={versions}")
    legend = site.page.locator(".rt-legend").first
    for name in ("crag", "hyde", "graphrag"):
        expect(legend).to_contain_text(name)
    expect(site.page.locator(".rt-pair").first).to_contain_text("of the words are shared", timeout=30_000)
    site.page.get_by_role("tab", name="Numbers").click()
    expect(site.page.get_by_test_id("stMain")).to_contain_text("primary: pass rate", timeout=30_000)
    site.page.get_by_role("tab", name="Flow of failure stages").click()
    expect(site.page.get_by_test_id("stMain")).to_contain_text("n = 10 shared questions", timeout=30_000)


def test_an_uploaded_file_stands_beside_the_others_and_nothing_in_it_runs(site: Site, tmp_path: Path) -> None:
    file = tmp_path / "<img src=x onerror=window.hit=1>.jsonl"
    record = {
        "question": HOSTILE,
        "answer": f"answer {HOSTILE}",
        "retrieved": [{"id": HOSTILE, "text": f"document {HOSTILE}"}],
        "scores": {"faithfulness": 0.1, "answer_relevancy": 0.2, "context_recall": 0.9},
        "tags": {HOSTILE: HOSTILE},
    }
    others = [{**record, "question": f"{HOSTILE} {at}"} for at in range(6)]
    facts = {"ragtriage_run": {"name": HOSTILE}}
    file.write_text("\n".join(json.dumps(line) for line in [facts, *others]), encoding="utf-8")
    site.open("runs?project=iris")
    _upload(site, file)
    expect(site.page.get_by_text("Will be measured")).to_be_visible(timeout=20_000)
    project = site.page.get_by_label("Project", exact=True).last
    project.fill("hostile")
    project.press("Enter")
    site.settle()
    site.page.get_by_role("button", name="Load 1 file").click()
    expect(site.page.get_by_text("6 samples from ragtriage")).to_be_visible(timeout=20_000)
    run = site.store.runs("hostile")[0]
    for path in ("", "diagnosis", "cases", "compare", "runs"):
        site.open(f"{path}?project=hostile&run={run.run_id}")
        assert site.page.evaluate("window.hit") is None, path
        assert site.page.locator("[data-testid=stMain] a[href^='javascript']").count() == 0
        assert site.page.locator("[data-testid=stMain] img[src*='example']").count() == 0
        assert site.page.locator("[data-testid=stMain] a[href*='//example']").count() == 0
    site.open(f"cases?project=hostile&run={run.run_id}")
    assert "<script>window.hit=1</script>" in site.text(), "hostile text shows as text"


def _upload(site: Site, file: Path) -> None:
    """Upload a file in the dialog; a script that still runs could replace the uploader or the button."""
    site.page.get_by_role("button", name="Load runs").click()
    uploader = site.page.get_by_role("dialog").locator("[data-testid=stFileUploader]").first
    uploader.wait_for(timeout=30_000)
    site.settle()
    uploader.locator("input[type=file]").set_input_files(str(file))
    shown = site.page.get_by_role("dialog").get_by_test_id("stMarkdown").filter(has_text=file.suffix)
    expect(shown.first).to_be_visible(timeout=30_000)
    site.settle()


def test_a_bad_upload_says_what_is_wrong_and_loads_nothing(site: Site, tmp_path: Path) -> None:
    file = tmp_path / "bad.jsonl"
    file.write_text('{"question": "fine?"}\n{"question": ["a list"]}\n', encoding="utf-8")
    before = len(site.store.runs())
    site.open("runs?project=iris")
    _upload(site, file)
    expect(site.page.locator("body")).to_contain_text("accepted: text", timeout=30_000)
    expect(site.page.get_by_role("dialog").get_by_role("button", name="Load 0 files")).to_be_disabled()
    expect(site.page.locator("body")).to_contain_text("bad.jsonl")
    assert len(site.store.runs()) == before


def test_the_theme_can_be_switched_by_hand(site: Site) -> None:
    site.open("?project=iris")
    background = "getComputedStyle(document.querySelector('[data-testid=stApp]')).backgroundColor"
    light = site.page.evaluate(background)
    site.page.locator("[data-testid=stMainMenu] button, button[data-testid=stMainMenuButton]").first.click()
    site.page.get_by_test_id("stMainMenuItem-theme-Dark").first.click()
    site.page.wait_for_timeout(800)
    assert site.page.evaluate(background) != light


def test_colbert_is_flagged_on_screen(site: Site) -> None:
    site.open(f"?project=iris&run={site.run_id('iris', 'colbert')}")
    assert "Doubted: every question got the same 10 documents" in site.text()
    site.page.get_by_role("tab", name="Findings").click()
    shown = site.page.get_by_test_id("stMain")
    expect(shown).to_contain_text("context precision is 0 in every case", timeout=30_000)
    expect(shown).to_contain_text("context_precision and context_recall disagree")
