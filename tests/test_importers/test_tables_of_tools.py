"""Tables of smaller tools: open-rag-eval, UpTrain, continuous-eval, ARES."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from command_line import run
from exports_oracle import EXPORTS, expected, read, scores_of
from places import FIXTURES

from ragtriage.data.api import add_run
from ragtriage.data.errors import InputError, ValidationErrors
from ragtriage.data.importers.detect import detect, read_runs
from ragtriage.data.importers.importer import Options
from ragtriage.data.importers.parsing.input_file import InputFile

UPTRAIN = FIXTURES / "uptrain" / "qna_on_docs_samples.noembed.jsonl"
CORRECTNESS = FIXTURES / "continuous_eval" / "correctness_sm.jsonl"
RETRIEVAL = FIXTURES / "continuous_eval" / "retrieval_sm.jsonl"
METRICS = EXPORTS / "continuous_eval" / "metrics_v0.3.14.json"
ARES = EXPORTS / "ares" / "labeled.tsv"
OPEN_RAG_EVAL = FIXTURES / "open_rag_eval"


def rows_in(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def notes_on(*paths: Path) -> str:
    """Return the remarks that are made while files are read."""
    source = InputFile.from_path(paths[0])
    errors = ValidationErrors(source.name)
    for parsed in read_runs(source, Options(), errors):
        list(parsed.records)
    return " ".join(errors.notes)


@pytest.mark.parametrize("name", ["csv_results.csv", "test_csv_connector.csv"])
def test_rows_of_open_rag_eval_are_the_passages_of_one_sample(name: str) -> None:
    """The second file begins with a byte order mark."""
    (found,) = read(OPEN_RAG_EVAL / name).values()
    assert [len(sample["retrieved"]) for sample in found] == [3, 1, 2, 2, 5, 1, 2]
    assert [(sample["question_id"], sample["repeat"]) for sample in found[-2:]] == [
        ("query_6", 1),
        ("query_6", 2),
    ]
    assert found[0]["answer"].startswith("Black holes are dense [1]")
    assert [(document["id"], document["text"]) for document in found[2]["retrieved"]] == [
        ("2", "Seven planets have a moon."),
        ("3", "Earth has a moon."),
    ]


def test_scattered_rows_of_one_query_are_one_sample(tmp_path: Path) -> None:
    header, *rows = (OPEN_RAG_EVAL / "csv_results.csv").read_text(encoding="utf-8-sig").splitlines()[:7]
    path = tmp_path / "rows.csv"
    path.write_text("\n".join([header, rows[0], *rows[3:], *rows[1:3]]), encoding="utf-8")
    (found,) = read(path).values()
    assert [len(sample["retrieved"]) for sample in found] == [3, 1, 2]


def test_a_citation_of_no_passage_is_told() -> None:
    assert notes_on(OPEN_RAG_EVAL / "csv_results.csv").startswith(
        "an answer cites a passage that its query has not (first on line 2;"
    )


def test_experiments_of_uptrain_are_runs_with_passage_and_document() -> None:
    runs = read(UPTRAIN)
    assert {name: len(samples) for name, samples in runs.items()} == {
        "experiment 0 (bot)": 30,
        "experiment 1 (Streamlit expert)": 30,
        "experiment 2 (developer)": 30,
    }
    samples = [sample for found in runs.values() for sample in found]
    assert sum(sample["answer"] is None for sample in samples) == 27
    assert sum(sample["retrieved"] == [] for sample in samples) == 18
    assert not any((sample["answer"] or "").strip("<>") == "EMPTY MESSAGE" for sample in samples)
    for found in runs.values():
        assert len({sample["question_id"] for sample in found}) == 30
        assert {sample["repeat"] for sample in found} == {0}
    keys = ("experiment_id", "question_idx", "row_idx")
    raw = {tuple(str(row[key]) for key in keys): row for row in rows_in(UPTRAIN)}
    for name, found in runs.items():
        for sample in found:
            row = raw[(name.split()[1], *sample["question_id"].split("-"))]
            assert [document["text"] for document in sample["candidates"]] == [row["document_text"]]
            assert [document["text"] for document in sample["retrieved"]] in ([], [row["response"]])


def test_results_of_uptrain_are_scores_with_their_explanations(tmp_path: Path) -> None:
    row = {"question": "Who?", "context": "Ann wrote it.", "response": "Ann.", "score_context_relevance": 0.5}
    row |= {"explanation_context_relevance": "half", "score_factual_accuracy": None}
    row |= {"explanation_factual_accuracy": "timeout"}
    path = tmp_path / "results.jsonl"
    path.write_text(json.dumps(row), encoding="utf-8")
    ((sample,),) = read(path).values()
    assert [(score["metric"], score["value"], score["reason"]) for score in sample["scores"]] == [
        ("context_relevance", 0.5, "half"),
        ("factual_accuracy", None, "timeout"),
    ]
    assert (sample["answer"], sample["retrieved"][0]["text"]) == ("Ann.", "Ann wrote it.")


def test_annotated_answers_of_continuous_eval_are_two_runs_with_human_labels() -> None:
    runs = read(CORRECTNESS)
    assert {name: len(samples) for name, samples in runs.items()} == {"gpt-3.5-turbo": 9, "alpaca-7b": 1}
    samples = [sample for found in runs.values() for sample in found]
    labels = Counter((sample["human"][0]["metric"], sample["human"][0]["value"]) for sample in samples)
    assert labels == {("correctness", 1.0): 7, ("correctness", 0.0): 2, ("refused", 1.0): 1}
    assert [sample["refused"] for sample in samples].count(True) == 1
    beast = next(sample for sample in samples if "kind of beast" in sample["question"])
    assert beast["reference_answer"] == "a chimera"
    ides = next(sample for sample in samples if "ides" in sample["question"])
    assert json.loads(ides["extra"])["ground_truths (all)"] == [
        *("the soothsayer", "a seer", "a haruspex named Spurinna")
    ]


def test_gold_passages_of_continuous_eval_are_matched_by_their_text() -> None:
    ((*samples,),) = read(RETRIEVAL).values()
    recalls = []
    for sample in samples:
        ids = {document["id"] for document in sample["retrieved"]}
        gold = {one["id"] for one in sample["relevant"]}
        recalls.append(len(gold & ids) / len(gold))
    assert (len(samples), round(fmean(recalls), 2)) == (10, 0.70)


def test_metrics_of_continuous_eval_are_joined_by_position_or_refused_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = run(capsys, tmp_path, "import", str(METRICS))
    assert told.code == 2
    assert "continuous-eval metrics" in told.err
    assert "together with continuous-eval" in told.err
    data = tmp_path / "data.jsonl"
    lines = [
        {
            "question": row["question"],
            "retrieved_contexts": row["ids"],
            "ground_truth_contexts": row["relevant"],
        }
        for row in expected()["rows"]
    ]
    data.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    ((*samples,),) = read(data, METRICS).values()
    means = {
        name: fmean(scores_of(sample)[name] or 0.0 for sample in samples) for name in scores_of(samples[0])
    }
    assert {name: round(means[name], 4) for name in ("retrieval_recall", "reciprocal_rank", "ndcg")} == {
        "retrieval_recall": 0.8333,
        "reciprocal_rank": 0.7708,
        "ndcg": 0.7859,
    }
    assert round(means["retrieval_recall"], 6) == round(expected()["retrieval"]["recall@5"], 6)
    data.write_text("\n".join(map(json.dumps, lines[:11])), encoding="utf-8")
    with pytest.raises(InputError, match=r"has 11 rows for metrics of 12; accepted: the data set"):
        read(data, METRICS)


def test_labels_of_ares_are_those_of_people() -> None:
    ((*samples,),) = read(ARES).values()
    values: dict[str, list[float]] = {}
    for sample in samples:
        assert sample["scores"] is None, "a label is not a score"
        for label in sample["human"]:
            assert label["annotator"] == "ares"
            values.setdefault(label["metric"], []).append(label["value"])
    assert {metric: (sum(found), len(found)) for metric, found in values.items()} == {
        "context_relevance": (9.0, 11),
        "faithfulness": (10.0, 11),
        "answer_relevancy": (6.0, 10),
    }
    assert [len(sample["retrieved"]) for sample in samples] == [1] * 11
    assert sum(sample["retrieved"][0]["relevant"] for sample in samples) == 9
    assert samples[0]["question"].startswith("What significant regulatory changes")


def test_labels_of_ares_that_are_none_stay_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "labels.tsv"
    path.write_text("Query\tDocument\tAnswer\tAnswer_Relevance_Label\nq\td\ta\tmaybe\n", encoding="utf-8")
    ((sample,),) = read(path).values()
    assert sample["human"] is None
    assert "maybe" in json.dumps([sample["extra"], sample["tags"]])


@pytest.mark.parametrize("path", [UPTRAIN, CORRECTNESS, RETRIEVAL, ARES, OPEN_RAG_EVAL / "csv_results.csv"])
def test_the_command_imports_every_file(
    path: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert run(capsys, tmp_path, "import", str(path)).code == 0


@pytest.mark.parametrize("path", [UPTRAIN, CORRECTNESS])
def test_rows_from_python_are_recognised_too(path: Path, tmp_path: Path) -> None:
    add_run(rows_in(path), "mine", "p", str(tmp_path / "ws"))
    folder = tmp_path / "by_file"
    shutil.copy(path, tmp_path)
    assert detect(InputFile.from_path(tmp_path / path.name)).startswith(("uptrain", "continuous"))
    assert not folder.exists()
