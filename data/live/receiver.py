"""The receiver of live traffic: OTLP over HTTP and feedback, answered once they are on the disk."""

import asyncio
import hmac
import zlib
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import TypeVar
from urllib.parse import urlsplit

import orjson
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from ragtriage.data.errors import DataError, InputError
from ragtriage.data.live.feedback.records import as_json, feedback_records
from ragtriage.data.live.journal import Journal, JournalFullError, Kind
from ragtriage.data.live.otlp_requests import (
    JSON,
    PROTOBUF,
    MalformedError,
    answer,
    message_in,
    redact,
    scores_in,
    scores_without_trace,
    span_count,
    status,
    take_out_spans,
)
from ragtriage.data.live.redacting import add_redaction_counts
from ragtriage.data.live.redaction import Redactor

RETRY_SECONDS = "1"
UNPACKED = {"gzip": zlib.MAX_WBITS | 16, "deflate": zlib.MAX_WBITS}
OPEN_PATHS = ("/healthz", "/readyz")


@dataclass(frozen=True)
class Limits:
    """How much is taken at once."""

    body: int = 16 << 20  # bytes of a request as sent
    unpacked: int = 64 << 20  # bytes of it decompressed
    in_flight: int = 128 << 20  # bytes of all requests that are being read
    seconds: float = 30.0  # until a request is read


