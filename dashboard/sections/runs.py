"""The pieces of the Runs page: loading with a preview, the list, and one run's facts and changes."""

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
from dashboard.wording.formatting import NOT_MEASURED, count, interval_text, number
from dashboard.wording.runs import baseline_move_text
from data.cases.export import export_rows
from data.errors import DataError, InputError
from data.importers.detect import FORMATS
from data.importers.load import Step, import_source
from data.importers.measurable import computable
from data.importers.parsing.input_file import InputFile
from data.importers.parsing.options import Options
from data.importers.preview import Preview, preview
from data.scoring.run_store import RunStore
from data.scoring.sanity import means_of
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
from metrics.sanity.means import looks_uncomputed

__all__ = [
    "loader",
    "run_changes",
    "run_detail",
    "run_marks",
    "run_table",
]

HISTORY = 12  # changes of the baseline that are listed


def run_marks(view: View) -> dict[str, list[str]]:
    """Give what the runs of the project are marked with: baseline, release, tags."""
    ledger = view.store.ledger
    found: dict[str, list[str]] = {}
    baseline = ledger.baselines().get(view.project)
    if baseline:
        found[baseline] = ["baseline"]
    for run_id, release in releases_of(ledger, view.project).items():
        found.setdefault(run_id, []).append(f"release {release.name}")
    for run_id, tags in ledger.tags().items():
        found.setdefault(run_id, []).extend(tags)
    return found


def run_changes(view: View, run: Run) -> None:
    """Show who set the baseline, and draw the controls that change a run; exports for everyone."""
    if may_write():
        _names(view, run)
        _standing(view, run)
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


def _names(view: View, run: Run) -> None:
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
            gone = st.selectbox("Tags", tags, key=f"tags_{run.run_id}", width=140)
            st.button("Remove tag", key="remove_tag", on_click=lambda: ledger.untag(run.run_id, gone))


def _standing(view: View, run: Run) -> None:
    """Let a person make the run the baseline, or mark it as a release."""
    ledger = view.store.ledger
    current = releases_of(ledger, run.project).get(run.run_id)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        name_box(160)
        given = st.text_input(
            "Release",
            value="" if current is None else current.name,
            key=f"release_{run.run_id}",
            placeholder="2.4.0",
            width=220,
            max_chars=LONGEST_RELEASE,
        )
        st.button(
            "Mark as release", key="mark_release", on_click=attempt, disabled=not given.strip(),
            args=(lambda: mark_release(ledger, run.project, run.run_id, given, current_user()),),
        )  # fmt: skip
        if current is not None:
            st.button("Not a release", key="unmark_release", on_click=_unmark, args=(view, run))
        if ledger.baselines().get(run.project) == run.run_id:
            st.button("No baseline any more", key="clear_baseline", on_click=_clear, args=(view, run))
        elif not run.means:
            st.button("Make it the baseline", key="set_baseline", on_click=_set_baseline, args=(view, run))


def _history(view: View) -> None:
    """Say which run is the baseline, who set it and when, and what it was before."""
    moves = baseline_history(view.store.ledger, view.project)
    if not moves:
        st.caption("Baseline: none is set; the run before the one on display stands in for it.")
        return
    newest, *earlier = [markdown_text(baseline_move_text(one, view.labels)) for one in moves[:HISTORY]]
    facts([f"Baseline: {newest}", "" if earlier else "never moved"])
    if earlier:
        with st.expander(f"Where the baseline was before ({len(moves) - 1:,})"):
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
        return "This run is no release any more."

    attempt(change)


def _delete(view: View, run: Run) -> None:
    def change() -> str:
        view.store.workspace.delete_run(run.run_id)
        keep(run="", baseline="", case="")
        return "Deleted."

    attempt(change)


SHOWN = ("faithfulness", "answer_relevancy", "context_recall", "context_precision", "recall@5", "ndcg@5")


def loader(store: RunStore, project: str) -> None:
    """Upload files or name a path, see how they would be read, and load them."""
    uploads = st.file_uploader("Files", accept_multiple_files=True, key="uploads")
    path = st.text_input("or a path on this machine", key="upload_path", placeholder="/data/results.jsonl")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        target = st.text_input("Project", value=project, key="upload_project", width=200)
        name = st.text_input("Name of the run", key="upload_name", placeholder="from the file", width=220)
        form = st.selectbox("Format", ["auto", *FORMATS], key="upload_format", width=200)
    beside = _beside()
    sources = [_uploaded(one) for one in uploads]
    if path.strip():
        sources.append(InputFile.from_path(Path(path.strip()).expanduser()))
    if not sources:
        formats = "; ".join(f"{one.title}: {one.accepts}" for one in FORMATS.values())
        st.caption(f"Accepted: {markdown_text(formats)}. Gzip is unpacked.")
        return
    ready = [
        pair
        for pair in (
            _previewed(source, replace(beside, name=name.strip() or None, format=form)) for source in sources
        )
        if pair is not None
    ]
    if st.button(f"Load {count(len(ready), 'file')}", type="primary", key="load", disabled=not ready):
        _load(store, ready, target.strip() or "default")


