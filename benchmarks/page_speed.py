"""How long do the pages take on many runs, and on large ones? In the server, and from click to finished page.

    python benchmarks/page_speed.py [--runs 1000] [--questions 60] [--folder F]

Server: AppTest in a process that has drawn the pages of two runs before, so that no import is counted. A
first view begins with nothing kept in memory; a rerun changes nothing; then a cut-off of the diagnosis moves.
Click: in Chromium, from the click on a page's name until its script has ended and no part is left blank, when
every page was open once before.
"""

from __future__ import annotations

import argparse
import itertools
import os
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from dashboard_speed import APP, QUIET, WAIT_MS, chromium_page, resident, server
from make_runs import make_runs

PAGES = (
    "triage",
    "compare",
    "trend",
    "cases",
    "diagnosis",
    "checks",
    "retrieval",
    "chunking",
    "alignment",
    "experiments",
    "datasets",
    "judge",
    "benchmarks",
    "present",
    "runs",
)
STEPS = ("first", "again", "cut_off")
CLICKED = """([path, title]) => new Promise(done => {
    const find = selector => document.querySelector(selector)
    const running = () => find('[data-testid=stApp]').getAttribute('data-test-script-state') !== 'notRunning'
    const heading = () => find('h1')?.textContent
    const former = heading(), begun = performance.now()
    let changed = false
    const look = () => {
        changed = changed || running() || heading() && heading() !== former
        const there = changed && document.title.startsWith(title) && heading()
        if (!there || running() || find('[data-testid=stSkeleton]')) return requestAnimationFrame(look)
        done(performance.now() - begun)
    }
    document.querySelectorAll('[data-testid=stSidebarNavLink], .st-key-more_pages a').forEach(link => {
        if (new URL(link.href).pathname === path) link.click()
    })
    requestAnimationFrame(look)
})"""


class Taken(NamedTuple):
    """What a run of a page takes, in ms.

    Attributes:
        wall: by the clock.
        processor: of a processor, which other programs on the machine change little.
    """

    wall: float
    processor: float


def make_workspace(root: Path, files: Sequence[Path], processes: int = 2) -> None:
    """Import files into a workspace, each as a run of its own, several at once."""
    parts = [[str(file) for file in files[at::processes]] for at in range(processes)]
    with ProcessPoolExecutor(processes) as pool:
        list(pool.map(_import, [str(root)] * processes, parts))


def _import(root: str, files: list[str]) -> None:
    from ragtriage.data.importers.importer import Options
    from ragtriage.data.importers.load import import_source
    from ragtriage.data.importers.parsing.input_file import InputFile
    from ragtriage.data.scoring.run_store import RunStore
    from ragtriage.data.store.workspace import Workspace

    store = RunStore(Workspace(Path(root)).create())
    for file in files:
        import_source(store, InputFile.from_path(file), Options(), "bench")


def server_times(root: Path, few: Path, rounds: int = 3) -> dict[str, dict[str, Taken]]:
    """Return for each page what a first view takes, a rerun, and a rerun after a cut-off moved (medians).

    Args:
        root: the workspace.
        few: a workspace with few runs, whose pages are drawn before.
        rounds: how often a page is drawn again.
    """
    from ragtriage.dashboard.shell.selection import Selection

    os.environ["RAGTRIAGE_WORKSPACE"] = str(few)
    for page in PAGES:
        _opened(page)
    os.environ["RAGTRIAGE_WORKSPACE"] = str(root)
    found = {}
    for page in PAGES:
        _forget()
        app, first = _opened(page)
        again = [_rerun(app) for _ in range(rounds)]
        moved = []
        for at in range(rounds):
            app.session_state["selection"] = Selection(faithfulness=0.31 + at / 20)
            moved.append(_rerun(app))
        found[page] = dict(zip(STEPS, (first, _middle(again), _middle(moved)), strict=True))
    return found


def _opened(page: str) -> tuple[Any, Taken]:
    """Open a page in a session of its own; gives what its first run takes."""
    from streamlit.testing.v1 import AppTest

    app = AppTest.from_file(str(APP), default_timeout=600)
    if page != "triage":
        app.switch_page(f"{page}/{page}.py")
    return app, _rerun(app)


