"""Which answers refuse, where nobody and no file says so: by a project's patterns, and by their words."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragtriage.data.text.language import language_name, language_of
from ragtriage.data.text.patterns import found_in
from ragtriage.data.text.refusal_detection import refused_answers
from ragtriage.data.text.refusal_grammar import LANGUAGES
from ragtriage.metrics.schema.scores import BoolArray, StrArray

TELLING = 40  # characters from which a text in Latin letters shows its own language; a name does not
_LETTER = re.compile(r"[^\W\d_]")
_ASCII = re.compile("[A-Za-z]")


def estimated_refusals(
    table: Any, wanted: BoolArray, patterns: tuple[str, ...] = ()
) -> tuple[NDArray[np.int8], StrArray]:
    """Estimate which answers of an Arrow table of samples refuse.

    Args:
        table: the samples.
        wanted: (n,) rows to look at.
        patterns: a project's own, which refuse wherever they are found.

    Returns:
        (n,) 1 refused, 0 answered, -1 where no answer is recorded, wanted, or in a language that the rule was
        measured on; and (n,) the name of that other language, else "". An empty answer is an abstention.
    """
    answers = table["answer"].to_pylist()
    questions = table["question"].to_pylist()
    estimates = np.full(len(answers), -1, dtype=np.int8)
    unmeasured = np.full(len(answers), "", dtype=object)
    refused = refused_answers(table["answer"], wanted)
    for row in np.flatnonzero(wanted).tolist():
        answer = answers[row]
        if answer is None:
            continue
        if not answer.strip() or any(found_in(pattern, answer) for pattern in patterns):
            estimates[row] = 1
            continue
        language = unmeasured_language(answer, questions[row])
        if language is None:
            estimates[row] = refused[row]
        else:
            unmeasured[row] = language_name(language)
    return estimates, unmeasured


def unmeasured_language(
    answer: str, question: str | None, measured: Collection[str] = LANGUAGES
) -> str | None:
    """Return the language of an answer if an estimate was not measured in it; None also if none can be told.

    A short answer, as a name, is in the language of its question, unless its script is another one.
    """
    start = answer[:TELLING]
    latin = _ASCII.search(start) is not None
    asked = language_of(question)
    if not _LETTER.search(start) or (latin and asked in measured):
        return None  # of a text full of names the model is sometimes wrong
    language = language_of(answer)
    if language is None or (latin and len(answer) < TELLING and language not in measured):
        language = asked
    return None if language is None or language in measured else language
