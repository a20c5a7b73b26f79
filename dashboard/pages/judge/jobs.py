"""Judge jobs: planning and starting one, the progress of those that run, going on with those that stopped."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from ragtriage.dashboard.shell.jobs import (
    JobPanel,
    duration,
    has_key,
    job_options,
    job_section,
    start_or_report,
)
from ragtriage.dashboard.shell.session import View
from ragtriage.dashboard.shell.user import may_write, only_reads
from ragtriage.dashboard.wording.escaping import markdown_text
from ragtriage.dashboard.wording.judge_plans import other_way_text
from ragtriage.data.jobs import Job, jobs_of
from ragtriage.data.judge.client import NO_KEY
from ragtriage.data.judge.evaluation import ReferenceWay
from ragtriage.data.judge.evaluators import evaluators, judge_task
from ragtriage.data.judge.job_spec import AGAIN, JobSpec
from ragtriage.data.judge.plan import JudgePlan, choose_rows, plan_task
from ragtriage.data.judge.requests import ClientSettings, PriceTable, read_prices
from ragtriage.data.labels.ratings import EVALUATOR
from ragtriage.data.store.judge_results import CallStatus
from ragtriage.metrics.number_text import count

ANSWER = "answer:"  # before the context of a job that answers questions anew


EVERY, FIRST, DRAWN = "all", "the first", "drawn at random"
EVALUATE = "all"


@dataclass(frozen=True)
class Chosen:
    """The choices of the form."""

    model: str
    which: str  # EVERY, FIRST or DRAWN
    number: int  # of samples, for the other two
    repeats: int  # evaluations a sample
    budget: float | None  # in USD; None for no limit
    batch: bool  # through message batches
    evaluator: str  # name of one, "" for the evaluation
    again: tuple[CallStatus, ...] = ()  # statuses of earlier jobs that are asked for anew
    along: bool = False  # whether one request asks for everything, the reference in view

    @property
    def reference(self) -> ReferenceWay:
        """When the reference answer is shown."""
        return "along" if self.along else "apart"

    @property
    def options(self) -> list[str]:
        """The options of `ragtriage judge`."""
        return job_options(
            {
                "model": self.model,
                "limit": self.number if self.which == FIRST else None,
                "sample": self.number if self.which == DRAWN else None,
                "repeats": self.repeats,
                "budget": self.budget,
                "batch": self.batch,
                "evaluator": self.evaluator,
                "again": ",".join(self.again),
                "reference": self.reference if self.along else None,
            }
        )


def judge_form(view: View) -> None:
    """Draw the form of a judge job, show its plan, and start it."""
    if not may_write():
        only_reads("New judgements")
        return
    prices = read_prices(view.store.workspace.root)
    names = [evaluator.name for evaluator in evaluators(view.store.ledger, view.project)]
    with st.form("judge_form", border=False):
        with st.container(horizontal=True, vertical_alignment="bottom"):
            models = list(prices.models)
            at = models.index(prices.model().name) if prices.model().name in models else 0
            model = st.selectbox("Model", models, at, key="judge_model", accept_new_options=True, width=220)
            asked = st.selectbox("Metrics", [EVALUATE, *names], key="judge_asked", width=220)
            which = st.selectbox("Samples", [EVERY, FIRST, DRAWN], key="judge_which", width=170)
            number = st.number_input("How many", 1, value=50, key="judge_number", width=120)
            budget = st.number_input(
                "Budget in USD",
                0.01,
                value=None,
                format="%.2f",
                key="judge_budget",
                placeholder="none",
                width=140,
            )
            repeats = st.number_input("Evaluations per sample", 1, 20, key="judge_repeats", width=150)
            batch = st.toggle("In batches, at half the price", key="judge_batch")
            along = st.toggle(
                "Judge against the reference in the same call",
                key="judge_along",
                help="Cheaper by a request a sample, but support and relevance are judged with the right "
                "answer in view.",
            )
            again = st.multiselect(
                "Judge again", AGAIN, key="judge_again", placeholder="answers whose judging failed", width=260
            )
        planned = st.form_submit_button("Show the plan")
    chosen = Chosen(
        str(model or prices.default),
        str(which),
        int(number),
        int(repeats),
        float(budget) if budget else None,
        bool(batch),
        "" if asked == EVALUATE else str(asked),
        tuple(again),
        bool(along),
    )
    if planned:
        st.session_state["judge_planned"] = (view.run.run_id, chosen)
    if st.session_state.get("judge_planned") == (view.run.run_id, chosen):
        _planned(view, chosen, prices)


def _planned(view: View, chosen: Chosen, prices: PriceTable) -> None:
    settings = ClientSettings(prices.model(chosen.model))
    limit = chosen.number if chosen.which == FIRST else None
    sample = chosen.number if chosen.which == DRAWN else None
    rows = choose_rows(view.scored(view.run), limit, sample)
    spec = JobSpec(
        rows,
        chosen.repeats,
        chosen.budget,
        chosen.batch,
        limit,
        sample,
        again=chosen.again,
        reference=chosen.reference,
    )
    plan = _plan(view, chosen, settings, spec, prices)
    if plan.nothing == plan.samples:
        st.info(
            f"Nothing to judge: none of {count(plan.samples, 'sample')} has an answer or what else is judged."
        )
        return
    _show_plan(plan)
    if not has_key():
        st.warning(f"{NO_KEY[0].upper()}{NO_KEY[1:]}.")
    st.button(
        f"Judge: {count(plan.calls, 'call')}",
        type="primary",
        key="judge_start",
        disabled=not has_key(),
        on_click=_start,
        args=(view, chosen.options),
    )


def _plan(
    view: View, chosen: Chosen, settings: ClientSettings, spec: JobSpec, prices: PriceTable
) -> JudgePlan:
    """Return the plan, made anew once anything that it depends on has changed."""
    task = judge_task(
        view.store.workspace, view.project, settings.model, chosen.evaluator, reference=chosen.reference
    )
    jobs = jobs_of(view.store.ledger, view.run.run_id)
    current = view.scored(view.run).judge_results.get(task.kind)
    newest = (jobs[0].job_id, jobs[0].state) if jobs else None
    key = (view.run.run_id, chosen, task.prompt, settings.model, prices.date, current, newest)
    stored = st.session_state.get("judge_plan")
    if stored is not None and stored[0] == key:
        plan: JudgePlan = stored[1]
        return plan
    with st.spinner("Planning the requests"):
        plan = plan_task(view.store.workspace, view.run, task, settings, spec, prices)
    st.session_state["judge_plan"] = (key, plan)
    return plan


def _show_plan(plan: JudgePlan) -> None:
    cost = "unknown" if plan.cost_usd is None else f"about ${plan.cost_usd:,.4f}"
    with st.container(horizontal=True):
        st.metric("Samples", f"{plan.samples:,}", border=True)
        st.metric("Judged already", f"{plan.cached:,}", border=True)
        if plan.alike:
            st.metric("Alike, asked once", f"{plan.alike:,}", border=True)
        st.metric("Calls", f"{plan.calls:,}", border=True)
        st.metric("Tokens in", f"{plan.input_tokens:,}", border=True)
        st.metric("Tokens out", f"{plan.output_tokens:,}", border=True)
        st.metric("Cost", cost, border=True)
    parts: Sequence[str] = [
        f"{markdown_text(plan.model)}, prompt {plan.prompt}",
        f"tokens {plan.method}",
        f"prices of {markdown_text(plan.price_date)}" + (", halved for batches" if plan.batch else ""),
        f"{plan.nothing:,} with nothing to judge" if plan.nothing else "",
        f"{plan.follow_ups:,} calls continue a long sample" if plan.follow_ups else "",
    ]
    st.caption(" · ".join(part for part in parts if part))
    if plan.other_way is not None:
        st.caption(markdown_text(other_way_text(plan.other_way)))
    for note in plan.notes:
        st.warning(f"{markdown_text(note[0].upper() + note[1:])}.")


def _start(view: View, options: list[str]) -> None:
    st.session_state.pop("judge_planned", None)
    start_or_report(view.store, ["judge", view.run.run_id, "--yes", *options])


def judge_jobs(view: View) -> bool:
    """Show the jobs of the run on display; return whether one runs."""
    panel = JobPanel(
        "judge",
        lambda: jobs_of(view.store.ledger, view.run.run_id),
        _progress,
        _summary,
        _command,
        lambda job: job.kind.startswith(ANSWER),  # texts given by --corpus are not recorded
        "Every judge result that had come back is kept; resuming the job requests the rest.",
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
