"""Forgetting a user: whatever the workspace has of one person, found by place and removed.

The calls are removed last, since by them the rest is found: who was ended half way is called again.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from ragtriage.data.errors import DataError, WorkspaceError
from ragtriage.data.live.calls import FILE, JOURNAL, Calls, listed, live_folder, live_projects, name_list
from ragtriage.data.live.forgetting.dataset_items import forget_in_datasets
from ragtriage.data.live.forgetting.personal_data import (
    Person,
    find_person,
    forget_calls,
    forget_in_journal,
    move_windows,
    strings_in,
)
from ragtriage.data.live.forgetting.remains import FEWEST_BYTES, remains_of
from ragtriage.data.live.journal import held
from ragtriage.data.live.topics import FILE_NAME as TOPICS
from ragtriage.data.live.topics import forget_words
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.access import BUSY_SECONDS, must_write
from ragtriage.data.store.judge_results import judge_result_path, judge_results_of, read_task_results
from ragtriage.data.store.ledger import Ledger
from ragtriage.data.store.rewritten_run import rewrite_run
from ragtriage.data.store.sample_reader import StoredSamples
from ragtriage.data.store.workspace import LIVE, Run, clear_abandoned, writing
from ragtriage.data.text.tokens import content_tokens

NAMED_IN = (
    "question_id",
    "extra",
    "tags",
    "account_id",
)  # columns of samples that may name a user or a trace
SAID = 12  # characters from which a text of a judge is taken as said of a sample
FEWEST_WORDS = 4
MOSTLY = 0.9  # of the words of what a judge says are those of an answer


@dataclass(frozen=True)
class Found:
    """What was found of a user in one place."""

    place: str  # a file or folder of the workspace, relative to it
    what: str  # calls, answers, samples, ...
    n: int


@dataclass(frozen=True)
class Forgotten:
    """What was found of a user, and what is left of it."""

    removed: bool  # False after a look that changes nothing
    found: tuple[Found, ...]
    remains: tuple[Found, ...]  # what names the user still, and where; only looked for after a removal
    unreadable: tuple[str, ...]  # runs that cannot be read, and so not searched
    searched: bool  # whether files were searched for the id itself, which a short one stands anywhere in

    @property
    def n(self) -> int:
        """How many things were found."""
        return sum(each.n for each in self.found)


@dataclass
class _Tally:
    workspace: Path
    found: list[Found] = field(default_factory=list)

    def add(self, path: Path, what: str, n: int) -> None:
        if n:
            self.found.append(Found(path.relative_to(self.workspace).as_posix(), what, n))


def forget(store: RunStore, user_id: str, project: str | None = None, *, dry: bool) -> Forgotten:
    """Remove whatever the workspace has of a user: calls, feedback, journal, samples, labels, judge results.

    Args:
        store: the runs of the workspace.
        user_id: as the traces and the feedback have it.
        project: the only one to search; all where None.
        dry: whether to look alone, and change nothing.

    Raises:
        DataError: the id is empty, the project unknown, or a collector writes into the journal.
    """
    if not user_id.strip():
        raise DataError("the user's id is empty; accepted: the id that the traces and the feedback have")
    known = sorted({*live_projects(store.workspace), *store.projects()})
    if project is not None and project not in known:
        accepted = f"one of {listed(known)}" if known else "no --project, as there is none yet"
        raise DataError(f"project {project[:60]!r}: is not in this workspace; accepted: {accepted}")
    if not dry:
        must_write(f"workspace {store.workspace.root}")
    person = Person({user_id})
    live = [it for it in live_projects(store.workspace) if project in (None, it)]
    calls = [Calls(live_folder(store.workspace, it) / FILE) for it in live]  # a journal alone is enough
    with ExitStack() as stack:
        for each in () if dry else calls:  # a collector might publish a window with the user
            stack.enter_context(held(each.path.parent / JOURNAL))
        for each in calls:
            find_person(person, each)
        tally = _Tally(store.workspace.root)
        _take_out(store, person, calls, project, tally, dry=dry)
        unreadable = tuple(store.unreadable().values())
        if dry:
            return Forgotten(False, tuple(tally.found), (), unreadable, searched=False)
        _overwrite(store, calls)
    left = tuple(Found(path, "mentions", n) for path, n in remains_of(store.workspace.root, person))
    searched = len(user_id.encode()) >= FEWEST_BYTES
    return Forgotten(True, tuple(tally.found), left, unreadable, searched)


def _take_out(
    store: RunStore,
    person: Person,
    calls: Sequence[Calls],
    project: str | None,
    tally: _Tally,
    *,
    dry: bool,
) -> None:
    """Remove what is a user's from one place after the other, the calls last."""
    for each in calls:
        n = forget_in_journal(person, each, dry=dry)
        tally.add(each.path.parent / JOURNAL, "records of the journal", n)
    stored = [each for each in calls if each.path.exists()]  # not those with a journal alone
    for run in store.runs(project):
        _forget_in_run(store, run, person, stored, tally, dry=dry)
    for folder, n in forget_in_datasets(store.workspace, person, dry=dry).items():
        tally.add(store.workspace.root / folder, "questions", n)
    for each in stored:
        for table, n in forget_calls(person, each, dry=dry).items():
            tally.add(each.path, _NOUNS[table], n)
        if not dry:
            tally.add(each.path.parent / TOPICS, "words of topics", forget_words(each))


