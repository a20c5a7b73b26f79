"""Sanity checks that follow from the definitions: sums that must be 1, orders that must hold."""

from collections.abc import Mapping
from itertools import pairwise

import numpy as np

from ragtriage.metrics.sanity.rule import CheckInput, Finding, Rule, Severity, columns, rows_of
from ragtriage.metrics.schema.metric import whole_number
from ragtriage.metrics.schema.scores import BoolArray, FloatArray

TOLERANCE = 0.005  # the rounding error of values written with two decimals
_PERCENT = 1.5  # above this a column is on another scale, which the scale rule reports
_GROWING = ("recall", "hit", "mrr", "all_hops_recall", "span_recall")
_THIRDS = ("faithfulness", "self_knowledge", "hallucination")
_UNSUPPORTED = ("intrinsic_hallucination", "extrinsic_hallucination", "ungrounded")
_PARTS = ("answer_precision", "noise_sensitivity_relevant", "noise_sensitivity_irrelevant", "hallucination")

Columns = Mapping[str, FloatArray]


def _stack(values: Columns, names: tuple[str, ...]) -> FloatArray | None:
    """Return (n, len(names)) values; None where a column is missing, unscored or on another scale."""
    if any(name not in values for name in names):
        return None
    block = np.stack([values[name] for name in names], axis=1)
    scored = np.isfinite(block).all(axis=1)
    return None if not scored.any() or np.nanmax(block) > _PERCENT else block


def _empty(run: CheckInput, total: FloatArray) -> BoolArray:
    """Return the zero-filled rows: shares all 0 and, where that is recorded, no claims."""
    zero = np.abs(total) <= TOLERANCE
    return zero if run.has_claims is None else zero & ~run.has_claims


def _claim_shares(run: CheckInput) -> list[Finding]:
    findings = []
    for source, values in columns(run):
        block = _stack(values, _THIRDS)
        if block is None:
            continue
        total = block.sum(axis=1)
        off = np.abs(total - 1) > TOLERANCE
        off &= np.isfinite(total)
        if off.any():
            findings.append(_shares_finding(source, total, off, off & _empty(run, total)))
    return findings


def _shares_finding(source: str, total: FloatArray, off: BoolArray, empty: BoolArray) -> Finding:
    n, mean = int(np.isfinite(total).sum()), float(np.nanmean(total))
    unexplained = off & ~empty
    n_empty, n_unexplained = int(empty.sum()), int(unexplained.sum())
    severity: Severity = "error" if n_unexplained else "note"
    if n_unexplained:
        others = f" ({n_empty} more are empty answers scored 0)" if n_empty else ""
        why = (
            f"{n_unexplained} of {n} samples are off without being empty answers{others}: the three were not "
            "computed from the same claims."
        )
    else:
        why = (
            f"The shortfall of {1 - mean:.3f} is the share of empty answers: {n_empty} of {n} have no claims "
            "or no documents and were scored 0 on all three. The other answers add up to 1."
        )
    return Finding(
        "claim_shares",
        severity,
        "Claim shares do not add up to 1",
        f"Faithfulness, self-knowledge and hallucination ({source}) add up to {mean:.3f} on average. {why}",
        (("mean sum", mean), ("empty answers", float(n_empty)), ("unexplained", float(n_unexplained))),
        int(off.sum()),
        rows_of(unexplained if n_unexplained else empty),
        _THIRDS,
    )


def _within_precision(run: CheckInput) -> list[Finding]:
    return _ordered(
        run,
        "self_knowledge_within_precision",
        [("self_knowledge", "answer_precision")],
        "Self-knowledge counts correct claims only, so it cannot exceed answer precision",
    )


def _precision_parts(run: CheckInput) -> list[Finding]:
    findings = []
    for source, values in columns(run):
        block = _stack(values, _PARTS)
        if block is None:
            continue
        total = block.sum(axis=1)
        # the rows whose shares need not add up: zero-filled ones and those without claims
        empty = _empty(run, total)
        without_shares = empty if run.has_claims is None else empty | ~run.has_claims
        short = (total < 1 - TOLERANCE) & ~without_shares
        over = (total > 1 + TOLERANCE) if run.convention == "ragchecker" else np.zeros(run.n, dtype=bool)
        off = short | over
        if off.any():
            findings.append(_parts_finding(source, total, off))
    return findings


def _parts_finding(source: str, total: FloatArray, off: BoolArray) -> Finding:
    worst = int(np.nanargmax(np.where(off, np.abs(total - 1), np.nan)))
    return Finding(
        "precision_parts",
        "error",
        "Precision, noise and hallucination do not add up to 1",
        "Every claim is correct, wrong from a relevant document, wrong from an irrelevant document, or made "
        f"up. On {int(off.sum())} samples the {source} shares do not add up to 1; the furthest sum is "
        f"{total[worst]:.3f}.",
        (("furthest sum", float(total[worst])),),
        int(off.sum()),
        rows_of(off),
        _PARTS,
    )


