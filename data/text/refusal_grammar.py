"""The phrases with which answers decline, read from refusal_grammar.toml: for each language, words and kinds."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

from ragtriage.data.text.folding import folded_letters
from ragtriage.data.text.patterns import Phrase

Kind = Literal["unable", "lacking", "about", "courtesy"]
DECLINING: tuple[Kind, ...] = ("unable", "lacking")
KINDS: tuple[Kind, ...] = (*DECLINING, "courtesy", "about")
LANGUAGES = ("en", "de", "fr", "es", "pt", "ru", "zh", "ja", "ar")  # in which refusals were measured
_LATIN = ("en", "de", "fr", "es", "pt")
_SCRIPTS = {
    "ja": re.compile("[\u3041-\u3096\u30a1-\u30fa]"),
    "zh": re.compile("[\u3400-\u4dbf\u4e00-\u9fff]"),
    "ru": re.compile("[\u0400-\u04ff]"),
    "ar": re.compile("[\u0620-\u064a]"),
}
_SLOT = re.compile("<([a-z]+)>")
_GAP = ".{0,60}"


@dataclass(frozen=True)
class Grammar:
    """The phrases of one language, or of several.

    Attributes:
        phrases: of each kind.
        turn: where a sentence turns to the contrary.
        opening: how a sentence begins that does.
        aside: conditions, which say nothing of the sources.
    """

    phrases: dict[Kind, tuple[Phrase, ...]]
    turn: re.Pattern[str]
    opening: re.Pattern[str]
    aside: re.Pattern[str]

    def may_decline(self, text: str) -> bool:
        """Return False only where no phrase that declines can match in a folded text."""
        return any(phrase.possible_in(text) for kind in DECLINING for phrase in self.phrases[kind])


def grammar_for(text: str) -> Grammar:
    """Return the grammar of the languages that a text, by its script, can be in."""
    if not text.isascii():
        for language, script in _SCRIPTS.items():
            if script.search(text):
                return grammar((language,))
    return latin_grammar()


def latin_grammar() -> Grammar:
    """Return the grammar of all languages in Latin letters, in which every text in ASCII is."""
    return grammar(_LATIN)


@cache
def grammar(languages: tuple[str, ...]) -> Grammar:
    """Return the grammar of some languages together."""
    lists = [_expanded(language) for language in languages]
    phrases: dict[Kind, tuple[Phrase, ...]] = {
        kind: tuple(Phrase(phrase) for one in lists for phrase in one[kind]) for kind in KINDS
    }
    return Grammar(phrases, *(_joined(one[kind] for one in lists) for kind in ("turn", "opening", "aside")))


def _joined(lists: Iterable[list[str]]) -> re.Pattern[str]:
    return re.compile("|".join(phrase for phrases in lists for phrase in phrases))


@cache
def _expanded(language: str) -> dict[str, list[str]]:
    """Return the expressions of a language by kind, their words put in and their letters folded."""
    table = _file()[language]
    words = table["words"] | {"g": _GAP}

    def put_in(expression: str) -> str:
        while _SLOT.search(expression):
            expression = _SLOT.sub(lambda slot: words[slot[1]], expression)
        return folded_letters(expression).replace(" ?", r"\s*").replace(" ", r"\s+")

    return {kind: [put_in(phrase) for phrase in table[kind]] for kind in table if kind != "words"}


@cache
def _file() -> dict[str, dict[str, dict[str, str]]]:
    text = files("ragtriage.data.text").joinpath("refusal_grammar.toml").read_text("utf-8")
    return tomllib.loads(text)
