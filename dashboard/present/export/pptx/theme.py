"""Colours and fonts of slides."""

from __future__ import annotations

from collections.abc import Sequence

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
