"""A run beside published results and target bands."""

from collections.abc import Mapping, Sequence

from ragtriage.dashboard.charts.published import VersionPoint
from ragtriage.dashboard.wording.escaping import capital
from ragtriage.dashboard.wording.formatting import metric_label, source_text
from ragtriage.data.comparison.published_gap import Condition, ConditionEffect, ExplainedGap
from ragtriage.data.comparison.published_results import Published, PublishedRow, PublishedTable
from ragtriage.data.comparison.trend import Difference, VersionMean, version_steps
from ragtriage.data.scoring.summaries import MetricSummary
from ragtriage.metrics.analysis.bands import Bands, BandScale
from ragtriage.metrics.metric_registry import declared, is_share
from ragtriage.metrics.number_text import count, number, signed
from ragtriage.metrics.result_table import Cell, Change, Count, Ends, Number, ResultTable, Row

MOST_DIGITS = 2  # of a value that is not rounded


def published_table(
    ours: Mapping[str, MetricSummary], shared: Sequence[str], against: PublishedRow, ranked: bool = True
) -> ResultTable:
    """Return our means beside a published row, metric by metric; their differences where it is ranked."""
    rows = []
    for name in shared:
        summary, published = ours[name], against.values.get(name)
        difference = None if published is None else (summary.mean or 0.0) - published
        rows.append(
            {
                "Metric": metric_label(name),
                "Ours": _value(name, summary.mean),
                **_uncertainty(name, summary),
                "Obtained": source_text(summary) if summary.n_scored else "imported mean",
                _published_column(against): _value(name, published),
                "Difference, + is better": None if difference is None else _difference(name, difference),
            }
        )
    if not ranked:
        for row in rows:
            del row["Difference, + is better"]
    return ResultTable(f"Ours compared with {against.name}", tuple(rows))


MOVED = {
    "questions": "every metric: how hard the questions are",
    "model": "precision, faithfulness",
    "retriever": "recall",
    "model and retriever": "model: precision, faithfulness; retriever: recall",
    "language": "context recall first, then refusals",
}
ALIKE = {True: "yes", False: "no", None: "cannot tell"}


def conditions_table(conditions: Sequence[Condition], against: PublishedRow) -> ResultTable:
    """Return under which conditions both sides were measured, and which metrics another condition moves."""
    rows: list[Row] = [
        {
            "Condition": _condition_title(condition.name),
            "Ours": condition.ours or "not recorded",
            _published_column(against): condition.published or "not recorded",
            "Alike": ALIKE[condition.alike],
            "A difference moves": MOVED.get(condition.name, "not known"),
        }
        for condition in conditions
    ]
    return ResultTable("Conditions of both sides", tuple(rows))


def _condition_title(name: str) -> str:
    return capital(name.replace("_", " "))


def explained_table(gaps: Sequence[ExplainedGap], against: PublishedRow) -> ResultTable:
    """Return the gap to a published row, real and as the conditions let expect it; shares in points."""
    rows: list[Row] = []
    for gap in gaps:
        least, most = (_scaled(gap.metric, end) for end in gap.explained)
        digits = _digits(gap.metric)
        size = number(abs(_scaled(gap.metric, gap.real) or 0.0), digits)
        reach = (
            f"{number(least, digits)} to {number(most, digits)}" if least != most else number(most, digits)
        )
        rows.append(
            {
                "Metric": metric_label(gap.metric),
                "Real gap": Change(_scaled(gap.metric, gap.real), digits),
                "95 % interval": Ends(_scaled(gap.metric, gap.low), _scaled(gap.metric, gap.high), digits),
                **{
                    _condition_title(effect.condition): _effect_text(gap.metric, effect)
                    for effect in gap.effects
                },
                "Explained": f"{reach} of {size}" if any(effect.pairs for effect in gap.effects) else None,
            }
        )
    note = (
        "by condition: how far apart rows of this table are that differ in it alone, smallest to largest; "
        "with its direction where a row has our level; explained: what these add up to in the direction of "
        "the gap, at least and at most; no row: none differs in it alone, so its part is not known"
    )
    return ResultTable(f"Expected and real gap to {against.name}", tuple(rows), note)


def _effect_text(metric: str, effect: ConditionEffect) -> str:
    if not effect.pairs:
        return "no row"
    digits = _digits(metric)
    pairs = count(effect.pairs, "pair")
    if effect.low == effect.high:
        return f"{signed(_scaled(metric, effect.low), digits)} with our level, {pairs}"
    smallest, largest = (number(_scaled(metric, end), digits) for end in (effect.smallest, effect.largest))
    return f"± {largest if smallest == largest else f'{smallest} to {largest}'}, {pairs}"


def _uncertainty(name: str, summary: MetricSummary | None) -> Row:
    """Return the cells with the interval and n of our own mean."""
    if summary is None:
        return {"95 % interval": None, "n": None}
    ends = Ends(_scaled(name, summary.low), _scaled(name, summary.high), _digits(name))
    return {"95 % interval": ends, "n": Count(summary.n_scored) if summary.n_scored else "not stated"}


def _published_column(row: PublishedRow) -> str:
    """Return the title of a published row's column, which differs from ours whatever the row's name is."""
    return f"Published: {row.name}"


