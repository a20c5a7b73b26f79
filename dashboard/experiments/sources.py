"""Document and live state: what each alone and both give, what is lost, which questions need both."""

from collections.abc import Mapping, Sequence

from ragtriage.dashboard.charts.experiments import outcome_bars
from ragtriage.dashboard.experiments.view import (
    MCNEMAR,
    ExperimentView,
    Opening,
    Part,
    ShownEffect,
    arm_chart,
    joined,
    name_of,
    p_text,
)
from ragtriage.dashboard.headlines.headline import Headline, State
from ragtriage.dashboard.wording.formatting import span
from ragtriage.data.experiments.registry import ExperimentSummary
from ragtriage.data.experiments.sources import SOURCES, TITLES, SourceFindings
from ragtriage.metrics.experiments.contexts import Need, SourceVerdict
from ragtriage.metrics.number_text import count, percent, points
from ragtriage.metrics.result_table import Change, Ends, Of, PValue, ResultTable, Row
from ragtriage.metrics.statistics.intervals import Interval
from ragtriage.metrics.statistics.repeated_measures import PairTest

VERDICTS: Mapping[SourceVerdict, tuple[State, str]] = {
    "both": ("good", "answers use document and live state"),
    "document": ("cannot tell", "no use of the live state is shown"),
    "state": ("cannot tell", "no use of the document is shown"),
    "worse together": ("bad", "two sources are worse than one alone"),
    "cannot tell": ("cannot tell", "no use of either source is shown"),
    "not measured": ("not measured", "no question is measured in all three arms"),
}
NEEDS: Mapping[Need, str] = {
    "both": "right with both, wrong with each alone",
    "document": "right with the document, with or without the state",
    "state": "right with the live state, with or without the document",
    "either": "right with each alone and with both",
    "lost together": "right with one alone, wrong with both",
    "none": "wrong in every arm",
}
MOST_LISTED = 20


def _headline(summary: ExperimentSummary, findings: SourceFindings) -> Headline:
    effect = findings.effect
    state, words = VERDICTS[effect.verdict]
    statement = f"{name_of(summary)}: {words}"
    if not effect.n:
        return Headline(state, statement)
    shares = ", ".join(
        f"{title.lower()} {percent(mean.mean)} ({span(mean)})"
        for title, mean in zip(TITLES, effect.right, strict=True)
    )
    both = effect.needs["both"]
    sentences = (
        f"Right: {shares}; n = {count(effect.n, 'question')}",
        _lost("state", effect.without_state),
        _lost("document", effect.without_document),
        f"{round(both.mean * effect.n):,} of {effect.n:,} need both together",
    )
    return Headline(state, statement, ". ".join(sentences))


def _lost(source: str, pair: PairTest) -> str:
    return f"Without the {source} {points(pair.difference)} (p {p_text(pair.adjusted_p)})"


def _parts(summary: ExperimentSummary, findings: SourceFindings) -> Sequence[Part]:
    effect = findings.effect
    if not effect.n:
        return [arm_chart(summary)]
    lost = ResultTable(
        "What is lost without a source",
        (
            _loss_row("live state", effect.without_state, findings.declined_without_state),
            _loss_row("document", effect.without_document, findings.declined_without_document),
        ),
        joined([MCNEMAR, "lost: right with both and wrong without it; declining is known by its words"]),
    )
    needs = {NEEDS[need]: share for need, share in effect.needs.items()}
    return [
        arm_chart(summary),
        Part(
            "Which source a question needs",
            outcome_bars(needs),
            "Shares of the questions by the source that they need",
            "needs",
            facts=[f"n = {count(effect.n, 'question')} measured in all three arms", "bars: 95 %, Wilson"],
            table=_need_table(findings),
            openings=[Opening("Open the answers with both", {"run": summary.experiment.run_ids[-1]})],
        ),
        Part("What is lost without a source", table=lost, is_result=True),
    ]


def _loss_row(source: str, pair: PairTest, declined: Interval | None) -> Row:
    n_lost = 0 if declined is None else declined.n_scored
    n_declined = 0 if declined is None else round(declined.mean * n_lost)
    return {
        "Without": source,
        "Difference": Change(pair.difference),
        "95 % interval": Ends(pair.low, pair.high),
        "p": PValue(pair.p),
        "p, Holm": PValue(pair.adjusted_p),
        "n": pair.n,
        "Lost": n_lost,
        "Of them declined": Of(n_declined, n_lost) if n_lost else None,
        "Answered wrongly": Of(n_lost - n_declined, n_lost) if n_lost else None,
    }


def _need_table(findings: SourceFindings) -> ResultTable:
    n, listed = findings.effect.n, ", ".join(findings.need_both[:MOST_LISTED])
    rows: tuple[Row, ...] = tuple(
        {
            "Questions": NEEDS[need],
            "Share": Of(round(share.mean * n), n),
            "95 % interval": Ends(share.low, share.high),
        }
        for need, share in findings.effect.needs.items()
    )
    more = " ..." if len(findings.need_both) > MOST_LISTED else ""
    return ResultTable("Which source a question needs", rows, f"need both: {listed}{more}" if listed else "")


def _effect(summary: ExperimentSummary, findings: SourceFindings) -> ShownEffect | None:
    effect = findings.effect
    if not effect.n:
        return None
    without = {"live state": effect.without_state, "document": effect.without_document}
    name, pair = min(without.items(), key=lambda item: item[1].difference)
    runs = [result.arm.run_id for result in summary.arms]
    arms = (runs[2], runs[0 if name == "live state" else 1]) if len(runs) == 3 else ("", "")
    follows = "Always pass the document and the live state" if pair.adjusted_p < 0.05 else ""
    # what a source adds: leaving one out is no fault of the system, so it is not told as a loss
    return ShownEffect(
        f"adding the {name}", -pair.difference, -pair.high, -pair.low, follows, (arms[1], arms[0])
    )


VIEW = ExperimentView(SOURCES, _headline, _parts, _effect)
