"""The receiver: answers by the protocol; what is acknowledged is stored, what is refused is not."""

from __future__ import annotations

import base64
import gzip
import json
import shutil
import threading
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import json_format
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from starlette.testclient import TestClient

from ragtriage.data.live.feedback.records import answers_from
from ragtriage.data.live.journal import Journal, Kind, read_journal
from ragtriage.data.live.otlp_requests import message_of
from ragtriage.data.live.otlp_spans import read_span, stored_spans
from ragtriage.data.live.receiver import Intake, Limits, receiver
from ragtriage.data.live.redacting import redaction_counts
from ragtriage.data.live.redaction import Redactor

TRACE, SPAN = "5b8efff798038103d269b633813fc60c", "eee19b7ec3c1b174"
TOKEN = "a-token-of-some-length"
PROTOBUF = {"content-type": "application/x-protobuf"}
Client = Callable[..., TestClient]


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    with Journal(tmp_path / "journal", most_waiting=200_000) as journal:
        opened: list[TestClient] = []

        def made(**settings: Any) -> TestClient:
            intake = Intake(journal, Redactor(), tmp_path)
            settings.setdefault("hosts", ("127.0.0.1",))
            app = receiver(intake, **settings)
            opened.append(TestClient(app, base_url="http://127.0.0.1:4318", raise_server_exceptions=True))
            return opened[-1].__enter__()

        yield made
        for each in opened:
            each.__exit__()


def _request(*texts: str, trace: str = TRACE) -> ExportTraceServiceRequest:
    request = ExportTraceServiceRequest()
    spans = request.resource_spans.add().scope_spans.add().spans
    for at, text in enumerate(texts):
        span = spans.add(trace_id=bytes.fromhex(trace), span_id=(at + 1).to_bytes(8), name="answer")
        span.attributes.add(key="input.value").value.string_value = text
    return request


def _stored(folder: Path) -> list[ExportTraceServiceRequest]:
    records = read_journal(folder / "journal")
    return [
        ExportTraceServiceRequest.FromString(payload) for _, kind, payload in records if kind is Kind.TRACES
    ]


def _inputs(folder: Path) -> list[Any]:
    return [read_span(stored).input for request in _stored(folder) for stored in stored_spans(request)]


@pytest.mark.parametrize("encoding", ["identity", "gzip", "deflate"])
def test_spans_in_protobuf_are_stored_and_answered_as_the_protocol_says(
    client: Client, tmp_path: Path, encoding: str
) -> None:
    body = _request("Who pays?", "Who asks?").SerializeToString()
    packed = {"identity": body, "gzip": gzip.compress(body), "deflate": zlib.compress(body)}[encoding]
    headers = {**PROTOBUF, "content-encoding": encoding}
    reply = client().post("/v1/traces", content=packed, headers=headers)
    assert (reply.status_code, reply.headers["content-type"]) == (200, "application/x-protobuf")
    assert not ExportTraceServiceResponse.FromString(reply.content).HasField("partial_success")
    assert _inputs(tmp_path) == ["Who pays?", "Who asks?"]


