"""Gold passages of a question set found in a corpus: verbatim, folded, as documents, or not at all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command_line import run

from ragtriage.data.chunking.corpus import Corpus, Document
from ragtriage.data.chunking.questions import questions_of_set
from ragtriage.data.errors import DataError, ValidationErrors
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.parsed_run import ParsedRun
from ragtriage.data.store.question_sets import LoadedSet, keep_set, parsed_set
from ragtriage.data.text.tokens import FoldedText, folded, folded_question

Capture = pytest.CaptureFixture[str]
#         0         1         2         3
#         0123456789012345678901234567890123456789
FIRST = "Bonn was the capital.\r\n\r\nIt is on the Rhine."
SECOND = "Ships load\n\tat  the quay. Bread. Bread."
CORPUS = Corpus("towns", (Document("bonn", FIRST), Document("port", SECOND), Document("empty", " ")))


def _set(*gold: dict[str, Any], **others: Any) -> LoadedSet:
    record = {"question_id": "q", "question": "Where?", "relevant": list(gold), **others}
    return _sets([record])


def _sets(records: list[dict[str, Any]]) -> LoadedSet:
    errors = ValidationErrors("q.jsonl")
    return parsed_set(ParsedRun("towns", enumerate(records, 1), "q.jsonl", "native"), errors)


def _spans(*gold: dict[str, Any], **others: Any) -> list[tuple[str, int, int]]:
    (record,) = questions_of_set(_set(*gold, **others), CORPUS).records
    return [(span["doc_id"], span["start"], span["end"]) for span in record["relevant_spans"]]


@pytest.mark.parametrize(
    ("gold", "span"),
    [
        ({"text": "the capital."}, ("bonn", 9, 21)),  # verbatim
        ({"text": "capital. It is on"}, ("bonn", 13, 33)),  # CRLF and a blank line in the corpus
        ({"text": "  Ships load at\nthe quay. "}, ("port", 0, 25)),
        ({"id": "bonn"}, ("bonn", 0, 44)),  # by its id alone: the document
        ({"id": "port", "text": "Bread."}, ("port", 26, 32)),  # in the document of its id
        ({"id": "elsewhere", "text": "Rhine."}, ("bonn", 38, 44)),
        ({"id": "bonn", "text": "quay."}, ("port", 20, 25)),  # not in that document, but in another
    ],
)
def test_a_passage_is_found(gold: dict[str, Any], span: tuple[str, int, int]) -> None:
    assert _spans(gold) == [span]


def test_a_passage_is_not_found_across_documents_or_in_other_case() -> None:
    (record,) = questions_of_set(
        _set({"text": "Rhine. Ships"}, {"text": "BREAD."}, {"id": "bonn"}), CORPUS
    ).records
    assert len(record["relevant_spans"]) == 1


def test_equal_passages_are_one_span_and_grade_0_is_no_gold() -> None:
    same = [{"id": "a", "text": "Rhine."}, {"id": "b", "text": "Rhine."}]
    assert _spans(*same, {"text": "quay.", "grade": 0}) == [("bonn", 38, 44)]


def test_spans_of_the_set_are_taken_before_texts() -> None:
    spans = [{"doc_id": "bonn", "start": 0, "end": 4}]
    assert _spans({"text": "quay."}, relevant_spans=spans) == [("bonn", 0, 4)]


def test_what_is_found_and_what_not_is_counted() -> None:
    loaded = _sets(
        [
            {"question": "Both?", "relevant": [{"text": "Rhine."}, {"text": "Ships load at the quay."}]},
            {"question": "Half?", "relevant": [{"text": "Bread."}, {"text": "Not there."}]},
            {"question": "Lost?", "relevant": [{"id": "empty"}]},
            {"question": "Outside?", "relevant_spans": [{"doc_id": "bonn", "start": 40, "end": 45}]},
            {"question": "Nothing?"},
        ]
    )
    questions = questions_of_set(loaded, CORPUS)
    assert questions.notes == (
        "gold passages found in the corpus: 3 of 6 (2 verbatim, 1 with whitespace folded)",
        "gold passages that the corpus holds more than once: 1",
        "scored on the part of their gold that was found: 1",
        "not scored because none of their gold is in this corpus: 2",
        "not scored because they name no gold: 1",
    )
    assert [len(record["relevant_spans"]) for record in questions.records] == [2, 1, 0, 0, 0]


def test_a_set_about_another_corpus_is_refused() -> None:
    with pytest.raises(
        DataError, match="question set towns: has gold for 1 of 1 questions, and none of it is in"
    ):
        questions_of_set(_set({"text": "Not there."}), CORPUS)


@pytest.mark.parametrize("text", ["", "one", " a \n\n b\t c ", "\u00a0wide\u2003space\u3000"])
def test_folded_text_finds_every_word_where_it_stands(text: str) -> None:
    for word in text.split():
        start, end = FoldedText(text).find(word) or (0, 0)
        assert text[start:end] == word
    assert FoldedText(text).find(folded(text)) == (
        (text.index(text.split(maxsplit=1)[0]), len(text.rstrip())) if text.split() else None
    )


def test_questions_are_compared_without_case_and_whitespace() -> None:
    assert folded_question(" Who\nspoke? ") == folded_question("who SPOKE?")


def test_the_grid_takes_a_set_by_name_and_a_file_of_texts(
    capsys: Capture, workspace: RunStore, tmp_path: Path
) -> None:
    folder = tmp_path / "corpus"
    folder.mkdir()
    (folder / "bonn.md").write_bytes(FIRST.encode())
    records = [{"question": "Which river?", "relevant": [{"text": "capital. It is on the Rhine."}]}]
    keep_set(workspace.workspace, _sets(records))
    words = ("grid", str(folder), "--sizes", "8", "--overlaps", "0", "--json", "--questions")
    root = workspace.workspace.root
    by_name = run(capsys, root, *words, "towns")
    assert by_name.code == 0
    assert "gold passages found in the corpus: 1 of 1 (1 with whitespace folded)" in by_name.err
    file = tmp_path / "towns.jsonl"
    file.write_text(json.dumps({"question": "Which river?", "relevant": [{"text": "It is on the Rhine."}]}))
    by_file = run(capsys, root, *words, str(file))
    assert by_file.code == 0
    assert by_name.json["grid"] != by_file.json["grid"]
    missing = run(capsys, root, *words, "nothing")
    assert missing.code == 2
    assert "no question set 'nothing'" in missing.err
    assert missing.err.count("\n") == 1
