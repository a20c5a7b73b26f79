"""What the experiments on languages and parsers found, as tables of text."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ragtriage.dashboard.cli.terminal import plain, table, wrapped
from ragtriage.dashboard.headlines.experiment_effects import effect_method, effect_rows
from ragtriage.data.experiments.injection import InjectionFindings
from ragtriage.data.experiments.languages import LanguageFindings
from ragtriage.data.experiments.parsed_pages import PAGE_SCORES
from ragtriage.data.experiments.parsing import ParsingFindings
from ragtriage.data.experiments.stability import StabilityFindings
from ragtriage.data.experiments.summary import ExperimentSummary
from ragtriage.metrics.number_text import interval_text, number, p_value, percent, signed

MOST_LISTED = 20


def findings_text(summary: ExperimentSummary) -> str:
    """Return what the arms alone do not say; "" for kinds whose arms say it."""
    write = TEXTS.get(summary.experiment.kind)
    return "" if write is None or summary.findings is None else write(summary)


def _languages(summary: ExperimentSummary) -> str:
    """Return the matrix, and the results of the pooled passages by language."""
    findings: LanguageFindings = summary.findings
    sections = []
    if findings.cells:
        rows = [
            [
                plain(cell.question_language),
                plain(cell.passage_language),
                number(cell.quality.mean, 3),
                interval_text(cell.quality.low, cell.quality.high, 3),
                number(cell.mrr.mean, 3),
                f"{cell.empty:,} of {cell.n:,}",
            ]
            for cell in findings.cells
        ]
        header = ["questions", "passages", summary.quality, "95 % interval", "MRR@10", "empty lists"]
        sections.append(table(header, rows))
    if findings.pooled:
        rows = [
            [
                plain(each.language),
                number(each.average_precision.mean, 3),
                interval_text(each.average_precision.low, each.average_precision.high, 3),
                percent(each.own_share.mean),
                percent(each.own_relevant.mean),
                f"{each.empty:,} of {each.n:,}",
            ]
            for each in findings.pooled
        ]
        header = ["questions", "mAP@10", "95 % interval", "top 10 in own", "relevant in own", "empty lists"]
        sections.append(table(header, rows))
    sections.append(wrapped("An empty list found nothing: it counts 0 in recall, and is told apart."))
    return "\n\n".join(sections)


def _parsing(summary: ExperimentSummary) -> str:
    """Return the means of each parser with their n, and its two overall numbers."""
    findings: ParsingFindings = summary.findings
    shown = [name for name in PAGE_SCORES if any(name in entry.means for entry in findings.parsers.values())]
    rows = [
        [PAGE_SCORES[score], *(_mean(findings, parser, score) for parser in findings.parsers)]
        for score in shown
    ]
    rows += [
        ["Overall, mean over pages", *(number(each.by_page.mean, 3) for each in findings.parsers.values())],
        ["Overall, mean of three means", *(number(each.by_score, 3) for each in findings.parsers.values())],
    ]
    told = (
        "Two numbers for one parser: over pages, a page without tables or headings is its text alone; of the "
        "three means (NID, TEDS, MHS), each weighs a third."
    )
    if findings.order_differs:
        told += " They rank these parsers differently."
    return f"{table(['score', *map(plain, findings.parsers)], rows)}\n{wrapped(told)}"


def _mean(findings: ParsingFindings, parser: str, score: str) -> str:
    mean = findings.parsers[parser].means.get(score)
    return f"{number(mean.mean, 3)} (n {mean.n_scored:,})" if mean is not None else "not measured"


def _injection(summary: ExperimentSummary) -> str:
    """Return attack success and utility of each way to poison, side by side."""
    findings: InjectionFindings = summary.findings
    titles = {result.arm.key: result.arm.title for result in summary.arms}
    rows = [
        [
            plain(titles[arm.arm]),
            f"{percent(arm.outcome.success.mean)} of {arm.outcome.success.n_scored:,}",
            interval_text(arm.outcome.success.low, arm.outcome.success.high),
            number(arm.outcome.right.mean),
            signed(arm.outcome.drop.difference),
            p_value(arm.outcome.p),
            percent(arm.outcome.refused.mean),
        ]
        for arm in findings.arms
    ]
    header = ["poisoned", "attack success", "95 % interval", "right", "less clean", "McNemar p", "declined"]
    told = (
        "Two axes: a system that declines everything is never attacked and of no use. An instruction is "
        "followed where its canary is in the answer, a wrong answer where the right one is not there too."
    )
    undecided = sum(arm.outcome.undecided for arm in findings.arms)
    if undecided:
        told += f" {undecided:,} cases are left out: no rule decides their kind of attack."
    alone = [arm for arm in findings.arms if arm.target_alone.mean > arm.outcome.success.mean]
    for arm in alone:
        told += (
            f" {titles[arm.arm]}: the wrong answer alone is in {percent(arm.target_alone.mean)} of answers, "
            "as PoisonedRAG counts."
        )
    return f"{table(header, rows)}\n{wrapped(plain(told))}"


def _stability(summary: ExperimentSummary) -> str:
    """Return the share of questions that flip by kind of change, and which they are."""
    findings: StabilityFindings = summary.findings
    rows = [
        [
            each.change,
            f"{each.variants}",
            f"{len(each.questions):,} of {each.flips.compared:,}",
            percent(each.flips.rate.mean),
            interval_text(each.flips.rate.low, each.flips.rate.high),
        ]
        for each in findings.changes
    ]
    text = table(["change", "variants", "questions that flip", "share", "95 % interval"], rows)
    named = ", ".join(plain(name) for name in findings.flipped[:MOST_LISTED])
    more = " ..." if len(findings.flipped) > MOST_LISTED else ""
    return f"{text}\n{wrapped(f'Flips: {named}{more}')}" if named else text


def _arms(summary: ExperimentSummary) -> str:
    """Return the effect of each setting."""
    rows = effect_rows(summary)
    if not rows:
        return ""
    text = table([*rows[0]], [[plain(cell) for cell in row.values()] for row in rows])
    return f"{text}\n{wrapped('; '.join(effect_method(summary)))}"


TEXTS: Mapping[str, Callable[[ExperimentSummary], str]] = {
    "arms": _arms,
    "injection": _injection,
    "languages": _languages,
    "parsing": _parsing,
    "stability": _stability,
}
