"""Sanity checks on metric columns, on columns against each other, and on their provenance."""

import re
from collections.abc import Mapping

import numpy as np

from ragtriage.metrics.number_text import percent
from ragtriage.metrics.sanity.rule import CheckInput, Finding, Rule, Severity, columns, rows_of
from ragtriage.metrics.schema.scores import BoolArray, FloatArray

DIFFERENCE = 0.005  # imported and recomputed values further apart than rounding to two decimals explains
FEW_ZEROS = 5  # fewer zeros than this may well be real
FEW_EQUAL = 20  # fewer equal values than this may well be real
LEAST_USED = 0.01  # share of a declared scale that its values reach over
LEAST_MIXED = 0.05  # share of the values on either of two scales
FAR_ABOVE = 0.25  # of the scale: from here on a value is no share
WIDE = 50.0  # upper end of a scale on which values below 1 are rare
ROUNDING = 1e-6
_GROUNDED, _UNGROUNDED, _OFTEN = 0.8, 0.5, 0.25  # faithfulness, hallucination, and how often both are so high
_RECALLED = 0.5  # a context recall at or above this means that something relevant was retrieved
_DISAGREEING = ("context_precision", "context_relevance")


def zero_columns(run: CheckInput) -> dict[str, str]:
    """Return the imported metrics that are 0 throughout, each with another one that is not.

    Only imported columns that nothing computed here confirms: a 0 that was computed here is a 0.
    """
    zero = {}
    for name, column in run.imported.items():
        scored = np.isfinite(column)
        if np.isfinite(run.computed.get(name, np.full(run.n, np.nan))).any():
            continue
        if scored.sum() < FEW_ZEROS or column[scored].any() or name.partition("@")[0] in run.zero_is_fine:
            continue
        other = next((other for other, values in run.imported.items() if np.any(values[scored] > 0)), None)
        if other is not None:
            zero[name] = other
    return zero


def _zero_columns(run: CheckInput) -> list[Finding]:
    findings = []
    for name, other in zero_columns(run).items():
        scored = np.isfinite(run.imported[name])
        findings.append(_zero_finding(name, scored, other, run.imported[other][scored]))
    return findings


def _zero_finding(name: str, scored: BoolArray, other: str, other_values: FloatArray) -> Finding:
    n, mean = int(scored.sum()), float(np.nanmean(other_values))
    return Finding(
        "zero_column",
        "warning",
        f"{name.replace('_', ' ')} is 0 in every case",
        f"Every one of the {n} imported values of {name} is 0.00, while {other} has a mean of {mean:.2f} on "
        "the same samples. The values were probably not computed and written as 0; do not treat them as "
        "measurements until somebody confirms them.",
        (("values", float(n)), (f"mean {other}", mean)),
        n,
        rows_of(scored),
        (name,),
    )


def _constant_columns(run: CheckInput) -> list[Finding]:
    """Report imported columns whose values are all the same, though not 0: no judge gives such a result."""
    findings = []
    for name, column in run.imported.items():
        values = column[np.isfinite(column)]
        recomputed = np.isfinite(run.computed.get(name, np.full(run.n, np.nan))).any()
        if recomputed or len(values) < FEW_EQUAL or values[0] == 0 or (values != values[0]).any():
            continue
        n, value = len(values), f"{values[0]:.4g}"
        findings.append(
            Finding(
                "constant_column",
                "warning",
                f"{name.replace('_', ' ')} is {value} in every case",
                f"All {n} imported values of {name} are {value}. A score that never varies cannot tell a "
                "good answer from a bad one: read a few cases, and see whether the tool really judged them.",
                (("values", float(n)), ("value", float(values[0]))),
                n,
                rows_of(np.isfinite(column)),
                (name,),
            )
        )
    return findings


def _unused_scales(run: CheckInput) -> list[Finding]:
    """Report declared scales that are so wide that every value lies at one point of them."""
    findings = []
    for name, ends in run.scales.items():
        column = run.imported.get(name, np.zeros(0))
        values = column[np.isfinite(column)]
        low, high = run.bounds.get(name, (0.0, 1.0))
        if len(values) < FEW_ZEROS or np.isin(values, (low, high)).all():
            continue
        reach = float(values.max() - values.min()) / (high - low if np.isfinite(high - low) else 1.0)
        if reach >= LEAST_USED:
            continue
        scale = f"{ends[0]:g} to {ends[1]:g}".replace("-", "−")
        message = (
            f"The {len(values)} values of {name} reach over {percent(reach, 2)} of its declared scale, "
            f"{scale}, so nearly any value would pass or fail. Import the file again with the scale "
            "that the tool uses."
        )
        evidence = (("share of the scale", reach),)
        title = f"{name} uses less than a hundredth of its declared scale"
        rows = rows_of(np.isfinite(column))
        findings.append(
            Finding("unused_scale", "warning", title, message, evidence, len(values), rows, (name,))
        )
    return findings


