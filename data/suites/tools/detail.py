"""What the suite Tools tells of a run beyond its pass rate."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.suites.tools import tables
from ragtriage.data.suites.tools.calls import CallChecks, call_checks
from ragtriage.data.suites.tools.measures import CallMeasure, call_measures
from ragtriage.data.suites.tools.repeats import Agreement, PassHatK, agreements, pass_hat_ks
from ragtriage.metrics.result_table import ResultTable


@dataclass(frozen=True)
class ToolSuite:
    """The tool calls of a run.

    Attributes:
        measures: those that its checks allow.
        repeats: pass^k, where questions are repeated.
        agreements: verdicts on calls against recorded outcomes.
        tables: on screen.
        invented: identifiers that nothing read holds, counted by value.
        only_writes: whether only the calls of tools that write are compared.
        made: calls made of which nothing says whether they are right, as those of traces.
        failed: those of them that failed.
    """

    measures: tuple[CallMeasure, ...]
    repeats: tuple[PassHatK, ...]
    agreements: tuple[Agreement, ...]
    tables: tuple[ResultTable, ...]
    invented: int
    only_writes: bool
    made: int = 0
    failed: int = 0

    @property
    def statement(self) -> str:
        """How many checks call the right tools, with right arguments, and what is invented."""
        by_key = {measure.key: measure for measure in self.measures}
        parts = []
        if self.made:
            made = "1 call was" if self.made == 1 else f"{self.made:,} calls were"
            parts.append(f"{made} made, {self.failed:,} failed, and nothing says which are right")
        if (fits := by_key.get("schema")) is not None:
            parts.append(f"{fits.total - fits.hits:,} of {fits.total:,} calls break the schema of their tool")
        if (selection := by_key.get("selection")) is not None:
            tools = f"tools{' that write' if self.only_writes else ''}"
            checks = f"{selection.hits:,} of {selection.total:,} checks"
            parts.append(f"Exactly the expected {tools} were called in {checks}")
        if (arguments := by_key.get("arguments")) is not None:
            parts.append(
                f"{arguments.hits:,} of {arguments.total:,} expected calls made have right arguments"
            )
        if (identifiers := by_key.get("identifiers_found")) is not None:
            lost = identifiers.total - identifiers.hits
            parts.append(f"{lost:,} of {identifiers.total:,} identifiers in arguments are invented")
        for one in self.agreements:
            right, reached = one.both + one.calls_only, one.both + one.outcome_only
            passes = f"{one.outcome} passes in {reached:,}, both in {one.both:,}"
            parts.append(f"calls are right in {right:,} cases, {passes}")
        return f"{'; '.join(parts)}." if parts else ""

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "only_writes": self.only_writes,
            "measures": [measure.to_dict() for measure in self.measures],
            "invented_identifiers": self.invented,
            "calls_without_expected": self.made,
            "failed_calls_without_expected": self.failed,
            "pass_hat_k": [entry.to_dict() for entry in self.repeats],
            "outcomes": [asdict(entry) for entry in self.agreements],
        }


def tool_suite(scored: ScoredRun) -> ToolSuite | None:
    """Return what the checks of tool calls of a run amount to; None where it compares no calls."""
    checks = call_checks(scored)
    if checks is None or not any(checks.details):
        return None
    measures = call_measures(scored, checks)
    repeats, agreed = pass_hat_ks(scored), agreements(scored)
    unjudged = [detail for detail in checks.details if "made" in detail]
    only_writes = any(detail.get("writes") for detail in checks.details)
    invented = int(sum(detail.get("invented_identifiers", 0) for detail in checks.details))
    return ToolSuite(
        tuple(measures),
        tuple(repeats),
        tuple(agreed),
        _tables(scored, checks, measures, repeats, agreed, only_writes),
        invented,
        only_writes,
        made=sum(detail["made"] for detail in unjudged),
        failed=sum(detail.get("error_results", 0) for detail in unjudged),
    )


def _tables(
    scored: ScoredRun,
    checks: CallChecks,
    measures: list[CallMeasure],
    repeats: list[PassHatK],
    agreed: list[Agreement],
    only_writes: bool,
) -> tuple[ResultTable, ...]:
    found = (
        tables.measure_table(measures, only_writes) if measures else None,
        tables.invented_table(scored, checks),
        tables.error_table(checks),
        tables.selection_table(checks),
        tables.repeat_table(repeats),
        tables.agreement_table(agreed),
        tables.inferred_table(checks),
        tables.fault_table(checks),
    )
    return tuple(table for table in found if table is not None)
