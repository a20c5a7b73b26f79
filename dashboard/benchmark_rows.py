"""The rows of the tables on the Benchmarks page: shares in percent, other metrics on their own scale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dashboard.benchmark_charts import metric_label
from dashboard.rounding import NOT_MEASURED, interval_text, number, signed, source_text
from data.published import BAND_NAMES, Band, PublishedRow, PublishedTable, band_of
from data.summaries import Aggregate
from metrics.catalogue import declared, is_share

__all__ = ["band_rows", "difference_rows", "matrix_rows"]


def difference_rows(
    ours: Mapping[str, Aggregate], shared: Sequence[str], against: PublishedRow
) -> list[dict[str, str]]:
    """Hold our means against a published row, metric by metric."""
    rows = []
    for name in shared:
        one, theirs = ours[name], against.values.get(name)
        rows.append(
            {
                "Metric": metric_label(name),
                "Ours": _level(name, one.mean),
                **_sureness(name, one),
                "Obtained": source_text(one) if one.n_scored else "imported mean",
                _column(against): _level(name, theirs),
                "Difference, + is better": NOT_MEASURED
                if theirs is None
                else _difference(name, (one.mean or 0.0) - theirs),
            }
        )
    return rows


def _sureness(name: str, one: Aggregate | None) -> dict[str, str]:
    """Write how sure our own mean is."""
    if one is None:
        return {"95 % interval": NOT_MEASURED, "n": NOT_MEASURED}
    return {
        "95 % interval": interval_text(_shown(name, one.low), _shown(name, one.high), _digits(name)),
        "n": f"{one.n_scored:,}" if one.n_scored else "not stated",
    }


def _column(row: PublishedRow) -> str:
    """Head the column of a published row, so that no name of one stands for ours."""
    return f"Published: {row.name}"


def _difference(metric: str, value: float) -> str:
    """Write a difference turned so that plus is better, and say so in words; by the number alone."""
    found = declared(metric)
    shown, digits = _shown(metric, value) or 0.0, _digits(metric)
    if found is None or found.higher_is_better is None:
        return f"{signed(shown, digits)} (no direction)"
    turned = shown if found.higher_is_better else -shown
    if abs(turned) < 0.5 * 10.0**-digits:
        return "= the same"
    return f"{signed(turned, digits)} {'▲ better' if turned > 0 else '▼ worse'} by the number"


def matrix_rows(
    name: str, ours: Mapping[str, Aggregate], table: PublishedTable, shared: Sequence[str]
) -> list[dict[str, str]]:
    """List every system with its means, the best of each metric marked; name is that of our run."""
    systems = [(f"{name} (ours)", {one: ours[one].mean for one in shared})]
    systems += [(row.name, {one: row.values.get(one) for one in shared}) for row in table.rows]
    best = {one: _best(one, [values[one] for _, values in systems]) for one in shared}
    return [
        {
            "System": system,
            **{
                metric_label(one): f"{_level(one, values[one])}{_star(values[one], best[one])}"
                for one in shared
            },
        }
        for system, values in systems
    ]


def _star(value: float | None, best: float | None) -> str:
    return " ★" if best is not None and value == best else ""


def _best(metric: str, values: Sequence[float | None]) -> float | None:
    """Give the best of the values that are there; None where the metric has no direction."""
    found = declared(metric)
    known = [value for value in values if value is not None]
    if not known or found is None or found.higher_is_better is None:
        return None
    return max(known) if found.higher_is_better else min(known)


def _level(metric: str, value: float | None) -> str:
    """Write a value: a share in percent, anything else on its own scale."""
    return number(_shown(metric, value), _digits(metric))


def _shown(metric: str, value: float | None) -> float | None:
    return 100 * value if value is not None and is_share(metric) else value


def _digits(metric: str) -> int:
    return 1 if is_share(metric) else 3


def band_rows(
    ours: Mapping[str, Aggregate], bands: Mapping[str, Band], against: PublishedRow
) -> list[dict[str, str]]:
    """List the bands, each with our mean and the published one in it."""
    rows = []
    for name, band in bands.items():
        one, theirs = ours.get(name), against.values.get(name)
        edges = zip(BAND_NAMES[1:], (band.minimum, band.good, band.excellent), strict=True)
        rows.append(
            {
                "Metric": metric_label(name),
                "Ours": _banded(band, one.mean if one else None),
                **_sureness(name, one),
                _column(against): _banded(band, theirs),
                **{title: f"{_shown(name, edge):g}" for title, edge in edges},
            }
        )
    return rows


def _banded(band: Band, value: float | None) -> str:
    return NOT_MEASURED if value is None else f"{_level(band.metric, value)} · {band_of(band, value)}"
