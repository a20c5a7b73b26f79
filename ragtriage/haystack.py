"""Records the runs of Haystack's pipelines and agents: a tracer, beside one that is enabled already.

>>> from haystack import Pipeline
>>> from ragtriage.haystack import Recorder
>>> with Recorder() as recorder:
...     outputs = Pipeline().run({})  # no component, no question: no record
>>> recorder.records
[]
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from typing import Any
from uuid import uuid4

from haystack import tracing

from ragtriage.data.importers.formats.frames import record_of_result
from ragtriage.data.importers.parsing.objects import USAGE, plain, usage
from ragtriage.data.importers.parsing.shapes import question_in
from ragtriage.recorder import CallRecorder, error_text, quietly

__all__ = ["Recorder"]

ASKED = ("question", "query", "user_query", "messages", "prompt", "text")  # inputs of components
PIPELINE, AGENT, TOOL = "haystack.pipeline.run", "haystack.agent.run", "haystack.agent.step.tool"
HEARD = {  # tags of spans
    **dict.fromkeys(
        ("haystack.pipeline.input_data", "haystack.component.input", "haystack.agent.input"), "input"
    ),
    **dict.fromkeys(("haystack.agent.step.llm.input", "haystack.agent.step.tool.input"), "input"),
    **dict.fromkeys(("haystack.pipeline.output_data", "haystack.component.output"), "output"),
    **dict.fromkeys(("haystack.agent.output", "haystack.agent.step.llm.output"), "output"),
    "haystack.agent.step.tool.output": "output",
    **dict.fromkeys(("haystack.component.name", "haystack.tool.name"), "name"),
    "haystack.tool.error": "failed",
}


class Recorder(CallRecorder, tracing.Tracer):
    """Records each outermost run of a pipeline or an agent, from here to `close`.

    A tracer that is enabled already goes on, and is the only one again after `close`. A run is recorded
    whatever thread or task it is in; the content of the other tracer's spans is not changed.
    """

    tool = "Haystack"

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        """Begin to record, in memory or to a JSONL file."""
        super().__init__(path)
        self._current: ContextVar[_RecordedSpan | None] = ContextVar("current", default=None)
        self._other = tracing.tracer.actual_tracer if tracing.is_tracing_enabled() else None
        tracing.enable_tracing(self)

    def close(self) -> None:
        """Stop recording, and wait until the file is on the disk.

        Raises:
            RagtriageError: some records could not be written.
        """
        if tracing.tracer.actual_tracer is self:
            tracing.disable_tracing()
            if self._other is not None:
                tracing.enable_tracing(self._other)
        super().close()

    @contextlib.contextmanager
    def trace(
        self, operation_name: str, tags: dict[str, Any] | None = None, parent_span: tracing.Span | None = None
    ) -> Iterator[tracing.Span]:
        """Record a span."""
        parent = parent_span if isinstance(parent_span, _RecordedSpan) else self._current.get()
        others = parent.other if isinstance(parent_span, _RecordedSpan) and parent else parent_span
        traced: Any = contextlib.nullcontext()
        if self._other is not None:
            traced = self._other.trace(operation_name, tags=tags, parent_span=others)
        with traced as other:
            span = _RecordedSpan(operation_name, other, tags or {})
            self._calls.begin(span.key, None if parent is None else parent.key)
            token = self._current.set(span)
            try:
                yield span
            except BaseException as error:
                span.error = error_text(error)
                raise
            finally:
                self._current.reset(token)
                facts: dict[str, Any] = {}
                quietly(lambda: facts.update(span.facts()))
                self._calls.end(span.key, **{**facts, "error": span.error or facts.get("error")})

    def current_span(self) -> tracing.Span | None:
        """Return the span that is open here."""
        return self._current.get()


class _RecordedSpan(tracing.Span):
    """A span that keeps what goes in and out, and hands everything to the span of another tracer."""

    def __init__(self, operation: str, other: tracing.Span | None, tags: Mapping[str, Any]) -> None:
        self.key, self.operation, self.other = str(uuid4()), operation, other
        self.error: str | None = None
        self._said: dict[str, Any] = {}
        for name, value in tags.items():
            self._hear(name, value)

    def _hear(self, key: str, value: Any) -> None:
        if (name := HEARD.get(key)) is not None:
            quietly(lambda: self._said.update({name: plain(value)}))

    def set_tag(self, key: str, value: Any) -> None:
        """Set a tag."""
        self._hear(key, value)
        if self.other is not None:
            self.other.set_tag(key, value)

    def set_content_tag(self, key: str, value: Any) -> None:
        """Set a tag with content, which is recorded in any case."""
        self._hear(key, value)
        if self.other is not None:
            self.other.set_content_tag(key, value)

    def raw_span(self) -> Any:
        """Return the span of the other tracer."""
        return self if self.other is None else self.other.raw_span()

    def get_correlation_data_for_logs(self) -> dict[str, Any]:
        """Return what the other tracer says."""
        return {} if self.other is None else self.other.get_correlation_data_for_logs()

    def facts(self) -> dict[str, Any]:
        """Return what the span says of a call."""
        given, returned = self._said.get("input"), self._said.get("output")
        given = given if isinstance(given, Mapping) else {}
        name = self._said.get("name") or self.operation
        if self.operation == PIPELINE:
            asked = next(filter(None, map(_question, (given, *given.values()))), None)
            result = record_of_result(returned) if isinstance(returned, Mapping) else {}
            return {"kind": "chain", "name": name, "input": asked, "output": result.get("answer")}
        if self.operation == AGENT:
            said = returned.get("messages") if isinstance(returned, Mapping) else None
            return {"kind": "agent", "name": name, "input": given.get("messages"), "output": said}
        if self.operation == TOOL:
            facts: dict[str, Any] = {"kind": "tool", "name": name, "input": given, "output": returned}
            found: dict[str, Any] = {}
            if documents := _documents(returned):
                found["documents"] = documents
            if self._said.get("failed") and isinstance(returned, Mapping):
                found["error"] = str(returned.get("error"))
            return {**facts, **found}
        return {"name": name, **_component(given, returned if isinstance(returned, Mapping) else {})}


def _component(given: Mapping[str, Any], returned: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a component is by what goes in and out: a retriever, a reranker, a model, or a step."""
    if "documents" in returned and (documents := _documents(returned)) is not None:
        before = [document for value in given.values() for document in _documents(value) or ()]
        facts: dict[str, Any] = {"documents": documents, "query": _question(given)}
        return (
            {**facts, "kind": "reranker", "input_documents": before}
            if before
            else {**facts, "kind": "retriever"}
        )
    replies = returned.get("replies")
    if isinstance(replies, list):
        meta = returned.get("meta")
        stated = [*(meta if isinstance(meta, list) else []), *replies]
        figures = [
            part.get(USAGE, {}) if "role" in part else usage(part)
            for part in stated
            if isinstance(part, Mapping)
        ]
        output = replies[0] if len(replies) == 1 else replies
        return {"kind": "llm", "input": _asked(given), "output": output, **(figures[0] if figures else {})}
    return {"kind": "embedding" if "embedding" in returned else "chain"}


def _asked(given: Mapping[str, Any]) -> Any:
    """Return what a component was asked: a text or messages; None where it was neither."""
    values = (given.get(name) for name in ASKED)
    return next((value for value in values if value and isinstance(value, str | list)), None)


def _question(given: Any) -> str | None:
    asked = _asked(given) if isinstance(given, Mapping) else None
    return None if asked is None else question_in(asked)


def _documents(value: Any) -> list[Any] | None:
    """Return the documents in a value, or in lists in it; None where it has no list of them."""
    if isinstance(value, Mapping):
        return _documents(value.get("documents"))
    if not isinstance(value, list):
        return None
    items = [item for part in value for item in (part if isinstance(part, list) else [part])]
    known = all(isinstance(item, Mapping) and "text" in item and "role" not in item for item in items)
    return items if known else None
