"""MLflow: traces as files, in tables and in the database, with assessments as scores, labels and gold."""

from __future__ import annotations

import base64
import csv
import json
import shutil
import tarfile
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from command_line import run
from exports_oracle import EXPORTS, assert_is_the_run, expected, outcome, read, scores_of
from hostile_databases import hostile_databases, with_changes
from places import FIXTURES

from ragtriage.data.errors import InputError, ValidationErrors
from ragtriage.data.importers.detect import detect, read_runs
from ragtriage.data.importers.importer import Options
from ragtriage.data.importers.parsing.input_file import InputFile

FOLDER = EXPORTS / "mlflow"
TRACES = FOLDER / "traces_v3.17.2.json"
RESULTS = FOLDER / "eval_results_v3.17.2.csv"
DATABASE = FIXTURES / "mlflow" / "mlflow_v3.17.2.db"
FILES = [TRACES, RESULTS, FOLDER / "eval_results_v3.17.2.jsonl", DATABASE]


def traces() -> list[dict[str, Any]]:
    loaded: list[dict[str, Any]] = json.loads(TRACES.read_text(encoding="utf-8"))
    return loaded


def one(trace: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return the sample of a trace, alone in a file."""
    path = folder / "trace.json"
    path.write_text(json.dumps(trace), encoding="utf-8")
    ((sample,),) = read(path).values()
    return sample


def assessment(name: str, **more: Any) -> dict[str, Any]:
    source = {"source_type": "LLM_JUDGE", "source_id": "judge"}
    return {"assessment_id": name, "assessment_name": name, "source": source, "valid": True, **more}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_gold_comes_from_the_trace_and_a_question_without_retrieval_is_not_run(path: Path) -> None:
    """Where the table of results leaves the gold out, the trace in it has it."""
    (samples,) = read(path).values()
    recalls = []
    for sample in samples:
        gold = {document["id"] for document in sample["relevant"]}
        if sample["retrieved"] is None:
            assert sample["question"].startswith("What types of professionals")
            continue
        ids = {document["id"] for document in sample["retrieved"][:5]}
        recalls.append(len(gold & ids) / len(gold))
    assert (len(samples), len(recalls)) == (12, 11)
    assert round(fmean(recalls), 6) == 0.818182
    assert fmean(recalls) * 11 / 12 == pytest.approx(0.75), "which would be q11 dressed as 0"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_tokens_latency_ids_and_failures_are_read(path: Path) -> None:
    rows = {row["question"]: row for row in expected()["rows"]}
    (samples,) = read(path).values()
    for sample in samples:
        row = rows[sample["question"]]
        extra, tags = json.loads(sample["extra"]), {tag["key"]: tag["value"] for tag in sample["tags"] or ()}
        assert extra["trace_id"].startswith("tr-")
        assert sample["question_id"] == row["id"]
        assert sample["latency_ms"] >= 0
        if row["id"] == "q11":
            assert (sample["answer"], tags["error"]) == (None, "upstream timed out")
            assert scores_of(sample) == {"faithfulness": 1.0, "answer_relevancy": 0.0667}
        else:
            assert (sample["input_tokens"], sample["output_tokens"]) == (
                row["input_tokens"],
                row["output_tokens"],
            )
            assert "error" not in tags
    failed = [sample for sample in samples if None in scores_of(sample).values()]
    assert [sample["question_id"] for sample in failed] == ["q08"]
    reasons = {score["metric"]: score["reason"] for score in failed[0]["scores"]}
    assert reasons["answer_relevancy"] == "judge returned invalid JSON"


def test_scores_without_an_answer_are_told() -> None:
    source = InputFile.from_path(TRACES)
    errors = ValidationErrors(source.name)
    for parsed in read_runs(source, Options(), errors):
        list(parsed.records)
    assert "scored although there is no answer" in " ".join(errors.notes)


def test_the_database_names_its_run_with_its_parameters() -> None:
    source = InputFile.from_path(DATABASE)
    (found,) = read_runs(source, Options(), ValidationErrors(source.name))
    assert (found.name, found.config) == ("rag-v1", {"chunk_size": 700, "top_k": 4})


def test_the_kinds_of_assessments_are_told_apart(tmp_path: Path) -> None:
    trace = traces()[1]
    trace["info"]["assessments"] = [
        assessment("relevance_to_query", feedback={"value": "yes"}, rationale="it is"),
        assessment("safety", feedback={"value": "no"}),
        assessment("tone", feedback={"value": "formal"}),
        assessment("parts", feedback={"value": {"style": 0.5}}),
        assessment("first", feedback={"value": 0.25}),
        assessment("second", assessment_name="first", feedback={"value": 0.75}, overrides="first"),
        assessment("invalid", feedback={"value": 1.0}, valid=False),
        assessment("broken", feedback={"value": None, "error": {"error_message": "timeout"}}),
        assessment(
            "usefulness",
            feedback={"value": 4},
            source={"source_type": "HUMAN", "source_id": "ann"},
            rationale="long",
        ),
        assessment("expected_facts", expectation={"value": ["a fact"]}),
        assessment("guidelines", expectation={"value": "be brief"}),
    ]
    sample = one(trace, tmp_path)
    assert scores_of(sample) == {
        **{"relevance_to_query": 1.0, "safety": 0.0, "parts_style": 0.5, "first": 0.75, "broken": None}
    }
    assert [
        (label["annotator"], label["metric"], label["value"], label["note"]) for label in sample["human"]
    ] == [("ann", "usefulness", 4.0, "long")]
    assert {"key": "tone", "value": "formal"} in sample["tags"]
    assert [claim["text"] for claim in sample["reference_claims"]] == ["a fact"]
    assert json.loads(sample["extra"])["expected_guidelines"] == "be brief"


def test_relevance_of_single_documents_is_theirs(tmp_path: Path) -> None:
    trace = traces()[1]
    retriever = base64.b64decode(trace["data"]["spans"][1]["span_id"]).hex()
    trace["info"]["assessments"] = [
        assessment("a", feedback={"value": value}, span_id=retriever, metadata={"chunk_index": str(position)})
        for position, value in enumerate(["yes", "no"])
    ]
    sample = one(trace, tmp_path)
    assert [document["relevant"] for document in sample["retrieved"]] == [True, False, None, None]
    assert sample["scores"] is None


def test_inputs_that_were_cut_are_not_the_question(tmp_path: Path) -> None:
    trace = traces()[1]
    trace["data"]["spans"][0]["attributes"].pop("mlflow.spanInputs")
    trace["info"]["trace_metadata"]["mlflow.traceInputs"] = '{"question": "What type of inv...'
    assert one(trace, tmp_path)["question"] == expected()["rows"][7]["question"], "the query of the retriever"


def test_a_document_without_an_id_has_that_of_its_address(tmp_path: Path) -> None:
    trace = traces()[1]
    documents = [{"page_content": "A.", "metadata": {"doc_uri": "docs/a"}}, {"page_content": "B.", "id": "b"}]
    trace["data"]["spans"][1]["attributes"]["mlflow.spanOutputs"] = json.dumps(documents)
    assert [document["id"] for document in one(trace, tmp_path)["retrieved"]] == ["docs/a", "b"]


def test_documents_are_named_by_address_where_the_gold_is(tmp_path: Path) -> None:
    """Ids of chunks beside gold that names documents would make every recall 0."""
    trace = traces()[1]
    documents = [{"page_content": "A.", "id": "7f", "metadata": {"doc_uri": "sotu-017", "score": 0.5}}]
    trace["data"]["spans"][1]["attributes"]["mlflow.spanOutputs"] = json.dumps(documents)
    sample = one(trace, tmp_path)
    assert [gold["id"] for gold in sample["relevant"]] == ["sotu-017"]
    assert [(document["id"], document["score"]) for document in sample["retrieved"]] == [("sotu-017", 0.5)]


def test_traces_of_version_2_are_read_too(tmp_path: Path) -> None:
    def span(name: str, parent: str | None, kind: str, inputs: Any, outputs: Any) -> dict[str, Any]:
        attributes = {"mlflow.spanType": kind, "mlflow.spanInputs": inputs, "mlflow.spanOutputs": outputs}
        return {
            "name": name,
            "context": {"span_id": f"0x{name}", "trace_id": "0x1"},
            "parent_id": parent,
            "start_time": 1_700_000_000_000_000_000,
            "end_time": 1_700_000_001_000_000_000,
            "status_code": "OK",
            "attributes": {key: json.dumps(value) for key, value in attributes.items()},
        }

    trace = {
        "info": {
            "request_id": "tr-1",
            "execution_time_ms": 1000,
            "status": "OK",
            "request_metadata": [{"key": "mlflow.sourceRun", "value": "abc"}],
            "tags": [{"key": "team", "value": "search"}],
        },
        "data": {
            "spans": [
                span("a", None, "CHAIN", {"question": "Who?"}, "Ann."),
                span("b", "0xa", "RETRIEVER", {"query": "who"}, [{"page_content": "It.", "id": "d1"}]),
            ]
        },
    }  # fmt: skip
    sample = one(trace, tmp_path)
    assert (sample["question"], sample["answer"], sample["latency_ms"]) == ("Who?", "Ann.", 1000.0)
    assert [document["id"] for document in sample["retrieved"]] == ["d1"]
    assert sample["tags"] == [{"key": "team", "value": "search"}]


def test_a_newer_schema_is_named_where_it_cannot_be_read(tmp_path: Path) -> None:
    trace = traces()[1]
    metadata = {"mlflow.trace_schema.version": "5"}
    newer = {"info": {"trace_id": "tr-1", "trace_metadata": metadata}, "data": {"spans": [{"body": "?"}]}}
    with pytest.raises(
        InputError, match=r"holds traces of MLflow in schema 5, without a question that is known; acc"
    ):
        one(newer, tmp_path)
    trace["info"]["trace_metadata"] |= metadata
    assert one(trace, tmp_path)["question_id"] == "q08", "what is still where it was is read"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_the_command_imports_every_file(
    path: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert run(capsys, tmp_path, "import", str(path)).code == 0


def test_results_without_their_traces_are_read_from_their_columns(tmp_path: Path) -> None:
    path = tmp_path / "results.csv"
    with (
        RESULTS.open(encoding="utf-8", newline="") as stream,
        path.open("w", encoding="utf-8", newline="") as out,
    ):
        rows = list(csv.DictReader(stream))
        kept = [name for name in rows[0] if name not in ("trace", "spans", "assessments")]
        writer = csv.DictWriter(out, kept, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)
    (samples,) = read(path).values()
    texts = expected()["texts"]
    for sample in samples:
        if sample["answer"] is not None:
            assert sample["answer"] == texts[sample["question"]]["answer"]
        assert sample["reference_answer"] == texts[sample["question"]]["reference"]
    values = [scores_of(sample)["answer_relevancy"] for sample in samples]
    assert (len(values), values.count(None)) == (12, 1)
    assert fmean(value for value in values if value is not None) == pytest.approx(0.633391, abs=1e-6)


@pytest.mark.parametrize("split", [True, False])
def test_results_of_version_2_are_scores_with_their_justifications(split: bool, tmp_path: Path) -> None:
    row = {
        "inputs": {"question": "Who?"},
        "outputs": "Ann.",
        "ground_truth": "Ann",
        "faithfulness/v1/score": 4,
        "faithfulness/v1/justification": "mostly",
        "precision_at_3/score": 0.5,
        "latency": 1.5,
    }
    path = tmp_path / "eval_results_table.json"
    columns = {"columns": list(row), "data": [list(row.values())]}
    path.write_text(json.dumps(columns if split else [row]), encoding="utf-8")
    assert detect(InputFile.from_path(path)) == "mlflow_2"
    ((sample,),) = read(path).values()
    assert (sample["question"], sample["answer"], sample["reference_answer"]) == ("Who?", "Ann.", "Ann")
    assert [(score["metric"], score["value"], score["reason"]) for score in sample["scores"]] == [
        ("faithfulness", 4.0, "mostly"),
        ("precision@3", 0.5, None),
    ]
    assert sample["latency_ms"] == 1500.0


@pytest.mark.parametrize(
    ("statements", "told"),
    [
        (["DROP TABLE spans"], "is a database of MLflow without the tables of traces (spans)"),
        (["DELETE FROM spans"], "is a database of MLflow that holds 12 traces and the spans of none"),
        (["DELETE FROM trace_info"], "is a database of MLflow that holds no trace"),
        (["DROP TABLE trace_info"], "without the tables of traces (trace_info)"),
    ],
)  # fmt: skip
def test_a_database_without_traces_is_refused_with_a_hint(
    statements: list[str], told: str, tmp_path: Path
) -> None:
    path = with_changes(DATABASE, tmp_path, *statements)
    with pytest.raises(InputError) as fault:
        read(path)
    assert told in str(fault.value)
    assert "mlflow.search_traces" in str(fault.value)


def test_traces_that_no_run_recorded_are_those_of_their_experiment(tmp_path: Path) -> None:
    metadata = "DELETE FROM trace_request_metadata WHERE key = 'mlflow.sourceRun'"
    assert list(read(with_changes(DATABASE, tmp_path, metadata))) == ["sotu-rag"]


@pytest.fixture
def mlruns(tmp_path: Path) -> Path:
    with tarfile.open(FIXTURES / "mlflow" / "mlruns_v3.17.2.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path / "mlruns"


@pytest.mark.parametrize("part", ["", "772603442444264579", "772603442444264579/traces"])
def test_a_folder_is_the_run_with_its_name_and_parameters(part: str, mlruns: Path) -> None:
    (samples,) = read(mlruns / part).values()
    assert_is_the_run(
        samples, scores_of_q11=True, answer_of_q11=False, contexts_of_q11=False, ids=True, references=True
    )
    assert all(sample["relevant"] for sample in samples)
    source = InputFile.from_path(mlruns / part)
    (found,) = read_runs(source, Options(), ValidationErrors("x"))
    assert (found.name, found.config) == ("rag-v1", {"chunk_size": 700, "top_k": 4})


def test_damaged_files_of_a_folder_are_told_or_left(mlruns: Path) -> None:
    first, second, third, *_ = sorted(mlruns.glob("*/traces/*"))
    (first / "artifacts/traces.json").write_text("{", encoding="utf-8")
    (second / "trace_info.yaml").write_text("a: &a [x]\nb: [*a, *a]\n", encoding="utf-8")
    for path in (third / "assessments").iterdir():
        path.write_text("[" * 3000, encoding="utf-8")
    source = InputFile.from_path(mlruns)
    errors = ValidationErrors("x")
    (found,) = read_runs(source, Options(), errors)
    assert len(list(found.records)) == 11
    assert errors.left_out == {"a trace whose files cannot be read": 1}


def test_tables_among_the_artifacts_of_a_run_are_read(tmp_path: Path) -> None:
    folder = tmp_path / "1" / "abc" / "artifacts"
    folder.mkdir(parents=True)
    row = {"inputs": "Who?", "outputs": "Ann.", "faithfulness/v1/score": 4}
    table = {"columns": list(row), "data": [list(row.values())]}
    (folder / "eval_results_table.json").write_text(json.dumps(table), encoding="utf-8")
    shutil.copy(RESULTS, folder / "eval_results.csv")
    for place in (folder, folder.parent, tmp_path):
        assert sorted(map(len, read(place).values())) == [1, 12]


def test_the_database_is_not_written_while_it_is_read(tmp_path: Path) -> None:
    path = with_changes(DATABASE, tmp_path)
    path.chmod(0o444)
    before = path.read_bytes()
    read(path)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == [DATABASE.name]


def test_a_hostile_database_ends_in_a_run_or_in_a_sentence(tmp_path: Path) -> None:
    outcomes = {outcome(path) for path in hostile_databases(DATABASE, tmp_path)}
    assert outcomes == {"run", "sentence"}
