"""Feedback on its way: into the live traffic of a project on this machine, or to a collector."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit

from ragtriage.data.errors import DataError
from ragtriage.data.live import COLLECT_TOKEN
from ragtriage.data.live.calls import Calls, listed, live_projects
from ragtriage.data.live.feedback.joining import Stored, store_feedback
from ragtriage.data.live.feedback.records import Answer
from ragtriage.data.live.posting import post
from ragtriage.data.live.redacting import redactor_of
from ragtriage.data.store.workspace import Workspace

ADDRESS = "/v1/feedback"
SECONDS = 10.0
USUAL_PROJECT = "default"


def live_project(workspace: Workspace, project: str | None) -> str:
    """Return the project that is meant: the one named, else the only one with live traffic.

    Raises:
        DataError: there are several, and none is named.
    """
    if project is not None:
        return project
    known = live_projects(workspace)
    if len(known) > 1:
        raise DataError(f"{len(known)} projects have live traffic; accepted: one of {listed(known)}")
    return known[0] if known else USUAL_PROJECT


def keep_feedback(workspace: Workspace, project: str, answers: Sequence[Answer]) -> Stored:
    """Store answers, redacted, in the live traffic of a project, which is created where needed."""
    calls = Calls.of(workspace, project, create=True)
    redactor = redactor_of(calls.path.parent)
    return store_feedback(calls, [answer.redacted(redactor.text, redactor.user) for answer in answers])


def send_feedback(endpoint: str, body: Mapping[str, Any]) -> None:
    """Send an answer to a collector; the token comes from RAGTRIAGE_COLLECT_TOKEN.

    Raises:
        DataError: there is no collector, or it refuses the answer.
    """
    parts = urlsplit(endpoint)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise DataError(f"endpoint {endpoint[:80]!r}; accepted: an address such as http://127.0.0.1:4318")
    address = endpoint if parts.path.rstrip("/").endswith(ADDRESS) else f"{endpoint.rstrip('/')}{ADDRESS}"
    token = os.environ.get(COLLECT_TOKEN)
    headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {token}"} if token else {})}
    try:
        post(address, json.dumps(body).encode(), headers, SECONDS)
        return
    except HTTPError as error:
        said = " ".join(error.read(500).decode("utf-8", "replace").split())
        reason = f"answers {error.code}" + (f": {said}" if said else "")
    except (OSError, HTTPException, ValueError) as error:
        reason = f"does not answer ({getattr(error, 'reason', None) or error})"
    raise DataError(f"{address}: {reason}; accepted: the address of a running `ragtriage collect`")
