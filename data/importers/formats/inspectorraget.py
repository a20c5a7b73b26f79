"""Files of InspectorRAGet: one run per model, of the tasks with their passages, labels and annotations."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Self

from ragtriage.data.errors import ValidationErrors, type_name
from ragtriage.data.importers.importer import Options, Reader, Row, run_of
from ragtriage.data.importers.parsing.cells import CellError, read_cell, read_turns
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.names import metric_name, plain_name
from ragtriage.data.importers.parsing.shapes import as_float, document_of, mapping, objects
from ragtriage.data.store.parsed_run import ParsedRun, Record

HANDLED_KEYS = {"task_id", "task_type", "input", "contexts", "targets", "annotations"}
TURN_MARK = "<::>"
PASSAGES_TOTAL = "# Relevant Passages"
GOLD_NOTE = (
    "for {complete} of {total} tasks the passages labelled relevant are as many as the file says there are: "
    "they are taken as all the relevant ones"
)


@dataclass(frozen=True)
class Tasks:
    """The tasks by id, with what records take from them."""

    by_id: Mapping[str, dict[str, Any]]  # task id -> the fields that all results of the task share
    passages: Mapping[str, Mapping[str, Any]]  # document id -> document of the file
    notes: tuple[str, ...]  # conclusions about the passages

    @classmethod
    def of(cls, document: Mapping[str, Any], errors: ValidationErrors) -> Self:
        """Read the tasks of a file."""
        documents = objects(document.get("documents"))
        passages = {str(item.get("document_id")): item for item in documents}
        tasks = objects(document["tasks"])
        if len(tasks) < len(document["tasks"]):
            errors.add(None, "tasks", "contains items that are not objects", "a list of objects")
        oracle, notes = _oracle_passages(tasks)
        reader = cls({}, passages, notes)
        by_id = {
            str(task.get("task_id")): reader.task(task, row, document.get("filters") or [], oracle, errors)
            for row, task in enumerate(tasks, start=1)
        }
        complete = sum(bool(task.get("relevant")) and "context_mode" not in task for task in by_id.values())
        if complete:
            notes = (*notes, GOLD_NOTE.format(complete=complete, total=len(by_id)))
        return cls(by_id, passages, notes)

    def task(
        self, task: Mapping[str, Any], row: int, filters: list[Any], oracle: bool, errors: ValidationErrors
    ) -> dict[str, Any]:
        """Return the fields that all results of a task share."""
        name = str(task.get("task_id"))
        record: dict[str, Any] = {"question_id": name, **_conversation(task.get("input"))}
        if TURN_MARK in name:
            record["conversation_id"] = name.split(TURN_MARK, maxsplit=1)[0]
        if isinstance(task.get("contexts"), list):
            record["retrieved"] = self.documents(task["contexts"])
            _label_passages(record, task, row, errors)
        value = task.get("targets")
        items = value if isinstance(value, list) else [value]
        texts = [item.get("value", item.get("text")) if isinstance(item, dict) else item for item in items]
        targets = [text for text in texts if isinstance(text, str) and text.strip()]
        if targets:
            record["reference_answer"] = targets[0]
        if len(targets) > 1:
            record["targets"] = targets
        _labels(record, task, filters)
        if oracle and record.get("retrieved"):
            record["context_mode"] = "oracle"
            if record.get("answerable") == "yes" and record["retrieved"][0].get("id"):
                record["relevant"] = [{"id": record["retrieved"][0]["id"]}]
        return record

    def documents(self, contexts: list[Any]) -> list[Any]:
        """Return the passages of a task in rank order, with text and title from the file's documents."""
        return [
            document_of({**self.passages.get(str(context.get("document_id")), {}), **context})
            if isinstance(context, dict)
            else document_of(context)
            for context in contexts
        ]


