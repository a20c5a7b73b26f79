"""Runs against runs, and the trials of a grid against each other."""

from collections.abc import Mapping, Sequence

from ragtriage.dashboard.wording.comparisons import (
    OUTCOME_MARKS,
    VERDICT_LABELS,
    effect_label,
    outcome_label,
    slice_title,
)
from ragtriage.dashboard.wording.escaping import capital
from ragtriage.dashboard.wording.formatting import mean_text
from ragtriage.data.chunking.grid_plan import TrialCost
from ragtriage.data.chunking.grids import TrialValue
from ragtriage.data.comparison.ablation import Ablation, Effect
from ragtriage.data.comparison.compare import Comparison, MetricDifference
from ragtriage.data.comparison.leaderboard import PERCENTILES, CostPoint, Leaderboard, percentiles
from ragtriage.data.comparison.question_changes import SliceChange
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.scoring.summaries import MetricSummary
from ragtriage.metrics.gates.wording import level_text
from ragtriage.metrics.metric_registry import title_of
from ragtriage.metrics.number_text import points, signed
from ragtriage.metrics.result_table import (
    Cell,
    Change,
    Count,
    Number,
    PValue,
    ResultTable,
    Row,
    Share,
    ends_of,
)
from ragtriage.metrics.statistics.paired import PairedDifference

STANDINGS = {
    "best": "best",
    "same": "tied with the best",
    "worse": "below the best",
    "not compared": "no shared question with the best",
    "no direction": "no direction",
}
FACTOR_METRICS = 4  # that the table of factors has room for
OUTCOMES = {
    "best": "★ best",
    "same": "≈ not distinguishable",
    "worse": "worse",
    "equal": "= all equal",
    "no direction": "no direction",
    "mean alone": "mean alone",
    "not measured": "not measured",
}


def version_table(
    comparisons: Mapping[str, Comparison], names: Mapping[str, str], base_name: str
) -> ResultTable:
    """Return a row per metric with each version's mean, difference, interval and pairs.

    The baseline has a column where its means are the same for all versions. Where versions share other
    questions with it, they are not, and each version stands beside the baseline's mean over its own pairs.
    """
    differences = {
        run_id: {each.metric: each for each in comparison.differences}
        for run_id, comparison in comparisons.items()
    }
    metrics = dict.fromkeys(metric for by_metric in differences.values() for metric in by_metric)
    bases = {
        metric: {
            level_text(metric, each[metric].base)
            for each in differences.values()
            if metric in each and each[metric].difference.n_pairs
        }
        for metric in metrics
    }
    one_base = all(len(levels) < 2 for levels in bases.values())
    rows: list[Row] = []
    for metric in metrics:
        row: dict[str, Cell] = {"Metric": capital(title_of(metric))}
        if one_base:
            row[f"{base_name} (baseline)"] = next(iter(bases[metric]), None)
        for run_id, by_metric in differences.items():
            row |= _version_cells(by_metric.get(metric), names[run_id], one_base)
        rows.append(row)
    return ResultTable("Metrics by version, with differences to the baseline", tuple(rows))


def _version_cells(metric: MetricDifference | None, name: str, one_base: bool) -> Row:
    """Return the cells of one version in the row of a metric; dashes where it is not compared."""
    interval, pairs = f"Interval of the verdict, {name}", f"n, {name}"
    if metric is None or not metric.difference.n_pairs:
        return {name: None, interval: None, pairs: Count(0)}
    symbol = OUTCOME_MARKS[metric.verdict]
    base = "" if one_base else f"{level_text(metric.metric, metric.base)} → "
    level = level_text(metric.metric, metric.other)
    return {
        name: f"{base}{level}  ({signed(metric.difference.difference)} {symbol})",
        interval: ends_of(metric, 2),
        pairs: Count(metric.difference.n_pairs),
    }


