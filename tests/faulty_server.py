"""The small system of faulty_system behind HTTP, with the faults of a service: 429, 500, redirects, drips."""

from __future__ import annotations

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self

from faulty_system import answer, respond

__all__ = ["FaultyServer"]


class FaultyServer:
    """A server on this machine; `asked` has what it was sent, `keys` the Authorization headers."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.keys: list[str | None] = []
        self.busy = 1  # how often "busy" is answered 429
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                owner.handle(self)

            def log_message(self, *_: object) -> None:
                """Keep quiet."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/ask"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()

    def handle(self, request: BaseHTTPRequestHandler) -> None:
        """Answer a request, or fail as its question says."""
        asked = json.loads(request.rfile.read(int(request.headers["Content-Length"])))
        question = asked["question"]
        self.asked.append(question)
        self.keys.append(request.headers.get("Authorization"))
        if "busy" in question and self.asked.count(question) <= self.busy:
            self._send(request, 429, b"slow down", {"Retry-After": "0"})
        elif "long wait" in question:
            self._send(request, 503, b"", {"Retry-After": "3600"})
        elif "error" in question:
            key = (request.headers.get("Authorization") or "").encode()
            self._send(request, 500, b"internal error with " + key, {})
        elif "redirect" in question:
            self._send(request, 307, b"", {"Location": "http://other.example/ask"})
        elif "echo key" in question:
            self._send(request, 200, json.dumps({"answer": self.keys[-1]}).encode(), {})
        elif "packed" in question:
            self._send(request, 200, b"\x1f\x8b", {"Content-Encoding": "gzip"})
        elif "short" in question:
            self._send(request, 200, b'{"answer": "x"}', {"Content-Length": "500"})
        elif "drip" in question:
            self._drip(request)
        elif "plain" in question:
            self._send(request, 200, json.dumps({"answer": answer(asked)}).encode(), {})
        else:
            self._send(request, 200, respond(asked), {})

    def _send(
        self, request: BaseHTTPRequestHandler, status: int, body: bytes, headers: dict[str, str]
    ) -> None:
        request.send_response(status)
        for name, value in ({"Content-Length": str(len(body))} | headers).items():
            request.send_header(name, value)
        request.end_headers()
        request.wfile.write(body)

    def _drip(self, request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        request.end_headers()
        try:
            for _ in range(200):
                request.wfile.write(b" ")
                request.wfile.flush()
                time.sleep(0.05)
        except OSError:
            pass
