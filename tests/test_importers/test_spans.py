"""Spans of traces become samples: one trace is one sample, whatever the order of its spans."""

from __future__ import annotations

import json
import random
import time
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.values import documents_in, error_line, nanoseconds, ranked
from ragtriage.data.importers.spans.samples import SCORED_WITHOUT_ANSWER, sample_of_trace
from ragtriage.data.importers.spans.span import Labels, Span, kind_of
from ragtriage.data.importers.spans.traces import Traces
from ragtriage.data.store.parsed_run import normalise

MS = 1_000_000


def span(name: str, parent: str | None, kind: str, start: int, end: int, **values: Any) -> Span:
    """Return a span of trace t; times are in milliseconds."""
    return Span("t", name, parent, name, kind, 1 + start * MS, 1 + end * MS, **values)


def documents(*ids: str) -> list[dict[str, str]]:
    return [{"id": one, "text": f"text {one}"} for one in ids]


def ids(listed: list[dict[str, Any]] | None) -> list[str] | None:
    return None if listed is None else [document["id"] for document in listed]


def sample(*spans: Span, **options: Any) -> dict[str, Any]:
    made = sample_of_trace(spans, **options)
    assert made is not None
    errors = ValidationErrors("spans")
    assert normalise(made, 1, errors) is not None, errors.first
    return made


RAG = (
    span("root", None, "chain", 0, 100, input={"question": "Who?"}, output={"answer": "Ann."}),
    span("retrieve", "root", "retriever", 1, 20, input="Who?", documents=documents("a", "b")),
    span("chat", "root", "llm", 21, 90, input="Context: a b\nWho?", output="Ann.", model="m1"),
)


def test_a_trace_is_a_sample() -> None:
    chat = replace(RAG[2], input_tokens=900, output_tokens=20, cost=0.01)
    made = sample(*RAG[:2], chat)
    assert (made["question"], made["answer"], ids(made["retrieved"])) == ("Who?", "Ann.", ["a", "b"])
    assert (made["latency_ms"], made["retrieval_ms"]) == (100, 19)
    assert (made["input_tokens"], made["output_tokens"], made["cost_usd"]) == (900, 20, 0.01)
    assert (made["trace_id"], made["span_id"], made["tags"]) == ("t", "root", {"model": "m1"})
    assert made.keys().isdisjoint({"search_query", "candidates", "checks", "scores"})


def test_without_a_root_the_first_query_is_the_question_and_the_remark_says_so() -> None:
    errors = ValidationErrors("f")
    orphans = [replace(one, parent_id="gone") for one in RAG[1:]]
    made = sample_of_trace(orphans, errors)
    assert made is not None
    assert (made["question"], made["answer"]) == ("Who?", "Ann.")
    assert "latency_ms" not in made  # that of one part is not that of the whole
    assert "root span of a trace is not in the file" in errors.notes[0]


def test_a_prompt_with_its_context_is_not_the_question() -> None:
    alone = replace(RAG[2], parent_id=None)
    assert sample(alone)["question"] == "Context: a b\nWho?"
    assert sample(alone, replace(RAG[1], parent_id=None))["question"] == "Who?"
    wrapper = replace(RAG[2], parent_id=None, start=1, input="Who, please?")
    assert sample(wrapper, replace(RAG[1], parent_id="chat"))["question"] == "Who, please?"


def test_nested_retrievers_are_one_call() -> None:
    inner = span("inner", "retrieve", "retriever", 2, 19, input="Who?", documents=documents("a", "b"))
    silent = replace(RAG[1], documents=None)
    for outer in (RAG[1], silent):
        made = sample(RAG[0], outer, inner, RAG[2])
        assert ids(made["retrieved"]) == ["a", "b"]
        assert "retrieval_calls" not in made["tags"]
        assert made["retrieval_ms"] == 19


@pytest.mark.parametrize("levels", [150, 199, 200, 201, 1_000, 20_000])
@pytest.mark.parametrize("kind", ["chain", "retriever"])
def test_a_retriever_at_any_depth_is_read(levels: int, kind: str) -> None:
    steps = [
        span(f"s{at}", f"s{at - 1}" if at else "root", kind, 1, 20, input="Who?") for at in range(levels)
    ]
    deep = replace(RAG[1], parent_id=f"s{levels - 1}")
    made = sample(RAG[0], *steps, deep, RAG[2])
    assert (ids(made["retrieved"]), made["answer"]) == (["a", "b"], "Ann.")


def test_a_ring_of_parents_is_opened_at_its_first_span() -> None:
    ring = [span("x", "y", "retriever", 1, 20, query="Who?", documents=documents("a"))]
    ring += [span("y", "x", "retriever", 2, 10, query="Who?", documents=documents("b"))]
    for spans in (ring, ring[::-1]):
        assert ids(sample(*RAG[::2], *spans)["retrieved"]) == ["a"]


