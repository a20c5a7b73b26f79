"""A process that runs configurations of a grid: the other side of ragtriage.data.chunking.grid_search."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from typing import TextIO

from ragtriage.data.chunking.corpus import PreparedCorpus
from ragtriage.data.chunking.grid_plan import GridPlan, run_configuration
from ragtriage.data.chunking.retrievers import WORDS
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.workspace import Workspace


def work(lines: Iterable[str], answers: TextIO) -> None:
    """Run what each line asks for, and answer with the id of its run.

    An error ends this process: the one that asked runs the configuration again, and tells what is wrong. The
    lines are the workspace, the project and the plan; then place and time of a configuration each.
    """
    asked = iter(lines)
    root, project, written = json.loads(next(asked))
    plan = GridPlan.from_json(written)
    store, corpus = RunStore(Workspace(root)), PreparedCorpus(plan.corpus, plan.retriever == WORDS)
    for line in asked:
        at, moment = json.loads(line)
        dated = replace(plan, created_at=None if moment is None else datetime.fromisoformat(moment))
        run = run_configuration(store, dated, plan.chunkings[at], project, corpus)
        print(json.dumps(run.run_id), file=answers, flush=True)


if __name__ == "__main__":
    channel, sys.stdout = sys.stdout, sys.stderr  # what a library prints is not an answer
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # and what has begun is removed
    work(sys.stdin, channel)
