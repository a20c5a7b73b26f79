"""What is said before anything else: leaks between accounts, secrets, faults of many answers as texts."""

from collections.abc import Sequence

from ragtriage.data.suites.check_table import CheckedRun
from ragtriage.data.suites.isolation import leaks_of
from ragtriage.metrics.number_text import count
from ragtriage.metrics.sanity.documents import FAULTS_OF_TEXTS, read_first
from ragtriage.metrics.sanity.rule import Finding

_FAULTY_ANSWERS = {"secrets", "truncated", "error_answers", "same_answer", "echo", "other_language"}


def leak_text(run: CheckedRun) -> str:
    """Return how many cases of a run leak data of another account, without full stop; "" where none does."""
    leaks = leaks_of(run)
    if not leaks.n_leaks:
        return ""
    cases = f"{leaks.n_leaks:,} of {count(leaks.n_checked, 'case')}"
    in_answers = f", {leaks.n_told:,} of them in the answer" if leaks.n_told else ""
    return (
        f"Critical: {cases} {'leaks' if leaks.n_leaks == 1 else 'leak'} data of another account{in_answers}"
    )


def critical_text(run: CheckedRun, findings: Sequence[Finding]) -> str:
    """Return how many cases leak data of another account or tell secrets, without full stop; "" for none."""
    secrets = [f"Critical: {finding.title}" for finding in findings if finding.rule == "secrets"]
    return ". ".join(filter(None, [leak_text(run), *secrets]))


def texts_at_fault(findings: Sequence[Finding]) -> bool:
    """Return whether the texts of answers have a fault: then no rate says "no fault"."""
    rules = {"secrets", *(each.rule for each in read_first(findings))} & _FAULTY_ANSWERS
    return any(finding.rule in rules for finding in findings)


def text_faults(findings: Sequence[Finding]) -> list[str]:
    """Return what else is wrong with many answers as texts, such as that they are cut off."""
    return [each.title for each in read_first(findings) if each.rule in FAULTS_OF_TEXTS]
