"""Estimates from words exist only in the languages that they were measured in: which answers have none."""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.text.language import language_name
from ragtriage.data.text.refusal_grammar import LANGUAGES
from ragtriage.data.text.right_by_text import MEASURED_IN
from ragtriage.metrics.definitions.answer_text import RIGHT_BY_TEXT
from ragtriage.metrics.sanity.rule import Finding, Severity, rows_of
from ragtriage.metrics.schema.scores import BoolArray

MOST_NAMED = 3
A_PART = 0.1  # share of the samples from which on what is not measured may mislead


@dataclass(frozen=True)
class Unmeasured:
    """The samples of which an estimate is not known because of their language."""

    rows: BoolArray  # (n,)
    languages: str  # their names, most first

    @property
    def n(self) -> int:
        """How many they are."""
        return int(self.rows.sum())


def refusals_not_measured(scored: ScoredRun) -> Unmeasured:
    """Return the answers of which it is not known whether they decline."""
    return _unmeasured(scored, np.isnan(scored.stage_features["refused"]), LANGUAGES)


def right_not_measured(scored: ScoredRun) -> Unmeasured:
    """Return the answers with a reference whose words are not compared with it."""
    features = scored.stage_features
    return _unmeasured(
        scored, np.isnan(features["text_outcome"]) & (features["has_reference"] == 1), MEASURED_IN
    )


def _unmeasured(scored: ScoredRun, unknown: BoolArray, measured: Collection[str]) -> Unmeasured:
    table = scored.auxiliary_table("languages")
    if table is None or not unknown.any():
        return Unmeasured(np.zeros(scored.n, dtype=np.bool_), "")
    pairs = zip(table["answer"].to_pylist(), table["question"].to_pylist(), strict=True)
    others = [
        next((code for code in codes if code not in measured), None) if all(codes) else None
        for codes in pairs
    ]
    rows = unknown & np.array([code is not None for code in others])
    counts = Counter(language_name(str(others[row])) for row in np.flatnonzero(rows).tolist())
    return Unmeasured(rows, " and ".join(name for name, _ in counts.most_common(MOST_NAMED)))


def other_languages(scored: ScoredRun) -> list[Finding]:
    """Return the findings on answers in languages in which an estimate was not measured."""
    refusals, right = refusals_not_measured(scored), right_not_measured(scored)
    findings = []
    if refusals.n:
        decline = "answer declines" if refusals.n == 1 else "answers decline"
        message = (
            f"Refusals are not measured in {refusals.languages}: whether {refusals.n:,} {decline} is not "
            "known. Record `refused` in the file, run the judge, or declare patterns under [refusals] in "
            "metrics.toml."
        )
        title = f"Refusals not measured in {refusals.languages}"
        findings.append(_finding("unread_refusals", title, message, refusals, "refused"))
    if right.n:
        say = "answer says" if right.n == 1 else "answers say"
        message = (
            f"Right by text is not measured in {right.languages}: whether {right.n:,} {say} what the "
            "reference says is not known. Run the judge, or label answers."
        )
        title = f"Right by text not measured in {right.languages}"
        findings.append(_finding("unread_right", title, message, right, RIGHT_BY_TEXT))
    return findings


def _finding(rule: str, title: str, message: str, unmeasured: Unmeasured, metric: str) -> Finding:
    severity: Severity = "warning" if unmeasured.n >= A_PART * len(unmeasured.rows) else "note"
    return Finding(rule, severity, title, message, (), unmeasured.n, rows_of(unmeasured.rows), (metric,))
