"""Presenting a story in the app: one point a screen, large type, arrow keys."""

from __future__ import annotations

import html
from collections.abc import Sequence

import plotly.graph_objects as go
import streamlit as st

from dashboard.drawing import draw, show_table
from dashboard.session import keep
from dashboard.story import Made, Story
from dashboard.text import markdown_text

__all__ = ["presentation"]

LARGE = "font-size: 1.7rem; line-height: 1.35; max-width: 60ch;"
CHART_HEIGHT, CHART_TYPE = 540, 18
ROWS_SHOWN = 12


def presentation(story: Story, made: Sequence[Made], facts: Sequence[str], slide: int) -> None:
    """Show one point; the first screen is the title.

    Args:
        story: the story.
        made: its points.
        facts: what run, baseline, data and date are.
        slide: 1 for the title, 2 for the first point, and so on; beyond the end the last.
    """
    total = len(made) + 1
    at = min(max(slide, 1), total)
    if at == 1:
        st.title(markdown_text(story.title))
        _large(facts)
    else:
        _point(made[at - 2], at)
    with st.container(horizontal=True, horizontal_alignment="right", vertical_alignment="center"):
        st.caption(f"{at} of {total}")
        _step("Back", "Left", at - 1 if at > 1 else 1)
        _step("On", "Right", min(at + 1, total))
        _step("End", "Escape", 0)


def _step(label: str, shortcut: str, slide: int) -> None:
    st.button(
        label,
        key=f"slide_{label}",
        shortcut=shortcut,
        type="tertiary",
        on_click=keep,
        kwargs={"slide": slide},
    )


def _large(lines: Sequence[str]) -> None:
    shown = "".join(f"<p>{html.escape(line)}</p>" for line in lines if line)
    st.html(f'<div style="{LARGE}">{shown}</div>')


def _enlarged(figure: go.Figure) -> go.Figure:
    """Give a copy for a large screen; the chart of the page stays as it is."""
    return go.Figure(figure).update_layout(height=CHART_HEIGHT, font={"size": CHART_TYPE})


def _point(one: Made, at: int) -> None:
    st.title(markdown_text(one.heading))
    _large([one.sentence, one.note])
    if one.figure is not None:
        draw(_enlarged(one.figure), f"slide_figure_{at}", one.alt)
    elif one.rows:
        show_table(one.rows[:ROWS_SHOWN], one.alt or one.heading)
        if len(one.rows) > ROWS_SHOWN:
            st.caption(f"the first {ROWS_SHOWN} of {len(one.rows)} rows; all of them are in the exports")
    for case in one.cases[:1]:
        _large([f"“{case['question']}”", f"→ {case.get('answer') or '–'}"])
    if one.facts:
        st.caption(" · ".join(markdown_text(fact) for fact in one.facts))
