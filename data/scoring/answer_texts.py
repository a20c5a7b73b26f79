"""What the texts of questions and answers tell by themselves, a row per sample."""

import hashlib
import re
from collections.abc import Mapping
from typing import Any

import orjson
import pyarrow as pa

from ragtriage.data.scoring.batch_inputs import ERROR
from ragtriage.data.store.sample_reader import further_fields
from ragtriage.data.suites.isolation import (
    accounts_of_document,
    accounts_of_sample,
    common_kind,
    rows_with_accounts,
)
from ragtriage.data.text.answer_faults import (
    asks_for_sources,
    ending_of,
    ends_in_a_word,
    is_error_text,
    is_fault,
    is_placeholder,
    names_a_language,
    names_a_source,
)
from ragtriage.data.text.citation_marks import find_marks
from ragtriage.data.text.language import language_of
from ragtriage.data.text.secrets import Secret, folded_text, has_contact, masked_text, secrets_in
from ragtriage.data.text.tokens import folded_question
from ragtriage.metrics.sanity.rule import BARE, CUT, DANGLING, ENDED, OPEN
from ragtriage.metrics.schema.batch import Batch

LONGEST_ERROR = 80  # characters
TAIL = 32  # characters of the end of an answer that a finding quotes
SELDOM = 5  # one answer in so many without an end mark is not a reason to compare it with the others
SHORTEST_QUESTION = 10  # characters; a shorter one is not a question of its own
MOST_OTHERS = 200  # answers that are compared with
MOST_BEFORE_QUESTION = 6  # words, as in "You asked: ..."
_QUOTES = " .?!\"'“”„«»"
_REASON = re.compile(r"(?i)(?:^|[._])(?:finish|stop|done)_?reasons?\Z")
_REASON_INSIDE = re.compile(r'(?i)"(?:finish|stop|done)_?reasons?":\s*\[?\s*"([^"]{1,40})"')
_NO_WORD = re.compile(r"\W+")
_CUT = {
    "length",
    "max_tokens",
    "max_output_tokens",
    "max_length",
    "max_new_tokens",
    "token_limit",
    "model_length",
}
_ENDED = {"stop", "end_turn", "stop_sequence", "eos", "eos_token", "complete", "completed"}
_READ = [
    "question_id",
    "question",
    "answer",
    "reference_answer",
    "history",
    "prompt",
    "account_id",
    "citations",
    "tags",
    "extra",
]


def without_error_texts(table: Any) -> Any:
    """Return an Arrow table of samples in which those that ended in an error have no answer, but a tag.

    Their answer is the text of an error, or they name what failed beside one. `null` is no answer either.
    """
    names = ("answer", "question", "reference_answer", "tags", "extra")
    samples = list(zip(*(table[name].to_pylist() for name in names), strict=True))
    found = {row: error for row, sample in enumerate(samples) if (error := _error_of(*sample))}
    empty = {
        row for row, (answer, _, reference, *_) in enumerate(samples) if is_placeholder(answer, reference)
    }
    if not found and not empty:
        return table
    answers = [
        None if row in found else "" if row in empty else sample[0] for row, sample in enumerate(samples)
    ]
    tags = [
        [*(tag for tag in sample[3] or () if tag["key"] != ERROR), {"key": ERROR, "value": found[row]}]
        if row in found
        else sample[3]
        for row, sample in enumerate(samples)
    ]
    for name, values in (("answer", answers), ("tags", tags)):
        column = pa.array(values, table.schema.field(name).type)
        table = table.set_column(table.column_names.index(name), name, column)
    return table


def _error_of(
    answer: str | None, question: str | None, reference: str | None, tags: Any, extra: str | None
) -> str | None:
    """Return the error that a sample ended in; None where it did not."""
    if is_error_text(answer, question, reference):
        return " ".join((answer or "").split())[:LONGEST_ERROR]
    named = [tag["value"] for tag in tags or () if tag["key"] == ERROR]
    error = next(filter(None, [*named, further_fields(extra, ERROR).get(ERROR)]), None)
    text = error if isinstance(error, str) else orjson.dumps(error).decode() if error else ""
    return text[:LONGEST_ERROR] if text and (is_fault(text) or not (answer or "").strip()) else None


def text_table(table: pa.Table, _batch: Batch) -> pa.Table:
    """Return the auxiliary table of the texts, which ragtriage.data.diagnosis.text_findings reads."""
    samples = table.select(_READ).to_pylist()
    rows = [_facts(sample) for sample in samples]
    for row in [at for at, facts in enumerate(rows) if facts["secrets"]]:
        context = " ".join(folded_text(each["text"]) for each in table["retrieved"][row].as_py() or ())
        rows[row]["in_context"] = all(secret.folded in context for secret in _leaked(samples[row]))
    _find_broken_words(table, samples, rows)
    owned = {row: table["retrieved"][row].as_py() for row in rows_with_accounts(table)}
    for row, (sample, facts) in enumerate(zip(samples, rows, strict=True)):
        asking = accounts_of_sample(sample)
        named = [accounts_of_document(document) for document in owned.get(row, ())]
        kinds = list(dict.fromkeys(kind for accounts in named for kind in accounts))
        if (asking or kinds) and common_kind(asking, named) is None:
            account = next((value for values in asking.values() for value in values), None)
            facts |= {"asks_for": [*asking], "owned_by": kinds, "account": account}
    return pa.Table.from_pylist(rows, _SCHEMA)


