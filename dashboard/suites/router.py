"""Routes: accuracy beside constant routers, wrong routes, what they cost and win; the confusion matrix."""

from collections.abc import Mapping, Sequence

import numpy as np

from ragtriage.dashboard.charts.chart import Axis, Heatmap
from ragtriage.dashboard.suites.view import Failing, SuiteChart, SuiteView
from ragtriage.dashboard.wording.escaping import shorten
from ragtriage.data.suites.router import (
    ROUTER_SUITE,
    Decisions,
    RouteQuality,
    RouterFindings,
    RouterScores,
    route_cohort,
    wrong_routes,
)
from ragtriage.metrics.number_text import count, percent
from ragtriage.metrics.result_table import Cell, ResultTable
from ragtriage.metrics.schema.scores import IntArray
from ragtriage.metrics.suites.router import Added

MOST_ROWS = 20
ROUTE_COSTS = "What wrong routes cost"
CHEAP = ("weak", "small")  # routes that answer all the same
UNITS = {"latency_ms": ("latency", "ms"), "cost_usd": ("cost", "USD")}
MOST_SHOWN = 16  # routes that have a row; the others are one row together
ROW_PIXELS, FRAME_PIXELS = 34, 130
RIGHT, PALE, WRONG = "#0b5e94", "#f2f4f6", "#c2410c"
LEAST_WRONG = 0.3  # share of a row at which a wrong cell has its full colour


def _statement(findings: RouterFindings) -> str:
    """What a person would say of the router."""
    main = findings.main
    route, constant = main.best_constant
    beats = "more than" if main.accuracy.low > constant else "no better than"
    beats = "fewer than" if main.accuracy.high < constant else beats
    text = (
        f"{percent(main.accuracy.mean)} of {main.accuracy.n_scored:,} questions take the right route, "
        f"{beats} the {percent(constant)} of always “{route[:40]}”."
    )
    if main.in_scope is not None and main.out_of_scope is not None and main.out_of_scope.n_scored:
        text += (
            f" In scope {percent(main.in_scope.mean)}; of the questions out of scope "
            f"{percent(main.out_of_scope.mean)} are recognised."
        )
    return f"{text} {_directions(main)}".strip()


def _tables(findings: RouterFindings) -> Sequence[ResultTable | None]:
    """Return routers side by side, routes, wrong routes, their cost, quality, other names."""
    pairs = wrong_routes(findings.main.decisions)
    rows: list[Mapping[str, Cell]] = [
        {"Expected": expected, "Taken": other, "Questions": n} for expected, other, n in pairs[:MOST_ROWS]
    ]
    note = f"The {MOST_ROWS} most frequent of {len(pairs):,}." if len(pairs) > MOST_ROWS else ""
    cohorts = tuple(route_cohort(expected, other) for expected, other, _ in pairs[:MOST_ROWS])
    return (
        _routers(findings),
        _routes(findings),
        ResultTable("Wrong routes", tuple(rows), note, cohorts),
        _costs(findings),
        None if findings.quality is None else _qualities(findings.quality),
        _names(findings) if len(findings.scores) > 1 else None,
    )


def _routers(findings: RouterFindings) -> ResultTable:
    main = findings.main
    rows: list[Mapping[str, Cell]] = [
        {"Router": "this one", "Accuracy": main.accuracy, "Cost of a decision": main.cost()}
    ]
    best = np.argsort(-main.scores.constant, kind="stable")[:3]
    n = int(main.scores.support.sum())
    rows += [
        {
            "Router": f"always “{main.decisions.routes[code][:40]}”",
            "Accuracy": f"{percent(float(main.scores.constant[code]))} of {n:,}",
            "Cost of a decision": main.constant_cost(int(code)),
        }
        for code in best
    ]
    note = "An accuracy means little where a constant router does better. Cost: 1 per wrong route."
    return ResultTable("Compared with constant routers", tuple(rows), note)


