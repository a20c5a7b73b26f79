"""OTLP files and printed spans: every convention of attributes, logs of their own, ids in base64."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from exports_oracle import EXPORTS, read, scores_of
from places import FIXTURES

from ragtriage.data.errors import InputError, ValidationErrors
from ragtriage.data.importers.detect import detect, read_runs
from ragtriage.data.importers.importer import Options
from ragtriage.data.importers.parsing.input_file import InputFile

GENAI, OPENINFERENCE = (EXPORTS / "otel" / f"{name}.otlp.jsonl" for name in ("genai", "openinference"))
T0 = 1_795_295_711_000_000_000


def typed(value: Any) -> dict[str, Any]:
    """Return a value as OTLP types it."""
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, list):
        return {"arrayValue": {"values": [typed(item) for item in value]}}
    if isinstance(value, dict):
        return {"kvlistValue": {"values": listed(value)}}
    return {"stringValue": value}


def listed(attributes: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": typed(value)} for key, value in attributes.items()]


def span(
    name: str, parent: str | None, start: int, attributes: dict[str, Any], **values: Any
) -> dict[str, Any]:
    """Return a span of one trace; it starts at a millisecond and takes 5."""
    return {
        "traceId": "ab" * 16,
        "spanId": name.ljust(16, "0"),
        "parentSpanId": parent.ljust(16, "0") if parent else "",
        "name": name,
        "startTimeUnixNano": str(T0 + start * 1_000_000),
        "endTimeUnixNano": str(T0 + (start + 5) * 1_000_000),
        "attributes": listed(attributes),
        **values,
    }


def export(*spans: dict[str, Any], **resource: Any) -> dict[str, Any]:
    scope = {"scope": {"name": "s"}, "spans": list(spans)}
    return {"resourceSpans": [{"resource": {"attributes": listed(resource)}, "scopeSpans": [scope]}]}


def imported(folder: Path, *documents: Any) -> dict[str, list[dict[str, Any]]]:
    paths = [folder / f"{number}.jsonl" for number in range(len(documents))]
    for path, document in zip(paths, documents, strict=True):
        path.write_text(json.dumps(document) + "\n", encoding="utf-8")
    return read(*paths)


def one(folder: Path, *documents: Any) -> dict[str, Any]:
    ((sample,),) = imported(folder, *documents).values()
    return sample


def tags(sample: dict[str, Any]) -> dict[str, str]:
    return {tag["key"]: tag["value"] for tag in sample["tags"] or ()}


def test_genai_has_the_counts_that_were_written() -> None:
    ((run, samples),) = read(GENAI).items()
    assert run == "sotu-rag v1"
    assert [sample["question_id"] for sample in samples] == [f"q{n:02}" for n in range(1, 13)]
    tokens = [sample["input_tokens"] for sample in samples]
    assert tokens == [*range(900, 1000, 10), None, 1010]
    q11 = samples[10]
    assert (q11["answer"], tags(q11)["error"], scores_of(q11)) == (None, "upstream timed out", {})
    assert q11["retrieved"]
    (failed,) = [score for score in samples[7]["scores"] if score["value"] is None]
    assert (failed["metric"], failed["reason"]) == ("answer_relevancy", "invalid_json")
    assert {sample["conversation_id"] for sample in samples} == {"c1"}


def test_a_pair_of_nested_retrievers_is_one_call() -> None:
    (samples,) = read(OPENINFERENCE).values()
    assert len(samples) == 12
    assert all("retrieval_calls" not in tags(sample) for sample in samples)
    assert [len(sample["retrieved"]) for sample in samples] == [4, 4, 4, 5, 4, 0, *[4] * 6]


def test_a_document_of_exports_is_read_as_its_lines_are(tmp_path: Path) -> None:
    lines = [json.loads(line) for line in GENAI.read_text("utf-8").splitlines()]
    expected = read(GENAI)["sotu-rag v1"]
    merged = {"resourceSpans": [group for line in lines for group in line["resourceSpans"]]}
    for number, document in enumerate((merged, lines, {"ExportTraceServiceRequest": merged})):
        path = tmp_path / f"{number}.json"
        path.write_text(json.dumps(document), encoding="utf-8")
        assert read(path)["sotu-rag v1"] == expected


def test_spans_of_the_vercel_sdk() -> None:
    (samples,) = read(FIXTURES / "opentelemetry" / "vercel-v6-all-spans.json").values()
    assert len(samples) == 8  # of ten traces two are embeddings alone
    assert samples[0]["question"] == "Write a haiku about programming."
    assert samples[0]["answer"].startswith("Lines of code align")
    assert (samples[0]["input_tokens"], samples[0]["output_tokens"]) == (14, 20)
    turn = next(sample for sample in samples if sample["question"] == "And what is 3 + 3?")
    assert [entry["text"] for entry in turn["history"]] == ["What is 2 + 2?", "2 + 2 equals 4."]
    recipe = next(sample for sample in samples if "scrambled" in sample["question"])
    assert json.loads(recipe["answer"])["name"] == "Scrambled Eggs"


def test_documents_that_llamaindex_takes_in_are_no_question(tmp_path: Path) -> None:
    nodes = "<Document(id_=leave.md)>\n<Document(id_=sick.md)>"
    path = tmp_path / "spans.jsonl"
    split = span("SentenceSplitter", None, 0, {"input.value": nodes, "output.value": "<TextNode(id_=1)>"})
    asked = {**span("query", None, 9, {"input.value": "Is <Document(id_=1)> there?"}), "traceId": "cd" * 16}
    path.write_text(json.dumps(export(split, asked)), encoding="utf-8")
    (samples,) = read(path).values()
    assert [sample["question"] for sample in samples] == ["Is <Document(id_=1)> there?"]


def test_attributes_of_openllmetry(tmp_path: Path) -> None:
    found = {"db.query.result.id": "d1", "db.query.result.document": "Ann wrote it."}
    sample = one(
        tmp_path,
        export(
            span(
                *("a1", None, 0),
                {
                    "traceloop.span.kind": "workflow",
                    "traceloop.entity.input": json.dumps({"args": [], "kwargs": {"query": "Who?"}}),
                    "traceloop.entity.output": json.dumps("Ann."),
                },
            ),
            span(
                "b1",
                "a1",
                5,
                {"db.system": "chroma"},
                events=[{"name": "db.query.result", "attributes": listed(found)}],
            ),
            span(
                *("c1", "a1", 10),
                {
                    "llm.request.type": "chat",
                    "gen_ai.prompt.0.role": "system",
                    "gen_ai.prompt.0.content": "Context: Ann wrote it.",
                    "gen_ai.prompt.1.role": "user",
                    "gen_ai.prompt.1.content": "Who?",
                    "gen_ai.completion.0.role": "assistant",
                    "gen_ai.completion.0.content": "Ann.",
                    "gen_ai.usage.prompt_tokens": 30,
                    "gen_ai.usage.completion_tokens": 3,
                },
            ),
        ),
    )
    assert (sample["question"], sample["answer"]) == ("Who?", "Ann.")
    assert [(document["id"], document["text"]) for document in sample["retrieved"]] == [
        ("d1", "Ann wrote it.")
    ]
    assert (sample["input_tokens"], sample["output_tokens"]) == (30, 3)


def test_messages_and_evaluations_as_events_or_as_logs(tmp_path: Path) -> None:
    asked = {"name": "gen_ai.user.message", "attributes": listed({"content": "Who?"})}
    replied = {
        "name": "gen_ai.choice",
        "attributes": listed({"index": 0, "message": json.dumps({"role": "assistant", "content": "Ann."})}),
    }
    scored = {
        "gen_ai.evaluation.name": "Relevance",
        "gen_ai.evaluation.score.label": "pass",
        "gen_ai.evaluation.explanation": "clear",
    }
    chat = {"gen_ai.operation.name": "chat"}
    in_events = one(tmp_path, export(span("a1", None, 0, chat, events=[asked, replied])))
    records = [
        {
            "eventName": "gen_ai.user.message",
            "spanId": "a1".ljust(16, "0"),
            "body": typed({"content": "Who?"}),
        },
        {
            "attributes": listed({"event.name": "gen_ai.choice"}),
            "spanId": "a1".ljust(16, "0"),
            "body": typed({"message": {"role": "assistant", "content": "Ann."}}),
        },
        {"eventName": "gen_ai.evaluation.result", "traceId": "ab" * 16, "attributes": listed(scored)},
    ]
    logs = {"resourceLogs": [{"resource": {}, "scopeLogs": [{"logRecords": records}]}]}
    in_logs = one(tmp_path, export(span("a1", None, 0, chat)), logs)
    for sample in (in_events, in_logs):
        assert (sample["question"], sample["answer"]) == ("Who?", "Ann.")
    assert in_logs["scores"] == [{"metric": "relevance", "value": 1.0, "reason": "clear"}]


@pytest.mark.parametrize(
    ("attributes", "events"),
    [
        (
            {"gen_ai.operation.name": "invoke_agent", "final_result": "Ann."},
            [("x", {})],
        ),
        (
            {
                "langsmith.span.kind": "llm",
                "gen_ai.completion": json.dumps({"messages": [{"role": "ai", "content": "Ann."}]}),
            },
            [],
        ),
        ({"llm.request.type": "chat"}, [("gen_ai.content.completion", {"gen_ai.completion": "Ann."})]),
        ({"openinference.span.kind": "CHAIN", "output.value": "Ann.", "output.mime_type": "text/plain"}, []),
        ({"mlflow.spanType": '"CHAIN"', "mlflow.spanOutputs": '{"answer": "Ann."}'}, []),
        ({"langfuse.observation.type": "agent", "langfuse.observation.output": '"Ann."'}, []),
    ],
)
def test_answers_in_the_conventions_of_other_tools(
    tmp_path: Path, attributes: dict[str, Any], events: list[tuple[str, dict[str, Any]]]
) -> None:
    bundle = {"query_bundle": {"query_str": "Who?", "embedding": None}}
    listed_events = [{"name": name, "attributes": listed(values)} for name, values in events]
    root = span("a1", None, 0, {"input.value": json.dumps(bundle), **attributes}, events=listed_events)
    sample = one(tmp_path, export(root))
    assert (sample["question"], sample["answer"]) == ("Who?", "Ann.")


def test_logs_alone_are_refused_with_what_is_missing(tmp_path: Path) -> None:
    records = [{"eventName": "gen_ai.evaluation.result", "spanId": "a1"}]
    logs = {"resourceLogs": [{"resource": {}, "scopeLogs": [{"logRecords": records}]}]}
    with pytest.raises(
        InputError, match="holds no questions of its own; accepted: it together with OpenTelem"
    ):
        imported(tmp_path, logs)


def test_ids_in_base64_and_other_signals(tmp_path: Path) -> None:
    spans = export(span("a1", None, 0, {"input.value": "Who?", "output.value": "Ann."}))
    record = spans["resourceSpans"][0]["scopeSpans"][0]["spans"][0]
    record["traceId"] = base64.b64encode(bytes.fromhex("ab" * 16)).decode()
    record["parentSpanId"] = base64.b64encode(bytes(8)).decode()
    path = tmp_path / "t.jsonl"
    path.write_text(json.dumps({"resourceMetrics": []}) + "\n" + json.dumps(spans) + "\n", encoding="utf-8")
    errors = ValidationErrors(path.name)
    (run,) = read_runs(InputFile.from_path(path), Options(), errors)
    ((_, sample),) = run.records
    assert isinstance(sample, dict)
    assert sample["trace_id"] == "ab" * 16
    assert errors.left_out == {"a line of metrics": 1}


def test_lines_of_another_tool_are_left_out_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    other = {
        "context.trace_id": "t",
        "context.span_id": "s",
        "span_kind": "CHAIN",
        "attributes.input.value": "?",
    }
    lines = [*GENAI.read_text("utf-8").splitlines(), json.dumps(other), "[1]"]
    path.write_text("\n".join(lines), encoding="utf-8")
    errors = ValidationErrors(path.name)
    (run,) = read_runs(InputFile.from_path(path), Options(), errors)
    assert len(list(run.records)) == 12
    assert errors.left_out == {"a line that is not an export of spans": 2}


def test_without_content_the_retrieval_is_read_and_it_is_said(tmp_path: Path) -> None:
    retrieval = {
        "gen_ai.operation.name": "retrieval",
        "gen_ai.retrieval.query.text": "Who?",
        "gen_ai.retrieval.documents": json.dumps([{"id": "d1", "score": 0.5}]),
    }
    quiet = export(
        span("a1", None, 0, {"gen_ai.operation.name": "invoke_agent"}), span("b1", "a1", 1, retrieval)
    )
    path = tmp_path / "t.jsonl"
    path.write_text(json.dumps(quiet), encoding="utf-8")
    errors = ValidationErrors(path.name)
    (run,) = read_runs(InputFile.from_path(path), Options(), errors)
    ((_, sample),) = run.records
    assert isinstance(sample, dict)
    assert (sample["question"], sample["answer"], sample["retrieved"][0]["id"]) == ("Who?", None, "d1")
    assert "no messages are recorded" in errors.notes[0]
    path.write_text(
        json.dumps(export(span("a1", None, 0, {"gen_ai.operation.name": "chat"}))), encoding="utf-8"
    )
    with pytest.raises(InputError, match="OpenTelemetry, 1 spans, none of which records a question"):
        read_runs(InputFile.from_path(path), Options(), ValidationErrors(path.name))


def test_a_list_cut_by_a_limit_is_not_a_short_list(tmp_path: Path) -> None:
    cut = '[{"id": "d1", "content": "Ann wrote'
    sample = one(
        tmp_path,
        export(
            span("a1", None, 0, {"input.value": "Who?", "output.value": "Ann."}),
            span("b1", "a1", 1, {"gen_ai.operation.name": "retrieval", "gen_ai.retrieval.documents": cut}),
        ),
    )
    assert sample["retrieved"] is None


def test_a_run_is_a_service_in_a_version(tmp_path: Path) -> None:
    asked = {"input.value": "Who?", "output.value": "Ann."}
    groups: list[Any] = []
    for number, version in enumerate(("v1", "v2"), start=1):
        record = {**span("a1", None, number, asked), "traceId": f"{number}" * 32, "spanId": f"{number}" * 16}
        groups += export(record, **{"service.name": "bot", "service.version": version})["resourceSpans"]
    runs = imported(tmp_path, {"resourceSpans": groups})
    assert {name: len(samples) for name, samples in runs.items()} == {"bot v1": 1, "bot v2": 1}


def test_spans_as_the_python_sdk_prints_them(tmp_path: Path) -> None:
    printed: dict[str, Any] = {
        "name": "rag",
        "context": {"trace_id": "0x" + "ab" * 16, "span_id": "0x" + "cd" * 8, "trace_state": "[]"},
        "kind": "SpanKind.INTERNAL",
        "parent_id": None,
        "start_time": "2026-11-21T21:12:39.409084Z",
        "end_time": "2026-11-21T21:12:39.909084Z",
        "status": {"status_code": "ERROR", "description": "timeout"},
        "attributes": {"input.value": "Who?", "openinference.span.kind": "CHAIN"},
        "events": [],
        "resource": {"attributes": {"service.name": "bot"}},
    }
    path = tmp_path / "spans.jsonl"
    path.write_text(json.dumps(printed), encoding="utf-8")
    assert detect(InputFile.from_path(path)) == "otel_spans"
    ((run, (sample,)),) = read(path).items()
    assert (run, sample["question"], sample["latency_ms"]) == ("bot", "Who?", 500)
    assert (sample["answer"], tags(sample)["error"]) == (None, "timeout")
