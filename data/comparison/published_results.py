"""Published results and target bands, from files that ship and files that a user adds."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from ragtriage.data.comparison.compared_metrics import by_words
from ragtriage.data.diagnosis.run_checks import uncomputed_metrics
from ragtriage.data.errors import DataError, InputError
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.scoring.summaries import MetricSummary
from ragtriage.data.store.workspace import Workspace
from ragtriage.metrics.analysis.bands import GUIDES, TARGETS, Bands, BandScale, Interpretation, interpret
from ragtriage.metrics.metric_registry import declared, is_share, title_of
from ragtriage.metrics.sanity.means import Means

UNITS = {"percent": 100.0, "share": 1.0}
ACCEPTED = (
    "an object with title, source, date, unit (percent or share), and rows or bands; see docs/benchmarks.md"
)
LISTS = {"rows": "a list of {name, values}", "bands": "a list of {metric, minimum, good, excellent}"}
SHIPPED_SOURCE = "ragtriage"  # of the targets that ship
BAND_NAMES = ("needs work", "minimum", "good", "excellent")


@dataclass(frozen=True)
class PublishedRow:
    """One published result."""

    key: str  # names it in the address: file and row, a file of the user under own/
    name: str  # the system
    values: Mapping[str, float]  # metric -> mean on the metric's own scale, from 0 to 1 for shares
    step: float  # last printed digit of the shares, from 0 to 1
    # it was measured under, as model or retriever; {} where the file has none
    conditions: Mapping[str, str] = field(default_factory=dict)

    @property
    def means(self) -> Means:
        """The values as the checks take them."""
        return Means(self.values, self.step)


@dataclass(frozen=True)
class PublishedTable:
    """Published results of one source."""

    title: str
    source: str
    date: str  # when
    dataset: str  # on which questions
    language: str  # of the questions, as an ISO 639 code; "" where the file does not say
    rows: tuple[PublishedRow, ...]  # its results


@dataclass(frozen=True)
class Band:
    """The bands of one metric, on its own scale and in its own direction."""

    metric: str  # key
    minimum: float  # below it (above, where lower is better) a version needs work
    good: float  # from here on it is good
    excellent: float  # from here on it is excellent
    title: str  # of the file that sets them
    source: str  # who set them

    def as_bands(self) -> Bands:
        """Return the edges as bands that name whose they are."""
        scale = TARGETS if self.source == SHIPPED_SOURCE else f"{self.title}, {self.source}"
        return Bands(BAND_NAMES, (self.minimum, self.good, self.excellent), scale)


@dataclass(frozen=True)
class Published:
    """The published results of all files."""

    tables: tuple[PublishedTable, ...]  # published results, those that ship first
    # metric -> target band; the user's own take the place of those that ship, metric by metric
    bands: Mapping[str, Band]
    errors: tuple[DataError, ...]  # files that cannot be read; nothing of them is used


@cache
def _shipped() -> tuple[Path, ...]:
    return tuple(sorted(Path(str(files("ragtriage.data") / "published")).glob("*.json")))


def read_published(workspace: Workspace) -> Published:
    """Read every file; one that cannot be read is reported and leaves the others alone."""
    tables: list[PublishedTable] = []
    bands: dict[str, Band] = {}
    errors: list[DataError] = []
    own = sorted((workspace.root / "benchmarks").glob("*.json"))
    for folder, path in [("", path) for path in _shipped()] + [("own/", path) for path in own]:
        source = InputFile.from_path(path)
        try:
            document = _object(source)
            read = [_table(source, document, f"{folder}{source.stem}")] if "rows" in document else []
            set_here = _bands(source, document) if "bands" in document else []
        except InputError as error:
            errors.append(error)
            continue
        tables += read
        bands |= {band.metric: band for band in set_here}
    return Published(tuple(tables), bands, tuple(errors))


def _object(source: InputFile) -> Mapping[str, Any]:
    document = source.document()
    if not isinstance(document, Mapping) or not ("rows" in document or "bands" in document):
        raise source.error("is not a file of published results", ACCEPTED)
    return document


def _table(source: InputFile, document: Mapping[str, Any], key: str) -> PublishedTable:
    scale = _scale(source, document)
    rows = _list(source, document, "rows")
    return PublishedTable(
        title=_text(source, document, "title"),
        source=_text(source, document, "source"),
        date=_text(source, document, "date"),
        dataset=str(document.get("dataset", "")),
        language=str(document.get("language", "")),
        rows=tuple(_row(source, at, row, scale, key) for at, row in enumerate(rows)),
    )


def _row(source: InputFile, at: int, row: object, scale: float, key: str) -> PublishedRow:
    if not isinstance(row, Mapping) or not isinstance(row.get("values"), Mapping):
        raise source.error(f"rows[{at}]: is not an object with name and values", ACCEPTED)
    name = row.get("name")
    if not isinstance(name, str) or not name.strip():
        raise source.error(f"rows[{at}].name: missing", "the name of the system, as text")
    values, digits = {}, 0
    for named, value in row["values"].items():
        field = f"rows[{at}].values.{named}"
        metric = _metric(source, field, named)
        values[metric] = _scaled(source, field, value, metric, scale)
        digits = max(digits, len(str(value).partition(".")[2])) if is_share(metric) else digits
    conditions = row.get("conditions", {})
    if not isinstance(conditions, Mapping) or not all(_is_condition(entry) for entry in conditions.values()):
        raise source.error(f"rows[{at}].conditions: is not an object of texts or numbers", ACCEPTED)
    shown = {str(condition): str(value) for condition, value in conditions.items()}
    return PublishedRow(f"{key}:{at}", name, values, 10.0**-digits / scale, shown)


def _is_condition(value: object) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool) and bool(str(value).strip())


def _metric(source: InputFile, field: str, name: object) -> str:
    declaration = declared(str(name))
    if declaration is None or (declaration.per_k and "@" not in str(name)):
        raise source.error(
            f"{field}: is not a known metric", "a key of docs/metrics.md, as answer_f1 or recall@5"
        )
    return str(name) if declaration.per_k else declaration.key


def _scaled(source: InputFile, field: str, value: object, metric: str, scale: float) -> float:
    """Read a number in the unit of the file; a metric that is no share has its own."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not _finite(value):
        raise source.error(
            f"{field}: found {str(value)[:20]!r}", "a number; leave the metric out where it was not measured"
        )
    return float(value) / scale if is_share(metric) else float(value)


