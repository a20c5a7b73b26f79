"""What `ragtriage import` and its dry run print: the result, columns, warnings, and the next command."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from shlex import quote
from typing import Any

from ragtriage.dashboard.cli.terminal import plain, row_table, wrapped
from ragtriage.dashboard.wording.formatting import finding_counts
from ragtriage.dashboard.wording.imports import column_rows, import_lines, kept_text
from ragtriage.dashboard.wording.leaks import leak_text
from ragtriage.data.declarations import declarations_of
from ragtriage.data.importers.formats.table_records import SAME_ID
from ragtriage.data.importers.load import KeptSet
from ragtriage.data.importers.parsing.head_column import is_question
from ragtriage.data.importers.parsing.headings import is_first
from ragtriage.data.importers.preview import Preview, computable
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.parsed_run import MappedColumn
from ragtriage.data.store.workspace import Run
from ragtriage.data.store.write_run import ImportedRun
from ragtriage.metrics.number_text import count
from ragtriage.metrics.sanity.columns import usual_scale

SHOWN_COLUMNS = 25  # of a table that was loaded
UNCLEAR_SCORES = ("scores.score", "scores.rating", "scores.grade")  # of what, their names do not say
TOLD = (SAME_ID, "left out, as it holds e-mail")  # how notes begin that are told without being asked for
NAMED_RUNS = 4  # a note on more runs tells their number


def answer_lines(
    store: RunStore,
    imported: Sequence[ImportedRun],
    kept: Sequence[KeptSet],
    findings: Sequence[Mapping[str, Any]],
    explain: bool,
) -> list[str]:
    """Return what an import led to: a line for each run, and what to do next.

    Notes, findings and what is not computable stand behind `--explain`; a finding that makes a number wrong
    is shown anyway, and so is a question about a column.
    """
    always = {note for entry in imported for note in entry.closing}
    notes = _note_lines(
        (entry.run.run_id, [note for note in entry.run.notes if note not in always]) for entry in imported
    )
    shown = [finding for finding in findings if explain or _is_shown(finding)]
    questions = _note_lines((entry.run.run_id, _questions(store, entry.run)) for entry in imported)
    read = 0 if explain else len(notes) - len(questions)
    unseen = [finding["severity"] for finding in findings if finding not in shown]
    reading = f"{count(read, 'note')} on how it was read" if read else ""
    checks = f"sanity checks: {finding_counts(unseen)}" if unseen else ""
    behind = "; ".join(filter(None, [reading, checks]))
    behind = "; ".join(filter(None, [_scale_text(findings), f"{behind}: --explain" if behind else ""]))
    lines = import_lines(imported, store.names() if imported else {}, behind)
    mappings = {
        tuple((mapped.column, mapped.field) for mapped in entry.mapping): entry.mapping
        for entry in imported
        if entry.status == "imported" and entry.mapping
    }
    with_samples = [entry.run for entry in imported if not entry.run.means]
    leaks = [(run.run_id, leak_text(store.scored(run))) for run in with_samples]
    first = _note_lines(
        (entry.run.run_id, [note for note in entry.run.notes if is_first(note)]) for entry in imported
    )
    return [
        *first,
        *(wrapped(plain(line), "  ") for line in lines),
        *(line for mapping in mappings.values() for line in _column_lines(mapping, explain)),
        *(wrapped(line, "  ") for line in _alike_lines(store, imported)),
        *(
            wrapped(f"{text}: `ragtriage checks {run_id} --suite isolation`.", "  ")
            for run_id, text in leaks
            if text
        ),
        *_note_lines((entry.run.run_id, entry.closing) for entry in imported),
        *(wrapped(plain(kept_text(entry.facts, entry.is_new)), "  ") for entry in kept),
        *(notes if explain else questions),
        *(_note_lines((entry.facts.name, entry.facts.notes) for entry in kept) if explain else ()),
        *map(_finding_line, shown),
        *(_not_computable_lines(store, imported) if explain else ()),
        *([_next_step(store, imported)] if imported else []),
    ]


def _is_shown(finding: Mapping[str, Any]) -> bool:
    """Return whether a finding is shown without --explain; one on a scale is said in the first line."""
    wrong = finding["severity"] == "error" and finding["rule"] != "scale"
    return bool(wrong or finding["rule"] == "mixed_scales")


def _column_lines(mapping: Sequence[MappedColumn], explain: bool) -> list[str]:
    """Return a table of what the columns of a file were read as, the first of them or all."""
    shown = mapping if explain else mapping[:SHOWN_COLUMNS]
    lines = [row_table(column_rows(shown))]
    if len(mapping) > len(shown):
        lines.append(f"and {count(len(mapping) - len(shown), 'more column')}: --explain")
    lines.append("To read a column as something else: --map FIELD=COLUMN")
    fields = {each.field for each in mapping}
    unclear = next((each.column for each in mapping if each.field in UNCLEAR_SCORES), None)
    if unclear is not None and "scores.correctness" not in fields:
        line = f"{unclear} is kept and decides nothing; if it says which answers are right: --map"
        lines.append(f"{plain(line)} scores.correctness={plain(unclear)}")
    return lines


def _alike_lines(store: RunStore, imported: Sequence[ImportedRun]) -> list[str]:
    """Return a line for each new run with the name and the file of an earlier one, which stays beside it."""
    new = {entry.run.run_id: entry.run for entry in imported if entry.status == "imported"}
    lines = []
    for run in new.values():
        for other in store.runs(run.project):
            named_alike = (other.name, other.origin["file"]) == (run.name, run.origin["file"])
            if named_alike and other.run_id not in new:
                lines.append(
                    f"warning: {plain(run.name)} was imported before, as {other.run_id}, and both are kept: "
                    f"`ragtriage delete {other.run_id}` removes the earlier one, --name renames the new one."
                )
    return lines


def _scale_text(findings: Iterable[Mapping[str, Any]]) -> str:
    """Return which scores are on another scale than their metric's, and the options that convert them."""
    off_scale: dict[str, tuple[float, float]] = {}
    for finding in findings:
        if finding["rule"] == "scale" and finding["severity"] == "error":
            evidence = dict(finding["evidence"])
            (metric,) = finding["metrics"]
            off_scale[metric] = (evidence["least"], evidence["greatest"])
    options = _scale_options(off_scale)
    text = f"not scored, as on another scale: {', '.join(off_scale)} (import again with {options})"
    return text if options else ""


