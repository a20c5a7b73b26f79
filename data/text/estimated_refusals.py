"""Which answers refuse, where nobody and no file says so: by a project's patterns, and by their words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragtriage.data.declarations import FILE_NAME, read_settings
from ragtriage.data.errors import DataError
from ragtriage.data.store.workspace import Workspace
from ragtriage.data.text.language import language_name, language_of
from ragtriage.data.text.patterns import PatternError, found_in
from ragtriage.data.text.refusal_detection import refused_answers
from ragtriage.data.text.refusal_grammar import LANGUAGES
from ragtriage.metrics.schema.scores import BoolArray, StrArray

MOST_PATTERNS = 100
ACCEPTED = (
    f'patterns = ["..."] under [refusals], up to {MOST_PATTERNS} regular expressions in the syntax of RE2'
)
TELLING = 40  # characters from which a text in Latin letters shows its own language; a name does not
_LETTER = re.compile(r"[^\W\d_]")
_ASCII = re.compile("[A-Za-z]")


def refusal_patterns(workspace: Workspace, project: str) -> tuple[str, ...]:
    """Return the patterns of metrics.toml by which answers of a project refuse, () for none.

    Raises:
        DataError: metrics.toml cannot be read, or they are no patterns.
    """
    settings = read_settings(workspace)
    projects = settings.get("project")
    own = projects.get(project) if isinstance(projects, dict) else None
    table = own.get("refusals") if isinstance(own, Mapping) else None
    table = settings.get("refusals", {}) if table is None else table
    patterns = table.get("patterns", []) if isinstance(table, Mapping) else None
    fault = _fault(patterns)
    if fault is not None or not isinstance(patterns, list):
        raise DataError(f"{workspace.root / FILE_NAME}: refusals: {fault}; accepted: {ACCEPTED}")
    return tuple(patterns)


def _fault(patterns: object) -> str | None:
    if not isinstance(patterns, list) or not all(isinstance(pattern, str) for pattern in patterns):
        return "patterns is not a list of texts"
    if len(patterns) > MOST_PATTERNS:
        return f"{len(patterns):,} patterns"
    for pattern in patterns:
        try:
            if found_in(pattern, ""):
                return f"{pattern[:60]!r} matches an empty answer"
        except PatternError as error:
            return f"{pattern[:60]!r}: {error}"
    return None


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
    found = np.full(len(answers), -1, dtype=np.int8)
    unread = np.full(len(answers), "", dtype=object)
    refused = refused_answers(table["answer"], wanted)
    for row in np.flatnonzero(wanted).tolist():
        answer = answers[row]
        if answer is None:
            continue
        if refused[row] or not answer.strip() or any(found_in(pattern, answer) for pattern in patterns):
            found[row] = 1
            continue
        language = _unmeasured_language(answer, questions[row])
        found[row], unread[row] = (0, "") if language is None else (-1, language_name(language))
    return found, unread


def _unmeasured_language(answer: str, question: str | None) -> str | None:
    """Return the language of an answer if refusals were not measured in it; None also where none can be told.

    A short answer, as a name, is in the language of its question, unless its script is another one.
    """
    start = answer[:TELLING]
    latin = _ASCII.search(start) is not None
    asked = language_of(question)
    if not _LETTER.search(start) or (latin and asked in LANGUAGES):
        return None  # of a text full of names the model is sometimes wrong
    language = language_of(answer)
    if language is None or (latin and len(answer) < TELLING and language not in LANGUAGES):
        language = asked
    return None if language is None or language in LANGUAGES else language
