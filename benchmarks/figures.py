"""The figures that this project aims at on one machine: each with its aim and its earlier value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

__all__ = ["FIGURES", "Figure", "Reading", "table"]


@dataclass(frozen=True)
class Figure:
    """A figure of the table.

    Attributes:
        part: the part of the benchmarks that measures it.
        key: what that part calls it.
        what: what it is; {} stands for the size that is measured.
        unit: of its value.
        aim: the value to reach; None where there is none.
        earlier: its value at full size in an earlier measurement, before the work on it began.
        more_is_better: whether a higher value is the better one.
    """

    part: str
    key: str
    what: str
    unit: str
    aim: float | None = None
    earlier: str = ""
    more_is_better: bool = False

    def shown(self, value: float) -> str:
        """Return a value with its unit."""
        digits = 2 if abs(value) < 10 and self.unit in ("s", "x", "MB") else 0
        digits = 1 if not digits and abs(value) < 100 and self.unit in ("s", "x") else digits
        return f"{value:,.{digits}f} {self.unit}"

    def met(self, value: float) -> str:
        """Return whether a value reaches the aim."""
        if self.aim is None:
            return ""
        return "yes" if (value >= self.aim if self.more_is_better else value <= self.aim) else "**no**"


@dataclass
class Reading:
    """What one part measured on one tree.

    Attributes:
        values: by key.
        notes: words to a value, by key, such as the slowest page.
        others: processors that other programs kept busy meanwhile.
        failed: why it could not be measured.
    """

    values: dict[str, float] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)
    others: float = 0.0
    failed: str = ""


def _of_pages(part: str, size: str, earlier: tuple[str, str, str, str]) -> tuple[Figure, ...]:
    first, again, cut_off, memory = earlier
    return (
        Figure(part, "first", f"{size}: first view of the slowest page", "s", 2.0, first),
        Figure(part, "again", f"{size}: rerun of the slowest page", "s", 0.3, again),
        Figure(part, "cut_off", f"{size}: a cut-off moved, the slowest page", "s", 0.3, cut_off),
        Figure(part, "click", f"{size}: from click to finished in Chromium, the slowest page", "s", 0.5),
        Figure(part, "memory", f"{size}: memory of the server after all pages", "MB", 1000, memory),
    )


FIGURES: tuple[Figure, ...] = (
    *_of_pages("many", "{} runs x 60", ("41.7 s (Triage)", "32.5 s (Triage)", "32.3 s (Triage)", "334 MB")),
    *_of_pages("large", "5 runs x {}", ("4.0 s (Triage)", "0.18 s (Compare)", "0.31 s (Triage)", "749 MB")),
    Figure("scoring", "two", "import and scoring, two cores", "samples/s", 5000, "1,734 samples/s", True),
    Figure(
        "scoring", "one", "import and scoring, one core", "samples/s", None, "1,000 to 1,200 samples/s", True
    ),
    Figure("scoring", "a core", "the same, by the processor time of a core", "samples/s", None, "", True),
    Figure("scoring", "growth", "memory of an import against that of a tenth of its file", "x", 1.2),
    Figure("wide", "seconds", "600 metrics x 20 samples, import and scoring", "s", 1.0),
    Figure(
        "retrieval",
        "pytrec_eval",
        "retrieval from Parquet, {} rows: pytrec_eval's time",
        "x",
        25,
        "15 to 22 x",
        True,
    ),
    Figure("retrieval", "ranx", "the same: ranx's time", "x", None, "145 x", True),
    Figure("retrieval", "memory", "the same: memory of ragtriage", "MB", 1000, "334 to 1,500 MB"),
    Figure("start", "help", "`ragtriage --help`", "s", 0.3, "0.2 s"),
    Figure("start", "call", "a call from Python, libraries loaded", "s", 0.2, "0.2 s"),
    Figure("start", "heading", "cold start to the first heading", "s", 2.0, "2.5 s"),
    Figure("report", "pdf", "PDF of 27 points and 30 cases", "s", 3.0, "9.5 to 10.6 s"),
    Figure("report", "large size", "HTML report, 100 cases with answers of 1 MB: size", "MB", 10.0),
    Figure("report", "large seconds", "the same: time", "s", 3.0),
    Figure("grid", "seconds", "grid of 20 cells over {} characters", "s", None, "38.8 s"),
    Figure("grid", "memory", "the same: memory", "MB", None, "597 MB"),
)


def table(
    now: Mapping[str, Reading], before: Mapping[str, Reading], sizes: Mapping[str, str], commit: str
) -> Iterator[str]:
    """Yield the rows of the table, in Markdown.

    Args:
        now: part -> what was measured on this tree.
        before: part -> the same on the earlier tree; empty where none was measured.
        sizes: part -> the size that was measured.
        commit: name of the earlier tree.
    """
    earlier = f"{commit}, in this run" if commit else "an earlier measurement, full size"
    yield f"| what | now | before ({earlier}) | aim | met | other programs, of all cores |"
    yield "|---|---|---|---|---|---|"
    for figure in FIGURES:
        reading = now.get(figure.part)
        if reading is None:
            continue
        what = figure.what.format(sizes.get(figure.part, ""))
        value = reading.values.get(figure.key)
        shown = "not measured" if value is None else figure.shown(value) + _note(reading, figure.key)
        was = _before(figure, before.get(figure.part), value) if commit else figure.earlier
        aim = "" if figure.aim is None else _aim(figure)
        met = "" if value is None else figure.met(value)
        yield f"| {what} | {shown} | {was} | {aim} | {met} | {reading.others:.1f} |"


def _aim(figure: Figure) -> str:
    assert figure.aim is not None
    bound = "at least" if figure.more_is_better else "at most"
    return f"{bound} {figure.aim:g} {figure.unit}"


def _note(reading: Reading, key: str) -> str:
    return f" ({reading.notes[key]})" if reading.notes.get(key) else ""


def _before(figure: Figure, reading: Reading | None, now: float | None) -> str:
    value = None if reading is None else reading.values.get(figure.key)
    if value is None or reading is None:
        return f"{figure.earlier} (earlier)" if figure.earlier else "not measured"
    ratio = f", {value / now:.2g} x" if now and figure.unit != "x" else ""
    return figure.shown(value) + _note(reading, figure.key) + ratio
