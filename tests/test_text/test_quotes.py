"""Quotes found in texts of every script, whatever their marks, forms and whitespace; offsets are exact."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragtriage.data.chunking.corpus import Corpus, Document
from ragtriage.data.datasets.windows import CorpusWindows
from ragtriage.data.text.quotes import QuotedText

_LETTERS = (
    "ab Z9.,\r\n\t\u00a0\u3000’‘“”\"'–-—…ﬁé\u0301e\u0308ü漢字かなカ゛"
    "한국مرحба😀👩\u200d👩\u200d👧🇩🇪\ufeff\u00ad"
)
TEXTS = st.text(st.sampled_from(_LETTERS), max_size=80)


@pytest.mark.parametrize(
    ("text", "quote", "stands"),
    [
        ("He said “no” – twice.", 'He said "no" - twice', "He said “no” – twice"),
        ("line one\r\nline  two", "line one line two", "line one\r\nline  two"),
        ("the caf\u00e9 opens", "cafe\u0301 opens", "caf\u00e9 opens"),
        ("the cafe\u0301 opens", "caf\u00e9", "cafe\u0301"),
        ("ofﬁce hours", "office hours", "ofﬁce hours"),
        ("😀 漢字。「引用」です", '"引用"です', "「引用」です"),
        ("soft\u00adware", "software", "soft\u00adware"),
    ],
)
def test_a_quote_in_other_marks_is_found_as_it_stands(text: str, quote: str, stands: str) -> None:
    ((start, end),) = QuotedText(text).places(quote)
    assert text[start:end] == stands


def test_a_place_never_cuts_a_character() -> None:
    assert QuotedText("the caf\u00e9 opens").places("the cafe") == []
    assert QuotedText("the cafe\u0301 opens").places("the cafe") == []
    assert QuotedText("ofﬁce").places("of") == [(0, 2)]
    assert QuotedText("ﬁne").places("f") == []


@given(TEXTS, TEXTS, st.data())
def test_any_part_of_a_text_is_located_where_it_stands(before: str, text: str, data: st.DataObject) -> None:
    whole = before + text
    start = data.draw(st.integers(0, len(whole)))
    end = data.draw(st.integers(start, len(whole)))
    part = whole[start:end]
    windows = CorpusWindows(Corpus("c", (Document("d", whole), Document("e", "nothing of it"))))
    spans = windows.locate(part)
    assert all(whole[span.start : span.end] == span.quote for span in spans if span.doc_id == "d")
    if part.strip():
        assert start in [span.start for span in spans if span.doc_id == "d" and span.end == end]


@given(TEXTS, st.data())
def test_whatever_form_a_quote_has_it_is_found_and_only_whole(text: str, data: st.DataObject) -> None:
    words = text.split()
    if not words:
        return
    first = data.draw(st.integers(0, len(words) - 1))
    quote = unicodedata.normalize("NFC", " ".join(words[first:])).replace("“", '"').replace("’", "'")
    folded = QuotedText(text)
    places = folded.places(quote)
    for start, end in places:
        assert 0 <= start < end <= len(text)
        assert QuotedText(text[start:end]).places(quote) == [(0, end - start)]
    if quote.strip("\u200d\ufeff\u00ad ") and not unicodedata.combining(words[first][0]):
        assert places, (text, quote)
