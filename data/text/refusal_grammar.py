"""The phrases with which answers decline, by language and kind, read from refusal_grammar.toml."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from ragtriage.data.text.folding import MARKS, folded_letters
from ragtriage.data.text.patterns import Phrase

Kind = Literal["unable", "lacking", "about", "courtesy"]
DECLINING: tuple[Kind, ...] = ("unable", "lacking")
BESIDE: tuple[Kind, ...] = ("courtesy", "about")
LANGUAGES = ("en", "de", "fr", "es", "pt", "ru", "zh", "ja", "ar")  # in which refusals were measured
_LATIN = ("en", "de", "fr", "es", "pt")
_SCRIPTS = {
    "ja": re.compile("[\u3041-\u3096\u30a1-\u30fa]"),
    "zh": re.compile("[\u3400-\u4dbf\u4e00-\u9fff]"),
    "ru": re.compile("[\u0400-\u04ff]"),
    "ar": re.compile("[\u0620-\u064a]"),
}
_LETTERS = re.compile("[a-z]")
MOST_LATIN = 2  # Latin letters for each of another script: names, in a text of that script
_SLOT = re.compile("<([a-z]+)>")
_GAP = ".{0,60}"


@dataclass(frozen=True)
class Grammar:
    """The phrases of one language, or of several.

    Attributes:
        sign: a word that is in every sentence that declines.
        phrases: of each kind.
        turn: where a sentence turns to the contrary.
        reason: where it gives a reason or draws a conclusion.
        opening: how a sentence begins that does.
        aside: conditions and reported speech, which say nothing of the sources.
    """

    sign: re.Pattern[str]
    phrases: dict[Kind, tuple[Phrase, ...]]
    turn: re.Pattern[str]
    reason: re.Pattern[str]
    opening: re.Pattern[str]
    aside: re.Pattern[str]


def grammar_for(text: str) -> Grammar | None:
    """Return the grammar of the languages in which a folded text may decline; None where it cannot.

    Its script leaves some languages, and of these it has to have a sign: a word as "not" or "without".
    """
    languages = tuple(language for language in _by_script(text) if _sign(language).search(text))
    return _grammar(languages) if languages else None


def signs() -> str:
    """Return an expression, for RE2, that is found in lower-case texts that may decline, not folded."""
    written = [sign for language in LANGUAGES for sign in _file()[language]["sign"]]
    borders = [sign.replace(r"\b(?:", "(?:^|[^a-z])(?:") for sign in written]
    return "|".join(dict.fromkeys([*borders, *map(folded_letters, borders), MARKS.pattern]))


def _by_script(text: str) -> tuple[str, ...]:
    if not text.isascii():
        latin = len(_LETTERS.findall(text))
        for language, script in _SCRIPTS.items():
            if (letters := len(script.findall(text))) and latin <= MOST_LATIN * letters:
                return (language,)
    return _LATIN


@cache
def _sign(language: str) -> re.Pattern[str]:
    return re.compile("|".join(expressions(language)["sign"]))


@cache
def _grammar(languages: tuple[str, ...]) -> Grammar:
    """Return the grammar of some languages together."""
    expressions_of = [expressions(language) for language in languages]
    phrases: dict[Kind, tuple[Phrase, ...]] = {
        kind: tuple(phrase for language in languages for phrase in _phrases(language, kind))
        for kind in (*DECLINING, *BESIDE)
    }

    def joined(kind: str) -> re.Pattern[str]:
        return re.compile("|".join(phrase for lists in expressions_of for phrase in lists[kind]))

    kinds = ("sign", "turn", "reason", "opening", "aside")
    return Grammar(phrases=phrases, **{kind: joined(kind) for kind in kinds})


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
