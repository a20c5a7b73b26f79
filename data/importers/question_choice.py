"""The question set that a user names: one that the workspace keeps, or a file."""

from __future__ import annotations

from pathlib import Path

from ragtriage.data.errors import ValidationErrors, WorkspaceError
from ragtriage.data.importers.detect import read_runs
from ragtriage.data.importers.inputs import inputs_of
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.options import Options
from ragtriage.data.store.question_sets import LoadedSet, find_set, load_set, parsed_set
from ragtriage.data.store.workspace import Workspace


def named_questions(workspace: Workspace, wanted: str) -> LoadedSet:
    """Return the question set of a name or id, or that of a file or folder.

    A path that exists is read as one; a name that is also a path is the path.

    Raises:
        InputError: the file cannot be read as questions.
        WorkspaceError: there is no such set, and no such file.
    """
    if is_question_file(wanted):
        return read_question_file(*inputs_of(str(Path(wanted).expanduser()), Options())[0])
    try:
        return load_set(workspace, find_set(workspace, wanted).set_id)
    except WorkspaceError as error:
        if Path(wanted).suffix:
            raise WorkspaceError(f"{wanted}: does not exist, and {error}") from error
        raise


def is_question_file(wanted: str) -> bool:
    """Return whether the user means a file rather than a question set of the workspace."""
    return Path(wanted).expanduser().exists()


def read_question_file(source: InputFile, options: Options | None = None) -> LoadedSet:
    """Return the questions of a file in any format that is read; answers and what was retrieved are left out.

    Raises:
        InputError: it cannot be read, or holds several runs.
    """
    errors = ValidationErrors(source.name)
    runs = read_runs(source, options or Options(), errors)
    if len(runs) > 1:
        raise source.error(f"holds {len(runs)} runs", "a file with one list of questions")
    return parsed_set(runs[0], errors)
