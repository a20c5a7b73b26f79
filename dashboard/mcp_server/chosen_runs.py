"""The runs that a call is about: the one it names, else the newest; and the list of all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from ragtriage.dashboard.headlines.headline import Headline
from ragtriage.dashboard.mcp_server.bounded import (
    DATA_NOTE,
    MOST_BYTES,
    json_text,
    name_text,
    page_of,
    quoted,
    shortened,
    with_page,
)
from ragtriage.data.api import diagnosis_of, run_entry
from ragtriage.data.diagnosis.diagnosis import Diagnosis, DiagnosisSettings
from ragtriage.data.diagnosis.run_digest import RunDigest, read_digests, stored_digests
from ragtriage.data.errors import DataError
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.versions import releases_of
from ragtriage.data.store.workspace import Run
from ragtriage.metrics.schema.metric import whole_number
from ragtriage.metrics.schema.scores import MetricsError

MOST_RUNS = 100
MOST_PROJECTS = 30  # that an answer names
MOST_PROBLEM = 300  # characters of why a run cannot be read
RunName = Annotated[
    str, Field(description="Id, start of the id, or name of a run; empty for the newest run with samples.")
]
Cursor = Annotated[str, Field(description="`next_cursor` of the page before; empty for the first page.")]


@dataclass(frozen=True)
class Tools:
    """Tools over one workspace: they read the runs of its store."""

    store: RunStore

    def chosen_run(self, wanted: str) -> Run:
        """Return the run that a call names, else the newest one with samples.

        Raises:
            DataError: there is none, or more than one of that name; the message lists candidates.
        """
        if not wanted:
            runs = self.store.runs()
            sampled = [run for run in runs if not run.means] or runs
            wanted = sampled[-1].run_id if sampled else "newest"
        return self.store.find(wanted)

    def diagnosis(self, run: Run, settings: DiagnosisSettings | None = None) -> Diagnosis:
        """Return the diagnosis of a run, at the usual thresholds where none are given."""
        return diagnosis_of(self.store, run, settings or DiagnosisSettings())

    def run_values(self, run: Run) -> dict[str, Any]:
        """Return what every answer says of the run that it is about."""
        return _cleaned(run_entry(run, self.store.names()[run.run_id]))

    def answer(self, run: Run, what_next: str | list[str], *lists: str, **values: Any) -> dict[str, Any]:
        """Return an answer about a run that keeps the bound; of the lists, the first named is cut first."""
        answer = {"run": self.run_values(run), **values, "note": DATA_NOTE, "next": what_next}
        return shortened(answer, *lists)

    def paged(
        self,
        head: dict[str, Any],
        lists: Sequence[str],
        key: str,
        noun: str,
        entries: Sequence[Any],
        cursor: str,
    ) -> dict[str, Any]:
        """Return an answer with a page of its longest list; the pages after the first have that list alone.

        Args:
            head: the answer without the list.
            lists: what of it may be cut, the least important first; it keeps two fifths for the page.
            key: of the list in the answer.
            noun: what an entry is called.
            entries: of the list.
            cursor: `next_cursor` of the page before; "" for the first page.
        """
        first = first_entry(cursor, len(entries))
        if cursor:
            head, lists = {name: head[name] for name in ("run", "note", "next")}, ()
        return with_page(shortened(head, *lists, most=MOST_BYTES * 3 // 5), key, noun, entries, first)


def _cleaned(entry: dict[str, Any]) -> dict[str, Any]:
    return {**entry, "name": name_text(entry["name"]), "project": name_text(entry["project"])}


def headline_values(headline: Headline) -> dict[str, str]:
    """Return a headline as JSON values: its state and its text."""
    return {"state": headline.state, "text": headline.text}


def first_entry(cursor: str, total: int) -> int:
    """Return the number of the entry that a page begins with.

    Raises:
        DataError: no page has this cursor.
    """
    first = whole_number(cursor) if cursor else 0
    if first is None or not 0 <= first <= total:
        raise DataError(f"cursor {cursor[:40]!r}; accepted: `next_cursor` of the page before, or none")
    return first


class RunTools(Tools):
    """The tool that lists the runs."""

    def list_runs(
        self,
        project: Annotated[str, Field(description="Only runs of this project; empty for all.")] = "",
        search: Annotated[str, Field(description="Only runs whose name contains this text.")] = "",
        limit: Annotated[int, Field(ge=1, le=MOST_RUNS, description="Runs on a page.")] = 20,
        cursor: Cursor = "",
    ) -> dict[str, Any]:
        """List the evaluation runs of the workspace, newest first, with pass rate, baseline and release.

        Start here when you do not know the name of a run. `n` counts samples; a run with `summary_only` has
        published means and no cases. A pass rate of null was not measured; `fix_first` is the failure stage
        with the most bad cases, left out where the checks doubt it; `problem` says why a run cannot be read.
        """
        names = self.store.names()
        runs = [
            run
            for run in reversed(self.store.runs())
            if project in ("", run.project) and search.casefold() in names[run.run_id].casefold()
        ]
        projects = self.store.projects()
        if project and project not in projects:
            accepted = ", ".join(map(name_text, projects[:30])) or "none, the workspace has no runs"
            raise DataError(f"project {project[:60]!r} has no runs; accepted: {accepted}")
        first = first_entry(cursor, len(runs))
        entries = self._entries(runs[first : first + limit], names)
        answer: dict[str, Any] = {
            **({"more_projects": len(projects) - MOST_PROJECTS} if len(projects) > MOST_PROJECTS else {}),
            "projects": [name_text(name) for name in projects[:MOST_PROJECTS]],
            "total": len(runs),
            "note": DATA_NOTE,
        }
        unreadable = self.store.unreadable()
        if unreadable:
            answer["unreadable"] = {
                run_id: quoted(why, MOST_PROBLEM) for run_id, why in list(unreadable.items())[:3]
            }
        taken = len(json_text(answer).encode()) + 400
        answer |= page_of("runs", "run", entries, first, len(runs), taken)
        answer["next"] = (
            'triage(run="...") says whether a run may ship and what to fix first'
            if runs
            else "ragtriage import FILE --project NAME, in a shell, loads a run"
        )
        return answer

    def _entries(self, runs: list[Run], names: dict[str, str]) -> list[dict[str, Any]]:
        ledger = self.store.ledger
        digests, problems = self._digests(runs)
        baselines, tags = ledger.baselines(), ledger.tags()
        releases = {project: releases_of(ledger, project) for project in {run.project for run in runs}}
        entries = []
        for run in runs:
            entry = _cleaned(run_entry(run, names[run.run_id]))
            digest, release = digests.get(run.run_id), releases[run.project].get(run.run_id)
            entry["pass_rate"] = digest.pass_rate if digest else None
            if digest and not digest.answers_checked:
                entry["answers_checked"] = False  # the rate says no more than that no fault was found
            if digest and digest.fix_first:
                entry["fix_first"] = {"stage": digest.fix_first, "cases": digest.stages[digest.fix_first]}
            if run.run_id in problems:
                entry["problem"] = problems[run.run_id]
            if run.means:
                entry["summary_only"] = True
            if baselines.get(run.project) == run.run_id:
                entry["baseline"] = True
            if release:
                entry["release"] = name_text(release.name)
            if run.run_id in tags:
                entry["tags"] = [name_text(tag) for tag in tags[run.run_id][:20]]
            entries.append(entry)
        return entries

    def _digests(self, runs: list[Run]) -> tuple[dict[str, RunDigest], dict[str, str]]:
        """Return the digests of the runs on a page, made now where none is stored, and why one has none."""
        digests, problems = stored_digests(self.store, runs), dict[str, str]()
        for run in runs:
            if run.run_id in digests:
                continue
            try:
                digests |= read_digests(self.store, [run])
            except (DataError, MetricsError) as error:
                problems[run.run_id] = quoted(str(error), MOST_PROBLEM)
        return digests, problems
