"""How far the judge agrees with people, beside how far one person agrees with the others."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

import plotly.graph_objects as go

from ragtriage.dashboard.charts.tokens import FONT, Tokens
from ragtriage.dashboard.headlines.judge import rank_correlation
from ragtriage.dashboard.wording.escaping import chart_text, shorten
from ragtriage.data.labels.agreement_report import MetricAgreement
from ragtriage.data.labels.human_ratings import dimension_title
from ragtriage.metrics.number_text import interval_text, number

ROW, FRAME = 56, 48  # pixels
LONGEST_NAME = 28


def trust_height(n_rows: int) -> int:
    """Return the height of the chart in pixels."""
    return FRAME + ROW * n_rows


def trust_strips(agreements: Sequence[MetricAgreement], tokens: Tokens) -> go.Figure:
    """Draw a row a quantity: the judge above, one person below.

    Args:
        agreements: of judged metrics, one a quantity.
        tokens: colours.
    """
    figure = go.Figure()
    for at, agreement in enumerate(agreements):
        _judge(figure, at, agreement, tokens)
        ceiling = agreement.ceilings.get("spearman")
        if ceiling is not None and isfinite(ceiling.annotator):
            _point(figure, ceiling.annotator, at + 0.2, "one person", tokens.muted, "diamond-open")
    figure.add_vline(x=0, line={"color": tokens.muted, "dash": "dot", "width": 1})
    figure.update_xaxes(
        range=[-1, 1.05] if _has_negative(agreements) else [-0.3, 1.05], fixedrange=True, zeroline=False,
        gridcolor=tokens.track, tickfont={"color": tokens.muted},
        title={"text": "rank correlation", "font": {"color": tokens.muted}},
    )  # fmt: skip
    names = [chart_text(shorten(dimension_title(each.dimension), LONGEST_NAME)) for each in agreements]
    figure.update_yaxes(
        range=[len(agreements) - 0.4, -0.6], tickvals=list(range(len(agreements))), ticktext=names,
        fixedrange=True, showgrid=False, zeroline=False, tickfont={"color": tokens.text, "size": 13},
    )  # fmt: skip
    figure.update_layout(
        height=trust_height(len(agreements)),
        margin={"l": 130, "r": 24, "t": 8, "b": 40},
        font={"family": FONT, "size": 12, "color": tokens.text},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        showlegend=False,
        dragmode=False,
    )
    return figure


def _has_negative(agreements: Sequence[MetricAgreement]) -> bool:
    bounds = [rank_correlation(agreement) for agreement in agreements]
    return any(found is not None and isfinite(found[1]) and found[1] < -0.3 for found in bounds)


def _judge(figure: go.Figure, at: int, agreement: MetricAgreement, tokens: Tokens) -> None:
    found = rank_correlation(agreement)
    if found is None:
        figure.add_annotation(
            x=0.5, y=at, text="the judge gave one value throughout: nothing to rank", showarrow=False,
            font={"color": tokens.muted}, bordercolor=tokens.muted, borderpad=3,
        )  # fmt: skip
        return
    value, low, high = found
    shown = isfinite(low) and low > 0
    colour = tokens.good.text if shown else tokens.unclear.text
    if isfinite(low) and isfinite(high):
        figure.add_scatter(
            x=[low, high], y=[at - 0.2] * 2, mode="lines", line={"color": colour, "width": 4 if shown else 2},
            hoverinfo="skip",
        )  # fmt: skip
    _point(
        figure, value, at - 0.2, "judge", colour, "circle" if shown else "circle-open",
        interval_text(low, high),
    )  # fmt: skip


def _point(
    figure: go.Figure, value: float, at: float, who: str, colour: str, symbol: str,
    interval: str = "",
) -> None:  # fmt: skip
    figure.add_scatter(
        x=[value], y=[at], mode="markers+text", text=[f" {who} {number(value)}"], textposition="top center",
        textfont={"color": colour, "size": 12},
        marker={"symbol": symbol, "size": 11, "color": colour, "line": {"color": colour, "width": 2}},
        hovertext=f"{who}: {number(value)} {interval}".strip(), hoverinfo="text", cliponaxis=False,
    )  # fmt: skip
