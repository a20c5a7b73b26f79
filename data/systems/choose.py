"""Choose a system under test from what a user typed."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ragtriage.data.errors import DataError
from ragtriage.data.systems.command import CommandSystem, split_command
from ragtriage.data.systems.http import HttpSystem
from ragtriage.data.systems.system import System

BUILT_IN = "builtin:"


def is_address(text: str) -> bool:
    """Return whether a system is named by an http address."""
    return text.strip().casefold().startswith(("http://", "https://"))


def open_system(
    text: str,
    keep_alive: bool = False,
    header_env: Mapping[str, str] | None = None,
    built_in: Mapping[str, Callable[[], System]] | None = None,
) -> System:
    """Return the system that a text names; the caller closes it.

    Args:
        text: an http or https address, "builtin:NAME", or a command with its arguments.
        keep_alive: whether a command's processes stay and answer line by line.
        header_env: headers of an address, each with the variable of the environment that holds its value.
        built_in: the built-in systems by name, where the caller has any.

    Raises:
        DataError: it cannot be what it says.
    """
    if not text.strip():
        raise DataError("--system is empty; accepted: a command with its arguments, or an http address")
    if is_address(text):
        if keep_alive:
            raise DataError("--keep-alive is for commands; an http address is asked as it is")
        return HttpSystem(text, header_env)
    if header_env:
        raise DataError("--header-env is for http addresses; a command has the environment as it is")
    if text.strip().startswith(BUILT_IN):
        return _built_in(text.strip().removeprefix(BUILT_IN), built_in or {})
    return CommandSystem(split_command(text), keep_alive)


def _built_in(name: str, built_in: Mapping[str, Callable[[], System]]) -> System:
    if name not in built_in:
        known = ", ".join(f"{BUILT_IN}{key}" for key in built_in) or "a command or an http address"
        raise DataError(f"system {BUILT_IN}{name[:40]}: not known here; accepted: {known}")
    return built_in[name]()
