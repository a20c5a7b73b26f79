"""What runs beside the receiver: the journal becomes calls and runs, alerts are told, old traffic goes."""

import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from math import inf

from ragtriage.data.errors import DataError
from ragtriage.data.live.alerts.alerting import Watch
from ragtriage.data.live.alerts.judging import check_metrics
from ragtriage.data.live.assembly import give_up_spans, put_spans, read_traces
from ragtriage.data.live.calls import (
    DAMAGED,
    JOURNAL,
    Calls,
    add_to_count,
    live_folder,
    put_fact,
    put_feedback,
)
from ragtriage.data.live.feedback.records import answers_from
from ragtriage.data.live.journal import Kind, Position, Record, last_segment, read_journal
from ragtriage.data.live.otlp_spans import parsed_request, stored_spans
from ragtriage.data.live.policy import FILE_NAME, read_policy
from ragtriage.data.live.retention import retain
from ragtriage.data.live.topics import give_topics
from ragtriage.data.live.windows import publish_due
from ragtriage.data.scoring.run_store import RunStore

POSITION = "read to"  # fact: place in the journal up to which everything is in the database
EVERY = 2.0  # seconds between two rounds
RETAIN_EVERY = 600.0
AGAIN = 600.0  # seconds without a problem, after which it is said again
BYTES_AT_ONCE = 32 << 20  # of payloads that are held and put into the database together


class Worker:
    """Works on the traffic of one project, in a thread of its own or round by round."""

    def __init__(
        self,
        store: RunStore,
        project: str,
        say: Callable[[str], None],
        drop_before: Callable[[Position], object] = lambda _: None,
    ) -> None:
        """Prepare the folder of the project.

        Args:
            store: the runs of the workspace.
            project: whose traffic it is.
            say: told in a sentence what went wrong; the next round tries again.
            drop_before: told a place in the journal up to which everything is in the database.
        """
        self.store, self.project, self._say = store, project, say
        self.calls = Calls.of(store.workspace, project, create=True)
        self.folder = live_folder(store.workspace, project)
        self.policy = read_policy(self.folder / FILE_NAME).policy
        self._drop_before = drop_before
        self._watch = Watch(store, self.calls, project, say)
        self._said: dict[str, str] = {}  # step -> its problem in the last round, "" for none
        self._seen: dict[str, float] = {}  # problem -> when it last was one; several steps may have the same
        self._next_retention = 0.0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._work, name="live worker", daemon=True)

    def start(self) -> None:
        """Begin to work."""
        self._thread.start()

    def stop(self) -> None:
        """Finish the round that runs, and end; what waits in the journal is read at the next start."""
        self._ended.set()
        if self._thread.ident is not None:
            self._thread.join()
        self._watch.stop()

    def _work(self) -> None:
        while not self._ended.is_set():
            self.round(time.time())
            self._ended.wait(EVERY)

    def round(self, now: float, *, whole: bool = False) -> None:
        """Do all there is to do at a time; what fails is said once, and keeps nothing else from being done.

        Args:
            now: seconds since 1970.
            whole: whether all traces that came are whole, as those of a file are.
        """
        self._try("policy", self._read_policy)
        self._try("journal", lambda: self.take(now))
        self._try("traces", lambda: read_traces(self.calls, self.policy, now, whole=whole))
        if whole:  # a file is of the past: nobody is told of it
            self._try("topics", lambda: give_topics(self.calls, now))
        publication = partial(publish_due, self.store, self.calls, self.project)
        self._try("windows", lambda: publication(self.policy, now, whole=whole))
        self._try("spans", lambda: give_up_spans(self.calls, self.policy, now))
        if not whole:
            self._try("alerts", lambda: self._watch.round(self.policy, now))
        if now >= self._next_retention:
            self._next_retention = now + RETAIN_EVERY
            self._try("retention", lambda: retain(self.store, self.calls, self.project, self.policy, now))

    def is_stuck(self) -> bool:
        """Return whether the last round could not bring the journal into the database."""
        return any(self._said.get(step) for step in ("journal", "traces"))

    def _try(self, step: str, work: Callable[[], object]) -> None:
        problem = ""
        try:
            work()
        except (DataError, OSError) as error:
            problem = str(error)
        except Exception as error:  # noqa: BLE001 -- traffic may hold anything, and this thread must go on
            problem = f"{step}: internal error ({type(error).__name__}: {error}); the next round tries again"
        if problem:
            moment = time.monotonic()
            is_new = moment - self._seen.get(problem, -inf) > AGAIN
            self._seen = {text: at for text, at in self._seen.items() if moment - at <= AGAIN}
            self._seen[problem] = moment
            if is_new:
                self._say(problem)
        self._said[step] = problem

    def take(self, now: float) -> int:
        """Put what the journal has into the database, each part with the place it was read to.

        Return how many records there were.
        """
        written = self.calls.fact(POSITION)
        after = Position(*json.loads(written)) if written else None
        if after is not None and after.segment > last_segment(self.folder / JOURNAL):
            after = None  # the journal was taken away: what is there now is all new
        damaged: list[int] = []
        records = read_journal(self.folder / JOURNAL, after, lambda damage: damaged.append(damage.size))
        total, place = 0, after
        while part := _part(records):
            self._put(part, sum(damaged), now)
            damaged.clear()
            place = part[-1][0]
            total += len(part)
        if place is not None:
            self._drop_before(place)
        return total

    def _put(self, records: Sequence[Record], damaged: int, now: float) -> None:
        with self.calls.changing() as connection:
            for _, kind, payload in records:
                if kind == Kind.TRACES:
                    put_spans(connection, list(stored_spans(parsed_request(payload))), now)
                elif kind == Kind.FEEDBACK:
                    answers = answers_from(json.loads(payload))
                    put_feedback(connection, [record for answer in answers for record in answer.records])
            if damaged:
                add_to_count(connection, DAMAGED, damaged)
            put_fact(connection, POSITION, json.dumps(records[-1][0]))

    def _read_policy(self) -> None:
        """Read the policy anew; where it is wrong, the one before goes on."""
        try:
            self.policy = read_policy(self.folder / FILE_NAME).policy
        except DataError as error:
            raise DataError(f"{error}; the policy before it goes on") from error
        if self.policy.judge is not None:
            check_metrics(self.store.ledger, self.project, self.policy.judge)


def _part(records: Iterator[Record]) -> list[Record]:
    """Return the next records, as many as may be held at once."""
    part, size = [], 0
    for record in records:
        part.append(record)
        size += len(record[2])
        if size >= BYTES_AT_ONCE:
            break
    return part
