"""Sentences about a diagnosis, the same on the pages and on the command line."""

from __future__ import annotations

from collections.abc import Sequence

from data.diagnosis.context import not_the_context
from data.diagnosis.diagnosis import Diagnosis
from data.diagnosis.partial_gold import part_title
from metrics.diagnosis.fix_first import UNEXPLAINED, FixFirst
from metrics.diagnosis.stages import STAGES
from metrics.metric_registry import title_of
from metrics.sanity.columns import disputes
from metrics.sanity.rule import Finding

__all__ = [
    "NOTHING_MEASURED",
    "context_metric_text",
    "gold_part_text",
    "inference_caveat",
    "no_bad_case",
    "ownership",
    "rate_title",
    "stage_inferred",
    "unused_context_metrics",
]

NOTHING_MEASURED = (
    "Nothing was measured that could make a case bad: no context metric, faithfulness, answer relevancy, "
    "correctness or check, and no human label."
)


def context_metric_text(diagnosis: Diagnosis) -> str:
    """Return which metric says for how many cases whether the context holds what is needed."""
    counts = diagnosis.context.counts
    if not diagnosis.context.prevailing:
        return "none measured"
    if len(counts) == 1:
        return title_of(next(iter(counts)))
    return ", ".join(f"{title_of(name)} ({n:,} cases)" for name, n in counts.items() if n)


def unused_context_metrics(diagnosis: Diagnosis) -> list[str]:
    """Return a sentence for each imported column that may or may not be of the context, and is not used."""
    return [
        f"The imported {name} does not stand for the context: {reason}. If it is of the retrieved "
        "documents, choose it as the context metric."
        for name, reason in not_the_context(diagnosis.scored).items()
        if name not in diagnosis.context.metrics
    ]


def gold_part_text(diagnosis: Diagnosis) -> str:
    """Return what the contexts with only part of the gold lack, with the number of cases of each."""
    return ", ".join(f"{part_title(part)} {n:,}" for part, n in diagnosis.gold_parts.items())


def rate_title(diagnosis: Diagnosis) -> str:
    """Return the title of the pass rate, with the metric it is based on where there is only one."""
    names = diagnosis.coverage.names
    return f"Pass rate, {title_of(names[0])} alone" if len(names) == 1 else "Pass rate"


def no_bad_case(diagnosis: Diagnosis) -> str:
    """Return the sentence that there is no bad case, or that nothing was measured."""
    if not diagnosis.measured.any():
        return NOTHING_MEASURED
    measured = int(diagnosis.measured.sum())
    among = "" if measured == diagnosis.scored.n else f" among the {measured:,} measured ones"
    clause = diagnosis.coverage.clause()
    return f"No bad case{among}{f' ({clause})' if clause else ''}."


def ownership(entry: FixFirst, bad: int) -> str:
    """Return how many bad cases are attributed to a stage; the stage's title precedes the text."""
    if entry.key == UNEXPLAINED:
        return f"{entry.n_bad:,} of {bad:,} bad cases cannot be explained by what is recorded"
    return f"accounts for {entry.n_bad:,} of {bad:,} bad cases"


def stage_inferred(diagnosis: Diagnosis, key: str) -> str:
    """Return how many cases of a stage were inferred from the context metric; "" where none was."""
    mine = diagnosis.stages.stage == next(at for at, stage in enumerate(STAGES) if stage.key == key)
    inferred, n = int(diagnosis.stages.inferred[mine].sum()), int(mine.sum())
    if not inferred:
        return ""
    return "inferred" if inferred == n else f"{inferred:,} of them inferred"


def inference_caveat(diagnosis: Diagnosis, entry: FixFirst, findings: Sequence[Finding]) -> str:
    """Return what an entry is based on without gold, and which sanity checks doubt it; "" with gold."""
    if not entry.n_inferred or diagnosis.context_metric is None:
        return ""
    column = diagnosis.scored.column(diagnosis.context_metric)
    how = "+".join(column.sources) if column else "given"
    which = "Its cases" if entry.n_inferred == entry.n_bad else f"{entry.n_inferred:,} of its cases"
    metric = f"{title_of(diagnosis.context_metric)} ({how})"
    caveat = f"{which} are inferred: no gold is recorded, and {metric} stands in for it."
    doubts = disputes(findings, diagnosis.context_metric)
    if not doubts:
        return caveat
    titles = "; ".join(finding.title for finding in doubts)
    return f"{caveat} The sanity checks doubt it ({titles}): read some of these cases before acting on this."
