from __future__ import annotations

from types import ModuleType

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.sample_schema import Ragged
from ragtriage.data.suites.contexts import (
    CompiledWords,
    KnownTexts,
    PlainWords,
    shared_texts,
    sharing_texts,
    words_of,
)
from ragtriage.data.text.compiled import engine

pytest.importorskip("numba", reason="the extra `fast` is not installed")

Lists = list[list[str | None]]
Sample = tuple[str, list[str | None], str]
TEXTS = ("question", "answer", "reference_answer")
WORDS = """
the of and stars symbolize peace symbols river Rhine flows through Cologne into sea Dr. Smith et al. e.g. No.
5 i.e. gave 3.5 mg. It "works!" he said. Does it? J. Brown left I. A. 1. First 2) Second however, but so:
(because) В 2012 г. введены станции Мощность 80 млн т/год, т.е. много. Всё! звезды символизируют мира река
莱茵河流过科隆，流过波恩。这是第一句。“第二句！”你好？ 的 我们 我们的 的的 ひらがな
カタカナ・ライン川 한국어 문장입니다. नदी बहती है। भारत में। Ο ΠΟΤΑΜΟΣ ποταμός Σ ΣΑΣ σας
İstanbul ſ ß K ǅ ¼ ² ٣٤ x² a_b _c d_ №5 10,000 1,5 … ... ?! 。。 「引用」 I A z
"""
ODD = " \n\t\u00a0\u2003\u3000\x1c\x85\x00\u0301\u200b\ud800\U0001f600,.!?」)’;:–—，；：（("
PIECES = [*WORDS.split(), *ODD, ""]
GAPS = [" ", " ", " ", "", ". ", ", ", "\n", "。", ".\u00a0", ".) ", '." ', "...", " - "]


def _texts(most: int) -> st.SearchStrategy[str]:
    pairs = st.lists(st.tuples(st.sampled_from(PIECES), st.sampled_from(GAPS)), max_size=most)
    return pairs.map(lambda parts: "".join(piece + gap for piece, gap in parts))


@st.composite
def _samples(draw: st.DrawFn) -> Sample:
    drawn = st.one_of(st.none(), st.just(""), _texts(25), _texts(60), st.text(max_size=30))
    documents: list[str | None] = draw(st.lists(drawn, max_size=12))
    known = [text for text in documents if text]
    quoted = draw(st.lists(st.sampled_from(known), max_size=3)) if known else []
    answer = " ".join([*(text[draw(st.integers(0, 20)) :] for text in quoted), draw(_texts(20))])
    again = draw(st.lists(st.sampled_from(documents), max_size=2)) if documents else []
    return answer, documents + again, draw(_texts(8))


def _retrieved(lists: Lists) -> Ragged:
    """Return documents as a run has them; lone surrogates cannot be stored, so they are replaced."""
    plain = [
        [{"text": None if text is None else text.encode("utf-8", "replace").decode()} for text in documents]
        for documents in lists
    ]
    return Ragged.of(pa.array(plain, pa.list_(pa.struct([("text", pa.string())]))))


@pytest.fixture(scope="module")
def loops() -> ModuleType:
    found = engine.compiled_loops()
    assert found is not None, engine.why_not()
    return found


def _assert_same(loops: ModuleType, answers: list[str], lists: Lists, asked: list[str]) -> None:
    retrieved = _retrieved(lists)
    _assert_agree(PlainWords(retrieved), CompiledWords(retrieved, loops), (asked, answers, answers))


def _assert_agree(
    plain: PlainWords, fast: CompiledWords, texts: tuple[list[str], list[str], list[str]]
) -> None:
    """Compare all figures of both ways, to the bit; `texts` are questions, answers and references."""
    asked, answers, references = texts
    rows = np.arange(len(answers))
    np.testing.assert_array_equal(fast.shares(rows, answers), plain.shares(rows, answers), strict=True)
    expected, found = plain.overlaps(rows, asked), fast.overlaps(rows, asked)
    np.testing.assert_array_equal(found.with_question, expected.with_question, strict=True)
    np.testing.assert_array_equal(found.mean_pair, expected.mean_pair, strict=True)
    np.testing.assert_array_equal(found.duplicate, expected.duplicate, strict=True)
    covered = plain.coverage(rows, references)
    np.testing.assert_array_equal(fast.coverage(rows, references), covered, strict=True)


