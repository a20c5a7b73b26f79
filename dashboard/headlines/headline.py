"""A headline: what a page concludes, in one statement, with what it rests on."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal, Self

State = Literal["good", "bad", "cannot tell", "not measured", "doubted", "empty"]
GLYPHS: Mapping[State, str] = MappingProxyType(
    {"good": "✓", "bad": "✕", "cannot tell": "?", "not measured": "–", "doubted": "!", "empty": "○"}
)
WORDS: Mapping[State, str] = MappingProxyType(
    {
        "good": "holds",
        "bad": "fails",
        "cannot tell": "cannot tell",
        "not measured": "not measured",
        "doubted": "doubted",
        "empty": "nothing here yet",
    }
)

Look = Literal["good", "bad", "unclear", "unmeasured"]
LOOKS: Mapping[State, Look] = MappingProxyType(
    {
        "good": "good",
        "bad": "bad",
        "cannot tell": "unclear",
        "doubted": "unclear",
        "not measured": "unmeasured",
        "empty": "unmeasured",
    }
)


@dataclass(frozen=True)
class Headline:
    """The conclusion of a page. All texts are plain: whoever draws them escapes them."""

    state: State  # of the conclusion; shown by colour, glyph and word
    statement: str  # the conclusion, at most about 70 characters, run name first, without full stop
    detail: str = ""  # the numbers and n behind it, one sentence or two
    doubt: str = ""  # what the checks doubt about it; "" for nothing

    def after(self, alarm: str) -> Self:
        """Return the headline with an alarm before its detail, and its state bad; itself without an alarm."""
        if not alarm:
            return self
        return replace(self, state="bad", detail=f"{alarm}. {self.detail}")

    @property
    def text(self) -> str:
        """The headline as one paragraph of plain text."""
        parts = [self.statement, self.detail, f"Doubted: {self.doubt}" if self.doubt else ""]
        return " ".join(f"{part.rstrip('.')}." for part in parts if part)
