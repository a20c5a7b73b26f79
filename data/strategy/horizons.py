"""What to do now, next and later: recommendations from gates, failure stages and the F1 tree, by fixed rules.

Now: what keeps the version from shipping, or must be settled before its numbers are trusted. Next: what
costs most of the rest, or leaves a blocking gate undecided. Later: what costs little or is not sure to.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ragtriage.data.diagnosis.diagnosis import Diagnosis
from ragtriage.data.diagnosis.doubts import stage_doubt
from ragtriage.data.gates.conclusion import conclude
from ragtriage.data.gates.report import GateReport
from ragtriage.metrics.diagnosis.check_kinds import CRITICAL_SUITES
from ragtriage.metrics.diagnosis.f1_tree import F1Tree
from ragtriage.metrics.diagnosis.fix_first import UNEXPLAINED, FixFirst
from ragtriage.metrics.diagnosis.stages import STAGES, stage_code
from ragtriage.metrics.gates.gates import Gate, GateResult
from ragtriage.metrics.gates.wording import distance_text, gate_title, guardrail_change
from ragtriage.metrics.metric_registry import declared
from ragtriage.metrics.number_text import percent
from ragtriage.metrics.sanity.documents import read_first
from ragtriage.metrics.sanity.rule import Finding

Horizon = Literal["now", "next", "later"]
HORIZONS: tuple[Horizon, ...] = ("now", "next", "later")
MOST_SHOWN = 4  # of a horizon
MOST_NAMED = 2  # gates in one recommendation
MOST_PARTS = 2  # of F1
NOTABLE_SHARE = 0.05  # of the measured cases that a stage must lose to come now or next
FEWEST_CASES = 2  # that it must lose
NOTABLE_GAIN = 0.02  # F1 that a perfect part must give to come next
_PART_OWNERS: Mapping[str, str] = {
    "hallucination": "generation",
    "noise_relevant": "generation",
    "noise_irrelevant": "reranking",
    "context_recall": "retrieval",
    "omission": "generation",
}


@dataclass(frozen=True)
class Recommendation:
    """One thing to do.

    Attributes:
        horizon: when.
        what: to do, as a request.
        reason: why, in words.
        number: that it rests on, with n.
        owner: of the part of the pipeline, or "evaluation".
    """

    horizon: Horizon
    what: str
    reason: str
    number: str
    owner: str


def recommendations(
    diagnosis: Diagnosis, report: GateReport | None, findings: Sequence[Finding], tree: F1Tree | None
) -> tuple[Recommendation, ...]:
    """Return at most four recommendations a horizon, now first, the weightiest first.

    Args:
        diagnosis: of the run.
        report: of its gates; None where they cannot be read.
        findings: of the sanity checks.
        tree: why its F1 is low; None where it is not measured.
    """
    results = () if report is None else report.results
    state = "not_checked"
    if report is not None:
        state = conclude(results, diagnosis.answers, findings, mixed=report.mixed).state
    unchecked = state == "not_checked" and not diagnosis.answers.enough
    release = _ship(results) if state == "ship" else ()
    found = [*_doubts(findings), *_gates(results), *_stages(diagnosis, findings, results)]
    found += [*_parts(tree), *release, *_labels(diagnosis, unchecked), *_excused(results)]
    return tuple(
        entry
        for horizon in HORIZONS
        for entry in [each for each in found if each.horizon == horizon][:MOST_SHOWN]
    )


def _doubts(findings: Sequence[Finding]) -> Iterator[Recommendation]:
    """What must be settled before the numbers are trusted comes now."""
    for finding in read_first(findings)[:1]:
        yield Recommendation(
            "now",
            "Settle the numbers first",
            f"{finding.title}; what follows rests on it",
            _count(finding.n_affected, "case"),
            "evaluation",
        )


def _gates(results: Sequence[GateResult]) -> Iterator[Recommendation]:
    """A blocking gate that fails comes now, a failing warning next.

    Blocking gates that are undecided or not measured come now where none fails, for the release hangs on
    them, else next.
    """
    failing = [result for result in results if result.verdict == "FAIL"]
    for result in sorted(
        failing, key=lambda each: (not each.blocks, not _critical(each), each.margin or 0.0)
    ):
        what = f"Meet the gate {_quoted(gate_title(result.gate))}"
        horizon: Horizon = "now" if result.blocks else "next"
        reason = result.gate.reason or "a threshold of the project"
        because = f"{reason}; {'it blocks the release' if result.gate.severity == 'block' else 'it warns'}"
        yield Recommendation(horizon, what, because, _measured(result), _owner(result.gate))
    blocking = [result for result in results if result.blocks]
    when: Horizon = "next" if any(result.verdict == "FAIL" for result in blocking) else "now"
    undecided = [result for result in blocking if result.verdict == "INCONCLUSIVE"]
    if undecided:
        yield _together(when, "Ask more questions", "the sample cannot tell whether they hold", undecided)
    lacking = [result for result in blocking if result.verdict == "UNMEASURED" and not result.excused]
    if lacking:
        yield _together(when, "Measure what blocking gates need", "they are not measured", lacking)


def _critical(result: GateResult) -> bool:
    return result.gate.kind == "checks" and result.gate.metric in CRITICAL_SUITES


def _excused(results: Sequence[GateResult]) -> Iterator[Recommendation]:
    """Blocking gates that had nothing to judge by come later."""
    excused = [result for result in results if result.blocks and result.excused]
    if excused:
        yield _together("later", "Give every gate something to judge", "nothing to judge by", excused)


def _together(horizon: Horizon, what: str, why: str, results: Sequence[GateResult]) -> Recommendation:
    """Return one recommendation for several gates."""
    titles = "; ".join(gate_title(result.gate) for result in results[:MOST_NAMED])
    more = f"; and {len(results) - MOST_NAMED} more" if len(results) > MOST_NAMED else ""
    n = len(results)
    fewest, most = (end(result.n_scored for result in results) for end in (min, max))
    number = f"{_count(n, 'gate')}, n = {fewest:,}{f' to {most:,}' if most > fewest else ''}"
    return Recommendation(horizon, what, f"{why}: {titles}{more}", number, "evaluation")


def _count(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def _quoted(title: str) -> str:
    return f"“{title}”"


def _measured(result: GateResult) -> str:
    if result.mean is None:
        return f"n = {result.n_scored:,}"
    if result.gate.kind == "guardrail":
        return f"{guardrail_change(result)}, n = {result.n_scored:,}"
    if result.gate.kind == "critical":
        return f"{round(result.mean * result.n_total):,} of {result.n_total:,} critical cases"
    distance = distance_text(result)
    change = "change of " if result.gate.kind == "regression" else ""
    value = f"{result.mean:.2f}".replace("-", "\u2212")
    return f"{change}{value}{f', {distance}' if distance else ''}, n = {result.n_scored:,}"


def _owner(gate: Gate) -> str:
    if gate.kind == "checks":
        return gate.metric
    metric = declared(gate.metric)
    return "release" if metric is None else metric.component


def _stages(
    diagnosis: Diagnosis, findings: Sequence[Finding], results: Sequence[GateResult]
) -> Iterator[Recommendation]:
    """The largest stage comes now unless every blocking gate holds; others next, or later where small."""
    held = _all_hold(results)
    measured = max(int(diagnosis.measured.sum()), 1)
    first = True
    for entry in diagnosis.fix_first:
        doubt = stage_doubt(diagnosis, findings, entry.key)
        if entry.key == UNEXPLAINED or (doubt is not None and doubt.whole):
            continue
        notable = entry.n_bad >= max(FEWEST_CASES, NOTABLE_SHARE * measured)
        horizon: Horizon = "later" if not notable else "now" if first and not held else "next"
        yield _stage(entry, horizon, measured)
        first = False


def _stage(entry: FixFirst, horizon: Horizon, measured: int) -> Recommendation:
    stage = STAGES[stage_code(entry.key)]
    bound = f"{entry.bound} {percent(entry.pass_rate_if_perfect)} would pass"
    number = f"{entry.n_bad:,} of {measured:,} cases; repaired, {bound}"
    return Recommendation(horizon, stage.advice.rstrip("."), stage.title, number, entry.owner)


def _parts(tree: F1Tree | None) -> Iterator[Recommendation]:
    """The two largest parts of F1 come next where they surely give something worth having, else later."""
    if tree is None:
        return
    parents = {branch.part.parent for branch in tree.branches}
    leaves = [branch for branch in tree.branches if branch.part.key not in parents and branch.n_cases]
    for branch in sorted(leaves, key=lambda leaf: -leaf.gain.mean)[:MOST_PARTS]:
        sure = branch.gain.low > 0 and branch.gain.mean >= NOTABLE_GAIN
        number = (
            f"F1 {tree.f1.mean:.2f}; repaired, at most {branch.bound:.2f}; {_count(branch.n_cases, 'case')}, "
            f"n = {branch.gain.n_scored:,}"
        )
        yield Recommendation(
            "next" if sure else "later",
            branch.part.measures[0].split(". ")[0].rstrip("."),
            f"{branch.part.title} lowers F1",
            number,
            _PART_OWNERS.get(branch.part.key, "generation"),
        )


def _ship(results: Sequence[GateResult]) -> Iterator[Recommendation]:
    """Where the conclusion is to ship, the release comes now."""
    number = _count(sum(result.blocks and not result.excused for result in results), "blocking gate")
    yield Recommendation("now", "Release this version", "every blocking gate holds", number, "release")


def _all_hold(results: Sequence[GateResult]) -> bool:
    """Return whether there are blocking gates and all that had something to judge by pass."""
    blocking = [result for result in results if result.blocks and not result.excused]
    return bool(blocking) and all(result.verdict == "PASS" for result in blocking)


def _labels(diagnosis: Diagnosis, unchecked: bool) -> Iterator[Recommendation]:
    """Human labels come later, to tell how far to trust the rest; now where nothing checked the answers."""
    n = min(50, diagnosis.scored.n)
    yield Recommendation(
        "now" if unchecked else "later",
        f"Label {n:,} random answers by hand",
        f"labels show whether {'the answers are right' if unchecked else 'the scores can be trusted'}",
        f"of {_count(diagnosis.scored.n, 'case')}",
        "evaluation",
    )
