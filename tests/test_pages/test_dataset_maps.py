"""The picture of versions and questions: what is drawn of many questions, and that each is said."""

from __future__ import annotations

import numpy as np

from ragtriage.dashboard.charts.dataset_maps import MOST_COLUMNS, items_chart, items_note
from ragtriage.dashboard.charts.tokens import THEMES
from ragtriage.dashboard.pages.datasets.overview import items_title, pages_drawn
from ragtriage.data.datasets.coverage import PageCoverage
from ragtriage.data.datasets.item_analysis import ItemAnalysis
from ragtriage.data.store.workspace import Run
from ragtriage.metrics.analysis.items import difficulty, groups_of, item_rest
from ragtriage.metrics.schema.scores import FloatArray


def _analysis(passes: FloatArray) -> ItemAnalysis:
    runs: tuple[Run, ...] = ()  # the picture takes names alone
    return ItemAnalysis(runs, passes, tuple(groups_of(passes)), difficulty(passes), item_rest(passes))


def _passes(versions: int, questions: int) -> FloatArray:
    return np.random.default_rng(3).integers(0, 2, (versions, questions)).astype(np.float64)


def test_of_many_questions_every_so_manieth_is_drawn_and_it_says_so() -> None:
    analysis = _analysis(_passes(10, 1_000))
    ids = [f"q{at}" for at in range(1_000)]
    figure = items_chart(analysis, ids, [f"V{at}" for at in range(10)], THEMES["light"])
    (columns,) = [trace for trace in figure.data if trace.customdata is not None]
    assert MOST_COLUMNS - 10 <= len(columns.customdata) <= MOST_COLUMNS + 3
    assert not figure.layout.shapes, "frames are one trace: a thousand shapes take a minute"
    assert len(figure.data) < 10
    assert items_note(analysis) == "1 question of 5 drawn"


def test_of_few_questions_each_is_drawn_and_what_disagrees_is_framed() -> None:
    passes = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 0, 0], [1, 0, 0, 1, 0]], dtype=np.float64)
    analysis = _analysis(passes)
    assert analysis.against == [3]
    figure = items_chart(analysis, list("abcde"), ["V1", "V2", "V3"], THEMES["light"])
    (columns,) = [trace for trace in figure.data if trace.customdata is not None]
    drawn = [data[0] for data in columns.customdata]
    assert sorted(drawn) == list("abcde")
    (frames,) = [trace for trace in figure.data if trace.type == "scatter"]
    assert np.mean([x for x in frames.x if x is not None][:4]) == columns.x[drawn.index("d")]
    assert items_note(analysis) == ""
    assert "item-rest r" in columns.hovertext[drawn.index("d")]


def test_the_title_counts_every_question_and_the_caption_every_page() -> None:
    passes = np.array([[1, 0, 1, np.nan], [1, 0, 0, np.nan]])
    title = items_title(_analysis(passes).counts)
    assert title == "1 question tells the versions apart, 1 all pass, 1 nobody passes, 1 not known"
    assert "not known" not in items_title(_analysis(passes[:, :3]).counts)
    pages = [PageCoverage(f"page {at}", 1_000 - at, int(at % 2 == 0), 0.5) for at in range(153)]
    assert pages_drawn(pages[:150]) == "A bar is a page"
    shorter = "3 shorter pages not drawn, 1 without a question"
    assert pages_drawn(pages) == f"A bar is one of the 150 longest pages ({shorter})"
