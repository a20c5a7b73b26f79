"""Redaction: what is taken out, what must stay, in prose, in JSON and in real texts."""

from __future__ import annotations

import gzip
import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from places import REPOSITORY

from ragtriage.data.errors import DataError
from ragtriage.data.live.redacting import add_redaction_counts, redaction_counts, redactor_of
from ragtriage.data.live.redaction import Redactor

BUNDLED = REPOSITORY / "data" / "bundled"
TAKEN_OUT = {
    "e-mail": (
        "anna@example.com",
        "anna.b+x@mail.example.co.uk",
        "анна@пример.рф",
        "a_b-c%d@x-y.museum",
    ),
    "phone": (
        "+49 30 1234567",
        "+1 (555) 123-4567",
        "+442079460958",
        "+33 6 12 34 56 78",
        "+86 138 1234 5678",
        "0049 30 1234567",
        "(555) 123-4567",
        "555-123-4567",
        "1-800-555-0199",
        "(0151) 23456789",
        "030/1234567",
        "020 7946 0958",
        "07700 900123",
        "090-1234-5678",
        "06 12 34 56 78",
        "06.12.34.56.78",
    ),
    "card": (
        "4111 1111 1111 1111",
        "4111-1111-1111-1111",
        "4111111111111111",
        "5555555555554444",
        "2223003122003222",
        "378282246310005",
        "3782 822463 10005",
        "6011 1111 1111 1117",
        "3530111333300000",
        "30569309025904",
    ),
    "IBAN": (
        "DE89 3704 0044 0532 0130 00",
        "DE89370400440532013000",
        "gb82 west 1234 5698 7654 32",
        "MT84MALT011000012345MTLCAST001S",
        "NO9386011117947",
        "FR14 2004 1010 0505 0001 3M02 606",
    ),
}
STAYS = (
    "ISBN 978-0-306-40615-7, 9780306406157 and 0-306-40615-2, ISSN 2049-3630",
    "from 2023-01-02 12:30:11 to 2023-01-03T08:00:00.123456Z, 01.02.2023 14:00, 2019-2024, 1/2/2023",
    "$1,234,567.89, 1.234.567,89 EUR, 12 345 678 people, 0.4111111111111111, +1.23456789, -1234567.5",
    "doc-123-456-7890, handbook/030/1234567, ticket #4711000815, order 0001234567890123, 1700000000000000000",
    "5b8efff798038103d269b633813fc60c 123e4567-e89b-12d3-a456-426614174000 4532-0151-1283-0367",
    "10.1000/182.2023.4567, arXiv:2305.14251v2, 192.168.100.200:8080, v1.2.3.4.5.6, 2001:0db8:85a3::8a2e",
    "4111111111111112 fails its check digit, DE88 3704 0044 0532 0130 00 too, ClapNQ::4676002274784316434",
    "react@18.2.0, @app.route, a@b, user@host, 1 - 2 - 3 - 4 - 5 - 6 - 7 - 8 - 9, +1 2 3 4 5 6 7 8",
    "mobile 2023-2024, phone 1000000 users, tel. 12, the code 0522-4494-7163, 100 200 300 400",
)


@pytest.mark.parametrize(
    ("kind", "text"), [(kind, text) for kind, texts in TAKEN_OUT.items() for text in texts]
)
@pytest.mark.parametrize("around", ["{}", "Write to {}, please.", "({})", "a: {}\nb", '"{}"', "{} and {}"])
def test_personal_data_is_replaced_by_its_kind_and_counted(kind: str, text: str, around: str) -> None:
    redactor = Redactor()
    assert redactor.text(around.replace("{}", text)) == around.replace("{}", f"[{kind}]")
    assert +redactor.counts == {kind: around.count("{}")}


