"""Whether an answer is right, estimated from its wording and that of the reference: same, other or unknown.

An estimate, and marked as one by its callers. Short references (names, numbers, dates, yes or no) mostly
decide, long ones mostly do not; a contradiction of one word in a long answer is not seen. `holds_answer` is
best-subspan exact match: SQuAD's normalisation (Rajpurkar et al. 2016) and the rule of Liu et al. 2024 (lost
in the middle), 1 where any accepted answer is a substring of the answer, both normalised.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from rapidfuzz import fuzz, process
from rapidfuzz.distance import Levenshtein

from ragtriage.data.text.answer_values import (
    WORDS,
    ComparedText,
    Token,
    gives_another_value,
    in_other_units,
    is_number,
    is_unspaced,
)
from ragtriage.data.text.opposites import names_somebody_else, says_the_opposite
from ragtriage.data.text.refusal_detection import unmeasured_language
from ragtriage.metrics.schema.batch import OTHER_LANGUAGE, Wordings
from ragtriage.metrics.schema.scores import BoolArray

Outcome = Literal["other", "unknown", "same"]
OUTCOMES: tuple[Outcome, ...] = ("other", "unknown", "same")  # from the worst to the best
# by people's labels, in Russian and Arabic by whether an answer is its own reference
MEASURED_IN = ("en", "de", "es", "ca", "gl", "eu", "zh", "ru", "ar")
COVERED = 0.85  # share of the words that a sentence adds to the question from which on it is covered
UNRELATED = 0.10  # share of words in either direction up to which nothing is shared
SIMILAR_NAME = 60  # partial ratio above which two names may be spellings of one
_PREFIX, _PREFIX_SHARE, _SIMILAR, _SIMILAR_FROM = 4, 0.6, 0.8, 5  # when two words are forms of one
_TOLERANCE, _LARGE = 0.005, 1e5  # of decimal and of large numbers
_REFUSAL = re.compile(WORDS["refusal_regex"])
_NEGATION = frozenset(WORDS["negation"]) | {"cannot"}
_NEGATION_UNSPACED = re.compile("|".join(WORDS["negation_cjk"]))
_YES, _NO = frozenset(WORDS["yes"]), frozenset(WORDS["no"])
_YES_UNSPACED, _NO_UNSPACED = tuple(WORDS["yes_prefix_cjk"]), tuple(WORDS["no_prefix_cjk"])
_AND_OR = re.compile(r"\b(?:and|or|und|oder|y|o|i|e|ou|eta|edo|и|или|أو)\b|[;&或和、]")  # between two names
_ALIASES = [frozenset(re.sub(r"\W+", "", name) for name in names) for names in WORDS["aliases"]]


@dataclass(frozen=True)
class TextMatch:
    """How an answer compares with its reference."""

    outcome: Outcome  # "same", "other", or "unknown" where the wording does not tell
    score: float  # from 0 to 1, to sort by


def right_by_text(
    answer: str, references: Sequence[str], question: str = "", refused: bool = False
) -> TextMatch | None:
    """Compare an answer with its references; the best outcome counts, then the highest score.

    Args:
        answer: the answer; an empty one is "other".
        references: accepted answers; None is returned where none of them says anything.
        question: words of it in an answer show nothing.
        refused: whether the answer is known to refuse; its wording is looked at otherwise.
    """
    asked = ComparedText(question)
    compared = ComparedText(answer)
    matches = [
        _match(compared, reference, asked, refused)
        for reference in map(ComparedText, references)
        if reference.tokens
    ]
    return max(matches, key=lambda match: (OUTCOMES.index(match.outcome), match.score), default=None)


def _match(answer: ComparedText, reference: ComparedText, question: ComparedText, refused: bool) -> TextMatch:
    if not answer.tokens:
        return TextMatch("other", 0.0)
    refused = refused or refuses(answer, 60)
    if refuses(reference, 12):
        return TextMatch("same", 0.97) if refused else TextMatch("other", 0.1)
    if (wanted := polarity(reference)) and len(reference.tokens) <= 3:
        answered = polarity(answer)
        same = TextMatch("same", 0.97) if answered == wanted else TextMatch("other", 0.1)
        return same if answered else TextMatch("unknown", 0.5)
    overlap = _Overlap(answer, reference, question)
    compare = _match_short if _is_short(reference) else _match_long
    match = compare(answer, reference, overlap, refused)
    if match.outcome == "unknown" and (
        gives_another_value(answer, reference, question)
        or says_the_opposite(answer, reference)
        or names_somebody_else(answer, reference, question)
    ):
        return TextMatch("other", 0.1)
    return match


def refuses(text: ComparedText, longest: int) -> bool:
    """Return whether the first sentence of a text of at most so many content words declines to answer."""
    if len(text.content) > longest or not text.sentences:
        return False
    return _REFUSAL.search(text.sentences[0].folded.strip()) is not None


def polarity(text: ComparedText) -> Literal["yes", "no"] | None:
    """Return whether the first sentence begins with yes or no, or has one before a comma or its end."""
    first = (text.sentences[0] if text.sentences else text).folded.lstrip(" \"'“”«»「『¿¡")
    if is_unspaced(first):
        if first.startswith(_NO_UNSPACED):
            return "no"
        return "yes" if first.startswith(_YES_UNSPACED) else None
    for word in re.findall(r"^[^\W\d_]+|[^\W\d_]+(?=\s*(?:[.,;:!?]|$))", first):
        if word in _YES or word in _NO:
            return "yes" if word in _YES else "no"
    return None


def _is_short(reference: ComparedText) -> bool:
    """Return whether a reference is a name, number or date, rather than a sentence; two pairs are a word."""
    unspaced = sum(is_unspaced(token[0]) for token in reference.content)
    words = len(reference.content) - unspaced // 2
    n_tokens = len(reference.tokens) - sum(is_unspaced(token[0]) for token in reference.tokens) // 2
    ends = reference.folded.rstrip().endswith((".", "。", "!", "?")) and n_tokens >= 4
    return words <= 5 and n_tokens < 9 and not ends


class _Overlap:
    """Which content of a reference an answer has, and which of the answer's the reference has."""

    def __init__(self, answer: ComparedText, reference: ComparedText, question: ComparedText) -> None:
        hit = hits(reference.content, answer)
        new = [at for at, token in enumerate(reference.content) if question.readings.isdisjoint(token)]
        self.rec = sum(hit) / len(hit)
        self.new = sum(hit[at] for at in new) / len(new) if new else self.rec
        self.numbers = all(hit[at] for at, token in enumerate(reference.content) if is_number(token))
        self._pair = answer, reference, question

    @property
    def back(self) -> float:
        """Share of the answer's content, absent from the question, that the reference has."""
        answer, reference, question = self._pair
        own = [token for token in answer.content if question.readings.isdisjoint(token)]
        return sum(hits(own, reference)) / len(own) if own else 0.0


