"""ragtriage beside TruLens and Phoenix: bringing records in, first content, the list of runs, one case.

    python -m venv trulens && trulens/bin/pip install trulens-core trulens-dashboard
    python -m venv phoenix && phoenix/bin/pip install arize-phoenix
    python benchmarks/dashboard_peers.py --trulens trulens/bin/python --phoenix phoenix/bin/python

The same records (question, ten chunks, answer) go into each tool as its documentation shows: ragtriage
imports files and computes every metric; TruLens records an instrumented application, which computes no metric
here; Phoenix takes spans over HTTP in batches of 100, without evaluations, until all can be read back. Then
each tool's server is started, and Chromium opens its first page, its list of runs, and one case. What they
draw differs, so the times say how long a reader waits, not which code is faster.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

BATCH = 100  # spans of one request to Phoenix
WAIT_MS = 120_000
FIRST_ROW = {"x": 18, "y": 52}  # its box, in pixels from the corner of the table
IDLE = "[data-testid=stApp][data-test-script-state=notRunning]"


def _records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()[1:]]


def import_ragtriage(files: Sequence[Path], folder: Path, _url: str) -> None:
    """Import and score the files."""
    from ragtriage.data.api import add_file

    for path in files:
        add_file(str(path), workspace=str(folder / "workspace"))


def import_trulens(files: Sequence[Path], folder: Path, _url: str) -> None:
    """Record an application that answers what the file holds, a version for each file."""
    from trulens.apps.app import TruApp
    from trulens.core import TruSession
    from trulens.core.otel.instrument import instrument
    from trulens.otel.semconv.trace import SpanAttributes

    class Recorded:
        """An application that answers from a file."""

        def __init__(self, records: list[dict[str, Any]]) -> None:
            self.by_question = {each["question"]: each for each in records}

        @instrument(
            span_type=SpanAttributes.SpanType.RETRIEVAL,
            attributes={
                SpanAttributes.RETRIEVAL.QUERY_TEXT: "query",
                SpanAttributes.RETRIEVAL.RETRIEVED_CONTEXTS: "return",
            },
        )
        def retrieve(self, query: str) -> list[str]:
            """Return the chunks of a question."""
            return [chunk["text"] for chunk in self.by_question[query]["retrieved"]]

        @instrument(span_type=SpanAttributes.SpanType.RECORD_ROOT)
        def query(self, query: str) -> str:
            """Return the answer to a question."""
            self.retrieve(query)
            answer: str = self.by_question[query]["answer"]
            return answer

    session = TruSession(database_url=f"sqlite:///{folder}/trulens.sqlite")
    for path in files:
        records = _records(path)
        application = Recorded(records)
        recorder = TruApp(application, app_name="bench", app_version=path.stem, main_method=application.query)
        for each in records:
            with recorder:
                application.query(each["question"])
    session.force_flush()


def import_phoenix(files: Sequence[Path], _folder: Path, url: str) -> None:
    """Send two spans a record, a project for each file, and wait until all can be read."""
    from phoenix.client import Client

    client = Client(base_url=url)
    for path in files:
        spans = [span for at, each in enumerate(_records(path)) for span in _spans(path.stem, at, each)]
        for start in range(0, len(spans), BATCH):
            client.spans.log_spans(project_identifier=path.stem, spans=spans[start : start + BATCH])
        while _stored(client, path.stem, len(spans)) < len(spans):
            time.sleep(0.05)


def _stored(client: Any, project: str, most: int) -> int:
    """Return how many spans of a project can be read; it is unknown until the first is stored."""
    import httpx

    try:
        return len(client.spans.get_spans(project_identifier=project, limit=most))
    except httpx.HTTPStatusError:
        return 0


def _spans(run: str, at: int, record: dict[str, Any]) -> Iterator[dict[str, Any]]:
    trace = f"{hash((run, at)) & (1 << 127) - 1:032x}"
    now = datetime.now(UTC).isoformat()  # pages show the last days alone
    times = {"start_time": now, "end_time": now}
    root, child = f"{2 * at + 1:08x}{trace[-8:]}", f"{2 * at + 2:08x}{trace[-8:]}"
    question = {"input.value": record["question"]}
    documents = {
        f"retrieval.documents.{rank}.document.{name}": chunk[own]
        for rank, chunk in enumerate(record["retrieved"])
        for name, own in (("id", "id"), ("content", "text"), ("score", "score"))
    }
    for name, kind, span, parent, attributes in (
        ("query", "CHAIN", root, None, question | {"output.value": record["answer"]}),
        ("retrieve", "RETRIEVER", child, root, question | documents),
    ):
        yield {
            "name": name,
            "context": {"trace_id": trace, "span_id": span},
            "span_kind": kind,
            "status_code": "OK",
            "attributes": attributes,
            **times,
            **({"parent_id": parent} if parent else {}),
        }


IMPORTS = {"ragtriage": import_ragtriage, "trulens": import_trulens, "phoenix": import_phoenix}


@dataclass(frozen=True)
class Tool:
    """How a tool is served and read.

    Attributes:
        command: that serves it, after the interpreter; {port} and {folder} are filled in.
        settings: environment of the server.
        health: path that answers when the server is up.
        first: opens the first page of an address and waits for its content.
        runs: opens the list of runs.
        case: opens one case from there.
        before_import: whether the server takes the records.
    """

    command: str
    settings: dict[str, str]
    health: str
    first: Callable[[Any, str], None]
    runs: Callable[[Any, str], None]
    case: Callable[[Any, str], None]
    before_import: bool = False


def _goto(path: str, *selectors: str) -> Callable[[Any, str], None]:
    def open_page(page: Any, url: str) -> None:
        page.goto(url + path)
        for selector in selectors:
            page.wait_for_selector(selector, timeout=WAIT_MS)

    return open_page


def _case_of_ragtriage(page: Any, url: str) -> None:
    page.goto(url + "cases?case=q1~0")
    page.wait_for_selector("text=Context: ", timeout=WAIT_MS)
    page.wait_for_selector(IDLE, timeout=WAIT_MS)


def _leaderboard_of_trulens(page: Any, url: str) -> None:
    page.goto(url)
    page.wait_for_selector(
        "[data-testid=stDataFrame] td >> text=version-1", state="attached", timeout=WAIT_MS
    )
    page.wait_for_selector(IDLE, timeout=WAIT_MS)


def _case_of_trulens(page: Any, url: str) -> None:
    page.goto(url + "Records")
    page.wait_for_selector(IDLE, timeout=WAIT_MS)
    page.wait_for_selector("text=Click a thread", timeout=WAIT_MS)
    page.locator("[data-testid=stDataFrame] canvas").first.click(position=FIRST_ROW, force=True)
    page.wait_for_selector("text=Click a thread", state="hidden", timeout=WAIT_MS)
    page.wait_for_selector(IDLE, timeout=WAIT_MS)


def _case_of_phoenix(page: Any, url: str) -> None:
    page.goto(url + "projects")
    page.click("text=version-1", timeout=WAIT_MS)
    page.wait_for_selector("tbody tr", timeout=WAIT_MS)
    page.locator("tbody tr a").first.click(timeout=WAIT_MS)
    page.wait_for_selector("text=retrieve", timeout=WAIT_MS)


TOOLS = {
    "ragtriage": Tool(
        "-m ragtriage.dashboard.cli.main --workspace {folder}/workspace serve --port {port}",
        {},
        "_stcore/health",
        _goto("", "h1"),
        _goto("compare", "h1", "[data-testid=stPlotlyChart]", IDLE),
        _case_of_ragtriage,
    ),
    "trulens": Tool(
        "-m streamlit run {package}/dashboard/main.py --server.port {port} --server.headless true"
        " --browser.gatherUsageStats false -- --database-url sqlite:///{folder}/trulens.sqlite",
        {},
        "_stcore/health",
        _leaderboard_of_trulens,
        _leaderboard_of_trulens,
        _case_of_trulens,
    ),
    "phoenix": Tool(
        "-m phoenix.server.main serve",
        {"PHOENIX_PORT": "{port}", "PHOENIX_WORKING_DIR": "{folder}", "PHOENIX_TELEMETRY_ENABLED": "false"},
        "healthz",
        _goto("projects", "text=version-1"),
        _goto("projects", "text=version-1"),
        _case_of_phoenix,
        before_import=True,
    ),
}


@contextmanager
def _serving(name: str, python: str, folder: Path) -> Iterator[str]:
    """Serve a tool on a free port until the block ends; gives its address."""
    tool = TOOLS[name]
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    words = {
        "port": port,
        "folder": folder,
        "package": _package(python) if "{package}" in tool.command else "",
    }
    command = [python, *(word.format(**words) for word in tool.command.split())]
    settings = {key: value.format(**words) for key, value in tool.settings.items()}
    with (folder / "server.log").open("w") as log:
        process = subprocess.Popen(
            command,
            env={**os.environ, **settings},
            stdout=log,
            stderr=log,
            cwd=folder,
            start_new_session=True,
        )
    url = f"http://127.0.0.1:{port}/"
    try:
        _wait_until_up(url + tool.health)
        yield url
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(30)


def _package(python: str) -> str:
    asked = (
        "import importlib.util as u; print(u.find_spec('trulens.dashboard').submodule_search_locations[0])"
    )
    ended = subprocess.run([python, "-c", asked], capture_output=True, text=True, check=True)
    return str(Path(ended.stdout.strip().splitlines()[-1]).parent)


def _wait_until_up(url: str) -> None:
    end = time.monotonic() + 120
    while time.monotonic() < end:
        try:
            urllib.request.urlopen(url, timeout=1).close()
        except OSError:
            time.sleep(0.02)
        else:
            return
    raise TimeoutError(f"{url}: no answer in 120 s")


def _imported(name: str, python: str, files: Sequence[Path], folder: Path, url: str) -> float:
    """Bring the records into a tool in a process of its own; gives its seconds without start and imports."""
    command = [python, __file__, "--import-into", name, "--folder", str(folder), "--url", url]
    ended = subprocess.run(
        [*command, *(word for path in files for word in ("--file", str(path)))],
        capture_output=True,
        text=True,
        check=False,
    )
    if ended.returncode:
        raise RuntimeError(ended.stderr.strip().splitlines()[-1])
    return float(ended.stdout.strip().splitlines()[-1])


def measure(name: str, python: str, files: Sequence[Path], folder: Path) -> dict[str, float]:
    """Return the seconds that a tool takes for each step."""
    from dashboard_speed import chromium_page

    folder.mkdir(parents=True)
    found: dict[str, float] = {}
    if TOOLS[name].before_import:
        with _serving(name, python, folder) as url:
            found["import"] = _imported(name, python, files, folder, url)
    else:
        found["import"] = _imported(name, python, files, folder, "")
    with chromium_page() as page:
        start = time.perf_counter()
        with _serving(name, python, folder) as url:
            steps = {"first": TOOLS[name].first, "runs": TOOLS[name].runs, "case": TOOLS[name].case}
            for step, work in steps.items():
                work(page, url)
                found[step] = time.perf_counter() - start
                start = time.perf_counter()
    return found


def warm(name: str) -> None:
    """Import what the import of a tool needs."""
    modules = {
        "ragtriage": ("ragtriage.data.api", "ragtriage.data.scoring.score_run"),
        "trulens": ("trulens.core", "trulens.apps.app"),
        "phoenix": ("phoenix.client",),
    }
    for module in modules[name]:
        __import__(module)


def main() -> None:
    """Measure every tool that is given and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--records", type=int, default=1_000, help="of each run")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--trulens", help="an interpreter that has TruLens")
    parser.add_argument("--phoenix", help="an interpreter that has Phoenix")
    for hidden in ("--import-into", "--url"):
        parser.add_argument(hidden, default="", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--file", type=Path, action="append", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.import_into:
        warm(given.import_into)
        start = time.perf_counter()
        IMPORTS[given.import_into](given.file, given.folder, given.url)
        print(time.perf_counter() - start)
        return
    report(given)


def report(given: argparse.Namespace) -> None:
    """Draw the records, measure, and print."""
    from make_runs import make_runs

    pythons = {"ragtriage": sys.executable, "trulens": given.trulens, "phoenix": given.phoenix}
    print(f"{given.runs} runs of {given.records:,} records, load {os.getloadavg()[0]:.1f}\n")
    print("| tool | records/s in | start to first content | list of runs | one case |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="ragtriage-peers-") as temporary:
        folder = Path(temporary)
        files = make_runs(folder / "files", given.records, given.runs)
        for name, python in pythons.items():
            if python:
                found = measure(name, python, files, folder / name)
                rate = given.runs * given.records / found["import"]
                times = " | ".join(f"{found[step]:.1f} s" for step in ("first", "runs", "case"))
                print(f"| {name} | {rate:,.0f} | {times} |", flush=True)


if __name__ == "__main__":
    main()
