"""Loading runs from files: upload, a preview of how they are read, and what came of it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import streamlit as st

from ragtriage.dashboard.pages.runs.project import chosen_question_set
from ragtriage.dashboard.shell.components import facts, keep_results, show_errors, show_table
from ragtriage.dashboard.shell.session import View, go_to_page, keep
from ragtriage.dashboard.shell.user import may_write, only_reads, path_input
from ragtriage.dashboard.wording.escaping import markdown_text
from ragtriage.dashboard.wording.imports import (
    MEANINGS,
    format_title,
    formats,
    import_lines,
    kept_text,
    meaning_of,
    note_on_page,
)
from ragtriage.data.diagnosis.run_digest import digest_new_runs
from ragtriage.data.errors import DataError
from ragtriage.data.importers.formats.table import QUESTIONS
from ragtriage.data.importers.importer import Options
from ragtriage.data.importers.load import Input, Step, inputs_of, joined, load_source
from ragtriage.data.importers.parsing.containers import ALL_SHEETS, is_workbook
from ragtriage.data.importers.parsing.documents_in_json import SeveralListsError
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.names import NoQuestionError, NothingMeasuredError, metric_name
from ragtriage.data.importers.preview import Preview, computable, preview
from ragtriage.data.importers.registry import importers
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.access import allowed_path
from ragtriage.data.store.parsed_run import MappedColumn
from ragtriage.data.store.workspace import SCALES, Run
from ragtriage.metrics.definitions.answer_text import RIGHT_BY_TEXT
from ragtriage.metrics.metric_registry import title_of
from ragtriage.metrics.number_text import count
from ragtriage.metrics.result_table import ResultTable
from ragtriage.metrics.sanity.columns import USUAL_SCALES

_OPEN = "loader_is_open"
_PROPOSED = "upload_project_proposed"
PASTED, PASTED_EXAMPLE = "pasted.csv", "rows copied from a spreadsheet, CSV, JSON or Markdown"
NOT_READ = "-"  # an empty cell would be shown as "None"
NO_ANSWERS = "No answers in this file"
JUDGES = {"scores": "A tool or model", "human": "People"}
RIGHT, RIGHT_SAID = "human.correctness", "People: right or wrong"


def load_button(view: View) -> None:
    """Draw the button that opens the loader in a dialog, or say that nothing can be loaded."""
    if not may_write():
        only_reads("Uploads")
        return
    if st.button("Load runs", icon=":material/upload_file:", key="open_loader"):
        st.session_state[_OPEN] = True
    if st.session_state.get(_OPEN):  # the page may be drawn anew while somebody fills the form in
        st.dialog("Load runs", width="large", on_dismiss=_close)(loader)(view.store, view.project)


def _close() -> None:
    st.session_state[_OPEN] = False


def loader(store: RunStore, project: str) -> None:
    """Draw the upload of files or a path, a preview of how they are read, and the button to load them."""
    uploads = st.file_uploader("Files", accept_multiple_files=True, key="uploads")
    path = path_input("or a path on this machine", "upload_path", "/data/results.jsonl")
    pasted = st.text_area("or a table, pasted", key="upload_text", height=68, placeholder=PASTED_EXAMPLE)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        _propose_project(uploads[0].name if uploads else path.strip() or PASTED * bool(pasted), project)
        target = st.text_input("Project", key="upload_project", width=200)
        name = st.text_input("Name of the run", key="upload_name", placeholder="from the file", width=220)
        form = st.selectbox("Format", ["auto", *importers()], key="upload_format", width=200)
    options = replace(_auxiliary_files(), name=name.strip() or None, format=form)
    try:
        options = replace(options, questions=chosen_question_set(store.workspace))
    except DataError as error:
        show_errors(error)
        return
    if not uploads and not path.strip() and not pasted.strip():
        # list the formats that are read, folded: there are many
        with st.expander(
            f"{len(importers())} formats are read and detected by their content; gzip is unpacked"
        ):
            rows = [
                {
                    "Format": row["title"],
                    "What the file holds": row["file"],
                    "How to write it": row["example"],
                }
                for row in formats(importers().values())
            ]
            show_table(ResultTable("Formats that are read", tuple(rows)))
        return
    try:
        inputs: list[Input] = [(_uploaded(upload), options) for upload in uploads]
        if pasted.strip():
            inputs.append((InputFile.from_bytes(PASTED, pasted.encode(errors="replace")), options))
        if path.strip():
            inputs += inputs_of(str(allowed_path(path)), options)
        inputs = joined(inputs)
    except DataError as error:
        show_errors(error)
        return
    previews = [_previewed(file, file_options) for file, file_options in inputs]
    ready = [file_and_options for file_and_options in previews if file_and_options is not None]
    if st.button(f"Load {count(len(ready), 'file')}", key="load", type="primary", disabled=not ready):
        _load(store, ready, target.strip() or "default")


def _propose_project(file: str, project: str) -> None:
    """Fill in the project: the one that is shown; beside a bundled sample, a new one named after the file."""
    from ragtriage.data.demo import sample_projects  # it loads what makes the samples

    file = file if project in sample_projects() else ""
    if st.session_state.get(_PROPOSED) != (project, file):
        st.session_state[_PROPOSED] = project, file
        st.session_state["upload_project"] = InputFile.from_bytes(file, b"").stem if file else project


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
        options = replace(options, mapping={**options.mapping, **_mapping(file, file_preview)})
        if options.mapping:
            file_preview = preview(file, options)
        if scales := _scales(file, file_preview.off_scale):
            options = replace(options, config={**options.config, SCALES: scales})
            file_preview = preview(file, options)
    except SeveralListsError as several:
        count_of = count(len(several.lists), "list")
        st.caption(f"The file holds {count_of} of questions: choose the one to read.")
        return None
    except DataError as error:
        show_errors(error)
        return None
    _show_preview(file_preview)
    if file_preview.total_errors or not asked_for_answers(file, file_preview):
        return None
    return file, options


def asked_for_answers(file: InputFile, file_preview: Preview) -> bool:
    """Return whether a file holds answers, or its user says that it holds none."""
    if "answer" in file_preview.filled or not _is_own_table(file_preview):
        return True
    return st.session_state.get(_answers_key(file)) == NO_ANSWERS


def _is_own_table(file_preview: Preview) -> bool:
    """Return whether columns were guessed and the file is a run, which usually has answers."""
    return bool(file_preview.mapping) and not all(run.questions or run.means for run in file_preview.runs)


def _answers_key(file: InputFile) -> str:
    return f"answers_{file.name}"


def _first_preview(file: InputFile, options: Options) -> tuple[Preview, Options]:
    """Return how a file is read; ask which list of rows is meant, or which column holds the question."""
    try:
        return preview(file, options), options
    except SeveralListsError as several:
        shown = {name: f"{name} ({count(rows, 'row')})" for name, rows in several.lists.items()}
        if is_workbook(file):
            shown[ALL_SHEETS] = "All of them, a run each"
        chosen = st.selectbox(
            "List of rows to read",
            list(shown),
            index=None,
            format_func=shown.__getitem__,
            key=f"rows_{file.name}",
        )
        if chosen is None or options.rows:
            raise
        options = replace(options, rows=chosen)
    except NothingMeasuredError as error:
        chosen = _ask_for_answers(file, error.columns)
        if chosen is None or options.mapping:
            raise
        if chosen == NO_ANSWERS:
            options = replace(options, format=QUESTIONS)
        else:
            options = replace(options, mapping={chosen: "answer"})
    except NoQuestionError as error:
        if options.mapping or not error.columns:
            raise
        chosen = st.selectbox(
            "Column with the question", error.columns, index=None, key=f"question_{file.name}"
        )
        if chosen is None:
            raise
        options = replace(options, mapping={chosen: "question"})
    return _first_preview(file, options)


def _mapping(file: InputFile, file_preview: Preview) -> dict[str, str]:
    """Draw how columns are read and ask what is not plain; return only what was changed."""
    if not file_preview.mapping:
        return {}
    changed = _answer_column(file, file_preview)
    columns = [mapped for mapped in file_preview.mapping if mapped.column not in changed]
    rows = [
        {
            "Column": mapped.column,
            "Read as": mapped.field or NOT_READ,
            "Because": mapped.why,
            **{f"Row {at}": value for at, value in enumerate((mapped.example, *mapped.more), start=1)},
        }
        for mapped in columns
    ]
    st.caption("How the columns are read; change “Read as” to correct it.")
    edited = st.data_editor(
        rows,
        hide_index=True,
        disabled=[name for name in _EDITOR_COLUMNS if name != "Read as"],
        column_order=_EDITOR_COLUMNS,
        column_config={
            **{name: st.column_config.Column(width=width) for name, width in _WIDTHS.items()},
            "Read as": st.column_config.SelectboxColumn(
                options=[name or NOT_READ for name in _meanings(columns)],
                format_func=lambda name: meaning_of(str(name or "").removeprefix(NOT_READ)),
                width=190,
            ),
        },
        key=f"mapping_{file.name}",
        height="content",
    )
    for row, mapped in zip(edited, columns, strict=True):
        field = str(row["Read as"] or "").strip().removeprefix(NOT_READ)
        changed |= {mapped.column: field} if field != mapped.field else {}
    return changed | _judges(file, columns, changed)


_WIDTHS = {"Column": 150, "Because": 190, "Row 1": 170, "Row 2": 170, "Row 3": 170}  # pixels
_EDITOR_COLUMNS = ("Column", "Read as", "Because", "Row 1", "Row 2", "Row 3")


def _meanings(columns: Sequence[MappedColumn]) -> list[str]:
    """Return the fields that a column may be read as: those of a sample, and its own as a score or a tag."""
    fields = dict.fromkeys([*MEANINGS, *(mapped.field for mapped in columns)])
    for mapped in columns:
        key = mapped.field.partition(".")[2] or metric_name(mapped.column)[0]
        fields |= dict.fromkeys((f"scores.{key}", f"tags.{mapped.column}"))
        fields |= dict.fromkeys((f"human.{key}",) if mapped.judges else ())
    return list(fields)


def _answer_column(file: InputFile, file_preview: Preview) -> dict[str, str]:
    """Ask for the column with the answers where none reads as it."""
    if "answer" in file_preview.filled or not _is_own_table(file_preview):
        return {}
    others = [mapped.column for mapped in file_preview.mapping if mapped.field != "question"]
    chosen = _ask_for_answers(file, others)
    return {} if chosen in (None, NO_ANSWERS) else {chosen: "answer"}


def _ask_for_answers(file: InputFile, columns: Sequence[str]) -> str | None:
    return st.selectbox(
        "Column with the answers",
        [*columns, NO_ANSWERS],
        index=None,
        placeholder="choose it, or say that there is none",
        key=_answers_key(file),
    )


def _judges(file: InputFile, columns: Sequence[MappedColumn], changed: Mapping[str, str]) -> dict[str, str]:
    """Ask who gave the verdicts and ratings of a column: labels of people correct what a tool says.

    Where no column says whether an answer is right, a column of yes and no may be what people say of it.
    """
    fields = {mapped.column: changed.get(mapped.column, mapped.field) for mapped in columns}
    is_judged = any(field.endswith(".correctness") for field in fields.values())
    answers: dict[str, str] = {}
    for mapped in columns:
        kind, _, key = fields[mapped.column].partition(".")
        if not mapped.judges or kind not in JUDGES or not key:
            continue
        says_right = not is_judged and RIGHT not in answers.values() and _is_yes_or_no(mapped)
        options = JUDGES | ({RIGHT: RIGHT_SAID} if says_right else {})
        chosen = st.segmented_control(
            f"Who judged “{markdown_text(mapped.column)}”?",
            list(options),
            default=kind,
            format_func=options.__getitem__,
            key=f"judges_{mapped.column}_{file.name}",
        )
        if says_right and chosen == "human":
            name = markdown_text(mapped.column)
            st.caption(f"If yes in “{name}” means that the answer is right, choose “{RIGHT_SAID}”.")
        if chosen and chosen != kind:
            answers[mapped.column] = chosen if chosen == RIGHT else f"{chosen}.{key}"
    return answers


def _is_yes_or_no(mapped: MappedColumn) -> bool:
    values = (mapped.example, *mapped.more)
    return all(value in ("0", "1") or not any(map(str.isdigit, value)) for value in values)


def _scales(file: InputFile, off_scale: Mapping[str, tuple[float, float]]) -> dict[str, list[float]]:
    """Ask for the scale of each score that goes beyond its metric's, and return those that were chosen."""
    chosen: dict[str, list[float]] = {}
    for metric, (least, most) in off_scale.items():
        scale: tuple[float, float] | None = st.selectbox(
            f"Scale of {markdown_text(metric)}: its values go from {least:g} to {most:g}",
            [(low, high) for low, high in USUAL_SCALES if low <= least and most <= high],
            index=None,
            format_func=lambda ends: f"{ends[0]:g} to {ends[1]:g}",
            placeholder="not scored until its scale is chosen",
            key=f"scale_{metric}_{file.name}",
        )
        if scale is not None:
            chosen[metric] = list(scale)
    return chosen


