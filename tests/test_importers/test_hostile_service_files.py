"""Hostile versions of the exports of hosted services end in a run or in a sentence, never in a traceback."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from exports_oracle import EXPORTS, outcome, read
from mutated_files import mutations

from ragtriage.data.errors import InputError, ValidationErrors
from ragtriage.data.importers.detect import read_runs
from ragtriage.data.importers.importer import Options
from ragtriage.data.importers.parsing.input_file import InputFile

FILES: dict[str, tuple[str, ...]] = {  # file -> files given in the same command
    "langfuse/api_experiment_items.json": (),
    "langfuse/api_v3_scores.json": ("langfuse/api_experiment_items.json",),
    "langfuse/api_v2_observations.json": ("langfuse/api_v3_scores.json",),
    "../langfuse/langgraph-2025-08-22.json": (),
    "../langfuse/llamaindex-2025-06-05.json": (),
    "langfuse/ui_traces_export.csv": ("langfuse/api_v3_scores.json",),
    "langfuse/ui_traces_export.json": (),
    "langfuse/ui_traces_export.jsonl": (),
    "opik/experiment_rag-v1.json": (),
    "opik/experiment_rag-v1.csv": (),
    "opik/projects/trace_16e2cad1-d650-57ad-bd61-1a2c17146185.json": (),
    "braintrust/fetch.json": (),
    "braintrust/eval_results.json": (),
    "weave/calls.jsonl": (),
    "weave/eval_results_query.json": (),
}

REFUSED = ("opik/experiment_rag-v1.csv",)


@pytest.mark.parametrize("file", FILES)
def test_a_hostile_file_ends_in_a_run_or_in_a_sentence(file: str, tmp_path: Path) -> None:
    content = (EXPORTS / file).read_bytes()
    beside = [EXPORTS / other for other in FILES[file]]
    path = tmp_path / Path(file).name
    outcomes = set()
    for changed in mutations(file, content):
        path.write_bytes(changed)
        outcomes.add(outcome(path, *beside))
    assert outcomes == ({"sentence"} if file in REFUSED else {"run", "sentence"})


@pytest.mark.parametrize(
    ("file", "title"),
    [
        ("langfuse/api_experiment_items.json", "Langfuse experiment items"),
        ("langfuse/ui_traces_export.json", "Langfuse traces"),
        ("opik/experiment_rag-v1.json", "Opik experiment"),
        ("braintrust/fetch.json", "Braintrust experiment"),
        ("weave/eval_results_query.json", "Weave evaluation results"),
    ],
)
def test_a_file_that_is_cut_short_is_refused_by_the_name_of_its_tool(
    file: str, title: str, tmp_path: Path
) -> None:
    content = (EXPORTS / file).read_bytes()
    path = tmp_path / "cut"
    for length in (len(content) // 2, len(content) - 1):
        path.write_bytes(content[:length])
        with pytest.raises(InputError, match=f"begins as {title}, but is not JSON further down"):
            read(path)


def test_rows_of_two_tools_in_one_file_are_read_as_those_of_the_first_alone(tmp_path: Path) -> None:
    items = json.loads((EXPORTS / "langfuse/api_experiment_items.json").read_text("utf-8"))["data"]
    events = json.loads((EXPORTS / "braintrust/fetch.json").read_text("utf-8"))["events"]
    path = tmp_path / "mixed.json"
    path.write_text(json.dumps([*items, *events]), "utf-8")
    ((name, samples),) = read(path).items()
    assert (name, len(samples)) == ("rag-v1", 12)
    source, errors = InputFile.from_path(path), ValidationErrors("mixed")
    for run in read_runs(source, Options(), errors):
        list(run.records)
    assert errors.left_out == {"a row that is not an experiment item": 45}
