"""A check that says what it cannot mean: one sentence at import, not measured if met later."""

from __future__ import annotations

MALFORMED = "the check is malformed"  # the reason of a check met in a run stored without this test
_LONGEST = 80


class MalformedCheckError(ValueError):
    """A check whose expected value cannot be read.

    Attributes:
        field: which value of the check, "expected" or "actual".
        what: what is wrong.
        accepted: what would be accepted.
    """

    def __init__(self, what: str, accepted: str, field: str = "expected") -> None:
        super().__init__(f"{what}; accepted: {accepted}")
        self.field, self.what, self.accepted = field, what, accepted


def shown(value: object) -> str:
    """Return a value as an error names it, shortened."""
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
