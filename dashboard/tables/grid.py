"""The configurations of a chunking grid under one metric."""

from __future__ import annotations

from collections.abc import Sequence

from ragtriage.data.chunking.costs import TrialCost
from ragtriage.data.chunking.grids import TrialValue
from ragtriage.metrics.metric_registry import title_of
from ragtriage.metrics.result_table import Cell, Change, Number, PValue, ResultTable, Row, ends_of

OUTCOMES = {
    "best": "★ best",
    "same": "≈ not distinguishable",
    "worse": "worse",
    "equal": "= all equal",
    "no direction": "no direction",
    "mean alone": "mean alone",
    "not measured": "not measured",
}


def trial_table(metric: str, entries: Sequence[TrialValue]) -> ResultTable:
    """Return configurations with their means, differences to the best, and index sizes."""
    rows = tuple(map(_row, entries))
    title = f"Configurations with {title_of(metric)}, differences to the best, and index sizes"
    return ResultTable(title, rows)


def trial_cost_table(costs: Sequence[tuple[str, TrialCost]], k: int) -> ResultTable:
    """Return what a question costs in each configuration, without the columns that none records."""
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
    note = f"means a question; {' and '.join(missing)} not recorded" if missing else "means a question"
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
        "Strategy": f"{trial.strategy} + headings" if trial.headings else trial.strategy,
        "Size": trial.size,
        "Overlap": trial.overlap,
        **sizes,
        "Seconds": sum(steps) if steps else None,
    }
