"""The handbook's questions as items, and its corpus."""

from functools import cache
from importlib.resources import files
from pathlib import Path

from ragtriage.data.chunking.corpus import Corpus, read_corpus
from ragtriage.data.datasets.from_questions import read_items
from ragtriage.data.datasets.item import Item
from ragtriage.data.datasets.windows import CorpusWindows
from ragtriage.data.importers.load import read_question_file
from ragtriage.data.importers.parsing.input_file import InputFile

FOLDER = Path(str(files("ragtriage.data"))) / "bundled" / "handbook"


@cache
def handbook_corpus() -> Corpus:
    return read_corpus([FOLDER / "corpus"])


@cache
def handbook_items() -> tuple[Item, ...]:
    loaded = read_question_file(InputFile.from_path(FOLDER / "questions.jsonl"))
    return read_items(loaded, CorpusWindows(handbook_corpus())).items
