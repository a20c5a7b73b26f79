"""Question sets in a workspace: kept whole, found by name, named where damaged, safe with two writers."""

from __future__ import annotations

import json
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from command_line import run

from ragtriage.data.errors import InputError, ValidationErrors, WorkspaceError
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.parsed_run import ParsedRun
from ragtriage.data.store.question_sets import (
    LoadedSet,
    delete_set,
    find_set,
    keep_set,
    load_set,
    parsed_set,
    question_sets,
)
from ragtriage.data.store.workspace import Workspace

Capture = pytest.CaptureFixture[str]
RECORDS: list[dict[str, Any]] = [
    {
        "question_id": "q1",
        "question": "Which agency ends cancer?",
        "reference_answer": "ARPA-H",
        "relevant": [
            {"id": "sotu-072", "text": "our agency called ARPA-H", "hop": 1},
            {"text": "No id.", "hop": 2},
        ],
        "answerable": "yes",
        "query_type": "two-hop",
        "tags": {"topic": "health", "page": 4},
        "persona": "Reader",
    },
    {
        "question": "Who spoke first?",
        "relevant": [],
        "answerable": "no",
        "answer": "dropped",
        "retrieved": ["x"],
    },
    {"question_id": 3, "question": "When?", "relevant_spans": [{"doc_id": "a", "start": 0, "end": 4}]},
]


def _loaded(records: list[dict[str, Any]] = RECORDS, name: str = "sotu") -> LoadedSet:
    errors = ValidationErrors("questions.jsonl")
    return parsed_set(ParsedRun(name, enumerate(records, start=1), "questions.jsonl", "native"), errors)


def _keep(root: str, name: str) -> bool:
    return keep_set(Workspace(root), _loaded(name=name))[1]


def test_a_set_comes_back_as_it_was_kept(workspace: RunStore) -> None:
    loaded = _loaded()
    facts, is_new = keep_set(workspace.workspace, loaded)
    again = load_set(workspace.workspace, facts.set_id)
    assert is_new
    assert again == loaded
    first, second, third = again.questions
    assert first["relevant"][0] == {
        "id": "sotu-072",
        "grade": 1.0,
        "hop": "1",
        "text": "our agency called ARPA-H",
    }
    assert first["relevant"][1]["text"] == "No id."
    assert first["tags"] == {"topic": "health", "page": "4"}
    assert first["persona"] == "Reader"
    assert not second.keys() & {"answer", "retrieved"}
    assert second["relevant"] == []
    assert third["question_id"] == "3"


def test_its_facts_count_each_kind_of_gold() -> None:
    facts = _loaded().facts
    assert (facts.n, facts.n_gold, facts.n_gold_ids, facts.n_gold_texts, facts.n_gold_spans) == (
        3,
        2,
        1,
        1,
        1,
    )
    assert (facts.n_references, facts.n_hops, facts.n_unanswerable) == (1, 1, 1)
    assert facts.origin == {"file": "questions.jsonl", "format": "native"}
    assert facts.dataset_version == facts.set_id


def test_a_question_asked_again_without_an_id_is_numbered() -> None:
    loaded = _loaded([{"question": "When?", "reference_answer": answer} for answer in "abc"])
    first, second, third = (question["question_id"] for question in loaded.questions)
    assert (second, third) == (f"{first}-2", f"{first}-3")
    assert loaded.facts.notes == (
        "a question that is asked again, without an id, is numbered (first on line 2; 2 in all)",
    )


def test_its_id_follows_from_its_questions_alone(workspace: RunStore) -> None:
    facts, _ = keep_set(workspace.workspace, _loaded())
    same, is_new = keep_set(workspace.workspace, _loaded(name="another name"))
    assert (same, is_new) == (facts, False)
    other, is_new = keep_set(workspace.workspace, _loaded([*RECORDS, {"question": "One more?"}]))
    assert is_new
    assert other.set_id != facts.set_id
    assert [entry.n for entry in question_sets(workspace.workspace)] == [3, 4]


def test_two_processes_keep_one_set_once(tmp_path: Path) -> None:
    root = tmp_path / "workspace"
    with ProcessPoolExecutor(2) as pool:
        new = list(pool.map(_keep, [str(root)] * 8, ["a", "b"] * 4))
    assert sum(new) == 1
    assert [path.name for path in (root / "questions").iterdir()] == [_loaded().facts.set_id]


