"""The declaration of an importer: how it recognises a file by its content, and how it reads its runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.formats.tool_rows import ToolRows
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.options import Options
from ragtriage.data.importers.parsing.peek import Peek
from ragtriage.data.store.parsed_run import ParsedRun

Read = Callable[[InputFile, Options, ValidationErrors], list[ParsedRun]]


@dataclass(frozen=True)
class Importer:
    """One format.

    Attributes:
        key: name in commands and in the origin of a run.
        title: name on screen.
        accepts: content of such a file, in a line.
        detect: returns whether a file is of this format, from its content alone; must not raise.
        read: reads a file into parsed runs; errors of single records are added as the records are consumed.
        mapped: whether a mapping of columns applies.
        holds: runs, or question sets: questions with gold and no answers of a system.
        written_by: the tool and the versions that the importer was tested with, e.g. "DeepEval 4.3".
        companion_of: keys of importers whose files it completes: in one command or folder with one of them it
            is handed to that importer in `Options.companions`.
        alone: whether a companion can be read without the others; if not, it is refused with a hint.
        unit: what one sample is made from, e.g. "row" or "trace".
        example: how to write such a file with the tool, in a line; "" where there is nothing to say.
        rows: how its rows are converted, where they come as a table of Python as well.
        shares_folder: whether it reads files of its own out of a folder; files of other formats
            in that folder are imported beside them.
    """

    key: str
    title: str
    accepts: str
    detect: Callable[[Peek], bool]
    read: Read
    mapped: bool = False
    holds: Literal["runs", "questions"] = "runs"
    written_by: str = ""
    companion_of: tuple[str, ...] = ()
    alone: bool = True
    unit: str = "row"
    example: str = ""
    rows: ToolRows | None = None
    shares_folder: bool = False
