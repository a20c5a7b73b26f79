"""Which gates a project has: the bundled ones, or those of a gates.toml."""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from pydantic import ValidationError

from ragtriage.data.errors import DataError, ValidationErrors
from ragtriage.data.gates.gates_file import GatesFile, GateTable, describe
from ragtriage.data.store.workspace import Workspace
from ragtriage.metrics.gates.gates import Gate

FILE_NAME = "gates.toml"
BUNDLED = "the bundled gates"
GateKey = tuple[object, ...]


@dataclass(frozen=True)
class GateConfig:
    """The gates of every project."""

    source: str  # path of the file, or BUNDLED
    general: tuple[Gate, ...]  # gates of all projects
    projects: Mapping[str, tuple[Gate, ...]]  # name of a project -> gates of its own
    # (project, key of the gate) of the general gates that a project turns off
    off: frozenset[tuple[str, GateKey]] = frozenset()

    def gates_for(self, project: str) -> tuple[Gate, ...]:
        """Return the gates of a project: its own replace general ones on the same thing, the rest follows.

        Raises:
            DataError: none of them blocks.
        """
        own = {_key(gate): gate for gate in self.projects.get(project, ())}
        general = [own.pop(_key(gate), gate) for gate in self.general]
        gates = [gate for gate in [*general, *own.values()] if (project, _key(gate)) not in self.off]
        if not any(gate.severity == "block" for gate in gates):
            raise DataError(
                f"{self.source}: no gate of project {project[:60]!r} blocks; accepted: at least one [[gate]] "
                'with severity = "block"'
            )
        return tuple(gates)


def _key(gate: Gate) -> GateKey:
    """Return what a gate looks at; two gates of a project on the same thing would contradict each other."""
    return (gate.kind, gate.metric, gate.slice, gate.at_most, gate.percentile, gate.over)


def load_gates(workspace: Workspace, file: str | None = None) -> GateConfig:
    """Read the gates of a file, else of the workspace's gates.toml, else the bundled ones.

    Raises:
        DataError: the file cannot be read or something in it is wrong; what, where, what would be accepted.
    """
    path = Path(file) if file else workspace.root / FILE_NAME
    if file is None and not path.exists() and not path.is_symlink():
        return read_gates(bundled_text(), BUNDLED)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(
            f"{path}: cannot be read ({error}); accepted: a TOML file in UTF-8, see docs/gates.md"
        ) from error
    return read_gates(text, str(path))


def bundled_text() -> str:
    """Return the text of the bundled gates.toml."""
    return (files("ragtriage.data.gates") / FILE_NAME).read_text(encoding="utf-8")


def read_gates(text: str, source: str) -> GateConfig:
    """Read gates from the text of a gates.toml.

    Raises:
        InputError: everything that is wrong with it.
        DataError: it is not TOML.
    """
    try:
        values = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise DataError(f"{source}: is not TOML ({error}); accepted: see docs/gates.md") from error
    errors = ValidationErrors(source)
    try:
        file = GatesFile.model_validate(values)
    except ValidationError as error:
        for details in error.errors():
            errors.add(None, *describe(details))
        errors.raise_if_any()
        raise
    for place, what, accepted in _contradictions(file):
        errors.add(None, place, what, accepted)
    errors.raise_if_any()
    return GateConfig(
        source,
        tuple(table.to_gate(file.rule) for table in file.gate),
        {
            name: tuple(table.to_gate(file.rule) for table in project.gate if not table.off)
            for name, project in file.project.items()
        },
        frozenset(
            (name, _key(table.to_gate()))
            for name, project in file.project.items()
            for table in project.gate
            if table.off
        ),
    )


def _contradictions(file: GatesFile) -> Iterator[tuple[str, str, str]]:
    """Find gates that are valid alone and not together: (place, what is wrong, what would be accepted)."""
    if any(table.off for table in file.gate):
        yield "gate", "off = true outside of a project", "leave the gate out"
    yield from _repeated("gate", file.gate)
    for name, project in file.project.items():
        yield from _repeated(f"project.{name[:60]}.gate", project.gate)


def _repeated(place: str, tables: Sequence[GateTable]) -> Iterator[tuple[str, str, str]]:
    numbers: dict[GateKey, int] = {}
    for number, table in enumerate(tables, 1):
        first = numbers.setdefault(_key(table.to_gate()), number)
        if first != number:
            what = f"is the same gate as number {first}"
            yield f"{place}[{number}].metric", what, "one gate for each thing it looks at"
