"""InspectorRAGet's files, schema 1 and 2: tasks, models and annotated results; one run for each model."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any

from data.drafts import Record, RunDraft
from data.errors import Problems
from data.importers.annotations import Scale, annotate, scales_of
from data.importers.inspectortasks import Tasks
from data.importers.options import Options
from data.importers.source import Source

__all__ = ["is_inspectorraget", "read"]

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


def read(source: Source, options: Options, problems: Problems) -> list[RunDraft]:
    """Read one run for each model: people's values apart under `human`, algorithms' under `scores`."""
    document: Mapping[str, Any] = source.document()
    tasks = Tasks.of(document, problems)
    scales = scales_of(document["metrics"])
    key = "results" if "results" in document else "evaluations"
    models = {str(model.get("model_id")): model for model in document["models"] if isinstance(model, dict)}
    records: dict[str, list[Record]] = {name: [] for name in models}
    for row, result in enumerate(islice(document[key], _bound(options, models)), start=1):
        record = _record(result, row, tasks, scales, problems, f"{key}[{row - 1}]")
        if record is None:
            continue
        model = str(result.get("model_id"))
        if model not in records:
            accepted = f"a model_id of models: {', '.join(models)}"
            problems.add(row, f"{key}[{row - 1}].model_id", f"found {model[:60]!r}", accepted)
            continue
        records[model].append((row, record))
    return [
        _draft(name, model, records[name], document, tasks, source)
        for name, model in models.items()
        if records[name]
    ]


def _bound(options: Options, models: Mapping[str, Any]) -> int | None:
    return None if options.limit is None else options.limit * max(1, len(models))


def _draft(
    name: str,
    model: Mapping[str, Any],
    records: list[Record],
    document: Mapping[str, Any],
    tasks: Tasks,
    source: Source,
) -> RunDraft:
    facts = {key: value for key, value in model.items() if key not in {"model_id", "name"} and value}
    return RunDraft(
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
    result: Any, row: int, tasks: Tasks, scales: Mapping[str, Scale], problems: Problems, place: str
) -> dict[str, Any] | None:
    if not isinstance(result, dict):
        problems.add(row, place, f"found {type(result).__name__}", "an object with task_id and model_id")
        return None
    task = tasks.by_id.get(str(result.get("task_id")))
    if task is None:
        shown = repr(result.get("task_id"))[:60]
        problems.add(row, f"{place}.task_id", f"no task {shown}", "a task_id of tasks")
        return None
    extra = {key: value for key, value in result.items() if key not in RESULT_KEYS}
    record: dict[str, Any] = {**extra, **task, "answer": _output(result)}
    if isinstance(result.get("contexts"), list):
        record["retrieved"] = tasks.documents(result["contexts"])
    values = result.get("scores", result.get("annotations"))
    annotate(record, values, scales, row, problems)
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
