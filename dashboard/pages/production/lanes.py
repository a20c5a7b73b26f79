"""The upper part of the page: tiles, lanes over time, topics before and since."""

from __future__ import annotations

from math import isfinite

import streamlit as st

from ragtriage.dashboard.charts.live_traffic import lanes_alt, lanes_chart, topics_alt, topics_chart
from ragtriage.dashboard.charts.tokens import THEMES
from ragtriage.dashboard.headlines.headline import State
from ragtriage.dashboard.headlines.production import (
    change_text,
    ends_text,
    in_percent,
    mean_before,
    measure_title,
    value_text,
)
from ragtriage.dashboard.pages.production.live_view import Opened, open_run
from ragtriage.dashboard.present.page_html.blocks import Strip, Tile, section_title
from ragtriage.dashboard.shell.components import WITHOUT_BAR, clicked, current_theme, draw
from ragtriage.dashboard.shell.user import may_write
from ragtriage.dashboard.tables.live_traffic import lanes_title, limit_text, mix_text, topics_title
from ragtriage.dashboard.wording.escaping import capital, markdown_text, shorten
from ragtriage.data.live.production.facts import FEWEST, Measure, Production
from ragtriage.metrics.metric_registry import bounds_of
from ragtriage.metrics.number_text import NOT_MEASURED

MOST_TILES = 4
ORIGIN = "traffic real, answers and scores replayed"


def tiles_of(facts: Production) -> list[Tile]:
    """Return a tile for each of the first measures: refusals, then what a rule asks for, then the rest."""
    measures = sorted(facts.measures, key=lambda each: (each is not facts.refusals, each.rule is None))
    tiles = [_tile(each, facts) for each in measures[:MOST_TILES]]
    if facts.score is None:
        tiles.append(
            Tile("Scores", NOT_MEASURED, "not measured", "nothing judged", "",
                "set [judge] in the policy, or send scores", Strip(None, label="not measured"))
        )  # fmt: skip
    return tiles[:MOST_TILES]


def _tile(measure: Measure, facts: Production) -> Tile:
    since, (state, word) = measure.since, _state(measure)
    limit = limit_text(measure)
    n = f"all {since.n_scored:,} calls" if measure.of_all else _scored_text(measure, facts)
    effective = since.n_effective
    weighs = (
        f" (effective {effective:,.0f})" if effective is not None and effective < since.n_scored - 0.5 else ""
    )
    release = facts.times.release
    changed = change_text(measure)
    sure = "" if measure.change is None or measure.change.is_change else ", chance"
    since_words = " since release" if release else ""
    return Tile(
        capital(measure_title(measure.name)),
        value_text(measure, since.mean),
        state,
        word,
        f"{changed}{sure or since_words}" if changed else "",
        " · ".join(
            filter(
                None,
                [
                    ends_text(measure, since),
                    f"{n}{weighs}",
                    f"limit {limit}".replace(" ", "\N{NO-BREAK SPACE}") if limit else "",
                ],
            )
        ),
        _strip(measure, state),
        help="Of all calls." if measure.of_all else "Of the kept calls, each weighted by 1 / its rate.",
    )


def _scored_text(measure: Measure, facts: Production) -> str:
    """Return of how many calls a score is: where answering changed too, of those that were answered."""
    n, refusals = measure.since.n_scored, facts.refusals
    changed = refusals is not None and refusals.change is not None and refusals.change.is_change
    if changed and 0 < n < facts.judged_since:
        return f"of the {n:,} answered"
    return f"{n:,} {'judged' if n <= facts.judged_since else 'scored'}"


