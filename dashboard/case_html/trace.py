"""The way back from a case to the tool that recorded it: its address there, and the id of its trace."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from markupsafe import Markup

from ragtriage.dashboard.case_html.templating import render
from ragtriage.dashboard.wording.escaping import shorten
from ragtriage.data.exports.feedback import sample_ids

PACKAGE = "ragtriage.dashboard.case_html"
LONGEST = 2000  # characters of an address
SPELLED = {"langfuse": "Langfuse", "langsmith": "LangSmith", "mlflow": "MLflow", "trulens": "TruLens"}
_PLAIN = re.compile(
    r"https?://[!#-;=?-\[\]_a-z~]+", re.IGNORECASE
)  # nothing that ends an attribute or a line


def safe_address(text: str) -> str:
    """Return an address of http or https with a host and without a user, as it is; "" for anything else."""
    if len(text) > LONGEST or not _PLAIN.fullmatch(text):
        return ""
    try:
        parts = urlsplit(text)
        usable = parts.scheme in ("http", "https") and parts.hostname and "@" not in parts.netloc
        return text if usable and (parts.port is None or parts.port) else ""
    except ValueError:  # no port, or no IPv6 address
        return ""


def trace_html(sample: Mapping[str, Any]) -> Markup:
    """Return a link to the case in the tool that recorded it; empty where the file has no safe address."""
    ids = sample_ids(sample)
    address, name = safe_address(ids.get("trace_url", "")), ids.get("tool", "")
    if not address:
        return Markup("")
    tool = SPELLED.get(name.lower(), name[:1].upper() + name[1:])
    return render(
        PACKAGE,
        "trace.html",
        address=address,
        host=urlsplit(address).netloc,
        tool=shorten(tool, 40) or "the tool that recorded it",
    )


def trace_id(sample: Mapping[str, Any]) -> str:
    """Return the id of the case's trace; "" where the file has none."""
    ids = sample_ids(sample)
    return ids.get("trace_id") or ids.get("run_id", "")
