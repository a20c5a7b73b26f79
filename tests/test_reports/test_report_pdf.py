"""The report as PDF, printed by a Chromium, and images of charts."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from made_reports import bars, forest, full_report, long_rows
from PIL import Image
from pypdf import PdfReader

from ragtriage.dashboard.present.export import chromium as browsers
from ragtriage.dashboard.present.export.chart_images import chart_image
from ragtriage.dashboard.present.export.chromium import find_chromium, run_bounded
from ragtriage.dashboard.present.export.pdf import pdf_report, print_by_command
from ragtriage.dashboard.present.stories.report import Report
from ragtriage.dashboard.present.stories.story import RenderedSection
from ragtriage.data.errors import DataError

LONG_TITLE = "Where does it do worst?"


@pytest.fixture(scope="module")
def pdf(chromium: str) -> PdfReader:
    return PdfReader(io.BytesIO(pdf_report(full_report(), chromium)))


@pytest.fixture(scope="module")
def texts(pdf: PdfReader) -> list[str]:
    found = [" ".join(page.extract_text().split()) for page in pdf.pages]
    numbers = [f"{at} / {len(found)} " for at in range(1, len(found) + 1)]
    assert all(number in text for number, text in zip(numbers, found, strict=True))  # pages are numbered
    return [text.removeprefix(number) for number, text in zip(numbers, found, strict=True)]


def test_every_point_begins_on_a_page_of_its_own(texts: list[str]) -> None:
    starts = [at for at, text in enumerate(texts) if text.startswith(("FAIL:", "Did it help?", LONG_TITLE))]
    assert len(starts) == 3
    assert "Contents" in texts[0]


def test_chinese_and_russian_can_be_extracted(texts: list[str]) -> None:
    whole = "".join(texts).replace(" ", "")
    for text in ("是否发布", "Стоитли", "忠实度低于", "Мыневыпускаемэтуверсию", "战争与和平是列夫"):
        assert text in whole


def test_the_head_of_a_long_table_is_repeated(texts: list[str]) -> None:
    pages = [text for text in texts if "поиск" in text]
    assert len(pages) >= 2
    assert all("Slice Bad Share" in text for text in pages)
    for row in long_rows(60):
        assert sum(f"{row['Slice']} {row['Bad']}" in text for text in pages) == 1, row


def test_a_wide_table_turns_its_page(pdf: PdfReader, texts: list[str]) -> None:
    for page, text in zip(pdf.pages, texts, strict=True):
        wide = "column 13" in text or text.startswith("A wide table")
        assert (page.mediabox.width > page.mediabox.height) == wide


def _fonts(pdf: PdfReader) -> list[Any]:
    found = []
    for page in pdf.pages:
        resources: Any = page["/Resources"].get_object()
        found += [font.get_object() for font in resources.get("/Font", {}).get_object().values()]
    return found


def test_every_font_is_embedded(pdf: PdfReader) -> None:
    fonts = _fonts(pdf)
    assert fonts
    for font in fonts:
        if font["/Subtype"] == "/Type3":
            assert font["/CharProcs"]  # its glyphs are drawn in the file itself
            continue
        inner = font["/DescendantFonts"][0].get_object() if "/DescendantFonts" in font else font
        held = inner["/FontDescriptor"].get_object()
        assert {"/FontFile", "/FontFile2", "/FontFile3"} & set(held), font


def test_bookmarks_lead_to_the_points(pdf: PdfReader) -> None:
    def titles(outline: Any) -> list[str]:
        return [title for one in outline for title in (titles(one) if isinstance(one, list) else [one.title])]

    assert {"Did it help?", "How these numbers were obtained"} <= set(titles(pdf.outline))


def test_charts_are_drawn(chromium: str) -> None:
    with_chart = PdfReader(
        io.BytesIO(pdf_report(full_report([RenderedSection("x", "x", chart=bars())]), chromium))
    )
    assert "不忠实的回答" in with_chart.pages[1].extract_text().replace(" ", "")
    assert "1,234" in with_chart.pages[1].extract_text()


def test_cases_are_drawn_without_transparent_groups(chromium: str) -> None:
    """Each would be an object of its own: a third of the size, and as much of the time."""
    documents = [{"id": f"d{at}", "text": "Paris is the capital. " * 9} for at in range(9)]
    case = {"question": "where?", "answer": "in Paris", "retrieved": documents}
    section = RenderedSection("cases", "Cases in full", cases=[case] * 3)
    content = pdf_report(full_report([section], audience="engineer"), chromium)
    assert content.count(b"/Subtype /Form") <= 3


def test_without_a_browser_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RAGTRIAGE_CHROMIUM", str(tmp_path / "none"))
    with pytest.raises(DataError, match="apt-get install chromium"):
        pdf_report(full_report())


def test_the_environment_names_the_browser(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    named = tmp_path / "my-browser"
    named.touch()
    monkeypatch.delenv("RAGTRIAGE_CHROMIUM", raising=False)
    monkeypatch.setenv("BROWSER_PATH", str(named))
    assert find_chromium() == str(named)
    monkeypatch.setenv("RAGTRIAGE_CHROMIUM", str(tmp_path / "gone"))
    assert find_chromium() is None


def test_one_that_playwright_brought_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in browsers.PATH_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    own = tmp_path / ".cache/ms-playwright/chromium-1200/chrome-linux/chrome"
    own.parent.mkdir(parents=True)
    own.touch()
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(browsers, "USUAL_PLACES", ())
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    assert find_chromium() == str(own)


def _script(folder: Path, body: str) -> str:
    file = folder / "browser"
    file.write_text(f"#!{sys.executable}\n{body}\n", "utf-8")
    file.chmod(0o755)
    return str(file)


Printer = Callable[[str, float], bytes]


@pytest.fixture(params=["pipes", "command"])
def printer(request: pytest.FixtureRequest) -> Printer:
    """Both ways to print: the usual one, and that of Windows."""
    if request.param == "pipes":
        return lambda chromium, seconds: pdf_report(Report("x"), chromium, seconds)
    return lambda chromium, seconds: print_by_command("<p>x</p>", chromium, seconds)


def test_a_browser_that_hangs_is_stopped_with_its_children(tmp_path: Path, printer: Printer) -> None:
    child = tmp_path / "child"
    body = (
        "import subprocess, sys, time\n"
        f"child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'], close_fds=False)\n"
        f"open({str(child)!r}, 'w').write(str(child.pid))\ntime.sleep(60)"
    )
    start = time.monotonic()
    with pytest.raises(DataError, match="did not end within 3 s"):
        printer(_script(tmp_path, body), 3)
    assert time.monotonic() - start < 20
    look = ["ps", "-o", "stat=", "-p", child.read_text()]
    while subprocess.run(look, capture_output=True, text=True).stdout.strip()[:1] not in ("", "Z"):
        assert time.monotonic() - start < 20  # a killed process may take a moment to end
        time.sleep(0.05)


def test_a_browser_that_fails_is_quoted(tmp_path: Path, printer: Printer) -> None:
    command = _script(tmp_path, "import sys; sys.exit('no display today')")
    with pytest.raises(DataError, match="printed no PDF: no display today"):
        printer(command, 20)


def test_a_browser_without_a_sandbox_starts_again_without_one(
    tmp_path: Path, chromium: str, printer: Printer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    body = (
        "import os, sys\n"
        "if '--no-sandbox' not in sys.argv:\n    sys.exit('No usable sandbox!')\n"
        f"os.execv({chromium!r}, [{chromium!r}, *sys.argv[1:]])"
    )
    assert printer(_script(tmp_path, body), 60).startswith(b"%PDF")


def test_nothing_of_the_browser_is_left(
    tmp_path: Path, chromium: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    pdf_report(Report("x"), chromium)
    assert not list(tmp_path.iterdir())
    running = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert str(tmp_path) not in running


def test_a_program_that_is_not_there_is_named() -> None:
    with pytest.raises(DataError, match="cannot be started"):
        run_bounded(["/nowhere/at/all"], 1)


def test_a_chart_as_png_has_twice_the_pixels(chromium: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGTRIAGE_CHROMIUM", chromium)
    image = Image.open(io.BytesIO(chart_image(bars(), "png", width=700)))
    assert image.size == (1400, 400)
    colours = {colour for _, colour in image.convert("RGB").getcolors(1_000_000) or []}
    assert {(255, 255, 255), (213, 94, 0), (43, 140, 196)} <= colours


def test_a_chart_as_svg_carries_its_texts(chromium: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGTRIAGE_CHROMIUM", chromium)
    svg = chart_image(forest(), "svg").decode()
    assert svg.startswith("<svg")
    assert "Faithfulness" in svg


def test_a_chart_that_is_not_drawn_in_time_is_an_error(
    chromium: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAGTRIAGE_CHROMIUM", chromium)
    with pytest.raises(DataError, match="did not end within"):
        chart_image(bars(), "png", seconds=0.2)


def test_other_image_forms_are_refused() -> None:
    with pytest.raises(DataError, match="accepted: png, svg"):
        chart_image(bars(), "gif")