def test_the_time_for_a_trace_grows_with_its_spans_alone() -> None:
    def searches(count: int) -> list[Span]:
        return [
            span(f"s{at}", "root", "retriever", 1, 20, query="Who?", documents=documents(f"d{at}"))
            for at in range(count)
        ]

    started = time.process_time()
    made = sample(RAG[0], *searches(20_000))
    assert len(made["retrieved"]) == 20_000
    assert time.process_time() - started < 20  # compared pair by pair it took minutes


def test_a_reranked_list_stands_for_the_longer_one_before_it() -> None:
    rerank = span(
        *("rerank", "root", "reranker", 20, 21),
        query="Who?",
        documents=documents("b"),
        input_documents=documents("a", "b", "c"),
    )
    made = sample(*RAG, rerank)
    assert (ids(made["retrieved"]), ids(made["candidates"])) == (["b"], ["a", "b", "c"])
    made = sample(*RAG, replace(rerank, input_documents=None))
    assert ids(made["candidates"]) == ["a", "b"]
    compressed = replace(RAG[1], documents=documents("b"))  # a retriever around retriever and reranker
    inside = [replace(one, parent_id="retrieve", span_id=f"in {one.name}") for one in (RAG[1], rerank)]
    made = sample(RAG[0], compressed, *inside, RAG[2])
    assert (ids(made["retrieved"]), ids(made["candidates"])) == (["b"], ["a", "b", "c"])


def test_several_queries_are_put_together_in_time() -> None:
    second = span("again", "root", "retriever", 12, 20, input="When?", documents=documents("c"))
    made = sample(RAG[0], replace(RAG[1], input="Who then?", end=5 * MS), second, RAG[2])
    assert ids(made["retrieved"]) == ["a", "b", "c"]
    assert (made["search_query"], made["tags"]["retrieval_calls"]) == ("Who then?", 2)
    both = span(
        "rr",
        "root",
        "reranker",
        20,
        21,
        documents=documents("c", "a"),
        input_documents=documents("a", "b", "c"),
    )
    fused = sample(RAG[0], replace(RAG[1], input="Who then?", end=5 * MS), second, both, RAG[2])
    assert (ids(fused["retrieved"]), ids(fused["candidates"])) == (["c", "a"], ["a", "b", "c"])


def test_one_query_to_several_indexes_or_to_one_again() -> None:
    def made(*ids_of_second: str) -> list[str] | None:
        second = documents(*ids_of_second)
        return ids(
            sample(*RAG, span("second", "root", "retriever", 20, 21, input="Who?", documents=second))[
                "retrieved"
            ]
        )

    assert made("c") == ["a", "b", "c"]
    assert made() == ["a", "b"]
    assert made("b", "c") == ["b", "c"]


def test_a_tool_that_retrieves_is_known_by_its_name_and_its_documents() -> None:
    found = json.dumps([{"page_content": "Ann wrote it.", "id": "a"}])
    tool = span("search_docs", "root", "tool", 1, 20, input={"query": "author"}, output=found)
    made = sample(RAG[0], tool, RAG[2])
    assert (ids(made["retrieved"]), made["search_query"]) == (["a"], "author")
    assert made["checks"][0]["name"] == "search_docs"
    assert "retrieved" not in sample(RAG[0], replace(tool, output="42 results"), RAG[2])
    assert ids(sample(RAG[0], RAG[1], tool, RAG[2])["retrieved"]) == ["a", "b"]  # a retriever says it better


def test_what_is_retrieved_after_the_answer_is_not_what_it_was_given() -> None:
    late = span("check", "root", "retriever", 91, 95, input="Ann.", documents=documents("z"))
    rewrite = span("rewrite", "root", "llm", 0, 1, input="Who?", output="Who is it?")
    assert ids(sample(*RAG, late, rewrite)["retrieved"]) == ["a", "b"]
    assert ids(sample(*RAG[:2], rewrite)["retrieved"]) == ["a", "b"]  # what answered is not recorded


def test_a_retriever_without_a_list_is_empty_where_others_have_lists() -> None:
    silent = replace(RAG[1], documents=None)
    assert sample(RAG[0], silent, RAG[2])["retrieved"] == []
    assert "retrieved" not in sample(RAG[0], silent, RAG[2], null_is_empty=False)
    failed = sample(RAG[0], replace(silent, error="timeout"), RAG[2])
    assert "retrieved" not in failed
    assert failed["tags"]["retrieval_error"] == "timeout"


