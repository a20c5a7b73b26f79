"""The run that another is compared with at the gate, and what makes the two unequal."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ragtriage.data.comparison.compare import unequal_runs
from ragtriage.data.comparison.question_match import match_questions
from ragtriage.data.diagnosis.diagnosis import Diagnosis
from ragtriage.data.errors import DataError
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.store.workspace import Run

NAMED_NOTE = "named for this comparison"
NAMED = 3  # question ids that a warning names


@dataclass(frozen=True)
class Baseline:
    """The run that another is compared with."""

    run: Run | None  # the baseline; None where there is none
    note: str  # how it was found, or why there is none
    itself: bool = False  # whether the run is the baseline, which is compared with nothing


def baseline_of(store: RunStore, run: Run, wanted: str = "") -> Baseline:
    """Find the baseline of a run: the one that is named, else the project's, else none; never the run itself.

    Raises:
        DataError: the one that is named is not there, or has summary scores only.
    """
    if wanted:
        baseline = store.find(wanted)
        if baseline.run_id == run.run_id:
            return Baseline(None, "the named baseline is this run itself", True)
        if baseline.means:
            raise DataError(
                f"baseline {wanted!r}: {baseline.name} ({baseline.run_id}) has summary scores only; "
                "accepted: a run with samples"
            )
        return Baseline(baseline, NAMED_NOTE)
    baseline_id = store.ledger.baselines().get(run.project, "")
    if not baseline_id:
        return Baseline(None, f"project {run.project} has no baseline, and none was named")
    if baseline_id == run.run_id:
        return Baseline(None, f"this run is the baseline of project {run.project}", True)
    project_baseline = next((other for other in store.runs(run.project) if other.run_id == baseline_id), None)
    if project_baseline is None:
        return Baseline(
            None, f"the baseline of project {run.project}, {baseline_id}, is no longer in the workspace"
        )
    if project_baseline.means:
        return Baseline(
            None, f"the baseline of project {run.project}, {baseline_id}, has summary scores only"
        )
    return Baseline(project_baseline, f"the baseline of project {run.project}")


def known_baseline(store: RunStore, run: Run, base: Run | None) -> Baseline:
    """Return a baseline that was chosen before, with how it relates to the project's; None was chosen too."""
    of_project = baseline_of(store, run)
    if base is None or base.run_id == run.run_id:
        note = of_project.note if of_project.itself else "none was chosen"
        return Baseline(None, note, of_project.itself or base is not None)
    return of_project if of_project.run == base else Baseline(base, NAMED_NOTE)


def unequal_sides(base: Diagnosis, run: Diagnosis) -> list[str]:
    """List what makes a run and its baseline unequal; empty where nothing does."""
    left, right = base.scored, run.scored
    shared = match_questions(left, right)
    warnings = unequal_runs(left, right, shared)
    if shared.sampled:
        return warnings
    warnings += _only(left, shared.base, "of the baseline", "missing from this run")
    warnings += _only(right, shared.other, "of this run", "not in the baseline")
    if not len(shared.base):
        warnings.append("The runs share no question: nothing can be compared.")
    n_other_text = int((_texts(left)[shared.base] != _texts(right)[shared.other]).sum())
    if n_other_text:
        are = "question has" if n_other_text == 1 else "questions have"
        warnings.append(f"{n_other_text:,} shared {are} another text in the baseline under the same id.")
    return warnings


def _only(scored: ScoredRun, shared: Sequence[int] | NDArray[np.int64], whose: str, what: str) -> list[str]:
    """Return a sentence on the questions that only one side has."""
    alone = np.delete(scored.question_ids, shared)
    if not len(alone):
        return []
    named = ", ".join(str(question_id)[:60] for question_id in alone[:NAMED])
    more = f" and {len(alone) - NAMED:,} more" if len(alone) > NAMED else ""
    noun = "question" if len(alone) == 1 else "questions"
    return [f"{len(alone):,} {noun} {whose} {'is' if len(alone) == 1 else 'are'} {what}: {named}{more}."]


def _texts(scored: ScoredRun) -> NDArray[np.object_]:
    """(q,) text of each question, taken from its first sample."""
    texts = pq.read_table(scored.samples_path, columns=["question"])["question"].to_numpy()
    first = np.unique(scored.question, return_index=True)[1]
    return np.asarray(texts[first], dtype=object)
