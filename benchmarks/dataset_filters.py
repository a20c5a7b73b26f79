"""How well the free filters of `ragtriage dataset make` tell good questions from bad ones, on labelled data.

    .venv/bin/python benchmarks/dataset_filters.py FOLDER

FOLDER holds chunking_evaluation, musique and clapnq as they are published. Good questions are those that
people wrote or checked; bad ones are made of them by one known fault, or labelled unanswerable. What a filter
rejects of the good ones is its loss.
"""

import argparse
import csv
import hashlib
import json
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

from ragtriage.data.chunking.corpus import Corpus, Document, read_corpus
from ragtriage.data.datasets.checks import CHECKS, FreeChecks
from ragtriage.data.datasets.from_questions import propose, read_items
from ragtriage.data.datasets.item import GoldSpan, Item
from ragtriage.data.datasets.windows import CorpusWindows
from ragtriage.data.importers.load import read_question_file
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.text.tokens import content_tokens

HINT = 0.8  # share of a question's content words in a passage from which it may answer
Row = tuple[str, str, int, int, int, int]  # data, filter, good, of them rejected, bad, of them rejected


def chunking_items(folder: Path) -> tuple[Corpus, list[Item]]:
    """Return the questions of chunking_evaluation on the texts that are there."""
    corpus = read_corpus([folder / "corpora"])
    with (folder / "questions.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["corpus_id"] in corpus.by_name]
    items = []
    for number, row in enumerate(rows):
        gold = [
            GoldSpan(row["corpus_id"], each["start_index"], each["end_index"], each["content"])
            for each in json.loads(row["references"])
        ]
        items.append(Item(f"c{number}", row["question"], kind="single", spans=tuple(gold)))
    return corpus, items


def musique_items(folder: Path) -> tuple[Corpus, list[Item]]:
    """Return the two-hop questions of MuSiQue and the paragraphs of all of them."""
    questions = json.loads((folder / "musique_train.json").read_text("utf-8"))
    texts: dict[str, str] = {}
    items = []
    for row in questions:
        names = {}
        for paragraph in row["paragraphs"]:
            name = hashlib.sha256(paragraph["paragraph_text"].encode()).hexdigest()[:12]
            texts[name] = paragraph["paragraph_text"]
            names[paragraph["idx"]] = name
        hops = [names[step["paragraph_support_idx"]] for step in row["question_decomposition"]]
        spans = [
            GoldSpan(name, 0, len(texts[name]), texts[name], str(hop))
            for hop, name in enumerate(hops, start=1)
        ]
        items.append(Item(row["id"], row["question"], row["answer"], "multi-hop", tuple(spans)))
    documents = tuple(Document(name, text) for name, text in texts.items())
    return Corpus("musique", documents), items


def handbook_items() -> tuple[Corpus, Sequence[Item]]:
    """Return the bundled questions of the handbook."""
    folder = Path(str(files("ragtriage.data"))) / "bundled" / "handbook"
    corpus = read_corpus([folder / "corpus"])
    loaded = read_question_file(InputFile.from_path(folder / "questions.jsonl"))
    return corpus, read_items(loaded, CorpusWindows(corpus)).items


def rejected(windows: CorpusWindows, items: Iterable[Item], key: str, among: Sequence[Item] = ()) -> int:
    """Return how many items a check marks."""
    checks = FreeChecks(windows, among)
    return sum(CHECKS[key].run(checks, item).state == "marked" for item in items)


def swapped(items: Sequence[Item], change: Callable[[Item, Item], Item]) -> list[Item]:
    """Return each item with something of another one."""
    others = list(items)
    random.Random(7).shuffle(others)
    return [change(item, other) for item, other in zip(items, others, strict=True) if item is not other]


def chunking_rows(folder: Path) -> list[Row]:
    """Return the rows of chunking_evaluation."""
    corpus, items = chunking_items(folder)
    windows, name = CorpusWindows(corpus), "chunking_evaluation"
    quotes = [span.quote for item in items for span in item.spans]
    lost = sum(not windows.locate(quote) for quote in quotes)
    rng = random.Random(7)
    altered = [_one_word_less(quote, rng) for quote in quotes if len(quote.split()) > 4]
    rows: list[Row] = [
        (name, "verbatim", len(quotes), lost, len(altered), sum(not windows.locate(each) for each in altered))
    ]
    foreign = swapped(items, lambda item, other: replace(item, spans=other.spans))
    twins = [replace(item, question_id=f"{item.question_id}+", question=_reordered(item)) for item in items]
    pointing = [replace(item, question=f"{item.question[:-1]} in this passage?") for item in items]
    bad = {"round_trip": foreign, "twin": twins, "alone": pointing}
    for key in ("gold", "form", "copied", "alone", "twin", "round_trip"):
        faulty = bad.get(key, [])
        n_good, n_bad = rejected(windows, items, key, items), rejected(windows, faulty, key, items)
        rows.append((name, key, len(items), n_good, len(faulty), n_bad))
    return rows


def _one_word_less(quote: str, rng: random.Random) -> str:
    words = quote.split()
    del words[rng.randrange(1, len(words) - 1)]
    return " ".join(words)


def _reordered(item: Item) -> str:
    head, _, rest = item.question.rstrip("?").partition(" ")
    return f"Say {head.lower()} {rest}?"


def musique_rows(folder: Path) -> list[Row]:
    """Return the rows of MuSiQue."""
    corpus, items = musique_items(folder)
    windows, name = CorpusWindows(corpus), "MuSiQue, two hops"
    foreign = swapped(items, lambda item, other: replace(item, spans=other.spans))
    answers = swapped(items, lambda item, other: replace(item, answer=other.answer))
    leaking = [replace(item, question=f"{item.question[:-1]}, {item.answer}?") for item in items]
    bad = {"round_trip": foreign, "grounded": answers, "leak": leaking}
    rows = []
    for key in ("form", "leak", "grounded", "alone", "twin", "round_trip"):
        faulty = bad.get(key, [])
        n_good, n_bad = rejected(windows, items, key, items), rejected(windows, faulty, key, items)
        rows.append((name, key, len(items), n_good, len(faulty), n_bad))
    return rows


def proposal_row(name: str, windows: CorpusWindows, items: Sequence[Item]) -> str:
    """Return how often search proposes gold that it is not shown, first and among its proposals."""
    with_gold = [item for item in items if item.spans]
    ranks = []
    for item in with_gold:
        proposed = propose(replace(item, spans=()), windows)
        hits = [at for at, span in enumerate(proposed) if any(map(span.overlaps, item.spans))]
        ranks.append(min(hits, default=None))
    first, any_ = sum(rank == 0 for rank in ranks), sum(rank is not None for rank in ranks)
    n = len(with_gold)
    return f"| {name} | {n} | {first} ({first / n:.0%}) | {any_} ({any_ / n:.0%}) |"


def clapnq_row(folder: Path) -> Row:
    """Return how often a passage that does not answer has most words of its question, and one that does."""
    counts = []
    for name in ("answerable", "unanswerable"):
        lines = (folder / f"clapnq_dev_{name}.jsonl").read_text("utf-8").splitlines()
        shares = []
        for row in map(json.loads, lines):
            words = content_tokens(row["input"].lower())
            held = content_tokens(row["passages"][0]["text"].lower())
            shares.append(len(words & held) / len(words) if words else 0.0)
        counts.append((len(shares), sum(share < HINT for share in shares)))
    (n_good, lost), (n_bad, found) = counts
    return "ClapNQ", f"words of the question in its passage below {HINT:g}", n_good, lost, n_bad, found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    rows = [*chunking_rows(folder / "chunking_evaluation"), *musique_rows(folder / "musique")]
    rows.append(clapnq_row(folder / "clapnq"))
    print("| data | filter | good | lost | bad | found | precision | recall |")
    print("|---|---|---|---|---|---|---|---|")
    for data, key, n_good, lost, n_bad, found in rows:
        precision = f"{found / (found + lost):.2f}" if n_bad and found + lost else "–"
        recall = f"{found / n_bad:.2f}" if n_bad else "–"
        bad = f"{n_bad} | {found}" if n_bad else "– | –"
        print(
            f"| {data} | {key} | {n_good} | {lost} ({lost / n_good:.1%}) | {bad} | {precision} | {recall} |"
        )
    print("\n| data | questions | gold proposed first | among the three |\n|---|---|---|---|")
    for name, (corpus, items) in {
        "chunking_evaluation, questions alone": chunking_items(folder / "chunking_evaluation"),
        "MuSiQue, question and answer, any hop": musique_items(folder / "musique"),
        "handbook, question and answer": handbook_items(),
    }.items():
        print(proposal_row(name, CorpusWindows(corpus), items))


if __name__ == "__main__":
    main()
