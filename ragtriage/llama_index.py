"""Records the calls of LlamaIndex' query engines, chat engines, agents and retrievers.

>>> from llama_index.core import Document, MockEmbedding, SummaryIndex
>>> from llama_index.core.llms import MockLLM
>>> from ragtriage.llama_index import Recorder
>>> engine = SummaryIndex.from_documents([Document(text="Paris.")]).as_query_engine(llm=MockLLM(max_tokens=1))
>>> with Recorder() as recorder:
...     response = engine.query("Capital of France?")
>>> [(record["question"], record["answer"]) for record in recorder.records]
[('Capital of France?', 'text')]
"""

from __future__ import annotations

import contextlib
import inspect
import os
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.base.llms.base import BaseLLM
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.instrumentation.events import BaseEvent
from llama_index.core.instrumentation.span import active_span_id
from llama_index.core.instrumentation.span_handlers import BaseSpanHandler
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.tools import BaseTool
from pydantic import PrivateAttr

from ragtriage.data.importers.parsing.objects import plain, structured_text, usage
from ragtriage.recorder import CallRecorder, Calls, error_text, quietly

__all__ = ["Recorder"]

CALLS = ("agent", "chain", "retriever")  # kinds of an outermost span: a model alone is no call of a pipeline
ASKED = ("str_or_query_bundle", "message", "user_msg", "query_bundle", "query", "question", "query_str")
UUID = 37  # characters of "-" and the UUID at the end of the id of a span
OF_MODEL = ("complete", "chat", "acomplete", "achat", "predict", "apredict")
STREAMED = ("stream_complete", "stream_chat", "astream_complete", "astream_chat")
WRITING = ("write_response_to_history", "awrite_response_to_history")
ENTRIES = (  # methods of LlamaIndex that make a call
    *("query", "aquery", "synthesize", "asynthesize", "chat", "achat", "stream_chat", "astream_chat", "run"),
)
MODEL_ENDED = ("LLMChatEndEvent", "LLMCompletionEndEvent")


class Recorder(CallRecorder):
    """Records each call from here to `close`, whatever thread or task it is in.

    A streamed answer is recorded once it was read, and its response stays the same object. The calls of a
    model alone are none.
    """

    tool = "LlamaIndex"

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        """Begin to record, in memory or to a JSONL file."""
        super().__init__(path, global_to=CALLS)
        self._spans, self._events = _Spans(self._calls), _Events(self._calls)
        root = get_dispatcher()
        root.add_span_handler(self._spans)
        root.add_event_handler(self._events)

    def close(self) -> None:
        """Stop recording, and wait until the file is on the disk.

        A stream that nobody has read to its end is recorded with no answer.

        Raises:
            RagtriageError: some records could not be written.
        """
        root = get_dispatcher()
        root.span_handlers = [handler for handler in root.span_handlers if handler is not self._spans]
        root.event_handlers = [handler for handler in root.event_handlers if handler is not self._events]
        super().close()


class _Events(BaseEventHandler):
    """Ends the spans of models, of which a stream has its answer long after the span was left."""

    _calls: Calls = PrivateAttr()

    def __init__(self, calls: Calls) -> None:
        super().__init__()
        self._calls = calls

    @classmethod
    def class_name(cls) -> str:
        return "RagtriageEvents"

    def handle(self, event: BaseEvent, **_: Any) -> None:
        """Take an event."""
        name = type(event).__name__
        if name in MODEL_ENDED and event.span_id:
            response = getattr(event, "response", None)
            quietly(lambda: self._calls.end(event.span_id, **_of_response(response)))
        elif name == "ExceptionEvent" and event.span_id:
            self._calls.end(event.span_id, error=error_text(event.exception))


def _of_response(response: Any) -> dict[str, Any]:
    """Return what a model wrote, and its figures."""
    message, raw = getattr(response, "message", None), getattr(response, "raw", None)
    output = plain(message) if message is not None else getattr(response, "text", response)
    counted = getattr(raw, "usage", None)
    figures = usage(raw) if isinstance(raw, Mapping) else usage(getattr(counted, "__dict__", {}))
    return {"output": output, **figures, **usage(response)}


