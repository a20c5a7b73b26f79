"""The runs of a workspace and their scores: what is damaged of the scores, or gone, is computed again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from difflib import SequenceMatcher
from pathlib import Path
from threading import RLock
from typing import Any

from ragtriage.data.declarations import use_declarations
from ragtriage.data.errors import WorkspaceError
from ragtriage.data.scoring.batch_scores import DEFAULT_KS, ScoreOptions
from ragtriage.data.scoring.judged_scores import is_scored
from ragtriage.data.scoring.label_correction import Ratings, ratings_of_runs
from ragtriage.data.scoring.score_run import ensure_scored, match_of, refusal_patterns
from ragtriage.data.scoring.scored_run import CHECK_PASS_RATE, ScoredRun
from ragtriage.data.scoring.stored_scores import SUMMARY, is_intact, read_summary
from ragtriage.data.scoring.summaries import MetricSummary, reported_means, summarise
from ragtriage.data.scoring.verdicts import with_attack_verdicts
from ragtriage.data.store.judge_results import current_results, judge_of, judge_result_path
from ragtriage.data.store.ledger import Ledger
from ragtriage.data.store.run_index import RunIndex
from ragtriage.data.store.sample_reader import check_samples
from ragtriage.data.store.workspace import Run, Workspace
from ragtriage.data.suites.citations import declared_templates
from ragtriage.data.suites.safety import ATTACK_RESULT, AttackVerdicts, judge_verdicts, people_on_attacks
from ragtriage.metrics.metric_registry import bounds_of, imported_declarations
from ragtriage.metrics.schema.metric import Convention

ROOM = 256_000_000  # bytes that the arrays of all runs may need together
MOST_TOLD = 64  # runs kept as what was said of their attacks makes them
MOST_OFFERED = 12  # runs of one name that an error lists
MOST_CLOSEST = 4  # runs that an error lists where none has the name
MOST_COMPARED = 100  # characters of a name that are compared
_Said = tuple[AttackVerdicts | None, Ratings | None]


class RunStore:
    """The runs of one workspace as this process sees them; notices what other processes add and remove."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.ledger = Ledger(workspace.ledger_path)
        self.index = RunIndex(workspace)
        self._runs: dict[str, Run] = {}
        self._unreadable: dict[str, str] = {}
        self._summaries: dict[tuple[str, str], dict[str, MetricSummary]] = {}
        self._declared_summaries: dict[tuple[object, ...], dict[str, MetricSummary]] = {}  # by range too
        self._scored_runs: dict[tuple[str, str], ScoredRun] = {}  # the last that was used at the end
        self._sizes: dict[tuple[str, str], int] = {}  # bytes of each when it was last asked for
        self._entries: dict[str, dict[str, Any]] = {}  # of the index, by kind, until they are used
        self._results: dict[str, dict[str, str]] = {}
        self._verdicts: dict[str, AttackVerdicts] = {}
        self._ratings: dict[str, Ratings] = {}
        self._told_runs: dict[tuple[str, str], tuple[ScoredRun, _Said, ScoredRun]] = {}
        self._told_summaries: dict[str, dict[str, MetricSummary]] = {}
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
            runs = [run for run in self._runs.values() if project is None or run.project == project]
        return sorted(runs, key=lambda run: (run.created_at, run.imported_at, run.name, run.run_id))

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
        """Find a run by id, by the start of its id, or by its name, also with the project: PROJECT: NAME.

        What its project declares of imported metrics is in force from then on.

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
        hits = exact or [run for run in runs if wanted in (names[run.run_id], run.name)]
        hits = hits or [
            run
            for run in runs
            if wanted in (f"{run.project}: {names[run.run_id]}", f"{run.project}: {run.name}")
        ]
        hits = hits or [run for run in runs if len(wanted) >= 4 and run.run_id.startswith(wanted)]
        if len(hits) == 1:
            use_declarations(self.workspace, hits[0].project)
            return hits[0]
        offered = hits[:MOST_OFFERED] or _closest(wanted, runs, names)
        labels = distinct_labels(offered, names)
        named = (f"{run.run_id} ({run.project}: {labels[run.run_id]})" for run in offered)
        shown = "; ".join(" ".join(text.split()) for text in named)
        more = len(hits or runs) - len(offered)
        if hits:
            others = f"; and {more:,} more" if more else ""
            raise WorkspaceError(
                f"{len(hits)} runs are called {wanted!r}; accepted: one of these ids: {shown}{others}"
            )
        which = (
            f"the closest of {len(runs):,} runs, which `ragtriage runs` lists" if more else "all there are"
        )
        raise WorkspaceError(f"no run {wanted!r}; accepted: the id or name of a run: {shown} ({which})")

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
        templates = declared_templates(self.workspace, run)
        patterns = refusal_patterns(self.workspace, run.project)
        return ScoreOptions(ks, convention, match_of(run.config), scored_kinds, templates, patterns)

    def _current_results(self) -> dict[str, dict[str, str]]:
        """Return kind -> digest of the current judge results of every run; cached until the ledger changes.

        A result whose file was deleted is left out; judging again restores it from the ledger.
        """
        version = self.ledger.files
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
                self._verdicts = self._attack_verdicts()
                self._ratings = ratings_of_runs(self.ledger)
                self._results_version = version
            return self._results

    def _attack_verdicts(self) -> dict[str, AttackVerdicts]:
        """Return what was said of the attacks of each run, of those where something was."""
        people = people_on_attacks(self.ledger)
        judged = {
            run_id: kinds[ATTACK_RESULT] for run_id, kinds in self._results.items() if ATTACK_RESULT in kinds
        }
        stored = {}
        for run_id in sorted({*people, *judged}):
            path = judge_result_path(self.workspace, run_id, judged[run_id]) if run_id in judged else None
            answers, model = ({}, "") if path is None else (judge_verdicts(path), judge_of(path))
            stored[run_id] = AttackVerdicts(people.get(run_id, {}), answers, model)
        return stored

    def scored(
        self, run: Run, options: ScoreOptions | None = None, progress: Callable[[int], None] | None = None
    ) -> ScoredRun:
        """Return a scored run; the run is scored first where that has not been done.

        What people and the judge said of its attacks since the import is applied, and randomly drawn ratings
        correct its means.
        """
        wanted = options or self.options(run)
        return self._told(self._scored(run, wanted, progress), (run.run_id, wanted.folder))

    def _told(self, scored: ScoredRun, key: tuple[str, str]) -> ScoredRun:
        """Return a run with what was said of its attacks and samples; kept until somebody says more."""
        self._current_results()
        with self._lock:
            said = self._verdicts.get(key[0]), self._ratings.get(key[0])
            if said == (None, None):
                return scored
            kept = self._told_runs.get(key)
            if kept is not None and kept[0] is scored and kept[1] == said:
                return kept[2]
        verdicts, ratings = said
        with_said = scored if verdicts is None else with_attack_verdicts(scored, verdicts)
        with_said = with_said if ratings is None else with_said.with_ratings(ratings)
        with self._lock:
            while len(self._told_runs) >= MOST_TOLD:
                self._told_runs.pop(next(iter(self._told_runs)))
            self._told_runs[key] = (scored, said, with_said)
        return with_said

    def _scored(self, run: Run, wanted: ScoreOptions, progress: Callable[[int], None] | None) -> ScoredRun:
        """Return a run with the scores that are stored, of which those damaged or gone are made anew."""
        key = (run.run_id, wanted.folder)
        with self._lock:
            stored = self._scored_runs.get(key)
            if stored is not None and (stored.scores_path.is_dir() or not stored.samples_path.exists()):
                self._scored_runs[key] = self._scored_runs.pop(key)  # the last that was used
                self._make_room(key)
                return stored
            self._scored_runs.pop(key, None)
            self._sizes.pop(key, None)
        folder = self.workspace.scores_folder / run.run_id / wanted.folder
        check_samples(self.workspace, run)
        if folder.exists() and not is_intact(folder):
            self.workspace.discard(folder)
        is_new = not (folder / SUMMARY).exists()
        scores = ensure_scored(self.workspace, run, wanted, progress)
        if is_new:
            self.index.write_entries(_means_entry(run, wanted, scores))
        with self._lock:
            if key not in self._scored_runs:
                self._scored_runs[key] = ScoredRun(self.workspace, run, scores, wanted.judge_results)
            return self._scored_runs[key]

    def enter_in_index(self, runs: Sequence[Run]) -> None:
        """Write the facts and means of runs that were scored to the index, so that no page has to."""
        entries: list[tuple[str, str, Any]] = [(run.run_id, "run", run.to_json()) for run in runs]
        for run in runs:
            wanted = self.options(run)
            folder = self.workspace.scores_folder / run.run_id / wanted.folder
            entries += _means_entry(run, wanted, folder)
        self.index.write_entries(entries)

    def _make_room(self, key: tuple[str, str]) -> None:
        """Release the arrays of the runs that were not used for longest, where all together need too much.

        A run grows as pages read its metrics, so the one that is asked for is measured each time. The run
        itself stays: diagnoses that are kept refer to it, and it reads again what they ask for.
        """
        self._sizes[key] = self._scored_runs[key].nbytes
        used = sum(self._sizes.values())
        for other, scored in self._scored_runs.items():
            if used <= ROOM or other == key:
                return
            used -= self._sizes.pop(other, 0)
            scored.release()

    def summary(self, run: Run, options: ScoreOptions | None = None) -> dict[str, MetricSummary]:
        """Return the means of a run's metrics over all its questions.

        The intervals of imported metrics follow the ranges that are declared now, not those of the import.
        """
        wanted = options or self.options(run)
        key = (run.run_id, wanted.folder)
        with self._lock:
            if key not in self._summaries:
                self._summaries[key] = reported_means(run) if run.means else self._stored_summary(run, wanted)
            summaries = self._summaries[key]
            if not run.means:
                summaries = summaries | self._told_summary(run, wanted)
            ranges = {name: bounds_of(name) for name in imported_declarations() if name in summaries}
            if run.means or not ranges:
                return summaries
            declared_key = (*key, tuple(ranges.items()), self._ratings.get(run.run_id))
            if declared_key not in self._declared_summaries:
                self._declared_summaries[declared_key] = summarise(self.scored(run, wanted), list(ranges))
            return summaries | self._declared_summaries[declared_key]

    def _told_summary(self, run: Run, wanted: ScoreOptions) -> dict[str, MetricSummary]:
        """Return the summaries that what was said of the run's attacks, or of a random sample, changes."""
        self._current_results()
        if run.run_id not in self._verdicts and run.run_id not in self._ratings:
            return {}
        scored = self.scored(run, wanted)
        names = [name for name, _ in scored.ratings.of if name in scored.metrics]
        names += [CHECK_PASS_RATE] if scored.verdicts else []
        if not names:
            return {}
        if scored.cache_key not in self._told_summaries:
            self._told_summaries[scored.cache_key] = summarise(scored, names)
        return self._told_summaries[scored.cache_key]

    def _stored_summary(self, run: Run, options: ScoreOptions) -> dict[str, MetricSummary]:
        """Return the summary from the index or the scores, which are computed again where it is damaged."""
        folder = ensure_scored(self.workspace, run, options)
        try:
            return _summaries(self._indexed(run.run_id, options.folder))
        except (TypeError, ValueError, AttributeError):
            pass  # an index damaged or of an earlier version: the scores themselves say
        try:
            body = read_summary(folder)["aggregates"]
            summaries = _summaries(body)
        except (TypeError, ValueError):
            self.workspace.discard(folder)
            body = read_summary(ensure_scored(self.workspace, run, options))["aggregates"]
            summaries = _summaries(body)
        self.index.write(run.run_id, options.folder, body)
        return summaries

    def _indexed(self, run_id: str, kind: str) -> Any:
        """Return an entry of the index; those of its kind are read together, as a list of runs wants them."""
        if kind not in self._entries:
            self._entries[kind] = self.index.read_all(kind)
        return self._entries[kind].pop(run_id, None) or self.index.read(run_id, kind)

    def _load(self, run_ids: set[str]) -> None:
        stored, unindexed = self.index.runs(), dict[str, Run]()
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
            self._runs[run_id] = unindexed[run_id] = run
        if unindexed:
            self.index.write_all("run", {run_id: run.to_json() for run_id, run in unindexed.items()})


