"""Values that others published for the bundled data come out of the whole path: file, workspace, command."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from command_line import run
from places import FIXTURES, REPOSITORY

from ragtriage.data.scoring.run_store import RunStore

EXAMPLE = REPOSITORY / "data" / "bundled" / "ragchecker" / "checking_outputs.json"
COLUMNS = {
    "Avg_Answer_Relevancy": "answer_relevancy",
    "Avg_Context_Precision": "context_precision",
    "Avg_Context_Recall": "context_recall",
    "Avg_Faithfulness": "faithfulness",
    "Avg_Answer_Similarity": "answer_similarity",
    "Avg_Answer_Correctness": "answer_correctness",
}
RAGCHECKER = {
    "precision": "answer_precision",
    "recall": "answer_recall",
    "f1": "answer_f1",
    "claim_recall": "context_recall",
    "context_precision": "chunk_precision",
    "context_utilization": "context_utilization",
    "noise_sensitivity_in_relevant": "noise_sensitivity_relevant",
    "noise_sensitivity_in_irrelevant": "noise_sensitivity_irrelevant",
    "hallucination": "hallucination",
    "self_knowledge": "self_knowledge",
    "faithfulness": "faithfulness",
}


def test_the_iris_means_are_those_of_the_published_summary(demo: RunStore) -> None:
    path = FIXTURES / "iris_vector_rag" / "pipeline_summary_20250610_212956.csv"
    rows = list(csv.DictReader(path.open(encoding="utf-8")))
    assert len(rows) == 7
    for row in rows:
        (found,) = [one for one in demo.runs("iris") if one.name == row["Pipeline"] and one.n == 30]
        summary = demo.summary(found, demo.options(found, convention="ragchecker"))  # refusals as recorded
        for column, metric in COLUMNS.items():
            if row[column]:
                assert summary[metric].mean == pytest.approx(float(row[column]), abs=1e-9), (
                    row["Pipeline"],
                    metric,
                )
            else:
                assert (summary[metric].mean, summary[metric].n_scored) == (None, 0)
                assert summary[metric].n_failed == 10


def test_ragcheckers_own_values_come_out_of_the_command(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    imported = run(capsys, tmp_path, "import", str(EXAMPLE), "--json").json["runs"][0]
    answer = run(
        capsys,
        tmp_path,
        "metrics",
        imported["run_id"],
        "--per-sample",
        "--convention",
        "ragchecker",
        "--json",
    ).json
    given = json.loads(EXAMPLE.read_text(encoding="utf-8"))
    checked = 0
    for one in given["results"]:
        for name, value in one["metrics"].items():
            assert answer["samples"][one["query_id"]][RAGCHECKER[name]] == pytest.approx(value, abs=1e-12)
            assert answer["metrics"][RAGCHECKER[name]]["source"] == "computed"
            checked += 1
    for group in given["metrics"].values():
        for name, value in group.items():
            assert round(100 * answer["metrics"][RAGCHECKER[name]]["mean"], 1) == value
            checked += 1
    assert checked == 33


def test_colbert_is_flagged_by_check(capsys: pytest.CaptureFixture[str], demo: RunStore) -> None:
    (found,) = [one for one in demo.runs("iris") if one.name == "colbert" and one.n == 30]
    findings = run(capsys, demo.workspace.root, "check", found.run_id, "--json").json
    titles = [one["title"] for one in findings]
    assert "context precision is 0 in every case" in titles
    assert "context_precision and context_recall disagree" in titles


def test_a_wrongly_normalised_evaluation_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    questions = json.loads((FIXTURES / "ru_transneft" / "rankings.json").read_text(encoding="utf-8"))
    lines = [
        {**one, "question": one["question_id"], "retrieved": [{"id": name} for name in one["retrieved"]]}
        for one in questions
    ]
    file = tmp_path / "transneft.jsonl"
    file.write_text("\n".join(json.dumps(one) for one in lines), encoding="utf-8")
    stated = json.dumps({"ndcg@5": 0.5326, "mrr@10": 0.5333, "map@100": 0.5972})
    loaded = run(
        capsys, tmp_path / "w", "import", str(file), "--config", f"reported_means={stated}", "--json"
    ).json
    told = {one["title"]: one["message"] for one in loaded["findings"] if one["rule"] == "recomputed_means"}
    assert told.keys() == {
        "ndcg@5: reported mean differs from recomputed",
        "map@100: reported mean differs from recomputed",
    }
    assert (
        "0.5326; recomputed from its samples it is 0.4745"
        in told["ndcg@5: reported mean differs from recomputed"]
    )
    assert (
        "0.5972; recomputed from its samples it is 0.4306"
        in told["map@100: reported mean differs from recomputed"]
    )
