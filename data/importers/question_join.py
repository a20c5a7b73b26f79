"""A question set joined to the samples of a run: gold, references and the like, by question."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import Any

from ragtriage.data.errors import InputError, ValidationError
from ragtriage.data.store.parsed_run import Record
from ragtriage.data.store.question_sets import LoadedSet
from ragtriage.data.store.sample_schema import document_id
from ragtriage.data.text.tokens import folded, folded_question

LOOKED_AT = 200  # samples from which it is told whether gold texts can be matched at all
FILLED = ("reference_answer", "reference_claims", "answerable", "query_type")
ACCEPTED = "the question set that the run was made from: the same question ids, or the same questions"
Fields = Mapping[str, Any]


class QuestionJoin:
    """Joins a question set to the records of one run, and counts what was joined.

    A sample has its question by its id; by the folded text of the question where it has no such id, or where
    its text is that of another question of the set. What the run has itself stays.
    """

    def __init__(self, loaded: LoadedSet, file: str, partial: bool = False) -> None:
        """Prepare a join; a partial one reads the first samples alone, as for a preview."""
        self.facts, self._file, self._partial = loaded.facts, file, partial
        self._by_id = {question["question_id"]: question for question in loaded.questions}
        texts = Counter(folded_question(question["question"]) for question in loaded.questions)
        self._by_text = {
            text: question
            for question in loaded.questions
            if texts[text := folded_question(question["question"])] == 1
        }
        self._counts: Counter[str] = Counter()
        self._asked: set[str] = set()
        self._uses_texts = True

    def records(self, records: Iterable[Record]) -> Iterator[Record]:
        """Yield the records with what the set says of their questions.

        Raises:
            InputError: no question of the run is in the set.
        """
        stream = iter(records)
        first = list(islice(stream, LOOKED_AT))
        # Whether a gold passage of any question is among the retrieved ones, by its text.
        self._uses_texts = any(
            folded(entry.get("text", "")) in _ids_by_text(record)
            for _, record in first
            if isinstance(record, dict) and (question := self._question_of(record)[0]) is not None
            for entry in question.get("relevant", ())
        )
        for line, record in chain(first, stream):
            self._counts["samples"] += 1
            question, by_text = self._question_of(record)
            if question is None or not isinstance(record, dict):
                yield line, record
                continue
            self._counts["joined"] += 1
            self._counts["by text"] += by_text
            self._asked.add(question["question_id"])
            yield line, self._joined(record, question)
        if self._counts["samples"] and not self._counts["joined"] and not self._partial:
            what = f"none of its {self._counts['samples']:,} samples asks a question of {self.facts.name}"
            raise InputError([ValidationError(self._file, None, "", what, ACCEPTED)])

    def notes(self) -> tuple[str, ...]:
        """Return what was joined, in sentences; complete once the records are consumed."""
        counts, left = self._counts, self.facts.n - len(self._asked)
        shares = f"{counts['joined']:,} of {counts['samples']:,} samples"
        joined = f"question set {self.facts.name}: joined {shares}"
        if left and not self._partial:
            joined += f"; {left:,} {'question' if left == 1 else 'questions'} of the set without a sample"
        lines = {
            "by text": "samples joined by the text of the question and not by its id: {}",
            "own gold": "samples whose own gold is kept, where the set has some too: {}",
            "own others": "fields of the run that are kept, where the set has others: {}",
            "matched": "gold passages matched to what was retrieved by their text: {}",
            "texts left out": (
                "samples joined without gold: {}; the set knows it by texts, and none of them is among the "
                "retrieved ones"
            ),
        }
        return (joined, *(text.format(f"{counts[key]:,}") for key, text in lines.items() if counts[key]))

    def _question_of(self, record: object) -> tuple[Fields | None, bool]:
        """Return the question of a record, and whether it was found by its text and not by its id."""
        if not isinstance(record, dict):
            return None, False
        by_id = self._by_id.get(str(record.get("question_id")))
        asked = record.get("question")
        by_text = self._by_text.get(folded_question(asked)) if isinstance(asked, str) else None
        if by_text is not None and by_text is not by_id:
            return by_text, True
        return by_id, False

    def _joined(self, record: dict[str, Any], question: Fields) -> dict[str, Any]:
        joined = dict(record)
        for name in FILLED:
            if question.get(name) in (None, ""):
                continue
            if record.get(name) in (None, ""):
                joined[name] = question[name]
            elif record[name] != question[name]:
                self._counts["own others"] += 1
        tags = record.get("tags")
        if question.get("tags") and (tags is None or isinstance(tags, dict)):
            joined["tags"] = {**question["tags"], **(tags or {})}
        has_gold = record.get("relevant") is not None or record.get("relevant_spans") is not None
        if has_gold:
            self._counts["own gold"] += bool(question.get("relevant") or question.get("relevant_spans"))
            return joined
        if question.get("relevant_spans") is not None:
            joined["relevant_spans"] = question["relevant_spans"]
        if question.get("relevant") is not None:
            self._join_gold(joined, question["relevant"])
        return joined

    def _join_gold(self, joined: dict[str, Any], gold: Iterable[Fields]) -> None:
        """Add the gold documents; one whose text was retrieved gets the id that it has there."""
        retrieved, relevant, left_out = _ids_by_text(joined), [], False
        own_ids = set(retrieved.values())
        for entry in gold:
            text = entry.get("text", "")
            known_by_text = entry["id"] == document_id(text)
            if known_by_text and not self._uses_texts:
                left_out = True
                continue
            name = entry["id"]
            if name not in own_ids and text and folded(text) in retrieved:
                name = retrieved[folded(text)]
                self._counts["matched"] += 1
            relevant.append({**{key: entry[key] for key in ("grade", "hop") if key in entry}, "id": name})
        self._counts["texts left out"] += left_out
        if relevant or not left_out:
            joined["relevant"] = relevant


def _ids_by_text(record: Fields) -> dict[str, str]:
    """Return folded text -> id of the retrieved documents of a record, as the sample will have them."""
    ids: dict[str, str] = {}
    for document in chain(record.get("retrieved") or (), record.get("candidates") or ()):
        text = document.get("text") if isinstance(document, dict) else document
        if not isinstance(text, str):
            text = ""
        name = document.get("id") if isinstance(document, dict) else None
        if name is None and not text:
            continue
        key = folded(text) if text.strip() else f"\0{name}"  # a document without a text has its id alone
        ids.setdefault(key, document_id(text) if name is None else str(name))
    return ids
