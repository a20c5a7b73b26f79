"""Regular expressions from files, matched by RE2 in linear time, and the words that a match must have."""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property, lru_cache
from importlib import import_module
from typing import Any

SHORTEST = 2  # characters of a literal worth looking for; in scripts beyond Latin one tells enough


class Phrase:
    """A regular expression that is searched only in texts that have the literals it needs."""

    def __init__(self, expression: str) -> None:
        self.expression = expression

    @cached_property
    def search(self) -> Callable[[str], re.Match[str] | None]:
        """Search a text, compiled for the first. An expression that begins with ^ is tried there alone."""
        pattern = re.compile(self.expression)
        parsed = import_module("re._parser").parse(self.expression)
        anchored = [str(part) for part in parsed[0]] == ["AT", "AT_BEGINNING"]
        return pattern.match if anchored else pattern.search

    @cached_property
    def needs(self) -> list[tuple[str, ...]]:
        """What `required_literals` returns for the expression."""
        return required_literals(self.expression)


Candidates = dict[str, list[Phrase]]  # phrases that may match in a text, by kind


class PhraseIndex:
    """The phrases of several kinds, by the literals that a text needs for them: one pass finds all."""

    def __init__(self, phrases: Mapping[str, tuple[Phrase, ...]]) -> None:
        self.phrases = phrases
        listed = [(kind, phrase) for kind, of_kind in phrases.items() for phrase in of_kind]
        bits = {need: 1 << at for at, need in enumerate(dict.fromkeys(n for _, p in listed for n in p.needs))}
        self._needs = [(sum(bits[need] for need in phrase.needs), kind, phrase) for kind, phrase in listed]
        met_by: dict[str, int] = {}  # the needs that a literal meets, as bits
        for need, bit in bits.items():
            for literal in need:
                met_by[literal] = met_by.get(literal, 0) | bit
        self._met = list(met_by.values())
        self._literals = expression_set(map(re.escape, met_by))

    def candidates(self, text: str) -> Candidates:
        """Return the phrases of each kind that may match in a text, in their order."""
        met = 0
        for number in self._literals(text):
            met |= self._met[number]
        possible: Candidates = {}
        for needs, kind, phrase in self._needs:
            if needs & met == needs:
                possible.setdefault(kind, []).append(phrase)
        return possible


def expression_set(expressions: Iterable[str]) -> Callable[[str], Iterable[int]]:
    """Return a function from a text to the numbers of the expressions that match in it, in one pass."""
    listed = list(expressions)
    try:
        import re2  # compiled code: not at import
    except ImportError:
        compiled = [re.compile(expression) for expression in listed]
        return lambda text: [number for number, each in enumerate(compiled) if each.search(text)]
    options = re2.Options()
    options.max_mem = _SET_MEMORY
    whole = re2.Set.SearchSet(options)
    for expression in listed:
        whole.Add(expression)
    whole.Compile()
    return lambda text: whole.Match(text if text.isascii() else _plain(text)) or ()


def first_match(phrases: Iterable[Phrase], text: str) -> re.Match[str] | None:
    """Return the match that one expression of all phrases, joined by "|" in this order, would find."""
    first: re.Match[str] | None = None
    for phrase in phrases:
        match = phrase.search(text)
        if match is not None and (first is None or match.start() < first.start()):
            first = match
    return first


def required_literals(expression: str) -> list[tuple[str, ...]]:
    """Return sets of literals: a text in which the expression matches has one of each set.

    They are read from the expression itself, the rarest looking set first; [] where nothing is certain.
    """
    parser = import_module("re._parser")  # as `re` parses it; sre_parse is deprecated
    sets = {_without_longer(literals) for literals in _needs(parser.parse(expression))}
    telling = [literals for literals in sets if _shortest(literals) >= SHORTEST]
    return sorted(telling, key=_rarity)


def _needs(sequence: Any) -> list[set[str]]:
    """Return the needs of a parsed sequence: of its runs of plain characters, and of its parts."""
    needs: list[set[str]] = []
    run = ""
    for operation, argument in sequence:
        if str(operation) == "LITERAL":
            run += chr(argument)
            continue
        needs += [{run}] if run else []
        run = ""
        needs += _needs_of_part(str(operation), argument)
    return needs + ([{run}] if run else [])


def _needs_of_part(operation: str, argument: Any) -> list[set[str]]:
    if operation == "SUBPATTERN":
        _group, added, removed, part = argument
        return [] if added or removed else _needs(part)
    if operation in ("MAX_REPEAT", "MIN_REPEAT"):
        least, _most, part = argument
        return _needs(part) if least else []
    if operation == "BRANCH":
        branches = [max(_needs(branch), key=_shortest, default=set[str]()) for branch in argument[1]]
        return [set().union(*branches)] if all(branches) else []
    return []  # classes, borders and what is looked ahead for are not asked for


def _rarity(literals: tuple[str, ...]) -> tuple[int, tuple[str, ...]]:
    """Return a key to sort by, the rarest looking set first."""
    return len(literals) - 2 * _shortest(literals), literals


def _shortest(literals: Iterable[str]) -> int:
    return min((len(literal) if literal.isascii() else 2 * len(literal) for literal in literals), default=0)


def _without_longer(literals: set[str]) -> tuple[str, ...]:
    """Leave out the literals that have another one in them: that one is enough to look for."""
    kept = [
        literal
        for literal in literals
        if not any(other != literal and other in literal for other in literals)
    ]
    return tuple(sorted(kept))


LONGEST_PATTERN = 2_000  # characters
LONGEST_TEXT = 200_000
_MEMORY = 8 << 20  # bytes that a compiled pattern may take
_SET_MEMORY = 64 << 20  # and a set of some hundred literals: one that needs more would find nothing


class PatternError(ValueError):
    """A pattern that cannot be used; the message says why in a few words."""


def found_in(pattern: str, text: str) -> bool:
    """Return whether a regular expression matches somewhere in a text, `^` and `$` being its ends.

    Args:
        pattern: in the syntax of RE2, which has neither look-around nor back-references.
        text: its first 200,000 characters are searched.

    Raises:
        PatternError: the pattern is malformed, too long, or needs what RE2 lacks.
    """
    return bool(compiled_pattern(pattern).search(_plain(text[:LONGEST_TEXT])))


@lru_cache(maxsize=1_000)
def compiled_pattern(pattern: str) -> Any:
    """Return a regular expression of RE2, with the methods of one of `re`.

    Raises:
        PatternError: it is malformed, too long, or needs what RE2 lacks.
    """
    if len(pattern) > LONGEST_PATTERN:
        raise PatternError(f"{len(pattern):,} characters, more than {LONGEST_PATTERN:,}")
    try:
        import re2  # compiled code: not at import
    except ImportError:
        raise PatternError("google-re2 is not installed") from None
    options = re2.Options()
    options.max_mem = _MEMORY
    options.log_errors = False
    try:
        return re2.compile(_plain(pattern), options)
    except re2.error as error:
        message = error.args[0] if error.args else error
        raise PatternError(
            message.decode("utf-8", "replace") if isinstance(message, bytes) else str(message)
        ) from None


def _plain(text: str) -> str:
    return text.encode("utf-8", "replace").decode()  # RE2 reads valid Unicode only
