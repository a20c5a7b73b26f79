"""Experiments of Ragas: reasons beside scores, failed scores as the word nan, and rows that Ragas dropped."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import pytest
from exports_oracle import EXPORTS, expected, read, scores_of

from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.detect import detect, read_runs
from ragtriage.data.importers.importer import Options
from ragtriage.data.importers.parsing.input_file import InputFile

FOLDER = EXPORTS / "ragas"


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_an_experiment_has_11_of_the_12_questions_with_reasons(ending: str) -> None:
    ((name, samples),) = read(FOLDER / f"experiment_rag-v1.{ending}").items()
    assert (name, len(samples)) == ("rag-v1", 11)
    rows = {row["question"]: row for row in expected()["rows"]}
    for sample in samples:
        row, made = rows[sample["question"]], expected()["texts"][sample["question"]]
        assert sample["question_id"] == row["id"]
        assert (sample["answer"], sample["reference_answer"]) == (made["answer"], made["reference"])
        assert [document["text"] for document in sample["retrieved"]] == [
            one["text"] for one in made["contexts"]
        ]
        assert scores_of(sample) == {name: row[name] for name in ("faithfulness", "answer_relevancy")}
        reasons = {score["metric"]: score["reason"] for score in sample["scores"]}
        assert reasons["faithfulness"] == "because of faithfulness"
        assert "faithfulness_reason" not in json.loads(sample["extra"] or "{}")


def notes_of(path: Path) -> tuple[str, ...]:
    (run,) = read_runs(InputFile.from_path(path), Options(), ValidationErrors("t"))
    return run.notes


def test_rows_that_ragas_dropped_are_told_where_the_data_set_lies_beside(tmp_path: Path) -> None:
    for folder in ("experiments", "datasets"):
        (tmp_path / folder).mkdir()
    path = tmp_path / "experiments/rag-v1.csv"
    shutil.copy(FOLDER / "experiment_rag-v1.csv", path)
    assert not any("drops" in note for note in notes_of(path))
    with (tmp_path / "datasets/sotu.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(
            [["id", "user_input"], *((r["id"], r["question"]) for r in expected()["rows"])]
        )
    told = "holds 11 of the 12 questions of datasets/sotu.csv: Ragas drops a row that fails without a trace"
    assert told in notes_of(path)


def test_contexts_as_objects_are_no_table_of_ragas(tmp_path: Path) -> None:
    path = tmp_path / "own.jsonl"
    for context, writer in (({"id": "d1", "text": "t"}, "table"), ("t", "ragas")):
        path.write_text(json.dumps({"question": "Q?", "answer": "A.", "contexts": [context]}) + "\n")
        assert detect(InputFile.from_path(path)) == writer
