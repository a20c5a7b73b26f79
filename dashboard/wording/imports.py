"""What is said of an import: a line for each run, and the formats that can be read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ragtriage.data.importers.importer import Importer
from ragtriage.data.importers.registry import importer_of
from ragtriage.data.store.write_run import ImportedRun
from ragtriage.metrics.number_text import count

SHOWN_RUNS = 5
SHOWN_COLUMNS = 5


def import_lines(
    imported: Sequence[ImportedRun], names: Mapping[str, str], behind: str = "", shown: int = SHOWN_RUNS
) -> list[str]:
    """Return a line for each run of an import, at most some and how many more.

    Args:
        imported: the runs.
        names: run id -> name on screen.
        behind: what stands elsewhere, e.g. "2 notes: --explain"; ends the first line.
        shown: number of runs with a line of their own.
    """
    lines = [_line(entry, names.get(entry.run.run_id, entry.run.name)) for entry in imported[:shown]]
    if lines and behind:
        lines[0] = f"{lines[0]}; {behind}"
    return [*lines, f"and {len(imported) - shown:,} more"] if len(imported) > shown else lines


def _line(entry: ImportedRun, name: str) -> str:
    run = entry.run
    importer = importer_of(run.origin["format"])
    title = run.origin["format"] if importer is None else importer.title
    if run.means:
        return f"{name}: summary scores of {count(len(run.means), 'metric')} from {title}"
    left_out = sum(entry.left_out.values())
    unit = "row" if importer is None else importer.unit
    parts = [f"{count(run.n, 'sample')} from {title}"]
    parts[0] += f", read {run.n:,} of {count(run.n + left_out, unit)}"
    if left_out:
        reasons = [reason for reason, _ in entry.left_out.most_common(2)]
        more = ", ..." if len(entry.left_out) > len(reasons) else ""
        parts.append(f"{left_out:,} left out: {', '.join(reasons)}{more}")
    if entry.extra:
        columns = ", ".join(entry.extra[:SHOWN_COLUMNS]) + (
            ", ..." if len(entry.extra) > SHOWN_COLUMNS else ""
        )
        parts.append(f"{count(len(entry.extra), 'column')} kept as extra: {columns}")
    if entry.status == "unchanged":
        parts.append("unchanged, was already there")
    return f"{name}: {'; '.join(parts)}"


def note_on_page(note: str) -> str:
    """Return a note on an import as a page says it: a table is edited where a command has an option."""
    told, option, _ = note.partition("map it to scores.NAME, as in --map ")
    return f"{told}write scores.NAME as its “Read as”" if option else note


def formats(known: Iterable[Importer]) -> list[dict[str, Any]]:
    """Return each format by the names of the JSON answer: ragtriage's own first, the others by title."""
    return [
        {
            "format": importer.key,
            "title": importer.title,
            "holds": importer.holds,
            "file": importer.accepts,
            "written_by": importer.written_by,
            "example": importer.example,
        }
        for importer in sorted(
            known, key=lambda importer: (importer.key != "native", importer.title.casefold())
        )
    ]
