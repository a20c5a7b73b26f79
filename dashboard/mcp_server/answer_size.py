"""The size of an answer: a bound in bytes, what is cut to keep it, and the JSON text itself."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from ragtriage.data.errors import DataError

MOST_BYTES = 40_000  # of an answer as JSON in UTF-8
DIGITS = 4  # significant ones of a fraction


def json_text(values: Any) -> str:
    """Return values as compact JSON: fractions to four significant digits, null for what is not finite."""
    return json.dumps(_plain(values), ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")  # halves of surrogate pairs are no UTF-8
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


def _size(values: Any) -> int:
    return len(json_text(values).encode("utf-8"))


def fitting(items: Sequence[Any], taken: int) -> int:
    """Return how many leading items still fit into an answer.

    Args:
        items: entries of a list.
        taken: bytes of the rest of the answer.
    """
    room = MOST_BYTES - taken
    for at, item in enumerate(items):
        room -= _size(item) + 1
        if room < 0:
            return at
    return len(items)


def shortened(answer: dict[str, Any], *lists: str) -> dict[str, Any]:
    """Return an answer that keeps the bound: lists and tables lose their last entries, and `cut` says so.

    Args:
        answer: JSON values.
        lists: keys of the answer that may be cut, the least important first.

    Raises:
        DataError: it does not fit even so.
    """
    cut: dict[str, str] = dict(answer.get("cut", {}))
    for key in lists:
        size = _size({**answer, "cut": cut})
        if size <= MOST_BYTES:
            break
        entries = answer[key]
        pairs = list(entries.items()) if isinstance(entries, Mapping) else list(entries)
        kept = fitting(pairs, size - _size(entries) + 200)  # 200 for what is said of the cut
        answer = {**answer, key: dict(pairs[:kept]) if isinstance(entries, Mapping) else pairs[:kept]}
        cut[key] = f"{kept:,} of {len(pairs):,} shown"
    answer = {**answer, "cut": cut} if cut else answer
    if _size(answer) > MOST_BYTES:
        raise DataError(
            f"the answer is longer than {MOST_BYTES:,} bytes; accepted: a narrower question, such as fewer "
            "metrics or a smaller limit"
        )
    return answer
