"""Which answers are not answers but the text of an error: of a server, a program or a provider.

Strict on purpose: the whole answer must be such a text. One that speaks of errors is an answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

LONGEST = 800  # characters; traces and pages of errors may be longer
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
    if len(text) > LONGEST or (question and _ABOUT_ERRORS.search(question)):
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