def _mixed_scales(run: CheckInput) -> list[Finding]:
    """Report columns with a declared scale in which shares from 0 to 1 stand among values far above.

    Only where the scale starts at 1 or runs to 50 and more, and few values lie between: a score that is low
    on most samples has values there too.
    """
    findings = []
    for name, (low, high) in run.scales.items():
        least, greatest = run.bounds.get(name, (0.0, 1.0))
        values = run.imported.get(name, np.zeros(0))
        if np.isfinite(greatest - least):
            values = low + (values - least) / (greatest - least) * (high - low)
        values = run.off_scale.get(name, values)
        shares = (values >= 0) & (values < 1) & (np.abs(values - np.round(values)) > ROUNDING)
        far = low + FAR_ABOVE * (high - low)
        n, above, between = (
            int(mask.sum()) for mask in (shares, values >= far, (values > 1) & (values < far))
        )
        known = int(np.isfinite(values).sum())
        if (low < 1 and high < WIDE) or min(n, above) < max(FEW_ZEROS, LEAST_MIXED * known) or between >= n:
            continue
        title = f"{name} mixes two scales"
        message = (
            f"{n} of {known} values of {name} are fractions of 1, and {above} are {far:g} or more, "
            f"though its scale is declared as {low:g} to {high:g}. The fractions were probably written as "
            "shares. Put the column on one scale and import the file again."
        )
        evidence = (("shares", float(n)), ("values far above", float(above)))
        findings.append(
            Finding("mixed_scales", "warning", title, message, evidence, n, rows_of(shares), (name,))
        )
    return findings


def _empty_columns(run: CheckInput) -> list[Finding]:
    """Report imported columns without a value in one finding, since ten similar notes would hide the others.

    What is computed here lacks a value where it does not apply, or is listed with what it would need.
    """
    empty = [
        name
        for name, column in run.imported.items()
        if run.n and name not in run.off_scale and not np.isfinite(column).any()
    ]
    return [_empty_finding("imported", empty, run.n)] if empty else []


def _empty_finding(source: str, empty: list[str], n: int) -> Finding:
    names = list(dict.fromkeys(re.sub(r"@\d+$", "@k", name) for name in empty))
    listed = ", ".join(names)
    single = len(names) == 1
    title = f"{listed} was not measured" if single else f"{len(names)} {source} metrics were not measured"
    message = (
        f"No value on any of {n} samples in the {source} column{'' if single else 's'} {listed}: not "
        "measured and not used."
    )
    evidence = (("columns", float(len(names))),)
    return Finding("empty_column", "note", title, message, evidence, n, metrics=tuple(empty))


def _scale(run: CheckInput) -> list[Finding]:
    findings = []
    for source, values in (*columns(run), ("imported", run.off_scale)):
        for name, column in values.items():
            low, high = run.bounds.get(name, run.bounds.get(name.partition("@")[0], (0.0, 1.0)))
            off: BoolArray = (column > high + 1e-6) | (column < low - 1e-6)
            if off.any():
                none_scored = name in run.off_scale and not np.isfinite(run.imported.get(name, column)).any()
                findings.append(_scale_finding(source, name, column, off, (low, high), none_scored))
    return findings