def _beside() -> Options:
    """Take what may come beside a run: labels, questions and documents."""
    with st.expander("Relevance labels and texts beside the run: TREC, BEIR"):
        boxes = {
            "qrels": "Relevance labels (qrels)",
            "queries": "Questions (queries.jsonl, or id and text)",
            "corpus": "Documents (corpus.jsonl)",
        }
        files = {name: st.file_uploader(title, key=f"upload_{name}") for name, title in boxes.items()}
    given = {name: None if one is None else _uploaded(one) for name, one in files.items()}
    return Options(qrels=given["qrels"], queries=given["queries"], corpus=given["corpus"])


def _uploaded(file: Any) -> InputFile:
    return InputFile.from_bytes(file.name, file.getvalue())


def _previewed(source: InputFile, plain: Options) -> tuple[InputFile, Options] | None:
    """Show how a file would be read; None where it cannot be."""
    st.markdown(f"**{markdown_text(source.name)}**")
    try:
        seen = preview(source, plain)
        options = replace(plain, mapping=_mapping(source, seen))
        if options.mapping:
            seen = preview(source, options)
    except DataError as error:
        _problems(error)
        return None
    _show_preview(seen)
    return None if seen.total_errors else (source, options)


def _mapping(source: InputFile, seen: Preview) -> dict[str, str]:
    """Let a person correct how columns were understood; gives only what was changed."""
    if not seen.mapping:
        return {}
    rows = [{"Column": one.column, "Read as": one.field, "Example": one.example} for one in seen.mapping]
    st.caption("How the columns are read; change “Read as” to correct it. Empty keeps a column as extra.")
    edited = st.data_editor(
        rows, hide_index=True, disabled=["Column", "Example"], key=f"mapping_{source.name}", height="content"
    )
    return {
        row["Column"]: (row["Read as"] or "").strip()
        for row, one in zip(edited, seen.mapping, strict=True)
        if (row["Read as"] or "").strip() != one.field
    }


def _show_preview(seen: Preview) -> None:
    more = "" if seen.complete else " (and more: the first records were read)"
    runs = ", ".join(f"{markdown_text(run.name)} ({run.count:,})" for run in seen.runs[:12])
    facts([f"format {FORMATS[seen.format].title}", f"{count(len(seen.runs), 'run')}: {runs}{more}"])
    for note in dict.fromkeys(note for run in seen.runs for note in run.notes):
        st.caption(f"· {markdown_text(note)}")
    if seen.total_errors:
        st.error(
            "\n".join(f"- {markdown_text(str(one))}" for one in seen.errors),
            title=f"{count(seen.total_errors, 'problem')}; nothing of this file can be loaded",
        )
        return
    names, missing = computable(seen.records)
    shown = sorted({name.partition("@")[0] for name in names})
    st.markdown(f"**Will be measured:** {markdown_text(', '.join(shown)) or 'nothing'}")
    with st.expander(f"Will not be computable ({len(missing)}), and why"):
        show_table(
            [{"Metric": key, "Why": why} for key, why in missing.items()], "Metrics that stay unmeasured"
        )


def _problems(error: DataError) -> None:
    lines = [str(one) for one in error.errors] if isinstance(error, InputError) else [str(error)]
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

    loaded: list[Run] = []
    for source, options in ready:
        try:
            found = import_source(store, source, options, project, watch)
        except DataError as error:
            _problems(error)
            continue
        loaded += [one.run for one in found]
        fresh = sum(one.status == "imported" for one in found)
        there = len(found) - fresh
        st.success(f"{markdown_text(source.name)}: {count(fresh, 'run')} loaded, {there} there already.")
    bar.empty()
    if loaded:
        last = loaded[-1]
        st.button(
            f"Open {markdown_text(last.name)}", key="open_loaded", on_click=keep,
            kwargs={"project": last.project, "run": last.run_id, "baseline": "", "case": ""},
        )  # fmt: skip


def run_table(view: View) -> None:
    """List the runs of the project, newest first."""
    marks = run_marks(view)
    rows = []
    for run in reversed(view.runs):
        summary = view.summary(run)
        rows.append(
            {
                "": "▸" if run == view.run else "",
                "Run": view.labels[run.run_id],
                "Made": f"{run.created_at:%Y-%m-%d %H:%M}",
                "Questions": f"{run.n_questions:,}" if run.n_questions else "not stated",
                "Samples": f"{run.n:,}" if run.n else "means only",
                **{key: _level(run, summary.get(key)) for key in SHOWN[:4]},
                "Tags": ", ".join(marks.get(run.run_id, [])),
                "Format": run.origin["format"],
                "Id": run.run_id,
            }
        )
    titles = {"faithfulness": "Faithfulness", "answer_relevancy": "Relevancy", "context_recall": "Ctx recall"}
    show_table(rows, "Runs of the project", {**titles, "context_precision": "Ctx precision"})
    facts(["means over questions with 95 % intervals; n and source of each on Triage", "– is not measured"])


def _level(run: Run, one: MetricSummary | None) -> str:
    """Write a mean with its interval; a 0 that looks uncomputed is not written as one."""
    if one is None or one.mean is None:
        return "–"
    if run.means and one.metric in looks_uncomputed(means_of(run)):
        return "not computed?"
    span = interval_text(one.low, one.high)
    return number(one.mean) if span == NOT_MEASURED else f"{number(one.mean)} {span}"


def run_detail(view: View) -> None:
    """Show the facts of the run on display, and what can be done with it."""
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
        st.markdown("**Checks on the numbers**")
        finding_list(view.findings(run))
