"""OpenAI evals: the events of a run, grouped by sample."""

from collections.abc import Iterator

from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.importer import Options, Peek, Reader, Row, run_of
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.names import metric_name
from ragtriage.data.importers.parsing.rows import Spool, json_lines, object_rows
from ragtriage.data.importers.parsing.shapes import items, question_in
from ragtriage.data.importers.parsing.values import Fields, error_tag, number, text_in
from ragtriage.data.store.parsed_run import ParsedRun, Record

INVALID = "__invalid__"  # the choice of a judge whose reply could not be read: it judged nothing


def _is_run(peek: Peek) -> bool:
    has_spec = any(isinstance(row.get("spec"), dict) and "eval_name" in row["spec"] for row in peek.rows)
    return has_spec and any(row.keys() >= {"sample_id", "type", "data"} for row in peek.rows)


def _read(source: InputFile, _options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    events, spec = Spool(), Fields({})
    for line, row in object_rows(json_lines(source, errors), errors, "an event"):
        if isinstance(row.get("spec"), dict):
            spec = Fields(row["spec"])
        elif name := text_in(row.get("sample_id")):
            events.add(name, line, row)
    model = text_in(next(iter(items(spec.at("completion_fns"))), None))
    samples = _samples(events, errors)
    config = {name: value for name, value in (("model", model), ("eval", spec.text("eval_name"))) if value}
    return [
        run_of(source, "openai_evals", samples, " ".join(reversed(config.values())) or None, config=config)
    ]


def _samples(events: Spool, errors: ValidationErrors) -> Iterator[Record]:
    for name in events.keys:
        rows = list(events.rows(name))
        yield rows[0][0], _sample(name, [Fields(row) for _, row in rows], rows[0][0], errors)


def _sample(name: str, events: list[Fields], line: int, errors: ValidationErrors) -> Row:
    """Return the events of a sample in their order: the first sampling is the answer, the next the judge."""
    by_type: dict[str, list[Fields]] = {}
    for event in sorted(events, key=lambda event: event.number("event_id") or 0.0):
        by_type.setdefault(event.text("type") or "", []).append(event.fields("data"))
    answered = by_type.get("sampling", [Fields({})])[0]
    matched = by_type.get("match", [Fields({})])[0]
    sampled = answered.at("sampled")
    expected = matched.at("expected")
    scores: Row = {}
    if isinstance(matched.at("correct"), bool):
        scores["exact_match"] = float(matched.at("correct"))
    tags: dict[str, str] = {}
    for measured in by_type.get("metrics", []):
        choice = measured.text("choice")
        tags |= {"choice": choice} if choice else {}
        for key, value in measured.all.items():
            if isinstance(value, bool | int | float):
                scores[metric_name(str(key))[0]] = None if choice == INVALID else number(float(value))
        if choice == INVALID:
            errors.remark(
                "the judge's reply could not be read, so the score that evals gave it is left out", line
            )
    failed = by_type.get("error", [])
    usage = answered.fields("usage")
    return {
        "question_id": name,
        "question": question_in(answered.at("prompt")) or (name if failed else None),
        "answer": text_in(sampled[0] if isinstance(sampled, list) and sampled else sampled),
        "reference_answer": text_in(expected[0] if isinstance(expected, list) and expected else expected),
        "scores": scores,
        "input_tokens": usage.number("prompt_tokens"),
        "output_tokens": usage.number("completion_tokens"),
        "tags": {**tags, **(error_tag(failed[0].all) if failed else {})},
        "tool": "OpenAI evals",
    }


READERS = {"openai_evals": Reader(_read, _is_run)}
