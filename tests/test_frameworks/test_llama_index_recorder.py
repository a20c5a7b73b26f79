"""The recorder of LlamaIndex: one record for each call of an engine, streamed or not, whatever else runs."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("llama_index.core")

from llama_index.core import get_response_synthesizer
from llama_index.core.agent.workflow import AgentOutput, ReActAgent
from llama_index.core.base.llms.types import CompletionResponse, LLMMetadata
from llama_index.core.base.response.schema import Response, StreamingResponse
from llama_index.core.chat_engine import ContextChatEngine
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.llms import ChatMessage, CustomLLM
from llama_index.core.llms.callbacks import llm_completion_callback
from llama_index.core.memory import Memory
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.core.tools import QueryEngineTool
from running_loops import run_apart

from ragtriage.data.importers.formats.frames import record_of_result
from ragtriage.data.importers.parsing.objects import plain
from ragtriage.llama_index import Recorder

BARRIER_SECONDS = 20
SECONDS = 10


class Echo(CustomLLM):
    """Answers with the line of the prompt that asks, word by word where it is streamed."""

    broken: bool = False

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(model_name="echo-1")

    def _answer(self, prompt: str) -> str:
        asking = [line for line in prompt.splitlines() if line.startswith(("Query: ", "user: "))]
        return f"About {asking[-1].partition(': ')[2]}"

    @llm_completion_callback()
    def complete(self, prompt: str, formatted: bool = False, **_: Any) -> CompletionResponse:
        usage = {"prompt_tokens": 12, "completion_tokens": 3}
        return CompletionResponse(text=self._answer(prompt), additional_kwargs=usage)

    @llm_completion_callback()
    def stream_complete(self, prompt: str, formatted: bool = False, **_: Any) -> Any:
        def pieces() -> Any:
            text = ""
            for word in self._answer(prompt).split(" "):
                piece = f"{' ' if text else ''}{word}"
                text += piece
                usage = {"prompt_tokens": 12, "completion_tokens": 3}
                yield CompletionResponse(text=text, delta=piece, additional_kwargs=usage)
                if self.broken:
                    raise ConnectionError("cut off")

        return pieces()


class Pages(BaseRetriever):
    """Returns three pages that name the query, and fails where it is asked to."""

    def __init__(self, meet: Callable[[], object] = bool) -> None:
        super().__init__()
        self._meet = meet

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        self._meet()
        if "failing" in query_bundle.query_str:
            raise ConnectionError("the index is\ndown")
        nodes = [
            TextNode(text=f"{query_bundle.query_str} on page {page}", id_=f"p{page}") for page in (1, 2, 3)
        ]
        return [NodeWithScore(node=node, score=1 / at) for at, node in enumerate(nodes, 1)]


class BestTwo(BaseNodePostprocessor):
    """Keeps the last and the first."""

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        return [nodes[2], nodes[0]]


def _engine(
    retriever: BaseRetriever | None = None, *, streaming: bool = False, broken: bool = False, **more: Any
) -> Any:
    synthesizer = get_response_synthesizer(llm=Echo(broken=broken), streaming=streaming)
    return RetrieverQueryEngine(retriever or Pages(), synthesizer, **more)


def test_a_query_is_a_record() -> None:
    with Recorder() as recorder:
        assert str(_engine().query("Who?")) == "About Who?"
    (record,) = recorder.records
    assert (record["question"], record["answer"]) == ("Who?", "About Who?")
    assert record["retrieved"][1] == {"id": "p2", "text": "Who? on page 2", "score": 0.5}
    assert (record["input_tokens"], record["output_tokens"]) == (12, 3)
    assert record["tags"] == {"model": "echo-1"}
    assert 0 < record["retrieval_ms"] <= record["latency_ms"]
    assert record["tool"] == "LlamaIndex"


def test_a_postprocessor_leaves_the_longer_list_as_candidates() -> None:
    with Recorder() as recorder:
        _engine(node_postprocessors=[BestTwo()]).query("Who?")
    (record,) = recorder.records
    assert [page["id"] for page in record["retrieved"]] == ["p3", "p1"]
    assert [page["id"] for page in record["candidates"]] == ["p1", "p2", "p3"]


def test_a_query_that_fails_is_a_record_with_its_error() -> None:
    with Recorder() as recorder:
        with pytest.raises(ConnectionError):
            _engine().query("failing?")
        _engine().query("Who?")
    failed, answered = recorder.records
    assert (failed["question"], failed["answer"]) == ("failing?", None)
    assert failed["tags"]["error"] == "ConnectionError: the index is down"
    assert "error" not in answered["tags"]


def _assert_unmixed(records: list[dict[str, Any]], questions: list[str]) -> None:
    assert sorted(record["question"] for record in records) == sorted(questions)
    for record in records:
        assert record["answer"] == f"About {record['question']}"
        assert [page["text"] for page in record["retrieved"]] == [
            f"{record['question']} on page {page}" for page in (1, 2, 3)
        ]


QUESTIONS = [f"Question {number}?" for number in range(24)]


@pytest.mark.parametrize("streaming", [False, True])
def test_queries_in_threads_do_not_mix(tmp_path: Path, streaming: bool) -> None:
    meeting = threading.Barrier(8)  # every query waits in its retrieval until all are there
    engine = _engine(Pages(lambda: meeting.wait(BARRIER_SECONDS)), streaming=streaming)

    def ask(question: str) -> str:
        response = engine.query(question)
        return "".join(response.response_gen) if isinstance(response, StreamingResponse) else str(response)

    with Recorder(tmp_path / "calls.jsonl"), ThreadPoolExecutor(8) as pool:
        assert list(pool.map(ask, QUESTIONS)) == [f"About {question}" for question in QUESTIONS]
    lines = (tmp_path / "calls.jsonl").read_text(encoding="utf-8").splitlines()
    _assert_unmixed([json.loads(line) for line in lines], QUESTIONS)


@pytest.mark.parametrize("streaming", [False, True])
def test_asynchronous_queries_do_not_mix(streaming: bool) -> None:
    engine = _engine(streaming=streaming)

    async def ask(question: str) -> str:
        response = await engine.aquery(question)
        if isinstance(response, Response):
            return str(response)
        return "".join([piece async for piece in response.response_gen])

    async def ask_all() -> list[str]:
        return await asyncio.gather(*map(ask, QUESTIONS))

    with Recorder() as recorder:
        assert run_apart(ask_all()) == [f"About {question}" for question in QUESTIONS]
    _assert_unmixed(recorder.records, QUESTIONS)


def test_a_stream_is_recorded_once_it_was_read_with_its_tokens() -> None:
    with Recorder() as recorder:
        response = _engine(streaming=True).query("Who?")
        assert recorder.records == [], "nothing was read, and nothing is taken out of the stream"
        assert "".join(response.response_gen) == "About Who?"
        (record,) = recorder.records
    assert (record["question"], record["answer"], record["output_tokens"]) == ("Who?", "About Who?", 3)
    assert len(record["retrieved"]) == 3


def test_a_stream_that_nobody_reads_on_and_one_that_breaks() -> None:
    with Recorder() as recorder:
        pieces = _engine(streaming=True).query("left?").response_gen
        next(pieces)
        pieces.close()
        broken = _engine(streaming=True, broken=True).query("broken?").response_gen
        with pytest.raises(ConnectionError):
            list(broken)
        unread = _engine(streaming=True).query("unread?")
    left, cut, never = sorted(recorder.records, key=lambda record: record["question"] != "left?")
    assert (left["question"], left["answer"]) == ("left?", "About")
    assert (cut["question"], cut["answer"]) == ("broken?", "About")
    assert cut["tags"]["error"] == "ConnectionError: cut off"
    assert "error" not in left["tags"]
    assert (never["question"], never["answer"]) == ("unread?", None)
    assert str(unread) == "About unread?", "it can still be read"


def test_chats_with_their_history() -> None:
    memory = Memory.from_defaults(
        chat_history=[ChatMessage("Hello"), ChatMessage("Hello!", role="assistant")]
    )
    engine = ContextChatEngine.from_defaults(Pages(), llm=Echo(), memory=memory)
    with Recorder() as recorder:
        assert str(
            engine.chat("Who?", chat_history=[ChatMessage("Hi"), ChatMessage("Hi!", role="assistant")])
        )
        assert "".join(engine.stream_chat("Streamed?").response_gen) == "About Streamed?"
        end = time.monotonic() + SECONDS
        while len(recorder.records) < 2 and time.monotonic() < end:  # a thread of the engine writes it
            time.sleep(0.01)
        first, second = recorder.records
    assert (first["question"], first["answer"]) == ("Who?", "About Who?")
    assert [turn["text"] for turn in first["history"]] == ["Hi", "Hi!"]
    assert (second["question"], second["answer"]) == ("Streamed?", "About Streamed?")
    assert [page["id"] for page in second["retrieved"]] == ["p1", "p2", "p3"]


def test_a_function_around_several_queries_is_one_record() -> None:
    @get_dispatcher().span
    def ask(question: str) -> str:
        return str(_engine().query(f"{question} in short")).upper()

    with Recorder() as recorder:
        ask("Who?")
    (record,) = recorder.records
    assert (record["question"], record["answer"]) == ("Who?", "ABOUT WHO? IN SHORT")
    assert record["search_query"] == "Who? in short"
    assert len(record["retrieved"]) == 3


def test_a_model_alone_is_no_call_and_after_close_nothing_is_recorded() -> None:
    before = len(get_dispatcher().span_handlers), len(get_dispatcher().event_handlers)
    with Recorder() as recorder:
        Echo().complete("Query: a judge's prompt")
        assert SentenceSplitter().split_text("A text to be indexed.")
    _engine().query("after?")
    assert recorder.records == []
    assert (len(get_dispatcher().span_handlers), len(get_dispatcher().event_handlers)) == before


class Thinking(Echo):
    """Asks the engine once, then answers, in the words of a ReAct agent."""

    def _answer(self, prompt: str) -> str:
        if "Observation:" in prompt.rpartition("Current Conversation")[2]:
            return "Thought: I can answer without using any more tools.\nAnswer: Ann."
        return 'Thought: I need a tool.\nAction: query_engine_tool\nAction Input: {"input": "author?"}'


def test_an_agent_that_asks_an_engine() -> None:
    tool = QueryEngineTool.from_defaults(_engine())

    async def ask() -> AgentOutput:
        answered: AgentOutput = await ReActAgent(tools=[tool], llm=Thinking(), streaming=False).run("Who?")
        return answered

    with Recorder() as recorder:
        output = run_apart(ask())
    (record,) = recorder.records
    assert (record["question"], record["answer"]) == ("Who?", "Ann.")
    assert record["search_query"] == "author?"
    (calls,) = [check for check in record["checks"] if check["name"] == "tool calls"]
    assert [(call["name"], call["arguments"], call["result"]) for call in calls["actual"]["calls"]] == [
        ("query_engine_tool", {"input": "author?"}, "About author?")
    ]
    assert [page["id"] for page in record["retrieved"]] == ["p1", "p2", "p3"]
    read = record_of_result(plain({"question": "Who?", "answer": output}))
    assert (read["answer"], [page["id"] for page in read["retrieved"]]) == ("Ann.", ["p1", "p2", "p3"])
