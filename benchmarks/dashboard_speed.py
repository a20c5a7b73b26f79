"""How fast is the dashboard on many samples? Import rate, first paint, memory, reruns of each page.

python benchmarks/dashboard_speed.py [--questions 100000] [--runs 5] [--folder /tmp/somewhere]
"""

from __future__ import annotations

import argparse
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from make_runs import make_runs

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from ragtriage.dashboard.shell.selection import Selection

APP = (
    Path(str(find_spec("ragtriage.dashboard").submodule_search_locations[0])) / "pages" / "app.py"
)  # of the tree that is measured
RERUNS = 11  # the first of them is not counted
WAIT_MS = 300_000
QUIET = "[data-testid=stApp][data-test-script-state=notRunning]"
VISITED = ("diagnosis", "cases", "compare", "runs")
Change = Callable[[int], "Selection"]


@dataclass(frozen=True)
class Opened:
    """What a browser saw of a server.

    Attributes:
        cold: seconds from starting the server to the first heading.
        whole: seconds from starting the server to a page that is drawn to its end.
        second: seconds from opening the address again to the first heading.
        memory: resident MB of the server after every page was opened.
    """

    cold: float
    whole: float
    second: float
    memory: float


def import_rate(root: Path, files: list[Path]) -> tuple[float, float]:
    """Give samples a second over all files: reading alone, and reading with scoring."""
    from ragtriage.data.importers.importer import Options
    from ragtriage.data.importers.load import Step, import_source
    from ragtriage.data.importers.parsing.input_file import InputFile
    from ragtriage.data.scoring.run_store import RunStore
    from ragtriage.data.store.workspace import Workspace

    store = RunStore(Workspace(root).create())
    samples, reading, whole = 0, 0.0, 0.0
    for file in files:
        start = read = time.perf_counter()

        def watch(step: Step) -> None:
            nonlocal read
            if step.doing == "reading":
                read = time.perf_counter()

        samples += import_source(store, InputFile.from_path(file), Options(), "bench", watch)[0].run.n
        reading, whole = reading + read - start, whole + time.perf_counter() - start
    return samples / reading, samples / whole


def reruns(root: Path) -> dict[str, float]:
    """Give the median server time of a rerun of each page in ms, while something changes each time."""
    from streamlit.testing.v1 import AppTest

    os.environ["RAGTRIAGE_WORKSPACE"] = str(root)
    found = {}
    for name, (page, change) in _changes().items():
        app = AppTest.from_file(str(APP), default_timeout=600).run()
        if page != "triage":
            app.switch_page(f"{page}/{page}.py").run()
        times = []
        for at in range(RERUNS):
            app.session_state["selection"] = change(at)
            start = time.perf_counter()
            app.run()
            times.append(1000 * (time.perf_counter() - start))
            assert not app.exception, app.exception
            assert not app.error, app.error
        found[name] = statistics.median(times[1:])
    return found


def _changes() -> dict[str, tuple[str, Change]]:
    from ragtriage.dashboard.shell.selection import Selection

    metrics = ("faithfulness", "answer_relevancy")
    return {
        "Triage, metric of the trend": ("triage", lambda at: Selection(metric=metrics[at % 2])),
        "Triage, after a cut-off moved": ("triage", lambda at: Selection(faithfulness=0.31 + at / 20)),
        "Diagnosis, a cut-off moved": ("diagnosis", lambda at: Selection(faithfulness=0.3 + at / 20)),
        "Cases, a row clicked": ("cases", lambda at: Selection(case=f"q{at + 1}~0")),
        "Cases, sorted another way": ("cases", lambda at: Selection(sort=metrics[at % 2])),
        "Cases, words searched": ("cases", lambda at: Selection(text=f"q{at + 10}")),
        "Compare, a question opened": ("compare", lambda at: Selection(case=f"q{at + 1}")),
        "Compare, after a cut-off moved": ("compare", lambda at: Selection(faithfulness=0.32 + at / 20)),
    }


def open_pages(root: Path, names: Sequence[str] = VISITED) -> Opened:
    """Start a server, open it in a browser, and visit pages."""
    with chromium_page() as page:
        start = time.perf_counter()
        with server(root) as (url, pid):
            cold = _heading(page, url, start)
            page.wait_for_selector(QUIET, timeout=WAIT_MS)
            whole = time.perf_counter() - start
            second = _heading(page, url, time.perf_counter())
            for name in names:
                _heading(page, url + name, start)
                page.wait_for_selector(QUIET, timeout=WAIT_MS)
            memory = resident(pid)
    return Opened(cold, whole, second, memory)


@contextmanager
def chromium_page() -> Iterator[Page]:
    """Open an empty page in Chromium until the block ends."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        path = os.environ.get("RAGTRIAGE_CHROMIUM", "/usr/bin/chromium")
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        yield browser.new_page(viewport={"width": 1440, "height": 1000})
        browser.close()


def _heading(page: Page, url: str, start: float) -> float:
    page.goto(url)
    page.wait_for_selector("h1", timeout=WAIT_MS)
    return time.perf_counter() - start


@contextmanager
def server(root: Path) -> Iterator[tuple[str, int]]:
    """Run `ragtriage serve` on a free port until the block ends; gives address and process."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    started = (
        "ragtriage.dashboard.cli"
        if find_spec("ragtriage.dashboard.cli.__main__")
        else "ragtriage.dashboard.cli.main"
    )  # as it once was
    command = [sys.executable, "-m", started, "serve", "--port", str(port)]
    environment = {**os.environ, "RAGTRIAGE_WORKSPACE": str(root)}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, cwd=APP.parent.parent)
    url = f"http://127.0.0.1:{port}/"
    try:
        _wait_until_up(f"{url}_stcore/health")
        yield url, process.pid
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:  # it still computes something for a page
            process.kill()


def _wait_until_up(url: str) -> None:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            urllib.request.urlopen(url, timeout=1).close()
        except (urllib.error.URLError, OSError):
            time.sleep(0.02)
        else:
            return
    raise TimeoutError(f"{url}: no answer in 60 s")


def resident(pid: int) -> float:
    """Resident memory of a process in MB, as Linux tells it."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


def _row(what: str, value: float, digits: int = 0) -> None:
    print(f"{what:44}{value:12,.{digits}f}", flush=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--questions", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--folder", type=Path, help="keep files and workspace here and use them again")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ragtriage-bench-") as temporary:
        folder = given.folder or Path(temporary)
        root = folder / "workspace"
        if not root.exists():
            alone, scored = import_rate(root, make_runs(folder, given.questions, given.runs))
            _row("import, samples a second", alone)
            _row("import and scoring, samples a second", scored)
        opened = open_pages(root)
        _row("cold start to first paint, s", opened.cold, 1)
        _row("cold start to a finished page, s", opened.whole, 1)
        _row("second visit to first paint, s", opened.second, 1)
        _row("memory after every page, MB", opened.memory)
        for name, median in reruns(root).items():
            _row(f"{name}, ms", median)


if __name__ == "__main__":
    main()