@pytest.mark.parametrize(
    ("trace", "span"),
    [
        (TRACE, SPAN),
        (TRACE.upper(), SPAN.upper()),
        (base64.b64encode(bytes.fromhex(TRACE)).decode(), base64.b64encode(bytes.fromhex(SPAN)).decode()),
    ],
)
@pytest.mark.parametrize("snake", [False, True])
def test_spans_in_json_are_the_same_with_ids_in_hexadecimal_or_base64(
    client: Client, tmp_path: Path, trace: str, span: str, snake: bool
) -> None:
    record = {
        "traceId": trace,
        "spanId": span,
        "parentSpanId": "",
        "name": "answer",
        "kind": "SPAN_KIND_INTERNAL",
        "startTimeUnixNano": "1700000000000000000",
        "endTimeUnixNano": 1700000001000000000,
        "attributes": [
            {"key": "input.value", "value": {"stringValue": "Who pays?"}},
            {"key": "llm.token_count.prompt", "value": {"intValue": "12"}},
            {"key": "unknown", "value": {"futureValue": {"deep": True}}},
        ],
        "links": [{"traceId": trace, "spanId": span}],
        "newField": {"of": "a later version"},
    }
    if snake:
        names = {"traceId": "trace_id", "spanId": "span_id", "startTimeUnixNano": "start_time_unix_nano"}
        record = {names.get(name, name): value for name, value in record.items()}
    body = {"resourceSpans": [{"scopeSpans": [{"spans": [record]}]}]}
    reply = client().post("/v1/traces", json=body)
    assert (reply.status_code, reply.json()) == (200, {})
    (read,) = [read_span(stored) for request in _stored(tmp_path) for stored in stored_spans(request)]
    assert (read.trace_id, read.span_id, read.parent_id) == (TRACE, SPAN, None)
    assert (read.input, read.input_tokens, read.start) == ("Who pays?", 12, 1_700_000_000_000_000_000)


def _every_type(depth: int) -> ExportTraceServiceRequest:
    request = _request("text", "\u2028 \U0001f600")
    group = request.resource_spans[0]
    span = group.scope_spans[0].spans[1]
    event, link = span.events.add(name="e"), span.links.add(trace_id=b"t" * 16, span_id=b"s" * 8)
    for holder in (group.resource, group.scope_spans[0].scope, span, event, link):
        for at, value in enumerate((True, False, -(1 << 63), 0, 1.5, float("inf"), b"\x00\xff", "")):
            names = {bool: "bool_value", int: "int_value", float: "double_value", bytes: "bytes_value"}
            setattr(holder.attributes.add(key=f"k{at}").value, names.get(type(value), "string_value"), value)
        holder.attributes.add(key="nothing")
        value = holder.attributes.add(key="deep").value
        for _ in range(depth):
            value = value.array_value.values.add().kvlist_value.values.add(key="in").value
        value.string_value = "here"
    return request


@pytest.mark.parametrize("snake", [False, True])
def test_json_is_the_same_as_protobuf_for_every_type_of_attribute(snake: bool) -> None:
    request = _every_type(8)
    value = json_format.MessageToDict(request, preserving_proto_field_name=snake)
    value["resourceSpans" if not snake else "resource_spans"][0]["spans"] = [{"of": "another version"}]
    assert message_of(ExportTraceServiceRequest, value) == request


def test_values_nested_deeper_than_protobuf_reads_are_refused(client: Client, tmp_path: Path) -> None:
    fits = json_format.MessageToDict(_every_type(16))
    assert client().post("/v1/traces", json=fits).status_code == 200
    assert len(_stored(tmp_path)) == 1  # it can be read again
    deeper = json_format.MessageToDict(_every_type(17))
    assert "nested too deeply" in client().post("/v1/traces", json=deeper).json()["message"]


def test_spans_without_ids_are_left_out_and_counted(client: Client, tmp_path: Path) -> None:
    request = _request("kept", "no trace", "no span", "a short trace")
    spans = request.resource_spans[0].scope_spans[0].spans
    spans[1].trace_id, spans[2].span_id, spans[3].trace_id = bytes(16), b"", b"\x01" * 8
    reply = client().post("/v1/traces", content=request.SerializeToString(), headers=PROTOBUF)
    partial = ExportTraceServiceResponse.FromString(reply.content).partial_success
    assert (reply.status_code, partial.rejected_spans) == (200, 3)
    assert "16 bytes of a trace id" in partial.error_message
    assert _inputs(tmp_path) == ["kept"]
    nothing = {"resourceSpans": [{"scopeSpans": [{"spans": [{"name": "no id at all"}]}]}]}
    assert client().post("/v1/traces", json=nothing).json()["partialSuccess"]["rejectedSpans"] == "1"
    assert len(_stored(tmp_path)) == 1  # nothing is stored of nothing


