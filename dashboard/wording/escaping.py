"""Escaping of text from outside: on the screen it is always data, never markup."""

import html
import re

from ragtriage.data.text.printable import printable

_JOINER = "\u2060"
_ADDRESS = re.compile(r"(?<=:)(?=//)|(?<=www)(?=\.)|(?<=[-.\w+])(?=@)", re.IGNORECASE)
_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")


def markdown_text(text: str) -> str:
    """Escape text for st.markdown, titles and labels: no link, image, directive, formula or HTML survives.

    Markdown links bare addresses even after escaping, so an invisible word joiner breaks them up.
    """
    plain = _ADDRESS.sub(_JOINER, " ".join(printable(text).split()))
    return _PUNCTUATION.sub(r"\\\1", plain)


def chart_text(text: str) -> str:
    """Escape text for a Plotly label, which interprets some HTML."""
    return html.escape(printable(text), quote=False)


def capital(title: str) -> str:
    """Capitalise the first letter of a title, except in names such as nDCG."""
    return title if title[1:2].isupper() else title[:1].upper() + title[1:]


def in_sentence(title: str) -> str:
    """Return a title as it stands inside a sentence, except names such as nDCG and MRR."""
    return title if title[1:2].isupper() else title[:1].lower() + title[1:]


def shorten(text: str, length: int) -> str:
    """Put a text on one line and cut it to a length, with an ellipsis."""
    line = " ".join(printable(text).split())
    return line if len(line) <= length else f"{line[: length - 1].rstrip()}…"


_MARKDOWN = (
    (re.compile(r"``(.+?)''", re.DOTALL), r"“\1”"),  # quotation marks as TeX writes them
    (re.compile(r"!?\[([^\]\n]*)\]\([^)\s]*\)"), r"\1"),
    (re.compile(r"^[ \t]*(?:`{3,}.*|(?:[-*_=|:][ \t]*){3,})$", re.MULTILINE), ""),
    (re.compile(r"^[ \t]*(?:>[ \t]*)+", re.MULTILINE), ""),
    (re.compile(r"^[ \t]*#{1,6}[ \t]+(.*?)[ \t#]*$", re.MULTILINE), r"\1:"),
    (re.compile(r"[ \t]+#{2,6}[ \t]+"), " · "),
    (re.compile(r"^[ \t]*[-*+][ \t]+", re.MULTILINE), "• "),
    (re.compile(r"\*\*|__|`+"), ""),
    (re.compile(r"(?<![\w*])\*(\S[^*\n]*)\*(?![\w*])|(?<![\w_])_(\S[^_]*)_(?![\w_])"), r"\1\2"),
    (re.compile(r"[ \t]*\|[ \t]*"), " "),
    (re.compile(r"[ \t]*\n[ \t]*"), "\n"),
    (re.compile(r"\n{2,}"), "\n"),
)


def without_markdown(text: str) -> str:
    """Return a text without the marks of Markdown, for readers to whom they say nothing; lines are kept."""
    for pattern, instead in _MARKDOWN:
        text = pattern.sub(instead, text)
    return text.strip()
