"""What several tests share: workspaces, and a browser where there is one."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser_site import Site, serving, visiting
from chromium import FLAGS, HOW_TO_GET_ONE, find_chromium
from copied_workspace import copied
from hypothesis import HealthCheck, settings
from playwright.sync_api import Browser, sync_playwright

from ragtriage.data.demo import load_samples
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.access import ALLOWED_PATHS
from ragtriage.data.store.workspace import Workspace
from ragtriage.metrics.metric_registry import declare_imported

pytest_plugins = ["pytester"]

# a busy machine is no fault: neither of an example that takes long nor of how long it took to draw
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")

# modules that wait for processes of the product, or for a service that stays away
STARTING_PROCESSES = {
    "test_compiled_engine",
    "test_datasets_make",
    "test_full_disks",
    "test_grid_jobs",
    "test_grid_processes",
    "test_import_kills",
    "test_judge_ends",
    "test_judge_job",
    "test_report_pdf",
    "test_serving",
    "test_wheel",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what `make test-fast` leaves out, and coverage with it.

    A browser test that failed may run again: on a busy machine a page may be slower than its time-out. The
    browser tests of a module stay in one process, and those of several modules share the processes out.
    """
    for item in items:
        if {"chromium", "server"} & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.browser)
            if item.get_closest_marker("xdist_group") is None:
                item.add_marker(pytest.mark.xdist_group(item.path.stem))
            item.add_marker(pytest.mark.flaky(reruns=int(os.environ.get("RERUNS", "2"))))
        if item.path.parent.name == "test_docs":
            item.add_marker(pytest.mark.docs)
        if item.path.stem in STARTING_PROCESSES or hasattr(getattr(item, "module", None), "subprocess"):
            item.add_marker(pytest.mark.processes)
        if any(map(item.get_closest_marker, ("browser", "docs", "processes"))):
            item.add_marker(pytest.mark.no_cover)  # their time goes into processes that are not measured


@pytest.fixture(autouse=True)
def _nothing_declared(monkeypatch: pytest.MonkeyPatch) -> None:
    """What one test declares of imported metrics, or sets as `serve` does, does not hold in the next."""
    declare_imported({})
    monkeypatch.setenv(ALLOWED_PATHS, "")  # so that what the test itself sets is undone
    monkeypatch.delenv(ALLOWED_PATHS)


@pytest.fixture
def workspace(tmp_path: Path) -> RunStore:
    """A fresh workspace."""
    return RunStore(Workspace(tmp_path / "workspace").create())


@pytest.fixture(scope="session")
def samples_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a workspace with the bundled samples, loaded once for all test processes."""
    temporary = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        temporary = temporary.parent
    root = temporary / "bundled" / "workspace"
    root.parent.mkdir(exist_ok=True)
    with (root.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not root.exists():
            unfinished = root.with_name("unfinished")
            load_samples(RunStore(Workspace(unfinished).create()))
            unfinished.rename(root)
    return root


@pytest.fixture(scope="session")
def demo(samples_root: Path) -> RunStore:
    """A workspace with the bundled samples; for reading only."""
    return RunStore(Workspace(samples_root))


@pytest.fixture
def own_demo(samples_root: Path, tmp_path: Path) -> RunStore:
    """A copy of that workspace for one test, which may change it."""
    return RunStore(Workspace(copied(samples_root, tmp_path / "demo")))


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
def server(samples_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, RunStore]]:
    root = copied(samples_root, tmp_path_factory.mktemp("browser") / "workspace")
    store = RunStore(Workspace(root))
    with serving(root) as url:
        yield url, store


@pytest.fixture
def site(browser: Browser, server: tuple[str, RunStore]) -> Iterator[Site]:
    with visiting(browser, *server) as found:
        yield found
