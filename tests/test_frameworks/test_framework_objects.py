"""add_run takes what LangChain, LlamaIndex and Haystack return: their own objects, of the real packages."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import ragtriage


@pytest.fixture(autouse=True)
def _own_workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGTRIAGE_WORKSPACE", str(tmp_path / "workspace"))
    monkeypatch.setenv("HAYSTACK_TELEMETRY_ENABLED", "False")


def _samples(rows: Any) -> list[dict[str, Any]]:
    """Return what is stored of rows, without what is not filled."""
    stored = ragtriage.samples(ragtriage.add_run(rows, name="run", project="p")).to_dict("records")
    return [{str(key): value for key, value in row.items() if not _is_missing(value)} for row in stored]


def _is_missing(value: object) -> bool:
    return isinstance(value, float) and value != value


def test_chains_of_langchain() -> None:
    documents, messages = (
        pytest.importorskip("langchain_core.documents"),
        pytest.importorskip("langchain_core.messages"),
    )
    page = documents.Document("Ann wrote it.", metadata={"source": "a.md", "start_index": 40})
    answer = messages.AIMessage(
        "Ann.",
        usage_metadata={"input_tokens": 30, "output_tokens": 2, "total_tokens": 32},
        response_metadata={"model_name": "m-1"},
    )
    first, second = _samples(
        [
            {"input": "Who wrote it?", "context": [page], "answer": answer, "scores": {"faithfulness": 0.5}},
            {"input": "When?", "context": [], "answer": "I do not know.", "reference_answer": "In 1904."},
        ]
    )
    assert (first["question"], first["answer"]) == ("Who wrote it?", "Ann.")
    (retrieved,) = first["retrieved"]
    assert (retrieved["text"], retrieved["doc_id"]) == ("Ann wrote it.", "a.md")
    assert (retrieved["start"], retrieved["end"]) == (40, 53)
    assert retrieved["id"].startswith("text-"), "two chunks of one file are two documents"
    assert (first["input_tokens"], first["output_tokens"], first["tags"]) == (30, 2, {"model": "m-1"})
    assert first["scores"] == {"faithfulness": 0.5}
    assert (second["answer"], second["retrieved"]) == ("I do not know.", [])
    assert second["reference_answer"] == "In 1904."


@pytest.mark.parametrize(
    ("asked", "answered", "documents"),
    [
        ("query", "result", "source_documents"),
        ("question", "answer", "source_documents"),
        ("input", "output", "context"),
    ],
)
def test_the_names_of_chains(asked: str, answered: str, documents: str) -> None:
    module = pytest.importorskip("langchain_core.documents")
    said = pytest.importorskip("langchain_core.messages")
    earlier = [said.HumanMessage("Hello"), said.AIMessage("Hello. What about?")]
    pair = (module.Document("Ann wrote it.", id="c1"), 0.25)
    (sample,) = _samples([{asked: "Who?", answered: "Ann.", documents: [pair], "chat_history": earlier}])
    assert (sample["question"], sample["answer"]) == ("Who?", "Ann.")
    assert sample["retrieved"] == [{"id": "c1", "text": "Ann wrote it.", "score": 0.25}]
    turns = [(turn["role"], turn["text"]) for turn in sample["history"]]
    assert turns == [("user", "Hello"), ("assistant", "Hello. What about?")]


def test_a_chain_whose_documents_are_texts() -> None:
    (sample,) = _samples([{"query": "Who?", "result": "Ann.", "source_documents": ["Ann wrote it."]}])
    assert (sample["question"], sample["answer"]) == ("Who?", "Ann.")
    assert [document["text"] for document in sample["retrieved"]] == ["Ann wrote it."]


def test_the_messages_of_an_agent() -> None:
    documents, messages = (
        pytest.importorskip("langchain_core.documents"),
        pytest.importorskip("langchain_core.messages"),
    )
    call = {"name": "search", "args": {"query": "author"}, "id": "t1"}
    state = {
        "messages": [
            messages.HumanMessage("Who?"),
            messages.AIMessage("", tool_calls=[call]),
            messages.ToolMessage(
                "Ann", tool_call_id="t1", artifact=[documents.Document("Ann wrote it.", id="c1")]
            ),
            messages.AIMessage("Ann."),
        ]
    }
    (sample,) = _samples([state])
    assert (sample["question"], sample["answer"]) == ("Who?", "Ann.")
    assert sample["retrieved"] == [{"id": "c1", "text": "Ann wrote it."}]


def _node() -> Any:
    schema = pytest.importorskip("llama_index.core.schema")
    parent = schema.RelatedNodeInfo(node_id="book")
    node = schema.TextNode(
        text="Ann wrote it.", id_="n1", metadata={"page": 3}, start_char_idx=7, end_char_idx=20,
        relationships={schema.NodeRelationship.SOURCE: parent},
    )  # fmt: skip
    return schema.NodeWithScore(node=node, score=0.5)


STORED_NODE = {
    **{"id": "n1", "text": "Ann wrote it.", "score": 0.5, "doc_id": "book", "start": 7, "end": 20},
    "metadata": {"page": 3},
}


def test_responses_of_llamaindex() -> None:
    node = _node()
    module = pytest.importorskip("llama_index.core.base.response.schema")
    response = module.Response(response="Ann.", source_nodes=[node])
    by_answer, by_nodes, bare = _samples(
        [
            {"question": "Who?", "answer": response},
            {"query": "Which?", "response": "Ann.", "source_nodes": [node]},
            {"question_id": "q3", "question": "How?", "retrieved": [node.node]},
        ]
    )
    assert (by_answer["question"], by_answer["answer"], by_answer["retrieved"]) == (
        "Who?",
        "Ann.",
        [STORED_NODE],
    )
    assert (by_nodes["question"], by_nodes["answer"], by_nodes["retrieved"]) == (
        "Which?",
        "Ann.",
        [STORED_NODE],
    )
    unscored = {key: value for key, value in STORED_NODE.items() if key != "score"}
    assert (bare["question_id"], bare["retrieved"]) == ("q3", [unscored])


def test_outputs_of_haystack() -> None:
    haystack = pytest.importorskip("haystack")
    dataclasses = pytest.importorskip("haystack.dataclasses")
    page = haystack.Document(
        content="Ann wrote it.", id="h1", score=0.75, meta={"source_id": "book", "page": 3}
    )
    usage = {"prompt_tokens": 30, "completion_tokens": 2}
    reply = dataclasses.ChatMessage.from_assistant("Ann.", meta={"model": "m-1", "usage": usage})
    answer = haystack.GeneratedAnswer(data="Ann.", query="Who?", documents=[page])
    samples = _samples(
        [
            answer,
            {"question": "Which?", "retriever": {"documents": [page]}, "llm": {"replies": [reply]}},
            {"answer_builder": {"answers": [answer]}, "repeat": 1},
        ]
    )
    assert [sample["question"] for sample in samples] == ["Who?", "Which?", "Who?"]
    stored = {"id": "h1", "text": "Ann wrote it.", "score": 0.75, "doc_id": "book"}
    for sample in samples:
        assert sample["answer"] == "Ann."
        assert sample["retrieved"] == [{**stored, "metadata": {"source_id": "book", "page": 3}}]
    assert (samples[1]["input_tokens"], samples[1]["output_tokens"]) == (30, 2)
    assert samples[1]["tags"] == {"model": "m-1"}


def test_an_object_without_a_question_is_refused_by_its_row_and_kind() -> None:
    node = _node()
    module = pytest.importorskip("llama_index.core.base.response.schema")
    response = module.Response(response="Ann.", source_nodes=[])
    refused = (
        r"run:2: question: found Response \(with response, source_nodes\); accepted: the question under one"
    )
    with pytest.raises(ragtriage.RagtriageError, match=refused):
        _samples([{"question": "Who?", "answer": response}, response])
    with pytest.raises(
        ragtriage.RagtriageError, match=r"run:1: question: is missing \(with context, answer\)"
    ):
        _samples([{"context": [node], "answer": "Ann."}])
    with pytest.raises(ragtriage.RagtriageError, match=re.escape("run:2: found int; accepted: a pandas")):
        _samples([{"question": "Who?", "retrieved": [node]}, 5])


def test_a_stream_is_not_read_and_refused_until_somebody_did() -> None:
    module = pytest.importorskip("llama_index.core.base.response.schema")
    response = module.StreamingResponse(response_gen=iter(["An", "n."]), source_nodes=[])
    with pytest.raises(
        ragtriage.RagtriageError, match="run:1: answer: found StreamingResponse, a stream that"
    ):
        _samples([{"question": "Who?", "answer": response}])
    response.get_response()
    assert response.response_txt == "Ann.", "nobody took a part of it"
    (sample,) = _samples([{"question": "Who?", "answer": response}])
    assert sample["answer"] == "Ann."
