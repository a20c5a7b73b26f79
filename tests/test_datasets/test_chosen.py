"""What goes into a version: read and kept items, their tags, and what is left out and why."""

from __future__ import annotations

from pathlib import Path

import pytest
from dataset_texts import LEAVE, corpus, question_set, windows

from ragtriage.data.chunking.corpus import Corpus, Document
from ragtriage.data.datasets.chosen import ALL, choose, freeze
from ragtriage.data.datasets.dataset import Dataset, create_dataset
from ragtriage.data.datasets.from_questions import read_items
from ragtriage.data.datasets.review import accept, follow_corpus, read_draft, reject
from ragtriage.data.datasets.split import set_split
from ragtriage.data.errors import DataError
from ragtriage.data.scoring.run_store import open_store
from ragtriage.data.store.question_sets import load_set


def _dataset(folder: Path) -> Dataset:
    workspace = open_store(str(folder), create=True).workspace
    dataset = create_dataset(workspace, "rules")
    gold = [
        "Every employee has 28 days of paid leave in a calendar year.",
        "Trains are booked in second class",
        "The door code changes every Monday.",
    ]
    records = [
        {"question_id": f"q{at}", "question": f"What is rule {at}?", "relevant": [{"text": text}]}
        for at, text in enumerate(gold)
    ]
    read = read_items(question_set(*records, {"question_id": "q3", "question": "taxi?"}), windows())
    dataset.add_batch(read.items, corpus(), read.facts)
    return dataset


def test_only_what_people_kept_is_frozen_and_the_rest_is_counted(tmp_path: Path) -> None:
    dataset = _dataset(tmp_path)
    with pytest.raises(DataError, match=r"no item that people read and kept, 4 to read; .* or --unreviewed"):
        choose(read_draft(dataset))
    first, second, *_ = (each.item for each in read_draft(dataset).items)
    accept(dataset, first, "Ada")
    reject(dataset, second, "Ada", "unclear")
    version, facts, chosen = freeze(read_draft(dataset), "Ada")
    assert (version.n_read, facts.n) == (1, 1)
    assert chosen.notes == (
        "left out because nobody has read them: 2",
        "left out because readers or filters rejected them: 1",
    )
    (question,) = load_set(dataset.workspace, version.set_id).questions
    assert question["tags"] == {"reviewed": "true"}


def test_unread_items_are_frozen_on_demand_with_their_tags_and_without_proposals(tmp_path: Path) -> None:
    dataset = _dataset(tmp_path)
    set_split(dataset, 0.5)
    version, facts, chosen = freeze(read_draft(dataset), "Ada", unreviewed=True, part=ALL)
    questions = load_set(dataset.workspace, version.set_id).questions
    assert (facts.n, version.n_read, chosen.without_gold) == (4, 0, 1)
    assert {question["tags"]["reviewed"] for question in questions} == {"false"}
    assert {question["tags"]["split"] for question in questions} == {"dev", "test"}
    assert not any("proposed" in question.get("dataset", {}) for question in questions)
    again, *_ = freeze(read_draft(dataset), "Ada", unreviewed=True, part=ALL)
    assert again.version == version.version


def test_a_version_of_the_test_part_has_no_dev_question(tmp_path: Path) -> None:
    dataset = _dataset(tmp_path)
    with pytest.raises(DataError, match="is not split"):
        choose(read_draft(dataset), unreviewed=True, part="test")
    set_split(dataset, 0.5)
    draft = read_draft(dataset)
    parts = [choose(draft, unreviewed=True, part=part).items for part in ("dev", "test")]
    assert [{item.tags["split"] for item in items} for items in parts] == [{"dev"}, {"test"}]
    assert sum(map(len, parts)) == len(draft.items)
    set_split(dataset, 0.001)
    with pytest.raises(DataError, match="none of its 4 items is dev"):
        choose(draft, unreviewed=True, part="dev")


def _apply(dataset: Dataset, new: Corpus) -> None:
    items = [each.item for each in read_draft(dataset).items]
    follow_corpus(dataset, items, new, "Ada")


def test_gold_that_is_gone_from_the_corpus_stays_out_of_a_version(tmp_path: Path) -> None:
    dataset = _dataset(tmp_path)
    for each in read_draft(dataset).items:
        accept(dataset, each.item, "Ada")
    leave = LEAVE.replace("paid leave in a calendar", "paid leave in a\n calendar")
    _apply(dataset, corpus(house="# House\n\nNothing is left of it.\n", leave=f"Preface.\n\n{leave}"))
    states = {each.item.question_id: each.state for each in read_draft(dataset).items}
    # other spaces and another place change nothing that was decided, and gold that is gone does
    assert states == {"q0": "kept", "q1": "kept", "q2": "stale", "q3": "kept"}
    chosen = choose(read_draft(dataset), unreviewed=True)
    assert chosen.gone == 1
    moved = next(item for item in chosen.items if item.question_id == "q0")
    text = dataset.corpus().by_name["leave"].text
    assert text[moved.spans[0].start : moved.spans[0].end] == moved.spans[0].quote


def test_why_nothing_is_left_is_said_by_its_cause(tmp_path: Path) -> None:
    dataset = _dataset(tmp_path)
    last = read_draft(dataset).items[3].item
    reject(dataset, last, "Ada", "unclear")
    _apply(dataset, Corpus("rules", (Document("other", "Nothing of it."),)))
    with pytest.raises(DataError, match="the gold of all 3 items left is gone") as gone:
        choose(read_draft(dataset), unreviewed=True)
    for each in read_draft(dataset).items:
        reject(dataset, each.item, "Ada", "gold")
    with pytest.raises(DataError, match="rejected all of its 4 items; accepted: more questions") as rejected:
        choose(read_draft(dataset), unreviewed=True)
    assert "--unreviewed" not in f"{gone.value} {rejected.value}"


def test_items_on_another_version_of_the_corpus_are_refused(tmp_path: Path) -> None:
    dataset = _dataset(tmp_path)
    with pytest.raises(DataError, match=r"check .* CORPUS --apply"):
        dataset.add_batch([], corpus(house="# House\n\nThe lift is new.\n"), {})


def test_a_split_dataset_is_frozen_as_its_test_part(tmp_path: Path) -> None:
    dataset = _dataset(tmp_path)
    set_split(dataset, 0.5)
    draft = read_draft(dataset)
    _, test_part, chosen = freeze(draft, "ann", unreviewed=True)
    assert chosen.dev == 0
    assert {item.tags["split"] for item in chosen.items} == {"test"}
    _, whole, both = freeze(draft, "ann", unreviewed=True, part=ALL)
    assert test_part.n == len(chosen.items) < whole.n == len(draft.items)
    assert both.dev == whole.n - test_part.n
