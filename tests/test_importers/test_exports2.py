"""Files of tools and services, whole: rows, texts, means, verdicts and scales against counts made apart."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest
from exports_oracle import outcome
from mutated_files import mutations
from places import FIXTURES

from ragtriage.data.errors import InputError, ValidationErrors
from ragtriage.data.importers.detect import read_runs
from ragtriage.data.importers.inputs import inputs_of
from ragtriage.data.importers.parsing.options import Options
from ragtriage.data.store.sample_validation import normalise
from ragtriage.data.store.workspace import SCALES

FOLDER = FIXTURES / "exports2"
EXPECTED: dict[str, dict[str, Any]] = json.loads((FOLDER / "expected.json").read_text("utf-8"))


def figures(name: str) -> dict[str, Any]:
    """Return what the runs of a file hold together, as they would be stored."""
    samples: list[dict[str, Any]] = []
    facts: dict[str, Any] = {}
    for source, options in inputs_of(str(FOLDER / name), Options()):
        errors = ValidationErrors(source.name)
        for run in read_runs(source, options, errors):
            records = [normalise(record, line, errors) for line, record in run.records]
            samples += [record for record in records if record is not None]
            facts["format"] = run.format
            facts["runs"] = facts.get("runs", 0) + 1
            facts["questions_only"] = run.questions
            facts.setdefault("scales", {}).update(
                {metric: list(ends) for metric, ends in run.config.get(SCALES, {}).items()}
            )
        errors.raise_if_any()
    values: dict[str, list[float]] = defaultdict(list)
    passes: dict[str, Counter[bool]] = defaultdict(Counter)
    people: dict[str, list[float]] = defaultdict(list)
    for sample in samples:
        for score in sample["scores"] or ():
            values[score["metric"]] += [score["value"]] if score["value"] is not None else []
        for check in sample["checks"] or ():
            passes[check["name"]].update([check["passed"]] if check["passed"] is not None else [])
        for label in sample["human"] or ():
            people[label["metric"]].append(label["value"])
    latencies = [sample["latency_ms"] for sample in samples if sample["latency_ms"] is not None]
    return facts | {
        "rows": len(samples),
        "questions": len({sample["question_id"] or sample["question"] for sample in samples}),
        "answers": sum(sample["answer"] is not None for sample in samples),
        "references": sum(sample["reference_answer"] is not None for sample in samples),
        "passages": sum(len(sample["retrieved"] or ()) for sample in samples),
        "gold": sum(len(sample["relevant"] or ()) for sample in samples),
        "cited": sum(
            len(citation["ids"] or ()) for sample in samples for citation in sample["citations"] or ()
        ),
        "errors": sum(any(tag["key"] == "error" for tag in sample["tags"] or ()) for sample in samples),
        "scores": {metric: [len(of), round(sum(of) / len(of), 6)] for metric, of in values.items() if of},
        "human": {metric: [len(of), round(sum(of) / len(of), 6)] for metric, of in people.items()},
        "checks": {name: [counts[True], counts[False]] for name, counts in passes.items()},
        "latency_ms": [len(latencies), round(sum(latencies) / len(latencies), 3)] if latencies else [0, 0],
    }


@pytest.mark.parametrize("name", EXPECTED)
def test_a_file_holds_what_was_counted_apart(name: str) -> None:
    wanted = EXPECTED[name]
    if "refused" in wanted:
        with pytest.raises(InputError, match=wanted["refused"]):
            figures(name)
        return
    found = figures(name)
    assert {key: found[key] for key in wanted} == wanted


@pytest.mark.parametrize("name", [name for name in EXPECTED if name.endswith((".json", ".jsonl", ".csv"))])
def test_damaged_files_are_read_or_refused_in_a_sentence(name: str, tmp_path: Path) -> None:
    file = tmp_path / Path(name).name
    for content in mutations(name, (FOLDER / name).read_bytes(), times=25):
        file.write_bytes(content)
        assert outcome(file) in ("run", "sentence")
