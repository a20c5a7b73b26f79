"""The conclusion of an experiment: what the change did, or that it cannot be told."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ragtriage.dashboard.headlines.headline import Headline, State
from ragtriage.dashboard.headlines.robustness import ROBUSTNESS_HEADLINES
from ragtriage.dashboard.wording.escaping import shorten
from ragtriage.dashboard.wording.formatting import span
from ragtriage.data.experiments.arms import ArmsFindings
from ragtriage.data.experiments.noise import NoiseFindings
from ragtriage.data.experiments.position import PositionFindings
from ragtriage.data.experiments.record import Experiment
from ragtriage.data.experiments.registry import kind_of
from ragtriage.data.experiments.summary import ExperimentSummary
from ragtriage.metrics.experiments.position import PositionEffect, PositionVerdict
from ragtriage.metrics.metric_registry import title_of
from ragtriage.metrics.number_text import count, interval_text, number, p_value, percent, points, signed

LONGEST_NAME = 32
PLACES: Mapping[PositionVerdict, tuple[State, str]] = {
    "middle": ("bad", "answers get lost in the middle"),
    "falls": ("bad", "answers get worse towards the end"),
    "rises": ("bad", "answers get worse towards the beginning"),
    "differs": ("bad", "the place of the gold document matters"),
    "cannot tell": ("cannot tell", "no effect of the place is shown"),
    "not measured": ("not measured", "no answer is measured at every place"),
}
NOISES: Mapping[str, tuple[State, str]] = {
    "falls": ("bad", "noise costs answers"),
    "rises": ("good", "noise does not cost answers"),
    "differs": ("bad", "the share of noise matters"),
    "cannot tell": ("cannot tell", "no effect of noise is shown"),
    "not measured": ("not measured", "no answer is measured at every share of noise"),
}


def no_experiment() -> Headline:
    """Return that the project has none yet, and how one is begun."""
    return Headline(
        "empty",
        "No experiment in this project yet",
        "An experiment asks a system the same questions under changed conditions and tests what the change "
        "did; a command begins one",
    )


def experiment_headline(summary: ExperimentSummary) -> Headline:
    """Return what an experiment shows, in the words of its kind."""
    experiment = summary.experiment
    if experiment.state != "done":
        done = len(experiment.run_ids)
        return Headline(
            "not measured",
            f"{kind_of(experiment.kind).title}: {done} of {count(len(experiment.arms), 'arm')} done",
            "The same command goes on from here; nothing is asked twice",
        )
    if summary.findings is None:
        is_measured = any(arm.quality.n_scored for arm in summary.arms)
        why = "too few arms to compare" if is_measured else "no answer is measured in any arm"
        return Headline("not measured", f"{_name(experiment)}: {why}")
    return HEADLINES[experiment.kind](summary)


def _name(experiment: Experiment) -> str:
    return shorten(experiment.system, LONGEST_NAME)


def _position(summary: ExperimentSummary) -> Headline:
    findings: PositionFindings = summary.findings
    effect = findings.effect
    state, words = PLACES[effect.verdict]
    name = _name(summary.experiment)
    if effect.verdict == "cannot tell" and not effect.test.n_varying:
        return Headline(
            "good",
            f"{name}: the place of the gold document makes no difference",
            f"All {count(effect.test.n, 'question')} have the same {title_of(summary.quality).lower()} at "
            f"every place. {_by_place(effect)}",
            _without_documents(findings),
        )
    detail = f"{_by_place(effect)}. {_place_test(effect)}"
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


def _by_place(effect: PositionEffect) -> str:
    places = zip(effect.ranks, effect.means, strict=True)
    return "By rank of the gold document: " + ", ".join(
        f"{rank}: {percent(mean.mean)}" for rank, mean in places
    )


def _place_test(effect: PositionEffect) -> str:
    contrast = effect.contrast
    test = f"{effect.test.method} over all places: p {_p(effect.test.p)}, n = {effect.test.n:,} questions"
    if effect.verdict in ("falls", "rises"):
        ends = effect.ends
        return f"The last place is {_points(ends.difference, ends.low, ends.high)} from the first; {test}"
    contrast_text = _points(contrast.difference, contrast.low, contrast.high)
    return f"The inner places are {contrast_text} from the mean of the two ends; {test}"


def _points(difference: float, low: float, high: float) -> str:
    return f"{points(difference)} {interval_text(100 * low, 100 * high, 0)}"


def _p(value: float) -> str:
    text = p_value(value)
    return text if text.startswith("<") else f"= {text}"


def _noise(summary: ExperimentSummary) -> Headline:
    findings: NoiseFindings = summary.findings
    name = _name(summary.experiment)
    details = list(filter(None, (_noise_text(findings), _removed_text(findings), _altered_text(findings))))
    if findings.effect is None:
        return Headline("not measured", f"{name}: one share of noise alone", ". ".join(details))
    state, words = NOISES[findings.effect.verdict]
    same = findings.effect.verdict == "cannot tell" and not findings.effect.test.n_varying
    if same:
        state, words = "good", "noise makes no difference"
    return Headline(state, f"{name}: {words}", ". ".join(details))


def _noise_text(findings: NoiseFindings) -> str:
    effect = findings.effect
    if effect is None:
        return ""
    levels = zip(effect.levels, effect.means, strict=True)
    by_share = ", ".join(f"{percent(level)}: {percent(mean.mean)}" for level, mean in levels)
    test = f"{effect.test.method}: p {_p(effect.test.p)}, " if effect.test.n_varying else ""
    return f"By share of noise: {by_share} ({test}n = {effect.test.n:,} questions)"


def _removed_text(findings: NoiseFindings) -> str:
    refused = findings.refused_without
    if refused is None or not refused.n_scored:
        return ""
    return (
        f"Without the gold document it declines {percent(refused.mean)} of {refused.n_scored:,} "
        f"({span(refused)}); it should decline all"
    )


def _altered_text(findings: NoiseFindings) -> str:
    if not findings.followed:
        return ""
    context, own = findings.followed["context"], findings.followed["own knowledge"]
    return (
        f"Of {context.n_scored:,} altered documents it follows {percent(context.mean)} ({span(context)}) and "
        f"answers {percent(own.mean)} from its own knowledge"
    )


def _arms(summary: ExperimentSummary) -> Headline:
    findings: ArmsFindings = summary.findings
    effects = findings.effects.effects
    name, n_arms = _name(summary.experiment), count(len(summary.arms), "arm")
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
        f"[{number(largest.low)}, {number(largest.high)}], p {_p(largest.adjusted_p)} after step-down "
        f"max-T, n = {largest.difference.n_pairs:,} questions; {len(shown)} of "
        f"{count(len(effects), 'effect')} shown",
    )


HEADLINES: Mapping[str, Callable[[ExperimentSummary], Headline]] = {
    "arms": _arms,
    "noise": _noise,
    "position": _position,
    **ROBUSTNESS_HEADLINES,
}


def arm_rows(summary: ExperimentSummary) -> Sequence[Sequence[str]]:
    """Return the arms as rows: title, run, mean, interval, n scored of n."""
    return [
        (
            result.arm.title,
            result.arm.run_id,
            number(result.quality.mean, 3),
            interval_text(result.quality.low, result.quality.high, 3),
            f"{result.quality.n_scored:,} / {result.n:,}",
        )
        for result in summary.arms
    ]
