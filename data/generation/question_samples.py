"""A question set as the samples of a run, so that answers can be generated for it without a run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.question_sets import QuestionSet, questions_path
from ragtriage.data.store.workspace import Run, Workspace


@dataclass(frozen=True)
class AskedQuestions:
    """The questions that answers are generated for.

    Attributes:
        run: the run that has them, or the facts of a question set in the form of one.
        store: where a job finds the samples of `run`.
        questions: file of the questions of a set; None for a run, which has its samples.
    """

    run: Run
    store: RunStore
    questions: Path | None = None

    @property
    def samples(self) -> Path:
        """File of the samples, of a run or a set."""
        return self.store.workspace.samples_path(self.run.run_id)


class _QuestionWorkspace(Workspace):
    """A workspace in which a job finds the questions of a set where it looks for the samples of a run."""

    def samples_path(self, run_id: str) -> Path:
        """Return the path of the questions of a set."""
        return questions_path(self, run_id)


def questions_of_set(store: RunStore, facts: QuestionSet, project: str) -> AskedQuestions:
    """Return the questions of a set that the workspace keeps; their answers will be a run of `project`."""
    run = Run(
        run_id=facts.set_id,
        name=facts.name,
        project=project,
        n=facts.n,
        n_questions=facts.n,
        created_at=facts.created_at,
        imported_at=facts.created_at,
        origin=facts.origin,
        config={},
        dataset=facts.name,
        dataset_version=facts.dataset_version,
        corpus_version=facts.corpus_version,
        content_hash=facts.content_hash,
        notes=facts.notes,
        fields=(),
    )
    questions = questions_path(store.workspace, facts.set_id)
    return AskedQuestions(run, RunStore(_QuestionWorkspace(store.workspace.root)), questions)