def _finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number of more than 308 digits
        return False


def _scale(source: InputFile, document: Mapping[str, Any]) -> float:
    unit = document.get("unit")
    if not isinstance(unit, str) or unit not in UNITS:
        raise source.error(f"unit: found {str(unit)[:20]!r}", ", ".join(UNITS))
    return UNITS[unit]


def _text(source: InputFile, document: Mapping[str, Any], field: str) -> str:
    value = document.get(field)
    if not isinstance(value, str) or not value.strip():
        raise source.error(f"{field}: missing", "text")
    return value


def _list(source: InputFile, document: Mapping[str, Any], field: str) -> Sequence[object]:
    value = document[field]
    if not isinstance(value, list) or not value:
        raise source.error(f"{field}: is not a list with at least one entry", LISTS[field])
    return value


def _bands(source: InputFile, document: Mapping[str, Any]) -> list[Band]:
    scale = _scale(source, document)
    title, origin = _text(source, document, "title"), _text(source, document, "source")
    entries = enumerate(_list(source, document, "bands"))
    return [_band(source, at, entry, scale, title, origin) for at, entry in entries]


def _band(source: InputFile, at: int, entry: object, scale: float, title: str, origin: str) -> Band:
    if not isinstance(entry, Mapping):
        raise source.error(f"bands[{at}]: is not an object", LISTS["bands"])
    metric = _metric(source, f"bands[{at}].metric", entry.get("metric"))
    edges = [
        _scaled(source, f"bands[{at}].{name}", entry.get(name), metric, scale) for name in BAND_NAMES[1:]
    ]
    declaration = declared(metric)
    falling = declaration is not None and declaration.higher_is_better is False
    if edges != sorted(edges, reverse=falling):
        order = "falling, since lower is better" if falling else "rising"
        raise source.error(
            f"bands[{at}]: {metric} has edges out of order", f"minimum, good, excellent {order}"
        )
    minimum, good, excellent = edges
    return Band(metric, minimum, good, excellent, title, origin)


TARGETS_KEY = "targets"
SCALE_TITLES: Mapping[str, str] = {TARGETS_KEY: TARGETS, **{guide.key: guide.title for guide in GUIDES}}


def band_scale(workspace: Workspace, key: str = "") -> BandScale:
    """Return a scale by its key; the production targets, with the user's own, for any other text."""
    guide = next((guide for guide in GUIDES if guide.key == key), None)
    if guide is not None:
        return guide
    own = {metric: band.as_bands() for metric, band in read_published(workspace).bands.items()}
    return BandScale(TARGETS_KEY, TARGETS, own, declared=True)


def interpretations(
    scored: ScoredRun, summaries: Mapping[str, MetricSummary], scale: BandScale
) -> dict[str, Interpretation]:
    """Return what each mean of a run says; no band for estimates from words and what looks uncomputed."""
    doubted = uncomputed_metrics(scored)
    return {
        name: _interpret(name, summary, None if by_words(scored, name) else scale, name in doubted)
        for name, summary in summaries.items()
    }


def _interpret(name: str, summary: MetricSummary, scale: BandScale | None, doubted: bool) -> Interpretation:
    metric, title = declared(name), title_of(name)
    title = title if title[1:2].isupper() else title[:1].upper() + title[1:]
    if metric is None:
        value = "was not measured"
        if summary.mean is not None:
            value = f"is {summary.mean:.2f} over {summary.n_scored:,} questions"
        meaning = "A score of the imported file without a declared direction: neither better nor worse."
        return Interpretation(None, False, f"{title} {value}.", meaning)
    if doubted:
        sentence = f"{title} is 0 throughout and was probably not computed, so it has no band."
        return Interpretation(None, False, sentence, metric.meaning)
    bands = None if scale is None else scale.of(metric)
    return interpret(metric, title, summary.mean, summary.low, summary.high, summary.n_scored, bands)
