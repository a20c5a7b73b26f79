"""Questions joined to the samples of a run: by id or text, and never over what the run has itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command_line import Answer, run
from places import FIXTURES

from ragtriage.data.cases.export import native_record
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.sample_reader import StoredSamples
from ragtriage.data.store.workspace import Workspace

Capture = pytest.CaptureFixture[str]
SET: list[dict[str, Any]] = [
    {
        "question_id": "q1",
        "question": "Which agency?",
        "reference_answer": "ARPA-H",
        "relevant": [{"id": "c1", "text": "our agency\ncalled ARPA-H", "hop": 1}, {"id": "c2", "hop": 2}],
        "answerable": "yes",
        "query_type": "multi-hop",
        "tags": {"topic": "health"},
    },
    {"question_id": "q2", "question": "Who spoke?", "relevant": [{"text": "The  president spoke."}]},
    {"question_id": "q3", "question": "When?", "reference_answer": "In March", "relevant": ["c9"]},
    {"question_id": "q4", "question": "Not asked?", "reference_answer": "-"},
]


def _write(path: Path, records: list[Any]) -> str:
    path.write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    return str(path)


def _import(
    capsys: Capture, tmp_path: Path, records: list[Any], *, questions: list[Any] | None = None, code: int = 0
) -> tuple[list[dict[str, Any]], Answer]:
    """Import records joined with questions; return the stored samples in the native form, and the answer."""
    file = _write(tmp_path / "run.jsonl", records)
    of_set = _write(tmp_path / "sotu.jsonl", SET if questions is None else questions)
    answer = run(capsys, tmp_path / "ws", "import", file, "--questions", of_set, "--json")
    assert answer.code == code, answer.err
    if code:
        return [], answer
    (entry,) = answer.json["runs"]
    path = Workspace(tmp_path / "ws").samples_path(entry["run_id"])
    return [native_record(sample) for sample in StoredSamples(path).read(range(entry["n"]))], answer


def test_gold_references_and_hops_come_from_the_set(capsys: Capture, tmp_path: Path) -> None:
    records = [
        {
            "question_id": "q1",
            "question": "Which agency?",
            "answer": "A",
            "retrieved": [{"id": "c1", "text": "t"}],
        }
    ]
    (sample,), answer = _import(capsys, tmp_path, records)
    assert sample["relevant"] == [
        {"id": "c1", "grade": 1.0, "hop": "1"},
        {"id": "c2", "grade": 1.0, "hop": "2"},
    ]
    assert sample["reference_answer"] == "ARPA-H"
    assert (sample["answerable"], sample["query_type"]) == ("yes", "multi-hop")
    assert sample["tags"] == {"topic": "health"}
    assert answer.json["runs"][0]["notes"] == [
        "question set sotu: joined 1 of 1 samples; 3 questions of the set without a sample"
    ]


def test_gold_that_was_retrieved_under_another_id_is_matched_by_its_text(
    capsys: Capture, tmp_path: Path
) -> None:
    records = [
        {
            "question_id": "q1",
            "question": "Which agency?",
            "retrieved": [{"id": "x7", "text": "our agency called  ARPA-H"}],
        },
        {"question_id": "q2", "question": "Who spoke?", "retrieved": ["Another.", "The president\nspoke."]},
    ]
    (first, second), answer = _import(capsys, tmp_path, records)
    assert [gold["id"] for gold in first["relevant"]] == ["x7", "c2"]
    assert [gold["id"] for gold in second["relevant"]] == [second["retrieved"][1]["id"]]
    assert "gold passages matched to what was retrieved by their text: 2" in answer.json["runs"][0]["notes"]
    recall = run(capsys, tmp_path / "ws", "metrics", answer.json["runs"][0]["run_id"], "--json").json
    assert recall["metrics"]["recall@5"]["mean"] == pytest.approx(0.75)


def test_a_run_gets_the_gold_of_another_tool_s_data_set(capsys: Capture, workspace: RunStore) -> None:
    """Without q11, which that tool drops, recall@5 and MRR@5 of the expected run are 9 of 11."""
    root, exports = workspace.workspace.root, FIXTURES / "exports"
    assert run(capsys, root, "import", str(exports / "llamaindex" / "qa_dataset.json")).code == 0
    file = str(exports / "ragas" / "experiment_rag-v1.csv")
    answer = run(capsys, root, "import", file, "--questions", "qa_dataset")
    said = " ".join(answer.out.split())
    assert "joined 11 of 11 samples; 1 question of the set without a sample" in said
    (imported,) = workspace.runs()
    metrics = run(capsys, root, "metrics", imported.run_id, "--json").json["metrics"]
    for name in ("recall@5", "mrr@5"):
        assert metrics[name]["mean"] == pytest.approx(9 / 11)
        assert metrics[name]["n_scored"] == 11


def test_questions_without_common_ids_are_joined_by_their_text(capsys: Capture, tmp_path: Path) -> None:
    records = [
        {"question_id": "1", "question": " which  AGENCY?", "answer": "A"},
        {"question_id": "q1", "question": "When?", "answer": "B"},  # numbered anew: its text tells
    ]
    (first, second), answer = _import(capsys, tmp_path, records)
    assert (first["reference_answer"], second["reference_answer"]) == ("ARPA-H", "In March")
    notes = answer.json["runs"][0]["notes"]
    assert "samples joined by the text of the question and not by its id: 2" in notes


def test_what_the_run_has_stays(capsys: Capture, tmp_path: Path) -> None:
    records = [
        {"question_id": "q1", "question": "Which agency?", "relevant": ["own"], "reference_answer": "mine"},
        {
            "question_id": "q3",
            "question": "When?",
            "relevant": [],
            "retrieved": ["x"],
            "tags": {"topic": "own"},
        },
        {"question_id": "q9", "question": "Of the run alone?", "answer": "A"},
    ]
    (first, second, third), answer = _import(capsys, tmp_path, records)
    assert [gold["id"] for gold in first["relevant"]] == ["own"]
    assert first["reference_answer"] == "mine"
    assert second["relevant"] == []
    assert second["tags"] == {"topic": "own"}
    assert "reference_answer" not in third
    notes = answer.json["runs"][0]["notes"]
    assert notes[0] == "question set sotu: joined 2 of 3 samples; 2 questions of the set without a sample"
    assert "samples whose own gold is kept, where the set has some too: 2" in notes
    assert "fields of the run that are kept, where the set has others: 1" in notes


def test_gold_texts_of_which_none_was_retrieved_are_no_gold(capsys: Capture, tmp_path: Path) -> None:
    """Passages cut otherwise than the chunks would make every retrieval metric 0, which nobody measured."""
    questions = [
        {"question": "Who spoke?", "reference_answer": "He", "relevant": [{"text": "The president spoke."}]}
    ]
    records = [{"question": "Who spoke?", "answer": "A", "retrieved": ["The president"]}]
    (sample,), answer = _import(capsys, tmp_path, records, questions=questions)
    assert "relevant" not in sample
    assert sample["reference_answer"] == "He"
    assert any("joined without gold: 1;" in note for note in answer.json["runs"][0]["notes"])


def test_a_set_about_other_questions_is_refused(capsys: Capture, tmp_path: Path) -> None:
    _, answer = _import(capsys, tmp_path, [{"question": "Something else?", "answer": "A"}], code=2)
    assert "none of its 1 samples asks a question of sotu" in answer.err
    assert answer.json["runs"] == []
    assert not list((tmp_path / "ws" / "runs").glob("[!.]*"))


def test_a_question_asked_twice_in_the_set_is_joined_by_its_id_alone(capsys: Capture, tmp_path: Path) -> None:
    questions = [
        {"question_id": "a", "question": "When?", "reference_answer": "1"},
        {"question_id": "b", "question": "When?", "reference_answer": "2"},
    ]
    records = [
        {"question_id": "b", "question": "When?", "answer": "x"},
        {"question_id": "c", "question": "When?", "answer": "y"},
    ]
    (first, second), _ = _import(capsys, tmp_path, records, questions=questions)
    assert first["reference_answer"] == "2"
    assert "reference_answer" not in second


def test_a_question_set_is_kept_and_no_run(capsys: Capture, workspace: RunStore, tmp_path: Path) -> None:
    file = _write(tmp_path / "sotu.jsonl", SET)
    root = workspace.workspace.root
    preview = run(capsys, root, "import", file, "--dry-run", "--json").json["files"][0]
    assert (preview["runs"], preview["question_sets"][0]["n"]) == ([], 4)
    answer = run(capsys, root, "import", file)
    assert answer.code == 0
    said = " ".join(answer.out.split())
    assert "kept 4 questions as question set sotu" in said
    assert "`ragtriage grid CORPUS --questions sotu`" in said
    assert workspace.runs() == []
    again = run(capsys, root, "import", file, "--json").json
    assert (again["runs"], again["question_sets"][0]["is_new"]) == ([], False)
    file = _write(tmp_path / "run.jsonl", [{"question": "When?", "answer": "x"}])
    joined = run(capsys, root, "import", file, "--questions", "sotu", "--json")
    assert joined.json["runs"][0]["n"] == 1


@pytest.mark.parametrize(
    "record",
    [
        {"question": "When?", "reference_answer": "x", "answer": "y"},
        {"question": "When?", "reference_answer": "x", "retrieved": []},
        {"question": "When?", "relevant": ["a"], "scores": {"faithfulness": 1}},
        {"question": "When?", "latency_ms": 4},
    ],
)
def test_rows_with_anything_of_a_run_are_a_run(
    capsys: Capture, workspace: RunStore, tmp_path: Path, record: dict[str, Any]
) -> None:
    gold_only = [{"question": f"Question {at}?", "reference_answer": "r"} for at in range(30)]
    for records in ([record], [*gold_only, record]):
        answer = run(
            capsys, workspace.workspace.root, "import", _write(tmp_path / "r.jsonl", records), "--json"
        )
        assert [entry["n"] for entry in answer.json["runs"]] == [len(records)]
        assert "question_sets" not in answer.json


def test_a_set_is_no_run_to_join_to(capsys: Capture, tmp_path: Path) -> None:
    _, answer = _import(capsys, tmp_path, SET[:2], code=2)
    assert "is a question set itself; accepted: a run with samples for --questions" in answer.err
