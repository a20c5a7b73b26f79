"""Chunkers cut at the right characters in any script, and refuse what cannot be."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragtriage.data.chunking.chunkers import (
    BLOCK,
    STRATEGIES,
    UNITS,
    Chunking,
    Strategy,
    TokenizedText,
    Unit,
    chunks_of,
    count_tokens,
    token_starts,
)
from ragtriage.data.errors import DataError

MARKDOWN = """# Trains

Steam came first. It was loud.

## Diesel

Diesel followed.

It was cleaner.

### Shunting

Small engines shunt.

## Electric

Electric is quiet.
"""
MIXED = st.text(alphabet="ab .\n北京是的😀👩\u200dжда#", max_size=200)


def _cut(text: str, chunking: Chunking) -> list[str]:
    return [text[one.start : one.end] for one in chunks_of(TokenizedText(text), chunking)]


def test_fixed_characters_with_overlap() -> None:
    assert _cut("abcdefghij", Chunking("fixed", 4, 1, "characters")) == ["abcd", "defg", "ghij"]
    assert _cut("abcdefghijk", Chunking("fixed", 4, 1, "characters")) == ["abcd", "defg", "ghij", "jk"]
    assert _cut("abc", Chunking("fixed", 4, 3, "characters")) == ["abc"]


def test_fixed_tokens_are_counted_by_the_tokenizer() -> None:
    text = "The quick brown fox jumps over the lazy dog. " * 20
    found = _cut(text, Chunking("fixed", 16, 4))
    assert all(count_tokens(one) <= 16 for one in found)
    assert count_tokens(found[0]) == 16
    assert found[0][-10:] in text


def test_an_emoji_of_several_tokens_is_one_place() -> None:
    text = "😀北京👩\u200d👩"
    starts = token_starts(text)
    assert starts[0] == 0
    assert set(starts) <= set(range(len(text)))
    assert len(starts) > len(text)
    assert "".join(_cut(text, Chunking("fixed", 2))) == text


def test_windows_that_end_inside_one_character_are_one_chunk() -> None:
    assert count_tokens("😀") == 4
    assert _cut("😀👩😀👩", Chunking("fixed", 2, 1)) == ["😀", "👩", "😀", "👩"]
    assert _cut("😀👩😀👩", Chunking("fixed", 8, 6)) == ["😀👩", "👩😀", "😀👩"]


def test_long_texts_are_tokenised_in_pieces() -> None:
    text = "word " * (BLOCK // 5 * 2 + 7)
    starts = token_starts(text)
    assert starts[-1] < len(text)
    assert (starts[1:] >= starts[:-1]).all()
    assert count_tokens(text) == len(starts)


def test_paragraphs_are_joined_up_to_the_size() -> None:
    text = "One.\n\nTwo.\n\nThree is longer than the others."
    assert _cut(text, Chunking("paragraph", 12, 0, "characters")) == [
        "One.\n\nTwo.\n\n",
        "Three is ",
        "longer than ",
        "the others.",
    ]


def test_headings_begin_chunks_and_are_known_below() -> None:
    found = chunks_of(TokenizedText(MARKDOWN), Chunking("heading", 1000, 0, "characters"))
    assert [MARKDOWN[one.start : one.end].splitlines()[0] for one in found] == [
        "# Trains",
        "## Diesel",
        "### Shunting",
        "## Electric",
    ]
    assert [one.headings for one in found] == [
        ("Trains",),
        ("Trains", "Diesel"),
        ("Trains", "Diesel", "Shunting"),
        ("Trains", "Electric"),
    ]


def test_white_space_alone_is_no_chunk() -> None:
    assert _cut(" \n\n \t", Chunking("fixed", 2, 0, "characters")) == []
    assert _cut("", Chunking("paragraph", 5)) == []


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("strategy", STRATEGIES)
@settings(max_examples=40)
@given(text=MIXED, size=st.integers(1, 40), overlap=st.integers(0, 39))
def test_every_written_character_is_in_a_chunk(
    strategy: Strategy, unit: Unit, text: str, size: int, overlap: int
) -> None:
    shared = min(overlap, size - 1) if strategy == "fixed" else 0
    found = chunks_of(TokenizedText(text), Chunking(strategy, size, shared, unit))
    covered = {at for one in found for at in range(one.start, one.end)}
    assert all(at in covered for at, char in enumerate(text) if not char.isspace())
    assert all(one.start < one.end for one in found)
    assert len(set(found)) == len(found)
    assert all(left.start <= right.start for left, right in pairwise(found))
    if not shared:
        assert all(left.end <= right.start for left, right in pairwise(found))


@pytest.mark.parametrize(
    ("given_", "message"),
    [
        ({"size": 64, "overlap": 64}, "overlap 64 is not smaller than size 64"),
        ({"size": 64, "overlap": 100}, "overlap 100 is not smaller than size 64"),
        ({"size": 0}, "size 0"),
        ({"size": 5, "overlap": -1}, "overlap -1"),
        ({"size": 5, "unit": "words"}, "'words'; accepted: tokens, characters"),
        ({"strategy": "random", "size": 5}, "'random'; accepted: fixed, paragraph"),
    ],
)
def test_what_cannot_be_is_refused_by_name(given_: dict[str, object], message: str) -> None:
    with pytest.raises(DataError, match=message):
        Chunking(**{"strategy": "fixed", **given_})  # type: ignore[arg-type] # the mistakes under test


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("# Title ##", "Title"),
        ("## Title #\t", "Title"),
        ("# C#", "C#"),
        ("#   spaced   out  ", "spaced   out"),
        ("# a" + " " * 40_000 + "x", "a" + " " * 40_000 + "x"),
        ("# " + "# " * 20_000, ("# " * 19_999).strip()),
        ("#" + " " * 40_000, ""),
        ("####### seven", ""),
        ("#none", ""),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_headings_are_read_in_no_time_whatever_the_line_ends(line: str, words: str, end: str) -> None:
    begun = time.perf_counter()
    found = TokenizedText(f"before{end}{line}{end}behind").headings
    assert [one for _, _, one in found] == ([words] if words else [])
    assert time.perf_counter() - begun < 1.0


def test_paragraphs_end_alike_with_either_line_end() -> None:
    text = "One is here.\n\nTwo is there.\n \nThree is longer than the others."
    plain = _cut(text, Chunking("paragraph", 20, 0, "characters"))
    other = _cut(text.replace("\n", "\r\n"), Chunking("paragraph", 20, 0, "characters"))
    assert plain[:2] == ["One is here.\n\n", "Two is there.\n \n"]
    assert [one.replace("\r\n", "\n") for one in other] == plain


def test_counts_of_tokens_are_not_kept_for_ever() -> None:
    from semchunk import semchunk

    before = dict(semchunk._memoized_token_counters)
    _cut("Some words to be cut. " * 50, Chunking("recursive", 16))
    assert dict(semchunk._memoized_token_counters) == before
