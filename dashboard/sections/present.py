"""Composing a story: its points in order, each with heading, note and a look at what it shows."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Sequence
from dataclasses import replace

import streamlit as st

from dashboard.charts.plotly_figure import plotly_figure
from dashboard.export.formats import FORMATS, export_report
from dashboard.shell.components import draw, show_table
from dashboard.shell.session import View, current_selection, keep
from dashboard.shell.user import current_user, may_write, only_reads
from dashboard.stories.context import StoryView
from dashboard.stories.sections import SECTION_KINDS, default_sections, render_section
from dashboard.stories.story import (
    AUDIENCES,
    LONGEST_HEADING,
    LONGEST_NOTE,
    RenderedSection,
    Story,
    StorySection,
    story_from_json,
)
from dashboard.wording.escaping import markdown_text
from data.diagnosis.diagnosis import DiagnosisSettings
from data.store.ledger import Ledger
from data.store.stories import StoredStory, add_story, change_story, remove_story, stories, story_of

__all__ = [
    "compose",
    "export_bar",
    "presentation",
    "rendered_sections",
    "show_rendered",
    "story_bar",
    "story_on_display",
]

CASES_SHOWN = 3


def story_on_display(view: View) -> tuple[StoredStory, Story] | None:
    """Give the story that the address names, else the newest of the project; None without any."""
    ledger = view.store.ledger
    wanted = current_selection().story
    stored = story_of(ledger, wanted) if wanted else None
    if stored is None or stored.project != view.project:
        listed = stories(ledger, view.project)
        stored = listed[-1] if listed else None
    return None if stored is None else (stored, story_from_json(stored.body))


def story_bar(view: View, shown: tuple[StoredStory, Story] | None) -> None:
    """Let a person choose, make and remove stories."""
    ledger = view.store.ledger
    listed = {one.story_id: one for one in stories(ledger, view.project)}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if listed and shown is not None:
            titles = {number: f"{one.title} ({number})" for number, one in listed.items()}
            key = f"story_picker_{shown[0].story_id}"
            st.selectbox(
                "Story",
                list(listed),
                index=list(listed).index(shown[0].story_id),
                format_func=titles.__getitem__,
                key=key,
                on_change=lambda: keep(story=st.session_state[key], slide=0),
                width=320,
            )
        if not may_write():
            only_reads("Changes of stories")
            return
        audience = st.selectbox("For", AUDIENCES, index=2, key="story_audience", width=170)
        st.button("New story about this run", key="story_new", on_click=_new, args=(view, audience))
        if shown is not None:
            st.button("Remove", key="story_remove", on_click=_remove, args=(ledger, shown[0].story_id))


def _new(view: View, audience: str) -> None:
    chosen = next(one for one in AUDIENCES if one == audience)
    story = Story(
        title=view.labels[view.run.run_id],
        run=view.run.run_id,
        baseline=view.baseline.run_id if view.baseline else "",
        audience=chosen,
        sections=default_sections(chosen),
        author=current_user(),
    )
    number = add_story(view.store.ledger, view.project, story.title, story.to_json(), story.author)
    keep(story=number, slide=0)


def _remove(ledger: Ledger, number: int) -> None:
    remove_story(ledger, number)
    keep(story=0, slide=0)


@st.cache_resource(max_entries=16, show_spinner=False)
def _made(
    _view: StoryView,
    body: str,
    paths: tuple[str, ...],  # noqa: ARG001 -- part of the cache key
    settings: DiagnosisSettings,  # noqa: ARG001 -- part of the cache key
    stamp: tuple[int, int],  # noqa: ARG001 -- part of the cache key
) -> tuple[RenderedSection, ...]:
    return tuple(render_section(_view, piece) for piece in story_from_json(body).sections)


def rendered_sections(view: View, story: Story) -> tuple[StoryView, tuple[RenderedSection, ...]] | None:
    """Make the points of a story, kept until story, runs or labels change; None where its run is gone."""
    by_id = {run.run_id: run for run in view.store.runs()}
    run, baseline = by_id.get(story.run), by_id.get(story.baseline)
    if run is None or run.means:
        return None
    settings = view.selection.settings()
    found = StoryView(view.store, run, baseline, settings)
    scored_runs = [view.store.scored(one) for one in (run, baseline) if one is not None and not one.means]
    paths = tuple(scored.scores_path.as_posix() for scored in scored_runs)
    versions = tuple(sorted(one.run_id for one in found.runs))
    stamp = view.store.ledger.version()
    return found, _made(found, story.to_json(), (*paths, *versions), settings, stamp)


def compose(view: View, stored: StoredStory, story: Story, made: tuple[RenderedSection, ...]) -> None:
    """Let a person change a story; every change is kept at once. Where nothing may be changed, show it."""
    if not may_write():
        for at, one in enumerate(made):
            show_rendered(one, f"{stored.story_id}_{at}")
        return
    save = _saver(view.store.ledger, stored.story_id)
    key = f"story_title_{stored.story_id}"
    st.text_input(
        "Title",
        story.title,
        key=key,
        max_chars=LONGEST_HEADING,
        on_change=lambda: save(replace(story, title=st.session_state[key])),
    )
    for at, (piece, one) in enumerate(zip(story.sections, made, strict=True)):
        with st.container(border=True):
            _controls(story, at, piece, one, save)
            show_rendered(one, f"{stored.story_id}_{at}", heading=False)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        titles = {kind: entry.title for kind, entry in SECTION_KINDS.items()}
        st.selectbox("Add a point", list(titles), format_func=titles.__getitem__, key="story_kind", width=320)
        st.button("Add", key="story_add", on_click=lambda: save(_with(story, st.session_state["story_kind"])))


def _with(story: Story, kind: str) -> Story:
    return replace(story, sections=(*story.sections, StorySection(kind)))


def _saver(ledger: Ledger, number: int) -> Callable[[Story], None]:
    def save(story: Story) -> None:
        change_story(ledger, number, story.title, story.to_json())

    return save


def _controls(
    story: Story, at: int, piece: StorySection, one: RenderedSection, save: Callable[[Story], None]
) -> None:
    """Draw heading, note, place and removal of a point."""

    def put(**changes: object) -> None:
        pieces = list(story.sections)
        pieces[at] = replace(piece, **changes)  # type: ignore[arg-type] # fields of StoryPiece
        save(replace(story, sections=tuple(pieces)))

    heading, note = f"piece_heading_{at}_{piece.kind}", f"piece_note_{at}_{piece.kind}"
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.text_input(
            SECTION_KINDS[piece.kind].title if piece.kind in SECTION_KINDS else piece.kind,
            piece.heading,
            key=heading,
            placeholder=one.heading or "Heading",
            max_chars=LONGEST_HEADING,
            width=520,
            on_change=lambda: put(heading=st.session_state[heading]),
        )
        st.button("Up", key=f"piece_up_{at}", disabled=at == 0, on_click=lambda: save(story.moved(at, -1)))
        last = at == len(story.sections) - 1
        st.button("Down", key=f"piece_down_{at}", disabled=last, on_click=lambda: save(story.moved(at, 1)))
        rest = (*story.sections[:at], *story.sections[at + 1 :])
        st.button("Take out", key=f"piece_out_{at}", on_click=lambda: save(replace(story, sections=rest)))
    st.text_area(
        "Note",
        piece.note,
        key=note,
        placeholder="What should the reader take from this?",
        max_chars=LONGEST_NOTE,
        height=68,
        label_visibility="collapsed",
        on_change=lambda: put(note=st.session_state[note]),
    )


def show_rendered(one: RenderedSection, key: str, heading: bool = True) -> None:
    """Draw a point of a story."""
    if heading and one.heading:
        st.subheader(markdown_text(one.heading))
    if one.sentence:
        st.markdown(f"**{markdown_text(one.sentence)}**")
    if heading and one.note:
        st.markdown(markdown_text(one.note))
    if one.chart is not None:
        draw(plotly_figure(one.chart), f"story_figure_{key}", one.alt)
    elif one.rows:
        show_table(one.rows, one.alt or one.heading)
    for case in one.cases[:CASES_SHOWN]:
        st.markdown(
            f"{markdown_text(str(case['question']))}  \n→ {markdown_text(str(case.get('answer') or '–'))}"
        )
    if len(one.cases) > CASES_SHOWN:
        st.caption(f"and {len(one.cases) - CASES_SHOWN} more, in full in the exports")
    if one.facts:
        st.caption(" · ".join(markdown_text(fact) for fact in one.facts))


def export_bar(view: StoryView, story: Story, made: Sequence[RenderedSection]) -> None:
    """Draw the download buttons."""
    name = re.sub(r"[^\w.-]+", "-", story.title).strip("-.")[:60] or "story"
    for form, (title, mime) in FORMATS.items():
        st.download_button(
            title,
            _made_later(view, story, made, form),
            f"{name}.{form}",
            mime,
            key=f"story_export_{form}",
            on_click="ignore",
        )


def _made_later(
    view: StoryView, story: Story, made: Sequence[RenderedSection], form: str
) -> Callable[[], bytes]:
    return lambda: export_report(view, story, made, form)


LARGE = "font-size: 1.7rem; line-height: 1.35; max-width: 60ch;"
CHART_HEIGHT, CHART_TYPE = 540, 18
ROWS_SHOWN = 12


def presentation(story: Story, made: Sequence[RenderedSection], facts: Sequence[str], slide: int) -> None:
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


def _point(one: RenderedSection, at: int) -> None:
    st.title(markdown_text(one.heading))
    _large([one.sentence, one.note])
    if one.chart is not None:
        enlarged = plotly_figure(one.chart).update_layout(height=CHART_HEIGHT, font={"size": CHART_TYPE})
        draw(enlarged, f"slide_figure_{at}", one.alt)
    elif one.rows:
        show_table(one.rows[:ROWS_SHOWN], one.alt or one.heading)
        if len(one.rows) > ROWS_SHOWN:
            st.caption(f"the first {ROWS_SHOWN} of {len(one.rows)} rows; all of them are in the exports")
    for case in one.cases[:1]:
        _large([f"“{case['question']}”", f"→ {case.get('answer') or '–'}"])
    if one.facts:
        st.caption(" · ".join(markdown_text(fact) for fact in one.facts))
