"""What a suite tells beyond its pass rate: a sentence and tables, whose rows open their cases.

To give a suite a section of its own:

1. Put its formulas, over plain arrays, into metrics/suites/<suite>.py.
2. Write data/suites/<suite>.py with a frozen dataclass that is a SuiteDetail, and a function that returns it
   for a ScoredRun, or None where the run has nothing for it. It reads `check_table(scored)`: the column
   `detail` of a check holds what its rule in ragtriage.data.checks counted.
3. Enter the function in DETAILS of data/suites/registry.py under the key of the suite.

The page Checks, `ragtriage checks`, its JSON and the report then show the sentence and the tables. A suite
that needs a chart as well has dashboard/pages/checks/<suite>.py with a function of (View, detail), entered
in SECTIONS of dashboard/pages/checks/registry.py; it stands above the tables on the page.

Reasons of a CheckOutcome are counted by their text, so they hold no values: these belong into `detail`.
"""

from __future__ import annotations

from typing import Any, Protocol

from ragtriage.metrics.result_table import ResultTable


class SuiteDetail(Protocol):
    """What a suite tells beyond its pass rate."""

    @property
    def statement(self) -> str:
        """What a person would say of this suite, one sentence or two, with the numbers; "" for nothing."""

    @property
    def tables(self) -> tuple[ResultTable, ...]:
        """Its tables, the most telling first."""

    def to_dict(self) -> dict[str, Any]:
        """Return its numbers as JSON values: null where something is not measured, never NaN."""
