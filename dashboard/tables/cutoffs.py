"""Retrieval: metrics at k, types of question, gains of further documents, reranking, the context."""

from collections.abc import Mapping, Sequence

from ragtriage.dashboard.wording.comparisons import VERDICT_LABELS
from ragtriage.dashboard.wording.formatting import method_text
from ragtriage.data.analysis.gold_reach import Change as RankingChange
from ragtriage.data.analysis.retrieval_curves import Curve, TypeCurve
from ragtriage.data.scoring.summaries import MetricSummary
from ragtriage.metrics.analysis.retrieval import LEAST_GAIN
from ragtriage.metrics.metric_registry import REGISTRY, title_of
from ragtriage.metrics.number_text import interval_text, number, signed
from ragtriage.metrics.result_table import Cell, Change, Count, Number, Of, PValue, ResultTable, Row, ends_of
from ragtriage.metrics.statistics.intervals import Interval


def curve_table(curves: Sequence[Curve], base: Sequence[Curve], k: int) -> ResultTable:
    """Return each metric at k beside that of the baseline."""
    by_metric = {curve.metric: curve.at(k) for curve in base}
    rows: list[Row] = []
    for curve in curves:
        point, baseline = curve.at(k), by_metric.get(curve.metric)
        rows.append(
            {
                "Metric": title_of(f"{curve.metric}@{k}"),
                "Value": Number(point.mean),
                "95 % interval": ends_of(point),
                "Interval by": method_text(point.method),
                "n": Count(point.n_scored),
                "Baseline": Number(baseline.mean if baseline else None),
                "Baseline interval": ends_of(baseline),
            }
        )
    return ResultTable(f"Metrics at k = {k} with intervals", tuple(rows))


def without_k(metric: str) -> str:
    """Return the title of a metric at k without its k."""
    return title_of(f"{metric}@5").removesuffix("@5")


def type_table(types: Sequence[TypeCurve], k: int) -> ResultTable:
    """Return the primary metric of each type of question at k and at the suggested k."""
    rows: list[Row] = []
    for each in types:
        curve, suggested = each.curve, each.suggested
        row: dict[str, Cell] = {"Type": each.name, "Kind": each.kind, "n": each.n}
        if curve is not None and suggested is not None:
            row |= {
                "Primary metric": without_k(curve.metric),
                f"at k = {k}": _with_interval(curve.at(k)),
                "Suggested k": f"{suggested} or more" if each.rising else f"{suggested}",
                "at suggested k": _with_interval(curve.at(suggested)),
            }
        rows.append(row)
    return ResultTable("Question types", _filled(rows))


def _filled(rows: Sequence[Mapping[str, Cell]]) -> tuple[Mapping[str, Cell], ...]:
    """Return rows that all have the columns of the fullest."""
    columns = max(rows, key=len, default={})
    return tuple({column: row.get(column) for column in columns} for row in rows)


def _with_interval(value: Interval) -> str:
    return f"{number(value.mean, 3)} {interval_text(value.low, value.high, 3)}"


def gain_table(each: TypeCurve) -> ResultTable:
    """Return what every further document adds to the primary metric of a type of question."""
    rows: list[Row] = [
        {
            "From k": gain.start,
            "to k": gain.end,
            "Gain per document": Change(gain.each.mean, 4),
            "95 % interval": f"{signed(gain.each.low, 4)} to {signed(gain.each.high, 4)}",
            f"Compared with {LEAST_GAIN}": "▼ less"
            if gain.each.high < LEAST_GAIN
            else "▲ more"
            if gain.each.low > LEAST_GAIN
            else "· cannot tell",
        }
        for gain in each.gains
    ]
    title = "Gain of the metric per document between two values of k, paired on question"
    return ResultTable(title, tuple(rows))


def reranking_table(changes: Mapping[str, RankingChange], k: int) -> ResultTable:
    """Return each metric before and after reranking."""
    rows: list[Row] = []
    for name, change in changes.items():
        difference = change.difference
        rows.append(
            {
                "Metric": title_of(f"{name}@{k}"),
                "First pass": Number(change.before),
                "Reranked": Number(change.after),
                "Difference": Change(difference.difference),
                "Interval": ends_of(change),
                "Unadjusted 95 %": ends_of(difference),
                "p (corrected)": PValue(change.adjusted_p),
                "Verdict": VERDICT_LABELS[change.verdict],
                "n": Count(difference.n_pairs),
                "▲ / ▼ / =": f"{difference.better:,} / {difference.worse:,} / {difference.same:,}",
            }
        )
    return ResultTable("Paired on question", tuple(rows))


def context_table(summaries: Mapping[str, MetricSummary]) -> ResultTable:
    """Return the metrics of the context with what each says."""
    rows: list[Row] = [
        {
            "Metric": title_of(name),
            "Mean": Number(summary.mean),
            "95 % interval": ends_of(summary),
            "n": Of(summary.n_scored, summary.n_applicable),
            "Source": summary.source,
            "What it says": REGISTRY[name].meaning,
        }
        for name, summary in summaries.items()
    ]
    return ResultTable("Quality of the context", tuple(rows))
