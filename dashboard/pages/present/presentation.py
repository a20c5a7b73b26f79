"""The Present page: composing a story from sections, presenting it, exporting it."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st
from markupsafe import Markup

from ragtriage.dashboard.charts.plotly_figure import plotly_figure
from ragtriage.dashboard.headlines.deck import present_headline
from ragtriage.dashboard.headlines.headline import Headline
from ragtriage.dashboard.present.export.formats import FORMATS, export_report
from ragtriage.dashboard.present.export.slide_html import slide_html, slide_style
from ragtriage.dashboard.present.export.slide_layout import plan_slide, sketch_slide
from ragtriage.dashboard.present.stories.context import StoryView
from ragtriage.dashboard.present.stories.sections import SECTION_KINDS, default_sections, render_section
from ragtriage.dashboard.present.stories.story import (
    AUDIENCES,
    LONGEST_HEADING,
    LONGEST_NOTE,
    RenderedSection,
    Story,
    StorySection,
    story_from_json,
)
from ragtriage.dashboard.shell.components import draw, show_table
from ragtriage.dashboard.shell.kept_results import kept
from ragtriage.dashboard.shell.session import View, current_selection, keep
from ragtriage.dashboard.shell.user import current_user, may_write, only_reads
from ragtriage.dashboard.wording.escaping import markdown_text
from ragtriage.data.errors import DataError
from ragtriage.data.store.ledger import Ledger
from ragtriage.data.store.stories import StoredStory, add_story, change_story, remove_story, stories, story_of
from ragtriage.data.text.shown_case import shown_case

CASES_SHOWN = 3
EXPORTS = ("pptx", "html", "pdf", "zip")
AUDIENCE_WIDTH, NARROWEST_THUMB = 200, 104
FEWEST_COLUMNS, MOST_COLUMNS = 5, 12
SLIDE_NAMES = {
    "verdict": "Verdict",
    "why": "Why",
    "users": "What people get",
    "change": "What changed",
    "example": "One example",
    "next": "Next",
    "headline": "Metrics",
    "losses": "Oracle gap",
    "suites": "Checks",
    "checks": "Sanity checks",
}  # below the thumbnails; the others are called by their kind
UNSEEN = "position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%);"


def story_on_display(view: View) -> tuple[StoredStory, Story | None] | None:
    """Return the story that the address names, else the newest of the project; None without any.

    Of a story that cannot be read there is only what is stored.
    """
    ledger = view.store.ledger
    story_id = current_selection().story
    stored = story_of(ledger, story_id) if story_id else None
    if stored is None or stored.project != view.project:
        stored = next(reversed(stories(ledger, view.project)), None)
    if stored is None:
        return None
    try:
        return stored, story_from_json(stored.body)
    except DataError:
        return stored, None


def conclusion(
    shown: tuple[StoredStory, Story | None] | None, rendered: Sequence[RenderedSection] | None
) -> Headline:
    """Return the headline of the page: whether the slides are ready, and the verdict that they give."""
    if shown is None:
        return present_headline(0, None)
    if rendered is None:
        return present_headline(0, None, problem="unreadable" if shown[1] is None else "gone")
    if not rendered:
        return present_headline(0, None, problem="emptied")
    ready = [section for section in rendered if section.measured]
    skipped = tuple(SECTION_KINDS[section.kind].title for section in rendered if not section.measured)
    verdict = next(
        (section for section in ready if section.slide is not None and section.slide.layout == "verdict"),
        None,
    )
    n_long = sum(section.slide is None for section in ready)
    if verdict is None or verdict.slide is None:
        return present_headline(len(ready), None, "", skipped, n_long)
    return present_headline(len(ready), verdict.slide.state, verdict.slide.subtitle, skipped, n_long)


def story_bar(view: View, shown: tuple[StoredStory, Story | None] | None) -> None:
    """Draw the controls to choose, create and remove stories."""
    ledger = view.store.ledger
    listed = {stored.story_id: stored for stored in stories(ledger, view.project)}
    if listed and shown is not None:
        titles = {story_id: f"{stored.title} ({story_id})" for story_id, stored in listed.items()}
        picker = f"story_picker_{shown[0].story_id}"
        st.selectbox(
            "Deck",
            list(listed),
            index=list(listed).index(shown[0].story_id),
            format_func=titles.__getitem__,
            key=picker,
            on_change=lambda: keep(story=st.session_state[picker], slide=0),
            help="In brackets the number of the deck, for `ragtriage report RUN --story NUMBER`",
        )
    if not may_write():
        only_reads("Changes of decks")
        return
    story = shown[1] if shown is not None else None
    usual = AUDIENCES.index("stakeholder" if story is None else story.audience)
    key = f"story_audience_{0 if shown is None else shown[0].story_id}"
    audience = st.selectbox("Audience", AUDIENCES, index=usual, key=key, width=AUDIENCE_WIDTH)
    with st.container(horizontal=True):
        st.button("New deck of this run", key="story_new", on_click=_new, args=(view, audience))
        if shown is not None:
            remove = (ledger, shown[0].story_id)
            st.button("Remove", key="story_remove", type="tertiary", on_click=_remove, args=remove)


def _new(view: View, audience: str) -> None:
    chosen = next(name for name in AUDIENCES if name == audience)
    story = Story(
        title=view.labels[view.run.run_id],
        run=view.run.run_id,
        baseline=view.found.run.run_id if view.found.run else "",
        audience=chosen,
        sections=default_sections(chosen, view.run),
        author=current_user(),
    )
    story_id = add_story(view.store.ledger, view.project, story.title, story.to_json(), story.author)
    keep(story=story_id, slide=0)


def _remove(ledger: Ledger, story_id: int) -> None:
    remove_story(ledger, story_id)
    keep(story=0, slide=0)


@kept
def _rendered(view: StoryView, body: str) -> tuple[RenderedSection, ...]:
    return tuple(render_section(view, section) for section in story_from_json(body).sections)


def rendered_sections(view: View, story: Story) -> tuple[StoryView, tuple[RenderedSection, ...]] | None:
    """Return the rendered sections of a story, cached until something changes; None if its run is gone."""
    by_id = {run.run_id: run for run in view.store.runs()}
    run, baseline = by_id.get(story.run), by_id.get(story.baseline)
    if run is None or run.means:
        return None
    story_view = StoryView(view.store, run, baseline, view.selection.settings(), story.audience)
    return story_view, _rendered(story_view, story.to_json())


def thumbnails(story_id: int, rendered: Sequence[RenderedSection]) -> int:
    """Draw the slides small in rows with a button below each; return the place of the chosen one."""
    key = f"deck_slide_{story_id}"
    chosen = min(int(st.session_state.get(key, 0)), len(rendered) - 1)
    st.html(slide_style())
    columns = min(max(len(rendered), FEWEST_COLUMNS), MOST_COLUMNS)
    grid = st.grid(columns, min_column_width=NARROWEST_THUMB)
    for at, section in enumerate(rendered):
        with grid.container(gap="xsmall"):
            st.html(_slide(section, rendered, at, at == chosen))
            number = (
                sum(before.measured for before in rendered[: at + 1]) if section.measured else "No slide:"
            )
            st.button(
                f"{number} {SLIDE_NAMES.get(section.kind, section.kind.capitalize())}",
                key=f"deck_thumb_{at}",
                type="secondary" if at == chosen else "tertiary",
                width="stretch",
                on_click=_choose,
                args=(key, at),
            )
    return chosen


def _choose(key: str, at: int) -> None:
    st.session_state[key] = at


def _slide(
    section: RenderedSection, rendered: Sequence[RenderedSection], at: int, chosen: bool = False
) -> str:
    """Return a slide as HTML; numbered as in the file, which leaves out what was not measured."""
    feet = [entry.slide.foot for entry in rendered if entry.slide is not None]
    foot = feet[0] if feet else ""
    plan = sketch_slide(section, foot) if section.slide is None else plan_slide(section, section.slide)
    number = sum(entry.measured for entry in rendered[: at + 1])
    total = sum(entry.measured for entry in rendered)
    name = f"Slide {number} of {total}: {section.heading}"
    return str(slide_html(plan, number, total, name, chosen))


def preview(rendered: Sequence[RenderedSection], at: int, story_id: int) -> None:
    """Draw the chosen slide large; below it what else the report has of it."""
    section = rendered[at]
    if not section.measured:
        with st.container(border=True):
            st.markdown(f"**{markdown_text(section.heading)}**")
            st.caption(f"{markdown_text(section.sentence)} So it gets no slide.")
        return
    st.html(_slide(section, rendered, at))
    if section.slide is None:
        show_rendered(replace(section, sentence="", note=""), f"{story_id}_{at}", heading=False)


def edit_slide(
    view: View, stored: StoredStory, story: Story, rendered: Sequence[RenderedSection], at: int
) -> None:
    """Draw the editor of the chosen slide and of the deck, which saves every change at once."""
    if not may_write():
        return

    def save(story: Story) -> None:
        change_story(view.store.ledger, stored.story_id, story.title, story.to_json())

    if story.sections:
        _controls(story, at, rendered[at].heading, save)
    key = f"story_title_{stored.story_id}"
    st.text_input(
        "Title of the file",
        story.title,
        key=key,
        max_chars=LONGEST_HEADING,
        on_change=lambda: save(replace(story, title=st.session_state[key])),
    )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        titles = {key: kind.title for key, kind in SECTION_KINDS.items()}
        st.selectbox("Add a slide", list(titles), format_func=titles.__getitem__, key="story_kind", width=200)
        st.button(
            "Add",
            key="story_add",
            on_click=lambda: save(
                replace(story, sections=(*story.sections, StorySection(st.session_state["story_kind"])))
            ),
        )


def _controls(story: Story, at: int, placeholder: str, save: Callable[[Story], None]) -> None:
    """Draw heading, note, example, order and removal of a section."""
    section = story.sections[at]

    def change(**fields: Any) -> None:
        changed = replace(section, **fields)
        save(replace(story, sections=(*story.sections[:at], changed, *story.sections[at + 1 :])))

    heading, note = f"piece_heading_{at}_{section.kind}", f"piece_note_{at}_{section.kind}"
    st.text_input(
        "Title of the slide",
        section.heading,
        key=heading,
        placeholder=placeholder or "Title",
        max_chars=LONGEST_HEADING,
        on_change=lambda: change(heading=st.session_state[heading]),
    )
    st.text_area(
        "Note on the slide",
        section.note,
        key=note,
        placeholder="What should the reader take from this?",
        max_chars=LONGEST_NOTE,
        height=68,
        on_change=lambda: change(note=st.session_state[note]),
    )
    if section.kind == "example":
        case = f"piece_case_{at}"
        st.text_input(
            "Case of the example",
            section.chosen.get("case", ""),
            key=case,
            placeholder="chosen by rule; or question~repeat",
            on_change=lambda: change(chosen={**section.chosen, "case": st.session_state[case].strip()}),
        )
    with st.container(horizontal=True):
        st.button(
            "Move left", key=f"piece_up_{at}", disabled=at == 0, on_click=lambda: save(story.moved(at, -1))
        )
        last = at == len(story.sections) - 1
        right = {"disabled": last, "on_click": lambda: save(story.moved(at, 1))}
        st.button("Move right", key=f"piece_down_{at}", **right)  # type: ignore[arg-type] # of a button
        rest = (*story.sections[:at], *story.sections[at + 1 :])
        st.button("Remove slide", key=f"piece_out_{at}", on_click=lambda: save(replace(story, sections=rest)))


def show_rendered(section: RenderedSection, key: str, heading: bool = True) -> None:
    """Draw a section."""
    if heading and section.heading:
        st.subheader(markdown_text(section.heading))
    if section.sentence:
        st.markdown(f"**{markdown_text(section.sentence)}**")
    if heading and section.note:
        st.markdown(markdown_text(section.note))
    if section.chart is not None:
        draw(plotly_figure(section.chart), f"story_figure_{key}", section.alt)
    elif section.table:
        show_table(section.table)
    for case in map(shown_case, section.cases[:CASES_SHOWN]):
        st.markdown(
            f"{markdown_text(str(case['question']))}  \n→ {markdown_text(str(case.get('answer') or '–'))}"
        )
    if len(section.cases) > CASES_SHOWN:
        st.caption(f"and {len(section.cases) - CASES_SHOWN} more, in full in the exports")
    if section.facts:
        st.caption(" · ".join(markdown_text(fact) for fact in section.facts))


def export_bar(view: StoryView, story: Story, rendered: Sequence[RenderedSection]) -> None:
    """Draw the download buttons; a file is written when its button is pressed."""
    name = re.sub(r"[^\w.-]+", "-", story.title).strip("-.")[:60] or "story"
    for format_name in EXPORTS:
        title, mime = FORMATS[format_name]
        st.download_button(
            title,
            partial(export_report, view, story, rendered, format_name),
            f"{name}.{format_name}",
            mime,
            key=f"story_export_{format_name}",
            on_click="ignore",
        )


LARGE = "font-size: 1.7rem; line-height: 1.35; max-width: 60ch;"
CHART_HEIGHT, CHART_FONT_SIZE = 540, 18
ROWS_SHOWN = 12


def present_button(rendered: Sequence[RenderedSection], chosen: int) -> None:
    """Draw the button that presents a deck, from the chosen slide on."""
    title = int(not any(section.slide is not None for section in rendered))
    at = sum(section.measured for section in rendered[: chosen + 1]) + title if chosen else 1
    st.button("Present", key="story_present", on_click=keep, kwargs={"slide": max(at, 1)})


def presentation(story: Story, rendered: Sequence[RenderedSection], facts: Sequence[str], slide: int) -> None:
    """Draw one slide; a story that does not open with a verdict has its title first.

    Args:
        story: the story.
        rendered: its sections.
        facts: run, baseline, data set and date, for the title.
        slide: 1 for the first, and so on; beyond the end the last.
    """
    shown = [section for section in rendered if section.measured]
    title = int(not any(section.slide is not None for section in shown))
    total = len(shown) + title
    at = min(max(slide, 1), total)
    if at <= title:
        st.title(markdown_text(story.title))
        _large(facts)
    else:
        _section_slide(shown, at - title - 1, at)
    with st.container(horizontal=True, horizontal_alignment="right", vertical_alignment="center"):
        st.caption(f"{at} of {total}")
        _step("Back", "Left", at - 1 if at > 1 else 1)
        _step("Next", "Right", min(at + 1, total))
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
    paragraphs = Markup().join(Markup("<p>{}</p>").format(line) for line in lines if line)
    st.html(Markup('<div style="{}">{}</div>').format(LARGE, paragraphs))


def _section_slide(rendered: Sequence[RenderedSection], at: int, number: int) -> None:
    section = rendered[at]
    if section.slide is not None:
        st.html(slide_style())
        st.html(Markup("<h1 style='{}'>{}</h1>").format(UNSEEN, section.heading))
        st.html(_slide(section, rendered, at))
        return
    st.title(markdown_text(section.heading))
    _large([section.sentence, section.note])
    if section.chart is not None:
        enlarged = plotly_figure(section.chart).update_layout(
            height=CHART_HEIGHT, font={"size": CHART_FONT_SIZE}
        )
        draw(enlarged, f"slide_figure_{number}", section.alt)
    elif section.table:
        rows = section.table.rows
        show_table(replace(section.table, rows=rows[:ROWS_SHOWN]))
        if len(rows) > ROWS_SHOWN:
            st.caption(f"the first {ROWS_SHOWN} of {len(rows)} rows; all of them are in the exports")
    for case in map(shown_case, section.cases[:1]):
        _large([f"“{case['question']}”", f"→ {case.get('answer') or '–'}"])
    if section.facts:
        st.caption(" · ".join(markdown_text(fact) for fact in section.facts))