class _Spans(BaseSpanHandler[Any]):
    """Begins and ends spans."""

    _calls: Calls = PrivateAttr()
    _chats: dict[int, tuple[str, Any]] = PrivateAttr()

    def __init__(self, calls: Calls) -> None:
        super().__init__()
        self._calls, self._chats = calls, {}

    @classmethod
    def class_name(cls) -> str:
        return "RagtriageSpans"

    def span_enter(
        self,
        id_: str,
        bound_args: inspect.BoundArguments,
        instance: Any = None,
        parent_id: str | None = None,
        tags: dict[str, Any] | None = None,
        **_: Any,
    ) -> None:
        """Begin a span."""
        facts: dict[str, Any] = {}
        quietly(lambda: facts.update(_given(_method(id_), instance, bound_args)))
        stated = {key: str(value) for key, value in (tags or {}).items() if key == "question_id"}
        self._calls.begin(id_, parent_id, name=id_[:-UUID], fields=stated, **facts)

    def span_exit(self, id_: str, *, instance: Any = None, result: Any = None, **_: Any) -> None:
        """End a span, unless somebody is to read its answer as a stream."""
        if _method(id_) in STREAMED and (inspect.isgenerator(result) or inspect.isasyncgen(result)):
            return  # an event ends it
        quietly(lambda: self._follow(id_, result))
        facts: dict[str, Any] = {}
        quietly(lambda: facts.update(_returned(self._calls.facts(id_).get("kind"), result)))
        self._calls.end(id_, **facts)
        if _method(id_) in WRITING:
            self._chat_ended(instance)

    def span_drop(
        self, id_: str, *, instance: Any = None, err: BaseException | None = None, **_: Any
    ) -> None:
        """End a span that failed."""
        self._calls.end(id_, error="failed" if err is None else error_text(err))
        if _method(id_) in WRITING:
            self._chat_ended(instance)

    def _follow(self, id_: str, result: Any) -> None:
        """Keep a call open whose answer is a stream, until it was read."""
        own = vars(result) if hasattr(result, "source_nodes") and hasattr(result, "__dict__") else {}
        if "response_gen" in own and getattr(result, "response_txt", None) is None and self._calls.hold(id_):
            follow = _followed_async if hasattr(own["response_gen"], "__anext__") else _followed
            result.response_gen = follow(own["response_gen"], _Stream(self._calls, id_, result))
        elif "queue" in own and self._calls.hold(id_):  # a chat, whose stream a thread or a task reads
            self._chats[id(result)] = (id_, result)
            if result.is_done or result.exception is not None:
                self._chat_ended(result)

    def _chat_ended(self, chat: Any) -> None:
        """End the call of a streamed chat once its answer is there."""
        root, _ = self._chats.pop(id(chat), (None, None))
        if root is not None:
            stream = _Stream(self._calls, root, chat)
            stream.end(chat.response or None, chat.exception)

    def new_span(self, *_: Any, **__: Any) -> None:
        """Keep none: `Calls` does."""

    def prepare_to_exit_span(self, *_: Any, **__: Any) -> None:
        """Keep none."""

    def prepare_to_drop_span(self, *_: Any, **__: Any) -> None:
        """Keep none."""


def _method(id_: str) -> str:
    return id_[:-UUID].rpartition(".")[2]


class _Stream:
    """An answer that is read piece by piece; the calls of models that this takes belong to its call."""

    def __init__(self, calls: Calls, root: str, response: Any) -> None:
        self._calls, self._root, self._nodes = calls, root, plain(response.source_nodes)
        self.pieces: list[str] = []

    @contextlib.contextmanager
    def inside(self) -> Iterator[None]:
        """Make what happens in here a part of the call."""
        token = active_span_id.set(self._root)
        try:
            yield
        finally:
            active_span_id.reset(token)

    @contextlib.contextmanager
    def ended(self) -> Iterator[None]:
        """End the call after what happens in here, with the pieces as its answer and what went wrong."""
        failed: BaseException | None = None
        try:
            yield
        except Exception as error:
            failed = error
            raise
        finally:
            self.end("".join(map(str, self.pieces)), failed)

    def end(self, answer: str | None, error: BaseException | None) -> None:
        """End the call."""
        output = {"response": answer, "source_nodes": self._nodes}
        self._calls.release(
            self._root, output=output, **({} if error is None else {"error": error_text(error)})
        )


