"""How a value was obtained (human, judged, computed, imported, estimated), and which source comes first."""

from __future__ import annotations

from enum import IntEnum


class Source(IntEnum):
    """How a value was obtained, in order of precedence: the lowest number wins."""

    HUMAN = 0
    JUDGED = 1
    COMPUTED = 2
    IMPORTED = 3
    ESTIMATED = 4

    @property
    def label(self) -> str:
        """The word shown on screen."""
        return self.name.lower()