def hits(tokens: list[Token], text: ComparedText) -> list[bool]:
    """Return for each token whether a text has it, or a word or number that is nearly the same."""
    has = text.readings
    hit = [not has.isdisjoint(token) for token in tokens]
    open_words = {
        at: token[-1] for at, token in enumerate(tokens) if not hit[at] and len(token[-1]) >= _PREFIX
    }
    words = [word for word in has if len(word) >= _PREFIX and word[0] not in "#@~"]
    heads: dict[str, list[str]] = {}
    for word in words:
        heads.setdefault(word[:_PREFIX], []).append(word)
    for at, word in open_words.items():
        if word[0] not in "#@~":
            hit[at] = any(_same_stem(word, other) for other in heads.get(word[:_PREFIX], ())) or (
                len(word) >= _SIMILAR_FROM and _has_similar(word, words)
            )
    numbers = [float(reading[1:]) for reading in has if reading[0] == "#"]
    for at, token in enumerate(tokens):
        hit[at] = hit[at] or any(
            reading[0] == "#" and any(_same_number(float(reading[1:]), other) for other in numbers)
            for reading in token
        )
    return hit


def _same_stem(word: str, other: str) -> bool:
    shared = next((at for at, (a, b) in enumerate(zip(word, other, strict=False)) if a != b), None)
    length = min(len(word), len(other)) if shared is None else shared
    return length >= _PREFIX_SHARE * max(len(word), len(other))


