"""What a question or a prompt asks of the form of its answer: a language, and sources."""

from __future__ import annotations

import re

MOST_TEXT = 20_000  # characters of a prompt, which may hold a context, that are searched at each end
_LANGUAGE = re.compile(
    r"\b(?:english|german|french|spanish|italian|portuguese|dutch|polish|russian|chinese|mandarin|japanese|korean|"
    r"arabic|hindi|turkish|finnish|swedish|danish|norwegian|czech|ukrainian|vietnamese|thai|hebrew|greek|"
    r"same language|language of the|"
    r"englisch|deutsch|französisch|spanisch|italienisch|anglais|allemand|français|espagnol|inglés|alemán|francés|"
    r"español|inglese|tedesco|português|nederlands|английск|немецк|русск|французск|translat|übersetz|tradui|traduc|"
    r"перевед|перевод)|英语|英文|中文|汉语|日本語|日语|韩语|한국어|영어|العربية|بالإنجليزية|हिन्दी|अंग्रेज़ी|翻译|翻譯|訳",
    re.IGNORECASE,
)
_SOURCES = re.compile(
    r"\bcite\b|\b(?:with|include|including|provide|give|add|list|name|mention|state|attach|use)\s+(?:\w+\s+){0,3}?"
    r"(?:sources|citations?|references|source links?|footnotes)\b"
    r"|\b(?:mit|nenne\w*|gib)\s+(?:\w+\s+){0,2}?(?:quellen\w*|belegen?)\b"
    r"|\b(?:citez?|indique[zr]?|avec)\s+(?:\w+\s+){0,2}?sources\b|\b(?:cita|citando|con)\s+(?:\w+\s+){0,2}?fuentes\b"
    r"|\b(?:укажи\w*|с указанием|ссыл\w+ на)\s+(?:\w+\s+){0,2}?источник\w*"
    r"|(?:注明|标注|引用|给出)(?:\w{0,4})来源|出典を",
    re.IGNORECASE,
)


def names_a_language(text: str | None) -> bool:
    """Return whether a question or prompt names a language or a translation, so that it may ask for one."""
    return _LANGUAGE.search(_searched(text)) is not None


def asks_for_sources(text: str | None) -> bool:
    """Return whether a question or prompt wants the answer to name its sources."""
    return _SOURCES.search(_searched(text)) is not None


def _searched(text: str | None) -> str:
    searched = text or ""
    return searched if len(searched) <= 2 * MOST_TEXT else f"{searched[:MOST_TEXT]}\n{searched[-MOST_TEXT:]}"
