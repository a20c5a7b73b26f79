"""Datasets of a workspace: batches of items that never change, the corpora, and the versions made of them.

A dataset is a folder `datasets/<id>` with a batch for each time that items were made or read, and the texts
of each corpus that its gold has pointed into. What people decided stands in the ledger (`review`). A version
is a question set of the workspace.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import orjson

from ragtriage.data.chunking.corpus import Corpus, Document
from ragtriage.data.datasets.item import DETAILS, Item, quoted
from ragtriage.data.errors import DataError, ValidationErrors, WorkspaceError
from ragtriage.data.store.access import must_write
from ragtriage.data.store.ledger import Ledger
from ragtriage.data.store.parsed_run import ParsedRun
from ragtriage.data.store.question_sets import LoadedSet, QuestionSet, keep_set, parsed_set
from ragtriage.data.store.sample_models import is_unicode
from ragtriage.data.store.workspace import Workspace, utc_now, writing

MOST_NAMED = 8
LONGEST_NAME = 120  # characters
_VERSIONS = (
    "SELECT version, set_id, corpus_version, n_read, who, at FROM dataset_versions"
    " WHERE dataset_id = ? ORDER BY version"
)


@dataclass(frozen=True)
class Batch:
    """Items that were made or read at one time; it never changes."""

    batch_id: str  # beginning of the hash over its content
    items: tuple[Item, ...]  # those that filters rejected included
    made_at: str  # ISO time in UTC
    corpus_version: str
    # how they came about: `by` (model, rules, file), `model`, `seed`, `asked` (n), `mix` {kind: asked},
    # `short` {kind: missing}, `calls`, `input_tokens`, `output_tokens`, `cost_usd`, `licence`, `source`,
    # `filters` {key: [passed, rejected]}, `filter_examples` {key: [{question_id, question, reason}]}
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Version:
    """A frozen version of a dataset."""

    version: int  # from 1
    set_id: str  # of the question set
    corpus_version: str
    n_read: int  # items that people had read when it was frozen
    who: str
    at: str  # ISO time in UTC


@dataclass(frozen=True)
class Dataset:
    """A dataset of a workspace."""

    workspace: Workspace
    dataset_id: str  # made from its name; the name of its folder
    name: str
    created_at: str  # ISO time in UTC

    @property
    def folder(self) -> Path:
        """Where its batches and corpora are."""
        return _root(self.workspace) / self.dataset_id

    @property
    def ledger(self) -> Ledger:
        """Where the decisions and the versions are."""
        return Ledger(self.workspace.ledger_path)

    def batches(self) -> list[Batch]:
        """Return the batches, oldest first.

        Raises:
            WorkspaceError: a file of one is missing or damaged.
        """
        return sorted(map(self._batch, self.batch_ids()), key=lambda batch: (batch.made_at, batch.batch_id))

    def batch_ids(self) -> tuple[str, ...]:
        """Return the ids of the batches, in no order that means anything."""
        folder = self.folder / "batches"
        return tuple(sorted(path.name for path in folder.glob("*") if path.is_dir() and path.name[0] != "."))

    def _batch(self, batch_id: str) -> Batch:
        path = self.folder / "batches" / batch_id
        try:
            facts = json.loads((path / "batch.json").read_text("utf-8"))
            content = (path / "items.jsonl").read_bytes()
            lines = content.splitlines()
            items = tuple(Item.from_question(orjson.loads(line)) for line in lines)
            batch = Batch(batch_id, items, facts["made_at"], facts["corpus_version"], facts["facts"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise WorkspaceError(
                f"{path}: cannot be read ({type(error).__name__}); accepted: the batch as it was written"
            ) from error
        if _batch_id_of(content) != batch_id:
            raise WorkspaceError(f"{path}: its items were changed; accepted: the batch as it was written")
        return batch

    def add_batch(self, items: Sequence[Item], corpus: Corpus, facts: Mapping[str, Any]) -> Batch:
        """Add items; the same items a second time add nothing.

        Raises:
            DataError: an id is that of another item of the dataset, or the draft points into another corpus.
        """
        self.must_take(corpus)
        content = b"".join(_line(quoted(item, corpus)) for item in items)
        batch_id = _batch_id_of(content)
        known = {
            item.question_id for batch in self.batches() if batch.batch_id != batch_id for item in batch.items
        }
        taken = sorted({item.question_id for item in items} & known)
        if taken:
            shown = ", ".join(taken[:MOST_NAMED])
            raise DataError(
                f"dataset {self.name}: has items {shown} already; accepted: ids that are new to it"
            )
        self.keep_corpus(corpus, "")
        batch = Batch(batch_id, tuple(items), utc_now().isoformat(), corpus.version, facts)
        self._publish_batch(content, batch)
        return self._batch(batch_id)

    def without(self, question_ids: Collection[str], *, dry: bool) -> int:
        """Remove items, and what was decided on them, from the draft; return how many there are.

        The batch that they were in gets another id. Versions, which are question sets, are not touched.
        """
        gone = 0
        for batch in self.batches():
            items = [item for item in batch.items if item.question_id not in question_ids]
            gone += len(batch.items) - len(items)
            if dry or len(items) == len(batch.items):
                continue
            examples: Mapping[str, Any] = batch.facts.get("filter_examples", {})
            shown = {
                key: [example for example in each if example["question_id"] not in question_ids]
                for key, each in examples.items()
            }
            facts = {**batch.facts, **({"filter_examples": shown} if shown else {})}
            if items:
                self._publish_batch(b"".join(map(_line, items)), replace(batch, facts=facts))
            self.workspace.discard(self.folder / "batches" / batch.batch_id)
        if gone and not dry:
            rows = [(self.dataset_id, question_id) for question_id in question_ids]
            with self.ledger.open() as connection:
                connection.execute("PRAGMA secure_delete = ON")
                connection.executemany(
                    "DELETE FROM dataset_events WHERE dataset_id = ? AND question_id = ?", rows
                )
        return gone

    def _publish_batch(self, content: bytes, batch: Batch) -> None:
        """Publish lines of items under the id of their content, with the facts of a batch."""
        record = {
            "made_at": batch.made_at,
            "corpus_version": batch.corpus_version,
            "facts": dict(batch.facts),
        }
        folder = self.folder / "batches"
        with self.workspace.staging(folder) as stage:
            (stage / "items.jsonl").write_bytes(content)
            (stage / "batch.json").write_text(json.dumps(record, ensure_ascii=False, indent=1), "utf-8")
            self.workspace.publish(stage, folder / _batch_id_of(content))

    def must_take(self, corpus: Corpus) -> None:
        """Refuse items of another corpus than that of the draft.

        Raises:
            DataError: it is another.
        """
        if self.corpus_version not in ("", corpus.version):
            what = f"its gold points into corpus {self.corpus_version}, and {corpus.name} is {corpus.version}"
            raise DataError(
                f"dataset {self.name}: {what}; accepted: the same corpus, another name, or first "
                f"`ragtriage dataset check {self.dataset_id} CORPUS --apply`"
            )

    def keep_corpus(self, corpus: Corpus, who: str) -> None:
        """Keep the texts of a corpus; the first is that of the draft, a later one where `who` sets it."""
        folder = self.folder / "corpora"
        if not (folder / corpus.version).is_dir():
            with self.workspace.staging(folder) as stage:
                (stage / "corpus.jsonl").write_bytes(b"".join(map(_document_line, corpus.documents)))
                (stage / "corpus.json").write_text(json.dumps({"name": corpus.name}), "utf-8")
                self.workspace.publish(stage, folder / corpus.version)
        if who or not self.corpus_version:
            row = (self.dataset_id, corpus.version, who, utc_now().isoformat())
            with self.ledger.open() as connection:
                connection.execute("INSERT INTO dataset_corpora VALUES (?, ?, ?, ?)", row)

    @property
    def corpus_version(self) -> str:
        """Version of the corpus that the draft points into; "" before there is one."""
        rows = _rows(
            self.ledger,
            "SELECT corpus_version FROM dataset_corpora WHERE dataset_id = ? ORDER BY rowid DESC LIMIT 1",
            self.dataset_id,
        )
        return str(rows[0][0]) if rows else ""

    def corpus(self, version: str = "") -> Corpus:
        """Return the corpus of the draft, or one of an earlier version.

        Raises:
            WorkspaceError: its texts are missing or damaged.
        """
        version = version or self.corpus_version
        path = self.folder / "corpora" / version
        try:
            name = json.loads((path / "corpus.json").read_text("utf-8"))["name"]
            lines = (path / "corpus.jsonl").read_bytes().splitlines()
            documents = tuple(Document(**orjson.loads(line)) for line in lines)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise WorkspaceError(
                f"{path}: cannot be read ({type(error).__name__}); accepted: the corpus as it was written"
            ) from error
        corpus = Corpus(name, documents)
        if corpus.version != version:
            raise WorkspaceError(f"{path}: its texts were changed; accepted: the corpus as it was written")
        return corpus

    def versions(self) -> list[Version]:
        """Return the frozen versions, oldest first."""
        return [Version(*row) for row in _rows(self.ledger, _VERSIONS, self.dataset_id)]

    def freeze(self, items: Sequence[Item], n_read: int, who: str) -> tuple[Version, QuestionSet]:
        """Make the next version of items: a question set that never changes, with the corpus.

        Where the newest version has the same questions, it is returned.

        Raises:
            DataError: there is no item.
        """
        if not items:
            raise DataError(
                f"dataset {self.name}: nothing to freeze; accepted: at least one item that is kept"
            )
        corpus, who = self.corpus(), _frozen_by(who)
        with self.ledger.open() as connection:
            connection.execute("BEGIN IMMEDIATE")  # one number is one version, whoever else freezes now
            try:
                rows = connection.execute(_VERSIONS, (self.dataset_id,)).fetchall()
                newest = Version(*rows[-1]) if rows else None
                number = newest.version + 1 if newest else 1
                facts, _ = keep_set(self.workspace, self._question_set(items, corpus, number))
                if newest is not None and newest.set_id == facts.set_id:
                    return newest, facts
                version = Version(number, facts.set_id, corpus.version, n_read, who, utc_now().isoformat())
                row = (self.dataset_id, *asdict(version).values())
                connection.execute("INSERT INTO dataset_versions VALUES (?, ?, ?, ?, ?, ?, ?)", row)
                connection.execute("COMMIT")
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
        return version, facts

    def _question_set(self, items: Sequence[Item], corpus: Corpus, number: int) -> LoadedSet:
        questions = [replace(item, rejected_by="", reason="").to_question() for item in items]
        for question in questions:  # the same questions of another dataset or corpus are another set
            details = {"of": self.name, "corpus_version": corpus.version}
            question[DETAILS] = {**question.get(DETAILS, {}), **details}
        parsed = ParsedRun(
            name=f"{self.name} v{number}",
            records=list(enumerate(questions, start=1)),
            file=self.name,
            format="dataset",
            dataset_version=f"v{number}",
            corpus_version=corpus.version,
            documents=[
                {"id": each.doc_id, "text": each.text, "title": each.title} for each in corpus.documents
            ],
        )
        return parsed_set(parsed, ValidationErrors(self.name))


def datasets(workspace: Workspace) -> list[Dataset]:
    """List the datasets of a workspace that can be read, oldest first."""
    folder = _root(workspace)
    if not folder.is_dir():
        return []
    names = [path.name for path in folder.iterdir() if (path / "dataset.json").is_file()]
    read = [_read(workspace, name) for name in names if not name.startswith(".")]
    return sorted(filter(None, read), key=lambda dataset: (dataset.created_at, dataset.name))


def _read(workspace: Workspace, dataset_id: str) -> Dataset | None:
    try:
        facts = json.loads((_root(workspace) / dataset_id / "dataset.json").read_text("utf-8"))
        dataset = Dataset(workspace, dataset_id, str(facts["name"]), str(facts["created_at"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return dataset if _id_of(dataset.name) == dataset_id else None


def create_dataset(workspace: Workspace, name: str) -> Dataset:
    """Return the dataset of a name, a new one where there is none.

    Raises:
        DataError: the name is empty, too long or no text.
    """
    name = " ".join(name.split())
    if not name or len(name) > LONGEST_NAME or not is_unicode(name):
        fault = "is empty" if not name else f"has {len(name):,} characters"
        fault = fault if is_unicode(name) else "is not UTF-8"
        raise DataError(f"dataset: its name {fault}; accepted: text of at most {LONGEST_NAME} characters")
    folder, dataset_id = _root(workspace), _id_of(name)
    with workspace.staging(folder) as stage:
        facts = {"name": name, "created_at": utc_now().isoformat()}
        (stage / "dataset.json").write_text(json.dumps(facts, ensure_ascii=False), "utf-8")
        workspace.publish(stage, folder / dataset_id)
    dataset = _read(workspace, dataset_id)
    if dataset is None:
        raise WorkspaceError(f"{folder / dataset_id}: is no dataset; accepted: nothing of that name")
    return dataset


def find_dataset(workspace: Workspace, wanted: str) -> Dataset:
    """Find a dataset by its name, its id or the start of its id.

    Raises:
        WorkspaceError: there is none, or more than one.
    """
    every = datasets(workspace)
    matches = [each for each in every if wanted in (each.name, each.dataset_id)]
    if not matches and len(wanted) >= 4:
        matches = [each for each in every if each.dataset_id.startswith(wanted)]
    if len(matches) == 1:
        return matches[0]
    names = ", ".join(each.name for each in (matches or every)[:MOST_NAMED])
    known = f"one of {names}" if names else "the name of one that `ragtriage dataset make` has made"
    raise WorkspaceError(f"no dataset {wanted!r} in {workspace.root}; accepted: {known}")


def delete_dataset(dataset: Dataset) -> None:
    """Delete a dataset's items, corpora and history; its versions stay, as question sets.

    A new dataset of its name goes on counting its versions, and inherits nothing else.
    """
    must_write(f"workspace {dataset.workspace.root}")
    with writing(dataset.workspace.name):
        dataset.workspace.discard(dataset.folder)
        with dataset.ledger.open() as connection:
            connection.execute("DELETE FROM dataset_events WHERE dataset_id = ?", (dataset.dataset_id,))
            connection.execute("DELETE FROM dataset_corpora WHERE dataset_id = ?", (dataset.dataset_id,))


def _root(workspace: Workspace) -> Path:
    return workspace.root / "datasets"


def _id_of(name: str) -> str:
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def _batch_id_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:12]


def _frozen_by(who: str) -> str:
    """Return a name without the space around it.

    Raises:
        DataError: it is empty.
    """
    if not who.strip():
        raise DataError("a version needs the name of who freezes it; accepted: any text")
    return who.strip()


def _line(item: Item) -> bytes:
    return orjson.dumps(item.to_question(), option=orjson.OPT_SORT_KEYS) + b"\n"


def _document_line(document: Document) -> bytes:
    return orjson.dumps(asdict(document)) + b"\n"


def _rows(ledger: Ledger, statement: str, *values: object) -> list[tuple[Any, ...]]:
    if not ledger.path.exists():
        return []
    with ledger.open() as connection:
        return connection.execute(statement, values).fetchall()