def difference_table(differences: Sequence[MetricDifference], name: str, digits: int = 2) -> ResultTable:
    """Return all numbers of the comparison of a version, a row per metric."""
    rows: list[Row] = []
    for metric in differences:
        difference = metric.difference
        rises, falls = (" rose", " fell") if metric.verdict == "no direction" else ("", "")
        rows.append(
            {
                "Metric": f"{capital(title_of(metric.metric))}{' (primary)' if metric.primary else ''}",
                "Baseline": Number(metric.base, digits),
                "Version": Number(metric.other, digits),
                "Difference": Change(difference.difference, digits),
                "Interval": ends_of(metric, digits),
                "Unadjusted 95 %": ends_of(difference, digits),
                "p": PValue(difference.p),
                "p (corrected)": PValue(metric.adjusted_p),
                **_pairs(difference, rises, falls),
                "Verdict": outcome_label(metric),
            }
        )
    paired = all(each.difference.unpaired is None for each in differences)
    how = "paired on question" if paired else "unpaired, weighted by 1 / rate"
    return ResultTable(f"Differences of {name} in full, {how}", tuple(rows))


def _pairs(difference: PairedDifference, rises: str, falls: str) -> Row:
    """Return how many questions are paired and how they changed; of two samples of calls, their sizes."""
    if difference.unpaired is not None:
        before, now = difference.unpaired
        return {"Pairs": f"none: {before:,} and {now:,}", "Better / worse / same": None}
    changed = f"{difference.better:,}{rises} / {difference.worse:,}{falls} / {difference.same:,}"
    return {"Pairs": Count(difference.n_pairs), "Better / worse / same": changed}


def slice_table(changes: Sequence[SliceChange], base_name: str, name: str) -> ResultTable:
    """Return the pass rate of both versions in each slice."""
    rows: list[Row] = [
        {
            "Slice": slice_title(change),
            base_name: Share(change.base),
            name: Share(change.other),
            "Change": points(change.difference.difference),
            "95 % (share)": ends_of(change, 2),
            "p (Holm)": PValue(change.adjusted_p),
            "Verdict": VERDICT_LABELS[change.verdict],
            "n": Count(change.difference.n_pairs),
        }
        for change in changes
    ]
    return ResultTable("Pass rate by slice", tuple(rows))


def leaderboard_table(board: Leaderboard, names: Mapping[str, str]) -> ResultTable:
    """Return the versions in the order of the leaderboard with their differences to the best."""
    rows: list[Row] = [
        {
            "Version": names[row.run_id],
            "Mean": Number(row.value.mean),
            "95 % interval": ends_of(row.value),
            "Questions": Count(row.value.n_scored),
            "Standing": STANDINGS[row.standing],
            "To the best": Change(row.difference.difference) if row.difference else None,
            "Interval of the difference": ends_of(row.test),
            "p (corrected)": PValue(row.test.p) if row.test and row.difference else None,
        }
        for row in board.rows
    ]
    return ResultTable(f"Leaderboard of {capital(title_of(board.metric))}", tuple(rows))


def effect_table(effects: Sequence[Effect]) -> ResultTable:
    """Return the effect of each change of a single setting."""
    rows: list[Row] = [
        {
            "Change": effect_label(effect),
            "Difference": Change(effect.difference.difference),
            "Interval": ends_of(effect),
            "Unadjusted 95 %": ends_of(effect.difference),
            "p (corrected)": PValue(effect.adjusted_p),
            "Verdict": VERDICT_LABELS[effect.verdict],
            "Questions": Count(effect.difference.n_pairs),
            "Pairs of runs": str(len(effect.pairs)),
        }
        for effect in effects
    ]
    return ResultTable("Effects of single changes", tuple(rows))


def factor_table(
    ablation: Ablation,
    names: Mapping[str, str],
    summaries: Mapping[str, Mapping[str, MetricSummary]],
    metrics: Sequence[str],
) -> ResultTable:
    """Return the settings in which runs differ, with their means.

    Args:
        ablation: of the runs.
        names: run id -> name.
        summaries: run id -> metric -> its mean, of the runs in their order.
        metrics: to show, as far as there is room.
    """
    rows: list[Row] = []
    for run_id, summary in summaries.items():
        row: dict[str, Cell] = {"Run": names[run_id]}
        for factor in ablation.factors:
            named = f"{factor.key} ({factor.kind})"
            title = named if factor.kind and factor.kind not in factor.key else factor.key
            row[title] = factor.values.get(run_id)
        row |= {capital(title_of(name)): mean_text(summary.get(name)) for name in metrics[:FACTOR_METRICS]}
        rows.append(row)
    return ResultTable("Runs by factor with their metrics", tuple(rows))


