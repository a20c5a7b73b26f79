"""The pictures of a dataset: which versions pass which questions, and how many questions each page has."""

from collections.abc import Sequence
from math import ceil

import numpy as np
import plotly.graph_objects as go

from ragtriage.dashboard.charts.chart import BARE
from ragtriage.dashboard.charts.tokens import FONT, Tokens
from ragtriage.dashboard.wording.escaping import chart_text, shorten
from ragtriage.data.datasets.coverage import PageCoverage
from ragtriage.data.datasets.item_analysis import ItemAnalysis
from ragtriage.metrics.analysis.items import Group
from ragtriage.metrics.number_text import count, number, percent

ROW, FRAME, PAGES_HEIGHT = 27, 62, 186  # pixels
GAP = 1.5  # questions between two groups
MOST_PAGES, MOST_NAMED, LONGEST_NAME = 150, 3, 22
MOST_COLUMNS = 200  # questions that are drawn; of more, every so-manieth of each group
MOST_BOXES = 150  # questions of which each is a box of its own
DRAWN: tuple[Group, ...] = ("everyone passes", "tell apart", "nobody passes")
UNKNOWN, FAILS, PASSES, SURE, NEVER = range(5)  # what a cell shows


def items_height(versions: int) -> int:
    """Return the height of the chart of versions and questions in pixels."""
    return FRAME + ROW * versions


def items_chart(
    analysis: ItemAnalysis, question_ids: Sequence[str], names: Sequence[str], tokens: Tokens
) -> go.Figure:
    """Draw versions by questions, the best version on top, questions by what they say of the versions.

    The custom data of a column is its question id.
    """
    columns, places, bounds = _columns(analysis)
    disagreeing = set(analysis.against)
    figure = go.Figure()
    _add_cells(figure, analysis, (columns, places), tokens)
    hover = [
        f"{chart_text(question_ids[column])}: difficulty {number(analysis.difficulty[column])}"
        + (f", item-rest r {number(analysis.item_rest[column])}" if column in disagreeing else "")
        for column in columns
    ]
    figure.add_bar(
        x=places, y=[len(names)] * len(places), base=-0.5, width=1, marker={"color": "rgba(0,0,0,0)"},
        customdata=[[question_ids[column]] for column in columns], hovertext=hover, hoverinfo="text",
    )  # fmt: skip
    last = list(bounds)[-1:]
    for title, (start, end) in bounds.items():
        at, anchor = ((start + end) / 2, "center") if [title] != last else (end + 0.6, "right")
        figure.add_annotation(
            x=at, y=1, yref="y domain", xanchor=anchor, yanchor="bottom", text=title, showarrow=False,
            font={"color": tokens.muted, "size": 12},
        )  # fmt: skip
    against = [pair for pair in zip(columns, places, strict=True) if pair[0] in disagreeing]
    _add_frames(figure, [place for _, place in against], len(names), tokens)
    if len(against) <= MOST_NAMED:
        for column, place in against:
            figure.add_annotation(
                x=place + 0.6, y=0, yref="y domain", yanchor="top", showarrow=False,
                xanchor="right" if place > places[-1] / 2 else "left",
                text=f"{chart_text(shorten(question_ids[column], 12))} fails where better versions pass",
                font={"color": tokens.unclear.text, "size": 12},
            )  # fmt: skip
    return _framed(figure, analysis, names, max(places, default=0), tokens)


def _add_frames(figure: go.Figure, places: Sequence[float], rows: int, tokens: Tokens) -> None:
    """Frame columns, all in one trace: a shape for each takes long to draw."""
    x: list[float | None] = []
    y: list[float | None] = []
    for place in places:
        x += [place - 0.6, place + 0.6, place + 0.6, place - 0.6, place - 0.6, None]
        y += [-0.5, -0.5, rows - 0.5, rows - 0.5, -0.5, None]
    figure.add_scatter(
        x=x, y=y, mode="lines", line={"color": tokens.unclear.text, "width": 1.5}, hoverinfo="skip"
    )


def _step(analysis: ItemAnalysis) -> int:
    """Return of how many questions one is drawn."""
    known = len(analysis.groups) - analysis.counts["not known"]
    return max(1, ceil(known / MOST_COLUMNS))