def _followed(pieces: Iterator[str], stream: _Stream) -> Iterator[str]:
    """Yield the pieces of an answer, and end its call after the last or where nobody reads on."""
    with stream.ended():
        while True:
            with stream.inside():
                piece = next(pieces, None)
            if piece is None:
                return
            stream.pieces.append(piece)
            yield piece


async def _followed_async(pieces: AsyncIterator[str], stream: _Stream) -> AsyncIterator[str]:
    """Yield the pieces of an answer as `_followed` does."""
    with stream.ended():
        while True:
            with stream.inside():
                piece = await anext(pieces, None)
            if piece is None:
                return
            stream.pieces.append(piece)
            yield piece


def _given(method: str, instance: Any, bound_args: inspect.BoundArguments) -> dict[str, Any]:
    """Return the kind of a span and what it is given."""
    given = bound_args.arguments
    if isinstance(instance, BaseRetriever):
        is_public = method in ("retrieve", "aretrieve")
        return {"kind": "retriever" if is_public else "other", "query": _asked(given), "input": _asked(given)}
    if isinstance(instance, BaseNodePostprocessor):
        nodes = given.get("nodes")
        return {"kind": "reranker", "query": _asked(given), "input_documents": plain(nodes)}
    if isinstance(instance, BaseLLM):
        model = getattr(instance.metadata, "model_name", None)
        prompt = next(iter(given.get("args") or ()), given.get("messages", given.get("prompt")))
        known = {} if model in (None, "", "unknown") else {"model": model}
        kind = "llm" if method in (*OF_MODEL, *STREAMED) else "other"
        return {"kind": kind, "input": plain(prompt), **known}
    if isinstance(instance, BaseTool):
        return {"kind": "tool", "tool": instance.metadata.get_name(), "input": plain(given.get("kwargs", {}))}
    if isinstance(instance, BaseEmbedding):
        return {"kind": "embedding"}
    if type(instance).__module__.startswith("llama_index.") and method not in ENTRIES:
        return {"kind": "other"}  # a parser or a prompt is no call of a pipeline
    question, history = _asked(given), plain(given.get("chat_history"))
    earlier = history if isinstance(history, list) else []
    asked = (
        {"messages": [*earlier, {"role": "user", "content": question}]} if earlier and question else question
    )
    return {"kind": "chain", "input": asked}


def _asked(given: Mapping[str, Any]) -> str | None:
    """Return the question among arguments: by its name, else the first text."""
    given = {**given, **(given.get("kwargs") or {})}
    named = [given[name] for name in ASKED if given.get(name) is not None]
    for value in (*named, *(given.get("args") or ()), *given.values()):
        value = getattr(value, "user_msg", value)  # of the event that starts an agent
        text = getattr(value, "query_str", getattr(value, "content", value))
        if isinstance(text, str) and text.strip():
            return text
    return None


def _returned(kind: str | None, result: Any) -> dict[str, Any]:
    """Return what a span returned, by its kind."""
    if kind in ("retriever", "reranker"):
        return {"documents": plain(result)}
    if kind == "llm":
        return _of_response(result)
    if kind == "tool":
        failed = {"error": str(result.content)} if getattr(result, "is_error", False) else {}
        return {"output": str(getattr(result, "content", result)), **failed}
    if kind != "chain" or inspect.isgenerator(result) or inspect.isasyncgen(result):
        return {}
    result = getattr(result, "result", result)  # of the event that stops an agent
    return {"output": plain(structured_text(result))}
