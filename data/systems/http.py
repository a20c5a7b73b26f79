"""A system that is an HTTP endpoint: the JSON of a question is posted to the one address that was given.

No redirect is followed and no proxy is asked. The whole of a request has a time-out, the body is read in
pieces up to a bound, and 429 and 503 are tried again when the service asks for it.
"""

import email.utils
import hashlib
import http.client
import os
import re
import socket
import ssl
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from urllib.parse import SplitResult, parse_qsl, urlencode, urlsplit

import orjson

from ragtriage.data.errors import DataError
from ragtriage.data.systems.command import CommandSystem, split_command
from ragtriage.data.systems.system import (
    MASK,
    SHORTEST,
    Secrets,
    System,
    SystemLimits,
    SystemReply,
    SystemRequest,
    failed,
    read_reply,
    reason_text,
)

AGAIN = (429, 503)  # too busy: tried again after a while
PASSING = (*AGAIN, 408, 425, 502, 504)
FIRST_WAIT_SECONDS = 0.5
AT_ONCE = 65_536
VERSION_HEADERS = ("X-System-Version", "X-App-Version", "X-Version")  # the first that a system sends
ENDED_EARLY = "its answer ended early"
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
_SECRET_PARAMETER = re.compile(r"(?i)(key|token|secret|passw|sig|auth|code)")


def headers_from_environment(settings: Mapping[str, str]) -> dict[str, str]:
    """Return headers whose values are in variables of the environment.

    `settings` has the name of the variable of each header.

    Raises:
        DataError: a name is none, or a variable is not set; its value is never in the message.
    """
    headers = {}
    for header, variable in settings.items():
        if not _HEADER.fullmatch(header):
            raise DataError(f"header {header[:40]!r}; accepted: NAME=VARIABLE, as in Authorization=MY_KEY")
        value = os.environ.get(variable, "").strip()
        if not value:
            raise DataError(f"header {header}: the variable {variable[:80]!r} is not set in the environment")
        if not value.isprintable() or not value.isascii():
            raise DataError(f"header {header}: the variable {variable} holds what no header can")
        headers[header] = value
    return headers


class HttpSystem:
    """A system that is an HTTP endpoint."""

    def __init__(self, address: str, header_env: Mapping[str, str] | None = None) -> None:
        """Take the address and where its headers are.

        The address is http:// or https://, without a user name or a password; `header_env` has the variable
        of the environment of each header.

        Raises:
            DataError: the address is none, or a variable is not set.
        """
        self._address = _split(address)
        self._header_env = dict(header_env or {})
        self._headers = headers_from_environment(self._header_env)
        in_headers = {variable: self._headers[header] for header, variable in self._header_env.items()}
        # the keys in the query of an address, by parameter, unless they are words that any text has
        secret_parameters = {
            name: value
            for name, value in parse_qsl(self._address.query)
            if _SECRET_PARAMETER.search(name) and len(value) >= SHORTEST
        }
        self._secrets = Secrets(secret_parameters | in_headers)
        self._closed = threading.Event()

    @property
    def name(self) -> str:
        """The address without secrets."""
        query = [
            (key, MASK if _SECRET_PARAMETER.search(key) else value)
            for key, value in parse_qsl(self._address.query, keep_blank_values=True)
        ]
        shown = self._address._replace(query=urlencode(query, safe="[]"), fragment="")
        return self._secrets.hide(shown.geturl())

    @property
    def identity(self) -> str:
        """Digest of the address; the keys are not part of it."""
        return hashlib.sha256(orjson.dumps(["http", self.name])).hexdigest()

    def ask(self, request: SystemRequest, limits: SystemLimits) -> SystemReply:
        """Ask one question; a service that is too busy is asked again within the limits."""
        for tries_left in range(max(limits.tries, 1) - 1, -1, -1):
            reply, wait = self._asked_once(request, limits, max(limits.tries, 1) - 1 - tries_left)
            if wait is None or not tries_left or wait > limits.longest_wait_seconds:
                break
            if self._closed.wait(wait):
                break
        return reply

    def close(self) -> None:
        """Wait no more for a service that is too busy."""
        self._closed.set()

    def _asked_once(
        self, request: SystemRequest, limits: SystemLimits, tried: int
    ) -> tuple[SystemReply, float | None]:
        """Return the reply, and the seconds after which to ask again; None for not at all."""
        start = time.monotonic()
        connection = self._connection(limits)
        overdue, timer = threading.Event(), None
        try:
            connection.connect()
            # The socket itself, as the connection forgets it while the body is read.
            timer = threading.Timer(limits.timeout_seconds, _cut, (connection.sock, overdue))
            timer.daemon = True
            timer.start()
            body = orjson.dumps(request.payload())
            path, query = self._address.path or "/", self._address.query
            target = f"{path}?{query}" if query else path
            connection.request("POST", target, body, self._sent_headers)
            response = connection.getresponse()
            if response.status != 200:
                return self._refused(response, limits, time.monotonic() - start, tried)
            written, problem = _body(response, limits.most_bytes)
            seconds = time.monotonic() - start
            if overdue.is_set():
                return failed(_overdue(limits), seconds, True), None
            if problem:
                return failed(problem, seconds, problem == ENDED_EARLY), None
            version = next(filter(None, map(response.getheader, VERSION_HEADERS)), "")
            reply = read_reply(written, request, seconds, self._secrets)
            return replace(reply, version=reason_text(self._secrets.hide(version))), None
        except (OSError, http.client.HTTPException, ValueError, AttributeError) as error:
            seconds = time.monotonic() - start
            if overdue.is_set() or isinstance(error, TimeoutError):
                return failed(_overdue(limits), seconds, True), None
            passing = not isinstance(error, ssl.SSLError | ValueError)
            return failed(f"it could not be asked ({self._said(error)})", seconds, passing), None
        finally:
            if timer is not None:
                timer.cancel()
            connection.close()

    def _said(self, error: Exception) -> str:
        if isinstance(error, http.client.IncompleteRead):
            return ENDED_EARLY
        if isinstance(error, http.client.BadStatusLine | http.client.RemoteDisconnected):
            return "the connection ended without an answer"
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        return reason_text(self._secrets.hide(reason))

    def _refused(
        self, response: http.client.HTTPResponse, limits: SystemLimits, seconds: float, tried: int
    ) -> tuple[SystemReply, float | None]:
        status = response.status
        if 300 <= status < 400:
            place = reason_text(self._secrets.hide(response.getheader("Location") or "nowhere"))
            return failed(
                f"it answered {status}, a redirect to {place}, which is not followed", seconds
            ), None
        message = reason_text(self._secrets.hide(response.read(2_000).decode("utf-8", "replace")))
        reason = f"it answered {status}" + (f": {message}" if message else "")
        if status not in AGAIN:
            return failed(reason, seconds, status in PASSING), None
        wait = _retry_after(response.getheader("Retry-After"))
        wait = FIRST_WAIT_SECONDS * 2.0**tried if wait is None else wait
        if wait > limits.longest_wait_seconds:
            reason += f"; it asks for {wait:,.0f} s, more than {limits.longest_wait_seconds:g} s"
        return failed(reason, seconds, True), wait

    def _connection(self, limits: SystemLimits) -> http.client.HTTPConnection:
        host, port = self._address.hostname or "", self._address.port
        if self._address.scheme == "https":
            return http.client.HTTPSConnection(
                host, port, timeout=limits.timeout_seconds, context=ssl.create_default_context()
            )
        return http.client.HTTPConnection(host, port, timeout=limits.timeout_seconds)

    @cached_property
    def _sent_headers(self) -> dict[str, str]:
        own = {
            "Content-Type": "application/json",
            "Accept": "application/json",
            "Accept-Encoding": "identity",
            "User-Agent": "ragtriage",
            "Connection": "close",
        }
        return own | self._headers


