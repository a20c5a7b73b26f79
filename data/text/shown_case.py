"""What of a case is shown: secrets masked, long texts cut to their beginnings, with a note of what was cut.

Exports of cases and of tables keep every text whole.
"""

import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from ragtriage.data.text.secrets import masked_text

LONGEST_TEXT = 20_000  # characters of one text
LEAST_TEXT = 200  # characters that a text keeps however little room is left
ALL_CASES = 2_000_000  # bytes of the texts of all cases of one report, escaped for HTML
WIDE = 2  # bytes a character that a text may have at its longest; of wider ones it keeps fewer
SHARE = 4  # of the room that one text takes at most, so that an answer leaves room for its documents
MOST_TOLD = 5
CUT = "…"  # ends a text that was cut
MOST_PARTS = 64  # code points of one character
JOINER, KEYCAP = "\u200d", "\u20e3"
TEXTS = {"question": "question", "answer": "answer", "reference_answer": "reference answer"}
LISTS = {
    "history": "turn",
    "retrieved": "document",
    "claims": "claim",
    "reference_claims": "claim of the reference",
    "candidates": "candidate",
}


def shown_cases(records: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the cases of one report, which share its room; see `shown_case`."""
    return [shown_case(record, ALL_CASES // len(records)) for record in records]


def shown_case(case: Mapping[str, Any], room: int = ALL_CASES) -> dict[str, Any]:
    """Return a case with secrets masked and long texts cut; it may be a stored one or one in the native form.

    Args:
        case: question, answer, documents and so on.
        room: bytes of its texts, escaped for HTML; beyond it a text keeps only its first few words.

    Returns:
        The case; where a text was cut, `cut` of its `ragtriage` says which, and how much is shown.
    """
    cutter, shown = _Cutter(room), dict(case)
    for key, name in TEXTS.items():
        shown |= {key: cutter.cut(name, case[key])} if key in case else {}
    for key, name in LISTS.items():
        if case.get(key):
            shown[key] = [cutter.cut_in(f"{name} {at}", entry) for at, entry in enumerate(case[key], 1)]
    if cutter.notes:
        shown["ragtriage"] = {**(case.get("ragtriage") or {}), "cut": cutter.notes}
    return shown


class _Cutter:
    """Cuts one text after the other to the room that is left, and notes what it cut."""

    def __init__(self, room: int) -> None:
        self.room, self.longest = room, min(LONGEST_TEXT, room // SHARE)
        self.notes: list[str] = []

    def cut_in(self, name: str, entry: Any) -> Any:
        """Return an entry of a list, a text or an object that has one, with the text cut."""
        if isinstance(entry, Mapping) and "text" in entry:
            return {**entry, "text": self.cut(name, entry["text"])}
        return self.cut(name, entry)

    def cut(self, name: str, text: Any) -> Any:
        """Return a text cut; anything else as it is."""
        if not isinstance(text, str):
            return text
        text = masked_text(text)
        within = _length_within(text[: self.longest], min(self.room, WIDE * self.longest))
        length = min(len(text), max(LEAST_TEXT, within))
        shown = beginning(text, length)
        self.room = max(0, self.room - _size(shown))
        if len(shown) == len(text):
            return text
        self.notes.append(f"{name} (first {len(shown):,} of {len(text):,} characters)")
        return shown + CUT


def cuts_told(case: Mapping[str, Any]) -> str:
    """Return which texts of a shown case are cut, and where they are whole; "" where none is."""
    notes = (case.get("ragtriage") or {}).get("cut") or []
    if not notes:
        return ""
    more = [f"{len(notes) - MOST_TOLD:,} more"] if len(notes) > MOST_TOLD else []
    return f"Shortened here: {', '.join([*notes[:MOST_TOLD], *more])}. The case export has the full text."


def beginning(text: str, length: int) -> str:
    """Return at most so many characters of a text, ending before a character that is made of several."""
    at = min(length, len(text))
    for end in range(at, max(0, at - MOST_PARTS), -1):
        if end == len(text) or not _inside_character(text, end):
            return text[:end]
    return text[:at]  # one that has no end


def _inside_character(text: str, at: int) -> bool:
    """Return whether the code points around a place are of one character: a flag, a letter with marks."""
    before, after = text[at - 1], text[at]
    if _is_flag_half(before) and _is_flag_half(after):
        halves = next((n for n in range(at) if not _is_flag_half(text[at - 1 - n])), at)
        return halves % 2 == 1
    return (
        after in (JOINER, KEYCAP)
        or before == JOINER
        or unicodedata.category(after) in ("Mn", "Mc", "Me")
        or 0x1F3FB <= ord(after) <= 0x1F3FF  # colours of skin
        or 0xE0020 <= ord(after) <= 0xE007F  # tags of regional flags
        or 0x1160 <= ord(after) <= 0x11FF  # middle and end of a Hangul syllable
        or before + after == "\r\n"
    )


def _is_flag_half(character: str) -> bool:
    return 0x1F1E6 <= ord(character) <= 0x1F1FF


def _length_within(text: str, room: int) -> int:
    """Return a number of characters whose escaped form has at most `room` bytes."""
    while text and (size := _size(text)) > room:
        text = text[: len(text) * room // size]
    return len(text)


def _size(text: str) -> int:
    """Return the bytes of a text as HTML has it."""
    return len(text.encode("utf-8", "replace")) + 4 * sum(map(text.count, "&<>\"'"))
