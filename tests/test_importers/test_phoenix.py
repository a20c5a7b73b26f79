"""Phoenix: spans in every form with annotations beside them, experiments, what cannot be read and why."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from exports_oracle import EXPORTS, expected, read, scores_of
from places import FIXTURES

from ragtriage.data.errors import InputError, ValidationErrors
from ragtriage.data.importers.detect import detect, read_runs
from ragtriage.data.importers.importer import Options
from ragtriage.data.importers.load import inputs_of, joined
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.store.parsed_run import normalise

PHOENIX = EXPORTS / "phoenix"
REAL = FIXTURES / "phoenix"
FORMS = ("spans.jsonl", "spans.csv", "spans.parquet", "spans_api.json")


def notes(*paths: Path) -> tuple[str, ...]:
    """Return the remarks on files that are imported together."""
    ((source, options),) = joined([one for path in paths for one in inputs_of(str(path), Options())])
    errors = ValidationErrors(source.name)
    for run in read_runs(source, options, errors):
        list(run.records)
    return errors.notes


def tags(sample: dict[str, Any]) -> dict[str, str]:
    return {tag["key"]: tag["value"] for tag in sample["tags"] or ()}


@pytest.mark.parametrize("form", FORMS)
def test_spans_are_the_same_in_every_form(form: str) -> None:
    assert detect(InputFile.from_path(PHOENIX / form)) == "phoenix"
    (samples,) = read(PHOENIX / form).values()
    rows = {row["id"]: row for row in expected()["rows"]}
    assert [sample["question_id"] for sample in samples] == list(
        rows
    )  # in time, though newest first in the file
    for sample in samples:
        row = rows[sample["question_id"]]
        assert [document["id"] for document in sample["retrieved"]] == row["ids"]
        assert sample["conversation_id"] == "s1"
        if row["id"] != "q11":
            assert (sample["input_tokens"], sample["output_tokens"]) == (
                row["input_tokens"],
                row["output_tokens"],
            )
    assert samples[5]["retrieved"] == []  # written as null
    assert (samples[10]["answer"], tags(samples[10])["error"]) == (None, "upstream timed out")


@pytest.mark.parametrize("form", FORMS)
def test_annotations_are_joined_by_their_span(form: str) -> None:
    (samples,) = read(PHOENIX / form, PHOENIX / "annotations.csv").values()
    scores = [score for sample in samples for score in sample["scores"] or ()]
    assert len(scores) == 23
    assert {score["reason"] for score in scores} == {"because of faithfulness", "because of answer_relevancy"}
    assert "answer_relevancy" not in scores_of(samples[7])  # nothing was annotated: not run
    assert any(
        "scored although there is no answer" in note
        for note in notes(PHOENIX / form, PHOENIX / "annotations.csv")
    )


def test_annotations_that_lost_their_index_are_left_out_with_the_way_to_write_them(tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.jsonl"
    line = (PHOENIX / "annotations.jsonl").read_text("utf-8").splitlines()[0]
    damaged.write_text(f"{line}\n{{not JSON\n", encoding="utf-8")
    for name, file, why in (
        (
            "annotations.jsonl",
            PHOENIX / "annotations.jsonl",
            "its index was lost; accepted: a file written with",
        ),
        ("damaged.jsonl", damaged, "accepted: one JSON object per line"),
    ):
        (samples,) = read(PHOENIX / "spans.jsonl", file).values()
        assert len(samples) == 12
        assert not any(sample["scores"] for sample in samples)
        (told,) = [note for note in notes(PHOENIX / "spans.jsonl", file) if name in note]
        assert why in told
    with pytest.raises(
        InputError, match="holds no questions of its own; accepted: it together with Phoenix spans"
    ):
        read(PHOENIX / "annotations.csv")


def test_annotations_that_lost_their_index_beside_others_are_told() -> None:
    together = [PHOENIX / name for name in ("spans.jsonl", "annotations.jsonl", "annotations.csv")]
    (samples,) = read(*together).values()
    assert sum(len(sample["scores"] or ()) for sample in samples) == 23
    (told,) = [note for note in notes(*together) if "annotations.jsonl is left out" in note]
    assert "its index was lost" in told


def test_annotations_of_people_documents_and_spans_that_are_not_there(tmp_path: Path) -> None:
    spans = [json.loads(line) for line in (PHOENIX / "spans.jsonl").read_text("utf-8").splitlines()]
    root = next(span for span in spans if (span["attributes.metadata"] or {}).get("qid") == "q01")
    retriever = next(
        span
        for span in spans
        if span["span_kind"] == "RETRIEVER" and span["context.trace_id"] == root["context.trace_id"]
    )
    about_root = {"span_id": root["context.span_id"], "name": "helpful", "annotator_kind": "HUMAN"}
    rows = [
        {
            **about_root,
            "identifier": "ann",
            "result": {"score": None, "label": "good", "explanation": "clear"},
        },
        {**about_root, "name": "tone", "annotator_kind": "LLM", "result": {"label": "formal"}},
        {**about_root, "name": "broken", "annotator_kind": "LLM", "result": {}, "error": "timeout"},
        {**about_root, "name": "silent", "annotator_kind": "LLM", "result": {"score": None}},
        *(
            {
                "span_id": retriever["context.span_id"],
                "name": "relevance",
                "annotator_kind": "LLM",
                "document_position": position,
                "result": {"score": None, "label": label},
            }
            for position, label in enumerate(("relevant", "unrelated", "odd"))
        ),
        {**about_root, "span_id": "gone", "result": {"score": 1.0}},
    ]
    path = tmp_path / "annotations.json"
    path.write_text(json.dumps({"data": rows, "next_cursor": None}), encoding="utf-8")
    (samples,) = read(PHOENIX / "spans.jsonl", path).values()
    first = samples[0]
    (label,) = first["human"]
    assert (label["annotator"], label["metric"], label["value"], label["note"]) == (
        *("ann", "helpful", 1.0),
        "good: clear",
    )
    assert first["scores"] == [{"metric": "broken", "value": None, "reason": "timeout"}]
    assert tags(first)["tone"] == "formal"
    assert [document["relevant"] for document in first["retrieved"]] == [True, False, None, None]
    assert any("span that is not in the file" in note for note in notes(PHOENIX / "spans.jsonl", path))


@pytest.mark.parametrize("name", ["experiment.json", "experiment.csv"])
def test_an_experiment_tells_failed_scores_and_scores_without_an_answer(name: str) -> None:
    (samples,) = read(PHOENIX / name).values()
    by_question = {sample["question"]: sample for sample in samples}
    rows = {row["id"]: by_question[row["question"]] for row in expected()["rows"]}
    (failed,) = [score for score in rows["q08"]["scores"] if score["value"] is None]
    assert failed["reason"] == "ValueError('judge returned invalid JSON')"
    assert scores_of(rows["q11"]) == {"faithfulness": 1.0, "answer_relevancy": 0.0667}
    assert (rows["q11"]["answer"], tags(rows["q11"])["error"]) == (None, "RuntimeError('upstream timed out')")
    assert rows["q06"]["retrieved"] == []
    assert rows["q11"]["retrieved"] is None
    (note,) = notes(PHOENIX / name)
    assert note.startswith("scored although there is no answer")


def test_repetitions_of_an_example_are_repeats(tmp_path: Path) -> None:
    task = {"example_id": "e1", "input": {"question": "Who?"}, "reference_output": {"answer": "Ann"}}
    rows = [{**task, "repetition_number": n, "output": f"answer {n}", "annotations": []} for n in (1, 2)]
    path = tmp_path / "experiment.json"
    path.write_text(json.dumps(rows), encoding="utf-8")
    (samples,) = read(path).values()
    assert [(sample["question_id"], sample["repeat"], sample["answer"]) for sample in samples] == [
        ("e1", 0, "answer 1"),
        ("e1", 1, "answer 2"),
    ]


def test_columns_of_arize_are_scores_labels_and_tags(tmp_path: Path) -> None:
    row = {
        "context.trace_id": "t1",
        "context.span_id": "s1",
        "parent_id": None,
        "name": "rag",
        "time": "2026-11-21T21:12:39.400Z",
        "end_time": "2026-11-21T21:12:39.500Z",
        "attributes.openinference.span.kind": "CHAIN",
        "attributes.input.value": "Who?",
        "attributes.output.value": "Ann.",
        "eval.Hallucination.label": "factual",
        "eval.Hallucination.score": 0.0,
        "eval.Hallucination.explanation": "as the context says",
        "eval.QA Correctness.label": "correct",
        "eval.QA Correctness.score": None,
        "annotation.quality.label": "good",
        "annotation.quality.score": 1.0,
        "annotation.quality.updated_by": "ann@example.org",
    }
    rows = [row, {**row, "context.trace_id": "t2", "context.span_id": "s2", "eval.Hallucination.score": None}]
    parquet, table = tmp_path / "arize.parquet", tmp_path / "arize.csv"
    pq.write_table(pa.Table.from_pylist(rows), parquet)
    with table.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(row))
        writer.writeheader()
        writer.writerows(rows)
    for path in (parquet, table):
        (samples,) = read(path).values()
        first, second = samples
        assert scores_of(first) == {"hallucination": 0.0, "correctness": 1.0}
        assert first["latency_ms"] == 100
        (label,) = first["human"]
        assert (label["annotator"], label["metric"], label["value"]) == ("ann@example.org", "quality", 1.0)
        assert "hallucination" not in scores_of(second)
        assert tags(second)["hallucination"] == "factual"


def test_a_part_of_a_trace_is_read_as_far_as_it_goes() -> None:
    (sample,) = next(iter(read(REAL / "retriever_spans.jsonl").values()))
    assert (
        sample["question"]
        == "GAMP Category 4 validation testing functional_requirements validation_requirements"
    )
    assert len(sample["retrieved"]) == 10 + 8  # one query to four indexes, of which two found something
    assert (sample["answer"], sample["latency_ms"]) == (None, None)
    assert any(
        "root span of a trace is not in the file" in note for note in notes(REAL / "retriever_spans.jsonl")
    )
    (calls,) = next(iter(read(REAL / "llm_spans_cut.jsonl").values()))
    assert calls["question"].lstrip().startswith("As a pharmaceutical validation expert")


def test_spans_without_any_question_are_refused_in_a_sentence() -> None:
    with pytest.raises(InputError, match="is Phoenix, 2 spans, none of which records a question or a query"):
        read(REAL / "chromadb_spans_cut.jsonl")


def test_records_are_valid_without_a_correction() -> None:
    errors = ValidationErrors("f")
    for run in read_runs(InputFile.from_path(PHOENIX / "spans.csv"), Options(), errors):
        assert all(normalise(record, line, errors) for line, record in run.records)
    assert errors.total == 0