def test_what_comes_twice_or_late_is_stored_as_it_comes(client: Client, tmp_path: Path) -> None:
    sent = [_request("second"), _request("first"), _request("second")]
    for request in sent:
        client().post("/v1/traces", content=request.SerializeToString(), headers=PROTOBUF)
    assert _inputs(tmp_path) == ["second", "first", "second"]


@pytest.mark.parametrize(
    "span",
    [
        {"traceId": TRACE, "spanId": SPAN, "attributes": "none"},
        {"traceId": TRACE, "spanId": SPAN, "attributes": ["a"]},
        {"traceId": TRACE, "spanId": SPAN, "attributes": [{"key": "a", "value": "text"}]},
        {"traceId": TRACE, "spanId": SPAN, "startTimeUnixNano": "noon"},
        {"traceId": TRACE, "spanId": SPAN, "events": {"name": "a"}},
        "text",
    ],
)
def test_a_malformed_span_is_left_out_of_its_batch(client: Client, tmp_path: Path, span: object) -> None:
    attributes = [{"key": "input.value", "value": {"stringValue": "Who pays?"}}]
    good: object = {"traceId": TRACE, "spanId": "0" * 15 + "1", "attributes": attributes}
    body = {"resourceSpans": [{"scopeSpans": [{"spans": [good, span]}]}]}
    reply = client().post("/v1/traces", json=body)
    said = reply.json()["partialSuccess"]
    assert (reply.status_code, said["rejectedSpans"]) == (200, "1")
    assert "spans that are malformed or" in said["errorMessage"]
    assert _inputs(tmp_path) == ["Who pays?"]


def test_what_is_wrong_around_spans_is_said_in_plain_words(client: Client) -> None:
    reply = client().post("/v1/traces", json={"resourceSpans": [{"resource": {"attributes": "none"}}]})
    assert reply.status_code == 400
    assert "body: has a value of a wrong type" in reply.json()["message"]


def test_it_is_not_ready_without_room_or_where_nothing_can_be_worked_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Journal(tmp_path / "journal") as journal:
        intake = Intake(journal, Redactor(), tmp_path)
        app = TestClient(receiver(intake, hosts=("127.0.0.1",)), base_url="http://127.0.0.1:4318")
        assert app.get("/readyz").json() == {"status": "ok"}
        intake.stuck = lambda: True
        stuck = app.get("/readyz")
        assert (stuck.status_code, "cannot be worked on" in stuck.json()["status"]) == (503, True)
        full = shutil.disk_usage(tmp_path)._replace(free=0)
        monkeypatch.setattr(shutil, "disk_usage", lambda _: full)
        refused = app.get("/readyz")
        assert (refused.status_code, refused.json()) == (503, {"status": "no room on the disk"})


def test_the_scheme_of_the_token_is_read_in_any_case(client: Client) -> None:
    app = client(token=TOKEN)
    for given, code in ((f"bearer {TOKEN}", 200), (f"BEARER  {TOKEN}", 200), (f"Basic {TOKEN}", 401)):
        headers = {**PROTOBUF, "authorization": given}
        body = _request("Who?").SerializeToString()
        assert app.post("/v1/traces", content=body, headers=headers).status_code == code


