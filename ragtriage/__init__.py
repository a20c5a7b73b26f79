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
>>> float(ragtriage.metrics(run).loc["faithfulness", "mean"])
0.45

It also works where packages of your own are called `data`, `metrics` or `dashboard`, as are parts of
ragtriage: each call is then made in a process of its own, which does not see yours.
"""

from ragtriage.errors import RagtriageError
from ragtriage.functions import add_run, compare, diagnose, gate, metrics, runs, samples, scores
from ragtriage.results import Comparison, Diagnosis, GateReport, Interval, Run

__all__ = [
    "Comparison",
    "Diagnosis",
    "GateReport",
    "Interval",
    "RagtriageError",
    "Run",
    "add_run",
    "compare",
    "diagnose",
    "gate",
    "metrics",
    "runs",
    "samples",
    "scores",
]