def _has_similar(word: str, words: list[str]) -> bool:
    scorer = Levenshtein.normalized_similarity
    return process.extractOne(word, words, scorer=scorer, score_cutoff=_SIMILAR) is not None


def _same_number(number: float, other: float) -> bool:
    if number == other:
        return True
    near = abs(number - other) <= _TOLERANCE * max(abs(number), abs(other))
    return near and (not number.is_integer() or not other.is_integer() or min(number, other) >= _LARGE)


def _match_short(
    answer: ComparedText, reference: ComparedText, overlap: _Overlap, refused: bool
) -> TextMatch:
    if answer.tokens == reference.tokens:
        return TextMatch("same", 1.0)
    score = 0.3 + 0.4 * overlap.new
    place = _place(reference, answer)
    if place is not None:
        negated = _negated_before(answer, reference, place)
        return TextMatch("unknown", score) if negated else TextMatch("same", 0.97)
    if overlap.rec == 1 and not refused:
        return TextMatch("same", 0.9) if _in_one_place(reference, answer) else TextMatch("unknown", score)
    if _is_alias(answer, reference):
        return TextMatch("unknown", score)
    if overlap.rec == 0:
        return TextMatch("other" if refused or _is_another(answer, reference) else "unknown", 0.14)
    return TextMatch("other" if refused else "unknown", score)


def _place(reference: ComparedText, answer: ComparedText) -> int | None:
    """Return where the answer has the words of the reference in a row, in tokens or in characters."""
    if reference.unspaced:
        at = answer.run.find(reference.run)
        return at if at >= 0 else None
    wanted, tokens = reference.tokens, answer.tokens
    for at in range(len(tokens) - len(wanted) + 1):
        if all(set(a) & set(b) for a, b in zip(wanted, tokens[at : at + len(wanted)], strict=True)):
            return at
    return None


def _in_one_place(reference: ComparedText, answer: ComparedText) -> bool:
    """Return whether the words of a reference stand together: "Ann Ray or Bob Lee" has not "Ann Lee"."""
    if len(reference.content) < 2 or re.search(r"[,/]", reference.text) or _AND_OR.search(reference.folded):
        return True
    parts = [part for sentence in answer.sentences for part in _AND_OR.split(sentence.folded)]
    return any(all(hits(reference.content, ComparedText(part))) for part in parts)


def _negated_before(answer: ComparedText, reference: ComparedText, place: int) -> bool:
    """Return whether a negation stands within three tokens, or six characters, before a place."""
    if reference.unspaced:
        return _NEGATION_UNSPACED.search(answer.run[max(0, place - 6) : place]) is not None
    return any(token[-1] in _NEGATION for token in answer.tokens[max(0, place - 3) : place])


def _is_alias(answer: ComparedText, reference: ComparedText) -> bool:
    """Return whether the answer may have the reference under another name, or initials of it."""
    name = re.sub(r"\W+", "", reference.folded)
    joined = "".join(token[-1] for token in answer.tokens)
    words = {token[-1] for token in answer.tokens}
    for names in _ALIASES:
        others = names - {name}
        if name in names and any(other in (words if len(other) < 6 else joined) for other in others):
            return True
    initials = "".join(token[-1][0] for token in reference.tokens)
    if len(initials) > 1 and initials in words:
        return True
    upper = re.sub(r"\W", "", reference.text)
    return upper.isupper() and 1 < len(name) <= 6 and name in "".join(token[-1][0] for token in answer.tokens)