@pytest.mark.parametrize(
    "body", [b"\xff\xff\xff", b"\x0a\xff\xff\xff\xff\x0f", gzip.compress(b"x", mtime=0), b"{}"]
)
def test_malformed_protobuf_is_answered_with_a_status_in_protobuf(
    client: Client, tmp_path: Path, body: bytes
) -> None:
    reply = client().post("/v1/traces", content=body, headers=PROTOBUF)
    assert (reply.status_code, reply.headers["content-type"]) == (400, "application/x-protobuf")
    assert reply.content[:3] == b"\x08\x03\x12"  # google.rpc.Status: INVALID_ARGUMENT, and a message
    text = reply.content[4:].decode()
    assert reply.content[3] == len(text)
    assert text.startswith("body: is no ExportTraceServiceRequest")
    assert "accepted:" in text
    assert _stored(tmp_path) == []


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"{", "is no JSON"),
        (b"[]", "is no object"),
        (b'{"resourceSpans": 5}', "resourceSpans"),
        (b'{"resourceSpans": [{"scopeSpans": [5]}]}', "accepted: ExportTraceServiceRequest"),
        (b'{"resourceSpans":' + b"[" * 200_000 + b"]" * 200_000 + b"}", "accepted:"),
        (
            b'{"resourceSpans": [{"resource": {"attributes": [{"key": "a", "value": '
            + b'{"arrayValue": {"values": [' * 300
            + b"]}}" * 300
            + b"}]}}]}",
            "accepted:",
        ),
    ],
)
def test_malformed_json_is_answered_with_a_status_in_json(
    client: Client, tmp_path: Path, body: bytes, said: str
) -> None:
    reply = client().post("/v1/traces", content=body, headers={"content-type": "application/json"})
    assert (reply.status_code, reply.headers["content-type"]) == (400, "application/json")
    assert reply.json()["code"] == 3
    assert said in reply.json()["message"]
    assert _stored(tmp_path) == []


def test_a_small_body_that_unpacks_to_a_large_one_is_refused(client: Client, tmp_path: Path) -> None:
    limits = Limits(body=100_000, unpacked=1_000_000)
    bomb = gzip.compress(_request("x" * 50_000_000).SerializeToString())
    headers = {**PROTOBUF, "content-encoding": "gzip"}
    reply = client(limits=limits).post("/v1/traces", content=bomb, headers=headers)
    assert (reply.status_code, b"unpacks to more than 1,000,000 bytes" in reply.content) == (413, True)
    large = client(limits=limits).post("/v1/traces", content=bytes(200_000), headers=PROTOBUF)
    assert (large.status_code, b"larger than 100,000 bytes" in large.content) == (413, True)
    assert _stored(tmp_path) == []


