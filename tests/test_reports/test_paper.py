"""What paper leaves out: parts that only a screen unfolds or saves."""

from __future__ import annotations

import re
from dataclasses import replace

from made_reports import bars, full_report, table

from ragtriage.dashboard.present.export.html_report import html_report, paper_report
from ragtriage.dashboard.present.stories.story import Layout, RenderedSection, SlideContent


def _opened(layout: Layout) -> RenderedSection:
    section = RenderedSection(
        "verdict", "Better", chart=bars(), table=table([{"Metric": "Recall", "Mean": 0.5}])
    )
    return replace(section, slide=SlideContent(layout), cases=[{"question": "why?", "answer": "so"}])


def test_paper_has_no_folded_parts_and_saves_no_files() -> None:
    report = full_report()
    screen, paper = html_report(report), paper_report(report)
    assert "The data of this chart" in screen
    assert "The data of this chart" not in paper
    assert "<a download" not in paper
    assert screen.count('class="chart"') == paper.count('class="chart"') == 6


def test_the_chart_behind_the_verdict_is_not_drawn_on_paper() -> None:
    report = full_report([_opened("verdict"), _opened("why")])
    screen, paper = html_report(report), paper_report(report)
    for part in ('class="chart"', 'id="figure-', "In numbers", "The whole case"):
        assert screen.count(part) == 2
    assert paper.count('class="chart"') == paper.count('id="figure-') == 1
    assert "In numbers" not in paper
    assert "The whole case" not in paper


def test_cases_are_laid_out_once_the_charts_are_drawn() -> None:
    body = re.search("<body[^>]*>", paper_report(full_report()))
    assert body is not None
    assert body[0] == '<body class="paper drawing">'
    assert '<body class="paper">' in paper_report(full_report([RenderedSection("x", "no chart")]))
    assert 'classList.remove("drawing")' in paper_report(full_report())


def test_very_long_words_may_be_broken_on_paper() -> None:
    """A browser takes the square of their length to lay them out: a hundred thousand letters took minutes."""
    word = "A" * 1000
    report = full_report([RenderedSection("x", word, table=table([{word: "&" * 1000}]))])
    paper = paper_report(report)
    assert "<wbr>".join(["A" * 200] * 5) in paper
    assert "<wbr>".join(["&amp;" * 200] * 5) in paper
    assert "A" * 201 not in paper
    assert "<wbr>" not in html_report(report)


def test_parts_of_tags_are_not_broken() -> None:
    section = RenderedSection("x", "x", chart=bars(), alt="A" * 1000)
    assert f'aria-label="{"A" * 1000}"' in paper_report(full_report([section]))
