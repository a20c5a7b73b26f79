"""Failure labels of a project: gathered from notes, defined, counted, renamed, merged; traces read."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragtriage.data.errors import WorkspaceError
from ragtriage.data.judge.evaluators import Evaluator, add_evaluator, evaluators
from ragtriage.data.labels.failure_taxonomy import (
    LONGEST_LABEL,
    define_label,
    gather,
    label_counts,
    mark_reviewed,
    merge_labels,
    offered_labels,
    open_notes,
    remove_label,
    rename_label,
    reviewed_cases,
)
from ragtriage.data.store.ledger import Ledger

RUNS = ["r1", "r2"]


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "ledger.sqlite")


def _counts(ledger: Ledger) -> dict[str, dict[str, int]]:
    return {one.label: dict(one.by_run) for one in label_counts(ledger, "p", RUNS)}


def _history(ledger: Ledger) -> list[tuple[str, str, str, bool]]:
    with ledger.open() as connection:
        rows = connection.execute(
            "SELECT label, definition, who, removed_at IS NULL FROM taxonomy ORDER BY rowid"
        )
        return [(label, text, who, bool(stands)) for label, text, who, stands in rows]


def test_without_a_ledger_nothing_is_there_and_none_is_made(ledger: Ledger) -> None:
    assert label_counts(ledger, "p", RUNS) == []
    assert (offered_labels(ledger, "p"), open_notes(ledger, RUNS)) == ([], [])
    assert (reviewed_cases(ledger, RUNS).cases, evaluators(ledger, "p")) == (0, [])
    assert not ledger.path.exists()


def test_counts_are_of_cases_and_not_of_labels(ledger: Ledger) -> None:
    for who in ("Ann", "Bo"):
        ledger.add_label(("r1", "q1", 0), who, "fail", "wrong date")
    ledger.add_label(("r1", "q1", 1), "Ann", "fail", "wrong date")
    ledger.add_label(("r2", "q1", 0), "Ann", "fail", "wrong date")
    ledger.add_label(("r1", "q2", 0), "Ann", "fail", "wrong date")
    ledger.add_label(("r1", "q2", 0), "Ann", "fail", "off topic")  # takes the place of the one before
    ledger.add_label(("r9", "q1", 0), "Ann", "fail", "of another project")
    ledger.add_label(("r1", "q3", 0), "Ann", "fail", "off topic")
    ledger.undo_label("r1", "Ann")
    define_label(ledger, "p", "never seen", "It happens.", "Ann")
    assert _counts(ledger) == {"wrong date": {"r1": 2, "r2": 1}, "off topic": {"r1": 1}, "never seen": {}}
    wrong, off, never = label_counts(ledger, "p", RUNS)
    assert (wrong.label, wrong.cases, wrong.defined, off.cases) == ("wrong date", 3, False, 1)
    assert (never.definition, never.who, never.cases) == ("It happens.", "Ann", 0)


def test_a_taxonomy_is_a_projects_own_and_keeps_its_history(ledger: Ledger) -> None:
    define_label(ledger, "p", " wrong date ", "First.", "Ann")
    define_label(ledger, "p", "wrong date", "Second.", "Bo")
    define_label(ledger, "p", "wrong date", "Second.", "Cy")  # says nothing new
    define_label(ledger, "other", "theirs", "", "Ann")
    (found,) = label_counts(ledger, "p", RUNS)
    assert (found.label, found.definition, found.who) == ("wrong date", "Second.", "Bo")
    remove_label(ledger, "p", "wrong date")
    assert label_counts(ledger, "p", RUNS) == []
    assert _history(ledger)[:2] == [
        ("wrong date", "First.", "Ann", False),
        ("wrong date", "Second.", "Bo", False),
    ]


@pytest.mark.parametrize(
    ("label", "who", "told"),
    [
        ("", "Ann", "at most 120 characters"),
        ("x" * (LONGEST_LABEL + 1), "Ann", "at most 120"),
        ("x", " ", "name of the annotator"),
    ],
)
def test_a_label_needs_a_text_and_a_person(ledger: Ledger, label: str, who: str, told: str) -> None:
    with pytest.raises(WorkspaceError, match=told):
        define_label(ledger, "p", label, "", who)
    assert label_counts(ledger, "p", RUNS) == []


def test_notes_are_gathered_under_who_wrote_them_and_keep_verdict_and_queue(ledger: Ledger) -> None:
    first = ledger.add_label(("r1", "q1", 0), "Ann", "fail", "", "says 1999, page says 2001")
    ledger.add_label(("r1", "q2", 0), "Bo", None, "", "year is off")
    ledger.add_label(("r1", "q3", 0), "Ann", None, "", "rambles")
    ledger.add_label(("r1", "q4", 0), "Ann", "fail", "off topic", "has a label already")
    ledger.add_label(("r1", "q5", 0), "Ann", "fail")
    with ledger.open() as connection:
        connection.execute("UPDATE labels SET queue_id = 7 WHERE label_id = ?", (first,))
    notes = open_notes(ledger, RUNS)
    assert [one.note for one in notes] == ["rambles", "year is off", "says 1999, page says 2001"]
    assert gather(ledger, "p", notes[1:], "wrong date", "Cy") == 2
    assert [one.note for one in open_notes(ledger, RUNS)] == ["rambles"]
    standing = {one.question_id: one for one in ledger.labels("r1")}
    assert [(standing[name].annotator, standing[name].verdict) for name in ("q1", "q2")] == [
        ("Ann", "fail"),
        ("Bo", None),
    ]
    assert standing["q1"].note == "says 1999, page says 2001"
    assert (standing["q1"].queue_id, standing["q2"].queue_id) == (7, None)
    assert _history(ledger) == [("wrong date", "", "Cy", True)]
    ledger.undo_label("r1", "Bo")
    assert [one.question_id for one in open_notes(ledger, RUNS)] == ["q3", "q2"]


def test_a_note_that_changed_meanwhile_is_left_alone(ledger: Ledger) -> None:
    for name in ("undone", "changed", "gathered", "same"):
        ledger.add_label(("r1", name, 0), name, None, "", "a note")
    notes = open_notes(ledger, RUNS)
    ledger.undo_label("r1", "undone")
    ledger.add_label(("r1", "changed", 0), "changed", "pass")
    gather(ledger, "p", [one for one in notes if one.question_id == "gathered"], "first", "Ann")
    assert gather(ledger, "p", notes, "second", "Ann") == 1
    assert _counts(ledger) == {"first": {"r1": 1}, "second": {"r1": 1}}
    assert gather(ledger, "p", notes, "third", "Ann") == 0
    assert "third" not in _counts(ledger)


def test_renaming_takes_cases_definition_and_evaluators_along(ledger: Ledger) -> None:
    ledger.add_label(("r1", "q1", 0), "Ann", "fail", "date", "the note")
    ledger.add_label(("r9", "q1", 0), "Ann", "fail", "date")  # a run of another project
    define_label(ledger, "p", "date", "Names a wrong date.", "Ann")
    add_evaluator(ledger, "p", Evaluator("date", "date", "Is it?"), "Ann")
    assert rename_label(ledger, "p", RUNS, "date", "wrong date", "Bo") == 1
    assert _counts(ledger) == {"wrong date": {"r1": 1}}
    assert evaluators(ledger, "p") == [Evaluator("date", "wrong date", "Is it?", "Names a wrong date.")]
    (label,) = ledger.labels("r1")
    assert (label.annotator, label.verdict, label.note) == ("Ann", "fail", "the note")
    assert ledger.labels("r9")[0].failure == "date"
    assert _history(ledger) == [
        ("date", "Names a wrong date.", "Ann", False),
        ("wrong date", "Names a wrong date.", "Bo", True),
    ]
    with pytest.raises(WorkspaceError, match="merge"):
        rename_label(ledger, "p", RUNS, "wrong date", "wrong date", "Bo")


def test_merging_joins_cases_and_keeps_the_definition_of_what_is_merged_into(ledger: Ledger) -> None:
    for name, label in (("q1", "date"), ("q2", "year"), ("q3", "year")):
        ledger.add_label(("r1", name, 0), "Ann", "fail", label)
    ledger.add_label(("r1", "q1", 0), "Bo", "fail", "year")
    define_label(ledger, "p", "date", "A wrong date.", "Ann")
    define_label(ledger, "p", "year", "A wrong year.", "Ann")
    assert merge_labels(ledger, "p", RUNS, "year", "date", "Bo") == 3
    (found,) = label_counts(ledger, "p", RUNS)
    assert (found.label, found.cases, found.definition, found.who) == ("date", 3, "A wrong date.", "Ann")
    with pytest.raises(WorkspaceError, match="itself"):
        merge_labels(ledger, "p", RUNS, "date", "date", "Bo")


def test_the_projects_labels_are_offered_first(ledger: Ledger) -> None:
    for name in ("a", "b", "c"):
        ledger.add_label(("r1", name, 0), "Ann", "fail", "in use")
    define_label(ledger, "p", "zebra", "", "Ann")
    define_label(ledger, "p", "apple", "", "Ann")
    assert offered_labels(ledger, "p") == ["apple", "zebra", "in use"]
    assert offered_labels(ledger, "other") == ["in use"]


def test_traces_read_are_different_cases_by_anybody(ledger: Ledger) -> None:
    ledger.add_label(("r1", "q1", 0), "Ann", "fail", "wrong date")
    ledger.add_label(("r1", "q1", 0), "Bo", None, "", "a note")
    mark_reviewed(ledger, ("r1", "q1", 0), "Ann")
    mark_reviewed(ledger, ("r1", "q2", 0), "Ann")
    mark_reviewed(ledger, ("r1", "q2", 0), " Ann ")
    mark_reviewed(ledger, ("r2", "q1", 0), "Bo")
    here = reviewed_cases(ledger, ["r1"])
    assert (here.cases, here.by_annotator) == (2, {"Ann": 2, "Bo": 1})
    assert list(here.by_annotator) == ["Ann", "Bo"]
    assert reviewed_cases(ledger, RUNS).cases == 3
    ledger.undo_label("r1", "Bo")
    assert reviewed_cases(ledger, ["r1"]).by_annotator == {"Ann": 2}
    with pytest.raises(WorkspaceError, match="name of the annotator"):
        mark_reviewed(ledger, ("r1", "q1", 0), "")


def test_what_goes_wrong_within_a_change_is_taken_back_whole(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger.add_label(("r1", "q1", 0), "Ann", "fail", "date")
    monkeypatch.setattr("ragtriage.data.labels.failure_taxonomy._RELABEL", "INSERT INTO labels VALUES (1)")
    with pytest.raises(WorkspaceError):
        merge_labels(ledger, "p", RUNS, "date", "year", "Ann")
    assert _counts(ledger) == {"date": {"r1": 1}}
    assert _history(ledger) == []
