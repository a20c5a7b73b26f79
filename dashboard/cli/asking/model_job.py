"""What the commands that ask a model share: the plan, the confirmation, the progress bar."""

from __future__ import annotations

from tqdm import tqdm

from ragtriage.dashboard.cli.terminal import agreed, plain, print_answer, progress_bar
from ragtriage.dashboard.wording.judge_plans import other_way_text
from ragtriage.data.judge.job_spec import JobSpec, Progress
from ragtriage.data.judge.plan import JudgePlan
from ragtriage.data.judge.requests import ClientSettings, JudgeTask
from ragtriage.data.judge.run_job import JobResult, run_task
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.judge_replies import EVALUATION
from ragtriage.data.store.workspace import Run


def plan_text(plan: JudgePlan) -> str:
    """Format a plan for the terminal."""
    half = ", at the price of batches" if plan.batch else ""
    priced = "not known" if plan.cost_usd is None else f"about ${plan.cost_usd:.4f}{half}"
    follow_ups = f", {plan.follow_ups:,} of them follow-up calls" if plan.follow_ups else ""
    nothing = f", {plan.nothing:,} {_without(plan.kind)}" if plan.nothing else ""
    alike = f", {plan.alike:,} identical and asked once" if plan.alike else ""
    kind = "evaluation" if plan.kind == EVALUATION else plan.kind
    other = [] if plan.other_way is None else [f"or       {other_way_text(plan.other_way)}"]
    return "\n".join(
        [
            f"{kind} by {plan.model}, prompt {plan.prompt}",
            f"samples  {plan.samples:,}, {plan.cached:,} of them done already{alike}{nothing}",
            f"calls    {plan.calls:,}{follow_ups}",
            f"tokens   {plan.input_tokens:,} in, {plan.output_tokens:,} out ({plan.method})",
            f"cost     {priced} (prices of {plan.price_date})",
            *other,
            *(f"note     {plain(note)}" for note in plan.notes),
        ]
    )


def _without(kind: str) -> str:
    """Return what a sample lacks that is not sent."""
    if not kind.startswith("answer:"):
        return "with nothing to judge"
    return {
        "answer:oracle": "without texts of gold documents",
        "answer:retrieved": "without retrieved texts",
    }.get(kind, "without a question")


def plan_agreed(plan: JudgePlan, dry_run: bool, yes: bool, as_json: bool) -> bool:
    """Show a plan and return whether to go on; at a terminal the user confirms before anything is spent."""
    if dry_run:
        print_answer(plan.to_dict() if as_json else plan_text(plan))
        return False
    return agreed(plan_text(plan), not yes and plan.calls > 0)


def with_bar(
    doing: str, store: RunStore, run: Run, work: JudgeTask, settings: ClientSettings, spec: JobSpec
) -> JobResult:
    """Run a task under a progress bar with rate, cost so far and time left."""
    with progress_bar(doing, len(spec.rows) * spec.repeats) as show:

        def watch(progress: Progress) -> None:
            left, cost, rate = progress.seconds_left, progress.cost_usd, progress.rate
            parts = [
                "" if rate is None else f"{rate:.1f} calls/s",
                "" if cost is None else f"${cost:.4f}",
                "" if left is None else f"about {tqdm.format_interval(left)} left",
            ]
            show(progress.done, ", ".join(part for part in parts if part))

        return run_task(store.workspace, run, work, settings, spec, watch)


def job_text(result: JobResult, product: str) -> list[str]:
    """Return how a job ended, a line each: its state, how many samples have what it makes, what failed."""
    done = result.progress
    return [
        f"{result.state}: {plain(result.message)}" if result.message else result.state,
        f"{done.scored:,} of {done.total:,} samples have {product}; {done.cached:,} calls were cached",
        *(f"{n:,} {status.replace('_', ' ')}" for status, n in sorted(done.failed.items())),
    ]
