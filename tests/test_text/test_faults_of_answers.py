"""What is wrong with an answer as a text: errors, ends, secrets; and what only looks like it."""

from __future__ import annotations

import pytest

from ragtriage.data.text.answer_faults import (
    asks_for_sources,
    ending_of,
    is_error_text,
    is_placeholder,
    names_a_language,
)
from ragtriage.data.text.secrets import has_contact, is_card, is_iban, secrets_in
from ragtriage.data.text.shown_case import shown_case
from ragtriage.metrics.sanity.rule import DANGLING, OPEN, UNDECIDED, WHOLE


@pytest.mark.parametrize(
    "answer",
    [
        *("504 Gateway Timeout", "502: Bad Gateway", "HTTP 503 Service Unavailable", "Internal Server Error"),
        *("Request timed out.", "Timeout", "Connection refused", "Error: something bad", "ERROR: timeout"),
        "Rate limit exceeded. Please try again in 20s.",
        "Error code: 429 - {'error': {'message': 'Rate limit reached'}}",
        "openai.RateLimitError: Error code: 429",
        "500 Server Error: Internal Server Error for url: https://example.org",
        "Traceback (most recent call last):\n  File 'a.py', line 1\nValueError: x",
        "<html><head><title>502 Bad Gateway</title></head><body></body></html>",
        '{"error": {"message": "The server had an error", "type": "server_error"}}',
        '{"detail": "Internal Server Error"}',
        "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
        "Sorry, something went wrong. Please try again later.",
        *("Es ist ein Fehler aufgetreten.", "Zeitüberschreitung bei der Anfrage.", "请求超时，请稍后再试。"),
        *("Délai d'attente dépassé.", "An internal error occurred. (request 17)", "Timeout [id: 8f-2]"),
        "Agent stopped due to iteration limit or time limit.",
    ],
)
def test_the_text_of_an_error_is_no_answer(answer: str) -> None:
    assert is_error_text(answer)


@pytest.mark.parametrize(
    "answer",
    [
        "The 504 Gateway Timeout means that the proxy got no answer in time.",
        *("504", "Paris", "Not found", "Error handling is done by try.", "Forbidden City", "", None),
        "Timeout is set with --timeout.",
        "The request timed out because the server was busy, so the client sent it again.",
        "Something went wrong with an oxygen tank of Apollo 13.",
        "Rate limits are 20 requests per minute.",
        '{"answer": "42"}',
        "<p>A 404 page is sent.</p>",
    ],
)
def test_an_answer_about_errors_is_an_answer(answer: str | None) -> None:
    assert not is_error_text(answer)


def test_what_stands_for_an_empty_answer() -> None:
    assert all(map(is_placeholder, ("null", " None ", "{}", "...", "`n/a`", "TODO", "undefined")))
    assert not any(map(is_placeholder, ("No", "0", "Null Island", "nothing", "", None, "x")))
    assert not is_placeholder("None", "None of them.")
    assert not is_placeholder("None", "0")
    assert is_placeholder("None", "64 crowns")


def test_a_question_or_reference_may_ask_for_the_text_of_an_error() -> None:
    assert not is_error_text("Connection refused", "Which message does the client show?")
    assert not is_error_text("Bad Gateway", "What is 502 called?", "502 Bad Gateway")
    assert is_error_text("Connection refused", "Who wrote Faust?", "Goethe")