def _is_another(answer: ComparedText, reference: ComparedText) -> bool:
    """Return whether an answer that shares nothing with a short reference names something else."""
    if any(is_number(token) or token[0].startswith("@") for token in reference.tokens):
        return not in_other_units(answer, reference)
    if fuzz.partial_ratio(reference.folded.strip(), answer.folded.strip()) > SIMILAR_NAME:
        return False
    letters = [letter for letter in reference.text if letter.isalpha()]
    cased = any(letter.lower() != letter.upper() for letter in letters)
    return not cased or any(letter.isupper() for letter in letters)


def _match_long(answer: ComparedText, reference: ComparedText, overlap: _Overlap, refused: bool) -> TextMatch:
    if answer.tokens == reference.tokens:
        return TextMatch("same", 1.0)
    score = 0.1 + 0.75 * overlap.new
    if refused and overlap.new < 0.5:
        return TextMatch("other", score)
    if overlap.new >= COVERED:
        mismatch = _negated_otherwise(answer, reference)
        covered = overlap.numbers and not mismatch
        return TextMatch("same" if covered else "unknown", score - 0.2 * mismatch)
    unrelated = overlap.rec <= UNRELATED and overlap.back <= UNRELATED
    return TextMatch("other" if unrelated else "unknown", score)


def _negated_otherwise(answer: ComparedText, reference: ComparedText) -> bool:
    """Return whether a sentence is negated in the reference alone, or in the answer's best fit alone."""
    for sentence in reference.sentences:
        best = max(answer.sentences, key=lambda other: sum(hits(sentence.content, other)))
        if _is_negated(sentence) != _is_negated(best):
            return True
    return False


def _is_negated(sentence: ComparedText) -> bool:
    return any(token[-1] in _NEGATION for token in sentence.tokens) or (
        _NEGATION_UNSPACED.search(sentence.folded) is not None
    )


_ARTICLES = re.compile(r"\b(a|an|the)\b")


def normalised(text: str) -> str:
    """Return a text in lower case without punctuation and English articles, its white space folded."""
    lower = unicodedata.normalize("NFC", text).lower()
    plain = "".join(character for character in lower if not _is_punctuation(character))
    return " ".join(_ARTICLES.sub(" ", plain).split())


def _is_punctuation(character: str) -> bool:
    """Return whether it is punctuation: all of ASCII's, as SQuAD has it, and that of other scripts."""
    if character.isascii():
        return not character.isalnum() and not character.isspace() and character.isprintable()
    return unicodedata.category(character).startswith("P")


def holds_answer(text: str, accepted: Iterable[str]) -> bool:
    """Return whether a text holds any accepted answer; one that is empty once normalised never counts."""
    content = normalised(text)
    return any(wanted in content for wanted in map(normalised, accepted) if wanted)


def wordings_of(table: Any, refused: BoolArray) -> Wordings | None:
    """Compare the answers of an Arrow table of samples with their references; None where it has none.

    Args:
        table: the samples.
        refused: (n,) True where an answer is known to refuse.
    """
    references = table["reference_answer"]
    if references.null_count == len(references):
        return None
    outcome, score = np.full(len(references), -1, dtype=np.int8), np.full(len(references), np.nan)
    answers, questions = table["answer"], table["question"]
    for row in np.flatnonzero(references.is_valid().to_numpy(zero_copy_only=False)).tolist():
        answer = answers[row].as_py()
        if answer is None:
            continue
        reference, question = references[row].as_py(), questions[row].as_py() or ""
        if unmeasured_language(answer, question, MEASURED_IN) is not None:
            outcome[row] = OTHER_LANGUAGE
            continue
        match = right_by_text(answer, [reference], question, bool(refused[row]))
        if match is not None:
            outcome[row], score[row] = OUTCOMES.index(match.outcome), match.score
    return Wordings(outcome, score, answers.is_valid().to_numpy(zero_copy_only=False))
