"""Question sets: questions with references and gold, kept apart from runs.

A set is a folder `questions/<set_id>` with `set.json` (its facts) and `questions.parquet`, published by one
rename as runs are. A question is stored as a sample without answer and retrieval; the texts of its gold
passages stand under `candidates`, so that whatever reads samples finds them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import TypeAdapter
from pydantic import ValidationError as ModelError

from ragtriage.data.errors import InputError, ValidationError, ValidationErrors, WorkspaceError
from ragtriage.data.store.access import must_write
from ragtriage.data.store.parsed_run import ParsedRun, normalise
from ragtriage.data.store.sample_reader import further_fields
from ragtriage.data.store.sample_schema import LATER_FIELDS, SCHEMA, Sample, document_id
from ragtriage.data.store.stored_file import reading
from ragtriage.data.store.workspace import FORMAT_VERSION, Workspace, writing

KEPT = (
    *("question_id", "question", "history", "conversation_id", "reference_answer", "reference_claims"),
    *("relevant", "relevant_spans", "answerable", "query_type", "tags"),
)
OF_A_RUN = frozenset(SCHEMA.names) - {*KEPT, "extra"}
ACCEPTED = "rows with a question, and its gold passages or reference answer"
ROW_GROUP = 256
CORPUS = "corpus.jsonl"
Question = dict[str, Any]


@dataclass(frozen=True)
class QuestionSet:
    """The facts of a question set as stored in set.json."""

    set_id: str  # beginning of the hash over its questions; the name of its folder
    name: str  # from the content or from the name of its file
    n: int
    n_gold: int  # questions with gold of any kind
    n_gold_ids: int  # questions whose gold has ids of its own
    n_gold_texts: int  # questions with the text of at least one gold passage
    n_gold_spans: int  # questions with gold as spans
    n_references: int  # questions with a reference answer
    n_hops: int  # questions whose gold has two or more hops
    n_unanswerable: int  # questions declared unanswerable
    dataset_version: str  # as the file or the user states it, else the set_id
    corpus_version: str  # version of the documents, or ""
    origin: dict[str, str]  # {"file": name, "format": importer}
    created_at: datetime  # time at which it was kept; naive UTC
    content_hash: str  # SHA-256 of the questions in canonical form
    notes: tuple[str, ...] = ()
    n_documents: int = 0  # documents of the corpus that came with the questions; 0 for none
    format_version: int = FORMAT_VERSION  # version of the stored format

    def to_dict(self) -> dict[str, Any]:
        """Return the facts as JSON values."""
        return {**asdict(self), "created_at": self.created_at.isoformat(), "notes": list(self.notes)}


@dataclass(frozen=True)
class LoadedSet:
    """A question set in memory."""

    facts: QuestionSet  # of the set, stored or not
    # in the native form; entries of `relevant` have the `text` of the passage where known
    questions: tuple[Question, ...]
    # the corpus that came with them, where it was read from a file
    documents: tuple[Mapping[str, str], ...] = field(default=(), compare=False)


@cache
def _facts_adapter() -> TypeAdapter[QuestionSet]:
    return TypeAdapter(QuestionSet)


def questions_path(workspace: Workspace, set_id: str) -> Path:
    """Return the path of a set's questions."""
    return workspace.questions_folder / set_id / "questions.parquet"


def corpus_path(workspace: Workspace, set_id: str) -> Path | None:
    """Return the path of the corpus that came with a set, one document a line; None where there is none."""
    path = workspace.questions_folder / set_id / CORPUS
    return path if path.is_file() else None


def parsed_set(parsed: ParsedRun, errors: ValidationErrors) -> LoadedSet:
    """Read the questions of a parsed file; fields of a run, such as its answers, are left out.

    Entries of `relevant` may have a `text`, and then need no `id`.

    Raises:
        InputError: a record is not valid, two have the same id, or there is none.
    """
    questions: list[Question] = []
    lines: dict[str, int] = {}
    for line, record in parsed.records:
        question = _question(record, line, errors)
        if question is None:
            continue
        has_own_id = isinstance(record, Mapping) and record.get("question_id") is not None
        if not has_own_id and question["question_id"] in lines:
            errors.remark("a question that is asked again, without an id, is numbered", line)
            # an id for a question that recurs; its text alone gives the one that is taken
            question_id = question["question_id"]
            number = 2
            while f"{question_id}-{number}" in lines:
                number += 1
            numbered = f"{question_id}-{number}"
            question["question_id"] = numbered
        first_line = lines.setdefault(question["question_id"], line)
        if first_line != line:
            what = f"question_id {question['question_id']!r} is already on line {first_line}"
            errors.add(line, "question_id", what, "each question once")
        questions.append(question)
    errors.raise_if_any()
    if not questions:
        raise InputError([ValidationError(parsed.file, None, "", "holds no question", ACCEPTED)])
    return LoadedSet(_facts(parsed, questions, errors.notes), tuple(questions), tuple(parsed.documents))


