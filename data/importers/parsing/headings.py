"""What the headings of a table that people made by hand say, with the cells below; columns beside a score.

Beside a score stand its threshold, its greatest value, what the tool decided from it, who gave it. A
threshold of 3 beside values from 1 to 5 proves that the tool scored from 1 to 5. A tool's own pass or fail is
not a score: it becomes a check named after its column.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from statistics import median
from typing import Any

from ragtriage.data.declarations import declaration_fault
from ragtriage.data.importers.parsing.cells import FAILED_WORDS, ids_in
from ragtriage.data.importers.parsing.head_column import FLAGS, PAIRS, HeadColumn, Verdict, is_plain
from ragtriage.data.importers.parsing.names import (
    heading_words,
    metric_name,
    plain_name,
    role_of,
    says,
    scale_in,
    words_of,
)
from ragtriage.metrics.metric_registry import REGISTRY
from ragtriage.metrics.sanity.columns import usual_scale

SCHOOL = {"note", "noten", "schulnote"}  # from 1 to 6 they are grades, of which less is better
LONGEST_HEADING = 4  # words of a heading that names what is rated, rather than describing it
MOST_OF_THE_TEXT = 0.5
TEXT = 40  # characters that a typical cell of text has at least
EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")
NOT_READ = " and is not read"
PEOPLE = {"human", "manual", "annotator", "reviewer", "expert", "sme"}  # words for those who judge
JUDGEMENTS = {"verdict", "label", "judgement", "judgment", "rating", "assessment", "evaluation", "review"}
RIGHT = {"pass", "passed", "passes", "good", "right", "correct", "acceptable"}  # words for a right answer
BY_WORD = "a word in its name"


def by_a_word(columns: Sequence[HeadColumn], taken: Mapping[str, str]) -> dict[str, str]:
    """Return the fields of columns whose headings have a word for them, as "Bot answer" or "Pregunta" have.

    A field that several columns could be is left open, but for the question, which is the first of them.
    """
    candidates: dict[str, list[str]] = {}
    for column in columns:
        if column.name in taken or not column.values:
            continue
        field = _role(column)
        if field and field not in taken.values():
            candidates.setdefault(field, []).append(column.name)
    return {names[0]: field for field, names in candidates.items() if len(names) == 1 or field == "question"}


def _role(column: HeadColumn) -> str:
    if column.numeric > 0.5 or column.is_flags or column.verdict is not None:
        time = says(column.name, "latency") and not says(column.name, "score", "rater")
        is_cost = says(column.name, "cost") and column.numeric > 0.5
        return "cost_usd" if is_cost else "latency_ms" if time and column.numeric > 0.5 else ""
    if says(column.name, "correct") and says(column.name, "answer") and "?" not in column.name:
        return "reference_answer"
    if says(column.name, "reference") and says(column.name, "documents"):
        return "relevant"
    return role_of(column.name, of_text=column.distinct > 1 and _is_text(column, 10))


def holds_ids(column: HeadColumn) -> bool:
    """Return whether the cells name documents by their ids, as in "KB-118, KB-120", and hold no text."""
    named = [cell for cell in column.values if str(cell).strip().lower() not in FAILED_WORDS]
    return len(named) * 2 > len(column.values) and all(isinstance(c, str) and ids_in(c) for c in named)


def names_rater(column: HeadColumn) -> bool:
    """Return whether a column says who judged."""
    plain = plain_name(column.name)
    few = column.distinct <= max(2, len(column.values) // 2)
    return few and (plain in heading_words("rater") or bool(words_of(plain) & heading_words("rater")))


def holds_emails(column: HeadColumn) -> bool:
    """Return whether the cells are e-mail addresses."""
    return bool(column.values) and all(EMAIL.fullmatch(str(cell).strip()) for cell in column.values)


def mentions_emails(column: HeadColumn) -> bool:
    """Return whether some cells hold an e-mail address."""
    return any(EMAIL.search(cell) for cell in column.values if isinstance(cell, str))


def metric_of(column: HeadColumn) -> str:
    """Return the key of the metric that a column of scores or verdicts holds, by its heading."""
    key, is_known = metric_name(without_scale(column.name))
    if is_known or not is_plain(column.name):
        return key
    short = len(words_of(column.name)) <= LONGEST_HEADING
    if says(column.name, "judged_right") and (short or "?" in column.name):
        return "correctness"
    if says(column.name, "helpful") and (short or "?" in column.name):
        return "helpful"
    judges = column.verdict is not None and column.verdict.judges_right and says(column.name, "judgement")
    return "correctness" if judges or _of_people(column) else key


def _of_people(column: HeadColumn) -> bool:
    """Return whether people passed or failed the answers, as in a column "human verdict" of pass and fail."""
    words = words_of(plain_name(column.name))
    called = {*map(str.casefold, column.verdict.shown.split("/"))} if column.verdict else set()
    return bool(words & PEOPLE and words & JUDGEMENTS and called & RIGHT)


def without_scale(heading: str) -> str:
    """Return a heading without the scale that it names."""
    return re.sub(r"\s*[(/\[]\s*\d.*$", "", heading) or heading


def is_rating(column: HeadColumn) -> bool:
    """Return whether a column of whole numbers is a rating: its heading says so, or names its scale."""
    if column.numeric < 1.0 or len(column.finite) < 2 or min(column.finite) < 0:
        return False
    if says(column.name, "no_rating") or (plain_name(column.name) in SCHOOL and max(column.finite) <= 6):
        return False
    if metric_name(without_scale(column.name))[1] or not is_plain(column.name):
        return False
    if max(column.finite) <= 1.0 and scale_in(column.name) is None:  # a share, of which only its name tells
        return False
    asks = "?" in column.name and len(words_of(column.name)) > 2
    return ends_of(column) is not None and (
        asks or scale_in(column.name) is not None or says(column.name, "score", "judged_right", "helpful")
    )


def ends_of(column: HeadColumn) -> tuple[float, float] | None:
    """Return the scale of a rating: the one its heading names, else the usual one of its values."""
    least, most = min(column.finite), max(column.finite)
    named = scale_in(column.name)
    if named is not None:
        return named if named[0] <= least and most <= named[1] else None
    return usual_scale(least, most)


def unread_text(columns: Sequence[HeadColumn], fields: Mapping[str, str]) -> str:
    """Return what to say of a column that holds most of the text and is not read; "" where none does."""
    sizes = {
        column.name: sum(len(cell) for cell in column.values if isinstance(cell, str)) for column in columns
    }
    total = sum(sizes.values())
    lost = [
        column
        for column in columns
        if not fields.get(column.name, "") or fields[column.name].startswith("tags.")
        if total and sizes[column.name] > MOST_OF_THE_TEXT * total and _is_text(column)
    ]
    if not lost:
        return ""
    taken = set(fields.values())
    goal = next((each for each in ("answer", "retrieved", "reference_answer") if each not in taken), "answer")
    name = lost[0].name
    share = round(100 * sizes[name] / total)
    return f"column {name!r} holds {share} % of the text{NOT_READ}; {mapped(goal, name)} reads it"


def is_first(note: str) -> bool:
    """Return whether a note on an import is said before anything else: most of the text is not read."""
    return NOT_READ in note


def mapped(field: str, column: str) -> str:
    """Return the option that reads a column as a field."""
    from shlex import quote

    return f"--map {quote(f'{field}={column}')}"


def _is_text(column: HeadColumn, least: int = TEXT) -> bool:
    lengths = [len(cell) for cell in column.values if isinstance(cell, str)]
    return bool(lengths) and median(lengths) >= least and column.distinct > 1


def give_to_people(columns: Sequence[HeadColumn], fields: Mapping[str, str]) -> dict[str, str]:
    """Return the columns of verdicts and ratings as what people gave: their scores become labels."""
    return {
        column.name: f"human.{fields[column.name].removeprefix('scores.')}"
        for column in columns
        if fields.get(column.name, "").startswith("scores.")
    }


ENDINGS = {
    "threshold": ("threshold", "min_score", "minimum_score", "cutoff"),
    "greatest": ("max_score", "maximum_score", "scale_max", "max"),
    "verdict": ("result", "passed", "pass", "success"),
}  # what a column beside a score holds -> the last words of its name
PASSED = {
    word: position == 0 for pair in (*PAIRS, *FLAGS) for position, word in enumerate(pair)
}  # words of a verdict in lower case -> whether they mean a pass


@dataclass(frozen=True)
class ToolVerdict:
    """The tool's own decision on a sample, and what it rests on."""

    score: str  # column of the score that it decides on; "" where it decides on the whole sample
    threshold: str  # column of the threshold; "" where there is none


