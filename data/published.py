"""Published results and target bands, from files that ship and files that a user adds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from data.errors import DataError, InputError
from data.importers.source import Source
from data.summaries import declared
from data.workspace import Workspace
from metrics.aggregates import Means

__all__ = ["Band", "PublishedRow", "PublishedTable", "Targets", "band_of", "published_tables", "target_bands"]

UNITS = {"percent": 100.0, "share": 1.0}
ACCEPTED = (
    "an object with title, source, date, unit (percent or share), and rows or bands; see docs/benchmarks.md"
)
BAND_NAMES = ("needs work", "minimum", "good", "excellent")


@dataclass(frozen=True)
class PublishedRow:
    """One published result.

    Attributes:
        key: names it in the address: file and row.
        name: the system.
        values: metric -> mean from 0 to 1.
        step: last printed digit, from 0 to 1.
    """

    key: str
    name: str
    values: Mapping[str, float]
    step: float

    @property
    def means(self) -> Means:
        """The values as the checks take them."""
        return Means(self.values, self.step)


@dataclass(frozen=True)
class PublishedTable:
    """Published results of one source.

    Attributes:
        title: what it is.
        source: where it was published.
        date: when.
        dataset: on which questions.
        rows: its results.
    """

    title: str
    source: str
    date: str
    dataset: str
    rows: tuple[PublishedRow, ...]


@dataclass(frozen=True)
class Band:
    """The bands of one metric, from 0 to 1; in the metric's own direction.

    Attributes:
        metric: key.
        minimum: below it (above, where lower is better) a version needs work.
        good: from here on it is good.
        excellent: from here on it is excellent.
    """

    metric: str
    minimum: float
    good: float
    excellent: float


@dataclass(frozen=True)
class Targets:
    """Target bands with where they come from.

    Attributes:
        title: what they are.
        source: who set them.
        bands: metric -> band.
    """

    title: str
    source: str
    bands: Mapping[str, Band]


@cache
def _shipped() -> tuple[Path, ...]:
    return tuple(sorted(Path(str(files("data") / "published")).glob("*.json")))


def _documents(workspace: Workspace) -> list[tuple[Source, Mapping[str, Any]]]:
    """Read every file, those of the user behind those that ship."""
    own = sorted((workspace.root / "benchmarks").glob("*.json"))
    return [(source, _object(source)) for source in map(Source.from_path, (*_shipped(), *own))]


def _object(source: Source) -> Mapping[str, Any]:
    found = source.document()
    if not isinstance(found, Mapping) or not ("rows" in found or "bands" in found):
        raise source.refuse("is no file of published results", ACCEPTED)
    return found


def published_tables(workspace: Workspace) -> tuple[list[PublishedTable], list[DataError]]:
    """Read the published results; a file that cannot be read is told and leaves the others alone."""
    tables, errors = [], []
    for path in (*_shipped(), *sorted((workspace.root / "benchmarks").glob("*.json"))):
        source = Source.from_path(path)
        try:
            found = _object(source)
            if "rows" in found:
                tables.append(_table(source, found))
        except InputError as error:
            errors.append(error)
    return tables, list(errors)


def _table(source: Source, found: Mapping[str, Any]) -> PublishedTable:
    scale = _scale(source, found)
    rows = found["rows"]
    if not isinstance(rows, list) or not rows:
        raise source.refuse("rows: holds no row", "a list of {name, values}")
    return PublishedTable(
        title=_text(source, found, "title"),
        source=_text(source, found, "source"),
        date=_text(source, found, "date"),
        dataset=str(found.get("dataset", "")),
        rows=tuple(_row(source, at, row, scale) for at, row in enumerate(rows)),
    )


def _row(source: Source, at: int, row: object, scale: float) -> PublishedRow:
    if not isinstance(row, Mapping) or not isinstance(row.get("values"), Mapping):
        raise source.refuse(f"rows[{at}]: is no object with name and values", ACCEPTED)
    name = row.get("name")
    if not isinstance(name, str) or not name.strip():
        raise source.refuse(f"rows[{at}].name: missing", "the name of the system, as text")
    values = {}
    for metric, value in row["values"].items():
        field = f"rows[{at}].values.{metric}"
        values[_metric(source, field, metric)] = _number(source, field, value) / scale
    digits = max((_decimals(value) for value in row["values"].values()), default=0)
    return PublishedRow(f"{source.stem}:{at}", name, values, 10.0**-digits / scale)


def _decimals(value: object) -> int:
    return len(str(value).partition(".")[2])


def _metric(source: Source, field: str, name: object) -> str:
    found = declared(str(name))
    if found is None or (found.per_k and "@" not in str(name)):
        raise source.refuse(
            f"{field}: is no metric known here", "a key of docs/metrics.md, as answer_f1 or recall@5"
        )
    return str(name) if found.per_k else found.key


def _number(source: Source, field: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise source.refuse(
            f"{field}: found {value!r}", "a number; leave the metric out where it was not measured"
        )
    return float(value)


def _scale(source: Source, found: Mapping[str, Any]) -> float:
    unit = found.get("unit")
    if unit not in UNITS:
        raise source.refuse(f"unit: found {unit!r}", ", ".join(UNITS))
    return UNITS[unit]


def _text(source: Source, found: Mapping[str, Any], field: str) -> str:
    value = found.get(field)
    if not isinstance(value, str) or not value.strip():
        raise source.refuse(f"{field}: missing", "text")
    return value


def target_bands(workspace: Workspace) -> Targets:
    """Read the target bands; those of the user take the place of those that ship, metric by metric.

    Raises:
        InputError: a file cannot be read.
    """
    bands: dict[str, Band] = {}
    title = origin = ""
    for source, found in _documents(workspace):
        if "bands" not in found:
            continue
        title, origin = _text(source, found, "title"), _text(source, found, "source")
        scale = _scale(source, found)
        for at, one in enumerate(found["bands"]):
            band = _band(source, at, one, scale)
            bands[band.metric] = band
    return Targets(title, origin, bands)


def _band(source: Source, at: int, one: object, scale: float) -> Band:
    if not isinstance(one, Mapping):
        raise source.refuse(f"bands[{at}]: is no object", "{metric, minimum, good, excellent}")
    metric = _metric(source, f"bands[{at}].metric", one.get("metric"))
    edges = [_number(source, f"bands[{at}].{name}", one.get(name)) / scale for name in BAND_NAMES[1:]]
    found = declared(metric)
    falling = found is not None and found.higher_is_better is False
    if edges != sorted(edges, reverse=falling):
        order = "falling, since lower is better" if falling else "rising"
        raise source.refuse(
            f"bands[{at}]: {metric} has edges out of order", f"minimum, good, excellent {order}"
        )
    return Band(metric, *edges)


def band_of(band: Band, value: float) -> str:
    """Name the band that a mean lies in."""
    found = declared(band.metric)
    sign = -1.0 if found is not None and found.higher_is_better is False else 1.0
    reached = sum(sign * value >= sign * edge - 1e-12 for edge in (band.minimum, band.good, band.excellent))
    return BAND_NAMES[reached]