def _question(record: object, line: int, errors: ValidationErrors) -> Question | None:
    """Return a record as a question, or None with its errors added."""
    texts: dict[str, str] = {}
    if isinstance(record, Mapping):
        record = {name: value for name, value in record.items() if name not in OF_A_RUN}
        if isinstance(record.get("relevant"), Sequence) and not isinstance(record["relevant"], str):
            record["relevant"] = [_without_text(entry, texts) for entry in record["relevant"]]
    sample = normalise(record, line, errors)
    return None if sample is None else _native(sample, texts)


def _without_text(entry: object, texts: dict[str, str]) -> object:
    """Take the text out of a gold passage, and give one that has no id the id of its text."""
    if not isinstance(entry, Mapping) or not isinstance(entry.get("text"), str):
        return entry
    name = entry.get("id")
    name = document_id(entry["text"]) if name is None or name == "" else name
    texts[str(name)] = entry["text"]
    return {**{key: value for key, value in entry.items() if key != "text"}, "id": name}


def _native(sample: Sample, texts: Mapping[str, str]) -> Question:
    """Return a stored or validated sample as a question in the native form, without what is empty."""
    question = {name: sample[name] for name in KEPT if sample.get(name) is not None}
    if "tags" in question:
        question["tags"] = {tag["key"]: tag["value"] for tag in question["tags"]}
    for name in ("relevant", "relevant_spans", "reference_claims"):
        if name in question:
            question[name] = [
                {key: value for key, value in entry.items() if value is not None} for entry in question[name]
            ]
    for entry in question.get("relevant", ()):
        if entry["id"] in texts:
            entry["text"] = texts[entry["id"]]
    further = further_fields(sample["extra"])
    question |= {key: value for key, value in further.items() if key not in question}
    return question


def _canonical(question: Question) -> bytes:
    """Return a question as JSON with its keys in order; a whole number may have more than 64 bits."""
    try:
        return orjson.dumps(question, option=orjson.OPT_SORT_KEYS)
    except TypeError:
        return json.dumps(question, sort_keys=True).encode()


def _facts(parsed: ParsedRun, questions: Sequence[Question], remarks: Sequence[str]) -> QuestionSet:
    digest = hashlib.sha256()
    for question in questions:
        digest.update(_canonical(question) + b"\n")
    content_hash = digest.hexdigest()
    spans = [bool(question.get("relevant_spans")) for question in questions]
    gold = [question.get("relevant") or [] for question in questions]
    return QuestionSet(
        set_id=content_hash[:12],
        name=parsed.name,
        n=len(questions),
        n_gold=sum(
            bool(question.get("relevant") or question.get("relevant_spans")) for question in questions
        ),
        n_gold_ids=sum(
            any(entry["id"] != document_id(entry.get("text", "")) for entry in own) for own in gold
        ),
        n_gold_texts=sum(any("text" in entry for entry in own) for own in gold),
        n_gold_spans=sum(spans),
        n_references=sum(bool(question.get("reference_answer")) for question in questions),
        n_hops=sum(len({entry.get("hop") for entry in own} - {None}) > 1 for own in gold),
        n_unanswerable=sum(question.get("answerable") == "no" for question in questions),
        dataset_version=parsed.dataset_version or content_hash[:12],
        corpus_version=parsed.corpus_version,
        origin={"file": parsed.file, "format": parsed.format},
        created_at=datetime.now(UTC).replace(tzinfo=None),  # to the microsecond, for the order of sets
        content_hash=content_hash,
        notes=(*parsed.all_notes, *remarks),
        n_documents=len(parsed.documents),
    )


def keep_set(workspace: Workspace, loaded: LoadedSet) -> tuple[QuestionSet, bool]:
    """Store a question set; return its facts as stored, and whether it was not there before."""
    folder = workspace.questions_folder
    with workspace.staging(folder) as stage:
        table = pa.Table.from_pylist(list(_samples(loaded.questions)), schema=SCHEMA)
        pq.write_table(table, stage / "questions.parquet", compression="zstd", row_group_size=ROW_GROUP)
        if loaded.documents:
            lines = b"".join(orjson.dumps(dict(document)) + b"\n" for document in loaded.documents)
            (stage / CORPUS).write_bytes(lines)
        facts = json.dumps(loaded.facts.to_dict(), ensure_ascii=False, indent=1)
        (stage / "set.json").write_text(facts, encoding="utf-8")
        is_new = workspace.publish(stage, folder / loaded.facts.set_id)
    return (loaded.facts, True) if is_new else (_read_facts(workspace, loaded.facts.set_id), False)


