"""What every file of tools and every table made by hand holds, as read, beside figures counted apart.

python benchmarks/files_table.py [FOLDER ...] [--json]

Without a folder those of tests/fixtures: exports (one run of 12 questions as each tool exports it), exports2
(further tools) and own_tables. The expected figures stand in expected.json of a folder, else in that of its
namesake in tests/fixtures: they come from the tools, were counted without the importers, or were planted by
who made the table. A file that they do not name is shown as not counted. Ends with 1 if one differs.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import fmean
from typing import Any

from ragtriage.data.errors import InputError, ValidationErrors
from ragtriage.data.importers.detect import read_runs
from ragtriage.data.importers.importer import Options
from ragtriage.data.importers.load import inputs_of, joined
from ragtriage.data.store.parsed_run import ParsedRun, normalise
from ragtriage.data.store.question_sets import parsed_set
from ragtriage.data.store.workspace import SCALES

__all__ = ["EXPORTS", "FIXTURES", "differences", "expectations", "figures"]

FIXTURES = Path(__file__).parents[1] / "tests" / "fixtures"
EXPORTS = FIXTURES / "exports"
FOLDERS = (EXPORTS, FIXTURES / "exports2", FIXTURES / "own_tables")
TOGETHER = " + "  # joins the names of files that are imported in one command
SHOWN = 90  # characters of a sentence or a note
TOLERANCE = 2e-6  # of a mean, which is written with six decimals
NOT_DATA = (
    "README*",
    "LICENSE*",
    "LICENSES/*",
    "expected*.json",
    "_*/*",
    "objects/*",
)  # objects: see test_frameworks
PLANTED = {"samples": "rows", "runs": "runs", "questions": "questions"}  # of a table made by hand
COUNTED = {
    "questions": "questions",
    "runs": "runs",
    "contexts_total": "passages",
    "errored_rows": "without_answer",
}
TITLES = ("file", "rows", "means (n)", "labels, passed / failed", "scales", "left out", "expected", "equal")


def main() -> int:
    """Print the table; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folders", nargs="*", type=Path, metavar="FOLDER", default=FOLDERS)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    rows = [row for folder in arguments.folders for row in _rows(folder)]
    print(json.dumps(rows, indent=1, ensure_ascii=False) if arguments.json else _markdown(rows))
    wrong = sum(bool(row["differs"]) for row in rows)
    print(f"\n{len(rows) - wrong} of {len(rows)} as expected", file=sys.stderr)
    return 1 if wrong else 0