@dataclass(frozen=True)
class Siblings:
    """The columns beside the scores of a table."""

    limits: tuple[str, ...]  # columns of thresholds and of greatest values
    verdicts: Mapping[str, ToolVerdict]  # column of a pass or fail -> what it rests on
    # metric -> least and greatest value, where a column beside it proves them
    scales: Mapping[str, tuple[float, float]]
    notes: tuple[str, ...]  # how the scales were found


def siblings_of(columns: Sequence[HeadColumn], fields: Mapping[str, str], fixed: Collection[str]) -> Siblings:
    """Return the columns beside scores."""
    by_score: dict[str, dict[str, HeadColumn]] = {}  # score -> kind of column beside it -> that column
    scores: list[HeadColumn] = []
    plains = {plain_name(column.name) for column in columns}
    of_rows: list[str] = []  # columns of a pass or fail without the name of a score
    errors = any(plain_name(column.name) in ("error", "errors", "error_message") for column in columns)
    for column in columns:
        kind, base = _kind_and_base(column.name)
        taken = {column.name, metric_name(column.name)[0]}.intersection(fixed)
        free = not taken and fields.get(column.name, "scores.").startswith(("scores.", "tags."))
        if errors and plain_name(column.name) == "success":
            continue  # says that the call did not fail
        words = {str(value).strip().lower() for value in column.values if kind == "verdict"}
        is_kind = column.numeric == 1.0 if kind != "verdict" else bool(words) and words <= PASSED.keys()
        if kind and free and is_kind:
            by_alias = not {base, f"{base}_score"} & plains  # groundedness_threshold beside faithfulness
            for name in {base, metric_name(base)[0]} if base and by_alias else {base}:
                by_score.setdefault(name, {}).setdefault(kind, column)
            of_rows += [column.name] if kind == "verdict" and not base else []
        elif fields.get(column.name, "").startswith("scores."):
            scores.append(column)
    of_all = by_score.get("", {})
    limits: dict[str, None] = {}
    verdicts: dict[str, ToolVerdict] = {}
    scales: dict[str, tuple[float, float]] = {}
    notes: list[str] = []
    for score in scores:
        plain, key = plain_name(score.name), metric_name(score.name)[0]
        only = plain == "score" or len(scores) == 1
        own = {kind: column for kind, column in of_all.items() if only or kind == "greatest"}
        own |= by_score.get(key, {}) | by_score.get(plain.removesuffix("_score"), {})
        threshold, greatest, verdict = (own.get(kind) for kind in ("threshold", "greatest", "verdict"))
        limits |= {column.name: None for column in (threshold, greatest) if column is not None}
        if verdict is not None:
            verdicts[verdict.name] = ToolVerdict(score.name, threshold.name if threshold else "")
        metric = fields[score.name].removeprefix("scores.")
        known = REGISTRY.get(metric)
        to_one = known is not None and known.bounds == (0.0, 1.0)
        scale = _scale(score, own) if to_one and max(score.finite, default=0.0) > 1.0 else None
        if scale is not None:
            scales[metric] = scale
            proof = next(column.name for column in (greatest, threshold, verdict) if column is not None)
            ends = f"{scale[0]:g} to {scale[1]:g}"
            notes.append(f"{score.name} is on a scale of {ends}, as {proof!r} shows: converted to 0 to 1")
    for name in of_rows if scores else ():  # alone, a column of passes is the score
        verdicts.setdefault(name, ToolVerdict("", ""))
    return Siblings(tuple(limits), verdicts, scales, tuple(notes))


