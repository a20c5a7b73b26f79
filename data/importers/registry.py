"""Every importer, in the order in which a file is tried: the first that recognises it reads it.

`formats.json` declares them. A group of it names a module and the signs by which its files are known:
patterns, of which a name in a file of theirs fits at least one (`Peek.names`). An entry may have `marks`,
which its files show, and `refused`: why a file that says nothing alone is not read, and what would be.
The other facts are those of `Importer`. No other file loads the module, whose READERS hold the code of
its importers.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache, cached_property
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from ragtriage.data.importers.importer import Importer, Marks, Peek, Reader, ToolRows, refuse

ENTRY_POINTS = "ragtriage.importers"


@dataclass(frozen=True)
class Format:
    """A module with importers, and the names by which their files are known."""

    module: str  # name of the module in this room
    signs: str  # separated by spaces
    importers: Mapping[str, Mapping[str, Any]]  # key -> facts, in the order in which they are asked
    written_by: str = ""  # of all that do not say it themselves

    def fits(self, names: frozenset[str], peek: Peek) -> bool:
        """Return whether a file with these names may be one of theirs."""
        signs = self.signs.lower().split()
        patterns = [sign for sign in signs if "*" in sign or "?" in sign]
        signed = not names.isdisjoint(signs) or any(
            fnmatchcase(name, pattern) for pattern in patterns for name in names
        )
        return signed and any(_marks(facts).fit(peek) for facts in self.importers.values())

    @cached_property
    def loaded(self) -> list[Importer]:
        """The importers; their module is loaded now."""
        readers = import_module(f"{__package__}.{self.module}").READERS
        return [
            _importer(key, {"written_by": self.written_by, **facts}, readers.get(key, Reader()))
            for key, facts in self.importers.items()
        ]


def _marks(facts: Mapping[str, Any]) -> Marks:
    return Marks(**facts.get("marks", {}))


def _importer(key: str, facts: Mapping[str, Any], code: Reader) -> Importer:
    def detect(peek: Peek) -> bool:
        return _marks(facts).fit(peek) and (code.detect is None or code.detect(peek))

    own = {name: value for name, value in facts.items() if name not in ("marks", "refused")}
    read = code.read or refuse(*facts["refused"])
    return Importer(key, detect=detect, read=read, rows=code.rows, **own)


_LISTED = json.loads(Path(__file__).with_name("formats.json").read_text(encoding="utf-8"))
TOOLS, QUESTION_FILES, GENERAL = (
    tuple(Format(**group) for group in _LISTED[name]) for name in ("tools", "question_files", "general")
)


def keys_of(formats: Iterable[Format]) -> list[str]:
    """Return the keys of formats, in their order."""
    return [key for entry in formats for key in entry.importers]


def loaded(formats: Iterable[Format]) -> Iterator[Importer]:
    """Yield the importers of formats, in their order; each module is loaded when it is reached."""
    return (importer for entry in formats for importer in entry.loaded)


def candidates(peek: Peek) -> Iterator[Importer]:
    """Yield the importers that may read a file, by the names in it; no other module is loaded."""
    names = peek.names
    yield from loaded(entry for entry in (*TOOLS, *QUESTION_FILES) if entry.fits(names, peek))
    yield from _plugins()[0]
    yield from loaded(entry for entry in GENERAL if entry.fits(names, peek))


@cache
def importers() -> Mapping[str, Importer]:
    """Return every importer by its key: those of tools, installed plugins, general ones.

    A plugin is an entry point of the group `ragtriage.importers` that names an Importer or several. One that
    does not work is left out, for the files of other tools have nothing to do with it: see `plugin_faults`.
    """
    listed = (*loaded((*TOOLS, *QUESTION_FILES)), *_plugins()[0], *loaded(GENERAL))
    return {importer.key: importer for importer in listed}


def importer_of(key: str) -> Importer | None:
    """Return the importer of a key, of which the module alone is loaded; None where there is none."""
    for entry in (*TOOLS, *QUESTION_FILES, *GENERAL):
        if key in entry.importers:
            return next(importer for importer in entry.loaded if importer.key == key)
    return next((importer for importer in _plugins()[0] if importer.key == key), None)


def plugin_faults() -> tuple[str, ...]:
    """Return why installed plugins are left out: a sentence each that names the package."""
    return _plugins()[1]


def tool_rows() -> list[ToolRows]:
    """Return the rows of tools that are recognised in a table from Python too."""
    return [importer.rows for importer in importers().values() if importer.rows is not None]


@cache
def _plugins() -> tuple[tuple[Importer, ...], tuple[str, ...]]:
    """Return the importers of installed packages, and why others of them cannot be used."""
    own = set(keys_of((*TOOLS, *QUESTION_FILES, *GENERAL)))
    usable: list[Importer] = []
    faults: list[str] = []
    for entry in entry_points(group=ENTRY_POINTS):
        package = entry.dist.name if entry.dist is not None else entry.value
        what = f"the importer {entry.name!r} of {package}"
        try:
            declared = _declared(entry)
        except Exception as error:  # noqa: BLE001 -- code of another package may raise anything
            faults.append(f"{what} cannot be loaded: {type(error).__name__}: {error}")
            continue
        if declared is None:
            faults.append(f"{what} is not a ragtriage.importers.Importer")
            continue
        taken = [importer.key for importer in declared if importer.key in own]
        faults += [f"{what} calls itself {key!r}, as one of ragtriage does" for key in taken]
        usable += [importer for importer in declared if importer.key not in own]
    return tuple(usable), tuple(faults)


def _declared(entry: EntryPoint) -> list[Importer] | None:
    """Return the importers that an entry point names; None where it names something else."""
    loaded = entry.load()
    declared = [loaded] if isinstance(loaded, Importer) else loaded
    is_listed = isinstance(declared, list | tuple)
    return list(declared) if is_listed and all(isinstance(each, Importer) for each in declared) else None
