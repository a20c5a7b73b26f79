"""A dataset of a workspace: batches, decisions and their history, versions, hostile names, damage."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from handbook_items import handbook_corpus, handbook_items

from ragtriage.data.chunking.corpus import Corpus, Document
from ragtriage.data.datasets.dataset import Dataset, create_dataset, datasets, delete_dataset, find_dataset
from ragtriage.data.datasets.item import GoldSpan, Item
from ragtriage.data.datasets.review import (
    accept,
    add_gold,
    edit,
    events_of,
    move,
    read_draft,
    reject,
    undo,
)
from ragtriage.data.errors import DataError, WorkspaceError
from ragtriage.data.store.question_sets import load_set
from ragtriage.data.store.workspace import Workspace

TEXT = "The café opens at 9. 🚪 It closes at 18:00, on Sundays too.\r\n"
CORPUS = Corpus("café", (Document("hours", TEXT),))
GOLD = GoldSpan("hours", 0, 20, TEXT[:20])
FIRST = Item("a", "When does the café open?", "At 9.", "single", (GOLD,))
SECOND = Item(
    "b", "When does the café close?", "At 18:00.", "single", (GoldSpan("hours", 23, 44, TEXT[23:44]),)
)


@pytest.fixture
def dataset(tmp_path: Path) -> Dataset:
    made = create_dataset(Workspace.open(str(tmp_path), create=True), "café  questions")
    made.add_batch([FIRST, SECOND], CORPUS, {"by": "file"})
    return made


def _states(dataset: Dataset) -> list[str]:
    return [each.state for each in read_draft(dataset).items]


def test_decisions_follow_each_other_and_can_be_undone(dataset: Dataset) -> None:
    assert _states(dataset) == ["to read", "to read"]
    accept(dataset, FIRST, "ann")
    reject(dataset, SECOND, " ann ", "unclear")
    assert _states(dataset) == ["kept", "rejected"]
    edit(dataset, replace(SECOND, question="When does the café close at night?"), "ann")
    assert _states(dataset) == ["kept", "edited"]
    draft = read_draft(dataset)
    assert (draft.n_read, [item.question_id for item in draft.golden], draft.readers) == (
        2,
        ["a", "b"],
        ["ann"],
    )
    assert undo(dataset, "ann") == ("b", "edit")
    assert undo(dataset, "ann") == ("b", "reject")
    assert undo(dataset, "bob") is None
    assert _states(dataset) == ["kept", "to read"]
    assert [event.undone_at is None for event in events_of(dataset)] == [True, False, False]


def test_two_readers_are_blind_to_each_other_and_may_disagree(dataset: Dataset) -> None:
    accept(dataset, FIRST, "ann")
    reject(dataset, FIRST, "bob", "answer")
    item = read_draft(dataset).items[0]
    assert item.state == "disputed"
    assert (item.state_for("ann"), item.state_for("bob"), item.state_for("eve")) == (
        "kept",
        "rejected",
        "to read",
    )
    assert not item.golden


def test_a_decision_holds_only_for_what_was_decided_on(dataset: Dataset) -> None:
    accept(dataset, FIRST, "ann")
    changed = add_gold(dataset, FIRST, GoldSpan("hours", 45, 60, TEXT[45:60]), "bob")
    assert [span.hop for span in changed.spans] == ["1", "1"]
    assert _states(dataset)[0] == "stale"
    accept(dataset, changed, "ann")
    assert _states(dataset)[0] == "edited"
    # a move of gold whose text is the same leaves the decision as it is
    moved = replace(
        changed, spans=tuple(replace(span, start=span.start + 5, end=span.end + 5) for span in changed.spans)
    )
    move(dataset, [moved], "dataset check")
    assert _states(dataset)[0] == "edited"
    assert read_draft(dataset).items[0].item.spans[0].start == 5


def test_what_a_filter_rejected_stays_out_until_a_reader_accepts_it(tmp_path: Path) -> None:
    made = create_dataset(Workspace.open(str(tmp_path), create=True), "filtered")
    out = replace(SECOND, rejected_by="copied", reason="9 words in a row")
    made.add_batch([FIRST, out], CORPUS, {})
    draft = read_draft(made)
    assert [each.state for each in draft.items] == ["to read", "filtered"]
    assert [each.item.question_id for each in draft.offered] == ["a"]
    accept(made, out, "ann")
    assert [each.item.question_id for each in read_draft(made).offered] == ["a", "b"]


def test_versions_are_question_sets_with_the_corpus_and_never_change(dataset: Dataset) -> None:
    first, facts = dataset.freeze([FIRST, SECOND], 0, "ann")
    again, _ = dataset.freeze([FIRST, SECOND], 2, "ann")
    assert (first.version, again.version, facts.n, facts.n_documents) == (1, 1, 2, 1)
    second, _ = dataset.freeze([FIRST], 1, "ann")
    assert [version.version for version in dataset.versions()] == [1, 2]
    loaded = load_set(dataset.workspace, second.set_id)
    assert [Item.from_question(question).content_hash for question in loaded.questions] == [
        FIRST.content_hash
    ]
    with pytest.raises(DataError, match="nothing to freeze"):
        dataset.freeze([], 0, "ann")


def test_the_same_batch_adds_nothing_and_an_id_is_that_of_one_item(dataset: Dataset) -> None:
    dataset.add_batch([FIRST, SECOND], CORPUS, {"by": "file"})
    assert len(read_draft(dataset).items) == 2
    with pytest.raises(DataError, match="has items a already"):
        dataset.add_batch([replace(FIRST, question="Another one?")], CORPUS, {})


def test_the_handbook_keeps_every_character_of_its_items(tmp_path: Path) -> None:
    made = create_dataset(Workspace.open(str(tmp_path), create=True), "handbook")
    made.add_batch(handbook_items(), handbook_corpus(), {})
    assert [each.item for each in read_draft(made).items] == list(handbook_items())
    assert made.corpus().version == handbook_corpus().version


@pytest.mark.parametrize(
    "name", ["../../etc", "a/b", "x" * 120, "'; DROP TABLE dataset_events; --", "<b>bold</b>"]
)
def test_a_name_is_never_a_path_or_a_statement(tmp_path: Path, name: str) -> None:
    workspace = Workspace.open(str(tmp_path / "workspace"), create=True)
    made = create_dataset(workspace, name)
    assert made.folder.parent == workspace.root / "datasets"
    assert find_dataset(workspace, name) == made
    made.add_batch([FIRST], CORPUS, {})
    accept(made, FIRST, name)
    assert read_draft(made).readers == [name]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["workspace"]


def test_damage_is_said_and_nothing_else_is_lost(dataset: Dataset) -> None:
    other = create_dataset(dataset.workspace, "other")
    batch = dataset.batches()[0]
    path = dataset.folder / "batches" / batch.batch_id / "items.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-1]))  # an item less would be a smaller set without a word
    with pytest.raises(WorkspaceError, match="items were changed"):
        read_draft(dataset)
    path.write_text('{"question_id": "a"}\n')
    with pytest.raises(WorkspaceError, match="cannot be read"):
        read_draft(dataset)
    (dataset.folder / "dataset.json").write_text("{")
    assert datasets(dataset.workspace) == [other]
    corpus = other.folder / "corpora" / CORPUS.version
    other.keep_corpus(CORPUS, "ann")
    (corpus / "corpus.jsonl").write_text(
        json.dumps({"doc_id": "hours", "text": "x", "title": "", "file": ""})
    )
    with pytest.raises(WorkspaceError, match="were changed"):
        other.corpus()
    with pytest.raises(WorkspaceError, match="accepted: one of other"):
        find_dataset(dataset.workspace, "café questions")


def test_a_question_with_nothing_but_its_words_is_frozen(dataset: Dataset) -> None:
    version, _ = dataset.freeze([Item("bare", "When?")], 0, "ann")
    (question,) = load_set(dataset.workspace, version.set_id).questions
    assert question["dataset"]["corpus_version"] == CORPUS.version


def test_a_deleted_dataset_leaves_its_versions(dataset: Dataset) -> None:
    version, _ = dataset.freeze([FIRST], 1, "ann")
    delete_dataset(dataset)
    assert datasets(dataset.workspace) == []
    assert load_set(dataset.workspace, version.set_id).facts.n == 1


def test_a_new_dataset_of_a_deleted_ones_name_inherits_no_decision_and_goes_on_counting(
    dataset: Dataset,
) -> None:
    accept(dataset, FIRST, "ann")
    old, _ = dataset.freeze([FIRST], 1, "ann")
    delete_dataset(dataset)
    new = create_dataset(dataset.workspace, dataset.name)
    assert (new.corpus_version, events_of(new)) == ("", [])
    new.add_batch([FIRST], CORPUS, {})
    assert read_draft(new).items[0].state == "to read"
    version, _ = new.freeze([replace(FIRST, question="Another?")], 0, "ann")
    assert (old.version, version.version) == (1, 2)


@pytest.mark.parametrize(("who", "reason"), [("", "twin"), ("ann", "because")])
def test_a_decision_needs_a_name_and_a_known_reason(dataset: Dataset, who: str, reason: str) -> None:
    with pytest.raises(DataError, match="accepted"):
        reject(dataset, FIRST, who, reason)
    assert events_of(dataset) == []


def test_a_key_pressed_twice_is_one_decision(dataset: Dataset) -> None:
    accept(dataset, FIRST, "ann")
    accept(dataset, FIRST, "ann")
    assert len(events_of(dataset)) == 1
    assert undo(dataset, "ann") == ("a", "accept")
    accept(dataset, FIRST, "ann")
    assert _states(dataset)[0] == "kept"


def test_nobody_s_change_is_lost_on_an_older_screen(dataset: Dataset) -> None:
    worded = replace(FIRST, question="At what time does the café open?")
    edit(dataset, worded, "ann", FIRST)
    place = GoldSpan("hours", 45, 60, TEXT[45:60])
    with pytest.raises(DataError, match="ann changed it meanwhile"):
        add_gold(dataset, FIRST, place, "bob")
    with pytest.raises(DataError, match="ann changed it meanwhile"):
        edit(dataset, replace(FIRST, answer="At nine."), "bob", FIRST)
    changed = add_gold(dataset, worded, place, "bob")
    assert read_draft(dataset).items[0].item == changed
    # what Bob did rests on Ann's wording
    with pytest.raises(DataError, match="bob changed it since"):
        undo(dataset, "ann")
    assert undo(dataset, "bob") == ("a", "gold")
    assert undo(dataset, "ann") == ("a", "edit")
    assert read_draft(dataset).items[0].item == FIRST


def test_a_move_to_another_corpus_is_nobody_s_to_undo(dataset: Dataset) -> None:
    accept(dataset, FIRST, "ann")
    moved = replace(FIRST, spans=(replace(GOLD, start=1, end=21),))
    move(dataset, [moved], "ann")
    assert undo(dataset, "ann") == ("a", "accept")
    assert read_draft(dataset).items[0].item.spans[0].start == 1


def test_the_same_questions_on_another_corpus_are_another_version(dataset: Dataset) -> None:
    first, _ = dataset.freeze([FIRST], 1, "ann")
    more = Corpus("café", (*CORPUS.documents, Document("menu", "Soup of the day.")))
    dataset.keep_corpus(more, "ann")
    second, facts = dataset.freeze([FIRST], 1, "ann")
    assert (second.version, second.corpus_version, facts.corpus_version) == (2, more.version, more.version)
    assert facts.n_documents == 2
    assert second.set_id != first.set_id
    again, _ = dataset.freeze([FIRST], 1, "ann")
    assert again.version == 2


def test_what_readers_rejected_does_not_stand(dataset: Dataset) -> None:
    reject(dataset, FIRST, "ann", "twin")
    draft = read_draft(dataset)
    assert [each.item.question_id for each in draft.offered] == ["a", "b"]
    assert [each.item.question_id for each in draft.standing] == ["b"]


@pytest.mark.parametrize("name", ["", "  ", "x" * 121, "caf\udce9"])
def test_a_name_that_no_list_could_show_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(DataError, match="accepted: text of at most 120"):
        create_dataset(Workspace.open(str(tmp_path), create=True), name)


def test_two_datasets_of_the_same_questions_have_versions_of_their_own(dataset: Dataset) -> None:
    other = create_dataset(dataset.workspace, "other")
    other.add_batch([FIRST, SECOND], CORPUS, {"by": "file"})
    _, first = dataset.freeze([FIRST], 1, "ann")
    _, second = other.freeze([FIRST], 1, "ann")
    assert (first.name, second.name) == ("café questions v1", "other v1")
    with pytest.raises(DataError, match="needs the name"):
        other.freeze([FIRST], 1, " ")


def test_versions_frozen_at_once_are_one_version_or_two_numbers(dataset: Dataset) -> None:
    kept = [[FIRST], [FIRST], [SECOND], [FIRST, SECOND]]
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda items: dataset.freeze(items, 0, "ann")[0], kept))
    numbers = [version.version for version in dataset.versions()]
    assert numbers == list(range(1, len(numbers) + 1))
    assert {version.set_id for version in made} == {version.set_id for version in dataset.versions()}
    assert len({version.set_id for version in made}) == 3
