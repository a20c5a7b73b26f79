"""Which calls are kept: by a hash of the trace id, so that every service keeps the same ones."""

from __future__ import annotations

import hashlib


def keep(trace_id: str, rate: float) -> bool:
    """Return whether a call is kept at a rate from 0 (none) to 1 (all).

    It is where int(sha256(trace id)[:8 hex digits], 16) / 2^32 < rate: what is kept at a low rate is also
    kept at every higher one.
    """
    return int(hashlib.sha256(trace_id.encode("utf-8", "surrogatepass")).hexdigest()[:8], 16) / 2**32 < rate
