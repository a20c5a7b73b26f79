"""The collector as a process: the official exporter, kills, ends by signals, what it refuses at its start."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from collector_process import SPANS_OF_A_TRACE, Collector, recorded_traces, span_ids
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace.export import SpanExportResult

from ragtriage.data.live.calls import JOURNAL, Calls, live_folder
from ragtriage.data.live.journal import Kind, read_journal
from ragtriage.data.live.otlp_spans import parsed_request, stored_spans
from ragtriage.data.live.worker import Worker
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.workspace import Workspace

ANSWERS = [(f"How many days of leave in {at}?", f"It is {at}.", ["Leave. " * 40] * 3) for at in range(30)]


@pytest.fixture
def collector(tmp_path: Path) -> Iterator[Collector]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    running = Collector(tmp_path, port)
    running.start()
    yield running
    if running.process is not None and running.process.poll() is None:
        running.process.kill()
        running.process.communicate()


def _stored(workspace: Path) -> set[tuple[str, str]]:
    """Return the spans in the journal and in the database."""
    store = RunStore(Workspace(workspace))
    folder = live_folder(store.workspace, "default")
    records = read_journal(folder / JOURNAL)
    spans = [
        span
        for _, kind, payload in records
        if kind is Kind.TRACES
        for span in stored_spans(parsed_request(payload))
    ]
    with Calls.of(store.workspace, "default").open() as connection:
        rows = connection.execute("SELECT trace_id, span_id FROM spans").fetchall()
    return {(span.trace_id, span.span_id) for span in spans} | set(map(tuple, rows))


def test_no_acknowledged_span_is_lost_by_two_kills_while_the_official_exporter_sends(
    collector: Collector, tmp_path: Path
) -> None:
    spans = recorded_traces(250, ANSWERS)
    batches = [spans[at : at + 20] for at in range(0, len(spans), 20)]
    acknowledged: list[int] = []
    exporter = OTLPSpanExporter(f"{collector.url}/v1/traces", compression=Compression.Gzip, timeout=20)

    def send() -> None:
        for number, batch in enumerate(batches):
            for _ in range(5):  # the SDK's processor would drop it instead
                if exporter.export(batch) is SpanExportResult.SUCCESS:
                    acknowledged.append(number)
                    break

    sender = threading.Thread(target=send)
    sender.start()
    for wanted in (len(batches) // 4, len(batches) // 2):
        while len(acknowledged) < wanted and sender.is_alive():
            time.sleep(0.001)
        collector.end(signal.SIGKILL)
        collector.start()
    sender.join(120)
    code, said, errors = collector.end(signal.SIGINT)
    assert (code, said.splitlines()[-1]) == (0, "Stopped; what was acknowledged is stored.")
    assert "damaged" not in errors
    assert acknowledged == list(range(len(batches)))
    assert _stored(tmp_path) == span_ids(spans)
    store = RunStore(Workspace(tmp_path))
    Worker(store, "default", print).round(time.time(), whole=True)
    facts = Calls.of(store.workspace, "default").facts(0, 1e12)
    assert len(facts.trace_id) == len(spans) // SPANS_OF_A_TRACE  # what came twice is one call
    assert set(facts.release) == {"3"}


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM])
def test_it_drains_and_ends_well_by_a_signal(
    collector: Collector, tmp_path: Path, by: signal.Signals
) -> None:
    exporter = OTLPSpanExporter(f"{collector.url}/v1/traces")
    spans = recorded_traces(2, ANSWERS)
    assert exporter.export(spans) is SpanExportResult.SUCCESS
    code, said, errors = collector.end(by)
    assert (code, errors) == (0, "")
    assert f"Listening on {collector.url}/" in said
    assert "redaction: e-mail, phone, card, IBAN" in said
    assert "policy: the default policy" in said
    assert _stored(tmp_path) == span_ids(spans)


def _said(*words: str) -> tuple[int, str]:
    command = [sys.executable, "-m", "ragtriage.dashboard.cli", *words]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    return ended.returncode, ended.stderr.strip().splitlines()[-1]


def test_a_second_collector_is_refused_by_port_and_by_project(collector: Collector, tmp_path: Path) -> None:
    port = collector.url.rpartition(":")[2]
    other = ["-w", str(tmp_path), "collect", "--port"]
    code, said = _said(*other, port, "--project", "other")
    assert (code, said) == (2, f"Error: port {port} is taken; accepted: a free one, given with --port")
    code, said = _said(*other, "0")
    assert code == 2
    assert "another process collects into it; accepted: one at a time" in said
