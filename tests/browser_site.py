"""The running dashboard as browser tests see it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from places import REPOSITORY
from playwright.sync_api import Browser, Page

from ragtriage.data.scoring.run_store import RunStore

__all__ = ["Site", "serving", "visiting", "wait_for"]


QUIET = "[data-testid=stApp][data-test-script-state=notRunning]"


@dataclass
class Site:
    """A running dashboard with a page open on it.

    Attributes:
        page: the browser's page.
        url: where the dashboard is.
        store: its workspace.
        outside: requests that left this machine.
    """

    page: Page
    url: str
    store: RunStore
    outside: list[str] = field(default_factory=list)

    def open(self, path: str) -> None:
        self.page.goto(self.url + path.lstrip("/"))  # two slashes would name no page
        self.settle()

    def settle(self) -> None:
        """Wait until the script has run, the browser has what draws its elements, and all stands still."""
        self.page.wait_for_timeout(250)
        self.page.wait_for_selector(QUIET, timeout=30_000)
        self.page.wait_for_function("!document.querySelector('[data-testid=stSkeleton]')", timeout=30_000)
        self.page.wait_for_timeout(250)

    def text(self) -> str:
        return self.page.inner_text("[data-testid=stMain]")

    def run_id(self, project: str, name: str) -> str:
        runs = [run for run in self.store.runs(project) if run.name == name]
        return max(runs, key=lambda run: run.n).run_id


@contextmanager
def serving(root: Path, settings: Mapping[str, str] | None = None) -> Iterator[str]:
    """Serve a workspace; gives the address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [
        sys.executable,
        "-m",
        "ragtriage.dashboard.cli.main",
        "--workspace",
        str(root),
        "serve",
        "--port",
        str(port),
    ]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), **(settings or {})}
    with (root.parent / "server.log").open("w") as log:
        process = subprocess.Popen(command, cwd=root.parent, env=environment, stdout=log, stderr=log)
        url = f"http://127.0.0.1:{port}/"
        try:
            wait_for(url, process)
            yield url
        finally:
            process.terminate()
            process.wait(10)


def wait_for(url: str, process: subprocess.Popen[bytes]) -> None:
    for _ in range(240):
        assert process.poll() is None, "the dashboard ended while starting"
        try:
            urllib.request.urlopen(f"{url}_stcore/health", timeout=1).close()
        except OSError:
            time.sleep(0.25)
        else:
            return
    pytest.fail("the dashboard did not start within a minute")


@contextmanager
def visiting(browser: Browser, url: str, store: RunStore) -> Iterator[Site]:
    """Open a page on a dashboard; nothing it asks for may lie outside this machine."""
    context = browser.new_context(viewport={"width": 1440, "height": 1000})
    found = Site(context.new_page(), url, store)
    inside = (url, url.replace("http", "ws", 1), "data:", "blob:")
    found.page.on(
        "request",
        lambda request: None if request.url.startswith(inside) else found.outside.append(request.url),
    )
    yield found
    assert found.outside == [], "a page asked for something outside this machine"
    context.close()