class RefusedError(Exception):
    """A request that is not taken."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class Intake:
    """The way of traffic into the journal, whether it comes over HTTP or from files.

    Attributes:
        taken_out: kind -> how often it was taken out and is counted in the project's folder.
        stuck: whether what is in the journal cannot be worked on.
    """

    def __init__(self, journal: Journal, redactor: Redactor, folder: Path) -> None:
        self.journal = journal
        self.stuck: Callable[[], bool] = lambda: False
        self._redactor = redactor
        self._folder = folder  # of the counts of what is taken out
        self._counted_at = 0.0
        self.taken_out: Counter[str] = Counter()

    def traces(self, request: ExportTraceServiceRequest) -> tuple[bytes, int]:
        """Return what is stored of an export, b"" for nothing, and how many spans are left out."""
        rejected = take_out_spans(request)
        redact(request, self._redactor)
        self.count()
        return request.SerializeToString() if span_count(request) else b"", rejected

    def feedback(self, body: object) -> tuple[bytes, list[str]]:
        """Return what is stored of feedback, and the ids of its answers.

        Raises:
            InputError: it cannot be used.
        """
        answers = [each.redacted(self._redactor.text, self._redactor.user) for each in feedback_records(body)]
        self.count()
        return orjson.dumps(as_json(answers)), [each.feedback_id for each in answers]

    def count(self, *, now: bool = False) -> None:
        """Store how much was taken out, once a second."""
        if now or monotonic() - self._counted_at > 1:
            counts, self._redactor.counts = self._redactor.counts, Counter()
            self._counted_at = monotonic()
            try:
                add_redaction_counts(self._folder, counts)
                self.taken_out += counts
            except OSError:  # a full disk
                self._redactor.counts += counts


class Guard:
    """Middleware that refuses requests of web pages, under unknown names, and without the token."""

    def __init__(self, app: ASGIApp, token: str, hosts: tuple[str, ...]) -> None:
        self.app = app
        self._token = f"Bearer {token}".encode() if token else b""
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] == "http" and (refused := self._refusal(Request(scope))):
            await _refused(refused, Request(scope))(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    def _refusal(self, request: Request) -> RefusedError | None:
        host, origin = request.headers.get("host", ""), request.headers.get("origin")
        try:
            name = (urlsplit(f"//{host}").hostname or "").rstrip(".")
        except ValueError:
            name = ""
        if origin is not None or request.headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            return RefusedError(403, "requests from browsers are refused; accepted: the exporter of a server")
        if self._hosts and name not in self._hosts:
            return RefusedError(403, f"host {name[:80]!r}; accepted: {', '.join(self._hosts)}")
        scheme, _, rest = request.headers.get("authorization", "").partition(" ")
        given = (f"Bearer {rest.strip()}" if scheme.lower() == "bearer" else scheme).encode("latin-1")
        if self._token and request.url.path not in OPEN_PATHS and not hmac.compare_digest(given, self._token):
            return RefusedError(401, "missing or wrong token; accepted: `authorization: Bearer TOKEN`")
        return None


def receiver(
    intake: Intake, *, token: str = "", hosts: tuple[str, ...] = (), limits: Limits | None = None
) -> Starlette:
    """Return the application that receives traffic.

    Args:
        intake: where it goes.
        token: what every request must bring; "" for none.
        hosts: names under which it may be called; () for any, which only a token makes safe.
        limits: the usual ones when left out.
    """
    paths = _Paths(intake, limits or Limits())
    routes = [
        Route("/v1/traces", paths.take(paths.traces), methods=["POST"]),
        Route("/v1/logs", paths.take(paths.logs), methods=["POST"]),
        Route("/v1/feedback", paths.take(paths.feedback), methods=["POST"]),
        Route("/healthz", paths.healthy, methods=["GET"]),
        Route("/readyz", paths.ready, methods=["GET"]),
    ]
    middleware = [Middleware(Guard, token=token, hosts=hosts)]
    return Starlette(routes=routes, middleware=middleware, lifespan=paths.lifespan)


T = TypeVar("T")
Endpoint = Callable[[Request], Awaitable[Response]]


class _Paths:
    """What answers each path; one thread reads bodies, so that others are answered meanwhile."""

    def __init__(self, intake: Intake, limits: Limits) -> None:
        self._intake, self._limits = intake, limits
        self._in_flight = 0
        self._reader = ThreadPoolExecutor(1, "receiver")

    @asynccontextmanager
    async def lifespan(self, _: Starlette) -> AsyncIterator[None]:
        yield
        self._reader.shutdown()
        self._intake.count(now=True)

    async def healthy(self, _: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def ready(self, _: Request) -> Response:
        journal = self._intake.journal
        status = "full" if journal.is_full() else "ok" if journal.has_room() else "no room on the disk"
        if status == "ok" and self._intake.stuck():
            status = "what is received cannot be worked on, see the notes of collect"
        return JSONResponse({"status": status}, 200 if status == "ok" else 503)

    def take(self, endpoint: Endpoint) -> Endpoint:
        """Return an endpoint whose refusals and errors are answers."""

        async def answered(request: Request) -> Response:
            try:
                return await endpoint(request)
            except RefusedError as error:
                return _refused(error, request)
            except (MalformedError, InputError) as error:
                return _refused(RefusedError(400, str(error)), request)
            except JournalFullError as error:
                return _refused(RefusedError(429, str(error)), request)
            except DataError as error:  # the disk is full, or the journal closes
                return _refused(RefusedError(503, str(error)), request)

        return answered

    async def traces(self, request: Request) -> Response:
        return await self._export(request, _media_type(request, PROTOBUF, JSON), of_logs=False)

    async def logs(self, request: Request) -> Response:
        return await self._export(request, _media_type(request, PROTOBUF, JSON), of_logs=True)

    async def _export(self, request: Request, media_type: str, *, of_logs: bool) -> Response:
        def read(body: bytes) -> tuple[bytes, int]:
            if of_logs:
                logs = message_in(ExportLogsServiceRequest, body, media_type)
                return self._intake.traces(scores_in(logs))[0], scores_without_trace(logs)
            return self._intake.traces(message_in(ExportTraceServiceRequest, body, media_type))

        payload, rejected = await self._read(request, read)
        if payload:
            await self._store(Kind.TRACES, payload)
        return Response(answer(rejected, media_type, of_logs=of_logs), media_type=media_type)

    async def feedback(self, request: Request) -> Response:
        _media_type(request, JSON)

        def read(body: bytes) -> tuple[bytes, list[str]]:
            try:
                values = orjson.loads(body)
            except orjson.JSONDecodeError as error:
                accepted = "{trace_id, thumb: up or down, comment, ...} or a list of these"
                raise MalformedError(f"is no JSON ({error})", accepted) from error
            return self._intake.feedback(values)

        payload, ids = await self._read(request, read)
        await self._store(Kind.FEEDBACK, payload)
        return JSONResponse({"accepted": len(ids), "feedback_ids": ids})

    async def _store(self, kind: Kind, payload: bytes) -> None:
        await asyncio.wrap_future(self._intake.journal.submit(kind, payload))

    async def _read(self, request: Request, read: Callable[[bytes], T]) -> T:
        """Return what is read of a body, which is held within limits on the way."""
        encoding = request.headers.get("content-encoding", "identity").strip().lower()
        if encoding not in (*UNPACKED, "identity"):
            raise RefusedError(415, f"content-encoding {encoding[:40]!r}; accepted: gzip, deflate, or none")
        if self._intake.journal.is_full():  # before a body is read in vain
            raise JournalFullError("the journal is full; accepted: the same again later")
        content = bytearray()
        try:
            async with asyncio.timeout(self._limits.seconds):
                async for chunk in request.stream():
                    self._in_flight += len(chunk)
                    content += chunk
                    self._check(len(content))
            return await asyncio.get_running_loop().run_in_executor(
                self._reader, lambda: read(self._unpacked(bytes(content), encoding))
            )
        except TimeoutError:
            raise RefusedError(408, f"the body took longer than {self._limits.seconds:g} seconds") from None
        except ClientDisconnect:
            raise RefusedError(400, "the body ended early") from None
        finally:
            self._in_flight -= len(content)

    def _check(self, size: int) -> None:
        if size > self._limits.body:
            raise RefusedError(
                413, f"body: is larger than {self._limits.body:,} bytes; accepted: smaller batches"
            )
        if self._in_flight > self._limits.in_flight:
            raise JournalFullError("too much is being sent at once; accepted: the same again later")

    def _unpacked(self, content: bytes, encoding: str) -> bytes:
        if encoding == "identity":
            return content
        most = self._limits.unpacked
        unpacker = zlib.decompressobj(UNPACKED[encoding])
        try:
            body = unpacker.decompress(content, most + 1)
        except zlib.error as error:
            raise MalformedError(f"is no {encoding}", "what content-encoding says") from error
        if len(body) > most:
            raise RefusedError(413, f"body: unpacks to more than {most:,} bytes; accepted: smaller batches")
        if not unpacker.eof:
            raise MalformedError(f"its {encoding} ends early", "the whole of it")
        if unpacker.unused_data:
            raise MalformedError(f"something follows its {encoding}", "one stream of it")
        return body


def _media_type(request: Request, *accepted: str) -> str:
    given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if given not in accepted:
        raise RefusedError(415, f"content-type {given[:80]!r}; accepted: {' or '.join(accepted)}")
    return given


def _refused(error: RefusedError, request: Request) -> Response:
    """Return the answer to a request that is not taken, in its own encoding."""
    given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    media_type = PROTOBUF if given == PROTOBUF else JSON
    headers = {"retry-after": RETRY_SECONDS} if error.code in (429, 503) else {}
    if error.code == 401:
        headers["www-authenticate"] = "Bearer"
    content = status(error.code, str(error), media_type)
    return Response(content, error.code, headers, media_type)