@pytest.mark.parametrize("text", STAYS)
def test_other_numbers_and_signs_stay_as_they_are(text: str) -> None:
    redactor = Redactor()
    assert redactor.text(text) == text
    assert not +redactor.counts


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("Phone: 5550123", "Phone: [phone]"),
        ("Tel. 089 123456 or fax no. 089-123457", "Tel. [phone] or fax no. [phone]"),
        ("Meine Handynummer? Handy 0176 1234567", "Meine Handynummer? Handy [phone]"),
        ("手机13812345678，电话：010 12345678", "手机[phone]，电话：[phone]"),
        ("card 4111 1111 1111 1111 12/27 cvv 123", "card [card] 12/27 cvv 123"),
        ("4111111111111111 123 Main Street", "[card] 123 Main Street"),
        ("DE89 3704 0044 0532 0130 00 is mine", "[IBAN] is mine"),
        (
            "https://user:secret@example.com/?mail=bob@example.org&x=1",
            "https://user:[e-mail]/?mail=[e-mail]&x=1",
        ),
    ],
)
def test_what_stands_around_says_what_a_number_is(text: str, clean: str) -> None:
    assert Redactor().text(text) == clean


def test_texts_that_are_json_stay_json_also_within_each_other() -> None:
    redactor = Redactor()
    inner = json.dumps(
        {"mail": "line\nanna@example.com", "id": 4111111111111111, "phone_number": "1234567890"}
    )
    text = json.dumps({"messages": [{"content": inner}, "\u00a0+49 30 1234567"], "n": [1, None, 2.5]})
    read = json.loads(redactor.text(text))
    assert json.loads(read["messages"][0]["content"]) == {
        "mail": "line\n[e-mail]",
        "id": 4111111111111111,
        "phone_number": "[phone]",
    }
    assert (read["messages"][1], read["n"]) == ("\u00a0[phone]", [1, None, 2.5])
    untouched = '{"a":   "no such thing 1234567 8"}'
    assert redactor.text(untouched) == untouched
    assert redactor.text('{"a": broken anna@example.com') == '{"a": broken [e-mail]'
    for depth in (100, 300, 900, 5_000):
        deep = "[" * depth + '"anna@example.com"' + "]" * depth
        assert redactor.text(deep) == deep.replace("anna@example.com", "[e-mail]")


def test_users_are_hashed_by_choice_or_where_their_id_says_who_they_are() -> None:
    usual, hashing = Redactor(salt=b"1"), Redactor(hash_users=True, salt=b"1")
    assert usual.user("u-17") == "u-17"
    assert usual.user("anna@example.com") == hashing.user("anna@example.com") != hashing.user("u-17")
    assert re.fullmatch(r"user-[0-9a-f]{20}", hashing.user("u-17"))
    assert hashing.user("u-17") != Redactor(hash_users=True, salt=b"2").user("u-17")
    assert hashing.text('{"user_id": "u-17"}') == f'{{"user_id":"{hashing.user("u-17")}"}}'
    assert hashing.attribute("enduser.id", "u-17") == hashing.user("u-17")
    assert (usual.user(""), hashing.user("")) == ("", "")


def test_switched_off_it_changes_nothing_but_users_that_are_to_be_hashed() -> None:
    text = "anna@example.com, 4111 1111 1111 1111"
    assert Redactor(off=True).text(text) == text
    assert Redactor(off=True).user("anna@example.com") == "anna@example.com"
    hashing = Redactor({"name": "anna"}, off=True, hash_users=True)
    assert (hashing.text(text), hashing.user("u")[:5]) == (text, "user-")


def test_own_patterns_are_of_re2_and_counted_under_their_names() -> None:
    redactor = Redactor({"staff": r"\bE\d{6}\b", "none": "x*"})
    assert redactor.text("Ask E123456 or É E654321.") == "Ask [staff] or É [staff]."
    assert +redactor.counts == {"staff": 2}
    for pattern in ("(a", r"(?<=a)b", r"(a)\1"):
        with pytest.raises(
            DataError, match=r"redaction pattern 'mine': .*accepted: a regular expression of RE2"
        ):
            Redactor({"mine": pattern})


