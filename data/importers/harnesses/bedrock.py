"""Amazon Bedrock evaluations: RAG and model jobs, and data sets that bring their answers."""

from collections.abc import Iterator, Mapping
from typing import Any

from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.importer import Options, Peek, Reader, Row, question_set, run_of
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.names import metric_name
from ragtriage.data.importers.parsing.rows import object_rows, rows_at
from ragtriage.data.importers.parsing.shapes import gold_passages, relevant_of_texts
from ragtriage.data.importers.parsing.values import Fields, number, text_in
from ragtriage.data.store.parsed_run import ParsedRun, Record
from ragtriage.data.store.sample_schema import document_id

METRICS = {
    "ContextRelevance": "context_relevance",
    "ContextCoverage": "context_coverage",
    "CitationPrecision": "citation_precision",
    "CitationCoverage": "citation_recall",
}
LOWER = ("refusal", "harmfulness", "stereotyping", "toxicity", "robustness")
HIGHER = ("helpfulness", "logical_coherence", "relevance", "following_instructions", "readability")
DECLARED: Mapping[str, Mapping[str, Any]] = {
    **{name: {"direction": "lower", "range": [0.0, 1.0]} for name in LOWER[:3]},
    **{name: {"direction": "higher", "range": [0.0, 1.0]} for name in HIGHER},
}
IDS = ("x-amz-bedrock-kb-chunk-id", "x-amz-bedrock-kb-source-uri")
NO_RESULT = "no answer and no result"


def _turns(row: Mapping[str, Any]) -> list[Fields]:
    return Fields(row).objects("conversationTurns")


def _has_turns(peek: Peek, *, with_output: bool) -> bool:
    turns = [turn for row in peek.rows for turn in _turns(row)]
    asks = [turn for turn in turns if turn.fields("inputRecord") or turn.at("prompt")]
    return bool(asks) and any(bool(turn.fields("output")) for turn in asks) == with_output


def _read(source: InputFile, _options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    first = next(
        (turn.fields("output") for row in Peek(source).rows for turn in _turns(row) if turn.fields("output")),
        Fields({}),
    )
    config = {"model": first.text("modelIdentifier"), "knowledge_base": first.text("knowledgeBaseIdentifier")}
    known = {name: value for name, value in config.items() if value}
    name = " ".join(known.values()) or None
    return [run_of(source, "bedrock", _samples(source, errors), name, config=known, metrics=DECLARED)]


def _samples(source: InputFile, errors: ValidationErrors) -> Iterator[Record]:
    for line, row in object_rows(rows_at(source, "", errors), errors, "an object with conversationTurns"):
        turns = _turns(row)
        history: list[Row] = []
        for turn in turns:
            sample = _sample(turn)
            if len(turns) > 1:
                sample |= {"conversation_id": f"line {line}", "history": list(history) or None}
                history.append({"role": "user", "text": sample["question"] or ""})
                history.append({"role": "assistant", "text": sample["answer"] or ""})
            yield line, sample


def _sample(turn: Fields) -> Row:
    asked = turn.fields("inputRecord") or turn
    output = turn.fields("output")
    passages = output.fields("retrievedPassages").objects("retrievalResults")
    retrieved = [_passage(passage) for passage in passages]
    golds = [_contents(item) for item in asked.objects("referenceContexts")]
    relevant, _ = relevant_of_texts([gold for gold in golds if gold], retrieved)
    results, answer = turn.objects("results"), output.text("text")
    failed = not results and answer is None and bool(turn.fields("inputRecord"))
    references = [text for item in asked.objects("referenceResponses") if (text := _contents(item))]
    return {
        "question": _contents(asked.fields("prompt")) or asked.text("prompt"),
        "answer": answer,
        "reference_answer": references[0] if references else None,
        "retrieved": retrieved if output.fields("retrievedPassages") else None,
        "relevant": relevant or None,
        "citations": [_citation(citation) for citation in output.objects("citations")] or None,
        "scores": _scores(results),
        "tags": {"error": NO_RESULT} if failed else {},
        "tool": "Amazon Bedrock",
    }


def _contents(item: Fields) -> str | None:
    """Return the texts of a message of parts, one a line; a part of a text alone where it is one."""
    parts = item.objects("content") or ([item.fields("content")] if item.fields("content") else [])
    return "\n".join(text for part in parts if (text := part.text("text"))) or None


def _passage(passage: Fields) -> Row:
    about = passage.fields("metadata")
    named = next((text for name in IDS if (text := about.text(name))), None)
    text = _contents(passage) or ""
    return {"id": named or document_id(text), "text": text}


def _citation(citation: Fields) -> Row:
    """Return what a part of the answer cites; its span does not always fit, its text does."""
    part = citation.fields("generatedResponsePart").fields("textResponsePart")
    ids = [_passage(passage)["id"] for passage in citation.objects("retrievedReferences")]
    return {"sentence": part.text("text"), "ids": list(dict.fromkeys(ids))}


def _scores(results: list[Fields]) -> Row:
    """Return the results of a turn; one without a value was not judged."""
    scores: Row = {}
    for result in results:
        name = (result.text("metricName") or "").removeprefix("Builtin.")
        metric = METRICS.get(name) or metric_name(name)[0]
        reasons = [text for each in result.objects("evaluatorDetails") if (text := each.text("explanation"))]
        scores[metric] = {"value": number(result.at("result")), "reason": reasons[0] if reasons else None}
    return scores


def _read_model_job(source: InputFile, _options: Options, errors: ValidationErrors) -> list[ParsedRun]:

    def samples() -> Iterator[Record]:
        for line, row in object_rows(rows_at(source, "", errors), errors):
            fields = Fields(row)
            asked, responses = fields.fields("inputRecord"), fields.objects("modelResponses")
            scores = fields.fields("automatedEvaluationResult").objects("scores")
            category = asked.text("category")
            yield (
                line,
                {
                    "question": asked.text("prompt"),
                    "answer": responses[0].text("response") if responses else None,
                    "reference_answer": asked.text("referenceResponse"),
                    "scores": _scores(scores),
                    "tags": {"category": category} if category else {},
                    "tool": "Amazon Bedrock",
                },
            )

    models = (
        model
        for row in Peek(source).rows
        for response in Fields(row).objects("modelResponses")
        if (model := text_in(response.at("modelIdentifier")))
    )
    return [run_of(source, "bedrock_model", samples(), next(models, None), metrics=DECLARED)]


def _read_questions(source: InputFile, _options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read a data set without answers: questions with their references and gold texts."""

    def questions() -> Iterator[Record]:
        for line, row in object_rows(rows_at(source, "", errors), errors):
            for turn in _turns(row):
                golds = [_contents(item) for item in turn.objects("referenceContexts")]
                sample = _sample(turn)
                kept = ("question", "reference_answer")
                yield (
                    line,
                    {**{name: sample[name] for name in kept}, "relevant": gold_passages(golds) or None},
                )

    return question_set(source, "bedrock_questions", questions())


READERS = {
    "bedrock": Reader(_read, lambda peek: _has_turns(peek, with_output=True)),
    "bedrock_model": Reader(_read_model_job),
    "bedrock_questions": Reader(_read_questions, lambda peek: _has_turns(peek, with_output=False)),
}
