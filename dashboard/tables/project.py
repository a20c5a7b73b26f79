"""A project: its runs side by side, its evaluation plan, and the question sets of the workspace."""

from collections.abc import Mapping, Sequence
from pathlib import PurePath

from ragtriage.dashboard.wording.escaping import capital
from ragtriage.dashboard.wording.imports import gold_text
from ragtriage.data.comparison.answered import Answered
from ragtriage.data.declarations import Declaration
from ragtriage.data.diagnosis.run_checks import means_of
from ragtriage.data.scoring.summaries import MetricSummary
from ragtriage.data.store.question_sets import QuestionSet
from ragtriage.data.store.workspace import Run, flat_settings, setting_text
from ragtriage.data.strategy.holdings import HELD, SampleSize
from ragtriage.data.strategy.plan import Plan
from ragtriage.metrics.metric_registry import imported_declarations, title_of
from ragtriage.metrics.number_text import NOT_MEASURED, count, interval_text, number
from ragtriage.metrics.result_table import Cell, Count, ResultTable, Row
from ragtriage.metrics.sanity.means import looks_uncomputed


def run_table(
    runs: Sequence[Run],
    shown: Run,
    names: Mapping[str, str],
    labels: Mapping[str, Sequence[str]],
    summaries: Mapping[str, Mapping[str, MetricSummary]],
    answered: Mapping[str, Answered],
    metrics: Sequence[str],
) -> ResultTable:
    """Return the runs with some of their means.

    Args:
        runs: in the order of the rows.
        shown: the run on display.
        names: run id -> name.
        labels: run id -> tags and marks.
        summaries: run id -> metric -> its mean.
        answered: run id -> how much of the test set it answered.
        metrics: the columns of means.
    """
    rows: list[Row] = [
        {
            "": "▸" if run == shown else "",
            "Run": names[run.run_id],
            "Created": f"{run.created_at:%Y-%m-%d %H:%M}",
            "Questions": _questions(run, answered.get(run.run_id)),
            "Samples": Count(run.n) if run.n else "means only",
            **{metric: _mean(run, summaries[run.run_id].get(metric)) for metric in metrics},
            "Tags": ", ".join(labels.get(run.run_id, [])),
            "Format": run.origin["format"],
            "Id": run.run_id,
        }
        for run in runs
    ]
    return ResultTable("Runs of the project", tuple(rows))


def _questions(run: Run, answered: Answered | None) -> Cell:
    """Return how many questions a run has, or how many of the test set it answered where that is not all."""
    if answered is not None and not answered.complete:
        return f"{answered.answered:,} of {answered.asked:,} answered"
    return Count(run.n_questions) if run.n_questions else "not stated"


def _mean(run: Run, summary: MetricSummary | None) -> Cell:
    """Return a mean with its interval; a 0 that looks uncomputed is not shown as 0."""
    if summary is None or summary.mean is None:
        return None
    if run.means and summary.metric in looks_uncomputed(means_of(run)):
        return "not computed?"
    interval = interval_text(summary.low, summary.high)
    return number(summary.mean) if interval == NOT_MEASURED else f"{number(summary.mean)} {interval}"


def config_table(runs: Sequence[Run], names: Mapping[str, str]) -> ResultTable | None:
    """Return the configurations of runs side by side, differing settings first; None where there are none."""
    configs = {
        run.run_id: {path: setting_text(value) for path, value in flat_settings(run.config).items()}
        for run in runs
    }
    values = {key: {config.get(key) for config in configs.values()} for by in configs.values() for key in by}
    rows: list[Row] = [
        {
            "Setting": key,
            **{names[run_id]: config.get(key) for run_id, config in configs.items()},
            "": "differs" if len(values[key]) > 1 else "",
        }
        for key in sorted(values, key=lambda key: (len(values[key]) == 1, key))
    ]
    return ResultTable("Configuration of each version", tuple(rows)) if rows else None


def question_set_table(sets: Sequence[QuestionSet]) -> ResultTable:
    """Return the question sets in their order."""
    rows: list[Row] = [
        {
            "Name": entry.name,
            "Questions": Count(entry.n),
            "Gold": gold_text(entry) if entry.n_gold else None,
            "References": Count(entry.n_references) if entry.n_references else None,
            "Two or more hops": Count(entry.n_hops) if entry.n_hops else None,
            "From": f"{PurePath(entry.origin.get('file', '')).name} ({entry.origin.get('format', '')})",
            "Kept": f"{entry.created_at:%Y-%m-%d}",
            "Id": entry.set_id,
        }
        for entry in sets
    ]
    return ResultTable("Question sets", tuple(rows))


def declaration_table(declarations: Mapping[str, Declaration]) -> ResultTable:
    """Return the imported scores whose direction is declared."""
    imported = imported_declarations()
    rows: list[Row] = [
        {
            "Score": name,
            "Title": imported[name].title if name in imported else None,
            "Better": entry.direction,
            "Range": f"{entry.bounds[0]:g} to {entry.bounds[1]:g}" if entry.bounds else None,
        }
        for name, entry in declarations.items()
    ]
    return ResultTable("Declared scores", tuple(rows))


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
        "paired": f"{count(len(size.runs), 'run')} paired on {count(size.n_behind, 'question')}",
        "one run": f"one run of {count(size.n_behind, 'question')}, as if two runs shared none",
        "assumed": "no run: the worst case of a share, as if two runs shared no question",
    }[size.basis]
    return (
        f"Detecting a difference of {plan.use_case.difference:g} in {title} takes "
        f"{count(plan.n_questions, 'question')} (power 0.8, "
        f"two-sided 0.05; standard deviation of a question's difference {size.deviation:.2f}, from {of})."
        f"{shown_text(size, size.n_behind, ' ')}"
    )


def shown_text(size: SampleSize, questions: int, before: str = "") -> str:
    """Return the smallest change that so many questions show; "" where that is not known."""
    smallest = size.smallest(questions)
    if smallest is None:
        return ""
    verb = "shows" if questions == 1 else "show"
    return f"{before}{count(questions, 'question')} {verb} a change of {100 * smallest:.0f} points."


def held_text(plan: Plan) -> str:
    """Return what the project holds and what it lacks."""
    held = plan.holdings.held()
    there = [HELD[field] for field, is_there in held.items() if is_there]
    lacking = [HELD[field] for field, is_there in held.items() if not is_there]
    parts = [f"has {', '.join(there)}" if there else "", f"lacks {', '.join(lacking)}" if lacking else ""]
    return f"{capital('; '.join(part for part in parts if part))}."
