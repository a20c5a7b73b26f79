"""How long does a grid over chunkings take, and which step takes it?

    python benchmarks/chunking_speed.py [--corpora FOLDER] [--characters 2000000]

First a grid of 3 sizes x 3 overlaps and 3 strategies over the bundled speech, and over wikitexts.md where
FOLDER (of chunking_evaluation: corpora/*.md and questions.csv) is given; each twice, which must give the same
numbers. Then 20 cells over a synthetic corpus: seconds a cell, the share of each step, and the greatest
resident size.
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from pathlib import Path

import numpy as np

from data.catalogue import Catalogue
from data.chunking import Chunking
from data.chunking_grid import GridPlan, plan_cells, run_grid
from data.corpora import Corpus, Document, read_corpus
from data.grid_questions import Questions, read_questions
from data.importers.source import Source
from data.workspace import Run, Workspace

STEPS = ("chunking_s", "indexing_s", "retrieving_s")
BUNDLED = Path(__file__).resolve().parent.parent / "data" / "bundled" / "state_of_the_union"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--corpora", type=Path)
    parser.add_argument("--characters", type=int, default=2_000_000)
    parser.add_argument("--questions", type=int, default=300)
    given = parser.parse_args()
    files = [(BUNDLED / "state_of_the_union.md", BUNDLED / "questions.csv")]
    if given.corpora:
        files.append((given.corpora / "corpora" / "wikitexts.md", given.corpora / "questions.csv"))
    for corpus, questions in files:
        real(corpus, questions)
    synthetic(given.characters, given.questions)


def real(corpus_file: Path, questions_file: Path) -> None:
    """Run a grid over a real corpus twice and compare the numbers."""
    corpus = read_corpus([corpus_file])
    questions = read_questions(Source.from_path(questions_file), corpus)
    cells, _ = plan_cells((128, 256, 512), (0, 32, 64), "tokens", ("paragraph", "heading", "recursive"))
    results = []
    for _ in range(2):
        with tempfile.TemporaryDirectory() as folder:
            start = time.perf_counter()
            catalogue = Catalogue(Workspace(folder).create())
            runs = run_grid(catalogue, GridPlan(corpus, questions, cells), "grid")
            seconds = time.perf_counter() - start
            means = {
                run.name: {name: one.mean for name, one in catalogue.summary(run).items()} for run in runs
            }
            results.append(([run.run_id for run in runs], means))
    assert results[0] == results[1], "the same grid gave other numbers"
    print(
        f"{corpus.name}: {corpus.characters:,} characters, {len(questions.records)} questions, "
        f"{len(cells)} cells "
        f"in {seconds:.1f} s; twice the same numbers"
    )


def draw(characters: int, asked: int, seed: int = 3) -> tuple[Corpus, Questions]:
    """Draw documents of 20,000 characters from 30,000 words, and questions about sentences of them."""
    rng = np.random.default_rng(seed)
    words = np.array([f"{'bcdfglmnprst'[at % 12]}{'aeiou'[at % 5]}w{at}" for at in range(30_000)])
    documents, records = [], []
    while sum(len(one.text) for one in documents) < characters:
        drawn = words[np.minimum(rng.zipf(1.3, 3_000) - 1, len(words) - 1)]
        lines = [" ".join(drawn[at : at + 15]) + "." for at in range(0, len(drawn), 15)]
        paragraphs = ["\n".join(lines[at : at + 6]) for at in range(0, len(lines), 6)]
        documents.append(Document(f"d{len(documents)}", "\n\n".join(paragraphs)))
    for at in range(asked):
        document = documents[int(rng.integers(len(documents)))]
        sentences = document.text.split(".")
        gold = sentences[int(rng.integers(len(sentences) - 1))].strip()
        start = document.text.index(gold)
        span = {"doc_id": document.doc_id, "start": start, "end": start + len(gold)}
        picked = rng.choice(gold.split(), size=6)
        records.append({"question_id": f"q{at}", "question": " ".join(picked), "relevant_spans": [span]})
    return Corpus("synthetic", tuple(documents)), Questions("synthetic", tuple(records))


def synthetic(characters: int, asked: int) -> None:
    """Run 20 cells over a drawn corpus and print where the time goes."""
    corpus, questions = draw(characters, asked)
    sizes, overlaps = (64, 128, 256, 512, 1024), (0, 16, 32, 48)
    cells = tuple(Chunking("fixed", size, overlap) for size in sizes for overlap in overlaps)
    with tempfile.TemporaryDirectory() as folder:
        catalogue = Catalogue(Workspace(folder).create())
        start = time.perf_counter()
        runs = run_grid(catalogue, GridPlan(corpus, questions, cells), "grid")
        total = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{corpus.characters:,} characters, {asked} questions, {len(cells)} cells in {total:.1f} s, "
        f"{peak:,.0f} MB at most"
    )
    print(json.dumps(shares(runs, total), indent=1))


def shares(runs: list[Run], total: float) -> dict[str, str]:
    """Give seconds a cell and the share of each step; what is left is storing and scoring."""
    steps = {step.removesuffix("_s"): sum(run.measured[step] for run in runs) for step in STEPS}
    steps["storing and scoring"] = total - sum(steps.values())
    shown = {name: f"{seconds:.2f} s, {seconds / total:.0%}" for name, seconds in steps.items()}
    return {"a cell": f"{total / len(runs):.2f} s", **shown}


if __name__ == "__main__":
    main()
