"""Loading with a preview, the list of runs, and the details and settings of one run: the Runs page."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st

from dashboard.shell.components import config_table, facts, finding_list, show_table
from dashboard.shell.session import View, keep
from dashboard.shell.user import attempt, current_user, may_write, name_box, only_reads
from dashboard.wording.escaping import markdown_text, shorten
from dashboard.wording.formatting import NOT_MEASURED, count, interval_text, metric_label, number
from dashboard.wording.runs import baseline_move_text
from data.cases.export import export_rows
from data.comparison.answered import Answered, answered_of
from data.diagnosis.run_checks import means_of
from data.errors import DataError, InputError
from data.importers.detect import FORMATS
from data.importers.load import Step, import_source
from data.importers.measurable import computable
from data.importers.parsing.input_file import InputFile
from data.importers.parsing.json_rows import SeveralListsError
from data.importers.parsing.options import Options
from data.importers.preview import Preview, preview
from data.scoring.run_store import RunStore
from data.scoring.summaries import MetricSummary
from data.store.versions import (
    LONGEST_RELEASE,
    baseline_history,
    clear_baseline,
    mark_release,
    releases_of,
    unmark_release,
)
from data.store.workspace import Run
from metrics.metric_registry import imported_declarations
from metrics.sanity.means import looks_uncomputed

__all__ = [
    "load_results",
    "loader",
    "run_changes",
    "run_detail",
    "run_labels",
    "run_table",
]

MOST_IMPORTED = 4  # declared scores that the table of runs has room for
_LOADED = "load_results"
WIDTHS = {"": 28, "Created": 122, "Questions": 72, "Samples": 80, "Format": 110, "Id": 110}  # pixels
HISTORY = 12  # changes of the baseline that are listed


def run_labels(view: View) -> dict[str, list[str]]:
    """Return the labels of each run by id: baseline, release, tags."""
    ledger = view.store.ledger
    labels: dict[str, list[str]] = {}
    baseline = ledger.baselines().get(view.project)
    if baseline:
        labels[baseline] = ["baseline"]
    for run_id, release in releases_of(ledger, view.project).items():
        labels.setdefault(run_id, []).append(f"release {release.name}")
    for run_id, tags in ledger.tags().items():
        labels.setdefault(run_id, []).extend(tags)
    return labels


def run_changes(view: View, run: Run) -> None:
    """Draw the controls that change a run, the exports, and the history of the baseline."""
    if may_write():
        _name_and_tags(view, run)
        _baseline_and_release(view, run)
    with st.container(horizontal=True, vertical_alignment="center"):
        with st.popover("Export", on_change="rerun") as box:
            if box.open:
                _exports(view, run)
        if may_write():
            with st.popover("Delete"):
                st.write(f"Delete {markdown_text(view.labels[run.run_id])}? Its labels stay in the ledger.")
                st.button("Delete this run", key="delete", type="primary", on_click=_delete, args=(view, run))
    if not may_write():
        only_reads("Changes")
    _history(view)


def _name_and_tags(view: View, run: Run) -> None:
    ledger = view.store.ledger
    with st.container(horizontal=True, vertical_alignment="bottom"):
        name = st.text_input(
            "Display name", value=view.store.names()[run.run_id], key=f"name_{run.run_id}", width=220
        )
        st.button(
            "Rename",
            key="rename",
            on_click=lambda: ledger.rename(run.run_id, name, current_user()),
            disabled=not name.strip(),
        )
        tag = st.text_input("Tag", key=f"tag_{run.run_id}", placeholder="nightly", width=140)
        st.button(
            "Add tag",
            key="add_tag",
            on_click=lambda: ledger.tag(run.run_id, tag, current_user()),
            disabled=not tag.strip(),
        )
        tags = ledger.tags().get(run.run_id, [])
        if tags:
            removed = st.selectbox("Tags", tags, key=f"tags_{run.run_id}", width=140)
            st.button("Remove tag", key="remove_tag", on_click=lambda: ledger.untag(run.run_id, removed))


def _baseline_and_release(view: View, run: Run) -> None:
    """Draw the controls that make the run the baseline or a release."""
    ledger = view.store.ledger
    release = releases_of(ledger, run.project).get(run.run_id)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        name_box(160)
        release_name = st.text_input(
            "Release",
            value="" if release is None else release.name,
            key=f"release_{run.run_id}",
            placeholder="2.4.0",
            width=220,
            max_chars=LONGEST_RELEASE,
        )
        st.button(
            "Mark as release", key="mark_release", on_click=attempt, disabled=not release_name.strip(),
            args=(lambda: mark_release(ledger, run.project, run.run_id, release_name, current_user()),),
        )  # fmt: skip
        if release is not None:
            st.button("Remove release", key="unmark_release", on_click=_unmark, args=(view, run))
        if ledger.baselines().get(run.project) == run.run_id:
            st.button("Remove baseline", key="clear_baseline", on_click=_clear, args=(view, run))
        elif not run.means:
            st.button("Make it the baseline", key="set_baseline", on_click=_set_baseline, args=(view, run))


def _history(view: View) -> None:
    """Show which run is the baseline, who set it and when, and the baselines before it."""
    moves = baseline_history(view.store.ledger, view.project)
    if not moves:
        st.caption("Baseline: none is set; the run before the one on display is used instead.")
        return
    newest, *earlier = [markdown_text(baseline_move_text(move, view.labels)) for move in moves[:HISTORY]]
    facts([f"Baseline: {newest}", "" if earlier else "never changed"])
    if earlier:
        with st.expander(f"Earlier baselines ({len(moves) - 1:,})"):
            for line in earlier:
                st.caption(line)
            if len(moves) > HISTORY:
                st.caption(f"and {len(moves) - HISTORY:,} earlier ones: `ragtriage baseline`")


def _exports(view: View, run: Run) -> None:
    diagnosis = view.diagnosis(run)
    for form in ("jsonl", "csv", "parquet"):
        st.download_button(
            form.upper(),
            lambda form=form: export_rows(diagnosis, np.arange(run.n), form),  # type: ignore[misc] # binds the loop's value
            file_name=f"{run.run_id}.{form}",
            key=f"export_run_{form}",
        )
    st.download_button(
        "Facts (JSON)", json.dumps(json.loads(run.to_json()), indent=1), file_name=f"{run.run_id}.json"
    )


def _set_baseline(view: View, run: Run) -> None:
    def change() -> str:
        view.store.ledger.set_baseline(run.project, run.run_id, current_user())
        keep(baseline="")
        return "This run is now the baseline of its project."

    attempt(change)


def _clear(view: View, run: Run) -> None:
    def change() -> str:
        clear_baseline(view.store.ledger, run.project, current_user())
        keep(baseline="")
        return "The project has no baseline now."

    attempt(change)


def _unmark(view: View, run: Run) -> None:
    def change() -> str:
        unmark_release(view.store.ledger, run.project, run.run_id, current_user())
        st.session_state[f"release_{run.run_id}"] = ""
        return "This run is no longer a release."

    attempt(change)


def _delete(view: View, run: Run) -> None:
    def change() -> str:
        view.store.workspace.delete_run(run.run_id)
        keep(run="", baseline="", case="")
        return "Deleted."

    attempt(change)


HEADLINE = ("faithfulness", "answer_relevancy", "context_recall", "context_precision")


def loader(store: RunStore, project: str) -> None:
    """Draw the upload of files or a path, a preview of how they are read, and the button to load them."""
    uploads = st.file_uploader("Files", accept_multiple_files=True, key="uploads")
    path = st.text_input("or a path on this machine", key="upload_path", placeholder="/data/results.jsonl")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        target = st.text_input("Project", value=project, key="upload_project", width=200)
        name = st.text_input("Name of the run", key="upload_name", placeholder="from the file", width=220)
        form = st.selectbox("Format", ["auto", *FORMATS], key="upload_format", width=200)
    options = replace(_auxiliary_files(), name=name.strip() or None, format=form)
    files = [_uploaded(upload) for upload in uploads]
    if path.strip():
        files.append(InputFile.from_path(Path(path.strip()).expanduser()))
    if not files:
        formats = "; ".join(f"{importer.title}: {importer.accepts}" for importer in FORMATS.values())
        st.caption(f"Accepted: {markdown_text(formats)}. Gzip files are unpacked.")
        return
    previews = [_previewed(file, options) for file in files]
    ready = [file_and_options for file_and_options in previews if file_and_options is not None]
    if st.button(f"Load {count(len(ready), 'file')}", type="primary", key="load", disabled=not ready):
        _load(store, ready, target.strip() or "default")


def _auxiliary_files() -> Options:
    """Draw the uploads of relevance labels, questions and documents, and return them as options."""
    with st.expander("Separate files of relevance labels, questions and documents: TREC, BEIR"):
        titles = {
            "qrels": "Relevance labels (qrels)",
            "queries": "Questions (queries.jsonl, or id and text)",
            "corpus": "Documents (corpus.jsonl)",
        }
        uploads = {name: st.file_uploader(title, key=f"upload_{name}") for name, title in titles.items()}
        all_topics = st.checkbox(
            "Count judged questions without results as empty lists",
            key="upload_all_topics",
            help="As trec_eval -c does. Otherwise they are left out of the means.",
        )
    files = {name: None if upload is None else _uploaded(upload) for name, upload in uploads.items()}
    return Options(
        qrels=files["qrels"], queries=files["queries"], corpus=files["corpus"], all_topics=all_topics
    )


def _uploaded(upload: Any) -> InputFile:
    return InputFile.from_bytes(upload.name, upload.getvalue())


def _previewed(file: InputFile, options: Options) -> tuple[InputFile, Options] | None:
    """Show how a file would be read; return it with its options, or None where it cannot be read."""
    st.markdown(f"**{markdown_text(file.name)}**")
    try:
        file_preview, options = _first_preview(file, options)
        options = replace(options, mapping=_mapping(file, file_preview))
        if options.mapping:
            file_preview = preview(file, options)
    except DataError as error:
        _show_errors(error)
        return None
    _show_preview(file_preview)
    return None if file_preview.total_errors else (file, options)


def _first_preview(file: InputFile, options: Options) -> tuple[Preview, Options]:
    """Return how a file is read; where it holds several lists of rows, ask which one is meant."""
    try:
        return preview(file, options), options
    except SeveralListsError as several:
        lists = several.lists
        chosen = st.selectbox(
            "List of rows to read",
            list(lists),
            index=None,
            format_func=lambda name: f"{name} ({count(lists[name], 'row')})",
            key=f"rows_{file.name}",
        )
        if chosen is None:
            raise
    options = replace(options, rows=chosen)
    return preview(file, options), options


def _mapping(file: InputFile, file_preview: Preview) -> dict[str, str]:
    """Draw an editable table of how columns are read; return only what was changed."""
    if not file_preview.mapping:
        return {}
    rows = [
        {"Column": mapped.column, "Read as": mapped.field, "Example": mapped.example}
        for mapped in file_preview.mapping
    ]
    st.caption("How the columns are read; change “Read as” to correct it. Empty keeps a column as extra.")
    edited = st.data_editor(
        rows, hide_index=True, disabled=["Column", "Example"], key=f"mapping_{file.name}", height="content"
    )
    return {
        row["Column"]: (row["Read as"] or "").strip()
        for row, mapped in zip(edited, file_preview.mapping, strict=True)
        if (row["Read as"] or "").strip() != mapped.field
    }


def _show_preview(file_preview: Preview) -> None:
    more = "" if file_preview.complete else " (only the first records were read)"
    runs = ", ".join(f"{markdown_text(run.name)} ({run.count:,})" for run in file_preview.runs[:12])
    facts(
        [
            f"format {FORMATS[file_preview.format].title}",
            f"{count(len(file_preview.runs), 'run')}: {runs}{more}",
        ]
    )
    for note in dict.fromkeys(note for run in file_preview.runs for note in run.notes):
        st.caption(f"· {markdown_text(note)}")
    if file_preview.total_errors:
        st.error(
            "\n".join(f"- {markdown_text(str(error))}" for error in file_preview.errors),
            title=f"{count(file_preview.total_errors, 'problem')}; nothing in this file can be loaded",
        )
        return
    names, missing = computable(file_preview.records)
    metrics = sorted({name.partition("@")[0] for name in names})
    st.markdown(f"**Will be measured:** {markdown_text(', '.join(metrics)) or 'nothing'}")
    with st.expander(f"Cannot be computed ({len(missing)}), and why"):
        show_table(
            [{"Metric": metric, "Why": reason} for metric, reason in missing.items()],
            "Metrics that cannot be computed",
        )


def _show_errors(error: DataError) -> None:
    lines = [str(line) for line in error.errors] if isinstance(error, InputError) else [str(error)]
    total = error.total if isinstance(error, InputError) else 1
    st.error(
        "\n".join(f"- {markdown_text(line)}" for line in lines),
        title=f"Cannot be read ({count(total, 'problem')})",
    )


def _load(store: RunStore, ready: Sequence[tuple[InputFile, Options]], project: str) -> None:
    bar = st.progress(0.0, "Reading …")

    def watch(step: Step) -> None:
        share = step.done / step.total if step.total else 0.0
        bar.progress(min(share, 1.0), f"{step.doing} {markdown_text(step.run)}: {step.done:,}")

    results: list[DataError | str] = []
    for file, options in ready:
        try:
            imports = import_source(store, file, options, project, watch)
        except DataError as error:
            results.append(error)
            continue
        n_new = sum(imported.status == "imported" for imported in imports)
        n_existing = len(imports) - n_new
        results.append(f"{file.name}: {count(n_new, 'run')} loaded, {n_existing} already there.")
        last = imports[-1].run
        keep(project=last.project, run=last.run_id, baseline="", case="")
    bar.empty()
    st.session_state[_LOADED] = results
    st.rerun()  # the list below was drawn before these runs were there


def load_results() -> None:
    """Show what came of the last load, once: a message for each file, and the errors of those that failed."""
    for result in st.session_state.pop(_LOADED, []):
        if isinstance(result, str):
            st.success(markdown_text(result))
        else:
            _show_errors(result)


def run_table(view: View) -> None:
    """List the runs of the project, newest first."""
    labels = run_labels(view)
    measured = {name for run in view.runs for name in view.summary(run)}
    imported = [name for name in imported_declarations() if name in measured][:MOST_IMPORTED]
    answered = answered_of([view.scored(run) for run in view.sampled])
    rows = []
    for run in reversed(view.runs):
        summary = view.summary(run)
        rows.append(
            {
                "": "▸" if run == view.run else "",
                "Run": view.labels[run.run_id],
                "Created": f"{run.created_at:%Y-%m-%d %H:%M}",
                "Questions": _questions_cell(run, answered.get(run.run_id)),
                "Samples": f"{run.n:,}" if run.n else "means only",
                **{key: _mean_cell(run, summary.get(key)) for key in (*HEADLINE, *imported)},
                "Tags": ", ".join(labels.get(run.run_id, [])),
                "Format": run.origin["format"],
                "Id": run.run_id,
            }
        )
    titles = {"faithfulness": "Faithfulness", "answer_relevancy": "Relevancy", "context_recall": "Ctx recall"}
    titles |= {"context_precision": "Ctx precision"} | {name: metric_label(name) for name in imported}
    means = {
        name: st.column_config.TextColumn(titles.get(name), width=128) for name in (*HEADLINE, *imported)
    }
    small = {name: st.column_config.TextColumn(width=width) for name, width in WIDTHS.items()}
    show_table(rows, "Runs of the project", {**means, **small})
    facts(["means over questions with 95 % intervals; n and source of each on Triage", "– not measured"])


def _questions_cell(run: Run, answered: Answered | None) -> str:
    """Return how many questions a run has, or how many of the test set it answered where that is not all."""
    if answered is not None and not answered.complete:
        return f"{answered.answered:,} of {answered.asked:,} answered"
    return f"{run.n_questions:,}" if run.n_questions else "not stated"


def _mean_cell(run: Run, summary: MetricSummary | None) -> str:
    """Format a mean with its interval; a 0 that looks uncomputed is not shown as 0."""
    if summary is None or summary.mean is None:
        return NOT_MEASURED
    if run.means and summary.metric in looks_uncomputed(means_of(run)):
        return "not computed?"
    interval = interval_text(summary.low, summary.high)
    return number(summary.mean) if interval == NOT_MEASURED else f"{number(summary.mean)} {interval}"


def run_detail(view: View) -> None:
    """Show the details of the run on display, its settings and its sanity checks."""
    run = view.run
    facts(
        [
            f"id {run.run_id}",
            f"from {markdown_text(shorten(Path(run.origin['file']).name, 60))} ({run.origin['format']})",
            f"loaded {run.imported_at:%Y-%m-%d %H:%M} UTC",
            f"dataset {markdown_text(run.dataset) or 'not recorded'} {markdown_text(run.dataset_version)}",
        ]
    )
    for note in run.notes:
        st.caption(f"· {markdown_text(note)}")
    run_changes(view, run)
    left, right = st.columns(2, gap="large")
    with left:
        st.markdown("**Configuration**")
        config_table(view, [run])
        st.markdown("**Fields recorded**")
        st.caption(", ".join(run.fields))
    with right:
        st.markdown("**Sanity checks**")
        finding_list(view.findings(run))
