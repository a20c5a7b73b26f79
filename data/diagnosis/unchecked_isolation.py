"""Accounts that only the questions or only the documents name: whether any leaks cannot be checked."""

import numpy as np

from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.metrics.number_text import count
from ragtriage.metrics.sanity.rule import Finding, Severity, rows_of

_PLAIN = ("account_id", "tenant")  # that say what they are for; a customer may be the subject of a document


def unchecked_isolation(scored: ScoredRun) -> list[Finding]:
    """Return the findings on accounts that questions and retrieved documents do not both name."""
    table = scored.auxiliary_table("texts")
    if table is None or table["asks_for"].null_count + table["owned_by"].null_count == 2 * scored.n:
        return []
    asking, owned, accounts = (table[name].to_pylist() for name in ("asks_for", "owned_by", "account"))
    retrieved = scored.stage_features["documents"] > 0
    findings = []
    by_questions = retrieved & np.array([bool(kinds) for kinds in asking])
    names = {kind for kinds in asking for kind in kinds or ()}
    if len({account for account in accounts if account}) > 1 and by_questions.any():
        findings.append(_finding("question", "retrieved document", names, by_questions))
    by_documents = np.array([bool({*(kinds or ())} & {*_PLAIN}) for kinds in owned]) & ~by_questions
    names = {kind for kinds in owned for kind in kinds or ()}
    if by_documents.any() and "account_id" not in names:  # of which a check says so
        findings.append(_finding("retrieved document", "question", names, by_documents))
    return findings


def _finding(named: str, unnamed: str, kinds: set[str], rows: np.ndarray) -> Finding:
    n, by = int(rows.sum()), " and ".join(sorted(kinds))
    severity: Severity = "warning" if kinds & {*_PLAIN} else "note"
    message = (
        f"In {count(n, 'sample')} the {named} names its {by} and no {unnamed} does, so whether anything of "
        "others is shown cannot be checked. Record it on both sides, in `account_id`, tags or metadata."
    )
    title = f"Isolation cannot be checked: only {named}s name their {by}"
    return Finding("unchecked_isolation", severity, title, message, (), n, rows_of(rows))
