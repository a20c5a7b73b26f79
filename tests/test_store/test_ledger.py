"""The annotations database: labels are stored by annotator, and can be undone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from places import REPOSITORY

from ragtriage.data.errors import WorkspaceError
from ragtriage.data.store.ledger import Ledger

LABEL = (
    "import sys; from pathlib import Path; from ragtriage.data.store.ledger import Ledger\n"
    "for i in range(100): Ledger(Path(sys.argv[1])).add_label(('r', f'q{i}', 0), sys.argv[2], 'fail')"
)


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "ledger.sqlite")


def test_two_people_labelling_at_once_lose_nothing(ledger: Ledger) -> None:
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    command = [sys.executable, "-c", LABEL, str(ledger.path)]
    both = [subprocess.Popen([*command, name], env=environment) for name in ("Ann", "Bo")]
    assert [process.wait(120) for process in both] == [0, 0]
    labels = ledger.labels("r")
    assert {name: sum(label.annotator == name for label in labels) for name in ("Ann", "Bo")} == {
        "Ann": 100,
        "Bo": 100,
    }


def test_the_newest_label_stands_and_undo_brings_the_earlier_one_back(ledger: Ledger) -> None:
    case = ("r", "q", 0)
    ledger.add_label(case, "Ann", "pass")
    ledger.add_label(case, "Ann", "fail", "wrong date", "see page 3")
    ledger.add_label(case, "Bo", "pass")
    assert {(label.annotator, label.verdict, label.failure) for label in ledger.labels("r")} == {
        ("Ann", "fail", "wrong date"),
        ("Bo", "pass", ""),
    }
    taken = ledger.undo_label("r", "Ann")
    assert taken is not None
    assert taken.note == "see page 3"
    reopened = Ledger(ledger.path)
    assert {(label.annotator, label.verdict) for label in reopened.labels("r")} == {
        ("Ann", "pass"),
        ("Bo", "pass"),
    }
    ledger.undo_label("r", "Ann")
    assert ledger.undo_label("r", "Ann") is None
    assert [label.annotator for label in ledger.labels("r")] == ["Bo"]


def test_the_stamp_changes_with_every_change(ledger: Ledger) -> None:
    seen = {ledger.version()}
    ledger.add_label(("r", "q", 0), "Ann", "pass")
    seen.add(ledger.version())
    ledger.undo_label("r", "Ann")
    seen.add(ledger.version())
    ledger.rename("r", "new name", "Ann")
    seen.add(ledger.version())
    assert len(seen) == 4


def test_another_process_that_reads_does_not_change_the_stamp(ledger: Ledger) -> None:
    ledger.add_label(("r", "q", 0), "Ann", "pass")
    before = ledger.files
    with ledger.open() as other:  # its empty log stands beside the database until it is closed
        other.execute("SELECT count(*) FROM labels").fetchone()
        while_open = ledger.files
    assert {before, while_open, ledger.files} == {before}
    with ledger.open() as other:
        other.execute(
            "INSERT INTO labels (run_id, question_id, repeat, annotator, at) VALUES ('r', 'q', 1, 'Bo', '')"
        )
        assert ledger.files != before


def test_names_baselines_and_tags(ledger: Ledger) -> None:
    ledger.rename("r", "first", "Ann")
    ledger.rename("r", "second", "Bo")
    ledger.set_baseline("p", "r", "Ann")
    ledger.tag("r", "release", "Ann")
    ledger.tag("r", "release", "Bo")
    assert ledger.display_names() == {"r": "second"}
    assert ledger.baselines() == {"p": "r"}
    assert ledger.tags() == {"r": ["release"]}
    ledger.untag("r", "release")
    assert ledger.tags() == {}


def test_a_label_without_a_name_is_refused(ledger: Ledger) -> None:
    with pytest.raises(WorkspaceError, match="a label needs the name"):
        ledger.add_label(("r", "q", 0), "  ", "pass")


def test_a_flipped_byte_in_the_tables_of_a_ledger_is_damage(ledger: Ledger) -> None:
    ledger.add_label(("r", "q", 0), "Ann", "pass")
    body = ledger.path.read_bytes().replace(b"CREATE TABLE", b"CRE\xdfTE TABLE")
    ledger.path.write_bytes(body)
    with pytest.raises(WorkspaceError, match="move it aside"):
        Ledger(ledger.path).labels("r")
    assert ledger.path.read_bytes() == body


def test_a_broken_ledger_is_never_overwritten(ledger: Ledger) -> None:
    ledger.path.write_bytes(b"somebody's only copy, damaged" * 50)
    with pytest.raises(WorkspaceError, match="move it aside"):
        ledger.add_label(("r", "q", 0), "Ann", "pass")
    assert ledger.path.read_bytes().startswith(b"somebody's only copy")
