"""How fast is the dashboard on many samples? Import rate, reruns of each page, first paint, memory.

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
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # run as a script, beside its sibling

from make_runs import make_runs

REPOSITORY = Path(__file__).parent.parent
RERUNS = 11


def import_rate(root: Path, files: list[Path]) -> tuple[float, float]:
    """Give samples a second, reading alone and with scoring."""
    from data.catalogue import Catalogue
    from data.errors import Problems
    from data.importers.detect import read_runs
    from data.importers.options import Options
    from data.importers.source import Source
    from data.runs import store_run
    from data.workspace import Workspace

    catalogue = Catalogue(Workspace(root).create())
    reading = scoring = samples = 0.0
    for file in files:
        problems = Problems(file.name)
        start = time.perf_counter()
        (draft,) = read_runs(Source.from_path(file), Options(), problems)
        run = store_run(catalogue.workspace, draft, "bench", problems).run
        middle = time.perf_counter()
        catalogue.summary(run)
        reading, scoring, samples = (
            reading + middle - start,
            scoring + time.perf_counter() - middle,
            samples + run.n,
        )
    return samples / reading, samples / (reading + scoring)


def reruns(root: Path) -> dict[str, float]:
    """Give the median server time of a rerun of each page in ms, while something changes each time."""
    os.environ["RAGTRIAGE_WORKSPACE"] = str(root)
    from streamlit.testing.v1 import AppTest

    from dashboard.selection import Selection

    found = {}
    cutoffs = [0.3 + 0.05 * at for at in range(RERUNS)]
    changes: dict[str, tuple[str, Callable[[int], Selection]]] = {
        "Triage": ("views/triage.py", lambda at: Selection(metric=["", "faithfulness"][at % 2])),
        "Diagnosis, a cut-off moved": ("views/diagnosis.py", lambda at: Selection(faithfulness=cutoffs[at])),
        "Cases, a row clicked": ("views/cases.py", lambda at: Selection(case=f"q{at + 1}~0")),
        "Compare, a question opened": ("views/compare.py", lambda at: Selection(case=f"q{at + 1}")),
    }
    for name, (page, change) in changes.items():
        app = AppTest.from_file(str(REPOSITORY / "dashboard" / "app.py"), default_timeout=600).run()
        app.switch_page(page).run()
        times = []
        for at in range(RERUNS):
            app.session_state["selection"] = change(at)
            start = time.perf_counter()
            app.run()
            times.append(1000 * (time.perf_counter() - start))
            assert not app.exception, app.exception
        found[name] = statistics.median(times[1:])
    return found


def first_paint(root: Path) -> tuple[float, float, float]:
    """Give seconds from start to the first heading, of a second visit, and the memory of the server in MB."""
    from playwright.sync_api import sync_playwright

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with sync_playwright() as playwright:
        path = os.environ.get("RAGTRIAGE_CHROMIUM", "/usr/bin/chromium")
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page()
        start = time.perf_counter()
        words = ["--workspace", str(root), "serve", "--port", str(port)]
        server = subprocess.Popen(
            [sys.executable, "-m", "dashboard.cli", *words], cwd=REPOSITORY, stdout=subprocess.DEVNULL
        )
        try:
            cold = _heading(page, f"http://127.0.0.1:{port}/", start)
            warm = _heading(page, f"http://127.0.0.1:{port}/", time.perf_counter())
            for name in ("diagnosis", "cases", "compare", "runs"):
                _heading(page, f"http://127.0.0.1:{port}/{name}", start)
                page.wait_for_selector(
                    "[data-testid=stApp][data-test-script-state=notRunning]", timeout=300_000
                )
            status = Path(f"/proc/{server.pid}/status").read_text(encoding="utf-8")
            memory = next(line for line in status.splitlines() if line.startswith("VmRSS"))
            return cold, warm, int(memory.split()[1]) / 1024
        finally:
            server.terminate()
            server.wait(20)
            browser.close()


def _heading(page: object, url: str, start: float) -> float:
    while True:
        try:
            page.goto(url)  # type: ignore[attr-defined] # a Playwright page
            break
        except Exception:  # noqa: BLE001 -- the server is still starting
            time.sleep(0.05)
    page.wait_for_selector("h1", timeout=300_000)  # type: ignore[attr-defined] # a Playwright page
    return time.perf_counter() - start


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--folder", help="keep files and workspace here and use them again")
    given = parser.parse_args()
    folder = Path(given.folder or tempfile.mkdtemp(prefix="ragtriage-bench-"))
    root = folder / "workspace"
    if not root.exists():
        folder.mkdir(parents=True, exist_ok=True)
        files = make_runs(folder, given.questions, given.runs)
        alone, scored = import_rate(root, files)
        print(f"{'import, samples a second':40}{alone:12,.0f}")
        print(f"{'import and scoring, samples a second':40}{scored:12,.0f}")
    cold, warm, memory = first_paint(root)
    print(f"{'cold start to first paint, s':40}{cold:12.1f}")
    print(f"{'second visit to first paint, s':40}{warm:12.1f}")
    print(f"{'memory after every page, MB':40}{memory:12,.0f}")
    for name, median in reruns(root).items():
        print(f"{f'{name}, ms':40}{median:12.0f}")


if __name__ == "__main__":
    main()
