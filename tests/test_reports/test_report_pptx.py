"""The report as slides: editable charts with the numbers of the report, notes, and nothing off the slide."""

from __future__ import annotations

import io
import re
import zipfile
from dataclasses import replace
from typing import Any

import pytest
from made_reports import HOSTILE, LONG_ANSWER, bars, forest, full_report, long_rows, many_points, table
from pptx import Presentation

from ragtriage.dashboard.charts.chart import Axis, Chart, Series
from ragtriage.dashboard.present.export.pptx.charts import INTERVALS, book_text
from ragtriage.dashboard.present.export.pptx.report_slides import pptx_report
from ragtriage.dashboard.present.export.pptx.style import cut_to, fitted, height_of, line_width
from ragtriage.dashboard.present.export.pptx.tables import table_pages
from ragtriage.dashboard.present.stories.report import OBTAINED
from ragtriage.dashboard.present.stories.story import RenderedSection

Slides = list[Any]


@pytest.fixture(scope="module")
def content() -> bytes:
    return pptx_report(full_report())


@pytest.fixture(scope="module")
def slides(content: bytes) -> Slides:
    return list(Presentation(io.BytesIO(content)).slides)


def _open(content: bytes) -> Slides:
    return list(Presentation(io.BytesIO(content)).slides)


def _title(slide: Any) -> str:
    return str(slide.shapes.title.text_frame.text)


def _titled(slides: Slides, start: str) -> Slides:
    return [slide for slide in slides if _title(slide).startswith(start)]


def _chart(slide: Any) -> Any:
    return next(shape.chart for shape in slide.shapes if shape.has_chart)


def _series(slide: Any) -> dict[str, Any]:
    return {series.name: series for plot in _chart(slide).plots for series in plot.series}


def _table(slide: Any) -> list[list[str]]:
    table = next(shape.table for shape in slide.shapes if shape.has_table)
    return [[cell.text_frame.text for cell in row.cells] for row in table.rows]


def _notes(slide: Any) -> str:
    return str(slide.notes_slide.notes_text_frame.text)


def _words(slide: Any) -> str:
    return "\n".join(shape.text_frame.text for shape in slide.shapes if shape.has_text_frame)


def test_bars_are_an_editable_chart_with_the_values_of_the_chart(slides: Slides) -> None:
    (slide,) = _titled(slides, "What should be fixed first?")
    chart = _chart(slide)
    assert list(chart.plots[0].categories) == ["Ранжирование", "Retrieval missed it", "不忠实的回答"]
    found = _series(slide)
    assert list(found["retrieval"].values) == [120, 412, None]
    assert list(found["generation"].values) == [None, None, 1234]
    assert str(found["generation"].format.fill.fore_color.rgb) == "D55E00"


def test_curves_are_an_editable_scatter_with_the_values_of_the_chart(slides: Slides) -> None:
    (slide,) = _titled(slides, "Retrieval over k")
    found = _series(slide)["Recall"]
    assert list(found.iter_values()) == pytest.approx([0.3 + 0.06 * k for k in range(1, 11)])
    bars = found._element.xpath("./c:errBars[c:errDir/@val='y']/c:plus//c:v/text()")
    assert float(bars[4]) == pytest.approx(0.03)
    assert list(_series(slide)["k = 5"].iter_values()) == [0.0, 1.0]
    assert "dotted line: k = 5" in _words(slide)


def test_a_forest_has_its_names_as_labels_and_its_intervals_as_strokes(slides: Slides) -> None:
    (slide,) = _titled(slides, "Did it help?")
    found = _series(slide)
    labels = found["names to the left"]._element.xpath(".//c:dLbl//a:t/text()")
    assert labels == ["=cmd|' /C calc'!A0", "Faithfulness", "Recall@5"]
    strokes = found[INTERVALS]._element.xpath("./c:xVal//c:pt[@idx='0' or @idx='1']/c:v/text()")
    assert [float(one) for one in strokes] == pytest.approx([0.04, 0.14])
    assert found[INTERVALS]._element.xpath("./c:xVal//c:pt[@idx='2']") == []
    assert len(_chart(slide)._chartSpace.xpath(".//c:legendEntry")) == 3  # names, intervals, the line at 0
    assert "None" not in _chart(slide)._chartSpace.xpath("string(.)")


def test_a_line_chart_over_versions_has_the_baseline_as_a_series(slides: Slides) -> None:
    (slide,) = _titled(slides, "Faithfulness over versions")
    assert list(_series(slide)["baseline"].values) == [0.7, 0.7, 0.7]
    assert list(_series(slide)["this run"].values) == [None, None, 0.69]


def test_what_a_chart_cannot_show_is_said_beside_it(slides: Slides) -> None:
    (slide,) = _titled(slides, "Use of documents by rank")
    assert "dashed line at 30 %: alert above 30 %" in _words(slide)


