"""Regular expressions from files: matched by RE2, whose time is linear in the text, so that none can hang."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

LONGEST_PATTERN = 2_000  # characters
LONGEST_TEXT = 200_000
_MEMORY = 8 << 20  # bytes that a compiled pattern may take


class PatternError(ValueError):
    """A pattern that cannot be used; the message says why in a few words."""


def found_in(pattern: str, text: str) -> bool:
    """Return whether a regular expression matches somewhere in a text, `^` and `$` being its ends.

    Args:
        pattern: in the syntax of RE2, which has neither look-around nor back-references.
        text: its first 200,000 characters are searched.

    Raises:
        PatternError: the pattern is malformed, too long, or needs what RE2 lacks.
    """
    return bool(_compiled(pattern).search(_plain(text[:LONGEST_TEXT])))


@lru_cache(maxsize=1_000)
def _compiled(pattern: str) -> Any:
    if len(pattern) > LONGEST_PATTERN:
        raise PatternError(f"{len(pattern):,} characters, more than {LONGEST_PATTERN:,}")
    try:
        import re2  # compiled code: not at import
    except ImportError:
        raise PatternError("google-re2 is not installed") from None
    options = re2.Options()
    options.max_mem = _MEMORY
    options.log_errors = False
    try:
        return re2.compile(_plain(pattern), options)
    except re2.error as error:
        said = error.args[0] if error.args else error
        raise PatternError(
            said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
        ) from None


def _plain(text: str) -> str:
    return text.encode("utf-8", "replace").decode()  # RE2 reads valid Unicode only
