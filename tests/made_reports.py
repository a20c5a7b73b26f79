"""Reports made by hand: every kind of chart, several scripts, and texts that mean harm."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from dashboard.charts.overview import Point, trend
from dashboard.charts.style import LEGEND, error_bars, laid_out
from dashboard.stories.report import Report
from dashboard.stories.story import RenderedSection

__all__ = ["HOSTILE", "LONG_ANSWER", "bars", "curves", "forest", "full_report", "heat", "ranks", "versions"]

HOSTILE = '<script>alert(1)</script><img src=x onerror=alert(2)> ]]> & "q" \x07\x1b[0m\x00 \u202e end'
LONG_ANSWER = "=HYPERLINK(1) " + "长答案 very long answer. " * 430 + "THE END"


def bars() -> go.Figure:
    figure = go.Figure()
    figure.add_bar(
        y=["Retrieval missed it", "Ранжирование"], x=[412, 120], name="retrieval", orientation="h",
        marker_color="#2b8cc4", text=["412", "120"], textposition="outside", cliponaxis=False,
    )  # fmt: skip
    figure.add_bar(
        y=["不忠实的回答"], x=[1234], name="generation", orientation="h", marker_color="rgb(213, 94, 0)",
        text=["1,234"], textposition="outside", cliponaxis=False,
    )  # fmt: skip
    figure.update_yaxes(
        categoryorder="array", categoryarray=["Ранжирование", "Retrieval missed it", "不忠实的回答"]
    )
    figure.update_xaxes(title="bad cases", tickformat=",d")
    return laid_out(figure, 200, legend=LEGEND)


def forest() -> go.Figure:
    names = ["Recall@5", "Faithfulness", "=cmd|' /C calc'!A0"]
    figure = go.Figure()
    for at, (name, colour) in enumerate(
        (("better", "#009E73"), ("worse", "#D55E00"), ("cannot tell", "grey"))
    ):
        middle = (0.08, -0.05, 0.01)[at]
        figure.add_scatter(
            x=[middle], y=[names[at]], mode="markers", name=name,
            marker={"color": colour, "symbol": "triangle-up", "size": 11},
            error_x=error_bars([middle], [middle - 0.04], [middle + 0.06]), customdata=[[500 + at]],
            hovertemplate="%{y}: %{x:+.3f}, %{customdata[0]} pairs<extra></extra>",
        )  # fmt: skip
    figure.add_vline(x=0, line_dash="dash", line_color="#8a949e")
    figure.update_yaxes(categoryorder="array", categoryarray=names[::-1], automargin=True)
    figure.update_xaxes(title="difference to the baseline, 95 % interval")
    return laid_out(figure, 200, legend=LEGEND)


def curves() -> go.Figure:
    figure = go.Figure()
    ks = list(range(1, 11))
    for name, colour, start, step in (("Recall", "#2b8cc4", 0.3, 0.06), ("Precision", "#D55E00", 0.8, -0.05)):
        figure.add_scatter(
            x=ks, y=[start + step * k for k in ks], mode="lines+markers", name=name, line={"color": colour},
            error_y={"type": "data", "symmetric": False, "array": [0.03 if k == 5 else None for k in ks],
                     "arrayminus": [0.04 if k == 5 else None for k in ks]},
            customdata=[[1000 + k] for k in ks], hovertemplate="k = %{x}: %{y:.2f}, n = %{customdata[0]:,}",
        )  # fmt: skip
    figure.add_vline(x=5, line_dash="dot", annotation_text="k = 5")
    figure.update_xaxes(title="k", range=[0.5, 10.5], dtick=1)
    figure.update_yaxes(title="mean over questions", range=[0, 1.02])
    return laid_out(figure, 380, legend=LEGEND)


def heat() -> go.Figure:
    figure = go.Figure(
        go.Heatmap(
            x=["0", "32"], y=["128", "256"], z=[[0.61, None], [0.7, 0.72]],
            text=[["0.610", ""], ["0.700", "0.720 ★"]], colorscale=[[0, "#ffffff"], [1, "#000000"]],
        )
    )  # fmt: skip
    figure.add_scatter(
        x=["0"], y=["128"], mode="markers", marker={"color": "rgba(0,0,0,0)"}, customdata=[["click"]]
    )
    figure.update_xaxes(title="overlap", type="category").update_yaxes(title="size", type="category")
    return laid_out(figure, 240)


def ranks() -> go.Figure:
    values, lows, highs = [0.8, 0.5, 0.3], [0.75, 0.45, 0.25], [0.85, 0.55, 0.35]
    figure = go.Figure(go.Bar(x=[0, 1, 2], y=values, error_y=error_bars(values, lows, highs)))
    figure.update_xaxes(title="rank", tickvals=[0, 1, 2], ticktext=["<b>1</b><br>80 %", "2 &lt; 3", "rank 3"])
    figure.update_yaxes(range=[0, 1.05], tickformat=".0%")
    figure.add_hline(y=0.3, line_dash="dash", annotation_text="alert above 30 %")
    return laid_out(figure, 300, showlegend=False)


def versions() -> go.Figure:
    points = [
        Point(f"v{at} 版本", f"2026-11-0{at}", mean, mean - 0.05, mean + 0.06, 1000 + at, at == 3)
        for at, mean in ((1, 0.63), (2, 0.66), (3, 0.69))
    ]
    return trend(points, "Faithfulness", 0.7)


def cases() -> list[dict[str, Any]]:
    full = {
        "question_id": "q-17",
        "question": "Кто написал роман «Война и мир»? 谁写的？",
        "history": [{"role": "user", "text": "Привет"}, {"role": "assistant", "text": "你好"}],
        "answer": "Лев Толстой написал роман. It was published in 1869.",
        "reference_answer": "Лев Толстой",
        "retrieved": [
            {"id": "d1", "text": "Лев Толстой — автор романа. " * 40, "score": 12.3},
            {"id": "d2", "text": "战争与和平是列夫·托尔斯泰的小说。"},
        ],
        "relevant": [{"id": "d1", "grade": 1}],
        "claims": [
            {"text": "Лев Толстой написал роман", "supported_by": [1], "in_reference": True},
            {"text": "It was published in 1869", "supported_by": []},
            {"text": "against it", "supported_by": [], "contradicted_by": [2]},
        ],
        "scores": {"faithfulness": 0.5, "correctness": {"value": 1.0, "reason": "as the reference"}},
        "tags": {"lang": "ru"},
    }
    hostile = {"question": HOSTILE, "answer": LONG_ANSWER, "retrieved": [{"id": "x", "text": HOSTILE}]}
    return [full, hostile]


def wide_rows() -> list[dict[str, str]]:
    return [{f"column {at}": f"{at}.5 [0.1, 0.2]" for at in range(14)}] * 20


def long_rows(n: int) -> list[dict[str, Any]]:
    return [
        {"Slice": f"team: {at} поиск 搜索", "Bad": f"{at} of 1,000", "Share": at / 1000, "n": at, "p": None}
        for at in range(n)
    ]


def full_report(made: Sequence[RenderedSection] | None = None, **more: Any) -> Report:
    """Give a report with a point of each kind, or with the points given."""
    points = made or (
        RenderedSection(
            "verdict", "FAIL: faithfulness is below its gate", "It is 0.78 [0.75, 0.81]. 忠实度低于门槛。",
            rows=[{"Metric": "Faithfulness", "Mean": "0.78", "=SUM(A1)": "+0.1"}], facts=("1,000 questions",),
            note="Мы не выпускаем эту версию.",
        ),
        RenderedSection("change", "Did it help?", "Recall@5 +0.08.", forest(), facts=("500 pairs",)),
        RenderedSection("fix_first", "What should be fixed first?", "", bars(), alt="Stages"),
        RenderedSection(
            "trend", "Faithfulness over versions", "", versions(), alt="Faithfulness of each version"
        ),
        RenderedSection("retrieval", "Retrieval over k", "", curves(), alt="Recall and precision over k"),
        RenderedSection("alignment", "Use by rank", "", ranks(), alt="Use of documents by rank"),
        RenderedSection("chunking", "Chunking grid", "", heat(), alt="Recall over size and overlap"),
        RenderedSection("slices", "Where does it do worst?", "A long table.", rows=long_rows(60)),
        RenderedSection("wide", "A wide table", rows=wide_rows()),
        RenderedSection("cases", "Examples", cases=cases()),
        RenderedSection("text", HOSTILE, note="Fix the generator.\n下一步：修复生成器\n" + HOSTILE),
    )  # fmt: skip
    facts = {
        "run": "v6 (abcdef123456)",
        "data set": f"iris 1.2 {HOSTILE}",
        "date": "2026-11-21",
        "how to reproduce": "ragtriage metrics abcdef123456 --k 1,5\nragtriage gate abcdef123456",
    }
    caveats = ("Used documents are estimated from words.", "120 answers were not scored.")
    given = {
        "subtitle": "Version 6 against 5",
        "audience": "lead",
        "facts": facts,
        "caveats": caveats,
        **more,
    }
    return Report("Iris: 是否发布 v6? Стоит ли?", made=tuple(points), **given)