def _samples(questions: Sequence[Question]) -> Iterator[Sample]:
    """Yield the questions as samples, each with its row and its gold passages as candidates."""
    errors = ValidationErrors("question set")
    for row, question in enumerate(questions):
        texts: dict[str, str] = {}
        gold = [_without_text(entry, texts) for entry in question.get("relevant", ())]
        record = {**question, **({"relevant": gold} if "relevant" in question else {})}
        if texts:
            record["candidates"] = [{"id": name, "text": text} for name, text in texts.items()]
        sample = normalise(record, row + 1, errors)
        if sample is None:
            raise AssertionError(f"a question that was read is not a sample: {errors.first}")
        yield {**dict.fromkeys(LATER_FIELDS), **sample, "row": row}


def question_sets(workspace: Workspace) -> list[QuestionSet]:
    """List the question sets of a workspace that can be read, oldest first."""
    sets = []
    for set_id in _set_ids(workspace):
        try:
            sets.append(_read_facts(workspace, set_id))
        except WorkspaceError:
            continue  # `unreadable_sets` names it
    return sorted(sets, key=lambda entry: (entry.created_at, entry.name, entry.set_id))


def unreadable_sets(workspace: Workspace) -> dict[str, str]:
    """Return set id -> what is wrong, of the question sets that cannot be read."""
    problems = {}
    for set_id in _set_ids(workspace):
        try:
            _read_facts(workspace, set_id)
        except WorkspaceError as error:
            problems[set_id] = str(error)
    return problems


def _set_ids(workspace: Workspace) -> list[str]:
    folder = workspace.questions_folder
    if not folder.is_dir():
        return []
    return sorted(path.name for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))


def _read_facts(workspace: Workspace, set_id: str) -> QuestionSet:
    path = workspace.questions_folder / set_id / "set.json"
    accepted = f"the set.json that the import wrote, or `ragtriage questions --delete {set_id}`"
    try:
        facts = _facts_adapter().validate_json(path.read_bytes(), strict=True)
    except (OSError, ModelError) as error:
        reason = error.strerror if isinstance(error, OSError) else error.errors()[0]["msg"]
        raise WorkspaceError(f"{path}: cannot be read ({reason}); accepted: {accepted}") from error
    if facts.set_id != set_id:  # paths are made of it: another id would lead out of the set's folder
        raise WorkspaceError(
            f"{path}: set_id {facts.set_id!r} is not the folder's name; accepted: {accepted}"
        )
    if facts.format_version > FORMAT_VERSION:
        newer = f"format_version {facts.format_version}, and this ragtriage reads up to {FORMAT_VERSION}"
        raise WorkspaceError(f"{path}: {newer}; accepted: {accepted}")
    return facts


def set_named(sets: Sequence[QuestionSet], name: str, version: str) -> QuestionSet | None:
    """Return the question set that a run names; the first of its name where it names no version."""
    return next(
        (
            entry
            for entry in sets
            if name in (entry.name, entry.set_id) and version in ("", entry.dataset_version, entry.set_id)
        ),
        None,
    )


def find_set(workspace: Workspace, wanted: str) -> QuestionSet:
    """Find a question set by id, by the start of its id, or by its name.

    Raises:
        WorkspaceError: there is none, or more than one.
    """
    problems = unreadable_sets(workspace)
    if wanted in problems:
        raise WorkspaceError(problems[wanted])
    sets = question_sets(workspace)
    matches = [entry for entry in sets if entry.set_id == wanted] or [
        entry for entry in sets if entry.name == wanted
    ]
    if not matches and len(wanted) >= 4:
        matches = [entry for entry in sets if entry.set_id.startswith(wanted)]
    if len(matches) == 1:
        return matches[0]
    shown = ", ".join(f"{entry.name} ({entry.set_id})" for entry in (matches or sets)[:8])
    if matches:
        raise WorkspaceError(
            f"question set {wanted!r}: is the name of {len(matches)}; accepted: one of {shown}"
        )
    known = f"one of {shown}" if sets else "a file, or a set that `ragtriage import FILE` has kept"
    raise WorkspaceError(f"no question set {wanted!r} in {workspace.root}; accepted: {known}")


def load_set(workspace: Workspace, set_id: str) -> LoadedSet:
    """Read a question set with all its questions.

    Raises:
        WorkspaceError: its files are missing or damaged.
    """
    facts = _read_facts(workspace, set_id)
    path = questions_path(workspace, set_id)
    with reading(path):
        samples = pq.read_table(path).to_pylist()
    questions = []
    for sample in samples:
        texts = {document["id"]: document["text"] for document in sample["candidates"] or ()}
        questions.append(_native(sample, texts))
    return LoadedSet(facts, tuple(questions))


def delete_set(workspace: Workspace, set_id: str) -> None:
    """Delete a question set, readable or not; the runs that were joined with it keep their gold.

    Raises:
        WorkspaceError: there is no such set, or the folder cannot be changed.
    """
    must_write(f"workspace {workspace.root}")
    if set_id not in _set_ids(workspace):
        raise WorkspaceError(f"no question set {set_id!r} in {workspace.root}; see `ragtriage questions`")
    with writing(workspace.name):
        workspace.discard(workspace.questions_folder / set_id)
