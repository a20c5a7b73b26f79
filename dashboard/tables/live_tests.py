"""Tables of a live test: its arms, and its metrics against the base."""

from __future__ import annotations

from ragtriage.dashboard.headlines.ab import (
    change_text,
    ends_text,
    margin_text,
    metric_title,
    units_noun,
    value_text,
    worth_text,
)
from ragtriage.dashboard.wording.escaping import capital, shorten
from ragtriage.data.ab.ab_test import ArmResult, LiveTest, MetricResult
from ragtriage.metrics.number_text import count, percent
from ragtriage.metrics.result_table import Count, PValue, ResultTable, Row

KINDS = {"satisfied": "share of 4 and 5", "answered": "share of rows"}
MEASURED_AS = {
    **KINDS, "share": "share", "back": "share of users", "nps": "net promoter score", "mean": "mean"
}  # fmt: skip
NAME = 30


def arm_table(test: LiveTest) -> ResultTable:
    """Return the units and rows of each arm against the planned shares."""
    shares = None if test.split is None else test.split.shares
    rows: list[Row] = []
    for at, (name, n) in enumerate(test.units.items()):
        rows.append(
            {
                "Arm": shorten(name, NAME) + (" (base)" if name == test.base else ""),
                **({"Users": Count(n)} if test.by_user else {}),
                "Rows": Count(test.rows[name]),
                "Planned": None if shares is None else percent(shares[at]),
            }
        )
    note = ""
    if test.split is not None:
        words = "not as planned" if test.split.broken else "as planned"
        note = f"Split {words}: chi-square p {PValue(test.split.p)}, broken below 0.001."
    return ResultTable("Arms", tuple(rows), note)


def metric_table(test: LiveTest, arm: ArmResult) -> ResultTable:
    """Return each metric of an arm against the base, the deciding one first."""
    rows = tuple(_row(each, test) for each in arm.metrics)
    title = f"{shorten(arm.arm, NAME)} against {shorten(test.base, NAME)}"
    return ResultTable(title, rows, " ".join(_notes(test, arm)))


def _row(metric: MetricResult, test: LiveTest) -> Row:
    result = metric.result
    kind = KINDS.get(metric.kind, "")
    title = metric_title(metric.name) + (f", {kind}" if kind else "")
    outcome: str | None = None if metric.role == "watched" else metric.outcome
    if metric.guardrail is not None:
        outcome = f"{metric.guardrail}: {margin_text(metric)}"
    known = result is not None
    return {
        "Metric": title,
        "Role": metric.role,
        "Base": value_text(metric, result.base) if result else None,
        "Arm": value_text(metric, result.arm) if result else None,
        "Difference": change_text(metric, result.difference) if result else None,
        "95 %": ends_text(metric, result.low, result.high) if result else None,
        "p": PValue(metric.adjusted_p) if known and metric.adjusted_p == metric.adjusted_p else None,
        f"{units_noun(test).capitalize()}s": f"{result.base_units:,} and {result.arm_units:,}"
        if result
        else None,
        "Result": outcome,
    }


def _notes(test: LiveTest, arm: ArmResult) -> list[str]:
    notes = ["95 % for one single look; p by Holm over the metrics that decide or are wanted."]
    if arm.looks and not test.once:
        looks = len(arm.looks)
        last = arm.looks[-1]
        notes.append(
            f"{capital(metric_title(test.metric))} decides by its always-valid band, "
            f"{ends_text(arm.decides, last.band_low, last.band_high)} "
            f"after {count(looks, 'look')}."
        )
        notes.append(worth_text(test))
    if not test.by_user:
        notes.append("No user is recorded: rows are taken as independent.")
    for metric in arm.metrics:
        title = capital(metric_title(metric.name))
        if metric.bounds is not None and metric.role in ("decides", "wanted"):
            notes.append(
                f"{title}: {ends_text(metric, *metric.bounds)} if the rows without it could be "
                "anything: bounds of these rows, chance not included."
            )
        if metric.cuped_saving is not None:
            used = "used" if metric.result is not None and "CUPED" in metric.result.method else "not used"
            notes.append(
                f"{title}: CUPED saves {percent(max(metric.cuped_saving, 0.0), 1)} of the variance, {used}."
            )
        if metric.other_cells:
            notes.append(f"{title}: {metric.other_cells:,} cells are on no scale of it and do not count.")
    notes += [f"Left out: {why}, {n:,} in all." for why, n in test.left_out.items()]
    return notes