@pytest.mark.parametrize(
    ("records", "what"),
    [
        ([], "holds no question"),
        (
            [{"question": "A?", "question_id": "x"}, {"question": "B?", "question_id": "x"}],
            "already on line 1",
        ),
        ([{"question": "A?", "relevant": [{"grade": 1}]}], "relevant"),
        ([{"question": "A?", "relevant": 5}], "a list"),
        (["text"], "a JSON object"),
        ([{"reference_answer": "A"}], "missing"),
    ],
)
def test_a_wrong_record_is_named(records: list[Any], what: str) -> None:
    with pytest.raises(InputError, match=what):
        _loaded(records)


def test_a_set_is_found_by_name_id_and_start_of_id(workspace: RunStore) -> None:
    facts, _ = keep_set(workspace.workspace, _loaded())
    for wanted in ("sotu", facts.set_id, facts.set_id[:6]):
        assert find_set(workspace.workspace, wanted) == facts
    with pytest.raises(
        WorkspaceError, match=rf"no question set 'nothing' .* accepted: one of sotu \({facts.set_id}"
    ):
        find_set(workspace.workspace, "nothing")
    keep_set(workspace.workspace, _loaded(RECORDS[:1]))
    with pytest.raises(WorkspaceError, match="is the name of 2"):
        find_set(workspace.workspace, "sotu")


@pytest.mark.parametrize(
    "change", [{"set_id": "../../runs"}, {"n": "three"}, {"format_version": 99}, {"origin": None}]
)
def test_damaged_facts_are_named_and_the_set_can_be_deleted(
    capsys: Capture, workspace: RunStore, change: dict[str, Any]
) -> None:
    facts, _ = keep_set(workspace.workspace, _loaded())
    path = workspace.workspace.questions_folder / facts.set_id / "set.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    root = workspace.workspace.root
    answer = run(capsys, root, "questions")
    assert "set.json" in answer.err
    assert run(capsys, root, "questions", "show", facts.set_id).code == 2
    assert run(capsys, root, "questions", "--delete", facts.set_id, "--yes").code == 0
    assert not path.parent.exists()


def test_damaged_questions_are_named(workspace: RunStore) -> None:
    facts, _ = keep_set(workspace.workspace, _loaded())
    (workspace.workspace.questions_folder / facts.set_id / "questions.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(WorkspaceError, match=r"questions\.parquet: is damaged"):
        load_set(workspace.workspace, facts.set_id)


def test_a_name_that_leads_out_of_the_folder_deletes_nothing(workspace: RunStore) -> None:
    keep_set(workspace.workspace, _loaded())
    with pytest.raises(WorkspaceError, match="no question set"):
        delete_set(workspace.workspace, "../runs")
    assert workspace.workspace.runs_folder.exists()


def test_a_process_that_only_reads_keeps_and_deletes_nothing(
    workspace: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts, _ = keep_set(workspace.workspace, _loaded())
    monkeypatch.setenv("RAGTRIAGE_READ_ONLY", "1")
    assert load_set(workspace.workspace, facts.set_id).facts == facts
    with pytest.raises(WorkspaceError, match="only reads"):
        delete_set(workspace.workspace, facts.set_id)
    with pytest.raises(WorkspaceError, match="only reads"):
        keep_set(workspace.workspace, _loaded(RECORDS[:1]))


def test_the_command_lists_shows_and_deletes(capsys: Capture, workspace: RunStore) -> None:
    root = workspace.workspace.root
    assert "No question sets yet" in run(capsys, root, "questions").out
    facts, _ = keep_set(workspace.workspace, _loaded())
    listed = run(capsys, root, "questions")
    assert facts.set_id in listed.out
    assert "2 (ids 1, texts 1, spans 1)" in listed.out
    assert run(capsys, root, "questions", "--json").json[0]["n_references"] == 1
    shown = run(capsys, root, "questions", "show", "sotu")
    assert "Which agency ends cancer?" in shown.out
    assert (
        run(capsys, root, "questions", "show", "sotu", "--json").json["questions"][2]["question"] == "When?"
    )
    assert run(capsys, root, "questions", "show").code == 2
    assert run(capsys, root, "questions", "--delete", "sotu").code == 2  # no terminal to ask at
    assert run(capsys, root, "questions", "--delete", "sotu", "--yes").code == 0
    assert run(capsys, root, "questions", "--json").json == []
