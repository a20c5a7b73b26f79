"""A planned slide as HTML: the preview shows what PowerPoint will, at any width, its charts as SVG."""

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from ragtriage.dashboard.charts.chart import Chart, Series
from ragtriage.dashboard.charts.tokens import LIGHT
from ragtriage.dashboard.present.export.pptx.chart_model import EditableChart, SlideAxis, editable_chart
from ragtriage.dashboard.present.export.pptx.style import cut_to, hex_digits, line_width, readable_on
from ragtriage.dashboard.present.export.slide_layout import (
    SLIDE_HEIGHT,
    SLIDE_WIDTH,
    Area,
    Picture,
    SlidePlan,
    Words,
)
from ragtriage.dashboard.present.templating import render, svg_address
from ragtriage.metrics.number_text import MINUS, percent

POINTS = 72.0  # an inch


def slide_style() -> Markup:
    """Return the style sheet of slides, which are white in both themes, as paper is."""
    return render("slide_style.html")


def slide_html(plan: SlidePlan, number: int, total: int, name: str, chosen: bool = False) -> Markup:
    """Return a slide that fills the width of its place; an outline may mark it among others.

    Its name says what it shows, for people who cannot see it.
    """
    return render(
        "slide.html",
        edge=plan.edge,
        foot=plan.foot,
        parts=[_part(part) for part in plan.parts],
        number=number,
        total=total,
        name=name,
        chosen=chosen,
    )


def _part(part: Area | Words | Picture) -> dict[str, Any]:
    left, top, width, height = part.box
    box = {
        "left": round(100 * left / SLIDE_WIDTH, 3),
        "top": round(100 * top / SLIDE_HEIGHT, 3),
        "width": round(100 * width / SLIDE_WIDTH, 3),
        "height": round(100 * height / SLIDE_HEIGHT, 3),
    }
    if isinstance(part, Area):
        return {"kind": "area", "box": box, "colour": part.colour, "circle": part.form == "circle"}
    if isinstance(part, Picture):
        svg = chart_svg(part.chart, width, height)
        return {"kind": "picture", "box": box, "address": svg_address(svg) if svg else "", "alt": part.alt}
    return {
        "kind": "words",
        "box": box,
        "align": part.align,
        "middle": part.anchor == "middle",
        "paragraphs": [
            {
                "pieces": paragraph.pieces,
                "marked_colour": paragraph.marked_colour,
                "lead": paragraph.lead,
                "lead_colour": paragraph.lead_colour or paragraph.colour,
                "colour": paragraph.colour,
                "weight": 700 if paragraph.bold else 400,
                # percent of the width of the slide
                "size": round(100 * paragraph.size / POINTS / SLIDE_WIDTH, 3),
            }
            for paragraph in part.paragraphs
        ],
    }


SIZE, INSIDE_SIZE = 12, 16
GAP = 0.55  # between bars, of the width of one
MOST_LINES = 3  # of the name of a column


def chart_svg(chart: Chart, width: float, height: float) -> Markup:
    """Return a chart of bars as SVG for a box in inches; "" for charts of other kinds and without points."""
    model = editable_chart(chart)
    if model is None or model.form not in ("bar", "column"):
        return Markup("")
    across, up = width * POINTS, height * POINTS
    drawing = _Bars(model, across, up)
    drawing.axis()
    drawing.categories()
    drawing.series()
    return render("chart_svg.html", width=round(across, 1), height=round(up, 1), drawing=drawing)


