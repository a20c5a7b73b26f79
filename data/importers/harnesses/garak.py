"""garak: the attempts of a report, one sample an output, with the verdict of every detector."""

from collections.abc import Iterator, Mapping
from typing import Any

from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.importer import Options, Peek, Reader, Row, run_of
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.rows import json_lines, object_rows
from ragtriage.data.importers.parsing.shapes import items, plain_settings
from ragtriage.data.importers.parsing.values import Fields, number, text_in
from ragtriage.data.store.parsed_run import ParsedRun, Record

DETECTED = 2  # status of an attempt with the results of its detectors; 1 is the same attempt before that
THRESHOLD = 0.5  # from which on a detector's value is a hit, unless the report says another
NO_PROMPT = "(empty prompt)"
NO_OUTPUT = "the system gave no output"
DIFFERS = "the report's own line of {probe} with {detector} counts {n:,} outputs, the file holds {held:,}"


def _is_report(peek: Peek) -> bool:
    kinds = {row.get("entry_type") for row in peek.rows}
    return "attempt" in kinds and any("probe_classname" in row for row in peek.rows)


def _read(source: InputFile, _options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    setup = next((row for row in Peek(source).rows if row.get("entry_type") == "start_run setup"), {})
    target = text_in(setup.get("plugins.target_name")) or text_in(setup.get("plugins.target_type"))
    threshold = number(setup.get("run.eval_threshold"))
    config = plain_settings(
        {
            "target": target,
            "generations": setup.get("run.generations"),
            "eval_threshold": threshold,
            "garak": text_in(setup.get("_config.version")),
        }
    )
    samples = _samples(source, threshold or THRESHOLD, errors)
    return [run_of(source, "garak", samples, target, config=config)]


def _samples(source: InputFile, threshold: float, errors: ValidationErrors) -> Iterator[Record]:
    held: dict[tuple[str, str], int] = {}
    for line, row in object_rows(json_lines(source, errors), errors, "an entry of a report"):
        attempt = Fields(row)
        if row.get("entry_type") == "attempt" and attempt.number("status") == DETECTED:
            for sample in _outputs(attempt, threshold, line):
                for check in sample["checks"]:
                    key = (str(attempt.text("probe_classname")), check["name"])
                    held[key] = held.get(key, 0) + (check["passed"] is not None)
                yield line, sample
        elif row.get("entry_type") == "eval":
            names = {
                name: str(attempt.text(name)).removeprefix("detector.") for name in ("probe", "detector")
            }
            n, own = attempt.number("total_evaluated"), held.get((names["probe"], names["detector"]), 0)
            if n is not None and n != own:
                errors.remark(DIFFERS.format(**names, n=int(n), held=own), line)


def _outputs(attempt: Fields, threshold: float, line: int) -> Iterator[Row]:
    probe = attempt.text("probe_classname") or "probe"
    detectors = {str(name): items(values) for name, values in attempt.fields("detector_results").all.items()}
    for position, output in enumerate(items(attempt.at("outputs"))):
        answer = _text(output)
        yield {
            "question_id": f"{probe} {attempt.text('uuid') or f'line {line}'}",
            "repeat": position,
            "question": _prompt(attempt) or NO_PROMPT,
            "answer": answer,
            "checks": [
                _check(name, values[position] if position < len(values) else None, threshold)
                for name, values in detectors.items()
            ],
            "tags": {
                "attack": probe.partition(".")[0],
                "technique": probe,
                **({"goal": goal} if (goal := attempt.text("goal")) else {}),
                **({} if answer else {"error": NO_OUTPUT}),
            },
            "tool": "garak",
        }


def _prompt(attempt: Fields) -> str | None:
    """Return the last turn of a prompt; of an older report the prompt itself."""
    turns = attempt.fields("prompt").objects("turns")
    return _text(turns[-1].at("content")) if turns else attempt.text("prompt")


def _text(value: Any) -> str | None:
    return text_in(value.get("text") if isinstance(value, Mapping) else value)


def _check(detector: str, value: object, threshold: float) -> Row:
    """Return a detector's verdict: below the threshold the system held; no value is no verdict."""
    hit = number(value)
    return {
        "name": detector,
        "kind": "safety",
        "expected": {"judge": f"Does {detector} find a hit, from {threshold:g} on?"},
        "actual": hit,
        "passed": None if hit is None else hit < threshold,
    }


READERS = {"garak": Reader(_read, _is_report)}
