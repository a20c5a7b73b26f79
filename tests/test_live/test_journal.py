"""The journal: what is acknowledged is read again, whatever happens to its tail, its middle or its disk."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from ragtriage.data.errors import WorkspaceError
from ragtriage.data.live.calls import JOURNAL, live_folder
from ragtriage.data.live.journal import Damage, Journal, JournalFullError, Kind, Position, read_journal
from ragtriage.data.live.worker import Worker
from ragtriage.data.scoring.run_store import RunStore

PAYLOADS = [bytes([at]) * (at * 700 + 1) for at in range(9)]


def _filled(folder: Path, payloads: list[bytes] = PAYLOADS) -> list[Position]:
    with Journal(folder) as journal:
        return [journal.append(Kind.TRACES, payload) for payload in payloads]


def _payloads(folder: Path, after: Position | None = None) -> list[bytes]:
    return [payload for _, _, payload in read_journal(folder, after)]


def test_records_come_back_in_order_with_their_kinds_and_positions(tmp_path: Path) -> None:
    kinds = [Kind.TRACES, Kind.FEEDBACK, Kind.TRACES]
    with Journal(tmp_path) as journal:
        written = [(journal.append(kind, b"of " + kind.name.encode()), kind) for kind in kinds]
        assert [(position, kind) for position, kind, _ in journal.read()] == written
        assert [kind for _, kind, _ in journal.read(written[0][0])] == kinds[1:]
        assert list(journal.read(written[-1][0])) == []


def test_a_new_writer_begins_a_segment_so_that_no_position_comes_again(tmp_path: Path) -> None:
    first = _filled(tmp_path)
    (tmp_path / "00000001.log").write_bytes(b"")  # as if the disk had lost all of it
    second = _filled(tmp_path)
    assert set(first).isdisjoint(second)
    assert _payloads(tmp_path, first[-1]) == PAYLOADS


@given(st.integers(min_value=0, max_value=400))
@settings(max_examples=60, deadline=None)
def test_a_torn_tail_is_cut_at_the_last_whole_record_and_said(
    tmp_path_factory: pytest.TempPathFactory, cut: int
) -> None:
    folder = tmp_path_factory.mktemp("journal")
    positions = _filled(folder)
    path = folder / "00000001.log"
    size = max(0, path.stat().st_size - cut)
    os.truncate(path, size)
    kept = [position for position in positions if position.offset <= size]
    assert _payloads(folder) == PAYLOADS[: len(kept)]  # before anybody has opened it to write
    whole = kept[-1].offset if kept else 0
    with Journal(folder) as journal:
        assert len(journal.notes) == (size > whole)
        assert all("never acknowledged" in note and str(path) in note for note in journal.notes)
        journal.append(Kind.TRACES, b"new")
    assert path.stat().st_size == whole
    assert _payloads(folder) == [*PAYLOADS[: len(kept)], b"new"]


@pytest.mark.parametrize("place", [0, 4, 5, 9, 30])
def test_damage_inside_a_segment_is_refused_or_skipped_and_counted(tmp_path: Path, place: int) -> None:
    positions = _filled(tmp_path)
    path = tmp_path / "00000001.log"
    content = bytearray(path.read_bytes())
    content[positions[3].offset + place] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(WorkspaceError, match=r"00000001\.log: .* damaged; accepted"):
        _payloads(tmp_path)
    skipped: list[Damage] = []
    left = [payload for _, _, payload in read_journal(tmp_path, None, skipped.append)]
    assert left == PAYLOADS[:4] + PAYLOADS[5:]
    assert skipped == [Damage(path, positions[3].offset, positions[4].offset - positions[3].offset)]
    with Journal(tmp_path) as journal:
        assert journal.notes == ()  # no torn tail: nothing behind the damage is cut
    assert path.read_bytes() == content


def test_the_end_of_a_closed_segment_that_is_gone_is_damage(tmp_path: Path) -> None:
    _filled(tmp_path)
    _filled(tmp_path)
    path = tmp_path / "00000001.log"
    os.truncate(path, path.stat().st_size - 1)
    skipped: list[Damage] = []
    assert len(list(read_journal(tmp_path, None, skipped.append))) == 2 * len(PAYLOADS) - 1
    assert len(skipped) == 1


def test_segments_rotate_by_size_and_go_once_they_are_behind(tmp_path: Path) -> None:
    payloads = [os.urandom(1_000) for _ in range(20)]
    with Journal(tmp_path, segment_bytes=4_500) as journal:
        positions = [journal.append(Kind.TRACES, payload) for payload in payloads]
        assert positions == sorted(positions)
        assert [position.segment for position in positions] == [1 + at // 4 for at in range(20)]
        assert journal.drop_before(positions[9]) == sum(
            position.offset
            for position in positions[:8]
            if position == max(p for p in positions[:8] if p.segment == position.segment)
        )
        assert [payload for _, _, payload in journal.read(positions[9])] == payloads[10:]
        journal.drop_before(Position(99, 0))
    assert [path.name for path in sorted(tmp_path.glob("*.log"))] == ["00000005.log"]
    with Journal(tmp_path) as journal:
        assert journal.append(Kind.TRACES, b"").segment == 6


def test_many_requests_share_the_waiting_for_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced, gate = [], threading.Event()

    def slow(handle: int) -> None:
        gate.wait(10)
        synced.append(handle)

    monkeypatch.setattr("ragtriage.data.live.journal._sync_data", slow)
    with Journal(tmp_path) as journal:
        waiting = [journal.submit(Kind.TRACES, b"%d" % at) for at in range(200)]
        assert not any(future.done() for future in waiting)  # nobody is answered before the disk has it
        gate.set()
        assert len({future.result(10) for future in waiting}) == 200
    assert 1 <= len(synced) <= 3


def test_a_full_queue_refuses_and_takes_again_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = threading.Event()
    monkeypatch.setattr("ragtriage.data.live.journal._sync_data", lambda _: gate.wait(10))
    with Journal(tmp_path, most_waiting=1_000) as journal:
        first = journal.submit(Kind.TRACES, b"x" * 900)
        assert journal.is_full() is False
        with pytest.raises(
            JournalFullError, match="900 bytes wait for the disk; accepted: the same again later"
        ):
            journal.submit(Kind.TRACES, b"x" * 200)
        gate.set()
        first.result(10)
        journal.append(Kind.TRACES, b"x" * 2_000)  # larger than all that may wait, and alone
    assert [len(payload) for payload in _payloads(tmp_path)] == [900, 2_000]


def test_a_journal_on_the_disk_is_bounded_too(tmp_path: Path) -> None:
    with Journal(tmp_path, most_stored=3_000, segment_bytes=1_000) as journal:
        positions = [journal.append(Kind.TRACES, os.urandom(1_000)) for _ in range(3)]
        with pytest.raises(JournalFullError, match="bytes are stored"):
            journal.submit(Kind.TRACES, b"one more")
        assert journal.is_full()
        journal.drop_before(positions[1])
        assert not journal.is_full()
        journal.append(Kind.TRACES, b"one more")


def test_a_full_disk_is_said_and_costs_nothing_that_was_acknowledged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Journal(tmp_path) as journal:
        journal.append(Kind.TRACES, b"before")

        def full(_: int) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        with monkeypatch.context() as patched:
            patched.setattr("ragtriage.data.live.journal._sync_data", full)
            with pytest.raises(WorkspaceError, match=r"No space left .*accepted: a disk with free space"):
                journal.append(Kind.TRACES, b"lost, and not acknowledged")
        journal.append(Kind.TRACES, b"after")
    assert _payloads(tmp_path) == [b"before", b"after"]


def test_who_goes_away_before_the_answer_stops_nobody_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = threading.Event()
    monkeypatch.setattr("ragtriage.data.live.journal._sync_data", lambda _: gate.wait(10))
    with Journal(tmp_path) as journal:
        futures = [journal.submit(Kind.TRACES, b"%d" % at) for at in range(5)]
        for future in futures:
            future.cancel()
        gate.set()
        journal.append(Kind.TRACES, b"last")
    assert _payloads(tmp_path)[-1] == b"last"


def test_a_second_writer_is_refused_also_from_another_process(tmp_path: Path) -> None:
    with Journal(tmp_path):
        with pytest.raises(WorkspaceError, match="another process collects into it; accepted: one at a time"):
            Journal(tmp_path)
        code = "import sys; from pathlib import Path; from ragtriage.data.live.journal import Journal"
        command = [sys.executable, "-c", f"{code}; Journal(Path(sys.argv[1]))", str(tmp_path)]
        other = subprocess.run(command, capture_output=True, text=True, check=False)
        assert "another process collects into it" in other.stderr
    Journal(tmp_path).close()


def test_a_closed_journal_takes_nothing_and_none_is_empty(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.close()
    with pytest.raises(WorkspaceError, match="is closed"):
        journal.submit(Kind.TRACES, b"")
    assert _payloads(tmp_path / "none") == []


def test_an_old_segment_goes_once_it_is_read_to_its_end(tmp_path: Path) -> None:
    def left() -> list[str]:
        return [path.name for path in sorted(tmp_path.glob("*.log"))]

    with Journal(tmp_path) as journal:
        place = journal.append(Kind.TRACES, b"old")
        assert (journal.drop_before(place), left()) == (0, ["00000001.log"])  # not an hour old
    with Journal(tmp_path, segment_seconds=0) as journal:  # nobody goes on with the segment of another start
        assert (journal.drop_before(place), left()) == (place.offset, ["00000002.log"])
        first, second = (journal.append(Kind.TRACES, text) for text in (b"read", b"not read"))
        assert (journal.drop_before(first), left()) == (0, ["00000002.log"])
        assert list(journal.read(first)) == [(second, Kind.TRACES, b"not read")]
        assert (journal.drop_before(second), left()) == (second.offset, ["00000003.log"])
        assert journal.drop_before(second) == 0
        assert journal.append(Kind.TRACES, b"new").segment == 3
        assert [payload for _, _, payload in journal.read(second)] == [b"new"]


def test_the_worker_lets_an_old_segment_go_though_nothing_comes(workspace: RunStore) -> None:
    folder = live_folder(workspace.workspace, "shop") / JOURNAL
    with Journal(folder) as journal:
        worker = Worker(workspace, "shop", print, journal.drop_before)
        span = ExportTraceServiceRequest()
        span.resource_spans.add().scope_spans.add().spans.add(trace_id=b"t" * 16, name="a question")
        journal.append(Kind.TRACES, span.SerializeToString())
        assert worker.take(0.0) == 1
    with Journal(folder) as journal:
        worker = Worker(workspace, "shop", print, journal.drop_before)
        assert worker.take(10.0) == 0
        assert [path.stat().st_size for path in folder.glob("*.log")] == [0]


def test_the_worker_lets_go_of_what_is_in_the_database(workspace: RunStore) -> None:
    folder = live_folder(workspace.workspace, "shop") / JOURNAL
    with Journal(folder, segment_bytes=3_000) as journal:
        worker = Worker(workspace, "shop", print, journal.drop_before)
        request = ExportTraceServiceRequest()
        span = request.resource_spans.add().scope_spans.add().spans.add(trace_id=b"t" * 16)
        for number in range(30):
            span.span_id = (number + 1).to_bytes(8, "big")
            span.name = os.urandom(500).hex()
            journal.append(Kind.TRACES, request.SerializeToString())
        assert len(list(folder.glob("*.log"))) > 3
        assert worker.take(0.0) == 30
        assert len(list(folder.glob("*.log"))) == 1
        journal.append(Kind.TRACES, request.SerializeToString())
        assert worker.take(1.0) == 1
