"""Write the gates of a profile into a workspace."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from ragtriage.data.errors import DataError, WorkspaceError
from ragtriage.data.gates.config import FILE_NAME, GateConfig, read_gates
from ragtriage.data.store.read_only import must_write
from ragtriage.data.store.stored_file import replace_file
from ragtriage.data.store.workspace import Workspace

_NAMES = (
    "prototype",
    "production",
    "technical-manuals",
    "customer-service",
    "points-of-interest",
    "memory",
    "research",
    "regulated",
)


@dataclass(frozen=True)
class Profile:
    """A kind of use: its name, and what it is in one sentence."""

    name: str
    title: str


def profile_text(name: str) -> str:
    """Return the gates.toml of a profile.

    Raises:
        DataError: there is no such profile.
    """
    if name not in _NAMES:
        raise DataError(f"profile {name[:40]!r}; accepted: {', '.join(_NAMES)}")
    return (files("ragtriage.data.strategy.profiles") / f"{name}.toml").read_text(encoding="utf-8")


def profile_gates(name: str) -> GateConfig:
    """Return the gates of a profile; raises DataError for an unknown one."""
    return read_gates(profile_text(name), f"profile {name}")


def _title(name: str) -> str:
    return profile_text(name).partition("\n")[0].removeprefix("# ")


PROFILES: Mapping[str, Profile] = {name: Profile(name, _title(name)) for name in _NAMES}


def write_profile(workspace: Workspace, name: str, force: bool = False) -> Path:
    """Write the gates of a profile to the workspace's gates.toml, whole or not at all; return its path.

    Args:
        workspace: it is created where it does not exist.
        name: of the profile.
        force: whether a gates.toml that is there is replaced.

    Raises:
        DataError: there is no such profile, or a gates.toml is there.
        WorkspaceError: the folder cannot be written.
    """
    text, path = profile_text(name), workspace.root / FILE_NAME
    must_write(f"gates of the workspace {workspace.name}")
    workspace.create()
    if path.exists() and not force:
        raise DataError(f"{path} exists already; accepted: --force to replace it")
    try:
        replace_file(path, text.encode())
    except OSError as error:
        raise WorkspaceError(f"{path}: cannot be written ({error.strerror})") from error
    return path
