"""What is wrong with an answer as a text: an error in its place, an end in the middle; what was asked for.

Strict on purpose: of an error the whole answer must be. One that speaks of errors is an answer.
"""

import json
import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from ragtriage.data.text.patterns import expression_set
from ragtriage.data.text.tokens import count_words, word_list
from ragtriage.metrics.sanity.rule import BARE, DANGLING, OPEN, UNDECIDED, WHOLE

LONGEST_ERROR = 800  # characters; traces and pages of errors may be longer
_STATUS = (
    "bad request|unauthori[sz]ed|payment required|forbidden|not found|method not allowed|request timeout|"
    "conflict|payload too large|unprocessable (?:entity|content)|too many requests|internal server error|"
    "bad gateway|service (?:temporarily )?unavailable|gateway time-?out|overloaded"
)
# what a server, a client library or a pipeline writes in place of an answer; nothing but it and its details
_SENTENCES = (
    r"(?:http(?:/\d(?:\.\d)?)? ?)?(?:error:? )?(?:(?:status )?code:? )?[45]\d\d(?: ?[-:–] ?| )?"
    rf"(?:client |server )?(?:error:? ?)?(?:{_STATUS})(?:[.!]|:? for url: \S+)?",
    r"(?:internal server error|bad gateway|gateway time-?out|service (?:temporarily )?unavailable|"
    r"too many requests)[.!]?",
    r"error code: [45]\d\d - .*",
    r"(?:the )?(?:request|read|connection|operation|query|upstream|model|llm|api)(?: call| request)?"
    r" (?:has )?(?:timed[ -]?out|time-?out)"
    r"(?:[.!]| after \d.{0,40}|[.:!,] .{0,60}(?:again|retry|seconds|\dm?s).{0,40})?",
    r"timeout(?:[.!]| (?:exceeded|expired|error)[.!]?| after \d+ ?(?:s|sec|seconds|ms)[.!]?)?",
    r"connection (?:refused|reset(?: by peer)?|aborted|error|closed)[.!]?",
    r"(?:api |token )?(?:rate limit|quota)(?: has been| was)? (?:exceeded|reached)(?:[.!:,]? .{0,200}|[.!])?",
    r"you(?:'ve| have)? exceeded your (?:current )?(?:rate limit|quota).{0,200}",
    r"(?:sorry|oops|apologies|we(?:'re| are) sorry|i(?:'m| am) sorry)?[,.!:;]? ?(?:but )?"
    r"(?:an? (?:(?:unexpected|unknown|internal|server) )*error (?:has )?occurred|something went wrong)"
    r"(?:[.!]| (?:while|when|during|on our end|with your request).{0,120})?"
    r"(?: ?please (?:try|contact).{0,80})?",
    r"error (?:while )?(?:generating|processing|fetching|calling|communicating|querying) .{0,160}",
    r"failed to (?:generate|get|fetch|parse|connect|retrieve) (?:an? |the )?"
    r"(?:response|answer|completion|output|reply|to)\b.{0,160}",
    r"(?:ein|es ist ein) (?:unerwarteter |interner )?fehler (?:ist )?aufgetreten.{0,120}",
    r"une erreur (?:inattendue |interne )?(?:s['’]est produite|est survenue).{0,120}",
    r"(?:se )?ha (?:producido|ocurrido) un error.{0,120}",
    r"(?:zeitüberschreitung|(?:die )?(?:anfrage|verbindung) .{0,30}(?:zeitlimit|zeit) überschritten).{0,120}",
    r"(?:délai d['’]attente dépassé|tiempo de espera (?:agotado|excedido)).{0,120}",
    r"tempo (?:limite|de espera) (?:esgotado|excedido).{0,120}|превышено время ожидания.{0,120}",
    r"(?:请求超时|請求逾時|连接超时|(?:リクエスト|接続)が?タイムアウト(?:しました)?|انتهت مهلة).{0,60}",
    r"произошла (?:внутренняя |непредвиденная )?ошибка.{0,120}",
    r"发生(?:了)?(?:内部|未知)?错误.{0,60}|(?:内部)?エラーが発生しました.{0,60}",
    r"agent stopped due to (?:iteration limit|max iterations|time limit).{0,60}",
    r"\[?(?:content[_ ]filter(?:ed)?|responsibleaipolicyviolation)\]?[.!]?",
    r"the response was (?:filtered|blocked) (?:due to|because of|by) .{0,400}",
    r"(?:output|response|prompt|request) (?:was )?(?:blocked|rejected) (?:by|due to) (?:the )?"
    r"(?:content|safety|guardrail|azure|openai).{0,200}",
    r"this model's maximum context length is \d.{0,300}",
)
_SENTENCE = re.compile("|".join(f"(?:{sentence})" for sentence in _SENTENCES), re.IGNORECASE)
# what a program raises: "ValueError: ...", "openai.RateLimitError: ...", "Error: ..."
_RAISED = re.compile(r"(?:(?:[A-Za-z_][\w.]*)?(?:Error|Exception|Timeout)|ERROR)(?:\(.{0,600}\)|: ?.{0,600})")
_TRACE = re.compile(
    r"\s*(?:Traceback \(most recent call last\):|(?:Exception in thread|panic: |goroutine \d+ ))"
)
_PAGE = re.compile(
    rf"\s*(?:<!doctype html[^>]*>|<\?xml[^>]*>|<html).{{0,2000}}?<(?:title|h1)[^>]*>[^<]{{0,80}}"
    rf"(?:\b[45]\d\d\b|error|{_STATUS})",
    re.IGNORECASE | re.DOTALL,
)
_BODY = {
    "error",
    "errors",
    "detail",
    "message",
    "status",
    "code",
    "type",
    "statusCode",
    "status_code",
    "timestamp",
}
_BODY |= {"path", "request_id", "requestId", "param", "title", "instance", "trace", "exception", "success"}
_ABOUT_ERRORS = re.compile(
    r"\b(?:errors?|exceptions?|messages?|status|http|time-?outs?|codes?|log|traceback|fehler\w*|erreurs?)\b|错误|エラー|ошибк",
    re.IGNORECASE,
)


