"""The questions of an experiment with their accepted answers and gold passages: of a set, a file or a run."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import orjson

from ragtriage.data.cases.export import native_record
from ragtriage.data.chunking.corpus import Corpus, Document
from ragtriage.data.chunking.retrievers import Bm25Index
from ragtriage.data.errors import DataError, WorkspaceError
from ragtriage.data.generation import gold_texts, oracle_documents
from ragtriage.data.importers.load import is_question_file, named_questions
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.question_sets import KEPT, LoadedSet
from ragtriage.data.store.sample_models import is_unicode
from ragtriage.data.store.sample_reader import StoredSamples
from ragtriage.data.suites.check import shown
from ragtriage.data.text.right_by_text import holds_answer, normalised
from ragtriage.data.text.tokens import folded

ANSWERS = (
    "answers",
    "accepted_answers",
    "gold_answers",
    "correct_answer",
    "ideal",
)  # of a row, beside its reference answer
ALTERED = (
    "altered_answer",
    "incorrect_answer",
    "wrong_answer",
    "wrong_answers",
    "adv_answer",
    "target_answer",
)
PARAPHRASES = ("paraphrases", "rephrasings")
POISONED = ("poisoned_documents", "adv_texts")
GOLD = ("gold", "gold_passages")
NEGATIVES, ALTERED_PASSAGES, PARTS = "negatives", "altered_passages", "answer_parts"
STATE = ("state", "live_state")
OF_THE_QUESTION = tuple(name for name in KEPT if name not in ("relevant", "relevant_spans", "history"))


@dataclass(frozen=True)
class Passage:
    """A document that can be put into a context."""

    doc_id: str
    text: str

    def sent(self) -> dict[str, str]:
        """Return it as a request has it."""
        return {"id": self.doc_id, "text": self.text}


@dataclass(frozen=True)
class AskedQuestion:
    """A question as an experiment asks it."""

    question_id: str  # of the question
    question: str  # its text
    answers: tuple[str, ...] = ()  # that are accepted; () where none is known
    gold: tuple[Passage, ...] = ()  # passages that hold the answer
    retrieved: tuple[Passage, ...] = ()  # other passages that a run retrieved for it, the best first
    negatives: tuple[Passage, ...] = ()  # passages that the row gives as holding no answer, in its order
    altered: str = ""  # a wrong answer to plant; "" where none is given
    altered_passages: tuple[Passage, ...] = ()  # passages that state it
    poisoned: tuple[str, ...] = ()  # texts of documents that argue for it
    # the question in other words, as the row gives them or a model wrote them
    paraphrases: tuple[str, ...] = ()
    paraphrased_by: str = ""  # the model that wrote them; "" where the row gives them
    history: tuple[Mapping[str, str], ...] = ()  # earlier turns
    spans: tuple[Mapping[str, Any], ...] = ()  # gold as characters of documents, {doc_id, start, end}
    state: Passage | None = None  # what a live source said when it was asked; None where the row gives none
    # of an answer of several parts, the ways to say each; () where any of `answers` will do
    parts: tuple[tuple[str, ...], ...] = ()
    # fields of a sample about the question, in the native form
    record: Mapping[str, Any] = field(default_factory=dict)

    def is_answered_by(self, answer: str) -> bool:
        """Return whether a text holds an accepted answer, or each of its parts."""
        return all(holds_answer(answer, part) for part in self.parts or (self.answers,))

    def relevant(self) -> list[dict[str, str]] | None:
        """Return its gold as the field `relevant` of a sample; None where it has none."""
        return [{"id": passage.doc_id} for passage in self.gold] or None


@dataclass(frozen=True)
class Questions:
    """The questions of an experiment."""

    name: str  # of the set, file or run
    questions: tuple[AskedQuestion, ...]  # in order
    # further passages to draw from, e.g. the corpus that came with the questions.
    documents: tuple[Passage, ...] = ()
    dataset_version: str = ""  # of the set
    # passages that the user gives as holding no answer; with any, no others are drawn
    negatives: tuple[Passage, ...] = ()

    def with_gold(self) -> tuple[list[AskedQuestion], tuple[str, ...]]:
        """Return the questions that have a gold passage with a text, and a note on those that have none.

        Raises:
            DataError: none has one.
        """
        with_gold = [entry for entry in self.questions if entry.gold]
        if not with_gold:
            raise DataError(
                f"{self.name}: no question has the text of a gold passage; accepted: rows with `gold` or "
                "`relevant` entries that have a `text`, or a run with gold documents"
            )
        left_out = len(self.questions) - len(with_gold)
        note = f"questions left out, without a gold passage that has a text: {left_out:,}"
        return with_gold, (note,) if left_out else ()

    @cached_property
    def version(self) -> str:
        """12 digits over all that is asked and drawn from."""
        content = [
            [
                [
                    entry.question_id,
                    entry.question,
                    entry.answers,
                    entry.altered,
                    *entry.poisoned,
                    *entry.paraphrases,
                ],
                [
                    [passage.doc_id, passage.text]
                    for passage in (
                        *(*entry.gold, *entry.retrieved, *entry.negatives, *entry.altered_passages),
                        *filter(None, [entry.state]),
                    )
                ],
            ]
            for entry in self.questions
        ]
        content.append([[passage.doc_id, passage.text] for passage in (*self.documents, *self.negatives)])
        return hashlib.sha256(orjson.dumps(content)).hexdigest()[:12]

    def first(self, limit: int | None) -> Self:
        """Return the first questions; what is drawn from stays."""
        if limit is None or limit >= len(self.questions):
            return self
        rest = (passage for entry in self.questions[limit:] for passage in entry.gold)
        documents = (*self.documents, *rest)
        return replace(self, questions=self.questions[:limit], documents=documents)


def open_questions(store: RunStore, wanted: str) -> Questions:
    """Return the questions of a file, of a set that the workspace keeps, or of a run.

    Raises:
        InputError: the file cannot be read as questions.
        DataError: there is nothing of that name, or it holds no question.
    """
    if is_question_file(wanted):
        return _of_set(named_questions(store.workspace, wanted))
    try:
        loaded = named_questions(store.workspace, wanted)
    except WorkspaceError as no_set:
        try:
            run = store.find(wanted)
        except WorkspaceError as no_run:
            raise WorkspaceError(
                f"questions {wanted!r}: no file, question set or run; accepted: a path, or a name that "
                "`ragtriage questions` or `ragtriage runs` lists"
            ) from (no_run or no_set)
        return _of_run(store, run.run_id)
    return _of_set(loaded)


def with_negatives(questions: Questions, corpus: Corpus) -> Questions:
    """Return the questions with the documents of a corpus as what holds no answer."""
    return replace(
        questions, negatives=tuple(Passage(document.doc_id, document.text) for document in corpus.documents)
    )


def corpus_of_questions(questions: Questions) -> Corpus:
    """Return all passages that come with questions as a corpus, each id once."""
    passages = {
        passage.doc_id: Document(passage.doc_id, passage.text)
        for entry in questions.questions
        for passage in (*entry.gold, *entry.retrieved)
    }
    others = {passage.doc_id: Document(passage.doc_id, passage.text) for passage in questions.documents}
    return Corpus(questions.name, tuple({**others, **passages}.values()))


def _of_set(loaded: LoadedSet) -> Questions:
    questions = tuple(_of_record(record) for record in loaded.questions)
    documents = tuple(
        Passage(str(document.get("id", "")), str(document.get("text", ""))) for document in loaded.documents
    )
    return Questions(loaded.facts.name, questions, documents, loaded.facts.dataset_version)


def _of_run(store: RunStore, run_id: str) -> Questions:
    run = store.find(run_id)
    if run.means:
        raise DataError(f"run {run_id}: summary scores only; accepted: a run with samples")
    path = store.workspace.samples_path(run_id)
    texts = gold_texts(path)
    questions: dict[str, AskedQuestion] = {}
    for sample in StoredSamples(path).each():
        gold = [Passage(str(entry["id"]), entry["text"]) for entry in oracle_documents(sample, texts)[0]]
        questions.setdefault(sample["question_id"], _of_record(native_record(sample), gold))
    return Questions(run.name, tuple(questions.values()), (), run.dataset_version)


def _of_record(record: Mapping[str, Any], gold: Iterable[Passage] | None = None) -> AskedQuestion:
    """Return a record in the native form as a question; `gold` where its passages are known otherwise."""
    passages = tuple(gold if gold is not None else _gold(record))
    ids = {passage.doc_id for passage in passages}
    retrieved = tuple(
        Passage(str(entry.get("id") or f"retrieved-{rank}"), entry["text"])
        for rank, entry in enumerate(record.get("retrieved") or (), 1)
        if entry.get("text") and not entry.get("relevant") and str(entry.get("id")) not in ids
    )
    return AskedQuestion(
        question_id=str(record["question_id"]),
        question=record["question"],
        answers=tuple(_texts(record, (*ANSWERS, "reference_answer"))),
        parts=tuple(tuple(map(str, part)) for part in record.get(PARTS) or ()),
        gold=passages,
        retrieved=retrieved,
        negatives=tuple(_passages(record, NEGATIVES)),
        altered_passages=tuple(_passages(record, ALTERED_PASSAGES)),
        altered=next(iter(_texts({**(record.get("tags") or {}), **record}, ALTERED)), ""),
        poisoned=tuple(_texts(record, POISONED)),
        paraphrases=tuple(_texts(record, PARAPHRASES)),
        history=tuple(record.get("history") or ()),
        state=_state(record),
        spans=tuple(record.get("relevant_spans") or ()),
        record={name: record[name] for name in OF_THE_QUESTION if record.get(name) is not None},
    )


def _texts(record: Mapping[str, Any], names: Iterable[str]) -> list[str]:
    """Return the texts of the first of these fields that has any."""
    for name in names:
        value = record.get(name)
        listed = value if isinstance(value, list) else [value]
        texts = [
            _valid(record, name, str(entry))
            for entry in listed
            if isinstance(entry, str | int | float) and str(entry).strip()
        ]
        if texts:
            return texts
    return []


def _valid(record: Mapping[str, Any], name: str, text: str) -> str:
    """Return a text of a field that no import has validated.

    Raises:
        DataError: it cannot be sent or stored.
    """
    if not is_unicode(text):
        what = f"question_id {record['question_id']!r}: {name}: holds half of a surrogate pair"
        raise DataError(f"{what}; accepted: text, in valid Unicode")
    return text


def _gold(record: Mapping[str, Any]) -> Iterator[Passage]:
    """Yield the gold passages of a question whose texts are known, each once."""
    own = {str(entry.get("id")): entry.get("text") for entry in record.get("candidates") or ()}
    listed = [("relevant", entry) for entry in record.get("relevant") or ()]
    for name in GOLD:
        value = record.get(name)
        listed += [(name, entry) for entry in (value if isinstance(value, list) else [value])]
    seen: set[str] = set()
    for at, (name, entry) in enumerate(listed, 1):
        if not isinstance(entry, Mapping) or not _is_relevant(record, name, entry.get("grade")):
            continue
        doc_id = _valid(record, name, str(entry.get("id") or f"{record['question_id']}-gold-{at}"))
        text = entry.get("text") or own.get(doc_id)
        if isinstance(text, str) and text.strip() and doc_id not in seen:
            seen.add(doc_id)
            yield Passage(doc_id, _valid(record, name, text))


def _passages(record: Mapping[str, Any], name: str) -> Iterator[Passage]:
    """Yield the passages that a row lists in a field, as texts or as objects with a text."""
    value = record.get(name)
    for at, entry in enumerate(value if isinstance(value, list) else [], 1):
        passage = entry if isinstance(entry, Mapping) else {"text": entry}
        text = passage.get("text")
        if isinstance(text, str) and text.strip():
            doc_id = str(passage.get("id") or f"{record['question_id']}-{name}-{at}")
            yield Passage(_valid(record, name, doc_id), _valid(record, name, text))


def _state(record: Mapping[str, Any]) -> Passage | None:
    """Return the live state that a row gives, as text or as JSON; None where there is none."""
    name = next((name for name in STATE if record.get(name) not in (None, "", [], {})), None)
    if name is None:
        return None
    value = record[name]
    text = value if isinstance(value, str) else orjson.dumps(value).decode()
    return Passage(f"{record['question_id']}-state", _valid(record, name, text)) if text.strip() else None


def _is_relevant(record: Mapping[str, Any], name: str, grade: Any) -> bool:
    """Return whether a passage is gold by its grade, where it has one.

    Raises:
        DataError: the grade is not a number.
    """
    try:
        return grade is None or float(grade) > 0
    except OverflowError:
        return bool(grade > 0)
    except (TypeError, ValueError):
        what = f"question_id {record['question_id']!r}: {name}: grade {shown(grade)}"
        raise DataError(f"{what}; accepted: a number") from None


SEARCHED = 5  # times as many as are needed are looked at first: some hold the answer


@dataclass(frozen=True)
class Drawn:
    """The distractors of one question."""

    passages: tuple[Passage, ...]  # the most alike to the question first
    with_answer: int  # candidates that were left out because they hold an accepted answer


class Distractors:
    """A pool of passages to draw from, searched by the words of a question."""

    def __init__(self, questions: Questions) -> None:
        self._own = bool(questions.negatives)
        pool: dict[str, Passage] = {}
        of_questions = [passage for each in questions.questions for passage in (*each.gold, *each.retrieved)]
        for passage in questions.negatives or (*of_questions, *questions.documents):
            pool.setdefault(folded(passage.text), passage)
        self._pool = tuple(pool.values())
        self._normalised = [normalised(passage.text) for passage in self._pool]
        self._index = Bm25Index([passage.text for passage in self._pool])

    def draw(self, question: AskedQuestion, count: int) -> Drawn:
        """Draw the passages that look most like a question and hold none of its accepted answers.

        Those that its row gives come first, then those that a run retrieved for it, then those of the pool by
        BM25; where too few share a word with it, others follow in an order fixed by the question's id. The
        pool is that of the user's own negatives, where there are any, and then the only source.
        """
        accepted = tuple(filter(None, map(normalised, (*question.answers, question.altered))))
        taken = {folded(passage.text) for passage in question.gold}
        names = {passage.doc_id for passage in question.gold}
        drawn: list[Passage] = []
        with_answer = 0
        for passage, content in self._candidates(question, count):
            key = folded(passage.text)
            if len(drawn) == count:
                break
            if key in taken or passage.doc_id in names:
                continue
            taken.add(key)
            if any(answer in content for answer in accepted):
                with_answer += 1
                continue
            names.add(passage.doc_id)
            drawn.append(passage)
        return Drawn(tuple(drawn), with_answer)

    def _candidates(self, question: AskedQuestion, count: int) -> Iterable[tuple[Passage, str]]:
        for passage in () if self._own else (*question.negatives, *question.retrieved):
            yield passage, normalised(passage.text)
        depth = min(len(self._pool), SEARCHED * (count + len(question.gold)))
        hits = [int(at) for at in self._index.search([question.question], depth)[0][0] if at >= 0]
        for at in (*hits, *self._others(question, set(hits))):
            yield self._pool[at], self._normalised[at]

    def _others(self, question: AskedQuestion, hits: set[int]) -> Iterable[int]:
        """Yield the rest of the pool from a place that the question's id fixes."""
        size = len(self._pool)
        start = int(hashlib.sha256(question.question_id.encode()).hexdigest()[:8], 16) % max(size, 1)
        return (at for step in range(size) if (at := (start + step) % size) not in hits)


def draw_distractors(
    questions: Questions, asked: Sequence[AskedQuestion], count: int
) -> tuple[dict[str, tuple[Passage, ...]], tuple[str, ...]]:
    """Draw `count` distractors for each question; the questions without as many are not in the result.

    Returns:
        question id -> distractors, and notes on what was left out.
    """
    pool = Distractors(questions)
    drawn = {question.question_id: pool.draw(question, count) for question in asked}
    full = {name: entry.passages for name, entry in drawn.items() if len(entry.passages) == count}
    with_answer = sum(entry.with_answer for entry in drawn.values())
    notes = []
    if with_answer:
        notes.append(
            f"passages not drawn as distractors because they hold an accepted answer: {with_answer:,}"
        )
    if len(full) < len(drawn):
        notes.append(f"questions left out for want of {count:,} distractors: {len(drawn) - len(full):,}")
    return full, tuple(notes)