def _kind_and_base(name: str) -> tuple[str, str]:
    """Return what a column beside a score holds, by its last words, and the words before; "" for none."""
    plain = plain_name(name)
    for kind, endings in ENDINGS.items():
        for ending in endings:
            if plain == ending or plain.endswith(f"_{ending}"):
                return kind, plain.removesuffix(ending).rstrip("_")
    return "", ""


def _scale(score: HeadColumn, beside: Mapping[str, HeadColumn]) -> tuple[float, float] | None:
    """Return the scale of a score that the columns beside it prove; None where they do not.

    The greatest value proves it alone. A threshold does where it lies inside the scale that the values are
    usually on and they reach its ends; passes do where they are all above or all below the failures.
    """
    least, most = min(score.finite), max(score.finite)
    usual = usual_scale(least, most)
    if "greatest" in beside:
        tops = set(beside["greatest"].finite)
        if len(tops) == 1 and most <= (top := tops.pop()):
            return (1.0 if usual == (1.0, 5.0) == (1.0, top) else 0.0), top
    splits = _splits(score, beside["verdict"]) if "verdict" in beside else None
    if usual is None or splits is False:
        return None
    limits = beside["threshold"].finite if "threshold" in beside else ()
    if not limits:
        return usual if splits and (least, most) == usual else None
    reached = most == usual[1] and (least == usual[0] or usual[0] == 0)
    inside = all(1 < limit <= usual[1] for limit in limits)
    return usual if inside and (reached or min(limits) > 10) else None  # above 10 no other scale is usual


