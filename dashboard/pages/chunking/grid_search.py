"""Starting a grid search from the Chunking page, and the grid searches of the workspace."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import streamlit as st

from ragtriage.dashboard.shell.jobs import JobPanel, duration, job_section, start_or_report
from ragtriage.dashboard.shell.user import may_write, only_reads, path_input
from ragtriage.dashboard.wording.escaping import markdown_text
from ragtriage.data.chunking.chunkers import UNITS
from ragtriage.data.chunking.corpus import Corpus, corpus_of, read_corpus
from ragtriage.data.chunking.grid_plan import plan_configurations
from ragtriage.data.chunking.grid_search import (
    HEADINGS,
    GridOptions,
    command_words,
    grid_jobs,
    keep_upload,
    named_files,
)
from ragtriage.data.chunking.questions import read_questions
from ragtriage.data.errors import DataError
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.jobs import Job
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.access import allowed_path
from ragtriage.data.store.workspace import Workspace
from ragtriage.metrics.number_text import count

OPEN = "grid_dialog"  # in the session: whether the dialog with the form is open
HEADING_TITLES = {"no": "without headings", "yes": "with headings", "both": "with and without headings"}


def grid_button(store: RunStore, project: str) -> None:
    """Draw the button that opens the form in a dialog; nothing where the workspace is only read."""
    if not may_write():
        return
    if st.button("Run a grid", key="grid_open", icon=":material/grid_on:"):
        st.session_state[OPEN] = True
    if st.session_state.get(OPEN):
        st.dialog("Run a grid of sizes and overlaps", width="large", on_dismiss=_close)(grid_form)(
            store, project
        )


def _close() -> None:
    st.session_state[OPEN] = False


def grid_form(store: RunStore, project: str) -> None:
    """Ask for corpus, questions and configurations, and start the grid search."""
    if not may_write():
        only_reads("New grids")
        return
    with st.form("grid_form", border=False):
        left, right = st.columns(2, gap="medium")
        with left:
            path_input("Corpus: a folder or file on this machine", "grid_corpus", "/data/handbook")
            st.file_uploader(
                "or files", ["txt", "md", "jsonl"], accept_multiple_files=True, key="grid_corpus_files"
            )
        with right:
            path_input("Questions with gold spans: a file on this machine", "grid_questions")
            st.file_uploader("or a file", ["jsonl", "json", "csv", "parquet"], key="grid_questions_file")
        with st.container(horizontal=True, vertical_alignment="bottom"):
            st.text_input("Sizes", "128, 256, 512", key="grid_sizes", width=160)
            st.text_input("Overlaps", "0, 32, 64", key="grid_overlaps", width=160)
            st.selectbox("Unit", UNITS, key="grid_unit", width=140)
            st.multiselect(
                "Structure-aware splitters",
                ["paragraph", "heading", "recursive"],
                key="grid_strategies",
                width=300,
            )
            st.selectbox(
                "Headings",
                list(HEADINGS),
                index=list(HEADINGS).index("both"),
                key="grid_headings",
                format_func=HEADING_TITLES.__getitem__,
                width=230,
            )
            st.text_input("Project", project, key="grid_project", width=180)
        submitted = st.form_submit_button("Run the grid", icon=":material/play_arrow:")
    st.caption(
        "Questions are rows with `question` and `relevant_spans` [{doc_id, start, end}], in characters "
        "of the corpus; the files of chunking_evaluation are read as they are. Retrieval is BM25, on "
        "this machine. Uploaded files are kept in the workspace, so that a stopped grid can go on."
    )
    if submitted:
        _start(store)


def _start(store: RunStore) -> None:
    """Check what the form holds and start the job; an error is shown, and nothing runs."""
    form = st.session_state
    try:
        corpus_path, asked_path = (
            str(allowed_path(form[key])) if form.get(key, "").strip() else ""
            for key in ("grid_corpus", "grid_questions")
        )
        corpus = _corpus(corpus_path, form["grid_corpus_files"])
        questions = read_questions(_questions(asked_path, form["grid_questions_file"]), corpus)
        sizes, overlaps = _integers("Sizes", form["grid_sizes"]), _integers("Overlaps", form["grid_overlaps"])
        _, refused = plan_configurations(
            sizes, overlaps, form["grid_unit"], form["grid_strategies"], HEADINGS[form["grid_headings"]]
        )
        (questions_path,) = _paths(store.workspace, asked_path, [form["grid_questions_file"]])
        options = GridOptions(
            _paths(store.workspace, corpus_path, form["grid_corpus_files"]),
            questions_path,
            sizes,
            overlaps,
            form["grid_unit"],
            form["grid_strategies"],
            form["grid_headings"],
            project=form["grid_project"].strip() or corpus.name,
        )
    except DataError as error:
        st.error(markdown_text(str(error)), title="This grid cannot run")
        return
    in_dialog = st.session_state.pop(OPEN, False)
    for note in (*refused, *corpus.notes, *questions.notes):
        show = st.toast if in_dialog else st.info  # a toast outlives the dialog
        show(markdown_text(note))
    with st.spinner("Starting the grid search"):
        start_or_report(store, command_words(asdict(options)))
    if in_dialog:
        st.rerun()  # closes the dialog; the page shows how far the search is


def _corpus(path: str, uploads: Sequence[Any]) -> Corpus:
    if path:
        return read_corpus([path])
    if not uploads:
        raise DataError(
            "corpus: nothing given; accepted: a folder or file on this machine, or uploaded files"
        )
    name = uploads[0].name.rpartition(".")[0] or "corpus"
    sources = ((upload.name, InputFile.from_bytes(upload.name, upload.getvalue())) for upload in uploads)
    return corpus_of(sources, name)


def _questions(path: str, upload: Any) -> InputFile:
    if path:
        return InputFile.from_path(path)
    if upload is None:
        raise DataError("questions: nothing given; accepted: a file on this machine, or an uploaded one")
    return InputFile.from_bytes(upload.name, upload.getvalue())


def _paths(workspace: Workspace, path: str, uploads: Sequence[Any]) -> list[str]:
    """List what the command line takes: the path that was typed, or those of the uploads, written down."""
    if path:
        return [path]
    return [keep_upload(workspace, upload.name, upload.getvalue()) for upload in uploads]


def _integers(field: str, text: str) -> list[int]:
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not parts or not all(part.isdecimal() and len(part) < 9 for part in parts):
        raise DataError(f"{field}: {text!r}; accepted: whole numbers with commas between, as in 128, 256")
    return [int(part) for part in parts]


def grid_searches(store: RunStore) -> None:
    """Show the grid searches of the workspace that run, else the newest, and list the others."""
    panel = JobPanel(
        "grid",
        lambda: grid_jobs(store.ledger),
        _progress,
        _summary,
        lambda job: command_words(job.spec),
        lambda _: False,
        "The finished configurations are kept; going on runs the rest.",
        lambda job: named_files(store.workspace, job.spec),
    )
    job_section(store, panel)


def unfinished_search(store: RunStore, project: str) -> tuple[int, int] | None:
    """Return configurations done and planned by a project's newest grid search; None where it is finished."""
    newest = next(
        (job for job in grid_jobs(store.ledger) if job.spec.get("project", job.project) == project), None
    )
    if newest is None or newest.state == "done":
        return None
    done, planned = int(newest.progress.get("done", 0)), int(newest.progress.get("total", 0))
    return (done, planned) if done < planned else None


def _progress(job: Job) -> str:
    name, progress = markdown_text(str(job.spec.get("name", ""))), job.progress
    if "configuration" not in progress:
        return f"{name}: beginning"
    left = progress.get("seconds_left")
    time_left = "" if left is None else f", about {duration(left)} left"
    total = count(int(progress["total"]), "configuration")
    running = markdown_text(str(progress["configuration"]))
    return f"{name}: {progress['done']} of {total}{time_left} · {running}"


def _summary(job: Job) -> list[str]:
    name = f"grid over {markdown_text(str(job.spec.get('name', '')))}"
    same = job.spec.get("name") == job.project
    done, total = int(job.progress.get("done", 0)), int(job.progress.get("total", 0))
    return [
        name if same else f"{name} in project {markdown_text(job.project)}",
        f"{done:,} of {count(total, 'configuration')}",
    ]
