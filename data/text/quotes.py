"""Where a quote stands in a text whose marks, whitespace or forms of characters are written otherwise."""

import re
import unicodedata
from collections.abc import Iterator
from functools import cached_property

_ALIKE = str.maketrans(
    dict.fromkeys("‘’‚‛′`´ʼ", "'")
    | dict.fromkeys("“”„‟″«»「」『』", '"')
    | dict.fromkeys("‐‑‒–—―−", "-")
    | dict.fromkeys("\u00ad\u200b\u200c\u200d\u2060\ufeff", "")
)
# ASCII without whitespace, the acute and the quote marks that fold: as it stands
_PLAIN = re.compile(r"[!-_a-~]+|\s+|.", re.DOTALL)


def _folded(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield the folded text in parts, each with the range of the text that it comes from."""
    for match in _PLAIN.finditer(text):
        part, start = match.group(), match.start()
        if part.isspace():
            yield " ", start, match.end()
        elif len(part) > 1 or part.isascii():
            yield from ((char.translate(_ALIKE), start + at, start + at + 1) for at, char in enumerate(part))
        else:
            yield (
                " ".join(unicodedata.normalize("NFKD", part).translate(_ALIKE).split()),
                start,
                start + 1,
            )


def occurrences(text: str, quote: str) -> list[int]:
    """Return where a quote starts in a text as it stands, in order; occurrences may overlap."""
    places, at = [], text.find(quote)
    while at >= 0:
        places.append(at)
        at = text.find(quote, at + 1)
    return places


class QuotedText:
    """A text in which quotes are found by compatible forms, with typographic marks and whitespace alike."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def _parts(self) -> tuple[str, list[int], list[int]]:
        """The folded text, and for each of its characters where its source starts and ends."""
        letters, starts, ends = list[str](), list[int](), list[int]()
        for part, start, end in _folded(self.text):
            for char in part:
                if char == " " and letters and letters[-1] == " ":
                    ends[-1] = end  # whitespace around a character that folds to nothing
                    continue
                letters.append(char)
                starts.append(start)
                ends.append(end)
        return "".join(letters), starts, ends

    def places(self, quote: str) -> list[tuple[int, int]]:
        """Return start and end of every occurrence, in order; none cuts a character of the text in two."""
        wanted = "".join(part for part, _, _ in _folded(quote))
        wanted = " ".join(wanted.split())
        text, starts, ends = self._parts
        places = []
        for at in occurrences(text, wanted) if wanted else ():
            last = at + len(wanted) - 1
            whole = (at == 0 or starts[at - 1] != starts[at]) and (
                last + 1 == len(text)
                or (starts[last + 1] != starts[last] and not unicodedata.combining(text[last + 1]))
            )
            if whole:
                places.append((starts[at], ends[last]))
        return places
