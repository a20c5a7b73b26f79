"""What does judging a sample cost: ragtriage, Ragas and RAGChecker through the same local service.

    python benchmarks/judge_cost.py [--samples 20] [--ragas PYTHON] [--ragchecker PYTHON]

The peers are not dependencies of the project and cannot share an environment; each is named by the
interpreter of an environment of its own, and left out where there is none:

    python3 -m venv ragas
    ragas/bin/pip install "ragas==0.4.3" "langchain-community<0.4" langchain-anthropic
    python3 -m venv ragchecker
    ragchecker/bin/pip install "ragchecker==0.1.9"
    python benchmarks/judge_cost.py --ragas ragas/bin/python --ragchecker ragchecker/bin/python

Samples are drawn from the bundled iris and mtrag runs: those with an answer, a reference answer and contexts.
Tokens are characters / 4. A claim is a sentence for each tool, so that none profits from finding fewer.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from judge_server import JudgeServer, Script
from peer_replies import Meter

from ragtriage.data.api import add_run
from ragtriage.data.demo import load_samples
from ragtriage.data.judge.client import ClientSettings
from ragtriage.data.judge.evaluation import REFERENCE_WAYS, EvaluationTask, ReferenceWay
from ragtriage.data.judge.requests import read_prices
from ragtriage.data.judge.run_job import JobSpec, run_task
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.sample_reader import StoredSamples
from ragtriage.data.store.workspace import Workspace

PROJECTS = ("iris", "mtrag")
PEERS = ("ragas", "ragchecker")
PEER_SCRIPT = Path(__file__).with_name("judge_peers.py")
COLUMNS = ("question", "history", "answer", "reference_answer", "retrieved")
Record = dict[str, Any]


@dataclass(frozen=True)
class Cost:
    """What a tool took for a data set.

    Attributes:
        tool: its name and version.
        samples: how many.
        calls: requests that were answered, by kind.
        read: tokens of all requests.
        written: tokens of all replies.
        metrics: samples with a value, by metric.
        failed: requests that met no known prompt, and those that ask for a repair.
    """

    tool: str
    samples: int
    calls: dict[str, int]
    read: int
    written: int
    metrics: dict[str, int]
    failed: int

    @property
    def total_calls(self) -> int:
        """Requests of all kinds."""
        return sum(self.calls.values())


def _usable(sample: Record) -> bool:
    texts = [one["text"] for one in sample["retrieved"] or ()]
    return bool(sample["answer"] and sample["reference_answer"] and texts and all(texts))


def _whole(store: RunStore, project: str) -> Iterator[Record]:
    """Give the samples of a project that every tool can score, each content once."""
    seen = set()
    for run in sorted(store.runs(project), key=lambda one: one.run_id):
        stored = StoredSamples(store.workspace.samples_path(run.run_id))
        for sample in stored.read(range(run.n), COLUMNS):
            content = json.dumps([sample[name] for name in COLUMNS], default=str)
            if _usable(sample) and content not in seen:
                seen.add(content)
                yield sample


def draw(store: RunStore, project: str, count: int) -> list[Record]:
    """Draw samples of a project, from all of its runs."""
    found = sorted(_whole(store, project), key=lambda one: (one["question"], one["answer"]))
    return random.Random(7).sample(found, min(count, len(found)))


def by_ragtriage(samples: list[Record], url: str, folder: Path, reference: ReferenceWay) -> dict[str, int]:
    """Judge the samples as a job; gives the judged metrics that have a value."""
    records = [
        {
            "question_id": f"q{at}",
            "question": one["question"],
            "history": [{"role": turn["role"], "text": turn["text"]} for turn in one["history"] or ()],
            "answer": one["answer"],
            "reference_answer": one["reference_answer"],
            "retrieved": [{"text": document["text"]} for document in one["retrieved"]],
        }
        for at, one in enumerate(samples)
    ]
    run = add_run(records, "drawn", "cost", str(folder))
    model = read_prices().model()
    workspace = Workspace(folder)
    spec = JobSpec(range(run.n))
    task = EvaluationTask.of(model.window, reference=reference)
    run_task(workspace, run, task, ClientSettings(model, url), spec)
    found: Counter[str] = Counter()
    for name, one in RunStore(workspace).summary(run).items():
        if one.mean is not None and one.sources.get("judged"):
            found[name.partition("@")[0]] = one.sources["judged"]
    return dict(found)


def by_peer(
    tool: str, python: str, samples: list[Record], url: str, folder: Path
) -> tuple[str, dict[str, int]]:
    """Run a peer in its own environment; gives its version and the samples scored by metric.

    Raises:
        RuntimeError: it cannot be imported or ended early; the message is its last line.
    """
    path = folder / f"{tool}.json"
    rows = [
        {
            "question": one["question"],
            "answer": one["answer"],
            "reference": one["reference_answer"],
            "contexts": [document["text"] for document in one["retrieved"]],
        }
        for one in samples
    ]
    path.write_text(json.dumps(rows), encoding="utf-8")
    command = [python, str(PEER_SCRIPT), tool, str(path), url, read_prices().model().name]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise RuntimeError((ended.stderr.strip() or "ended early").splitlines()[-1])
    found = json.loads(ended.stdout.splitlines()[-1])
    return found["version"], found["metrics"]


def measured(name: str, samples: int, meter: Meter, work: Callable[[], tuple[str, dict[str, int]]]) -> Cost:
    """Do the work and give what the meter counted meanwhile."""
    before = len(meter.calls)
    version, metrics = work()
    calls = meter.calls[before:]
    kinds = Counter(kind for kind, _, _ in calls)
    read, written = sum(one[1] for one in calls), sum(one[2] for one in calls)
    failed = kinds["unknown"] + kinds["repair"]
    return Cost(f"{name} {version}".strip(), samples, dict(kinds), read, written, metrics, failed)


def costs(project: str, samples: list[Record], pythons: dict[str, str], folder: Path) -> list[Cost]:
    """Judge the samples with every tool through one service."""
    meter = Meter()
    found = []
    with JudgeServer(Script(reply=meter)) as server:
        for way in REFERENCE_WAYS:

            def ours(way: ReferenceWay = way) -> tuple[str, dict[str, int]]:
                return way, by_ragtriage(samples, server.url, folder / project / way, way)

            found.append(measured("ragtriage", len(samples), meter, ours))
        for tool, python in pythons.items():

            def theirs(tool: str = tool, python: str = python) -> tuple[str, dict[str, int]]:
                return by_peer(tool, python, samples, server.url, folder)

            try:
                found.append(measured(tool, len(samples), meter, theirs))
            except RuntimeError as error:
                print(f"{tool}: left out ({error}); the head of this script says how to install it")
    for one in meter.unknown:
        print(f"no reply was known: {one}")
    return found


def show(project: str, found: list[Cost]) -> None:
    """Print the figures of a data set, and how each peer stands to ragtriage."""
    n = found[0].samples
    print(f"\n{project}: {n} samples; a sample takes")
    print(f"{'tool':20}{'calls':>8}{'read':>10}{'written':>10}{'tokens':>10}{'metrics':>9}{'failed':>8}")
    for one in found:
        tokens = (one.read + one.written) / n
        print(
            f"{one.tool:20}{one.total_calls / n:8.1f}{one.read / n:10,.0f}{one.written / n:10,.0f}"
            f"{tokens:10,.0f}{len(one.metrics):9}{one.failed:8}"
        )
    first = found[0]
    for one in found[1:]:
        calls = first.total_calls / one.total_calls
        tokens = (first.read + first.written) / (one.read + one.written)
        print(f"ragtriage / {one.tool}: {calls:.2f} of the calls, {tokens:.2f} of the tokens")
    for one in found:
        print(f"  {one.tool}: {', '.join(f'{count} {kind}' for kind, count in one.calls.items())}")
        print(f"    {', '.join(f'{name} {count}' for name, count in sorted(one.metrics.items()))}")


def main() -> None:
    """Load the samples, judge them with each tool, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--samples", type=int, default=20)
    for tool in PEERS:
        parser.add_argument(f"--{tool}", default=sys.executable, metavar="PYTHON")
    given = parser.parse_args()
    os.environ.setdefault("ANTHROPIC_API_KEY", "sk-stand-in")  # no word that a reply holds
    pythons = {tool: getattr(given, tool) for tool in PEERS}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        store = RunStore(Workspace(folder / "samples").create())
        load_samples(store)
        for project in PROJECTS:
            drawn = draw(store, project, given.samples)
            show(project, costs(project, drawn, pythons, folder))


if __name__ == "__main__":
    main()
