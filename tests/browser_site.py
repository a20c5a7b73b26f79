"""The running dashboard as browser tests see it."""

from __future__ import annotations

from dataclasses import dataclass, field

from playwright.sync_api import Page

from data.catalogue import Catalogue

__all__ = ["Site"]

QUIET = "[data-testid=stApp][data-test-script-state=notRunning]"


@dataclass
class Site:
    """A running dashboard with a page open on it.

    Attributes:
        page: the browser's page.
        url: where the dashboard is.
        catalogue: its workspace.
        outside: requests that left this machine.
    """

    page: Page
    url: str
    catalogue: Catalogue
    outside: list[str] = field(default_factory=list)

    def open(self, path: str) -> None:
        self.page.goto(f"{self.url}{path}")
        self.settle()

    def settle(self) -> None:
        """Wait until the script has run and what it drew stands still."""
        self.page.wait_for_timeout(250)
        self.page.wait_for_selector(QUIET, timeout=30_000)
        self.page.wait_for_timeout(250)

    def text(self) -> str:
        return self.page.inner_text("[data-testid=stMain]")

    def run_id(self, project: str, name: str) -> str:
        runs = [run for run in self.catalogue.runs(project) if run.name == name]
        return max(runs, key=lambda run: run.n).run_id
