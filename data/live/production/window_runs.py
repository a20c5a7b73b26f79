"""The earlier and the later part of a time as runs, and kept calls by their traces."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ragtriage.data.live.calls import Calls, name_list, unpacked
from ragtriage.data.live.production.times import MINUTE, Times
from ragtriage.data.live.windows import publish
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.workspace import Run

_ENDS = "SELECT min(time), max(time) FROM calls WHERE time >= ? AND time < ?"
_SAMPLES = (
    "SELECT sample FROM calls WHERE kept AND sample IS NOT NULL"
    " AND trace_id IN (SELECT value FROM json_each(?)) ORDER BY time, trace_id"
)


def part_ends(calls: Calls, times: Times, later: bool) -> tuple[float, float] | None:
    """Return begin and end of a part, in whole minutes around its calls; None where it has none."""
    first, last = (times.later, times.last) if later else (times.begin, times.later)
    with calls.open() as connection:
        begin, end = connection.execute(_ENDS, (first, last)).fetchone()
    if begin is None:
        return None
    whole = (math.floor(begin / MINUTE) * MINUTE, (math.floor(end / MINUTE) + 1) * MINUTE)
    return max(float(whole[0]), first), min(float(whole[1]), last)


def publish_part(store: RunStore, calls: Calls, project: str, ends: tuple[float, float] | None) -> Run | None:
    """Return a time as a run, published now where it is not; None where no call of it is kept."""
    return None if ends is None else publish(store, calls, project, *ends)


def kept_samples(calls: Calls, trace_ids: Sequence[str]) -> list[dict[str, Any]]:
    """Return the samples of kept calls in the native form, in order of time."""
    with calls.open() as connection:
        rows = connection.execute(_SAMPLES, (name_list(trace_ids),)).fetchall()
    return [unpacked(content) for (content,) in rows]
