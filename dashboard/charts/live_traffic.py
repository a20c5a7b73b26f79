"""The pictures of live traffic: lanes on one axis of time, and topics before and since."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import pairwise
from math import ceil, isfinite

import numpy as np
import plotly.graph_objects as go

from ragtriage.dashboard.charts.chart import with_tokens
from ragtriage.dashboard.charts.tokens import Tokens
from ragtriage.dashboard.headlines.production import ends_text, in_percent, measure_title, value_text
from ragtriage.dashboard.wording.escaping import capital, chart_text, shorten
from ragtriage.data.live.policy import DAY
from ragtriage.data.live.production.facts import FEWEST, Measure, Production
from ragtriage.data.live.production.times import clock
from ragtriage.data.live.production.topic_changes import TopicRow
from ragtriage.metrics.number_text import count, number, percent, signed
from ragtriage.metrics.statistics.intervals import Interval

HEIGHT = 372  # pixels
LANES = ((0.70, 0.94), (0.425, 0.615), (0.20, 0.34), (0.0, 0.115))  # from top to bottom, of the height
TICK = 20  # percent, between two lines of a share
GAP = 0.06  # of a step, between two intervals
TOPIC_ROW, TOPIC_FRAME, MOST_TOPICS = 22, 30, 13
NAME, RELEASE = 18, 26  # characters
COLUMNS = (1.24, 1.54)  # where calls and parts of a topic are written, on the axis of shares


def lanes_chart(facts: Production, tokens: Tokens) -> go.Figure:
    """Draw refusals, a score, tokens of context and calls over time.

    The custom data of a point of the first two lanes are the begin and the end of its step.
    """
    figure = go.Figure()
    for lane, measure in enumerate((facts.refusals, facts.score), start=1):
        if measure is not None:
            _measure_lane(figure, lane, measure, facts, tokens)
        else:
            _title(figure, lane, "<b>Scores</b>, none: no call is judged", tokens)
    _token_lane(figure, facts, tokens)
    _call_lane(figure, facts, tokens)
    _releases(figure, facts, tokens)
    with_tokens(
        figure, tokens, HEIGHT, clickmode="event+select", margin={"l": 8, "r": 12, "t": 8, "b": 24},
        showlegend=False, bargap=0.1, barmode="overlay",
    )  # fmt: skip
    span = facts.times.last - facts.times.first
    for at, domain in enumerate(LANES, start=1):
        axis = {"domain": domain, "gridcolor": tokens.border, "showgrid": True, "zeroline": False}
        figure.update_layout({f"yaxis{at if at > 1 else ''}": {**axis, "nticks": 4}})
    return figure.update_xaxes(
        range=[_moment(facts.times.first), _moment(facts.times.last)], anchor="y4", showgrid=False,
        zeroline=False, linecolor=tokens.border, tickformat="%H:%M" if span <= DAY else "%-d %b",
        nticks=8,
    )  # fmt: skip


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None)


def _axis(lane: int) -> str:
    return f"y{lane if lane > 1 else ''}"


def _title(figure: go.Figure, lane: int, text: str, tokens: Tokens, note: str = "", colour: str = "") -> None:
    """Write the title of a lane above it, at the right what is to know of it."""
    for words, x, anchor, shade in (
        (text, 0.0, "left", tokens.text),
        (note, 1.0, "right", colour or tokens.muted),
    ):
        if words:
            figure.add_annotation(
                x=x, xref="paper", y=LANES[lane - 1][1], yref="paper", xanchor=anchor, yanchor="bottom",
                showarrow=False, text=words, font={"size": 12.5, "color": shade},
            )  # fmt: skip


def _measure_lane(figure: go.Figure, lane: int, measure: Measure, facts: Production, tokens: Tokens) -> None:
    """Draw the steps of a measure: intervals, a line, points that are hollow where they are of too few."""
    steps = [
        (*step, value)
        for step, value in zip(facts.times.steps, measure.steps, strict=True)
        if isfinite(value.mean)
    ]
    scale = 100.0 if in_percent(measure) else 1.0
    for first, last, value in steps:
        if isfinite(value.low):
            room = GAP / 2 * (last - first)
            figure.add_shape(
                type="rect", x0=_moment(first + room), x1=_moment(last - room), y0=scale * value.low,
                y1=scale * value.high, yref=_axis(lane), line={"width": 0}, fillcolor=tokens.alive,
                layer="below",
            )  # fmt: skip
    colours = [_colour(measure, value, tokens) for *_, value in steps]
    few = [value.n_scored < FEWEST for *_, value in steps]
    fills = [tokens.background if hollow else colour for hollow, colour in zip(few, colours, strict=True)]
    figure.add_scatter(
        x=[_moment((first + last) / 2) for first, last, _ in steps],
        y=[scale * value.mean for *_, value in steps],
        yaxis=_axis(lane), mode="lines+markers", line={"width": 1.2, "color": tokens.muted}, cliponaxis=False,
        marker={
            "size": 11,
            "color": fills,
            "line": {"width": 1.8, "color": colours},
        },
        unselected={"marker": {"opacity": 1}},
        customdata=[[first, last] for first, last, _ in steps],
        hovertext=[_step_text(measure, *step, facts) for step in steps], hoverinfo="text",
        name=measure.name,
    )  # fmt: skip
    if measure.limit is not None:
        _limit(figure, lane, scale * measure.limit, measure, tokens)
    of = "all calls" if measure.of_all else "kept calls, weighted"
    judged = [value.n_scored for *_, value in steps if value.n_scored < FEWEST]
    note = f"hollow: under {FEWEST} {'calls' if measure.of_all else 'judged'}" if judged else ""
    _title(
        figure, lane, f"<b>{chart_text(capital(measure_title(measure.name)))}</b>, {of}", tokens, note,
        tokens.unclear.text,
    )  # fmt: skip
    suffix = " %" if in_percent(measure) else ""
    drawn = [
        scale * end for *_, value in steps for end in (value.low, value.high, value.mean) if isfinite(end)
    ]
    drawn += [] if measure.limit is None else [scale * measure.limit]
    low, high = (min(drawn), max(drawn)) if drawn else (0.0, scale)
    high = min(ceil(high / TICK) * TICK, 100.0) if in_percent(measure) else high  # so that its top is named
    room = 0.06 * ((high - low) or scale)
    start = -room if low - room < 0 <= low else low - room
    figure.update_layout(
        {f"yaxis{lane if lane > 1 else ''}": {"ticksuffix": suffix, "range": [start, high + room]}}
    )


def _limit(figure: go.Figure, lane: int, at: float, measure: Measure, tokens: Tokens) -> None:
    """Draw the limit of a measure, named at the end where no interval covers it."""
    first = next((value for value in measure.steps if isfinite(value.low)), None)
    covered = first is not None and measure.limit is not None and first.low <= measure.limit <= first.high
    figure.add_shape(
        type="line", x0=0, x1=1, xref="paper", y0=at, y1=at, yref=_axis(lane),
        line={"width": 1.4, "dash": "dash", "color": tokens.text},
    )  # fmt: skip
    figure.add_annotation(
        x=int(covered), xref="paper", y=at, yref=_axis(lane), xanchor="right" if covered else "left",
        yanchor="bottom", showarrow=False, xshift=-4 if covered else 4,
        text=f"limit {value_text(measure, measure.limit)}", font={"size": 12, "color": tokens.muted},
    )  # fmt: skip


def _colour(measure: Measure, value: Interval, tokens: Tokens) -> str:
    """Return the colour of a point: bad where its bound is beyond the limit, and not only the point."""
    rule = measure.rule
    if rule is None or value.n_scored < FEWEST:
        return tokens.muted
    return tokens.bad.text if rule.is_beyond(value.low, value.high) else tokens.muted


def _step_text(measure: Measure, first: float, last: float, value: Interval, facts: Production) -> str:
    span = facts.times.last - facts.times.first
    noun = count(value.n_scored, "call" if measure.of_all else "judged call")
    few = ", too few to tell" if value.n_scored < FEWEST else ""
    return (
        f"{clock(first, span)} to {clock(last, span)} UTC: <b>{value_text(measure, value.mean)}</b><br>"
        f"{ends_text(measure, value)}, {noun}{few}<br>{_sampled_text(first, last, facts)}"
        "<br>Click to open this window in Triage"
    )


def _sampled_text(first: float, last: float, facts: Production) -> str:
    """Return how many calls of a step its run holds, as "770 calls, 109 kept"."""
    times, traffic = facts.times, facts.traffic
    inside = slice(*(round((end - times.first) / times.piece) for end in (first, last)))
    return f"{count(int(traffic.calls[inside].sum()), 'call')}, {int(traffic.kept[inside].sum()):,} kept"


def _token_lane(figure: go.Figure, facts: Production, tokens: Tokens) -> None:
    """Draw the moving average of the tokens of context with its limits."""
    traffic, lane = facts.traffic, 3
    known = np.isfinite(traffic.tokens)
    begin, piece = facts.times.first, facts.times.piece
    x = [_moment(begin + (at + 0.5) * piece) for at in np.flatnonzero(known).tolist()]
    if traffic.drift is None:
        note = "" if known.any() else "not recorded"
        _title(figure, lane, "<b>Context tokens</b>", tokens, note or "too few pieces for limits")
        values = traffic.tokens[known].tolist()
        figure.add_scatter(
            x=x, y=values, yaxis=_axis(lane), mode="lines+markers",
            line={"color": tokens.muted, "width": 1.2},
            marker={"size": 4, "color": tokens.muted}, hoverinfo="x+y", name="tokens",
        )  # fmt: skip
        return
    drift = traffic.drift
    for at, ends in enumerate((drift.high, drift.low)):
        figure.add_scatter(
            x=x, y=ends[known].tolist(), yaxis=_axis(lane), mode="lines", line={"width": 0}, hoverinfo="skip",
            fill="tonexty" if at else None, fillcolor=tokens.flow, name="limits",
        )  # fmt: skip
    beyond = drift.beyond[known]
    colours = [tokens.bad.text if out else tokens.muted for out in beyond.tolist()]
    figure.add_scatter(
        x=x, y=drift.average[known].tolist(), yaxis=_axis(lane), mode="lines+markers",
        line={"width": 1.2, "color": tokens.muted}, cliponaxis=False,
        marker={"size": [8 if out else 4 for out in beyond.tolist()], "color": colours},
        hovertext=[f"{number(value, 0)} tokens" for value in drift.average[known].tolist()],
        hoverinfo="x+text", name="tokens",
    )  # fmt: skip
    out = int(beyond.sum())
    pieces = "minutes" if facts.times.piece == 60 else "pieces"
    note = f"{out:,} of {int(known.sum()):,} {pieces} beyond the limits" if out else ""
    _title(figure, lane, "<b>Context tokens</b>, EWMA", tokens, note, tokens.bad.text)


def _call_lane(figure: go.Figure, facts: Production, tokens: Tokens) -> None:
    """Draw the calls a minute, and a dotted box where none came."""
    traffic, times, lane = facts.traffic, facts.times, 4
    each = (traffic.calls / (times.piece / 60)).tolist()
    x = [_moment(times.first + (at + 0.5) * times.piece) for at in range(len(each))]
    figure.add_bar(
        x=x, y=each, yaxis=_axis(lane), marker={"color": tokens.alive, "line": {"width": 0}},
        hovertext=[f"{number(value, 0)} a minute" for value in each], hoverinfo="x+text", name="calls",
    )  # fmt: skip
    high = max(each, default=0) or 1.0
    for begin, end in _silences(traffic.calls.tolist()):
        figure.add_shape(
            type="rect", x0=_moment(times.first + begin * times.piece), y0=0,
            x1=_moment(times.first + end * times.piece), y1=high / 4, yref=_axis(lane),
            line={"width": 1.2, "dash": "dot", "color": tokens.muted},
        )  # fmt: skip
    note = f"dotted: silent, {traffic.silent:,} min" if times.piece == 60 and traffic.silent else ""
    _title(figure, lane, "<b>Calls</b> a minute", tokens, note)


def _silences(calls: Sequence[int]) -> list[tuple[int, int]]:
    """Return begin and end of each row of pieces without a call, between the first and the last with one."""
    there = [at for at, n in enumerate(calls) if n]
    return [(a + 1, b) for a, b in pairwise(there) if b - a > 1]


def _releases(figure: go.Figure, facts: Production, tokens: Tokens) -> None:
    """Draw a line where a release begins, with its name."""
    for at, release in enumerate(facts.times.releases):
        shown = facts.times.later if release.name == facts.times.release else release.first
        if at == 0 or not release.name:
            continue
        main = release.name == facts.times.release
        figure.add_shape(
            type="line", x0=_moment(shown), x1=_moment(shown), y0=0, y1=LANES[0][1], yref="paper",
            line={"width": 1.8 if main else 1.0, "color": tokens.text, "dash": "solid" if main else "dot"},
        )  # fmt: skip
        if main:
            figure.add_annotation(
                x=_moment(shown), y=1.0, yref="paper", xanchor="center", yanchor="top", showarrow=False,
                text=f"<b>{chart_text(shorten(release.name, RELEASE))}</b> "
                f"{clock(shown, facts.times.last - facts.times.first)}",
                font={"size": 12.5, "color": tokens.text}, bgcolor=tokens.background,
            )  # fmt: skip


def lanes_alt(facts: Production) -> str:
    """Return what the lanes show, in words."""
    parts = []
    for measure in (facts.refusals, facts.score):
        if measure is not None:
            before = "" if measure.before is None else f", before {value_text(measure, measure.before.mean)}"
            parts.append(f"{measure_title(measure.name)} {value_text(measure, measure.since.mean)}{before}")
    calls = count(int(facts.traffic.calls.sum()), "call")
    return f"{capital('; '.join(parts) or 'no measure')}; {calls} in {len(facts.times.steps)} steps"


def topics_chart(rows: Sequence[TopicRow], tokens: Tokens, clickable: bool) -> go.Figure:
    """Draw each topic before (hollow) and since, with its calls and what it adds.

    The custom data of a point is the name of its topic; the topics come in the order of the rows.
    """
    shown = list(rows[:MOST_TOPICS])
    figure = go.Figure()
    for at, row in enumerate(shown):
        if isfinite(row.before) and isfinite(row.since):
            figure.add_shape(
                type="line", x0=row.before, x1=row.since, y0=at, y1=at, layer="below",
                line={"width": 2.5, "color": _topic_colour(row, tokens)},
            )  # fmt: skip
    for side in ("before", "since"):
        known = [(at, row) for at, row in enumerate(shown) if isfinite(getattr(row, side))]
        before = side == "before"
        figure.add_scatter(
            x=[getattr(row, side) for _, row in known], y=[at for at, _ in known], mode="markers",
            cliponaxis=False, name=side,
            marker={
                "size": 9 if before else 10,
                "symbol": "diamond" if before else "circle",
                "color": [_mark_fill(row, before, tokens) for _, row in known],
                "line": {
                    "width": 1.6,
                    "color": [tokens.muted if before else _topic_colour(row, tokens) for _, row in known],
                },
            },
            unselected={"marker": {"opacity": 1}},
            customdata=[[row.name] for _, row in known] if clickable else None,
            hovertext=[_topic_text(row, clickable) for _, row in known], hoverinfo="text",
        )  # fmt: skip
    for at, row in enumerate(shown):
        texts = f"{row.calls_since:,}", signed(100 * row.adds, 1)
        for x, text in zip(COLUMNS, texts, strict=True):
            _column(figure, x, at, text, tokens.text, 12.5)
    for x, text in zip(COLUMNS, ("calls", "adds"), strict=True):
        _column(figure, x, -1, text, tokens.muted, 12)
    height = TOPIC_FRAME + TOPIC_ROW * (len(shown) + 1)
    with_tokens(
        figure, tokens, height, clickmode="event+select" if clickable else "event", showlegend=False,
        margin={"l": 8, "r": 8, "t": 4, "b": 24},
    )  # fmt: skip
    figure.update_xaxes(
        range=[-0.03, COLUMNS[-1] + 0.08], tickvals=[0, 0.5, 1], ticktext=["0", "50 %", "100 %"],
        gridcolor=tokens.border, showgrid=True, zeroline=False,
    )  # fmt: skip
    return figure.update_yaxes(
        range=[len(shown) - 0.4, -1.7], tickvals=list(range(len(shown))), showgrid=False, zeroline=False,
        ticktext=[chart_text(shorten(row.name, NAME)) for row in shown],
    )  # fmt: skip


def _column(figure: go.Figure, x: float, y: float, text: str, colour: str, size: float) -> None:
    figure.add_annotation(
        x=x + 0.06, y=y, xanchor="right", showarrow=False, text=text, font={"size": size, "color": colour}
    )


def _topic_colour(row: TopicRow, tokens: Tokens) -> str:
    return tokens.bad.text if row.change > 0 else tokens.muted


def _mark_fill(row: TopicRow, before: bool, tokens: Tokens) -> str:
    """Return the fill of a mark: hollow before, and since where the change may be chance."""
    if before or not row.is_change:
        return tokens.background
    return _topic_colour(row, tokens)


def _topic_text(row: TopicRow, clickable: bool) -> str:
    sure = "" if row.is_change else ", may be chance"
    click = "<br>Click for its refused cases" if clickable else ""
    return (
        f"<b>{chart_text(shorten(row.name, 40))}</b>: {percent(row.before)} of {row.calls_before:,} before, "
        f"{percent(row.since)} of {row.calls_since:,} since{sure}<br>"
        f"adds {signed(100 * row.adds, 1)} points{click}"
    )


def topics_alt(rows: Sequence[TopicRow]) -> str:
    """Return what the chart of topics shows, in words."""
    first = rows[0]
    return (
        f"Refusals of {count(len(rows), 'topic')} before and since; most by {first.name}: "
        f"{percent(first.before)}, then {percent(first.since)}"
    )