def test_a_heatmap_is_a_coloured_table(slides: Slides) -> None:
    (slide,) = _titled(slides, "Chunking grid")
    assert _table(slide) == [
        ["size ↓   overlap →", "0", "32"],
        ["256", "0.700", "0.720 ★"],
        ["128", "0.610", ""],
    ]
    table = next(shape.table for shape in slide.shapes if shape.has_table)
    assert str(table.cell(1, 2).fill.fore_color.rgb) == "000000"


def test_a_chart_without_points_leaves_its_sentence() -> None:
    chart = replace(bars(), series=())
    slides = _open(pptx_report(full_report([RenderedSection("x", "Empty", "Nothing to draw.", chart)])))
    (slide,) = _titled(slides, "Empty")
    assert not any(shape.has_chart for shape in slide.shapes)
    assert "Nothing to draw." in _words(slide)


def test_a_long_table_goes_on_and_loses_no_row(slides: Slides) -> None:
    pages = [_table(slide) for slide in _titled(slides, "Where does it do worst?")]
    assert len(pages) > 2
    assert all(page[0] == ["Slice", "Bad", "Share", "n", "p"] for page in pages)
    rows = [row for page in pages for row in page[1:]]
    assert rows == [
        [one["Slice"], one["Bad"], f"{one['Share']:.3f}", str(one["n"]), "–"] for one in long_rows(60)
    ]


def test_a_wide_table_is_split_by_columns_and_keeps_the_first(slides: Slides) -> None:
    heads = [_table(slide)[0] for slide in _titled(slides, "A wide table")]
    assert {name for head in heads for name in head} == {f"column {at}" for at in range(14)}
    assert all(head[0] == "column 0" for head in heads)


def test_cases_stand_on_slides_and_whole_in_the_notes(slides: Slides) -> None:
    first, second = _titled(slides, "Examples: ")
    assert "谁写的？" in _words(first)
    assert "✓ Лев Толстой написал роман (supported)" in _words(first)
    assert "✗ against it (contradicted)" in _words(first)
    assert "Correctness: 1.000 (imported)" in _words(first)
    assert LONG_ANSWER not in _words(second)
    assert "cut to fit" in _words(second)
    assert "THE END" in _notes(second)


def test_notes_hold_facts_author_s_words_alternative_text_and_caveats(slides: Slides) -> None:
    (verdict,) = _titled(slides, "FAIL")
    assert "Мы не выпускаем эту версию." in _notes(verdict)
    assert "- 1,000 questions" in _notes(verdict)
    assert "- 120 answers were not scored." in _notes(verdict)
    (trend,) = _titled(slides, "Faithfulness over versions")
    assert "Shown: Faithfulness of each version" in _notes(trend)
    frame = next(shape for shape in trend.shapes if shape.has_chart)
    assert frame._element.nvGraphicFramePr.cNvPr.get("descr") == "Faithfulness of each version"


def test_the_last_slide_says_how_the_numbers_were_obtained(slides: Slides) -> None:
    assert _title(slides[-1]) == OBTAINED
    words = _words(slides[-1])
    assert "run: v6 (abcdef123456)" in words
    assert "• 120 answers were not scored." in words
    assert "ragtriage gate abcdef123456" in words


def test_facts_that_are_too_long_for_the_last_slide_go_on() -> None:
    caveats = tuple(f"Caveat number {at} says something of some length about a number." for at in range(80))
    slides = _open(pptx_report(full_report([RenderedSection("text", "x")], caveats=caveats)))
    more = _titled(slides, f"{OBTAINED}: before quoting a number")
    assert len(more) > 1
    assert "Caveat number 79" in _words(more[-1])


def _inside(shape: Any, deck: Any) -> bool:
    right, foot = shape.left + shape.width, shape.top + shape.height
    return bool(
        shape.left >= 0 and shape.top >= 0 and right <= deck.slide_width and foot <= deck.slide_height
    )


@pytest.mark.parametrize("heading", ["Short", "忠实度" * 60, "long word " * 80, HOSTILE * 4])
def test_nothing_stands_beyond_the_slide(heading: str) -> None:
    points = full_report().sections
    hard = [
        RenderedSection(
            "x", heading, heading * 5, bars(), table(long_rows(3)), facts=(heading,) * 9, note=heading * 20
        ),
        RenderedSection("x", heading, table=table([{"a": heading * 5, "b": "W" * 400, "c": 1}] * 7)),
        RenderedSection("text", heading, heading * 30, note=heading * 90),
    ]
    deck = Presentation(io.BytesIO(pptx_report(full_report([*points, *hard], subtitle=heading))))
    assert len(deck.slides) > len(points)
    for slide in deck.slides:
        outside = [shape.name for shape in slide.shapes if not _inside(shape, deck)]
        assert not outside, (_title(slide), outside)


def _apart(one: Any, other: Any) -> bool:
    return bool(
        one.left + one.width <= other.left
        or other.left + other.width <= one.left
        or one.top + one.height <= other.top
        or other.top + other.height <= one.top
    )


def test_nothing_covers_anything_else(slides: Slides) -> None:
    for slide in slides:
        shapes = list(slide.shapes)
        for at, one in enumerate(shapes):
            covered = [other.name for other in shapes[at + 1 :] if not _apart(one, other)]
            assert not covered, (_title(slide), one.name, covered)


