"""Lost in the middle: the curve by place, its test, and the questions that closed book fails."""

from collections.abc import Mapping, Sequence

from ragtriage.dashboard.charts.experiments import position_curve
from ragtriage.dashboard.experiments.view import (
    MCNEMAR,
    ExperimentView,
    Part,
    ShownEffect,
    name_of,
    p_text,
    pair_effect,
    quality_title,
    runs_of,
)
from ragtriage.dashboard.headlines.headline import Headline, State
from ragtriage.data.experiments.position import POSITION, PositionFindings, published_positions
from ragtriage.data.experiments.registry import ExperimentSummary
from ragtriage.metrics.experiments.contexts import PositionEffect, PositionVerdict
from ragtriage.metrics.metric_registry import title_of
from ragtriage.metrics.number_text import count, interval_text, number, p_value, percent, points, signed
from ragtriage.metrics.result_table import Change, Ends, PValue, ResultTable, Row

VERDICTS: Mapping[PositionVerdict, tuple[State, str]] = {
    "middle": ("bad", "answers get lost in the middle"),
    "falls": ("bad", "answers get worse towards the end"),
    "rises": ("bad", "answers get worse towards the beginning"),
    "differs": ("bad", "the place of the gold document matters"),
    "cannot tell": ("cannot tell", "no effect of the place is shown"),
    "not measured": ("not measured", "no answer is measured at every place"),
}


def _headline(summary: ExperimentSummary, findings: PositionFindings) -> Headline:
    effect = findings.effect
    state, words = VERDICTS[effect.verdict]
    name = name_of(summary)
    places = zip(effect.ranks, effect.means, strict=True)
    by_place = "By rank of the gold document: " + ", ".join(
        f"{rank}: {percent(mean.mean)}" for rank, mean in places
    )
    if effect.verdict == "cannot tell" and not effect.test.n_varying:
        return Headline(
            "good",
            f"{name}: the place of the gold document makes no difference",
            f"All {count(effect.test.n, 'question')} have the same {title_of(summary.quality).lower()} at "
            f"every place. {by_place}",
            _without_documents(findings),
        )
    detail = f"{by_place}. {_place_test(effect)}"
    return Headline(state, f"{name}: {words}", detail, _without_documents(findings))


def _without_documents(findings: PositionFindings) -> str:
    """Return that answers need no document: then their place cannot matter. "" where they do."""
    floor, ceiling = findings.floor, findings.ceiling
    if floor is None or ceiling is None or not 0 < ceiling.mean <= floor.mean:
        return ""
    return (
        f"closed book it answers {percent(floor.mean)}, with the gold document alone "
        f"{percent(ceiling.mean)}; it knows the answers, or looks them up by itself where `contexts` is empty"
    )


def _place_test(effect: PositionEffect) -> str:
    test = f"{effect.test.method} over all places: p {p_text(effect.test.p)}, n = {effect.test.n:,} questions"
    is_trend = effect.verdict in ("falls", "rises")
    gap = effect.ends if is_trend else effect.contrast
    change = f"{points(gap.difference)} {interval_text(100 * gap.low, 100 * gap.high, 0)}"
    if is_trend:
        return f"The last place is {change} from the first; {test}"
    return f"The inner places are {change} from the mean of the two ends; {test}"


def _parts(summary: ExperimentSummary, findings: PositionFindings) -> Sequence[Part]:
    title, published, effect = quality_title(summary), published_positions(), findings.effect
    chart = Part(
        "Quality by the place of the gold document",
        position_curve(effect, findings.documents, title, findings.floor, findings.ceiling, published),
        f"{title} by the place of the gold document",
        "position_curve",
        facts=[
            f"n = {effect.test.n:,} questions measured at every place",
            "bars: 95 %, Wilson or exact",
            f"grey: {published.source}; {published.questions}, {published.documents} documents, cited: "
            "another data set and other models, so only the shape compares",
        ],
    )
    effects = [Part(facts=_effect_facts("All questions", effect))]
    if findings.unknown is not None and findings.n_unknown < effect.test.n:
        who = f"The {findings.n_unknown:,} questions that closed book fails"
        effects.append(Part(facts=_effect_facts(who, findings.unknown)))
    elif findings.n_unknown:
        text = f"Closed book fails {findings.n_unknown:,} of them: none of the effect is own knowledge."
        effects.append(Part(facts=[text]))
    rows: tuple[Row, ...] = tuple(
        {
            "End": f"rank {effect.ranks[pair.first]}",
            "Inner": f"rank {effect.ranks[pair.second]}",
            "Difference": Change(pair.difference),
            "95 % interval": Ends(pair.low, pair.high),
            "p": PValue(pair.p),
            "p, Holm": PValue(pair.adjusted_p),
            "n": pair.n or None,
        }
        for pair in effect.pairs
    )
    pairs = Part(
        table=ResultTable("Ends against inner places", rows, MCNEMAR),
        folded="Ends against inner places, pair by pair",
    )
    return [chart, *effects, pairs]


def _effect_facts(who: str, effect: PositionEffect) -> list[str]:
    contrast, fit = effect.contrast, effect.fit
    vertex = ""
    if fit is not None and fit.inside:
        kind = "lowest" if fit.square > 0 else "highest"
        vertex = f"parabola: {kind} at rank {number(fit.vertex, 1)}"
    return [
        f"{who} (n = {effect.test.n:,})",
        f"middle gap {signed(effect.gap)} (mean of the ends less the lowest inner place; above 0 by chance "
        "too)",
        f"inner places less ends {signed(contrast.difference)} "
        f"{interval_text(contrast.low, contrast.high)}, p {p_value(contrast.p)}",
        f"{effect.test.method} {number(effect.test.statistic)}, p {p_value(effect.test.p)}"
        if effect.test.n_varying
        else "no answer varies with the place",
        vertex,
    ]


def _effect(summary: ExperimentSummary, findings: PositionFindings) -> ShownEffect:
    effect = findings.effect
    runs = runs_of(summary, effect.ends.first, effect.ends.second, "gold_rank")
    if effect.verdict == "middle":
        contrast = effect.contrast
        follows = "Put the best documents first and last, or give fewer"
        worst = min(range(len(effect.means)), key=lambda at: effect.means[at].mean)
        runs = runs_of(summary, 0, worst, "gold_rank")
        return ShownEffect("in the middle", contrast.difference, contrast.low, contrast.high, follows, runs)
    advice = {
        "falls": "Pass fewer documents, or have the model read all of them",
        "rises": "Put the best last",
    }
    text = f"rank {effect.ranks[0]} to rank {effect.ranks[-1]}"
    return pair_effect(effect.ends, text, advice.get(effect.verdict, ""), runs)


VIEW = ExperimentView(POSITION, _headline, _parts, _effect)