def _routes(findings: RouterFindings) -> ResultTable:
    main = findings.main
    rows = [
        {
            "Route": route,
            "Expected": int(main.scores.support[code]),
            "Sent": int(main.scores.sent[code]),
            "Precision": main.precision[code],
            "Recall": main.recall[code],
            "F1": _known(float(main.scores.f1[code])),
        }
        for code, route in enumerate(main.decisions.routes[:MOST_ROWS])
    ]
    mean, low, high = main.macro_f1
    note = f"Macro F1 {mean:.3f} [{low:.3f}, {high:.3f}] over {len(main.scores.f1)} routes, bootstrap."
    if len(main.decisions.routes) > MOST_ROWS:
        note += f" The {MOST_ROWS} routes that most questions should take."
    cohorts = tuple(route_cohort(route, "") for route in main.decisions.routes[:MOST_ROWS])
    return ResultTable("By route", tuple(rows), note, cohorts)


def _costs(findings: RouterFindings) -> ResultTable:
    """Return what wrong routes are: refusals, or the latency and cost of the route that was taken."""
    main, fallback = findings.main, findings.main.decisions.fallback
    if fallback is None:
        return ResultTable(ROUTE_COSTS, ())
    name, wrong, confusion = main.decisions.routes[fallback], main.wrong, main.decisions.confusion
    short = name[:40]
    rows: list[dict[str, Cell]] = [
        {
            "Wrong route": f"to “{short}”",
            "Questions": wrong.refused,
            "What it means": "answered by the cheaper route"
            if short.casefold() in CHEAP
            else f"counted as refusals; {findings.refusals:,} of the answers read like one",
        }
    ]
    measured = {route: figures for route, figures in findings.added.items() if figures}
    for route, figures in measured.items():
        n = int(confusion[fallback, main.decisions.routes.index(route)])
        meaning = "; ".join(_added(key, added, n) for key, added in figures.items())
        where = f"to “{route[:40]}” instead of “{short}”"
        rows.append({"Wrong route": where, "Questions": n, "What it means": meaning})
    if not measured:
        meaning = "the run records neither latency nor cost by route"
        where = f"to another route instead of “{short}”"
        rows.append({"Wrong route": where, "Questions": wrong.added, "What it means": meaning})
    rows.append({"Wrong route": "between other routes", "Questions": wrong.mixed_up, "What it means": ""})
    note = (
        f"Latency and cost are the run's own: mean of the answers of the route taken less that of “{short}”."
    )
    return ResultTable(ROUTE_COSTS, tuple(rows), note if measured else "")


def _names(findings: RouterFindings) -> ResultTable:
    rows = [
        {
            "Check": score.decisions.name,
            "Routes": len(score.decisions.routes),
            "Accuracy": score.accuracy,
            "In scope": score.in_scope,
            "Out-of-scope recall": score.out_of_scope,
            "Macro F1": _known(score.macro_f1[0]),
        }
        for score in findings.scores
    ]
    return ResultTable("Every check of the router", tuple(rows), f"Above: {findings.main.decisions.name}.")


def _qualities(quality: RouteQuality) -> ResultTable:
    rows: list[Mapping[str, Cell]] = [
        {
            "Answers": f"always “{name}”" if name in (quality.weak, quality.strong) else name,
            "Mean quality": f"{mean.mean:.3f} [{mean.low:.3f}, {mean.high:.3f}]",
            "n": mean.n_scored,
            "Gap recovered": _known(quality.recovered.get(name, float("nan"))),
        }
        for name, mean in quality.means.items()
    ]
    note = (
        f"Imported scores. The oracle, ties to the cheaper route, sends {percent(quality.oracle)} of "
        f"{quality.oracle_n:,} questions to “{quality.strong[:40]}”; the router agrees on "
        f"{percent(quality.agrees)}. Gap recovered: (q - weak) / (strong - weak), RouteLLM."
    )
    return ResultTable("Quality by route", tuple(rows), note)


def _directions(main: RouterScores) -> str:
    wrong, fallback = main.wrong, main.decisions.fallback
    if fallback is None or not (wrong.refused or wrong.added):
        return ""
    name = main.decisions.routes[fallback][:40]
    return f"{wrong.refused:,} were sent to “{name}” by mistake, {wrong.added:,} should have gone there."


def _added(key: str, added: Added, n: int) -> str:
    what, unit = UNITS[key]
    digits = 0 if unit == "ms" else 4
    each = f"{added.mean:,.{digits}f} {unit}"
    ends = f"[{added.low:,.{digits}f}, {added.high:,.{digits}f}]" if np.isfinite(added.low) else "no interval"
    counts = f"n = {added.n_costly:,} and {added.n_cheap:,}"
    total = f"{added.mean * n:,.{digits}f} {unit} in all"
    return f"{each} more {what} each {ends}, median {added.median:,.{digits}f}, {counts}: {total}"


