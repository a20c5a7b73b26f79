"""What every file of a tool is expected to become, and what the importers read from it.

python benchmarks/format_table.py [--older FOLDER] [--json]

Exports of one run of 12 questions lie in tests/fixtures/exports; `--older` names a folder with further files
(DeepEval, Langfuse, TruLens, AutoRAG, UpTrain, open-rag-eval, continuous-eval, MuSiQue). Expected values come
from the tools themselves or were counted by hand, never from the importers. Ends with 1 if one differs.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ragtriage.data.errors import DataError, ValidationErrors
from ragtriage.data.importers.detect import read_runs
from ragtriage.data.importers.importer import Options
from ragtriage.data.importers.load import inputs_of, joined
from ragtriage.data.store.question_sets import parsed_set
from ragtriage.data.store.sample_validation import normalise

__all__ = ["EXPORTS", "FILES", "OLDER", "Expected", "differences", "read"]

EXPORTS = Path(__file__).parents[1] / "tests" / "fixtures" / "exports"
TOLERANCE = 1e-5


@dataclass(frozen=True)
class Expected:
    """What the files of one command hold.

    Attributes:
        files: paths in the folder, imported in one command.
        samples: samples of each run, in the order of the file; () where it is refused.
        means: metric -> (mean, samples scored, samples where it failed).
        contexts: documents of each sample, where the file holds them: in the order of the questions' ids.
        refused: a part of the sentence that refuses the file; "" where it is read.
        questions: whether it is a question set.
        gold: samples with gold documents; None where not asked.
    """

    files: tuple[str, ...]
    samples: tuple[int, ...] = (12,)
    means: Mapping[str, tuple[float, int, int]] = field(default_factory=dict)
    contexts: int | None = None
    refused: str = ""
    questions: bool = False
    gold: int | None = None


EVERY = {"faithfulness": (0.845242, 12, 0), "answer_relevancy": (0.633391, 11, 1)}
# q08 failed. Where a tool keeps nothing of a failed score, the file does not tell it from one never tried.
SILENT = {"faithfulness": (0.845242, 12, 0), "answer_relevancy": (0.633391, 11, 0)}
SILENT_NOT_Q11 = {"faithfulness": (0.831173, 11, 0), "answer_relevancy": (0.690060, 10, 0)}
ROUNDED = {"faithfulness": (0.830909, 11, 0), "answer_relevancy": (0.690000, 10, 1)}  # to two decimals
NOT_Q11 = {"faithfulness": (0.831173, 11, 0), "answer_relevancy": (0.690060, 10, 1)}
ROUNDED_FOUR_TIMES = {"faithfulness": (0.830909, 44, 0), "answer_relevancy": (0.690000, 40, 4)}
FIRST_AND_FIVE = {  # 12 questions, and again the first five of them: 1.0 and 0.838460
    "faithfulness": ((12 * 0.845242 + 5 * 1.0) / 17, 17, 0),
    "answer_relevancy": ((11 * 0.633391 + 5 * 0.838460) / 16, 16, 1),
}
ALL_CONTEXTS = 45  # 4 documents for each question, but 5 for q04 and none for q06


def one_run(*files: str, **other: Any) -> Expected:
    """Return the expectation of a file with the run of 12 questions."""
    return Expected(files, **{"means": EVERY, "contexts": ALL_CONTEXTS, **other})


FILES: tuple[Expected, ...] = (
    one_run("ragas/evaluate.csv", gold=12),
    one_run("ragas/evaluate.jsonl", gold=12),
    one_run("ragas/evaluate.parquet", gold=12),
    one_run("ragas/experiment_rag-v1.csv", samples=(11,), means=NOT_Q11, contexts=41),
    one_run("ragas/experiment_rag-v1.jsonl", samples=(11,), means=NOT_Q11, contexts=41),
    one_run("deepeval/test_run_v4.3.1.json"),
    one_run("deepeval/latest_test_run_wrapped_v4.3.1.json"),
    one_run("deepeval/evaluation_result_v4.3.1.json"),
    one_run("promptfoo/results_v0.121.20.json", means=NOT_Q11, contexts=None),
    one_run("promptfoo/results_v0.121.20.jsonl", means=NOT_Q11, contexts=None),
    one_run("promptfoo/results_v0.121.20.csv", means=ROUNDED, contexts=None),
    one_run("langsmith/results.csv", contexts=None),
    one_run("langsmith/results.jsonl", contexts=None),
    one_run("langsmith/runs.jsonl", contexts=None),
    one_run("llamaindex/batch_eval.json", contexts=None),
    Expected(("llamaindex/retrieval_eval.json",), contexts=ALL_CONTEXTS, gold=12),
    Expected(("llamaindex/predictions.json",), refused="rag_dataset"),
    Expected(("llamaindex/predictions.json", "llamaindex/rag_dataset.json"), contexts=ALL_CONTEXTS),
    Expected(("llamaindex/rag_dataset.json",), questions=True),
    Expected(("llamaindex/qa_dataset.json",), questions=True, gold=12),
    one_run("phoenix/experiment.json", contexts=41),
    one_run("phoenix/experiment.csv", contexts=41),
    one_run("phoenix/spans.jsonl", means={}),
    one_run("phoenix/spans.csv", means={}),
    one_run("phoenix/spans.parquet", means={}),
    one_run("phoenix/spans_api.json", means={}),
    one_run("phoenix/spans.jsonl", "phoenix/annotations.csv", means=SILENT),
    Expected(("phoenix/annotations.csv",), refused="Phoenix"),
    Expected(("phoenix/dataset.csv",), questions=True),
    Expected(("phoenix/dataset_examples.json",), questions=True),
    one_run("otel/genai.otlp.jsonl", means=NOT_Q11),
    one_run("otel/openinference.otlp.jsonl", means={}),
    one_run("langfuse/api_experiment_items.json", means=SILENT, contexts=None),
    one_run("langfuse/api_v2_observations.json", means={}),
    one_run("langfuse/api_v2_observations.json", "langfuse/api_v3_scores.json", means=SILENT),
    Expected(("langfuse/api_v3_scores.json",), refused="Langfuse"),
    one_run("langfuse/ui_traces_export.csv", means=SILENT, contexts=None),
    one_run("langfuse/ui_traces_export.json", means=SILENT, contexts=None),
    one_run("langfuse/ui_traces_export.jsonl", means=SILENT, contexts=None),
    one_run("mlflow/eval_results_v3.17.2.csv", contexts=41),
    one_run("mlflow/eval_results_v3.17.2.jsonl", contexts=41),
    one_run("mlflow/traces_v3.17.2.json", contexts=41, gold=12),
    one_run("opik/experiment_rag-v1.json", means=SILENT_NOT_Q11, contexts=None),
    Expected(("opik/experiment_rag-v1.csv",), refused="JSON"),
    one_run("opik/projects", means=SILENT),
    one_run("weave/calls.jsonl", means=NOT_Q11, contexts=None),
    one_run("weave/eval_results_query.json", means=NOT_Q11, contexts=None),
    one_run("braintrust/fetch.json", means=SILENT_NOT_Q11, contexts=None),
    one_run("braintrust/eval_results.json", means=NOT_Q11, contexts=None),
    Expected(
        ("trulens/default_v2.16.0.sqlite",),
        means={**EVERY, "context_relevance": (0.440455, 11, 1)},
        contexts=ALL_CONTEXTS,
    ),
    one_run("trulens/records_v2.16.0.csv", contexts=None),
    one_run("trulens/records_v2.16.0.jsonl", contexts=None),
    one_run("older/deepeval_v2.9.7"),
    one_run("older/mlflow_v2.14.3.csv"),
    one_run("older/mlflow_v2.14.3_eval_results_table.json"),
    Expected(("older/trulens_v1.2.11.sqlite",), samples=(12, 5), means=FIRST_AND_FIVE),
    Expected(
        ("older/promptfoo_v0.121.20_four_runs.csv",), samples=(12, 12, 12, 12), means=ROUNDED_FOUR_TIMES
    ),
    Expected(("ares/labeled.tsv",), samples=(11,), contexts=11),
    Expected(("continuous_eval/metrics_v0.3.14.json",), refused="continuous-eval"),
    Expected(("synthesizers/deepeval_goldens_v4.3.1.json",), samples=(18,), questions=True),
    Expected(("synthesizers/giskard_testset_v2.19.2.jsonl",), samples=(20,), questions=True),
    Expected(("synthesizers/ragas_testset_chunks_v0.4.3.jsonl",), samples=(20,), questions=True),
    Expected(("synthesizers/ragas_testset_docs_v0.4.3.jsonl",), samples=(20,), questions=True),
)
OLDER: tuple[Expected, ...] = (
    Expected(("deepeval/test_run_sample.json",), samples=(1,)),
    Expected(("langfuse/langgraph-2025-08-22.json",), samples=(1,)),
    Expected(("langfuse/llamaindex-2025-06-05.json",), samples=(1,)),
    Expected(("trulens/test_otel_feedback_computation__test_feedback_computation.csv",), samples=(1,)),
    Expected(("trulens/test_otel_tru_llama__test_smoke.csv",), samples=(1,)),
    Expected(("open_rag_eval/csv_results.csv",), samples=(7,), contexts=16),
    Expected(("continuous_eval/retrieval_sm.jsonl",), samples=(10,)),
    Expected(("continuous_eval/correctness_sm.jsonl",), samples=(9, 1)),
    Expected(("uptrain/qna_on_docs_samples.noembed.jsonl",), samples=(30, 30, 30)),
    Expected(("autorag/trial/result_project",), samples=()),
    Expected(("musique/musique_train.json",), samples=(100,), questions=True, gold=100),
)


def read(folder: Path, files: tuple[str, ...]) -> list[tuple[str, bool, list[dict[str, Any]]]]:
    """Return the runs of files of one command: name, whether it is a question set, and its samples.

    Raises:
        DataError: they are refused.
    """
    found = []
    inputs = joined([one for name in files for one in inputs_of(str(folder / name), Options())])
    for source, options in inputs:
        errors = ValidationErrors(source.name)
        for parsed in read_runs(source, options, errors):
            if parsed.questions:
                samples = [dict(question) for question in parsed_set(parsed, errors).questions]
            else:
                read_records = [normalise(record, line, errors) for line, record in parsed.records]
                samples = [sample for sample in read_records if sample is not None]
            found.append((parsed.name, parsed.questions, samples))
        errors.raise_if_any()
    return found


def differences(folder: Path, expected: Expected) -> list[str]:
    """Return what of some files differs from what is expected; nothing where all is as it should be."""
    try:
        runs = read(folder, expected.files)
    except DataError as error:
        return [] if expected.refused and expected.refused in str(error) else [f"refused: {error}"]
    if expected.refused:
        return [f"read, though {expected.refused!r} was to be missed"]
    return list(_differences_of_runs(runs, expected))


def _differences_of_runs(
    runs: list[tuple[str, bool, list[dict[str, Any]]]], expected: Expected
) -> Iterator[str]:
    counts = tuple(len(samples) for _, _, samples in runs)
    if expected.samples and counts != expected.samples:
        yield f"samples {counts}, not {expected.samples}"
    if any(questions != expected.questions for _, questions, _ in runs):
        yield "a run" if expected.questions else "a question set"
    samples = [sample for _, _, of_run in runs for sample in of_run]
    contexts = sum(len(sample.get("retrieved") or ()) for sample in samples)
    if expected.contexts is not None and contexts != expected.contexts:
        yield f"{contexts} documents, not {expected.contexts}"
    with_gold = sum(bool(sample.get("relevant")) for sample in samples)
    if expected.gold is not None and with_gold != expected.gold:
        yield f"gold of {with_gold}, not {expected.gold}"
    for metric, (mean, scored, failed) in expected.means.items():
        values = [
            one["value"]
            for sample in samples
            for one in sample.get("scores") or ()
            if one["metric"] == metric
        ]
        numbers = [value for value in values if value is not None and not math.isnan(value)]
        read_mean = sum(numbers) / len(numbers) if numbers else math.nan
        if not math.isclose(read_mean, mean, abs_tol=TOLERANCE) or len(numbers) != scored:
            yield f"{metric} {read_mean:.6f} of {len(numbers)}, not {mean:.6f} of {scored}"
        if len(values) - len(numbers) != failed:
            yield f"{metric} failed {len(values) - len(numbers)}, not {failed}"


def _expectation(expected: Expected) -> str:
    if expected.refused:
        return f"refused, naming {expected.refused}"
    kind = "questions" if expected.questions else "samples"
    parts = [f"{' + '.join(map(str, expected.samples)) or 'some'} {kind}"]
    parts += [f"{expected.contexts} documents"] if expected.contexts is not None else []
    parts += [f"gold of {expected.gold}"] if expected.gold is not None else []
    parts += [
        f"{metric} {mean:.4f} ({scored}{f', {failed} failed' if failed else ''})"
        for metric, (mean, scored, failed) in expected.means.items()
    ]
    return "; ".join(parts)


def main() -> int:
    """Print the table; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--older", type=Path, help="folder with further files, a folder for each tool")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    sets = [(EXPORTS, FILES)] + ([(arguments.older, OLDER)] if arguments.older else [])
    rows = [
        {
            "files": " + ".join(one.files),
            "expected": _expectation(one),
            "read": "as expected" if not (found := differences(folder, one)) else "; ".join(found),
        }
        for folder, expectations in sets
        for one in expectations
    ]
    show: Callable[[list[dict[str, str]]], str] = _as_json if arguments.json else _as_markdown
    print(show(rows))
    wrong = sum(row["read"] != "as expected" for row in rows)
    print(f"\n{len(rows) - wrong} of {len(rows)} as expected", file=sys.stderr)
    return 1 if wrong else 0


def _as_json(rows: list[dict[str, str]]) -> str:
    return json.dumps(rows, indent=1, ensure_ascii=False)


def _as_markdown(rows: list[dict[str, str]]) -> str:
    lines = ["| files | expected | read |", "|---|---|---|"]
    return "\n".join([*lines, *(f"| {row['files']} | {row['expected']} | {row['read']} |" for row in rows)])


if __name__ == "__main__":
    sys.exit(main())
