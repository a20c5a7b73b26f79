"""Forgetting a user: no byte of them is left in any file, everything about others is, at any interruption."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pyarrow.parquet as pq
import pytest
from command_line import run as command
from judge_server import JudgeServer
from judged_runs import judged
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from otlp_messages import pipeline, request, trace_id

from ragtriage.data.api import add_run
from ragtriage.data.chunking.corpus import Corpus, Document
from ragtriage.data.datasets.dataset import create_dataset
from ragtriage.data.datasets.regressions import add_regressions
from ragtriage.data.errors import WorkspaceError
from ragtriage.data.live.calls import JOURNAL, Calls, live_folder, unpacked
from ragtriage.data.live.feedback.records import as_json, feedback_records
from ragtriage.data.live.forgetting import deletion, personal_data
from ragtriage.data.live.forgetting.deletion import forget
from ragtriage.data.live.forgetting.remains import needles_of
from ragtriage.data.live.journal import Journal, Kind, read_journal, rewrite
from ragtriage.data.live.policy import FILE_NAME
from ragtriage.data.live.worker import Worker
from ragtriage.data.scoring.run_store import RunStore, open_store
from ragtriage.data.store import rewritten_run
from ragtriage.data.store.question_sets import load_set
from ragtriage.data.store.workspace import Run, Workspace
from ragtriage.metrics.schema.scores import Source

PROJECT, USER = "shop", "wilhelmina-4711"
BEGIN = 1_772_388_000.0
CANARY = "quetzalcoatlus"  # in every text of the user


class Live:
    """A project whose traffic came in, became a run, was labelled and judged."""

    def __init__(self, folder: Path, policy: str = "") -> None:
        self.store = open_store(str(folder), create=True)
        self.root = folder
        live = live_folder(self.store.workspace, PROJECT)
        live.mkdir(parents=True)
        (live / FILE_NAME).write_text(policy, encoding="utf-8")
        self.folder = live
        self.calls = Calls.of(self.store.workspace, PROJECT, create=True)

    def send(self, user: str = USER, canary: str = CANARY) -> None:
        """Four users of one record each, the user of interest twice, and feedback on each call."""
        with Journal(self.folder / JOURNAL) as journal:
            for at in range(6):
                who, word = (user, canary) if at in (1, 4) else (f"someone-{at}", "sparrow")
                spans = pipeline(
                    f"t{at}",
                    BEGIN + at,
                    f"What does the {word} of house {at} eat?",
                    f"The {word} of house {at} eats {word} bread on day {at}.",
                    user=who,
                    passage=f"Every bird such as that of house {at} eats bread on each day.",
                )
                other = pipeline(
                    f"other {at}", BEGIN + 20 + at, f"Is it open on day {at}?", "It is.", user="x"
                )
                self._append(journal, *spans[1:], *other)
                self._append(journal, spans[0])  # the root alone names the user
                answers = feedback_records(
                    {
                        "trace_id": trace_id(f"t{at}"),
                        "user_id": who,
                        "thumb": "down",
                        "comment": f"No {word}!",
                    }
                )
                journal.append(Kind.FEEDBACK, json.dumps(as_json(answers)).encode())

    def _append(self, journal: Journal, *spans: Span) -> None:
        journal.append(Kind.TRACES, request(*spans).SerializeToString())

    def work(self, hours: float = 30) -> None:
        Worker(self.store, PROJECT, print).round(BEGIN + 3_600 * hours, whole=True)

    def run(self) -> Run:
        (run,) = (run for run in self.store.runs() if run.config.get("live"))
        return run


def rows_of(store: RunStore, run: Run) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pq.read_table(store.workspace.samples_path(run.run_id)).to_pylist()
    return rows


def everything(root: Path) -> bytes:
    """All bytes of a workspace, and what Parquet, journal and packed samples hold."""
    parts: list[bytes] = []
    for path in sorted(root.rglob("*")):
        parts.append(str(path.relative_to(root)).encode())
        if path.is_file():
            parts.append(path.read_bytes())
            if path.suffix == ".parquet":
                parts.append(json.dumps(pq.read_table(path).to_pylist(), default=str).encode())
    for journal in root.glob("live/*/journal"):
        parts += [payload for _, _, payload in read_journal(journal)]
    for path in root.glob("live/*/calls.sqlite"):
        with sqlite3.connect(path) as connection:
            blobs = connection.execute("SELECT sample FROM calls WHERE sample IS NOT NULL").fetchall()
            parts += [json.dumps(unpacked(blob)).encode() for (blob,) in blobs]
        connection.close()
    return b"\n".join(parts)


def mentions(root: Path) -> dict[str, int]:
    content = everything(root)
    names = {USER, CANARY, trace_id("t1"), trace_id("t4")}
    raw = {bytes.fromhex(trace_id(name)) for name in ("t1", "t4")}
    found = {name: content.count(name.encode()) for name in names}
    return {**found, "raw": sum(content.count(each) for each in raw)}


@pytest.fixture
def live(tmp_path: Path) -> Live:
    made = Live(tmp_path / "workspace")
    made.send()
    made.work()
    return made


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[JudgeServer]:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "none")
    with JudgeServer() as served:
        yield served


def cached(live: Live, word: str) -> int:
    """How many cached calls of the judge hold a word."""
    with live.store.ledger.open() as connection:
        query = "SELECT count(*) FROM calls WHERE instr(payload, ?)"
        return int(connection.execute(query, (word,)).fetchone()[0])


def label_all(live: Live) -> dict[str, str]:
    """Label every sample with its own question as the note; return question id -> note."""
    run = live.run()
    notes = {row["question_id"]: f"read: {row['question']}" for row in rows_of(live.store, run)}
    for question_id, note in notes.items():
        live.store.ledger.add_label((run.run_id, question_id, 0), "ada", "fail", "wrong", note)
    return notes


def test_nothing_of_the_user_is_left_and_everything_of_the_others_is(live: Live, server: JudgeServer) -> None:
    notes = label_all(live)
    judged(live.store, live.run(), server)
    assert cached(live, CANARY) == 2
    before = live.run()
    rows_before = rows_of(live.store, before)
    assert all(n > 3 for n in mentions(live.root).values())
    result = forget(live.store, USER, dry=False)
    assert mentions(live.root) == dict.fromkeys([USER, CANARY, trace_id("t1"), trace_id("t4"), "raw"], 0)
    assert result.remains == ()
    assert result.removed

    after = live.run()
    left = [row for row in rows_before if CANARY not in row["question"]]
    rows_after = rows_of(live.store, after)
    assert [{**row, "row": 0} for row in rows_after] == [{**row, "row": 0} for row in left]
    assert [row["row"] for row in rows_after] == list(range(10))
    assert cached(live, "sparrow") == 4
    assert not (live.store.workspace.runs_folder / before.run_id).exists()
    assert after.config["live"] == {**before.config["live"], "calls": 10, "kept": 10}
    labels = {label.question_id: label.note for label in live.store.ledger.labels(after.run_id)}
    assert labels == {row["question_id"]: notes[row["question_id"]] for row in left}
    assert {window.run_id for window in live.calls.windows()} == {after.run_id}
    assert len(live.calls.facts(0, 1e12).trace_id) == 10
    assert len(live.calls.feedback(0, 1e12)) == 8


def test_judge_results_follow_the_samples_that_stay(live: Live, server: JudgeServer) -> None:
    judged(live.store, live.run(), server)
    before = {
        row["question"]: value
        for row, value in zip(rows_of(live.store, live.run()), faithfulness(live), strict=True)
    }
    forget(live.store, USER, dry=False)
    after = dict(
        zip([row["question"] for row in rows_of(live.store, live.run())], faithfulness(live), strict=True)
    )
    assert after == {question: value for question, value in before.items() if CANARY not in question}


def faithfulness(live: Live) -> Any:
    column = live.store.scored(live.run()).column("faithfulness", Source.JUDGED)
    assert column is not None
    return np.nan_to_num(column.values, nan=-1).tolist()


def test_a_look_changes_nothing(live: Live, capsys: pytest.CaptureFixture[str]) -> None:
    label_all(live)
    content = everything(live.root)
    answer = command(capsys, live.root, "forget", USER, "--json")
    assert everything(live.root) == content
    found = {(each["what"], each["n"]) for each in answer.json["found"]}
    assert ("calls", 2) in found
    assert ("values of feedback", 4) in found
    assert (answer.code, answer.json["removed"], answer.json["remains"]) == (0, False, [])


def test_the_command_removes_with_yes_and_says_what_it_cannot_reach(
    live: Live, capsys: pytest.CaptureFixture[str]
) -> None:
    looked = command(capsys, live.root, "forget", USER)
    assert looked.out.startswith("Would remove ")
    assert "items. Run again with --yes." in looked.out
    answer = command(capsys, live.root, "forget", USER, "--yes")
    assert answer.code == 0
    assert "removed. Nothing of this user is left." in answer.out
    assert "Not reached: reports, exports and backups" in answer.out
    again = command(capsys, live.root, "forget", USER, "--yes")
    assert again.out.startswith("Nothing of this user is in the workspace.")


def test_what_names_the_user_elsewhere_is_said_to_be_left(
    live: Live, capsys: pytest.CaptureFixture[str]
) -> None:
    (live.root / "gates.toml.old").write_text(f"# asked for by {USER}\n", encoding="utf-8")
    answer = command(capsys, live.root, "forget", USER, "--yes", "--json")
    assert answer.code == 1
    assert answer.json["remains"] == [{"place": "gates.toml.old", "what": "mentions", "n": 1}]


@pytest.mark.parametrize(
    "ended_at",
    [
        (deletion, "forget_in_journal"),
        (deletion, "rewrite_run"),
        (rewritten_run, "_move_judge_results"),
        (rewritten_run, "_move_rows"),
        (Workspace, "delete_run"),
        (deletion, "move_windows"),
        (deletion, "forget_calls"),
        (deletion, "overwrite_deleted"),
    ],
)
def test_who_was_ended_half_way_is_called_again(
    live: Live, server: JudgeServer, ended_at: tuple[object, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    label_all(live)
    judged(live.store, live.run(), server)

    def ended(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(*ended_at, ended)
        with pytest.raises(KeyboardInterrupt):
            forget(live.store, USER, dry=False)
    result = forget(RunStore(live.store.workspace), USER, dry=False)
    assert result.remains == ()
    assert not any(mentions(live.root).values())
    assert len(live.store.ledger.labels(live.run().run_id)) == 10


def test_the_journal_that_was_not_read_yet_is_searched_by_the_trace(tmp_path: Path) -> None:
    live = Live(tmp_path / "workspace")
    live.send()
    forget(live.store, USER, dry=False)
    assert not any(mentions(live.root).values())
    live.work()
    assert len(live.calls.facts(0, 1e12).trace_id) == 10


def test_a_position_in_the_journal_stands_after_the_same_record(tmp_path: Path) -> None:
    live = Live(tmp_path / "workspace")
    live.send()
    live.work()
    with Journal(live.folder / JOURNAL) as journal:
        late = request(*pipeline("late", BEGIN + 40, "Anything new?", "No.", user="y")).SerializeToString()
        journal.append(Kind.TRACES, late)
    places = [place for place, _, _ in read_journal(live.folder / JOURNAL)]
    forget(live.store, USER, dry=False)
    assert [place for place, _, _ in read_journal(live.folder / JOURNAL)] == places
    live.work(31)
    assert len(live.calls.facts(0, 1e12).trace_id) == 11


def test_a_collector_that_runs_is_not_disturbed(live: Live) -> None:
    with Journal(live.folder / JOURNAL):
        content = everything(live.root)
        with pytest.raises(WorkspaceError, match="another process collects into it; accepted: the same once"):
            forget(live.store, USER, dry=False)
        assert everything(live.root) == content


def test_no_collector_begins_until_the_calls_are_gone(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    tried = []

    def forget_calls(*values: Any, **options: Any) -> dict[str, int]:
        with pytest.raises(WorkspaceError, match="another process collects into it"):
            Journal(live.folder / JOURNAL)
        tried.append(values)
        return personal_data.forget_calls(*values, **options)

    monkeypatch.setattr(deletion, "forget_calls", forget_calls)
    forget(live.store, USER, dry=False)
    assert len(tried) == 1
    Journal(live.folder / JOURNAL).close()


def test_a_look_at_a_journal_alone_makes_no_database(tmp_path: Path) -> None:
    live = Live(tmp_path / "workspace")
    live.send()
    found = forget(live.store, USER, dry=True).found
    assert [each.what for each in found] == ["records of the journal"]
    assert not live.calls.path.exists()


def test_a_comment_without_a_user_goes_with_the_trace_however_that_is_written(tmp_path: Path) -> None:
    live = Live(tmp_path / "workspace")
    live.send()
    comment = {"trace_id": str(UUID(trace_id("t1"))).upper(), "comment": f"Signed: the {CANARY}"}
    with Journal(live.folder / JOURNAL) as journal:
        journal.append(Kind.FEEDBACK, json.dumps(as_json(feedback_records(comment))).encode())
    live.work()
    forget(live.store, USER, dry=False)
    assert CANARY.encode() not in everything(live.root)


def test_a_hashed_user_is_found_by_the_plain_id(tmp_path: Path) -> None:
    live = Live(tmp_path / "workspace", "[redaction]\nhash_users = true\n")
    from ragtriage.data.live.redacting import redactor_of

    hashed = redactor_of(live.folder).user(USER)
    live.send(hashed)
    live.work()
    assert forget(live.store, USER, dry=False).n
    assert not any(mentions(live.root).values())
    assert hashed.encode() not in everything(live.root)


def test_a_run_that_was_imported_loses_the_users_samples_too(live: Live) -> None:
    records = [
        {"question": f"Question {at}?", "answer": "Yes.", "tags": {"user": USER if at == 2 else f"u{at}"}}
        for at in range(5)
    ]
    add_run(records, "imported", "elsewhere", str(live.root))
    forget(RunStore(live.store.workspace), USER, "shop", dry=False)
    (run,) = live.store.runs("elsewhere")
    assert run.n == 5  # another project
    forget(RunStore(live.store.workspace), USER, dry=False)
    (run,) = live.store.runs("elsewhere")
    assert [row["question"] for row in rows_of(live.store, run)] == [f"Question {at}?" for at in (0, 1, 3, 4)]
    assert not any(mentions(live.root).values())


def test_a_question_that_became_an_item_of_a_dataset_goes_from_draft_version_and_runs_on_it(
    live: Live,
) -> None:
    workspace = live.store.workspace
    dataset = create_dataset(workspace, "regressions")
    dataset.keep_corpus(Corpus("birds", (Document("d1", "Birds eat bread on each day."),)), "ada")
    records = [row for row in rows_of(live.store, live.run()) if "house" in row["question"]]
    asked = [{"question": row["question"], "reference_answer": "Bread."} for row in records]
    add_regressions(dataset, asked, "live")
    items = [item for batch in dataset.batches() for item in batch.items]
    version, _ = dataset.freeze(items, 0, "ada")
    answers = [
        {"question_id": each.question_id, "question": each.question, "answer": "Bread."} for each in items
    ]
    add_run(answers, "on the set", "offline", str(live.root), dataset="regressions")
    with live.store.ledger.open() as connection:
        connection.executemany(
            "INSERT INTO dataset_events"
            " (dataset_id, question_id, who, action, reason, item, content_hash, at)"
            " VALUES (?, ?, 'ada', 'accept', '', ?, '', '')",
            [(dataset.dataset_id, each.question_id, each.question) for each in items],
        )

    store = RunStore(workspace)
    found = {each.place: each.n for each in forget(store, USER, dry=True).found}
    assert found[f"datasets/{dataset.dataset_id}"] == found[f"questions/{version.set_id}"] == 2
    assert forget(store, USER, dry=False).remains == ()
    assert not any(mentions(live.root).values())
    left = [item.question for batch in dataset.batches() for item in batch.items]
    assert left == [item.question for item in items if CANARY not in item.question]
    (renewed,) = dataset.versions()
    assert (renewed.version, renewed.who, renewed.at) == (1, "ada", version.at)
    questions = load_set(workspace, renewed.set_id)
    assert [question["question"] for question in questions.questions] == left
    assert (questions.facts.name, questions.facts.dataset_version) == ("regressions v1", "v1")
    assert questions.facts.n_documents == 1
    assert [row["question"] for row in rows_of(store, store.runs("offline")[0])] == left
    with live.store.ledger.open() as connection:
        assert connection.execute("SELECT count(*) FROM dataset_events").fetchone() == (4,)


def test_a_run_of_nobody_else_goes_as_a_whole(tmp_path: Path) -> None:
    store = open_store(str(tmp_path), create=True)
    run = add_run([{"question": "Why?", "answer": "So.", "account_id": USER}], "one", "shop", str(tmp_path))
    case = run.run_id, rows_of(store, run)[0]["question_id"], 0
    store.ledger.add_label(case, "ada", "fail", "", CANARY)
    forget(store, USER, dry=False)
    assert store.runs() == []
    assert not any(mentions(tmp_path).values())


@pytest.mark.parametrize("project", ["shpo", "", "x" * 300, "a\x1b[2J"])
def test_an_unknown_project_is_refused(live: Live, project: str, capsys: pytest.CaptureFixture[str]) -> None:
    said = command(capsys, live.root, "forget", USER, "--project", project)
    assert said.code == 2
    assert "is not in this workspace; accepted: one of shop" in " ".join(said.err.split())
    assert "\x1b" not in said.err


def test_a_trace_id_that_counts_up_is_no_alarm(live: Live) -> None:
    person = personal_data.Person({USER}, {f"{7:032x}", trace_id("t1")})
    raw = [needle for needle in needles_of(person) if len(needle) == 16]
    assert raw == [bytes.fromhex(trace_id("t1"))]
    assert f"{7:032x}".encode() in needles_of(person)


def test_a_short_id_is_found_as_a_whole_word_only(tmp_path: Path) -> None:
    live = Live(tmp_path / "workspace")
    live.send("7")
    live.work()
    result = forget(live.store, "7", dry=False)
    assert {(each.what, each.n) for each in result.found} >= {("calls", 2)}
    assert not result.searched
    assert len(live.calls.facts(0, 1e12).trace_id) == 10
    assert CANARY.encode() not in everything(live.root)


def test_damaged_bytes_of_the_journal_are_overwritten(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        for at in range(3):
            journal.append(Kind.FEEDBACK, f'[{{"user": "{CANARY} {at}"}}]'.encode())
    path = tmp_path / "00000001.log"
    content = bytearray(path.read_bytes())
    content[20] ^= 1  # in the first record
    path.write_bytes(content)
    whole = [payload for _, _, payload in read_journal(tmp_path, skipped=lambda _: None)]
    assert rewrite(tmp_path, lambda _, payload: payload) == 1
    assert [payload for _, _, payload in read_journal(tmp_path, skipped=lambda _: None)] == whole
    assert path.stat().st_size == len(content)
    assert not any(path.read_bytes()[:20])