def _oracle_passages(tasks: Sequence[Mapping[str, Any]]) -> tuple[bool, tuple[str, ...]]:
    """Return whether the passages belong to the questions instead of coming from a retriever, and a note.

    This is so if every task has exactly one passage and a label that says whether it is answerable from it,
    and both labels occur.
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
    turns = read_turns(value)
    if not isinstance(turns, list):
        return {"question": turns}
    by_user = [i for i, turn in enumerate(turns) if isinstance(turn, dict) and turn["role"] in {"user", None}]
    last = by_user[-1] if by_user else len(turns) - 1
    if last < 0:
        return {}
    question = turns[last]
    record: dict[str, Any] = {"question": question["text"] if isinstance(question, dict) else question}
    if last:
        record["history"] = turns[:last]
    if turns[last + 1 :]:
        record["turns_after"] = turns[last + 1 :]
    return record


def _label_passages(record: Row, task: Mapping[str, Any], row: int, errors: ValidationErrors) -> None:
    """Read context_relevance, a list of 0-based positions of the relevant passages.

    If it has as many as the file counts relevant passages for the task, they are the gold.
    """
    annotations = task.get("annotations") or {}
    if not isinstance(annotations, dict):
        errors.add(row, "annotations", "found a list or a value", "an object of annotations by their name")
        return
    by_author = annotations.get("context_relevance")
    if not isinstance(by_author, dict) or not by_author:
        return
    positions = next(iter(by_author.values()))
    documents = record["retrieved"]
    valid = isinstance(positions, list) and all(
        isinstance(position, int) and 0 <= position < len(documents) for position in positions
    )
    if not valid:
        accepted = f"a list of positions from 0 to {len(documents) - 1}"
        errors.add(row, "annotations.context_relevance", f"found {str(positions)[:60]}", accepted)
        return
    for position, document in enumerate(documents):
        if isinstance(document, dict):
            document["relevant"] = position in positions
    total = task.get(PASSAGES_TOTAL)
    if positions and str(total) == str(len(set(positions))):
        relevant = [documents[position] for position in positions]
        record["relevant"] = [{"id": document["id"]} for document in relevant if document.get("id")]


def _labels(record: dict[str, Any], task: Mapping[str, Any], filters: list[Any]) -> None:
    tags: dict[str, Any] = {}
    record["answerable"], answerable_key = _answerable(task)
    for key, value in task.items():
        if key in HANDLED_KEYS or key == answerable_key:
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
ALGORITHMS = {"system", "composite", "algorithm"}


@dataclass(frozen=True)
class Scale:
    """A metric as the file declares it."""

    human: bool  # whether annotators rate it
    text: bool = False  # whether its values are comments, not grades
    numbers: Mapping[str, float] | None = None  # number of each category, e.g. {"1": 1.0}.
    low: float | None = None  # lowest value of the scale, or None
    high: float | None = None  # highest value of the scale, or None

    def number(self, value: object) -> float | None:
        """Return a value as a number on the scale, or None if it is none."""
        if self.numbers is not None and str(value) in self.numbers:
            return self.numbers[str(value)]
        plain = isinstance(value, int | float | str) and not isinstance(value, bool)
        return as_float(value) if plain else None


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
    limits = list(numbers.values()) or bounds[:2]
    return Scale(human, False, numbers or None, min(limits, default=None), max(limits, default=None))


def annotate(
    record: dict[str, Any], values: object, scales: Mapping[str, Scale], row: int, errors: ValidationErrors
) -> None:
    """Add the annotations of a result to its record.

    Ratings by annotators go to `human`, with `<metric>_reason` by the same annotator as the note. Numbers by
    algorithms become scores, their categories become tags.
    """
    if values is None:
        return
    if not isinstance(values, dict):
        errors.add(row, "scores", f"found {type_name(values)}", "an object of metric: {annotator: {value}}")
        return
    for name, by_annotator in values.items():
        if not isinstance(by_annotator, dict):
            errors.add(row, f"scores.{name}", f"found {type_name(by_annotator)}", "{annotator: {value}}")
            continue
        scale = scales.get(name) or Scale(human=not ALGORITHMS & by_annotator.keys())
        base = name.removesuffix(REASON)
        if scale.human and not (scale.text and base != name and base in values):
            notes = values.get(f"{name}{REASON}")
            entries = _human(name, by_annotator, scale, mapping(notes))
            record.setdefault("human", []).extend(entries)
        elif not scale.human:
            _machine(record, name, by_annotator, scale)


def _human(name: str, by_annotator: Mapping[str, Any], scale: Scale, notes: Mapping[str, Any]) -> list[Row]:
    entries = []
    for annotator, annotation in by_annotator.items():
        value, note = _value(annotation), _value(notes.get(annotator))
        if scale.text:
            value, note = None, value
        entry = {"annotator": str(annotator), "metric": metric_name(name)[0], "value": scale.number(value)}
        entry |= {"note": str(note) if note else None, "low": scale.low, "high": scale.high}
        if entry["value"] is not None or entry["note"]:
            entries.append({key: part for key, part in entry.items() if part is not None})
    return entries


def _machine(record: dict[str, Any], name: str, by_annotator: Mapping[str, Any], scale: Scale) -> None:
    """Add the values of algorithms: numbers as scores, categories as tags."""
    several = len(by_annotator) > 1
    for annotator, annotation in by_annotator.items():
        key = metric_name(name)[0] + (f"_{annotator}" if several else "")
        value = _value(annotation)
        if isinstance(value, str) and Scale(human=False).number(value) is None:
            if value:
                record["tags"] = {**record.get("tags", {}), key: value}
        else:
            number = scale.number(value)
            record.setdefault("scores", {})[key] = float("nan") if number is None else number


def _value(annotation: object) -> Any:
    return annotation.get("value") if isinstance(annotation, dict) else annotation


RESULT_KEYS = {
    *("task_id", "model_id", "output", "model_response", "scores", "annotations", "contexts"),
    *("answer", "question"),
}


def is_inspectorraget(document: object) -> bool:
    """Return whether a JSON document is a file of InspectorRAGet."""
    if not isinstance(document, dict):
        return False
    lists = [document.get(name) for name in ("tasks", "models", "metrics")]
    results = document.get("results", document.get("evaluations"))
    return all(isinstance(value, list) for value in [*lists, results])


def read(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read one run per model."""
    document: Mapping[str, Any] = source.document()
    tasks = Tasks.of(document, errors)
    metrics = objects(document["metrics"])
    scales = {str(metric["name"]): _scale(metric) for metric in metrics if "name" in metric}
    key = "results" if "results" in document else "evaluations"
    models = {str(model.get("model_id")): model for model in objects(document["models"])}
    records: dict[str, list[Record]] = {name: [] for name in models}
    limit = None if options.limit is None else options.limit * max(1, len(models))
    for row, result in enumerate(islice(document[key], limit), start=1):
        record = _record(result, row, tasks, scales, errors, f"{key}[{row - 1}]")
        if record is None:
            continue
        model = str(result.get("model_id"))
        if model not in records:
            accepted = f"a model_id of models: {', '.join(models)}"
            errors.add(row, f"{key}[{row - 1}].model_id", f"found {model[:60]!r}", accepted)
            continue
        records[model].append((row, record))
    runs = []
    dataset = str(document.get("name") or "")
    for name, about in models.items():
        facts = {key: value for key, value in about.items() if key not in {"model_id", "name"} and value}
        run = run_of(source, "inspectorraget", records[name], str(about.get("name") or name), dataset=dataset)
        if records[name]:
            runs.append(replace(run, config={"model": name, **facts}, notes=tasks.notes))
    return runs


