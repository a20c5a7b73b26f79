"""A deck of 16:9 slides with title, text boxes, small print and speaker notes."""

import io
import re
from collections.abc import Sequence
from typing import Any

from pptx import Presentation
from pptx.dml.color import RGBColor
from pptx.enum.shapes import MSO_SHAPE
from pptx.enum.text import MSO_ANCHOR, MSO_AUTO_SIZE
from pptx.opc.constants import RELATIONSHIP_TYPE
from pptx.oxml import parse_xml
from pptx.oxml.ns import nsdecls, qn
from pptx.slide import Slide
from pptx.util import Inches, Pt

from ragtriage.dashboard.present.export.pptx.style import EAST_ASIAN, LATIN, SERIES_COLOURS, fitted
from ragtriage.dashboard.present.export.slide_layout import EDGE, MARGIN, SLIDE_HEIGHT, SLIDE_WIDTH, WIDTH
from ragtriage.data.text.printable import printable

BODY = (1.5, 6.35)  # top and bottom of the part between title and small print
FACTS_TOP, FOOT_TOP = 6.45, 7.08
INK, FAINT, ACCENT = "17212B", "56626E", "0B5FA5"
TITLE_SIZES, FACT_SIZES = (28, 26, 24, 22, 20), (11, 10)
LONGEST_NOTES = 20_000  # characters
_SCHEME = re.compile(r"<a:(accent[1-6])>.*?</a:\1>", re.DOTALL)
_FONTS = re.compile(
    r'(<a:(?:major|minor)Font>\s*<a:latin typeface=")[^"]*("[^>]*>\s*<a:ea typeface=")[^"]*(")'
)


class Deck:
    """A deck to which slides are added."""

    def __init__(self, title: str) -> None:
        self.deck = Presentation()
        self.title = printable(title)
        # the default deck at 16:9, its layouts with it, so that slides added later fit too
        share = Inches(SLIDE_WIDTH) / self.deck.slide_width
        self.deck.slide_width, self.deck.slide_height = Inches(SLIDE_WIDTH), Inches(SLIDE_HEIGHT)
        for holder in (self.deck.slide_master, *self.deck.slide_layouts):
            for shape in holder.placeholders:
                # the others take the place of their master
                if shape._element.spPr.find(qn("a:xfrm")) is not None:
                    shape.left, shape.width = round(shape.left * share), round(shape.width * share)
        _theme(self.deck)
        self.deck.core_properties.title = self.title[:255]
        self.deck.core_properties.author = "ragtriage"

    def slide(
        self, heading: str, notes: Sequence[str] = (), edge: str = ACCENT, foot: str | None = None
    ) -> Slide:
        """Add a slide with a heading, a coloured edge, its number and small print, and speaker notes.

        The small print is the title of the deck where there is none of its own.
        """
        slide: Slide = self.deck.slides.add_slide(self.deck.slide_layouts[5])  # a title and nothing else
        written = self.place_title(slide, heading, (MARGIN, 0.4, WIDTH, 1.0), TITLE_SIZES)
        texts = [heading, *notes] if written != heading else list(notes)  # a cut heading is in the notes
        shape = slide.shapes.add_shape(MSO_SHAPE.RECTANGLE, *map(Inches, (0, 0, EDGE, SLIDE_HEIGHT)))
        paint(shape, edge)
        self._foot(slide, self.title if foot is None else foot)
        joined = "\n\n".join(printable(text).strip() for text in texts if text.strip())
        notes_frame = slide.notes_slide.notes_text_frame
        if notes_frame is not None:
            cut = "…" if len(joined) > LONGEST_NOTES else ""
            notes_frame.text = joined[:LONGEST_NOTES] + cut
        return slide

    def place_title(
        self, slide: Slide, heading: str, box: tuple[float, float, float, float], sizes: Sequence[float]
    ) -> str:
        """Write the title of a slide into a box in inches at the largest size that fits; return it."""
        written, size = fitted(printable(heading).replace("\n", " "), 0.94 * box[2], box[3], sizes)
        title = slide.shapes.title
        assert title is not None  # noqa: S101 -- the layout has one
        title.left, title.top, title.width, title.height = map(Inches, box)
        _write(title.text_frame, written, size, INK, bold=True, anchor=MSO_ANCHOR.MIDDLE)
        return written

    def text(
        self,
        slide: Slide,
        text: str,
        box: tuple[float, float, float, float],
        sizes: Sequence[float],
        colour: str = INK,
        bold: bool = False,
        font: str = "",
    ) -> bool:
        """Write a text into a box in inches at the largest size that fits; return whether it fits whole.

        At the last of the sizes, in points from the largest, it is cut. Colours are six hex digits; where no
        font is named, it is that of the deck.
        """
        plain = printable(text).replace("\t", "    ")
        written, size = fitted(plain, box[2], box[3], sizes)
        shape = slide.shapes.add_textbox(*map(Inches, box))
        _write(shape.text_frame, written, size, colour, bold, font=font)
        return written == plain

    def facts(self, slide: Slide, facts: Sequence[str]) -> None:
        """Write facts in small print at the bottom."""
        line = " · ".join(" ".join(fact.split()) for fact in facts if fact.strip())
        if line:
            self.text(slide, line, (MARGIN, FACTS_TOP, WIDTH, FOOT_TOP - FACTS_TOP - 0.05), FACT_SIZES, FAINT)

    def _foot(self, slide: Slide, foot: str) -> None:
        # the mark of the product: a square with three shrinking bars, as one group
        group = slide.shapes.add_group_shape()
        ground = group.shapes.add_shape(
            MSO_SHAPE.ROUNDED_RECTANGLE, *map(Inches, (MARGIN, FOOT_TOP, 0.26, 0.26))
        )
        paint(ground, ACCENT)
        for at, width in enumerate((0.16, 0.11, 0.06)):
            mark = (MARGIN + 0.05, FOOT_TOP + 0.055 + 0.06 * at, width, 0.03)
            paint(group.shapes.add_shape(MSO_SHAPE.RECTANGLE, *map(Inches, mark)), "FFFFFF")
        box = (MARGIN + 0.35, FOOT_TOP + 0.02, WIDTH - 1.35, 0.25)
        self.text(slide, printable(foot).replace("\n", " "), box, (11, 10, 9), FAINT)
        shape = slide.shapes.add_textbox(*map(Inches, (MARGIN + WIDTH - 0.9, FOOT_TOP + 0.02, 0.9, 0.25)))
        _write(shape.text_frame, "", 11, FAINT)
        field = (
            f'<a:fld {nsdecls("a")} id="{{B6F15528-21DE-4FAA-801E-634DDDAF4B2B}}" type="slidenum">'
            f'<a:rPr lang="en-US" sz="1100"><a:solidFill><a:srgbClr val="{FAINT}"/></a:solidFill></a:rPr>'
            f"<a:t>{len(self.deck.slides)}</a:t></a:fld>"
        )
        paragraph = shape.text_frame.paragraphs[0]._p
        paragraph.get_or_add_pPr().set("algn", "r")
        paragraph.insert(1, parse_xml(field))

    def to_bytes(self) -> bytes:
        """Return the PPTX file."""
        sink = io.BytesIO()
        self.deck.save(sink)
        return sink.getvalue()


