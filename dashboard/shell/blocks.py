"""What opens every page: its conclusion in a band, tiles in a row, and an example where it is empty."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

import streamlit as st
from markupsafe import Markup

from ragtriage.dashboard.charts.tokens import Theme
from ragtriage.dashboard.headlines.headline import Headline
from ragtriage.dashboard.present.page_html.blocks import Tile, band, style_sheet, tile
from ragtriage.dashboard.shell.session import View, keep, open_store
from ragtriage.dashboard.wording.escaping import markdown_text
from ragtriage.metrics.number_text import count

TILE_HEIGHT, NARROWEST_TILE = 112, 240
BAND_HEIGHT, LINE_HEIGHT, DOUBT_HEIGHT = 68, 20, 26
LINE_LENGTH = 150  # characters of a line of the band at a width of 1,440 pixels


def current_theme() -> Theme:
    """Return the theme of the browser tab."""
    return "dark" if st.context.theme.type == "dark" else "light"


def draw_style_sheet() -> None:
    """Draw the style of the blocks; first of all, so that the browser has the element when the band comes."""
    st.html(style_sheet(current_theme()))


def open_page(headline: Headline, meta: Sequence[str] = ()) -> None:
    """Draw the conclusion of a page; the first thing that a page draws."""
    lines = max(1, ceil(len(headline.detail) / LINE_LENGTH))
    draw_html(
        band(headline, meta),
        BAND_HEIGHT + LINE_HEIGHT * (lines - 1) + (DOUBT_HEIGHT if headline.doubt else 0),
    )


def draw_html(body: Markup, least_height: int) -> None:
    """Draw HTML in a place that has its least height before the browser has loaded what draws HTML.

    Args:
        body: rendered by a template.
        least_height: pixels; more than the HTML needs leaves a gap below it.
    """
    with st.container(horizontal=True, gap=None, wrap=False):
        with st.container(width=1):
            st.space(least_height)
        st.html(Markup('<div class="rt-flush">{}</div>').format(body))


def run_facts(view: View) -> list[str]:
    """Return size and repeats, date and dataset of the run on display, each a line of plain text."""
    run = view.run
    questions = count(run.n_questions, "question")
    repeats = f" × {run.n / run.n_questions:.0f}" if run.n_questions and run.n > run.n_questions else ""
    cases = questions if run.n == run.n_questions else f"{count(run.n, 'case')} = {questions}{repeats}"
    dataset = f"{run.dataset} {run.dataset_version}".strip()
    return [cases, f"{run.created_at:%Y-%m-%d}{f' · {dataset}' if dataset else ''}"]


def draw_tiles(tiles: Sequence[Tile]) -> None:
    """Draw tiles of equal width in a row; in two rows where the page is narrow."""
    grid = st.grid(len(tiles), min_column_width=NARROWEST_TILE, row_height=TILE_HEIGHT)
    for shown in tiles:
        grid.html(tile(shown))


def bundled_example(project: str, run: str, what: str) -> None:
    """Offer the bundled project that shows a page with content, where this one has none.

    Args:
        project: a bundled project.
        run: name of the run to open, "" for the one that the project opens with.
        what: what the example shows, as "shows claims and their support".
    """
    runs = [other for other in open_store().runs(project) if not run or other.name == run]
    if not runs:
        st.caption(f"`ragtriage demo` has a project that {markdown_text(what)}.")
        return

    def show() -> None:
        keep(project=project, run=runs[-1].run_id, baseline="", versions=(), other="", case="", page=1)

    st.button(f"Open the bundled example that {what}", key=f"example_{project}", on_click=show)
