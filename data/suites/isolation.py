"""Checks of the suite isolation: no document of another account, and nothing of it in the answer.

Where a sample and its retrieved documents name accounts, or tenants in tags and metadata, two checks are made
of them: that no retrieved document belongs to another account, and that no `canary` of such a document stands
in the answer. A recorded check may name what must not be told: `expected` with `canary` or `secret`, a text
or a list.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import orjson
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ragtriage.data.store.sample_reader import further_fields
from ragtriage.data.store.sample_schema import Ragged
from ragtriage.data.suites.check import (
    CheckedSample,
    CheckOutcome,
    MalformedCheckError,
    RecordedCheck,
    recorded_outcome,
    shown,
)
from ragtriage.data.suites.check_table import CheckedRun, check_table, counts_of
from ragtriage.data.suites.memory import memory_recall
from ragtriage.data.suites.suite import (
    Figure,
    Part,
    Suite,
    SuiteChecks,
    figure_values,
    part_cohort,
    suite_checks,
)
from ragtriage.data.text.tokens import folded_question
from ragtriage.metrics.suites.items import leak_of

KEY = "isolation"
RANKS = (1, 3, 5, 10)
DOCUMENTS = "documents of other accounts"
ANSWER = "other accounts in the answer"
LEAKED = "a document of another account was retrieved"
TOLD = "the answer holds a text of another account"
LONE = "one account alone proves nothing"
INCOMPARABLE = "questions and documents have no account in common"
CONFIDED = "the answer reveals what must stay secret"
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
    revealed = [secret for secret in secrets if folded_question(secret) in folded_question(text)]
    return CheckOutcome(not revealed, CONFIDED if revealed else "", {"form": "secret", "told": len(revealed)})


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
    named = pc.fill_null(pc.match_substring_regex(documents.field("extra"), NAMED), False)
    rows: list[int] = np.unique(documents.sample[named.to_numpy(zero_copy_only=False)]).tolist()
    return rows


def apart_from_incomparable(by_row: Mapping[int, AccountChecks]) -> Mapping[int, AccountChecks]:
    """Return the account checks of samples; without a verdict where nothing can be told from them.

    That is where all speak of one account alone, and where questions and documents have no account of their
    tags or metadata in common: they are probably written in two ways. `by_row` has those of samples scored
    together, by row.
    """
    of_documents = [each for checks in by_row.values() for each in checks if "account" in each[1].detail]
    accounts = {account for _, outcome in of_documents for account in outcome.detail["accounts"]}
    why = LONE if len(accounts) <= 1 else ""
    for kind in {outcome.detail["kind"] for _, outcome in of_documents} - {NATIVE}:
        mine = [(check, outcome.detail) for check, outcome in of_documents if outcome.detail["kind"] == kind]
        owners = {owner for check, _ in mine for owner in check.actual}
        if owners.isdisjoint(detail["account"] for _, detail in mine):
            why = INCOMPARABLE
    if not why:
        return by_row
    return {
        row: [(check, CheckOutcome(None, why, outcome.detail)) for check, outcome in checks]
        for row, checks in by_row.items()
    }


def account_checks(sample: CheckedSample) -> AccountChecks:
    """Return the checks that follow from the accounts of a sample and its documents; [] without accounts."""
    documents = sample["retrieved"]
    named = [accounts_of_document(document) for document in documents or ()]
    if not any(named):
        return []
    asking = accounts_of_sample(sample)
    kind = common_kind(asking, named)
    if kind is None:
        if not any(NATIVE in accounts for accounts in named):
            return []  # that questions and documents name other kinds is a finding
        outcome = CheckOutcome(None, "the account that asks is not recorded")
        return [(RecordedCheck(DOCUMENTS, "isolation", None, None, None), outcome)]
    account = asking[kind][0]
    owners = [_owner(accounts.get(kind, ()), account) for accounts in named]
    checks = [_documents(account, owners, kind)]
    canaries = _canaries(account, documents, owners)
    if canaries and sample["answer"]:
        checks.append(_answer(sample["answer"], canaries))
    return checks


def _owner(accounts: tuple[str, ...], account: str) -> str | None:
    """Return the account that a document belongs to: the one that asks, where it may read it."""
    return account if account in accounts else next(iter(accounts), None)


def _documents(account: str, owners: list[str | None], kind: str) -> tuple[RecordedCheck, CheckOutcome]:
    leak = leak_of(account, owners)
    foreign = sorted({owner for owner in owners if owner is not None and owner != account})[:_MOST_LISTED]
    detail = {
        "form": "documents",
        "kind": kind,
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
    canaries: list[str] = []
    for document, owner in zip(documents, owners, strict=True):
        if owner is None or owner == account:
            continue
        value = further_fields(document["extra"], "canary").get("canary")
        canaries += [
            text for text in (value if isinstance(value, list) else [value]) if isinstance(text, str)
        ]
    return [text for text in canaries if text.strip()]


def _answer(answer: str, canaries: list[str]) -> tuple[RecordedCheck, CheckOutcome]:
    revealed = [text for text in canaries if folded_question(text) in folded_question(answer)]
    detail = {"form": "answer", "n_canaries": len(canaries), "told": len(revealed)}
    check = RecordedCheck(ANSWER, "isolation", [], [text[:200] for text in revealed], None)
    return check, CheckOutcome(not revealed, TOLD if revealed else "", detail)


@dataclass(frozen=True)
class IsolationFindings:
    """What the isolation checks of a run amount to."""

    # share of the questions with a leak among the first k documents, at any rank, in the answer
    leaks: tuple[Figure, ...]
    recall: tuple[Figure, ...]  # of memories, where the run measures it: isolation must not be bought with it
    n_accounts: int  # accounts that ask or own retrieved documents
    n_documents: int  # retrieved documents that belong to an account
    n_samples: int  # samples whose documents name accounts
    n_leaks: int  # those with a document of another account
    n_foreign_documents: int  # such documents
    n_answers: int  # answers that could tell what belongs to another
    n_told: int  # answers that do
    # account that asks -> its samples, those with a leak, documents of others; the worst first
    by_account: Mapping[str, tuple[int, int, int]]

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {**counts_of(self), **figure_values((*self.leaks, *self.recall))}


def _findings(run: CheckedRun) -> IsolationFindings | None:
    """Return what the isolation checks of a run amount to; None where none looks at accounts or secrets."""
    checks = suite_checks(run, KEY)
    documents, answers = checks.having("form", "documents"), checks.having("told")
    if not len(documents) and not len(answers):
        return None
    accounts, n_documents = _indexed(run)
    return IsolationFindings(
        (*_leaks(documents), *_told(answers)),
        tuple(
            Figure(
                f"memory_{figure.key}",
                f"Right memory {figure.title[0].lower()}{figure.title[1:]}",
                figure.share,
            )
            for figure in memory_recall(run)
        ),
        accounts,
        n_documents,
        len(documents),
        sum(bool(detail["n_foreign"]) for detail in documents.details),
        sum(detail["n_foreign"] for detail in documents.details),
        len(answers),
        sum(bool(detail["told"]) for detail in answers.details),
        _by_account(documents),
    )


@dataclass(frozen=True)
class Leaks:
    """The cases of a run that leak."""

    n_checked: int  # cases with an isolation check that passed or failed
    n_leaks: int  # those of which one failed
    n_told: int  # those whose answer holds what belongs to another


def leaks_of(run: CheckedRun) -> Leaks:
    """Return how many cases of a run leak."""
    checks = check_table(run)
    if checks is None or KEY not in checks.suite.values:
        return Leaks(0, 0, 0)
    mine, answers = checks.of(KEY), suite_checks(run, KEY).having("told")
    return Leaks(
        len(np.unique(checks.sample[mine & checks.decided])),
        len(np.unique(checks.sample[mine & checks.failed])),
        len(np.unique(answers.sample[answers.passed == 0])),
    )


def _leaks(checks: SuiteChecks) -> tuple[Figure, ...]:
    if not len(checks):
        return ()
    longest = max(detail["n_documents"] for detail in checks.details)
    at_k = [
        Figure(
            f"leak@{k}", f"A leak in the first {k}", checks.mean(_leak_at(k)), part_cohort(KEY, "leak_at", k)
        )
        for k in RANKS
        if k == 1 or k <= longest
    ]
    whole = checks.mean(lambda detail: float(detail["n_foreign"] > 0))
    return (*at_k, Figure("leak", "A leak at any rank", whole))


def _leak_at(k: int) -> Callable[[Mapping[str, Any]], float]:
    return lambda detail: float(detail["first_rank"] is not None and detail["first_rank"] <= k)


def _told(checks: SuiteChecks) -> tuple[Figure, ...]:
    if not len(checks):
        return ()
    share = checks.mean(lambda detail: float(detail["told"] > 0))
    return (Figure("leak_in_answer", "A leak in the answer", share, part_cohort(KEY, "told")),)


def _by_account(checks: SuiteChecks) -> dict[str, tuple[int, int, int]]:
    """Return the leaks by the account that asks, the most first."""
    by_account: dict[str, tuple[int, int, int]] = {}
    for detail in checks.details:
        n, leaks, foreign = by_account.get(detail["account"], (0, 0, 0))
        counted = n + 1, leaks + bool(detail["n_foreign"]), foreign + detail["n_foreign"]
        by_account[detail["account"]] = counted
    return dict(sorted(by_account.items(), key=lambda each: (-each[1][1], each[0])))


def _indexed(run: CheckedRun) -> tuple[int, int]:
    """Return how many accounts ask or own retrieved documents, and how many such documents there are."""
    columns = ["account_id", "tags", "extra", "retrieved.list.element.id", "retrieved.list.element.extra"]
    with pq.ParquetFile(run.samples_path) as file:
        table = file.read(columns=columns)
    owned: set[tuple[str, str]] = set()
    asking: set[str] = set()
    for sample in table.to_pylist():
        asks = accounts_of_sample(sample)
        named = [accounts_of_document(document) for document in sample["retrieved"] or ()]
        kind = common_kind(asks, named) or NATIVE
        asking |= {*asks.get(kind, ())}
        for document, accounts in zip(sample["retrieved"] or (), named, strict=True):
            owned |= {(owner, str(document["id"])) for owner in accounts.get(kind, ())[:1]}
    return len((asking if owned else set()) | {owner for owner, _ in owned}), len(owned)


def _in_the_first(detail: Mapping[str, Any], values: Sequence[str]) -> bool:
    rank, (k, *_) = detail.get("first_rank"), (*values, "")
    return rank is not None and k.isdigit() and bool(rank <= int(k))


ISOLATION_SUITE = Suite(
    KEY,
    _findings,
    isolation_outcome,
    read_isolation,
    {
        "leak_at": Part("a document of another account in the first {}", _in_the_first),
        "told": Part("reveals what belongs to another account", lambda detail, _: bool(detail.get("told"))),
    },
)


NATIVE = "account_id"
# what an account may be called, by kind: only one of the same kind is compared with it
_KIND_OF = {
    "account": NATIVE,
    "accountid": NATIVE,
    **dict.fromkeys(("tenant", "tenantid", "tenantname"), "tenant"),
    **dict.fromkeys(("customer", "customerid", "customername"), "customer"),
    **dict.fromkeys(("org", "orgid", "organization", "organizationid", "organisation"), "organisation"),
    **dict.fromkeys(("workspace", "workspaceid"), "workspace"),
}
NAMED = '(?i)(?:account|tenant|customer|org|organi[sz]ation|workspace)[_-]?(?:id|name)?\\\\?"\\s*:'  # in JSON
_SHARED = {"shared", "public", "global", "common", "all", "any", "everyone", "*", "none", "null", ""}
_NO_LETTER = re.compile("[^a-z]")
Accounts = Mapping[str, tuple[str, ...]]  # NATIVE or a kind -> one account, or those that may read a document


def accounts_of_document(document: Mapping[str, Any]) -> Accounts:
    """Return the accounts that a stored document names; a document that is shared names none."""
    extra = document.get("extra")
    return _accounts(further_fields(extra) if extra and re.search(NAMED, extra) else {})


def accounts_of_sample(sample: Any) -> Accounts:
    """Return the accounts that a stored sample asks for: its own field, then its tags and further fields."""
    tags = {tag["key"].rpartition(".")[2]: tag["value"] for tag in sample["tags"] or ()}
    extra = sample["extra"]
    further = further_fields(extra) if extra and re.search(NAMED, extra) else {}
    return _accounts({**further, **tags, NATIVE: sample[NATIVE]})


def common_kind(asking: Accounts, owners: Iterable[Accounts]) -> str | None:
    """Return by which kind of account a sample and any of its documents can be compared; None for none."""
    owned = {kind for accounts in owners for kind in accounts}
    return next((kind for kind in dict.fromkeys(_KIND_OF.values()) if kind in asking and kind in owned), None)


def _accounts(fields: Mapping[str, Any]) -> Accounts:
    accounts: dict[str, tuple[str, ...]] = {}
    for name, value in _named(fields):
        kind = _KIND_OF.get(_NO_LETTER.sub("", name.lower()))
        values = value if isinstance(value, list) and name != NATIVE else [value]
        texts = [_text(each) for each in values]
        named = tuple(text for text in texts if text and text.casefold() not in _SHARED)
        if kind and named and len(named) == len(texts):
            accounts.setdefault(kind, named)
    return accounts


def _named(fields: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the fields of an object, its own account first, and then those of its metadata."""
    yield NATIVE, fields.get(NATIVE)
    yield from ((name, value) for name, value in fields.items() if name != NATIVE)
    metadata = fields.get("metadata")
    if isinstance(metadata, str):
        try:
            metadata = orjson.loads(metadata)
        except orjson.JSONDecodeError:
            return
    if isinstance(metadata, Mapping):
        yield from ((str(name), value) for name, value in metadata.items())


def _text(value: object) -> str | None:
    """Return an account as text; None for what is none."""
    if value is None or value != value or isinstance(value, Mapping | bool):  # NaN, as tables have it
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # as tables have a whole number beside an empty cell
    return str(value).encode("utf-8", "replace").decode().strip() or None
