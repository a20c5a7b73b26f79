"""The pictures of a live test: the difference over time, levels of the arms, answers, power."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from math import sqrt

import plotly.graph_objects as go

from ragtriage.dashboard.charts.chart import with_tokens
from ragtriage.dashboard.charts.tokens import Tokens
from ragtriage.dashboard.headlines.ab import change_text, ends_text, unit_factor, value_text
from ragtriage.dashboard.wording.escaping import chart_text, shorten
from ragtriage.data.ab.ab_test import ArmResult, MetricResult
from ragtriage.data.ab.looks import Look
from ragtriage.metrics.ab.differences import ArmLevel, Difference
from ragtriage.metrics.ab.feedback import DETRACTOR, PROMOTER
from ragtriage.metrics.number_text import percent
from ragtriage.metrics.statistics.power import units_per_arm

LOOKS_HEIGHT, LEVELS_HEIGHT, POWER_HEIGHT = 300, 262, 176  # pixels
ANSWER_ROW, ANSWER_FRAME = 64, 34
NAME, LEAST_SHARE = 16, 0.045  # characters of an arm; a part that holds its number
ROOM = 1.15  # of the axis beyond what is drawn
EARLY = 4  # the first quarter of the looks may leave the picture
STEPS = 40
LATER = 0.35  # opacity of a look that was not yet there at the chosen one


def looks_chart(arm: ArmResult, looks: Sequence[Look], chosen: int, tokens: Tokens) -> go.Figure:
    """Draw the difference of the deciding metric at each look; the custom data of a point is its number.

    Args:
        arm: whose looks they are, as it was known at the chosen one.
        looks: all of the test, the oldest first.
        chosen: number of the look on display, from 1; 0 for the last.
        tokens: colours.
    """
    metric, factor = arm.decides, unit_factor(arm.decides)
    x: list[object] = [
        datetime.fromisoformat(look.at).replace(tzinfo=None) if look.at else "" for look in looks
    ]
    figure = go.Figure()
    band = [factor * look.band_high for look in looks], [factor * look.band_low for look in looks]
    for at, ends in enumerate(band):
        figure.add_scatter(x=x, y=ends, mode="lines", line={"width": 0}, hoverinfo="skip",
            fill="tonexty" if at else None, fillcolor=tokens.flow)  # fmt: skip
    for low in (False, True):
        single = [factor * (look.low if low else look.high) for look in looks]
        figure.add_scatter(x=x, y=single, mode="lines", hoverinfo="skip",
            line={"width": 1, "dash": "dot", "color": tokens.muted})  # fmt: skip
    colours = [_look_colour(look, metric.higher_is_better, tokens) for look in looks]
    figure.add_scatter(
        x=x, y=[factor * look.difference for look in looks], mode="lines+markers",
        line={"width": 2, "color": tokens.primary}, cliponaxis=False,
        marker={
            "size": [13 if at == chosen else 9 for at in range(1, len(looks) + 1)],
            "color": [colour or tokens.background for colour in colours],
            "opacity": [1.0 if at <= chosen else LATER for at in range(1, len(looks) + 1)],
            "line": {"width": 2, "color": [colour or tokens.primary for colour in colours]},
        },
        customdata=[[at] for at in range(1, len(looks) + 1)],
        hovertext=[_look_text(look, metric) for look in looks], hoverinfo="text",
    )  # fmt: skip
    figure.add_hline(y=0, line={"dash": "dash", "width": 1.2, "color": tokens.text})
    if arm.shown_since is not None:
        _mark_shown(figure, arm, tokens)
    with_tokens(
        figure, tokens, LOOKS_HEIGHT, clickmode="event+select", margin={"l": 8, "r": 12, "t": 8, "b": 28}
    )
    figure.update_yaxes(
        range=_look_range(looks, factor), gridcolor=tokens.border, showgrid=True, zeroline=False
    )
    dates = {"tickformat": "%-d %b", "hoverformat": "%-d %b %H:%M"} if looks and looks[0].at else {}
    return figure.update_xaxes(showgrid=False, zeroline=False, linecolor=tokens.border, **dates)


def _mark_shown(figure: go.Figure, arm: ArmResult, tokens: Tokens) -> None:
    since = datetime.fromisoformat(str(arm.shown_since)).replace(tzinfo=None)
    good = arm.decides.outcome == "better"
    colour = tokens.good.text if good else tokens.bad.text
    figure.add_shape(
        type="line", x0=since, x1=since, y0=0, y1=1, yref="paper", line={"width": 2, "color": colour}
    )
    figure.add_annotation(
        x=since, y=1, yref="paper", xanchor="left", yanchor="top", xshift=5, showarrow=False,
        text="shown from here on", font={"size": 12, "color": colour},
    )  # fmt: skip


def _look_colour(look: Look, higher_is_better: bool | None, tokens: Tokens) -> str:
    """Return the fill of a point whose band leaves out zero; "" for a hollow one."""
    if look.band_low <= 0 <= look.band_high:
        return ""
    better = (look.difference > 0) == (higher_is_better is not False)
    return tokens.good_mark if better else tokens.bad.text


def _look_range(looks: Sequence[Look], factor: float) -> tuple[float, float]:
    """Return the ends of the axis: all points, and the band but for the first looks, when it is widest."""
    later = looks[len(looks) // EARLY :]
    high = max(
        [factor * look.band_high for look in later] + [factor * look.difference for look in looks] + [0]
    )
    low = min([factor * look.band_low for look in later] + [factor * look.difference for look in looks] + [0])
    return low * ROOM, high * ROOM


def _look_text(look: Look, metric: MetricResult) -> str:
    return (
        f"{look.at[:16].replace('T', ' ') or 'all rows'}: {change_text(metric, look.difference)}<br>"
        f"band {ends_text(metric, look.band_low, look.band_high)}, "
        f"single look {ends_text(metric, look.low, look.high)}<br>"
        f"{look.base_units:,} and {look.arm_units:,}; click: what was known then"
    )


def looks_alt(arm: ArmResult, looks: Sequence[Look]) -> str:
    """Return what the chart of looks shows, in words."""
    last = looks[-1]
    band = ends_text(arm.decides, last.band_low, last.band_high)
    return f"Difference at {len(looks)} looks; at the last {change_text(arm.decides, last.difference)} {band}"


def levels_chart(
    levels: Mapping[str, ArmLevel], metric: MetricResult, base: str, tokens: Tokens
) -> go.Figure:
    """Draw the mean of each arm with its interval, in the order of their names where these are years."""
    names = sorted(levels)
    factor = unit_factor(metric)
    figure = go.Figure()
    shown = [levels[name] for name in names]
    for at, level in enumerate(shown):
        figure.add_shape(
            type="rect", x0=at - 0.07, x1=at + 0.07, y0=factor * level.low, y1=factor * level.high,
            line={"width": 0}, fillcolor=tokens.alive, layer="below",
        )  # fmt: skip
    figure.add_scatter(
        x=list(range(len(names))), y=[factor * level.mean for level in shown], mode="lines+markers+text",
        line={"width": 1.2, "color": tokens.muted}, cliponaxis=False,
        marker={"size": 13, "color": tokens.muted}, textposition="middle right",
        text=[f"   <b>{value_text(metric, level.mean)}</b>" for level in shown],
        hovertext=[
            f"{chart_text(name)}: {value_text(metric, level.mean)} of {level.units:,}"
            for name, level in zip(names, shown, strict=True)
        ],
        hoverinfo="text",
    )  # fmt: skip
    with_tokens(figure, tokens, LEVELS_HEIGHT, margin={"l": 8, "r": 12, "t": 12, "b": 28})
    titles = [chart_text(shorten(name, NAME)) + (" (base)" if name == base else "") for name in names]
    figure.update_xaxes(
        tickvals=list(range(len(names))), ticktext=titles, range=[-0.5, len(names) - 0.4], showgrid=False,
        zeroline=False, linecolor=tokens.border,
    )  # fmt: skip
    return figure.update_yaxes(gridcolor=tokens.border, showgrid=True, zeroline=False)


def answers_chart(counts: Mapping[str, Sequence[int]], tokens: Tokens) -> go.Figure:
    """Draw the answers from 0 to 10 of each arm as parts of one bar: who detracts, who promotes."""
    names = sorted(counts, reverse=True)
    totals = {name: max(sum(counts[name]), 1) for name in names}
    figure = go.Figure()
    for answer in range(11):
        colour = (
            tokens.bad.text
            if answer <= DETRACTOR
            else tokens.good.text
            if answer >= PROMOTER
            else tokens.alive
        )
        shares = [counts[name][answer] / totals[name] for name in names]
        ink = tokens.text if DETRACTOR < answer < PROMOTER else tokens.background
        figure.add_bar(
            x=shares, y=list(range(len(names))), orientation="h", width=0.5, name=str(answer),
            marker={"color": colour, "line": {"width": 1.5, "color": tokens.background}},
            text=[str(answer) if share >= LEAST_SHARE else "" for share in shares], textangle=0,
            insidetextanchor="middle", textposition="inside", textfont={"size": 12, "color": ink},
            hovertext=[f"{chart_text(name)}: {counts[name][answer]:,} answered {answer}" for name in names],
            hoverinfo="text",
        )  # fmt: skip
    for at, name in enumerate(names):
        ends = (sum(counts[name][: DETRACTOR + 1]), "detract", 0.0, "left", tokens.bad.text), (
            sum(counts[name][PROMOTER:]), "promote", 1.0, "right", tokens.good.text,
        )  # fmt: skip
        for n, word, x, anchor, colour in ends:
            figure.add_annotation(
                x=x, y=at - 0.27, xanchor=anchor, yanchor="bottom", showarrow=False,
                text=f"{percent(n / totals[name])} {word}", font={"size": 12, "color": colour},
            )  # fmt: skip
    height = ANSWER_FRAME + ANSWER_ROW * len(names)
    with_tokens(figure, tokens, height, barmode="stack", margin={"l": 8, "r": 8, "t": 4, "b": 26})
    titles = [f"{chart_text(shorten(name, NAME))}<br>{totals[name]:,}" for name in names]
    figure.update_yaxes(
        tickvals=list(range(len(names))), ticktext=titles, showgrid=False, zeroline=False,
        range=[len(names) - 0.6, -0.75],
    )  # fmt: skip
    ticks = (0.0, 0.25, 0.5, 0.75, 1.0)
    texts = [percent(tick) for tick in ticks]
    return figure.update_xaxes(range=[0, 1], tickvals=ticks, ticktext=texts, showgrid=False, zeroline=False)


def power_chart(metric: MetricResult, result: Difference, worth: float | None, tokens: Tokens) -> go.Figure:
    """Draw how many units an arm show a difference of which size, on a logarithmic axis."""
    variances, factor = (result.base_variance, result.arm_variance), unit_factor(metric)
    now, shown = min(result.base_units, result.arm_units), metric.smallest_shown or 0.0
    seen = abs(result.difference)
    marks = [(shown, now, f"now: {change_text(metric, shown).lstrip('+')}", tokens.text)]
    if metric.needed_per_arm is not None and seen > shown / 40:
        text = f"seen now: {metric.needed_per_arm:,} an arm"
        marks.append((seen, metric.needed_per_arm, text, tokens.unclear.text))
    if worth is not None and shown / 40 < worth < 4 * shown:
        needed = units_per_arm(variances, worth)
        text = f"worth having: {needed:,} an arm"
        marks.append((worth, needed, text, tokens.good.text))
    low, high = min(x for x, *_ in marks) * 0.8, max(x for x, *_ in marks) * 1.4
    steps = [low * (high / low) ** (at / STEPS) for at in range(STEPS + 1)]
    figure = go.Figure()
    figure.add_scatter(
        x=[factor * step for step in steps], y=[units_per_arm(variances, step) for step in steps],
        mode="lines", line={"width": 2, "color": tokens.primary}, hoverinfo="skip",
    )  # fmt: skip
    for x, y, text, colour in marks:
        on_right = x > sqrt(low * high)
        figure.add_scatter(
            x=[factor * x], y=[y], mode="markers+text", text=[text], cliponaxis=False,
            textposition="top left" if on_right and x > 0.8 * high else "top right",
            textfont={"size": 12, "color": colour}, marker={"size": 10, "color": colour},
            hovertext=[text], hoverinfo="text",
        )  # fmt: skip
    with_tokens(figure, tokens, POWER_HEIGHT, margin={"l": 8, "r": 12, "t": 18, "b": 40})
    figure.update_yaxes(type="log", gridcolor=tokens.border, showgrid=True, dtick=1, tickformat="~s")
    unit = "difference" if metric.kind == "mean" else "points"
    title = {"text": unit, "font": {"size": 12}}
    return figure.update_xaxes(title=title, range=[0, factor * high], showgrid=False, zeroline=False)
