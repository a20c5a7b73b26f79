"""The help of each command as stored text: showing it loads neither the command nor its libraries.

`python docs/doc_reference.py` renews the file from the commands themselves.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import click

WHOLE = 200  # characters of what a list of commands says of one, as `experiment` lists its own
HELP_FILE = Path(__file__).with_name("command_help.json")


def help_record(command: click.Command, context: click.Context) -> dict[str, Any]:
    """Return what the help of a command is made of, and of the commands below it, as JSON values."""
    options = [
        option.get_help_record(context)
        for option in command.get_params(context)
        if isinstance(option, click.Option)
    ]
    record: dict[str, Any] = {
        "usage": command.collect_usage_pieces(context),
        "help": command.help,
        "options": [option for option in options if option],  # none of a hidden one
    }
    if isinstance(command, click.Group):
        record["commands"] = {
            name: help_record(inner, click.Context(inner, info_name=name, parent=context))
            for name, inner in command.commands.items()
        }
    return record


def stored_help(name: str, words: Sequence[str], help_names: Sequence[str]) -> click.Command | None:
    """Return a command that knows its help alone; None where the words after its name ask for anything else.

    None too where its help is not stored.
    """
    words = list(words)
    record = _records().get(name) if set(help_names) & set(words[:2]) else None
    if record is None:
        return None
    asked = words[1:2] if words[0] in record.get("commands", ()) else words[:1]
    return _command(name, record) if asked and asked[0] in help_names else None


def stored_summary(name: str) -> str:
    """Return the first sentence of the stored help of a command; "" where none is stored."""
    paragraph: str = _records().get(name, {"help": ""})["help"].partition("\n\n")[0]
    return " ".join(paragraph.split())


@cache
def _records() -> Mapping[str, Mapping[str, Any]]:
    """Return the stored help by command; {} where it is not installed, or damaged."""
    try:
        return json.loads(HELP_FILE.read_text(encoding="utf-8"))  # type: ignore[no-any-return] # as help_record
    except (OSError, ValueError):
        return {}


def _command(name: str, record: Mapping[str, Any]) -> click.Command:
    command = _StoredGroup(name) if "commands" in record else _StoredCommand(name)
    command.help, command.usage, command.options = record["help"], record["usage"], record["options"]
    if isinstance(command, click.Group):
        command.commands = {below: _command(below, entry) for below, entry in record["commands"].items()}
    return command


class _StoredCommand(click.Command):
    usage: Sequence[str]
    options: Sequence[Sequence[str]]

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 -- signature of click
        return list(self.usage)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 -- signature of click
        with formatter.section("Options"):
            formatter.write_dl([(option, text) for option, text in self.options])
        if isinstance(self, click.Group):
            with formatter.section("Commands"):
                rows = [
                    (name, self.commands[name].get_short_help_str(WHOLE)) for name in sorted(self.commands)
                ]
                formatter.write_dl(rows)


class _StoredGroup(_StoredCommand, click.Group):
    pass
