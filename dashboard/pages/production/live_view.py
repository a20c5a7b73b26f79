"""The live traffic on display: its project, its time, and the facts, which are kept until a call comes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ragtriage.dashboard.shell.kept_results import kept_with_spinner
from ragtriage.dashboard.shell.session import current_selection, open_anew, open_store
from ragtriage.dashboard.shell.user import may_write
from ragtriage.dashboard.wording.escaping import shorten
from ragtriage.data.declarations import use_declarations
from ragtriage.data.live.calls import Calls, live_folder
from ragtriage.data.live.policy import FILE_NAME
from ragtriage.data.live.production.facts import Production, production
from ragtriage.data.live.production.times import chosen_span, span_ends
from ragtriage.data.live.production.window_runs import part_ends, publish_part
from ragtriage.data.live.windows import published_window
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.stored_file import file_version
from ragtriage.data.store.workspace import Run

CLEAR = {"baseline": "", "since": "", "versions": (), "other": "", "grid": ""}
RELEASE = 22  # characters


@dataclass(frozen=True)
class Opened:
    """What the page shows."""

    store: RunStore
    calls: Calls
    facts: Production

    def ends(self, later: bool) -> tuple[float, float] | None:
        """Return begin and end of a part; None where it has no call."""
        return part_ends(self.calls, self.facts.times, later)

    def run_id(self, later: bool) -> str:
        """Return the run of a part; "" where it is not published."""
        ends = self.ends(later)
        window = None if ends is None else published_window(self.calls, *ends)
        return "" if window is None or window.stale else window.run_id

    def part(self, later: bool) -> Run | None:
        """Return a part as a run; None where it has no kept call, or is not published and may not be."""
        if not may_write():
            run_id = self.run_id(later)
            return self.store.workspace.read_run(run_id) if run_id else None
        return publish_part(self.store, self.calls, self.facts.project, self.ends(later))

    def step(self, first: float, last: float) -> Run | None:
        """Return a step as a run, published now where it is not; None as of a part."""
        if not may_write():
            window = published_window(self.calls, first, last)
            return None if window is None else self.store.workspace.read_run(window.run_id)
        return publish_part(self.store, self.calls, self.facts.project, (first, last))

    @property
    def against(self) -> str:
        """What the later part is compared with, in a few words."""
        release = self.facts.times.release
        return f"before {shorten(release, RELEASE)}" if release else "the time before"


def open_live(project: str) -> Opened:
    """Open the live traffic of a project at the time that was chosen."""
    store, selection = open_store(), current_selection()
    use_declarations(store.workspace, project)
    calls = Calls.of(store.workspace, project)
    name, first, last = span_ends(selection.live_span) if selection.live_span else (None, None, None)
    span = chosen_span(calls, name, first, last)
    state = (*calls.files, *file_version(live_folder(store.workspace, project) / FILE_NAME))
    return Opened(store, calls, _facts(store, project, span, selection.live_against, state))


@kept_with_spinner("Reading the calls")
def _facts(
    store: RunStore,
    project: str,
    span: tuple[float, float, int],
    against: str,
    state: tuple[Any, ...],  # noqa: ARG001 -- part of its key
) -> Production:
    return production(store, project, *span, against)


def open_run(opened: Opened, page: str, run: Run | None, base: Run | None = None, **chosen: Any) -> None:
    """Open a page on a run of live traffic, pinned against another; not for callbacks."""
    if run is None:
        return
    project = opened.facts.project
    pinned = {**CLEAR, **({} if base is None else {"baseline": base.run_id}), **chosen}
    open_anew(page, project=project, run=run.run_id, **pinned)
