"""The tasks of an InspectorRAGet file: conversation, passages, labels and filters in the native form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from data.errors import ValidationErrors
from data.importers.parsing.cells import CellError, read_cell, turns
from data.importers.parsing.documents import document_of
from data.importers.parsing.metric_names import metric_name, plain_name
from data.importers.parsing.options import Options
from data.importers.parsing.source import Source
from data.store.parsed_run import ParsedRun, Record

__all__ = [
    "Scale",
    "Tasks",
    "annotate",
    "is_inspectorraget",
    "read",
    "scales_of",
]

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
    def of(cls, document: Mapping[str, Any], errors: ValidationErrors) -> Tasks:
        """Read the tasks of a file."""
        listed = [item for item in document.get("documents") or [] if isinstance(item, dict)]
        passages = {str(item.get("document_id")): item for item in listed}
        tasks = [task for task in document["tasks"] if isinstance(task, dict)]
        if len(tasks) < len(document["tasks"]):
            errors.add(None, "tasks", "holds items that are no objects", "a list of objects")
        given, notes = _given_passages(tasks)
        found = cls({}, passages, notes)
        by_id = {
            str(task.get("task_id")): found.task(task, row, document.get("filters") or [], given, errors)
            for row, task in enumerate(tasks, start=1)
        }
        whole = sum(bool(task.get("relevant")) and "context_mode" not in task for task in by_id.values())
        if whole:
            notes = (*notes, GOLD_NOTE.format(whole=whole, total=len(by_id)))
        return cls(by_id, passages, notes)

    def task(
        self, task: Mapping[str, Any], row: int, filters: list[Any], given: bool, errors: ValidationErrors
    ) -> dict[str, Any]:
        """What the results of one task share."""
        name = str(task.get("task_id"))
        record: dict[str, Any] = {"question_id": name, **_conversation(task.get("input"))}
        if TURN_MARK in name:
            record["conversation_id"] = name.split(TURN_MARK)[0]
        if isinstance(task.get("contexts"), list):
            record["retrieved"] = self.documents(task["contexts"])
            _label_passages(record, task, row, errors)
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


def _label_passages(
    record: dict[str, Any], task: Mapping[str, Any], row: int, errors: ValidationErrors
) -> None:
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
        errors.add(row, "annotations.context_relevance", f"found {str(places)[:60]}", accepted)
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


REASON = "_reason"
MACHINES = {"system", "composite", "algorithm"}


@dataclass(frozen=True)
class Scale:
    """How the file declares a metric.

    Attributes:
        human: whether people give it.
        text: whether its values are remarks, not grades.
        numbers: number of each category, e.g. {"1": 1.0}.
        low: least value of the scale, or None.
        high: greatest value of the scale, or None.
    """

    human: bool
    text: bool = False
    numbers: Mapping[str, float] | None = None
    low: float | None = None
    high: float | None = None

    def number(self, value: object) -> float | None:
        """The value as a number on the scale, or None where it is none."""
        if self.numbers is not None and str(value) in self.numbers:
            return self.numbers[str(value)]
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            return None
        try:
            return float(value)
        except ValueError:
            return None


def scales_of(metrics: list[Any]) -> dict[str, Scale]:
    """The scale of every metric that a file declares."""
    return {
        str(metric["name"]): _scale(metric)
        for metric in metrics
        if isinstance(metric, dict) and "name" in metric
    }


def _scale(metric: Mapping[str, Any]) -> Scale:
    human = metric.get("author") == "human"
    if metric.get("type") == "text":
        return Scale(human, text=True)
    numbers = {
        str(entry["value"]): float(entry["numeric_value"])
        for entry in metric.get("values") or []
        if isinstance(entry, dict) and isinstance(entry.get("numeric_value"), int | float)
    }
    bounds = [bound for bound in metric.get("range") or [] if isinstance(bound, int | float)]
    ends = list(numbers.values()) or bounds[:2]
    return Scale(human, False, numbers or None, min(ends, default=None), max(ends, default=None))


def annotate(
    record: dict[str, Any], values: object, scales: Mapping[str, Scale], row: int, errors: ValidationErrors
) -> None:
    """Put the annotations of one result into its record: people's under `human`, one entry each.

    Numbers by algorithms become scores, their words become tags. A `<metric>_reason` by the same person
    becomes the note of that metric.
    """
    if values is None:
        return
    if not isinstance(values, dict):
        errors.add(
            row, "scores", f"found {type(values).__name__}", "an object of metric: {annotator: {value}}"
        )
        return
    for name, by_annotator in values.items():
        if not isinstance(by_annotator, dict):
            errors.add(row, f"scores.{name}", f"found {type(by_annotator).__name__}", "{annotator: {value}}")
            continue
        scale = scales.get(name) or Scale(human=not MACHINES & by_annotator.keys())
        base = name.removesuffix(REASON)
        if scale.human and not (scale.text and base != name and base in values):
            notes = values.get(f"{name}{REASON}")
            entries = _human(name, by_annotator, scale, notes if isinstance(notes, dict) else {})
            record.setdefault("human", []).extend(entries)
        elif not scale.human:
            _machine(record, name, by_annotator, scale)


def _human(
    name: str, by_annotator: Mapping[str, Any], scale: Scale, notes: Mapping[str, Any]
) -> list[dict[str, Any]]:
    entries = []
    for annotator, given in by_annotator.items():
        value, note = _value(given), _value(notes.get(annotator))
        if scale.text:
            value, note = None, value
        entry = {
            "annotator": str(annotator),
            "metric": metric_name(name)[0],
            "value": scale.number(value),
            "note": str(note) if note else None,
            "low": scale.low,
            "high": scale.high,
        }
        if entry["value"] is not None or entry["note"]:
            entries.append({key: part for key, part in entry.items() if part is not None})
    return entries


def _machine(record: dict[str, Any], name: str, by_annotator: Mapping[str, Any], scale: Scale) -> None:
    """One value by an algorithm; the raw word where it is no number, since a category is not a grade."""
    several = len(by_annotator) > 1
    for annotator, given in by_annotator.items():
        key = metric_name(name)[0] + (f"_{annotator}" if several else "")
        value = _value(given)
        if isinstance(value, str) and Scale(human=False).number(value) is None:
            if value:
                record["tags"] = {**record.get("tags", {}), key: value}
        else:
            number = scale.number(value)
            record.setdefault("scores", {})[key] = float("nan") if number is None else number


def _value(given: object) -> Any:
    return given.get("value") if isinstance(given, dict) else given


RESULT_KEYS = {
    *("task_id", "model_id", "output", "model_response", "scores", "annotations", "contexts"),
    *("answer", "question"),
}


def is_inspectorraget(document: object) -> bool:
    """Whether a JSON document is one of InspectorRAGet's."""
    if not isinstance(document, dict):
        return False
    lists = [document.get(name) for name in ("tasks", "models", "metrics")]
    results = document.get("results", document.get("evaluations"))
    return all(isinstance(found, list) for found in [*lists, results])


