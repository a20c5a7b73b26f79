"""A limit on how deep a JSON document is nested, held before anything builds what it says."""

from __future__ import annotations

import re

import numpy as np

DEEPEST = 500  # levels; the json module ends at about a thousand
_ESCAPED = re.compile(rb"\\.", re.DOTALL)
_OTHER = bytes(set(range(256)) - set(b'[]{}"'))
_OPENING = tuple(b"[{")


class JsonDepth:
    """The depth of a JSON text that is read a piece at a time."""

    def __init__(self) -> None:
        self._depth = 0
        self._in_string = False
        self._escape = b""  # a backslash that ended the last piece

    def read(self, piece: bytes) -> None:
        """Follow a piece of the text.

        Raises:
            RecursionError: it is nested more than DEEPEST levels deep.
        """
        text = self._escape + piece
        self._escape = b""
        if b"\\" in text:  # JSON has it within strings alone: it goes with what it escapes
            text = _ESCAPED.sub(b"", text)
            if text.endswith(b"\\"):
                text, self._escape = text[:-1], b"\\"
        parts = text.translate(None, _OTHER).split(b'"')
        outside = b"".join(parts[self._in_string :: 2])
        self._in_string ^= len(parts) % 2 == 0
        opens = np.isin(np.frombuffer(outside, dtype=np.uint8), _OPENING)
        depths = self._depth + np.cumsum(np.where(opens, 1, -1))
        if depths.max(initial=0) > DEEPEST:
            raise RecursionError(f"nested more than {DEEPEST} levels deep")
        self._depth = int(depths[-1]) if len(depths) else self._depth
