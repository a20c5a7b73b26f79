"""Colours that people with any kind of colour vision tell apart (Okabe and Ito), for light and dark."""

from __future__ import annotations

from typing import Literal

from metrics.stages import Owner

__all__ = ["GREY", "OWNER_COLOURS", "VERDICT_BADGES", "VERDICT_MARKS", "Badge"]

Badge = Literal["red", "orange", "green", "blue", "gray"]
BLUE, ORANGE, GREEN, VERMILION, PURPLE, GREY = (
    "#2b8cc4",
    "#E69F00",
    "#009E73",
    "#D55E00",
    "#CC79A7",
    "#8a949e",
)

OWNER_COLOURS: dict[Owner, str] = {
    "retrieval": BLUE,
    "reranking": "#56B4E9",
    "generation": VERMILION,
    "refusal": PURPLE,
    "format": ORANGE,
    "unexplained": GREY,
}
VERDICT_MARKS = {
    "better": "▲ better",
    "worse": "▼ worse",
    "cannot tell": "· cannot tell",
    "unchanged": "= unchanged",
}
VERDICT_BADGES: dict[str, Badge] = {
    "PASS": "green",
    "FAIL": "red",
    "INCONCLUSIVE": "orange",
    "UNMEASURED": "gray",
    "better": "green",
    "worse": "red",
    "cannot tell": "gray",
    "unchanged": "gray",
}
