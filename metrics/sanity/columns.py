"""Checks on whole columns of numbers, on columns against each other, and on where they come from."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from metrics.sanity.rule import CheckInput, Finding, Rule, Severity, columns, first_rows
from metrics.schema.scores import BoolArray, FloatArray

__all__ = ["COLUMN_RULES", "DIFFERENCE", "FEW_ZEROS", "disputes"]

DIFFERENCE = 0.005  # imported and recomputed values further apart than rounding to two decimals explains
FEW_ZEROS = 5  # fewer zeros than this can well be true
_RECALLED = 0.5  # a context recall at or above this means that something relevant was retrieved
_DISAGREEING = ("context_precision", "context_relevance")


def _zero_columns(given: CheckInput) -> list[Finding]:
    """Look at imported columns alone: a 0 that was computed here is a 0."""
    found = []
    values = given.imported
    for name, column in values.items():
        known = np.isfinite(column)
        if known.sum() < FEW_ZEROS or column[known].any():
            continue
        if name.partition("@")[0] in given.zero_is_fine:
            continue
        lively = [other for other, them in values.items() if np.any(them[known] > 0)]
        if lively:
            found.append(_zero_finding(name, known, lively[0], values[lively[0]][known]))
    return found


def _zero_finding(name: str, known: BoolArray, other: str, beside: FloatArray) -> Finding:
    n, mean = int(known.sum()), float(np.nanmean(beside))
    return Finding(
        "zero_column",
        "warning",
        f"{name} is 0 throughout",
        f"Every one of the {n} imported values of {name} is 0.00, while {other} has a mean of {mean:.2f} on "
        "the same samples. That looks like a value that was not computed and was written as 0; it is not a "
        "measurement until somebody confirms it.",
        (("values", float(n)), (f"mean {other}", mean)),
        n,
        first_rows(known),
    )


def _empty_columns(given: CheckInput) -> list[Finding]:
    """One finding a source, since ten like notes would drown the others."""
    found = []
    for source, values in columns(given):
        empty = [name for name, column in values.items() if given.n and not np.isfinite(column).any()]
        names = list(dict.fromkeys(re.sub(r"@\d+$", "@k", name) for name in empty))
        if names:
            found.append(_empty_finding(source, names, given.n))
    return found


def _empty_finding(source: str, names: list[str], n: int) -> Finding:
    listed = ", ".join(names)
    one = len(names) == 1
    title = f"{listed} was not measured" if one else f"{len(names)} {source} metrics were not measured"
    message = (
        f"No value on any of {n} samples in the {source} column{'' if one else 's'} {listed}: not measured, "
        "and nothing rests on it."
    )
    return Finding("empty_column", "note", title, message, (("columns", float(len(names))),), n)


def _scale(given: CheckInput) -> list[Finding]:
    found = []
    for source, values in columns(given):
        for name, column in values.items():
            low, high = given.bounds.get(name, given.bounds.get(name.partition("@")[0], (0.0, 1.0)))
            off: BoolArray = (column > high + 1e-6) | (column < low - 1e-6)
            if off.any():
                found.append(_scale_finding(source, name, column, off, (low, high)))
    return found


def _scale_finding(
    source: str, name: str, column: FloatArray, off: BoolArray, bounds: tuple[float, float]
) -> Finding:
    least, most = float(np.nanmin(column)), float(np.nanmax(column))
    n = int(np.isfinite(column).sum())
    outside = f"Of {n} {source} values of {name}, {int(off.sum())} outside {bounds[0]:g} to {bounds[1]:g}"
    percent = bounds == (0.0, 1.0) and 1.5 < most <= 100 and least >= 0
    advice = (
        "They look like percentages: divide by 100 before comparing them with anything."
        if percent
        else "Check what the tool that wrote them means by this name."
    )
    slight = most <= bounds[1] + 0.05 and least >= bounds[0] - 0.05
    severity: Severity = "note" if slight else "warning"
    return Finding(
        "scale",
        severity,
        f"{name} is outside its bounds",
        f"{outside} (least {least:.3f}, greatest {most:.3f}). {advice}",
        (("least", least), ("greatest", most)),
        int(off.sum()),
        first_rows(off),
    )


def _disagreements(given: CheckInput) -> list[Finding]:
    merged = {**given.imported, **given.computed}
    recall = merged.get("context_recall")
    found = []
    for name in _DISAGREEING:
        column = merged.get(name)
        if column is None or recall is None:
            continue
        off: BoolArray = (column == 0) & (recall >= _RECALLED)
        if off.any():
            mean = float(recall[off].mean())
            message = (
                f"On {int(off.sum())} of {given.n} samples {name} is 0, which says that nothing relevant was "
                f"retrieved, beside a context recall of {mean:.2f} on average, which says that what the "
                "answer needs was. One of the two is wrong; read a few cases before trusting either."
            )
            evidence = ((name, 0.0), ("mean context_recall there", mean))
            title = f"{name} and context_recall disagree"
            found.append(
                Finding("disagreement", "warning", title, message, evidence, int(off.sum()), first_rows(off))
            )
    return found


def disputes(findings: Sequence[Finding], metric: str) -> list[Finding]:
    """Pick the findings that another metric disagrees with this one, so that a reader trusts neither yet."""
    return [one for one in findings if one.rule == "disagreement" and metric in one.title.split()]


def _recomputed(given: CheckInput) -> list[Finding]:
    found = []
    for name in given.imported.keys() & given.computed.keys():
        imported, computed = given.imported[name], given.computed[name]
        gap = np.abs(imported - computed)
        off: BoolArray = gap > DIFFERENCE
        if off.any():
            n, both = int(off.sum()), np.isfinite(gap)
            means = float(imported[both].mean()), float(computed[both].mean())
            message = (
                f"{name} as imported differs from its recomputed value on {n} of {int(both.sum())} samples, "
                f"by up to {np.nanmax(gap):.3f} (means {means[0]:.4f} and {means[1]:.4f}). The tool that "
                f"wrote it uses another definition than the {given.convention} convention, or other data."
            )
            evidence = (
                ("mean imported", means[0]),
                ("mean recomputed", means[1]),
                ("max", float(np.nanmax(gap))),
            )
            title = f"{name}: imported differs from recomputed"
            found.append(Finding("recomputed", "warning", title, message, evidence, n, first_rows(off)))
    return sorted(found, key=lambda finding: finding.title)


def _recomputed_means(given: CheckInput) -> list[Finding]:
    found = []
    for name, stated in given.imported_means.items():
        column = given.computed.get(name)
        if column is None or not np.isfinite(column).any():
            continue
        mean = float(np.nanmean(column))
        if abs(mean - stated) > DIFFERENCE:
            message = (
                f"The file states a mean {name} of {stated:.4f}; recomputed from its samples it is "
                f"{mean:.4f}. The file normalises differently, or averages over other samples."
            )
            evidence = (("stated", stated), ("recomputed", mean))
            title = f"{name}: stated mean differs from recomputed"
            found.append(Finding("recomputed_means", "warning", title, message, evidence, given.n))
    return found


def _one_test_set(given: CheckInput) -> list[Finding]:
    name = given.retrieval_test_set
    if not name or name != given.generation_test_set:
        return []
    message = (
        f"Retrieval and generation numbers both come from {name}. A retriever tuned on these questions makes "
        "the generator look better than it is on others; keep a second set for one of the two."
    )
    return [
        Finding(
            "one_test_set", "note", "One test set for both stages", message, (("test set", name),), given.n
        )
    ]


def _synthetic(given: CheckInput) -> list[Finding]:
    if given.synthetic_share is None or given.synthetic_share < 1:
        return []
    message = (
        "All questions were generated from the corpus. They repeat its words, so retrieval looks easier than "
        "it is for questions that people ask; add some of those."
    )
    return [Finding("synthetic_only", "warning", "Synthetic questions only", message, (), given.n)]


def _stale(given: CheckInput) -> list[Finding]:
    made, changed = given.dataset_date, given.corpus_date
    if made is None or changed is None or made >= changed:
        return []
    message = (
        f"The questions date from {made.isoformat()}, the corpus changed on {changed.isoformat()}: gold "
        "documents and reference answers may no longer match it."
    )
    evidence = (("dataset", made.isoformat()), ("corpus", changed.isoformat()))
    return [Finding("stale_dataset", "warning", "Dataset older than its corpus", message, evidence, given.n)]


COLUMN_RULES = (
    Rule(
        "zero_column",
        "Whole columns of 0",
        f"all of at least {FEW_ZEROS} imported values of a metric are 0 beside another metric that is not",
        _zero_columns,
    ),
    Rule("empty_column", "Not measured", "a column has no value on any sample", _empty_columns),
    Rule("scale", "Scale", "a value lies outside the bounds of its metric", _scale),
    Rule(
        "disagreement",
        "Values that disagree on one sample",
        f"context_precision or context_relevance is 0 beside context_recall of {_RECALLED} or more",
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
        "Stated means against recomputed",
        f"a mean stated in a file differs from the recomputed one by more than {DIFFERENCE}",
        _recomputed_means,
    ),
    Rule(
        "one_test_set",
        "One test set for both stages",
        "retrieval and generation numbers rest on the same named test set",
        _one_test_set,
    ),
    Rule("synthetic_only", "Synthetic questions only", "every question was generated", _synthetic),
    Rule("stale_dataset", "Dataset older than its corpus", "the corpus changed after the questions", _stale),
)
