"""What users declare of imported metrics: direction, range and title, kept in the workspace's metrics.toml.

[metric.helpfulness]                  # in every project
direction = "higher"                  # or "lower"
range = [1, 5]                        # least and greatest value; may be left out
title = "Helpfulness"                 # may be left out

[project.support-bot.metric.bleu]     # in one project, before the general one
direction = "higher"
"""

import json
import math
import os
import re
import tomllib
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal

from ragtriage.data.errors import DataError
from ragtriage.data.store.access import must_write
from ragtriage.data.store.sample_models import is_unicode
from ragtriage.data.store.workspace import Workspace
from ragtriage.metrics.metric_registry import declare_imported, declared, imported_declarations
from ragtriage.metrics.schema.metric import Metric

FILE_NAME = "metrics.toml"
HOW_TO_DECLARE = (
    "declare it on the page Runs, with the import's option --metric NAME=higher,0..1 (or lower), "
    'or in metrics.toml ([metric.NAME], direction = "higher")'
)
ACCEPTED = (
    'direction ("higher" or "lower" is better), and maybe range (least and greatest value, e.g. [0, 1]) and '
    "title"
)
TEXT_ACCEPTED = "NAME=higher or NAME=lower, then maybe ,LEAST..GREATEST and ,TITLE: helpfulness=higher,1..5"
LONGEST_TITLE = 60
LARGEST = 1e12
KEYS = ("primary", "metric", "citation_pattern", "refusals")  # at the top, and of a project
_RANGE = re.compile(r"\s*(-?[0-9.]+(?:e-?[0-9]+)?)\s*\.\.\s*(-?[0-9.]+(?:e-?[0-9]+)?)\s*")
_HEADER = re.compile(r"\s*\[[^\[\]]*(?:\"[^\"]*\"[^\[\]]*)*\]\s*(?:#.*)?")


@dataclass(frozen=True)
class Declaration:
    """The declaration of one imported metric."""

    direction: Literal["higher", "lower"]  # whether higher or lower is better
    bounds: tuple[float, float] | None = None  # least and greatest value; None where not declared
    title: str = ""  # name on screen; "" for the metric's own

    @property
    def table(self) -> dict[str, Any]:
        """It as a table of metrics.toml."""
        table: dict[str, Any] = {"direction": self.direction}
        if self.bounds is not None:
            table["range"] = list(self.bounds)
        return table | ({"title": self.title} if self.title else {})

    def metric(self, name: str) -> Metric:
        """Return it as the declaration of a metric."""
        return Metric(
            key=name,
            title=self.title or name.replace("_", " "),
            meaning="A score of the imported file.",
            formula="by the tool that scored it",
            component="answer",
            needs=("scores",),
            undefined="Never; not run where the file has no value.",
            reference=f"declared in {FILE_NAME}",
            higher_is_better=self.direction == "higher",
            bounds=self.bounds or (-math.inf, math.inf),
        )


def declaration_fault(name: str, value: object) -> tuple[str, str] | None:
    """Return what is wrong with the declaration of a metric and what would be accepted; None for nothing."""
    known = declared(name)
    if known is not None and name not in imported_declarations():
        return f"is {known.title} of docs/metrics.md", "the name of a score that only the imported file knows"
    if not name.strip() or not is_unicode(name):
        return "is not a name", "the name of a score"
    if not isinstance(value, Mapping) or value.keys() - {"direction", "range", "title"}:
        return f"found {str(value)[:60]!r}", ACCEPTED
    direction, bounds, title = (value.get(key) for key in ("direction", "range", "title"))
    if direction not in ("higher", "lower"):
        return f"direction is {str(direction)[:60]!r}", '"higher" or "lower"'
    if bounds is not None and not _is_range(bounds):
        return f"range is {str(bounds)[:60]}", "the least and the greatest value, e.g. [0, 1]"
    if title is None or (isinstance(title, str) and title.isprintable() and len(title) <= LONGEST_TITLE):
        return None
    return f"title is {str(title)[:60]!r}", f"text of up to {LONGEST_TITLE} characters"


def _is_range(value: object) -> bool:
    if not isinstance(value, list | tuple) or len(value) != 2:
        return False
    numbers = all(isinstance(end, int | float) and not isinstance(end, bool) for end in value)
    return numbers and -LARGEST < value[0] < value[1] < LARGEST