def _scale_finding(
    source: str, name: str, column: FloatArray, off: BoolArray, bounds: tuple[float, float], none_scored: bool
) -> Finding:
    least, most = float(np.nanmin(column)), float(np.nanmax(column))
    n = int(np.isfinite(column).sum())
    reach = f"min {least:.3f}, max {most:.3f}".replace("-", "−")
    limits = f"{bounds[0]:g} to {bounds[1]:g}".replace("-", "−")
    outside = f"{int(off.sum())} of {n} {source} values of {name} are outside {limits} ({reach})"
    if source != "imported":
        advice = ". Check what they were computed from."
    elif none_scored:
        usual = usual_scale(least, most)
        scale = "LEAST..GREATEST" if usual is None else f"{usual[0]:g}..{usual[1]:g}"
        advice = (
            f", so none of them is scored. Import the file again with `--scale {name}={scale}` if that is "
            "the scale of the tool."
        )
    else:
        advice = ", and these are not scored. Check what the tool that wrote them means by this name."
    slight = most <= bounds[1] + 0.05 and least >= bounds[0] - 0.05
    severity: Severity = "error" if none_scored else "note" if slight else "warning"
    return Finding(
        "scale",
        severity,
        f"{name} is outside its bounds",
        f"{outside}{advice}",
        (("least", least), ("greatest", most)),
        int(off.sum()),
        rows_of(off),
        (name,),
    )


USUAL_SCALES = ((1.0, 5.0), (0.0, 5.0), (0.0, 10.0), (0.0, 100.0))  # the narrowest first


def usual_scale(least: float, most: float) -> tuple[float, float] | None:
    """Return the usual scale on which values reach from `least` to `most`; None where none of them fits."""
    return next(((low, high) for low, high in USUAL_SCALES if low <= least and most <= high), None)


def _disagreements(run: CheckInput) -> list[Finding]:
    merged = {**run.imported, **run.computed}
    recall = merged.get("context_recall")
    findings = _grounded_and_not(merged)
    for name in _DISAGREEING:
        column = merged.get(name)
        if column is None or recall is None:
            continue
        off: BoolArray = (column == 0) & (recall >= _RECALLED)
        if off.any():
            mean = float(recall[off].mean())
            message = (
                f"On {int(off.sum())} of {run.n} samples {name} is 0, so nothing relevant was retrieved, "
                f"but context recall is {mean:.2f} on average, so what the answer needs was retrieved. "
                "One of the two is wrong; read a few cases before trusting either."
            )
            evidence = ((name, 0.0), ("mean context_recall there", mean))
            title = f"{name} and context_recall disagree"
            findings.append(
                Finding(
                    "disagreement",
                    "warning",
                    title,
                    message,
                    evidence,
                    int(off.sum()),
                    rows_of(off),
                    (name, "context_recall"),
                )
            )
    return findings


def _grounded_and_not(merged: Mapping[str, FloatArray]) -> list[Finding]:
    """Report answers that are faithful and hallucinated at once."""
    if not {"faithfulness", "hallucination"} <= merged.keys():
        return []
    faithful, invented = merged["faithfulness"], merged["hallucination"]
    both: BoolArray = (faithful >= _GROUNDED) & (invented >= _UNGROUNDED)
    n, known = int(both.sum()), int((np.isfinite(faithful) & np.isfinite(invented)).sum())
    if n < FEW_ZEROS or n < _OFTEN * known:
        return []
    message = (
        f"On {n} of {known} samples faithfulness is at least {_GROUNDED}, so documents support the answer, "
        f"and hallucination at least {_UNGROUNDED}, so they do not. One of the two is wrong, or 1 means "
        "something else in one of them; read a few cases before trusting either."
    )
    means = tuple(
        (f"mean {name}", float(merged[name][both].mean())) for name in ("faithfulness", "hallucination")
    )
    title = "faithfulness and hallucination disagree"
    names = ("faithfulness", "hallucination")
    return [Finding("disagreement", "warning", title, message, means, n, rows_of(both), names)]


def _recomputed(run: CheckInput) -> list[Finding]:
    findings = []
    for name in run.imported.keys() & run.computed.keys():
        imported, computed = run.imported[name], run.computed[name]
        gap = np.abs(imported - computed)
        off: BoolArray = gap > DIFFERENCE
        if off.any():
            n, both = int(off.sum()), np.isfinite(gap)
            means = float(imported[both].mean()), float(computed[both].mean())
            message = (
                f"{name} as imported differs from its recomputed value on {n} of {int(both.sum())} samples, "
                f"by up to {np.nanmax(gap):.3f} (means {means[0]:.4f} and {means[1]:.4f}). The tool that "
                f"wrote it uses a definition other than the {run.convention} convention, or other data."
            )
            evidence = (
                ("mean imported", means[0]),
                ("mean recomputed", means[1]),
                ("max", float(np.nanmax(gap))),
            )
            title = f"{name}: imported differs from recomputed"
            rows = rows_of(off)
            findings.append(Finding("recomputed", "warning", title, message, evidence, n, rows, (name,)))
    return sorted(findings, key=lambda finding: finding.title)


