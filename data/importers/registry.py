"""Every importer, in the order in which a file is tried: the first that recognises it reads it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points

from ragtriage.data.importers.formats import (
    inspectorraget,
    native,
    pipelines,
    ragas,
    ragchecker,
    table,
    trec,
    versions,
)
from ragtriage.data.importers.formats.tool_rows import ToolRows
from ragtriage.data.importers.importer import Importer
from ragtriage.data.importers.parsing.field_names import guessed_fields
from ragtriage.data.importers.parsing.peek import Peek
from ragtriage.data.importers.question_files import (
    attack_prompts,
    beir_questions,
    deepeval_goldens,
    giskard_testset,
    llamaindex_sets,
    musique,
    native_questions,
    phoenix_dataset,
    ragas_testset,
    table_questions,
)
from ragtriage.data.importers.tools import (
    ares,
    attribution_labels,
    autorag,
    braintrust,
    cited_answers,
    continuous_eval,
    deepeval,
    deepeval_traces,
    frank,
    jailbreakbench,
    langfuse,
    langsmith,
    langsmith_runs,
    llamaindex,
    mlflow,
    nomiracl,
    open_rag_eval,
    opentelemetry,
    opik,
    phoenix,
    promptfoo,
    ramdocs,
    tool_calls,
    trulens,
    uptrain,
    weave,
)

ENTRY_POINTS = "ragtriage.importers"


def _is_native(peek: Peek) -> bool:
    listed = isinstance(peek.keys.get("samples"), list)
    return listed or (bool(peek.columns) and native.is_native(peek.columns))


def _is_ragchecker(peek: Peek) -> bool:
    results = peek.keys.get("results")
    listed = results if isinstance(results, list) else ()
    rows = peek.rows or tuple(row for row in listed if isinstance(row, dict))
    return bool(rows) and ragchecker.is_ragchecker(rows[0])


# Specific formats stand before general ones: a table is what no other importer recognises.
TOOLS: tuple[Importer, ...] = (
    *trulens.IMPORTERS,
    *langfuse.IMPORTERS,
    *autorag.IMPORTERS,
    *deepeval_traces.IMPORTERS,
    *deepeval.IMPORTERS,
    *promptfoo.IMPORTERS,
    *opik.IMPORTERS,
    *weave.IMPORTERS,
    *braintrust.IMPORTERS,
    *opentelemetry.IMPORTERS,
    *ares.IMPORTERS,
    *continuous_eval.IMPORTERS,
    *open_rag_eval.IMPORTERS,
    *uptrain.IMPORTERS,
    *langsmith.IMPORTERS,
    *langsmith_runs.IMPORTERS,
    *phoenix.IMPORTERS,
    *llamaindex.IMPORTERS,
    *mlflow.IMPORTERS,
    *tool_calls.IMPORTERS,
    *attribution_labels.IMPORTERS,
    *cited_answers.IMPORTERS,
    *frank.IMPORTERS,
    *jailbreakbench.IMPORTERS,
    *nomiracl.IMPORTERS,
    *ramdocs.IMPORTERS,
)
QUESTION_FILES: tuple[Importer, ...] = (
    *attack_prompts.IMPORTERS,
    *deepeval_goldens.IMPORTERS,
    *ragas_testset.IMPORTERS,
    *llamaindex_sets.IMPORTERS,
    *phoenix_dataset.IMPORTERS,
    *musique.IMPORTERS,
    *giskard_testset.IMPORTERS,
    *beir_questions.IMPORTERS,
)
GENERAL: tuple[Importer, ...] = (
    Importer(
        "trec",
        "TREC run",
        trec.ACCEPTED,
        lambda peek: peek.kind == "csv" and trec.is_trec(trec.first_lines(peek.source)),
        trec.read,
        unit="question",
    ),
    Importer(
        "inspectorraget",
        "InspectorRAGet",
        "JSON with models, metrics, tasks and results or evaluations",
        lambda peek: inspectorraget.is_inspectorraget(peek.document),
        inspectorraget.read,
        unit="result",
    ),
    Importer(
        "pipeline_results",
        "Pipeline results",
        "JSON with pipeline_results: {pipeline: [rows]}",
        lambda peek: pipelines.is_pipelines(peek.document),
        pipelines.read,
        mapped=True,
    ),
    Importer(
        "scores_json",
        "Run as JSON, as BEIR and ranx write it",
        trec.JSON_ACCEPTED,
        lambda peek: trec.is_score_json(peek.document),
        trec.read_json,
        unit="question",
    ),
    Importer(
        "ragchecker",
        "RAGChecker",
        "results with query, response, gt_answer",
        _is_ragchecker,
        ragchecker.read,
        unit="result",
    ),
    Importer(
        "versions",
        "Summary scores by version",
        versions.ACCEPTED,
        lambda peek: versions.is_versions(peek.columns),
        versions.read,
    ),
    *native_questions.IMPORTERS,
    Importer(
        "native",
        "ragtriage",
        "JSONL, JSON, CSV or Parquet with `question` and other fields of a sample",
        _is_native,
        native.read,
    ),
    Importer(
        "ragas",
        "Ragas",
        "a table with user_input, response, retrieved_contexts, or the 0.1 names",
        lambda peek: ragas.is_ragas(peek.columns),
        ragas.read,
        mapped=True,
    ),
    *table_questions.IMPORTERS,
    Importer(
        "table",
        "Table",
        "CSV, TSV, JSONL, JSON or Parquet with a column that reads as the question",
        lambda peek: "question" in guessed_fields(peek.columns),
        table.read,
        mapped=True,
    ),
)


@cache
def importers() -> Mapping[str, Importer]:
    """Return every importer by its key: those of tools, installed plugins, general ones.

    A plugin is an entry point of the group `ragtriage.importers` that names an Importer or several. One that
    does not work is left out, for the files of other tools have nothing to do with it: see `plugin_faults`.
    """
    general = {importer.key: importer for importer in GENERAL}
    return {importer.key: importer for importer in (*TOOLS, *QUESTION_FILES, *_plugins()[0])} | general


def plugin_faults() -> tuple[str, ...]:
    """Return why installed plugins are left out: a sentence each that names the package."""
    return _plugins()[1]


def tool_rows() -> list[ToolRows]:
    """Return the rows of tools that are recognised in a table from Python too."""
    return [importer.rows for importer in importers().values() if importer.rows is not None]


@cache
def _plugins() -> tuple[tuple[Importer, ...], tuple[str, ...]]:
    """Return the importers of installed packages, and why others of them cannot be used."""
    own = {importer.key for importer in (*TOOLS, *QUESTION_FILES, *GENERAL)}
    usable: list[Importer] = []
    faults: list[str] = []
    for entry in entry_points(group=ENTRY_POINTS):
        package = entry.dist.name if entry.dist is not None else entry.value
        what = f"the importer {entry.name!r} of {package}"
        try:
            declared = _declared(entry)
        except Exception as error:  # noqa: BLE001 -- code of another package may raise anything
            faults.append(f"{what} cannot be loaded: {type(error).__name__}: {error}")
            continue
        if declared is None:
            faults.append(f"{what} is not a ragtriage.importers.Importer")
            continue
        taken = [importer.key for importer in declared if importer.key in own]
        faults += [f"{what} calls itself {key!r}, as one of ragtriage does" for key in taken]
        usable += [importer for importer in declared if importer.key not in own]
    return tuple(usable), tuple(faults)


def _declared(entry: EntryPoint) -> list[Importer] | None:
    """Return the importers that an entry point names; None where it names something else."""
    loaded = entry.load()
    declared = [loaded] if isinstance(loaded, Importer) else loaded
    if not isinstance(declared, list | tuple) or not all(isinstance(one, Importer) for one in declared):
        return None
    return list(declared)
