"""A collector as a process of its own, and the spans that the official SDK sends to it."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

SPANS_OF_A_TRACE = 4


class Collector:
    """`ragtriage collect` on one workspace and port."""

    def __init__(self, workspace: Path, port: int, *options: str) -> None:
        self.url = f"http://127.0.0.1:{port}"
        command = [sys.executable, "-m", "ragtriage.dashboard.cli", "-w", str(workspace), "collect"]
        self._command = [*command, "--port", str(port), *options]
        self.process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Start it, and wait until it answers."""
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(self._command, stdout=pipe, stderr=pipe, text=True)
        end = time.monotonic() + 60
        while time.monotonic() < end and self.process.poll() is None:
            try:
                urllib.request.urlopen(f"{self.url}/readyz", timeout=1).close()
            except (urllib.error.URLError, OSError):
                time.sleep(0.02)
            else:
                return
        self.process.kill()
        raise AssertionError(self.process.communicate())

    def end(self, by: signal.Signals) -> tuple[int, str, str]:
        """End it by a signal; return its exit code and what it said."""
        assert self.process is not None
        self.process.send_signal(by)
        said, errors = self.process.communicate(timeout=60)
        return self.process.returncode, said, errors


def recorded_traces(n: int, answers: Sequence[tuple[str, str, Sequence[str]]]) -> list[ReadableSpan]:
    """Return the spans of n traces as the SDK records them: a chain, its retriever, two calls of models.

    Answers are questions with an answer and the documents that were found, used in turn.
    """
    kept = InMemorySpanExporter()
    provider = TracerProvider(resource=Resource.create({"service.name": "shop", "service.version": "3"}))
    provider.add_span_processor(SimpleSpanProcessor(kept))
    tracer = provider.get_tracer("tests")
    for at in range(n):
        question, answer, texts = answers[at % len(answers)]
        chain = {"openinference.span.kind": "CHAIN", "input.value": question, "output.value": answer}
        with tracer.start_as_current_span("answer", attributes={**chain, "user.id": f"user {at % 50}"}):
            documents = {
                f"retrieval.documents.{rank}.document.{name}": value
                for rank, text in enumerate(texts)
                for name, value in (("id", f"d{rank}"), ("content", text))
            }
            retriever = {"openinference.span.kind": "RETRIEVER", "input.value": question, **documents}
            with tracer.start_as_current_span("retrieve", attributes=retriever):
                embedding = {"openinference.span.kind": "EMBEDDING", "embedding.model_name": "small"}
                tracer.start_span("embed", attributes=embedding).end()
            call: dict[str, str | int] = {
                "openinference.span.kind": "LLM",
                "llm.model_name": "a-model",
                "llm.input_messages.0.message.role": "user",
                "llm.input_messages.0.message.content": "\n\n".join((*texts, question)),
                "llm.output_messages.0.message.role": "assistant",
                "llm.output_messages.0.message.content": answer,
                "llm.token_count.prompt": 700,
                "llm.token_count.completion": 60,
            }
            tracer.start_span("generate", attributes=call).end()
    return list(kept.get_finished_spans())


def span_ids(spans: Sequence[ReadableSpan]) -> set[tuple[str, str]]:
    """Return the ids of trace and span, in hexadecimal."""
    contexts = [span.context for span in spans if span.context is not None]
    return {(f"{context.trace_id:032x}", f"{context.span_id:016x}") for context in contexts}
