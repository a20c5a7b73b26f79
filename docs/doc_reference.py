"""The reference of commands and of the Python package, made from their help texts and docstrings.

`python docs/doc_reference.py` renews docs/commands.md, docs/python.md and dashboard/cli/command_help.json.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click
from doc_tables import renewed
from docstring_parser import DocstringStyle, parse

import ragtriage
from ragtriage.dashboard.cli.main import COMMANDS, HELP_FILE, app, help_record

__all__ = ["PAGES", "command_help", "commands_reference", "python_reference"]

DOCS = Path(__file__).parent
SHARED = {"--workspace", "--version", "--help"}  # options of every command, named once
ALIASES = {  # of ragtriage.functions
    "Path": "str | PathLike[str] | None",
    "RunName": "str | Run",
    "RunName | Sequence[RunName]": "str | Run | Sequence[str | Run]",
}


def commands_reference() -> str:
    """Return every command with its usage, text and options, as Markdown."""
    return "\n\n".join(map(_command, sorted(COMMANDS)))


def command_help() -> str:
    """Return the help of every command as the JSON that the command line shows it from, a line a command."""
    lines = [
        f"{json.dumps(name)}: {json.dumps(help_record(*_command_of(name)), ensure_ascii=False)}"
        for name in sorted(COMMANDS)
    ]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _command_of(name: str) -> tuple[click.Command, click.Context]:
    parent = click.Context(app, info_name="ragtriage", **app.context_settings)
    command = app.get_command(parent, name)
    assert command is not None  # noqa: S101 -- it is in the table of commands
    return command, click.Context(command, info_name=name, parent=parent)


def _command(name: str) -> str:
    command, context = _command_of(name)
    inner = command.commands.values() if isinstance(command, click.Group) else ()
    return "\n\n".join(
        [_described(command, context, f"## {name}"), *(_inner(entry, context) for entry in inner)]
    )


def _inner(command: click.Command, parent: click.Context) -> str:
    """Return a command of a command, e.g. `experiment position`."""
    context = click.Context(command, info_name=command.name, parent=parent)
    return _described(command, context, f"### {parent.info_name} {command.name}")


def _described(command: click.Command, context: click.Context, heading: str) -> str:
    usage = f"```text\n{command.get_usage(context).removeprefix('Usage: ')}\n```"
    records = [
        option.get_help_record(context)
        for option in command.get_params(context)
        if isinstance(option, click.Option) and not SHARED & set(option.opts)
    ]
    rows = [(f"`{record[0]}`", record[1]) for record in records if record is not None]
    text = _plain(inspect.cleandoc(command.help or ""))
    return "\n\n".join([heading, text, usage, *([_table("Option", "What it does", rows)] if rows else [])])


def python_reference() -> str:
    """Return every public name of the package with its signature and docstring, as Markdown."""
    names = sorted(ragtriage.__all__, key=lambda name: (inspect.isclass(getattr(ragtriage, name)), name))
    return "\n\n".join(_public_name(name, getattr(ragtriage, name)) for name in names)


def _public_name(name: str, described: Callable[..., Any]) -> str:
    docstring = parse(inspect.getdoc(described) or "", DocstringStyle.GOOGLE)
    parts = [f"### {name}", _plain(docstring.short_description or "")]
    if inspect.isfunction(described):
        parts.insert(1, f"```text\n{_signature(name, described)}\n```")
    if docstring.long_description:
        parts.append(_plain(docstring.long_description.partition(">>>")[0].strip()))
    kind = "Attribute" if inspect.isclass(described) else "Argument"
    rows = [
        (f"`{entry.arg_name}`", " ".join((entry.description or "").split())) for entry in docstring.params
    ]
    parts += [_table(kind, "What it is", rows)] if rows else []
    methods = [
        (
            f"`{method}({', '.join(list(inspect.signature(function).parameters)[1:])})`",
            inspect.getdoc(function),
        )
        for method, function in inspect.getmembers(described, inspect.isfunction)
        if inspect.isclass(described) and not method.startswith("_")
    ]
    if methods:
        parts.append(
            _table(
                "Method", "What it does", [(name, (text or "").partition("\n")[0]) for name, text in methods]
            )
        )
    if docstring.returns is not None:
        parts.append(f"**Returns:** {_plain(docstring.returns.description or '')}")
    parts += [
        f"**Raises** `{entry.type_name}`: {_plain(entry.description or '')}" for entry in docstring.raises
    ]
    return "\n\n".join(part for part in parts if part)


def _signature(name: str, function: Callable[..., Any]) -> str:
    """Return a function's signature, an argument a line."""
    signature = inspect.signature(function)
    lines = []
    for argument in signature.parameters.values():
        default = "" if argument.default is argument.empty else f" = {argument.default!r}"
        lines.append(
            f"    {argument.name}: {ALIASES.get(argument.annotation, argument.annotation)}{default},\n"
        )
    return f"{name}(\n{''.join(lines)}) -> {signature.return_annotation}"


def _plain(text: str) -> str:
    """Return text whose lines are joined within paragraphs, with nothing that Markdown would read as HTML."""
    paragraphs = [" ".join(paragraph.split()) for paragraph in text.split("\n\n")]
    return "\n\n".join(paragraphs).replace("<", "\\<")


def _table(first: str, second: str, rows: Sequence[tuple[str, str]]) -> str:
    lines = [(first, second), ("---", "---"), *rows]
    return "\n".join(f"| {left.replace('|', chr(92) + '|')} | {_cell(right)} |" for left, right in lines)


def _cell(text: str) -> str:
    return _plain(text).replace("|", "\\|").replace("*", "\\*")


PAGES: dict[str, tuple[str, Callable[[], str]]] = {  # page -> its mark, what stands there
    "commands.md": ("commands", commands_reference),
    "python.md": ("reference", python_reference),
}

if __name__ == "__main__":
    for page, (mark, content) in PAGES.items():
        path = DOCS / page
        path.write_text(renewed(path.read_text("utf-8"), mark, content()), encoding="utf-8")
    HELP_FILE.write_text(command_help(), encoding="utf-8")
