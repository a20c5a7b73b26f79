"""Each form is written and read again: the same questions with the same gold, or the loss is said."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

import pytest
from dataset_texts import HOUSE, LEAVE, TRAVEL, corpus, windows

from ragtriage.data.datasets.exports import FORMS, Export, losses, write_export
from ragtriage.data.datasets.from_questions import open_source, read_items
from ragtriage.data.datasets.item import GoldSpan, Item
from ragtriage.data.errors import DataError
from ragtriage.data.importers.importer import Peek
from ragtriage.data.importers.load import read_question_file
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.registry import candidates
from ragtriage.data.scoring.run_store import open_store

TEXTS = {"leave": LEAVE, "travel": TRAVEL, "house": HOUSE}


def _gold(doc_id: str, quote: str, hop: str = "") -> GoldSpan:
    start = TEXTS[doc_id].index(quote)
    return GoldSpan(doc_id, start, start + len(quote), quote, hop)


ITEMS = (
    Item(
        "q-1",
        'How many days of "paid" leave, | and until when?\n(in a year)',
        "28 days",
        "single",
        (_gold("leave", "Every employee has 28 days of paid leave in a calendar year."),),
        tags={"split": "test", "reviewed": "true"},
    ),
    Item(
        "q-2",
        "Which class do I book to see whom for a key?",
        "Second class; Oskar Lindt",
        "multi-hop",
        (
            _gold("travel", "Trains are booked in second class"),
            _gold("house", "Oskar Lindt keeps the spare keys on floor 3."),
        ),
        claims=("Trains are second class.", "Oskar Lindt has the keys."),
        history=(("user", "I travel tomorrow."), ("assistant", "Where to?")),
        tags={"split": "test"},
    ),
    Item("q-3", "May I bring a dog?", "", "unanswerable", (), "no", tags={"split": "dev"}),
)


def _export(items: Collection[Item] = ITEMS) -> Export:
    return Export("rules", tuple(items), corpus(), "# rules\n")


def _comparable(item: Item) -> tuple[object, ...]:
    hops = sorted(
        sorted((span.doc_id, span.start, span.end, span.quote) for span in spans)
        for spans in item.hops.values()
    )
    return (
        item.question_id,
        item.question,
        item.answer,
        item.kind,
        item.answerable,
        hops,
        item.claims,
        item.history,
        dict(item.tags),
    )


def _again(path: Path, folder: Path) -> list[Item]:
    store = open_store(str(folder / "workspace"), create=True)
    return list(read_items(open_source(store, str(path), corpus()), windows()).items)


@pytest.mark.parametrize("to", FORMS)
def test_the_same_questions_and_gold_come_back(to: str, tmp_path: Path) -> None:
    path = tmp_path / (
        "out" if FORMS[to].place == "folder" else "out" + FORMS[to].place.removeprefix("file ")
    )
    write_export(_export(), to, str(path))
    read = {item.question_id: item for item in _again(path, tmp_path)}
    assert [_comparable(read[item.question_id]) for item in ITEMS] == list(map(_comparable, ITEMS))


@pytest.mark.parametrize(
    ("to", "key"),
    [
        ("mteb", "beir_questions"),
        ("promptfoo", "promptfoo_tests"),
        ("parquet", "hub_questions"),
        ("deepeval", "deepeval_goldens"),
        ("ragas", "ragas_testset"),
        ("llamaindex", "llamaindex_rag"),
        ("native", "native_questions"),
    ],
)
def test_each_file_is_recognised_as_what_it_is(to: str, key: str, tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl" if to in ("native", "ragas") else tmp_path / "out"
    write_export(_export(), to, str(path))
    peek = Peek(InputFile.from_path(path))
    assert next(importer.key for importer in candidates(peek) if importer.detect(peek)) == key


def test_alternatives_stay_in_the_native_form_and_their_loss_is_said_elsewhere(tmp_path: Path) -> None:
    note = "Sick leave needs a doctor's note from the third day."
    item = Item(
        "q",
        "When is a note needed?",
        "From day 3",
        spans=(_gold("leave", note, "1"), _gold("travel", note, "1")),
    )
    export = _export([item])
    assert losses(export, "native") == []
    write_export(export, "native", str(tmp_path / "native.jsonl"))
    (read,) = _again(tmp_path / "native.jsonl", tmp_path)
    assert [(span.doc_id, span.start, span.hop) for span in read.spans] == [
        (span.doc_id, span.start, "1") for span in item.spans
    ]
    assert "2" not in losses(export, "ragas")[0]
    assert "1 other place of gold left out" in losses(export, "ragas")[0]
    assert "count as needed there" in losses(export, "beir")[0]
    write_export(export, "ragas", str(tmp_path / "out.jsonl"))
    assert len(json.loads((tmp_path / "out.jsonl").read_text("utf-8"))["reference_contexts"]) == 1


def test_a_test_that_could_not_fail_is_left_out_and_that_is_said(tmp_path: Path) -> None:
    bare = Item("bare", "Who has the keys?", spans=ITEMS[0].spans)
    export = _export([*ITEMS, bare])
    assert losses(export, "promptfoo") == [
        "promptfoo tests need an answer to check: 1 question without one left out."
    ]
    assert losses(_export(), "promptfoo") == []
    write_export(export, "promptfoo", str(tmp_path / "out.json"))
    tests = json.loads((tmp_path / "out.json").read_text("utf-8"))
    assert [test["description"] for test in tests] == [item.question_id for item in ITEMS]
    assert all(test["assert"][0]["value"] for test in tests)


def test_each_question_of_a_llamaindex_file_has_its_own_author(tmp_path: Path) -> None:
    made = replace(ITEMS[0], origin={"by": "model", "model": "writer-1"})
    write_export(_export([made, ITEMS[1]]), "llamaindex", str(tmp_path / "out.json"))
    examples = json.loads((tmp_path / "out.json").read_text("utf-8"))["examples"]
    assert [each["query_by"] for each in examples] == [
        {"model_name": "writer-1", "type": "ai"},
        {"model_name": "", "type": "human"},
    ]
    assert [each["reference_answer_by"] for each in examples] == [each["query_by"] for each in examples]


def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine", "utf-8")
    with pytest.raises(DataError, match="is there already"):
        write_export(_export(), "beir", str(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_an_id_that_qrels_cannot_hold_is_refused(tmp_path: Path) -> None:
    item = Item("q\t1", "How many days?", "28", spans=ITEMS[0].spans)
    with pytest.raises(DataError, match="holds a tab or a line break"):
        write_export(_export([item]), "beir", str(tmp_path / "out"))
    assert not (tmp_path / "out").exists()


def test_beir_has_a_line_for_each_document_with_gold_by_part(tmp_path: Path) -> None:
    write_export(_export(), "beir", str(tmp_path / "out"))
    assert (tmp_path / "out" / "qrels" / "test.tsv").read_text("utf-8").splitlines() == [
        "query-id\tcorpus-id\tscore",
        "q-1\tleave\t1",
        "q-2\ttravel\t1",
        "q-2\thouse\t1",
    ]
    assert (tmp_path / "out" / "qrels" / "dev.tsv").read_text("utf-8") == "query-id\tcorpus-id\tscore\n"


def test_tests_of_promptfoo_as_people_write_them_become_questions(tmp_path: Path) -> None:
    tests = [
        {
            "vars": {"query": "How many days?"},
            "assert": [{"type": "contains", "value": "28"}],
            "metadata": {"area": "leave"},
        },
        {
            "description": "taxi",
            "vars": {"query": "Taxi?"},
            "assert": [{"type": "javascript", "value": "true"}],
        },
    ]
    (tmp_path / "promptfooconfig.json").write_text(
        json.dumps({"prompts": ["{{query}}"], "tests": tests}), "utf-8"
    )
    loaded = read_question_file(InputFile.from_path(tmp_path / "promptfooconfig.json"))
    assert loaded.facts.origin["format"] == "promptfoo_tests"
    first, second = loaded.questions
    assert (first["question"], first["reference_answer"], first["tags"]) == (
        "How many days?",
        "28",
        {"area": "leave"},
    )
    assert (second["question_id"], second.get("reference_answer")) == ("taxi", None)
