"""From a Plotly figure to what slides can hold natively."""

from __future__ import annotations

import json

import numpy as np
import plotly.graph_objects as go
import pytest
from made_reports import bars, curves, forest, heat, ranks, versions

from dashboard.charts.figure_data import figure_rows
from dashboard.export.pptx.chart_model import editable_chart
from dashboard.export.pptx.heatmap import heatmap_table
from dashboard.export.pptx.theme import hex_colour, readable_on, scale_colour


def test_horizontal_bars_keep_order_colours_and_texts() -> None:
    found = editable_chart(bars())
    assert found is not None
    assert found.form == "bar"
    assert found.categories == ("Ранжирование", "Retrieval missed it", "不忠实的回答")
    retrieval, generation = found.series
    assert retrieval.y == (120, 412, None)
    assert generation.y == (None, None, 1234)
    assert (retrieval.colour, generation.colour) == ("2B8CC4", "D55E00")
    assert generation.labels == ("", "", "1,234")
    assert found.overlap == 100  # no place has two bars, so each takes the whole of its place
    assert found.x.title == "bad cases"
    assert found.x.form == "#,##0"


def test_grouped_and_stacked_bars_differ() -> None:
    figure = go.Figure([go.Bar(x=["a", "b"], y=[1, 2], name="s"), go.Bar(x=["a", "b"], y=[3, 4], name="t")])
    grouped = editable_chart(figure)
    assert grouped is not None
    assert (grouped.form, grouped.stacked, grouped.overlap, grouped.legend) == ("column", False, 0, True)
    stacked = editable_chart(figure.update_layout(barmode="stack"))
    assert stacked is not None
    assert (stacked.stacked, stacked.overlap) == (True, 100)


def test_bars_over_numbers_with_names_have_the_names_and_their_intervals() -> None:
    found = editable_chart(ranks())
    assert found is not None
    assert found.categories == ("1 80 %", "2 < 3", "rank 3")
    np.testing.assert_allclose(found.series[0].y_arms, [(0.05, 0.05)] * 3)
    assert (found.y.low, found.y.high, found.y.form) == (0.0, 1.0, "0%")
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
    np.testing.assert_allclose(this.y_arms, [(0, 0), (0, 0), (0.05, 0.06)], atol=1e-12)
    assert not others.lines
    assert baseline.y == (0.7, 0.7, 0.7)
    assert (baseline.name, baseline.dash, baseline.legend) == ("baseline", "dash", False)


def test_points_over_numbers_are_a_scatter_with_the_line_at_k() -> None:
    found = editable_chart(curves())
    assert found is not None
    assert found.form == "scatter"
    recall, precision, k = found.series
    assert recall.x == tuple(range(1, 11))
    assert precision.y == pytest.approx([0.8 - 0.05 * at for at in range(1, 11)])
    assert recall.lines
    assert recall.markers
    assert recall.y_arms[4] == pytest.approx((0.04, 0.03))
    assert recall.y_arms[3] == (0.0, 0.0)
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
    assert better.x_arms[0] == pytest.approx((0.04, 0.06))
    assert found.series[2].colour == "808080"
    zero = found.series[3]
    assert (zero.name, zero.x, zero.y) == ("zero", (0.0, 0.0), (-0.5, 2.5))
    assert found.x.low is not None
    assert found.x.low <= -0.09
    assert found.x.high is not None
    assert found.x.high >= 0.14


def test_a_logarithmic_axis_stays_one_and_a_reversed_axis_is_turned() -> None:
    figure = go.Figure(go.Scatter(x=[1, 10, 100], y=[3, 2, 1], mode="lines"))
    figure.update_xaxes(type="log", title="tokens").update_yaxes(autorange="reversed")
    found = editable_chart(figure)
    assert found is not None
    assert found.x.logarithmic
    assert found.y.turned
    assert found.remarks == ("tokens: logarithmic",)


def test_reversed_categories_are_listed_from_below() -> None:
    figure = go.Figure(go.Bar(y=["first", "second"], x=[1, 2], orientation="h"))
    found = editable_chart(figure.update_yaxes(autorange="reversed"))
    assert found is not None
    assert found.categories == ("second", "first")


def test_missing_values_are_gaps_not_zeros() -> None:
    found = editable_chart(go.Figure(go.Bar(x=["a", "b", "c"], y=np.array([0.0, np.nan, 2.0]))))
    assert found is not None
    assert found.series[0].y == (0.0, None, 2.0)


@pytest.mark.parametrize(
    "figure",
    [
        go.Figure(),
        go.Figure(go.Box(y=[1, 2, 3])),
        go.Figure([go.Bar(x=["a"], y=[1]), go.Scatter(x=["a"], y=[1])]),
        go.Figure([go.Scatter(x=[1], y=[1]), go.Scatter(x=[1], y=[1], yaxis="y2")]),
        go.Figure(go.Scatter(x=["a", "b"], y=["c", "d"])),
        heat(),
    ],
    ids=["empty", "box", "mixed", "two axes", "names on both axes", "heatmap"],
)
def test_what_slides_cannot_draw_is_left_to_a_table(figure: go.Figure) -> None:
    assert editable_chart(figure) is None


def test_a_heatmap_is_a_grid_with_its_texts_and_colours_from_above() -> None:
    found = heatmap_table(heat())
    assert found is not None
    assert found.columns == ("0", "32")
    assert found.rows == ("256", "128")
    assert found.cells == (("0.700", "0.720 ★"), ("0.610", ""))
    assert found.colours[0][1] == "000000"
    assert found.colours[1] == ("FFFFFF", "FFFFFF")
    assert found.corner == "size ↓   overlap →"


def test_rows_of_a_heatmap_leave_marks_out_that_only_take_clicks() -> None:
    rows = figure_rows(heat())
    assert len(rows) == 4
    assert rows[3] == {"overlap": "32", "size": "256", "value": 0.72, "text": "0.720 ★"}


def test_rows_of_a_forest_have_ends_pairs_and_what_is_told() -> None:
    row = figure_rows(forest())[0]
    assert row["series"] == "better"
    assert row["y"] == "Recall@5"
    assert row["n"] == 500
    assert row["details"] == "Recall@5: +0.080, 500 pairs"
    lows = [value for name, value in row.items() if name.endswith("low")]
    assert lows == [pytest.approx(0.04)]


def test_rows_survive_a_figure_read_back_from_json() -> None:
    figure = go.Figure(go.Bar(x=["a", "b"], y=np.array([0.25, 0.5])))
    again = go.Figure(json.loads(figure.to_json()))
    assert [row["y"] for row in figure_rows(again)] == [0.25, 0.5]


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("#0b5e94", "0B5E94"), ("#abc", "AABBCC"), ("rgba(1, 2, 3, 0.5)", "010203"),
        ("rgb(300,0,0)", "FF0000"),
        ("grey", "808080"), ("nonsense", "8A949E"), (None, "8A949E"),
    ],
)  # fmt: skip
def test_colours(given: str | None, found: str) -> None:
    assert hex_colour(given) == found


def test_colours_between_stops_and_ink_that_can_be_read_on_them() -> None:
    assert scale_colour([[0, "#000000"], [1, "#ffffff"]], 0.5) == "808080"
    assert scale_colour([[0, "#000000"], [0.5, "#ff0000"], [1, "#ffffff"]], 0.5) == "FF0000"
    assert readable_on("FFFFFF") == "1B2733"
    assert readable_on("0B5E94") == "FFFFFF"
