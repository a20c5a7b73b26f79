"""What watches the traffic while it comes: topics, alerts and who is told, the judge and its budget."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Mapping
from threading import Event, Thread

from ragtriage.data.errors import DataError
from ragtriage.data.jobs import ask_to_stop, jobs_of
from ragtriage.data.live.alerts.judging import judge_due
from ragtriage.data.live.alerts.notifications import tell_pending
from ragtriage.data.live.alerts.states import alert_states, note_baselines, note_changes, rule_key
from ragtriage.data.live.calls import Calls
from ragtriage.data.live.policy import Policy
from ragtriage.data.live.production.scores import scores_of
from ragtriage.data.live.topics import give_topics
from ragtriage.data.scoring.run_store import RunStore

EVERY = 60.0  # seconds between two looks at what no window that ended makes due
LOOKS = 10  # at a window that goes on, for what comes late
LONGEST_WAIT = 30.0  # for what is being told and judged; replies that came are kept
AFTER_A_FAILURE = 600.0  # before the judge is asked again
Say = Callable[[str], None]


class Watch:
    """Watches one project; telling and judging have threads of their own, since both may take long."""

    def __init__(
        self,
        store: RunStore,
        calls: Calls,
        project: str,
        say: Say,
        environment: Mapping[str, str] = os.environ,
        base_url: str | None = None,
    ) -> None:
        """Prepare the watch.

        Args:
            store: the runs of the workspace.
            calls: the live traffic of the project.
            project: its name.
            say: told in a sentence what went wrong, and of each alert that changes.
            environment: may name a webhook.
            base_url: of the judge's service; the usual one when left out.
        """
        self.store, self.calls, self.project = store, calls, project
        self._environment, self._base_url = environment, base_url
        self._say = say
        self._said: dict[str, str] = {}  # by subject, so that nothing is said twice in a row
        self._ended = Event()
        self._next_look: dict[str, float] = {}  # at each rule, by its key
        self._next_topics = 0.0
        self._next = {"telling": math.inf, "judging": 0.0}  # when to try again what is not due otherwise
        self._threads: dict[str, Thread] = {}

    def round(self, policy: Policy, now: float) -> None:
        """Do what is due at a time; return before telling and judging end."""
        if now >= self._next_topics:
            give_topics(self.calls, now)
            self._next_topics = now + EVERY
        due = tuple(rule for rule in policy.alerts if now >= self._next_look.get(rule_key(rule), 0.0))
        if due:
            self._look(policy.model_copy(update={"alerts": due}), now)
        if policy.alerts and (due or now >= self._next["telling"]):
            self._begin("telling", lambda: self._tell(policy, now), now)
        if policy.judge is not None and now >= self._next["judging"]:
            self._begin("judging", lambda: self._judge(policy, now), now)

    def stop(self) -> None:
        """Ask the judge to stop, and wait for what is being told."""
        self._ended.set()
        if self._is_busy("judging"):
            mine = (job for job in jobs_of(self.store.ledger) if job.pid == os.getpid())
            for job in mine:
                if job.state == "running":
                    ask_to_stop(self.store.ledger, job.job_id)
        self.wait()

    def wait(self) -> None:
        """Wait until telling and judging have ended, or so long that the process should end without them."""
        end = time.monotonic() + LONGEST_WAIT
        for thread in list(self._threads.values()):
            thread.join(max(0.0, end - time.monotonic()))

    def _look(self, policy: Policy, now: float) -> None:
        """Note what became of rules, and when to look again: as a window ends, and for late calls."""
        note_baselines(self.calls, policy)
        states = alert_states(self.calls, policy, now, scores_of(self.store, self.calls))
        for change in note_changes(self.calls, self.project, states, now, policy.retention.days):
            self._say(str(change.facts["text"]))
        for rule in policy.alerts:
            ends = ((now - policy.windows.settle) // rule.window + 1) * rule.window + policy.windows.settle
            self._next_look[rule_key(rule)] = min(ends, now + max(EVERY, rule.window / LOOKS))

    def _tell(self, policy: Policy, now: float) -> None:
        problems = tell_pending(self.calls, policy, now, self._environment)
        self._next["telling"] = now + EVERY if problems else math.inf
        self._report("telling", "; ".join(problems))

    def _judge(self, policy: Policy, now: float) -> None:
        if policy.judge is None:
            return
        judging = judge_due(self.store, self.calls, policy.judge, now, self._ended.is_set, self._base_url)
        self._next["judging"] = now + (EVERY if judging.state == "done" else AFTER_A_FAILURE)
        self._report("judging", "" if judging.state in ("done", "stopped") else judging.sentence)

    def _begin(self, name: str, work: Callable[[], None], now: float) -> None:
        """Begin a piece of work in a thread, unless it is still going on."""
        if self._is_busy(name) or self._ended.is_set():
            return

        def guarded() -> None:
            try:
                work()
            except (DataError, OSError) as error:
                self._next[name] = now + AFTER_A_FAILURE
                self._report(name, str(error))

        self._threads[name] = Thread(target=guarded, name=f"live {name}", daemon=True)
        self._threads[name].start()

    def _is_busy(self, name: str) -> bool:
        return name in self._threads and self._threads[name].is_alive()

    def _report(self, name: str, problem: str) -> None:
        if problem and problem != self._said.get(name):
            self._say(problem)
        self._said[name] = problem
