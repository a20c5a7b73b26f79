"""The commands of `ragtriage dataset` that bring questions in and make versions of them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from command_line import run
from dataset_texts import HOUSE, LEAVE, TRAVEL

from ragtriage.data.api import add_run
from ragtriage.data.chunking.corpus import read_corpus
from ragtriage.data.datasets.dataset import create_dataset, find_dataset
from ragtriage.data.datasets.item import GoldSpan, Item
from ragtriage.data.datasets.review import accept, read_draft, reject
from ragtriage.data.scoring.run_store import open_store

QUESTIONS = (
    {"question_id": "q1", "question": "How many days of leave are there?", "relevant": [{"text": "28 days"}]},
    {
        "question_id": "q2",
        "question": "When does the door code change?",
        "relevant": [{"text": "The door code changes every Monday."}],
    },
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "rules").mkdir()
    for name, text in (("leave", LEAVE), ("travel", TRAVEL), ("house", HOUSE)):
        (tmp_path / "rules" / f"{name}.md").write_text(text, "utf-8")
    lines = (json.dumps(question) + "\n" for question in QUESTIONS)
    (tmp_path / "asked.jsonl").write_text("".join(lines), "utf-8")
    return tmp_path


def test_from_questions_to_a_version_that_a_grid_takes(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    workspace, rules = folder / "workspace", str(folder / "rules")
    made = run(capsys, workspace, "dataset", "from-questions", str(folder / "asked.jsonl"), rules, "--json")
    assert (made.code, made.json["items"], made.json["gold"]["gold"]) == (0, 2, 2)
    refused = run(capsys, workspace, "dataset", "freeze", "asked")
    assert refused.code == 2
    assert "--unreviewed" in refused.err
    frozen = run(capsys, workspace, "dataset", "freeze", "asked", "--unreviewed", "--json")
    assert (frozen.json["version"], frozen.json["n"], frozen.json["n_read"]) == (1, 2, 0)
    words = ("grid", rules, "--questions", "asked v1", "--sizes", "64", "--overlaps", "0", "--json")
    assert run(capsys, workspace, *words).code == 0


def test_check_ends_with_1_where_gold_changed_and_applies_the_new_corpus(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    workspace, rules = folder / "workspace", folder / "rules"
    run(capsys, workspace, "dataset", "from-questions", str(folder / "asked.jsonl"), str(rules))
    same = run(capsys, workspace, "dataset", "check", "asked", str(rules))
    assert same.code == 0
    assert "of 2 spans 2 same, 0 moved, 0 changed, 0 gone" in same.out
    (rules / "house.md").write_text("# House\n\nNo code any more.\n", "utf-8")
    (rules / "leave.md").write_text(f"Read this first.\n\n{LEAVE}", "utf-8")
    changed = run(capsys, workspace, "dataset", "check", "asked", str(rules), "--apply", "--json")
    assert changed.code == 1
    assert changed.json["spans"] == {"same": 0, "moved": 1, "changed": 0, "gone": 1}
    assert changed.json["to_read"] == ["q2"]
    frozen = run(capsys, workspace, "dataset", "freeze", "asked", "--unreviewed")
    assert "1 question," in frozen.out
    assert "gold is gone from the corpus: 1" in frozen.out


def test_what_readers_and_filters_rejected_follows_a_corpus_and_asks_for_nothing(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    workspace, rules = folder / "workspace", folder / "rules"
    store = open_store(str(workspace), create=True)
    dataset = create_dataset(store.workspace, "asked")
    corpus = read_corpus([str(rules)])
    quotes = [("house", "The door code changes every Monday."), ("leave", "28 days"), ("leave", "Bremen")]
    items = []
    for at, (doc_id, quote) in enumerate(quotes):
        start = corpus.by_name[doc_id].text.index(quote)
        span = GoldSpan(doc_id, start, start + len(quote), quote)
        items.append(Item(f"q{at}", f"Question {at}?", quote, "single", (span,)))
    dataset.add_batch([*items[:2], replace(items[2], rejected_by="twin", reason="0.9")], corpus, {})
    reject(dataset, items[0], "Ada", "unclear")
    split = run(capsys, workspace, "dataset", "split", "asked", "--json")
    assert split.json["dev"] + split.json["test"] == 1, "rejected items are on no side"
    (rules / "house.md").write_text("# House\n\nNo code any more.\n", "utf-8")
    (rules / "leave.md").write_text(f"Read this first.\n\n{LEAVE}", "utf-8")
    for words in ((), ("--apply",)):
        changed = run(capsys, workspace, "dataset", "check", "asked", str(rules), *words, "--json")
        assert changed.code == 0
        assert (changed.json["spans"]["moved"], changed.json["to_read"]) == (1, [])
    rejected, moved, filtered = read_draft(dataset).items
    assert [each.state for each in (rejected, moved, filtered)] == ["rejected", "to read", "filtered"]
    texts = dataset.corpus().by_name
    for item in (moved.item, filtered.item):
        (span,) = item.spans
        assert texts[span.doc_id].text[span.start : span.end] == span.quote


def test_a_deleted_dataset_is_gone_and_leaves_its_versions(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    workspace = folder / "workspace"
    run(capsys, workspace, "dataset", "from-questions", str(folder / "asked.jsonl"), str(folder / "rules"))
    run(capsys, workspace, "dataset", "freeze", "asked", "--unreviewed")
    assert run(capsys, workspace, "dataset", "delete", "asked", "--yes").out == "Deleted asked.\n"
    assert run(capsys, workspace, "dataset", "list", "--json").json == []
    assert run(capsys, workspace, "dataset", "card", "asked").code == 2
    assert run(capsys, workspace, "questions", "show", "asked v1").code == 0


def test_export_and_card_say_what_was_left_out(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    workspace = folder / "workspace"
    run(capsys, workspace, "dataset", "from-questions", str(folder / "asked.jsonl"), str(folder / "rules"))
    dataset = find_dataset(open_store(str(workspace)).workspace, "asked")
    accept(dataset, read_draft(dataset).items[0].item, "Ada")
    out = folder / "out.jsonl"
    written = run(capsys, workspace, "dataset", "export", "asked", str(out))
    assert written.err.splitlines() == [
        f"Wrote 1 question as native questions: {out}.",
        "left out because nobody has read them: 1",
    ]
    card = run(capsys, workspace, "dataset", "card", "asked")
    assert card.err == "left out because nobody has read them: 1\n"
    assert "left out" not in card.out
    run(capsys, workspace, "dataset", "freeze", "asked")
    assert run(capsys, workspace, "dataset", "card", "asked", "--frozen", "1").err == ""


def test_documents_of_runs_that_are_not_in_the_corpus_are_counted(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    workspace, words = folder / "workspace", ("dataset", "from-questions", str(folder / "asked.txt"))
    (folder / "asked.txt").write_text("which class on trains\n", "utf-8")
    retrieved = [{"id": "a", "text": "Trains are booked in second class"}, {"id": "b", "text": "Nowhere."}]
    add_run([{"question": "which class on trains", "retrieved": retrieved}], "one", "p", str(workspace))
    made = run(capsys, workspace, *words, str(folder / "rules"), "--run", "one")
    assert "retrieved documents to judge: 1 of 2; the others are not in the corpus" in made.out
    card = run(capsys, workspace, "dataset", "card", "asked", "--unreviewed")
    assert "- retrieved documents not located in the corpus: 1" in card.out


def test_split_tells_who_changed_sides_and_leakage_ends_with_1(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    workspace = folder / "workspace"
    run(capsys, workspace, "dataset", "from-questions", str(folder / "asked.jsonl"), str(folder / "rules"))
    first = run(capsys, workspace, "dataset", "split", "asked", "--dev", "0.01", "--json")
    assert (first.json["dev"], first.json["test"], first.json["before"]) == (0, 2, None)
    second = run(capsys, workspace, "dataset", "split", "asked", "--dev", "0.99", "--json")
    assert (second.json["dev"], second.json["changed"]) == (2, 2)
    (folder / "examples.txt").write_text("when does the door code change\nWho has keys?\n", "utf-8")
    leaked = run(capsys, workspace, "dataset", "leakage", "asked", str(folder / "examples.txt"), "--json")
    assert leaked.code == 1
    assert [(row["question"], row["how"]) for row in leaked.json] == [("q2", "folded")]
    (folder / "examples.txt").write_text("Who has keys?\n", "utf-8")
    assert run(capsys, workspace, "dataset", "leakage", "asked", str(folder / "examples.txt")).code == 0


def test_another_choice_of_held_out_questions_is_refused_before_anything_is_added(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    workspace = folder / "workspace"
    for at in range(5):
        (folder / "rules" / f"shop{at}.md").write_text(f"# Shop {at}\n\nBread is sold there.\n", "utf-8")
    answers = ("28 days", "The door code changes every Monday.")
    questions = [{**each, "reference_answer": text} for each, text in zip(QUESTIONS, answers, strict=True)]
    (folder / "asked.jsonl").write_text("".join(json.dumps(each) + "\n" for each in questions), "utf-8")
    run(capsys, workspace, "dataset", "from-questions", str(folder / "asked.jsonl"), str(folder / "rules"))
    assert run(capsys, workspace, "dataset", "add-kinds", "asked", "--held-out", "1").code == 0
    refused = run(capsys, workspace, "dataset", "add-kinds", "asked", "--held-out", "2", "--misspelt", "1")
    assert refused.code == 2
    assert "dataset asked held out 0: has 1 question of another choice" in refused.err
    assert "another --seed, or first `ragtriage dataset delete" in refused.err
    listed = {row["name"]: row for row in run(capsys, workspace, "dataset", "list", "--json").json}
    assert (listed["asked"]["items"], listed["asked held out 0"]["items"]) == (2, 1)


def test_kinds_by_rules_are_added_and_what_is_held_out_is_a_dataset_of_its_own(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    workspace = folder / "workspace"
    (folder / "rules" / "bakery.md").write_text("# Bakery\n\nBread is sold on Friday.\n", "utf-8")
    questions = [{**question, "reference_answer": "every Monday"} for question in QUESTIONS]
    (folder / "asked.jsonl").write_text("".join(json.dumps(each) + "\n" for each in questions), "utf-8")
    run(capsys, workspace, "dataset", "from-questions", str(folder / "asked.jsonl"), str(folder / "rules"))
    words = ("--false-premise", "2", "--misspelt", "1", "--held-out", "1", "--json")
    added = run(capsys, workspace, "dataset", "add-kinds", "asked", *words)
    assert added.json["added"] == {"false-premise": 1, "misspelt": 1, "held-out": 1}
    assert added.json["held_out"]["documents"] == ["house"]
    listed = {row["name"]: row for row in run(capsys, workspace, "dataset", "list", "--json").json}
    assert (listed["asked"]["items"], listed["asked held out 0"]["items"]) == (4, 1)
    assert listed["asked"]["corpus"] != listed["asked held out 0"]["corpus"]
    again = run(capsys, workspace, "dataset", "add-kinds", "asked", "--held-out", "1", "--json")
    assert (again.code, again.json["added"]) == (0, {"held-out": 1})
    dataset = find_dataset(open_store(str(workspace)).workspace, "asked")
    draft = read_draft(dataset)
    copy = next(each.item for each in draft.items if each.item.kind == "misspelt")
    source = next(each.item for each in draft.items if each.item.question_id == copy.origin["from"])
    reject(dataset, copy, "Ada", "unreal")
    more = run(capsys, workspace, "dataset", "add-kinds", "asked", "--misspelt", "5", "--json")
    assert (more.code, more.json["added"]) == (0, {"misspelt": 1}), "a rejected copy is not made again"
    reject(dataset, source, "Ada", "unclear")
    none = run(capsys, workspace, "dataset", "add-kinds", "asked", "--keyword", "5", "--json")
    assert [
        each.item.origin["from"] for each in read_draft(dataset).items if each.item.kind == "keyword"
    ] == [next(each["question_id"] for each in questions if each["question_id"] != source.question_id)]
    assert none.json["added"] == {"keyword": 1}
    nothing = run(capsys, workspace, "dataset", "add-kinds", "asked")
    assert (nothing.code, "--misspelt 10" in nothing.err) == (2, True)
