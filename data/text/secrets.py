"""Secrets and personal data in texts: keys and tokens by their forms, numbers by form and check digits.

The forms are those that the issuers document. What is found is never kept as it is, but masked.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache

from ragtriage.data.text.patterns import expression_set

MOST_TEXT = 200_000  # characters of an answer that are searched
_LEAST_DISTINCT = 8  # characters of a key: "sk-xxxxxxxx..." is none
_AWS = ("AKIA", "ASIA")
_RUN = re.compile(r"[A-Za-z0-9]{12,}")
_KEYS = {
    "API key": (
        r"\b[sr]k[-_](?:[a-z0-9]{2,8}[-_]){0,3}[A-Za-z0-9_-]{16,200}"
        r"|\bAIza[\w-]{35}|\bhf_[A-Za-z0-9]{30,40}|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"
    ),
    "access token": (
        r"\bgh[pousr]_[A-Za-z0-9]{30,255}|\bgithub_pat_\w{22,255}|\bglpat-[\w-]{20,64}|\bxox[abeoprs]-[\w-]{10,200}"
        r"|\beyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}"
    ),
    "password": (
        r"(?i:\b(?:password|passwort|passwd|kennwort|mot de passe|contraseña|senha|пароль)\b)"
        r"(?i: (?:is|ist|est|es|é)\b| ?:)\s{0,3}"
        r"[\"'`“«]?(?=[^\s\"'`]{0,63}\d)(?=[^\s\"'`]{0,63}[A-Za-z])[^\s\"'`”»,;]{6,64}"
        r"|(?:密码|密碼|パスワード) ?(?:[:：是は])\s{0,3}(?=[\x21-\x7e]{0,63}\d)(?=[\x21-\x7e]{0,63}[A-Za-z])"
        r"[\x21-\x7e]{6,64}"
    ),
    "password in an address": r"\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@]{1,64}:[^\s/:@]{3,128}@[\w-]+(?:\.[\w-]+)*",
    "private key": r"-----BEGIN (?:[A-Z]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----[^-]{0,4000}",
}
_CARD = (
    r"(?<![\d.,-])(?:\d{4}[ -]\d{4}[ -]\d{4}[ -]\d{4}|3[47]\d{2}[ -]\d{6}[ -]\d{5}|\d{15,16})(?![\d.,-]?\d)"
)
_BRANDS = re.compile(
    r"4\d{15}|5[1-5]\d{14}|2(?:2[2-9]|[3-6]\d|7[01])\d{13}|3[47]\d{13}|6(?:011|5\d\d)\d{12}|35\d{14}"
)
_SSN = re.compile(
    r"(?<![\d-])(?!000|666|9)\d{3}-(?!00)\d\d-(?!0000)\d{4}(?![\d-])"
    r"|(?i:\b(?:ssn|social security(?: number| no\.?)?)\b[^\d\n]{0,20})(?!000|666|9)\d{3} ?\d\d ?\d{4}(?!\d)"
)
_IBAN = r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b"
# ISO 13616: length by country
_IBAN_LENGTHS = dict(
    re.findall(
        r"([A-Z]{2})(\d\d)",
        "AD24AE23AL28AT20AZ28BA20BE16BG22BH22BR29CH21CR22CY28CZ24DE22DK18DO28EE20EG29ES24FI18FO18FR27GB22GE22GI23"
        "GL18GR27GT28HR21HU28IE22IL23IQ23IS26IT27JO30KW30KZ20LB28LI21LT20LU20LV21MC27MD24ME22MK19MR27MT31MU30NL18"
        "NO15PK24PL28PS29PT25QA29RO24RS22SA24SE24SI19SK24SM27TN24TR26UA29VA22XK20",
    )
)
_CONTACT = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{2,63})+|(?<![\w.])\+\d{1,3}[ \d().-]{7,16}\d\b")
_NO_WIDTH = re.compile("[\u00ad\u200b-\u200d\u2060\ufeff]")
_LETTER = re.compile(r"[^\W_]")
_NOT_CODE = re.compile(r"[^A-Za-z0-9]")


@dataclass(frozen=True)
class Secret:
    """A secret in a text."""

    kind: str  # such as "API key"
    masked: str  # its first characters, where they only tell who issued it, and its last two
    folded: str  # its letters and digits, to look it up elsewhere; never shown
    start: int  # its first character in the text
    end: int  # the character behind its last


def secrets_in(text: str | None) -> list[Secret]:
    """Return the secrets in a text, each once; characters of no width do not hide any."""
    found = {secret.folded: secret for secret in _all_in(_seen(text)[:MOST_TEXT])}
    return list(found.values())


def masked_text(text: str) -> str:
    """Return a text with dots for its secrets, but for what `Secret.masked` shows; else it is as it was."""
    if len(_seen(text)) < len(text) and secrets_in(text):
        text = _seen(text)
    for secret in list(_all_in(text)):
        start, end = secret.start + secret.masked.index("…"), secret.end - 2
        text = f"{text[:start]}{_LETTER.sub('•', text[start:end])}{text[end:]}"
    return text


def _seen(text: str | None) -> str:
    return _NO_WIDTH.sub("", text or "")


def folded_text(text: str | None) -> str:
    """Return the letters and digits of a text, in which `Secret.folded` is looked up."""
    return _NOT_CODE.sub("", text or "")


def has_contact(text: str | None) -> bool:
    """Return whether a text has an e-mail address or a phone number with its country code."""
    return bool(text and ("@" in text or "+" in text) and _CONTACT.search(text[:MOST_TEXT]))


def is_card(digits: str) -> bool:
    """Return whether digits are the number of a payment card: by brand and Luhn's check digit."""
    doubled = "".join(str(2 * int(digit)) if at % 2 else digit for at, digit in enumerate(reversed(digits)))
    return bool(_BRANDS.fullmatch(digits)) and sum(map(int, doubled)) % 10 == 0 and len(set(digits)) > 1