def _record(
    result: Any, row: int, tasks: Tasks, scales: Mapping[str, Scale], errors: ValidationErrors, place: str
) -> dict[str, Any] | None:
    if not isinstance(result, dict):
        errors.add(row, place, f"found {type_name(result)}", "an object with task_id and model_id")
        return None
    task = tasks.by_id.get(str(result.get("task_id")))
    if task is None:
        shown = repr(result.get("task_id"))[:60]
        errors.add(row, f"{place}.task_id", f"no task {shown}", "a task_id of tasks")
        return None
    extra = {key: value for key, value in result.items() if key not in RESULT_KEYS}
    output = result.get("output", result.get("model_response"))
    if isinstance(output, list):
        turns = [turn.get("content", turn.get("value")) for turn in objects(output)]
        texts = [text for text in turns if isinstance(text, str)]
        output = "\n".join(texts) if texts else None
    elif isinstance(output, dict):
        output = output.get("value", output.get("content"))
    record: dict[str, Any] = {**extra, **task, "answer": output}
    if isinstance(result.get("contexts"), list):
        record["retrieved"] = tasks.documents(result["contexts"])
    values = result.get("scores", result.get("annotations"))
    annotate(record, values, scales, row, errors)
    return record


READERS = {"inspectorraget": Reader(read, lambda peek: is_inspectorraget(peek.document))}
