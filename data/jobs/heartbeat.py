"""The heartbeat of a running job: its progress written every second, and a request to stop passed on."""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping
from contextlib import suppress
from threading import Event, Thread, current_thread, main_thread
from types import TracebackType
from typing import Any, Self

from ragtriage.data.errors import DataError
from ragtriage.data.jobs.record import pulse
from ragtriage.data.store.ledger import Ledger

BEAT_SECONDS = 1.0


class Heartbeat:
    """Writes how far a job is, every second from entering to leaving; SIGTERM asks the job to stop.

    It has a thread of its own, so that neither long work nor a locked ledger holds the other up.

    Attributes:
        stop_asked: whether the job was asked to stop.
    """

    def __init__(
        self,
        ledger: Ledger,
        job_id: int,
        progress: Callable[[], Mapping[str, Any]],
        watch: Callable[[], object] | None = None,
    ) -> None:
        """Prepare the heartbeat of a job that has begun.

        Args:
            ledger: where the job is recorded.
            job_id: its number.
            progress: returns how far it is, as JSON values.
            watch: called with every beat.
        """
        self._ledger, self._job_id, self._progress, self._watch = ledger, job_id, progress, watch
        self._ended = Event()
        self._thread = Thread(target=self._beat, daemon=True)
        self._in_main_thread = False
        self._signal_before: Any = None
        self.stop_asked = False

    def __enter__(self) -> Self:
        self._in_main_thread = current_thread() is main_thread()  # signals come to no other
        if self._in_main_thread:
            self._signal_before = signal.signal(signal.SIGTERM, lambda *_: self.stop())
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()
        if self._in_main_thread:
            signal.signal(signal.SIGTERM, self._signal_before)

    def stop(self) -> None:
        """Ask the job to stop."""
        self.stop_asked = True

    def _beat(self) -> None:
        while True:
            with suppress(DataError):  # a locked ledger costs one beat
                if pulse(self._ledger, self._job_id, self._progress()):
                    self.stop_asked = True
            with suppress(Exception):  # a watcher that fails does not end the job
                if self._watch is not None:
                    self._watch()
            if self._ended.wait(BEAT_SECONDS):
                return
