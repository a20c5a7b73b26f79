"""A story for people: what is told, in which order, to whom. What it shows is made anew from the runs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from dashboard.charts.chart import Chart, Heatmap
from data.errors import DataError

__all__ = ["AUDIENCES", "Audience", "RenderedSection", "Story", "StorySection", "story_from_json"]

Audience = Literal["engineer", "lead", "stakeholder"]
AUDIENCES: tuple[Audience, ...] = ("engineer", "lead", "stakeholder")
MOST_SECTIONS, LONGEST_HEADING, LONGEST_NOTE = 60, 200, 5000


@dataclass(frozen=True)
class StorySection:
    """One point of a story.

    Attributes:
        kind: key of the maker in dashboard.stories.sections, or "text".
        heading: in place of the maker's own; "" for that.
        note: what the author adds, plain text.
        chosen: what the maker needs to know, e.g. {"metric": "faithfulness"}.
    """

    kind: str
    heading: str = ""
    note: str = ""
    chosen: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Story:
    """A story.

    Attributes:
        title: of the whole.
        run: run id.
        baseline: run id, "" for none.
        audience: whom it is for; it decides how much is shown.
        pieces: in order.
        author: who made it, "" where not said.
    """

    title: str
    run: str
    baseline: str = ""
    audience: Audience = "stakeholder"
    sections: tuple[StorySection, ...] = ()
    author: str = ""

    def to_json(self) -> str:
        """Write the story as the ledger holds it."""
        return json.dumps(asdict(self), ensure_ascii=False)

    def moved(self, at: int, by: int) -> Story:
        """Give the story with one piece moved; beyond an end it stays where it is."""
        to = at + by
        if not (0 <= at < len(self.sections) and 0 <= to < len(self.sections)):
            return self
        pieces = list(self.sections)
        pieces.insert(to, pieces.pop(at))
        return replace(self, sections=tuple(pieces))


@dataclass(frozen=True)
class RenderedSection:
    """A point of a story as it is shown, the same in the app, HTML, PPTX and PDF.

    Attributes:
        kind: of the piece.
        heading: one sentence or title.
        sentence: what the numbers say in plain words, with number and uncertainty; "" where nothing is said.
        chart: what is drawn, or None.
        rows: table as rows of text and numbers; empty for none.
        cases: chosen cases in full, in the native form; empty for none.
        facts: n, intervals, how obtained, caveats; shown small.
        note: the author's.
        alt: what the chart shows, in words.
    """

    kind: str
    heading: str
    sentence: str = ""
    chart: Chart | Heatmap | None = None
    rows: Sequence[Mapping[str, Any]] = ()
    cases: Sequence[Mapping[str, Any]] = ()
    facts: Sequence[str] = ()
    note: str = ""
    alt: str = ""


def story_from_json(text: str) -> Story:
    """Read what Story.to_json wrote.

    Raises:
        DataError: it is no story; the message names what is wrong.
    """
    try:
        given = json.loads(text)
        pieces = tuple(_piece(one) for one in given.get("sections", given.get("pieces", ()))[:MOST_SECTIONS])
        audience = next((one for one in AUDIENCES if one == given["audience"]), AUDIENCES[-1])
        return Story(
            str(given["title"])[:LONGEST_HEADING],
            str(given["run"]),
            str(given["baseline"]),
            audience,
            pieces,
            str(given["author"])[:LONGEST_HEADING],
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(f"story: cannot be read ({type(error).__name__}: {error}); make a new one") from error


def _piece(given: Mapping[str, Any]) -> StorySection:
    return StorySection(
        str(given["kind"]),
        str(given["heading"])[:LONGEST_HEADING],
        str(given["note"])[:LONGEST_NOTE],
        {str(key): str(value) for key, value in given["chosen"].items()},
    )