def _known(value: float) -> float | None:
    return value if np.isfinite(value) else None


def _chart(findings: RouterFindings) -> SuiteChart:
    decisions, n = findings.main.decisions, int(findings.main.scores.support.sum())
    return SuiteChart(
        confusion_map(decisions),
        "Expected and taken routes",
        "How many questions of each expected route took each route",
        "orange: wrong routes, by share of the row",
        (
            "blue: right, orange: wrong, by share of the row",
            count(n, "decision"),
            f"check: {decisions.name}",
            f"the {MOST_SHOWN} most expected routes" if len(decisions.routes) > MOST_SHOWN else "",
            "click a cell for its cases",
        ),
    )


def confusion_map(decided: Decisions) -> Heatmap:
    """Return the confusion matrix: right cells blue, wrong ones orange, by their share of the row."""
    counts, names = _shown(decided)
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    right = np.eye(len(names), dtype=np.bool_)
    values = np.where(right, shares, -np.minimum(shares, LEAST_WRONG))
    listed = len(decided.routes) if len(decided.routes) <= MOST_SHOWN else MOST_SHOWN
    bottom_up = range(len(names) - 1, -1, -1)
    columns = range(len(names))
    return Heatmap(
        "",
        Axis("taken", names=names, angle=-35),
        Axis("expected", names=tuple(names[row] for row in bottom_up)),
        tuple(
            tuple(float(values[row, column]) if counts[row, column] else None for column in columns)
            for row in bottom_up
        ),
        tuple(
            tuple(f"{counts[row, column]:,}" if counts[row, column] else "" for column in columns)
            for row in bottom_up
        ),
        FRAME_PIXELS + ROW_PIXELS * len(names),
        scale=_scale([float(value) for value in values[counts > 0]]),
        details=tuple(tuple(_detail(names, counts, row, column) for column in columns) for row in bottom_up),
        keys=tuple(
            tuple(_key(decided, counts, row, column, listed) for column in columns) for row in bottom_up
        ),
    )


def _shown(decided: Decisions) -> tuple[IntArray, tuple[str, ...]]:
    """Return counts and names of the routes that have a row, distinct after they were shortened."""
    counts, routes = decided.confusion, decided.routes
    names = [shorten(route, 22) or "(empty)" for route in routes[:MOST_SHOWN]]
    names = [name if names.index(name) == at else f"{name} ({at + 1})" for at, name in enumerate(names)]
    if len(routes) > MOST_SHOWN:
        group = np.minimum(np.arange(len(routes)), MOST_SHOWN)
        merged = np.zeros((MOST_SHOWN + 1, MOST_SHOWN + 1), dtype=np.int64)
        np.add.at(merged, (group[:, None], group[None, :]), counts)
        counts = merged
        names.append(f"{len(routes) - MOST_SHOWN:,} other routes")
    return counts, tuple(names)


def _scale(values: list[float]) -> tuple[tuple[float, str], ...]:
    """Return the colours over the range of the values, pale at 0."""
    least, most = min(values), max(values)
    if least >= 0 or most <= 0:
        return ((0.0, PALE), (1.0, RIGHT)) if least >= 0 else ((0.0, WRONG), (1.0, PALE))
    return ((0.0, WRONG), (-least / (most - least), PALE), (1.0, RIGHT))


def _detail(names: tuple[str, ...], counts: IntArray, row: int, column: int) -> str:
    n, total = int(counts[row, column]), int(counts[row].sum())
    share = f"{n:,} of {total:,}" if total else "none"
    return f"expected {names[row]}\ntaken {names[column]}\n{share} of the row"


def _key(decided: Decisions, counts: IntArray, row: int, column: int, listed: int) -> tuple[str, ...] | None:
    if not counts[row, column] or row >= listed or column >= listed:
        return None
    return (route_cohort(decided.routes[row], decided.routes[column]),)


VIEW = SuiteView(
    ROUTER_SUITE,
    Failing("question", "took the wrong route", "took the wrong route"),
    _statement,
    _tables,
    _chart,
)
