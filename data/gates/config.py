"""Which gates a project has: the bundled ones, or those of a gates.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from data.comparison.compare import GOOD_SHARE
from data.comparison.metric_families import FAMILIES
from data.errors import DataError, ValidationErrors
from data.store.workspace import Workspace
from metrics.gates.gates import Gate, GateKind
from metrics.metric_registry import REGISTRY, lookup
from metrics.schema.scores import MetricsError

__all__ = ["BUNDLED", "FILE_NAME", "GateConfig", "load_gates", "read_gates"]

FILE_NAME = "gates.toml"
BUNDLED = "the bundled gates"
KINDS: tuple[GateKind, ...] = ("mean", "regression", "checks", "critical")
_SHARED = ("kind", "severity", "reason", "required", "slice", "off")
_OWN: Mapping[str, tuple[str, ...]] = {
    "mean": ("metric", "at_least", "at_most"),
    "regression": ("metric", "drop"),
    "checks": ("checks", "at_least"),
    "critical": ("tag", "values"),
}
Wrong = Callable[[str, str, str], None]  # field, what is wrong, what would be accepted


@dataclass(frozen=True)
class GateConfig:
    """The gates of every project.

    Attributes:
        source: where they come from, for people.
        general: gates of all projects.
        projects: name of a project -> gates of its own.
        off: (project, kind, what it looks at, slice) of those that a project removes.
    """

    source: str
    general: tuple[Gate, ...]
    projects: Mapping[str, tuple[Gate, ...]]
    off: frozenset[tuple[str, tuple[object, ...]]] = frozenset()

    def gates_for(self, project: str) -> tuple[Gate, ...]:
        """Give the gates of a project: its own in place of general ones on the same thing, then the rest.

        Raises:
            DataError: none of them blocks.
        """
        own = {_place(gate): gate for gate in self.projects.get(project, ())}
        kept = [own.pop(_place(gate), gate) for gate in self.general]
        gates = [gate for gate in [*kept, *own.values()] if (project, _place(gate)) not in self.off]
        if not any(gate.severity == "block" for gate in gates):
            raise DataError(
                f"{self.source}: no gate of project {project[:60]!r} blocks; accepted: at least one [[gate]] "
                'with severity = "block"'
            )
        return tuple(gates)


def _place(gate: Gate) -> tuple[object, ...]:
    """Tell apart what gates look at; two on the same thing cannot both hold."""
    return (gate.kind, gate.metric, gate.slice, gate.at_most)


def load_gates(workspace: Workspace, file: str | None = None) -> GateConfig:
    """Read the gates: of the file named, else of the workspace's gates.toml, else the bundled ones.

    Raises:
        DataError: the file cannot be read or something in it is wrong; what, where, what would be accepted.
    """
    path = Path(file) if file else workspace.root / FILE_NAME
    if file is None and not path.is_file():
        return read_gates((files("data.gates") / FILE_NAME).read_text(encoding="utf-8"), BUNDLED)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(
            f"{path}: cannot be read ({error}); accepted: a TOML file in UTF-8, see docs/gates.md"
        ) from error
    return read_gates(text, str(path))


def read_gates(text: str, source: str) -> GateConfig:
    """Read gates from the text of a gates.toml.

    Raises:
        InputError: everything that is wrong with it.
        DataError: it is no TOML.
    """
    try:
        given = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise DataError(f"{source}: is no TOML ({error}); accepted: see docs/gates.md") from error
    problems = ValidationErrors(source)
    for key in given.keys() - {"gate", "project"}:
        problems.add(None, key, "is no section of this file", "[[gate]], [[project.NAME.gate]]")
    general = _gates(given.get("gate", []), "gate", problems)
    if any(off for _, off in general):
        problems.add(None, "gate", "off = true outside of a project", "leave the gate out")
    projects = {name: _project(name, one, problems) for name, one in _table(given, problems).items()}
    problems.raise_if_any()
    return GateConfig(
        source,
        tuple(gate for gate, _ in general),
        {name: tuple(gate for gate, off in found if not off) for name, found in projects.items()},
        frozenset((name, _place(gate)) for name, found in projects.items() for gate, off in found if off),
    )


def _table(given: Mapping[str, Any], problems: ValidationErrors) -> dict[str, Any]:
    found = given.get("project", {})
    if isinstance(found, dict):
        return found
    problems.add(None, "project", "is not a table", "[[project.NAME.gate]]")
    return {}


def _project(name: str, given: Any, problems: ValidationErrors) -> list[tuple[Gate, bool]]:
    where = f"project.{name[:60]}"
    if not isinstance(given, dict) or given.keys() - {"gate"}:
        problems.add(None, where, "holds something that is no gate", f"[[{where}.gate]]")
        return []
    return _gates(given.get("gate", []), f"{where}.gate", problems)


def _gates(given: Any, where: str, problems: ValidationErrors) -> list[tuple[Gate, bool]]:
    """Read a list of gates, each with whether it is turned off."""
    if not isinstance(given, list) or not all(isinstance(one, dict) for one in given):
        problems.add(None, where, "is not a list of gates", f"[[{where}]]")
        return []
    found: list[tuple[Gate, bool]] = []
    seen: dict[tuple[object, ...], int] = {}
    for number, one in enumerate(given, 1):

        def wrong(field: str, what: str, accepted: str, number: int = number) -> None:
            problems.add(None, f"{where}[{number}].{field}", what, accepted)

        gate = _gate(one, wrong)
        if gate is None:
            continue
        first = seen.setdefault(_place(gate), number)
        if first != number:
            wrong("metric", f"is the same gate as number {first}", "one gate for each thing it looks at")
        found.append((gate, one.get("off") is True))
    return found


def _gate(one: Mapping[str, Any], wrong: Wrong) -> Gate | None:
    """Read one gate; None where it has no kind that could be read."""
    kind = next((known for known in KINDS if known == one.get("kind", "mean")), None)
    if kind is None:
        wrong("kind", f"{one['kind']!r}", ", ".join(KINDS))
        return None
    accepted = (*_OWN[kind], *_SHARED)
    for key in one.keys() - set(accepted):
        wrong(key, f"is no setting of a gate of kind {kind}", ", ".join(accepted))
    metric = _subject(one, kind, wrong)
    threshold, at_most = _threshold(one, kind, metric, wrong)
    block = _word(one, "severity", ("block", "warn"), wrong) == "block"
    required = _flag(one, "required", wrong)
    _flag(one, "off", wrong)
    if required and not block:
        wrong("required", "a gate that only warns cannot be required", 'severity = "block"')
    return Gate(
        metric,
        threshold,
        at_most,
        "block" if block else "warn",
        _text(one, "reason", "", wrong),
        kind,
        required,
        _slice(one, wrong),
        _values(one, wrong) if kind == "critical" else (),
    )


def _subject(one: Mapping[str, Any], kind: GateKind, wrong: Wrong) -> str:
    field = {"checks": "checks", "critical": "tag"}.get(kind, "metric")
    text = _text(one, field, "critical" if kind == "critical" else None, wrong)
    if field != "metric" or not text or text == GOOD_SHARE or (kind == "regression" and text in FAMILIES):
        return text
    try:
        return lookup(text).name
    except MetricsError as error:
        if f"{text}@k" in REGISTRY:
            wrong("metric", f"{text!r} needs a rank cut-off", f"e.g. {text}@5")
        elif "@" in text:
            wrong("metric", str(error), "a metric of docs/metrics.md, with its cut-off where it takes one")
        return text  # a score that only the imported files know


def _threshold(one: Mapping[str, Any], kind: GateKind, metric: str, wrong: Wrong) -> tuple[float, bool]:
    if kind == "critical":
        return 0.0, True
    if kind == "regression":
        return _number(one, "drop", 0.05, (0.0, float("inf")), wrong), True
    limits = [field for field in ("at_least", "at_most") if field in one]
    if kind == "checks":
        return _number(one, "at_least", 1.0, (0.0, 1.0), wrong), False
    if one.get("off") is True and not limits:
        return 0.0, not _rises(metric)
    if len(limits) != 1:
        wrong("at_least", f"{len(limits)} thresholds", "either at_least or at_most")
        return 0.0, False
    at_most = limits == ["at_most"]
    if at_most == _rises(metric) and _declared(metric):
        side = "at_least" if _rises(metric) else "at_most"
        wrong(limits[0], f"{metric} is better when {'higher' if _rises(metric) else 'lower'}", side)
    return _number(one, limits[0], 0.0, _bounds(metric), wrong), at_most


def _declared(metric: str) -> bool:
    try:
        return lookup(metric).metric.higher_is_better is not None
    except MetricsError:
        return False


def _rises(metric: str) -> bool:
    """Whether a metric is better when higher; true of one that nobody declared."""
    try:
        return lookup(metric).metric.higher_is_better is not False
    except MetricsError:
        return True


def _bounds(metric: str) -> tuple[float, float]:
    try:
        return lookup(metric).metric.bounds
    except MetricsError:
        return (-float("inf"), float("inf"))


def _number(
    one: Mapping[str, Any], field: str, default: float, bounds: tuple[float, float], wrong: Wrong
) -> float:
    value = one.get(field, default)
    known = isinstance(value, int | float) and not isinstance(value, bool)
    if not known or not bounds[0] <= value <= bounds[1] or value in (float("inf"), -float("inf")):
        wrong(
            field, f"{value!r}"[:80], f"a number from {bounds[0]:g} to {bounds[1]:g}".replace("to inf", "up")
        )
        return default
    return float(value)


def _text(one: Mapping[str, Any], field: str, default: str | None, wrong: Wrong) -> str:
    value = one.get(field, default)
    if not isinstance(value, str) or (default is None and not value.strip()):
        wrong(field, "is missing" if value is None else f"{value!r}"[:80], "a text in quotes")
        return ""
    return value.strip()


def _word(one: Mapping[str, Any], field: str, words: Sequence[str], wrong: Wrong) -> str:
    value = one.get(field, words[0] if one.get("off") is True else None)
    if value not in words:
        wrong(
            field, "is missing" if value is None else f"{value!r}"[:80], " or ".join(f'"{w}"' for w in words)
        )
        return words[0]
    return str(value)


def _flag(one: Mapping[str, Any], field: str, wrong: Wrong) -> bool:
    value = one.get(field, False)
    if not isinstance(value, bool):
        wrong(field, f"{value!r}"[:80], "true or false")
    return value is True


def _slice(one: Mapping[str, Any], wrong: Wrong) -> tuple[str, str] | None:
    given = one.get("slice")
    if given is None:
        return None
    if not isinstance(given, dict) or len(given) != 1 or not all(isinstance(v, str) for v in given.values()):
        wrong(
            "slice", f"{given!r}"[:80], '{ NAME = "VALUE" } with one name, e.g. { query_type = "multi-hop" }'
        )
        return None
    ((name, value),) = given.items()
    return name, value


def _values(one: Mapping[str, Any], wrong: Wrong) -> tuple[str, ...]:
    given = one.get("values", ["yes", "true"])
    if not isinstance(given, list) or not given or not all(isinstance(value, str) for value in given):
        wrong("values", f"{given!r}"[:80], 'a list of texts, e.g. ["yes", "true"]')
        return ()
    return tuple(given)
