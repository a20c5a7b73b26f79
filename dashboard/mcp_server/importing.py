"""The tool that imports a run, from files below the folders that the server was started with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from ragtriage.dashboard.mcp_server.bounded import DATA_NOTE, name_text, quoted, shortened
from ragtriage.dashboard.mcp_server.chosen_runs import Tools
from ragtriage.data.diagnosis.run_digest import digest_new_runs
from ragtriage.data.errors import DataError
from ragtriage.data.importers.importer import Options
from ragtriage.data.importers.load import inputs_of, load_source
from ragtriage.data.store.write_run import ImportedRun

MOST_FILES = 2_000  # of a folder
MOST_NOTES, LONGEST_NOTE = 10, 300


@dataclass(frozen=True)
class ImportTools(Tools):
    """The tool that imports."""

    folders: tuple[Path, ...]  # below which files may be read, with their links followed

    def import_run(
        self,
        path: Annotated[
            str, Field(min_length=1, description="File or folder of an evaluation, below an allowed folder.")
        ],
        project: Annotated[
            str, Field(max_length=200, description="Project of the run; empty for the usual one.")
        ] = "",
        name: Annotated[
            str, Field(max_length=200, description="Name of the run; empty for that of the file.")
        ] = "",
    ) -> dict[str, Any]:
        """Import what an evaluation wrote, in any format that ragtriage reads, and score it. Writes.

        Returns the runs that are new or were there already, with the columns that were left out and what was
        noted on the way. Nothing is loaded of a file that cannot be read.
        """
        file = allowed_file(path, self.folders)
        imported: list[ImportedRun] = []
        target = project.strip() or self.store.usual_project()
        for source, options in inputs_of(str(file), Options(name=name.strip() or None)):
            imported += load_source(self.store, source, options, target).runs
        if not imported:
            raise DataError(f"{file.name}: holds no run; accepted: answers, retrieved documents or scores")
        digest_new_runs(self.store, [entry.run for entry in imported])
        answer = {
            "runs": [self._entry(entry) for entry in imported],
            "note": DATA_NOTE,
            "next": f'triage(run="{imported[0].run.run_id}") says whether it may ship and where it fails; '
            "list_runs() has all runs",
        }
        return shortened(answer, "runs")

    def _entry(self, entry: ImportedRun) -> dict[str, Any]:
        run = entry.run
        return {
            **self.run_values(run),
            "status": entry.status,
            "format": run.origin["format"],
            "left_out": [name_text(name) for name in list(entry.left_out)[:MOST_NOTES]],
            "extra": [name_text(name) for name in list(entry.extra)[:MOST_NOTES]],
            "notes": [quoted(note, LONGEST_NOTE) for note in run.notes[:MOST_NOTES]],
        }


def allowed_file(text: str, folders: Sequence[Path]) -> Path:
    """Return the path of a file or folder, with its links followed; a relative one is below the first folder.

    Raises:
        DataError: it, or a file of the folder, lies elsewhere; whether there is such a file is not said.
    """
    accepted = " or ".join(f"a file in {folder}" for folder in folders)
    try:
        path = (folders[0] / Path(text.strip())).resolve()
        inside = path.is_relative_to
        files = [path, *path.rglob("*")] if path.is_dir() and any(map(inside, folders)) else [path]
        resolved = [file.resolve() for file in files[: MOST_FILES + 1]]
    except (OSError, ValueError, RuntimeError) as error:  # a NUL, a ring of links
        raise DataError(f"path {text[:80]!r} is not one; accepted: {accepted}") from error
    if len(resolved) > MOST_FILES:
        raise DataError(f"{path.name}: holds more than {MOST_FILES:,} files; accepted: some of them by name")
    if not all(any(file.is_relative_to(folder) for folder in folders) for file in resolved):
        raise DataError(f"path {text[:80]!r} is not read by this server; accepted: {accepted}")
    return path
