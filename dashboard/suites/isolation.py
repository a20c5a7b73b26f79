"""Isolation: leaks among retrieved documents and in answers, over how many accounts."""

from __future__ import annotations

from collections.abc import Sequence

from ragtriage.dashboard.suites.view import Failing, SuiteView, figure_table
from ragtriage.data.suites.isolation import ISOLATION_SUITE, IsolationFindings
from ragtriage.metrics.number_text import count, percent
from ragtriage.metrics.result_table import ResultTable
from ragtriage.metrics.statistics.power import still_possible

MOST_ROWS = 10
NOTE = (
    "A leak is a retrieved document of another account than the one that asks; 0 are tolerated. Documents "
    "without an account are shared and never leak. A system that retrieves nothing leaks nothing: read the "
    "recall as well."
)


def _statement(findings: IsolationFindings) -> str:
    sentences, n, accounts = [], findings.n_samples, findings.n_accounts
    if n:
        sentences.append(
            f"{findings.n_leaks:,} of {n:,} samples retrieve a document of another account, among "
            f"{count(accounts, 'account')} and {findings.n_documents:,} retrieved documents of theirs."
        )
        if accounts < 2:
            sentences.append("One account proves nothing: there is no other whose documents could leak.")
        elif not findings.n_leaks:
            sentences.append(
                f"No leak in {n:,} still allows a rate of up to {percent(still_possible(n), 1)}."
            )
    if findings.n_answers:
        sentences.append(
            f"{findings.n_told:,} of {findings.n_answers:,} answers reveal data of another account."
        )
    return " ".join(sentences)


def _tables(findings: IsolationFindings) -> Sequence[ResultTable]:
    leaks = figure_table("Leaks", (*findings.leaks, *findings.recall), NOTE)
    if not findings.n_leaks:
        return (leaks,)
    by_account = ResultTable(
        "By account",
        tuple(
            {
                "Account that asks": name[:40],
                "Samples": n,
                "With a leak": leaked,
                "Documents of others": foreign,
            }
            for name, (n, leaked, foreign) in list(findings.by_account.items())[:MOST_ROWS]
        ),
        f"The {MOST_ROWS} with the most leaks." if len(findings.by_account) > MOST_ROWS else "",
    )
    return leaks, by_account


VIEW = SuiteView(
    ISOLATION_SUITE,
    Failing("case", "shows another account’s data", "show another account’s data"),
    _statement,
    _tables,
)
