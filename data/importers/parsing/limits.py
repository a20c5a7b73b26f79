"""How much of a file is read: a small archive can unpack to more than the memory of the machine."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass

NO_LIMITS = "RAGTRIAGE_NO_LIMITS"  # set to 1 by `ragtriage import --no-limits`
LIFT = "; --no-limits lifts this"
HEAD_BYTES = 16 << 20  # of the rows that are kept to guess columns from


@dataclass(frozen=True)
class Limits:
    """Size limits beyond which a file is refused.

    Attributes:
        line_bytes: longest line of a line-based format.
        document_bytes: largest file that has to be read as a whole (a JSON document, a gzipped Parquet file).
        parsed_bytes: most memory that a JSON document may take when parsed.
        unpacked_bytes: largest size of a decompressed file.
        lines: most lines of a line-based format.
        samples: most samples of a run.
    """

    line_bytes: int = 16 << 20
    document_bytes: int = 512 << 20
    parsed_bytes: int = 2 << 30
    unpacked_bytes: int = 4 << 30
    lines: int = 10_000_000
    samples: int = 500_000


def usual_limits() -> Limits:
    """Return the limits of this process: none where the environment lifts them."""
    if os.environ.get(NO_LIMITS, "") in ("", "0"):
        return Limits()
    most = sys.maxsize - 1
    return Limits(
        line_bytes=1 << 30,  # a line is read at once
        document_bytes=most,
        parsed_bytes=most,
        unpacked_bytes=most,
        lines=most,
        samples=most,
    )


def parsed_bytes(content: bytes) -> int:
    """Return about how much memory a JSON document takes when parsed, from its brackets and commas."""
    values = content.count(b",")
    objects, lists = content.count(b"{"), content.count(b"[")
    return len(content) + 60 * values + 150 * objects + 64 * lists
