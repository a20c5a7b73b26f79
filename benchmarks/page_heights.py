"""How long is every page, at two widths? With pictures of them, if wanted.

    python benchmarks/page_heights.py [--pages compare,runs] [--projects handbook,musique] [--pictures F]

Opens each page on the newest run of each project in Chromium and prints the height of its content in
pixels at each width (a screen is 900 high), and how far it reaches beyond the right edge of the window.
With --pictures it saves each page whole, in the light and the dark theme.
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from dashboard_speed import QUIET, WAIT_MS, chromium_page, server
from page_speed import PAGES

if TYPE_CHECKING:
    from playwright.sync_api import Page

WIDTHS, SCREEN = (1440, 1024), 900
THEMES = ("light", "dark")
MEASURED = """() => {
    const main = document.querySelector('[data-testid=stMain]')
    return [main.scrollHeight, main.scrollWidth - main.clientWidth]
}"""


class Height(NamedTuple):
    """What a page needs at a width.

    Attributes:
        page: its name.
        project: whose newest run it shows.
        width: of the window, in pixels.
        height: of its content.
        beyond: pixels of it that are right of the window.
    """

    page: str
    project: str
    width: int
    height: int
    beyond: int


def heights(
    url: str, pages: Sequence[str], projects: Sequence[str], pictures: Path | None = None
) -> Iterator[Height]:
    """Open pages of a running dashboard and yield what each needs; pictures go into a folder."""
    with chromium_page() as page:
        page.set_default_timeout(WAIT_MS)
        themes = THEMES if pictures else THEMES[:1]
        for theme, name, project, width in itertools.product(themes, pages, projects, WIDTHS):
            page.emulate_media(color_scheme=theme)
            page.set_viewport_size({"width": width, "height": SCREEN})
            page.goto(f"{url.rstrip('/')}/{name}?project={project}")
            _settle(page)
            height, beyond = page.evaluate(MEASURED)
            if pictures:
                page.set_viewport_size({"width": width, "height": height})
                _settle(page)
                page.screenshot(path=pictures / f"{name}-{project}-{theme}-{width}.png")
            if theme == THEMES[0]:
                yield Height(name, project, width, height, beyond)


def _settle(page: Page) -> None:
    """Wait until a page is drawn to its end and its height is the same half a second later."""
    page.wait_for_selector("h1")
    page.wait_for_selector(QUIET)
    page.wait_for_function("!document.querySelector('[data-testid=stSkeleton]')")
    former = None
    while (found := page.evaluate(MEASURED)) != former:
        former = found
        page.wait_for_timeout(500)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pages", type=lambda text: text.split(","), default=PAGES)
    parser.add_argument("--projects", type=lambda text: text.split(","), help="all bundled ones by default")
    parser.add_argument("--url", help="of a running dashboard, with --projects; by default one is started")
    parser.add_argument("--pictures", type=Path, help="folder for pictures")
    given = parser.parse_args()
    if given.pictures:
        given.pictures.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="ragtriage-bench-") as folder, ExitStack() as stack:
        projects, url = given.projects, given.url
        if not url:
            projects, url = _bundled(Path(folder) / "workspace", projects, stack)
        print("| page | project | at 1440 | at 1024 |\n|---|---|---|---|")
        measured = heights(url, given.pages, projects, given.pictures)
        for wide, narrow in zip(measured, measured, strict=True):
            cells = [
                f"{each.height:,}" + (f", {each.beyond} beyond" if each.beyond > 0 else "")
                for each in (wide, narrow)
            ]
            print(f"| {wide.page} | {wide.project} | {' | '.join(cells)} |", flush=True)


def _bundled(root: Path, projects: Sequence[str] | None, stack: ExitStack) -> tuple[Sequence[str], str]:
    """Serve the bundled samples; gives their projects, if none are wanted, and the address."""
    from ragtriage.data.demo import load_samples
    from ragtriage.data.scoring.run_store import RunStore
    from ragtriage.data.store.workspace import Workspace

    store = RunStore(Workspace(root).create())
    load_samples(store)
    return projects or store.projects(), stack.enter_context(server(root))[0]


if __name__ == "__main__":
    main()
