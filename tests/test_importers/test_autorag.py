"""Trial folders of AutoRAG: a run for each module, joined by position with the questions."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from statistics import fmean
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command_line import run
from exports_oracle import read, scores_of
from places import FIXTURES

from ragtriage.data.api import add_run
from ragtriage.data.errors import InputError, ValidationErrors
from ragtriage.data.importers.detect import detect, read_runs
from ragtriage.data.importers.importer import Options
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.metrics.metric_registry import imported_declarations

PROJECT = FIXTURES / "autorag" / "project"
RETRIEVAL = "0/retrieve_node_line"
# Figures that AutoRAG's summaries state: node -> precision, recall, F1 over the 10 questions.
STATED = {
    "lexical_retrieval": (0.1, 1.0, 0.18181818),
    "semantic_retrieval": (0.1, 1.0, 0.18181818),
    "hybrid_retrieval": (0.125, 1.0, 0.22222222),
    "passage_reranker": (0.2, 1.0, 0.33333333),
}
NAMES = [
    "0/query_expansion/0 QueryDecompose",
    "0/query_expansion/1 QueryDecompose",
    "0/query_expansion/2 HyDE",
    "0/lexical_retrieval/0 BM25",
    "0/semantic_retrieval/0 VectorDB",
    "0/hybrid_retrieval/0 HybridCC",
    "0/passage_reranker/0 Tart",
    "0/prompt_maker/0 Fstring",
    "0/prompt_maker/1 Fstring",
    "0/generator/0 LlamaIndexLLM",
]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return shutil.copytree(PROJECT, tmp_path / "project")


def parsed(folder: Path) -> dict[str, Any]:
    source = InputFile.from_path(folder)
    return {run.name: run for run in read_runs(source, Options(), ValidationErrors(source.name))}


def mean_of(samples: list[dict[str, Any]], metric: str) -> float:
    values = [scores_of(sample)[metric] for sample in samples]
    return fmean(value for value in values if value is not None)


@pytest.mark.parametrize("folder", [PROJECT, PROJECT / "0"])
def test_every_module_of_every_node_is_a_run(folder: Path) -> None:
    runs = read(folder)
    assert list(runs) == NAMES
    assert {len(samples) for samples in runs.values()} == {10}


@pytest.mark.parametrize("node", STATED)
def test_figures_of_a_node_are_those_of_its_raw_table(node: str) -> None:
    """Recompute the figures from the Parquet file itself, as AutoRAG counts: each passage once."""
    gold = pq.read_table(PROJECT / "data/qa.parquet").column("retrieval_gt").to_pylist()
    lists = pq.read_table(PROJECT / RETRIEVAL / node / "0.parquet").column("retrieved_ids").to_pylist()
    precisions, recalls, f1s = [], [], []
    for hops, ids in zip(gold, lists, strict=True):
        relevant = {name for hop in hops for name in hop}
        precision = len(relevant & set(ids)) / len(ids)
        recall = sum(bool(set(hop) & set(ids)) for hop in hops) / len(hops)
        precisions.append(precision)
        recalls.append(recall)
        f1s.append(2 * precision * recall / (precision + recall))
    raw = (fmean(precisions), fmean(recalls), fmean(f1s))
    assert raw == pytest.approx(STATED[node], abs=1e-8)
    (samples,) = read(PROJECT / RETRIEVAL / node).values()
    found = [mean_of(samples, f"retrieval_{name}") for name in ("precision", "recall", "f1")]
    assert found == pytest.approx(raw, abs=1e-12)
    assert [[document["id"] for document in sample["retrieved"]] for sample in samples] == lists


def test_the_generator_has_its_scores_and_the_passages_of_the_best_node_before() -> None:
    runs = read(PROJECT)
    generated, reranked = runs["0/generator/0 LlamaIndexLLM"], runs["0/passage_reranker/0 Tart"]
    figures = {name: round(mean_of(generated, name), 6) for name in ("bleu", "meteor", "rouge")}
    assert figures == {"bleu": 0.167247, "meteor": 0.067998, "rouge": 0.017401}
    assert [sample["retrieved"] for sample in generated] == [sample["retrieved"] for sample in reranked]
    assert [len(sample["candidates"]) for sample in reranked] == [8] * 10, "what the reranker chose from"
    raw = pq.read_table(PROJECT / "0/post_retrieve_node_line/generator/0.parquet").to_pylist()
    assert [sample["answer"] for sample in generated] == [row["generated_texts"] for row in raw]
    assert [sample["output_tokens"] for sample in generated] == [len(row["generated_tokens"]) for row in raw]
    assert generated[0]["prompt"].startswith("Question: in football"), "of the best prompt maker"


def test_questions_gold_and_references_come_from_the_questions_of_the_project() -> None:
    questions = pq.read_table(PROJECT / "data/qa.parquet").to_pylist()
    for samples in read(PROJECT).values():
        for sample, question in zip(samples, questions, strict=True):
            assert (sample["question_id"], sample["question"]) == (question["qid"], question["query"])
            assert sample["reference_answer"] == question["generation_gt"][0]
            hops = [(str(n), i) for n, hop in enumerate(question["retrieval_gt"], start=1) for i in hop]
            assert [(gold["hop"], gold["id"]) for gold in sample["relevant"]] == hops


def test_the_configuration_says_what_was_tried() -> None:
    runs = parsed(PROJECT)
    lexical = runs["0/lexical_retrieval/0 BM25"]
    assert lexical.config == {
        "node_line": "retrieve_node_line",
        "node": "lexical_retrieval",
        "module": "BM25",
        "top_k": 10,
        "reported_means": {
            "retrieval_f1": 0.18181818181818182,
            "retrieval_recall": 1.0,
            "retrieval_precision": 0.1,
        },
    }
    assert lexical.measured == {"execution_time": 0.00466761589050293}
    assert runs["0/query_expansion/1 QueryDecompose"].config["temperature"] == 1.0
    assert runs["0/generator/0 LlamaIndexLLM"].config["passages_from"] == "passage_reranker/0 Tart"
    assert str(lexical.created_at) == "2024-02-01 11:22:49"
    best = {
        name: [tag["value"] for tag in samples[0]["tags"] or ()] for name, samples in read(PROJECT).items()
    }
    assert best["0/query_expansion/0 QueryDecompose"] == ["true"]
    assert best["0/query_expansion/2 HyDE"] == []


def test_the_command_imports_a_project_and_knows_that_its_figures_are_shares(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    answer = run(capsys, tmp_path, "import", str(PROJECT), "--json")
    assert [imported["name"] for imported in answer.json["runs"]] == NAMES
    figures = {"retrieval_f1", "retrieval_recall", "retrieval_precision", "rouge"}
    assert figures <= imported_declarations().keys()


def test_the_difference_between_its_precision_and_ours_is_told() -> None:
    runs = parsed(PROJECT)
    (note,) = runs["0/lexical_retrieval/0 BM25"].notes
    assert note.startswith("10 of 10 lists hold a passage more than once: retrieval_precision")
    assert runs["0/passage_reranker/0 Tart"].notes == ()


def test_several_trials_are_runs_of_their_own(project: Path) -> None:
    shutil.copytree(project / "0", project / "1")
    shutil.copytree(project / "0" / "retrieve_node_line", project / "1" / "again")
    runs = parsed(project)
    assert [name for name in runs if name.startswith("0/")] == NAMES
    assert len([name for name in runs if name.startswith("1/")]) == 14
    assert str(runs["1/generator/0 LlamaIndexLLM"].created_at) == "2024-02-02 11:22:49"
    (project / "trial.json").write_text("{[", encoding="utf-8")
    assert len(parsed(project)) == 24, "a damaged list of trials is not a reason to refuse their results"


def test_questions_alone_are_a_question_set() -> None:
    source = InputFile.from_path(PROJECT / "data/qa.parquet")
    assert detect(source) == "autorag_questions"
    (found,) = read_runs(source, Options(), ValidationErrors("qa"))
    assert found.questions
    assert len(list(found.records)) == 10


def test_a_table_of_the_best_is_read_alone() -> None:
    (samples,) = read(PROJECT / RETRIEVAL / "lexical_retrieval/best_0.parquet").values()
    assert len(samples) == 10
    assert mean_of(samples, "retrieval_precision") == pytest.approx(0.1)


def test_an_output_alone_is_refused_with_a_hint() -> None:
    with pytest.raises(InputError, match=r"is the output of one node of AutoRAG, without its questions"):
        read(PROJECT / RETRIEVAL / "lexical_retrieval/0.parquet")


def summary(project: Path, **cells: str) -> None:
    path = project / RETRIEVAL / "lexical_retrieval/summary.csv"
    with path.open(encoding="utf-8", newline="") as stream:
        (row,) = csv.DictReader(stream)
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, list(row))
        writer.writeheader()
        writer.writerow({**row, **cells})


def table(project: Path, change: Callable[[dict[str, Any]], dict[str, Any]], rows: int = 10) -> None:
    path = project / RETRIEVAL / "lexical_retrieval/0.parquet"
    changed = [change(row) for row in pq.read_table(path).to_pylist()]
    pq.write_table(pa.Table.from_pylist(changed[:rows]), path)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


OUTPUT = f"{RETRIEVAL}/lexical_retrieval/0.parquet"


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (lambda p: table(p, dict, rows=9), "has 9 rows in lexical_retrieval/0.parquet for 10 questions"),
        (lambda p: cut(p / OUTPUT), "holds lexical_retrieval/0.parquet, which cannot be read"),
        (lambda p: cut(p / "data/qa.parquet"), "holds data/qa.parquet, which cannot be read"),
        (lambda p: (p / OUTPUT).unlink(), "lacks 0/retrieve_node_line/lexical_retrieval/0.parquet"),
        (lambda p: summary(p, filename="../../../../secret.parquet"), "names the file '../../../../secret"),
        (lambda p: summary(p, filename="/etc/passwd"), "names the file '/etc/passwd'"),
        (lambda p: (p / "data/qa.parquet").unlink(), "without its questions (no data/qa.parquet"),
        (lambda p: shutil.rmtree(p / "0"), "is a project of AutoRAG with no trial that has results"),
        (
            lambda p: table(p, lambda row: {**row, "retrieved_ids": row["retrieved_ids"][:2]}),
            "has lists of different lengths (text 10, id 2, score 10)",
        ),
        (lambda p: table(p, lambda row: {**row, "retrieved_ids": [[1]] * 10}), "retrieved[1].id"),
        (lambda p: table(p, lambda row: {**row, "retrieve_scores": ["x"] * 10}), "retrieved[1].score"),
    ],
)  # fmt: skip
def test_a_damaged_trial_ends_in_one_sentence(
    project: Path, damage: Callable[[Path], Any], told: str
) -> None:
    damage(project)
    folder = project if (project / "data/qa.parquet").is_file() else project / "0"
    with pytest.raises(InputError) as fault:
        read(folder)
    assert told in str(fault.value)


def test_parameters_that_are_no_literal_are_kept_as_text(project: Path) -> None:
    summary(project, module_params="__import__('os').system('true')")
    lexical = parsed(project)["0/lexical_retrieval/0 BM25"]
    assert lexical.config["module_params"] == "__import__('os').system('true')"


def test_passages_without_ids_take_those_before_or_keep_the_gold_apart(project: Path) -> None:
    """A compressor writes texts alone: made-up ids would make every recall 0."""
    node = project / RETRIEVAL / "passage_compressor"
    node.mkdir()
    rows = pq.read_table(project / RETRIEVAL / "passage_reranker/0.parquet").to_pylist()
    joined = [[" ".join(row["retrieved_contents"])[:500]] for row in rows]
    for n, lists in enumerate([[row["retrieved_contents"] for row in rows], joined]):
        pq.write_table(pa.table({"retrieved_contents": lists}), node / f"{n}.parquet")
    lines = ["filename,module_name,module_params,execution_time,is_best"]
    lines += ["0.parquet,Same,{},0.1,True", "1.parquet,Refine,{},0.1,False"]
    (node / "summary.csv").write_text("\n".join(lines), encoding="utf-8")
    runs = read(project)
    same, refined = runs["0/passage_compressor/0 Same"][0], runs["0/passage_compressor/1 Refine"][0]
    assert [document["id"] for document in same["retrieved"]] == rows[0]["retrieved_ids"]
    assert same["relevant"]
    assert (len(refined["retrieved"]), refined["relevant"]) == (1, None)
    assert json.loads(refined["extra"])["retrieval_gt"]


def test_a_frame_of_a_node_is_read_from_python_too(tmp_path: Path) -> None:
    rows = pq.read_table(PROJECT / RETRIEVAL / "lexical_retrieval/best_0.parquet").to_pylist()
    added = add_run(rows, "lexical", "p", str(tmp_path / "ws"))
    assert added.n == 10
    assert "retrieved" in added.fields
