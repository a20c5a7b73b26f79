"""Loading what the first page needs while the browser still loads what draws it."""

from __future__ import annotations

import gc
import threading
from contextlib import suppress
from importlib import import_module

MODULES = (  # in the order in which the first page needs them
    "ragtriage.dashboard.shell.costs",
    "ragtriage.dashboard.shell.header",
    "ragtriage.dashboard.shell.session",
    "pandas",
    "pyarrow.dataset",
    "PIL.ImageFile",
    "streamlit.material_icon_names",
    "ragtriage.dashboard.present.page_html.blocks",
    "ragtriage.dashboard.pages.triage.run_tabs",
    "ragtriage.dashboard.pages.triage.lists",
    "ragtriage.dashboard.pages.triage.overview",
)
_threads: list[threading.Thread] = []  # the one that preloads, once it was started


def start_preloading() -> None:
    """Import the modules in a thread of its own."""
    _threads.append(threading.Thread(target=_preload, name="preload", daemon=True))
    _threads[-1].start()


def wait_for_preload() -> None:
    """Return once every module is loaded; at once where nothing was started."""
    for thread in _threads:
        thread.join()


def _preload() -> None:
    gc.disable()  # it would search again and again through what stays for good: a sixth of the time
    try:
        for module in MODULES:
            with suppress(Exception):  # the page itself tells what is missing or broken
                import_module(module)
        gc.freeze()
    finally:
        gc.enable()