def declaration_of(name: str, value: Mapping[str, Any], source: str) -> Declaration:
    """Return the declaration that a table of metrics.toml or of a file's header holds.

    Raises:
        DataError: the metric has a declaration of its own, or the table holds something else.
    """
    fault = declaration_fault(name, value)
    if fault is not None:
        raise DataError(f"{source}: metric {name[:60]!r}: {fault[0]}; accepted: {fault[1]}")
    bounds = value.get("range")
    ends = None if bounds is None else (float(bounds[0]), float(bounds[1]))
    return Declaration(value["direction"], ends, (value.get("title") or "").strip())


def parsed_declaration(text: str, source: str) -> tuple[str, Declaration]:
    """Return the metric and the declaration in NAME=DIRECTION[,LEAST..GREATEST][,TITLE].

    Raises:
        DataError: it is something else.
    """
    name, equals, rest = text.partition("=")
    direction, _, rest = rest.partition(",")
    span = _RANGE.fullmatch(rest.partition(",")[0])
    value: dict[str, Any] = {"direction": direction.strip()}
    if span:
        rest = rest.partition(",")[2]
        try:
            value["range"] = [float(span[1]), float(span[2])]
        except ValueError:
            value["range"] = span[0]
    if rest.strip():
        value["title"] = rest.strip()
    if not equals or direction.strip() not in ("higher", "lower"):
        raise DataError(f"{source} {text[:80]!r}; accepted: {TEXT_ACCEPTED}")
    return name.strip(), declaration_of(name.strip(), value, source)


def read_settings(workspace: Workspace) -> dict[str, Any]:
    """Return the content of metrics.toml; nothing where there is none.

    Raises:
        DataError: it cannot be read, or has a key that nothing reads.
    """
    path = workspace.root / FILE_NAME
    try:
        settings = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        accepted = 'primary = "pass rate", [metric.NAME] with direction, or nothing'
        raise DataError(f"{path}: cannot be read ({error}); accepted: {accepted}") from error
    _check_keys(settings, (*KEYS, "project"), str(path))
    projects = settings.get("project")
    for name, own in projects.items() if isinstance(projects, dict) else ():
        if isinstance(own, dict):
            _check_keys(own, KEYS, f"{path}: [project.{name}]")
    for table in (settings, *(projects.values() if isinstance(projects, dict) else ())):
        refusals = table.get("refusals") if isinstance(table, dict) else None
        if isinstance(refusals, dict):
            _check_keys(refusals, ("patterns",), f"{path}: [refusals]")
    return settings


def _check_keys(table: Mapping[str, Any], accepted: Sequence[str], source: str) -> None:
    """Check that a table of metrics.toml has no key but the accepted ones.

    Raises:
        DataError: it has; names the nearest accepted key.
    """
    for key in table:
        if key not in accepted:
            near = get_close_matches(key, accepted, n=1)
            meant = f" (did you mean {near[0]}?)" if near else ""
            raise DataError(f"{source}: {key[:60]!r} is not a key; accepted: {', '.join(accepted)}{meant}")


def declarations_of(workspace: Workspace, project: str) -> dict[str, Declaration]:
    """Return what is declared of imported metrics in a project: its own declarations before general ones.

    Raises:
        DataError: metrics.toml cannot be read, or holds something else.
    """
    settings, source = read_settings(workspace), str(workspace.root / FILE_NAME)
    projects = settings.get("project", {})
    own = projects.get(project, {}) if isinstance(projects, dict) else {}
    tables = [settings.get("metric", {}), own.get("metric", {}) if isinstance(own, dict) else {}]
    for table in tables:
        if not isinstance(table, dict):
            raise DataError(f"{source}: metric is not a table; accepted: [metric.NAME] with {ACCEPTED}")
    read = {}
    for name, value in ((name, value) for table in tables for name, value in table.items()):
        known = None if name in imported_declarations() else declared(name)
        if known is None:
            read[name] = declaration_of(name, value, source)
        else:  # a later version may know the metric; it cannot be turned round
            _check_known(known, name, value, source)
    return read


