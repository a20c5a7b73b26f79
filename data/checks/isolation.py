"""Checks of the suite isolation: no document of another account, and nothing of it in the answer.

Where a sample and its retrieved documents name accounts, two checks are made of them: that no retrieved
document belongs to another account, and that no `canary` of such a document stands in the answer. A recorded
check may name what must not be told: `expected` with `canary` or `secret`, a text or a list.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow.compute as pc

from ragtriage.data.checks.check import (
    CheckedSample,
    CheckOutcome,
    RecordedCheck,
    document_account,
    recorded_outcome,
)
from ragtriage.data.checks.malformed import MalformedCheckError, shown
from ragtriage.data.store.ragged import Ragged
from ragtriage.data.store.sample_reader import further_fields
from ragtriage.data.text.folding import folded_question
from ragtriage.metrics.suites.memory import leak_of

DOCUMENTS = "documents of other accounts"
ANSWER = "other accounts in the answer"
LEAKED = "a document of another account was retrieved"
TOLD = "the answer holds a text of another account"
LONE = "one account alone proves nothing"
CONFIDED = "the answer tells what must not be told"
_NAMED = ("canary", "secret")
_MOST_LISTED = 20
AccountChecks = list[tuple[RecordedCheck, CheckOutcome]]


def isolation_outcome(check: RecordedCheck, sample: CheckedSample) -> CheckOutcome:
    """Return what evaluating an isolation check finds; a recorded verdict stands.

    Raises:
        MalformedCheckError: its expected value cannot be read.
    """
    secrets = read_isolation(check)
    if secrets is None or check.passed is not None:
        return recorded_outcome(check)
    text = check.actual if isinstance(check.actual, str) else sample["answer"]
    if not text:
        return CheckOutcome(None, "no answer is recorded")
    told = [secret for secret in secrets if folded_question(secret) in folded_question(text)]
    return CheckOutcome(not told, CONFIDED if told else "", {"form": "secret", "told": len(told)})


def read_isolation(check: RecordedCheck) -> list[str] | None:
    """Return the texts that must not be told; None where the expected value names none.

    Raises:
        MalformedCheckError: a text is empty, or is none.
    """
    expected = check.expected
    if not isinstance(expected, Mapping) or not any(name in expected for name in _NAMED):
        return None
    texts: list[Any] = []
    for name in _NAMED:
        value = expected.get(name)
        texts += value if isinstance(value, list) else [] if value is None else [value]
    for text in texts:
        if not isinstance(text, str) or not text.strip():
            raise MalformedCheckError(f"canary {shown(text)}", "a text, or a list of texts")
    if not texts:
        raise MalformedCheckError("no canary", "a text, or a list of texts")
    return texts


def rows_with_accounts(table: Any) -> list[int]:
    """Return the rows of an Arrow table of samples whose retrieved documents name an account."""
    documents = Ragged.of(table["retrieved"])
    named = pc.fill_null(pc.match_substring(documents.field("extra"), '"account_id"'), False)
    rows: list[int] = np.unique(documents.sample[named.to_numpy(zero_copy_only=False)]).tolist()
    return rows


def apart_from_lone_account(made: Mapping[int, AccountChecks]) -> Mapping[int, AccountChecks]:
    """Return the account checks of samples; without a verdict where they all speak of one account alone.

    Args:
        made: row -> its account checks, of the samples scored together.
    """
    accounts = {
        account
        for checks in made.values()
        for _, outcome in checks
        for account in outcome.detail.get("accounts", ())
    }
    if len(accounts) > 1:
        return made
    return {
        row: [(check, CheckOutcome(None, LONE, outcome.detail)) for check, outcome in checks]
        for row, checks in made.items()
    }


def account_checks(sample: CheckedSample) -> AccountChecks:
    """Return the checks that follow from the accounts of a sample and its documents; [] without accounts."""
    documents = sample["retrieved"]
    if not documents:
        return []
    owners = [document_account(document) for document in documents]
    if not any(owner is not None for owner in owners):
        return []
    account = sample["account_id"]
    if account is None:
        outcome = CheckOutcome(None, "the account that asks is not recorded")
        return [(RecordedCheck(DOCUMENTS, "isolation", None, None, None), outcome)]
    made = [_documents(account, owners)]
    canaries = _canaries(account, documents, owners)
    if canaries and sample["answer"]:
        made.append(_answer(sample["answer"], canaries))
    return made


def _documents(account: str, owners: list[str | None]) -> tuple[RecordedCheck, CheckOutcome]:
    leak = leak_of(account, owners)
    foreign = sorted({owner for owner in owners if owner is not None and owner != account})[:_MOST_LISTED]
    detail = {
        "form": "documents",
        "account": account,
        "accounts": sorted({account, *(owner for owner in owners if owner is not None)})[:_MOST_LISTED],
        "n_documents": leak.n_documents,
        "n_foreign": leak.n_foreign,
        "first_rank": leak.first_rank,
    }
    check = RecordedCheck(DOCUMENTS, "isolation", [account], foreign or [account], None)
    return check, CheckOutcome(not leak.n_foreign, LEAKED if leak.n_foreign else "", detail)


def _canaries(account: str, documents: list[Mapping[str, Any]], owners: list[str | None]) -> list[str]:
    """Return the canaries of the documents of other accounts, from their `canary`."""
    found: list[str] = []
    for document, owner in zip(documents, owners, strict=True):
        if owner is None or owner == account:
            continue
        value = further_fields(document["extra"], "canary").get("canary")
        found += [text for text in (value if isinstance(value, list) else [value]) if isinstance(text, str)]
    return [text for text in found if text.strip()]


def _answer(answer: str, canaries: list[str]) -> tuple[RecordedCheck, CheckOutcome]:
    told = [text for text in canaries if folded_question(text) in folded_question(answer)]
    detail = {"form": "answer", "n_canaries": len(canaries), "told": len(told)}
    check = RecordedCheck(ANSWER, "isolation", [], [text[:200] for text in told], None)
    return check, CheckOutcome(not told, TOLD if told else "", detail)
