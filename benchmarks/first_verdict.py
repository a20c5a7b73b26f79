"""How many clicks and seconds is it from a table of one's own to a first verdict on Triage, in a browser?

python benchmarks/first_verdict.py [FOLDER ...] [--workspace FOLDER] [--pictures FOLDER]

Every file of the folders (without one, those of tests/fixtures that were made as strangers make them) is
loaded into a dashboard of its own process in Chromium, by clicks alone: what the dialog asks is answered by
its first answer, of several lists by "all of them"; yes and no are labels of people where nothing else says
what is right. A Markdown table is pasted. The clock runs from the first
click until Triage shows its conclusion. `--workspace` is copied and has the runs that are there before, so
that of `ragtriage demo` measures a newcomer; without it there are none. The verdicts are for a person to read
beside the tables.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from dashboard_speed import QUIET, chromium_page, server

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

FIXTURES = Path(__file__).parents[1] / "tests" / "fixtures"
FOLDERS = (FIXTURES / "own_tables", FIXTURES / "first_verdict")
NOT_TABLES = ("README.md", "expected.json")
PASTED = ".md"
LABELS = "People: right or wrong"
ALL_LISTS = "All of them, a run each"
MOST_CLICKS, MOST_SECONDS = 6, 120
WAIT_MS = 60_000


def main() -> int:
    """Print a row for each file; return 1 if one took more clicks or seconds than is meant."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folders", nargs="*", type=Path, metavar="FOLDER", default=FOLDERS)
    parser.add_argument("--workspace", type=Path, help="with the runs that are there before; it is copied")
    parser.add_argument("--pictures", type=Path, help="folder for a picture of each verdict")
    arguments = parser.parse_args()
    files = [file for folder in arguments.folders for file in sorted(folder.iterdir())]
    print("| file | clicks | seconds | verdict |\n|---|---|---|---|")
    within = True
    with tempfile.TemporaryDirectory() as root, chromium_page() as page:
        for file in (file for file in files if file.name not in NOT_TABLES):
            workspace = Path(root) / file.stem
            if arguments.workspace:
                shutil.copytree(arguments.workspace, workspace)
            with server(workspace) as (url, _):
                way = _load(page, url, file)
                if arguments.pictures:
                    arguments.pictures.mkdir(parents=True, exist_ok=True)
                    page.screenshot(path=arguments.pictures / f"{file.stem}.png")
            within &= way.clicks <= MOST_CLICKS and way.seconds <= MOST_SECONDS
            print(f"| {file.name} | {way.clicks} | {way.seconds:.0f} | {way.verdict} |", flush=True)
    return 0 if within else 1


@dataclass
class Way:
    """The way of one file through the dashboard, by a person who only clicks."""

    page: Page
    clicks: int = 0
    start: float = field(default_factory=time.perf_counter)
    seconds: float = 0.0
    verdict: str = ""

    def click(self, what: Locator) -> None:
        """Click, count it, and wait until the script of the page has run."""
        what.click(timeout=WAIT_MS)
        self.clicks += 1
        self.settle()

    def settle(self) -> None:
        """Wait until the script of the page has run."""
        self.page.wait_for_timeout(250)
        self.page.wait_for_selector(QUIET, timeout=WAIT_MS)


def _load(page: Page, url: str, file: Path) -> Way:
    """Load a file, answer what is asked, and read what Triage concludes."""
    page.goto(url)
    page.wait_for_selector("h1", timeout=WAIT_MS)
    page.wait_for_selector(QUIET, timeout=WAIT_MS)
    way = Way(page)
    if not page.get_by_role("button", name="Load runs").count():
        way.click(page.get_by_role("link", name="Runs", exact=False).first)
    way.click(page.get_by_role("button", name="Load runs"))
    dialog = page.get_by_role("dialog")
    if file.suffix == PASTED:
        way.click(dialog.get_by_label("or a table, pasted"))
        page.keyboard.insert_text(file.read_text("utf-8"))
        page.keyboard.press("Control+Enter")
    else:
        with page.expect_file_chooser() as chooser:
            way.click(dialog.locator("[data-testid=stFileUploader] button:visible").first)
        chooser.value.set_files(str(file))
    dialog.get_by_test_id("stMarkdown").filter(has_text="Will be measured").or_(
        dialog.get_by_test_id("stAlert").or_(_unanswered(dialog))
    ).first.wait_for(timeout=WAIT_MS)
    way.settle()
    while (asked := _unanswered(dialog)).count():
        asked.first.scroll_into_view_if_needed()
        way.settle()
        way.click(asked.first)
        answers = page.get_by_role("option")
        every = answers.filter(has_text=ALL_LISTS)
        way.click(every if every.count() else answers.first)
    if (
        labels := dialog.get_by_text(LABELS)
    ).count():  # where no other column says whether an answer is right
        way.click(labels.first)
    way.click(dialog.get_by_role("button", name="Load 1 file"))
    dialog.wait_for(state="hidden", timeout=WAIT_MS)
    way.settle()
    page.wait_for_function("document.title.startsWith('Triage')", timeout=WAIT_MS)
    page.wait_for_selector("h1", timeout=WAIT_MS)
    way.settle()
    way.seconds = time.perf_counter() - way.start
    band = page.locator(".rt-band:has(h1)").inner_text()
    way.verdict = " / ".join(line.strip() for line in band.splitlines() if line.strip())
    return way


def _unanswered(dialog: Locator) -> Locator:
    """Return the select boxes of the dialog in which nothing is chosen yet."""
    return dialog.locator("[data-testid=stSelectbox] input[value='']")


if __name__ == "__main__":
    raise SystemExit(main())