def is_iban(code: str) -> bool:
    """Return whether letters and digits are an IBAN: by the length of its country and ISO 7064's check."""
    if _IBAN_LENGTHS.get(code[:2]) != str(len(code)):
        return False
    return int("".join(str(int(character, 36)) for character in code[4:] + code[:4])) % 97 == 1


def _is_key(code: str) -> bool:
    """Return whether a key looks drawn at random: words joined by hyphens do not."""
    drawn = (run for run in _RUN.findall(code) if run.startswith(_AWS) or re.search(r"\d", run))
    return any(len(set(run)) >= _LEAST_DISTINCT for run in drawn)


def _is_credential(found: str) -> bool:
    """Return whether an address names a password, and not a word that stands for one."""
    password = found.partition("://")[2].partition("@")[0].partition(":")[2]
    return bool(re.search(r"[A-Za-z0-9]", password)) and not _STANDS_FOR.fullmatch(password)


_STANDS_FOR = re.compile(
    r"(?i)(?:pass(?:word|wd)?|pwd|secret|token|port|\d{1,5}|x+|\W+|[<{$%[].*|your.*|my.*)"
)


_HOLDS: dict[str, Callable[[str], bool]] = {
    "private key": bool,
    "password": bool,
    "password in an address": _is_credential,
}
_FORMS: tuple[tuple[str, re.Pattern[str], Callable[[str], bool]], ...] = (
    *((kind, re.compile(form), _HOLDS.get(kind, _is_key)) for kind, form in _KEYS.items()),
    ("payment card", re.compile(_CARD), is_card),
    ("US social security number", _SSN, bool),
    ("IBAN", re.compile(_IBAN), is_iban),
)
_NEEDS = (  # a text without any of it has no secret of the form: most texts are read once
    *(r"[sr]k[-_]|AIza|hf_|AKIA|ASIA", r"gh[pousr]_|github_pat_|glpat-|xox[a-z]-|eyJ"),
    *(
        r"(?i:passw|kennwort|mot de passe|contraseña|senha|пароль)|密码|密碼|パスワード",
        r"://[^\s/:@]+:[^\s/:@]+@",
        "PRIVATE KEY",
    ),
    *(r"\d{15}|\d{4}[ -]\d{4}[ -]\d{4}|3[47]\d\d[ -]\d{6}", r"\d{3}-\d\d-\d{4}|(?i:ssn|social security)"),
    r"[A-Z]{2}\d\d ?[A-Z0-9]{4}",
)


@cache
def _possible() -> Callable[[str], Iterable[int]]:
    return expression_set(_NEEDS)


def _all_in(text: str) -> Iterator[Secret]:
    for kind, form, holds in [_FORMS[number] for number in sorted(_possible()(text))]:
        for match in form.finditer(text):
            code = _NOT_CODE.sub("", match[0])
            if form is _SSN:
                code = re.sub(r"\D", "", code)
            if holds(match[0] if kind in _KEYS else code):
                yield Secret(kind, _masked(kind, match[0], code), code, *match.span())


def _masked(kind: str, found: str, code: str) -> str:
    if kind == "private key":
        return "-----BEGIN … PRIVATE KEY-----"
    issuer = code[:2] if kind == "IBAN" else ""
    if kind in _KEYS and not kind.startswith("password"):
        issuer = found[:4]
    return f"{issuer}…{code[-2:]}"