def _find_broken_words(table: Any, samples: list[dict[str, Any]], rows: list[dict[str, Any]]) -> None:
    """Set the ending of answers that end inside a word of the texts around them."""
    open_ends = [at for at, facts in enumerate(rows) if facts["ending"] in (BARE, OPEN)]
    others = ""
    if len(open_ends) * SELDOM >= len(rows):  # else one or another leaves its last mark out
        others = " ".join((sample["answer"] or "").rpartition(" ")[0] for sample in samples[:MOST_OTHERS])
    for row in open_ends:
        sample = samples[row]
        texts = [each["text"] for each in table["retrieved"][row].as_py() or ()]
        around = " ".join(filter(None, [sample["question"], sample["reference_answer"], *texts, others]))
        if ends_in_a_word(sample["answer"].rstrip(), around):
            rows[row]["ending"] = DANGLING


def _facts(sample: Mapping[str, Any]) -> dict[str, Any]:
    answer, asked = sample["answer"], (sample["question"], sample["prompt"])
    tags = {tag["key"]: tag["value"] for tag in sample["tags"] or ()}
    question = folded_question(sample["question"] or "")
    if len(question) < SHORTEST_QUESTION:
        question = sample["question_id"]
    reference = _words(sample["reference_answer"])
    named = bool(sample["citations"]) or bool(answer and (names_a_source(answer) or find_marks(answer)))
    return {
        "error": None if answer else tags.get(ERROR),
        "ending": ending_of(answer),
        "stop": _stop(tags, sample["extra"]),
        "reference_ending": ending_of(sample["reference_answer"]),
        "tail": " ".join(masked_text(answer or "")[-2 * TAIL :].split())[-TAIL:],
        "length": len(answer or ""),
        "secrets": [f"{secret.kind} {secret.masked}" for secret in _leaked(sample)],
        "in_context": False,
        "contact": has_contact(answer),
        "asked": _digest(question, sample["history"], sample["account_id"]),
        "said": _digest(_words(answer)),
        "expected": _digest(reference) if reference else 0,
        "echo": _repeats(answer or "", sample["question"] or ""),
        "wants_sources": any(map(asks_for_sources, asked)),
        "names_sources": named,
        "names_language": any(map(names_a_language, asked)),
        "reference_language": language_of(sample["reference_answer"]),
    }


def _repeats(answer: str, question: str) -> bool:
    """Return whether an answer is its question, or ends with it after a few words, as in "You asked: ..."."""
    said, asked = (folded_question(text).strip(_QUOTES) for text in (answer, question))
    before = said.removesuffix(asked).split()
    return bool(said) and (
        said == asked
        or (said.endswith(asked) and len(asked.split()) >= 3 and len(before) <= MOST_BEFORE_QUESTION)
    )


def _words(text: str | None) -> str:
    """Return what a text says, without case and punctuation; as it is where it has no words."""
    folded = folded_question(text or "")
    return " ".join(_NO_WORD.split(folded)).strip() or folded


def _leaked(sample: Mapping[str, Any]) -> list[Secret]:
    """Return the secrets of an answer that neither its question nor its reference gives."""
    secrets = secrets_in(sample["answer"])
    if not secrets:
        return []
    given = " ".join(folded_text(sample[name]) for name in ("question", "reference_answer"))
    return [secret for secret in secrets if secret.folded not in given]


def _stop(tags: Mapping[str, str], extra: str | None) -> int | None:
    """Return CUT where a limit ended the answer, ENDED where the model did; None if not recorded."""
    reasons = [value for key, value in tags.items() if _REASON.search(key)]
    if not reasons and extra and _REASON_INSIDE.search(extra):
        reasons = _REASON_INSIDE.findall(extra)
    words = {word for reason in reasons for word in re.findall(r"[a-z_]+", reason.lower())}
    return CUT if words & _CUT else ENDED if words & _ENDED else None


def _digest(*parts: object) -> int:
    packed = orjson.dumps(parts, default=str)
    return int.from_bytes(hashlib.blake2b(packed, digest_size=8).digest(), signed=True)


_SCHEMA = pa.schema(
    [
        ("error", pa.string()),
        ("ending", pa.int8()),
        ("reference_ending", pa.int8()),
        ("stop", pa.int8()),
        ("tail", pa.string()),
        ("length", pa.int32()),
        ("secrets", pa.list_(pa.string())),
        ("in_context", pa.bool_()),
        ("contact", pa.bool_()),
        ("asked", pa.int64()),
        ("said", pa.int64()),
        ("expected", pa.int64()),
        ("echo", pa.bool_()),
        ("asks_for", pa.list_(pa.string())),
        ("owned_by", pa.list_(pa.string())),
        ("account", pa.string()),
        ("wants_sources", pa.bool_()),
        ("names_sources", pa.bool_()),
        ("names_language", pa.bool_()),
        ("reference_language", pa.string()),
    ]
)
