"""The Chromium of the browser tests: where it is found, and how it is started."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

HOW_TO_GET_ONE = (
    "no Chromium found: `apt-get install chromium`, or `playwright install chromium`, "
    "or the path of one in RAGTRIAGE_CHROMIUM"
)


PLAYWRIGHTS_OWN = """
from playwright.sync_api import sync_playwright
with sync_playwright() as playwright:
    print(playwright.chromium.executable_path)
"""


FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
]


def find_chromium() -> str | None:
    """Look for a Chromium: named by the environment, of the system, or Playwright's own."""
    named = os.environ.get("RAGTRIAGE_CHROMIUM")
    if named:
        return named if Path(named).is_file() else None
    for name in ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"):
        found = shutil.which(name)
        if found:
            return found
    asked = subprocess.run(  # apart, because only one Playwright can run in a process
        [sys.executable, "-c", PLAYWRIGHTS_OWN], capture_output=True, text=True, check=True
    )
    own = asked.stdout.strip()
    return own if Path(own).is_file() else None
