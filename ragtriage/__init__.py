"""ragtriage from Python: add runs and read what the dashboard and the command line show of them.

Tables come as pandas frames, everything else as frozen dataclasses. All numbers are those of the command
line. Every function takes `workspace`, a folder; RAGTRIAGE_WORKSPACE or ./ragtriage-workspace when left out.

>>> import ragtriage
>>> records = [
...     {"question": f"Question {number}?", "answer": "Yes.", "scores": {"faithfulness": number / 10}}
...     for number in range(10)
... ]
>>> run = ragtriage.add_run(records, name="first try", project="demo", config={"top_k": 5})
>>> run.name, run.project, run.n
('first try', 'demo', 10)
>>> float(ragtriage.summarize(run).loc["faithfulness", "mean"])
0.45

The layers are the packages `ragtriage.metrics`, `ragtriage.data` and `ragtriage.dashboard`. The functions are
loaded on first use, so that `import ragtriage.metrics` needs NumPy alone.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ragtriage.actions import feedback, grid, judge, label, report
    from ragtriage.functions import add_run, assign, compare, diagnose, gate, runs, samples, scores, summarize
    from ragtriage.results import (
        Comparison,
        Diagnosis,
        GateReport,
        GridSearch,
        Interval,
        Judgement,
        JudgePlan,
        Run,
        StoredLabels,
    )

__all__ = [
    "Comparison",
    "Diagnosis",
    "GateReport",
    "GridSearch",
    "Interval",
    "JudgePlan",
    "Judgement",
    "RagtriageError",
    "Run",
    "StoredLabels",
    "add_run",
    "assign",
    "compare",
    "diagnose",
    "feedback",
    "gate",
    "grid",
    "judge",
    "label",
    "report",
    "runs",
    "samples",
    "scores",
    "summarize",
]
__version__ = "0.2.0"

ACTIONS = ("feedback", "grid", "judge", "label", "report")


class RagtriageError(Exception):
    """A call that cannot be done; the message says what is wrong, where, and what would be accepted."""


_here = Path(__file__).parent
if not (_here / "metrics").is_dir():  # a checkout without symbolic links, as Git makes on Windows
    __path__.append(str(_here.parent))


def __getattr__(name: str) -> Any:
    """Load a public name on first use (PEP 562)."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = "results" if name[0].isupper() else "actions" if name in ACTIONS else "functions"
    return getattr(import_module(f"ragtriage.{module}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