def cost_table(
    versions: Sequence[tuple[str, ScoredRun, CostPoint]], cost: str, cost_title: str
) -> ResultTable:
    """Return quality, mean cost and its percentiles of each version: name, scores, place on the map."""
    digits = 4 if cost == "cost_usd" else 0
    rows: list[Row] = []
    for name, scored, point in versions:
        n, values = percentiles(scored, cost)
        mean = point.cost
        rows.append(
            {
                "Version": name,
                "": "on the front" if point.front else "",
                "Quality": mean_text(point.quality),
                "Mean": Number(mean.mean if mean else None, digits),
                "95 % interval": ends_of(mean, digits),
                "Questions": Count(mean.n_scored) if mean else None,
                **{f"p{p}": Number(values.get(p), digits) for p in PERCENTILES},
                "Samples": Count(n) if n else None,
            }
        )
    return ResultTable(f"Percentiles of {cost_title} by version", tuple(rows))


def trial_table(metric: str, entries: Sequence[TrialValue]) -> ResultTable:
    """Return configurations with their means, differences to the best, and index sizes."""
    rows = tuple(map(_row, entries))
    title = f"Configurations with {title_of(metric)}, differences to the best, and index sizes"
    return ResultTable(title, rows)


def trial_cost_table(costs: Sequence[tuple[str, TrialCost]], k: int, priced: bool = False) -> ResultTable:
    """Return what a question costs in each configuration, without the columns that none records.

    Args:
        costs: by name of the configuration.
        k: chunks that are handed on.
        priced: whether USD follow from tokens and a price, instead of being recorded.
    """
    columns = {
        f"Tokens, top {k}": [Number(cost.tokens, 0) for _, cost in costs],
        "ms": [Number(cost.milliseconds, 1) for _, cost in costs],
        "USD": [Number(cost.usd, 4) for _, cost in costs],
    }
    known = {
        title: cells for title, cells in columns.items() if any(cell.value is not None for cell in cells)
    }
    missing = [title for title in ("ms", "USD") if title not in known]
    rows: list[Row] = [
        {"Chunking": name, **{title: cells[at] for title, cells in known.items()}}
        for at, (name, _) in enumerate(costs)
    ]
    note = "Averages per question" + (f"; {' and '.join(missing)} not recorded" if missing else "")
    note += "; USD of these tokens alone" if priced else ""
    return ResultTable("Costs of a question by configuration", tuple(rows), note)


def _row(entry: TrialValue) -> Row:
    trial, value, difference, test = entry.trial, entry.value, entry.difference, entry.test
    config, timings = trial.run.config, trial.run.measured
    steps = [timings[step] for step in ("chunking_s", "indexing_s", "retrieving_s") if step in timings]
    sizes: dict[str, Cell] = {
        title: config[key] if isinstance(config.get(key), int) else None
        for title, key in (("Chunks", "n_chunks"), ("Tokens", "index_tokens"))
    }
    return {
        "Chunking": trial.run.name,
        "": OUTCOMES[entry.outcome],
        "Mean": None if value is None else value.mean,
        "95 % interval": ends_of(None if entry.outcome == "mean alone" else value),
        "To the best": None if difference is None else Change(difference.difference),
        "Paired n": None if difference is None else difference.n_pairs,
        "Corrected interval": ends_of(test),
        "Unadjusted 95 %": ends_of(difference),
        "p (corrected)": None if test is None else PValue(test.p),
        "n": None if value is None else value.n_scored,
        "Strategy": f"{trial.strategy}, headings repeated" if trial.headings else trial.strategy,
        "Size": trial.size,
        "Overlap": trial.overlap,
        **sizes,
        "Seconds": sum(steps) if steps else None,
    }
