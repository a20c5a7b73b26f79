"""Text that any screen and file takes: controls and what reverses a line are replaced."""

import re

# Controls (but not tab and newline), halves of surrogate pairs, what reverses the line, and two that XML bans
UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069\ufffe\uffff]")


def printable(text: str) -> str:
    """Put a mark in place of characters that cannot be shown, are banned in XML, or reverse a line."""
    return UNPRINTABLE.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n"))
