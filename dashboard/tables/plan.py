"""The evaluation plan: its steps, the metrics that decide, and its sentences."""

from __future__ import annotations

from ragtriage.dashboard.wording.escaping import capital
from ragtriage.data.strategy.holdings import HELD
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


def plan_sentence(plan: Plan) -> str:
    """Return how far the plan is: what is done, and the first step that is not."""
    todo = [step for step in plan.steps if not step.done]
    done = len(plan.steps) - len(todo)
    project = plan.holdings.project
    steps = count(len(plan.steps), "step")
    text = todo[0].what
    lower = text[:1].lower() + text[1:]
    return f"{plan.use_case.title}, {project}: {done} of {steps} done. Next: {lower}."


def size_text(plan: Plan) -> str:
    """Return how many questions show the difference of the use case, and what that rests on."""
    size = plan.size
    title = title_of(size.metric)
    of = {
        "paired": f"two runs paired on {count(size.n_behind, 'question')}",
        "one run": f"one run of {count(size.n_behind, 'question')}, as if two runs shared none",
        "assumed": "no run: the worst case of a share, as if two runs shared no question",
    }[size.basis]
    return (
        f"Detecting a difference of {plan.use_case.difference:g} in {title} takes "
        f"{count(plan.n_questions, 'question')} (power 0.8, "
        f"two-sided 0.05; standard deviation of a question's difference {size.deviation:.2f}, from {of})."
    )


def held_text(plan: Plan) -> str:
    """Return what the project holds and what it lacks."""
    held = plan.holdings.held()
    there = [HELD[field] for field, is_there in held.items() if is_there]
    lacking = [HELD[field] for field, is_there in held.items() if not is_there]
    parts = [f"has {', '.join(there)}" if there else "", f"lacks {', '.join(lacking)}" if lacking else ""]
    return f"{capital('; '.join(part for part in parts if part))}."
