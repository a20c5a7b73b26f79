"""Windows of time, and releases, published as runs: what every page opens like any other run."""

from collections.abc import Iterator
from dataclasses import astuple, fields, replace
from datetime import UTC, datetime
from time import time
from typing import Any

from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.load import import_parsed_runs
from ragtriage.data.live.calls import Calls, Window
from ragtriage.data.live.feedback.joining import with_feedback
from ragtriage.data.live.policy import DAY, Policy
from ragtriage.data.live.production.times import iso
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.parsed_run import ParsedRun, Record
from ragtriage.data.store.workspace import LIVE, Run

FORMAT = "otlp"  # of such runs, in their origin
FILE, ORIGIN = (
    "file",
    "origin",
)  # facts of traffic that did not come by the receiver: where from, a note on it

AGAIN = 60.0  # seconds at least between two publications of a window
_HELD = (  # calls of a time, how many are kept, and when the last came
    "SELECT count(*), coalesce(sum(kept), 0), max(came) FROM calls WHERE time >= ? AND time < ?"
    " AND (? IS NULL OR release = ?)"
)
_UNPUBLISHED = (  # parts of the day with kept calls that are in no window
    "SELECT DISTINCT CAST(time / ? AS INTEGER) FROM calls WHERE kept AND NOT published AND time < ?"
)
_MARK = "UPDATE calls SET published = 1 WHERE kept AND NOT published AND time >= ? AND time < ?"


def window_name(first: float, last: float) -> str:
    """Return the name of a window, as "live 18:00-19:00 2026-03-01"; times are UTC.

    The time comes first, as pages cut long names at their end.
    """
    start, end = _moment(first), _moment(last)
    if last - first == DAY and first % DAY == 0:
        return f"live {start:%Y-%m-%d}"
    same_day = _moment(last - 1).date() == start.date()
    finish = "24:00" if same_day and end.date() != start.date() else f"{end:%H:%M}"
    return f"live {start:%H:%M}-{finish} {start:%Y-%m-%d}{'' if same_day else f' to {end:%Y-%m-%d}'}"


def publish(
    store: RunStore, calls: Calls, project: str, first: float, last: float, release: str | None = None
) -> Run | None:
    """Publish the kept calls of a time as a run; one that was published before is replaced if it changed.

    A run that people labelled, named, tagged or compare with stays beside the new one.

    Args:
        store: the runs of the workspace.
        calls: the live traffic of the project.
        project: its name.
        first: begin, seconds since 1970, included.
        last: end, excluded.
        release: the one release to publish; all where None.

    Returns:
        The run; None where no call of that time is kept.
    """
    earlier = published_window(calls, first, last, release or "")
    if earlier is not None and not earlier.stale and earlier.run_id in store.workspace.run_ids():
        return store.workspace.read_run(earlier.run_id)
    with calls.open() as connection:
        held = total, kept, _ = connection.execute(_HELD, (first, last, release, release)).fetchone()
    if not kept:
        return None
    name = window_name(first, last) if release is None else f"live release {release}"
    said = {"from": iso(first), "to": iso(last), "release": release or "", "calls": total, "kept": kept}
    parsed = ParsedRun(
        name,
        _records(with_feedback(calls, calls.samples(first, last, release), first, last)),
        calls.fact(FILE, "live traffic"),
        FORMAT,
        named_by_content=True,
        config={LIVE: said},
        notes=tuple(filter(None, [calls.fact(ORIGIN)])),
        created_at=_moment(first).replace(tzinfo=None),
    )
    run = import_parsed_runs(store, [parsed], project, ValidationErrors(name))[0].run
    _note(calls, Window(first, last, release or "", run.run_id, published=time()), release, held)
    if earlier is not None and earlier.run_id != run.run_id:
        drop_run(store, project, earlier.run_id)
    return run


def publish_due(
    store: RunStore, calls: Calls, project: str, policy: Policy, now: float, *, whole: bool = False
) -> list[Run]:
    """Publish the windows that ended, and anew those to which something came since.

    A window is published anew once a minute at most, unless what came is `whole`.
    """
    length = policy.windows.length
    windows = calls.windows()
    again = [window for window in windows if window.stale and (whole or time() - window.published > AGAIN)]
    known = {(window.first, window.last) for window in windows if not window.release}
    end = (now - policy.windows.settle) // length * length
    with calls.open() as connection:
        parts = [row[0] for row in connection.execute(_UNPUBLISHED, (length, end))]
    due = [(part * length, (part + 1) * length) for part in sorted(parts)]
    wanted: list[tuple[float, float, str | None]] = [
        *((window.first, window.last, window.release or None) for window in again),
        *((*window, None) for window in due if window not in known),
    ]
    published = [publish(store, calls, project, *each) for each in wanted]
    if spans := [(first, last) for first, last, release in wanted if release is None]:
        with calls.changing() as connection:
            connection.executemany(_MARK, spans)
    return [run for run in published if run is not None]


def published_window(calls: Calls, first: float, last: float, release: str = "") -> Window | None:
    """Return a time, or a release, as it was published; None where it was not."""
    wanted = (first, last, release)
    return next((it for it in calls.windows() if (it.first, it.last, it.release) == wanted), None)


def _note(calls: Calls, window: Window, release: str | None, held: tuple[object, ...]) -> None:
    """Note which run a window is; it is stale where other calls are in it than were read."""
    with calls.changing() as connection:
        now = connection.execute(_HELD, (window.first, window.last, release, release)).fetchone()
        columns = ", ".join(field.name for field in fields(Window))
        noted = astuple(replace(window, stale=now != held))
        connection.execute(f"INSERT OR REPLACE INTO windows ({columns}) VALUES (?, ?, ?, ?, ?, ?)", noted)  # noqa: S608


def drop_run(store: RunStore, project: str, run_id: str) -> None:
    """Delete the run of a window, unless a person did something with it."""
    ledger, workspace = store.ledger, store.workspace
    used = ledger.labels(run_id) or run_id in ledger.display_names() or run_id in ledger.tags()
    if not used and run_id != ledger.baselines().get(project) and run_id in workspace.run_ids():
        workspace.delete_run(run_id)


def _records(samples: Iterator[dict[str, Any]]) -> Iterator[Record]:
    """Yield the samples as records, each a question of its own.

    Were the same question of two users one, a mean would be over questions, and not over calls. Calls of one
    user are not independent: where no conversation is known, the user stands for it.
    """
    for line, sample in enumerate(samples, start=1):
        user = sample.get("user_id")
        of_user = {"conversation_id": f"user {user}"} if user else {}
        yield line, {**of_user, **sample, "question_id": sample["trace_id"]}


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