def _scale_options(off_scale: Mapping[str, tuple[float, float]]) -> str:
    """Return the options that convert scores, from their least and greatest value."""
    scales = {metric: usual_scale(*ends) for metric, ends in off_scale.items()}
    ends = {
        metric: "LEAST..GREATEST" if scale is None else f"{scale[0]:g}..{scale[1]:g}"
        for metric, scale in scales.items()
    }
    return " ".join(f"--scale {quote(f'{metric}={text}')}" for metric, text in ends.items())


def _finding_line(finding: Mapping[str, Any]) -> str:
    text = f"{plain(finding['title'])}: {plain(finding['message'])}"
    return wrapped(f"finding ({finding['severity']}) in {finding['run_id']}: {text}", "  ")


def _questions(store: RunStore, run: Run) -> list[str]:
    """Return the notes on a run that a user must see: what it asks, and ids that mean several questions."""
    declared = declarations_of(store.workspace, run.project)
    told = (note for note in run.notes if not is_first(note))
    return [note for note in told if is_question(note, declared) or note.startswith(TOLD)]


def _note_lines(notes_by_run: Iterable[tuple[str, Sequence[str]]]) -> list[str]:
    """Return a line for each note on how the files were read, with the runs that it is about."""
    runs_by_note: dict[str, dict[str, None]] = {}
    for run, notes in notes_by_run:
        for note in notes:
            runs_by_note.setdefault(note, {})[run] = None
    lines = []
    for note, runs in runs_by_note.items():
        named = ", ".join(runs) if len(runs) <= NAMED_RUNS else count(len(runs), "run")
        lines.append(wrapped(f"note on {plain(named)}: {plain(note)}", "  "))
    return lines


def _not_computable_lines(store: RunStore, imported: Sequence[ImportedRun]) -> list[str]:
    """List the metrics that stay unmeasured and why, once for all runs with the same list."""
    from ragtriage.dashboard.cli.runs.kept_runs import not_computable, unmeasured_by_reason  # late

    run_ids_by_lines: dict[tuple[str, ...], list[str]] = {}
    for entry in {entry.run.run_id: entry for entry in imported}.values():
        lines = tuple(unmeasured_by_reason(not_computable(store, entry.run)))
        run_ids_by_lines.setdefault(lines, []).append(entry.run.run_id)
    return [
        text
        for lines, run_ids in run_ids_by_lines.items()
        if lines
        for text in (wrapped(f"not computable in {', '.join(run_ids)}:", "  "), *lines)
    ]