def _split(address: str) -> SplitResult:
    accepted = "accepted: http://HOST[:PORT]/PATH or https://..."
    try:
        parts = urlsplit(address.strip())
        port_is_number = parts.port is None or parts.port > 0
    except ValueError as error:
        raise DataError(f"the address of the system is none ({error}); {accepted}") from error
    if parts.scheme not in ("http", "https") or not parts.hostname or not port_is_number:
        raise DataError(f"the address of the system is none; {accepted}")
    if parts.username is not None or parts.password is not None:
        raise DataError(
            "the address of the system holds a login; accepted: an address without one, and a header from "
            "the environment, as in --header-env Authorization=MY_KEY"
        )
    if not parts.geturl().isprintable() or " " in parts.geturl():
        raise DataError(f"the address of the system holds a space or a control character; {accepted}")
    return parts


def _cut(wire: socket.socket, overdue: threading.Event) -> None:
    """End a request that takes too long, wherever it waits."""
    overdue.set()
    with suppress(OSError):
        wire.shutdown(socket.SHUT_RDWR)


def _body(response: http.client.HTTPResponse, most_bytes: int) -> tuple[bytes, str]:
    """Return the body, and what is wrong with it: more than may be, or packed."""
    if (response.getheader("Content-Encoding") or "identity").casefold() != "identity":
        return b"", "its answer is packed, though that was not accepted"
    body = bytearray()
    while chunk := response.read1(AT_ONCE):
        body.extend(chunk)
        if len(body) > most_bytes:
            return b"", f"it wrote more than {most_bytes:,} bytes"
    if response.length:  # the end came before the length that was announced
        return b"", ENDED_EARLY
    return bytes(body), ""


def _overdue(limits: SystemLimits) -> str:
    return f"no answer within {limits.timeout_seconds:g} s"


def _retry_after(value: str | None) -> float | None:
    """Return the seconds of a Retry-After header; None where there is none that can be read."""
    if value is None:
        return None
    if re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,6})?", value.strip()):
        return float(value)
    with suppress(ValueError, TypeError, OverflowError, IndexError):
        moment = email.utils.parsedate_to_datetime(value)
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return max(0.0, (moment - datetime.now(UTC)).total_seconds())
    return None


def open_system(text: str, keep_alive: bool = False, header_env: Mapping[str, str] | None = None) -> System:
    """Return the system that a text names; the caller closes it.

    The text is an http or https address, or a command with its arguments, whose processes stay and answer
    line by line with `keep_alive`. `header_env` has the variable of the environment for each header of an
    address.

    Raises:
        DataError: it cannot be what it says.
    """
    if not text.strip():
        raise DataError("--system is empty; accepted: a command with its arguments, or an http address")
    if text.strip().casefold().startswith(("http://", "https://")):
        if keep_alive:
            raise DataError("--keep-alive is for commands; an http address is asked as it is")
        return HttpSystem(text, header_env)
    if header_env:
        raise DataError("--header-env is for http addresses; a command has the environment as it is")
    return CommandSystem(split_command(text), keep_alive)