def _means_entry(run: Run, options: ScoreOptions, folder: Path) -> list[tuple[str, str, Any]]:
    """Return the entry of the index with the means of a run that was scored; none where they are damaged."""
    if run.means:
        return []  # they are among its facts
    try:
        return [(run.run_id, options.folder, read_summary(folder)["aggregates"])]
    except ValueError:
        return []


def _summaries(body: Any) -> dict[str, MetricSummary]:
    """Return the summaries that were stored; raises TypeError where they are of another form."""
    return {name: MetricSummary(**fields) for name, fields in body.items()}


def _closest(wanted: str, runs: Sequence[Run], names: Mapping[str, str]) -> list[Run]:
    """List the few runs whose name or id is most like what was wanted, the closest first."""

    def likeness(run: Run) -> float:
        written = (names[run.run_id], run.name, run.run_id)
        return max(
            SequenceMatcher(None, name[:MOST_COMPARED].casefold(), wanted[:MOST_COMPARED].casefold()).ratio()
            for name in written
        )

    return sorted(runs, key=likeness, reverse=True)[:MOST_CLOSEST]


def distinct_labels(runs: Sequence[Run], names: Mapping[str, str]) -> dict[str, str]:
    """Return the label of each run by id: its name; where names repeat, with what tells the runs apart.

    That is the date, the number of cases or the time, where one of them does, else the start of the id.

    Args:
        runs: the runs that are shown together.
        names: display name of each, by id.
    """
    alike: dict[str, list[Run]] = {}
    for run in runs:
        alike.setdefault(names[run.run_id], []).append(run)
    labels = {}
    for name, group in alike.items():
        if len(group) == 1:
            labels[group[0].run_id] = name
            continue
        for run, what in zip(group, _differences(group), strict=True):
            labels[run.run_id] = f"{name} · {what}"
    taken = Counter(labels.values())  # a name may end like the label of another run
    return {
        run.run_id: label if taken[label := labels[run.run_id]] == 1 else f"{label} · {run.run_id[:6]}"
        for run in runs
    }


def _differences(runs: Sequence[Run]) -> list[str]:
    """Return what tells runs of one name apart, a short text for each."""
    for texts in (
        [f"{run.created_at:%Y-%m-%d}" for run in runs],
        [f"{run.n:,} cases" for run in runs],
        [f"{run.created_at:%Y-%m-%d %H:%M}" for run in runs],
    ):
        if len(set(texts)) == len(runs):
            return texts
    return [run.run_id[:6] for run in runs]