def test_a_failed_trace_keeps_its_retrieval_and_its_error() -> None:
    errors = ValidationErrors("f")
    root = replace(
        RAG[0], output=None, error="Traceback:\n  line 1\nTimeoutError: upstream\n", scores={"x": 1.0}
    )
    draft = span("rewrite", "root", "llm", 0, 1, output="a draft")
    made = sample(root, RAG[1], draft, errors=errors)
    assert made["answer"] is None
    assert made["tags"]["error"] == "TimeoutError: upstream"
    assert ids(made["retrieved"]) == ["a", "b"]
    assert SCORED_WITHOUT_ANSWER in errors.notes[0]


def test_wrappers_and_evaluations_are_not_counted_again() -> None:
    wrapper = span("wrap", "root", "llm", 21, 95, output="Ann.", input_tokens=30, output_tokens=5)
    call = replace(RAG[2], parent_id="wrap", input_tokens=30, output_tokens=5)
    judge = span("eval", "root", "evaluator", 96, 99)
    judging = span("judge", "eval", "llm", 97, 98, output="1", input_tokens=7000)
    made = sample(*RAG[:2], wrapper, call, judge, judging)
    assert (made["input_tokens"], made["output_tokens"], made["answer"]) == (30, 5, "Ann.")
    errors = ValidationErrors("f")
    assert sample_of_trace([replace(judge, parent_id=None, input="Who?"), judging], errors) is None
    assert errors.left_out == {"a trace of an evaluator": 1}


def test_an_answer_may_be_written_in_json() -> None:
    written = json.dumps({"steps": ["stir", "fry"], "minutes": 5})
    assert sample(*RAG[:1], replace(RAG[2], output={"text": written}))["answer"] == "Ann."
    root = replace(RAG[0], output=None)
    assert sample(root, replace(RAG[2], output={"text": written}))["answer"] == written
    assert sample(root, replace(RAG[2], output=written))["answer"] == written
    asked = {"role": "assistant", "content": None, "tool_calls": [{"name": "search"}]}
    assert sample(root, replace(RAG[2], output=asked))["answer"] is None


def test_tool_calls_are_checks_and_a_history_comes_from_the_messages() -> None:
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": [{"type": "text", "text": "Hi."}]},
        {"role": "user", "content": "Who?"},
    ]
    root = replace(RAG[0], input=json.dumps({"messages": messages}), fields={"conversation_id": "s1"})
    good = span("search", "root", "tool", 2, 3)
    bad = span("book", "root", "tool", 4, 5, error="no seat")
    made = sample(root, *RAG[1:], good, bad)
    assert [(check["name"], check["actual"], check["passed"]) for check in made["checks"][:2]] == [
        ("search", "no error", True),
        ("book", "no seat", False),
    ]
    calls = made["checks"][2]
    assert (calls["name"], "expected" in calls, "passed" in calls) == ("tool calls", False, False)
    assert calls["actual"]["calls"] == [
        {"name": "search"},
        {"name": "book", "error": "no seat", "is_error": True},
    ]
    assert made["tags"]["tool_calls"] == 2
    assert (made["question"], made["conversation_id"]) == ("Who?", "s1")
    assert made["history"] == [{"role": "user", "text": "Hello"}, {"role": "assistant", "text": "Hi."}]


@st.composite
def traces(draw: st.DrawFn) -> list[Span]:
    """Draw spans with any parents, rings and missing ones among them."""
    n = draw(st.integers(1, 8))
    names = [f"s{number}" for number in range(n)]
    kinds = st.sampled_from(
        ["chain", "retriever", "reranker", "llm", "tool", "evaluator", "embedding", "other"]
    )
    texts = st.sampled_from([None, "Who?", "Ann.", {"query": "Who?"}, "[]", 7])
    lists = st.sampled_from([None, [], documents("a"), documents("a", "b"), "no list"])
    return [
        Span(
            *("t", name, draw(st.sampled_from([None, "gone", *names])), name, draw(kinds)),
            start=draw(st.sampled_from([None, 1, 2, 3])),
            end=draw(st.sampled_from([None, 2, 3, 4])),
            input=draw(texts),
            output=draw(texts),
            documents=draw(lists),
            input_documents=draw(lists),
            error=draw(st.sampled_from([None, "", "failed"])),
            input_tokens=draw(st.sampled_from([None, 5])),
            scores=draw(st.sampled_from([{}, {"x": 1.0}, {"x": None}])),
        )
        for name in names
    ]


