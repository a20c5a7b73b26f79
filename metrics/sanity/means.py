"""Sanity checks on means, for aggregate-only runs and published rows without samples.

Each rule reports what cannot be right, or what may mislead, with the figures behind it. Means are on the
metric's own scale, from 0 to 1 for most.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from ragtriage.metrics.metric_registry import lookup
from ragtriage.metrics.number_text import percent
from ragtriage.metrics.sanity.rule import ZERO_IS_FINE, Finding, Rule, Severity
from ragtriage.metrics.schema.scores import MetricsError

_SLIGHT = 0.01  # a sum that is off by more than this cannot be right
_THIRDS = ("faithfulness", "self_knowledge", "hallucination")
_PARTS = ("answer_precision", "noise_sensitivity_relevant", "noise_sensitivity_irrelevant", "hallucination")


@dataclass(frozen=True)
class Means:
    """The means of one version."""

    values: Mapping[str, float]  # metric -> mean
    step: float = 0.001  # the last printed digit, e.g. 0.001 where percentages have one decimal

    @property
    def tolerance(self) -> float:
        """How far a sum of three or four rounded figures may be off before it is reported."""
        return 1.5 * self.step + 1e-9

    def shown(self, value: float) -> str:
        """Write a share as it was printed, in percent."""
        digits = max(0, len(f"{self.step * 100:.6f}".rstrip("0").partition(".")[2]))
        return f"{100 * value:.{digits}f}"


def looks_uncomputed(means: Means) -> list[str]:
    """Return the metrics whose mean is exactly 0 although others show that there was something to measure.

    Faithfulness and hallucination both at 0 would leave every claim to self-knowledge, so neither was
    computed; otherwise a 0 is believed for metrics for which it is good news.
    """
    values = means.values
    zero = [name for name, value in values.items() if value == 0]
    if len(zero) == len(values):
        return []
    nothing = values.get("faithfulness") == 0 and values.get("hallucination") == 0
    both = _THIRDS if nothing and not values.get("self_knowledge") else ()
    return [name for name in zero if name in both or name.partition("@")[0] not in ZERO_IS_FINE]


def _zero_means(means: Means) -> list[Finding]:
    zero = looks_uncomputed(means)
    if not zero:
        return []
    listed = " and ".join(zero)
    written = means.shown(0.0)
    message = (
        f"The mean of {listed} is exactly {written}, while other metrics of the same version are not 0. "
        f"The values were probably not computed and written as {written}; do not treat them as measurements "
        "until somebody confirms them."
    )
    evidence = tuple((name, 0.0) for name in zero)
    title = f"{listed} written as {written}"
    return [Finding("zero_mean", "warning", title, message, evidence, metrics=tuple(zero))]


def _shares(means: Means) -> list[Finding]:
    """Check that the three shares of claims add up to 1, or leave a possible share for self-knowledge."""
    if set(looks_uncomputed(means)) & set(_THIRDS):
        return []
    values = means.values
    if all(name in values for name in _THIRDS):
        total = sum(values[name] for name in _THIRDS)
        return _sum_finding(
            means, "claim_shares_of_means", total, "faithfulness, self-knowledge and hallucination", _THIRDS
        )
    if "faithfulness" not in values or "hallucination" not in values or "answer_precision" not in values:
        return []
    left = 1 - values["faithfulness"] - values["hallucination"]
    precision = values["answer_precision"]
    return [_no_room(means, left, precision)] if left > precision + means.tolerance else []


def _no_room(means: Means, left: float, precision: float) -> Finding:
    values, shown = means.values, means.shown
    short = left - precision
    message = (
        f"Faithfulness {shown(values['faithfulness'])} and hallucination {shown(values['hallucination'])} "
        f"leave {shown(left)} % of the claims for self-knowledge. Self-knowledge is correct, so it cannot "
        f"exceed the answer precision of {shown(precision)}. Either one of these figures is wrong, or at "
        f"least {percent(short, 1)} of the answers were empty or unscored and counted as 0 in faithfulness "
        "and hallucination. The figures alone do not show which."
    )
    evidence = (("left for self-knowledge", left), ("answer precision", precision), ("shortfall", short))
    return Finding(
        "self_knowledge_room",
        "error",
        "More self-knowledge than precision allows",
        message,
        evidence,
        metrics=("faithfulness", "hallucination", "answer_precision"),
    )


def _parts(means: Means) -> list[Finding]:
    if not all(name in means.values for name in _PARTS) or set(looks_uncomputed(means)) & set(_PARTS):
        return []
    total = sum(means.values[name] for name in _PARTS)
    what = "precision, both noise sensitivities and hallucination"
    return _sum_finding(means, "precision_parts_of_means", total, what, _PARTS)


def _sum_finding(means: Means, rule: str, total: float, what: str, metrics: tuple[str, ...]) -> list[Finding]:
    off = abs(total - 1)
    if off <= means.tolerance:
        return []
    severity: Severity = "warning" if off <= _SLIGHT else "error"
    message = (
        f"The means of {what} add up to {means.shown(total)} %, not to 100 %. Every claim is in exactly "
        "one of them, so the sum is 100 up to rounding, unless answers without claims were counted as 0 in "
        "some of them."
    )
    title = f"{what[:1].upper()}{what[1:]} add up to {means.shown(total)} %"
    return [Finding(rule, severity, title, message, (("sum", total),), metrics=metrics)]


def _f1(means: Means) -> list[Finding]:
    values = means.values
    if not all(name in values for name in ("answer_precision", "answer_recall", "answer_f1")):
        return []
    precision, recall, f1 = values["answer_precision"], values["answer_recall"], values["answer_f1"]
    best = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    if f1 <= best + means.tolerance:
        return []
    message = (
        f"The mean F1 is {means.shown(f1)}, above {means.shown(best)}, the F1 of the mean precision and "
        "recall. The mean of F1 values cannot be higher."
    )
    evidence = (("mean F1", f1), ("F1 of the means", best))
    metrics = ("answer_precision", "answer_recall", "answer_f1")
    return [Finding("f1_of_the_means", "error", "Mean F1 too high", message, evidence, metrics=metrics)]


def _self_knowledge(means: Means) -> list[Finding]:
    values = means.values
    if "self_knowledge" not in values or "answer_precision" not in values:
        return []
    self_knowledge, precision = values["self_knowledge"], values["answer_precision"]
    if self_knowledge <= precision + means.tolerance:
        return []
    message = (
        f"Self-knowledge {means.shown(self_knowledge)} exceeds answer precision {means.shown(precision)}. "
        "That is impossible: it is the part of the correct claims that no document supports."
    )
    title = "Self-knowledge above precision"
    evidence = (("self-knowledge", self_knowledge),)
    metrics = ("self_knowledge", "answer_precision")
    return [Finding("self_knowledge_of_means", "error", title, message, evidence, metrics=metrics)]


def _scale(means: Means) -> list[Finding]:
    off = [name for name, value in means.values.items() if not _within(name, value)]
    if not off:
        return []
    listed = ", ".join(f"{name} {means.values[name]:.3g}" for name in off)
    message = f"Outside their scale: {listed}. If they are percentages, declare that in the column `unit`."
    return [Finding("scale_of_means", "warning", "Means outside their scale", message, metrics=tuple(off))]


def _within(name: str, value: float) -> bool:
    """Return whether the metric can take the value; an undeclared metric ranges from 0 to 1."""
    try:
        low, high = lookup(name).metric.bounds
    except MetricsError:
        low, high = 0.0, 1.0
    return low - 1e-9 <= value <= high + 1e-9


MEAN_RULES: Mapping[str, Rule[Means]] = MappingProxyType(
    {
        rule.key: rule
        for rule in (
            Rule(
                "zero_mean",
                "0 written for values that were not computed",
                "a mean is exactly 0 while others are not, where 0 is unusual; or faithfulness "
                "and hallucination are both 0",
                _zero_means,
            ),
            Rule(
                "claim_shares_of_means",
                "Claim shares add up",
                "faithfulness + self-knowledge + hallucination is not 100 within rounding; without "
                "self-knowledge, what the other two leave exceeds precision",
                _shares,
            ),
            Rule(
                "precision_parts_of_means",
                "Precision, noise and hallucination add up",
                "precision + both noise sensitivities + hallucination is not 100 within rounding",
                _parts,
            ),
            Rule("f1_of_the_means", "F1 of the means", "mean F1 exceeds the F1 of the means", _f1),
            Rule(
                "self_knowledge_of_means",
                "Self-knowledge within precision",
                "mean self-knowledge exceeds mean precision",
                _self_knowledge,
            ),
            Rule("scale_of_means", "Scale", "a mean is outside the bounds of its metric", _scale),
        )
    }
)


def check_means(means: Means) -> list[Finding]:
    """Run every rule on the means of one version; errors first."""
    findings = [finding for rule in MEAN_RULES.values() for finding in rule.run(means)]
    order: tuple[Severity, ...] = ("error", "warning", "note")
    return sorted(findings, key=lambda finding: order.index(finding.severity))
