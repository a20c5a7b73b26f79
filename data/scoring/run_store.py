"""The runs of a workspace and their scores: what is damaged of the scores, or gone, is computed again."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from difflib import SequenceMatcher
from pathlib import Path
from threading import RLock
from typing import Any, NamedTuple

from ragtriage.data.declarations import use_declarations
from ragtriage.data.errors import WorkspaceError
from ragtriage.data.scoring.batch_scores import DEFAULT_KS, ScoreOptions
from ragtriage.data.scoring.judged_scores import is_scored
from ragtriage.data.scoring.label_correction import Ratings, ratings_of_runs
from ragtriage.data.scoring.run_cache import RunCache, RunIndex
from ragtriage.data.scoring.score_run import ensure_scored, match_of, refusal_patterns
from ragtriage.data.scoring.scored_run import CHECK_PASS_RATE, ScoredRun
from ragtriage.data.scoring.stage_features import with_attack_verdicts
from ragtriage.data.scoring.stored_scores import SUMMARY, is_intact, read_summary
from ragtriage.data.scoring.summaries import MetricSummary, reported_means, summarise
from ragtriage.data.store.judge_results import current_results, judge_of, judge_result_path
from ragtriage.data.store.ledger import Ledger
from ragtriage.data.store.sample_reader import check_samples
from ragtriage.data.store.workspace import Run, Workspace
from ragtriage.data.suites.citations import templates_of
from ragtriage.data.suites.safety import ATTACK_RESULT, AttackVerdicts, judge_verdicts, people_on_attacks
from ragtriage.metrics.metric_registry import bounds_of, imported_declarations
from ragtriage.metrics.schema.metric import Convention

MOST_OFFERED = 12  # runs of one name that an error lists
MOST_CLOSEST = 4  # runs that an error lists where none has the name
MOST_COMPARED = 100  # characters of a name that are compared
_Labels = tuple[AttackVerdicts | None, Ratings | None]


class _LedgerFacts(NamedTuple):
    """What the ledger holds on runs now, by run id."""

    results: Mapping[str, Mapping[str, str]]  # kind -> digest of the current judge result
    verdicts: Mapping[str, AttackVerdicts]
    ratings: Mapping[str, Ratings]


class _Labelled(NamedTuple):
    """A scored run as labels change it."""

    scored: ScoredRun
    labels: _Labels
    changed: ScoredRun

    @property
    def nbytes(self) -> int:
        """Bytes of its arrays."""
        return self.changed.nbytes


class RunStore:
    """The runs of one workspace as this process sees them; notices what other processes add and remove."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.ledger = Ledger(workspace.ledger_path)
        self.index = RunIndex(workspace)
        self._runs: dict[str, Run] = {}
        self._unreadable: dict[str, str] = {}
        self._cache = RunCache()
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
                "runs (--workspace, RAGTRIAGE_WORKSPACE); `ragtriage import FILE` loads some, in Python "
                "ragtriage.add_run"
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
        of_project = [run for run in runs if run.project == wanted]
        offered = (hits or of_project)[:MOST_OFFERED] or _closest(wanted, runs, names)
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
        if of_project:
            which = f"a project has that name; `ragtriage runs` lists all {len(runs):,} runs"
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
        results = self.ledger.remembered(_LedgerFacts, self._read_ledger).results.get(run.run_id, {})
        scored_kinds = tuple((kind, results[kind]) for kind in sorted(results) if is_scored(kind))
        templates = templates_of(self.workspace, run.project, run.config)
        patterns = refusal_patterns(self.workspace, run.project)
        return ScoreOptions(ks, convention, match_of(run.config), scored_kinds, templates, patterns)

    def _read_ledger(self) -> _LedgerFacts:
        """Read what the ledger says of the runs.

        A judge result whose file was deleted is left out; judging again restores it from the ledger.
        """
        results = {
            run_id: {
                kind: digest
                for kind, digest in kinds.items()
                if judge_result_path(self.workspace, run_id, digest).exists()
            }
            for run_id, kinds in current_results(self.ledger).items()
        }
        people = people_on_attacks(self.ledger)
        judged = {
            run_id: judge_result_path(self.workspace, run_id, kinds[ATTACK_RESULT])
            for run_id, kinds in results.items()
            if ATTACK_RESULT in kinds
        }
        verdicts = {}
        for run_id in sorted({*people, *judged}):
            path = judged.get(run_id)
            answers, model = ({}, "") if path is None else (judge_verdicts(path), judge_of(path))
            verdicts[run_id] = AttackVerdicts(people.get(run_id, {}), answers, model)
        return _LedgerFacts(results, verdicts, ratings_of_runs(self.ledger))

    def scored(
        self, run: Run, options: ScoreOptions | None = None, progress: Callable[[int], None] | None = None
    ) -> ScoredRun:
        """Return a scored run; the run is scored first where that has not been done.

        What people and the judge said of its attacks since the import is applied, and randomly drawn ratings
        correct its means.
        """
        wanted = options or self.options(run)
        scored = self._cache.get(
            run.run_id,
            ("scored", wanted.folder),
            lambda: self._scored(run, wanted, progress),
            lambda kept: kept.scores_path.is_dir() or not kept.samples_path.exists(),
        )
        facts = self.ledger.remembered(_LedgerFacts, self._read_ledger)
        labels = facts.verdicts.get(run.run_id), facts.ratings.get(run.run_id)
        if labels == (None, None):
            return scored

        def labelled() -> _Labelled:
            verdicts, ratings = labels
            changed = scored if verdicts is None else with_attack_verdicts(scored, verdicts)
            return _Labelled(scored, labels, changed if ratings is None else changed.with_ratings(ratings))

        return self._cache.get(
            run.run_id,
            ("labelled", wanted.folder),
            labelled,
            lambda kept: kept.scored is scored and kept.labels == labels,
        ).changed

    def _scored(self, run: Run, wanted: ScoreOptions, progress: Callable[[int], None] | None) -> ScoredRun:
        """Return a run with the scores that are stored, of which those damaged or gone are made anew."""
        folder = self.workspace.scores_folder / run.run_id / wanted.folder
        check_samples(self.workspace, run)
        if folder.exists() and not is_intact(folder):
            self.workspace.discard(folder)
        is_new = not (folder / SUMMARY).exists()
        scores = ensure_scored(self.workspace, run, wanted, progress)
        if is_new:
            self.index.write_entries(_means_entry(run, wanted, scores))
        return ScoredRun(self.workspace, run, scores, wanted.judge_results)

    def enter_in_index(self, runs: Sequence[Run]) -> None:
        """Write the facts and means of runs that were scored to the index, so that no page has to."""
        entries: list[tuple[str, str, Any]] = [(run.run_id, "run", run.to_json()) for run in runs]
        for run in runs:
            wanted = self.options(run)
            folder = self.workspace.scores_folder / run.run_id / wanted.folder
            entries += _means_entry(run, wanted, folder)
        self.index.write_entries(entries)

    def summary(self, run: Run, options: ScoreOptions | None = None) -> dict[str, MetricSummary]:
        """Return the means of a run's metrics over all its questions.

        The intervals of imported metrics follow the ranges that are declared now, not those of the import.
        """
        if run.means:
            return self._cache.get(run.run_id, "means", lambda: reported_means(run))
        wanted = options or self.options(run)
        asked = "summary", wanted.folder
        summaries = self._cache.get(run.run_id, asked, lambda: self._stored_summary(run, wanted))
        summaries = summaries | self._labelled_summary(run, wanted)
        ranges = {name: bounds_of(name) for name in imported_declarations() if name in summaries}
        if not ranges:
            return summaries
        of_ranges = (
            *asked,
            tuple(ranges.items()),
            self.ledger.remembered(_LedgerFacts, self._read_ledger).ratings.get(run.run_id),
        )
        return summaries | self._cache.get(
            run.run_id, of_ranges, lambda: summarise(self.scored(run, wanted), list(ranges))
        )

    def _labelled_summary(self, run: Run, wanted: ScoreOptions) -> dict[str, MetricSummary]:
        """Return the summaries that labels change: of attacks, and of metrics with rated random samples."""
        facts = self.ledger.remembered(_LedgerFacts, self._read_ledger)
        if run.run_id not in facts.verdicts and run.run_id not in facts.ratings:
            return {}
        scored = self.scored(run, wanted)
        names = [name for name, _ in scored.ratings.of if name in scored.metrics]
        names += [CHECK_PASS_RATE] if scored.verdicts else []
        if not names:
            return {}
        return self._cache.get(run.run_id, ("summary", scored.cache_key), lambda: summarise(scored, names))

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
        entries = self._cache.get("", ("index", kind), lambda: self.index.read_all(kind))
        return entries.pop(run_id, None) or self.index.read(run_id, kind)

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


def open_store(workspace: str | None, create: bool = False) -> RunStore:
    """Open a workspace, the default one where None; a caller that only reads does not create it.

    Raises:
        WorkspaceError: it is a file, or cannot be created.
    """
    return RunStore(Workspace.open(workspace, create))


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