_FAULT = re.compile(
    r"error|exception|time[d -]*out|fail|refused|reset|unavailable|overloaded|rate.?limit|quota|filter|abort|"
    r"crash|denied|invalid|unauthori|exceeded|traceback|\b[45]\d\d\b",
    re.IGNORECASE,
)


def is_fault(error: str) -> bool:
    """Return whether what is recorded as the error of a sample says what failed."""
    return _FAULT.search(error) is not None


_PLACEHOLDERS = {
    *("null", "none", "nan", "nil", "undefined", "n/a", "na", "todo", "tbd", "empty", "(empty)", "<empty>"),
    *("<none>", "<null>", "{}", "[]", "()", '""', "''", "...", "…", "-", "--", "—", "?"),
}
_NOTHING = re.compile(r"(?:none|no|nothing|null|zero|0|n/?a|nan|nil)\b", re.IGNORECASE)
_REQUEST = re.compile(
    r"\s*[(\[](?:request|req|trace|incident|error|ref|id)\b[^()\[\]]{0,60}[)\]]\.?\Z", re.IGNORECASE
)


def is_placeholder(answer: str | None, reference: str | None = None) -> bool:
    """Return whether a text stands for an empty answer, such as `null`; not where "none" is right."""
    text = (answer or "").strip().strip("`*").casefold()
    if text not in _PLACEHOLDERS:
        return False
    expected = (reference or "").strip()
    return expected.casefold() != text and not _NOTHING.match(expected)


def is_error_text(answer: str | None, question: str | None = None, reference: str | None = None) -> bool:
    """Return whether an answer is the text of an error and nothing else.

    Args:
        answer: of any length.
        question: that it answers: one about errors may be answered by the text of one.
        reference: of the question: where it is the text of an error, the answer may be.
    """
    text = (answer or "").strip().strip("`*").strip()
    if not text or (reference and is_error_text(reference)):
        return False
    if _TRACE.match(text) or _PAGE.match(text) or _is_body(text):
        return True
    if len(text) > LONGEST_ERROR or (question and _ABOUT_ERRORS.search(question)):
        return False
    line = _REQUEST.sub("", " ".join(text.split()))
    return bool(_SENTENCE.fullmatch(line) or _RAISED.fullmatch(line))


def _is_body(text: str) -> bool:
    """Return whether a text is the JSON by which a service says that it failed."""
    if not ((text.startswith("{") and text.endswith("}") and "rror" in text) or '"detail"' in text[:20]):
        return False
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        return False
    if not isinstance(body, Mapping) or not body.keys() <= _BODY:
        return False
    return bool(body.get("error") or body.get("errors") or body.get("detail") or body.get("exception"))


