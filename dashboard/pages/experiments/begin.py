"""Beginning an experiment from the page, and the experiments of the workspace that run."""

import streamlit as st

from ragtriage.dashboard.shell.jobs import JobPanel, job_section, start_or_report
from ragtriage.dashboard.shell.session import View
from ragtriage.dashboard.shell.user import may_write, only_reads
from ragtriage.dashboard.wording.escaping import markdown_text
from ragtriage.data.chunking.grid_search import keep_upload
from ragtriage.data.errors import DataError
from ragtriage.data.experiments.questions import open_questions
from ragtriage.data.experiments.registry import KINDS
from ragtriage.data.experiments.run_experiment import experiment_jobs
from ragtriage.data.jobs import Job
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.access import allowed_folders
from ragtriage.data.store.question_sets import question_sets
from ragtriage.metrics.number_text import count

OFFERED = ("position", "noise", "injection", "stability")  # kinds that need no further option
BUILT_IN, ADDRESS = "the built-in reader, without a model", "your system, at an address"
OPEN = "experiment_dialog"  # in the session: whether the dialog with the form is open


def begin_button(view: View) -> None:
    """Draw the button that opens the form in a dialog; nothing where the workspace is only read."""
    if not may_write():
        return
    if st.button("New experiment", key="experiment_open", icon=":material/add:", type="primary"):
        st.session_state[OPEN] = True
    if st.session_state.get(OPEN):
        st.dialog("New experiment", width="large", on_dismiss=_close)(begin_form)(view)


def _close() -> None:
    st.session_state[OPEN] = False


def begin_form(view: View) -> None:
    """Ask for kind, system and questions, and start the experiment."""
    if not may_write():
        only_reads("New experiments")
        return
    sets = {entry.name: f"question set {entry.name}" for entry in question_sets(view.store.workspace)}
    runs = {run.run_id: f"questions of {view.labels[run.run_id]}" for run in reversed(view.sampled)}
    sources = {"": "a file, uploaded below", **sets, **runs}
    with st.form("experiment_form", border=False):
        left, right = st.columns(2, gap="medium")
        with left:
            st.selectbox(
                "What changes",
                OFFERED,
                format_func=lambda key: f"{KINDS[key].title}: {KINDS[key].changes}",
                key="experiment_kind",
            )
            # a command is a terminal's: an address alone is asked from here, on a machine of one's own
            systems = [BUILT_IN, *([ADDRESS] if allowed_folders() is None else [])]
            st.selectbox("System", systems, key="experiment_system")
            if ADDRESS in systems:
                st.text_input(
                    "Address, for a system of your own",
                    key="experiment_address",
                    placeholder="http://localhost:8000/ask",
                )
        with right:
            st.selectbox(
                "Questions", list(sources), format_func=sources.__getitem__, key="experiment_questions"
            )
            st.file_uploader(
                "A file of questions with the text of a gold passage",
                ["jsonl", "json", "csv", "parquet"],
                key="experiment_file",
            )
        with st.container(horizontal=True, vertical_alignment="bottom"):
            st.text_input("Project", view.project, key="experiment_project", width=200)
            st.text_input(
                "Name of the system", key="experiment_name", placeholder="as you call it", width=200
            )
            st.number_input("Maximum questions", 1, 10_000, 50, key="experiment_limit", width=140)
            submitted = st.form_submit_button("Start", icon=":material/play_arrow:")
    st.caption(
        "Every arm asks the same questions. Your system gets `question` and `contexts` as JSON and answers "
        "with `answer`. Other kinds, commands and costs: `ragtriage experiment --help`."
    )
    if submitted:
        _start(view)


def _start(view: View) -> None:
    """Check what the form holds and start the job; an error is shown, and nothing runs."""
    form = st.session_state
    try:
        questions, upload = form["experiment_questions"], form["experiment_file"]
        if not questions and upload is None:
            raise DataError("questions: nothing given; accepted: a set, a run, or an uploaded file")
        questions = questions or keep_upload(view.store.workspace, upload.name, upload.getvalue())
        open_questions(view.store, questions)
        words = ["experiment", form["experiment_kind"], "--system", _system(), "--questions", questions]
    except DataError as error:
        st.error(markdown_text(str(error)), title="This experiment cannot run")
        return
    words += ["--project", form["experiment_project"].strip() or view.project, "--yes"]
    words += ["--limit", str(form["experiment_limit"])]
    if name := form["experiment_name"].strip():
        words += ["--name", name]
    form.pop(OPEN, None)
    with st.spinner("Starting the experiment"):
        start_or_report(view.store, words)
    st.rerun()  # closes the dialog; the page shows how far the experiment is


def _system() -> str:
    """Return the system as the command line takes it.

    Raises:
        DataError: it is no address.
    """
    if st.session_state["experiment_system"] == BUILT_IN:
        return "builtin"
    address = st.session_state["experiment_address"].strip()
    if allowed_folders() is not None or not address.casefold().startswith(("http://", "https://")):
        raise DataError(f"address {address[:60]!r}; accepted: one that begins with http:// or https://")
    return str(address)


def running_experiments(store: RunStore) -> bool:
    """Show the experiments of the workspace that run, else the newest; return whether one runs."""
    panel = JobPanel(
        "experiment",
        lambda: experiment_jobs(store.ledger),
        lambda job: f"{_title(job)}: {count(int(job.progress.get('done', 0)), 'answer')}",
        lambda job: [_title(job), f"project {markdown_text(job.project)}"],
        lambda _: ["experiment", "--help"],
        lambda _: True,
        "What was answered is kept; the same experiment, begun again, goes on from there.",
        lambda _: {},
    )
    return job_section(store, panel)


def _title(job: Job) -> str:
    parts = (str(job.spec.get(name, "")) for name in ("title", "questions", "system"))
    return markdown_text(" on ".join(filter(None, parts)))
