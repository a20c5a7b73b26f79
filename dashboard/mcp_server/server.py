"""The server: its tools and the one that imports, how an answer goes out, and errors as one sentence."""

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from inspect import getdoc
from pathlib import Path
from typing import Annotated, Any

from anyio import BrokenResourceError
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp_types import CallToolResult, InputRequiredResult, TextContent, ToolAnnotations
from pydantic import Field, ValidationError

from ragtriage import __version__
from ragtriage.dashboard.mcp_server.case_list import CaseListTools
from ragtriage.dashboard.mcp_server.chosen_runs import (
    DATA_NOTE,
    RunTools,
    Tools,
    json_text,
    name_text,
    quoted,
    shortened,
)
from ragtriage.dashboard.mcp_server.single_case import LabelTools, SingleCaseTools
from ragtriage.dashboard.mcp_server.verdicts import VerdictTools
from ragtriage.data.diagnosis.run_digest import digest_new_runs
from ragtriage.data.errors import DataError
from ragtriage.data.importers.importer import Options
from ragtriage.data.importers.load import inputs_of, load_source
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.access import READ_ONLY
from ragtriage.data.store.write_run import ImportedRun
from ragtriage.metrics.schema.scores import MetricsError

MOST_FILES = 2_000  # of a folder
MOST_NOTES, LONGEST_NOTE = 10, 300
INSTRUCTIONS = f"""\
ragtriage holds evaluation runs of a retrieval-augmented generation (RAG) pipeline and says where it fails.
Call `triage` first: verdict, the stage to fix first, what newly fails. Then `cases` for the failing cases
with their reasons (since="yesterday", against="baseline", stage=...), `case` for one whole, `compare` to see
whether a change helped, `gate` for the verdict of CI. A number that is null was not measured: it is not 0.
Do not claim a change where `compare` says "cannot tell". {DATA_NOTE}"""
MOST_SAID = 600  # characters of an error


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


class TriageServer(MCPServer[Any]):
    """An MCP server over one workspace; it only reads, unless labels or imports are allowed."""

    def __init__(
        self, store: RunStore, allow_labels: bool = False, import_folders: Sequence[Path] = ()
    ) -> None:
        super().__init__(
            "ragtriage",
            title="ragtriage",
            instructions=INSTRUCTIONS,
            version=__version__,
            log_level="ERROR",  # on standard error; standard output is the protocol's
        )
        runs, verdicts = RunTools(store), VerdictTools(store)
        reading: list[Callable[..., Any]] = [
            verdicts.triage,
            CaseListTools(store).cases,
            SingleCaseTools(store).case,
            runs.list_runs,
            verdicts.compare,
            verdicts.gate,
            verdicts.diagnose,
            verdicts.metrics,
        ]
        for tool in reading:
            self.add_tool(
                tool,
                description=getdoc(tool),
                annotations=ToolAnnotations(read_only_hint=True, open_world_hint=False),
            )
        writing: list[Callable[..., Any]] = []
        if allow_labels:
            writing.append(LabelTools(store).label)
        if import_folders:
            writing.append(
                ImportTools(store, tuple(folder.resolve() for folder in import_folders)).import_run
            )
        for tool in writing:
            self.add_tool(
                tool,
                description=getdoc(tool),
                annotations=ToolAnnotations(
                    read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False
                ),
            )

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        """Call a tool; its answer goes out as structured values and as the same values in compact JSON.

        Raises:
            ToolError: it cannot be done; the message is one sentence.
        """
        accepted = next((tool.input_schema for tool in await self.list_tools() if tool.name == name), None)
        names = arguments.keys() if accepted is None else accepted.get("properties", {}).keys()
        if unknown := sorted(arguments.keys() - names):  # a filter that is misspelt must not show everything
            raise ToolError(f"argument {unknown[0]!r:.60} is unknown; accepted: {', '.join(names) or 'none'}")
        try:
            result = await super().call_tool(name, arguments, context)
        except ToolError as error:
            raise ToolError(_sentence(error)) from None
        if isinstance(result, InputRequiredResult) or result.structured_content is None:
            return result
        text = json_text(result.structured_content)
        return result.model_copy(update={"content": [TextContent(type="text", text=text)]})


def _sentence(error: ToolError) -> str:
    """Return what went wrong in a call, and what would be accepted."""
    cause = error.__cause__
    if isinstance(cause, DataError | MetricsError):
        return " ".join(str(cause).split())[: 3 * MOST_SAID]
    if isinstance(cause, ValidationError):
        fault = cause.errors(include_url=False, include_context=False)[0]
        name = ".".join(map(str, fault["loc"]))
        if fault["type"] == "missing":
            return f"argument {name} is missing; accepted: a value for it"
        accepted = fault["msg"].removeprefix("Input should be ")
        return f"argument {name}: {fault['input']!r:.60}; accepted: {accepted}"
    if isinstance(error, UnexpectedToolError) and cause is not None:
        return f"internal error in ragtriage ({type(cause).__name__}: {cause})"[:MOST_SAID]
    return str(error)[:MOST_SAID]


def serve_stdio(store: RunStore, allow_labels: bool = False, import_folders: Sequence[Path] = ()) -> None:
    """Serve a workspace over standard input and output until the client closes them.

    Unless labels or imports are allowed, this process cannot write.
    """
    if not allow_labels and not import_folders:
        os.environ[READ_ONLY] = "1"
    try:
        TriageServer(store, allow_labels, import_folders).run("stdio")
    except* (BrokenPipeError, BrokenResourceError):  # the client has gone without a word: that is its right
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for what is still to be flushed