def _next_step(store: RunStore, imported: Sequence[ImportedRun]) -> str:
    """Suggest what to do with the runs."""
    with_samples = [entry.run.run_id for entry in imported if not entry.run.means]
    serve = "`ragtriage serve` opens the dashboard"
    if not with_samples:
        return f"Next: {serve}; its page Benchmarks compares these versions with published results."
    last = with_samples[-1]
    if not any(summary.n_scored for summary in store.summary(store.find(last)).values()):
        need = f"`ragtriage show {last}` says what each metric needs"
        return f"Next: nothing in {last} can be measured yet; {need}."
    return f"Next: `ragtriage diagnose {last}` shows where it fails; {serve}."


def preview_answer(name: str, file_preview: Preview) -> dict[str, Any]:
    """Return how a file would be read, as the values of the JSON answer."""
    computable_metrics, missing = computable(file_preview)
    return {
        "file": name,
        "format": file_preview.format,
        "complete": file_preview.complete,
        **{
            key: [
                {"name": run.name, "n": run.count, "notes": list(run.notes)}
                for run in file_preview.runs
                if bool(run.questions) == of_questions
            ]
            for key, of_questions in (("runs", False), ("question_sets", True))
        },
        "mapping": [asdict(column) for column in file_preview.mapping],
        "fields": dict(file_preview.filled),
        "computable": computable_metrics,
        "off_scale": {metric: list(ends) for metric, ends in sorted(file_preview.off_scale.items())},
        "not_computable": missing,
        "means": {run.name: list(run.means) for run in file_preview.runs if run.means},
        "problems": [str(problem) for problem in file_preview.errors],
    }


def preview_text(answer: Mapping[str, Any], explain: bool) -> str:
    """Return how a file would be read: what it holds, its columns, notes, and what can be measured."""
    means: Mapping[str, Sequence[str]] = answer["means"]
    runs = ", ".join(
        plain(run["name"]) if run["name"] in means else f"{plain(run['name'])} ({run['n']:,})"
        for run in answer["runs"]
    )
    sets = ", ".join(f"{plain(entry['name'])} ({entry['n']:,})" for entry in answer["question_sets"])
    holds = "; ".join(filter(None, [runs and f"runs: {runs}", sets and f"question set: {sets}"]))
    lines = [f"{answer['file']}: {answer['format']}; {holds}{'' if answer['complete'] else ' ...'}"]
    if answer["mapping"]:
        lines += _column_lines([MappedColumn(**column) for column in answer["mapping"]], explain)
    entries = [*answer["runs"], *answer["question_sets"]]
    lines += _note_lines((entry["name"], entry["notes"]) for entry in entries)
    if not answer["runs"]:
        text = "questions with references and gold and no answers: kept as a question set, not as a run"
        return "\n".join([*lines, wrapped(text, "  "), *(f"problem: {plain(p)}" for p in answer["problems"])])
    if means:
        metrics = ", ".join(dict.fromkeys(name for names in means.values() for name in names))
        versions = count(len(means), "version")
        summary = f"summary scores only: {metrics} of {versions}; no samples, so no interval and no diagnosis"
    else:
        names = sorted({name.replace("@", "@k ").split(" ")[0] for name in answer["computable"]})
        summary = f"will be measured: {', '.join(names) or 'nothing'}"
    lines.append(wrapped(summary, "  "))
    if off_scale := answer["off_scale"]:
        add = f"add {_scale_options(off_scale)}"
        lines.append(wrapped(f"not scored, as on another scale: {', '.join(off_scale)} ({add})", "  "))
    if answer["not_computable"] and explain:
        from ragtriage.dashboard.cli.runs.kept_runs import unmeasured_by_reason  # late

        lines += ["not computable:", *unmeasured_by_reason(answer["not_computable"])]
    elif answer["not_computable"]:
        lines.append(f"cannot be measured: {count(len(answer['not_computable']), 'metric')}; why: --explain")
    return "\n".join([*lines, *(f"problem: {plain(problem)}" for problem in answer["problems"])])
