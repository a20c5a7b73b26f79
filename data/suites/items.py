"""The items that a case knows, and those that a result or an answer names.

Matched by id, else by normalised name against the list of the case; a name outside the list is an invention.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import orjson

from ragtriage.data.suites.check import CheckedSample, MalformedCheckError, shown
from ragtriage.data.text.refusal_detection import detect_refusal
from ragtriage.metrics.suites.items import Constraint, holds

_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\u0e01-\u0e5b]")  # no spaces part words
_NAME = re.compile(r"[\W_]+")
_NONE = re.compile(
    r"\b(?:no|zero) (?:\w+ ){0,4}?(?:match\w*|results?|hotels?|restaurants?|items?|places?|options?)\b"
    r"|\b(?:no|zero) (?:\w+ ){0,4}?(?:found|available|meets?|fits?|exist)\b|\bnone\b|\bnothing\b"
    r"|(?:\bnot|n't|\bunable to) (?:\w+ ){0,2}?(?:find|locate)\b"
    r"|\bthere (?:is|are|were|was) no(?:t any|ne)?\b|没有|找不到|未找到|无符合"
    r"|\bнет\b|\bне (?:найден|удалось|нашл)\w*|\bничего\b",
    re.IGNORECASE,
)
_LISTED = re.compile(r"^\s*(?:[-*•]|\d{1,3}[.)])\s+\**([^\n*:;,(–—]{2,80})", re.MULTILINE)
_MOST_ASKED = 1_000  # sets of constraints whose items are kept
_READ = 20_000  # characters of an answer


def item_name(text: str) -> str:
    """Return a name as it is matched: lower case, without punctuation and a leading article."""
    return _NAME.sub(" ", text.casefold()).strip().removeprefix("the ")


class Items:
    """The items that a case knows, found by their id or else by their normalised name."""

    def __init__(self, items: Sequence[Any]) -> None:
        """Take the items as a check lists them.

        Args:
            items: ids, or objects with `id`, `name` or both, and attributes.

        Raises:
            MalformedCheckError: an item is neither.
        """
        self.items: dict[str, Mapping[str, Any]] = {}
        self._by_name: dict[str, str] = {}
        self._right: dict[str, frozenset[str]] = {}
        for item in items:
            self._add(item)

    def _add(self, item: Any) -> None:
        if isinstance(item, str | int | float) and not isinstance(item, bool):
            item = {"id": item}
        if not isinstance(item, Mapping) or (item.get("id") is None and not item.get("name")):
            raise MalformedCheckError(f"item {shown(item)}", "an id, or an object with `id` or `name`")
        key = str(item["id"] if item.get("id") is not None else item["name"])
        self.items.setdefault(key, item)
        for name in (key, item.get("name")):
            if isinstance(name, str) and item_name(name):
                self._by_name.setdefault(item_name(name), key)

    def satisfying(self, constraints: tuple[Constraint, ...]) -> frozenset[str]:
        """Return the keys of the items that satisfy every constraint; many cases ask for the same."""
        asked = repr(constraints)  # 1 and True are equal, and ask for different items
        if asked not in self._right:
            if len(self._right) >= _MOST_ASKED:
                self._right.clear()
            self._right[asked] = frozenset(
                key
                for key, item in self.items.items()
                if all(holds(constraint, item) for constraint in constraints)
            )
        return self._right[asked]

    def key_of(self, returned: Any) -> str | None:
        """Return the key of the item that a result names; None where it is none of them."""
        if isinstance(returned, Mapping):
            named = [returned[name] for name in ("id", "name", "title") if returned.get(name) is not None]
        else:
            named = [returned]
        for name in named:
            if str(name) in self.items:
                return str(name)
        keys = (self._by_name.get(item_name(str(name))) for name in named)
        return next((key for key in keys if key is not None), None)

    def named_in(self, text: str) -> list[str]:
        """Return the keys of the items whose name stands in a text, in the order of their first mention.

        A name inside a longer one that stands at the same place does not count: "acorn" in "acorn house".
        """
        words = f" {item_name(text)} "
        mentions: list[tuple[int, int, str]] = []
        for name, key in self._by_name.items():
            if "name" in self.items[key] or not name.isdigit():  # a bare number names no item in a sentence
                at = words.find(name if _UNSPACED.search(name) else f" {name} ")
                if at >= 0:
                    mentions.append((at, -len(name), key))
        taken, keys = -1, []
        for at, length, key in sorted(mentions):
            if at >= taken and key not in keys:
                keys.append(key)
                taken = at - length
        return keys


@dataclass(frozen=True)
class Named:
    """What a result names."""

    keys: tuple[str, ...]  # the items in order, each once
    invented: tuple[str, ...] = ()  # names that are in no list of the case
    recorded: bool = True  # whether the result was recorded; False where it was read from the answer
    none: bool = False  # whether an answer says that there is nothing

    @property
    def count(self) -> int:
        """How many it names, known or not."""
        return len(self.keys) + len(self.invented)


def items_of(items: Sequence[Any]) -> Items:
    """Return the items of a case; those of cases with one list are read once."""
    return _items(orjson.dumps(items))


@lru_cache(maxsize=256)
def _items(text: bytes) -> Items:
    return Items(orjson.loads(text))


def named_items(items: Items, actual: Any, sample: CheckedSample) -> Named | None:
    """Return what a check's actual value names, else the sample's answer; None where there is neither."""
    if isinstance(actual, Mapping):
        actual = next((actual[key] for key in ("ids", "items", "returned") if key in actual), None)
    if isinstance(actual, list):
        returned = [(items.key_of(entry), entry) for entry in actual]
        keys = dict.fromkeys(key for key, _ in returned if key is not None)
        return Named(tuple(keys), tuple(shown(entry) for key, entry in returned if key is None))
    answer = actual if isinstance(actual, str) else sample["answer"]
    return None if not answer else _in_answer(items, answer[:_READ])


def _in_answer(items: Items, answer: str) -> Named:
    listed = [match.strip() for match in _LISTED.findall(answer)]
    invented = [name for name in listed if items.key_of(name) is None and not items.named_in(name)]
    # that there is nothing is estimated by words in three languages
    says_none = _NONE.search(answer) is not None or detect_refusal(answer).refused
    return Named(tuple(items.named_in(answer)), tuple(invented), False, says_none)
