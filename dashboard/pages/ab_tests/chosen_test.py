"""The live test on display, as it is known at the chosen look, and what the page draws of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property

from ragtriage.dashboard.shell.kept_results import kept
from ragtriage.dashboard.shell.kept_tests import concluded, rows_of
from ragtriage.dashboard.shell.session import current_selection
from ragtriage.data.ab.ab_test import ArmResult, LiveTest, MetricResult, TestOptions
from ragtriage.data.ab.looks import Look
from ragtriage.data.ab.measures import answer_counts, arm_levels, deciding, measures_of
from ragtriage.data.ab.stored_tests import StoredTest, chosen_options
from ragtriage.metrics.ab.differences import ArmLevel


@dataclass(frozen=True)
class Opened:
    """A live test as the page shows it."""

    stored: StoredTest
    options: TestOptions  # with the metric, the arm and the look that were chosen
    whole: LiveTest  # with all that is known by now
    test: LiveTest  # with what was known at the chosen look
    look: int  # its number, from 1; 0 for the last

    @property
    def lead(self) -> ArmResult | None:
        """The arm that the page is about, at the chosen look."""
        return self.test.lead

    @property
    def looks(self) -> tuple[Look, ...]:
        """All looks of that arm."""
        return () if self.whole.lead is None else self.whole.lead.looks

    @property
    def shown_look(self) -> Look | None:
        """The look on display; None where the test has none."""
        looks = self.looks
        return looks[self.look - 1] if looks else None

    @cached_property
    def levels(self) -> Mapping[str, Mapping[str, ArmLevel]]:
        """Metric -> arm -> its mean with an interval, at the chosen look."""
        return _levels(self.stored, self.options.until)

    def level(self, metric: MetricResult, arm: str) -> ArmLevel:
        """Return the mean of a metric in an arm."""
        return self.levels[metric.name][arm]


def open_test(stored: StoredTest) -> Opened:
    """Conclude a test by the choices of the address; a name that it does not have gives way to its own."""
    selection = current_selection()
    names = metric_names(stored)
    other = selection.deciding in names and selection.deciding != usual_metric(stored)
    metric = {"metric": selection.deciding} if other else {}
    arm = selection.arm if selection.arm in stored.arms[1:] else stored.options.arm
    options = chosen_options(stored.options, **metric, arm=arm)
    whole = concluded(stored, options)
    # the arm stays the same at every look: the page is about one
    options = replace(options, arm=whole.lead.arm) if whole.lead is not None else options
    whole = concluded(stored, options)
    looks = () if whole.lead is None else whole.lead.looks
    look = selection.look if selection.look < len(looks) else 0
    if not look or not looks[look - 1].at:
        return Opened(stored, options, whole, whole, 0)
    options = replace(options, until=datetime.fromisoformat(looks[look - 1].at).timestamp())
    return Opened(stored, options, whole, concluded(stored, options), look)


def usual_metric(stored: StoredTest) -> str:
    """Return the metric that decides where nobody chose another; "" where none is recorded."""
    return stored.options.metric or deciding(measures_of(rows_of(stored)))


@kept
def metric_names(stored: StoredTest) -> tuple[str, ...]:
    """Return the metrics of a test, the usual one that decides first."""
    usual = usual_metric(stored)
    names = [name for name, each in measures_of(rows_of(stored)).items() if each.kind != "answered"]
    return tuple(dict.fromkeys([*filter(None, [usual]), *names]))


@kept
def _levels(stored: StoredTest, until: float | None) -> dict[str, dict[str, ArmLevel]]:
    rows = rows_of(stored) if until is None else rows_of(stored).before(until)
    named = [*filter(None, [stored.options.metric]), *stored.options.guardrails]
    return {name: arm_levels(rows, measure) for name, measure in measures_of(rows, named, early=True).items()}


@kept
def answers_of(stored: StoredTest, metric: str, until: float | None) -> dict[str, list[int]]:
    """Return arm -> how many answered 0 to 10."""
    rows = rows_of(stored)
    return answer_counts(rows if until is None else rows.before(until), metric)
