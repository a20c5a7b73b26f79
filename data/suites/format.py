"""Checks of the suite format: a pattern, a JSON schema, a length or a language that the answer must have.

`expected` is an object with one or more of `regex`, `json_schema`, `min_chars`, `max_chars`, `min_words`,
`max_words` and `language` ("same" as the question, or a code such as "en"). They apply to `actual`, or to the
sample's answer where none is recorded. Anything else as `expected` is compared with `actual` as it stands.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from ragtriage.data.suites.check import (
    CheckedSample,
    CheckOutcome,
    MalformedCheckError,
    RecordedCheck,
    recorded_outcome,
    shown,
)
from ragtriage.data.suites.check_table import CheckedRun
from ragtriage.data.suites.suite import Figure, Part, Suite, figure_values, part_cohort, suite_checks
from ragtriage.data.text.language import language_of
from ragtriage.data.text.patterns import PatternError, found_in
from ragtriage.data.text.tokens import count_words

LENGTHS = ("min_chars", "max_chars", "min_words", "max_words")
RULES = ("regex", "json_schema", *LENGTHS, "language")
KEY = "format"
TITLES = {
    "regex": "Matches the pattern",
    "json_schema": "Conforms to the JSON schema",
    "min_chars": "Has enough characters",
    "max_chars": "Has no more characters than allowed",
    "min_words": "Has enough words",
    "max_words": "Has no more words than allowed",
    "language": "Is in the expected language",
}
NOT_JSON = "the answer is not JSON"
NO_MATCH = "the answer does not match the pattern"
BREAKS = "the JSON breaks the schema"
WRONG_LANGUAGE = "the answer is in another language"
UNTOLD = "the language cannot be detected"
_LONGEST = 200_000  # characters of JSON
_CODE = re.compile("[a-z]{2,3}")
_Found = tuple[bool | None, str, dict[str, Any]]


def format_outcome(check: RecordedCheck, sample: CheckedSample) -> CheckOutcome:
    """Return what evaluating a format check finds; a recorded verdict stands.

    Raises:
        MalformedCheckError: its expected value cannot be read.
    """
    rules = read_format(check)
    if rules is None or check.passed is not None:
        return recorded_outcome(check)
    value = sample["answer"] if check.actual is None else check.actual
    if value is None or value == "":
        return CheckOutcome(None, "no actual value and no answer is recorded")
    results = {rule: _RULES[rule](rule, bound, value, sample) for rule, bound in rules.items()}
    detail = {rule: {"passed": passed, **more} for rule, (passed, _, more) in results.items()}
    failed = [reason for passed, reason, _ in results.values() if passed is False]
    unknown = [reason for passed, reason, _ in results.values() if passed is None]
    verdict = False if failed else None if unknown else True
    return CheckOutcome(verdict, next(iter(failed + unknown), ""), detail)


def read_format(check: RecordedCheck) -> dict[str, Any] | None:
    """Return the rules of a format check; None where its expected value is none of ours.

    Raises:
        MalformedCheckError: a rule cannot be used, or is not known.
    """
    expected = check.expected
    if not isinstance(expected, Mapping) or not any(rule in expected for rule in RULES):
        return None
    unknown = [name for name in expected if name not in RULES]
    if unknown:
        raise MalformedCheckError(f"unknown {shown(unknown[0])}", ", ".join(RULES))
    for rule, bound in expected.items():
        _refuse(rule, bound)
    return dict(expected)


def _refuse(rule: str, bound: Any) -> None:
    """Raise where a rule cannot be used."""
    if rule in LENGTHS:
        if isinstance(bound, bool) or not isinstance(bound, int) or bound < 0:
            raise MalformedCheckError(f"{rule} {shown(bound)}", "a whole number of 0 or more")
    elif rule == "language":
        if bound != "same" and not (isinstance(bound, str) and _CODE.fullmatch(bound)):
            raise MalformedCheckError(f"language {shown(bound)}", '"same" or a code such as "en"')
    elif rule == "regex":
        if not isinstance(bound, str):
            raise MalformedCheckError(f"regex {shown(bound)}", "text")
        try:
            found_in(bound, "")
        except PatternError as error:
            raise MalformedCheckError(f"regex {shown(bound)}: {error}", "a pattern in RE2's syntax") from None
    else:
        from ragtriage.data.suites.json_schema import UnusableSchemaError, usable_schema  # late

        try:
            usable_schema(bound)
        except UnusableSchemaError as error:
            raise MalformedCheckError(f"json_schema: {error}", "a JSON schema, draft 2020-12") from None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def _regex(_rule: str, bound: Any, value: Any, _sample: CheckedSample) -> _Found:
    matches = found_in(bound, _text(value))
    return matches, "" if matches else NO_MATCH, {}


def _schema(_rule: str, bound: Any, value: Any, _sample: CheckedSample) -> _Found:
    if isinstance(value, str):
        try:
            value = orjson.loads(value[: _LONGEST + 1].encode("utf-8", "surrogatepass"))
        except orjson.JSONDecodeError:
            return False, NOT_JSON, {}
    from ragtriage.data.suites.json_schema import UnusableSchemaError, schema_violation  # late

    try:
        broken = schema_violation(bound, value)
    except UnusableSchemaError as error:
        return None, "the schema cannot be evaluated", {"why": str(error)}
    return (True, "", {}) if broken is None else (False, BREAKS, {"why": broken})


def _length(rule: str, bound: Any, value: Any, _sample: CheckedSample) -> _Found:
    text = _text(value)
    side, _, unit = rule.partition("_")
    size = len(text) if unit == "chars" else count_words(text)
    passed = size >= bound if side == "min" else size <= bound
    words = "characters" if unit == "chars" else "words"
    reason = f"the answer has too {'few' if side == 'min' else 'many'} {words}"
    return passed, "" if passed else reason, {"found": size}


def _language(_rule: str, bound: Any, value: Any, sample: CheckedSample) -> _Found:
    wanted = language_of(sample["question"]) if bound == "same" else bound
    language = language_of(_text(value))
    detail = {"expected": wanted, "found": language}
    if wanted is None or language is None:
        return None, UNTOLD, detail
    return wanted == language, "" if wanted == language else WRONG_LANGUAGE, detail


_Rule = Callable[[str, Any, Any, CheckedSample], _Found]
_RULES: Mapping[str, _Rule] = {
    "regex": _regex,
    "json_schema": _schema,
    **dict.fromkeys(LENGTHS, _length),
    "language": _language,
}


@dataclass(frozen=True)
class FormatFindings:
    """What the format checks of a run amount to."""

    rules: tuple[Figure, ...]  # share of the questions that keep each rule, by its key
    languages: Mapping[tuple[str, str], int]  # expected and found language -> checks in which they differ

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        languages = [{"expected": e, "found": f, "n": n} for (e, f), n in self.languages.items()]
        return {"languages": languages, **figure_values(self.rules)}


def _findings(run: CheckedRun) -> FormatFindings | None:
    """Return what the format checks of a run amount to; None where none has a rule of ours."""
    checks = suite_checks(run, KEY)
    rules = tuple(
        Figure(rule, TITLES[rule], checks.mean(_held(rule)), part_cohort(KEY, "rule", rule))
        for rule in RULES
        if any(rule in detail for detail in checks.details)
    )
    languages = Counter(
        (str(language["expected"]), str(language["found"]))
        for detail in checks.details
        if (language := detail.get("language")) is not None and language["passed"] is False
    )
    return FormatFindings(rules, dict(languages.most_common())) if rules else None


def _held(rule: str) -> Callable[[Mapping[str, Any]], float | None]:
    def held(detail: Mapping[str, Any]) -> float | None:
        passed = detail.get(rule, {}).get("passed")
        return None if passed is None else float(passed)

    return held


def _is_pair(detail: Mapping[str, Any], pair: Sequence[str]) -> bool:
    language = detail.get("language", {})
    return [f"{language.get('expected')}>{language.get('found')}"] == pair


FORMAT_SUITE = Suite(
    KEY,
    _findings,
    format_outcome,
    read_format,
    {
        "rule": Part(
            "breaks the rule {}", lambda detail, rules: detail.get(rules[0], {}).get("passed") is False
        ),
        "language": Part("answered in another language: {}", _is_pair),
    },
)
