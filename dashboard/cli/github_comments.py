"""The one comment of a job on a pull request, written and updated through the REST API of GitHub.

No redirect is followed, since the token would go along; a service that is too busy is asked again.
"""

import http.client
import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from email.message import Message
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

PER_PAGE, MOST_PAGES = 100, 30
LONGEST_BODY = 65_000  # characters; the service takes 65,536
MOST_BYTES = 20_000_000  # of an answer
SECONDS, TRIES, LONGEST_WAIT = 20.0, 4, 60.0
BUSY = (429, 500, 502, 503, 504)
CUT = "\n\n*Cut: the summary of the job has it whole.*\n"
REASONS: Mapping[int, str] = {
    401: "the token is not valid",
    403: "the token may not write comments, as in a pull request from a fork",
    404: "the pull request cannot be seen with this token",
    429: "the service asks to wait for longer than a minute",
}


class CommentError(Exception):
    """The comment could not be written; the message says why, without the token."""


class _NoRedirects(HTTPRedirectHandler):
    def redirect_request(self, *_: Any, **__: Any) -> None:
        """Follow none."""
        return


@dataclass(frozen=True)
class Reply:
    """An answer of the service."""

    status: int
    headers: Mapping[str, str]  # names in lower case
    body: Any


class Comments:
    """The comments of one pull request."""

    def __init__(
        self, api: str, repository: str, number: int, token: str, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        if urlsplit(api).scheme not in ("http", "https"):
            raise CommentError(f"GITHUB_API_URL is {api[:80]!r}; accepted: an http or https address")
        self._api, self._token, self._sleep = api.rstrip("/"), token, sleep
        self._repository, self._number = repository, number

    def write(self, marker: str, text: str) -> str:
        """Write the text into the comment that begins with the marker, else into a new one.

        Returns "updated" or "written".

        Raises:
            CommentError: it cannot be written.
        """
        body = f"{marker}\n{text}"
        if len(body) > LONGEST_BODY:
            body = body[: LONGEST_BODY - len(CUT)] + CUT
        root = f"/repos/{self._repository}/issues"
        for comment in self._listed(f"{root}/{self._number}/comments"):
            if str(comment.get("body") or "").startswith(marker) and self._is_ours(comment):
                self._ask("PATCH", f"{root}/comments/{int(comment['id'])}", {"body": body})
                return "updated"
        self._ask("POST", f"{root}/{self._number}/comments", {"body": body})
        return "written"

    def _listed(self, path: str) -> Iterator[Mapping[str, Any]]:
        for page in range(1, MOST_PAGES + 1):
            entries = self._ask("GET", f"{path}?per_page={PER_PAGE}&page={page}")
            if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
                raise CommentError("the service did not answer with a list of comments")
            yield from entries
            if len(entries) < PER_PAGE:
                return

    def _is_ours(self, comment: Mapping[str, Any]) -> bool:
        """Return whether a comment is by an app, as the token of a job is, or by the user of the token.

        Anybody may write the marker: what a person wrote is not overwritten.
        """
        user = comment.get("user") or {}
        if user.get("type") == "Bot":
            return True
        try:
            return bool(user.get("login")) and self._ask("GET", "/user").get("login") == user["login"]
        except CommentError:  # the token of a job is no user's
            return False

    def _ask(self, method: str, path: str, values: Mapping[str, Any] | None = None) -> Any:
        reply = Reply(0, {}, None)
        for tried in range(TRIES):
            reply = self._asked_once(method, path, values)
            if 200 <= reply.status < 300:
                return reply.body
            wait = _wait(reply, tried)
            if wait is None or wait > LONGEST_WAIT or tried == TRIES - 1:
                break
            self._sleep(wait)
        limited = reply.status == 403 and _limited(reply)
        reason = REASONS[429] if limited else REASONS.get(reply.status, "the service did not take it")
        raise CommentError(f"{reason} ({reply.status})" if reply.status else str(reply.body))

    def _asked_once(self, method: str, path: str, values: Mapping[str, Any] | None) -> Reply:
        request = Request(  # noqa: S310 -- the scheme is checked above
            f"{self._api}{path}",
            data=None if values is None else json.dumps(values).encode("utf-8"),
            method=method,
            headers={
                "Accept": "application/vnd.github+json",
                "Authorization": f"Bearer {self._token}",
                "Content-Type": "application/json",
                "User-Agent": "ragtriage",
                "X-GitHub-Api-Version": "2022-11-28",
            },
        )
        try:
            with build_opener(_NoRedirects).open(request, timeout=SECONDS) as answer:
                return Reply(
                    answer.status, _headers(answer.headers), json.loads(answer.read(MOST_BYTES) or "null")
                )
        except HTTPError as error:
            with error:
                return Reply(error.code, _headers(error.headers), None)
        except ValueError:
            return Reply(0, {}, "the service did not answer in JSON")
        except (URLError, OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", error)
            return Reply(0, {}, f"the service cannot be reached ({reason})"[:200])


def _headers(headers: Message) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def _limited(reply: Reply) -> bool:
    return "retry-after" in reply.headers or reply.headers.get("x-ratelimit-remaining") == "0"


def _wait(reply: Reply, tried: int) -> float | None:
    """Return the seconds after which to ask again; None for not at all."""
    if reply.status not in (*BUSY, 0) and not (reply.status == 403 and _limited(reply)):
        return None
    after, reset = reply.headers.get("retry-after", ""), reply.headers.get("x-ratelimit-reset", "")
    if after.isdecimal():
        return float(after)
    if reply.headers.get("x-ratelimit-remaining") == "0" and reset.isdecimal():
        return max(float(reset) - time.time(), 1.0)
    return float(2**tried)
