"""Every importer, in the order in which a file is tried: the first that recognises it reads it.

The names that a file shows at first sight decide which modules are loaded and asked at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points

from ragtriage.data.importers.importer import Importer, Peek, ToolRows

ENTRY_POINTS = "ragtriage.importers"


@dataclass(frozen=True)
class Format:
    """A module with importers, and the names by which their files are known."""

    module: str  # name of the module in this room, which declares its importers as IMPORTERS
    keys: str  # the importers that are asked at this place, in their order; separated by spaces
    signs: str  # patterns, of which a name in a file of theirs fits at least one (`Peek.names`); likewise

    def fits(self, names: frozenset[str]) -> bool:
        """Return whether a file with these names may be one of theirs."""
        signs = self.signs.lower().split()
        patterns = [sign for sign in signs if "*" in sign or "?" in sign]
        return not names.isdisjoint(signs) or any(
            fnmatchcase(name, pattern) for pattern in patterns for name in names
        )

    def importers(self) -> list[Importer]:
        """Return the importers; their module is loaded now."""
        declared: Iterable[Importer] = import_module(f"{__package__}.{self.module}").IMPORTERS
        by_key = {importer.key: importer for importer in declared}
        return [by_key[key] for key in self.keys.split()]


# Specific formats stand before general ones: a table is what no other importer recognises.
TOOLS: tuple[Format, ...] = (
    Format(
        "harnesses.azure",
        "azure azure_summary",
        "gpt_* *_threshold outputs.*.* pass_rate mean_rating low_rate",
    ),
    Format(
        "tools.trulens",
        "trulens_database trulens_events trulens",
        "*feedbacks trulens_events trulens_records record_attributes record_id",
    ),
    Format(
        "tools.langfuse",
        "langfuse_experiment langfuse_scores langfuse_trace langfuse_observations langfuse_traces",
        "experimentItemId dataType observations isRootObservation parentObservationId parent_observation_id "
        "bookmarked htmlPath errorCount observationCount kind:folder",
    ),
    Format(
        "tools.autorag",
        "autorag autorag_questions autorag_rows autorag_output",
        "retrieval_gt prompts queries retrieve_scores generated_tokens kind:folder",
    ),
    Format(
        "tools.deepeval_traces", "deepeval_traces", "baseSpans agentSpans llmSpans retrieverSpans toolSpans"
    ),
    Format(
        "tools.deepeval",
        "deepeval",
        "testCases conversationalTestCases test_results test_cases_lookup_map metricsData metrics_data "
        "metricsMetadata",
    ),
    Format(
        "tools.promptfoo",
        "promptfoo",
        "evalId testIdx Named?Scores begins:evalId:* begins:<promptfoo* begins:<!doctype?html* begins:<html* "
        "kind:folder",
    ),
    Format(
        "tools.opik",
        "opik_experiment opik_csv opik_table opik_traces",
        "dataset_item_id item_dataset_item_id dataset dataset.* *.dataset *.dataset.* spans kind:folder",
    ),
    Format(
        "harnesses.bedrock",
        "bedrock bedrock_model bedrock_questions",
        "conversationTurns automatedEvaluationResult",
    ),
    Format(
        "tools.haystack",
        "haystack haystack_result haystack_scores",
        "predicted_answer predicted_answers *_responses *_response individual_scores metrics",
    ),
    Format("harnesses.inspect_ai", "inspect", "kind:zip eval"),
    Format("harnesses.garak", "garak", "probe_classname"),
    Format("harnesses.openai_evals", "openai_evals", "spec"),
    Format("harnesses.lm_eval", "lm_eval lm_eval_results", "filtered_resps n-shot"),
    Format("tools.weave", "weave weave_results", "op_name row_digest"),
    Format("tools.braintrust", "braintrust braintrust_results", "root_span_id error"),
    Format(
        "tools.otlp",
        "otlp otlp_logs otel_spans",
        "resourceSpans resource_spans batches resourceLogs resource_logs attributes",
    ),
    Format("tools.tables_of_tools", "ares", "Document"),
    Format(
        "tools.tables_of_tools",
        "continuous_eval continuous_eval_metrics",
        "ground_truth_contexts annotation kind:json",
    ),
    Format(
        "tools.tables_of_tools",
        "open_rag_eval uptrain_experiment uptrain",
        "passage_id document_text score_*",
    ),
    Format(
        "tools.langsmith", "langsmith langsmith_table langsmith_runs", "evaluation_results inputs.* run_type"
    ),
    Format("tools.phoenix", "phoenix phoenix_annotations", "context.span_id span_kind annotator_kind"),
    Format("tools.phoenix_experiments", "phoenix_experiment phoenix_database", "example_id projects"),
    Format(
        "tools.llamaindex",
        "llamaindex llamaindex_retrieval llamaindex_predictions",
        "passing metric_dict predictions",
    ),
    Format(
        "tools.mlflow",
        "mlflow_database mlflow_folder mlflow_traces mlflow mlflow_2",
        "trace_info latest_metrics info trace */value */score kind:folder",
    ),
    Format("data_sets.tool_calls", "bfcl tau_bench", "expected_calls function expected_actions"),
    Format(
        "data_sets.labelled_answers",
        "attribution_labels cited_answers frank",
        "begin_label attribution_label label sentences human_factuality",
    ),
    Format("data_sets.attacks", "jailbreakbench", "behaviour_index"),
    Format("data_sets.labelled_answers", "nomiracl", "subset"),
    Format("data_sets.labelled_passages", "ramdocs", "wrong_answers"),
    Format("data_sets.trec_rag", "trec_rag trec_rag_candidates", "references candidates"),
    Format("data_sets.open_domain", "kilt", "provenance"),
    Format("data_sets.open_domain", "dpr_retriever dpr_reader flashrag", "ctxs predictions golden_answers"),
)
QUESTION_FILES: tuple[Format, ...] = (
    Format("data_sets.open_domain", "kilt_gold", "provenance"),
    Format("data_sets.attacks", "cyberseceval do_not_answer", "injection_type category"),
    Format("tools.deepeval", "deepeval_goldens", "expected_output expectedOutput source_file sourceFile"),
    Format("formats.ragas", "ragas_testset", "user_input"),
    Format("tools.llamaindex", "llamaindex_qa llamaindex_rag", "relevant_docs examples"),
    Format("tools.phoenix_experiments", "phoenix_dataset", "dataset_id version_id example_id input.*"),
    Format("data_sets.labelled_passages", "musique", "paragraphs"),
    Format("data_sets.labelled_passages", "rgb", "positive"),
    Format("tools.tables_of_tools", "giskard_testset", "reference_context"),
    Format("formats.beir", "beir_questions", "kind:folder"),
)
TABLES = "kind:csv kind:json kind:jsonl kind:markdown kind:parquet kind:xlsx"
GENERAL: tuple[Format, ...] = (
    Format("formats.trec", "trec", "kind:csv"),
    Format("formats.inspectorraget", "inspectorraget", "tasks"),
    Format("formats.versions", "pipeline_results", "pipeline_results"),
    Format("formats.trec", "scores_json", "kind:json"),
    Format("formats.ragchecker", "ragchecker_pairs ragchecker", "gt_answer response_claims"),
    Format("formats.versions", "versions", f"version {TABLES}"),
    Format("formats.native", "native_questions native", "question samples ragtriage_run"),
    Format("formats.ragas", "ragas", "user_input contexts"),
    Format("formats.table", "table_questions table", TABLES),
)


def keys_of(formats: Iterable[Format]) -> list[str]:
    """Return the keys of formats, in their order."""
    return [key for entry in formats for key in entry.keys.split()]


def loaded(formats: Iterable[Format]) -> Iterator[Importer]:
    """Yield the importers of formats, in their order; each module is loaded when it is reached."""
    return (importer for entry in formats for importer in entry.importers())


def candidates(peek: Peek) -> Iterator[Importer]:
    """Yield the importers that may read a file, by the names in it; no other module is loaded."""
    names = peek.names
    yield from loaded(entry for entry in (*TOOLS, *QUESTION_FILES) if entry.fits(names))
    yield from _plugins()[0]
    yield from loaded(entry for entry in GENERAL if entry.fits(names))


@cache
def importers() -> Mapping[str, Importer]:
    """Return every importer by its key: those of tools, installed plugins, general ones.

    A plugin is an entry point of the group `ragtriage.importers` that names an Importer or several. One that
    does not work is left out, for the files of other tools have nothing to do with it: see `plugin_faults`.
    """
    listed = (*loaded((*TOOLS, *QUESTION_FILES)), *_plugins()[0], *loaded(GENERAL))
    return {importer.key: importer for importer in listed}


def importer_of(key: str) -> Importer | None:
    """Return the importer of a key, of which the module alone is loaded; None where there is none."""
    for entry in (*TOOLS, *QUESTION_FILES, *GENERAL):
        if key in entry.keys.split():
            return next(importer for importer in entry.importers() if importer.key == key)
    return next((importer for importer in _plugins()[0] if importer.key == key), None)


def plugin_faults() -> tuple[str, ...]:
    """Return why installed plugins are left out: a sentence each that names the package."""
    return _plugins()[1]


def tool_rows() -> list[ToolRows]:
    """Return the rows of tools that are recognised in a table from Python too."""
    return [importer.rows for importer in importers().values() if importer.rows is not None]


@cache
def _plugins() -> tuple[tuple[Importer, ...], tuple[str, ...]]:
    """Return the importers of installed packages, and why others of them cannot be used."""
    own = set(keys_of((*TOOLS, *QUESTION_FILES, *GENERAL)))
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
    is_listed = isinstance(declared, list | tuple)
    return list(declared) if is_listed and all(isinstance(each, Importer) for each in declared) else None
