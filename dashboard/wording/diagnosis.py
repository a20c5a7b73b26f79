"""What a diagnosis says in sentences, the same on the pages and on the command line."""

from __future__ import annotations

from collections.abc import Sequence

from data.diagnosis.diagnosis import Diagnosis
from metrics.diagnosis.fix_first import UNEXPLAINED, FixFirst
from metrics.diagnosis.stages import STAGES
from metrics.metric_registry import title_of
from metrics.sanity.columns import disputes
from metrics.sanity.rule import Finding

__all__ = ["NOTHING_MEASURED", "inferred_words", "no_bad_case", "ownership", "rate_title", "stage_inferred"]

NOTHING_MEASURED = (
    "Nothing was measured that could make a case bad: no context signal, faithfulness, answer relevancy, "
    "correctness or check, and no verdict of a person."
)


def rate_title(diagnosis: Diagnosis) -> str:
    """Name the pass rate, with what it rests on where that is one thing alone."""
    names = diagnosis.coverage.names
    return f"Pass rate, {title_of(names[0])} alone" if len(names) == 1 else "Pass rate"


def no_bad_case(diagnosis: Diagnosis) -> str:
    """Say that there is no bad case, or that nothing could have told."""
    if not diagnosis.measured.any():
        return NOTHING_MEASURED
    unseen = int((~diagnosis.measured).sum())
    among = f" among the {int(diagnosis.measured.sum()):,} measured ones" if unseen else ""
    clause = diagnosis.coverage.clause()
    return f"No bad case{among}{f' ({clause})' if clause else ''}."


def ownership(entry: FixFirst, bad: int) -> str:
    """Say how many of the bad cases a stage owns; the subject of the sentence is its title."""
    if entry.key == UNEXPLAINED:
        return f"{entry.n_bad:,} of {bad:,} bad cases cannot be explained by what is recorded"
    return f"owns {entry.n_bad:,} of {bad:,} bad cases"


def stage_inferred(diagnosis: Diagnosis, key: str) -> str:
    """Say of a stage how many of its cases were told by the context signal; "" where none was."""
    mine = diagnosis.stages.stage == next(at for at, stage in enumerate(STAGES) if stage.key == key)
    guessed, n = int(diagnosis.stages.inferred[mine].sum()), int(mine.sum())
    if not guessed:
        return ""
    return "inferred" if guessed == n else f"{guessed:,} of them inferred"


def inferred_words(diagnosis: Diagnosis, entry: FixFirst, findings: Sequence[Finding]) -> str:
    """Say what a priority rests on where no gold is recorded, and who disagrees with it; "" otherwise."""
    if not entry.n_inferred or diagnosis.context_metric is None:
        return ""
    column = diagnosis.scored.column(diagnosis.context_metric)
    how = "+".join(column.sources) if column else "none"
    which = "Its cases" if entry.n_inferred == entry.n_bad else f"{entry.n_inferred:,} of its cases"
    signal = f"{title_of(diagnosis.context_metric)} ({how})"
    said = f"{which} are inferred: no gold is recorded, and {signal} stands in for it."
    doubts = disputes(findings, diagnosis.context_metric)
    if not doubts:
        return said
    titles = "; ".join(one.title for one in doubts)
    return f"{said} The checks doubt it ({titles}): read some of these cases before acting on this."