@settings(max_examples=200, suppress_health_check=list(HealthCheck))
@given(st.lists(_samples(), max_size=4))
@example([("", [], "")])
@example([("one two three four, five six", ["", None], "")])
def test_both_ways_agree_to_the_bit(loops: ModuleType, samples: list[Sample]) -> None:
    answers, asked = [sample[0] for sample in samples], [sample[2] for sample in samples]
    _assert_same(loops, answers, [sample[1] for sample in samples], asked)


@settings(max_examples=100)
@given(st.lists(st.tuples(st.text(max_size=60), st.lists(st.text(max_size=60), max_size=4)), max_size=3))
def test_both_ways_agree_on_any_text(loops: ModuleType, samples: list[tuple[str, list[str]]]) -> None:
    answers, lists = [answer for answer, _ in samples], [list[str | None](texts) for _, texts in samples]
    _assert_same(loops, answers, lists, answers)


def test_both_ways_agree_on_long_and_many_documents(loops: ModuleType) -> None:
    rng = np.random.default_rng(3)
    names = [f"{a}{b}" for a in "bdfgklmnprst" for b in ("ar", "en", "is", "ol", "un", "ей", "河")]

    def text(sentences: int) -> str:
        drawn = [" ".join(rng.choice(names, size=int(rng.integers(3, 18)))) for _ in range(sentences)]
        return ". ".join(sentence.capitalize() for sentence in drawn) + "."

    long = text(700)
    assert len(long) > 20_000  # what is compared of a passage
    documents: list[str | None] = [text(int(rng.integers(1, 30))) for _ in range(70)]
    lists: Lists = [[long, *documents[:30], long], documents, [long]]
    _assert_same(loops, [text(6), text(90), long[:9_000]], lists, [text(2), long, ""])


@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(st.lists(_samples(), min_size=1, max_size=4), st.sampled_from([0, 200, 10**9]))
def test_batches_that_share_their_texts_have_the_same_figures(
    loops: ModuleType, samples: list[Sample], most: int
) -> None:
    known = KnownTexts()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("ragtriage.data.suites.contexts.MOST_CHARACTERS", most)
        for answer, documents, asked in [*samples, *reversed(samples)]:
            retrieved = _retrieved([documents])
            fast = CompiledWords(retrieved, loops, known)
            _assert_agree(PlainWords(retrieved), fast, ([asked], [answer], [answer]))


def test_a_shared_text_is_read_once(loops: ModuleType) -> None:
    with sharing_texts():
        first = shared_texts().read(["one text", "another"], loops)
        second = shared_texts().read(["another", "a third", ""], loops)
    assert (len(first.documents), len(second.documents)) == (2, 4)
    assert (second.texts.tolist(), second.contents.tolist()) == ([1, 2, 3], [1, 2, -1])
    assert shared_texts() is not shared_texts()  # outside, each batch has its own


def test_more_text_than_is_read_at_a_time(loops: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ragtriage.data.text.compiled.vocabulary.AT_ONCE", 100)
    documents: list[str | None] = [f"River number {at} flows by the town of Bonn. " * 3 for at in range(30)]
    answers = [f"River number {at} flows by the old town of Bonn." for at in range(30)]
    _assert_same(loops, answers, [documents[at : at + 5] for at in range(30)], answers)


def test_a_vocabulary_grows(loops: ModuleType) -> None:
    words = [f"{number:x}z" for number in range(90_000)]
    documents: list[str | None] = [" ".join(words[at : at + 9_000]) + "." for at in range(0, 90_000, 9_000)]
    _assert_same(loops, [" ".join(words[44_990:45_010])], [documents], [" ".join(words[::900])])


def test_both_ways_agree_on_the_bundled_runs(loops: ModuleType, demo: RunStore) -> None:
    used = 0
    for run in demo.runs():
        table = pq.read_table(demo.workspace.samples_path(run.run_id), columns=[*TEXTS, "retrieved"])
        retrieved = Ragged.of(table["retrieved"])
        plain, fast = PlainWords(retrieved), CompiledWords(retrieved, loops)
        asked, answers, references = ([text or "" for text in table[name].to_pylist()] for name in TEXTS)
        _assert_agree(plain, fast, (asked, answers, references))
        used += int((fast.shares(np.arange(table.num_rows), answers) > 0).any(axis=1).sum())
    assert used > 500


def test_little_text_is_read_in_python_and_much_by_the_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    small, large = _retrieved([["a short text"]]), _retrieved([["a longer text " * 2_000]])
    assert engine.compiled_loops() is not None
    assert isinstance(words_of(small), PlainWords)
    assert isinstance(words_of(large), CompiledWords)
    monkeypatch.setenv(engine.SWITCH, "0")
    assert isinstance(words_of(large), PlainWords)
