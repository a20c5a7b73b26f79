"""`ragtriage collect` under load: spans a second beside Phoenix' collector, and kills that must lose nothing.

    python -m venv phoenix && phoenix/bin/pip install arize-phoenix
    python benchmarks/collector_speed.py --phoenix phoenix/bin/python
    python benchmarks/collector_speed.py --kills

The traces are made of the handbook's questions, answers and five passages each: a chain, a retriever, an
embedding and a call of a model. The exporter of the official SDK sends them, from processes of its own and in
batches of 512 spans, to one collector after the other. The time is from the first request until every span is
on the disk: ragtriage answers after that; Phoenix answers before, so its database is asked until it has all.
With `--kills` the collector is killed twice meanwhile; what was acknowledged and is not stored is counted.
"""

import argparse
import gzip
import json
import multiprocessing
import os
import signal
import socket
import sqlite3
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from collector_process import Collector, recorded_traces, span_ids
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace.export import SpanExportResult

HANDBOOK = Path(__file__).parent.parent / "data" / "bundled" / "handbook" / "V2.jsonl.gz"
BATCH = 512  # spans of one request, as the SDK's processor sends them
FORK = multiprocessing.get_context("fork")


def answers() -> list[tuple[str, str, list[str]]]:
    """Return questions of the handbook with answer and documents."""
    with gzip.open(HANDBOOK, "rt", encoding="utf-8") as file:
        samples = [json.loads(line) for line in file]
    rows = [
        (sample["question"], sample.get("answer") or "", sample["retrieved"])
        for sample in samples
        if "question" in sample
    ]
    return [(question, answer, [text["text"] for text in found[:5]]) for question, answer, found in rows]


def send(url: str, spans: Sequence[Any], batch: int, acknowledged: Any) -> None:
    """Send spans with the official exporter; what is acknowledged goes into a queue, batch by batch."""
    exporter = OTLPSpanExporter(f"{url}/v1/traces", compression=Compression.Gzip, timeout=60)
    for at in range(0, len(spans), batch):
        part = spans[at : at + batch]
        while exporter.export(part) is not SpanExportResult.SUCCESS:
            time.sleep(0.2)
        acknowledged.put(span_ids(part))


def sent_in(url: str, spans: Sequence[Any], senders: int, stored: Callable[[], int]) -> tuple[float, float]:
    """Return the seconds until every span is acknowledged, and until it is stored."""
    queue = FORK.Queue()
    share = -(-len(spans) // senders)
    parts = [spans[at : at + share] for at in range(0, len(spans), share)]
    processes = [FORK.Process(target=send, args=(url, part, BATCH, queue)) for part in parts]
    begin = time.perf_counter()
    for process in processes:
        process.start()
    known: set[tuple[str, str]] = set()
    while len(known) < len(spans):
        known |= queue.get(timeout=600)
    answered = time.perf_counter() - begin
    while stored() < len(spans):
        time.sleep(0.02)
    ended = time.perf_counter() - begin
    for process in processes:
        process.join()
    return answered, ended


def rows(path: Path, table: str) -> int:
    """Return how many rows a table of a SQLite file has."""
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=30)) as connection:
            return int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])
    except sqlite3.Error:
        return 0


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def of_ragtriage(spans: Sequence[Any], senders: int) -> None:
    """Measure ragtriage, and how long its worker takes to have the spans in the database."""
    with tempfile.TemporaryDirectory() as folder:
        collector = Collector(Path(folder), free_port())
        collector.start()
        begin = time.perf_counter()
        answered, _ = sent_in(collector.url, spans, senders, lambda: len(spans))
        print_rate("ragtriage collect, answered and on the disk", len(spans), answered)
        database = Path(folder) / "live" / "default" / "calls.sqlite"
        while rows(database, "spans") < len(spans):
            time.sleep(0.02)
        print_rate("  the same, in its database too", len(spans), time.perf_counter() - begin)
        collector.end(signal.SIGINT)


def of_phoenix(python: str, spans: Sequence[Any], senders: int) -> None:
    """Measure Phoenix."""
    with tempfile.TemporaryDirectory() as folder:
        ports = {name: str(free_port()) for name in ("PHOENIX_PORT", "PHOENIX_GRPC_PORT")}
        own = {"PHOENIX_WORKING_DIR": folder, "PHOENIX_TELEMETRY_ENABLED": "false", **ports}
        quiet = subprocess.DEVNULL
        command = [python, "-m", "phoenix.server.main", "serve"]
        with subprocess.Popen(command, env={**os.environ, **own}, stdout=quiet, stderr=quiet) as server:
            url = f"http://127.0.0.1:{ports['PHOENIX_PORT']}"
            wait_for(f"{url}/healthz")
            database = Path(folder) / "phoenix.db"
            answered, ended = sent_in(url, spans, senders, lambda: rows(database, "spans"))
            print_rate("Phoenix, in its database", len(spans), ended)
            print_rate("  the same, answered", len(spans), answered)
            server.terminate()


def wait_for(url: str) -> None:
    """Wait until a server answers."""
    while True:
        try:
            urllib.request.urlopen(url, timeout=1).close()
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
        else:
            return


def print_rate(what: str, n: int, seconds: float) -> None:
    """Print a rate."""
    print(f"{what}: {n / seconds:,.0f} spans/s ({n:,} in {seconds:.1f} s)", flush=True)


def with_kills(spans: Sequence[Any]) -> None:
    """Kill the collector twice while spans come, and count what was acknowledged and is not stored."""
    with tempfile.TemporaryDirectory() as folder:
        collector = Collector(Path(folder), free_port())
        collector.start()
        queue = FORK.Queue()
        process = FORK.Process(target=send, args=(collector.url, spans, 100, queue))
        process.start()
        known: set[tuple[str, str]] = set()

        def kill() -> None:
            for share in (0.3, 0.6):
                while len(known) < share * len(spans):
                    time.sleep(0.001)
                collector.end(signal.SIGKILL)
                collector.start()

        killer = threading.Thread(target=kill)
        killer.start()
        while len(known) < len(spans):
            known |= queue.get(timeout=600)
        killer.join()
        process.join()
        time.sleep(5)  # the worker reads the rest
        collector.end(signal.SIGINT)
        database = Path(folder) / "live" / "default" / "calls.sqlite"
        with closing(sqlite3.connect(database)) as connection:
            stored = set(connection.execute("SELECT trace_id, span_id FROM spans"))
        lost = known - stored
        print(f"killed twice: {len(known):,} spans acknowledged, {len(lost):,} of them lost")


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--spans", type=int, default=10_000)
    parser.add_argument("--senders", type=int, default=2, help="processes that send")
    parser.add_argument("--phoenix", metavar="PYTHON", help="an interpreter that has Phoenix")
    parser.add_argument("--kills", action="store_true")
    given = parser.parse_args()
    spans = recorded_traces(given.spans // 4, answers())
    if given.kills:
        with_kills(spans)
        return
    of_ragtriage(spans, given.senders)
    if given.phoenix:
        of_phoenix(given.phoenix, spans, given.senders)


if __name__ == "__main__":
    main()
