"""The recorder of Haystack: one record for each run of a pipeline, beside any other tracer."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"  # read when the first pipeline runs
pytest.importorskip("haystack")

from haystack import Document, Pipeline, component, tracing
from haystack.components.agents import Agent
from haystack.components.builders import AnswerBuilder, PromptBuilder
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
from haystack.dataclasses import ChatMessage, ToolCall
from haystack.document_stores.in_memory import InMemoryDocumentStore
from haystack.tools import Tool
from running_loops import run_apart

from ragtriage.haystack import Recorder

PAGES = [
    Document(content=f"{word} is on this page", id=word, meta={"source_id": "book"})
    for word in ("anna", "bertha", "clara", "dora")
]


@component
class Ranker:
    """Keeps the last two documents, in reverse."""

    @component.output_types(documents=list[Document])
    def run(self, query: str, documents: list[Document]) -> dict[str, Any]:
        """Rank."""
        return {"documents": documents[:-3:-1]}


@component
class Echo:
    """Answers with the last line of the prompt."""

    @component.output_types(replies=list[str], meta=list[dict[str, Any]])
    def run(self, prompt: str) -> dict[str, Any]:
        """Answer."""
        if "broken" in prompt:
            raise TimeoutError("the model\nis away")
        usage = {"prompt_tokens": 12, "completion_tokens": 3}
        meta = {"model": "echo-1", "finish_reason": "stop", "usage": usage}
        return {"replies": [f"About {prompt.splitlines()[-1]}"], "meta": [meta]}


def _pipeline(*, ranked: bool = False, built: bool = False) -> Pipeline:
    store = InMemoryDocumentStore()
    store.write_documents(PAGES)
    pipeline = Pipeline()
    pipeline.add_component("retriever", InMemoryBM25Retriever(store, top_k=4))
    template = "{% for page in documents %}{{ page.content }}\n{% endfor %}{{ question }}"
    pipeline.add_component(
        "prompt_builder", PromptBuilder(template, required_variables=["documents", "question"])
    )
    pipeline.add_component("llm", Echo())
    last = "retriever"
    if ranked:
        pipeline.add_component("ranker", Ranker())
        pipeline.connect("retriever", "ranker")
        last = "ranker"
    pipeline.connect(f"{last}.documents", "prompt_builder.documents")
    pipeline.connect("prompt_builder", "llm")
    if built:
        pipeline.add_component("answers", AnswerBuilder())
        pipeline.connect("llm.replies", "answers.replies")
        pipeline.connect(f"{last}.documents", "answers.documents")
    return pipeline


def _data(question: str, *others: str) -> dict[str, Any]:
    query = {name: {"query": question} for name in ("retriever", *others)}
    return {**query, "prompt_builder": {"question": question}}


@pytest.fixture(autouse=True)
def _no_tracer_is_left() -> Iterator[None]:
    yield
    assert not tracing.is_tracing_enabled()


def test_a_run_is_a_record() -> None:
    with Recorder() as recorder:
        _pipeline().run(_data("is anna on this page?"))
    (record,) = recorder.records
    assert (record["question"], record["answer"]) == ("is anna on this page?", "About is anna on this page?")
    first = record["retrieved"][0]
    assert (first["id"], first["text"], first["doc_id"]) == ("anna", "anna is on this page", "book")
    assert first["score"] > record["retrieved"][1]["score"]
    assert len(record["retrieved"]) == 4
    assert (record["input_tokens"], record["output_tokens"]) == (12, 3)
    assert record["tags"] == {"model": "echo-1", "finish_reason": "stop"}
    assert 0 < record["retrieval_ms"] <= record["latency_ms"]
    assert record["tool"] == "Haystack"


@pytest.mark.parametrize("built", [False, True])
def test_a_ranker_leaves_the_longer_list_as_candidates(built: bool) -> None:
    with Recorder() as recorder:
        names = ("ranker", "answers") if built else ("ranker",)
        _pipeline(ranked=True, built=built).run(_data("is anna on this page?", *names))
    (record,) = recorder.records
    assert record["answer"] == "About is anna on this page?"
    assert len(record["candidates"]) == 4
    assert [page["id"] for page in record["retrieved"]] == [
        page["id"] for page in record["candidates"][:-3:-1]
    ]


def test_a_run_that_fails_is_a_record_with_its_error() -> None:
    with Recorder() as recorder:
        with pytest.raises(Exception, match="away"):
            _pipeline().run(_data("is anna broken?"))
        _pipeline().run(_data("is anna whole?"))
    failed, answered = recorder.records
    assert (failed["question"], failed["answer"]) == ("is anna broken?", None)
    assert "the model is away" in failed["tags"]["error"]
    assert len(failed["retrieved"]) == 4
    assert "error" not in answered["tags"]


def _assert_unmixed(records: list[dict[str, Any]], questions: list[str]) -> None:
    assert sorted(record["question"] for record in records) == sorted(questions)
    for record in records:
        assert record["answer"] == f"About {record['question']}"
        assert record["retrieved"][0]["id"] in record["question"]


QUESTIONS = [f"is {page.id} in {number}?" for number in range(8) for page in PAGES]


def test_runs_in_threads_do_not_mix(tmp_path: Path) -> None:
    pipeline = _pipeline(ranked=False)
    with Recorder(tmp_path / "calls.jsonl"), ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda question: pipeline.run(_data(question)), QUESTIONS))
    lines = (tmp_path / "calls.jsonl").read_text(encoding="utf-8").splitlines()
    _assert_unmixed([json.loads(line) for line in lines], QUESTIONS)


def test_asynchronous_runs_do_not_mix() -> None:
    pipeline = _pipeline()

    async def ask_all() -> None:
        await asyncio.gather(*(pipeline.run_async(_data(question)) for question in QUESTIONS))

    with Recorder() as recorder:
        run_apart(ask_all())
    _assert_unmixed(recorder.records, QUESTIONS)


def test_a_pipeline_inside_a_component_is_part_of_one_record() -> None:
    @component
    class Inner:
        """Runs another pipeline."""

        @component.output_types(replies=list[str])
        def run(self, question: str) -> dict[str, Any]:
            """Ask."""
            return {"replies": _pipeline().run(_data(f"{question} in short"))["llm"]["replies"]}

    outer = Pipeline()
    outer.add_component("inner", Inner())
    with Recorder() as recorder:
        outer.run({"inner": {"question": "is anna here?"}})
    (record,) = recorder.records
    assert (record["question"], record["answer"]) == ("is anna here?", "About is anna here? in short")
    assert record["search_query"] == "is anna here? in short"
    assert len(record["retrieved"]) == 4


def test_an_indexing_pipeline_is_no_call() -> None:
    @component
    class Writer:
        """Takes documents."""

        @component.output_types(documents=list[Document])
        def run(self, documents: list[Document]) -> dict[str, Any]:
            """Write."""
            return {"documents": documents}

    pipeline = Pipeline()
    pipeline.add_component("writer", Writer())
    with Recorder() as recorder:
        pipeline.run({"writer": {"documents": PAGES}})
    assert recorder.records == []


def test_an_agent_with_a_tool_that_searches() -> None:
    said = iter([ToolCall("search_pages", {"query": "anna"}, id="t1"), "On the first page."])

    @component
    class Model:
        """Calls the tool, then answers."""

        @component.output_types(replies=list[ChatMessage])
        def run(self, messages: list[ChatMessage], tools: Any = None) -> dict[str, Any]:
            """Answer."""
            reply = next(said)
            message = (
                ChatMessage.from_assistant(tool_calls=[reply])
                if isinstance(reply, ToolCall)
                else ChatMessage.from_assistant(reply)
            )
            return {"replies": [message]}

    search = Tool(
        name="search_pages",
        description="Search",
        parameters={"type": "object", "properties": {"query": {"type": "string"}}},
        function=lambda query: {"documents": [page for page in PAGES if page.id == query]},
    )
    agent = Agent(chat_generator=Model(), tools=[search])
    with Recorder() as recorder:
        agent.run(messages=[ChatMessage.from_user("Where is anna?")])
    (record,) = recorder.records
    assert (record["question"], record["answer"]) == ("Where is anna?", "On the first page.")
    assert [page["id"] for page in record["retrieved"]] == ["anna"]
    (calls,) = [check for check in record["checks"] if check["name"] == "tool calls"]
    assert [(call["name"], call["arguments"]) for call in calls["actual"]["calls"]] == [
        ("search_pages", {"query": "anna"})
    ]


class _Noted(tracing.Span):
    def __init__(self, name: str, parent: object) -> None:
        self.name, self.parent, self.tags = name, parent, dict[str, Any]()

    def set_tag(self, key: str, value: Any) -> None:
        self.tags[key] = value


class _Notes(tracing.Tracer):
    """Another tracer, which notes its spans."""

    def __init__(self) -> None:
        self.spans: list[_Noted] = []

    @contextlib.contextmanager
    def trace(
        self, operation_name: str, tags: dict[str, Any] | None = None, parent_span: Any = None
    ) -> Iterator[tracing.Span]:
        span = _Noted(operation_name, parent_span)
        span.set_tags(tags or {})
        self.spans.append(span)
        yield span

    def current_span(self) -> tracing.Span | None:
        return None


def test_another_tracer_goes_on_and_comes_back() -> None:
    notes = _Notes()
    tracing.enable_tracing(notes)
    try:
        with Recorder() as recorder:
            _pipeline().run(_data("is anna here?"))
        assert tracing.tracer.actual_tracer is notes
    finally:
        tracing.disable_tracing()
    assert len(recorder.records) == 1
    run, *inner = notes.spans
    assert run.name == "haystack.pipeline.run"
    assert [span.parent for span in inner] == [run] * 3, "it is given its own spans as parents"
    assert "haystack.component.output" not in inner[0].tags, (
        "content that it does not want stays away from it"
    )
