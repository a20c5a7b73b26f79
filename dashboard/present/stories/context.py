"""The runs of a story, read and computed once: the same numbers on the page and in every export."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import cached_property

from ragtriage.dashboard.headlines.headline import Headline
from ragtriage.dashboard.headlines.triage import gates_unreadable, triage_headline
from ragtriage.dashboard.present.stories.story import Audience
from ragtriage.data.comparison.compare import Comparison, compare
from ragtriage.data.comparison.compared_metrics import pair_metrics, primary_metric
from ragtriage.data.declarations import use_declarations
from ragtriage.data.diagnosis.diagnosis import Diagnosis, DiagnosisSettings, diagnose
from ragtriage.data.diagnosis.run_checks import check_run
from ragtriage.data.errors import DataError
from ragtriage.data.gates.baseline import known_baseline
from ragtriage.data.gates.config import load_gates
from ragtriage.data.gates.next_steps import NextStep, next_steps
from ragtriage.data.gates.report import GateReport, gate_run
from ragtriage.data.scoring.run_store import RunStore, distinct_labels
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.scoring.summaries import MetricSummary
from ragtriage.data.store.workspace import Run
from ragtriage.metrics.metric_registry import plain_names
from ragtriage.metrics.sanity.rule import Finding


class StoryView:
    """One run and its baseline, with how that relates to the project's, the settings, and for whom it is."""

    def __init__(
        self,
        store: RunStore,
        run: Run,
        baseline: Run | None = None,
        settings: DiagnosisSettings | None = None,
        audience: Audience = "engineer",
    ) -> None:
        self.store, self.run = store, run
        self.baseline_facts = known_baseline(store, run, baseline)
        self.baseline = self.baseline_facts.run
        self.settings = settings or DiagnosisSettings()
        self.audience = audience
        use_declarations(store.workspace, run.project)

    @property
    def cache_key(self) -> tuple[object, ...]:
        """Return what the sections depend on: scores, runs of the project, settings, labels, metrics.toml."""
        runs = [run for run in (self.run, self.baseline) if run is not None and not run.means]
        return (
            tuple(self.store.scored(run).cache_key for run in runs),
            tuple(sorted(run.run_id for run in self.store.runs(self.run.project))),
            self.settings,
            self.audience,
            self.store.ledger.version(),
            primary_metric(self.store.workspace, self.run.project),
        )

    def names_of_metrics(self) -> AbstractContextManager[None]:
        """Return a block inside which metrics go by the names that the audience knows."""
        return plain_names(self.audience != "engineer")

    @cached_property
    def names(self) -> dict[str, str]:
        """Display name of every run, told apart within the project."""
        names = self.store.names()
        return names | distinct_labels(self.store.runs(self.run.project), names)

    @property
    def name(self) -> str:
        """Display name of the run."""
        return self.names[self.run.run_id]

    @cached_property
    def short_names(self) -> tuple[str, str]:
        """Names of the run and its baseline as slides have them: told apart from each other; "" for none."""
        runs = [self.run] if self.baseline is None else [self.run, self.baseline]
        names = distinct_labels(runs, self.store.names())
        return names[self.run.run_id], "" if self.baseline is None else names[self.baseline.run_id]

    @cached_property
    def runs(self) -> tuple[Run, ...]:
        """Runs of the project with samples, oldest first, without those generated for ablations."""
        runs = self.store.runs(self.run.project)
        return tuple(run for run in runs if not run.means and not run.config.get("generated_from"))

    @cached_property
    def scored(self) -> ScoredRun:
        """The scored run."""
        return self.store.scored(self.run)

    @cached_property
    def summary(self) -> dict[str, MetricSummary]:
        """The metric summaries of the run."""
        return self.store.summary(self.run)

    @cached_property
    def diagnosis(self) -> Diagnosis:
        """The run's diagnosis."""
        return self._diagnose(self.run)

    @cached_property
    def baseline_diagnosis(self) -> Diagnosis | None:
        """The baseline's diagnosis; None without one."""
        return None if self.baseline is None else self._diagnose(self.baseline)

    def _diagnose(self, run: Run) -> Diagnosis:
        return diagnose(self.store.scored(run), self.settings, self.store.ledger.labels(run.run_id))

    @cached_property
    def comparison(self) -> Comparison | None:
        """The run against its baseline on the headline metrics; None without one."""
        if self.baseline_diagnosis is None:
            return None
        family = pair_metrics(self.baseline_diagnosis.scored, self.scored)
        primary = primary_metric(self.store.workspace, self.run.project)
        return compare(self.baseline_diagnosis, self.diagnosis, family, primary=primary)

    @cached_property
    def gates(self) -> GateReport:
        """The verdict of the project's gates on the run."""
        with self.names_of_metrics():
            return gate_run(self.store, self.run, self.baseline_facts, load_gates(self.store.workspace))

    @property
    def readable_gates(self) -> GateReport | None:
        """The same; None where gates.toml cannot be read."""
        try:
            return self.gates
        except DataError:
            return None

    @property
    def next_steps(self) -> tuple[NextStep, ...]:
        """Return what to do about the run, as on the Triage page; by the diagnosis alone without gates."""
        report = self.readable_gates
        if report is None:
            return next_steps(self.diagnosis, (), self.findings)
        return report.conclusion().next_steps

    @cached_property
    def headline(self) -> Headline:
        """The verdict in one sentence, the same as on the Triage page."""
        with self.names_of_metrics():
            try:
                return triage_headline(self.gates, self.short_names[0])
            except DataError as error:
                return gates_unreadable(self.short_names[0], str(error))

    @cached_property
    def findings(self) -> Sequence[Finding]:
        """The findings of the sanity checks."""
        return check_run(self.scored)
