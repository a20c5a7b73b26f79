"""What Streamlit's server runs: the dashboard behind a check of the Host and Origin of every request.

Streamlit compares the Origin of a WebSocket by name alone, so that a page on another port of this machine
could use the dashboard, and it looks up this machine's outside address for an Origin that it does not know.
"""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import streamlit
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ragtriage.dashboard.shell.process import start_preloading, wait_for_preload

ALLOWED_HOSTS = "RAGTRIAGE_ALLOWED_HOSTS"  # set by `ragtriage serve`, separated by commas


def refusal(host: str, origin: str | None, allowed_hosts: list[str]) -> str:
    """Return why a request is refused, or "" where it may pass.

    Args:
        host: its Host header.
        origin: its Origin header; None where the browser sent none.
        allowed_hosts: names and addresses under which the dashboard may be opened, in lower case.
    """
    try:
        name = (urlsplit(f"//{host}").hostname or "").rstrip(".")
        came_from = urlsplit(origin).netloc.lower() if origin is not None else host.lower()
    except ValueError:
        return "Host or Origin cannot be read"
    if name not in allowed_hosts:
        accepted = ", ".join(allowed_hosts)
        return f"host {name!r} is not allowed; accepted: {accepted}, or `serve --allow-host NAME`"
    if came_from != host.lower():
        return f"origin {origin!r} is another site; accepted: pages of http://{host}"
    return ""


class SameOrigin:
    """Middleware that answers requests under an unknown name, or from a page of another site, with 403."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self.allowed_hosts = os.environ.get(ALLOWED_HOSTS, "127.0.0.1,localhost,::1").lower().split(",")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        reason = refusal(headers.get("host", ""), headers.get("origin"), self.allowed_hosts)
        if not reason:
            if scope["type"] == "http":
                send = _not_framed(send)
            else:  # a session starts: two threads must not import the same modules
                await asyncio.to_thread(wait_for_preload)
            await self.app(scope, receive, send)
        elif scope["type"] == "http":
            await PlainTextResponse(reason, status_code=403)(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": 1008, "reason": reason[:120]})


def _not_framed(send: Send) -> Send:
    """Return what sends a response with the word that pages of other sites may not frame it."""

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message)["Content-Security-Policy"] = "frame-ancestors 'self'"
        await send(message)

    return sent


@asynccontextmanager
async def _lifespan(_: streamlit.App) -> AsyncIterator[None]:
    start_preloading()
    yield


app = streamlit.App("pages/app.py", middleware=[Middleware(SameOrigin)], lifespan=_lifespan)
