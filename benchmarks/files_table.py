"""What every file of further tools and every table made by hand holds, as read, beside figures counted apart.

python benchmarks/files_table.py [--json]

The files lie in tests/fixtures/exports2 and tests/fixtures/own_tables; expected.json of each has figures that
were counted without the importers, or planted by who made the table. Ends with 1 if one differs.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter, defaultdict
from pathlib import Path
from statistics import fmean
from typing import Any

from ragtriage.data.errors import InputError, ValidationErrors
from ragtriage.data.importers.detect import read_runs
from ragtriage.data.importers.importer import Options
from ragtriage.data.importers.load import inputs_of
from ragtriage.data.store.sample_validation import normalise
from ragtriage.data.store.workspace import SCALES

FIXTURES = Path(__file__).parents[1] / "tests" / "fixtures"
SHOWN = 60  # characters of a sentence that refuses a file
PLANTED = {"samples": "rows", "runs": "runs", "questions": "questions"}  # of a table made by hand


def main() -> int:
    """Print the table; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--json", action="store_true")
    as_json = parser.parse_args().json
    exports = json.loads((FIXTURES / "exports2/expected.json").read_text("utf-8"))
    tables = json.loads((FIXTURES / "own_tables/expected.json").read_text("utf-8"))["tables"]
    rows = [_row("exports2", name, expected) for name, expected in exports.items()]
    for name, truth in tables.items():
        rows.append(_row("own_tables", name, {ours: truth[theirs] for theirs, ours in PLANTED.items()}))
    print(json.dumps(rows, indent=1, ensure_ascii=False) if as_json else _markdown(rows))
    wrong = sum(bool(row["differs"]) for row in rows)
    print(f"\n{len(rows) - wrong} of {len(rows)} as expected", file=sys.stderr)
    return 1 if wrong else 0


def _row(folder: str, name: str, expected: dict[str, Any]) -> dict[str, Any]:
    """Return what a file holds and what of it differs from what is expected."""
    try:
        read = figures(FIXTURES / folder / name)
    except InputError as refusal:
        read = {"refused": str(refusal)}
        matches = "refused" in expected and expected["refused"] in read["refused"]
        return {"file": f"{folder}/{name}", **read, "differs": [] if matches else ["refused"]}
    differs = [key for key, value in expected.items() if read.get(key) != value]
    return {"file": f"{folder}/{name}", **read, "differs": differs}


def figures(path: Path) -> dict[str, Any]:
    """Return the counts and means of the runs in a file together, as they would be stored."""
    facts: dict[str, Any] = {"runs": 0, "scales": {}, "left_out": 0}
    samples: list[dict[str, Any]] = []
    for source, options in inputs_of(str(path), Options()):
        errors = ValidationErrors(source.name)
        for run in read_runs(source, options, errors):
            records = [normalise(record, line, errors) for line, record in run.records]
            samples += [record for record in records if record is not None]
            facts |= {"format": run.format, "runs": facts["runs"] + 1, "questions_only": run.questions}
            facts["scales"] |= {metric: list(ends) for metric, ends in run.config.get(SCALES, {}).items()}
        errors.raise_if_any()
        facts["left_out"] += sum(errors.left_out.values())
    values: dict[str, list[float]] = defaultdict(list)
    passes: dict[str, Counter[bool]] = defaultdict(Counter)
    for sample in samples:
        for score in sample["scores"] or ():
            values[score["metric"]] += [score["value"]] if score["value"] is not None else []
        for check in sample["checks"] or ():
            passes[check["name"]].update([check["passed"]] if check["passed"] is not None else [])
    latencies = [sample["latency_ms"] for sample in samples if sample["latency_ms"] is not None]
    cited = (len(entry["ids"] or ()) for sample in samples for entry in sample["citations"] or ())
    return facts | {
        "rows": len(samples),
        "questions": len({sample["question_id"] or sample["question"] for sample in samples}),
        "answers": sum(sample["answer"] is not None for sample in samples),
        "references": sum(sample["reference_answer"] is not None for sample in samples),
        "passages": sum(len(sample["retrieved"] or ()) for sample in samples),
        "gold": sum(len(sample["relevant"] or ()) for sample in samples),
        "cited": sum(cited),
        "errors": sum(any(tag["key"] == "error" for tag in sample["tags"] or ()) for sample in samples),
        "scores": {metric: [len(of), round(fmean(of), 6)] for metric, of in values.items() if of},
        "checks": {name: [counts[True], counts[False]] for name, counts in passes.items()},
        "latency_ms": [len(latencies), round(sum(latencies) / len(latencies), 3)] if latencies else [0, 0],
    }


def _markdown(rows: list[dict[str, Any]]) -> str:
    head = (
        "file",
        "format",
        "runs",
        "rows",
        "answers",
        "means (n)",
        "labels, passed / failed",
        "scales",
        "left out",
    )
    lines = [f"| {' | '.join(head)} | as counted apart |", "|---" * (len(head) + 1) + "|"]
    for row in rows:
        if "refused" in row:
            said = row["refused"].partition(": ")[2][:SHOWN].partition(";")[0]
            cells = [row["file"], f"refused: {said}", *[""] * (len(head) - 2)]
        else:
            means = ", ".join(f"{name} {mean:.3f} ({n})" for name, (n, mean) in row["scores"].items())
            labels = ", ".join(f"{name} {good} / {bad}" for name, (good, bad) in row["checks"].items())
            scales = ", ".join(f"{name} {low:g}-{high:g}" for name, (low, high) in row["scales"].items())
            counts = [str(row[key]) for key in ("runs", "rows", "answers")]
            cells = [row["file"], row["format"], *counts, means, labels, scales, str(row["left_out"])]
        verdict = "yes" if not row["differs"] else f"no: {', '.join(row['differs'])}"
        lines.append(f"| {' | '.join(cell.replace('|', '/') for cell in cells)} | {verdict} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
