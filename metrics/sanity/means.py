"""Checks on means alone: for versions and published rows of which no sample is known.

Each rule says what cannot be, or what likely misleads, with the figures it rests on. Means lie on the
metric's own scale, which is from 0 to 1 for most.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from metrics.metric_registry import lookup
from metrics.sanity.rule import ZERO_IS_FINE, Finding, Rule, Severity
from metrics.schema.scores import MetricsError

__all__ = ["MEAN_RULES", "Means", "check_means", "looks_uncomputed"]

_SLIGHT = 0.01  # a sum that is off by no more than this misleads little; by more it cannot be right
_THIRDS = ("faithfulness", "self_knowledge", "hallucination")
_PARTS = ("answer_precision", "noise_sensitivity_relevant", "noise_sensitivity_irrelevant", "hallucination")


@dataclass(frozen=True)
class Means:
    """The means of one version.

    Attributes:
        values: metric -> mean.
        step: the last printed digit, e.g. 0.001 where percentages have one decimal.
    """

    values: Mapping[str, float]
    step: float = 0.001

    @property
    def tolerance(self) -> float:
        """How far a sum of three or four rounded figures may be off before it is told."""
        return 1.5 * self.step + 1e-9

    def shown(self, value: float) -> str:
        """Write a share as it was printed, in percent."""
        digits = max(0, len(f"{self.step * 100:.6f}".rstrip("0").partition(".")[2]))
        return f"{100 * value:.{digits}f}"


def looks_uncomputed(given: Means) -> list[str]:
    """Name the metrics whose mean is exactly 0 although others show that there was something to measure.

    Faithfulness and hallucination at 0 together would leave every claim to self-knowledge, so neither was
    computed; a metric for which 0 is good news is otherwise taken at its word.
    """
    values = given.values
    zero = [name for name, value in values.items() if value == 0]
    if len(zero) == len(values):
        return []
    nothing = values.get("faithfulness") == 0 and values.get("hallucination") == 0
    both = _THIRDS if nothing and not values.get("self_knowledge") else ()
    return [name for name in zero if name in both or name.partition("@")[0] not in ZERO_IS_FINE]


def _zero_means(given: Means) -> list[Finding]:
    zero = looks_uncomputed(given)
    if not zero:
        return []
    listed = " and ".join(zero)
    written = given.shown(0.0)
    message = (
        f"The mean of {listed} is exactly {written}, while other metrics of the same version are not 0. "
        f"That looks "
        f"like values that were not computed and were written as {written}; they are not measurements until "
        "somebody confirms them."
    )
    evidence = tuple((name, 0.0) for name in zero)
    title = f"{listed} written as {written}"
    return [Finding("zero_mean", "warning", title, message, evidence)]


def _shares(given: Means) -> list[Finding]:
    """The three shares of the claims add up to 1; without self-knowledge, what is left for it has a limit."""
    if set(looks_uncomputed(given)) & set(_THIRDS):
        return []
    values = given.values
    if all(name in values for name in _THIRDS):
        total = sum(values[name] for name in _THIRDS)
        return _sum_finding(
            given, "claim_shares_of_means", total, "faithfulness, self-knowledge and hallucination"
        )
    if "faithfulness" not in values or "hallucination" not in values or "answer_precision" not in values:
        return []
    left = 1 - values["faithfulness"] - values["hallucination"]
    precision = values["answer_precision"]
    return [_no_room(given, left, precision)] if left > precision + given.tolerance else []


def _no_room(given: Means, left: float, precision: float) -> Finding:
    values, shown = given.values, given.shown
    short = left - precision
    message = (
        f"Faithfulness {shown(values['faithfulness'])} and hallucination "
        f"{shown(values['hallucination'])} leave "
        f"{shown(left)} % of the claims for self-knowledge. Self-knowledge is correct, so it cannot "
        f"exceed the "
        f"answer precision of {shown(precision)}. Either one of these figures is wrong, or at least "
        f"{100 * short:.1f} % of the answers were empty or unscored and counted as 0 in faithfulness and "
        "hallucination. The figures alone do not tell which."
    )
    evidence = (("left for self-knowledge", left), ("answer precision", precision), ("shortfall", short))
    return Finding(
        "self_knowledge_room", "error", "More self-knowledge than precision allows", message, evidence
    )


def _parts(given: Means) -> list[Finding]:
    if not all(name in given.values for name in _PARTS) or set(looks_uncomputed(given)) & set(_PARTS):
        return []
    total = sum(given.values[name] for name in _PARTS)
    return _sum_finding(
        given, "precision_parts_of_means", total, "precision, both noise sensitivities and hallucination"
    )


def _sum_finding(given: Means, rule: str, total: float, what: str) -> list[Finding]:
    off = abs(total - 1)
    if off <= given.tolerance:
        return []
    severity: Severity = "warning" if off <= _SLIGHT else "error"
    message = (
        f"The means of {what} add up to {given.shown(total)} %, not to 100 %. Every claim is in exactly "
        f"one of them, "
        "so the sum is 100 up to rounding, unless answers without claims were counted as 0 in some of them."
    )
    return [Finding(rule, severity, f"{what[:1].upper()}{what[1:]} add up to {given.shown(total)} %", message,
                    (("sum", total),))]  # fmt: skip


def _f1(given: Means) -> list[Finding]:
    values = given.values
    if not all(name in values for name in ("answer_precision", "answer_recall", "answer_f1")):
        return []
    precision, recall, f1 = values["answer_precision"], values["answer_recall"], values["answer_f1"]
    best = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    if f1 <= best + given.tolerance:
        return []
    message = (
        f"The mean F1 is {given.shown(f1)}, above {given.shown(best)}, the F1 of the mean precision and "
        f"recall. "
        "A mean of F1 values cannot lie above that."
    )
    evidence = (("mean F1", f1), ("F1 of the means", best))
    return [Finding("f1_of_the_means", "error", "Mean F1 too high", message, evidence)]


def _self_knowledge(given: Means) -> list[Finding]:
    values = given.values
    if "self_knowledge" not in values or "answer_precision" not in values:
        return []
    own, precision = values["self_knowledge"], values["answer_precision"]
    if own <= precision + given.tolerance:
        return []
    message = (
        f"Self-knowledge {given.shown(own)} exceeds answer precision {given.shown(precision)}; it is "
        f"the part of the "
        "correct claims that no document supports, so it cannot."
    )
    title = "Self-knowledge above precision"
    return [Finding("self_knowledge_of_means", "error", title, message, (("self-knowledge", own),))]


def _scale(given: Means) -> list[Finding]:
    off = [name for name, value in given.values.items() if not _within(name, value)]
    if not off:
        return []
    listed = ", ".join(f"{name} {given.values[name]:.3g}" for name in off)
    message = f"Outside their scale: {listed}. They may be percentages; say so with the column `unit`."
    return [Finding("scale_of_means", "warning", "Means outside their scale", message)]


def _within(name: str, value: float) -> bool:
    """Say whether a value is one that the metric can take; from 0 to 1 where nobody declared it."""
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
                "0 written for what was not computed",
                "a mean is exactly 0 beside others that are not, where 0 is no ordinary result; or "
                "faithfulness and "
                "hallucination are both 0",
                _zero_means,
            ),
            Rule(
                "claim_shares_of_means",
                "Claim shares add up, and leave room",
                "faithfulness + self-knowledge + hallucination is not 100 within rounding; without "
                "self-knowledge, "
                "what the other two leave exceeds precision",
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
            Rule("scale_of_means", "Scale", "a mean lies outside the bounds of its metric", _scale),
        )
    }
)


def check_means(given: Means) -> list[Finding]:
    """Run every rule on the means of one version; errors first."""
    found = [finding for rule in MEAN_RULES.values() for finding in rule.run(given)]
    order: tuple[Severity, ...] = ("error", "warning", "note")
    return sorted(found, key=lambda finding: order.index(finding.severity))
