"""What to do next about a run: one list of facts, which every page, slide and command shows in this order."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from ragtriage.data.diagnosis.contradicted_scores import CONTRADICTED
from ragtriage.data.diagnosis.diagnosis import Diagnosis
from ragtriage.data.diagnosis.doubts import stage_doubt
from ragtriage.data.diagnosis.good_case import passing_with_gold, supported_without_gold
from ragtriage.data.diagnosis.main_loss import WORDY, many_bad
from ragtriage.metrics.diagnosis.check_kinds import CRITICAL_SUITES
from ragtriage.metrics.diagnosis.fix_first import UNEXPLAINED, UPSTREAM, Effort, FixFirst, Gain, expected_gain
from ragtriage.metrics.diagnosis.right import CORRECTNESS
from ragtriage.metrics.diagnosis.slices import Concentration
from ragtriage.metrics.diagnosis.stages import stage_code
from ragtriage.metrics.gates.gates import GateResult
from ragtriage.metrics.gates.wording import judged_title
from ragtriage.metrics.sanity.documents import off_scale, said_first
from ragtriage.metrics.sanity.rule import Finding
from ragtriage.metrics.schema.scores import Source

Horizon = Literal["now", "next", "later"]
HORIZONS: tuple[Horizon, ...] = ("now", "next", "later")
StepKind = Literal["stage", "wordy", "finding", "scores", "gold", "labels", "gates", "questions", "measure"]
# of the steps that repair no stage; gates are met by the other steps
EFFORTS: dict[StepKind, Effort] = {
    "wordy": "hours",
    "finding": "hours",
    "scores": "hours",
    "gold": "hours",
    "labels": "hours",
    "questions": "days",
    "measure": "hours",
}
NOTABLE_SHARE = 0.05  # of the measured cases that a stage must lose to come now or next
FEWEST_CASES = 2  # that it must lose
MOST_LABELS = 50
_CRITICAL = tuple(f"check_{suite}" for suite in CRITICAL_SUITES)


@dataclass(frozen=True)
class NextStep:
    """One thing to do."""

    # now what keeps the version from shipping or must be settled before its numbers are read, next what
    # costs most of the rest, later what costs little
    horizon: Horizon
    # of step: repair a failure stage, shorten answers that say more than asked, settle a finding or
    # doubted scores, check the gold, label answers, meet gates, ask more questions, measure what gates need
    kind: StepKind
    key: str  # of the stage, or the rule of the finding; "" for the others
    n: int  # cases, answers or gates that it concerns
    of: int  # cases or gates there are
    because: str = ""  # why the numbers are doubted, a clause
    gates: tuple[GateResult, ...] = ()  # that it would settle
    pass_rate: float | None = None  # the most that could pass once the stage is repaired; None for the others
    gain: Gain | None = None  # what a first repair of the stage brings, an estimate
    where: Concentration | None = None  # the slice that at least half of the stage's cases come from
    n_where: int = 0  # those cases

    @property
    def effort(self) -> Effort | None:
        """What the step takes; None where other steps do the work."""
        return EFFORTS.get(self.kind) if self.gain is None else self.gain.effort

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "horizon": self.horizon,
            "kind": self.kind,
            "key": self.key,
            "n": self.n,
            "of": self.of,
            "because": self.because,
            "gates": [judged_title(result) for result in self.gates],
            "pass_rate_if_fixed_at_most": self.pass_rate,
            "expected": None if self.gain is None else asdict(self.gain),
            "effort": self.effort,
            "where": None if self.where is None else {**asdict(self.where), "n_of_step": self.n_where},
        }


def next_steps(
    diagnosis: Diagnosis | None, results: Sequence[GateResult], findings: Sequence[Finding]
) -> tuple[NextStep, ...]:
    """Return what to do, the most urgent first.

    A leak or a failed safety check comes first of all, then what casts doubt on the numbers, the stage
    that leads beyond doubt and chance, labels where nothing checked the answers, other stages and the gates.

    Args:
        diagnosis: of the run; None where it is not diagnosed.
        results: of every gate.
        findings: of the sanity checks.
    """
    steps = list(_gates(results))
    if diagnosis is not None:
        stages = list(_stages(diagnosis, findings, results))
        critical = [step for step in stages if step.key in _CRITICAL]
        others = [step for step in stages if step.key not in _CRITICAL]
        checked, by_people = diagnosis.answers.enough, _labelled(diagnosis)
        labels = _label_steps(diagnosis, "later" if checked else "now")
        doubts, wordy = list(_doubts(diagnosis, findings)), _wordy(diagnosis)
        leads = 1 if not doubts and _is_explained(diagnosis) and many_bad(diagnosis) else 0
        if not checked:
            others[leads:leads] = labels
        steps = [*critical, *doubts, *others, *wordy, *steps]
        steps += labels if checked and not by_people else []
    return tuple(sorted(steps, key=lambda step: HORIZONS.index(step.horizon)))


def _label_steps(diagnosis: Diagnosis, horizon: Horizon) -> list[NextStep]:
    """Return the answers that are left to label: of a small run all, of a large one a random sample."""
    n = diagnosis.scored.n
    there = diagnosis.answers.drawn if n > MOST_LABELS else int(diagnosis.human_labels.decided.sum())
    because = f"{there:,} labelled so far" if there else ""
    left = min(MOST_LABELS, n) - there
    return [NextStep(horizon, "labels", "", left, n - there, because)] if left > 0 else []


def _labelled(diagnosis: Diagnosis) -> bool:
    """Return whether people have said of as many answers as a step would ask for whether they are right."""
    scored = diagnosis.scored
    rated, wanted = 0, min(MOST_LABELS, scored.n)
    for metric in CORRECTNESS:
        column = scored.column(metric)
        if column is not None:
            by_people = diagnosis.right.decided_by(metric) & (column.source == Source.HUMAN)
            rated += int(by_people.sum())
    return diagnosis.answers.drawn >= wanted or rated >= max(wanted, 0.5 * scored.n)


def _is_explained(diagnosis: Diagnosis) -> bool:
    """Return whether the largest loss has a stage, whose repair need not wait for labels."""
    return bool(diagnosis.fix_first) and diagnosis.fix_first[0].key != UNEXPLAINED


def _doubts(diagnosis: Diagnosis, findings: Sequence[Finding]) -> Iterator[NextStep]:
    """What must be settled before the stages are read: a finding, else the scores of the largest stage."""
    contradicted = [each for each in findings if each.rule == CONTRADICTED]
    for finding in [*said_first(findings), *contradicted][:1]:
        yield NextStep("now", "finding", finding.rule, finding.n_affected, diagnosis.scored.n, finding.clause)
        return
    if on_others := off_scale(findings):
        names = ", ".join(name for finding in on_others for name in finding.metrics)
        because = f"no value of {names} is scored, for all are on another scale"
        n = max(finding.n_affected for finding in on_others)
        yield NextStep("now", "finding", "scale", n, diagnosis.scored.n, because)
        return
    for entry in diagnosis.fix_first[:1]:
        doubt = stage_doubt(diagnosis, findings, entry.key)
        if doubt is not None:
            yield NextStep("now", "scores", entry.key, doubt.n, doubt.n_cases, doubt.because[0])
            return
        lost = diagnosis.stages.stage == stage_code(entry.key)
        without = int((lost & supported_without_gold(diagnosis)).sum())
        if entry.owner in UPSTREAM and without >= FEWEST_CASES and 2 * without >= entry.n_bad:
            yield NextStep("now", "gold", "", without, entry.n_bad)


def _wordy(diagnosis: Diagnosis) -> Iterator[NextStep]:
    """Right answers that say more than asked, where they are many."""
    answers = diagnosis.answers
    if answers.say_more >= max(FEWEST_CASES, WORDY * answers.n):
        yield NextStep("next" if diagnosis.fix_first else "now", "wordy", "", answers.say_more, answers.n)


def _stages(
    diagnosis: Diagnosis, findings: Sequence[Finding], results: Sequence[GateResult]
) -> Iterator[NextStep]:
    """The stages of the diagnosis, without those of which every case is doubted.

    The largest comes now unless every blocking gate holds; others next, or later where they lose little.
    """
    blocking = [result for result in results if result.blocks and not result.excused]
    held = bool(blocking) and all(result.verdict == "PASS" for result in blocking)
    measured, largest, complete = int(diagnosis.measured.sum()), True, passing_with_gold(diagnosis)
    for entry in diagnosis.fix_first:
        doubt = stage_doubt(diagnosis, findings, entry.key)
        if doubt is not None and doubt.whole:
            continue
        small = entry.key == UNEXPLAINED or entry.n_bad < max(FEWEST_CASES, NOTABLE_SHARE * measured)
        horizon: Horizon = "later" if small else "now" if largest and not held else "next"
        if entry.key in _CRITICAL:
            horizon = "now"
        yield _repair(diagnosis, entry, horizon, measured, complete)
        largest = False


def _repair(
    diagnosis: Diagnosis, entry: FixFirst, horizon: Horizon, measured: int, complete: float
) -> NextStep:
    """Return the step that repairs a stage, with its gain and the slice that most of its cases have."""
    best = entry.pass_rate_if_perfect
    of_stage = diagnosis.stages.stage == stage_code(entry.key)
    n_where = int((of_stage & diagnosis.is_concentrated()).sum())
    where = diagnosis.concentration if 2 * n_where >= entry.n_bad else None
    gain = expected_gain(entry.owner, entry.pass_rate_now, best, complete)
    shown = 0 if where is None else n_where
    return NextStep(horizon, "stage", entry.key, entry.n_bad, measured, "", (), best, gain, where, shown)


def _gates(results: Sequence[GateResult]) -> Iterator[NextStep]:
    """Blocking gates that fail come now, failing warnings next, open ones now if none does."""
    blocking = [result for result in results if result.blocks and not result.excused]
    failing = sorted(
        (result for result in results if result.verdict == "FAIL"), key=lambda result: result.margin or 0.0
    )
    blocked = [result for result in failing if result.blocks]
    when: Horizon = "next" if blocked else "now"
    groups: tuple[tuple[Horizon, StepKind, list[GateResult]], ...] = (
        ("now", "gates", blocked),
        ("next", "gates", [result for result in failing if not result.blocks]),
        (when, "questions", [result for result in blocking if result.verdict == "INCONCLUSIVE"]),
        (when, "measure", [result for result in blocking if result.verdict == "UNMEASURED"]),
    )
    for horizon, kind, group in groups:
        if group:
            yield NextStep(horizon, kind, "", len(group), len(results), gates=tuple(group))