def paint(shape: Any, colour: str) -> None:
    """Fill a shape with a colour of six hex digits, without outline and shadow."""
    shape.fill.solid()
    shape.fill.fore_color.rgb = RGBColor.from_string(colour)
    shape.line.fill.background()
    shape._element.remove(shape._element.find(qn("p:style")))  # which would add a shadow


def lay_out(frame: Any, anchor: MSO_ANCHOR = MSO_ANCHOR.TOP) -> None:
    """Let a text frame wrap words, keep its size, and have no margins."""
    frame.word_wrap, frame.auto_size, frame.vertical_anchor = True, MSO_AUTO_SIZE.NONE, anchor
    frame.margin_left = frame.margin_right = frame.margin_top = frame.margin_bottom = 0


def _write(
    frame: Any,
    text: str,
    size: float,
    colour: str,
    bold: bool = False,
    anchor: MSO_ANCHOR = MSO_ANCHOR.TOP,
    font: str = "",
) -> None:
    lay_out(frame, anchor)
    frame.text = text
    for paragraph in frame.paragraphs:
        paragraph._p.get_or_add_pPr().set("algn", "l")
        for run in paragraph.runs:
            run.font.size, run.font.bold = Pt(size), bold
            run.font.color.rgb = RGBColor.from_string(colour)
            if font:
                run.font.name = font


def _theme(deck: Any) -> None:
    """Set the colours of the charts, and fonts that hold most scripts, in the theme of the deck."""
    part = deck.slide_master.part.part_related_by(RELATIONSHIP_TYPE.THEME)
    theme = part.blob.decode("utf-8")

    def accent(match: re.Match[str]) -> str:
        name = match.group(1)
        return f'<a:{name}><a:srgbClr val="{SERIES_COLOURS[int(name[-1]) - 1]}"/></a:{name}>'

    theme = _FONTS.sub(rf"\g<1>{LATIN}\g<2>{EAST_ASIAN}\g<3>", _SCHEME.sub(accent, theme))
    part._blob = theme.encode("utf-8")
