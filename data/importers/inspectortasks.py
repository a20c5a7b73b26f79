"""The tasks of an InspectorRAGet file: conversation, passages, labels and filters in the native form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from data.errors import Problems
from data.importers.cells import CellError, read_cell, turns
from data.importers.documents import document_of
from data.importers.metric_names import plain_name

__all__ = ["Tasks"]

READ = {"task_id", "task_type", "input", "contexts", "targets", "annotations"}
TURN_MARK = "<::>"
PASSAGES_TOTAL = "# Relevant Passages"
GOLD_NOTE = (
    "for {whole} of {total} tasks the passages labelled relevant are as many as the file says there are: "
    "they are taken as all the relevant ones"
)


@dataclass(frozen=True)
class Tasks:
    """The tasks by id, as far as a record takes from its task.

    Attributes:
        by_id: task id -> the fields that all results of the task share.
        passages: document id -> document of the file.
        notes: what was concluded about the passages.
    """

    by_id: Mapping[str, dict[str, Any]]
    passages: Mapping[str, Mapping[str, Any]]
    notes: tuple[str, ...]

    @classmethod
    def of(cls, document: Mapping[str, Any], problems: Problems) -> Tasks:
        """Read the tasks of a file."""
        listed = [item for item in document.get("documents") or [] if isinstance(item, dict)]
        passages = {str(item.get("document_id")): item for item in listed}
        tasks = [task for task in document["tasks"] if isinstance(task, dict)]
        if len(tasks) < len(document["tasks"]):
            problems.add(None, "tasks", "holds items that are no objects", "a list of objects")
        given, notes = _given_passages(tasks)
        found = cls({}, passages, notes)
        by_id = {
            str(task.get("task_id")): found.task(task, row, document.get("filters") or [], given, problems)
            for row, task in enumerate(tasks, start=1)
        }
        whole = sum(bool(task.get("relevant")) and "context_mode" not in task for task in by_id.values())
        if whole:
            notes = (*notes, GOLD_NOTE.format(whole=whole, total=len(by_id)))
        return cls(by_id, passages, notes)

    def task(
        self, task: Mapping[str, Any], row: int, filters: list[Any], given: bool, problems: Problems
    ) -> dict[str, Any]:
        """What the results of one task share."""
        name = str(task.get("task_id"))
        record: dict[str, Any] = {"question_id": name, **_conversation(task.get("input"))}
        if TURN_MARK in name:
            record["conversation_id"] = name.split(TURN_MARK)[0]
        if isinstance(task.get("contexts"), list):
            record["retrieved"] = self.documents(task["contexts"])
            _label_passages(record, task, row, problems)
        targets = _targets(task.get("targets"))
        if targets:
            record["reference_answer"] = targets[0]
        if len(targets) > 1:
            record["targets"] = targets
        _labels(record, task, filters)
        if given and record.get("retrieved"):
            record["context_mode"] = "oracle"
            if record.get("answerable") == "yes" and record["retrieved"][0].get("id"):
                record["relevant"] = [{"id": record["retrieved"][0]["id"]}]
        return record

    def documents(self, contexts: list[Any]) -> list[Any]:
        """The passages of a task in rank order, with text and title from the file's documents."""
        found = []
        for context in contexts:
            if not isinstance(context, dict):
                found.append(document_of(context))
                continue
            known = self.passages.get(str(context.get("document_id")), {})
            found.append(document_of({**known, **context}))
        return found


def _given_passages(tasks: Sequence[Mapping[str, Any]]) -> tuple[bool, tuple[str, ...]]:
    """Whether the passages come with the questions, one each, and not from a retriever.

    So they do where every task holds exactly one passage and says whether it is answerable from it, with
    answerable and unanswerable tasks alike: then the label speaks of the passage.
    """
    labels = [_answerable(task)[0] for task in tasks]
    single = all(isinstance(task.get("contexts"), list) and len(task["contexts"]) == 1 for task in tasks)
    if not tasks or not single or not {"yes", "no"} <= set(labels) or None in labels:
        return False, ()
    count = labels.count("yes")
    return True, (
        f"every task comes with one passage and says whether it is answerable: for the {count} answerable "
        "ones the passage is taken as the relevant one, and contexts are marked as given, not retrieved",
    )


def _conversation(value: object) -> dict[str, Any]:
    if isinstance(value, str):
        return {"question": value}
    found = turns(value)
    if not isinstance(found, list):
        return {"question": found}
    asked = [i for i, turn in enumerate(found) if isinstance(turn, dict) and turn["role"] in {"user", None}]
    last = asked[-1] if asked else len(found) - 1
    if last < 0:
        return {}
    record: dict[str, Any] = {
        "question": found[last]["text"] if isinstance(found[last], dict) else found[last]
    }
    if last:
        record["history"] = found[:last]
    if found[last + 1 :]:
        record["turns_after"] = found[last + 1 :]
    return record


def _targets(value: object) -> list[str]:
    items = value if isinstance(value, list) else [value]
    texts = [item.get("value", item.get("text")) if isinstance(item, dict) else item for item in items]
    return [text for text in texts if isinstance(text, str) and text.strip()]


def _label_passages(record: dict[str, Any], task: Mapping[str, Any], row: int, problems: Problems) -> None:
    """Read context_relevance, a list of the 0-based places of the relevant passages.

    Where the file also counts the relevant passages there are, and all of them are here, they are the gold.
    """
    by_author = (task.get("annotations") or {}).get("context_relevance")
    if not isinstance(by_author, dict) or not by_author:
        return
    places = next(iter(by_author.values()))
    documents = record["retrieved"]
    whole = isinstance(places, list) and all(
        isinstance(place, int) and 0 <= place < len(documents) for place in places
    )
    if not whole:
        accepted = f"a list of places from 0 to {len(documents) - 1}"
        problems.add(row, "annotations.context_relevance", f"found {str(places)[:60]}", accepted)
        return
    for place, document in enumerate(documents):
        if isinstance(document, dict):
            document["relevant"] = place in places
    total = task.get(PASSAGES_TOTAL)
    if places and str(total) == str(len(set(places))):
        record["relevant"] = [
            {"id": documents[place]["id"]} for place in places if documents[place].get("id")
        ]


def _labels(record: dict[str, Any], task: Mapping[str, Any], filters: list[Any]) -> None:
    tags: dict[str, Any] = {}
    record["answerable"], used = _answerable(task)
    for key, value in task.items():
        if key in READ or key == used:
            continue
        text = ", ".join(map(str, value)) if isinstance(value, list) else value
        if text in (None, ""):
            continue
        if plain_name(key) == "question_type":
            record["query_type"] = str(text)
        elif key in filters and isinstance(text, str | int | float | bool):
            tags[key] = text
        else:
            record[f"task {key}"] = value
    if tags:
        record["tags"] = tags


def _answerable(task: Mapping[str, Any]) -> tuple[str | None, str]:
    for key in ("answerability", "Answerability"):
        if task.get(key) in (None, [], ""):
            continue
        try:
            return str(read_cell("answerable", task[key])), key
        except CellError:
            return None, ""
    return None, ""