def _state(measure: Measure) -> tuple[State, str]:
    """Return the state of a measure and the word of its chip: by the bound against its limit."""
    since, rule, limit = measure.since, measure.rule, measure.limit
    if not since.n_scored:
        return "not measured", "not measured"
    if rule is None or limit is None:
        if measure.is_worse:
            return "bad", "worse"
        return "not measured", ""
    if since.n_scored < FEWEST or not isfinite(since.low):
        return "cannot tell", "too few"
    above = rule.at_most is not None
    inside = since.high <= limit if above else since.low >= limit
    if rule.is_beyond(since.low, since.high):
        return "bad", "above limit" if above else "below limit"
    return ("good", "holds") if inside else ("cannot tell", "may be beyond")


def _strip(measure: Measure, state: State) -> Strip:
    since, before = measure.since, mean_before(measure)
    low, high = (0.0, 1.0) if in_percent(measure) else bounds_of(measure.name)
    if measure.name.startswith("latency_p") or not (isfinite(low) and isfinite(high)):
        known = [since.mean, since.high, before, measure.limit or 0.0]
        low, high = 0.0, 1.25 * max([each for each in known if isfinite(each)], default=1.0) or 1.0
    known_since = isfinite(since.mean)
    return Strip(
        since.mean if known_since else None,
        since.low if isfinite(since.low) else None,
        since.high if isfinite(since.high) else None,
        measure.limit,
        before if isfinite(before) else None,
        state,
        f"{measure_title(measure.name)}: {value_text(measure, since.mean)}",
        low,
        high,
        measure.higher_is_better,
    )


def lanes_section(opened: Opened) -> None:
    """Draw the lanes over time; a click on a point opens its time as a run."""
    facts = opened.facts
    chip = (ORIGIN if "replayed" in facts.origin else shorten(facts.origin, 60)) if facts.origin else ""
    st.html(section_title(lanes_title(facts), chip))
    chosen = clicked(
        lanes_chart(facts, THEMES[current_theme()]), "live_lanes", lanes_alt(facts), theme=None,
        config=WITHOUT_BAR,
    )  # fmt: skip
    if chosen is not None:
        _open_step(opened, float(chosen[0]), float(chosen[1]))


def _open_step(opened: Opened, first: float, last: float) -> None:
    """Open a step as a run, against the part of the time that it is not in."""
    run = opened.step(first, last)
    if run is None:
        why = (
            "no call of it is kept" if may_write() else "it is not published, and this workspace is only read"
        )
        st.toast(f"There is no run of this time: {why}.", icon=":material/info:")
        return
    open_run(opened, "triage", run, opened.part(later=first < opened.facts.times.later))


def _open_topic(opened: Opened, topic: str) -> None:
    """Open the refused cases of a topic, or all where none is, against the earlier part."""
    sides = opened.part(later=True), opened.part(later=False)
    rows = opened.facts.topics.rows if opened.facts.topics is not None else ()
    refused = "yes" if any(row.name == topic and row.since > 0 for row in rows) else ""
    open_run(opened, "cases", *sides, slices={"topic": topic}, refused=refused)


def topics_section(opened: Opened) -> None:
    """Draw the topics; a click opens the cases of one."""
    facts = opened.facts
    if facts.topics is None:
        if not facts.calls_before:
            st.html(section_title("No topics: there are no calls before it"))
            return
        st.html(section_title("No topic is known"))
        st.caption(
            "Send a tag `topic` with the spans, or keep questions: topics are then found by their words."
        )
        return
    clickable = facts.topics_are_tags
    st.html(section_title(topics_title(facts)))
    figure = topics_chart(facts.topics.rows, THEMES[current_theme()], clickable)
    alt = topics_alt(facts.topics.rows)
    if clickable:
        chosen = clicked(figure, "live_topics", alt, theme=None, config=WITHOUT_BAR)
        if chosen is not None:
            _open_topic(opened, str(chosen[0]))
    else:
        draw(figure, "live_topics", alt, theme=None, config=WITHOUT_BAR)
    hollow = "Diamond: before, dot: since, hollow: may be chance."
    click = " Click a topic for its refused cases." if clickable else ""
    st.caption(f"{markdown_text(mix_text(facts))} {hollow}{click}")
