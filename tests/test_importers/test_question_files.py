"""Question sets of other tools: what is gold, reference and hop in each, and what is told from a run.

The numbers are those of a script that reads the files with `json`, `csv` and `re` alone.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from command_line import run
from places import BUNDLED, FIXTURES

from ragtriage.data.chunking.corpus import read_corpus
from ragtriage.data.chunking.questions import questions_of_set
from ragtriage.data.errors import InputError
from ragtriage.data.importers.detect import detect
from ragtriage.data.importers.importer import Options
from ragtriage.data.importers.load import inputs_of, read_question_file
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.question_sets import LoadedSet

Capture = pytest.CaptureFixture[str]
EXPORTS = FIXTURES / "exports"
SYNTHESIZERS = EXPORTS / "synthesizers"


@dataclass(frozen=True)
class Expected:
    """What a file holds: its format, questions, gold passages, references, questions with several hops."""

    format: str
    n: int
    passages: int
    references: int
    hops: int = 0
    with_ids: int = 0


FILES = {
    "exports/synthesizers/deepeval_goldens_v4.3.1.json": Expected("deepeval_goldens", 18, 52, 18),
    "exports/synthesizers/giskard_testset_v2.19.2.jsonl": Expected("giskard_testset", 20, 20, 20),
    "exports/synthesizers/ragas_testset_chunks_v0.4.3.jsonl": Expected("ragas_testset", 20, 29, 20, 9),
    "exports/synthesizers/ragas_testset_docs_v0.4.3.jsonl": Expected("ragas_testset", 20, 28, 20, 8),
    "exports/llamaindex/qa_dataset.json": Expected("llamaindex_qa", 12, 14, 0, 0, 12),
    "exports/llamaindex/rag_dataset.json": Expected("llamaindex_rag", 12, 12, 12),
    "exports/phoenix/dataset.csv": Expected("phoenix_dataset", 12, 0, 12),
    "exports/phoenix/dataset_examples.json": Expected("phoenix_dataset", 12, 0, 12),
    "phoenix/dataset_of_spans_5.csv": Expected("phoenix_dataset", 3, 0, 3),
    "promptfoo_tests/tests.json": Expected("promptfoo_tests", 3, 2, 2),
    "promptfoo_tests/promptfooconfig.yaml": Expected("promptfoo_tests", 3, 2, 2),
    "musique/musique_train_3.json": Expected("musique", 3, 9, 3, 3),
}


def _read(path: Path | str) -> LoadedSet:
    return read_question_file(*inputs_of(str(path), Options())[0])


def _passages(loaded: LoadedSet) -> list[dict[str, Any]]:
    return [entry for question in loaded.questions for entry in question.get("relevant", ())]


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_read_whole(name: str) -> None:
    expected, loaded = FILES[name], _read(FIXTURES / name)
    facts, passages = loaded.facts, _passages(loaded)
    read = Expected(
        facts.origin["format"], facts.n, len(passages), facts.n_references, facts.n_hops, facts.n_gold_ids
    )
    assert read == expected
    assert all(entry["text"].strip() for entry in passages)


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_kept_as_questions_and_makes_no_run(
    capsys: Capture, workspace: RunStore, name: str
) -> None:
    answer = run(capsys, workspace.workspace.root, "import", str(FIXTURES / name), "--json")
    assert answer.code == 0
    assert answer.json["runs"] == []
    assert [entry["n"] for entry in answer.json["question_sets"]] == [FILES[name].n]
    assert workspace.runs() == []


def test_goldens_hold_gold_contexts() -> None:
    first = _read(SYNTHESIZERS / "deepeval_goldens_v4.3.1.json").questions[0]
    (raw, *_) = json.loads((SYNTHESIZERS / "deepeval_goldens_v4.3.1.json").read_text(encoding="utf-8"))
    assert [entry["text"] for entry in first["relevant"]] == raw["context"]
    assert first["reference_answer"] == raw["expected_output"]
    assert first["tags"] == {"source_file": "/app/chatlogs.txt"}


@pytest.mark.parametrize(("part", "prefixed"), [("chunks", 19), ("docs", 18)])
def test_hops_of_ragas_are_read_off_the_passages(part: str, prefixed: int) -> None:
    passages = _passages(_read(SYNTHESIZERS / f"ragas_testset_{part}_v0.4.3.jsonl"))
    assert not any(entry["text"].startswith("<") for entry in passages)
    assert sum("hop" in entry for entry in passages) == prefixed
    assert {entry["hop"] for entry in passages if "hop" in entry} == {"1", "2"}


@pytest.mark.parametrize(
    ("part", "note"),
    [
        ("chunks", "gold passages found in the corpus: 14 of 29 (14 verbatim)"),
        ("docs", "gold passages found in the corpus: 13 of 28 (13 with whitespace folded)"),
    ],
)
def test_passages_of_ragas_are_found_in_one_of_their_three_corpora(part: str, note: str) -> None:
    corpus = read_corpus([BUNDLED / "state_of_the_union" / "state_of_the_union.md"])
    questions = questions_of_set(_read(SYNTHESIZERS / f"ragas_testset_{part}_v0.4.3.jsonl"), corpus)
    assert questions.notes[0] == note


def test_giskard_keeps_the_conversation_and_the_kind_of_question() -> None:
    questions = _read(SYNTHESIZERS / "giskard_testset_v2.19.2.jsonl").questions
    assert sum("history" in question for question in questions) == 3
    assert questions[-1]["history"][1] == {"role": "assistant", "text": "How can I help you with that?"}
    assert len({question["query_type"] for question in questions}) == 6
    assert not any(
        entry["text"].startswith("Document ") for question in questions for entry in question["relevant"]
    )


def test_labels_of_llamaindex_bring_their_texts() -> None:
    first = _read(EXPORTS / "llamaindex" / "qa_dataset.json").questions[0]
    raw = json.loads((EXPORTS / "llamaindex" / "qa_dataset.json").read_text(encoding="utf-8"))
    assert [(entry["id"], entry["text"]) for entry in first["relevant"]] == [
        (name, raw["corpus"][name]) for name in ("sotu-043", "sotu-044")
    ]
    assert first["question_id"] == "q01"


def test_both_forms_of_a_phoenix_data_set_are_the_same_questions() -> None:
    table, api = (_read(EXPORTS / "phoenix" / name) for name in ("dataset.csv", "dataset_examples.json"))
    assert table.questions == api.questions
    assert [question["question_id"] for question in api.questions][::11] == ["q01", "q12"]
    assert api.facts.dataset_version == "RGF0YXNldFZlcnNpb246MQ=="


def test_a_phoenix_data_set_of_spans_says_what_its_references_are() -> None:
    facts = _read(FIXTURES / "phoenix" / "dataset_of_spans_5.csv").facts
    assert facts.notes[0].startswith("the examples were made from traced spans")
    assert facts.notes[1].startswith("an example without an input is left out (first on line ")
    assert facts.notes[1].endswith("; 2 in all)")


def test_supporting_paragraphs_of_musique_are_gold_in_the_order_of_the_hops() -> None:
    loaded = _read(FIXTURES / "musique" / "musique_train_3.json")
    raw = json.loads((FIXTURES / "musique" / "musique_train_3.json").read_text(encoding="utf-8"))
    for question, row in zip(loaded.questions, raw, strict=True):
        steps = [step["paragraph_support_idx"] for step in row["question_decomposition"]]
        texts = {entry["idx"]: entry["paragraph_text"] for entry in row["paragraphs"]}
        assert [(entry["hop"], entry["text"]) for entry in question["relevant"]] == [
            (str(hop), texts[index]) for hop, index in enumerate(steps, start=1)
        ]
        assert question["reference_answer"] == row["answer"]
    assert [question["query_type"] for question in loaded.questions] == ["2-hop", "4-hop", "3-hop"]
    assert loaded.questions[0]["answer_aliases"] == ["Stanley Hall"]


def _musique(**changes: object) -> InputFile:
    paragraphs = [
        {"idx": at, "paragraph_text": f"Text {at}.", "is_supporting": at < 2, **changes} for at in range(3)
    ]
    steps = [{"question": "a?", "answer": "b", "paragraph_support_idx": at} for at in (1, 0)]
    row = {
        "id": "q",
        "question": "Q?",
        "answer": "A",
        "paragraphs": paragraphs,
        "question_decomposition": steps,
    }
    return InputFile.from_bytes("m.jsonl", (json.dumps(row) + "\n").encode())


def test_a_paragraph_of_musique_without_a_number_has_that_of_its_place() -> None:
    loaded = read_question_file(_musique(idx=None), Options())
    texts = [(entry["hop"], entry["text"]) for entry in loaded.questions[0]["relevant"]]
    assert texts == [("1", "Text 1."), ("2", "Text 0.")]


@pytest.mark.parametrize("idx", [[1], {"a": 1}, "1", 1.5, True])
def test_a_number_of_another_type_is_named(idx: object) -> None:
    with pytest.raises(InputError, match=r"paragraphs\[0\]\.idx: found \w+; accepted: a whole number"):
        read_question_file(_musique(idx=idx), Options())


@pytest.mark.parametrize(
    ("name", "documents", "found"),
    [
        ("musique/musique_train_3.json", 60, "gold passages found in the corpus: 9 of 9 (9 verbatim)"),
        (
            "exports/llamaindex/qa_dataset.json",
            79,
            "gold passages found in the corpus: 14 of 14 (14 verbatim)",
        ),
    ],
)
def test_documents_that_come_with_the_questions_are_their_corpus(
    capsys: Capture, workspace: RunStore, name: str, documents: int, found: str
) -> None:
    root = workspace.workspace.root
    kept = run(capsys, root, "import", str(FIXTURES / name), "--json").json["question_sets"][0]
    assert kept["n_documents"] == documents
    words = ("grid", "--questions", kept["name"], "--sizes", "64", "--overlaps", "0", "--json")
    answer = run(capsys, root, *words)
    assert answer.code == 0
    assert found in answer.err
    (made,) = answer.json["runs"]
    assert made["config"]["corpus"] == made["project"] == kept["name"]
    assert run(capsys, root, *words).json["runs"][0]["run_id"] == made["run_id"]  # nothing is done twice


def test_a_set_without_documents_needs_a_corpus(capsys: Capture, workspace: RunStore) -> None:
    root = workspace.workspace.root
    assert run(capsys, root, "import", str(EXPORTS / "llamaindex" / "rag_dataset.json")).code == 0
    answer = run(capsys, root, "grid", "--questions", "rag_dataset")
    assert answer.code == 2
    assert "no documents came with the question set rag_dataset" in answer.err


def _beir(folder: Path, runs: bool = False) -> Path:
    (folder / "qrels").mkdir(parents=True)
    lines: dict[str, list[Any]] = {
        "queries.jsonl": [
            {"_id": "1", "text": "Where?"},
            {"_id": "2", "text": "When?"},
            {"_id": "3", "text": "Not?"},
        ],
        "corpus.jsonl": [
            {"_id": "a", "title": "T", "text": "In Bonn."},
            {"_id": "b", "title": "", "text": "Else."},
        ],
    }
    for name, records in lines.items():
        (folder / name).write_text("\n".join(map(json.dumps, records)))
    labels = "query-id\tcorpus-id\tscore\n1\ta\t2\n1\tb\t0\n2\tmissing\t1\n"
    (folder / "qrels" / "test.tsv").write_text(labels)
    (folder / "qrels" / "train.tsv").write_text("query-id\tcorpus-id\tscore\n3\ta\t1\n")
    if runs:
        (folder / "bm25.trec").write_text("1 Q0 a 1 3.5 bm25\n")
    return folder


def test_a_beir_folder_without_a_run_is_a_question_set(tmp_path: Path) -> None:
    loaded = _read(_beir(tmp_path / "scifact"))
    assert loaded.facts.name == "scifact"
    assert [question["question"] for question in loaded.questions] == ["Where?", "When?"]
    assert loaded.questions[0]["relevant"] == [
        {"id": "a", "grade": 2.0, "text": "In Bonn."},
        {"id": "b", "grade": 0.0},
    ]
    assert loaded.questions[1]["relevant"] == [{"id": "missing", "grade": 1.0}]
    assert loaded.facts.notes == (
        "questions without relevance labels are left out: 1",
        "gold documents without a text in the corpus: 1",
    )


def test_a_beir_folder_with_a_run_stays_a_run(capsys: Capture, workspace: RunStore, tmp_path: Path) -> None:
    answer = run(capsys, workspace.workspace.root, "import", str(_beir(tmp_path / "s", runs=True)), "--json")
    assert [entry["n"] for entry in answer.json["runs"]] == [1]
    assert "question_sets" not in answer.json


@pytest.mark.parametrize(
    ("columns", "cells", "expected"),
    [
        ("question,ground_truth", "q?,a", "table_questions"),
        ("query,gold_ids", "q?,d1", "table_questions"),
        ("question,ground_truth,answer", "q?,a,b", "table"),
        ("question,contexts,ground_truth", "q?,c,a", "ragas"),
        ("question,ground_truth,faithfulness", "q?,a,0.5", "table"),
        ("user_input,reference,reference_contexts", "q?,a,['c']", "ragas_testset"),
        ("user_input,reference,reference_contexts,response", "q?,a,['c'],r", "ragas"),
        ("user_input,reference,reference_contexts,retrieved_contexts", "q?,a,['c'],['d']", "ragas"),
        ("input,expected_output,context,actual_output", "q?,a,c,", "deepeval_goldens"),
        ("input,expected_output,context,actual_output", "q?,a,c,r", "table"),
        ("example_id,input_question,output_answer,annotation_x_score", "1,q?,a,1", "table"),
        ("example_id,input_text_of_it,annotation_x_score", "1,q?,1", ""),
    ],
)
def test_a_question_set_is_told_from_a_run_by_its_content(columns: str, cells: str, expected: str) -> None:
    source = InputFile.from_bytes("t.csv", f"{columns}\n{cells}\n".encode())
    if expected:
        assert detect(source) == expected
        return
    with pytest.raises(InputError):
        detect(source)


def test_a_table_of_questions_pairs_ids_with_texts(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(
            [
                ["question", "ground_truth", "gold_ids", "gold_contexts", "type"],
                ["Where?", "Bonn", '["a", "b"]', '["In Bonn.", "On the Rhine."]', "simple"],
                ["Salary?", "NO_ANSWER", "", "", "unanswerable"],
            ]
        )
    first, second = _read(path).questions
    assert [(entry["id"], entry["text"]) for entry in first["relevant"]] == [
        ("a", "In Bonn."),
        ("b", "On the Rhine."),
    ]
    assert first["reference_answer"] == "Bonn"
    assert second["answerable"] == "no"


def _edited(name: str, change: Callable[[Any], Any]) -> str:
    return json.dumps(change(json.loads((FIXTURES / name).read_text(encoding="utf-8"))))


def _append(extra: Any) -> Callable[[Any], Any]:
    return lambda document: [*document[:20], *document[:5], extra]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (
            _edited(
                "exports/synthesizers/deepeval_goldens_v4.3.1.json",
                _append({"input": "q", "actual_output": "a"}),
            ),
            ":24: actual_output: is filled, among goldens of DeepEval that have none",
        ),
        (
            _edited("exports/llamaindex/qa_dataset.json", lambda d: {**d, "corpus": ["a"]}),
            "is a LlamaIndex data set whose `corpus` is not an object",
        ),
        (
            _edited("exports/llamaindex/rag_dataset.json", lambda d: {"examples": [*d["examples"], 5]}),
            ":13: examples: found int; accepted: an object with `query`",
        ),
        (
            _edited("musique/musique_train_3.json", lambda d: [d[0], {**d[1], "paragraphs": "text"}]),
            ":2: paragraphs: is not a list of objects",
        ),
        (
            _edited(
                "exports/phoenix/dataset_examples.json", lambda d: {"data": {**d["data"], "examples": [1]}}
            ),
            ":1: found int; accepted: an example with input and output",
        ),
        ((FIXTURES / "musique/musique_train_3.json").read_text(encoding="utf-8")[:5000], "is not JSON"),
        ((EXPORTS / "llamaindex/qa_dataset.json").read_text(encoding="utf-8")[:5000], "is not JSON"),
    ],
)
def test_a_damaged_or_mixed_file_ends_in_one_sentence(
    capsys: Capture, tmp_path: Path, content: str, said: str
) -> None:
    path = tmp_path / "set.json"
    path.write_text(content, encoding="utf-8")
    answer = run(capsys, tmp_path / "ws", "import", str(path))
    assert answer.code == 2
    assert said in answer.err
    assert len(answer.err.strip().splitlines()) == 1
    assert not (tmp_path / "ws" / "questions").exists()


def test_a_response_among_the_questions_of_ragas_is_refused(capsys: Capture, tmp_path: Path) -> None:
    lines = (SYNTHESIZERS / "ragas_testset_docs_v0.4.3.jsonl").read_text(encoding="utf-8").splitlines()
    late = json.dumps({**json.loads(lines[0]), "response": "An answer."})
    path = tmp_path / "mixed.jsonl"
    path.write_text("\n".join([*lines, *lines[:3], late]), encoding="utf-8")
    answer = run(capsys, tmp_path / "ws", "import", str(path))
    assert answer.code == 2
    assert ":24: response: holds an answer, in a test set of Ragas that has none before" in answer.err


@pytest.mark.parametrize("name", ["questions.csv", "questions.jsonl"])
def test_questions_alone_are_no_run(capsys: Capture, tmp_path: Path, name: str) -> None:
    asked = [{"question_id": f"q{at}", "question": f"What is rule {at}?", "repeat": 0} for at in range(3)]
    path = tmp_path / name
    if name.endswith("csv"):
        rows = [",".join(asked[0]), *(",".join(map(str, each.values())) for each in asked)]
    else:
        rows = [json.dumps(each) for each in asked]
    path.write_text("\n".join(rows), encoding="utf-8")
    answer = run(capsys, tmp_path / "ws", "import", str(path))
    assert answer.code == 2
    assert answer.err == (
        f"error: {path}: holds nothing that can be measured: no answer, no document and no score; "
        "accepted: one of these; or `--format native_questions` for questions alone\n"
    )
    assert run(capsys, tmp_path / "ws", "import", str(path), "--format", "native_questions").code == 0
    failed = json.dumps({**asked[0], "error": "timeout"})
    (tmp_path / "failed.jsonl").write_text(failed, encoding="utf-8")
    assert run(capsys, tmp_path / "ws", "import", str(tmp_path / "failed.jsonl")).code == 0
