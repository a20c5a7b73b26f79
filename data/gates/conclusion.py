"""What may be said of a run on the evidence there is: one object, which pages and commands put in words."""

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from ragtriage.data.comparison.guardrails import Loss, RankingChange
from ragtriage.data.diagnosis.diagnosis import CheckedAnswers
from ragtriage.data.diagnosis.main_loss import MainLoss
from ragtriage.data.errors import DataError
from ragtriage.data.gates.next_steps import NextStep
from ragtriage.metrics.gates.gates import GateResult, overall
from ragtriage.metrics.gates.wording import judged_title
from ragtriage.metrics.metric_registry import declared
from ragtriage.metrics.sanity.documents import read_first, said_first
from ragtriage.metrics.sanity.rule import Finding

ConclusionState = Literal["do_not_ship", "not_checked", "cannot_tell", "ship"]
FAILING: tuple[ConclusionState, ...] = ("do_not_ship", "cannot_tell", "not_checked")


def failing_states(text: str | None) -> Collection[str] | None:
    """Return the conclusions that a text names, joined by commas; None for None.

    Raises:
        DataError: one is none that can fail.
    """
    if text is None:
        return None
    states = ["_".join(state.split()) for state in text.split(",")]
    wrong = [state for state in states if state not in FAILING]
    if wrong:
        raise DataError(f"fail-on {wrong[0]!r}; accepted: {', '.join(FAILING)}, joined by commas")
    return states


@dataclass(frozen=True)
class Fault:
    """A fault that is known of a run, whatever its gates say."""

    # rule of the finding, key of the failure stage, "lacks_gold", a slice as "language=zh", or "low RATING"
    key: str
    n: int  # cases, of a finding on texts answers
    of: int  # measured cases, of a slice the bad ones; answers


def known_faults(
    findings: Sequence[Finding], loss: MainLoss | None, answers: CheckedAnswers | None
) -> tuple[Fault, ...]:
    """Return the faults of a run, in the order in which its headline names them."""
    n_answers = 0 if answers is None else answers.n
    faults = [Fault(each.rule, each.n_affected, n_answers) for each in said_first(findings)]
    if loss is not None and loss.lacking:
        faults.append(Fault("lacks_gold", loss.lacking, loss.of))
    elif loss is not None and loss.stage:
        faults.append(Fault(loss.stage, loss.n, loss.of))
    if loss is not None and loss.where is not None:
        where = loss.where
        faults.append(Fault(f"{where.name}={'|'.join(where.values)}", where.n_bad, where.n_bad_all))
    return tuple(faults)


@dataclass(frozen=True)
class Conclusion:
    """The conclusion on a run."""

    # the first that holds: a blocking gate fails (do_not_ship); none measured anything, or too few of
    # the answers were checked (not_checked); one is open or rests on a doubted number (cannot_tell);
    # else ship
    state: ConclusionState
    decisive: tuple[GateResult, ...]  # the gates that led to it
    doubts: tuple[str, ...]  # why the checks doubt what these rest on, what must be read first at the front
    # how many answers there are and how many were checked; None where the run is not diagnosed
    answers: CheckedAnswers | None
    # what got worse and no gain pays for; with any of them the state is never ship
    losses: tuple[Loss, ...] = ()
    next_steps: tuple[NextStep, ...] = ()  # what to do about the run, the most urgent first
    faults: tuple[Fault, ...] = ()  # what is known to be wrong, the most urgent first
    ranking: RankingChange | None = None  # how the ranking moved against the baseline though no answer did
    many_refused: bool = False  # whether many questions are refused though they have an answer

    @property
    def unchecked(self) -> bool:
        """Whether too few of the answers were checked to call any of them good."""
        return self.answers is not None and not self.answers.enough

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "state": self.state,
            "gates": [judged_title(result) for result in self.decisive],
            "doubts": list(self.doubts),
            "losses": [asdict(loss) for loss in self.losses],
            "ranking": None if self.ranking is None else asdict(self.ranking),
            "answers": None if self.answers is None else asdict(self.answers),
            "faults": [asdict(fault) for fault in self.faults],
            "next_steps": [step.to_dict() for step in self.next_steps],
        }


def conclude(
    results: Sequence[GateResult],
    answers: CheckedAnswers | None,
    findings: Sequence[Finding] = (),
    strict: bool = False,
    reasons: Sequence[str] = (),
    losses: Sequence[Loss] = (),
) -> Conclusion:
    """Return what the gates of a run and its answers allow to say.

    Args:
        results: of every gate.
        answers: of the run; None where it is not diagnosed.
        findings: of its sanity checks.
        strict: whether gates that had nothing to judge by count too.
        reasons: why the run as a whole cannot ship, such as that it asks other questions than its baseline.
        losses: what got worse against the baseline and no gain pays for.
    """
    verdict = overall(results, strict)
    decisive = tuple(
        result
        for result in results
        if result.blocks and result.verdict == verdict and (strict or not result.excused)
    )
    clauses = [clause for result in decisive for clause in result.doubt.split("; ") if clause]
    doubts = tuple(dict.fromkeys([*reasons, *(finding.clause for finding in read_first(findings)), *clauses]))
    unchecked = answers is not None and not answers.enough
    state: ConclusionState = "ship"
    if verdict == "FAIL":
        state = "do_not_ship"
    elif unchecked or not any(result.blocks and result.verdict != "UNMEASURED" for result in results):
        state = "not_checked"
    elif verdict != "PASS" or doubts or losses:
        state = "cannot_tell"
    return Conclusion(state, decisive, doubts, answers, tuple(losses))


def _measures_quality(result: GateResult) -> bool:
    """Return whether a gate measured more than time, cost and errors."""
    entry = declared(result.gate.metric)
    operational = result.gate.kind == "guardrail" or (entry is not None and entry.component == "system")
    return result.verdict != "UNMEASURED" and not operational


def exit_code(
    concluded: Conclusion, results: Sequence[GateResult], fail_on: Collection[str] | None = None
) -> int:
    """Return what `gate` ends with: 1 do not ship, 3 cannot tell or not checked, 0 ship or a state let pass.

    Args:
        concluded: from the results.
        results: of every gate; a required one that does not pass is one that must not ship.
        fail_on: the states of FAILING that do not end with 0; by default do_not_ship, and not_checked where
            no gate measured quality, or many questions are wrongly refused.
    """
    unknown = concluded.many_refused or not any(map(_measures_quality, results))
    failing = {"do_not_ship", *(["not_checked"] if unknown else [])} if fail_on is None else fail_on
    refused = any(result.blocks and result.gate.required and result.verdict != "PASS" for result in results)
    if (refused or concluded.state == "do_not_ship") and "do_not_ship" in failing:
        return 1
    return 3 if concluded.state in failing and concluded.state != "do_not_ship" else 0