def _splits(score: HeadColumn, verdict: HeadColumn) -> bool | None:
    """Return whether all passes lie above all failures, or all below; None where that cannot be seen."""
    if not len(score.numbers) == len(verdict.values) == score.rows:
        return None  # with blanks left out, the cells are not those of the same rows
    by_outcome: dict[bool, list[float]] = {True: [], False: []}
    for number, word in zip(score.numbers, verdict.values, strict=True):
        if number is not None and isfinite(number):
            by_outcome[PASSED[str(word).strip().lower()]].append(number)
    passes, failures = by_outcome[True], by_outcome[False]
    if not passes or not failures:
        return None
    return min(passes) >= max(failures) or max(passes) <= min(failures)


REASON_WORDS = ("reason", "reasoning", "explanation")


def ratings(
    columns: Sequence[HeadColumn], fields: Mapping[str, str], siblings: Siblings
) -> dict[str, dict[str, Any]]:
    """Return the scale of each rating that is no metric of ours: more is better, up to its greatest mark."""
    scales = {}
    for column in columns:
        kind, _, metric = fields[column.name].partition(".")
        if kind not in ("scores", "human") or not metric or column.name in siblings.limits:
            continue
        if column.verdict is None and is_rating(column) and (ends := ends_of(column)):
            scales[metric] = {"direction": "higher", "range": [*ends]}
    return {key: entry for key, entry in scales.items() if declaration_fault(key, entry) is None}


def ends_of_labels(
    columns: Sequence[HeadColumn], fields: Mapping[str, str]
) -> dict[str, tuple[float, float]]:
    """Return the scale of each column of labels, as far as it is known."""
    labels = [column for column in columns if fields[column.name].startswith("human.")]
    in_words = {column.name: (0.0, 1.0) for column in labels if column.verdict is not None}
    rated = ((column.name, ends_of(column)) for column in labels if column.verdict is None and column.finite)
    return in_words | {name: ends for name, ends in rated if ends is not None}


def is_given(column: HeadColumn) -> bool:
    """Return whether a column holds what a person may have given: a verdict or a rating."""
    return column.verdict is not None or is_rating(column)


def directions(verdicts: Mapping[str, Verdict], fields: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """Return what is plain of the direction of verdicts, unless the metric has a declaration of its own."""
    plain = {
        fields[name].partition(".")[2]: {"direction": "higher"} | ({"range": [0, 1]} if verdict.note else {})
        for name, verdict in verdicts.items()
        if verdict.plain
    }
    return {metric: entry for metric, entry in plain.items() if declaration_fault(metric, entry) is None}


def reasons_in(columns: Sequence[HeadColumn], fields: Mapping[str, str]) -> dict[str, str]:
    """Return the columns that explain a metric, as `faithfulness_reason` does, with its key."""
    reasons = {}
    for column in columns:
        metric, _, word = column.name.rpartition("_")
        kind, _, key = fields.get(metric, "").partition(".")
        if column.name not in fields and word in REASON_WORDS and kind == "scores" and key:
            reasons[column.name] = key
    return reasons
