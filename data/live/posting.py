"""Posting to another process or service: nothing that is posted goes anywhere else."""

from collections.abc import Mapping
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener


class _SameHost(HTTPRedirectHandler):
    """Follows no redirect: what is posted stays with whom it was meant for."""

    def redirect_request(self, *_: Any) -> None:
        return None


def is_here(host: str) -> bool:
    """Return whether a host is this machine."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def post(address: str, body: bytes, headers: Mapping[str, str], seconds: float) -> None:
    """Post a body to an address of http or https: to this machine by no proxy, to others by no redirect.

    Raises:
        HTTPError: the answer is none of success.
        URLError, OSError, HTTPException, ValueError: there is none in time.
    """
    here = is_here(urlsplit(address).hostname or "")
    opener = build_opener(_SameHost, *([ProxyHandler({})] if here else []))
    with opener.open(Request(address, body, dict(headers)), timeout=seconds):  # noqa: S310 -- checked before
        return