@given(st.text(max_size=300))
def test_a_second_pass_finds_nothing_more(text: str) -> None:
    redactor = Redactor()
    once = redactor.text(text)
    assert redactor.text(once) == once


@given(
    st.sampled_from(["4", "51", "2221", "37", "6011", "35"]), st.text("0123456789", min_size=15, max_size=15)
)
def test_a_card_is_told_by_its_check_digit(prefix: str, more: str) -> None:
    body = (prefix + more)[: (15 if prefix == "37" else 16) - 1]
    if prefix == "35":
        body = "3530" + body[4:]
    total = sum(int("0246813579"[int(d)]) if at % 2 == 0 else int(d) for at, d in enumerate(reversed(body)))
    check = -total % 10
    redactor = Redactor()
    assert redactor.text(f"card {body}{check}.") == "card [card]."
    assert "[card]" not in redactor.text(f"card {body}{(check + 1) % 10}.")


@pytest.mark.parametrize(
    "text",
    [
        *("@" * 300_000, "a" * 300_000 + "@", "a@" * 200_000, "a." * 100_000 + "@" + "b." * 100_000),
        *("1 " * 200_000, "1" * 300_000, "+1" * 200_000, "(" * 300_000 + "1", "00 1-" * 90_000),
        *("DE89 " * 90_000, "tel " * 100_000 + "1" * 100, "[" * 200_000 + "a@b.cd"),
    ],
)
def test_hostile_texts_take_no_more_time_than_others(text: str) -> None:
    begin = time.process_time()
    Redactor().text(text)
    assert time.process_time() - begin < 4


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item)


def _bundled(*names: str) -> Iterator[str]:
    for name in names:
        for path in sorted(BUNDLED.glob(name)):
            content = (
                gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
            ).decode()
            if ".jsonl" in path.suffixes:
                yield from (text for line in content.splitlines() for text in _texts(json.loads(line)))
            else:
                yield from _texts(json.loads(content)) if ".json" in path.suffixes else [content]


def test_of_real_texts_only_what_is_personal_is_taken_out() -> None:
    """Each of these was read: people, offices, hotlines; no id, price, date or code is among them."""
    expected = {
        "musique/*.jsonl.gz": {},
        "handbook/corpus/*.md": {"e-mail": 38, "phone": 3},
        "handbook/V*.jsonl.gz": {"e-mail": 95, "phone": 23},
        "mtrag/human_evaluations.json.gz": {"e-mail": 72, "phone": 11},
        "clapnq/*.gz": {},
        "taubench/*.gz": {"e-mail": 120},
        "multiwoz/*.gz": {},
    }
    for name, counts in expected.items():
        redactor = Redactor()
        for text in _bundled(name):
            redactor.text(text)
        assert {name: dict(+redactor.counts)} == {name: counts}


def test_the_redactor_of_a_project_has_its_policy_a_salt_of_its_own_and_counts(tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_text(
        '[redaction]\nhash_users = true\npatterns = { staff = "E[0-9]{6}" }\n', "utf-8"
    )
    first, again = redactor_of(tmp_path), redactor_of(tmp_path)
    assert first.text("E123456") == "[staff]"
    assert first.user("u") == again.user("u") != Redactor(hash_users=True).user("u")
    assert (tmp_path / "salt").stat().st_mode & 0o077 == 0
    assert redaction_counts(tmp_path) == {}
    add_redaction_counts(tmp_path, {"e-mail": 2, "phone": 0})
    add_redaction_counts(tmp_path, {"e-mail": 1, "staff": 1})
    assert list(redaction_counts(tmp_path).values()) == [{"e-mail": 3, "staff": 1}]
    (tmp_path / "redacted.json").write_text("[]", "utf-8")
    assert redaction_counts(tmp_path) == {}
