"""The recorder of LangChain: one record for each call of a chain, whatever runs at the same time."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import ragtriage

pytest.importorskip("langchain_core")

from langchain_core.documents import Document
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable, RunnableLambda, RunnablePassthrough
from langchain_core.tools import tool
from running_loops import run_apart

from ragtriage.langchain import Recorder

if TYPE_CHECKING:
    from langchain_core.outputs import ChatResult

BARRIER_SECONDS = 20


class Pages(BaseRetriever):
    """Returns three pages that name the query, and fails where it is asked to."""

    meet: Callable[[], object] = bool  # called in each retrieval

    def _get_relevant_documents(self, query: str, **_: Any) -> list[Document]:
        self.meet()
        if "broken" in query:
            raise ConnectionError("the index is\ndown")
        return [Document(f"{query} on page {page}", id=f"p{page}") for page in (1, 2, 3)]


class Echo(GenericFakeChatModel):
    """Answers with the last line that it was given."""

    messages: Iterator[Any] = iter(())

    def _generate(self, messages: list[Any], *args: Any, **options: Any) -> ChatResult:
        text = str(messages[-1].content)
        said = AIMessage(
            f"About {text.rpartition('Q: ')[2]}",
            usage_metadata={"input_tokens": 12, "output_tokens": 3, "total_tokens": 15},
            response_metadata={"model_name": "echo-1", "finish_reason": "stop"},
        )
        self.messages = iter([said])
        return super()._generate(messages, *args, **options)


PROMPT = ChatPromptTemplate.from_template("Pages: {context}\nQ: {question}")


def _chain(retriever: Runnable[Any, Any]) -> Runnable[Any, Any]:
    return (
        {"context": retriever, "question": RunnablePassthrough()}
        | PROMPT
        | Echo()
        | (lambda said: said.content)
    )


def test_a_call_is_a_record() -> None:
    recorder = Recorder()
    config: Any = {"callbacks": [recorder], "metadata": {"question_id": "q7"}}
    assert _chain(Pages()).invoke("Who?", config=config) == "About Who?"
    (record,) = recorder.records
    assert (record["question_id"], record["question"], record["answer"]) == ("q7", "Who?", "About Who?")
    assert [page["id"] for page in record["retrieved"]] == ["p1", "p2", "p3"]
    assert record["retrieved"][0]["text"] == "Who? on page 1"
    assert (record["input_tokens"], record["output_tokens"]) == (12, 3)
    assert record["tags"] == {"model": "echo-1", "finish_reason": "stop"}
    assert 0 < record["retrieval_ms"] <= record["latency_ms"]
    assert record["tool"] == "LangChain"


def test_documents_that_a_step_reranks_leave_the_longer_list_as_candidates() -> None:
    recorder = Recorder()
    two_best = RunnableLambda(lambda pages: [pages[2], pages[0]])
    _chain(Pages() | two_best).invoke("Who?", config={"callbacks": [recorder]})
    (record,) = recorder.records
    assert [page["id"] for page in record["retrieved"]] == ["p3", "p1"]
    assert [page["id"] for page in record["candidates"]] == ["p1", "p2", "p3"]


def test_a_call_that_fails_is_a_record_with_its_error() -> None:
    recorder = Recorder()
    with pytest.raises(ConnectionError):
        _chain(Pages()).invoke("broken?", config={"callbacks": [recorder]})
    _chain(Pages()).invoke("Who?", config={"callbacks": [recorder]})
    failed, answered = recorder.records
    assert (failed["question"], failed["answer"]) == ("broken?", None)
    assert failed["tags"]["error"] == "ConnectionError: the index is down"
    assert "error" not in answered["tags"]


def test_calls_in_threads_do_not_mix(tmp_path: Path) -> None:
    meeting = threading.Barrier(8)  # every call waits in its retrieval until all are there
    chain = _chain(Pages(meet=lambda: meeting.wait(BARRIER_SECONDS)))
    questions = [f"Question {number}?" for number in range(40)]
    with Recorder(tmp_path / "calls.jsonl") as recorder, ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda asked: chain.invoke(asked, config={"callbacks": [recorder]}), questions))
    lines = (tmp_path / "calls.jsonl").read_text(encoding="utf-8").splitlines()
    _assert_unmixed([json.loads(line) for line in lines], questions)


def test_asynchronous_calls_do_not_mix() -> None:
    recorder, questions = Recorder(), [f"Question {number}?" for number in range(20)]

    async def ask_all() -> None:
        chain = _chain(Pages())
        await asyncio.gather(*(chain.ainvoke(asked, config={"callbacks": [recorder]}) for asked in questions))

    run_apart(ask_all())
    _assert_unmixed(recorder.records, questions)


def test_a_batch_is_a_record_for_each_question() -> None:
    recorder, questions = Recorder(), ["Who?", "When?", "Where?"]
    _chain(Pages()).batch(questions, config={"callbacks": [recorder]})
    _assert_unmixed(recorder.records, questions)


def _assert_unmixed(records: list[dict[str, Any]], questions: list[str]) -> None:
    assert sorted(record["question"] for record in records) == sorted(questions)
    for record in records:
        assert record["answer"] == f"About {record['question']}"
        assert [page["text"] for page in record["retrieved"]] == [
            f"{record['question']} on page {page}" for page in (1, 2, 3)
        ]


def test_a_stream_is_recorded_once_it_was_read() -> None:
    recorder = Recorder()
    stream = _chain(Pages()).stream("Who?", config={"callbacks": [recorder]})
    first = next(stream)
    assert recorder.records == []
    assert first + "".join(stream) == "About Who?"
    (record,) = recorder.records
    assert (record["question"], record["answer"]) == ("Who?", "About Who?")


def test_a_chain_that_calls_another_is_one_record() -> None:
    recorder, inner = Recorder(), _chain(Pages())
    outer = RunnableLambda(lambda asked: inner.invoke(f"{asked} in short").upper())
    outer.invoke("Who?", config={"callbacks": [recorder]})
    (record,) = recorder.records
    assert (record["question"], record["answer"]) == ("Who?", "ABOUT WHO? IN SHORT")
    assert record["search_query"] == "Who? in short"
    assert len(record["retrieved"]) == 3


def test_a_call_with_its_own_recorder_inside_another_is_a_record_of_its_own() -> None:
    outer_recorder, inner_recorder, inner = Recorder(), Recorder(), _chain(Pages())
    own: Any = {"callbacks": [inner_recorder]}
    outer = RunnableLambda(lambda asked: inner.invoke(f"{asked} in short", config=own).upper())
    outer.invoke("Who?", config={"callbacks": [outer_recorder]})
    assert [record["question"] for record in inner_recorder.records] == ["Who? in short"]
    assert [record["question"] for record in outer_recorder.records] == ["Who?"]


def test_tools_and_messages_of_an_agent() -> None:
    @tool(response_format="content_and_artifact")
    def search_pages(query: str) -> tuple[str, list[Document]]:
        """Search."""
        return f"found {query}", [Document("Ann wrote it.", id="c1")]

    def agent(state: dict[str, Any]) -> dict[str, Any]:
        call = {"name": "search_pages", "args": {"query": "author"}, "id": "t1", "type": "tool_call"}
        found = search_pages.invoke(call)
        assert isinstance(found, ToolMessage)
        said = AIMessage("", tool_calls=[call])
        return {"messages": [*state["messages"], said, found, AIMessage("Ann.")]}

    recorder = Recorder()
    RunnableLambda(agent).invoke({"messages": [HumanMessage("Who?")]}, config={"callbacks": [recorder]})
    (record,) = recorder.records
    assert (record["question"], record["answer"]) == ("Who?", "Ann.")
    assert record["retrieved"] == [{"id": "c1", "text": "Ann wrote it."}]
    (calls,) = [check for check in record["checks"] if check["name"] == "tool calls"]
    assert [(call["name"], call["arguments"]) for call in calls["actual"]["calls"]] == [
        ("search_pages", {"query": "author"})
    ]


def test_records_become_a_run_directly_and_through_the_file(tmp_path: Path) -> None:
    workspace, path = str(tmp_path / "workspace"), tmp_path / "calls.jsonl"
    in_memory, in_file = Recorder(), Recorder(path)
    for asked in ("Who?", "When?", "Who?"):  # one question may be asked again
        _chain(Pages()).invoke(asked, config={"callbacks": [in_memory, in_file]})
    in_file.close()
    added = ragtriage.samples(in_memory.add_run("v1", project="p", workspace=workspace), workspace=workspace)
    assert added["repeat"].tolist() == [0, 0, 1]
    assert added["answer"].tolist() == ["About Who?", "About When?", "About Who?"]
    from ragtriage.data.api import add_file

    (run,) = add_file(str(path), "from the file", workspace)
    assert run.n == 3
    assert (
        ragtriage.samples(run.run_id, workspace=workspace)["retrieved"].tolist()
        == added["retrieved"].tolist()
    )
