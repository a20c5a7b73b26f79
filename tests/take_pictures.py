"""Take the pictures of the docs anew, from the bundled samples: `python tests/take_pictures.py [NAME ...]`.

Each picture is a page of a fresh workspace at 1440 x 900 (the loader: its dialog alone; the report: how its
HTML opens), in light and, as `NAME-dark.png`, in dark. Needs a Chromium, as the browser tests do.
"""

from __future__ import annotations

import io
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Literal

import click
from browser_site import QUIET, serving
from chromium import FLAGS, find_chromium
from PIL import Image
from places import REPOSITORY
from playwright.sync_api import Browser, FilePayload, Page, sync_playwright

from ragtriage.dashboard.present.stories.sections import add_sample_stories
from ragtriage.data.demo import load_samples
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.workspace import Workspace

DOCS = REPOSITORY / "docs"
TABLE = (
    "Question;Bot answer;Expected answer;Docs;Helpful\n"
    "How long is the warranty?;Two years.;2 years;warranty.md;yes\n"
    "Can I return a used item?;Yes, within 30 days.;No, only unused items.;returns.md;no\n"
    "Do you ship to Norway?;Yes, in five days.;Yes, in 5 working days.;shipping.md;yes\n"
)
COLOURS = 256
THEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")


def settle(page: Page) -> None:
    """Wait until the script has run and what it draws is there."""
    page.wait_for_timeout(800)
    page.wait_for_selector(QUIET, timeout=60_000)
    page.wait_for_function("!document.querySelector('[data-testid=stSkeleton]')", timeout=60_000)
    page.wait_for_timeout(1500)


def picture_of_page(path: str, page: Page, url: str, height: int = 900) -> bytes:
    """Take a page at its address."""
    page.set_viewport_size({"width": 1440, "height": height})
    page.goto(url + path)
    settle(page)
    return page.screenshot()


def picture_of_loader(page: Page, url: str) -> bytes:
    """Take the dialog that loads a table."""
    page.set_viewport_size({"width": 1440, "height": 1150})
    page.goto(url + "runs?project=handbook")
    settle(page)
    page.get_by_role("button", name="Load runs").first.click()
    settle(page)
    upload = FilePayload(name="support.csv", mimeType="text/csv", buffer=TABLE.encode())
    page.locator("[role=dialog] input[type=file]").first.set_input_files(upload)
    page.get_by_role("button", name=re.compile(r"^Load \d+ file")).wait_for()
    settle(page)
    return page.locator("[role=dialog]").screenshot()


def picture_of_report(root: str, page: Page, _: str) -> bytes:
    """Take how the HTML report of the newest version opens."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "report.html"
        command = [
            sys.executable,
            "-m",
            "ragtriage.dashboard.cli",
            "--workspace",
            root,
            "report",
            "V4 rerank",
        ]
        options = ["--baseline", "V1 baseline", "-o", str(file)]
        subprocess.run([*command, *options], check=True)
        page.goto(file.as_uri())
        page.wait_for_timeout(1500)
        return page.screenshot()


def pictures(store: RunStore) -> Mapping[str, Callable[[Page, str], bytes]]:
    """Return what takes each picture, given a page of the browser and the address of the dashboard."""
    first = store.find("V1 baseline", "handbook").run_id
    return {
        "triage": partial(picture_of_page, "?project=handbook"),
        "cases": partial(
            picture_of_page, f"cases?project=handbook&run={first}&stage=retrieval_miss&case=q04~0"
        ),
        "compare": partial(picture_of_page, "compare?project=handbook"),
        "chunking": partial(picture_of_page, "chunking?project=handbook"),
        "datasets": partial(picture_of_page, "datasets?project=handbook"),
        "review": partial(picture_of_page, "datasets?project=handbook&part=review&item=q43"),
        "ab": partial(picture_of_page, "ab"),
        "production": partial(picture_of_page, "production?project=handbook+live", height=1010),
        "loading": picture_of_loader,
        "report": partial(picture_of_report, str(store.workspace.root)),
    }


def save(browser: Browser, url: str, name: str, picture: Callable[[Page, str], bytes]) -> None:
    """Take one picture in both themes, and write it with few colours."""
    for theme in THEMES:
        context = browser.new_context(viewport={"width": 1440, "height": 900}, color_scheme=theme)
        image = Image.open(io.BytesIO(picture(context.new_page(), url))).convert("RGB")
        path = DOCS / f"{name}{'-dark' if theme == 'dark' else ''}.png"
        image.quantize(COLOURS, dither=Image.Dither.NONE).save(path, optimize=True)
        click.echo(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")
        context.close()


def main(names: list[str]) -> None:
    """Take the named pictures, or all of them."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        root = Path(folder) / "workspace"
        store = RunStore(Workspace(root).create())
        load_samples(store)
        add_sample_stories(store)
        known = pictures(store)
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=FLAGS)
        with serving(root) as url:
            for name in names or known:
                save(browser, url, name, known[name])
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
