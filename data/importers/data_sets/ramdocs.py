"""RAMDocs: questions with documents labelled correct, misinformation or noise, and the answer each gives."""

from __future__ import annotations

from ragtriage.data.importers.formats.table import table_importer
from ragtriage.data.importers.importer import Row, ToolRows, each
from ragtriage.data.importers.parsing.shapes import items, objects

NAMES = {"question", "retrieved", "gold_answers", "wrong_answers"}
ORIGINAL = {"question", "documents", "gold_answers", "wrong_answers", "disambig_entity"}
NOISE = "noise"


def _of_question(row: Row) -> Row:
    """Return a row whose gold answers are facets: a document that gives one is gold for it."""
    listed = row.get("retrieved", row.get("documents"))
    documents = list(map(dict, objects(listed)))
    answers = [answer for answer in items(row.get("gold_answers")) if isinstance(answer, str)]
    question = str(row.get("question_id") or "question")
    for place, document in enumerate(documents):
        document.setdefault("id", f"{question}-{place}")
        if document.get("type") == NOISE:  # "unknown" is no answer
            document.pop("answer", None)
    gold = [
        {"id": str(document["id"]), "hop": document["answer"]}
        for document in documents
        if document.get("type") == "correct" and document.get("answer") in answers
    ]
    facets = {entry["hop"] for entry in gold}
    missing = [
        {"id": f"{question}: no document gives gold answer {number}", "hop": answer}
        for number, answer in enumerate(answers, start=1)
        if answer not in facets
    ]
    used = {"retrieved", "documents", "gold_answers"}
    rest = {name: value for name, value in row.items() if name not in used}
    reference = "\n".join(answers) or None
    return {**rest, "retrieved": documents, "relevant": gold + missing, "reference_answer": reference}


ROWS = ToolRows(
    lambda names: names >= NAMES or names >= ORIGINAL,
    each(_of_question),
    "read as RAMDocs: gold answers are facets, a document labelled correct is gold for the one it gives",
)


IMPORTERS = (
    table_importer(
        "ramdocs",
        "RAMDocs",
        "rows with question, documents labelled correct, misinfo or noise, gold_answers, wrong_answers",
        ROWS,
        written_by="RAMDocs",
    ),
)
