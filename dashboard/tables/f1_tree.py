"""The F1 tree of a run, and what the team expects to gain."""

from __future__ import annotations

from collections.abc import Sequence

from ragtriage.dashboard.wording.f1_tree import depth_of, part_title
from ragtriage.data.strategy.expected_gains import ExpectedGain
from ragtriage.metrics.analysis.bands import BandScale
from ragtriage.metrics.diagnosis.f1_tree import F1Branch, F1Tree
from ragtriage.metrics.metric_registry import declared
from ragtriage.metrics.number_text import interval_text, signed
from ragtriage.metrics.result_table import Change, Count, Number, ResultTable, Row, ends_of


def f1_table(tree: F1Tree, scale: BandScale, indent: str = "\u2003") -> ResultTable:
    """Return the parts of F1 in the order of the tree."""
    rows = tuple(_row(branch, scale, indent) for branch in tree.branches)
    return ResultTable("Parts of F1 with mean, interval, band and the most that they could give", rows)


def _row(branch: F1Branch, scale: BandScale, indent: str) -> Row:
    value, part, gain = branch.value, branch.part, branch.gain
    most = f"{signed(gain.mean)} {interval_text(gain.low, gain.high)}"
    return {
        "Part": f"{indent * depth_of(part)}{part.title}",
        "Mean": Number(value.mean, 2),
        "95 % interval": ends_of(value, 2),
        "n": Count(value.n_scored),
        "Band": _band(branch, scale),
        "F1 if perfect, at most": Number(branch.bound, 2) if part.costs_f1 else None,
        "Gain, at most": most if part.costs_f1 else "costs no F1",
        "Cases": Count(branch.n_cases),
        "If perfect": part.repaired,
        "What to try": " ".join(part.measures),
    }


def _band(branch: F1Branch, scale: BandScale) -> str | None:
    """Return the band of a part's mean; "cannot tell" where its interval spans several."""
    metric, value = declared(branch.part.metric), branch.value
    bands = None if metric is None else scale.of(metric)
    if bands is None or not value.n_scored:
        return None
    reached = {bands.at(edge) for edge in (value.low, value.mean, value.high)}
    return bands.at(value.mean) if len(reached) == 1 else "cannot tell"


def expected_table(gains: Sequence[ExpectedGain]) -> ResultTable:
    """Return the expected gains, oldest first."""
    rows: list[Row] = [
        {
            "Assumption": entry.measure or part_title(entry.part),
            "Part": part_title(entry.part),
            "Expected F1": Change(entry.gain, 2),
            "By": entry.who,
            "Entered": entry.at[:16].replace("T", " "),
        }
        for entry in gains
    ]
    return ResultTable("Expected gains in F1, all assumptions", tuple(rows))
