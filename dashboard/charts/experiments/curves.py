"""The charts of experiments as pure functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ragtriage.dashboard.charts.chart import Axis, Chart, ErrorBars, ReferenceLine, Series, finite
from ragtriage.dashboard.charts.style import BLUE, GREY, ORANGE, PURPLE
from ragtriage.dashboard.wording.escaping import shorten
from ragtriage.data.experiments.position import PublishedCurves
from ragtriage.data.experiments.summary import ArmResult
from ragtriage.metrics.experiments.noise import NoiseEffect
from ragtriage.metrics.experiments.position import PositionEffect
from ragtriage.metrics.number_text import interval_text, number, percent
from ragtriage.metrics.statistics.intervals import Interval

HEIGHT, ROW, FRAME = 360, 34, 80
PUBLISHED = (("dash", "square-open"), ("dot", "diamond-open"), ("dash", "triangle-up-open"))
LONGEST_NAME = 44


def position_curve(
    effect: PositionEffect,
    documents: int,
    title: str,
    floor: Interval | None,
    ceiling: Interval | None,
    published: PublishedCurves | None,
) -> Chart:
    """Return quality by the place of the gold document, from the first (0 %) to the last (100 %).

    Args:
        effect: of the place.
        documents: in a context.
        title: of the quality.
        floor: closed book; None where not asked.
        ceiling: the gold document alone.
        published: curves of another data set, drawn dashed in grey; None for none.
    """
    series = [_curve(title, [_place(rank, documents) for rank in effect.ranks], effect.means, effect.ranks)]
    for (dash, symbol), curve in zip(PUBLISHED, published.curves if published else (), strict=False):
        assert published is not None  # noqa: S101 -- its curves are listed
        series.append(
            Series(
                f"{curve.name}, published, other data",
                tuple(_place(rank, published.documents) for rank in published.ranks),
                finite(curve.quality),
                GREY,
                details=tuple(
                    f"{curve.name}, rank {rank} of {published.documents}: {percent(value)} (published)"
                    for rank, value in zip(published.ranks, curve.quality, strict=True)
                ),
                line="dash" if dash == "dash" else "dot",
                line_width=1.5,
                symbol=symbol,
                size=7,
            )
        )
    lines = [_line(floor, "closed book", "top left"), _line(ceiling, "gold alone", "top left")]
    return Chart(
        "points",
        tuple(series),
        Axis("place of the gold document, first to last", low=-0.03, high=1.03, step=0.25, format=".0%"),
        Axis(title, low=0, high=1.03, format=".0%"),
        HEIGHT,
        lines=tuple(line for line in lines if line is not None),
    )


def _place(rank: int, documents: int) -> float:
    return (rank - 1) / max(documents - 1, 1)


def _line(value: Interval | None, name: str, position: str) -> ReferenceLine | None:
    if value is None or not value.n_scored:
        return None
    return ReferenceLine(value.mean, False, ORANGE, "dot", f"{name} {percent(value.mean)}", position)


def _curve(name: str, x: Sequence[float], means: Sequence[Interval], labels: Sequence[object]) -> Series:
    return Series(
        name,
        tuple(x),
        finite(mean.mean for mean in means),
        BLUE,
        low=finite(mean.low for mean in means),
        high=finite(mean.high for mean in means),
        error_bars=ErrorBars(cap=5),
        n=tuple(mean.n_scored for mean in means),
        details=tuple(
            f"{label}: {number(mean.mean, 3)} {interval_text(mean.low, mean.high, 3)}, n = {mean.n_scored:,}"
            for label, mean in zip(labels, means, strict=True)
        ),
        line="solid",
        line_width=2.5,
        symbol="circle",
        size=9,
    )


def noise_curve(effect: NoiseEffect, title: str) -> Chart:
    """Return quality by the share of noise in the context."""
    labels = [f"{percent(level)} noise" for level in effect.levels]
    return Chart(
        "points",
        (_curve(title, effect.levels, effect.means, labels),),
        Axis("share of noise in the context", low=-0.03, high=1.0, step=0.2, format=".0%"),
        Axis(title, low=0, high=1.03, format=".0%"),
        HEIGHT,
        legend=False,
    )


def outcome_bars(shares: Mapping[str, Interval]) -> Chart:
    """Return what answers from an altered document follow, as shares with intervals."""
    names = list(shares)[::-1]
    means = [shares[name] for name in names]
    series = Series(
        "",
        finite(mean.mean for mean in means),
        tuple(float(at) for at in range(len(names))),
        PURPLE,
        low=finite(mean.low for mean in means),
        high=finite(mean.high for mean in means),
        error_bars=ErrorBars(cap=5),
        n=tuple(mean.n_scored for mean in means),
        details=tuple(
            f"{name}: {percent(mean.mean)} {interval_text(mean.low, mean.high)}, n = {mean.n_scored:,}"
            for name, mean in zip(names, means, strict=True)
        ),
        in_legend=False,
    )
    return Chart(
        "bars",
        (series,),
        Axis("share of answers", low=0, high=1.0, format=".0%"),
        Axis(names=tuple(names)),
        FRAME + ROW * len(names),
        horizontal=True,
        legend=False,
    )


def arm_dots(arms: Sequence[ArmResult], title: str) -> Chart:
    """Return the quality of each arm with its interval, the first on top."""
    listed = list(reversed(arms))
    means = [arm.quality for arm in listed]
    series = Series(
        title,
        finite(mean.mean for mean in means),
        tuple(float(at) for at in range(len(listed))),
        BLUE,
        low=finite(mean.low for mean in means),
        high=finite(mean.high for mean in means),
        error_bars=ErrorBars(cap=5),
        n=tuple(mean.n_scored for mean in means),
        symbol="circle",
        size=10,
        in_legend=False,
    )
    return Chart(
        "points",
        (series,),
        Axis(title, low=0, high=1.03),
        Axis(names=tuple(shorten(arm.arm.title, LONGEST_NAME) for arm in listed), unique=False),
        FRAME + ROW * max(len(listed), 2),
        horizontal=True,
        legend=False,
    )