def test_words_of_a_table_stay_whole_where_there_is_room() -> None:
    rows = [{"Gate": "Pass rate " * 12, "Verdict": "INCONCLUSIVE", "n": 10, "If it fails": "blocks " * 9}]
    (page,) = table_pages(rows, 4.0)
    assert line_width("INCONCLUSIVE", page.size) < page.widths[1] - 0.16
    assert sum(page.widths) <= 12.14


def test_texts_fit_their_boxes(slides: Slides) -> None:
    for slide in slides:
        for shape in slide.shapes:
            if shape.has_text_frame and shape.text_frame.text:
                run = next(run for line in shape.text_frame.paragraphs for run in line.runs or [None])
                size = run.font.size.pt if run is not None else 9
                text = "\n".join(line.text for line in shape.text_frame.paragraphs)
                assert height_of(text, size, shape.width / 914400) <= shape.height / 914400 + 0.1, text[:80]


def test_layouts_are_as_wide_as_the_slides(content: bytes) -> None:
    deck: Any = Presentation(io.BytesIO(content))
    for layout in deck.slide_layouts:
        assert all(_inside(shape, deck) for shape in layout.placeholders)


def test_no_workbook_behind_a_chart_holds_a_formula_or_a_link() -> None:
    chart = forest()
    hostile = replace(chart, series=(replace(chart.series[0], name="=1+1"), *chart.series[1:]))
    names = ("=2+2", "http://example.org", "@x", "external:c.xls")
    named = Chart(
        "bars", (Series("", (0, 1, 2, 3), (1, 2, 3, 4), "#0b5e94"),), Axis(names=names), Axis(), 200
    )
    content = pptx_report(
        full_report([RenderedSection("x", "x", chart=hostile), RenderedSection("y", "y", chart=named)])
    )
    with zipfile.ZipFile(io.BytesIO(content)) as pack:
        books = [pack.read(name) for name in pack.namelist() if name.endswith(".xlsx")]
    assert len(books) == 2
    for book in books:
        with zipfile.ZipFile(io.BytesIO(book)) as inner:
            sheet = inner.read("xl/worksheets/sheet1.xml").decode()
            assert "<f>" not in sheet
            assert "hyperlink" not in sheet
            texts = re.findall(r"<t[^>]*>([^<]*)</t>", inner.read("xl/sharedStrings.xml").decode())
            assert not [text for text in texts if text.startswith(("=", "+", "-", "@"))]


def test_names_that_mean_nothing_to_a_spreadsheet_stay_as_they_are() -> None:
    assert book_text("Recall@5") == "Recall@5"
    assert book_text("=1") == " =1"


def test_fonts_are_named_for_latin_and_for_east_asian_scripts(content: bytes) -> None:
    with zipfile.ZipFile(io.BytesIO(content)) as pack:
        theme = pack.read("ppt/theme/theme1.xml").decode()
        chart = next(pack.read(name) for name in pack.namelist() if "charts/chart" in name).decode()
    for text in (theme, chart):
        assert 'latin typeface="Arial"' in text
        assert 'ea typeface="Microsoft YaHei"' in text


def test_control_characters_leave_a_file_that_opens(content: bytes) -> None:
    with zipfile.ZipFile(io.BytesIO(content)) as pack:
        texts = [pack.read(name).decode() for name in pack.namelist() if name.endswith(".xml")]
    assert not [text for text in texts if re.search(r"[\x00-\x08]|_x00[01][0-9A-F]_", text)]


def test_an_empty_report_still_says_how_it_was_made() -> None:
    slides = _open(pptx_report(full_report([RenderedSection("text", "")])))
    assert [_title(slide) for slide in slides][1:] == ["Section 1", OBTAINED]


@pytest.mark.parametrize("text", ["plain words " * 100, "汉字" * 300, "x" * 900, "one\n" * 50])
def test_a_text_is_cut_to_its_room_and_not_more(text: str) -> None:
    cut = cut_to(text, 4.0, 1.0, 12)
    assert cut.endswith("…")
    assert height_of(cut, 12, 4.0) <= 1.0
    longer = text[: len(cut) + 20]
    assert height_of(longer, 12, 4.0) > 1.0 or len(cut) >= len(text) - 2
    assert fitted("short", 4.0, 1.0, (30, 20)) == ("short", 30)


def test_curves_beyond_a_hundred_points_still_map() -> None:
    content = pptx_report(full_report([RenderedSection("x", "Many", chart=many_points(2000))]))
    (slide,) = _titled(_open(content), "Many")
    assert len(list(_series(slide)["Recall"].iter_values())) == 2000


def test_names_of_columns_are_made_printable() -> None:
    section = RenderedSection("x", "x", table=table([{"a\ud800\x00b": "\udfff"}]))
    found = _table(_titled(_open(pptx_report(full_report([section]))), "x")[0])
    assert not re.search("[\x00\ud800-\udfff]", "".join(cell for row in found for cell in row))
    assert found[0][0].startswith("a")
