"""What texts and colours on a slide have in common: fonts, colours, and how much room a text takes."""

import unicodedata
from collections.abc import Sequence
from functools import lru_cache

SERIES_COLOURS = ("0072B2", "E69F00", "009E73", "CC79A7", "56B4E9", "D55E00", "8C8C8C", "7A5195")
LATIN, EAST_ASIAN = "Arial", "Microsoft YaHei"  # Arial holds Cyrillic and Greek; both have usual stand-ins


def hex_digits(colour: str) -> str:
    """Return a colour "#rrggbb" as slides take it: six hex digits."""
    return colour.removeprefix("#").upper()


def scale_colour(scale: Sequence[tuple[float, str]], share: float) -> str:
    """Return the colour at a share of a colour scale, between its stops."""
    low = max((stop for stop in scale if stop[0] <= share), default=scale[0])
    high = min((stop for stop in scale if stop[0] >= share), default=scale[-1])
    part = 0.0 if high[0] == low[0] else (share - low[0]) / (high[0] - low[0])
    return "".join(
        f"{round(int(low[1][at : at + 2], 16) * (1 - part) + int(high[1][at : at + 2], 16) * part):02X}"
        for at in (1, 3, 5)
    )


def readable_on(background: str) -> str:
    """Return black or white, whichever can be read on a background of six hex digits."""
    red, green, blue = (int(background[at : at + 2], 16) / 255 for at in (0, 2, 4))
    return "1B2733" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.55 else "FFFFFF"


LINE_HEIGHT = 1.22  # of the size
POINTS = 72.0  # an inch
SAFETY = 1.06
_NARROW, _WIDE = frozenset("iIjlt.,:;'|!()[]{} f"), frozenset("mwMW%@—…→")


@lru_cache(maxsize=8192)
def _em(character: str) -> float:
    if unicodedata.combining(character):
        return 0.0
    if unicodedata.east_asian_width(character) in "WF":
        return 1.0
    if character in _NARROW:
        return 0.34
    if character in _WIDE:
        return 0.95
    if not character.isascii() and not character.isalpha():
        return 1.0
    return 0.72 if character.isupper() else 0.58


def line_width(text: str, size: float) -> float:
    """Return the width of a text on one line in inches."""
    return SAFETY * sum(map(_em, text)) * size / POINTS


def lines_needed(text: str, size: float, width: float) -> int:
    """Return the number of lines of a text at a size in points and a width in inches."""
    return sum(_wrapped(line, size, width) for line in text.split("\n"))


def _wrapped(line: str, size: float, width: float) -> int:
    """Return the number of lines that one paragraph takes when its words are wrapped."""
    lines, used = 1, 0.0
    for word in line.split(" "):
        length = line_width(word, size)
        # scripts with wide characters break between any two of them
        breakable = sum(_em(character) == 1.0 for character in word) * 2 > len(word)
        if used and used + length > width and not breakable:
            lines, used = lines + 1, 0.0
        used += length
        if used > width:
            more = int(used / (width * 0.97))
            lines, used = lines + more, used - more * width * 0.97
        used += line_width(" ", size)
    return lines


def height_of(text: str, size: float, width: float) -> float:
    """Return the height of a text in inches."""
    return lines_needed(text, size, width) * size * LINE_HEIGHT / POINTS


def fitted(text: str, width: float, height: float, sizes: Sequence[float]) -> tuple[str, float]:
    """Return a text with the largest of the sizes at which it fits, else cut at the smallest."""
    for size in sizes:
        if height_of(text, size, width) <= height:
            return text, size
    return cut_to(text, width, height, sizes[-1]), sizes[-1]


def cut_to(text: str, width: float, height: float, size: float) -> str:
    """Return a text cut to what fits, with an ellipsis."""
    if height_of(text, size, width) <= height:
        return text
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if height_of(f"{text[:middle].rstrip()}…", size, width) <= height:
            low = middle
        else:
            high = middle - 1
    return f"{text[:low].rstrip()}…"
