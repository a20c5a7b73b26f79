"""Noise and counterfact: the curve over noise, refusals without gold, and what altered gold leads to."""

from collections.abc import Mapping, Sequence

from ragtriage.dashboard.charts.experiments import noise_curve, outcome_bars
from ragtriage.dashboard.experiments.view import (
    MCNEMAR,
    ExperimentView,
    Part,
    ShownEffect,
    joined,
    name_of,
    p_text,
    pair_effect,
    quality_title,
    runs_of,
)
from ragtriage.dashboard.headlines.headline import Headline, State
from ragtriage.dashboard.wording.formatting import span
from ragtriage.data.experiments.noise import NOISE, NoiseFindings
from ragtriage.data.experiments.registry import ExperimentSummary
from ragtriage.metrics.experiments.contexts import NoiseEffect
from ragtriage.metrics.number_text import p_value, percent
from ragtriage.metrics.result_table import (
    Cell,
    Change,
    Ends,
    Number,
    Of,
    PValue,
    ResultTable,
    Row,
    Share,
    ends_of,
)
from ragtriage.metrics.statistics.intervals import Interval
from ragtriage.metrics.statistics.paired import MARGIN

VERDICTS: Mapping[str, tuple[State, str]] = {
    "falls": ("bad", "noise costs answers"),
    "rises": ("good", "noise does not cost answers"),
    "differs": ("bad", "the share of noise matters"),
    "cannot tell": ("cannot tell", "no effect of noise is shown"),
    "not measured": ("not measured", "no answer is measured at every share of noise"),
}
OUTCOMES = {
    "context": "follows the altered document",
    "own knowledge": "gives the right answer, from its own knowledge",
    "both": "names both",
    "refused": "declines",
    "neither": "says something else",
}


def _headline(summary: ExperimentSummary, findings: NoiseFindings) -> Headline:
    name = name_of(summary)
    details = list(filter(None, (_by_share(findings), _removed(findings), _altered(findings))))
    if findings.effect is None:
        return Headline("not measured", f"{name}: one share of noise alone", ". ".join(details))
    state, words = VERDICTS[findings.effect.verdict]
    if findings.effect.verdict == "cannot tell" and not findings.effect.test.n_varying:
        state, words = "good", "noise has no effect"
    refused, followed = findings.refused_without, findings.followed.get("context")
    if state != "bad" and refused is not None and refused.n_scored and refused.high < 1 - MARGIN:
        state = "bad"
        words += f", but it answers {percent(1 - refused.mean)} without the gold document"
    elif state != "bad" and followed is not None and followed.n_scored and followed.low > MARGIN:
        state = "cannot tell"
        words += f"; it follows {percent(followed.mean)} of altered texts"
    return Headline(state, f"{name}: {words}", ". ".join(details))


def _by_share(findings: NoiseFindings) -> str:
    effect = findings.effect
    if effect is None:
        return ""
    levels = zip(effect.levels, effect.means, strict=True)
    by_share = ", ".join(f"{percent(level)}: {percent(mean.mean)}" for level, mean in levels)
    test = f"{effect.test.method}: p {p_text(effect.test.p)}, " if effect.test.n_varying else ""
    return f"By share of noise: {by_share} ({test}n = {effect.test.n:,} questions)"


def _removed(findings: NoiseFindings) -> str:
    refused = findings.refused_without
    if refused is None or not refused.n_scored:
        return ""
    return (
        f"Without the gold document it declines {percent(refused.mean)} of {refused.n_scored:,} "
        f"({span(refused)}); it should decline all"
    )


def _altered(findings: NoiseFindings) -> str:
    if not findings.followed:
        return ""
    context, own = findings.followed["context"], findings.followed["own knowledge"]
    return (
        f"Of {context.n_scored:,} altered documents it follows {percent(context.mean)} ({span(context)}) and "
        f"answers {percent(own.mean)} from its own knowledge"
    )


def _parts(summary: ExperimentSummary, findings: NoiseFindings) -> Sequence[Part]:
    parts = []
    if findings.effect is not None:
        parts.append(_curve(findings.effect, quality_title(summary)))
    if findings.followed:
        shares = {OUTCOMES[name]: share for name, share in findings.followed.items()}
        n = next(iter(shares.values())).n_scored
        parts.append(
            Part(
                "From an altered document, the answer ...",
                outcome_bars(shares),
                "What answers from altered documents follow",
                "outcomes",
                facts=[
                    f"n = {n:,} questions",
                    "by the words of the answer: right answer, altered answer, refusal",
                ],
                beside=True,
            )
        )
    return [*parts, *_refusals(findings)]


def _curve(effect: NoiseEffect, title: str) -> Part:
    rows: tuple[Row, ...] = tuple(
        {
            "Noise": Share(effect.levels[pair.second]),
            "Difference": Change(pair.difference),
            "95 % interval": Ends(pair.low, pair.high),
            "p": PValue(pair.p),
            "p, Holm": PValue(pair.adjusted_p),
            "n": pair.n or None,
        }
        for pair in effect.pairs
    )
    tested = f"{effect.test.method}, p {p_value(effect.test.p)}"
    test = tested if effect.test.n_varying else "no answer varies with it"
    return Part(
        "Quality by the share of noise",
        noise_curve(effect, title),
        f"{title} by the share of noise",
        "noise_curve",
        facts=[
            f"n = {effect.test.n:,} questions measured at every share",
            "bars: 95 %, Wilson or exact",
            test,
            "a gold passage has the same rank in every arm that holds it",
            "with a fixed number of gold passages more noise also makes the context longer",
        ],
        table=ResultTable("Shares of noise against the least", rows, MCNEMAR),
        folded="Each share of noise against the least",
    )


def _refusals(findings: NoiseFindings) -> list[Part]:
    asked = [
        ("Gold document there", "answer", findings.refused_with_gold),
        ("Gold document removed", "decline", findings.refused_without),
    ]
    rows: tuple[Row, ...] = tuple(
        _refusal_row(context, wanted, share) for context, wanted, share in asked if share is not None
    )
    if not rows:
        return []
    right = findings.known
    notes = (
        "declining is known by its words",
        f"right answers without the gold document: {percent(right.mean)} of {right.n_scored:,} "
        f"({span(right)}): own knowledge, or luck"
        if right is not None and right.n_scored
        else "",
    )
    table = ResultTable("Refusals with and without the gold document", rows, joined(notes))
    return [Part("Does it decline when the answer is not there?", table=table)]


def _refusal_row(context: str, wanted: str, share: Interval) -> dict[str, Cell]:
    declined = round(share.mean * share.n_scored) if share.n_scored else 0
    return {
        "Context": context,
        "It should": wanted,
        "Declines": Of(declined, share.n_scored),
        "Answers": Of(share.n_scored - declined, share.n_scored),
        "Share declined": Number(share.mean),
        "95 % interval": ends_of(share),
    }


def _effect(summary: ExperimentSummary, findings: NoiseFindings) -> ShownEffect | None:
    effect = findings.effect
    if effect is None or not effect.pairs:
        return None
    most = effect.pairs[-1]
    follows = "Rerank, or drop documents below a score" if effect.verdict == "falls" else ""
    text = f"{percent(effect.levels[most.second])} noise"
    return pair_effect(most, text, follows, runs_of(summary, most.first, most.second, "noise_share"))


VIEW = ExperimentView(NOISE, _headline, _parts, _effect)