def _rows(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield what each file of a folder holds, what is expected of it, and what of it differs."""
    wanted = {name: facts for name, facts in expectations(folder).items() if _is_there(folder, name)}
    named = {folder / part for name in wanted for part in name.split(TOGETHER)}
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        if named.isdisjoint((file, *file.parents)) and not any(file.match(name) for name in NOT_DATA):
            wanted[str(file.relative_to(folder))] = {}
    for name, facts in wanted.items():
        read = _read_or_refused(folder, name)
        yield {
            "file": f"{folder.name}/{name}",
            "read": read,
            "expected": facts,
            "differs": _unequal(read, facts),
        }


def _is_there(folder: Path, name: str) -> bool:
    return all((folder / part).exists() for part in name.split(TOGETHER))


def expectations(folder: Path) -> dict[str, dict[str, Any]]:
    """Return what is expected of the files of a folder: file -> figures that must be equal."""
    beside = folder / "expected.json"
    content = json.loads(
        (beside if beside.exists() else FIXTURES / folder.name / beside.name).read_text("utf-8")
    )
    if "tables" in content:
        return {
            name: {ours: truth[theirs] for theirs, ours in PLANTED.items()}
            for name, truth in content["tables"].items()
        }
    if "files" in content:
        return {name: _counted(facts) for name, facts in content["files"].items()}
    return dict(content)


def _counted(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the figures of a file that was counted under the names of its tool."""
    if not facts.get("rows"):
        return {"summary": True}
    means: list[Any] = []
    checks: list[Any] = []
    for name, score in _counted_scores(facts.get("scores_by_run", facts.get("scores", {}))):
        if "passed" in score:  # a verdict by the tool's own threshold
            checks.append([score["passed"], score["failed"]])
        elif f"{name}_without_invalid" not in facts.get(
            "scores", ()
        ):  # which alone leaves out what was not judged
            means.append([score["n"], score["mean"], score["scale"]])
    return {
        "rows": facts.get("rows_after_import", facts["rows"]),
        **{ours: facts[theirs] for theirs, ours in COUNTED.items() if theirs in facts},
        **({"means_of": means} if means else {}),
        **({"checks_of": checks} if checks else {}),
    }


def _counted_scores(scores: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for name, score in scores.items():
        if "n" in score:
            yield name, score
        else:  # scores of a run, or of a filter of answers
            yield from _counted_scores(score)


def _read_or_refused(folder: Path, name: str) -> dict[str, Any]:
    try:
        return figures(*(folder / part for part in name.split(TOGETHER)))
    except InputError as refusal:
        return {"refused": str(refusal)}


def differences(folder: Path, name: str, wanted: Mapping[str, Any]) -> list[str]:
    """Return what of some files differs from what is wanted: each figure, as read and as wanted."""
    read = _read_or_refused(folder, name)
    return [f"{key}: {read.get(key)}, not {wanted.get(key)}" for key in _unequal(read, wanted)]


def _unequal(read: Mapping[str, Any], wanted: Mapping[str, Any]) -> list[str]:
    if "refused" in read:
        return (
            []
            if not wanted or "summary" in wanted or wanted.get("refused", "\0") in read["refused"]
            else ["refused"]
        )
    return [key for key, value in wanted.items() if not _equal(key, read, value)]


def _equal(key: str, read: Mapping[str, Any], wanted: Any) -> bool:
    """Return whether a figure is as wanted; `means` may lack metrics, `..._of` have the names of the tool."""
    if key == "summary":
        return bool(read["rows"] == 0)
    if key == "without_answer":
        return wanted in (read["errors"], read["rows"] - read["answers"])
    if key == "means":
        return all(_near(read["means"].get(metric), mean) for metric, mean in wanted.items())
    if key == "means_of":
        all_passes = [sum(counts) for counts in zip(*read["checks"].values(), strict=True)]
        passes = [
            [sum(each), each[0] / sum(each)] for each in (*read["checks"].values(), all_passes) if any(each)
        ]
        found = [*read["means_of_runs"], *read["human"].values(), *passes]
        return all(any(_near(mean, [n, value]) for mean in found) for n, value, _ in wanted)
    if key == "checks_of":
        return all(verdicts in read["checks"].values() for verdicts in wanted)
    return bool(read.get(key) == wanted)


def _near(read: list[Any] | None, wanted: list[Any]) -> bool:
    """Return whether n and mean, and where wanted the number of failed scores, are equal."""
    if read is None:
        return False
    (n, mean, *failed), (wanted_n, wanted_mean, *wanted_failed) = read, wanted
    return n == wanted_n and abs(mean - wanted_mean) <= TOLERANCE and wanted_failed in ([], failed)


def figures(*paths: Path) -> dict[str, Any]:
    """Return the counts and means of the runs in files of one command together, as they would be stored.

    Raises:
        InputError: they are refused.
    """
    facts: dict[str, Any] = {"scales": {}, "ranges": {}, "left_out": [], "reported": {}}
    runs: list[list[dict[str, Any]]] = []
    for source, options in joined([one for path in paths for one in inputs_of(str(path), Options())]):
        errors = ValidationErrors(source.name)
        for run in read_runs(source, options, errors):
            runs.append(_samples(run, errors))
            facts |= {"format": run.format, "questions_only": run.questions}
            facts["ranges"] |= {name: list(of["range"]) for name, of in run.metrics.items() if "range" in of}
            facts["scales"] |= {metric: list(ends) for metric, ends in run.config.get(SCALES, {}).items()}
            facts["left_out"] += [note for note in run.all_notes if note not in facts["left_out"]]
            facts["reported"] |= run.means
        errors.raise_if_any()
        facts["left_out"] += [f"{rows} x {reason}" for reason, rows in errors.left_out.items()]
    means = _means_of([sample for of_run in runs for sample in of_run])
    return {
        **facts,
        "runs": len(runs),
        "rows_of_runs": [len(of_run) for of_run in runs],
        "means": means,
        "scores": {metric: mean[:2] for metric, mean in means.items()},
        "means_of_runs": [mean[:2] for of_run in runs for mean in _means_of(of_run).values()],
        **_counts([sample for of_run in runs for sample in of_run]),
    }


def _samples(run: ParsedRun, errors: ValidationErrors) -> list[dict[str, Any]]:
    if run.questions:
        return [
            defaultdict(lambda: None, question, tags=None) for question in parsed_set(run, errors).questions
        ]
    records = (normalise(record, line, errors) for line, record in run.records)
    return [record for record in records if record is not None]


def _means_of(samples: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """Return metric -> samples scored, their mean, and samples where it failed."""
    values: dict[str, list[float | None]] = defaultdict(list)
    for sample in samples:
        for score in sample["scores"] or ():
            values[score["metric"]].append(score["value"])
    numbers = {metric: [value for value in of if value is not None] for metric, of in values.items()}
    return {
        metric: [len(of), round(fmean(of), 6), values[metric].count(None)]
        for metric, of in numbers.items()
        if of
    }


def _counts(samples: list[dict[str, Any]]) -> dict[str, Any]:
    people: dict[str, list[float]] = defaultdict(list)
    passes: dict[str, Counter[bool | None]] = defaultdict(Counter)
    for sample in samples:
        for label in sample["human"] or ():
            people[label["metric"]].append(label["value"])
        for check in sample["checks"] or ():
            passes[check["name"]][check["passed"]] += 1
    latencies = [sample["latency_ms"] for sample in samples if sample["latency_ms"] is not None]
    cited = (len(entry["ids"] or ()) for sample in samples for entry in sample["citations"] or ())
    return {
        "rows": len(samples),
        "questions": len({sample["question_id"] or sample["question"] for sample in samples}),
        "answers": sum(sample["answer"] is not None for sample in samples),
        "references": sum(sample["reference_answer"] is not None for sample in samples),
        "passages": sum(len(sample["retrieved"] or ()) for sample in samples),
        "gold": sum(len(sample["relevant"] or ()) for sample in samples),
        "with_gold": sum(bool(sample["relevant"]) for sample in samples),
        "cited": sum(cited),
        "errors": sum(any(tag["key"] == "error" for tag in sample["tags"] or ()) for sample in samples),
        "human": {metric: [len(of), round(fmean(of), 6)] for metric, of in people.items()},
        "checks": {name: [counts[True], counts[False]] for name, counts in passes.items()},
        "latency_ms": [len(latencies), round(sum(latencies) / len(latencies), 3)] if latencies else [0, 0],
    }


def _markdown(rows: list[dict[str, Any]]) -> str:
    lines = [f"| {' | '.join(TITLES)} |", "|---" * len(TITLES) + "|"]
    for row in rows:
        verdict = "yes" if not row["differs"] else f"no: {', '.join(row['differs'])}"
        cells = [row["file"], *_cells(row["read"]), _expected_text(row["expected"])]
        shown = (cell.replace("|", "/").replace("\n", " ") for cell in cells)
        lines.append(f"| {' | '.join(shown)} | {verdict if row['expected'] else 'not counted'} |")
    return "\n".join(lines)


def _cells(read: Mapping[str, Any]) -> list[str]:
    if "refused" in read:
        return [f"refused: {read['refused'].partition(': ')[2][:SHOWN].partition(';')[0]}", "", "", "", ""]
    runs = f" in {read['runs']} runs" if read["runs"] > 1 else ""
    kind = " questions" if read["questions_only"] else ""
    labels = [f"{name} {good} / {bad}" for name, (good, bad) in read["checks"].items()]
    labels += [f"{name} {mean:.3f} ({n}), by people" for name, (n, mean) in read["human"].items()]
    scales = ", ".join(
        f"{name} {low:g}-{high:g}" for name, (low, high) in (read["ranges"] | read["scales"]).items()
    )
    left_out = "; ".join(note[:SHOWN] for note in read["left_out"])
    reported = [f"{name} {mean:.3f}, as reported" for name, mean in read["reported"].items()]
    means = ", ".join([*_mean_texts(read["means"]), *reported])
    return [f"{read['rows']}{kind}{runs}", means, ", ".join(labels), scales, left_out]


def _mean_texts(means: Mapping[str, list[Any]]) -> Iterator[str]:
    for metric, (n, mean, *failed) in means.items():
        yield f"{metric} {mean:.3f} ({n}{f', {failed[0]} failed' if any(failed) else ''})"


def _expected_text(wanted: Mapping[str, Any]) -> str:
    parts: list[str] = []
    for key, value in wanted.items():
        if key in ("scores", "means"):
            parts += _mean_texts(value)
        elif key == "means_of":
            parts += [f"{mean:.3f} ({n}, {scale})" for n, mean, scale in value]
        elif isinstance(value, dict):
            parts.append(f"{key} " + ", ".join(f"{name} {one}" for name, one in value.items()))
        elif key != "format":
            parts.append(f"{key.replace('_', ' ')} {value}")
    return ", ".join(parts)


if __name__ == "__main__":
    sys.exit(main())
