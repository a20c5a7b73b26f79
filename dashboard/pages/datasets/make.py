"""Making questions from the page: a form with its plan and cost, the job, and kinds that need no model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import streamlit as st

from ragtriage.dashboard.pages.datasets.opened import Opened
from ragtriage.dashboard.shell.jobs import JobPanel, has_key, job_options, job_section, start_or_report
from ragtriage.dashboard.shell.session import open_store
from ragtriage.dashboard.shell.user import attempt, may_write, path_input
from ragtriage.dashboard.wording.escaping import markdown_text
from ragtriage.data.chunking.corpus import read_corpus
from ragtriage.data.datasets.coverage import USUAL_MIX
from ragtriage.data.datasets.making.job import JOB, MakePlan, plan_making
from ragtriage.data.datasets.making.make import MakeOptions, mix_text, read_mix
from ragtriage.data.datasets.making.requests import MakingPrompts
from ragtriage.data.datasets.rules import RULES, add_derived
from ragtriage.data.datasets.windows import CorpusWindows
from ragtriage.data.errors import DataError
from ragtriage.data.jobs import Job, jobs_of
from ragtriage.data.judge.client import NO_KEY
from ragtriage.data.judge.evaluators import own_prompts
from ragtriage.data.judge.requests import ClientSettings, read_prices
from ragtriage.data.store.access import allowed_path
from ragtriage.metrics.number_text import count

OPEN, PLANNED = "make_dialog", "make_planned"  # in the session: whether the dialog is open; what was planned
USUAL_N = 100


@dataclass(frozen=True)
class Wanted:
    """The choices of the form."""

    path: str  # of the corpus
    name: str  # of the dataset
    n: int
    mix: Mapping[str, float]
    model: str
    budget: float | None

    @property
    def words(self) -> list[str]:
        """The words after `ragtriage` that make it."""
        options = job_options(
            {
                "n": None,
                "name": self.name,
                "mix": mix_text(self.mix),
                "model": self.model,
                "budget": self.budget,
            }
        )
        return ["dataset", "make", self.path, "-n", str(self.n), *options, "--yes"]


def make_button(opened: Opened | None) -> None:
    """Draw the button that opens the form in a dialog; nothing where the workspace is only read."""
    if not may_write():
        return
    if st.button("Make", key="make_open", icon=":material/add:", help="Make questions from the corpus"):
        open_make()
    if st.session_state.get(OPEN):
        st.dialog("Make questions", width="large", on_dismiss=_close)(make_form)(opened)


def open_make() -> None:
    """Open the form in its dialog."""
    st.session_state[OPEN] = True


def _close() -> None:
    st.session_state[OPEN] = False


def make_form(opened: Opened | None) -> None:
    """Ask for what is to be made, show its plan, and start it; without a dataset, for a corpus as well."""
    store = open_store()
    prices = read_prices(store.workspace.root)
    with st.form("make_form", border=False):
        path = ""
        if opened is None:
            path = path_input("Corpus: a folder or file on this machine", "make_corpus", "/data/handbook")
        else:
            name = markdown_text(opened.dataset.name)
            st.caption(f"From the corpus of {name}, version {opened.dataset.corpus_version}.")
        with st.container(horizontal=True, vertical_alignment="bottom"):
            n = st.number_input("Questions", 1, 10_000, USUAL_N, key="make_n", width=110)
            mix = st.text_input("Mix of kinds", mix_text(USUAL_MIX), key="make_mix", width=360)
            models = list(prices.models)
            at = models.index(prices.model().name) if prices.model().name in models else 0
            model = st.selectbox("Model", models, at, key="make_model", accept_new_options=True, width=200)
            budget = st.number_input("Budget in USD", 0.01, value=None, format="%.2f", key="make_budget",
                placeholder="none", width=120)  # fmt: skip
        planned = st.form_submit_button("Show the plan")
    if planned:
        try:
            wanted = _wanted(opened, path, int(n), mix, str(model or prices.default), budget)
            st.session_state[PLANNED] = (wanted, _plan(opened, wanted))
        except DataError as error:
            st.session_state.pop(PLANNED, None)
            st.error(markdown_text(str(error)), title="This cannot be made")
    stored = st.session_state.get(PLANNED)
    if stored is not None:
        _show_plan(*stored)
    if not has_key():
        st.warning(f"{NO_KEY[0].upper()}{NO_KEY[1:]}.")
    if opened is not None:
        _without_model(opened)
    dataset_id = opened.dataset.dataset_id if opened is not None else ""
    job_section(store, _panel(lambda: [job for job in _jobs(dataset_id) if job.state == "done"]))


def _wanted(opened: Opened | None, path: str, n: int, mix: str, model: str, budget: float | None) -> Wanted:
    if opened is None:
        if not path.strip():
            raise DataError("corpus: nothing given; accepted: a folder or file on this machine")
        place = str(allowed_path(path))
        return Wanted(place, "", n, read_mix(mix), model, budget)
    dataset = opened.dataset
    kept_corpus = dataset.folder / "corpora" / dataset.corpus_version / "corpus.jsonl"
    return Wanted(str(kept_corpus), dataset.name, n, read_mix(mix), model, budget)


def _plan(opened: Opened | None, wanted: Wanted) -> MakePlan:
    workspace = open_store().workspace
    windows = CorpusWindows(read_corpus([wanted.path])) if opened is None else opened.windows
    settings = ClientSettings(read_prices(workspace.root).model(wanted.model))
    prompts = MakingPrompts.of(own_prompts(workspace))
    with st.spinner("Planning the requests"):
        return plan_making(workspace, windows, MakeOptions(wanted.n, wanted.mix), settings, prompts)


def _show_plan(wanted: Wanted, plan: MakePlan) -> None:
    cost = "unknown" if plan.cost_usd is None else f"about ${plan.cost_usd:,.2f}"
    with st.container(horizontal=True):
        st.metric("Questions", f"{plan.asked:,}", border=True)
        st.metric("Pages", f"{len(plan.quotas):,} of {plan.documents:,}", border=True)
        st.metric("Calls", f"{plan.total_calls:,}", border=True)
        st.metric("Tokens in", f"{plan.input_tokens:,}", border=True)
        st.metric("Cost", cost, border=True)
    kinds = ", ".join(f"{n:,} {kind}" for kind, n in plan.kinds.items())
    short = ", ".join(f"{kind} {n:,}" for kind, n in plan.short.items())
    parts = [
        kinds,
        f"no passages for {short}" if short else "",
        f"{count(plan.cached, 'call')} cached",
    ]
    st.caption(" · ".join(part for part in parts if part))
    if st.button(
        f"Make: {count(plan.total_calls, 'call')}", key="make_start", disabled=not has_key(),
        icon=":material/play_arrow:",
    ):  # fmt: skip
        st.session_state.pop(PLANNED, None)
        _close()
        start_or_report(open_store(), wanted.words)
        st.rerun()  # closes the dialog; the page shows how far it is


def _without_model(opened: Opened) -> None:
    st.markdown("##### Kinds that need no model")
    st.caption("Made of the questions that are there, by rules; they are read like all others.")
    with st.form("rules_form", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        numbers = {
            kind: st.number_input(kind.capitalize(), 0, 1_000, 5, key=f"rule_{kind}", width=130)
            for kind in RULES
        }
        added = st.form_submit_button("Add")
    if added:
        attempt(lambda: _add(opened, {kind: int(n) for kind, n in numbers.items()}))
        _close()
        st.rerun()


def _add(opened: Opened, wanted: Mapping[str, int]) -> str:
    items = [each.item for each in opened.draft.standing]
    made = add_derived(opened.dataset, items, opened.windows, wanted, 0)
    counts = ", ".join(f"{len(each):,} {kind}" for kind, each in made.items())
    return f"Added: {counts or 'nothing'}. They wait in the review."


def make_jobs(dataset_id: str) -> bool:
    """Show the makings of a dataset that run, else the newest if it did not finish; "" for any dataset."""

    def jobs() -> list[Job]:
        newest = _jobs(dataset_id)
        running = [job for job in newest if job.state == "running"]
        return running or [job for job in newest[:1] if job.state != "done"]

    return job_section(open_store(), _panel(jobs))


def _jobs(dataset_id: str) -> list[Job]:
    return jobs_of(open_store().ledger, kind=f"{JOB}{dataset_id}")


def _panel(jobs: Callable[[], list[Job]]) -> JobPanel:
    return JobPanel(
        "make",
        jobs,
        _progress,
        _summary,
        lambda job: ["dataset", "make", "CORPUS", "-n", str(job.spec.get("asked", "")),
                     "--name", str(job.spec.get("dataset", ""))],
        lambda _: True,  # the corpus is not in the record of a job
        "Every reply that had come back is kept; the same command goes on from there.",
        lambda _: {},
    )  # fmt: skip


def _progress(job: Job) -> str:
    progress, name = job.progress, markdown_text(str(job.spec.get("dataset", "")))
    if "stage" not in progress:
        return f"{name}: beginning"
    cost = progress.get("cost_usd")
    parts = [
        f"{name}: {markdown_text(str(progress['stage']))}",
        f"{progress.get('accepted', 0):,} of {count(progress.get('asked', 0), 'question')}",
        f"${cost:.4f} so far" if cost else "",
    ]
    return " · ".join(part for part in parts if part)


def _summary(job: Job) -> list[str]:
    accepted, asked = job.progress.get("accepted", 0), job.spec.get("asked", 0)
    return [f"{count(int(asked), 'question')} asked, {int(accepted):,} made"]
