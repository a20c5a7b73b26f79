"""A story: the sections of a report in order, for an audience, and what each shows, from the runs."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, Self

from ragtriage.dashboard.charts.chart import Chart, Heatmap
from ragtriage.dashboard.headlines.headline import State
from ragtriage.dashboard.present.page_html.blocks import Tile
from ragtriage.data.errors import DataError
from ragtriage.metrics.result_table import ResultTable, text_rows

Layout = Literal["verdict", "why", "change", "example", "next"]  # how a slide is laid out


@dataclass(frozen=True)
class BigNumber:
    """A number of cases with what it counts."""

    number: str  # as text
    title: str  # what it counts, in a few words
    detail: str  # what that means
    colour: str  # "#rrggbb"


@dataclass(frozen=True)
class Remark:
    """A short text with a heading beside a chart; the state colours the heading."""

    heading: str
    text: str
    state: State | None = None


@dataclass(frozen=True)
class SideAnswer:
    """One of two answers side by side: whose it is, how it went, its text."""

    name: str
    how: str
    text: str
    state: State
    marked: tuple[str, ...] = ()  # parts of the text that are at fault


@dataclass(frozen=True)
class Passage:
    """A passage that proves the point of an example: whose it is, its text, and what of it counts."""

    heading: str
    text: str
    marked: tuple[str, ...] = ()


@dataclass(frozen=True)
class Step:
    """Something to do: what, why, and how many cases or gates it concerns."""

    title: str
    detail: str
    aside: str


@dataclass(frozen=True)
class SlideContent:
    """The content of a slide besides its title and its chart. Empty fields are not drawn."""

    layout: Layout  # how it is laid out
    # colours the edge and, on the first slide, the title; None for the colour of the product
    state: State | None = None
    foot: str = ""  # run, data, date and n, in small print
    subtitle: str = ""  # one sentence below the title
    tiles: tuple[Tile, ...] = ()  # numbers in a row
    numbers: tuple[BigNumber, ...] = ()  # numbers of cases below each other
    remarks: tuple[Remark, ...] = ()  # texts beside the chart
    doubt: str = ""  # what the checks doubt about the slide
    caveats: tuple[str, ...] = ()  # what limits its numbers, clauses
    question: str = ""  # of the example
    answers: tuple[SideAnswer, ...] = ()  # to that question
    passage: Passage | None = None  # that proves the point
    conclusion: str = ""  # what follows from the example
    steps: tuple[Step, ...] = ()  # what to do, in order
    decision: str = ""  # what the audience is asked to decide
    reservation: str = ""  # what limits that decision


def marked_pieces(text: str, marked: Sequence[str]) -> list[tuple[str, bool]]:
    """Split a text into its marked parts and what stands between them, in order."""
    parts = [re.escape(part) for part in sorted(marked, key=len, reverse=True) if part]
    pieces = re.split(f"({'|'.join(parts)})", text) if parts else [text]
    return [(piece, at % 2 == 1) for at, piece in enumerate(pieces) if piece]


Audience = Literal["engineer", "lead", "stakeholder"]
AUDIENCES: tuple[Audience, ...] = ("engineer", "lead", "stakeholder")
# kinds that stories of earlier versions name; one that another section of the story has become is left out
RENAMED: Mapping[str, str] = {"fix_first": "why", "horizons": "next"}
MOST_SECTIONS, LONGEST_HEADING, LONGEST_NOTE = 60, 200, 5000


@dataclass(frozen=True)
class StorySection:
    """A section as the author chose it."""

    kind: str  # a key of ragtriage.dashboard.present.stories.sections.SECTION_KINDS
    heading: str = ""  # replaces the heading of the kind; "" to keep that
    note: str = ""  # what the author adds, plain text
    # settings of the kind, such as {"metric": "faithfulness"}
    chosen: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Story:
    """A story."""

    title: str  # of the whole
    run: str  # run id
    baseline: str = ""  # run id, "" for none
    audience: Audience = "stakeholder"  # whom it is for; it decides how much is shown
    sections: tuple[StorySection, ...] = ()  # in order
    author: str = ""  # who created it, "" where not recorded

    def to_json(self) -> str:
        """Return the story as the ledger stores it."""
        return json.dumps(asdict(self), ensure_ascii=False)

    def moved(self, at: int, by: int) -> Self:
        """Return the story with one section moved; beyond an end it stays where it is."""
        to = at + by
        if not (0 <= at < len(self.sections) and 0 <= to < len(self.sections)):
            return self
        sections = list(self.sections)
        sections.insert(to, sections.pop(at))
        return replace(self, sections=tuple(sections))


@dataclass(frozen=True)
class RenderedSection:
    """A section as it is shown, the same in the app, HTML, PPTX and PDF."""

    kind: str = ""  # key of the kind of section; "" until `render_section` knows it
    heading: str = ""  # one sentence or title; "" for that of the kind
    sentence: str = ""  # the result in plain words, with number and uncertainty; "" for none
    chart: Chart | Heatmap | None = None  # what is drawn, or None
    table: ResultTable | None = None  # typed cells, which each format draws its way
    cases: Sequence[Mapping[str, Any]] = ()  # chosen cases in full, in the native form; empty for none
    facts: Sequence[str] = ()  # n, intervals, how obtained, caveats; shown small
    note: str = ""  # the author's
    alt: str = ""  # what the chart shows, in words
    # what else stands on its slide, for those that open a deck; None for all others
    slide: SlideContent | None = None
    measured: bool = True  # False where there is nothing to show, which gets no slide and no page

    @property
    def rows(self) -> list[dict[str, str | int]]:
        """The table as text and whole numbers; empty without one."""
        return text_rows(self.table) if self.table else []


def unmeasured(why: str, heading: str = "") -> RenderedSection:
    """Return a section with nothing to show, which gets no slide and no page; the sentence says why."""
    return RenderedSection(heading=heading, sentence=why, measured=False)


def story_from_json(text: str) -> Story:
    """Read what Story.to_json wrote; earlier versions stored the sections as "pieces".

    Raises:
        DataError: it is not a story; the message names what is wrong.
    """
    try:
        fields = json.loads(text)
        sections = fields.get("sections", fields.get("pieces", ()))[:MOST_SECTIONS]
        kinds = {section["kind"] for section in sections}
        kept = [each for each in sections if RENAMED.get(each["kind"]) not in kinds]
        return Story(
            str(fields["title"])[:LONGEST_HEADING],
            str(fields["run"]),
            str(fields["baseline"]),
            fields["audience"] if fields["audience"] in AUDIENCES else AUDIENCES[-1],
            tuple(map(_section, kept)),
            str(fields["author"])[:LONGEST_HEADING],
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise DataError(
            f"story: cannot be read ({type(error).__name__}: {error}); create a new one"
        ) from error


def _section(fields: Mapping[str, Any]) -> StorySection:
    kind = str(fields["kind"])
    return StorySection(
        RENAMED.get(kind, kind),
        str(fields["heading"])[:LONGEST_HEADING],
        str(fields["note"])[:LONGEST_NOTE],
        {str(key): str(value) for key, value in fields["chosen"].items()},
    )
