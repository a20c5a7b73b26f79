"""TREC RAG: answers of 2024 and 2025 with their citations, and the lists of segments that give them texts."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.importer import Options, Peek, Reader, Row, run_of
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.rows import Spool, object_rows, rows_at
from ragtriage.data.importers.parsing.shapes import items
from ragtriage.data.importers.parsing.values import Fields, text_in
from ragtriage.data.store.parsed_run import ParsedRun, Record

ANSWERS, CANDIDATES = "trec_rag", "trec_rag_candidates"
NO_SUCH_REFERENCE = "a sentence cites a reference that its answer does not list: that citation is left out"


def _is_answers(peek: Peek) -> bool:
    def is_answer(row: Row) -> bool:
        named = (
            "topic_id" in row or "narrative_id" in row or "narrative_id" in Fields(row.get("metadata")).all
        )
        return named and isinstance(row.get("references"), list) and isinstance(row.get("answer"), list)

    return any(map(is_answer, peek.rows))


def _has_segments(row: Row) -> bool:
    return any(each.text("docid") and each.fields("doc") for each in Fields(row).objects("candidates"))


def _read_answers(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read one run for each `run_id`; files of candidates beside it give the references their texts."""
    texts = {
        name: passage
        for file in options.companions
        for _, row in object_rows(rows_at(file, "", errors), errors)
        for passage in map(_segment, Fields(row).objects("candidates"))
        if (name := passage["id"])
    }
    runs = Spool()
    rows = object_rows(rows_at(source, "", errors), errors, "an answer with its references")
    for line, row in islice(rows, options.limit):
        fields = Fields(row)
        runs.add(fields.fields("metadata").text("run_id") or fields.text("run_id") or source.stem, line, row)

    def samples(run: str) -> Iterator[Record]:
        for line, row in runs.rows(run):
            yield line, _answer(Fields(row), texts, line, errors)

    return [run_of(source, ANSWERS, samples(run), run) for run in runs.keys]


def _answer(row: Fields, texts: Mapping[str, Row], line: int, errors: ValidationErrors) -> Row:
    about = row.fields("metadata")
    references = [str(name) for name in items(row.at("references"))]
    sentences = [sentence for sentence in row.objects("answer") if sentence.text("text")]
    return {
        "question_id": about.text("narrative_id") or row.text("topic_id", "narrative_id"),
        "question": about.text("narrative") or row.text("topic", "narrative"),
        "answer": " ".join(str(sentence.text("text")) for sentence in sentences) or None,
        "retrieved": [texts.get(name, {"id": name}) for name in references],
        "citations": [
            {
                "sentence": sentence.text("text"),
                "ids": _cited(items(sentence.at("citations")), references, line, errors),
            }
            for sentence in sentences
        ],
        "tool": "TREC RAG",
    }


def _cited(
    citations: Sequence[object], references: Sequence[str], line: int, errors: ValidationErrors
) -> list[str]:
    """Return the ids that a sentence cites, each once: by their positions among the references, or as ids."""
    cited: dict[str, None] = {}
    for citation in citations:
        if isinstance(citation, int) and not isinstance(citation, bool) and 0 <= citation < len(references):
            cited[references[citation]] = None
        elif isinstance(citation, str) and citation in references:
            cited[citation] = None
        else:
            errors.remark(NO_SUCH_REFERENCE, line)
    return list(cited)


def _read_candidates(source: InputFile, _options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    rows = object_rows(rows_at(source, "", errors), errors, "a query with its candidates")

    def samples() -> Iterator[Record]:
        for line, row in rows:
            query, candidates = Fields(row).fields("query"), Fields(row).objects("candidates")
            yield (
                line,
                {
                    "question_id": query.text("qid"),
                    "question": query.text("text") or text_in(row.get("query")),
                    "retrieved": [_segment(candidate) for candidate in candidates],
                    "tool": "TREC RAG",
                },
            )

    return [run_of(source, CANDIDATES, samples())]


def _segment(candidate: Fields) -> Row:
    document = candidate.fields("doc")
    passage: Row = {"id": candidate.text("docid"), "text": document.text("segment", "contents", "text")}
    score, title = candidate.number("score"), document.text("title")
    return passage | ({"score": score} if score is not None else {}) | ({"title": title} if title else {})


READERS = {
    ANSWERS: Reader(_read_answers, _is_answers),
    CANDIDATES: Reader(
        _read_candidates, lambda peek: any("query" in row and _has_segments(row) for row in peek.rows)
    ),
}
