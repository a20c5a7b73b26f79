"""Runs of any size to measure with: native JSONL with texts of a usual length, seeded.

python benchmarks/make_runs.py FOLDER [--questions 100000] [--runs 5]
"""

from __future__ import annotations

import argparse
import itertools
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson

__all__ = ["make_runs"]

POOL = 50_000  # chunks that all questions draw from
DEPTH = 10  # chunks handed to the generator
COMMON = [
    "the",
    "of",
    "and",
    "to",
    "in",
    "a",
    "is",
    "that",
    "for",
    "it",
    "as",
    "was",
    "with",
    "be",
    "by",
    "on",
    "not",
    "he",
    "this",
    "are",
    "or",
    "his",
    "from",
    "at",
    "which",
    "but",
    "have",
    "an",
    "they",
    "you",
    "were",
    "their",
    "one",
    "all",
    "we",
    "can",
    "has",
    "more",
    "when",
    "who",
    "will",
    "no",
    "if",
    "out",
    "so",
    "said",
    "what",
    "up",
    "its",
    "about",
    "into",
    "than",
    "them",
    "only",
    "other",
    "new",
    "some",
    "could",
    "time",
    "these",
    "two",
    "may",
    "then",
    "do",
    "first",
    "any",
    "my",
    "now",
    "such",
    "like",
    "our",
    "over",
    "man",
    "me",
    "even",
]
WORDS = 20_000  # beside the common ones; the k-th is drawn in proportion to 1 / k, as in real text
REFUSALS = 0.04
TAGS = {"team": ("search", "billing", "docs", "field"), "language": ("en", "de", "fr")}
KINDS = ("single fact", "multi-hop", "broad", "comparison")


@dataclass(frozen=True)
class Corpus:
    """What the questions are asked about.

    Attributes:
        words: the vocabulary, the most frequent first.
        weights: cumulative weights to draw it with.
        chunks: texts of about 500 characters.
    """

    words: Sequence[str]
    weights: Sequence[float]
    chunks: Sequence[str]


def make_runs(folder: Path, questions: int, runs: int, seed: int = 7) -> list[Path]:
    """Write one file per run: a question, ten chunks, gold, an answer, four scores and two tags a line.

    The questions and their gold are the same in every run; later runs find the gold more often.

    Args:
        folder: where to write; made when it is not there.
        questions: in every run.
        runs: how many.
        seed: of everything drawn.
    """
    folder.mkdir(parents=True, exist_ok=True)
    rng = random.Random(seed)
    corpus = _corpus(rng)
    asked = [_sentence(rng, corpus, 10)[:-1] + "?" for _ in range(questions)]
    gold = [rng.sample(range(POOL), rng.choice((1, 1, 2, 3))) for _ in range(questions)]
    files = []
    for run in range(runs):
        path = folder / f"version-{run + 1}.jsonl"
        with path.open("wb") as file:
            file.writelines(_lines(rng, corpus, asked, gold, run))
        files.append(path)
    return files


def _corpus(rng: random.Random) -> Corpus:
    syllables = [
        a + b for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "u", "ar", "en", "is", "ol", "un")
    ]
    rare = {"".join(rng.choices(syllables, k=rng.choice((2, 2, 3, 3, 4)))) for _ in range(WORDS)}
    words = [*COMMON, *sorted(rare)]
    weights = list(itertools.accumulate(1 / (rank + 2) for rank in range(len(words))))
    corpus = Corpus(words, weights, ())
    return Corpus(words, weights, [_passage(rng, corpus) for _ in range(POOL)])


def _sentence(rng: random.Random, corpus: Corpus, words: int) -> str:
    return " ".join(rng.choices(corpus.words, cum_weights=corpus.weights, k=words)).capitalize() + "."


def _passage(rng: random.Random, corpus: Corpus) -> str:
    return " ".join(_sentence(rng, corpus, rng.randint(14, 22)) for _ in range(5))


def _lines(
    rng: random.Random, corpus: Corpus, asked: Sequence[str], gold: Sequence[list[int]], run: int
) -> Iterator[bytes]:
    facts = {"name": f"version-{run + 1}", "config": {"top_k": DEPTH, "version": run + 1}, "dataset": "drawn"}
    facts["created_at"] = f"2025-01-{run % 28 + 1:02d}T00:00:00"
    yield orjson.dumps({"ragtriage_run": facts}) + b"\n"
    for at, question in enumerate(asked):
        yield orjson.dumps(_record(rng, corpus, at, question, gold[at], 0.6 + 0.05 * run)) + b"\n"


def _record(
    rng: random.Random, corpus: Corpus, at: int, question: str, gold: list[int], found: float
) -> dict[str, object]:
    ids = rng.sample(range(POOL), DEPTH)
    for one in gold:
        if rng.random() < found and one not in ids:
            ids[rng.randrange(DEPTH)] = one
    return {
        "question_id": f"q{at}",
        "question": question,
        "answer": _answer(rng, corpus, ids),
        "retrieved": [
            {"id": f"c{one}", "text": corpus.chunks[one], "score": round(1.0 - rank / 20, 3)}
            for rank, one in enumerate(ids)
        ],
        "relevant": [{"id": f"c{one}"} for one in gold],
        "query_type": rng.choice(KINDS),
        "latency_ms": round(rng.lognormvariate(6.5, 0.4), 1),
        "scores": {
            "faithfulness": round(rng.betavariate(5, 1.5), 3),
            "answer_relevancy": round(rng.betavariate(6, 1.5), 3),
            "context_recall": round(rng.betavariate(4, 1.5), 3),
            "context_precision": round(rng.betavariate(3, 1.5), 3),
        },
        "tags": {name: rng.choice(values) for name, values in TAGS.items()},
    }


def _answer(rng: random.Random, corpus: Corpus, ids: Sequence[int]) -> str:
    """Three sentences out of the first chunks, a fifth of their words changed, and one of its own."""
    if rng.random() < REFUSALS:
        return "I am sorry, but the documents do not mention this."
    parts = []
    for one in rng.sample(ids[:4], 3):
        words = rng.choice(corpus.chunks[one].split(". ")).rstrip(".").split(" ")
        for place in rng.sample(range(len(words)), len(words) // 5):
            words[place] = rng.choice(corpus.words)
        parts.append(" ".join(words) + ".")
    return " ".join([*parts, _sentence(rng, corpus, 14)])


def main() -> None:
    """Write the files and name them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--questions", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=5)
    given = parser.parse_args()
    for path in make_runs(given.folder, given.questions, given.runs):
        print(path)


if __name__ == "__main__":
    main()
