"""The command and environment of another Python interpreter that runs a module of ragtriage."""

import os
import sys
from importlib.resources import files
from pathlib import Path


def python_module(module: str, *words: str) -> tuple[list[str], dict[str, str]]:
    """Return the command that runs a module of ragtriage, and its environment.

    -P keeps the working folder off the path, so that nothing in it is imported in place of a library.
    """
    root = str(Path(str(files("ragtriage"))).resolve().parent)
    path = os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])
    return [sys.executable, "-P", "-m", module, *words], {**os.environ, "PYTHONPATH": path}
