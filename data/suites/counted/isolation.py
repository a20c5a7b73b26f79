"""What the suite isolation tells: leaks among retrieved documents and in answers, over how many accounts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow.parquet as pq

from ragtriage.data.checks.check import document_account
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.suites.counted.figures import (
    Figure,
    PartDetail,
    SuiteParts,
    figure_table,
    part_cohort,
    suite_parts,
)
from ragtriage.data.suites.counted.memory import recall_at, with_verdict
from ragtriage.metrics.number_text import percent
from ragtriage.metrics.result_table import Cell, ResultTable
from ragtriage.metrics.statistics.rule_of_three import still_possible

SUITE = "isolation"
RANKS = (1, 3, 5, 10)
NOTE = (
    "A leak is a retrieved document of another account than the one that asks; 0 are tolerated. Documents "
    "without an account are shared and never leak. A system that retrieves nothing leaks nothing: read the "
    "recall beside it."
)


def isolation_detail(scored: ScoredRun) -> PartDetail | None:
    """Return what the isolation checks of a run amount to; None where none looks at accounts or secrets."""
    parts = suite_parts(scored, SUITE)
    documents, answers = parts.having("form", "documents"), parts.having("told")
    if not len(documents) and not len(answers):
        return None
    figures = (*_leaks(documents), *_told(answers), *_recall(scored))
    accounts, n_documents = _indexed(scored)
    leaks = sum(bool(detail["n_foreign"]) for detail in documents.details)
    told = sum(bool(detail["told"]) for detail in answers.details)
    statement = _statement(len(documents), leaks, len(answers), told, accounts, n_documents)
    counts = {
        "n_accounts": accounts,
        "n_documents": n_documents,
        "n_samples": len(documents),
        "n_leaks": leaks,
        "n_foreign_documents": sum(detail["n_foreign"] for detail in documents.details),
        "n_answers": len(answers),
        "n_told": told,
    }
    tables = (figure_table("Leaks", figures, NOTE), *([_between(documents)] if leaks else []))
    return PartDetail(statement, tuple(table for table in tables if table.rows), figures, counts)


def _statement(n: int, leaks: int, n_answers: int, told: int, accounts: int, documents: int) -> str:
    parts = []
    if n:
        parts.append(
            f"{leaks:,} of {n:,} samples retrieve a document of another account, among {accounts:,} "
            f"{'account' if accounts == 1 else 'accounts'} and {documents:,} retrieved documents of theirs."
        )
        if accounts < 2:
            parts.append("One account proves nothing: there is no other whose documents could leak.")
        elif not leaks:
            parts.append(f"No leak in {n:,} still allows a rate of up to {percent(still_possible(n), 1)}.")
    if n_answers:
        parts.append(f"{told:,} of {n_answers:,} answers tell what belongs to another.")
    return " ".join(parts)


def _leaks(parts: SuiteParts) -> tuple[Figure, ...]:
    if not len(parts):
        return ()
    longest = max(detail["n_documents"] for detail in parts.details)
    at_k = tuple(
        Figure(
            f"leak@{k}", f"A leak in the first {k}", parts.mean(_leak_at(k)), part_cohort(SUITE, "leak_at", k)
        )
        for k in RANKS
        if k == 1 or k <= longest
    )
    whole = Figure("leak", "A leak at any rank", parts.mean(lambda detail: float(detail["n_foreign"] > 0)))
    return (*at_k, whole)


def _leak_at(k: int) -> Any:
    return lambda detail: float(detail["first_rank"] is not None and detail["first_rank"] <= k)


def _told(parts: SuiteParts) -> tuple[Figure, ...]:
    if not len(parts):
        return ()
    share = parts.mean(lambda detail: float(detail["told"] > 0))
    return (Figure("leak_in_answer", "A leak in the answer", share, part_cohort(SUITE, "told")),)


def _recall(scored: ScoredRun) -> tuple[Figure, ...]:
    """Return the recall of memories, where the run measures it: isolation must not be bought with it."""
    parts = suite_parts(scored, "memory").having("ranked", True)
    details = [with_verdict(*each) for each in zip(parts.details, parts.passed.tolist(), strict=True)]
    kept = SuiteParts(scored, parts.sample, parts.passed, details)
    return tuple(
        Figure(
            f"memory_{figure.key}", f"Right memory {figure.title[0].lower()}{figure.title[1:]}", figure.share
        )
        for figure in recall_at(kept)
    )


def _between(parts: SuiteParts) -> ResultTable:
    """Return the leaks by the account that asks, the most first."""
    by_account: dict[str, list[int]] = {}
    for detail in parts.details:
        entry = by_account.setdefault(detail["account"], [0, 0, 0])
        entry[0] += 1
        entry[1] += bool(detail["n_foreign"])
        entry[2] += detail["n_foreign"]
    worst = sorted(by_account.items(), key=lambda each: (-each[1][1], each[0]))[:10]
    rows: list[Mapping[str, Cell]] = [
        {"Account that asks": name[:40], "Samples": n, "With a leak": leaks, "Documents of others": foreign}
        for name, (n, leaks, foreign) in worst
    ]
    return ResultTable(
        "By account", tuple(rows), "The 10 with the most leaks." if len(by_account) > 10 else ""
    )


def _indexed(scored: ScoredRun) -> tuple[int, int]:
    """Return how many accounts ask or own retrieved documents, and how many such documents there are."""
    columns = ["account_id", "retrieved.list.element.id", "retrieved.list.element.extra"]
    with pq.ParquetFile(scored.samples_path) as file:
        table = file.read(columns=columns)
    owned: set[tuple[str, str]] = set()
    for documents in table["retrieved"].to_pylist():
        for document in documents or ():
            owner = document_account(document)
            if owner is not None:
                owned.add((owner, str(document["id"])))
    asking = (
        {account for account in table["account_id"].to_pylist() if account is not None} if owned else set()
    )
    return len(asking | {owner for owner, _ in owned}), len(owned)
