"""The runs of a workspace and their scores, with an index so that no page opens a thousand small files.

The index can be rebuilt from the runs at any time; one that cannot be used is deleted.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from threading import RLock
from typing import Any

from data.errors import WorkspaceError
from data.scoring.judged_scores import is_scored
from data.scoring.score_run import DEFAULT_KS, ScoreOptions, ensure_scored, match_of
from data.scoring.scored_run import ScoredRun
from data.scoring.summaries import MetricSummary, reported_means
from data.store.judge_results import current_results, judge_result_path
from data.store.ledger import Ledger
from data.store.workspace import Run, Workspace
from metrics.schema.metric import Convention

__all__ = ["RunStore"]

_TABLE = "CREATE TABLE IF NOT EXISTS entries (run_id TEXT, kind TEXT, body TEXT, PRIMARY KEY (run_id, kind))"
KEPT_RUNS = 64  # runs whose arrays stay in memory


class RunStore:
    """The runs of one workspace as this process sees them; notices what other processes add and remove."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.ledger = Ledger(workspace.ledger_path)
        self._runs: dict[str, Run] = {}
        self._unreadable: dict[str, str] = {}
        self._summaries: dict[tuple[str, str], dict[str, MetricSummary]] = {}
        self._scored_runs: dict[tuple[str, str], ScoredRun] = {}
        self._results: dict[str, dict[str, str]] = {}
        self._results_version: tuple[int, ...] = ()
        self._lock = RLock()

    def runs(self, project: str | None = None) -> list[Run]:
        """List the runs that are in the workspace now, oldest first; only those of `project` if given."""
        with self._lock:
            there = self.workspace.run_ids()
            for gone in self._runs.keys() - there:
                del self._runs[gone]
            self._unreadable.clear()  # they are read anew each time, since somebody may have mended them
            fresh = there - self._runs.keys()
            if fresh:
                self._load(fresh)
            found = [run for run in self._runs.values() if project is None or run.project == project]
        return sorted(found, key=lambda run: (run.created_at, run.name, run.run_id))

    def unreadable(self) -> dict[str, str]:
        """Return run id -> what is wrong, of the runs in the workspace that cannot be read."""
        with self._lock:
            self.runs()
            return dict(sorted(self._unreadable.items()))

    def projects(self) -> list[str]:
        """List the projects, sorted."""
        return sorted({run.project for run in self.runs()})

    def usual_project(self) -> str:
        """Return the project for runs without one: the only project of the workspace, else `default`."""
        projects = self.projects()
        return projects[0] if len(projects) == 1 else "default"

    def find(self, wanted: str, project: str | None = None) -> Run:
        """Find a run by id, by the start of its id, or by its name.

        Raises:
            WorkspaceError: there is none, or more than one; the message lists candidates.
        """
        runs = self.runs(project)
        if wanted in self.unreadable():
            raise WorkspaceError(self.unreadable()[wanted])
        if not runs:
            raise WorkspaceError(
                f"no run {wanted!r}: there are no runs in {self.workspace.root}; accepted: a workspace with "
                "runs (--workspace, RAGTRIAGE_WORKSPACE); `ragtriage import FILE` loads some"
            )
        names = self.names()
        exact = [run for run in runs if run.run_id == wanted]
        hits = exact or [run for run in runs if names[run.run_id] == wanted or run.name == wanted]
        hits = hits or [run for run in runs if len(wanted) >= 4 and run.run_id.startswith(wanted)]
        if len(hits) == 1:
            return hits[0]
        shown = [f"{run.run_id} ({run.project}: {names[run.run_id]})" for run in (hits or runs)[:12]]
        problem = f"{len(hits)} runs are called" if hits else "no run"
        raise WorkspaceError(f"{problem} {wanted!r}; accepted: one of these ids: {'; '.join(shown)}")

    def names(self) -> dict[str, str]:
        """Return the display name of every run: the newest one in the ledger, else the imported one."""
        runs = self.runs()
        renamed = self.ledger.display_names() if runs else {}  # reading a ledger would make one
        return {run.run_id: renamed.get(run.run_id, run.name) for run in runs}

    def options(
        self, run: Run, ks: tuple[int, ...] = DEFAULT_KS, convention: Convention = "default"
    ) -> ScoreOptions:
        """Return how a run is scored: with its current judge results."""
        results = self._current_results().get(run.run_id, {})
        scored_kinds = tuple((kind, results[kind]) for kind in sorted(results) if is_scored(kind))
        return ScoreOptions(ks, convention, match_of(run), scored_kinds)

    def _current_results(self) -> dict[str, dict[str, str]]:
        """Return kind -> digest of the current judge results of every run; cached until the ledger changes.

        A result whose file was deleted is left out; judging again restores it from the ledger.
        """
        version = _file_version(self.ledger.path)
        with self._lock:
            if version != self._results_version:
                self._results = {
                    run_id: {
                        kind: digest
                        for kind, digest in kinds.items()
                        if judge_result_path(self.workspace, run_id, digest).exists()
                    }
                    for run_id, kinds in current_results(self.ledger).items()
                }
                self._results_version = version
            return self._results

    def scored(
        self, run: Run, options: ScoreOptions | None = None, progress: Callable[[int], None] | None = None
    ) -> ScoredRun:
        """Return a scored run; the run is scored first where that has not been done."""
        wanted = options or self.options(run)
        key = (run.run_id, wanted.folder)
        with self._lock:
            if key in self._scored_runs:
                return self._scored_runs[key]
        scores = ensure_scored(self.workspace, run, wanted, progress)
        with self._lock:
            if key not in self._scored_runs:
                while len(self._scored_runs) >= KEPT_RUNS:
                    self._scored_runs.pop(next(iter(self._scored_runs)))
                self._scored_runs[key] = ScoredRun(self.workspace, run, scores, wanted.judge_results)
            return self._scored_runs[key]

    def summary(self, run: Run, options: ScoreOptions | None = None) -> dict[str, MetricSummary]:
        """Return the means of a run's metrics over all its questions."""
        wanted = options or self.options(run)
        key = (run.run_id, wanted.folder)
        with self._lock:
            if key not in self._summaries:
                ensure_scored(self.workspace, run, wanted)
                self._summaries[key] = self._stored_summary(run, wanted.folder)
            return self._summaries[key]

    def _stored_summary(self, run: Run, folder: str) -> dict[str, MetricSummary]:
        body = self._read(run.run_id, folder)
        if run.means:
            return reported_means(run)
        if body is None:
            path = self.workspace.scores_folder / run.run_id / folder / "summary.json"
            body = json.loads(path.read_text(encoding="utf-8"))["aggregates"]
            self._write(run.run_id, folder, body)
        return {name: MetricSummary(**fields) for name, fields in body.items()}

    def _load(self, run_ids: set[str]) -> None:
        stored = self._read_facts()
        for run_id in run_ids:
            if run_id in stored:
                self._runs[run_id] = stored[run_id]
                continue
            try:
                run = self.workspace.read_run(run_id)
            except WorkspaceError as error:
                if run_id in self.workspace.run_ids():  # not deleted meanwhile
                    self._unreadable[run_id] = str(error)
                continue
            self._write(run_id, "run", run.to_json())
            self._runs[run_id] = run

    def _read_facts(self) -> dict[str, Run]:
        """Return the runs as the index has them; a run whose entry is damaged is read from its folder."""
        with self._open() as connection:
            rows = connection.execute("SELECT run_id, body FROM entries WHERE kind = 'run'").fetchall()
        facts = {}
        for run_id, body in rows:
            with suppress(TypeError, ValueError):
                run = Run.from_json(json.loads(body))
                if run.run_id == run_id:
                    facts[run_id] = run
        return facts

    def _read(self, run_id: str, kind: str) -> Any:
        with self._open() as connection:
            row = connection.execute(
                "SELECT body FROM entries WHERE run_id = ? AND kind = ?", (run_id, kind)
            ).fetchone()
        return json.loads(row[0]) if row else None

    def _write(self, run_id: str, kind: str, body: Any) -> None:
        with self._open() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO entries VALUES (?, ?, ?)", (run_id, kind, json.dumps(body))
            )

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """Open the index; one that is broken or cannot be written gives way to one in memory."""
        path = self.workspace.index_path
        try:
            self.workspace.create_file(path)
            connection = _connect(str(path))
        except sqlite3.DatabaseError as error:
            if not isinstance(error, sqlite3.OperationalError):
                path.unlink(missing_ok=True)
            connection = _connect(":memory:")
        with closing(connection):
            yield connection


def _file_version(path: Path) -> tuple[int, ...]:
    """Return a value that changes when a SQLite file or its write-ahead log is written to."""
    version: list[int] = []
    for file in (path, path.with_name(f"{path.name}-wal")):
        try:
            facts = file.stat()
        except OSError:
            version += [0, 0]
        else:
            version += [facts.st_mtime_ns, facts.st_size]
    return tuple(version)


def _connect(path: str) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=10.0, isolation_level=None)
    connection.execute(_TABLE)
    return connection
