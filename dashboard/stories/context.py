"""The runs a story speaks of, read and computed once: the same numbers on the page and in every export."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from data.comparison.compare import Comparison, compare
from data.comparison.metric_families import shared_metrics
from data.diagnosis.diagnosis import Diagnosis, DiagnosisSettings, diagnose
from data.scoring.run_store import RunStore
from data.scoring.sanity import check_run
from data.scoring.scored_run import ScoredRun
from data.scoring.summaries import MetricSummary
from data.store.workspace import Run
from metrics.sanity.rule import Finding

__all__ = ["StoryView"]


class StoryView:
    """One run and its baseline.

    Attributes:
        store: of the workspace.
        run: the run.
        baseline: what it is compared with; None for nothing.
        settings: cut-offs of the diagnosis.
    """

    def __init__(
        self,
        store: RunStore,
        run: Run,
        baseline: Run | None = None,
        settings: DiagnosisSettings | None = None,
    ) -> None:
        self.store, self.run, self.baseline = store, run, baseline
        self.settings = settings or DiagnosisSettings()

    @cached_property
    def names(self) -> dict[str, str]:
        """Display name of every run."""
        return self.store.names()

    @property
    def name(self) -> str:
        """Display name of the run."""
        return self.names[self.run.run_id]

    @cached_property
    def runs(self) -> tuple[Run, ...]:
        """Runs of the project with samples, oldest first; those made to part losses are left out."""
        mine = self.store.runs(self.run.project)
        return tuple(run for run in mine if not run.means and not run.config.get("generated_from"))

    @cached_property
    def scored(self) -> ScoredRun:
        """The run's arrays."""
        return self.store.scored(self.run)

    @cached_property
    def summary(self) -> dict[str, MetricSummary]:
        """The run's aggregates."""
        return self.store.summary(self.run)

    @cached_property
    def diagnosis(self) -> Diagnosis:
        """The run's diagnosis."""
        return self._diagnose(self.run)

    @cached_property
    def before(self) -> Diagnosis | None:
        """The baseline's diagnosis; None without one."""
        return None if self.baseline is None else self._diagnose(self.baseline)

    def _diagnose(self, run: Run) -> Diagnosis:
        return diagnose(self.store.scored(run), self.settings, self.store.ledger.labels(run.run_id))

    @cached_property
    def comparison(self) -> Comparison | None:
        """The run against its baseline on the headline metrics; None without one."""
        if self.before is None:
            return None
        family = shared_metrics([self.before.scored, self.scored], family="headline")
        return compare(self.before, self.diagnosis, family)

    @cached_property
    def findings(self) -> Sequence[Finding]:
        """What the checks on the numbers found."""
        return check_run(self.scored)