def _overwrite(store: RunStore, calls: Sequence[Calls]) -> None:
    """Write the databases anew, and remove what is left of deleted folders."""
    workspace = store.workspace
    with writing(workspace.name):
        for path in (workspace.ledger_path, workspace.index_path, *(each.path for each in calls)):
            overwrite_deleted(path)
        root = workspace.root
        folders = [
            workspace.runs_folder,
            workspace.scores_folder,
            root / "judgements",
            workspace.questions_folder,
        ]
        for folder in (*folders, *root.glob("datasets/*/batches")):
            if folder.is_dir():
                clear_abandoned(folder)


_NOUNS = {"calls": "calls", "feedback": "values of feedback", "spans": "spans", "traces": "waiting traces"}


def overwrite_deleted(path: Path) -> None:
    """Write a database anew: nothing of what was deleted is left in free pages or in its log.

    Raises:
        WorkspaceError: another process uses it, so that its log stays.
    """
    if not path.exists():
        return
    try:
        with closing(sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)) as connection:
            connection.execute("VACUUM")
            (busy, _, _) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    except sqlite3.OperationalError as error:
        raise WorkspaceError(f"{path}: {error}; accepted: the same once no other process uses it") from error
    if busy:
        raise WorkspaceError(f"{path}: is being read; accepted: the same once no other process uses it")


def _forget_in_run(
    store: RunStore, run: Run, person: Person, calls: Sequence[Calls], tally: _Tally, *, dry: bool
) -> None:
    """Store a run without the samples of a user, and forget what judges said of them."""
    workspace, ledger = store.workspace, store.ledger
    rows = [] if run.means else _rows_of(StoredSamples(workspace.samples_path(run.run_id)), person)
    if not rows:
        return
    tally.add(workspace.runs_folder / run.run_id, f"samples of {run.name}", len(rows))
    texts = _texts_of(workspace.samples_path(run.run_id), rows)
    cached = _forget_calls_of_judge(ledger, _said_of(store, run, rows), texts, dry=dry)
    tally.add(ledger.path, "cached calls of a judge", cached)
    if dry:
        return
    new = rewrite_run(workspace, ledger, run, rows, _config(run, calls, person, len(rows)))
    for each in calls:
        move_windows(each, run.run_id, None if new is None else new.run_id)


def _rows_of(samples: StoredSamples, person: Person) -> list[int]:
    """Return the rows of the samples that name a user or a trace of theirs, or ask a question of theirs."""
    names = person.names | person.items
    found = []
    for sample in samples.each(["row", *NAMED_IN]):
        tags = [tag["value"] for tag in sample["tags"] or ()]
        parts = sample["question_id"], sample["extra"], sample["account_id"], tags
        if not names.isdisjoint(strings_in(parts)):
            found.append(sample["row"])
    return found


def _config(run: Run, calls: Sequence[Calls], person: Person, kept: int) -> Mapping[str, Any]:
    """Return the configuration of a run; that of a window counts its calls."""
    said = run.config.get(LIVE)
    if not isinstance(said, Mapping):
        return run.config
    gone = sum(_calls_in(each, run.run_id, person) for each in calls)
    return {
        **run.config,
        LIVE: {**said, "calls": said["calls"] - max(gone, kept), "kept": said["kept"] - kept},
    }


def _calls_in(calls: Calls, run_id: str, person: Person) -> int:
    """Return how many of a user's calls are in the window that a run holds."""
    query = (
        "SELECT count(*) FROM calls JOIN windows ON calls.time >= first AND calls.time < last"
        " AND windows.release IN ('', calls.release) WHERE windows.run_id = ?"
        " AND trace_id IN (SELECT value FROM json_each(?))"
    )
    with calls.open() as connection:
        return int(connection.execute(query, (run_id, name_list(person.traces))).fetchone()[0])


def _texts_of(path: Path, rows: Sequence[int]) -> list[frozenset[str]]:
    """Return the words of question and answer of samples."""
    samples = StoredSamples(path).read(rows, ["question", "answer"])
    return [
        frozenset(content_tokens(f"{sample['question']} {sample['answer'] or ''}".lower()))
        for sample in samples
    ]


def _said_of(store: RunStore, run: Run, rows: Collection[int]) -> set[str]:
    """Return what judges said of some samples of a run, and of no other."""
    said: set[str] = set()
    of_others: set[str] = set()
    gone = frozenset(rows)
    for result in judge_results_of(store.ledger, run.run_id):
        outcomes = read_task_results(judge_result_path(store.workspace, run.run_id, result.digest))
        for (row, _), outcome in outcomes.items():
            (said if row in gone else of_others).update(_said(outcome.payload), _said(outcome.reason))
    return said - of_others


def _said(value: object) -> Iterator[str]:
    return (text for text in strings_in(value) if len(text) >= SAID)


def _forget_calls_of_judge(
    ledger: Ledger, said: Collection[str], texts: Sequence[frozenset[str]], *, dry: bool
) -> int:
    """Delete the cached calls that hold what was said of a user's samples, or their words; return how many.

    The cache does not know of whom a call was. What is deleted too much is asked again.
    """
    if not ledger.path.exists():
        return 0
    gone = []
    with ledger.open() as connection:
        connection.execute("PRAGMA secure_delete = ON")
        for key, payload, reason in connection.execute("SELECT key, payload, reason FROM calls"):
            values = [*_said(None if payload is None else orjson.loads(payload)), *_said(reason)]
            if any(value in said or _is_of(value, texts) for value in values):
                gone.append((key,))
        if not dry:
            connection.executemany("DELETE FROM calls WHERE key = ?", gone)
    return len(gone)


def _is_of(text: str, texts: Sequence[frozenset[str]]) -> bool:
    """Return whether a text is made of the words of a sample."""
    words = content_tokens(text.lower())
    return len(words) >= FEWEST_WORDS and any(
        sum(word in known for word in words) >= MOSTLY * len(words) for known in texts
    )
