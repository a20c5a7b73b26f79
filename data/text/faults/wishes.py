"""What a question or prompt asks of the form of its answer, as its language, and whether it names sources."""

from __future__ import annotations

from functools import cache
from typing import Any

from ragtriage.data.text.patterns import expression_set

MOST_TEXT = 20_000  # characters of a prompt, which may hold a context, that are searched at each end
_LANGUAGE = (
    r"(?i)\b(?:english|german|french|spanish|italian|portuguese|dutch|polish|russian|chinese|mandarin|japanese|"
    r"korean|arabic|hindi|turkish|finnish|swedish|danish|norwegian|czech|ukrainian|vietnamese|thai|hebrew|greek|"
    r"same language|language of the|translat(?:e|ed|ion)|anglais|allemand|français|espagnol|inglés|alemán|"
    r"francés|español|inglese|tedesco|nederlands)\b|\b(?:englisch|deutsch|spanisch|italienisch)(?:e[mnrs]?)?\b|"
    r"französisch|übersetz|\btradu[ic]|português|английск|немецк|русск|французск|перевед|перевод|英语|英文|"
    r"中文|汉语|日本語|日语|韩语|한국어|영어|العربية|بالإنجليزية|हिन्दी|अंग्रेज़ी|翻译|翻譯|訳"
)
_SOURCES = (
    r"(?i)\bcite\b|\b(?:with|include|including|provide|give|add|list|name|mention|state|attach|use)\s+"
    r"(?:\S+\s+){0,3}?(?:sources|citations?|references|source links?|footnotes)\b"
    r"|\b(?:mit|nennen?|nenne Sie|gib)\s+(?:\S+\s+){0,2}?(?:quellen|belegen?)"
    r"|\b(?:citez?|indique[zr]?|avec)\s+(?:\S+\s+){0,2}?sources\b|\b(?:cita|citando|con)\s+(?:\S+\s+){0,2}?fuentes"
    r"|(?:укажи|с указанием|ссыл)\S*\s+(?:\S+\s+){0,2}?источник|(?:注明|标注|引用|给出).{0,4}来源|出典を"
)
_NAMED = r"(?i)https?://|\b(?:sources?|references?|according to|quellen?)\b|источник|来源|出典"


@cache
def _wishes() -> Any:
    return expression_set([_LANGUAGE, _SOURCES, _NAMED])


def names_a_language(text: str | None) -> bool:
    """Return whether a question or prompt names a language or a translation, so that it may ask for one."""
    return 0 in _wishes()(_searched(text))


def asks_for_sources(text: str | None) -> bool:
    """Return whether a question or prompt wants the answer to name its sources."""
    return 1 in _wishes()(_searched(text))


def names_a_source(answer: str) -> bool:
    """Return whether an answer has an address, or says what it rests on, by other marks than [1]."""
    return 2 in _wishes()(answer)


def _searched(text: str | None) -> str:
    searched = text or ""
    return searched if len(searched) <= 2 * MOST_TEXT else f"{searched[:MOST_TEXT]}\n{searched[-MOST_TEXT:]}"