def _recomputed_means(run: CheckInput) -> list[Finding]:
    findings = []
    for name, reported in run.imported_means.items():
        column = run.computed.get(name)
        if column is None or not np.isfinite(column).any():
            continue
        mean = float(np.nanmean(column))
        if abs(mean - reported) > DIFFERENCE:
            message = (
                f"The file reports a mean {name} of {reported:.4f}; recomputed from its samples it is "
                f"{mean:.4f}. The file normalises differently, or averages over other samples."
            )
            evidence = (("stated", reported), ("recomputed", mean))
            title = f"{name}: reported mean differs from recomputed"
            findings.append(
                Finding("recomputed_means", "warning", title, message, evidence, run.n, metrics=(name,))
            )
    return findings


def _one_test_set(run: CheckInput) -> list[Finding]:
    name = run.retrieval_test_set
    if not name or name != run.generation_test_set:
        return []
    message = (
        f"Retrieval and generation numbers both come from {name}. If the retriever was tuned on these "
        "questions, the generator looks better than it would on others; keep a separate set for one of them."
    )
    return [
        Finding("one_test_set", "note", "One test set for both stages", message, (("test set", name),), run.n)
    ]


def _synthetic(run: CheckInput) -> list[Finding]:
    if run.synthetic_share is None or run.synthetic_share < 1:
        return []
    message = (
        "All questions were generated from the corpus. They repeat its wording, so retrieval looks "
        "easier than it is for real questions; add real questions."
    )
    return [Finding("synthetic_only", "warning", "Synthetic questions only", message, (), run.n)]


def _stale(run: CheckInput) -> list[Finding]:
    created, changed = run.dataset_date, run.corpus_date
    if created is None or changed is None or created >= changed:
        return []
    message = (
        f"The questions date from {created.isoformat()}, the corpus changed on {changed.isoformat()}: gold "
        "documents and reference answers may no longer match it."
    )
    evidence = (("dataset", created.isoformat()), ("corpus", changed.isoformat()))
    return [Finding("stale_dataset", "warning", "Dataset older than its corpus", message, evidence, run.n)]


COLUMN_RULES = (
    Rule(
        "zero_column",
        "Whole columns of 0",
        f"all of at least {FEW_ZEROS} imported values of a metric that is not computed here are 0, while "
        "another metric is not",
        _zero_columns,
    ),
    Rule(
        "constant_column",
        "Columns that never vary",
        f"at least {FEW_EQUAL} imported values of a metric that is not computed here are the same, but not 0",
        _constant_columns,
    ),
    Rule(
        "unused_scale",
        "Declared scale",
        f"at least {FEW_ZEROS} values of a metric reach over less than a hundredth of its declared scale",
        _unused_scales,
    ),
    Rule(
        "mixed_scales",
        "Two scales in one column",
        f"of a metric whose declared scale starts at 1 or runs to {WIDE:g} and more, at least "
        f"{percent(LEAST_MIXED)} of the values are fractions of 1, as many lie in its upper three quarters, "
        "and fewer than those fractions between 1 and there",
        _mixed_scales,
    ),
    Rule("empty_column", "Not measured", "an imported column has no value on any sample", _empty_columns),
    Rule("scale", "Scale", "a value is outside the bounds of its metric", _scale),
    Rule(
        "disagreement",
        "Metrics that disagree on a sample",
        f"context_precision or context_relevance is 0 with a context_recall of {_RECALLED} or more; or a "
        f"quarter of the samples have a faithfulness of {_GROUNDED} and a hallucination of {_UNGROUNDED} or "
        "more",
        _disagreements,
    ),
    Rule(
        "recomputed",
        "Imported against recomputed",
        f"an imported value differs from the recomputed one by more than {DIFFERENCE}",
        _recomputed,
    ),
    Rule(
        "recomputed_means",
        "Reported means against recomputed",
        f"a mean reported in a file differs from the recomputed one by more than {DIFFERENCE}",
        _recomputed_means,
    ),
    Rule(
        "one_test_set",
        "One test set for both stages",
        "retrieval and generation numbers come from the same named test set",
        _one_test_set,
    ),
    Rule("synthetic_only", "Synthetic questions only", "every question was generated", _synthetic),
    Rule("stale_dataset", "Dataset older than its corpus", "the corpus changed after the questions", _stale),
)