def _show_preview(file_preview: Preview) -> None:
    more = "" if file_preview.complete else " (only the first records were read)"
    runs = ", ".join(f"{markdown_text(run.name)} ({run.count:,})" for run in file_preview.runs[:12])
    only_questions = all(run.questions for run in file_preview.runs)
    facts(
        f"read as {format_title(file_preview.format)}",
        f"{'question set' if only_questions else count(len(file_preview.runs), 'run')}: {runs}{more}",
    )
    for note in dict.fromkeys(note for run in file_preview.runs for note in run.notes):
        st.caption(f"· {markdown_text(note_on_page(note))}")
    if file_preview.total_errors:
        st.error(
            "\n".join(f"- {markdown_text(str(error))}" for error in file_preview.errors),
            title=f"{count(file_preview.total_errors, 'problem')}; nothing in this file can be loaded",
        )
        return
    if only_questions:
        st.markdown("Questions with references or gold and no answers: kept as a question set, not as a run.")
        return
    names, missing = computable(file_preview)
    bases = sorted({name.partition("@")[0] for name in names})
    metrics = [f"{title_of(name)}{' (estimated)' if name == RIGHT_BY_TEXT else ''}" for name in bases]
    st.markdown(f"**Will be measured:** {markdown_text(', '.join(metrics)) or 'nothing'}")
    with st.expander(f"What {count(len(missing), 'more metric')} would need"):
        rows = [{"Metric": metric, "Why": reason} for metric, reason in missing.items()]
        show_table(ResultTable("Metrics that cannot be computed", tuple(rows)))


def _load(store: RunStore, ready: Sequence[tuple[InputFile, Options]], project: str) -> None:
    bar = st.progress(0.0, "Reading …")

    def watch(step: Step) -> None:
        share = step.done / step.total if step.total else 0.0
        bar.progress(min(share, 1.0), f"{step.doing} {markdown_text(step.run)}: {step.done:,}")

    results: list[DataError | str] = []
    last: Run | None = None
    for file, options in ready:
        try:
            loaded = load_source(store, file, options, project, watch)
        except DataError as error:
            results.append(error)
            continue
        results += [f"{file.name}: {kept_text(kept.facts, kept.is_new)}" for kept in loaded.question_sets]
        if not loaded.runs:
            continue
        closing = dict.fromkeys(note for entry in loaded.runs for note in entry.closing)
        digest_new_runs(store, [entry.run for entry in loaded.runs])
        results.append("\n\n".join([*import_lines(loaded.runs, store.names()), *closing]))
        last = loaded.runs[-1].run
        keep(project=last.project, run=last.run_id, baseline="", case="")
    bar.empty()
    keep_results(results)
    _close()
    if last is None or any(isinstance(result, DataError) for result in results):
        st.rerun()  # the list below was drawn before these runs were there
    go_to_page("triage")
