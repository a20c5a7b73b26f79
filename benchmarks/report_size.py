"""How long do exports of a story take, and how large are they? 10 runs of 10,000 samples.

python benchmarks/report_size.py [--runs 10] [--samples 10000] [--cases 30] [--long 100]

The points are of the kinds a story has: charts over aggregates of drawn scores, their tables, and cases in
full, with ten contexts of about 600 characters each. Figures hold aggregates, so samples cost time, not size.
A second report has `--long` cases, each with an answer of a megabyte.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ragtriage.dashboard.charts.chart import Axis, Heatmap
from ragtriage.dashboard.charts.context_use import k_lines
from ragtriage.dashboard.charts.version_lines import Point, trend
from ragtriage.dashboard.present.export.chromium import FLAGS, NO_SANDBOX, find_chromium
from ragtriage.dashboard.present.export.html_report import html_report
from ragtriage.dashboard.present.export.pdf import pdf_report
from ragtriage.dashboard.present.export.pptx.report_slides import pptx_report
from ragtriage.dashboard.present.stories import report as stories
from ragtriage.dashboard.present.stories.report import Report
from ragtriage.dashboard.present.stories.story import RenderedSection
from ragtriage.dashboard.wording.table_files import TABLE_FORMS, export_table
from ragtriage.data.analysis.alignment import Group
from ragtriage.metrics.statistics.intervals import Interval, interval

METRICS = (
    "faithfulness",
    "answer_relevancy",
    "context_recall",
    "context_precision",
    "correctness",
    "recall@5",
)
WORDS = ["the", "answer", "cites", "a", "document", "that", "the", "index", "holds", "in", "full", "today"]
SECONDS_TO_OPEN = 3.0
MOST_MEGABYTES = 10.0


def _interval(values: np.ndarray) -> Interval:
    return interval(values, np.arange(len(values)), len(values))


def _trend(scores: Sequence[np.ndarray], metric: str) -> RenderedSection:
    found = [_interval(one) for one in scores]
    points = [
        Point(f"version {at}", "2026-11-21", one.mean, one.low, one.high, len(scores[0]), at == len(found))
        for at, one in enumerate(found, 1)
    ]
    rows = [
        {"Version": one.label, "Mean": one.mean, "Low": one.low, "High": one.high, "n": one.n}
        for one in points
    ]
    return RenderedSection(
        "trend", f"{metric} over versions", "", trend(points, metric, points[0].mean), rows, alt=metric
    )


def _case_map(context: np.ndarray, faithfulness: np.ndarray) -> Heatmap:
    counts, _, _ = np.histogram2d(faithfulness, context, bins=10, range=((0, 1), (0, 1)))
    names = tuple(f"{at / 10:.1f}" for at in range(10))
    texts = tuple(tuple(f"{n:,.0f}" for n in row) for row in counts)
    cells = tuple(map(tuple, counts.tolist()))
    return Heatmap("", Axis("context recall", names), Axis("faithfulness", names), cells, texts, 360)


def _texts(drawn: random.Random, n: int) -> str:
    return " ".join(drawn.choices(WORDS, k=n))


def _case(drawn: random.Random, at: int) -> dict[str, Any]:
    return {
        "question_id": f"q{at}",
        "question": _texts(drawn, 12),
        "answer": _texts(drawn, 80),
        "reference_answer": _texts(drawn, 30),
        "retrieved": [
            {"id": f"d{rank}", "text": _texts(drawn, 110), "score": 1 / rank} for rank in range(1, 11)
        ],
        "claims": [{"text": _texts(drawn, 10), "supported_by": [1], "in_reference": True} for _ in range(6)],
        "scores": {metric: drawn.random() for metric in METRICS},
    }


def make_report(runs: int, samples: int, cases: int) -> Report:
    """Draw a report over so many runs, each of so many samples, with so many cases in full."""
    numbers, drawn = np.random.default_rng(5), random.Random(5)
    points = [_trend([numbers.beta(5, 2, samples) for _ in range(runs)], metric) for metric in METRICS]
    for at in range(runs):
        context, faithful = numbers.beta(5, 2, samples), numbers.beta(6, 2, samples)
        chart = _case_map(context, faithful)
        points.append(
            RenderedSection("map", f"Version {at + 1}: where its cases lie", "", chart, alt="cases by cell")
        )
        over_k = {
            name: [Group(str(k), str(k), _interval(numbers.beta(2, 3, samples))) for k in range(1, 11)]
            for name in ("wasted_context", "deep_reliance")
        }
        lines = k_lines(over_k, {"wasted_context": "Wasted context", "deep_reliance": "Deep reliance"}, 5)
        points.append(
            RenderedSection("alignment", f"Version {at + 1}: use over k", "", lines, alt="use over k")
        )
    points.append(RenderedSection("cases", "Cases in full", cases=[_case(drawn, at) for at in range(cases)]))
    facts = {"run": "drawn", "date": "2026-11-21", "how to reproduce": "python benchmarks/report_size.py"}
    return Report(
        "Ten versions compared", "a drawn report", "lead", tuple(points), facts, ("Drawn numbers.",)
    )


def long_cases(cases: int) -> list[dict[str, Any]]:
    """Draw so many cases whose answers have a million characters."""
    drawn = random.Random(7)
    sentences = [f"{_texts(drawn, 12).capitalize()}. " for _ in range(20_000)]
    records = []
    for at in range(cases):
        drawn.shuffle(sentences)
        records.append({**_case(drawn, at), "answer": "".join(sentences)[:1_000_000]})
    return records


def long_report(records: Sequence[dict[str, Any]]) -> Report:
    """Return a report with a chart, and these cases in full, as far as reports show them."""
    numbers = np.random.default_rng(5)
    points = [
        _trend([numbers.beta(5, 2, 1000) for _ in range(3)], METRICS[0]),
        RenderedSection("cases", "Cases in full", cases=list(records)),
    ]
    shown = getattr(stories, "with_shown_cases", tuple)  # versions before it showed them whole
    return Report("Long answers", sections=shown(points))


def _timed(name: str, write: Callable[[], bytes]) -> bytes:
    start = time.perf_counter()
    content = write()
    print(f"| {name} | {time.perf_counter() - start:.2f} s | {len(content) / 1e6:.2f} MB |")
    return content


def _opening(page: bytes, chromium: str) -> float:
    """Give the seconds from going to the file until its first chart stands."""
    from playwright.sync_api import sync_playwright

    flags = [one for one in FLAGS if one.startswith("--disable")]
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        file = Path(folder) / "report.html"
        file.write_bytes(page)
        browser = playwright.chromium.launch(executable_path=chromium, args=[*flags, NO_SANDBOX])
        tab = browser.new_page()
        start = time.perf_counter()
        tab.goto(file.as_uri())
        tab.wait_for_selector(".chart .main-svg")
        taken = time.perf_counter() - start
        browser.close()
    return taken


def measure(rounds: int) -> dict[str, float]:
    """Return the seconds of a PDF, and seconds and MB of an HTML report of 100 cases with answers of 1 MB."""
    usual, long = make_report(10, 10_000, 30), long_cases(100)
    chromium = find_chromium()
    found = {"large seconds": _fastest(lambda: html_report(long_report(long)), rounds)}
    found["large size"] = len(html_report(long_report(long)).encode()) / 1e6
    if chromium is not None:
        found["pdf"] = _fastest(lambda: pdf_report(usual, chromium), rounds)
    return found


def _fastest(write: Callable[[], object], rounds: int) -> float:
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        write()
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    """Write each export once and print time and size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--samples", type=int, default=10_000)
    parser.add_argument("--cases", type=int, default=30)
    parser.add_argument("--long", type=int, default=100, help="cases with answers of a megabyte")
    given = parser.parse_args()
    start = time.perf_counter()
    report = make_report(given.runs, given.samples, given.cases)
    print(f"{len(report.sections)} sections, rendered in {time.perf_counter() - start:.1f} s\n")
    print("| export | time | size |\n|---|---|---|")
    page = _timed("HTML", lambda: html_report(report).encode())
    _timed("PPTX", lambda: pptx_report(report))
    long = long_report(long_cases(given.long))
    _timed(f"HTML of {given.long} answers of 1 MB", lambda: html_report(long).encode())
    _timed(f"PPTX of {given.long} answers of 1 MB", lambda: pptx_report(long))
    scores = np.random.default_rng(6).random((given.samples, len(METRICS)))
    rows = [dict(zip(METRICS, line.tolist(), strict=True)) for line in scores]
    for form in TABLE_FORMS:
        _timed(f"table of {given.samples:,} rows as {form}", partial(export_table, rows, form))
    chromium = find_chromium()
    if chromium is None:
        print("\nno Chromium: PDF and opening were not measured")
        return
    _timed("PDF", lambda: pdf_report(report, chromium))
    opened = _opening(page, chromium)
    print(f"\nthe HTML opens, its first chart drawn, in {opened:.2f} s (limit {SECONDS_TO_OPEN:.0f} s)")
    print(f"it has {len(page) / 1e6:.2f} MB (limit {MOST_MEGABYTES:.0f} MB)")


if __name__ == "__main__":
    main()
