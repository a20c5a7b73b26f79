"""The judging jobs of a run as they stand: progress, stop, and what is left of those that died."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

import streamlit as st

from dashboard.sections.judge.start import job_options, start_job
from dashboard.shell.session import View
from dashboard.shell.user import may_write
from dashboard.wording.escaping import markdown_text
from dashboard.wording.formatting import count
from data.errors import DataError
from data.jobs.record import Job, ask_to_stop, jobs_of
from data.labels.rating_dimensions import EVALUATOR

__all__ = ["job_section"]

EVERY = "1s"
ANSWER = "answer:"  # before the context of a job that answers questions anew
STATES = {
    "running": ":blue-badge[running]",
    "done": ":green-badge[done]",
    "stopped": ":orange-badge[stopped]",
    "failed": ":red-badge[failed]",
    "died": ":red-badge[died]",
}


def job_section(view: View) -> bool:
    """Show the newest running job of the run, else the newest, and list the others.

    Returns:
        Whether one runs.
    """
    problem = st.session_state.pop("judge_problem", "")
    if problem:
        st.error(markdown_text(problem), title="The job did not start")
    jobs = jobs_of(view.store.ledger, view.run.run_id)
    if not jobs:
        return False
    first = next((job for job in jobs if job.state == "running"), jobs[0])
    if first.state == "running":
        st.fragment(run_every=EVERY)(_watch)(view, first.job_id)
    else:
        _ended(view, first)
    others = [job for job in jobs if job.job_id != first.job_id]
    if others:
        with st.expander(f"{count(len(others), 'other job')}"):
            for job in others:
                st.markdown(_line(job))
    return first.state == "running"


def _watch(view: View, job_id: int) -> None:
    job = next((one for one in jobs_of(view.store.ledger, view.run.run_id) if one.job_id == job_id), None)
    if job is None or job.state != "running":
        st.rerun()
        return
    progress = job.progress
    total, done = int(progress.get("total", 0)), int(progress.get("done", 0))
    st.progress(done / total if total else 0.0, _state(job))
    with st.container(horizontal=True, vertical_alignment="center"):
        if may_write():
            st.button(
                "Stopping" if job.stop_asked else "Stop",
                key="judge_stop",
                disabled=job.stop_asked,
                on_click=ask_to_stop,
                args=(view.store.ledger, job.job_id),
            )
        st.caption("It goes on when this page or the dashboard is closed.")


def _state(job: Job) -> str:
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
        f"about {_duration(left)} left" if left else "",
    ]
    return " · ".join(part for part in parts if part)


def _duration(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{max(1, round(seconds))} s"


def _ended(view: View, job: Job) -> None:
    unfinished, answers = job.state in ("died", "stopped"), job.kind.startswith(ANSWER)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(_line(job))
        if unfinished and not answers and may_write():
            st.button("Go on", key="judge_resume", on_click=_resume, args=(view, job))
    if unfinished and answers:
        st.caption("It goes on in a terminal, with the options that it was started with:")
        st.code(_generate(job), language="bash")
    if job.state == "died":
        st.caption(
            "Its process is gone without a word. Every verdict that had come back is kept; going on "
            "asks for the "
            "rest."
        )


def _line(job: Job) -> str:
    progress: Mapping[str, Any] = job.progress
    total = progress.get("total", job.spec.get("samples", 0))
    done = f"{progress.get('scored', 0):,} of {total:,} have a verdict"
    failed = sum((progress.get("failed") or {}).values())
    cost = progress.get("cost_usd")
    parts = [
        f"{STATES[job.state]} job {job.job_id}",
        f"{markdown_text(job.kind)} by {markdown_text(str(job.spec.get('model', '')))}",
        done,
        f"{failed:,} failed" if failed else "",
        f"${cost:.4f}" if cost else "",
        f"{markdown_text(job.started_at)} UTC",
        markdown_text(job.message),
    ]
    return " · ".join(part for part in parts if part)


def _generate(job: Job) -> str:
    """Write the command that goes on with a job of answers; texts given by --corpus are not known here."""
    known = {name: job.spec.get(name) for name in ("model", "limit", "concurrency")}
    known |= {"budget": job.spec.get("budget_usd"), "base-url": job.spec.get("base_url")}
    context = job.kind.removeprefix(ANSWER)
    return shlex.join(["ragtriage", "generate", job.run_id, "--context", context, *job_options(known)])


def _resume(view: View, job: Job) -> None:
    spec = job.spec
    rows = spec.get("limit"), spec.get("sample")
    chosen = {
        "model": spec.get("model"),
        "limit": rows[0],
        "sample": rows[1],
        "repeats": spec.get("repeats"),
        "budget": spec.get("budget_usd"),
        "batch": bool(spec.get("batch")),
        "evaluator": job.kind.removeprefix(EVALUATOR) if job.kind.startswith(EVALUATOR) else None,
        "effort": spec.get("effort"),
        "concurrency": spec.get("concurrency"),
        "prompts": spec.get("prompts"),
        "base-url": spec.get("base_url"),
    }
    try:
        start_job(view.store, view.run.run_id, job_options(chosen))
    except DataError as error:
        st.session_state["judge_problem"] = str(error)
