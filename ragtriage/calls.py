"""Sending a call to data.api, in this process or, where other packages bear its name, in another one."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from typing import Any

from ragtriage import _worker
from ragtriage.errors import RagtriageError

__all__ = ["call", "shadowing_packages"]

ROOT = Path(__file__).resolve().parents[1]  # the folder in which all packages of ragtriage are installed
PACKAGES = ("dashboard", "data", "metrics")
SITE_FOLDERS = ("site-packages", "dist-packages")


def call(function: str, workspace: str | PathLike[str] | None, **arguments: Any) -> Any:
    """Return the JSON values that a function of data.api gives.

    Raises:
        RagtriageError: it cannot be done.
    """
    folder = None if workspace is None else str(workspace)
    shadows = shadowing_packages()
    if shadows:
        return _call_elsewhere(function, folder, arguments, shadows)
    return _worker.answer(function, folder, arguments)


def shadowing_packages() -> dict[str, str]:
    """Return the packages that are imported in place of ragtriage's own of that name, and their files."""
    shadows = {}
    for name in PACKAGES:
        location = _location(name)
        if location is None or Path(location).resolve() != ROOT / name / "__init__.py":
            shadows[name] = location or "a folder without __init__.py"
    return shadows


def _location(name: str) -> str | None:
    if name in sys.modules:
        return getattr(sys.modules[name], "__file__", None)
    spec = find_spec(name)
    return None if spec is None else spec.origin


def _call_elsewhere(
    function: str, workspace: str | None, arguments: Mapping[str, Any], shadows: Mapping[str, str]
) -> Any:
    """Make a call in a fresh interpreter whose path finds ragtriage's packages first."""
    request = {
        "path": _clean_path(shadows),
        "function": function,
        "workspace": workspace,
        "arguments": {**arguments, **_plain_records(arguments)},
    }
    try:
        process = subprocess.run(  # noqa: S603 -- this interpreter on a file of this package
            [sys.executable, "-P", str(Path(_worker.__file__).resolve())],
            input=json.dumps(request, default=_plain),
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        reply = json.loads(process.stdout)
    except (OSError, TypeError, json.JSONDecodeError) as error:
        reason = process.stderr.strip() if isinstance(error, json.JSONDecodeError) else str(error)
        names = "; ".join(f"{name!r} is {file}" for name, file in shadows.items())
        raise RagtriageError(
            f"packages of this project hide those of ragtriage ({names}), and the call failed in a process "
            f"of its own: {reason}; accepted: a Python that can start another one, or other package names"
        ) from error
    if "error" in reply:
        raise RagtriageError(reply["error"])
    return reply["answer"]


def _clean_path(shadows: Mapping[str, str]) -> list[str]:
    """Return sys.path without the folders that hold the shadowing packages, ragtriage's own before others."""
    entries = [
        entry
        for entry in sys.path
        if entry
        and entry != str(ROOT)
        and (
            Path(entry).name in SITE_FOLDERS
            or not any(
                (Path(entry) / name).is_dir() or (Path(entry) / f"{name}.py").is_file() for name in shadows
            )
        )
    ]
    first_site = next(
        (at for at, entry in enumerate(entries) if Path(entry).name in SITE_FOLDERS), len(entries)
    )
    return [*entries[:first_site], str(ROOT), *entries[first_site:]]


def _plain_records(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the records of a call as a list of dicts, also where they are a DataFrame."""
    records = arguments.get("records")
    if records is None:
        return {}
    return {"records": records.to_dict(orient="records") if hasattr(records, "columns") else records}


def _plain(value: Any) -> Any:
    """Turn what JSON does not know into what it does: arrays into lists, missing values into null."""
    if hasattr(value, "tolist"):
        return value.tolist()
    return None if type(value).__name__ in {"NAType", "NaTType"} else str(value)
