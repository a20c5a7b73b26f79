"""Published curves of another data set, to hold the shape of one's own against: cited, never recomputed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files


@dataclass(frozen=True)
class PublishedCurve:
    """Quality of one model by the rank of the gold document.

    Attributes:
        name: of the model.
        quality: at each rank.
        closed_book: without documents.
        gold_only: with the gold document alone.
    """

    name: str
    quality: tuple[float, ...]
    closed_book: float
    gold_only: float


@dataclass(frozen=True)
class PublishedCurves:
    """Curves of one publication.

    Attributes:
        source: where they were published.
        questions: what was asked.
        documents: in a context.
        ranks: of the gold document.
        curves: one for each model.
    """

    source: str
    questions: str
    documents: int
    ranks: tuple[int, ...]
    curves: tuple[PublishedCurve, ...]


@cache
def published_positions() -> PublishedCurves:
    """Return the published curves of quality by the rank of the gold document."""
    text = files("ragtriage.data.experiments").joinpath("lost_in_the_middle.json").read_text(encoding="utf-8")
    facts = json.loads(text)
    curves = tuple(
        PublishedCurve(model["name"], tuple(model["quality"]), model["closed_book"], model["gold_only"])
        for model in facts["models"]
    )
    return PublishedCurves(
        facts["source"], facts["questions"], facts["documents"], tuple(facts["ranks"]), curves
    )