@pytest.mark.parametrize(
    ("answer", "ending"),
    [
        ("The leave is paid from the first day of the", DANGLING),
        ("The leave is paid in full, the travel costs only in part,", DANGLING),
        ("You need a form (it is on the intranet under the heading forms", DANGLING),
        ("Run this in the folder of the project to install it:\n```bash\npip install x", DANGLING),
        ("It was founded in 1873. Later it moved to the larger build", OPEN),
        ("大会于一九八七年在北京举行，参加的有来自三十个国家的代表和", DANGLING),
        ("The leave is paid from the first day of the contract.", WHOLE),
        ("The leave is paid from the first day of the contract [2].", WHOLE),
        ("The leave is paid from the first day of the contract. [2]", WHOLE),
        ("The leave is paid from the first day of the contract. Sources: [1], [2]", WHOLE),
        ("The leave is paid (from the first day of the contract)", WHOLE),
        ("大会于一九八七年在北京举行，参加的有来自三十个国家的代表。", WHOLE),
        ("هل تعرف متى تم بناء هذا المسجد القديم في المدينة؟", WHOLE),
        ("यह मंदिर ग्यारहवीं शताब्दी में राजा ने बनवाया था और आज भी है।", WHOLE),
        ("Bring these papers to the office:\n- your passport\n- the signed form\n- two photos of you", WHOLE),
        ("Use this:\n```python\nprint('one two three four five six')\n```", WHOLE),
        ("| name | price |\n|---|---|\n| a small box of tea | 3 |", WHOLE),
        ("วัดนี้สร้างขึ้นในสมัยกรุงศรีอยุธยาและยังคงใช้งานอยู่ในปัจจุบัน", UNDECIDED),
        *(("Paris", UNDECIDED), ("42", UNDECIDED), ("The Old Man and the Sea", UNDECIDED), (None, UNDECIDED)),
    ],
)
def test_how_an_answer_ends(answer: str | None, ending: int) -> None:
    assert ending_of(answer) == ending


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Use sk-proj-abc123DEF456ghi789JKL012mno345 for it.", "API key"),
        ("AKIAIOSFODNN7EXAMPLE", "API key"),
        ("ghp_16C7e42F292c6912E7710c838347Ae178B4a", "access token"),
        ("xoxb-123456789012-abcdefGHIJKL", "access token"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N", "access token"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA", "private key"),
        ("The card is 4111 1111 1111 1111.", "payment card"),
        ("Amex 3782-822463-10005", "payment card"),
        ("Her SSN is 123-45-6789.", "US social security number"),
        ("social security number: 123456789", "US social security number"),
        ("Pay to DE89 3704 0044 0532 0130 00, please", "IBAN"),
        ("Log in as admin, the password is hunter2x.", "password"),
        ("Passwort: Geheim2024!", "password"),
        ("密码：abc123XYZ", "password"),
        ("postgres://admin:s3cr3t@db.internal/app", "password in an address"),
        ("ghp_16C7e42F292c\u200b6912E7710c838347Ae178B4a", "access token"),
    ],
)
def test_a_secret_is_found_and_masked(text: str, kind: str) -> None:
    (secret,) = secrets_in(text)
    assert secret.kind == kind
    assert "…" in secret.masked
    assert secret.folded not in secret.masked


@pytest.mark.parametrize(
    "text",
    [
        *("sk-xxxxxxxxxxxxxxxxxxxxxxxx", "set sk-your-api-key-goes-here-now", "123-456-7890", "123-45-678"),
        *("order 1234 5678 9012 3456", "ISBN 978-3-16-148410-0", "ISBN 9783161484100", "DE00 3704 0044 0532"),
        *("sk-learn-intro-to-machine-learning-2020", "risk-management-framework-2023-v2-final", "", None),
        *(
            "Your password is case-sensitive",
            "The password is at least 8 characters long",
            "password: ********",
        ),
        *(
            "https://user:password@example.org",
            "ftp://me:<token>@host",
            "http://localhost:8080@x",
            "Password: required",
        ),
        *("the id 000-12-3456", "1617181920212223", "GB82 WEST 1234 5698 7654 33"),
    ],
)
def test_what_only_looks_like_a_secret_is_none(text: str | None) -> None:
    assert not secrets_in(text)


def test_check_digits() -> None:
    assert is_card("5500000000000004")
    assert not is_card("5500000000000005")
    assert is_iban("GB82WEST12345698765432")
    assert not is_iban("GB82WEST12345698765433")


def test_contacts_are_told_from_numbers() -> None:
    assert has_contact("Write to help@example.org.")
    assert has_contact("Call +49 30 123456.")
    assert not has_contact("It costs 1,234.50 for 30 days.")


def test_what_questions_and_prompts_ask_for() -> None:
    for asking in ("Cite your sources.", "Answer with sources", "Nenne die Quellen", "Include citations"):
        assert asks_for_sources(asking)
    for other in ("What sources of energy are there?", "Use the following passages", None):
        assert not asks_for_sources(other)
    assert names_a_language("Please answer in English: Was ist das?")
    assert names_a_language("请用英文回答")
    assert not names_a_language("Was ist das?")


def test_a_shown_case_masks_secrets_and_keeps_its_length() -> None:
    answer = "Use sk-proj-abc123DEF456ghi789JKL012mno345 with SSN 123-45-6789, card 4111 1111 1111 1111."
    shown = shown_case({"question": "Which key?", "answer": answer})["answer"]
    assert len(shown) == len(answer)
    assert shown.startswith("Use sk-p•")
    for part in ("abc123", "123-45", "4111 11"):
        assert part not in shown
    assert shown_case({"answer": "The ISBN is 9783161484100."})["answer"] == "The ISBN is 9783161484100."
