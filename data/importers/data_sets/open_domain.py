"""Open-domain question answering: KILT predictions and gold, DPR retriever and reader, FlashRAG."""

from collections.abc import Mapping
from typing import Any

from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.importer import Peek, Reader, Row, read_each
from ragtriage.data.importers.parsing.names import metric_name
from ragtriage.data.importers.parsing.shapes import items
from ragtriage.data.importers.parsing.values import Fields, text_in

HAS_ANSWER = (
    "`has_answer`, that a passage holds the text of the answer, is read as its relevance: weaker than gold"
)
LARGEST_K = "of the predictions of the reader, the one at the largest top_k is read"
METRICS = {"em": "exact_match"}
SHARE: Mapping[str, Any] = {"direction": "higher", "range": [0.0, 1.0]}
_SHARES = ("f1", "acc", "precision", "recall", "retrieval_recall_top3", "retrieval_recall_top5")
FLASHRAG = dict.fromkeys(_SHARES, SHARE)


def _outputs(row: Row) -> list[Fields]:
    return Fields(row).objects("output")


def _is_kilt(peek: Peek) -> bool:
    rows = [row for row in peek.rows if {"input", "output"} <= row.keys()]
    return any(output.objects("provenance") for row in rows for output in _outputs(row))


def _is_kilt_gold(peek: Peek) -> bool:
    """Return whether these are gold: alternatives, or provenance with the place in a page."""
    pages = [page for row in peek.rows for output in _outputs(row) for page in output.objects("provenance")]
    several = any(len(_outputs(row)) > 1 for row in peek.rows)
    return _is_kilt(peek) and (several or any("start_paragraph_id" in page.all for page in pages))


def _pages(output: Fields) -> list[str]:
    named = (page.text("wikipedia_id") for page in output.objects("provenance"))
    return list(dict.fromkeys(name for name in named if name))


def _of_kilt(row: Row, _line: int, _errors: ValidationErrors) -> Row:
    outputs = _outputs(row)
    output = outputs[0] if outputs else Fields({})
    titles = {page.text("wikipedia_id"): page.text("title") for page in output.objects("provenance")}
    answer = output.text("answer")
    return {
        "question_id": text_in(row.get("id")),
        "question": row.get("input"),
        "answer": answer,
        "retrieved": [{"id": name, "title": titles.get(name)} for name in _pages(output)],
        "tags": {} if answer or (outputs and output.all) else {"error": "no output"},
        "tool": "KILT",
    }


def _of_kilt_gold(row: Row, _line: int, _errors: ValidationErrors) -> Row:
    """Return a question with its first answer and its pages; of several sufficient ones each is enough."""
    sets = [pages for output in _outputs(row) if (pages := _pages(output))]
    answers = [answer for output in _outputs(row) if (answer := output.text("answer"))]
    alternatives = len(sets) > 1 and all(len(pages) == 1 for pages in sets)
    named = dict.fromkeys(name for pages in (sets if alternatives else sets[:1]) for name in pages)
    hop = {"hop": "1"} if alternatives else {}
    return {
        "question_id": text_in(row.get("id")),
        "question": row.get("input"),
        "reference_answer": answers[0] if answers else None,
        "relevant": [{"id": name, **hop} for name in named] or None,
        **({"reference_answers (all)": answers} if len(answers) > 1 else {}),
    }


def _of_retriever(row: Row, _line: int, _errors: ValidationErrors) -> Row:
    fields = Fields(row)
    answers = [str(answer) for answer in items(row.get("answers"))]
    passages = [
        {
            "id": context.text("id"),
            "text": context.text("text"),
            "title": context.text("title"),
            "score": context.number("score"),
            "relevant": context.at("has_answer") if isinstance(context.at("has_answer"), bool) else None,
        }
        for context in fields.objects("ctxs")
    ]
    return {
        "question_id": fields.text("id"),
        "question": row.get("question"),
        "reference_answer": answers[0] if answers else None,
        "retrieved": [
            {name: value for name, value in each.items() if value is not None} for each in passages
        ],
        "tool": "DPR",
    }


def _of_reader(row: Row, _line: int, _errors: ValidationErrors) -> Row:
    predictions = Fields(row).objects("predictions")
    best = max(predictions, key=lambda each: each.number("top_k") or 0.0, default=Fields({})).fields(
        "prediction"
    )
    answers, passage = items(row.get("gold_answers")), best.text("passage")
    return {
        "question": row.get("question"),
        "answer": best.text("text"),
        "reference_answer": text_in(answers[0]) if answers else None,
        "retrieved": [{"text": passage}] if passage else [],
        "tool": "DPR",
    }


def _of_flashrag(row: Row, _line: int, _errors: ValidationErrors) -> Row:
    output, answers = Fields(row).fields("output"), items(row.get("golden_answers"))
    return {
        "question_id": text_in(row.get("id")),
        "question": row.get("question"),
        "answer": output.text("pred"),
        "reference_answer": text_in(answers[0]) if answers else None,
        "retrieved": [_titled(result) for result in output.objects("retrieval_result")],
        "scores": {
            METRICS.get(str(name), metric_name(str(name))[0]): float(value)
            for name, value in output.fields("metric_score").all.items()
            if isinstance(value, int | float)
        },
        "prompt": output.text("prompt"),
        "tool": "FlashRAG",
        **({"golden_answers (all)": answers} if len(answers) > 1 else {}),
    }


def _titled(result: Fields) -> Row:
    """Return a passage whose first line is its title, as FlashRAG keeps it."""
    title, line, text = (result.text("contents") or "").partition("\n")
    passage: Row = {"id": result.text("id"), "text": text.strip() if line else title}
    score = result.number("score")
    if line:
        passage["title"] = title.strip().strip('"')
    return passage if score is None else {**passage, "score": score}


READERS = {
    "kilt_gold": Reader(read_each("kilt_gold", _of_kilt_gold, questions=True), _is_kilt_gold),
    "kilt": Reader(read_each("kilt", _of_kilt), lambda peek: _is_kilt(peek) and not _is_kilt_gold(peek)),
    "dpr_retriever": Reader(read_each("dpr_retriever", _of_retriever, note=HAS_ANSWER)),
    "dpr_reader": Reader(read_each("dpr_reader", _of_reader, note=LARGEST_K)),
    "flashrag": Reader(
        read_each("flashrag", _of_flashrag, metrics=FLASHRAG),
        lambda peek: any("golden_answers" in row and Fields(row.get("output")).all for row in peek.rows),
    ),
}