def items_note(analysis: ItemAnalysis) -> str:
    """Return what is said of a picture that leaves questions out; "" where all are drawn."""
    step = _step(analysis)
    return f"1 question of {step:,} drawn" if step > 1 else ""


def _columns(
    analysis: ItemAnalysis,
) -> tuple[list[int], list[float], dict[str, tuple[float, float]]]:
    """Return the columns in the order drawn, the place of each, and the ends of each group by its title."""
    columns: list[int] = []
    places: list[float] = []
    bounds: dict[str, tuple[float, float]] = {}
    at, step = 0.0, _step(analysis)
    order = [tuple(column) for column in -np.nan_to_num(analysis.passes.T)]
    for group in DRAWN:
        own = [column for column, each in enumerate(analysis.groups) if each == group]
        # the pattern of passes, by the best version first, so that like columns stand together
        own = sorted(own, key=order.__getitem__)[::step]
        if not own:
            continue
        bounds[group] = (at, at + len(own) - 1)
        columns += own
        places += [at + step for step in range(len(own))]
        at += len(own) + GAP
    return columns, places, bounds


def _codes(analysis: ItemAnalysis) -> list[list[int]]:
    """Return what each cell shows, versions by questions."""
    passes, groups = analysis.passes, np.array(analysis.groups)
    codes = np.where(passes > 0.5, PASSES, FAILS)
    codes = np.where(groups == "everyone passes", SURE, codes)
    codes = np.where(groups == "nobody passes", NEVER, codes)
    shown: list[list[int]] = np.where(np.isfinite(passes), codes, UNKNOWN).tolist()
    return shown


def _add_cells(
    figure: go.Figure, analysis: ItemAnalysis, drawn: tuple[list[int], list[float]], tokens: Tokens
) -> None:
    """Add a box for each cell; of many questions, one for neighbours that look the same."""
    looks = {
        UNKNOWN: ("rgba(0,0,0,0)", tokens.border),
        FAILS: ("rgba(0,0,0,0)", tokens.bad.text),
        PASSES: (tokens.good_mark, tokens.good_mark),
        SURE: (tokens.alive, tokens.alive),
        NEVER: ("rgba(0,0,0,0)", tokens.muted),
    }
    columns, places = drawn
    joined = len(columns) > MOST_BOXES
    boxes: dict[int, list[tuple[int, float, float]]] = {code: [] for code in looks}  # (row, middle, width)
    for row, all_codes in enumerate(_codes(analysis)):
        codes = [all_codes[column] for column in columns]
        first = 0
        for at in range(1, len(codes) + 1):
            goes_on = at < len(codes) and joined and codes[at] == codes[first]
            if not (goes_on and places[at] - places[at - 1] == 1):
                boxes[codes[first]].append((row, (places[first] + places[at - 1]) / 2, at - first))
                first = at
    for code, own in boxes.items():
        fill, line = looks[code]
        filled = code in (PASSES, SURE)
        figure.add_bar(
            x=[middle for _, middle, _ in own], y=[0.4] * len(own), base=[row - 0.2 for row, _, _ in own],
            width=[width - (0 if filled else 0.14) for _, _, width in own], hoverinfo="skip",
            marker={"color": fill, "line": {"color": line, "width": 1}},
        )  # fmt: skip


def _framed(
    figure: go.Figure, analysis: ItemAnalysis, names: Sequence[str], end: float, tokens: Tokens
) -> go.Figure:
    totals = [round(float(np.nansum(row))) for row in analysis.passes]
    figure.update_xaxes(visible=False, range=[-0.7, end + 0.7], fixedrange=True)
    figure.update_yaxes(
        range=[len(names) - 0.45, -0.55], tickvals=list(range(len(names))), fixedrange=True, showgrid=False,
        ticktext=[
            f"{chart_text(shorten(name, LONGEST_NAME))} <b>{total:,}</b>"
            for name, total in zip(names, totals, strict=True)
        ],
        zeroline=False, tickfont={"color": tokens.text, "size": 12.5}, automargin=True, ticklabelstandoff=6,
    )  # fmt: skip
    return figure.update_layout(
        height=items_height(len(names)), margin={"l": 8, "r": 4, "t": 22, "b": 22},
        font={"family": FONT, "size": 12}, barmode="overlay", bargap=0, hovermode="closest",
        clickmode="event+select", **BARE,
    )  # fmt: skip