FEWEST_WORDS = 8  # a name, a number or a title needs no end mark
FEWEST_CHARACTERS = 16  # of a text without spaces
LONGEST_SHORT = 200  # characters among which so many words are counted
MOST_OF_AN_END = 4_000  # characters of the end that are looked at
_MARKS = ".!?…。！？｡．؟۔।॥։።፧၊။។៕‽⸮"
_CITED = re.compile(r"(?:\[[^\[\]\n]{1,60}\]|【[^【】\n]{1,60}】|\^\d{1,3}|[¹²³⁰⁴-⁹])[,;]?\Z")
_DECORATION = re.compile(r"[\s*_~`\U0001f000-\U0001faff\u2600-\u27bf\ufe0f\u200d]+\Z")
_CLOSING = re.compile(r"[\"'”’»›)\]}）」』】〉》>|]\Z")
_INSIDE = re.compile(rf"[{re.escape(_MARKS)}][\"'”’»)\]]?\s+\S|[。！？]\S")
_UNFINISHED = re.compile(r"(?:[,，、،(\[{（「『«“„:：&+=/]|\s[-–—])\Z")
_ITEM = re.compile(r"\s*(?:[-*•·‣–]|\(?\d{1,3}[.)]|\(?[a-zA-Z][.)]|#{1,6})\s")
# scripts that end no sentence by a mark: Thai, Lao, Tibetan, Burmese, Khmer
_UNMARKED = re.compile("[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff]\\Z")
_LAST_LETTERS = re.compile(r"\b[^\W\d_]{2,}\Z")
_LAST_WORD = re.compile(r"(?<![^\s(\"'“])[^\W\d_]+\Z")
_LINKS = word_list("linking_words")  # no sentence ends with: articles, conjunctions, some prepositions
_PARTICLES = re.compile("[的和与在把被对将从及或是为はがをにのともで]\\Z")


def ending_of(text: str | None) -> int:
    """Return how a text ends.

    Returns:
        UNDECIDED for a short one, or one in a script without end marks; WHOLE with an end mark, a closed
        bracket, quotation or code, or as the lines before it; DANGLING behind a comma, an open bracket or a
        word that no sentence ends with; else OPEN where its earlier sentences have end marks, BARE where
        they have none.
    """
    stripped = (text or "").rstrip()[-MOST_OF_AN_END:]
    fences = stripped.count("```")
    if fences:
        return DANGLING if fences % 2 else WHOLE if stripped.endswith("```") else UNDECIDED
    end = _undecorated(stripped)
    tail = end[-LONGEST_SHORT:]
    if count_words(tail) < FEWEST_WORDS or len(end) < FEWEST_CHARACTERS or _UNMARKED.search(tail):
        return UNDECIDED
    lines = [line for line in end.splitlines() if line.strip()]
    last = lines[-1]
    if end[-1] in _MARKS or _CLOSING.search(tail) or _CITED.search(tail):
        return WHOLE
    if _UNFINISHED.search(tail) or last.count("(") > last.count(")") or _ends_on_a_link(last):
        return DANGLING
    before = [_undecorated(line) for line in lines[:-1]]
    if _ITEM.match(last) or len(before) > 1:
        alike = [line for line in before if bool(_ITEM.match(line)) == bool(_ITEM.match(last))]
        if any(line[-1:] not in _MARKS for line in alike) or not alike:
            return WHOLE
    return OPEN if _INSIDE.search(end) else BARE


def _undecorated(text: str) -> str:
    """Return a text without the spaces, emphasis and emojis at its end."""
    return text[:-LONGEST_SHORT] + _DECORATION.sub("", text[-LONGEST_SHORT:])


def _ends_on_a_link(line: str) -> bool:
    """Return whether the last word of a line is one that another has to follow."""
    word = _LAST_WORD.search(line)
    return (word is not None and word[0] in _LINKS) or bool(_PARTICLES.search(line))


def ends_in_a_word(text: str, others: str) -> bool:
    """Return whether the last word of a text is only the beginning of a word of other texts.

    Args:
        text: that ends without an end mark.
        others: where the word is looked up; where it stands there as it is, it is whole.
    """
    word = _LAST_LETTERS.search(text)
    if word is None:
        return False
    begun = re.compile(rf"\b{re.escape(word[0])}(\w?)", re.IGNORECASE)
    found = {match[1] != "" for match in begun.finditer(others)}
    return found == {True}


MOST_OF_A_PROMPT = 20_000  # characters of a prompt, which may hold a context, that are searched at each end
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
    if len(searched) <= 2 * MOST_OF_A_PROMPT:
        return searched
    return f"{searched[:MOST_OF_A_PROMPT]}\n{searched[-MOST_OF_A_PROMPT:]}"
