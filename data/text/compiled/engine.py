"""Whether the compiled loops can be used: numba installed, and a folder that keeps what it compiles.

Compiling takes seconds, so it is done once a machine: what is compiled stays in the user's cache folder, and
processes that start together wait for the first. Whatever goes wrong, the Python code does the work.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib import import_module, metadata
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from types import ModuleType
from typing import Any

import numpy as np

from ragtriage.data.text.compiled.vocabulary import new_kinds

SWITCH = "RAGTRIAGE_COMPILED"  # 0: the Python code is used though numba is installed
VERSION_LENGTH = 16  # characters of the name of a version
UNUSED = 30 * 24 * 3600  # seconds after which compiled code of another version is removed
_failure = ""
_loading = Lock()


def is_installed() -> bool:
    """Return whether numba is there and not switched off."""
    return os.environ.get(SWITCH, "") != "0" and find_spec("numba") is not None


def is_loaded() -> bool:
    """Return whether the compiled loops are in memory, or were tried."""
    return _loaded.cache_info().currsize > 0


def why_not() -> str:
    """Return why the compiled loops cannot be used though numba is installed; "" where nothing is known."""
    if is_installed() and not _failure and not is_loaded():
        try:
            _prepared_folder()
        except (OSError, RuntimeError, ImportError) as error:  # no folder, no home folder, a broken numba
            return _reason(error)
    return _failure


def compiled_loops() -> ModuleType | None:
    """Return the module of compiled loops, ready to be called; None where the Python code is to be used."""
    if not is_installed():
        return None
    with _loading:
        return _loaded()


@cache
def _loaded() -> ModuleType | None:
    global _failure  # noqa: PLW0603 - asked for once a process
    try:
        folder = _prepared_folder()
        ready = folder / "ready"
        if ready.exists():
            loops = _loops(folder)
            with suppress(Exception):  # a file there is damaged, e.g. by a crash of the machine
                _call_each(loops)
                ready.touch()  # in use: see _remove_unused
                return loops
            # remove what was compiled; a process that looks for it meanwhile compiles for itself
            (folder / "ready").unlink(missing_ok=True)
            for path in (*folder.rglob("*.nbi"), *folder.rglob("*.nbc")):
                path.unlink(missing_ok=True)
        with _one_process_at_a_time(folder):
            loops = _loops(folder)
            _call_each(loops)
        ready.touch()
        _remove_unused(folder)
    except Exception as error:  # noqa: BLE001 -- numba may fail in many ways; none may stop an import
        _failure = _reason(error)
        return None
    return loops


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0]


def _prepared_folder() -> Path:
    """Return a folder for what this version compiles to, which can be written to."""
    folder = _cache_folder() / _version()
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with (folder / "lock").open("ab"):
        return folder


def _cache_folder() -> Path:
    """Return the folder of compiled code: the user's own, because what lies there is run."""
    if given := os.environ.get("NUMBA_CACHE_DIR"):
        return Path(given)
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "ragtriage" / "compiled"


def _remove_unused(folder: Path) -> None:
    """Remove what other versions compiled and no process has used for long; one that does compiles anew."""
    if "NUMBA_CACHE_DIR" in os.environ:  # a folder that may hold other things
        return
    with suppress(OSError):  # another process removes it
        for ready in folder.parent.glob(f"{'[0-9a-f]' * VERSION_LENGTH}/ready"):
            if time.time() - ready.stat().st_mtime > UNUSED:
                shutil.rmtree(ready.parent, ignore_errors=True)


def _version() -> str:
    """Return a name for what is compiled; numba looks at single files, not at what they import."""
    here = Path(__file__).parent
    imported = [here.parent / name for name in ("context_attribution.py", "tokens.py")]
    sources = sorted([*here.glob("*.py"), *imported])
    facts = [metadata.version("numba"), sys.version, str(here)]
    facts += [str(source.stat().st_mtime_ns) for source in sources if source.parent == here]
    texts = [source.read_bytes() for source in sources]
    return hashlib.sha256(b"\0".join([*(fact.encode() for fact in facts), *texts])).hexdigest()[
        :VERSION_LENGTH
    ]


def _loops(folder: Path) -> ModuleType:
    config: Any = import_module("numba.core.config")
    given = config.CACHE_DIR
    config.CACHE_DIR = str(folder)
    try:
        from ragtriage.data.text.compiled import loops
    finally:
        config.CACHE_DIR = given
    return loops


@contextmanager
def _one_process_at_a_time(folder: Path) -> Iterator[None]:
    with (folder / "lock").open("wb") as file:
        if sys.platform != "win32":  # there, processes that start together compile each for itself
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _call_each(loops: ModuleType) -> None:
    """Have every loop compiled, and kept, by calling it with the types that it will be called with."""
    from ragtriage.data.text.compiled.vocabulary import Vocabulary

    vocabulary = Vocabulary(loops, new_kinds())
    documents = vocabulary.documents(["One sentence, and more."])
    answers = vocabulary.answers(["One sentence, and more."])
    one, only = np.array([0, 1]), np.zeros(1, dtype=np.int64)
    documents.attributed(answers, one, only)
    documents.compared(documents, one, only, only, 10, 0.8)
    documents.covered(documents, one, only)