def _rerun(app: Any) -> Taken:
    start, before = time.perf_counter(), time.process_time()
    app.run()
    taken = Taken(1000 * (time.perf_counter() - start), 1000 * (time.process_time() - before))
    assert not app.exception, app.exception
    return taken


def _middle(taken: Sequence[Taken]) -> Taken:
    return Taken(*(statistics.median(part) for part in zip(*taken, strict=True)))


def _forget() -> None:
    """Drop everything that the process keeps between reruns, also where earlier versions keep it."""
    import streamlit as st

    st.cache_data.clear()
    st.cache_resource.clear()
    if find_spec("ragtriage.dashboard.shell.kept_results") is not None:
        from ragtriage.dashboard.shell import kept_results

        kept_results._RESULTS = kept_results.KeptResults(kept_results._RESULTS.room)


def clicks(root: Path, rounds: int = 1) -> tuple[dict[str, float], float]:
    """Return for each page the ms from click to finished in Chromium (median), and the server's resident MB.

    Every page is opened once before; the memory is that after all pages.
    """
    times: dict[str, list[float]] = {page: [] for page in PAGES}
    with chromium_page() as page, server(root) as (url, pid):
        page.goto(url)
        page.wait_for_selector(QUIET, timeout=WAIT_MS)
        page.wait_for_selector("[data-testid=stSidebarNavLink]", timeout=WAIT_MS)
        page.set_default_timeout(WAIT_MS)
        for at in range(rounds + 1):
            for name in (*PAGES[1:], PAGES[0]):
                path = "/" if name == PAGES[0] else f"/{name}"
                if not page.locator(f'[data-testid=stSidebarNavLink][href$="{path}"]').count():
                    more = page.locator(".st-key-more_pages")  # pages without content
                    if not more.locator("a").first.is_visible():
                        more.locator("summary").click()
                    more.locator("a").first.wait_for()
                taken = page.evaluate(CLICKED, [path, name.capitalize()])
                page.wait_for_timeout(300)
                if at:
                    times[name].append(taken)
        return {name: statistics.median(taken) for name, taken in times.items()}, resident(pid)


def _beginning(path: Path, folder: Path) -> Path:
    """Write the first 60 questions of a file."""
    folder.mkdir(parents=True, exist_ok=True)
    with path.open("rb") as file:
        (folder / path.name).write_bytes(b"".join(itertools.islice(file, 61)))
    return folder / path.name


def measure(folder: Path, files: Sequence[Path], rounds: int = 3) -> dict[str, Any]:
    """Make a workspace of files in a folder where there is none, and measure every page on it."""
    root, few = folder / "workspace", folder / "few"
    if not few.exists():
        make_workspace(few, [_beginning(path, folder / "beginnings") for path in files[:2]], 1)
    if not root.exists():
        make_workspace(root, files)
    times = server_times(root, few, rounds)
    clicked, memory = clicks(root)
    return {"pages": times, "clicks": clicked, "memory": memory}


def table(found: dict[str, Any]) -> Iterator[str]:
    """Yield the rows of a Markdown table with the times of every page: by the clock, and of a processor."""
    yield "| page, ms (of a processor) | first view | rerun | cut-off moved | click to finished |"
    yield "|---|---|---|---|---|"
    for name, steps in found["pages"].items():
        times = [f"{taken.wall:,.0f} ({taken.processor:,.0f})" for taken in steps.values()]
        yield f"| {name.capitalize()} | " + " | ".join([*times, f"{found['clicks'][name]:,.0f}"]) + " |"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--questions", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="keep files and workspace here and use them again")
    given = parser.parse_args()
    os.environ.setdefault("STREAMLIT_LOGGER_LEVEL", "error")
    with tempfile.TemporaryDirectory(prefix="ragtriage-bench-") as temporary:
        folder = given.folder or Path(temporary)
        files = sorted((folder / "files").glob("*.jsonl"))
        files = files or make_runs(folder / "files", given.questions, given.runs)
        found = measure(folder, files, given.rounds)
        print(*table(found), sep="\n")
        print(f"\nresident memory of the server after all pages: {found['memory']:,.0f} MB")


if __name__ == "__main__":
    main()