@pytest.mark.parametrize(
    "damage",
    [lambda body: body[:-9], lambda body: b"\x1f\x8b" + b"\x00" * 20, lambda body: body + body],
)
def test_a_damaged_gzip_is_said(client: Client, tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    body = damage(gzip.compress(_request("Who pays?").SerializeToString()))
    reply = client().post("/v1/traces", content=body, headers={**PROTOBUF, "content-encoding": "gzip"})
    assert reply.status_code == 400
    assert b"gzip" in reply.content
    assert _stored(tmp_path) == []


@pytest.mark.parametrize(
    ("headers", "said"),
    [
        ({"content-type": "text/plain"}, "content-type 'text/plain'; accepted: application/x-protobuf or"),
        ({}, "content-type ''"),
        (
            {"content-type": "application/json", "content-encoding": "br"},
            "content-encoding 'br'; accepted: gzip",
        ),
    ],
)
def test_another_type_or_encoding_is_refused(client: Client, headers: dict[str, str], said: str) -> None:
    reply = client().post("/v1/traces", content=b"{}", headers=headers)
    assert reply.status_code == 415
    assert said in reply.json()["message"]


def test_a_full_queue_is_answered_with_429_and_when_to_come_again(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = threading.Event()
    monkeypatch.setattr("ragtriage.data.live.journal._sync_data", lambda _: gate.wait(20))
    sender, body = client(), _request("x" * 150_000).SerializeToString()
    replies: list[Any] = []

    def send() -> None:
        replies.append(sender.post("/v1/traces", content=body, headers=PROTOBUF))

    threads = [threading.Thread(target=send) for _ in range(2)]
    for thread in threads:
        thread.start()
    threads[0].join(0.5)
    threads[1].join(2)
    (refused,) = replies  # while the other waits for the disk
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
    assert refused.content[:2] == b"\x08\x08"  # RESOURCE_EXHAUSTED
    gate.set()
    for thread in threads:
        thread.join(20)
    assert [reply.status_code for reply in replies] == [429, 200]
    assert len(_stored(tmp_path)) == 1


def test_a_full_disk_is_answered_with_503(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("ragtriage.data.live.journal._sync_data", full)
    reply = client().post("/v1/traces", content=_request("x").SerializeToString(), headers=PROTOBUF)
    assert (reply.status_code, reply.headers["retry-after"]) == (503, "1")


@pytest.mark.parametrize(
    "given", [None, "Bearer another-token-of-it", TOKEN, f"Basic {TOKEN}", "Bearer \xe9"]
)
def test_without_the_token_nothing_is_taken(client: Client, tmp_path: Path, given: str | None) -> None:
    headers = [(b"authorization", given.encode("latin-1"))] if given else []
    guarded = client(token=TOKEN, hosts=())
    for path in ("/v1/traces", "/v1/logs", "/v1/feedback", "/v1/none"):
        reply = guarded.post(path, json={"thumb": "up"}, headers=headers)
        assert (reply.status_code, reply.headers["www-authenticate"]) == (401, "Bearer")
        assert reply.json()["code"] == 16
    assert guarded.get("/healthz").status_code == 200
    assert list(read_journal(tmp_path / "journal")) == []
    right = {"authorization": f"Bearer {TOKEN}", "host": "any.name:4318"}
    assert guarded.post("/v1/feedback", json={"thumb": "up"}, headers=right).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:8501"},
        {"sec-fetch-site": "cross-site"},
        {"host": "rebound.example:4318"},
        {"host": ""},
    ],
)
def test_web_pages_and_unknown_names_are_refused(
    client: Client, tmp_path: Path, headers: dict[str, str]
) -> None:
    for path in ("/v1/traces", "/v1/feedback"):
        assert client().post(path, json={"thumb": "up"}, headers=headers).status_code == 403
    assert list(read_journal(tmp_path / "journal")) == []


def test_feedback_is_checked_redacted_and_stored(client: Client, tmp_path: Path) -> None:
    body = [
        {"trace_id": TRACE, "user_id": "u1", "thumb": "down", "comment": "Write to anna@example.com"},
        {"user_id": "bob@example.com", "nps_score": 9},
    ]
    reply = client().post("/v1/feedback", json=body)
    assert (reply.status_code, reply.json()["accepted"]) == (200, 2)
    ((_, kind, payload),) = read_journal(tmp_path / "journal")
    assert kind is Kind.FEEDBACK
    first, second = answers_from(json.loads(payload))
    assert first.values == {"thumb": 0.0, "comment": "Write to [e-mail]"}
    assert (first.user_id, second.user_id.startswith("user-")) == ("u1", True)
    assert b"example.com" not in payload
    unusable: tuple[object, ...] = ({"thumb": "sideways"}, {}, [], 5)
    for wrong in unusable:
        refused = client().post("/v1/feedback", json=wrong)
        assert (refused.status_code, "accepted:" in refused.json()["message"]) == (400, True)


def test_evaluation_results_among_logs_become_scores_of_their_trace(client: Client, tmp_path: Path) -> None:
    def record(**more: Any) -> dict[str, Any]:
        values = {"gen_ai.evaluation.name": "faithfulness", "gen_ai.evaluation.score.value": 0.5}
        attributes = [
            {"key": key, "value": {"doubleValue" if isinstance(value, float) else "stringValue": value}}
            for key, value in values.items()
        ]
        return {"traceId": TRACE, "spanId": SPAN, "eventName": "gen_ai.evaluation.result", **more} | {
            "attributes": attributes + more.get("attributes", [])
        }

    named = {"key": "event.name", "value": {"stringValue": "gen_ai.evaluation.result"}}
    records = [
        record(),
        record(eventName="", attributes=[named]),
        record(traceId=""),
        record(eventName="log"),
    ]
    body = {"resourceLogs": [{"scopeLogs": [{"logRecords": records}]}]}
    protobuf = ExportLogsServiceRequest().SerializeToString()
    assert client().post("/v1/logs", content=protobuf, headers=PROTOBUF).status_code == 200
    for _ in range(2):
        reply = client().post("/v1/logs", json=body)
        assert (reply.status_code, reply.json()["partialSuccess"]["rejectedLogRecords"]) == (200, "1")
    read = [read_span(stored) for request in _stored(tmp_path) for stored in stored_spans(request)]
    assert [(span.trace_id, span.parent_id, span.scores) for span in read] == [
        (TRACE, SPAN, {"faithfulness": 0.5})
    ] * 4
    assert len({span.span_id for span in read}) == 2  # the same record is the same span


def test_no_text_of_a_span_keeps_personal_data_and_the_counts_are_stored(
    client: Client, tmp_path: Path
) -> None:
    secret = "anna@example.com"
    request = _request(secret, json.dumps({"messages": [{"content": f"I am {secret}"}]}))
    request.resource_spans[0].resource.attributes.add(key="owner").value.string_value = secret
    scope = request.resource_spans[0].scope_spans[0]
    scope.scope.attributes.add(key="by").value.string_value = secret
    span = scope.spans[0]
    span.name, span.status.message = f"for {secret}", f"failed for {secret}"
    event = span.events.add(name=secret)
    event.attributes.add(key="exception.message").value.string_value = secret
    link = span.links.add(trace_state=f"by={secret}")
    link.attributes.add(key="of").value.string_value = secret
    span.trace_state = f"by={secret}"
    span.attributes.add(key="raw").value.bytes_value = f"é {secret}".encode()
    span.attributes.add(key="packed").value.bytes_value = b"\x00\xff " + secret.encode()
    listed = span.attributes.add(key="tag.tags").value
    listed.array_value.values.add().string_value = secret
    listed.array_value.values.add().kvlist_value.values.add(key="deep").value.string_value = secret
    span.attributes.add(key="user.id").value.string_value = secret
    span.attributes.add(key="count").value.int_value = 4111111111111111
    reply = client().post("/v1/traces", content=request.SerializeToString(), headers=PROTOBUF)
    assert reply.status_code == 200
    (stored,) = _stored(tmp_path)
    content = stored.SerializeToString()
    assert b"anna" not in content
    assert content.count(b"[e-mail]") == 15
    attributes = {
        item.key: item.value for item in stored.resource_spans[0].scope_spans[0].spans[0].attributes
    }
    assert attributes["user.id"].string_value.startswith("user-")
    assert attributes["count"].int_value == 4111111111111111
    assert attributes["raw"].bytes_value == "é [e-mail]".encode()
    assert attributes["packed"].bytes_value == b"\x00\xff [e-mail]"
    assert stored.resource_spans[0].scope_spans[0].spans[0].trace_id == bytes.fromhex(TRACE)
    (counts,) = redaction_counts(tmp_path).values()
    assert counts == {"e-mail": 15, "user": 1}


def test_a_user_with_a_number_is_hashed_as_in_their_feedback(tmp_path: Path) -> None:
    with Journal(tmp_path / "journal") as journal:
        intake = Intake(journal, Redactor(hash_users=True, salt=b"salt"), tmp_path)
        request = _request(json.dumps({"user_id": 4711}))
        request.resource_spans[0].scope_spans[0].spans[0].attributes.add(key="user.id").value.int_value = 4711
        stored, _ = intake.traces(request)
        (answer,) = answers_from(json.loads(intake.feedback({"user_id": 4711, "thumb": "down"})[0]))
    (span,) = (read_span(each) for each in stored_spans(ExportTraceServiceRequest.FromString(stored)))
    assert answer.user_id.startswith("user-")
    assert span.attributes["user_id"] == answer.user_id
    assert answer.user_id in str(span.input)
    assert "4711" not in str(span)
