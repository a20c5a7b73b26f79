"""Arms: the effect of each setting, with a link to Compare."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ragtriage.dashboard.experiments.view import (
    ExperimentView,
    Opening,
    Part,
    ShownEffect,
    arm_chart,
    joined,
    name_of,
    p_text,
    quality_title,
)
from ragtriage.dashboard.headlines.headline import Headline
from ragtriage.dashboard.wording.comparisons import effect_label, family_text
from ragtriage.dashboard.wording.escaping import shorten
from ragtriage.data.experiments.arms import ARMS, ArmsFindings
from ragtriage.data.experiments.registry import ExperimentSummary
from ragtriage.metrics.metric_registry import title_of
from ragtriage.metrics.number_text import count, number, signed
from ragtriage.metrics.result_table import Change, Ends, PValue, ResultTable, Row

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from ragtriage.dashboard.charts.tokens import Tokens


def _headline(summary: ExperimentSummary, findings: ArmsFindings) -> Headline:
    effects = findings.effects.effects
    name, n_arms = name_of(summary), count(len(summary.arms), "arm")
    shown = [effect for effect in effects if effect.verdict in ("better", "worse")]
    if not shown:
        return Headline(
            "cannot tell",
            f"{name}: no setting is shown to change the answers",
            f"{n_arms}, {count(len(effects), 'effect')} on {title_of(summary.quality).lower()} tested "
            f"together, n = {summary.experiment.n_questions:,} questions",
        )
    largest = max(shown, key=lambda effect: abs(effect.difference.difference))
    words = "helps" if largest.verdict == "better" else "costs answers"
    change = f"{largest.factor} {largest.before} → {largest.after}"
    return Headline(
        "good" if largest.verdict == "better" else "bad",
        f"{name}: {shorten(change, 40)} {words}",
        f"{title_of(summary.quality)} {signed(largest.difference.difference)} "
        f"[{number(largest.low)}, {number(largest.high)}], p {p_text(largest.adjusted_p)} after step-down "
        f"max-T, n = {largest.difference.n_pairs:,} questions; {len(shown)} of "
        f"{count(len(effects), 'effect')} shown",
    )


def _parts(summary: ExperimentSummary, findings: ArmsFindings) -> Sequence[Part]:
    effects = findings.effects.effects
    title = quality_title(summary)
    if not effects:
        return [arm_chart(summary)]

    def forest(tokens: Tokens) -> go.Figure:
        from ragtriage.dashboard.charts.experiments import effect_forest

        return effect_forest(effects, title, tokens)

    rows: tuple[Row, ...] = tuple(
        {
            "Change": effect_label(effect),
            "Difference": Change(effect.difference.difference),
            "Interval of all effects": Ends(effect.low, effect.high),
            "p, corrected": PValue(effect.adjusted_p),
            "Verdict": effect.verdict,
            "n": effect.difference.n_pairs,
        }
        for effect in effects
    )
    notes = (
        "each effect from all pairs of arms that differ in this setting alone",
        family_text(len(effects), "effect"),
        "the best arm is chosen on these same questions, so its mean is slightly optimistic",
    )
    first, *others = summary.experiment.run_ids
    together = {"run": others[0], "baseline": first, "versions": tuple(others), "other": ""}
    return [
        arm_chart(summary),
        Part(
            "What each setting does",
            forest,
            f"Effects of the settings on {title}",
            "arm_effects",
            table=ResultTable("Effects of the settings", rows, joined(notes)),
            openings=[Opening("Open these effects on Compare", together, "compare")],
            is_result=True,
        ),
    ]


def _effect(_: ExperimentSummary, findings: ArmsFindings) -> ShownEffect | None:
    effects = findings.effects.effects
    if not effects:
        return None
    most = max(effects, key=lambda effect: abs(effect.difference.difference))
    better = most.verdict == "better"
    follows = f"Set {most.factor} to {most.after if better else most.before}"
    shown = most.verdict in ("better", "worse")
    text = f"{most.factor} {most.before} → {most.after}"
    runs = most.pairs[0] if most.pairs else ("", "")
    return ShownEffect(text, most.difference.difference, most.low, most.high, follows * shown, runs)


VIEW = ExperimentView(ARMS, _headline, _parts, _effect)
