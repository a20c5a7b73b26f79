"""How long does a grid over chunkings take, in what steps, with how much memory, and twice the same?

    python benchmarks/chunking_speed.py [--corpora FOLDER] [--characters 2000000] [--questions 500]

First a grid of 3 sizes x 3 overlaps and 3 strategies over real texts, twice in two workspaces: the bundled
speech, or every .md file of FOLDER/corpora with FOLDER/questions.csv, laid out as chunking_evaluation is.
Then 20 cells over a synthetic corpus: in one process, for the time of each step, and in as many as the
command takes. Each grid runs in a process of its own, so that its peak memory is its own.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from peak_memory import peak_mb

from ragtriage.data.chunking.chunkers import Strategy
from ragtriage.data.chunking.corpus import Corpus, Document, read_corpus
from ragtriage.data.chunking.grid_plan import GridPlan, plan_configurations
from ragtriage.data.chunking.grid_search import processes_for, run_grid
from ragtriage.data.chunking.questions import Questions, read_questions
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.scoring.score_run import ensure_scored
from ragtriage.data.store.workspace import Run, Workspace

BUNDLED = Path(__file__).parent.parent / "data" / "bundled"
SPEECH = BUNDLED / "state_of_the_union"
PASSAGES = BUNDLED / "mtrag" / "human_evaluations.json.gz"
ALONG: tuple[Strategy, ...] = ("paragraph", "heading", "recursive")
STEPS = ("chunking", "indexing", "retrieving", "storing", "scoring")
DOCUMENTS = 40  # of the synthetic corpus
Work = Callable[[], dict[str, Any]]


class TimedScoring:
    """Scores as always, and counts the seconds."""

    seconds = 0.0

    def __call__(self, *given: Any, **named: Any) -> Path:
        """Score a run."""
        start = time.perf_counter()
        folder = ensure_scored(*given, **named)
        self.seconds += time.perf_counter() - start
        return folder


def timed_grid(root: Path, plan: GridPlan) -> tuple[RunStore, list[Run], dict[str, Any]]:
    """Run a grid in a new workspace; gives its runs, and the seconds of each cell and of each step in all."""
    store, scoring = RunStore(Workspace(root).create()), TimedScoring()
    marks = [time.perf_counter()]
    with patch("ragtriage.data.importers.load.ensure_scored", scoring):
        runs = run_grid(store, plan, "bench", lambda _: marks.append(time.perf_counter()), 1)
    start, *cells = np.diff(marks).tolist()
    steps = {name: sum(float(run.measured[f"{name}_s"]) for run in runs) for name in STEPS[:3]}
    steps["scoring"] = scoring.seconds
    steps["storing"] = sum(cells) - sum(steps.values())
    chunks = [int(run.config["n_chunks"]) for run in runs]
    return store, runs, {"start": start, "cells": cells, "steps": steps, "chunks": chunks}


def real(corpus: str, questions: str) -> dict[str, Any]:
    """Run the small grid twice and check that both are the same to the last bit."""
    texts = read_corpus([corpus])
    asked = read_questions(InputFile.from_path(questions), texts)
    cells, _ = plan_configurations((128, 256, 512), (0, 32, 64), "tokens", ALONG)
    plan = GridPlan(texts, asked, cells)
    with tempfile.TemporaryDirectory() as scratch:
        first, runs, cold = timed_grid(Path(scratch) / "first", plan)
        again, others, found = timed_grid(Path(scratch) / "again", plan)
        assert [one.run_id for one in runs] == [one.run_id for one in others]
        found["values"] = sum(_same(first, again, *pair) for pair in zip(runs, others, strict=True))
    return {**found, "cold": cold["start"] + sum(cold["cells"]), **_described(texts, asked)}


def _same(first: RunStore, again: RunStore, run: Run, other: Run) -> int:
    """Check that two runs have the same scores, sample by sample; gives how many were compared."""
    names = list(first.summary(run))
    assert names == list(again.summary(other))
    for name in names:
        np.testing.assert_array_equal(first.scored(run).values(name), again.scored(other).values(name))
    return len(names) * run.n


def synthetic(characters: int, questions: int) -> dict[str, Any]:
    """Run 20 cells over a corpus drawn from the sentences of the bundled texts."""
    texts, asked = draw(characters, questions)
    cells, refused = plan_configurations((128, 256, 512, 1024), (0, 64, 128), "tokens", ALONG, (False, True))
    many, _ = plan_configurations((384,), (0, 64, 128), "tokens")
    plan = GridPlan(texts, asked, (*cells, *many))
    assert len(plan.chunkings) == 20, (len(plan.chunkings), refused)
    with tempfile.TemporaryDirectory() as scratch:
        _, runs, found = timed_grid(Path(scratch) / "one", plan)
        found |= _described(texts, asked)
        store = RunStore(Workspace(Path(scratch) / "several").create())
        start = time.perf_counter()
        shared = run_grid(store, plan, "bench")
        found["shared"] = time.perf_counter() - start
        assert [run.run_id for run in runs] == [run.run_id for run in shared]
    return {**found, "processes": processes_for(plan, len(runs)), "load": os.getloadavg()[0]}


def draw(characters: int, questions: int, seed: int = 7) -> tuple[Corpus, Questions]:
    """Draw Markdown documents of sections, paragraphs and sentences, and questions on sentences in them."""
    chance, sentences = random.Random(seed), _sentences()
    documents, places = [], []
    for at in range(DOCUMENTS):
        text, inside = _document(chance, sentences, characters // DOCUMENTS)
        documents.append(Document(f"d{at:02}", text, f"Volume {at}", f"d{at:02}.md"))
        places += [(f"d{at:02}", start, end) for start, end in inside]
    texts = {one.doc_id: one.text for one in documents}
    records = []
    for at, (doc_id, start, end) in enumerate(chance.sample(places, questions)):
        words = texts[doc_id][start:end].split()
        asked = " ".join(chance.sample(words, min(8, len(words))))
        span = {"doc_id": doc_id, "start": start, "end": end}
        records.append({"question_id": f"q{at}", "question": f"{asked}?", "relevant_spans": [span]})
    return Corpus("synthetic", tuple(documents)), Questions("synthetic", tuple(records))


def _sentences() -> list[str]:
    """Give the sentences of the bundled speech and passages, in order."""
    passages = json.loads(gzip.decompress(PASSAGES.read_bytes()))["documents"]
    speech = (SPEECH / "state_of_the_union.md").read_text(encoding="utf-8")
    found = [one for text in (speech, *(passage["text"] for passage in passages)) for one in _cut(text)]
    return list(dict.fromkeys(one for one in found if 40 <= len(one) <= 300))


def _cut(text: str) -> Iterator[str]:
    return (" ".join(one.split()) for one in re.split(r"(?<=[.!?])\s+", text))


def _document(chance: random.Random, sentences: list[str], size: int) -> tuple[str, list[tuple[int, int]]]:
    """Draw one document of a given length, and tell where its sentences stand."""
    parts, places, length = [], [], 0

    def add(part: str) -> None:
        nonlocal length
        parts.append(part)
        length += len(part)

    while length < size:
        level = chance.choice(("#", "##", "##", "###"))
        add(f"{level} {' '.join(chance.choice(sentences).split()[:4])}\n\n")
        for _ in range(chance.randint(2, 6)):
            for sentence in chance.choices(sentences, k=chance.randint(2, 6)):
                places.append((length, length + len(sentence)))
                add(f"{sentence} ")
            add("\n\n")
    return "".join(parts)[:size], [place for place in places if place[1] <= size]


def _described(texts: Corpus, asked: Questions) -> dict[str, Any]:
    peak = peak_mb()
    return {"name": texts.name, "characters": texts.characters, "asked": len(asked.records), "mb": peak}


def shown(found: dict[str, Any]) -> None:
    """Print the figures of one grid."""
    cells, chunks, whole = found["cells"], found["chunks"], sum(found["cells"])
    print(f"{found['name']}: {found['characters']:,} characters, {found['asked']:,} questions")
    print(f"  {len(cells)} cells of {min(chunks):,} to {max(chunks):,} chunks in {whole:.1f} s")
    print(f"  a cell {min(cells):.2f} to {max(cells):.2f} s, on average {np.mean(cells):.2f} s")
    print("  " + ", ".join(f"{name} {found['steps'][name] / whole:.0%}" for name in STEPS))
    if "cold" in found:
        print(f"  the same before, in a fresh process with its imports: {found['cold']:.1f} s")
        print(f"  {found['values']:,} values of both compared: all the same")
    else:
        print(f"  imports and tokens before the first cell: {found['start']:.1f} s")
        print(f"  all of it in {found['processes']} processes, the same runs: {found['shared']:.1f} s")
        print(f"  load {found['load']:.1f}")
    print(f"  peak memory {found['mb']:,.0f} MB", flush=True)


def works(given: argparse.Namespace) -> dict[str, Work]:
    """Name what is to be measured."""
    named: dict[str, Work] = {}
    if given.only != "synthetic":
        folder = given.corpora
        texts = sorted((folder / "corpora").glob("*.md")) if folder else [SPEECH / "state_of_the_union.md"]
        questions = str((folder or SPEECH) / "questions.csv")
        named |= {path.stem: partial(real, str(path), questions) for path in texts}
    if given.only != "real":
        named["synthetic"] = partial(synthetic, given.characters, given.questions)
    return named


def main() -> None:
    """Measure each grid in a process of its own, and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--corpora", type=Path, help="folder laid out as chunking_evaluation")
    parser.add_argument("--characters", type=int, default=2_000_000)
    parser.add_argument("--questions", type=int, default=500)
    parser.add_argument("--only", choices=["real", "synthetic"])
    parser.add_argument("--one", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(works(given)[given.one]()))
        return
    for name in works(given):
        command = [sys.executable, *sys.argv, "--one", name]
        ended = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        shown(json.loads(ended.stdout.splitlines()[-1]))


if __name__ == "__main__":
    main()
