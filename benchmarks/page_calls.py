"""Measure how deep the calls of a page go, and how much of the code it runs, on the bundled samples."""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
LAYERS = tuple(f"{ROOT / layer}/" for layer in ("ragtriage", "metrics", "data", "dashboard"))
PROJECTS = {"triage": "iris", "cases": "iris", "chunking": "state_of_the_union"}  # page -> project on display
WRAPPERS = ("<module>", "<lambda>", "<listcomp>", "<dictcomp>", "<setcomp>", "<genexpr>")


@dataclass
class Calls:
    """The calls of one run of a page.

    Attributes:
        functions: file and qualified name of every function that was called.
        deepest: the longest chain of functions, outermost first.
    """

    functions: set[tuple[str, str]] = field(default_factory=set)
    deepest: tuple[str, ...] = ()

    def record(self, frame: FrameType, event: str, _: Any) -> None:
        """Record a call, as `sys.setprofile` reports it."""
        if event != "call" or not _counts(frame):
            return
        code = frame.f_code
        self.functions.add((code.co_filename, code.co_qualname))
        chain: list[str] = []
        caller: FrameType | None = frame
        while caller is not None:
            if _is_import(caller):
                return
            if _counts(caller):
                chain.append(
                    f"{Path(caller.f_code.co_filename).relative_to(ROOT)}:{caller.f_code.co_qualname}"
                )
            caller = caller.f_back
        if len(chain) > len(self.deepest):
            self.deepest = tuple(reversed(chain))


def _counts(frame: FrameType) -> bool:
    code = frame.f_code
    return code.co_filename.startswith(LAYERS) and code.co_name not in WRAPPERS


def _is_import(frame: FrameType) -> bool:
    return "importlib" in frame.f_code.co_filename


def measure(page: str) -> Calls:
    """Draw a page twice and record the calls of the second time: everything is imported and scored by then.

    Streamlit's cached results are dropped in between, so the page computes what it shows.
    """
    import threading

    import streamlit as st
    from streamlit.testing.v1 import AppTest

    app = AppTest.from_file(str(ROOT / "dashboard" / "pages" / "app.py"), default_timeout=300)
    app.query_params["project"] = PROJECTS[page]
    app.run()
    app.switch_page(f"{page}/{page}.py").run()
    st.cache_resource.clear()
    calls = Calls()
    threading.setprofile(calls.record)
    sys.setprofile(calls.record)
    try:
        app.run()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    if app.exception:
        raise RuntimeError(f"{page}: {app.exception[0].message}")
    return calls


def main() -> None:
    """Print depth, functions and files of each page; with --chains the deepest chain too."""
    import os

    from ragtriage.data.demo import load_samples
    from ragtriage.data.scoring.run_store import RunStore
    from ragtriage.data.store.workspace import Workspace

    with tempfile.TemporaryDirectory() as folder:
        os.environ["RAGTRIAGE_WORKSPACE"] = folder
        load_samples(RunStore(Workspace(folder).create()))
        print("| page | depth | functions | files |\n|---|---|---|---|")
        for page in PROJECTS:
            calls = measure(page)
            files = {file for file, _ in calls.functions}
            print(f"| {page.capitalize()} | {len(calls.deepest)} | {len(calls.functions)} | {len(files)} |")
            if "--chains" in sys.argv:
                print("\n".join(f"  {step}" for step in calls.deepest))


if __name__ == "__main__":
    main()
