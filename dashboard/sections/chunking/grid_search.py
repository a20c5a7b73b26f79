"""Starting a grid from the page, and how far it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from threading import Lock, Thread
from typing import Any

import streamlit as st

from dashboard.shell.user import may_write, only_reads
from dashboard.wording.escaping import markdown_text
from dashboard.wording.formatting import count
from data.chunking.chunkers import UNITS
from data.chunking.corpus import Corpus, corpus_of, read_corpus
from data.chunking.grid_search import GridPlan, GridStep, plan_cells, run_grid
from data.chunking.questions import read_questions
from data.errors import DataError
from data.importers.parsing.source import Source
from data.scoring.run_store import RunStore
from data.store.read_only import must_write
from metrics.schema.scores import MetricsError

__all__ = [
    "GridJob",
    "dismiss",
    "grid_form",
    "grid_progress",
    "jobs",
    "start",
]


@dataclass(frozen=True)
class GridJob:
    """A grid as it stands.

    Attributes:
        key: of its plan.
        title: of its plan.
        project: what its runs belong to.
        step: where it stands; None before the first cell.
        error: why it ended early; "" while it runs and when it is done.
        done: whether it has ended.
    """

    key: str
    title: str
    project: str
    step: GridStep | None = None
    error: str = ""
    done: bool = False

    @property
    def name(self) -> str:
        """What tells it from the others of a workspace: one plan may run in several projects."""
        return f"{self.project}/{self.key}"


_JOBS: dict[tuple[str, str], GridJob] = {}
_LOCK = Lock()


def jobs(store: RunStore) -> list[GridJob]:
    """List the grids of a workspace that run, or have ended and were not dismissed."""
    root = str(store.workspace.root)
    with _LOCK:
        return [job for (where, _), job in _JOBS.items() if where == root]


def start(store: RunStore, plan: GridPlan, project: str) -> bool:
    """Begin a grid; False when that grid is running already.

    Raises:
        WorkspaceError: this process only reads.
    """
    must_write(f"workspace {store.workspace.root}")
    job = GridJob(plan.key, plan.title or plan.corpus.name, project)
    place = (str(store.workspace.root), job.name)
    with _LOCK:
        running = _JOBS.get(place)
        if running is not None and not running.done:
            return False
        _JOBS[place] = job
    Thread(target=_work, args=(place, store, plan, project), daemon=True).start()
    return True


def dismiss(store: RunStore, job: GridJob) -> None:
    """Forget a grid that has ended; the same plan in another project stays."""
    place = (str(store.workspace.root), job.name)
    with _LOCK:
        if place in _JOBS and _JOBS[place].done:
            del _JOBS[place]


def _work(place: tuple[str, str], store: RunStore, plan: GridPlan, project: str) -> None:
    error = ""
    try:
        run_grid(store, plan, project, lambda step: _set(place, step=step))
    except (DataError, MetricsError) as problem:
        error = str(problem)
    except Exception as problem:  # noqa: BLE001 -- a thread has nobody else to tell
        error = f"{type(problem).__name__}: {problem}"
    _set(place, done=True, error=error)


def _set(place: tuple[str, str], **changes: object) -> None:
    with _LOCK:
        _JOBS[place] = replace(_JOBS[place], **changes)  # type: ignore[arg-type] # fields of GridJob


HEADINGS = {
    "without headings": (False,),
    "with headings": (True,),
    "with and without headings": (False, True),
}
EVERY = "0.5s"


def grid_form(store: RunStore, project: str) -> None:
    """Ask for corpus, questions and cells, and begin the grid."""
    if not may_write():
        only_reads("New grids")
        return
    with st.form("grid_form", border=False):
        one, two = st.columns(2, gap="medium")
        with one:
            st.text_input(
                "Corpus: a folder or file on this machine", key="grid_corpus", placeholder="/data/handbook"
            )
            st.file_uploader(
                "or files", ["txt", "md", "jsonl"], accept_multiple_files=True, key="grid_corpus_files"
            )
        with two:
            st.text_input("Questions with gold spans: a file on this machine", key="grid_questions")
            st.file_uploader("or a file", ["jsonl", "json", "csv", "parquet"], key="grid_questions_file")
        with st.container(horizontal=True, vertical_alignment="bottom"):
            st.text_input("Sizes", "128, 256, 512", key="grid_sizes", width=160)
            st.text_input("Overlaps", "0, 32, 64", key="grid_overlaps", width=160)
            st.selectbox("in", UNITS, key="grid_unit", width=140)
            st.multiselect(
                "Cut along the text too",
                ["paragraph", "heading", "recursive"],
                key="grid_strategies",
                width=300,
            )
            st.selectbox("indexed", list(HEADINGS), key="grid_headings", width=230)
            st.text_input("Project", project, key="grid_project", width=180)
        sent = st.form_submit_button("Run the grid", type="primary")
    st.caption(
        "Questions are rows with `question` and `relevant_spans` [{doc_id, start, end}], in characters "
        "of the corpus; the files of chunking_evaluation are read as they are. Retrieval is BM25, on "
        "this machine."
    )
    if sent:
        _begin(store)


def _begin(store: RunStore) -> None:
    """Read the form and begin; what is wrong is told, and nothing runs."""
    state = st.session_state
    try:
        corpus = _corpus(state["grid_corpus"], state["grid_corpus_files"])
        source = _questions(state["grid_questions"], state["grid_questions_file"])
        cells, refused = plan_cells(
            _wholes("Sizes", state["grid_sizes"]),
            _wholes("Overlaps", state["grid_overlaps"]),
            state["grid_unit"],
            state["grid_strategies"],
            HEADINGS[state["grid_headings"]],
        )
        plan = GridPlan(corpus, read_questions(source, corpus), cells, title=corpus.name)
    except DataError as error:
        st.error(markdown_text(str(error)), title="This grid cannot run")
        return
    for one in (*refused, *corpus.notes, *plan.questions.notes):
        st.info(markdown_text(one))
    if not start(store, plan, state["grid_project"].strip() or corpus.name):
        st.warning("This grid is running already.")


def _corpus(path: str, uploads: Sequence[Any]) -> Corpus:
    if path.strip():
        return read_corpus([path.strip()])
    if not uploads:
        raise DataError(
            "corpus: nothing given; accepted: a folder or file on this machine, or uploaded files"
        )
    name = uploads[0].name.rpartition(".")[0] or "corpus"
    return corpus_of(((one.name, Source.from_bytes(one.name, one.getvalue())) for one in uploads), name)


def _questions(path: str, upload: Any) -> Source:
    if path.strip():
        return Source.from_path(path.strip())
    if upload is None:
        raise DataError("questions: nothing given; accepted: a file on this machine, or an uploaded one")
    return Source.from_bytes(upload.name, upload.getvalue())


def _wholes(field: str, text: str) -> list[int]:
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not parts or not all(part.isdecimal() and len(part) < 9 for part in parts):
        raise DataError(f"{field}: {text!r}; accepted: whole numbers with commas between, as in 128, 256")
    return [int(part) for part in parts]


def grid_progress(store: RunStore) -> None:
    """Show the grids that run; the page around them is drawn anew when one ends."""
    found = jobs(store)
    if any(not job.done for job in found):
        st.fragment(run_every=EVERY)(_watch)(store, frozenset(job.name for job in found if job.done))
    for job in found:
        if job.done:
            _ended(store, job)


def _watch(store: RunStore, ended: frozenset[str]) -> None:
    """Draw the grids that run; the whole page again when one has ended that it does not show as ended."""
    found = jobs(store)
    for job in found:
        if not job.done:
            _bar(job)
    if any(job.done and job.name not in ended for job in found):
        st.rerun()


def _bar(job: GridJob) -> None:
    step, name = job.step, markdown_text(job.title)
    if step is None:
        st.progress(0.0, f"{name}: beginning")
        return
    left = "" if step.seconds_left is None else f", about {_duration(step.seconds_left)} left"
    text = f"{name}: {step.done} of {count(step.total, 'cell')}{left} · {markdown_text(step.cell)}"
    st.progress(step.done / max(step.total, 1), text)


def _duration(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{max(1, round(seconds))} s"


def _ended(store: RunStore, job: GridJob) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        if job.error:
            st.error(markdown_text(job.error), title=f"The grid over {markdown_text(job.title)} stopped")
        else:
            st.success(f"The grid over {markdown_text(job.title)} is finished.")
        st.button("Dismiss", key=f"dismiss_{job.name}", on_click=dismiss, args=(store, job))
