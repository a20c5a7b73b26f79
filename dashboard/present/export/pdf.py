"""Reports as PDF, printed by a Chromium."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from ragtriage.dashboard.present.export.browser import Browser
from ragtriage.dashboard.present.export.chromium import (
    FLAGS,
    no_pdf,
    required_chromium,
    run_bounded,
    sandboxes,
)
from ragtriage.dashboard.present.export.html_report import paper_report
from ragtriage.dashboard.present.stories.report import Report

TIME_LIMIT_SECONDS = 120.0
DRAWING_MS = 15_000  # of the page's virtual time, for charts to be laid out
PRINTING = (
    "--no-pdf-header-footer",
    "--generate-pdf-document-outline",
    f"--virtual-time-budget={DRAWING_MS}",
)


def pdf_report(report: Report, chromium: str | None = None, seconds: float = TIME_LIMIT_SECONDS) -> bytes:
    """Write a report as PDF with embedded fonts, page numbers and bookmarks.

    Args:
        report: what to write.
        chromium: path of the browser; None to look for one.
        seconds: the time limit.

    Raises:
        DataError: there is no Chromium (the message says what to install), or it failed or took too long.
    """
    chromium = chromium or required_chromium()
    if sys.platform == "win32":
        return print_by_command(paper_report(report), chromium, seconds)
    with Browser(chromium, seconds) as browser:  # starts while the page is written
        browser.load(paper_report(report))
        return browser.print()


def print_by_command(page: str, chromium: str, seconds: float = TIME_LIMIT_SECONDS) -> bytes:
    """Print an HTML page by a Chromium that ends by itself: Windows hands no pipes to programs by number.

    Raises:
        DataError: the browser failed or took too long.
    """
    with tempfile.TemporaryDirectory(prefix="ragtriage-", ignore_cleanup_errors=True) as folder:
        source, target = Path(folder) / "report.html", Path(folder) / "report.pdf"
        source.write_text(page, encoding="utf-8")
        command = [chromium, *FLAGS, *PRINTING, f"--user-data-dir={folder}/profile"]
        messages = ""
        for sandbox in sandboxes():
            process = run_bounded([*command, *sandbox, f"--print-to-pdf={target}", source.as_uri()], seconds)
            if target.is_file() and target.stat().st_size:
                return target.read_bytes()
            messages = process.stderr.decode("utf-8", "replace")
            if "sandbox" not in messages.lower():
                break
    raise no_pdf(chromium, messages)