class _Bars:
    """Bars to the right or upwards, as rectangles, lines and texts in points."""

    def __init__(self, model: EditableChart, width: float, height: float) -> None:
        self.model = model
        self.grid, self.bars, self.lines, self.texts = (list[dict[str, Any]]() for _ in range(4))
        self.across = model.form == "bar"
        names = [line_width(name, SIZE) * POINTS for name in model.categories]
        left = min(0.4 * width, max(names, default=0.0) + 12) if self.across else 34.0
        bottom = 24.0 if self.across else 20.0 + 15 * (MOST_LINES - 1)
        self.left, self.top, self.right, self.bottom = left, 8.0, width - 16, height - bottom
        self.low, self.high, self.step = _ends(model.x if self.across else model.y, model.series)

    def text(self, x: float, y: float, text: str, anchor: str = "middle", **style: Any) -> None:
        shown = {"size": SIZE, "colour": LIGHT.text, "weight": 400, **style}
        self.texts.append({"x": round(x, 1), "y": round(y, 1), "text": text, "anchor": anchor, **shown})

    def line(self, x1: float, y1: float, x2: float, y2: float, grid: bool = False) -> None:
        ends = {"x1": x1, "y1": y1, "x2": x2, "y2": y2}
        style = {"colour": LIGHT.border, "width": 1} if grid else {"colour": LIGHT.text, "width": 1.2}
        drawn = {**{name: round(at, 1) for name, at in ends.items()}, **style}
        (self.grid if grid else self.lines).append(drawn)

    def at(self, value: float) -> float:
        """Return where a value lies along the axis of values."""
        share = (min(max(value, self.low), self.high) - self.low) / ((self.high - self.low) or 1.0)
        if self.across:
            return self.left + share * (self.right - self.left)
        return self.bottom - share * (self.bottom - self.top)

    @property
    def band(self) -> float:
        """The room of one category."""
        extent = self.bottom - self.top if self.across else self.right - self.left
        return extent / max(1, len(self.model.categories))

    def middle(self, place: int) -> float:
        """Return the middle of a category; those of bars to the right start at the bottom."""
        if self.across:
            return self.bottom - (place + 0.5) * self.band
        return self.left + (place + 0.5) * self.band

    def axis(self) -> None:
        axis = self.model.x if self.across else self.model.y
        signs = axis.format.startswith("+")
        value, digits = self.low, 2 if self.step < 0.1 or self.step == 0.25 else 1 if self.step < 1 else 0
        while value <= self.high + self.step / 1000:
            at = self.at(value)
            sign = "+" if signs and value > self.step / 2 else ""
            text = f"{sign}{value:,.{digits}f}" if abs(value) > self.step / 1000 else "0"
            text = percent(value) if axis.format.endswith("%") else text
            if self.across:
                self.line(at, self.top, at, self.bottom, grid=True)
                self.text(at, self.bottom + 17, text.replace("-", MINUS), colour=LIGHT.muted)
            else:
                self.line(self.left, at, self.right, at, grid=True)
                self.text(self.left - 6, at + 4, text, "end", colour=LIGHT.muted)
            value += self.step

    def categories(self) -> None:
        for place, name in enumerate(self.model.categories):
            if self.across:
                shown = cut_to(name, (self.left - 8) / POINTS, 0.25, SIZE)
                self.text(self.left - 8, self.middle(place) + 4, shown, "end")
                continue
            for number, line in enumerate(_wrapped(name, self.band)):
                self.text(self.middle(place), self.bottom + 16 + 15 * number, line)

    def series(self) -> None:
        shared = 1 if self.model.overlap == 100 else len(self.model.series)
        thick = self.band / (shared + GAP)
        stacked = [0.0] * len(self.model.categories)
        for number, series in enumerate(self.model.series):
            offset = 0.0 if shared == 1 else (number - (shared - 1) / 2) * thick
            for place, value in enumerate(series.y):
                if value is None:
                    continue
                start = stacked[place] if self.model.stacked else 0.0
                self._bar(series, place, start, start + value, offset, thick)
                stacked[place] += value

    def _bar(self, series: Series, place: int, start: float, end: float, offset: float, thick: float) -> None:
        first, last = sorted((self.at(start), self.at(end)))
        middle = self.middle(place) + (-offset if self.across else offset)
        edge = middle - thick / 2
        box = (first, edge, last - first, thick) if self.across else (edge, first, thick, last - first)
        colour = series.colours[place] if series.colours else series.colour
        named = dict(zip(("x", "y", "width", "height"), (round(side, 1) for side in box), strict=True))
        self.bars.append({**named, "colour": colour})
        low, high = (series.low[place], series.high[place]) if series.low else (None, None)
        if low is not None and high is not None and self.across:
            low, high = self.at(low), self.at(high)
            self.line(low, middle, high, middle)
            for bound in (low, high):
                self.line(bound, middle - 4, bound, middle + 4)
        text = series.text[place] if series.text else ""
        if text:
            ink = f"#{readable_on(hex_digits(colour))}"
            x, y = ((first + last) / 2, middle) if self.across else (middle, (first + last) / 2)
            self.text(x, y + 6, text, size=INSIDE_SIZE, weight=700, colour=ink)


def _ends(axis: SlideAxis, series: Sequence[Series]) -> tuple[float, float, float]:
    """Return the ends of the axis of values and the step between its ticks, at most seven of them."""
    values = [value for part in series for value in part.y if value is not None]
    low = min([0.0, *values]) if axis.low is None else axis.low
    high = max([0.0, *values]) if axis.high is None else axis.high
    step = axis.step or 10.0 ** (len(str(int(high - low))) - 1)
    while (high - low) / step > 7:
        step *= 2
    return low, high, step


def _wrapped(name: str, width: float) -> list[str]:
    """Break a name at its spaces into lines that fit, three at most."""
    lines = [""]
    for word in name.split(" "):
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and line_width(longer, SIZE) * POINTS > width:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines[:MOST_LINES]
