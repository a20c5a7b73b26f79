"""Colours of a figure as slides take them: six hex digits."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from dashboard.charts.figure_data import values

__all__ = [
    "EAST_ASIAN",
    "LATIN",
    "SERIES_COLOURS",
    "colour_of",
    "hex_colour",
    "point_colours",
    "readable_on",
    "scale_colour",
]

SERIES_COLOURS = ("0072B2", "E69F00", "009E73", "CC79A7", "56B4E9", "D55E00", "8C8C8C", "7A5195")
_FUNCTION = re.compile(r"rgba?\(([^)]*)\)")


def hex_colour(given: object, other: str = "8A949E") -> str:
    """Give a colour of CSS as six hex digits; `other` where it is none."""
    from PIL import ImageColor

    if not isinstance(given, str):
        return other
    found = _FUNCTION.match(given.replace(" ", ""))
    try:
        if found:
            parts = [float(one) for one in found.group(1).split(",")[:3]]
            red, green, blue = (max(0, min(255, round(one))) for one in parts)
        else:
            red, green, blue = ImageColor.getrgb(given)[:3]
    except ValueError:
        return other
    return f"{red:02X}{green:02X}{blue:02X}"


def colour_of(trace: Any, at: int) -> str:
    """Give the colour of a trace: its mark's, else its line's, else the one of its place."""
    usual = SERIES_COLOURS[at % len(SERIES_COLOURS)]
    line = getattr(getattr(trace, "line", None), "color", None)
    mark = trace.marker.color if trace.marker is not None else None
    lines_alone = getattr(trace, "mode", None) == "lines"
    first, second = (line, mark) if lines_alone else (mark, line)
    if isinstance(first, str):
        return hex_colour(first, usual)
    if isinstance(second, str):
        return hex_colour(second, usual)
    several = values(first)
    return hex_colour(several[0], usual) if several and isinstance(several[0], str) else usual


def point_colours(trace: Any, n: int) -> list[str | None]:
    """Give the colour of each point where they differ, None for that of the trace."""
    given = values(trace.marker.color) if trace.marker is not None else []
    found = [hex_colour(one) if isinstance(one, str) else None for one in given[:n]]
    return [*found, *([None] * (n - len(found)))]


def scale_colour(scale: Sequence[Sequence[Any]], share: float) -> str:
    """Give the colour at a share of a colour scale, between its stops."""
    stops = [(float(one[0]), hex_colour(one[1])) for one in scale]
    low = max((one for one in stops if one[0] <= share), default=stops[0])
    high = min((one for one in stops if one[0] >= share), default=stops[-1])
    part = 0.0 if high[0] == low[0] else (share - low[0]) / (high[0] - low[0])
    mixed = (
        round(int(low[1][at : at + 2], 16) * (1 - part) + int(high[1][at : at + 2], 16) * part)
        for at in (0, 2, 4)
    )
    return "".join(f"{one:02X}" for one in mixed)


def readable_on(ground: str) -> str:
    """Give black or white, whichever can be read on a ground."""
    red, green, blue = (int(ground[at : at + 2], 16) / 255 for at in (0, 2, 4))
    return "1B2733" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.55 else "FFFFFF"


LATIN, EAST_ASIAN = "Arial", "Microsoft YaHei"  # Arial holds Cyrillic and Greek; both have usual stand-ins
