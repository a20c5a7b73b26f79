"""What several tests share: workspaces, and a browser where there is one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser_site import Site, serving, visiting
from chromium import FLAGS, HOW_TO_GET_ONE, find_chromium
from playwright.sync_api import Browser, sync_playwright

from data.demo import load_samples
from data.scoring.run_store import RunStore
from data.store.workspace import Workspace


@pytest.fixture
def workspace(tmp_path: Path) -> RunStore:
    """A fresh workspace."""
    return RunStore(Workspace(tmp_path / "workspace").create())


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> RunStore:
    """A workspace with the bundled samples; for reading only."""
    store = RunStore(Workspace(tmp_path_factory.mktemp("demo") / "workspace").create())
    load_samples(store)
    return store


@pytest.fixture(scope="session")
def chromium() -> str:
    """Path of a Chromium; without one the test is skipped, and fails under CI=true."""
    found = find_chromium()
    if found is None and os.environ.get("CI") == "true":
        pytest.fail(HOW_TO_GET_ONE)
    if found is None:
        pytest.skip(HOW_TO_GET_ONE)
    return found


@pytest.fixture(scope="session")
def browser(chromium: str) -> Iterator[Browser]:
    """A Chromium that all browser tests of a process share."""
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, RunStore]]:
    root = tmp_path_factory.mktemp("browser") / "workspace"
    store = RunStore(Workspace(root).create())
    load_samples(store)
    with serving(root) as url:
        yield url, store


@pytest.fixture
def site(browser: Browser, server: tuple[str, RunStore]) -> Iterator[Site]:
    with visiting(browser, *server) as found:
        yield found