def _difference(metric: str, difference: float) -> str:
    """Format a difference with its sign turned so that + is better; it says nothing of significance."""
    declaration = declared(metric)
    scaled, digits = _scaled(metric, difference) or 0.0, _digits(metric)
    if declaration is None or declaration.higher_is_better is None:
        return f"{signed(scaled, digits)} (no direction)"
    improvement = scaled if declaration.higher_is_better else -scaled
    if abs(improvement) < 0.5 * 10.0**-digits:
        return "= the same"
    return f"{signed(improvement, digits)} {'▲ better' if improvement > 0 else '▼ worse'} by the number"


def system_table(
    name: str, ours: Mapping[str, MetricSummary], table: PublishedTable, shared: Sequence[str]
) -> ResultTable:
    """Return every system with its means, the best of each metric starred; name is that of our run."""
    systems = [(f"{name} (ours)", {metric: ours[metric].mean for metric in shared})]
    systems += [(row.name, {metric: row.values.get(metric) for metric in shared}) for row in table.rows]
    best = {metric: _best(metric, [values[metric] for _, values in systems]) for metric in shared}
    rows: list[Row] = [
        {
            "System": system,
            **{
                metric_label(metric): f"{_value(metric, values[metric])}"
                + (" ★" if best[metric] is not None and values[metric] == best[metric] else "")
                for metric in shared
            },
        }
        for system, values in systems
    ]
    return ResultTable("All systems by metric", tuple(rows))


def _best(metric: str, values: Sequence[float | None]) -> float | None:
    """Return the best of the measured values; None where the metric has no direction."""
    declaration = declared(metric)
    measured = [value for value in values if value is not None]
    if not measured or declaration is None or declaration.higher_is_better is None:
        return None
    return max(measured) if declaration.higher_is_better else min(measured)


def _value(metric: str, value: float | None) -> Number:
    """Return a share in percent, and any other value on its own scale."""
    return Number(_scaled(metric, value), _digits(metric))


def _scaled(metric: str, value: float | None) -> float | None:
    return 100 * value if value is not None and is_share(metric) else value


def _digits(metric: str) -> int:
    return 1 if is_share(metric) else 3


def band_table(ours: Mapping[str, MetricSummary], scale: BandScale, against: PublishedRow) -> ResultTable:
    """Return the bands of a scale, and in which of them our mean and the published one are."""
    rows = []
    for name, bands in scale.bands.items():
        summary = ours.get(name)
        edges = zip(bands.names[1:], bands.edges, strict=True)
        rows.append(
            {
                "Metric": metric_label(name),
                "Ours": _with_band(name, bands, summary.mean if summary else None),
                **_uncertainty(name, summary),
                _published_column(against): _with_band(name, bands, against.values.get(name)),
                **{title: f"{_scaled(name, edge):g}" for title, edge in edges},
                "Scale": bands.scale,
            }
        )
    return ResultTable("Target bands with ours and the published row", tuple(rows))


def _with_band(metric: str, bands: Bands, value: float | None) -> Cell:
    return None if value is None else f"{_value(metric, value)} · {bands.at(value)}"


def step_table(
    points: Sequence[VersionPoint], last_digits: Sequence[float], metric: str, best: PublishedRow | None
) -> ResultTable:
    """Return the versions with how far each is from the first, the one before, and a published result.

    Args:
        points: the versions, oldest first.
        last_digits: of each version's mean, 0.0 where it is not rounded.
        metric: the metric.
        best: the published result; None for none.
    """
    summaries = [None if point.uncomputed else point.summary for point in points]
    means = [
        VersionMean(None if summary is None else summary.mean, step)
        for summary, step in zip(summaries, last_digits, strict=True)
    ]
    steps = version_steps(means, metric, best)
    rows = []
    for point, mean, summary, step in zip(points, means, summaries, steps, strict=True):
        digits = Difference(mean.mean or 0.0, mean.step).digits(_factor(metric), MOST_DIGITS)
        row: dict[str, Cell] = {
            "Version": point.label,
            metric_label(metric): "not computed?"
            if point.uncomputed
            else Number(_scaled(metric, mean.mean), digits),
            **_uncertainty(metric, summary),
            "vs first": _step(metric, step.first),
            "vs previous": _step(metric, step.previous),
        }
        if best is not None:
            row[f"vs published {_value(metric, best.values[metric])}"] = _step(metric, step.published)
        rows.append(row)
    return ResultTable(f"{metric_label(metric)}: steps from version to version", tuple(rows))


def _factor(metric: str) -> float:
    return 100.0 if is_share(metric) else 1.0


def _step(metric: str, difference: Difference | None) -> Cell:
    """Format a difference with the digits that both means have, and whether it is for the better."""
    if difference is None:
        return None
    declaration = declared(metric)
    text = signed(_scaled(metric, difference.value), difference.digits(_factor(metric), MOST_DIGITS))
    if declaration is None or declaration.higher_is_better is None or not text.startswith(("+", "−")):
        return text
    return f"{text} {'▲' if (difference.value > 0) == declaration.higher_is_better else '▼'}"


def source_table(published: Published) -> ResultTable:
    """Return where published results and targets come from."""
    rows: list[Row] = [
        {
            "What": table.title,
            "Questions": table.dataset,
            "Source": table.source,
            "Date": table.date,
            "Rows": Count(len(table.rows)),
        }
        for table in published.tables
    ]
    titles = {(band.title, band.source) for band in published.bands.values()}
    rows += [
        {"What": title, "Questions": None, "Source": source, "Date": None, "Rows": "targets"}
        for title, source in sorted(titles)
    ]
    return ResultTable("Sources of published results and targets", tuple(rows))
