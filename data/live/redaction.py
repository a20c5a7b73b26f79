"""Taking personal data out of texts before they are stored: addresses, phone numbers, cards, accounts.

A number is taken for what it is by its check digit, its country code or its grouping, never by its length
alone: ids, prices, dates and ISBNs stay. What is taken out leaves its kind in brackets, as in `[e-mail]`.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any

import orjson

from ragtriage.data.errors import DataError
from ragtriage.data.text.patterns import PatternError, compiled_pattern

DEEPEST = 16  # texts of JSON within texts of JSON
EMAIL, PHONE, CARD, IBAN, USER = "e-mail", "phone", "card", "IBAN", "user"
USER_IDS = (  # attributes that say whose a call is, the surest first
    *("user.id", "enduser.id", "langfuse.user.id", "gen_ai.user.id", "user_id", "userId"),
    *("mlflow.trace.user", "traceloop.association.properties.user_id"),
    *("ai.telemetry.metadata.userId", "metadata.user_id"),
)
USER_KEYS = frozenset((*USER_IDS, "user.name", "user.email", "user.full_name"))
_BEFORE_AT = re.compile(r"[\w.+%~-]{0,63}[\w+%~-]\Z")
_AFTER_AT = re.compile(r"(?:[^\W_](?:[\w-]{0,61}[^\W_])?\.){1,8}[^\W\d_]{2,24}(?![\w-])")
_RUN = re.compile(r"[+(]{0,2}[0-9](?:[ ().–/\u00a0-]{0,3}[0-9]){6,}")  # shorter ones are nothing of all this
_HAS_RUN = re.compile(r"[0-9](?:[ ().–/\u00a0-]{0,3}[0-9]){6}")  # the same, found faster
_APART = r"(?<![\w+.,/:=#-])"  # a number within a longer one, a path or an id is none
_END = r"(?![\w/]|[.,:-]\d|-\w)"
_CARD = re.compile(r"(?<![\w.,+/-])[2-6](?:[ -]?[0-9]){11,18}(?![0-9])")
_BRANDS = re.compile(
    r"4\d{15}|5[1-5]\d{14}|2(?:22[1-9]|2[3-9]\d|[3-6]\d\d|7[01]\d|720)\d{12}|3[47]\d{13}|"
    r"3(?:0[0-5]|[68]\d)\d{11}|6(?:011|5\d\d|4[4-9]\d)\d{12}|35(?:2[89]|[3-8]\d)\d{12}|62\d{14}(?:\d{3})?"
)
_IBAN = re.compile(r"(?<![\w-])[A-Za-z]{2}[0-9]{2}(?= ?[A-Za-z0-9])", re.ASCII)  # how one begins
_LENGTHS = (  # of IBANs, by country
    "AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 "
    "DK18 DO28 EE20 EG29 ES24 FI18 FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HN28 HR21 HU28 "
    "IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 "
    "MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 PT25 QA29 RO24 RS22 RU33 SA24 "
    "SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 YE30"
)
_IBAN_LENGTHS = {code: int(length) for code, length in re.findall(r"([A-Z]{2})(\d\d)", _LENGTHS)}
_PHONE = re.compile(
    "|".join(
        (
            # +49 30 1234567, +1 (555) 123-4567, +442079460958
            rf"(?<![\w+.])\+[1-9]\d{{0,2}}(?:[ .-]?\(\d{{1,5}}\))?(?:[ ./–\u00a0-]?\d){{6,13}}{_END}",
            # 0049 30 1234567: in groups, else it is a number with zeros before it
            rf"{_APART}(?<![0-9] )00[1-9]\d{{0,2}}[ -]\(?\d{{1,5}}\)?(?:[ /-]\d{{2,9}}){{1,4}}{_END}",
            # (555) 123-4567, 555-123-4567, 1-800-555-0199
            rf"{_APART}(?:1[-. ])?\([2-9]\d\d\) ?\d{{3}}[-. ]\d{{4}}{_END}",
            rf"{_APART}(?:1[-.])?[2-9]\d\d(?P<by>[-.])\d{{3}}(?P=by)\d{{4}}{_END}",
            # (0151) 23456789, 030/1234567, 020 7946 0958, 07700 900123
            rf"{_APART}(?<![0-9] )(?:\(0[1-9]\d{{1,3}}\)|0[1-9]\d{{1,3}})(?: ?[/-] ?| )"
            rf"\d{{3,8}}(?:[ -]\d{{2,4}}){{0,3}}{_END}",
            # 06 12 34 56 78, 06.12.34.56.78
            rf"{_APART}0[1-9](?P<pair>[ .-])\d\d(?:(?P=pair)\d\d){{3}}{_END}",
        )
    )
)
_NAMED_PHONE = re.compile(  # with a word before it that says what it is
    r"(?i:\b(?:(?:tele)?phone|tel|mobile|cell|fax|whatsapp|hotline|handy|(?:mobil)?telefon|rufnummer|mobil|téléphone|"
    r"portable|teléfono|telefono|celular|móvil|телефон|тел|моб)\b|电话|手机|電話|携帯)(?P<between>[ .]{0,2}"
    r"(?i:(?:number|numbers|no|nr|nummer|num|номер)\b[ .]?)?(?i:(?:is|ist|est|es)\b)?[ :：#]{0,3})"
    rf"(?P<number>\(?\+?\d(?:[ ().–/-]{{0,2}}\d){{6,14}}){_END}"
)
_NAMES_PHONE = re.compile(r"(?i)phone|mobile|\btel\b|\bfax\b")
_ONE_NUMBER = re.compile(r"[+(]{0,2}\d(?:[ ().–/-]{0,2}\d){6,14}")
_DATES = re.compile(r"(?:19|20)\d\d[-/–. ](?:19|20)\d\d|\d{4}[-./]\d\d[-./]\d\d|\d\d?[-./]\d\d?[-./]\d{4}")
Spans = Iterator[tuple[int, int]]


def _without(text: str, kind: str, spans: Spans, counts: Counter[str]) -> str:
    """Return a text with its kind in the place of what is taken out, and count that."""
    parts, at = [], 0
    for start, end in spans:
        parts += [text[at:start], f"[{kind}]"]
        at = end
    counts[kind] += len(parts) // 2
    return "".join((*parts, text[at:])) if parts else text


def _in_runs(found: Callable[[str, int, int], Spans], text: str) -> Spans:
    """Yield what is found among the digits of a text, with what stands right after them."""
    for run in _RUN.finditer(text):
        yield from found(text, run.start(), min(len(text), run.end() + 3))


def _emails(text: str) -> Spans:
    at = text.find("@")
    while at >= 0:
        before = _BEFORE_AT.search(text, max(0, at - 64), at)
        after = _AFTER_AT.match(text, at + 1)
        if before and after:
            yield before.start(), after.end()
        at = text.find("@", after.end() if before and after else at + 1)


def _ibans(text: str) -> Spans:
    for match in _IBAN.finditer(text):
        length = _IBAN_LENGTHS.get(match[0][:2].upper(), 0)
        end, account = match.start(), ""
        while len(account) < length and (sign := text[end : end + 1]) and (sign == " " or sign.isalnum()):
            account += sign.strip().upper()
            end += 1
        whole = len(account) == length > 0 and account.isascii() and not text[end : end + 1].isalnum()
        if whole and int("".join(str(int(sign, 36)) for sign in account[4:] + account[:4])) % 97 == 1:
            yield match.start(), end


def _cards(text: str, start: int, end: int) -> Spans:
    for match in _CARD.finditer(text, start, end):
        number = match[0]
        while number:  # with what may follow it, a year perhaps, or without
            digits = re.sub(r"\D", "", number)
            beyond = text[match.start() + len(number) :][:2]
            apart = not re.match(r"\w|[/.,:-]\w", beyond)
            if apart and _BRANDS.fullmatch(digits) and _luhn(digits):
                yield match.start(), match.start() + len(number)
                break
            number = number[: max(number.rfind(" "), number.rfind("-"), 0)]


def _luhn(digits: str) -> bool:
    doubled = "0246813579"
    return sum(int(doubled[int(d)] if at % 2 else d) for at, d in enumerate(reversed(digits))) % 10 == 0


def _phones(text: str, start: int, end: int) -> Spans:
    for match in _PHONE.finditer(text, start, end):
        groups = re.findall(r"\d+", match[0])
        international = match[0].startswith(("+", "00"))
        is_decimal = re.match(r"\+\d{1,3}\.\d{5,}", match[0]) is not None
        is_code = re.fullmatch(r"\d{4}-\d{4}-\d{4}", match[0]) is not None
        listed = sum(len(group) == 1 for group in groups) > 2  # +1 2 3 4 5 6 7
        if (8 if international else 10) <= sum(map(len, groups)) <= 15 and not (
            is_decimal or is_code or listed
        ):
            yield match.span()


def _named_phones(text: str) -> Spans:
    for match in _NAMED_PHONE.finditer(text):
        number, between = match["number"], match["between"].strip(" .")
        plain = number.isdecimal() and number[0] != "0" and len(number) < 10
        if not _DATES.search(number) and (between or not plain):
            yield match.span("number")


@lru_cache(4_096)
def _is_of_phone(name: str) -> bool:
    return _NAMES_PHONE.search(name) is not None


class Redactor:
    """What takes personal data out of texts, and counts it by kind.

    Attributes:
        counts: kind -> how often it was taken out.
    """

    def __init__(
        self,
        patterns: Mapping[str, str] | None = None,  # kind -> regular expression of RE2
        *,
        off: bool = False,  # leaves everything as it is, and hashes users all the same where it should
        hash_users: bool = False,
        salt: bytes = b"",  # of the hashes
    ) -> None:
        """Compile the project's own patterns.

        Raises:
            DataError: one of them cannot be used.
        """
        self.counts: Counter[str] = Counter()
        self.off, self.hash_users, self._salt = off, hash_users, salt
        self._own: list[tuple[str, re.Pattern[str]]] = []
        for kind, pattern in () if off else (patterns or {}).items():
            try:
                self._own.append((kind, compiled_pattern(pattern)))
            except PatternError as error:
                raise DataError(
                    f"redaction pattern {kind!r}: {error}; accepted: a regular expression of RE2"
                ) from error

    def text(self, text: str) -> str:
        """Return a text without personal data; one that is JSON stays JSON."""
        return self._text(text, 0)

    def value(self, value: Any) -> Any:
        """Return a JSON value whose texts are without personal data; names of fields stay."""
        return self._value(value, 0)

    def user(self, user_id: str) -> str:
        """Return the id of a user as it is stored.

        It is a hash where users are hashed, and where the id itself says who it is, as an address does.
        """
        says_who = not self.off and self._plain(user_id, Counter()) != user_id
        if not user_id or not (self.hash_users or says_who):
            return user_id
        return f"user-{hashlib.blake2b(user_id.encode(), key=self._salt, digest_size=10).hexdigest()}"

    def _text(self, text: str, depth: int) -> str:
        if self.off and not self.hash_users:
            return text
        of_user = self.hash_users and "user" in text
        if not (self._own or of_user or "@" in text or _HAS_RUN.search(text)):
            return text
        if text[:1] in ("{", "[") and depth < DEEPEST:
            try:
                value = orjson.loads(text)
                clean = self._value(value, depth + 1)
                return text if clean == value else orjson.dumps(clean).decode()
            except (ValueError, TypeError, RecursionError):  # no JSON, or nested too deeply: a text as others
                pass
        return text if self.off else self._plain(text, self.counts)

    def _value(self, value: Any, depth: int) -> Any:
        if isinstance(value, str):
            return self._text(value, depth)
        if isinstance(value, dict):
            return {key: self.attribute(str(key), item, depth) for key, item in value.items()}
        return [self._value(item, depth) for item in value] if isinstance(value, list) else value

    def attribute(self, name: str, value: Any, depth: int = 0) -> Any:
        """Return the value of an attribute without personal data: a user's id, or any other."""
        if name in USER_KEYS and isinstance(value, str | int) and not isinstance(value, bool):
            stored = self.user(str(value))
            if stored == str(value):
                return value
            self.counts[USER] += 1
            return stored
        if not isinstance(value, str):
            return self._value(value, depth)
        if not self.off and _is_of_phone(name) and _ONE_NUMBER.fullmatch(value):
            self.counts[PHONE] += 1
            return f"[{PHONE}]"
        return self._text(value, depth)

    def _plain(self, text: str, counts: Counter[str]) -> str:
        if "@" in text:
            text = _without(text, EMAIL, _emails(text), counts)
        if _HAS_RUN.search(text):
            text = _without(text, IBAN, _ibans(text), counts)
            text = _without(text, CARD, _in_runs(_cards, text), counts)
            text = _without(text, PHONE, _named_phones(text), counts)
            text = _without(text, PHONE, _in_runs(_phones, text), counts)
        for kind, expression in self._own:
            spans = (match.span() for match in expression.finditer(text) if match.group())
            text = _without(text, kind, spans, counts)
        return text
