"""The phrases with which answers decline, by language and kind, read from refusal_grammar.toml."""

import re
import tomllib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from ragtriage.data.text.patterns import Phrase, PhraseIndex, expression_set
from ragtriage.data.text.tokens import MARKS, folded_letters

Kind = Literal["unable", "lacking", "about", "courtesy"]
DECLINING: tuple[Kind, ...] = ("unable", "lacking")
BESIDE: tuple[Kind, ...] = ("courtesy", "about")
LANGUAGES = ("en", "de", "fr", "es", "pt", "ru", "zh", "ja", "ar")  # in which refusals were measured
_SCRIPTS = {
    "ja": re.compile("[\u3041-\u3096\u30a1-\u30fa]"),
    "zh": re.compile("[\u3400-\u4dbf\u4e00-\u9fff]"),
    "ru": re.compile("[\u0400-\u04ff]"),
    "ar": re.compile("[\u0620-\u064a]"),
}
# What tells languages in Latin letters apart, folded: an English answer is not searched for Spanish phrases.
_FREQUENT = {
    "en": "the of and to is in that for it not with this are was on i you be by an or from no do have your",
    "de": "der die das und ist nicht ich zu den mit sie es ein eine von auf fur im dem des sich leider keine "
    "kein keinen zum zur aus bei uns mir wir ob wie werden wird",
    "fr": "le la les et est pas des du un une je vous ne que dans pour sur en au par qui ce cette nous sont",
    "es": "el la los las y es no de que en un una por para con se lo del su al como sobre pero esta puedo",
    "pt": "o a os as e nao de que em um uma por para com se do da no na dos das ao como sobre mas nos foi",
}
_FREQUENT_WORDS = {language: frozenset(words.split()) for language, words in _FREQUENT.items()}
_LETTERS = re.compile("[a-z]")
_WORDS = re.compile(r"\b[a-z]+\b")
_LEAD = 300  # characters that show the language
MOST_LATIN = 2  # Latin letters for each of another script: names, in a text of that script
_SLOT = re.compile("<([a-z]+)>")
_GAP = ".{0,60}"


@dataclass(frozen=True)
class Grammar:
    """The phrases of one language, or of several."""

    languages: tuple[str, ...]  # of which a sign is in every sentence that declines
    phrases: PhraseIndex  # of each kind
    turn: re.Pattern[str]  # where a sentence turns to the contrary
    reason: re.Pattern[str]  # where it gives a reason or draws a conclusion
    opening: re.Pattern[str]  # how a sentence begins that does
    aside: re.Pattern[str]  # conditions and reported speech, which say nothing of the sources


def grammar_for(text: str) -> Grammar | None:
    """Return the grammar of the languages in which a folded text may decline; None where it cannot.

    Its script and its frequent words leave some languages, and of these it has to have a sign: a word as
    "not" or "without".
    """
    signed = signed_in(text)
    languages = tuple(language for language in _languages_of(text) if language in signed)
    return _grammar(languages) if languages else None


def signed_in(text: str) -> set[str]:
    """Return the languages that have a sign of declining in a folded text."""
    return {LANGUAGES[number] for number in _signs()(text)}


@cache
def _signs() -> Callable[[str], Iterable[int]]:
    return expression_set("|".join(expressions(language)["sign"]) for language in LANGUAGES)


def signs() -> str:
    """Return an expression, for RE2, that is found in lower-case texts that may decline, not folded."""
    written = [sign for language in LANGUAGES for sign in _file()[language]["sign"]]
    borders = [sign.replace(r"\b(?:", "(?:^|[^a-z])(?:") for sign in written]
    return "|".join(dict.fromkeys([*borders, *map(folded_letters, borders), MARKS.pattern]))


def _languages_of(text: str) -> tuple[str, ...]:
    """Return the language of a script of its own, or those that share the frequent words of a Latin text."""
    text = text[:_LEAD]
    if not text.isascii():
        latin = len(_LETTERS.findall(text))
        for language, script in _SCRIPTS.items():
            if (letters := len(script.findall(text))) and latin <= MOST_LATIN * letters:
                return (language,)
    words = set(_WORDS.findall(text))
    shared = {language: len(words & frequent) for language, frequent in _FREQUENT_WORDS.items()}
    most = max(shared.values())
    return tuple(language for language, n in shared.items() if 2 * n > most or not most)


@cache
def _grammar(languages: tuple[str, ...]) -> Grammar:
    """Return the grammar of some languages together."""
    expressions_of = [expressions(language) for language in languages]
    phrases: dict[str, tuple[Phrase, ...]] = {
        kind: tuple(phrase for language in languages for phrase in _phrases(language, kind))
        for kind in (*DECLINING, *BESIDE)
    }

    def joined(kind: str) -> re.Pattern[str]:
        return re.compile("|".join(phrase for lists in expressions_of for phrase in lists[kind]))

    kinds = ("turn", "reason", "opening", "aside")
    return Grammar(languages, PhraseIndex(phrases), **{kind: joined(kind) for kind in kinds})


@cache
def _phrases(language: str, kind: Kind) -> tuple[Phrase, ...]:
    return tuple(map(Phrase, expressions(language)[kind]))


@cache
def expressions(language: str) -> dict[str, list[str]]:
    """Return the expressions of a language by kind, their words put in and their letters folded."""
    table = _file()[language]
    words = table["words"] | {"g": _GAP}

    def put_in(expression: str) -> str:
        while _SLOT.search(expression):
            expression = _SLOT.sub(lambda slot: words[slot[1]], expression)
        return folded_letters(expression).replace(" ?", r"\s*").replace(" ", r"\s+")

    return {kind: [put_in(phrase) for phrase in table[kind]] for kind in table if kind != "words"}


@cache
def _file() -> dict[str, Any]:
    text = files("ragtriage.data.text").joinpath("refusal_grammar.toml").read_text("utf-8")
    return tomllib.loads(text)
