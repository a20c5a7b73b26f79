"""A set of 200 questions over three bundled corpora: read by a script, tried by a grid, asked by a run."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from command_line import run
from places import BUNDLED

from ragtriage.data.chunking.corpus import read_corpus
from ragtriage.data.datasets.dataset import Dataset, create_dataset
from ragtriage.data.datasets.from_questions import open_source, read_items
from ragtriage.data.datasets.review import accept, read_draft, reject
from ragtriage.data.datasets.windows import CorpusWindows
from ragtriage.data.scoring.run_store import RunStore, open_store

Capture = pytest.CaptureFixture[str]


def _files(folder: Path) -> tuple[list[Path], list[Path]]:
    """Return the three corpora, and the files of their questions."""
    for name in ("corpus", "questions"):
        packed = BUNDLED / "xquad" / f"{name}.jsonl.gz"
        (folder / f"xquad_{name}.jsonl").write_bytes(gzip.decompress(packed.read_bytes()))
    union = BUNDLED / "state_of_the_union"
    text = next(union.glob("*.md*"))
    corpora = [BUNDLED / "handbook" / "corpus", folder / "xquad_corpus.jsonl", text]
    return corpora, [
        BUNDLED / "handbook" / "questions.jsonl",
        folder / "xquad_questions.jsonl",
        next(union.glob("questions*")),
    ]


@pytest.fixture
def two_hundred(tmp_path: Path) -> tuple[RunStore, Dataset]:
    corpora, files = _files(tmp_path)
    store = open_store(str(tmp_path / "workspace"), create=True)
    windows = CorpusWindows(read_corpus(corpora))
    dataset = create_dataset(store.workspace, "three corpora")
    left = 200
    for file in files:
        read = read_items(open_source(store, str(file), windows.corpus), windows)
        items = read.items[: min(left, 76)]
        left -= len(items)
        dataset.add_batch(items, windows.corpus, read.facts)
    return store, dataset


def test_two_hundred_questions_from_files_to_a_run(
    two_hundred: tuple[RunStore, Dataset], capsys: Capture, tmp_path: Path
) -> None:
    store, dataset = two_hundred
    draft, texts = read_draft(dataset), dataset.corpus().by_name
    assert len(draft.items) == 200
    spans = [span for each in draft.items for span in each.item.spans]
    assert all(texts[span.doc_id].text[span.start : span.end] == span.quote != "" for span in spans)
    for at, each in enumerate(draft.items):  # the reader of a script
        reject(dataset, each.item, "script", "unclear") if at % 20 == 0 else accept(
            dataset, each.item, "script"
        )

    root = store.workspace.root
    frozen = run(capsys, root, "dataset", "freeze", "three corpora", "--json").json
    assert (frozen["n"], frozen["n_read"]) == (190, 190)
    grid = ("grid", "--questions", "three corpora v1", "--sizes", "128", "--overlaps", "0", "--project", "p")
    assert run(capsys, root, *grid).code == 0
    (tried,) = open_store(str(root)).runs("p")
    assert (tried.n, tried.dataset, tried.corpus_version) == (190, "three corpora v1", dataset.corpus_version)

    answered = [
        {
            "question_id": each.question_id,
            "question": each.question,
            "answer": each.answer or "I do not know.",
            "retrieved": [{"id": span.doc_id} for span in each.spans[:1]],
        }
        for each in read_draft(dataset).golden
    ]
    (tmp_path / "answers.jsonl").write_text("".join(json.dumps(each) + "\n" for each in answered), "utf-8")
    words = (
        "import",
        str(tmp_path / "answers.jsonl"),
        "--questions",
        "three corpora v1",
        "--name",
        "bot",
        "--project",
        "q",
    )
    assert run(capsys, root, *words).code == 0
    shown = run(capsys, root, "show", "bot", "--json").json
    assert (shown["dataset"], shown["dataset_version"]) == ("three corpora v1", "v1")
    assert run(capsys, root, "gate", "bot").code in (0, 1, 3)
