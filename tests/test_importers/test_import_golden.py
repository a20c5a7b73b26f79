"""Files as other tools write them, against the records they become."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from places import FIXTURES

from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.detect import detect, read_runs
from ragtriage.data.importers.importer import Options
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.store.parsed_run import ParsedRun, normalise

GOLDEN = {
    "iris_table": "iris_vector_rag/detailed_small.csv",
    "iris_pipelines": "iris_vector_rag/pipelines_small.json",
    "mtrag": "mtrag/small.json",
    "inspectorraget": "inspectorraget/small.json",
    "ragchecker": "ragchecker/checking_outputs.json",
    "ragas_0_2": "ragas/v0_2.csv",
    "ragas_0_1": "ragas/v0_1.jsonl",
    "native_jsonl": "native/run.jsonl",
    "native_csv": "native/run.csv",
    "table_versions": "tables/versions.tsv",
}


def read(path: str, options: Options | None = None) -> tuple[list[ParsedRun], list[list[Any]]]:
    source = InputFile.from_path(FIXTURES / path)
    errors = ValidationErrors(source.name)
    parsed_runs = read_runs(source, options or Options(), errors)
    records = [list(parsed.records) for parsed in parsed_runs]
    for run in records:
        for line, record in run:
            normalise(record, line, errors)
    errors.raise_if_any()
    return parsed_runs, records


def shown(parsed: ParsedRun, records: list[Any]) -> dict[str, Any]:
    return {
        "name": parsed.name,
        "format": parsed.format,
        "named_by_content": parsed.named_by_content,
        "config": dict(parsed.config),
        "dataset": parsed.dataset,
        "created_at": str(parsed.created_at) if parsed.created_at else None,
        "notes": list(parsed.notes),
        "mapping": {column.column: column.field for column in parsed.mapping},
        "records": records,
    }


@pytest.mark.parametrize("name", GOLDEN)
def test_a_file_becomes_the_records_written_down_for_it(name: str) -> None:
    parsed_runs, records = read(GOLDEN[name])
    shown_runs = [shown(*pair) for pair in zip(parsed_runs, records, strict=True)]
    expected = (FIXTURES / "expected" / f"{name}.json").read_text(encoding="utf-8")
    # as text, because NaN differs from itself
    assert json.dumps(shown_runs, ensure_ascii=False, indent=1).splitlines() == expected.splitlines()


def test_the_native_forms_of_one_run_agree() -> None:
    (lines,), (from_lines,) = read("native/run.jsonl")
    (document,), (from_document,) = read("native/run.json")
    assert detect(InputFile.from_path(FIXTURES / "native/run.json")) == "native"
    assert (lines.name, lines.config, lines.created_at) == (
        document.name,
        document.config,
        document.created_at,
    )
    assert repr([record for _, record in from_lines]) == repr([record for _, record in from_document])


def test_ragchecker_labels_give_its_own_precision_recall_and_claim_recall() -> None:
    _, (records,) = read("ragchecker/checking_outputs.json")
    for _, record in records:
        claims, reference, scores = record["claims"], record["reference_claims"], record["scores"]
        precision = sum(claim["in_reference"] for claim in claims) / len(claims)
        recall = sum(claim["in_answer"] for claim in reference) / len(reference)
        context_recall = sum(bool(claim["supported_by"]) for claim in reference) / len(reference)
        assert precision == pytest.approx(scores["answer_precision"])
        assert recall == pytest.approx(scores["answer_recall"])
        assert context_recall == pytest.approx(scores["context_recall"])


def test_a_run_column_parts_the_file_and_iterations_become_repeats() -> None:
    parsed_runs, records = read("iris_vector_rag/detailed_small.csv")
    assert [parsed.name for parsed in parsed_runs] == ["basic", "hyde", "colbert"]
    assert all(parsed.named_by_content for parsed in parsed_runs)
    assert [[record.get("repeat", 0) for _, record in run] for run in records] == [[0, 1]] * 3
    document = records[0][0][1]["retrieved"][0]
    assert document["id"] == "2297"
    assert document["text"].startswith("Common treatments for type 2 diabetes")
    assert "id" not in records[1][0][1]["retrieved"][0]  # hyde wrote bare texts


def test_a_blank_metric_is_kept_as_failed_and_not_left_out() -> None:
    _, records = read("iris_vector_rag/detailed_small.csv")
    scores = records[0][0][1]["scores"]
    assert math.isnan(scores["answer_similarity"])
    sample = normalise(records[0][0][1], 2, ValidationErrors("x"))
    assert sample is not None
    assert {"metric": "answer_similarity", "value": None, "reason": None} in sample["scores"]


def test_people_are_kept_apart_with_their_scale_and_remark() -> None:
    _, records = read("inspectorraget/small.json")
    human = records[0][0][1]["human"]
    faithful = [entry for entry in human if entry["metric"] == "faithfulness"]
    assert [entry["value"] for entry in faithful] == [1.0, 1.0, 4.0]
    assert {(entry["low"], entry["high"]) for entry in faithful} == {(1.0, 4.0)}
    assert [entry.get("note") for entry in faithful] == ["Unfaithful to passage", "Other", None]
    assert {"answer_relevancy", "fluency", "win_rate"} <= {entry["metric"] for entry in human}
    assert records[0][0][1]["tags"]["answerability_accuracy"] == "False Negative"


def test_a_conversation_is_split_and_a_missing_target_stays_missing() -> None:
    _, runs = read("mtrag/small.json")
    second = runs[0][1][1]
    assert second["question"] == "How to Hire a Lawyer"
    assert [turn["role"] for turn in second["history"]] == ["user", "agent"]
    assert second["question_id"].startswith(second["conversation_id"] + "<::>")
    assert [document["relevant"] for document in second["retrieved"]] == [True, True, True]
    _, runs = read("inspectorraget/small.json")
    by_answerable = {record["answerable"]: record for _, record in runs[0]}
    assert "reference_answer" not in by_answerable["no"]
    assert "relevant" not in by_answerable["no"]
    assert by_answerable["yes"]["relevant"] == [{"id": by_answerable["yes"]["retrieved"][0]["id"]}]


def test_two_models_a_row_are_a_run_each_and_a_pair_compared_twice_is_one_sample(tmp_path: Path) -> None:
    def side(name: str, answer: str, precision: float) -> dict[str, Any]:
        labels = {"correctness_label": precision, "completeness_label": 0.5, "overall_label": 0.5}
        return {"model_name": name, "response": answer, "ragchecker": labels}

    row = {"dataset": "kiwi", "query_id": "41", "query": "How deep?", "gt_answer": "Two metres."}
    pair = {"model1": side("bm25", "One metre.", 0.25), "model2": side("e5", "Two metres.", 1.0)}
    rows = [row | pair | {"correctness_label": label} for label in (1, 2)]  # by two annotators
    path = tmp_path / "pairs.json"
    path.write_text(json.dumps(rows), encoding="utf-8")
    source = InputFile.from_path(path)
    assert detect(source) == "ragchecker_pairs"
    runs = {run.name: list(run.records) for run in read_runs(source, Options(), ValidationErrors(path.name))}
    assert {name: len(records) for name, records in runs.items()} == {"bm25": 1, "e5": 1}
    ((_, record),) = runs["bm25"]
    assert isinstance(record, dict)
    assert (record["answer"], record["reference_answer"]) == ("One metre.", "Two metres.")
    assert record["scores"] == {"answer_precision": 0.25, "answer_recall": 0.5, "answer_f1": 0.5}
