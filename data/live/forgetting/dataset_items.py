"""Questions of a user that were put into datasets: in drafts, and in the versions made of them."""

from __future__ import annotations

import orjson

from ragtriage.data.datasets.dataset import datasets
from ragtriage.data.errors import ValidationErrors
from ragtriage.data.live.forgetting.personal_data import Person
from ragtriage.data.store.ledger import Ledger
from ragtriage.data.store.parsed_run import ParsedRun
from ragtriage.data.store.question_sets import (
    QuestionSet,
    corpus_path,
    delete_set,
    keep_set,
    load_set,
    parsed_set,
    question_sets,
)
from ragtriage.data.store.workspace import Workspace


def forget_in_datasets(workspace: Workspace, person: Person, *, dry: bool) -> dict[str, int]:
    """Remove a user's questions from datasets and question sets; return how many there are by folder."""
    found = {
        f"datasets/{dataset.dataset_id}": dataset.without(person.items, dry=dry)
        for dataset in datasets(workspace)
    }
    for facts in question_sets(workspace):
        found[f"questions/{facts.set_id}"] = _forget_in_set(workspace, facts, person, dry=dry)
    return found


def _forget_in_set(workspace: Workspace, facts: QuestionSet, person: Person, *, dry: bool) -> int:
    """Keep a question set anew without a user's questions, for the versions that it is."""
    questions = load_set(workspace, facts.set_id).questions
    left = [question for question in questions if question["question_id"] not in person.items]
    if dry or len(left) == len(questions):
        return len(questions) - len(left)
    new = None
    if left:
        corpus = corpus_path(workspace, facts.set_id)
        lines = [] if corpus is None else corpus.read_bytes().splitlines()
        parsed = ParsedRun(
            facts.name,
            list(enumerate(left, start=1)),
            facts.origin["file"],
            facts.origin["format"],
            dataset_version=facts.dataset_version,
            corpus_version=facts.corpus_version,
            documents=[orjson.loads(line) for line in lines],
            notes=facts.notes,
        )
        new, _ = keep_set(workspace, parsed_set(parsed, ValidationErrors(facts.name)))
    with Ledger(workspace.ledger_path).open() as connection:
        if new is None:
            connection.execute("DELETE FROM dataset_versions WHERE set_id = ?", (facts.set_id,))
        else:
            connection.execute(
                "UPDATE dataset_versions SET set_id = ? WHERE set_id = ?", (new.set_id, facts.set_id)
            )
    delete_set(workspace, facts.set_id)
    return len(questions) - len(left)
