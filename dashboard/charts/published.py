"""The charts of the Benchmarks page as pure functions."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import plotly.graph_objects as go

from ragtriage.dashboard.charts.chart import (
    BLUE,
    FRAME,
    GREEN,
    GREY,
    HOVER,
    LEGEND,
    ORANGE,
    PURPLE,
    VERMILION,
    error_bars,
    interval_bars,
    set_places,
    with_layout,
    with_tokens,
)
from ragtriage.dashboard.charts.tokens import Tokens, text_on
from ragtriage.dashboard.headlines.headline import GLYPHS, LOOKS, State
from ragtriage.dashboard.wording.escaping import capital, chart_text, shorten
from ragtriage.dashboard.wording.formatting import metric_label
from ragtriage.data.comparison.published_results import PublishedRow
from ragtriage.data.scoring.summaries import MetricSummary
from ragtriage.metrics.analysis.bands import Bands
from ragtriage.metrics.metric_registry import is_share, title_of
from ragtriage.metrics.number_text import percent

ROW = 34
MARKERS = (
    (ORANGE, "circle-open"),
    (GREEN, "square-open"),
    (PURPLE, "triangle-up-open"),
    (VERMILION, "cross-open"),
    (GREY, "star-open"),
)
NOT_COMPUTED = "0, likely not computed"


def dot_plot(ours: dict[str, MetricSummary], name: str, rows: Sequence[PublishedRow]) -> go.Figure:
    """Draw our means with intervals beside published ones, in percent; each system has its own marker."""
    metrics = [metric for metric in ours if any(metric in row.values for row in rows)]
    labels = [chart_text(metric_label(metric)) for metric in metrics]
    figure = go.Figure()
    for at, row in enumerate(rows):
        colour, symbol = MARKERS[at % len(MARKERS)]
        published = [
            (label, row.values[metric])
            for metric, label in zip(metrics, labels, strict=True)
            if metric in row.values
        ]
        figure.add_scatter(
            x=[100 * value for _, value in published],
            y=[label for label, _ in published],
            mode="markers",
            name=chart_text(shorten(row.name, 40)),
            marker={"color": colour, "symbol": symbol, "size": 11, "line": {"width": 2}},
            hovertemplate="%{y}: %{x:.1f} %<extra>%{fullData.name}</extra>",
        )
    measured = [(label, ours[metric]) for metric, label in zip(metrics, labels, strict=True)]
    figure.add_scatter(
        x=[100 * (metric.mean or 0.0) for _, metric in measured],
        y=[label for label, _ in measured],
        mode="markers",
        name=chart_text(shorten(name, 40)),
        marker={"color": BLUE, "symbol": "diamond", "size": 13},
        error_x=interval_bars([metric for _, metric in measured], 100.0),
        customdata=[[metric.metric] for _, metric in measured],
        hovertemplate="%{y}: %{x:.1f} %<extra>%{fullData.name}</extra>",
    )
    figure.update_yaxes(categoryorder="array", categoryarray=labels[::-1], automargin=True, ticksuffix="  ")
    figure.update_xaxes(title="mean, in percent", range=[-2, 102], automargin=True)
    return with_layout(
        figure, FRAME + 20 + ROW * max(len(metrics), 2), legend=LEGEND, clickmode="event+select"
    )


@dataclass(frozen=True)
class VersionPoint:
    """One version in the history of a metric."""

    label: str
    summary: MetricSummary | None  # its mean; None where it does not have the metric
    uncomputed: bool  # whether its 0 looks like a value that was not computed


def progress(points: Sequence[VersionPoint], metric: str, target: float | None) -> go.Figure:
    """Draw a metric over versions; a gap is not measured, a cross a 0 that looks uncomputed.

    Versions are places on the axis, since names that are cut to fit may be equal.
    """
    names = [chart_text(shorten(point.label, 60)) for point in points]
    factor, unit = (100.0, " %") if is_share(metric) else (1.0, "")
    summaries = [
        point.summary if point.summary is not None and not point.uncomputed else None for point in points
    ]
    means = [None if summary is None else summary.mean for summary in summaries]
    figure = go.Figure(
        go.Scatter(
            x=list(range(len(points))),
            y=[None if mean is None else factor * mean for mean in means],
            mode="lines+markers",
            name=chart_text(metric_label(metric)),
            connectgaps=False,
            line={"color": BLUE},
            marker={"color": BLUE, "size": 10},
            error_y=interval_bars(summaries, factor),
            customdata=names,
            hovertemplate=f"%{{customdata}}: %{{y:.2f}}{unit}<extra></extra>",
        )
    )
    crosses = [place for place, point in enumerate(points) if point.uncomputed]
    if crosses:
        figure.add_scatter(
            x=crosses,
            y=[0.0] * len(crosses),
            mode="markers+text",
            name=NOT_COMPUTED,
            marker={"symbol": "x-thin-open", "size": 13, "color": VERMILION, "line": {"width": 2}},
            text=["not computed?"] * len(crosses),
            textposition="top center",
            customdata=[names[place] for place in crosses],
            hovertemplate="%{customdata}: written as 0, likely not computed<extra></extra>",
        )
    if target is not None:
        figure.add_hline(
            y=factor * target,
            line_dash="dash",
            line_color=GREY,
            annotation_text="good",
            annotation_position="top left",
        )
    set_places(figure, [point.label for point in points])
    axis_title = f"{chart_text(metric_label(metric))}{',' if unit else ''}{unit}"
    figure.update_yaxes(title=axis_title, rangemode="tozero", automargin=True)
    return with_layout(figure, 330, legend=LEGEND, showlegend=bool(crosses))


@dataclass(frozen=True)
class TrackPoint:
    """A mean on a track."""

    name: str  # of the system or version
    value: float  # a share, from 0 to 1
    run_id: str = ""  # its run, "" for a published system


@dataclass(frozen=True)
class Track:
    """One metric with its bands, our mean and those of others, all from 0 to 1."""

    metric: str  # full name
    ours: TrackPoint | None  # our mean; None where it is not measured
    low: float | None  # low, high: its interval, None for none
    high: float | None
    state: State  # of our mean against the bands
    bands: Bands  # of the scale in use
    earlier: tuple[TrackPoint, ...]  # other versions of the project
    published: tuple[TrackPoint, ...]  # published systems
    not_computed: tuple[str, ...] = ()  # versions whose 0 looks uncomputed

    @property
    def flipped(self) -> bool:
        """Return whether lower is better: it is drawn from 1 down to 0, since right is better everywhere."""
        return self.bands.edges[0] > self.bands.edges[-1]

    @property
    def title(self) -> str:
        """Its name on the axis, which says so where it is flipped."""
        plain = capital(title_of(self.metric))
        return FLIPPED.get(self.metric, f"1 − {plain}") if self.flipped else plain

    def at(self, value: float) -> float:
        """Return where a value is drawn, in percent; what lies outside the scale is drawn at its end."""
        share = min(1.0, max(0.0, value))
        return 100 * (1 - share if self.flipped else share)


FLIPPED = {"hallucination": "Not hallucinated"}
TRACK, HALF = 74, 0.13  # pixels of a track; half the height of its bar, in tracks
BELOW, ABOVE = 0.3, 0.34  # where published systems and the name of ours stand
MOST_NAMED = 3


def band_tracks(tracks: Sequence[Track], against: str, tokens: Tokens) -> go.Figure:
    """Draw a track a metric: bands in greys, our mean with its interval, published systems below."""
    figure = go.Figure()
    for row, track in enumerate(tracks):
        _add_bands(figure, row, track, tokens)
        _add_published(figure, row, track, against, tokens)
        _add_versions(figure, row, track, tokens)
        if track.not_computed:
            names = ", ".join(track.not_computed[:MOST_NAMED])
            more = (
                f" and {len(track.not_computed) - MOST_NAMED} more" if track.not_computed[MOST_NAMED:] else ""
            )
            figure.add_annotation(
                x=1, y=row + BELOW, xanchor="left", showarrow=False, bordercolor=tokens.muted, borderpad=2,
                text=chart_text(f"– {shorten(f'{names}{more}', 40)} not measured, written as 0.00"),
                font={"size": 12, "color": tokens.muted},
            )  # fmt: skip
    edges = [" · ".join(f"{track.at(edge):.0f}" for edge in track.bands.edges) for track in tracks]
    titles = [
        f"<b>{chart_text(track.title)}</b><br>{numbers}" for track, numbers in zip(tracks, edges, strict=True)
    ]
    with_tokens(
        figure, tokens, 40 + TRACK * max(1, len(tracks)), clickmode="event+select",
        margin={"l": 8, "r": 16, "t": 4, "b": 28},
    )  # fmt: skip
    figure.update_yaxes(
        tickvals=list(range(len(tracks))), ticktext=titles, range=[len(tracks) - 0.45, -0.6],
        showgrid=False, zeroline=False,
    )  # fmt: skip
    ticks = {"tickvals": [0, 25, 50, 75, 100], "ticktext": ["0", "25", "50", "75", "100 %"]}
    return figure.update_xaxes(range=[-1, 104], showgrid=False, zeroline=False, **ticks)


def _add_bands(figure: go.Figure, row: int, track: Track, tokens: Tokens) -> None:
    """Draw the bands: the lowest white, the others the darker the better; a tick at the first edge."""
    edges = [0.0, *(track.at(edge) for edge in track.bands.edges), 100.0]
    for band, (start, end) in enumerate(pairwise(edges)):
        figure.add_shape(
            type="rect", x0=start, x1=end, y0=row - HALF, y1=row + HALF, layer="below",
            line={"color": tokens.border, "width": 1 if band == 0 else 0},
            fillcolor=_mix(tokens.muted, tokens.background, 0.17 * band),
        )  # fmt: skip
    figure.add_shape(
        type="line", x0=edges[1], x1=edges[1], y0=row - 0.22, y1=row + 0.22,
        line={"color": tokens.text, "width": 2},
    )  # fmt: skip


def _mix(colour: str, ground: str, share: float) -> str:
    """Return a colour laid thinly over a ground."""
    pairs = [(int(colour[at : at + 2], 16), int(ground[at : at + 2], 16)) for at in (1, 3, 5)]
    return "#" + "".join(f"{round(share * over + (1 - share) * under):02x}" for over, under in pairs)


def _add_published(figure: go.Figure, row: int, track: Track, against: str, tokens: Tokens) -> None:
    if not track.published:
        return
    named = [point for point in track.published if point.name == against]
    figure.add_scatter(
        x=[track.at(point.value) for point in track.published], y=[row + BELOW] * len(track.published),
        mode="markers", name="published",
        marker={"symbol": "diamond-open", "size": 9, "color": tokens.muted, "line": {"width": 1.5}},
        hovertext=[f"{chart_text(shorten(p.name, 60))}: {_percent(track, p)}" for p in track.published],
        hovertemplate="%{hovertext}<br>published, on other questions<extra></extra>",
    )  # fmt: skip
    places = [track.at(point.value) for point in track.published]
    for point in named[:1]:
        left = track.at(point.value) > 55
        figure.add_annotation(
            x=min(places) if left else max(places), y=row + BELOW, showarrow=False,
            xanchor="right" if left else "left", xshift=-8 if left else 8,
            text=chart_text(f"{shorten(point.name, 30)} {_percent(track, point)}"),
            font={"size": 12, "color": tokens.muted},
        )  # fmt: skip


def _percent(track: Track, point: TrackPoint) -> str:
    return percent(1 - point.value if track.flipped else point.value, 1)


def _add_versions(figure: go.Figure, row: int, track: Track, tokens: Tokens) -> None:
    """Draw our mean with its interval and name, and the other versions as small hollow dots."""
    if track.earlier:
        points = [*track.earlier, *([track.ours] if track.ours else [])]
        figure.add_scatter(
            x=[track.at(point.value) for point in points], y=[row] * len(points), mode="lines+markers",
            name="other versions", line={"color": tokens.primary, "width": 1.5},
            marker={"size": 8, "color": tokens.background, "line": {"color": tokens.primary, "width": 2}},
            customdata=[[track.metric, point.run_id] for point in points],
            hovertext=[f"{chart_text(shorten(p.name, 60))}: {_percent(track, p)}" for p in points],
            hovertemplate=HOVER,
        )  # fmt: skip
    if track.ours is None:
        return
    ours, state = track.ours, getattr(tokens, LOOKS[track.state]).text
    bounds = [None if bound is None else track.at(bound) for bound in (track.low, track.high)]
    low, high = sorted(bounds) if None not in bounds else (None, None)  # type: ignore[type-var] # none is None here
    place = track.at(ours.value)
    label = f"{shorten(ours.name, 24)} {_percent(track, ours)} {GLYPHS[track.state]}"
    figure.add_scatter(
        x=[place], y=[row], mode="markers", name="ours",
        marker={"size": 14, "color": state, "line": {"color": tokens.background, "width": 1.5}},
        error_x=None if low is None else error_bars([place], [low], [high], width=0)
        | {"thickness": 5, "color": _mix(state, tokens.background, 0.5)},
        customdata=[[track.metric, ""]],
        hovertext=[chart_text(label)], hovertemplate=HOVER,
    )  # fmt: skip
    figure.add_annotation(
        x=place, y=row - ABOVE, showarrow=False, text=f"<b>{chart_text(label)}</b>",
        xanchor="left" if place < 25 else "right" if place > 70 else "center",
        font={"size": 13, "color": state},
    )  # fmt: skip


def claim_shares(parts: Sequence[tuple[str, float, str]], tokens: Tokens) -> go.Figure:
    """Draw the claims of the answers as one bar: where each share of them comes from.

    Args:
        parts: (name, share from 0 to 1, kind: "good", "bad", "alive", or "open" for what is unaccounted for).
        tokens: colours.
    """
    colours = {"good": tokens.good_mark, "bad": tokens.stages["generation"], "alive": tokens.alive}
    figure = go.Figure()
    for name, share, kind in parts:
        colour = colours.get(kind, tokens.unclear.tint)
        hatched = {"shape": "/", "fgcolor": tokens.unclear.text, "size": 7} if kind == "open" else None
        figure.add_bar(
            x=[100 * share], y=[0], orientation="h", name=chart_text(name),
            marker={"color": colour, "line": {"color": tokens.background, "width": 1}, "pattern": hatched},
            text=None if hatched else f"{100 * share:.1f}",
            textposition="inside", insidetextanchor="middle",
            textfont={"size": 13, "color": text_on(colour)}, textangle=0,
            hovertemplate=f"{chart_text(name)}: {percent(share, 1)}<extra></extra>",
        )  # fmt: skip
    with_tokens(figure, tokens, 64, barmode="stack", margin={"l": 0, "r": 0, "t": 4, "b": 4})
    figure.update_xaxes(visible=False, range=[0, 100])
    return figure.update_yaxes(visible=False)
