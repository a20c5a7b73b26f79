"""Make the bundled two-hop runs: BM25 over the 1,890 paragraphs of 100 MuSiQue questions.

    python benchmarks/make_musique.py musique_train.json musique_train_corpus.json -o data/bundled/musique

The second run reorders the first 50 by BM25 with the question extended by the title and text of the best
paragraph: a plain lexical second step that can reach the paragraph of the other hop.
"""

from __future__ import annotations

import argparse
import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np

from ragtriage.data.chunking.retrievers import Bm25Index

CONTEXT, FIRST_PASS = 10, 50


def main() -> None:
    """Write one file per run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("questions", type=Path)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("-o", "--output", type=Path, default=Path("data/bundled/musique"))
    given = parser.parse_args()
    corpus = json.loads(given.corpus.read_text(encoding="utf-8"))
    asked = [one for one in json.loads(given.questions.read_text(encoding="utf-8")) if hops(one) == 2]
    texts = [f"{one['title']}\n{one['text']}" for one in corpus]
    index = Bm25Index(texts)
    places, scores = index.search([one["question"] for one in asked], FIRST_PASS)
    ids = {(one["title"], one["text"]): f"p{at}" for at, one in enumerate(corpus)}
    plain, reranked = [], []
    for row, question in enumerate(asked):
        found = [
            (int(at), float(score)) for at, score in zip(places[row], scores[row], strict=True) if at >= 0
        ]
        sample = record(question, ids)
        plain.append({**sample, "retrieved": documents(found[:CONTEXT], texts)})
        second = reordered(question["question"], found, texts)
        first_pass = [{"id": f"p{at}", "score": round(score, 4)} for at, score in found]
        reranked.append({**sample, "candidates": first_pass, "retrieved": documents(second[:CONTEXT], texts)})
    facts = {"dataset": "MuSiQue, 68 two-hop questions", "created_at": "2026-11-01T00:00:00"}
    steps = {"retriever": "bm25", "top_k": CONTEXT}
    write(
        given.output / "bm25.jsonl.gz",
        {"name": "BM25", "config": {**steps, "reranker": "none"}, **facts},
        plain,
    )
    name, step = "BM25 + expansion", {**steps, "reranker": "bm25 of the question and its best hit"}
    write(given.output / "bm25_expansion.jsonl.gz", {"name": name, "config": step, **facts}, reranked)


def hops(question: dict[str, Any]) -> int:
    """Count the steps of a question."""
    return len(question["question_decomposition"])


def record(question: dict[str, Any], ids: dict[tuple[str, str], str]) -> dict[str, Any]:
    """Give a question with the gold paragraph of each hop."""
    paragraphs = {one["idx"]: one for one in question["paragraphs"]}
    gold = [paragraphs[step["paragraph_support_idx"]] for step in question["question_decomposition"]]
    return {
        "question_id": question["id"],
        "question": question["question"],
        "reference_answer": question["answer"],
        "query_type": "multi-hop",
        "relevant": [
            {"id": ids[one["title"], one["paragraph_text"]], "hop": str(hop)}
            for hop, one in enumerate(gold, 1)
        ],
    }


def documents(found: list[tuple[int, float]], texts: list[str]) -> list[dict[str, Any]]:
    """Give ranked paragraphs with their texts."""
    return [{"id": f"p{at}", "score": round(score, 4), "text": texts[at]} for at, score in found]


def reordered(question: str, found: list[tuple[int, float]], texts: list[str]) -> list[tuple[int, float]]:
    """Order the first pass by BM25 with the question and with its best hit beside it."""
    if not found:
        return []
    small = Bm25Index([texts[at] for at, _ in found])
    query = f"{question} {question} {texts[found[0][0]]}"
    place, score = small.search([query], len(found))
    second = dict(zip(place[0].tolist(), score[0].tolist(), strict=True))
    best = max(second.values())
    joined = [(at, first / found[0][1] + second.get(n, 0.0) / best) for n, (at, first) in enumerate(found)]
    order = np.argsort([-value for _, value in joined], kind="stable")
    return [joined[n] for n in order]


def write(path: Path, facts: dict[str, Any], samples: list[dict[str, Any]]) -> None:
    """Write a run in the native form."""
    lines = [json.dumps(one, ensure_ascii=False) for one in ({"ragtriage_run": facts}, *samples)]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress("\n".join(lines).encode("utf-8"), 9, mtime=0))
    print(f"{path}: {len(samples)} questions, {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
