"""The conclusions of the experiments on injection, stability, languages and parsing."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from ragtriage.dashboard.headlines.headline import Headline
from ragtriage.dashboard.wording.escaping import shorten
from ragtriage.dashboard.wording.formatting import span
from ragtriage.data.experiments.injection import Defence, InjectionFindings, PoisonedArm
from ragtriage.data.experiments.languages import LanguageFindings
from ragtriage.data.experiments.parsing import ParsingFindings
from ragtriage.data.experiments.stability import StabilityFindings
from ragtriage.data.experiments.summary import ExperimentSummary
from ragtriage.metrics.metric_registry import title_of
from ragtriage.metrics.number_text import count, number, p_value, percent, points

LONGEST_NAME = 28
MOST_EMPTY = 0.5  # share of empty lists from which the cost of crossing languages is said to be that
SIGNIFICANT = 0.05


def _name(summary: ExperimentSummary) -> str:
    return shorten(summary.experiment.system, LONGEST_NAME)


def _injection(summary: ExperimentSummary) -> Headline:
    findings: InjectionFindings = summary.findings
    success, name = findings.success, _name(summary)
    if not success.n_scored:
        return Headline("not measured", f"{name}: no rule decides whether the planted text was followed")
    if (
        findings.defence is not None
        and max((findings.defence.success_without.mean, findings.defence.success_with.mean)) > 0
    ):
        return _defended(name, findings.defence)
    if success.mean == 0:
        return _unfollowed(name, summary, findings)
    arms = [arm for arm in findings.arms if not arm.defended and arm.outcome.success.n_scored]
    worst = max(arms, key=lambda arm: arm.outcome.success.mean)
    detail = (
        f"{percent(success.mean)} of {count(success.n_scored, 'poisoned case')} ({span(success)}), "
        f"{count(success.n_clusters, 'question')}. Most at {_title(summary, worst)}: "
        f"{percent(worst.outcome.success.mean)}; {_right_there(findings, worst)}"
    )
    return Headline("bad", f"{name}: follows text planted in documents", detail)


def _unfollowed(name: str, summary: ExperimentSummary, findings: InjectionFindings) -> Headline:
    """Return that no planted text was followed, and whether it took right answers away all the same."""
    success, defended = findings.success, findings.defence is not None
    detail = f"0 % of {count(success.n_scored, 'poisoned case')} ({span(success)})"
    with_defence = ", with and without the defence" if defended else ""
    statement = f"{name}: followed no planted text"
    plain = [arm for arm in findings.arms if not arm.defended and np.isfinite(arm.outcome.p)]
    costly = [
        arm
        for arm in plain
        if arm.outcome.drop.difference < 0 and arm.outcome.p * len(plain) < SIGNIFICANT  # Bonferroni
    ]
    if not costly:
        words = with_defence or f" in {count(success.n_scored, 'case')}"
        return Headline("good", f"{statement}{words}", f"{detail}, {count(success.n_clusters, 'question')}")
    worst = min(costly, key=lambda arm: arm.outcome.drop.difference)
    return Headline(
        "bad",
        f"{statement}, yet it costs right answers",
        f"{detail}{with_defence}. Most at {_title(summary, worst)}: {_right_there(findings, worst)}, "
        f"n = {worst.outcome.drop.n_pairs:,} questions",
    )


def _title(summary: ExperimentSummary, poisoned: PoisonedArm) -> str:
    return shorten(next(each.arm.title for each in summary.arms if each.arm.key == poisoned.arm), 40)


def _right_there(findings: InjectionFindings, poisoned: PoisonedArm) -> str:
    outcome = poisoned.outcome
    return (
        f"right answers {percent(findings.clean_right.mean)} clean, {percent(outcome.right.mean)} there"
        + (f" (McNemar p {_p(outcome.p)})" if np.isfinite(outcome.p) else "")
    )


def _defended(name: str, defence: Defence) -> Headline:
    """Return what the defence does on both axes: attacks stopped, and use kept."""
    lost = defence.utility.difference < 0 and defence.p < SIGNIFICANT
    stopped = defence.success_with.mean < defence.success_without.mean
    detail = (
        f"Attack success {percent(defence.success_without.mean)} without, "
        f"{percent(defence.success_with.mean)} with the defence ({span(defence.success_with)}); "
        f"right answers to clean contexts {points(defence.utility.difference)} (McNemar "
        f"p {_p(defence.p)}, n = {defence.utility.n_pairs:,}), {percent(defence.refused.mean)} declined"
    )
    if not stopped:
        return Headline("bad", f"{name}: the defence stops no attack", detail)
    if lost:
        return Headline("bad", f"{name}: the defence stops attacks and costs right answers", detail)
    if defence.success_with.mean > 0:
        return Headline("bad", f"{name}: the defence stops some attacks", detail)
    if defence.utility.difference < 0:
        return Headline(
            "cannot tell", f"{name}: the defence stops the attacks; its cost is not clear", detail
        )
    return Headline("good", f"{name}: the defence stops the attacks and costs no clean answer", detail)


def _stability(summary: ExperimentSummary) -> Headline:
    findings: StabilityFindings = summary.findings
    rate, name = findings.overall.rate, _name(summary)
    if not rate.n_scored:
        return Headline("not measured", f"{name}: no question has two verdicts")
    changes = ", ".join(
        f"{each.change} {percent(each.flips.rate.mean)} of {each.flips.compared:,}"
        for each in findings.changes
        if each.flips.compared
    )
    verdict = (
        f"Verdict: {title_of(findings.verdict).lower()} of {number(findings.passes_from)} or more passes"
    )
    if rate.mean == 0:
        return Headline(
            "good",
            f"{name}: no verdict of {count(rate.n_scored, 'question')} flips",
            f"Up to {percent(rate.high)} may flip all the same (95 %). {verdict}; {changes}",
        )
    return Headline(
        "bad",
        f"{name}: the verdict of {percent(rate.mean)} of the questions flips",
        f"{len(findings.flipped):,} of {rate.n_scored:,} questions ({span(rate)}). {verdict}; {changes}",
    )


def _languages(summary: ExperimentSummary) -> Headline:
    findings: LanguageFindings = summary.findings
    crossed = [cell for cell in findings.cells if cell.question_language != cell.passage_language]
    name = _name(summary)
    if not crossed or not np.isfinite(findings.transfer):
        return _pooled(name, findings)
    empty, asked = sum(cell.empty for cell in crossed), sum(cell.n for cell in crossed)
    statement = f"{name}: keeps {percent(findings.transfer)} of its {summary.quality} across languages"
    detail = (
        f"{number(findings.same)} where question and passage share a language, {number(findings.crossed)} "
        f"where not, over {len(findings.languages)} languages; {empty:,} of {asked:,} crossed lists are empty"
        + (", which is nothing found, not found badly" if empty > MOST_EMPTY * asked else "")
    )
    return Headline("bad" if findings.transfer < 1 else "good", statement, detail)


def _pooled(name: str, findings: LanguageFindings) -> Headline:
    known = [each for each in findings.pooled if each.own_share.n_scored]
    if not known:
        return Headline("not measured", f"{name}: no results in a known language")
    share = float(np.mean([each.own_share.mean for each in known]))
    fair = float(np.mean([each.own_relevant.mean for each in known]))
    precision = float(np.mean([each.average_precision.mean for each in known]))
    return Headline(
        "bad" if share > 2 * fair else "good",
        f"{name}: {percent(share)} of the results are in the question's language",
        f"{percent(fair)} of the relevant passages are; mAP@10 {number(precision)}, each parallel passage "
        f"relevant, over {sum(each.n for each in known):,} questions in {len(known)} languages",
    )


def _parsing(summary: ExperimentSummary) -> Headline:
    findings: ParsingFindings = summary.findings
    text = findings.parsers[findings.best_text].means["nid"]
    parsers = count(len(findings.parsers), "parser")
    without = [
        name
        for name, entry in findings.parsers.items()
        if "teds" in entry.means and entry.means["teds"].n_scored and entry.means["teds"].mean == 0
    ]
    details = [f"Text similarity (NID) {number(text.mean)} over {count(text.n_scored, 'page')}"]
    if findings.best_tables:
        cells = findings.parsers[findings.best_tables].means["cell_recall"]
        details.append(
            f"Most table cells with both headers: {shorten(findings.best_tables, LONGEST_NAME)}, "
            f"{percent(cells.mean)} over {count(cells.n_scored, 'page')} with tables"
        )
    if without:
        details.append(f"No table found by {', '.join(shorten(name, 20) for name in without)}")
    return Headline(
        "bad" if findings.best_tables and len(without) == len(findings.parsers) else "good",
        f"{shorten(findings.best_text, LONGEST_NAME)} keeps the most text of {parsers}",
        ". ".join(details),
    )


def _p(value: float) -> str:
    text = p_value(value)
    return text if text.startswith("<") else f"= {text}"


ROBUSTNESS_HEADLINES: Mapping[str, Callable[[ExperimentSummary], Headline]] = {
    "injection": _injection,
    "languages": _languages,
    "parsing": _parsing,
    "stability": _stability,
}
