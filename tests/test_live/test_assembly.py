"""From the journal to calls and runs: order, copies, late spans, sampling, windows, retention."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import numpy as np
import pytest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from otlp_messages import pipeline, request, trace_id
from places import BUNDLED

from ragtriage.data.demo import _manifest as bundled
from ragtriage.data.diagnosis.run_checks import check_run
from ragtriage.data.live.assembly import NO_CALLS
from ragtriage.data.live.calls import FILE, FUTURE, JOURNAL, LATE, Calls, live_folder, live_projects
from ragtriage.data.live.demo_traffic import load_traffic
from ragtriage.data.live.feedback.records import as_json, feedback_records
from ragtriage.data.live.journal import Journal, Kind
from ragtriage.data.live.policy import FILE_NAME
from ragtriage.data.live.windows import publish, window_name
from ragtriage.data.live.worker import POSITION, Worker
from ragtriage.data.scoring.run_store import RunStore, open_store
from ragtriage.metrics.live.sampling import keep

PROJECT, HOUR = "shop", 3_600.0
BEGIN = 1_772_388_000.0  # 2026-03-01 18:00 UTC
REFUSAL = "I'm sorry, I could not find that in the provided documents."
ANSWERS = ["It is.", "It was.", "It is.", REFUSAL]


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    return open_store(str(tmp_path / "workspace"), create=True)


class Live:
    """A project with a journal to write to and a worker that is moved on by hand."""

    def __init__(self, store: RunStore, policy: str = "") -> None:
        folder = live_folder(store.workspace, PROJECT)
        folder.mkdir(parents=True)
        (folder / FILE_NAME).write_text(policy, encoding="utf-8")
        self.said: list[str] = []
        self.folder = folder
        self.journal = Journal(folder / JOURNAL)
        self.worker = Worker(store, PROJECT, self.said.append)
        self.calls = self.worker.calls

    def send(self, *spans: Span, release: str = "1.0") -> None:
        self.journal.append(Kind.TRACES, request(*spans, release=release).SerializeToString())

    def rate(self, **values: object) -> None:
        answers = as_json(feedback_records(values))
        self.journal.append(Kind.FEEDBACK, json.dumps(answers).encode())

    def round(self, now: float = BEGIN + 10 * HOUR, *, whole: bool = True) -> None:
        self.worker.round(now, whole=whole)


@pytest.fixture
def live(store: RunStore) -> Iterator[Live]:
    made = Live(store)
    yield made
    made.journal.close()


def everything(live: Live) -> list[tuple[object, ...]]:
    with live.calls.open() as connection:
        return connection.execute(
            "SELECT trace_id, time, release, user_id, question, stratum, kept, refused, error,"
            " context_tokens, output_tokens, latency_ms FROM calls ORDER BY trace_id"
        ).fetchall()


def test_the_order_and_copies_of_spans_change_nothing(tmp_path: Path) -> None:
    found = []
    for name in ("in_order", "mixed"):
        live = Live(open_store(str(tmp_path / name), create=True))
        spans = [
            span
            for at in range(4)
            for span in pipeline(
                f"t{at}", BEGIN + at, f"What is {at}?", REFUSAL if at == 3 else "It is.", user="u1"
            )
        ]
        if name == "mixed":
            for span in reversed(spans):
                live.send(span, span)
                live.round(BEGIN + HOUR)  # each span is read on its own, the children before their parents
        else:
            live.send(*spans)
        live.round(BEGIN + 2 * HOUR)
        found.append(everything(live))
        live.journal.close()
    assert found[0] == found[1]
    assert len(found[0]) == 4
    one = {row[4]: row for row in found[0]}["What is 3?"]
    assert one[1:] == (BEGIN + 3, "1.0", "u1", "What is 3?", "refusal", 1, 1, None, 900.0, 40.0, 2000.0)


def test_a_trace_waits_until_its_spans_have_settled_and_late_ones_are_counted(live: Live) -> None:
    spans = pipeline("t", BEGIN, "Who?", "Ann.")
    live.send(*spans[1:])
    now = BEGIN + 60
    live.round(now, whole=False)
    assert everything(live) == []
    live.round(now + 11, whole=False)
    assert len(everything(live)) == 1  # without its root
    live.send(spans[0])
    live.round(now + 30, whole=False)
    live.round(now + 45, whole=False)
    (call,) = everything(live)
    assert call[11] == 2000.0  # read anew, with the root
    live.round(now + 2 * HOUR, whole=False)
    live.send(spans[0])
    live.round(now + 3 * HOUR, whole=False)
    assert live.calls.fact(LATE) == "1"
    assert everything(live) == [call]


def test_a_time_in_the_future_is_that_of_the_arrival(live: Live) -> None:
    now = BEGIN + 60
    live.send(*pipeline("t", BEGIN, "Who?", "Ann."), *pipeline("later", now + 40 * 24 * HOUR, "What?", "It."))
    live.send(*pipeline("soon", now + HOUR / 2, "When?", "Then."))
    live.round(now)
    assert live.calls.span_of_time() == (BEGIN, now + HOUR / 2)
    live.send(*pipeline("later", now + 40 * 24 * HOUR, "What?", "It is."))
    live.round(now + HOUR / 4)  # more of it came: it stays where it is
    assert {row[4]: row[1] for row in everything(live)}["What?"] == now
    assert live.calls.losses() == {FUTURE: 1}


def test_a_metric_to_judge_that_does_not_exist_is_said_at_once(store: RunStore) -> None:
    live = Live(store, '[judge]\nmetrics = ["faithfulness", "nonsense"]\n')
    for at in range(2):
        live.round(BEGIN + at, whole=False)
    live.worker.stop()
    live.journal.close()
    (said,) = live.said
    assert said.startswith(
        "judge.metrics: 'nonsense' is neither a metric nor an evaluator of shop; accepted:"
    )


def test_a_duration_below_zero_is_none(live: Live) -> None:
    spans = pipeline("t", BEGIN, "Who?", "Ann.")
    spans[0].end_time_unix_nano = spans[0].start_time_unix_nano - 1_000_000_000
    live.send(*spans)
    live.round()
    assert [row[11] for row in everything(live)] == [None]


def test_a_damaged_database_is_said_once_and_is_no_readiness(store: RunStore) -> None:
    live = Live(store)
    assert not live.worker.is_stuck()
    (live.folder / FILE).write_bytes(b"no database" * 500)
    for at in range(3):
        live.round(BEGIN + at, whole=False)
    assert live.worker.is_stuck()
    (said,) = live.said
    assert "file is not a database" in said
    live.worker.stop()
    live.journal.close()


def test_an_error_a_dislike_and_a_refusal_are_kept_at_their_own_rates(store: RunStore) -> None:
    live = Live(store, "[keep]\nrest = 0.05\nrefusal = 0.5\nquestions = false\n")
    names = [f"t{at}" for at in range(200)]
    for at, name in enumerate(names):
        answer = None if at < 20 else REFUSAL if at < 100 else "It is so."
        live.send(*pipeline(name, BEGIN + at, "Why?", answer))
    said = ({"thumb": "down"}, {"thumbs": "down"}, {"satisfaction": 1}, {"csat": 2}, {"stars": 2})
    for at, name in enumerate(names[100:120]):
        trace = trace_id(name)
        written = trace if at % 2 else str(UUID(trace)).upper()
        live.rate(trace_id=written, **said[at % len(said)])
    live.send(Span(trace_id=bytes(range(16)), span_id=bytes(range(8)), name="ping"))
    live.round()
    with live.calls.open() as connection:
        rows = {
            row[0]: row[1:]
            for row in connection.execute("SELECT trace_id, stratum, rate, kept, sample, question FROM calls")
        }
    for at, name in enumerate(names):
        stratum, rate, kept, sample, question = rows[trace_id(name)]
        wanted = (
            ("error", 1.0)
            if at < 20
            else ("refusal", 0.5)
            if at < 100
            else ("thumbs_down", 1.0)
            if at < 120
            else ("rest", 0.05)
        )
        assert (stratum, rate) == wanted
        assert bool(kept) == keep(trace_id(name), rate) == (sample is not None) == (question is not None)
    facts = live.calls.facts(BEGIN, BEGIN + HOUR)
    assert len(facts.time) == 200
    assert np.nansum(facts.refused) == 80
    assert np.isnan(facts.refused).sum() == 20  # without an answer there is no refusal
    live.journal.close()


def test_a_trace_that_nobody_can_use_keeps_no_other_back(live: Live, store: RunStore) -> None:
    good, odd = pipeline("good", BEGIN, "How many?", "Five."), pipeline("odd", BEGIN, "How much?", "Ten.")
    metadata = '{"question_id": "q1", "large": 1%s}' % ("0" * 400)
    odd[0].attributes.append(KeyValue(key="metadata", value=AnyValue(string_value=metadata)))
    deep = KeyValue(key="odd", value=AnyValue(string_value="[" * 50_000))
    odd[1].attributes.extend(
        [deep, KeyValue(key="retrieval.documents", value=AnyValue(string_value="[[[1]"))]
    )
    ping = Span(trace_id=bytes(range(16)), span_id=bytes(range(8)), name="ping")
    live.send(*good, *odd, ping)
    live.round()
    assert store.runs(PROJECT)[0].n >= 1
    assert "How many?" in {call[4] for call in everything(live)}
    live.round(BEGIN + 20 * HOUR)
    assert live.calls.fact(NO_CALLS) == "1"  # the ping


def test_an_ended_window_is_a_run_and_a_late_call_makes_it_anew(live: Live, store: RunStore) -> None:
    for at in range(6):
        live.send(*pipeline(f"t{at}", BEGIN + at * 1_200, "How many days?", "Five days."))
    live.round(BEGIN + HOUR + 5)
    assert store.runs(PROJECT) == []  # not yet settled
    live.round(BEGIN + HOUR + 20)
    (run,) = store.runs(PROJECT)
    assert run.name == "live 18:00-19:00 2026-03-01" == window_name(BEGIN, BEGIN + HOUR)
    assert (run.n, run.n_questions) == (3, 3)  # each call counts, also where the same was asked
    assert run.config["live"]["calls"] == run.config["live"]["kept"] == 3
    live.send(*pipeline("late", BEGIN + 60, "How much?", "Ten."))
    live.round(BEGIN + HOUR + 40)
    (again,) = store.runs(PROJECT)
    assert again.run_id != run.run_id
    assert (again.name, again.n) == (run.name, 4)
    live.round(BEGIN + 3 * HOUR)
    assert [each.n for each in sorted(store.runs(PROJECT), key=lambda each: each.name)] == [4, 3]
    assert publish(store, live.calls, PROJECT, BEGIN, BEGIN + HOUR) == again


def test_a_run_that_people_used_stays_beside_the_new_one(live: Live, store: RunStore) -> None:
    live.send(*pipeline("t", BEGIN, "How many?", "Five."))
    live.round(BEGIN + 2 * HOUR)
    (run,) = store.runs(PROJECT)
    store.ledger.add_label((run.run_id, store.scored(run).question_ids[0], 0), "Ann", "fail")
    live.send(*pipeline("u", BEGIN + 5, "How much?", "Ten."))
    live.round(BEGIN + 2 * HOUR)
    assert sorted(each.n for each in store.runs(PROJECT)) == [1, 2]


def test_a_release_is_a_run_too(live: Live, store: RunStore) -> None:
    live.send(*pipeline("a", BEGIN, "How many?", "Five."), release="1.0")
    live.send(*pipeline("b", BEGIN + 9, "How many?", "Six."), release="2.0")
    live.round(BEGIN + 10)
    run = publish(store, live.calls, PROJECT, BEGIN, BEGIN + HOUR, "2.0")
    assert run is not None
    assert (run.name, run.n, run.config["live"]["release"]) == ("live release 2.0", 1, "2.0")
    assert publish(store, live.calls, PROJECT, BEGIN, BEGIN + HOUR, "3.0") is None


def test_a_crash_between_reading_and_noting_reads_nothing_twice(live: Live, store: RunStore) -> None:
    live.send(*pipeline("t", BEGIN, "How many?", "Five."))
    live.round()
    place = live.calls.fact(POSITION)
    again = Worker(store, PROJECT, live.said.append)
    assert again.take(BEGIN) == 0
    live.send(*pipeline("u", BEGIN, "How much?", "Ten."))
    assert again.take(BEGIN) == 1
    assert live.calls.fact(POSITION) != place


def test_old_traffic_goes_with_its_runs(store: RunStore) -> None:
    live = Live(store, "[retention]\ndays = 2\n")
    live.send(*pipeline("old", BEGIN, "How many?", "Five."))
    live.round(BEGIN + HOUR / 2)
    live.send(*pipeline("new", BEGIN + 46 * HOUR, "How much?", "Ten."))
    live.round(BEGIN + 47.5 * HOUR)
    assert len(store.runs(PROJECT)) == 2
    live.round(BEGIN + 50 * HOUR)
    assert [run.name for run in store.runs(PROJECT)] == [window_name(BEGIN + 46 * HOUR, BEGIN + 47 * HOUR)]
    assert [call[4] for call in everything(live)] == ["How much?"]
    live.journal.close()


def test_a_file_of_long_ago_is_kept_for_as_long_as_what_comes_now(store: RunStore) -> None:
    live = Live(store, "[retention]\ndays = 30\n")
    now = BEGIN + 400 * 24 * HOUR
    live.send(*pipeline("old", BEGIN, "How many?", "Five."))
    live.round(now)
    assert [run.n for run in store.runs(PROJECT)] == [1]
    live.round(now + 29 * 24 * HOUR)
    assert len(store.runs(PROJECT)) == 1
    live.round(now + 31 * 24 * HOUR)
    assert (store.runs(PROJECT), everything(live)) == ([], [])
    live.journal.close()


def test_a_late_call_of_a_window_without_any_is_published_too(live: Live, store: RunStore) -> None:
    live.send(*pipeline("b", BEGIN + 2 * HOUR, "How many?", "Five."))
    live.round(BEGIN + 4 * HOUR)
    live.send(*pipeline("a", BEGIN, "How much?", "Ten."))
    live.round(BEGIN + 4 * HOUR)
    assert {run.name for run in store.runs(PROJECT)} == {
        window_name(BEGIN, BEGIN + HOUR),
        window_name(BEGIN + 2 * HOUR, BEGIN + 3 * HOUR),
    }


def test_shorter_windows_leave_the_published_ones_alone(live: Live, store: RunStore) -> None:
    live.send(*pipeline("a", BEGIN, "How many?", "Five."), *pipeline("b", BEGIN + 900, "How much?", "Ten."))
    live.round(BEGIN + 2 * HOUR)
    (live.folder / FILE_NAME).write_text('[windows]\nlength = "5m"\n', encoding="utf-8")
    live.send(*pipeline("c", BEGIN + 2 * HOUR, "How long?", "A day."))
    live.round(BEGIN + 4 * HOUR)
    assert sorted(run.name for run in store.runs(PROJECT)) == [
        window_name(BEGIN, BEGIN + HOUR),
        window_name(BEGIN + 2 * HOUR, BEGIN + 2 * HOUR + 300),
    ]


def test_a_root_that_moves_a_call_over_a_border_leaves_it_in_one_window(live: Live, store: RunStore) -> None:
    spans = pipeline("t", BEGIN + HOUR - 0.05, "How many?", "Five.")  # the retriever begins after the hour
    live.send(*spans[1:], *pipeline("u", BEGIN + HOUR + 9, "How much?", "Ten."))
    live.round(BEGIN + 3 * HOUR)
    assert [run.n for run in store.runs(PROJECT)] == [2]
    live.send(spans[0])
    live.round(BEGIN + 3 * HOUR)
    assert {run.name: run.n for run in store.runs(PROJECT)} == {
        window_name(BEGIN, BEGIN + HOUR): 1,
        window_name(BEGIN + HOUR, BEGIN + 2 * HOUR): 1,
    }


def test_a_thumb_that_comes_late_makes_its_window_anew(live: Live, store: RunStore) -> None:
    live.send(*pipeline("t", BEGIN, "How many?", "Five."))
    live.round(BEGIN + 2 * HOUR)
    live.round(BEGIN + 5 * HOUR)  # its spans are given up
    live.rate(trace_id=trace_id("t"), thumb="down")
    live.round(BEGIN + 6 * HOUR)
    (run,) = store.runs(PROJECT)
    assert "human" in run.fields


def test_a_journal_that_was_taken_away_is_read_from_its_beginning(store: RunStore) -> None:
    live = Live(store)
    for at in range(3):
        live.send(*pipeline(f"t{at}", BEGIN + at, "How many?", "Five."))
        live.journal.close()
        live.journal = Journal(live.folder / JOURNAL)
    live.send(*pipeline("t4", BEGIN + 4, "How many?", "Five."))
    live.round(BEGIN + 9)
    live.journal.close()
    shutil.rmtree(live.folder / JOURNAL)
    live.journal = Journal(live.folder / JOURNAL)
    live.send(*pipeline("new", BEGIN + 5, "How many?", "Six."))
    live.round(BEGIN + 9)
    assert len(everything(live)) == 5
    live.journal.close()


def test_a_step_that_fails_keeps_nothing_else_back(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise KeyError("odd")

    monkeypatch.setattr("ragtriage.data.live.worker.read_traces", fails)
    live.send(*pipeline("t", BEGIN, "How many?", "Five."))
    live.round()
    live.round()
    assert live.calls.fact(POSITION)
    assert live.said == ["traces: internal error (KeyError: 'odd'); the next round tries again"]


def test_a_wrong_policy_is_said_and_the_one_before_goes_on(live: Live) -> None:
    (live.folder / FILE_NAME).write_text("[keep]\nrest = 5\n", encoding="utf-8")
    live.send(*pipeline("t", BEGIN, "How many?", "Five."))
    live.round()
    live.round()
    (said,) = live.said
    assert "keep.rest: 5; accepted: a share from 0.000001 to 1" in said
    assert len(everything(live)) == 1


@pytest.mark.parametrize("project", ["shop", "a/b", "..", "Köln 5 %", ".hidden"])
def test_every_name_of_a_project_has_a_folder_of_its_own(store: RunStore, project: str) -> None:
    Calls.of(store.workspace, project, create=True).span_of_time()
    assert live_projects(store.workspace) == [project]
    assert live_folder(store.workspace, project).parent == store.workspace.root / "live"


def test_the_bundled_traffic_is_as_in_its_source_and_says_what_is_replayed(store: RunStore) -> None:
    entry = next(entry for entry in bundled() if "traffic" in entry)
    before, since = load_traffic(store, BUNDLED, entry)
    calls = Calls.of(store.workspace, entry["project"])
    facts = calls.facts(0.0, 1e12)
    assert len(facts.time) == 8_819
    tokens = np.percentile(facts.context_tokens, 95), np.percentile(facts.output_tokens, 95)
    assert tokens == pytest.approx((7_303.3, 90.0))
    assert len(np.unique(facts.time // 60)) == 45  # minutes with traffic, of 57
    assert (before.config["live"]["calls"], since.config["live"]["calls"]) == (5_100, 3_719)
    known = (facts.release == np.array("V3 strict prompt")) & (facts.answerable == 1)
    of_all, said = facts.refused[known].mean(), store.summary(since)["refused_answerable"]
    assert said.low < of_all < said.high  # the sample tells what all calls say
    kept = facts.refused[known & (facts.kept == 1)].mean()
    assert not said.low < kept < said.high  # and the plain mean of the sample does not
    assert since.notes == (entry["traffic"]["origin"],)
    assert not [it for it in check_run(store.scored(since)) if it.rule in ("asked_twice", "few_lists")]


def test_the_worker_says_what_its_policy_watches_but_not_of_a_file(store: RunStore) -> None:
    rule = '[[alerts]]\nmetric = "refused"\nat_most = 0.3\nwindow = "1h"\nwindows = 1\nfewest = 10\n'
    live = Live(store, rule)
    for at in range(20):
        live.send(*pipeline(f"t{at}", BEGIN + at, f"Question {at}?", REFUSAL))
    live.round(BEGIN + HOUR + 20)
    assert live.said == []
    for minutes in range(3):
        live.round(BEGIN + HOUR + 60 * minutes + 20, whole=False)
    live.worker.stop()
    live.journal.close()
    (said,) = live.said
    assert said.startswith(
        "shop: refused 100 % [83 %, 100 %] of 20 calls, limit 30 %; firing since 2026-03-01 18:00 UTC"
    )
