"""What each kind of experiment comes to on one scale, in points of quality, and what follows from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, nan
from typing import Any

from ragtriage.data.experiments.arms import ArmsFindings
from ragtriage.data.experiments.injection import InjectionFindings
from ragtriage.data.experiments.languages import LanguageFindings
from ragtriage.data.experiments.noise import NoiseFindings
from ragtriage.data.experiments.parsing import ParsingFindings
from ragtriage.data.experiments.position import PositionFindings
from ragtriage.data.experiments.sources import SourceFindings
from ragtriage.data.experiments.stability import StabilityFindings
from ragtriage.data.experiments.summary import ExperimentSummary
from ragtriage.metrics.number_text import count, percent
from ragtriage.metrics.statistics.repeated_measures import PairTest


@dataclass(frozen=True)
class ShownEffect:
    """The main effect of an experiment; a loss is below 0."""

    text: str  # what was changed, as "rank 1 to rank 10"
    difference: float  # of quality, -1 to 1; NaN where it is not measured
    low: float = nan  # 95 % interval
    high: float = nan
    follows: str = ""  # what to do; "" for nothing
    arms: tuple[str, str] = ("", "")  # run ids of the two conditions; "" where there are no two

    @property
    def is_shown(self) -> bool:
        """Return whether the interval leaves out 0."""
        return isfinite(self.low) and isfinite(self.high) and not self.low <= 0 <= self.high


Effect = Callable[[ExperimentSummary, Any], ShownEffect | None]


def effect_of(summary: ExperimentSummary) -> ShownEffect | None:
    """Return the main effect of an experiment; None while it has none, and for a kind without one."""
    effect = EFFECTS.get(summary.experiment.kind)
    return None if effect is None or summary.findings is None else effect(summary, summary.findings)


def _runs(summary: ExperimentSummary, first: int, second: int, factor: str) -> tuple[str, str]:
    """Return the runs of two conditions by their place among the levels of a factor, the lowest first."""
    arms = [result.arm for result in summary.arms if factor in result.arm.levels and result.arm.run_id]
    plain = [arm for arm in arms if "gold" not in arm.levels]
    ordered: Sequence[Any] = sorted(plain, key=lambda arm: float(arm.levels[factor]))
    return (ordered[first].run_id, ordered[second].run_id) if max(first, second) < len(ordered) else ("", "")


def _pair(pair: PairTest, text: str, follows: str, arms: tuple[str, str]) -> ShownEffect:
    return ShownEffect(text, pair.difference, pair.low, pair.high, follows, arms)


def _position(summary: ExperimentSummary, findings: PositionFindings) -> ShownEffect:
    effect = findings.effect
    runs = _runs(summary, effect.ends.first, effect.ends.second, "gold_rank")
    if effect.verdict == "middle":
        contrast = effect.contrast
        follows = "Put the best documents first and last, or give fewer"
        worst = min(range(len(effect.means)), key=lambda at: effect.means[at].mean)
        runs = _runs(summary, 0, worst, "gold_rank")
        return ShownEffect("in the middle", contrast.difference, contrast.low, contrast.high, follows, runs)
    advice = {"falls": "Give fewer documents, or let it read all of them", "rises": "Put the best last"}
    text = f"rank {effect.ranks[0]} to rank {effect.ranks[-1]}"
    return _pair(effect.ends, text, advice.get(effect.verdict, ""), runs)


def _noise(summary: ExperimentSummary, findings: NoiseFindings) -> ShownEffect | None:
    effect = findings.effect
    if effect is None or not effect.pairs:
        return None
    most = effect.pairs[-1]
    follows = "Rerank, or drop documents below a score" if effect.verdict == "falls" else ""
    text = f"{percent(effect.levels[most.second])} noise"
    return _pair(most, text, follows, _runs(summary, most.first, most.second, "noise_share"))


def _sources(summary: ExperimentSummary, findings: SourceFindings) -> ShownEffect | None:
    effect = findings.effect
    if not effect.n:
        return None
    without = {"live state": effect.without_state, "document": effect.without_document}
    name, pair = min(without.items(), key=lambda item: item[1].difference)
    runs = [result.arm.run_id for result in summary.arms]
    arms = (runs[2], runs[0 if name == "live state" else 1]) if len(runs) == 3 else ("", "")
    follows = "Always pass the document and the live state" if pair.adjusted_p < 0.05 else ""
    return _pair(pair, f"without the {name}", follows, arms)


def _languages(_: ExperimentSummary, findings: LanguageFindings) -> ShownEffect:
    loss = findings.crossed - findings.same
    follows = "Translate the question, or embed across languages" if loss < 0 else ""
    return ShownEffect("question and passage in two languages", loss, follows=follows)


def _parsing(_: ExperimentSummary, findings: ParsingFindings) -> ShownEffect | None:
    means = {name: entry.by_page.mean for name, entry in findings.parsers.items()}
    best, *others = sorted(means.items(), key=lambda item: -item[1])
    if not others:
        return None
    return ShownEffect(f"{best[0]} over the next", best[1] - others[0][1], follows=f"Parse with {best[0]}")


def _injection(_: ExperimentSummary, findings: InjectionFindings) -> ShownEffect | None:
    success = findings.success
    if not success.n_scored:
        return None
    follows = "Mark documents as data, and filter instructions in them" if success.mean > 0 else ""
    text = f"planted text followed, {count(success.n_scored, 'case')}"
    return ShownEffect(text, -success.mean, -success.high, -success.low, follows)


def _stability(summary: ExperimentSummary, findings: StabilityFindings) -> ShownEffect | None:
    rate = findings.overall.rate
    if not rate.n_scored:
        return None
    worst = max(findings.changes, key=lambda each: each.flips.rate.mean if each.flips.compared else -1.0)
    runs = {result.arm.key: result.arm.run_id for result in summary.arms}
    asked = next(iter(runs.values()), "")
    changed = next((run for key, run in runs.items() if key.startswith(worst.change)), "")
    follows = f"Test each question {worst.change}, not once" if rate.mean else ""
    text = f"{len(findings.flipped)} verdicts flip"
    return ShownEffect(text, -rate.mean, -rate.high, -rate.low, follows, (asked, changed))


def _arms(_: ExperimentSummary, findings: ArmsFindings) -> ShownEffect | None:
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


EFFECTS: Mapping[str, Effect] = {
    "arms": _arms,
    "injection": _injection,
    "languages": _languages,
    "noise": _noise,
    "parsing": _parsing,
    "position": _position,
    "sources": _sources,
    "stability": _stability,
}
