"""AutoRAG: a trial folder, with a run for each module that it tried, and single tables of its nodes."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.formats.table import reader_of, runs_of_table
from ragtriage.data.importers.formats.tool_rows import Row, ToolRows, each
from ragtriage.data.importers.importer import Importer
from ragtriage.data.importers.parsing.columns import plan_columns
from ragtriage.data.importers.parsing.field_names import guessed_fields
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.options import Options
from ragtriage.data.importers.parsing.peek import Peek
from ragtriage.data.importers.parsing.rows import open_table
from ragtriage.data.importers.tools.autorag.module_reader import RETRIEVAL, ModuleReader
from ragtriage.data.importers.tools.autorag.trial import (
    ACCEPTED,
    QUESTIONS,
    best_before,
    nodes_of,
    project_of,
    start_times,
    trials_of,
)
from ragtriage.data.store.parsed_run import ParsedRun

__all__ = ["IMPORTERS"]

OUTPUTS = ({"retrieved_contents", "retrieve_scores"}, {"generated_texts", "generated_tokens"})


def _detect_folder(peek: Peek) -> bool:
    if peek.folder is None:
        return False
    try:
        is_project = (peek.folder / "trial.json").is_file() and (peek.folder / QUESTIONS).is_file()
        return is_project or bool(trials_of(peek.folder))
    except OSError:
        return False


def _read_folder(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read the trials of a folder: a run for each module of each node."""
    folder = source.path or Path()
    project = project_of(folder)
    trials = trials_of(folder)
    if project is None:
        raise source.error(
            "is a trial of AutoRAG without its questions (no data/qa.parquet above it)", ACCEPTED
        )
    if not trials:
        raise source.error("is a project of AutoRAG with no trial that has results", ACCEPTED)
    started = start_times(project)
    runs = []
    for part in (trial.absolute() for trial in trials):
        trial = project / part.relative_to(project).parts[0]
        nodes = nodes_of(source, trial)  # of the whole trial: a node reads what those before it wrote
        for module in chain.from_iterable(nodes):
            if part in (module.folder, *module.folder.parents):
                reader = ModuleReader(source, project, module, best_before(module, nodes), options, errors)
                runs.append(reader.run(started.get(module.trial)))
    return runs


def _of_node(row: Row) -> Row:
    """Return a row with its last retrieval in the usual columns; earlier ones stay under their names."""
    variants = [name.removeprefix("retrieved_ids") for name in row if name.startswith("retrieved_ids")]
    last = "" if "" in variants else next(reversed(variants), None)
    sample: Row = {}
    for name, value in row.items():
        base = next((part for part in RETRIEVAL if name == f"{part}{last}"), None)
        is_score = isinstance(value, float) and base is None
        sample[base or (f"scores.{name}" if is_score else name)] = value
    return sample


def _is_output_alone(peek: Peek) -> bool:
    if peek.kind != "parquet" or "question" in guessed_fields(peek.columns):
        return False
    return peek.columns in ({"prompts"}, {"queries"}) or any(names <= peek.columns for names in OUTPUTS)


def _refuse_output(source: InputFile, _: Options, __: ValidationErrors) -> list[ParsedRun]:
    raise source.error("is the output of one node of AutoRAG, without its questions", ACCEPTED)


def _is_questions(peek: Peek) -> bool:
    is_output = any(name.startswith(("retrieved_", "generated_", "prompts")) for name in peek.columns)
    return peek.columns >= {"qid", "query", "retrieval_gt"} and not is_output


def _read_questions(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    table = open_table(source, errors, options.limit, rows=options.rows)
    plan = plan_columns(table, options.mapping, source.name)
    base = ParsedRun(source.stem, (), source.name, "autorag_questions", questions=True)
    return runs_of_table(table, plan, base, errors)


ROWS = ToolRows(
    lambda names: {"qid", "query", "retrieval_gt"} <= names,
    each(_of_node),
    "read as a node of AutoRAG: the last retrieval is the context; figures keep the name of their node",
)
IMPORTERS = (
    Importer(
        "autorag",
        "AutoRAG trial",
        ACCEPTED,
        _detect_folder,
        _read_folder,
        written_by="AutoRAG",
        example="autorag evaluate --config config.yaml --project_dir PROJECT; then import PROJECT/0",
    ),
    Importer(
        "autorag_questions",
        "AutoRAG questions",
        "qa.parquet with qid, query, retrieval_gt, generation_gt",
        _is_questions,
        _read_questions,
        mapped=True,
        holds="questions",
        written_by="AutoRAG",
    ),
    Importer(
        "autorag_rows",
        "AutoRAG table",
        "best_N.parquet of a node, with qid, query, retrieval_gt",
        lambda peek: ROWS.fits(set(peek.columns)),
        reader_of(ROWS, "autorag_rows"),
        mapped=True,
        rows=ROWS,
        written_by="AutoRAG",
    ),
    Importer(
        "autorag_output",
        "AutoRAG node output",
        ACCEPTED,
        _is_output_alone,
        _refuse_output,
        written_by="AutoRAG",
    ),
)
