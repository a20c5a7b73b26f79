"""From the specification of a chart to Plotly, to what slides can hold, and to rows of a table."""

from __future__ import annotations

import html
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from made_reports import bars, curves, forest, heat, ranks, versions

from ragtriage.dashboard.charts.chart import Axis, Chart, Heatmap, Series, chart_rows, finite
from ragtriage.dashboard.charts.plotly_figure import plotly_figure
from ragtriage.dashboard.charts.version_lines import Point, trend
from ragtriage.dashboard.present.export.pptx.chart_model import editable_chart, error_lengths
from ragtriage.dashboard.present.export.pptx.style import hex_digits, readable_on, scale_colour
from ragtriage.dashboard.present.export.pptx.tables import heatmap_table

BLUE = "#0b5e94"


def lengths(series: Series) -> list[tuple[float, float]]:
    return error_lengths(series, series.y)


def test_a_series_without_points_is_left_out() -> None:
    only = trend([Point("v1", "2026-11-01", 0.6, 0.5, 0.7, 30, True)], "Faithfulness", None)
    assert [len(series.x) for series in only.series] == [0, 1]
    found = editable_chart(only)
    assert found is not None
    assert [series.y for series in found.series] == [(0.6,)]


def test_horizontal_bars_keep_order_colours_and_texts() -> None:
    found = editable_chart(bars())
    assert found is not None
    assert found.form == "bar"
    assert found.categories == ("Ранжирование", "Retrieval missed it", "不忠实的回答")
    retrieval, generation = found.series
    assert [retrieval.y, generation.y] == [(120, 412, None), (None, None, 1234)]
    assert (retrieval.colour, generation.colour) == ("#2b8cc4", "#d55e00")
    assert generation.text == ("", "", "1,234")
    assert found.overlap == 100  # no place has two bars, so each takes the whole of its place
    assert found.x.title == "bad cases"
    assert found.x.format == "#,##0"


def _columns(*series: Series, names: tuple[str, ...] = ("a", "b"), **settings: Any) -> Chart:
    return Chart("bars", series, Axis(names=names), Axis(), 200, **settings)


def test_grouped_and_stacked_bars_differ() -> None:
    chart = _columns(Series("s", (0, 1), (1, 2), BLUE), Series("t", (0, 1), (3, 4), BLUE))
    grouped = editable_chart(chart)
    assert grouped is not None
    assert (grouped.form, grouped.stacked, grouped.overlap, grouped.legend) == ("column", False, 0, True)
    stacked = editable_chart(replace(chart, stacked=True))
    assert stacked is not None
    assert (stacked.stacked, stacked.overlap) == (True, 100)


def test_bars_over_numbers_with_names_have_the_names_and_their_intervals() -> None:
    found = editable_chart(ranks())
    assert found is not None
    assert found.categories == ("1 80 %", "2 < 3", "rank 3")
    np.testing.assert_allclose(lengths(found.series[0]), [(0.05, 0.05)] * 3)
    assert (found.y.low, found.y.high, found.y.format) == (0.0, 1.0, "0%")
    assert found.remarks == ("dashed line at 30 %: alert above 30 %",)


def test_points_over_named_places_are_a_line_chart_with_the_baseline_across() -> None:
    found = editable_chart(versions())
    assert found is not None
    assert found.form == "line"
    assert found.categories == ("v1 版本", "v2 版本", "v3 版本")
    others, this, baseline = found.series
    assert others.y == pytest.approx((0.63, 0.66, None))
    assert this.y[:2] == (None, None)
    assert this.y[2] == pytest.approx(0.69)
    np.testing.assert_allclose(lengths(this), [(0, 0), (0, 0), (0.05, 0.06)], atol=1e-12)
    assert others.line is None
    assert baseline.y == (0.7, 0.7, 0.7)
    assert (baseline.name, baseline.line, baseline.in_legend) == ("baseline", "dash", False)


def test_points_over_numbers_are_a_scatter_with_the_line_at_k() -> None:
    found = editable_chart(curves())
    assert found is not None
    assert found.form == "scatter"
    recall, precision, k = found.series
    assert recall.x == tuple(range(1, 11))
    assert precision.y == pytest.approx([0.8 - 0.05 * at for at in range(1, 11)])
    assert recall.line == "solid"
    assert recall.symbol
    assert lengths(recall)[4] == pytest.approx((0.04, 0.03))
    assert lengths(recall)[3] == (0.0, 0.0)
    assert k.x == (5.0, 5.0)
    assert k.y == (found.y.low, found.y.high) == (0.0, 1.0)
    assert found.x.step == 1


