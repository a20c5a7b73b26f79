"""Make the bundled runs of the suites filter, order, memory and isolation from the fixtures of the tests.

    python benchmarks/make_check_samples.py

`multiwoz/guide.jsonl.gz`: a small guide answers MultiWOZ's queries on hotels and restaurants. It reads
filters by keyword, forgets some, drops its last one where no hotel is left, and sorts restaurants by name
where it should by distance. `memorybank/*.jsonl.gz`: BM25 over the memories of all users, and of one alone.
"""

from __future__ import annotations

import gzip
import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

from ragtriage.data.text.tokens import search_tokens

ROOT = Path(__file__).parent.parent
FIXTURES, BUNDLED = ROOT / "tests" / "fixtures", ROOT / "data" / "bundled"
CENTRE = [52.2053, 0.1218]
ASKED = "2023-05-07"  # the day after the last memory
SHOWN = 100  # characters of a memory
K1, B = 0.9, 0.4
KEPT = ("id", "name", "area", "pricerange", "food", "stars", "parking", "location")


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def _write(name: str, records: list[dict[str, Any]]) -> None:
    path = BUNDLED / name
    path.parent.mkdir(exist_ok=True)
    text = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    path.write_bytes(gzip.compress(text.encode(), 9, mtime=0))


def _guide(query: dict[str, Any], items: list[dict[str, Any]]) -> tuple[dict[str, str], list[dict[str, Any]]]:
    """Return the filters that the guide reads, and what it finds with them."""
    wanted = {name: value for name, value in query["filters"].items() if name != "parking"}
    if "with parking" in query["question"]:
        wanted["parking"] = "yes"
    filters = dict(wanted)
    found = [item for item in items if all(item.get(name) == value for name, value in filters.items())]
    while not found and filters and query["domain"] == "hotel":
        filters.popitem()
        found = [item for item in items if all(item.get(name) == value for name, value in filters.items())]
    if query["order"] == "stars_desc":
        found.sort(key=lambda item: (-int(item["stars"]), item["name"]))
    elif "nearest" in query["question"] and query["domain"] == "hotel":
        found.sort(key=lambda item: math.dist(item["location"], CENTRE))
    else:
        found.sort(key=lambda item: item["name"])
    return wanted, found[:5]


def _guide_record(query: dict[str, Any], items: list[dict[str, Any]]) -> dict[str, Any]:
    read, found = _guide(query, items)
    ids = [item["id"] for item in found]
    order = {"key": "stars", "descending": True}
    if query["order"] == "distance":
        order = {"key": "location", "origin": CENTRE}
    places = {"items": items, "constraints": query["filters"], "limit": 5}
    shown = [item for item in items if item["id"] in ids]
    checks = [
        {"name": "constraints", "kind": "filter", "expected": query["filters"], "actual": read},
        {"name": "places", "kind": "filter", "expected": places, "actual": ids},
        {"name": "sorted", "kind": "order", "expected": {**order, "items": shown}, "actual": ids},
        {"name": "short", "kind": "format", "expected": {"max_words": 40, "language": "same"}},
    ]
    answer = (
        f"You may like {', '.join(item['name'] for item in found)}." if found else "There are no such places."
    )
    return {
        "question_id": query["question_id"],
        "question": query["question"],
        "answer": answer,
        "query_type": query["domain"],
        "checks": checks,
    }


def _search(memories: list[dict[str, Any]], question: str) -> list[dict[str, Any]]:
    counts = [Counter(search_tokens(memory["text"])) for memory in memories]
    lengths = [sum(count.values()) for count in counts]
    found = Counter(token for count in counts for token in count)
    mean, n = sum(lengths) / len(lengths), len(memories)
    scored = []
    for memory, count, length in zip(memories, counts, lengths, strict=True):
        score = sum(
            math.log(1 + (n - found[token] + 0.5) / (found[token] + 0.5))
            * count[token]
            * (K1 + 1)
            / (count[token] + K1 * (1 - B + B * length / mean))
            for token in search_tokens(question)
            if count[token]
        )
        scored.append((-score, memory["id"], memory))
    return [{**memory, "score": -score} for score, _, memory in sorted(scored, key=lambda one: one[:2])[:5]]


def _memory_record(row: dict[str, Any], found: list[dict[str, Any]]) -> dict[str, Any]:
    record: dict[str, Any] = {
        "question_id": row["question_id"],
        "question": row["question"],
        "account_id": row["user"],
        "retrieved": [
            {
                "id": one["id"],
                "text": one["text"][:SHOWN],
                "score": round(one["score"], 4),
                "account_id": one["user"],
                "day": one["date"],
            }
            for one in found
        ],
    }
    if row["relevant"]:
        day = row["dates_in_question"][0]
        ids = [one["id"] for one in row["relevant"]]
        expected = {"memory_id": ids, "day": day, "asked": ASKED}
        record["checks"] = [{"name": "right day", "kind": "memory", "expected": expected}]
        record["relevant"] = ids
    return record


def main() -> None:
    """Write the files."""
    folder = FIXTURES / "multiwoz_db"
    items = {
        domain: [
            {key: item[key] for key in KEPT if key in item}
            for item in json.loads((folder / f"{domain}s.json").read_text("utf-8"))
        ]
        for domain in ("hotel", "restaurant")
    }
    queries = _rows(folder / "queries.jsonl")
    _write("multiwoz/guide.jsonl.gz", [_guide_record(query, items[query["domain"]]) for query in queries])
    folder = FIXTURES / "memorybank"
    for name, filtered in (("shared_index", False), ("filtered_by_user", True)):
        records = []
        for language in ("en", "cn"):
            memories = _rows(folder / f"memories_{language}.jsonl")
            for row in _rows(folder / f"questions_{language}.jsonl"):
                own = [memory for memory in memories if memory["user"] == row["user"]]
                found = _search(own if filtered else memories, row["question"])
                records.append(_memory_record(row, found))
        _write(f"memorybank/{name}.jsonl.gz", records)


if __name__ == "__main__":
    main()