def _hallucination_parts(run: CheckInput) -> list[Finding]:
    findings = []
    for source, values in columns(run):
        block = _stack(values, _UNSUPPORTED)
        if block is None:
            continue
        gap = np.abs(block[:, 0] + block[:, 1] - block[:, 2])
        off: BoolArray = gap > TOLERANCE
        if off.any():
            findings.append(
                Finding(
                    "hallucination_parts",
                    "error",
                    "Intrinsic and extrinsic hallucination do not add up",
                    "An unsupported claim is contradicted by the context or not in it. On "
                    f"{int(off.sum())} samples the two shares ({source}) do not add up to ungrounded, by up "
                    f"to {float(np.nanmax(gap)):.3f}.",
                    (("largest difference", float(np.nanmax(gap))),),
                    int(off.sum()),
                    rows_of(off),
                    _UNSUPPORTED,
                )
            )
    return findings


def _f1_of_means(run: CheckInput) -> list[Finding]:
    findings = []
    for source, values in columns(run):
        block = _stack(values, ("answer_precision", "answer_recall", "answer_f1"))
        if block is None:
            continue
        precision, recall, f1 = (float(mean) for mean in block[np.isfinite(block).all(axis=1)].mean(axis=0))
        # the harmonic mean is concave, so by Jensen's inequality its mean lies at or below that of the means
        best = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
        if f1 > best + TOLERANCE:
            message = (
                f"The mean F1 ({source}) is {f1:.3f}, above {best:.3f}, the F1 of mean precision "
                f"{precision:.3f} and mean recall {recall:.3f}. The mean of F1 values cannot be higher."
            )
            evidence = (("mean F1", f1), ("F1 of the means", best))
            findings.append(
                Finding(
                    "f1_of_means",
                    "error",
                    "Mean F1 too high",
                    message,
                    evidence,
                    run.n,
                    metrics=("answer_precision", "answer_recall", "answer_f1"),
                )
            )
    return findings


def _growing(run: CheckInput) -> list[Finding]:
    pairs = []
    for family in _GROWING:
        named = [*run.computed, *run.imported]
        cuts = sorted({int(name.partition("@")[2]) for name in named if _is_at_k(name, family)})
        pairs += [(f"{family}@{low}", f"{family}@{high}") for low, high in pairwise(cuts)]
    return _ordered(
        run, "recall_not_falling", pairs, "More documents can only find more, so it cannot fall as k grows"
    )


def _is_at_k(name: str, family: str) -> bool:
    base, _, k = name.partition("@")
    return base == family and whole_number(k) is not None


def _mrr_within_hit(run: CheckInput) -> list[Finding]:
    names = {name for _, values in columns(run) for name in values if name.startswith("mrr@")}
    pairs = [(name, name.replace("mrr", "hit")) for name in sorted(names)]
    return _ordered(
        run,
        "mrr_within_hit",
        pairs,
        "A reciprocal rank above 0 needs a hit, so MRR cannot exceed the hit rate",
    )


def _ordered(run: CheckInput, rule: str, pairs: list[tuple[str, str]], why: str) -> list[Finding]:
    """Report where the first metric of a pair exceeds the second on any sample."""
    findings = []
    for source, values in columns(run):
        for small, large in pairs:
            block = _stack(values, (small, large))
            if block is None:
                continue
            off: BoolArray = block[:, 0] > block[:, 1] + TOLERANCE
            if off.any():
                findings.append(
                    _order_finding(rule, source, (small, large), block[:, 0] - block[:, 1], off, why)
                )
    return findings


def _order_finding(
    rule: str, source: str, pair: tuple[str, str], gap: FloatArray, off: BoolArray, why: str
) -> Finding:
    n, excess = int(off.sum()), float(np.nanmax(gap))
    return Finding(
        rule,
        "error",
        f"{pair[0]} above {pair[1]}",
        f"{pair[0]} exceeds {pair[1]} ({source}) on {n} samples, by up to {excess:.3f}. {why}.",
        (("largest excess", excess),),
        n,
        rows_of(off),
        pair,
    )


IDENTITY_RULES = (
    Rule(
        "claim_shares",
        "Claim shares add up to 1",
        "faithfulness + self_knowledge + hallucination differs from 1 on a sample that has claims",
        _claim_shares,
    ),
    Rule(
        "self_knowledge_within_precision",
        "Self-knowledge within precision",
        "self_knowledge exceeds answer_precision on a sample",
        _within_precision,
    ),
    Rule(
        "precision_parts",
        "Precision, noise and hallucination add up to 1",
        "answer_precision + both noise sensitivities + hallucination falls short of 1 or, where the noises "
        "are exclusive, exceeds it",
        _precision_parts,
    ),
    Rule(
        "hallucination_parts",
        "Intrinsic and extrinsic hallucination add up to ungrounded",
        "intrinsic_hallucination + extrinsic_hallucination differs from ungrounded on a sample",
        _hallucination_parts,
    ),
    Rule("f1_of_means", "F1 of the means", "mean answer_f1 exceeds the F1 of the means", _f1_of_means),
    Rule(
        "recall_not_falling", "Recall grows with k", "a metric that grows with k falls on a sample", _growing
    ),
    Rule("mrr_within_hit", "MRR within hit rate", "mrr@k exceeds hit@k on a sample", _mrr_within_hit),
)
