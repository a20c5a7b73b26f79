"""A report as PDF, printed from its HTML by a Chromium without a window."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from dashboard.chromium import needed_chromium, run_bounded
from dashboard.report import Report
from dashboard.report_html import paper_report
from data.errors import DataError

__all__ = ["pdf_report", "print_pdf"]

PATIENCE_SECONDS = 120.0
DRAWING_MS = 15_000  # of the page's own time, for charts to be laid out
FLAGS = (
    "--headless",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--no-default-browser-check",
    "--no-proxy-server",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--no-pdf-header-footer",
    "--generate-pdf-document-outline",
    f"--virtual-time-budget={DRAWING_MS}",
)
NO_SANDBOX = "--no-sandbox"  # root, and containers without user namespaces, cannot have one


def pdf_report(report: Report, chromium: str | None = None, seconds: float = PATIENCE_SECONDS) -> bytes:
    """Write a report as PDF with embedded fonts, page numbers and bookmarks.

    Args:
        report: what to write.
        chromium: path of the browser; looked for when None.
        seconds: the time allowed.

    Raises:
        DataError: there is no Chromium (the message says what to install), or it failed or took too long.
    """
    return print_pdf(paper_report(report), chromium or needed_chromium(), seconds)


def print_pdf(page: str, chromium: str, seconds: float = PATIENCE_SECONDS) -> bytes:
    """Print an HTML page that needs no network.

    Raises:
        DataError: the browser failed or took too long.
    """
    with tempfile.TemporaryDirectory(prefix="ragtriage-", ignore_cleanup_errors=True) as folder:
        source, target = Path(folder) / "report.html", Path(folder) / "report.pdf"
        source.write_text(page, encoding="utf-8")
        command = [chromium, *FLAGS, f"--user-data-dir={folder}/profile", f"--print-to-pdf={target}"]
        said = ""
        for sandbox in _sandboxes():
            ended = run_bounded([*command, *sandbox, source.as_uri()], seconds)
            if target.is_file() and target.stat().st_size:
                return target.read_bytes()
            said = ended.stderr.decode("utf-8", "replace")
            if "sandbox" not in said.lower():
                break
    lines = [line for line in said.splitlines() if line.strip()]
    raise DataError(f"{chromium} printed no PDF: {lines[-1] if lines else 'it ended without a word'}")


def _sandboxes() -> tuple[tuple[str, ...], ...]:
    """Give the flags to try: with a sandbox where one is possible, then without."""
    if sys.platform != "win32" and os.geteuid() == 0:
        return ((NO_SANDBOX,),)
    return ((), (NO_SANDBOX,))
