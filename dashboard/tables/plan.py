"""The evaluation plan: its steps, and the metrics that decide."""

from __future__ import annotations

from ragtriage.dashboard.wording.escaping import capital
from ragtriage.data.strategy.plan import Plan
from ragtriage.metrics.metric_registry import title_of
from ragtriage.metrics.number_text import count
from ragtriage.metrics.result_table import ResultTable, Row


def step_table(plan: Plan) -> ResultTable:
    """Return the steps in order."""
    rows: list[Row] = [
        {
            "Step": f"{at}",
            "Done": "✓" if step.done else "",
            "What": step.what,
            "Command": step.command,
            "Why": step.why,
        }
        for at, step in enumerate(plan.steps, 1)
    ]
    return ResultTable("Steps of the evaluation plan with their commands", tuple(rows))


def deciding_table(plan: Plan) -> ResultTable:
    """Return the metrics that decide."""
    rows: list[Row] = [
        {
            "Metric": capital(title_of(metric.name)),
            "Why": metric.why,
            "Measured": count(metric.n, "question") if metric.n else None,
        }
        for metric in plan.metrics
    ]
    return ResultTable("Metrics that decide, and where they are measured", tuple(rows))
