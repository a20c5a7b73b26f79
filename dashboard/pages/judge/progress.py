"""The judge jobs of a run: progress, stop, and going on with those that stopped or died."""

from __future__ import annotations

import os

from ragtriage.dashboard.pages.judge.start import job_options
from ragtriage.dashboard.shell.jobs import JobPanel, duration, job_section
from ragtriage.dashboard.shell.session import View
from ragtriage.dashboard.wording.escaping import markdown_text
from ragtriage.data.jobs import Job, jobs_of
from ragtriage.data.labels.ratings import EVALUATOR

ANSWER = "answer:"  # before the context of a job that answers questions anew


def judge_jobs(view: View) -> bool:
    """Show the jobs of the run on display; return whether one runs."""
    panel = JobPanel(
        "judge",
        lambda: jobs_of(view.store.ledger, view.run.run_id),
        _progress,
        _summary,
        _command,
        lambda job: job.kind.startswith(ANSWER),  # texts given by --corpus are not recorded
        "Every judge result that had come back is kept; going on asks for the rest.",
        _named,
    )
    return job_section(view.store, panel)


def _progress(job: Job) -> str:
    progress = job.progress
    if not progress:
        return f"{markdown_text(job.kind)}: beginning"
    rate, left, cost = progress.get("rate"), progress.get("seconds_left"), progress.get("cost_usd")
    failed = sum((progress.get("failed") or {}).values())
    parts = [
        f"{progress['done']:,} of {progress['total']:,} by {markdown_text(str(job.spec.get('model', '')))}",
        f"{progress.get('cached', 0):,} cached" if progress.get("cached") else "",
        f"{rate:.1f} calls/s" if rate else "",
        f"${cost:.4f} so far" if cost is not None else "",
        f"{failed:,} failed" if failed else "",
        f"about {duration(left)} left" if left else "",
    ]
    return " · ".join(part for part in parts if part)


def _summary(job: Job) -> list[str]:
    progress = job.progress
    total = progress.get("total", job.spec.get("samples", 0))
    failed = sum((progress.get("failed") or {}).values())
    cost = progress.get("cost_usd")
    return [
        f"{markdown_text(job.kind)} by {markdown_text(str(job.spec.get('model', '')))}",
        f"{progress.get('scored', 0):,} of {total:,} have a verdict",
        f"{failed:,} failed" if failed else "",
        f"${cost:.4f}" if cost else "",
    ]


def _named(job: Job) -> dict[str, str]:
    """Return where the API key would be sent and prompts be read, unless this machine is set so itself."""
    own = {os.environ.get("ANTHROPIC_BASE_URL"), None, ""}
    purposes = {"base_url": "your API key sent to", "prompts": "the prompts in"}
    return {
        purpose: str(job.spec[name]) for name, purpose in purposes.items() if job.spec.get(name) not in own
    }


def _command(job: Job) -> list[str]:
    """Return the words after `ragtriage` that go on with a job."""
    spec = job.spec
    options = {name: spec.get(name) for name in ("model", "limit", "concurrency")}
    options |= {"budget": spec.get("budget_usd"), "base-url": spec.get("base_url")}
    if job.kind.startswith(ANSWER):
        context = job.kind.removeprefix(ANSWER)
        return ["generate", job.run_id, "--context", context, *job_options(options)]
    options |= {
        name: spec.get(name)
        for name in ("sample", "repeats", "effort", "prompts", "again", "stop-after", "reference", "shuffle")
    }
    options["batch"] = bool(spec.get("batch"))
    options["evaluator"] = job.kind.removeprefix(EVALUATOR) if job.kind.startswith(EVALUATOR) else None
    return ["judge", job.run_id, "--yes", *job_options(options)]
