"""A service on this machine that answers as /v1/messages, its batches and token counting do.

It stands in for a judge in tests and benchmarks: replies are made by a function of the request, and faults
are scripted by what is asked and how often it was asked before.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import socket
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

__all__ = ["Asked", "JudgeServer", "Script", "asked_key", "parts_of", "plain_reply"]

CHARS_A_TOKEN = 4
Body = dict[str, Any]
Responder = Callable[[Body], object]
Fault = Callable[[str, int], str]  # (key of what is asked, how often it was asked before) -> fault or ""
_BLOCK = re.compile(
    r"<(?P<tag>[a-z]+)-(?P<mark>[0-9a-f]{8})(?P<given>[^>]*)>\n(?P<text>.*?)\n</(?P=tag)-(?P=mark)>", re.S
)


def parts_of(body: Body) -> dict[str, list[tuple[str, str]]]:
    """Give the delimited data of a request: tag -> (attributes, text)."""
    found: dict[str, list[tuple[str, str]]] = {}
    for one in _BLOCK.finditer(body["messages"][0]["content"]):
        found.setdefault(one["tag"], []).append((one["given"], one["text"]))
    return found


def asked_key(body: Body) -> str:
    """Name what is asked, whatever was said on it before."""
    return hashlib.sha256(str(body["messages"][0]["content"]).encode()).hexdigest()[:16]


def _ranks(parts: Mapping[str, list[tuple[str, str]]]) -> list[int]:
    return list(dict.fromkeys(int(re.findall(r"\d+", given)[0]) for given, _ in parts.get("document", [])))


def _sentences(text: str) -> list[str]:
    return [one.strip() for one in re.split(r"(?<=[.!?。])\s+", text) if one.strip()][:200]


def _words(text: str) -> set[str]:
    return {word for word in re.findall(r"\w+", text.lower()) if len(word) > 3}


def _backed(sentence: str, documents: Mapping[int, str]) -> list[int]:
    """Ranks of the documents that share most words of a sentence."""
    wanted = _words(sentence)
    return [
        rank for rank, text in documents.items() if wanted and len(wanted & _words(text)) >= 0.6 * len(wanted)
    ]


def plain_reply(body: Body) -> object:
    """Make a reply of the form that is asked for, from the words alone; the same request, the same reply."""
    asked = body["output_config"]["format"]["schema"]["properties"]
    parts = parts_of(body)
    documents: dict[int, str] = {}
    for rank, (_, text) in zip(
        [int(re.findall(r"\d+", given)[0]) for given, _ in parts.get("document", [])],
        parts.get("document", []),
        strict=True,
    ):
        documents[rank] = documents.get(rank, "") + text
    answer = parts.get("answer", [("", "")])[0][1]
    reference = parts.get("reference", [("", "")])[0][1]
    made = _reply(asked, documents, answer, reference, parts)
    return {name: made[name] for name in asked}


def _reply(
    asked: Mapping[str, Any],
    documents: Mapping[int, str],
    answer: str,
    reference: str,
    parts: Mapping[str, list[tuple[str, str]]],
) -> dict[str, Any]:
    claims = _entries(asked, "claims", parts.get("claim", []), answer)
    statements = _entries(asked, "statements", parts.get("statement", []), reference)
    question = parts.get("question", [("", "")])[0][1]
    refused = "don't know" in answer.lower() or "cannot" in answer.lower()
    return {
        "refused": refused,
        "addresses": "no" if refused else "fully",
        "agrees": "partly",
        "contradicts_itself": False,
        "relevant": [rank for rank, text in documents.items() if _words(question) & _words(text)],
        "used": sorted({rank for claim in claims for rank in _backed(claim, documents)}),
        "claims": [
            _labelled(asked, "claims", at, text, documents, reference) for at, text in enumerate(claims, 1)
        ],
        "statements": [
            _labelled(asked, "statements", at, text, documents, answer)
            for at, text in enumerate(statements, 1)
        ],
        "instructions": [],
        "reason": "as the words say",
        "answer": _plain_answer(asked, documents, answer),
    }


def _entries(asked: Mapping[str, Any], field: str, numbered: list[tuple[str, str]], text: str) -> list[str]:
    """Give the numbered texts where the form asks for them by number, else the sentences of a text."""
    by_number = "n" in asked.get(field, {}).get("items", {}).get("properties", {})
    return [entry for _, entry in numbered] if by_number else _sentences(text)


def _plain_answer(asked: Mapping[str, Any], documents: Mapping[int, str], answer: str) -> str:
    if "reason" in asked:
        return "yes" if len(answer) % 2 else "no"
    return (_sentences(next(iter(documents.values()), "")) or ["I don't know."])[0]


def _labelled(
    asked: Mapping[str, Any], field: str, at: int, text: str, documents: Mapping[int, str], other: str
) -> dict[str, Any]:
    """Make an entry of a claim or statement; the other side is the reference or the answer."""
    if field not in asked:
        return {}
    by = _backed(text, documents)
    shared = _words(text) and len(_words(text) & _words(other)) >= 0.5 * len(_words(text))
    quotes = [{"rank": rank, "quote": " ".join(documents[rank].split()[:8])} for rank in by]
    made = {
        "n": at,
        "text": text,
        "evidence": [{**quote, "side": "for"} for quote in quotes] if field == "claims" else quotes,
        "support": "alone" if by else "none",
        "in_reference": "yes" if shared else "no",
        "in_answer": "yes" if shared else "no",
    }
    return {name: made[name] for name in asked[field]["items"]["properties"]}


@dataclass(frozen=True)
class Asked:
    """One request as it came in.

    Attributes:
        path: of the request.
        key: asked_key of it.
        outcome: "ok", or the fault it met.
        input_tokens: of the request, by characters.
        output_tokens: of the reply.
        at: seconds, monotonic.
    """

    path: str
    key: str
    outcome: str
    input_tokens: int = 0
    output_tokens: int = 0
    at: float = 0.0


@dataclass
class Script:
    """How the service behaves.

    Attributes:
        reply: makes the reply of a request; a text is sent as it is, all else as JSON.
        fault: names the fault that a request meets: "", "429", "529", "500", "drop", "slow", "truncated",
            "schema", "cut", "refusal", "window", "401", "404", "billing", "long"; in a batch also "lost".
        latency: seconds that a reply takes, from the request's arrival, its making included.
        retry_after: what a 429 asks for, in seconds.
        slow: seconds that a slow reply takes.
        api_key: the key that is accepted; any where empty.
        batch_seconds: seconds that a batch takes.
    """

    reply: Responder = plain_reply
    fault: Fault = field(default=lambda _key, _times: "")
    latency: float = 0.0
    retry_after: float = 0.05
    slow: float = 5.0
    api_key: str = ""
    batch_seconds: float = 0.0


class JudgeServer:
    """The service on a free port of this machine; a context manager."""

    def __init__(self, script: Script | None = None) -> None:
        self.script = script or Script()
        self.asked: list[Asked] = []
        self.flying = 0
        self.most_flying = 0
        self._times: Counter[str] = Counter()
        self._batches: dict[str, dict[str, Any]] = {}
        routes = [
            Route("/v1/messages", self._message, methods=["POST"]),
            Route("/v1/messages/count_tokens", self._count, methods=["POST"]),
            Route("/v1/messages/batches", self._make_batch, methods=["POST"]),
            Route("/v1/messages/batches", self._list_batches, methods=["GET"]),
            Route("/v1/messages/batches/{batch}", self._show_batch, methods=["GET"]),
            Route("/v1/messages/batches/{batch}/results", self._results, methods=["GET"]),
        ]
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        config = uvicorn.Config(
            Starlette(routes=routes), host="127.0.0.1", port=self.port, log_level="critical", access_log=False
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, daemon=True)

    @property
    def url(self) -> str:
        """Where it answers."""
        return f"http://127.0.0.1:{self.port}"

    def served(self) -> Counter[str]:
        """How often each thing asked was answered well."""
        return Counter(one.key for one in self.asked if one.outcome == "ok")

    def __enter__(self) -> Self:
        self._thread.start()
        while not self._server.started:
            time.sleep(0.01)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.should_exit = True
        self._server.force_exit = True
        self._thread.join(timeout=5)

    async def _message(self, request: Request) -> Response:
        since = time.monotonic()
        body = await request.json()
        self.flying += 1
        self.most_flying = max(self.most_flying, self.flying)
        try:
            return await self._answer(request, body, since)
        finally:
            self.flying -= 1

    async def _answer(self, request: Request, body: Body, since: float) -> Response:
        key = asked_key(body)
        fault = self._unknown_key(request) or self.script.fault(key, self._times[key])
        self._times[key] += 1
        made = {} if fault in (*_ERRORS, "drop") else self._made(body, fault)
        seconds = self.script.latency + (self.script.slow if fault == "slow" else 0.0)
        if seconds:
            await asyncio.sleep(since + seconds - time.monotonic())
        if fault in _ERRORS:
            self._note("/v1/messages", key, fault)
            return _error(fault, self.script.retry_after)
        if fault == "drop":
            self._note("/v1/messages", key, fault)
            return StreamingResponse(
                _broken(), headers={"content-length": "1000"}, media_type="application/json"
            )
        text = "".join(one["text"] for one in made["content"])
        self._note("/v1/messages", key, fault or "ok", _size(body), len(text) // CHARS_A_TOKEN)
        return JSONResponse(made)

    def _unknown_key(self, request: Request) -> str:
        given = request.headers.get("x-api-key", "")
        return "401" if self.script.api_key and given != self.script.api_key else ""

    def _note(self, path: str, key: str, outcome: str, given: int = 0, written: int = 0) -> None:
        self.asked.append(Asked(path, key, outcome, given, written, time.monotonic()))

    def _made(self, body: Body, fault: str) -> Body:
        given = self.script.reply(body)
        reply = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
        text, stop = reply, "end_turn"
        if fault == "truncated":
            text, stop = reply[: len(reply) // 2], "max_tokens"
        elif fault == "cut":
            text = reply[: len(reply) // 2]
        elif fault == "schema":
            text = json.dumps({"verdict": "supported"})
        elif fault == "refusal":
            text, stop = "", "refusal"
        elif fault == "window":
            text, stop = "", "model_context_window_exceeded"
        return {
            "id": f"msg_{asked_key(body)}",
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "content": [{"type": "text", "text": text}] if text else [],
            "stop_reason": stop,
            "stop_sequence": None,
            "usage": {"input_tokens": _size(body), "output_tokens": max(len(text) // CHARS_A_TOKEN, 1)},
        }

    async def _count(self, request: Request) -> Response:
        body = await request.json()
        self._note("/v1/messages/count_tokens", asked_key(body), "ok")
        return JSONResponse({"input_tokens": _size(body)})

    async def _make_batch(self, request: Request) -> Response:
        refused = self._unknown_key(request)
        if refused:
            return _error(refused, 0)
        body = await request.json()
        name = f"msgbatch_{len(self._batches):04d}"
        self._batches[name] = {"requests": body["requests"], "at": time.time()}
        self._note("/v1/messages/batches", name, "ok")
        return JSONResponse(self._batch(name))

    def _batch(self, name: str) -> Body:
        made = self._batches[name]
        ended = time.time() >= made["at"] + self.script.batch_seconds
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(made["at"]))
        total = len(made["requests"])
        counts = dict.fromkeys(("processing", "succeeded", "errored", "canceled", "expired"), 0)
        counts["succeeded" if ended else "processing"] = total
        return {
            "id": name,
            "type": "message_batch",
            "processing_status": "ended" if ended else "in_progress",
            "request_counts": counts,
            "created_at": at,
            "expires_at": at,
            "ended_at": at if ended else None,
            "archived_at": None,
            "cancel_initiated_at": None,
            "results_url": f"{self.url}/v1/messages/batches/{name}/results" if ended else None,
        }

    async def _list_batches(self, _request: Request) -> Response:
        listed = [self._batch(name) for name in reversed(self._batches)]
        return JSONResponse({"data": listed, "has_more": False, "first_id": None, "last_id": None})

    async def _show_batch(self, request: Request) -> Response:
        name = request.path_params["batch"]
        return JSONResponse(self._batch(name)) if name in self._batches else _error("404", 0)

    async def _results(self, request: Request) -> Response:
        asked = self._batches[request.path_params["batch"]]["requests"]
        results = [self._result(one) for one in reversed(asked)]  # out of order
        lines = [json.dumps(one, ensure_ascii=False) for one in results if one]
        return Response("\n".join(lines) + "\n", media_type="application/x-jsonl")

    def _result(self, one: Body) -> Body:
        key = asked_key(one["params"])
        fault = self.script.fault(key, self._times[key])
        self._times[key] += 1
        if fault == "lost":
            return {}
        if fault in (*_ERRORS, "drop", "slow"):
            self._note("batch", key, fault)
            _, kind, message = _ERRORS.get(fault, _ERRORS["500"])
            error = {"type": "error", "error": {"type": kind, "message": message}}
            return {"custom_id": one["custom_id"], "result": {"type": "errored", "error": error}}
        made = self._made(one["params"], fault)
        self._note("batch", key, fault or "ok", _size(one["params"]), made["usage"]["output_tokens"])
        return {"custom_id": one["custom_id"], "result": {"type": "succeeded", "message": made}}


def _size(body: Body) -> int:
    system = body.get("system") or ""
    text = system if isinstance(system, str) else "".join(one["text"] for one in system)
    turns = "".join(
        one["content"] if isinstance(one["content"], str) else json.dumps(one["content"])
        for one in body["messages"]
    )
    return max((len(text) + len(turns)) // CHARS_A_TOKEN, 1)


async def _broken() -> AsyncIterator[bytes]:
    yield b'{"id": "msg_'
    raise ConnectionResetError("the line is dead")


_ERRORS: Mapping[str, tuple[int, str, str]] = {
    "429": (429, "rate_limit_error", "rate limit"),
    "529": (529, "overloaded_error", "overloaded"),
    "500": (500, "api_error", "internal"),
    "401": (401, "authentication_error", "invalid x-api-key"),
    "404": (404, "not_found_error", "model"),
    "billing": (400, "invalid_request_error", "Your credit balance is too low"),
    "long": (400, "invalid_request_error", "prompt is too long: 9 tokens > 8 maximum"),
}


def _error(fault: str, retry_after: float) -> Response:
    code, kind, message = _ERRORS[fault]
    body = {"type": "error", "error": {"type": kind, "message": message}}
    headers = {"retry-after": f"{retry_after:g}"} if code == 429 else {}
    return JSONResponse(body, status_code=code, headers=headers)
