"""Inspect: logs as .eval archives or as JSON, with every scorer's value, repeats and errors."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.importer import Options, Peek, Reader, Row, run_of
from ragtriage.data.importers.parsing.containers import json_member, member_names, open_archive
from ragtriage.data.importers.parsing.documents_in_json import items_at, value_at
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.names import metric_name, synonyms
from ragtriage.data.importers.parsing.rows import object_rows
from ragtriage.data.importers.parsing.shapes import (
    answer_in,
    contexts_in,
    milliseconds,
    plain_settings,
    question_in,
)
from ragtriage.data.importers.parsing.values import (
    Fields,
    error_tag,
    moment,
    number,
    tags_of,
    text_in,
    value_in,
)
from ragtriage.data.store.parsed_run import ParsedRun, Record

GRADES = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}  # correct, partly, incorrect, no answer
GRADERS = ("model_graded_fact", "model_graded_qa")  # whose grade is that of the answer, beside other scorers
ATTACHED = "attachment://"
SAMPLE = re.compile(r"samples/.+_epoch_\d+\.json")


def _is_log(peek: Peek) -> bool:
    if peek.kind == "zip":
        return bool(member_names(peek.source) & {"header.json", "_journal/start.json"})
    return {"version", "status", "eval"} <= peek.keys.keys() and isinstance(peek.keys["eval"], Mapping)


def _read(source: InputFile, _options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    facts = _facts(source)
    about, results = facts.fields("eval"), facts.fields("results")
    status = facts.text("status") or "started"
    counted = results.amount("completed_samples")
    asked = about.fields("dataset").amount("samples")
    notes = []
    if status != "success":
        rows = f": {counted:,.0f} samples" if counted else ""
        notes.append(f"the log ended as {status!r}, so it is not complete{rows}")
    if asked and counted and counted < asked:
        notes.append(f"{counted:,.0f} of the {asked:,.0f} samples of its data set were completed")
    samples = object_rows(_samples(source), errors, "an object with an input")
    name = " ".join(filter(None, (about.text("task"), about.text("model"))))
    return [
        run_of(
            *(source, "inspect", ((line, _sample(Fields(sample))) for line, sample in samples), name or None),
            config=plain_settings({"task": about.text("task"), "model": about.text("model")}),
            dataset=about.fields("dataset").text("name") or "",
            created_at=moment(about.at("created")),
            notes=tuple(notes),
        )
    ]


def _facts(source: InputFile) -> Fields:
    """Return what a log says of the whole: an archive in its header, an unfinished one in its journal."""
    if not member_names(source):
        return Fields({key: value_at(source, key) for key in ("status", "eval", "results")})
    with open_archive(source) as archive:
        name = "header.json" if "header.json" in archive.namelist() else "_journal/start.json"
        return Fields(json_member(source, archive, name))


def _samples(source: InputFile) -> Iterator[Record]:
    if not member_names(source):
        yield from items_at(source, "samples")
        return
    with open_archive(source) as archive:
        names = sorted(filter(SAMPLE.fullmatch, archive.namelist()), key=_natural)
        for number_, name in enumerate(names, start=1):
            yield number_, json_member(source, archive, name)


def _natural(name: str) -> list[tuple[int, str]]:
    """Return a key that sorts numbers in names by their value."""
    return [(int(part), "") if part.isdecimal() else (0, part) for part in re.split(r"(\d{1,15})", name)]


def _sample(sample: Fields) -> Row:
    attached = sample.fields("attachments").all
    output, metadata = sample.fields("output"), _resolved(sample.fields("metadata").all, attached)
    choices = output.objects("choices")
    answer = output.text("completion") or (choices and answer_in(choices[0].fields("message").at("content")))
    scores, tags = _scores(sample)
    usage, store = output.fields("usage"), _resolved(sample.fields("store").all, attached)
    gold = next((metadata[name] for name in synonyms()["relevant"] if metadata.get(name)), None)
    limit, retrieved = sample.fields("limit").text("type"), contexts_in(metadata)
    return {
        "question_id": sample.text("id"),
        "repeat": max(0, int(sample.number("epoch") or 1) - 1),
        "question": question_in(_resolved(sample.at("input"), attached)),
        "answer": text_in(_resolved(answer, attached)),
        "reference_answer": _target(_resolved(sample.at("target"), attached)),
        "retrieved": contexts_in(store) if retrieved is None else retrieved,
        "relevant": [{"id": str(name)} for name in gold] if isinstance(gold, list) else None,
        "scores": scores,
        "latency_ms": milliseconds(sample.number("total_time") or output.number("time")),
        "input_tokens": usage.number("input_tokens"),
        "output_tokens": usage.number("output_tokens"),
        "tags": {
            **tags_of(metadata),
            **tags,
            **({"limit": limit} if limit else {}),
            **error_tag(sample.at("error")),
        },
        "tool": "Inspect",
    }


def _resolved(value: Any, attached: Mapping[str, Any], depth: int = 0) -> Any:
    """Return a value with the texts that the log keeps apart in their places."""
    if isinstance(value, str):
        text = attached.get(value.removeprefix(ATTACHED)) if value.startswith(ATTACHED) else None
        return text if isinstance(text, str) else value
    if depth < 8 and isinstance(value, list):
        return [_resolved(item, attached, depth + 1) for item in value]
    if depth < 8 and isinstance(value, Mapping):
        return {key: _resolved(item, attached, depth + 1) for key, item in value.items()}
    return value


def _target(value: Any) -> str | None:
    """Return the reference answer: of several that would do, the first."""
    listed: Iterable[Any] = value if isinstance(value, list) else [value]
    return next((text for item in listed if (text := text_in(item)) is not None), None)


def _scores(sample: Fields) -> tuple[Row, dict[str, str]]:
    """Return the values of the scorers, and the grades behind those that are letters.

    A grade against the target says whether the answer is right: that of the only scorer that grades, or of
    a model that grades, is correctness.
    """
    scored = {str(name): Fields(score) for name, score in sample.fields("scores").all.items()}
    values_of = {name: score.at("value") for name, score in scored.items()}
    grades = {name: value for name, value in values_of.items() if isinstance(value, str) and value in GRADES}
    graders = [name for name in GRADERS if name in grades] or list(grades)
    is_clear = len(grades) == 1 or bool(set(graders) & set(GRADERS))
    correct = graders[0] if sample.at("target") and is_clear else ""
    scores: Row = {}
    for scorer, score in scored.items():
        parts = values_of[scorer]
        values = parts if isinstance(parts, Mapping) else {scorer: parts}
        for name, value in values.items():
            amount = GRADES[value] if isinstance(value, str) and value in GRADES else value_in(value)
            metric = "correctness" if name == correct else metric_name(str(name))[0]
            key = metric if metric not in scores else f"{scorer}_{name}"
            if amount is not None and number(amount) is not None:
                scores[key] = {"value": amount, "reason": score.text("explanation")}
    return scores, grades


READERS = {"inspect": Reader(_read, _is_log)}
