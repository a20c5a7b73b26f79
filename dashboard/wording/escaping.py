"""Text from outside on its way to the screen: always data, never markup."""

from __future__ import annotations

import html
import re

__all__ = ["capital", "chart_text", "markdown_text", "shorten"]

_JOINER = "\u2060"
_ADDRESS = re.compile(r"(?<=:)(?=//)|(?<=www)(?=\.)|(?<=[-.\w+])(?=@)", re.IGNORECASE)
_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")


def markdown_text(text: str) -> str:
    """Escape text for st.markdown, titles and labels: no link, image, directive, formula or HTML survives.

    Bare addresses are made links after escapes are read, so an invisible word joiner keeps them apart.
    """
    plain = _ADDRESS.sub(_JOINER, " ".join(text.split()))
    return _PUNCTUATION.sub(r"\\\1", plain)


def chart_text(text: str) -> str:
    """Escape text for a Plotly label, which reads a part of HTML."""
    return html.escape(text, quote=False)


def capital(title: str) -> str:
    """Begin a title with a capital; one that is written as nDCG stays so."""
    return title if title[1:2].isupper() else title[:1].upper() + title[1:]


def shorten(text: str, length: int) -> str:
    """Cut a text on one line to a length, with an ellipsis."""
    line = " ".join(text.split())
    return line if len(line) <= length else f"{line[: length - 1].rstrip()}…"
