"""Sanity checks on a run's values: what a reader should know before trusting them."""

from collections.abc import Mapping
from types import MappingProxyType

from ragtriage.metrics.sanity.columns import COLUMN_RULES
from ragtriage.metrics.sanity.documents import ANSWER_RULES, DOCUMENT_RULES
from ragtriage.metrics.sanity.identities import IDENTITY_RULES
from ragtriage.metrics.sanity.rule import CheckInput, Finding, Rule, Severity
from ragtriage.metrics.sanity.texts import TEXT_RULES

RULES: Mapping[str, Rule[CheckInput]] = MappingProxyType(
    {rule.key: rule for rule in (*TEXT_RULES, *DOCUMENT_RULES, *ANSWER_RULES, *IDENTITY_RULES, *COLUMN_RULES)}
)
_SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")


def check_numbers(run: CheckInput) -> list[Finding]:
    """Run every rule; errors first, then warnings, then notes, each in the order of RULES."""
    findings = [finding for rule in RULES.values() for finding in rule.run(run)]
    return sorted(findings, key=lambda finding: _SEVERITIES.index(finding.severity))
