"""A small corpus of house rules, and questions on it, for the tests of datasets."""

from __future__ import annotations

from collections.abc import Mapping

from ragtriage.data.chunking.corpus import Corpus, Document
from ragtriage.data.datasets.windows import CorpusWindows
from ragtriage.data.errors import ValidationErrors
from ragtriage.data.store.parsed_run import ParsedRun
from ragtriage.data.store.question_sets import LoadedSet, parsed_set

LEAVE = (
    "# Leave\n\nEvery employee has 28 days of paid leave in a calendar year. Up to 5 days move to the next "
    "year when Martha Keller in Bremen approves it before 15 November 2024.\n\n"
    "Sick leave needs a doctor's note from the third day. The note goes to the office in Bremen.\n"
)
TRAVEL = (
    "# Travel\n\nTrains are booked in second class; first class needs a journey of more than 4 hours. "
    "A night in a hotel may cost 140 euros in Hamburg and 110 euros elsewhere.\n\n"
    "Sick leave needs a doctor's note from the third day. Taxis need a reason in writing.\n"
)
HOUSE = "# House\n\nThe door code changes every Monday. Oskar Lindt keeps the spare keys on floor 3.\n"


def corpus(**changed: str) -> Corpus:
    """Return the corpus, with the texts of some documents changed."""
    texts = {"leave": LEAVE, "travel": TRAVEL, "house": HOUSE} | changed
    return Corpus("rules", tuple(Document(doc_id, text, doc_id.title()) for doc_id, text in texts.items()))


def windows() -> CorpusWindows:
    """Return the corpus ready to be searched."""
    return CorpusWindows(corpus())


def question_set(*records: Mapping[str, object], name: str = "asked") -> LoadedSet:
    """Return records as a question set in memory."""
    parsed = ParsedRun(name, list(enumerate(records, 1)), f"{name}.jsonl", "native")
    return parsed_set(parsed, ValidationErrors(name))
