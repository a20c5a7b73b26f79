"""From a folder of documents to a gate, in a browser: make a set, read it, freeze it, gate a run on it."""

import json
from pathlib import Path

import pytest
from browser_site import Site, serving, visiting
from command_line import run
from handbook_items import FOLDER
from made_datasets import MakingService
from playwright.sync_api import Browser, expect

from ragtriage.data.datasets.dataset import datasets
from ragtriage.data.datasets.review import read_draft
from ragtriage.data.scoring.run_store import RunStore, open_store

PATIENCE = 120_000  # milliseconds, on a busy machine
QUESTIONS = 4


def _fill(site: Site, key: str, text: str) -> None:
    box = site.page.locator(f".st-key-{key} input")
    box.fill(text)
    box.press("Enter")
    site.settle()


def _make(site: Site) -> None:
    site.open("datasets")
    expect(site.page.locator("h1")).to_contain_text("Make a first test set", timeout=PATIENCE)
    site.page.locator(".st-key-make_corpus input").fill(str(FOLDER / "corpus"))
    site.page.locator(".st-key-make_n input").fill(str(QUESTIONS))
    site.page.locator(".st-key-make_mix input").fill("single=1")
    site.page.get_by_role("button", name="Show the plan").click()
    site.page.locator(".st-key-make_start button").click(timeout=PATIENCE)
    made = f"0 of {QUESTIONS} questions reviewed"
    expect(site.page.locator("h1")).to_contain_text(made, timeout=PATIENCE)


def _read(site: Site) -> None:
    site.open("datasets?part=review")
    _fill(site, "annotator_name", "Ann")
    for number in range(1, QUESTIONS + 1):
        site.page.keyboard.press("a")
        done = f"{number} of" if number < QUESTIONS else f"All {number} read"
        expect(site.page.locator("h1")).to_contain_text(done, timeout=PATIENCE)
        site.settle()


def _freeze(site: Site) -> None:
    site.open("datasets?part=versions")
    name = site.page.locator(".st-key-annotator_name input")
    if name.count():  # a new address is a new session
        _fill(site, "annotator_name", "Ann")
    site.page.locator(".st-key-freeze button").click(timeout=PATIENCE)
    expect(site.page.locator("h1")).to_contain_text("v1", timeout=PATIENCE)


def _answers(store: RunStore, path: Path) -> None:
    """Write the answers of a system that finds every gold passage and says what stands in the reference."""
    (dataset,) = datasets(store.workspace)
    items = read_draft(dataset).golden
    rows = [
        {
            "question_id": item.question_id,
            "question": item.question,
            "answer": item.answer,
            "retrieved": [
                {
                    "id": span.doc_id,
                    "text": span.quote,
                    "doc_id": span.doc_id,
                    "start": span.start,
                    "end": span.end,
                }
                for span in item.spans
            ],
        }
        for item in items
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_from_make_to_gate(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    store = open_store(str(tmp_path / "workspace"), create=True)
    with MakingService() as service:
        key = {"ANTHROPIC_API_KEY": "sk-test-secret", "ANTHROPIC_BASE_URL": service.url}
        with serving(store.workspace.root, key) as url, visiting(browser, url, store) as site:
            _make(site)
            _read(site)
            _freeze(site)
            _answers(store, tmp_path / "answers.jsonl")
            root = store.workspace.root
            grid = run(capsys, root, "grid", "--questions", "corpus v1", "--sizes", "256", "--overlaps", "0",
                "--project", "trials")  # fmt: skip
            assert grid.code == 0, grid.err
            file = str(tmp_path / "answers.jsonl")
            words = ("import", file, "--questions", "corpus v1", "--project", "live", "--name", "first")
            imported = run(capsys, root, *words)
            assert imported.code == 0, imported.err
            gate = run(capsys, root, "gate", "first", "--json")
            # every answer is right, and four are too few to ship on
            assert gate.code == 3, gate.json
            site.open("triage?project=live")
            expect(site.page.locator("h1")).to_contain_text("first", timeout=PATIENCE)
            assert f"{QUESTIONS} questions" in site.text()
