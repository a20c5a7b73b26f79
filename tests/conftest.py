"""What several tests share: workspaces, and a browser where there is one."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

from data.catalogue import Catalogue
from data.demo import load_samples
from data.workspace import Workspace

HOW_TO_GET_ONE = (
    "no Chromium found: `apt-get install chromium`, or `playwright install chromium`, "
    "or the path of one in RAGTRIAGE_CHROMIUM"
)


@pytest.fixture
def workspace(tmp_path: Path) -> Catalogue:
    """A fresh workspace."""
    return Catalogue(Workspace(tmp_path / "workspace").create())


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Catalogue:
    """A workspace with the bundled samples; for reading only."""
    catalogue = Catalogue(Workspace(tmp_path_factory.mktemp("demo") / "workspace").create())
    load_samples(catalogue)
    return catalogue


def find_chromium() -> str | None:
    """Look for a Chromium: named by the environment, of the system, or Playwright's own."""
    named = os.environ.get("RAGTRIAGE_CHROMIUM")
    if named:
        return named if Path(named).is_file() else None
    for name in ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"):
        found = shutil.which(name)
        if found:
            return found
    with sync_playwright() as playwright:
        own = playwright.chromium.executable_path
    return own if Path(own).is_file() else None


@pytest.fixture(scope="session")
def chromium() -> str:
    """Path of a Chromium; without one the test is skipped, and fails under CI=true."""
    found = find_chromium()
    if found is None and os.environ.get("CI") == "true":
        pytest.fail(HOW_TO_GET_ONE)
    if found is None:
        pytest.skip(HOW_TO_GET_ONE)
    return found
