"""What the Compare page compares a run with: the version before it, the last release, or the baseline."""

from __future__ import annotations

from dataclasses import dataclass

from ragtriage.dashboard.shell.session import View
from ragtriage.data.store.versions import releases_of
from ragtriage.data.store.workspace import Run


@dataclass(frozen=True)
class ComparedBase:
    """A run that Compare offers to compare with."""

    run: Run
    title: str  # what it is to the run on display, as "previous version, release 1.2"


def offered_bases(view: View) -> dict[str, ComparedBase]:
    """Return word in the address -> base, the one that Compare opens with first; a run is offered once.

    The version before and the last release are offered where they are later than the baseline, and of the
    same dataset as the run.
    """
    usual = view.comparison_base
    if usual is None or view.found.itself:
        return {} if usual is None else {"baseline": ComparedBase(usual, "baseline")}
    since = view.found.run.created_at if view.found.run is not None else None
    releases = releases_of(view.store.ledger, view.project)
    earlier = [
        run
        for run in view.sampled
        if run.created_at < view.run.created_at
        and (since is None or run.created_at > since)
        and (run.dataset, run.dataset_version) == (view.run.dataset, view.run.dataset_version)
        and not run.config.get("generated_from")
    ]
    offered: dict[str, ComparedBase] = {}
    if earlier and view.found.run is not None:
        release = releases.get(earlier[-1].run_id)
        title = f"previous version, release {release.name}" if release else "previous version"
        offered["before"] = ComparedBase(earlier[-1], title)
    released = [run for run in earlier if run.run_id in releases]
    if released and (not offered or released[-1] != earlier[-1]):
        offered["release"] = ComparedBase(released[-1], f"release {releases[released[-1].run_id].name}")
    offered["baseline"] = ComparedBase(usual, "run before" if view.found.run is None else "baseline")
    return offered


def compared_base(view: View) -> Run | None:
    """Return what Compare compares with: what was chosen there, else a named baseline, else the usual."""
    offered, word = offered_bases(view), base_word(view)
    return offered[word].run if word in offered else view.comparison_base


def base_word(view: View) -> str:
    """Return the word for what Compare compares with; "" where that is a baseline that was named."""
    offered, chosen = offered_bases(view), view.selection.since
    if chosen in offered:
        return chosen
    return "" if view.selection.baseline else next(iter(offered), "")
