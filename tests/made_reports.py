"""Reports made by hand: every kind of chart, several scripts, and texts that mean harm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ragtriage.dashboard.charts.chart import Axis, Chart, Heatmap, ReferenceLine, Series
from ragtriage.dashboard.charts.version_lines import Point, trend
from ragtriage.dashboard.present.stories.report import Report
from ragtriage.dashboard.present.stories.story import RenderedSection
from ragtriage.metrics.result_table import ResultTable, Row

__all__ = [
    "HOSTILE",
    "LONG_ANSWER",
    "bars",
    "curves",
    "forest",
    "full_report",
    "heat",
    "long_rows",
    "many_points",
    "ranks",
    "table",
    "versions",
]

HOSTILE = '<script>alert(1)</script><img src=x onerror=alert(2)> ]]> & "q" \x07\x1b[0m\x00 \u202e end'
LONG_ANSWER = "=HYPERLINK(1) " + "长答案 very long answer. " * 430 + "THE END"


def bars() -> Chart:
    return Chart(
        "bars",
        (
            Series("retrieval", (412, 120), (1, 0), "#2b8cc4", text=("412", "120")),
            Series("generation", (1234,), (2,), "#d55e00", text=("1,234",)),
        ),
        Axis("bad cases", format=",d"),
        Axis(names=("Ранжирование", "Retrieval missed it", "不忠实的回答")),
        200,
        horizontal=True,
    )


def forest() -> Chart:
    names = ("Recall@5", "Faithfulness", "=cmd|' /C calc'!A0")
    differences = (("better", "#009E73", 0.08), ("worse", "#D55E00", -0.05), ("cannot tell", "#808080", 0.01))
    series = tuple(
        Series(
            name, (middle,), (2 - at,), colour, low=(middle - 0.04,), high=(middle + 0.06,), n=(500 + at,),
            details=(f"{names[at]}: {middle:+.3f}, {500 + at} pairs",), symbol="triangle-up", size=11,
        )
        for at, (name, colour, middle) in enumerate(differences)
    )  # fmt: skip
    return Chart(
        "points", series, Axis("difference to the baseline, 95 % interval"), Axis(names=names[::-1]), 200,
        horizontal=True, lines=(ReferenceLine(0, True, "#8a949e"),),
    )  # fmt: skip


def curves() -> Chart:
    ks = tuple(range(1, 11))
    series = []
    for name, colour, start, step in (("Recall", "#2b8cc4", 0.3, 0.06), ("Precision", "#D55E00", 0.8, -0.05)):
        values = tuple(start + step * k for k in ks)
        series.append(
            Series(
                name, ks, values, colour, line="solid", n=tuple(1000 + k for k in ks),
                low=tuple(value - 0.04 if k == 5 else None for k, value in zip(ks, values, strict=True)),
                high=tuple(value + 0.03 if k == 5 else None for k, value in zip(ks, values, strict=True)),
                details=tuple(f"k = {k}, n = {1000 + k:,}" for k in ks),
            )
        )  # fmt: skip
    return Chart(
        "points", tuple(series), Axis("k", low=0.5, high=10.5, step=1),
        Axis("mean over questions", low=0, high=1.02), 380,
        lines=(ReferenceLine(5, True, "#8a949e", "dot", "k = 5"),),
    )  # fmt: skip


def many_points(n: int) -> Chart:
    recall = Series("Recall", tuple(range(n)), tuple(at / n for at in range(n)), "#2b8cc4", line="solid")
    return replace(curves(), series=(recall,))


def heat() -> Heatmap:
    return Heatmap(
        "Recall",
        Axis("overlap", names=("0", "32")),
        Axis("size", names=("128", "256")),
        ((0.61, None), (0.7, 0.72)),
        (("0.610", ""), ("0.700", "0.720 ★")),
        240,
        scale=((0.0, "#ffffff"), (1.0, "#000000")),
        details=(("", ""), ("", "")),
        keys=((("click",), None), (None, None)),
    )


def ranks() -> Chart:
    bars = Series("", (0, 1, 2), (0.8, 0.5, 0.3), "#2b8cc4", low=(0.75, 0.45, 0.25), high=(0.85, 0.55, 0.35))
    return Chart(
        "bars",
        (bars,),
        Axis("rank", names=("1\n80 %", "2 < 3", "rank 3"), unique=False),
        Axis(low=0, high=1.05, format=".0%"),
        300,
        lines=(ReferenceLine(0.3, False, "#D55E00", name="alert above 30 %"),),
        legend=False,
    )


def versions() -> Chart:
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


def table(rows: Sequence[Row]) -> ResultTable:
    return ResultTable("Numbers", tuple(rows))


def wide_rows() -> list[Row]:
    return [{f"column {at}": f"{at}.5 [0.1, 0.2]" for at in range(14)}] * 20


def long_rows(n: int) -> list[Row]:
    return [
        {"Slice": f"team: {at} поиск 搜索", "Bad": f"{at} of 1,000", "Share": at / 1000, "n": at, "p": None}
        for at in range(n)
    ]


def full_report(made: Sequence[RenderedSection] | None = None, **more: Any) -> Report:
    """Give a report with a point of each kind, or with the points given."""
    points = made or (
        RenderedSection(
            "verdict", "FAIL: faithfulness is below its gate", "It is 0.78 [0.75, 0.81]. 忠实度低于门槛。",
            table=table([{"Metric": "Faithfulness", "Mean": "0.78", "=SUM(A1)": "+0.1"}]),
            facts=("1,000 questions",),
            note="Мы не выпускаем эту версию.",
        ),
        RenderedSection("change", "Did it help?", "Recall@5 +0.08.", forest(), facts=("500 pairs",)),
        RenderedSection("fix_first", "What should be fixed first?", "", bars(), alt="Stages"),
        RenderedSection(
            "trend", "Faithfulness over versions", "", versions(), alt="Faithfulness of each version"
        ),
        RenderedSection("retrieval", "Retrieval over k", "", curves(), alt="Recall and precision over k"),
        RenderedSection("alignment", "Use of documents by rank", "", ranks(), alt="Use of documents by rank"),
        RenderedSection("chunking", "Chunking grid", "", heat(), alt="Recall over size and overlap"),
        RenderedSection("slices", "Where does it do worst?", "A long table.", table=table(long_rows(60))),
        RenderedSection("wide", "A wide table", table=table(wide_rows())),
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
    return Report("Iris: 是否发布 v6? Стоит ли?", sections=tuple(points), **given)
