"""How long does a run with very many metrics take: import and scoring, the commands, the first page?

python benchmarks/wide_runs.py [--metrics 600] [--samples 20] [--folder F]
"""

from __future__ import annotations

import argparse
import io
import os
import random
import tempfile
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path

import orjson
from dashboard_speed import APP

__all__ = ["make_wide", "step_times"]


def make_wide(path: Path, metrics: int, samples: int, seed: int = 7) -> Path:
    """Write a run with a score of each of many metrics, which the file declares.

    Args:
        path: the file to write.
        metrics: how many.
        samples: of the run.
        seed: of everything drawn.
    """
    rng = random.Random(seed)
    declared = {f"score_{at:03d}": {"direction": "higher", "range": [0, 1]} for at in range(metrics)}
    lines: list[object] = [{"ragtriage_run": {"name": path.stem, "metrics": declared}}]
    for at in range(samples):
        scores = {f"score_{number:03d}": round(rng.betavariate(5, 2), 3) for number in range(metrics)}
        texts = [f"Passage {rng.randrange(1000)} of the handbook says {at}." for _ in range(5)]
        lines.append(
            {
                "question_id": f"q{at}",
                "question": f"What does the handbook say of {at}?",
                "answer": f"The handbook says {at}.",
                "retrieved": [{"id": f"c{at}-{rank}", "text": text} for rank, text in enumerate(texts)],
                "relevant": [f"c{at}-{rng.randrange(8)}"],
                "scores": scores,
            }
        )
    path.write_bytes(b"\n".join(map(orjson.dumps, lines)))
    return path


def step_times(folder: Path, metrics: int, samples: int) -> dict[str, tuple[float, float]]:
    """Return the seconds and processor seconds of each step from the file to the first page.

    Args:
        folder: for the file and the workspace.
        metrics: how many metrics the run has.
        samples: how many samples.
    """
    from streamlit.testing.v1 import AppTest

    from ragtriage.dashboard.cli.main import main as command_line
    from ragtriage.data.importers.importer import Options
    from ragtriage.data.importers.load import import_source
    from ragtriage.data.importers.parsing.input_file import InputFile
    from ragtriage.data.scoring.run_store import RunStore
    from ragtriage.data.store.workspace import Workspace

    root = folder / "workspace"
    small, wide = make_wide(folder / "small.jsonl", 5, 5), make_wide(folder / "wide.jsonl", metrics, samples)

    def load(file: Path) -> None:
        import_source(RunStore(Workspace(root).create()), InputFile.from_path(file), Options(), file.stem)

    def command(*words: str) -> None:
        with redirect_stdout(io.StringIO()):
            try:
                command_line(["--workspace", str(root), *words])
            except SystemExit as ended:
                if ended.code:
                    raise RuntimeError(f"{words}: exit code {ended.code}") from ended

    def page(project: str) -> None:
        os.environ["RAGTRIAGE_WORKSPACE"] = str(root)
        app = AppTest.from_file(str(APP), default_timeout=600)
        app.query_params["project"] = project
        app.run()
        assert not app.exception, app.exception

    found = {}
    for run in ("small", "wide"):  # the first loads the libraries
        file = small if run == "small" else wide
        found = {
            "import and scoring": _timed(lambda file=file: load(file)),
            "ragtriage show": _timed(lambda run=run: command("show", run)),
            "ragtriage diagnose": _timed(lambda run=run: command("diagnose", run)),
            "Triage": _timed(lambda run=run: page(run)),
        }
    return found


def _timed(step: Callable[[], None]) -> tuple[float, float]:
    started, used = time.perf_counter(), time.process_time()
    step()
    return time.perf_counter() - started, time.process_time() - used


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--metrics", type=int, default=600)
    parser.add_argument("--samples", type=int, default=20)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ragtriage-wide-") as folder:
        print("| step | s | processor s |\n|---|---|---|")
        for step, (seconds, used) in step_times(Path(folder), given.metrics, given.samples).items():
            print(f"| {step} | {seconds:.2f} | {used:.2f} |")


if __name__ == "__main__":
    main()