def test_a_forest_is_a_scatter_whose_rows_have_names() -> None:
    found = editable_chart(forest())
    assert found is not None
    assert found.form == "scatter"
    assert found.y.names == ("=cmd|' /C calc'!A0", "Faithfulness", "Recall@5")
    better = found.series[0]
    assert (better.x, better.y) == ((0.08,), (2,))
    assert error_lengths(better, better.x)[0] == pytest.approx((0.04, 0.06))
    assert found.series[2].colour == "#808080"
    zero = found.series[3]
    assert (zero.name, zero.x, zero.y) == ("zero", (0.0, 0.0), (-0.5, 2.5))
    assert found.x.low is not None
    assert found.x.low <= -0.09
    assert found.x.high is not None
    assert found.x.high >= 0.14


def test_a_logarithmic_axis_stays_one_and_a_reversed_axis_stays_reversed() -> None:
    series = Series("", (1, 10, 100), (3, 2, 1), BLUE, line="solid", symbol="")
    found = editable_chart(
        Chart("points", (series,), Axis("tokens", logarithmic=True), Axis(reversed=True), 200)
    )
    assert found is not None
    assert found.x.logarithmic
    assert found.y.reversed
    assert found.remarks == ("tokens: logarithmic",)


def test_an_axis_of_names_lists_them_from_below_and_cannot_be_reversed() -> None:
    with pytest.raises(ValueError, match="list the names in the other order"):
        Axis(names=("first", "second"), reversed=True)


def test_missing_values_are_gaps_not_zeros() -> None:
    found = editable_chart(
        _columns(Series("", (0, 1, 2), finite([0.0, float("nan"), 2.0]), BLUE), names=("a", "b", "c"))
    )
    assert found is not None
    assert found.series[0].y == (0.0, None, 2.0)


def test_a_chart_without_points_is_no_editable_chart() -> None:
    assert editable_chart(_columns()) is None


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Series("s", (1, 2), (1,), BLUE), "'s': 1 y for 2 points"),
        (lambda: Series("s", (1, 2), (1, 2), BLUE, low=(0,), high=(2, 3)), "'s': 1 low for 2 points"),
        (lambda: Chart("bars", (), Axis(), Axis(), 200), "bars need names"),
        (lambda: Chart("points", (), Axis(names=("a",)), Axis(names=("b",)), 200), "draw a Heatmap"),
        (
            lambda: Heatmap("", Axis(names=("a",)), Axis(names=("b",)), ((1, 2),), (("1",),), 200),
            "values must have 1 rows of 1 cells",
        ),
    ],
    ids=[
        "y too short",
        "low too short",
        "bars over numbers",
        "names on both axes",
        "cells beside the columns",
    ],
)
def test_a_specification_that_cannot_be_drawn_is_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_a_heatmap_is_a_grid_with_its_texts_and_colours_from_above() -> None:
    found = heatmap_table(heat())
    assert found.columns == ("0", "32")
    assert found.rows == ("256", "128")
    assert found.cells == (("0.700", "0.720 ★"), ("0.610", ""))
    assert found.colours[0][1] == "000000"
    assert found.colours[1] == ("FFFFFF", "FFFFFF")
    assert found.corner == "size ↓   overlap →"


def test_rows_of_a_heatmap_leave_marks_out_that_only_take_clicks() -> None:
    rows = chart_rows(heat())
    assert len(rows) == 4
    assert rows[3] == {"overlap": "32", "size": "256", "value": 0.72, "text": "0.720 ★"}


def test_rows_of_a_forest_have_ends_pairs_and_what_is_told() -> None:
    row = chart_rows(forest())[0]
    assert row["series"] == "better"
    assert row["y"] == "Recall@5"
    assert row["n"] == 500
    assert row["details"] == "Recall@5: +0.080, 500 pairs"
    lows = [value for name, value in row.items() if name.endswith("low")]
    assert lows == [pytest.approx(0.04)]


def test_plotly_and_the_rows_have_the_same_numbers() -> None:
    chart = forest()
    figure = plotly_figure(chart)
    drawn = [(name, x) for trace in figure.data for name, x in zip(trace.y, trace.x, strict=True)]
    title = chart.x.title
    assert [(html.escape(row["y"], quote=False), row[title]) for row in chart_rows(chart)] == drawn


@pytest.mark.parametrize("colour", ["#0b5e9", "grey", "rgb(1, 2, 3)", "0b5e94", "#0b5e94; x", ""])
def test_a_colour_is_six_hex_digits(colour: str) -> None:
    with pytest.raises(ValueError, match="six hex digits"):
        Series("s", (1,), (1,), colour)


def test_slides_take_colours_without_the_hash() -> None:
    assert hex_digits("#0b5e94") == "0B5E94"


def test_colours_between_stops_and_ink_that_can_be_read_on_them() -> None:
    assert scale_colour([(0, "#000000"), (1, "#ffffff")], 0.5) == "808080"
    assert scale_colour([(0, "#000000"), (0.5, "#ff0000"), (1, "#ffffff")], 0.5) == "FF0000"
    assert readable_on("FFFFFF") == "1B2733"
    assert readable_on("0B5E94") == "FFFFFF"
