"""How long until something is there? `ragtriage --help`, a call from Python, the first heading of a page.

python benchmarks/start_speed.py [--rounds 5]
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from dashboard_speed import open_pages
from make_runs import make_runs
from page_speed import make_workspace

import ragtriage

HELP = (
    "import sys; sys.argv[1:] = ['--help']; from ragtriage.dashboard.cli.main import main; sys.exit(main())"
)


def seconds(rounds: int, code: str, *words: str) -> float:
    """Return the median seconds of a fresh Python that runs some code."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code, *words], stdout=subprocess.DEVNULL, check=True)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def call_seconds(root: Path, rounds: int) -> float:
    """Return the median seconds of listing the runs from Python, once the libraries are loaded."""
    ragtriage.runs(workspace=root)
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        ragtriage.runs(workspace=root)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def measure(folder: Path, rounds: int = 5) -> dict[str, float]:
    """Return the median seconds of the help, of a call, to the first heading, and to the finished page."""
    root = folder / "workspace"
    if not root.exists():
        make_workspace(root, make_runs(folder / "files", 60, 5))
    opened = [open_pages(root, ()) for _ in range(rounds)]
    return {
        "help": seconds(rounds, HELP),
        "call": call_seconds(root, rounds),
        "heading": statistics.median(each.cold for each in opened),
        "finished": statistics.median(each.whole for each in opened),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    os.environ.setdefault("STREAMLIT_LOGGER_LEVEL", "error")
    with tempfile.TemporaryDirectory(prefix="ragtriage-bench-") as folder:
        found = measure(Path(folder), given.rounds)
    print(f"{'ragtriage --help':44}{found['help']:12.2f} s")
    print(f"{'a call from Python':44}{found['call']:12.2f} s")
    print(f"{'cold start to the first heading':44}{found['heading']:12.2f} s")
    print(f"{'cold start to a finished page':44}{found['finished']:12.2f} s")


if __name__ == "__main__":
    main()