@given(traces(), st.integers())
def test_neither_order_nor_doubles_change_a_sample(spans: list[Span], seed: int) -> None:
    made = sample_of_trace(spans)
    shuffled = [*spans, *spans[: seed % len(spans)]]
    random.Random(seed).shuffle(shuffled)
    assert sample_of_trace(shuffled) == made
    if made is not None:
        errors = ValidationErrors("f")
        assert normalise(made, 1, errors) is not None, errors.first


def test_spans_of_many_traces_in_any_order() -> None:
    spans = [
        replace(
            one,
            trace_id=f"t{number}",
            span_id=f"{one.name}{number}",
            parent_id=one.parent_id and f"{one.parent_id}{number}",
            start=(one.start or 0) + number * 200 * MS,
            end=(one.end or 0) + number * 200 * MS,
        )
        for number in range(30)
        for one in RAG
    ]
    lost = Span("lost", "x", None, kind="chain", start=1)
    errors = ValidationErrors("f")
    random.Random(0).shuffle(spans)
    traces = Traces(errors, "t")
    for line, span in enumerate([*spans, lost, Span("")], 1):
        traces.add(line, span)
    found = list(traces.samples())
    assert [record["trace_id"] for _, record in found] == [f"t{number}" for number in range(30)]
    assert [record.get("repeat", 0) for _, record in found] == list(range(30))
    assert {record["tool"] for _, record in found} == {"t"}
    assert errors.left_out == {"a trace without a question": 1, "a span without a trace id": 1}


def test_labels_are_joined_and_runs_are_told_apart() -> None:
    errors = ValidationErrors("f")
    traces = Traces(errors)
    traces.attach(1, Labels(scores={"x": 0.5}, relevant={1: True, 9: True}), span_id="retrieve")
    for number, one in enumerate(RAG):
        traces.add(number, replace(one, run="v1" if one.parent_id is None else "other"))
    traces.add(9, Span("t2", "r2", None, "r2", "chain", 5, 6, input="What?", run="v2"))
    traces.add(9, Span("t3", "r3", None, "r3", "evaluator", 5, 6, input="What?", run="judges"))
    traces.attach(2, Labels(human=[{"annotator": "a", "metric": "good", "value": 1.0}]), trace_id="t2")
    traces.attach(3, Labels(scores={"x": 1.0}), span_id="gone")
    runs: dict[str, list[Any]] = {
        run.name: list(run.records) for run in traces.runs(InputFile.from_bytes("f", b""), "spans")
    }
    assert list(runs) == ["v1", "v2"]
    ((_, first),), ((_, second),) = runs.values()
    assert first["scores"] == {"x": 0.5}
    assert [document.get("relevant") for document in first["retrieved"]] == [None, True]
    assert second["human"] == [{"annotator": "a", "metric": "good", "value": 1.0}]
    assert any("not in the file" in note for note in errors.notes)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("1795295711099313170", 1795295711099313170),
        (1795295711, 1795295711 * 10**9),
        (1795295711.5, 1795295711500000000),
        (1795295711099, 1795295711099 * 10**6),
        ([1770131992, 242000000], 1770131992242000000),
        ("2026-11-21T21:12:39.410Z", 1795295559410000000),
        ("2026-11-21 21:12:39.410987+00:00", 1795295559410987000),
        ("soon", None),
        (float("nan"), None),
        (True, None),
        (None, None),
        ("0001-01-01T00:00:00+14:00", None),
        (10**400, None),
    ],
)
def test_times_are_read_in_any_unit(value: object, expected: int | None) -> None:
    assert nanoseconds(value) == expected


def test_documents_of_any_tool() -> None:
    assert ranked('[{"id": 7, "text": "a"}, {"score": 1}, {"text": "b", "score": "x", "start": -1}]') == [
        {"id": "7", "text": "a"},
        {"text": "b", "score (as recorded)": "x", "start (as recorded)": -1},
    ]
    assert ranked("no list") is None
    assert documents_in([{"role": "user", "content": "a"}]) is None
    assert documents_in(["a", "b"]) is None
    assert documents_in({"contexts": ["a"]}) == [{"text": "a"}]
    assert documents_in([{"page_content": "a", "metadata": {"k": 1}}]) == [
        {"text": "a", "metadata": {"k": 1}}
    ]
    assert documents_in([{"node": {"id_": "n", "text": "a"}, "score": 0.5}]) == [
        {"id": "n", "text": "a", "score": 0.5}
    ]


def test_kinds_and_errors() -> None:
    assert [kind_of(name) for name in ("RETRIEVER", "invoke_agent", "execute_tool", "?", None)] == [
        *("retriever", "agent", "tool", "other", "other")
    ]
    assert error_line("") == "failed, with no reason recorded"
    assert len(error_line("x" * 999)) == 300
    assert error_line({"message": "no"}) == '{"message": "no"}'
