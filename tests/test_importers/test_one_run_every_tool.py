"""One run of 12 questions as every tool exports it: equal answers, contexts and scores from whatever file."""

from __future__ import annotations

from typing import Any

import pytest
from exports_oracle import EXPORTS, assert_is_the_run, read

LANGFUSE = {"scores_of_q11": True, "answer_of_q11": False, "failed_score_kept": False}
OPIK = {"answer_of_q11": False, "failed_score_kept": False}
MLFLOW = {"scores_of_q11": True, "answer_of_q11": False, "contexts_of_q11": False, "ids": True}
TRULENS = {"scores_of_q11": True, "references": False}
TRACED = {"answer_of_q11": False, "ids": True, "references": False}
PHOENIX_EXPERIMENT = {"scores_of_q11": True, "answer_of_q11": False, "contexts_of_q11": False}
# Files of one command -> what the tool keeps of the run (see assert_is_the_run).
FILES: dict[tuple[str, ...], dict[str, Any]] = {
    ("deepeval/test_run_v4.3.1.json",): {"scores_of_q11": True, "ids": True},
    ("deepeval/latest_test_run_wrapped_v4.3.1.json",): {"scores_of_q11": True, "ids": True},
    ("deepeval/evaluation_result_v4.3.1.json",): {"scores_of_q11": True, "ids": True},
    ("promptfoo/results_v0.121.20.json",): {
        "scores_of_q11": False,
        "answer_of_q11": False,
        "contexts_of_q11": False,
        "ids": True,
    },
    ("promptfoo/results_v0.121.20.jsonl",): {
        "scores_of_q11": False,
        "answer_of_q11": False,
        "contexts_of_q11": False,
        "ids": True,
    },
    ("promptfoo",): {
        "scores_of_q11": False,
        "answer_of_q11": False,
        "contexts_of_q11": False,
        "ids": True,
    },
    ("opik/experiment_rag-v1.json",): {**OPIK, "scores_of_q11": False, "contexts_of_q11": False},
    ("opik/projects",): {**OPIK, "scores_of_q11": True, "references": False, "ids": True},
    ("braintrust/fetch.json",): {**OPIK, "scores_of_q11": False},
    ("braintrust/eval_results.json",): {"scores_of_q11": False, "answer_of_q11": False},
    ("weave/calls.jsonl",): {"scores_of_q11": False, "answer_of_q11": False, "ids": True},
    ("weave/eval_results_query.json",): {
        **{"scores_of_q11": False, "answer_of_q11": False, "contexts_of_q11": False},
    },
    ("langsmith/results.csv",): {"scores_of_q11": True, "answer_of_q11": False, "contexts_of_q11": False},
    ("langsmith/results.jsonl",): {"scores_of_q11": True, "answer_of_q11": False, "contexts_of_q11": False},
    ("langsmith/runs.jsonl",): {"scores_of_q11": True, "answer_of_q11": False, "contexts_of_q11": False},
    ("llamaindex/batch_eval.json",): {"scores_of_q11": True, "references": False},
    ("ragas/evaluate.csv",): {"scores_of_q11": True},
    ("ragas/evaluate.jsonl",): {"scores_of_q11": True},
    ("ragas/evaluate.parquet",): {"scores_of_q11": True},
    ("langfuse/api_experiment_items.json",): {**LANGFUSE, "contexts": False},
    ("langfuse/ui_traces_export.csv",): {**LANGFUSE, "contexts": False, "references": False},
    ("langfuse/ui_traces_export.json",): {**LANGFUSE, "contexts": False, "references": False},
    ("langfuse/ui_traces_export.jsonl",): {**LANGFUSE, "contexts": False, "references": False},
    ("langfuse/api_v2_observations.json", "langfuse/api_v3_scores.json"): {
        **LANGFUSE,
        "references": False,
        "ids": True,
    },
    ("langfuse/api_experiment_items.json", "langfuse/api_v2_observations.json"): {**LANGFUSE, "ids": True},
    (
        "langfuse/ui_traces_export.csv",
        "langfuse/api_v2_observations.json",
        "langfuse/api_v3_scores.json",
    ): {**LANGFUSE, "references": False, "ids": True},
    ("langfuse/ui_traces_export.csv", "langfuse/api_v3_scores.json"): {
        **LANGFUSE,
        "contexts": False,
        "references": False,
    },
    ("trulens/default_v2.16.0.sqlite",): TRULENS,
    ("trulens/records_v2.16.0.csv",): TRULENS,
    ("trulens/records_v2.16.0.jsonl",): TRULENS,
    ("mlflow/eval_results_v3.17.2.csv",): MLFLOW,
    ("mlflow/eval_results_v3.17.2.jsonl",): MLFLOW,
    ("mlflow/traces_v3.17.2.json",): MLFLOW,
    ("../mlflow/mlflow_v3.17.2.db",): MLFLOW,
    ("otel/genai.otlp.jsonl",): {**TRACED, "scores_of_q11": False},
    ("otel/openinference.otlp.jsonl",): {**TRACED, "scores": False, "scores_of_q11": False},
    **{
        (f"phoenix/{file}", "phoenix/annotations.csv"): {
            **TRACED,
            "scores_of_q11": True,
            "failed_score_kept": False,
        }
        for file in ("spans.jsonl", "spans.csv", "spans.parquet", "spans_api.json")
    },
    ("phoenix/experiment.json",): PHOENIX_EXPERIMENT,
    ("phoenix/experiment.csv",): PHOENIX_EXPERIMENT,
}


@pytest.mark.parametrize("files", FILES, ids=" + ".join)
def test_a_file_is_the_run(files: tuple[str, ...]) -> None:
    (samples,) = read(*(EXPORTS / file for file in files)).values()
    assert_is_the_run(samples, **FILES[files])