def read(source: Source, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read one run for each model: people's values apart under `human`, algorithms' under `scores`."""
    document: Mapping[str, Any] = source.document()
    tasks = Tasks.of(document, errors)
    scales = scales_of(document["metrics"])
    key = "results" if "results" in document else "evaluations"
    models = {str(model.get("model_id")): model for model in document["models"] if isinstance(model, dict)}
    records: dict[str, list[Record]] = {name: [] for name in models}
    for row, result in enumerate(islice(document[key], _bound(options, models)), start=1):
        record = _record(result, row, tasks, scales, errors, f"{key}[{row - 1}]")
        if record is None:
            continue
        model = str(result.get("model_id"))
        if model not in records:
            accepted = f"a model_id of models: {', '.join(models)}"
            errors.add(row, f"{key}[{row - 1}].model_id", f"found {model[:60]!r}", accepted)
            continue
        records[model].append((row, record))
    return [
        _parsed_run(name, model, records[name], document, tasks, source)
        for name, model in models.items()
        if records[name]
    ]


def _bound(options: Options, models: Mapping[str, Any]) -> int | None:
    return None if options.limit is None else options.limit * max(1, len(models))


def _parsed_run(
    name: str,
    model: Mapping[str, Any],
    records: list[Record],
    document: Mapping[str, Any],
    tasks: Tasks,
    source: Source,
) -> ParsedRun:
    facts = {key: value for key, value in model.items() if key not in {"model_id", "name"} and value}
    return ParsedRun(
        str(model.get("name") or name),
        records,
        source.name,
        "inspectorraget",
        named_by_content=True,
        config={"model": name, **facts},
        dataset=str(document.get("name") or ""),
        notes=tasks.notes,
    )


def _record(
    result: Any, row: int, tasks: Tasks, scales: Mapping[str, Scale], errors: ValidationErrors, place: str
) -> dict[str, Any] | None:
    if not isinstance(result, dict):
        errors.add(row, place, f"found {type(result).__name__}", "an object with task_id and model_id")
        return None
    task = tasks.by_id.get(str(result.get("task_id")))
    if task is None:
        shown = repr(result.get("task_id"))[:60]
        errors.add(row, f"{place}.task_id", f"no task {shown}", "a task_id of tasks")
        return None
    extra = {key: value for key, value in result.items() if key not in RESULT_KEYS}
    record: dict[str, Any] = {**extra, **task, "answer": _output(result)}
    if isinstance(result.get("contexts"), list):
        record["retrieved"] = tasks.documents(result["contexts"])
    values = result.get("scores", result.get("annotations"))
    annotate(record, values, scales, row, errors)
    return record


def _output(result: Mapping[str, Any]) -> object:
    output = result.get("output", result.get("model_response"))
    if isinstance(output, dict):
        return output.get("value", output.get("content"))
    if isinstance(output, list):
        turns = [turn.get("content", turn.get("value")) for turn in output if isinstance(turn, dict)]
        texts = [text for text in turns if isinstance(text, str)]
        return "\n".join(texts) if texts else None
    return output