def items_alt(analysis: ItemAnalysis, names: Sequence[str]) -> str:
    """Return the picture of versions and questions in words."""
    rates = (
        f"{name} passes {round(float(np.nansum(row))):,}"
        for name, row in zip(names, analysis.passes, strict=True)
    )
    counts = analysis.counts
    return (
        f"{count(len(analysis.groups), 'question')}: {counts['everyone passes']:,} that every version "
        f"passes, {counts['tell apart']:,} that tell them apart, {counts['nobody passes']:,} that none "
        f"passes; {', '.join(rates)}."
    )


def pages_chart(pages: Sequence[PageCoverage], tokens: Tokens) -> go.Figure:
    """Draw the longest pages: width its text, height its questions, a line for its share by root of length.

    The custom data of a bar is the id of its document.
    """
    shown = list(pages[:MOST_PAGES])
    ends = np.cumsum([page.characters for page in shown], dtype=np.float64)
    widths = [float(page.characters) for page in shown]
    middles = [float(end) - width / 2 for end, width in zip(ends, widths, strict=True)]
    most = max([page.questions for page in shown] + [1])
    hover = [
        f"{chart_text(page.doc_id)}: {count(page.questions, 'question')}, its share {number(page.quota, 1)}, "
        f"{page.characters:,} characters"
        for page in shown
    ]
    figure = go.Figure()
    figure.add_bar(
        x=middles, y=[page.questions or 0.07 * most for page in shown], width=[w * 0.96 for w in widths],
        marker={
            "color": [tokens.sequential[5] if page.questions else tokens.unclear.tint for page in shown],
            "line": {
                "color": [
                    tokens.sequential[5] if page.questions else tokens.unclear.text for page in shown
                ],
                "width": [0 if page.questions else 1 for page in shown],
            },
        },
        customdata=[[page.doc_id] for page in shown], hovertext=hover, hoverinfo="text",
    )  # fmt: skip
    starts = [float(end) - width for end, width in zip(ends, widths, strict=True)]
    figure.add_scatter(
        x=[*starts, *ends[-1:]], y=[*(page.quota for page in shown), *(page.quota for page in shown[-1:])],
        mode="lines", line={"color": tokens.text, "width": 1.3, "shape": "hv"}, hoverinfo="skip",
    )  # fmt: skip
    named = sorted(range(len(shown)), key=lambda at: -shown[at].questions)[:MOST_NAMED]
    for at in named:
        if shown[at].questions > max(1.0, 2 * shown[at].quota):
            figure.add_annotation(
                x=middles[at], y=shown[at].questions, yanchor="bottom", showarrow=False,
                text=f"{chart_text(shorten(shown[at].doc_id, LONGEST_NAME))} {shown[at].questions}",
                font={"color": tokens.text, "size": 12},
            )  # fmt: skip
    figure.update_xaxes(visible=False, range=[0, float(ends[-1]) if len(ends) else 1], fixedrange=True)
    figure.update_yaxes(
        range=[0, most * 1.18], gridcolor=tokens.track, zeroline=False, fixedrange=True, nticks=4,
        tickformat="d", tickfont={"color": tokens.muted},
    )  # fmt: skip
    return figure.update_layout(
        height=PAGES_HEIGHT, margin={"l": 28, "r": 4, "t": 6, "b": 6}, font={"family": FONT, "size": 12},
        hovermode="closest", clickmode="event+select", bargap=0, **BARE,
    )  # fmt: skip


def pages_alt(pages: Sequence[PageCoverage]) -> str:
    """Return the picture of the pages in words."""
    bare = [page for page in pages if not page.questions]
    text = sum(page.characters for page in pages) or 1
    share = percent(sum(page.characters for page in bare) / text)
    most = ", ".join(
        f"{page.doc_id} {page.questions}"
        for page in sorted(pages, key=lambda page: -page.questions)[:MOST_NAMED]
    )
    return (
        f"Questions by page: {len(bare):,} of {count(len(pages), 'page')}, {share} of the text, have none; "
        f"most have {most}."
    )