def _check_known(known: Metric, name: str, value: object, source: str) -> None:
    """Check that the declaration of a metric that we know ourselves says nothing else of its direction.

    Raises:
        DataError: it does.
    """
    direction = value.get("direction") if isinstance(value, Mapping) else None
    if direction is None or known.higher_is_better is None:
        return
    ours = "higher" if known.higher_is_better else "lower"
    if direction != ours:
        what = f"direction is {str(direction)[:60]!r}, but {ours} is better in {known.title}, docs/metrics.md"
        raise DataError(f"{source}: metric {name[:60]!r}: {what}; accepted: {ours!r}, or another name")


def use_declarations(
    workspace: Workspace, project: str, more: Mapping[str, Declaration] | None = None
) -> None:
    """Put a project's declarations of imported metrics in force, and more, in place of another project's."""
    declarations = declarations_of(workspace, project) | dict(more or {})
    declare_imported({name: declaration.metric(name) for name, declaration in declarations.items()})


def declare(workspace: Workspace, project: str, declarations: Mapping[str, Declaration]) -> None:
    """Write declarations to metrics.toml, for one project, and put them in force; the rest of the file stays.

    Raises:
        DataError: the file cannot be read, written, or changed by a program.
    """
    must_write(f"workspace {workspace.root}")
    current, wanted = declarations_of(workspace, project), read_settings(workspace)
    path = workspace.root / FILE_NAME
    text = path.read_text(encoding="utf-8-sig") if path.exists() else ""
    changed = {name: entry for name, entry in declarations.items() if current.get(name) != entry}
    for name, entry in changed.items():
        table = wanted
        for key in ("project", project, "metric"):
            table = table.setdefault(key, {})
            if not isinstance(table, dict):
                raise DataError(f"{path}: {key} is not a table; accepted: [project.NAME.metric.NAME]")
        table[name] = entry.table
    if changed:
        place = "project", project, "metric"
        tables: dict[tuple[str, ...], Declaration] = {
            (*place, name): entry for name, entry in changed.items()
        }
        _write(workspace, path, _with_tables(text, tables), wanted)
    use_declarations(workspace, project)


def _with_tables(text: str, tables: Mapping[tuple[str, ...], Declaration]) -> str:
    """Return the text of a TOML file with the tables at some places replaced, or added at the end."""
    kept, inside = [], False
    for line in text.splitlines():
        if _HEADER.fullmatch(line):
            inside = _place(line) in tables
        if not inside:
            kept.append(line)
    while kept and not kept[-1].strip():
        kept.pop()
    added = [_table_text(place, declaration) for place, declaration in tables.items()]
    return "\n\n".join([*(["\n".join(kept)] if kept else []), *added]) + "\n"


def _table_text(place: tuple[str, ...], declaration: Declaration) -> str:
    header = ".".join(key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _quoted(key) for key in place)
    values = {
        key: _quoted(value) if isinstance(value, str) else value for key, value in declaration.table.items()
    }
    settings = [f"{key} = {value}" for key, value in values.items()]
    return "\n".join([f"[{header}]", *settings])


def _place(header: str) -> tuple[str, ...]:
    """Return the keys of a table's header."""
    try:
        table: Any = tomllib.loads(header)
    except tomllib.TOMLDecodeError:  # a line of a text over several lines
        return ()
    keys = []
    while table:
        key, table = next(iter(table.items()))
        keys.append(key)
    return tuple(keys)


def _quoted(text: str) -> str:
    """Return a text as TOML writes it: as JSON does, but for the one character that only TOML forbids."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _write(workspace: Workspace, path: Path, text: str, wanted: Mapping[str, Any]) -> None:
    """Write metrics.toml beside and rename it, if it then holds what is wanted and nothing else."""
    try:
        holds_it = tomllib.loads(text) == wanted
    except tomllib.TOMLDecodeError:
        holds_it = False
    if not holds_it:
        raise DataError(f"{path}: cannot be changed by a program; accepted: [metric.NAME] written by hand")
    temporary = path.with_name(f".{FILE_NAME}-{os.getpid()}-{uuid.uuid4().hex[:8]}")
    try:
        temporary.write_text(text, encoding="utf-8")
        temporary.chmod(workspace.mode() & 0o666)
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise DataError(
            f"{path}: cannot be written ({error.strerror}); accepted: a writable workspace"
        ) from error
