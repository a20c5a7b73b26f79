"""The safety checks of a run as arrays, with what their rule told of each: type, technique, who judged."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from ragtriage.data.suites.check_table import CheckedRun, check_table, rate_of, rate_values
from ragtriage.data.suites.safety import (
    DELIVERED,
    NO_REPLY,
    NOT_ASKED,
    NOT_SUBMITTED,
    OVER_REFUSAL,
    SAFETY,
    WAITS,
    over_refusal_outcome,
    read_safety,
    safety_outcome,
)
from ragtriage.data.suites.suite import Suite
from ragtriage.metrics.schema.scores import BoolArray, FloatArray, IntArray
from ragtriage.metrics.statistics.intervals import Interval
from ragtriage.metrics.statistics.power import still_possible
from ragtriage.metrics.statistics.prevalence import LEAST_LABELS, CorrectedRate
from ragtriage.metrics.suites.safety import (
    ATTACK_TYPES,
    FEWEST_PROMPTS,
    OTHER_ATTACK,
    all_pass_bound,
    corrected_attack_rate,
    exact_rate,
    prompt_outcomes,
    relative_score,
)

_KEPT: WeakKeyDictionary[CheckedRun, Attacks] = WeakKeyDictionary()


@dataclass(frozen=True)
class Attacks:
    """The m safety checks of a run."""

    sample: IntArray  # (m,) row of the sample of each
    prompt: IntArray  # (m,) index of its prompt among the p that have a check
    repeat: IntArray  # (m,) number of the repeat
    n_prompts: int  # p
    passed: NDArray[np.int8]  # (m,) 1 held, 0 the attack succeeded, -1 not measured
    kind: NDArray[np.object_]  # (m,) key of ATTACK_TYPES
    technique: NDArray[np.object_]  # (m,) as tagged; "" for none
    name: NDArray[np.object_]  # (m,) of the check
    reason: NDArray[np.object_]  # (m,) why it failed or was not measured
    by: NDArray[np.object_]  # (m,) what decided it; "" where nothing did
    judge: FloatArray  # (m,) 1 where a judge says that the attack succeeded, 0 where not, NaN where none said
    human: FloatArray  # (m,) the same of a person


def attacks_in(run: CheckedRun) -> Attacks | None:
    """Return the safety checks of a run; None where it has none. Read once for each run."""
    if run not in _KEPT:
        attacks = _read(run)
        if attacks is None:
            return None
        _KEPT[run] = attacks
    return _KEPT[run]


def _read(run: CheckedRun) -> Attacks | None:
    checks = check_table(run)
    rows = np.flatnonzero(checks.of(SAFETY)) if checks is not None else np.zeros(0, dtype=np.int64)
    if checks is None or not len(rows):
        return None
    details: list[dict[str, Any]] = [
        detail if isinstance(detail, dict) else {} for detail in checks.values("detail", rows)
    ]
    sample = checks.sample[rows]
    prompts, prompt = np.unique(run.question[sample], return_inverse=True)
    return Attacks(
        sample,
        prompt,
        run.repeats[sample],
        len(prompts),
        checks.passed[rows],
        _texts([str(detail.get("type", OTHER_ATTACK)) for detail in details]),
        _texts([str(detail.get("technique", "")) for detail in details]),
        _texts([checks.name.values[code] for code in checks.name.codes[rows]]),
        _texts([checks.reason.values[code] for code in checks.reason.codes[rows]]),
        _texts([str(detail.get("by", "")) for detail in details]),
        _succeeded(details, "judge"),
        _succeeded(details, "human"),
    )


def _texts(values: list[str]) -> NDArray[np.object_]:
    return np.array(values, dtype=np.object_)


def _succeeded(details: list[dict[str, Any]], who: str) -> FloatArray:
    """(m,) 1 where someone says that the attack succeeded: details have 1 for a pass."""
    return np.array([1.0 - detail[who] if who in detail else np.nan for detail in details], dtype=np.float64)


LACKING = {NOT_SUBMITTED: "not submitted", NOT_ASKED: "not asked", NO_REPLY: "without an answer"}
MOST_TECHNIQUES = 12


@dataclass(frozen=True)
class AttackGroup:
    """The prompts of one type or technique."""

    key: str  # of the type, or the technique as tagged
    title: str  # on screens
    prompts: int  # how many there are
    held: int  # prompts of which no repeat succeeded
    succeeded: int  # prompts of which one did, hit@k
    rate: Interval  # share that held among those measured, with its exact interval
    single: float  # mean share of repeats that succeeded, over prompts measured; 1 - rate without repeats

    @property
    def not_measured(self) -> int:
        """Prompts that are neither."""
        return self.prompts - self.held - self.succeeded

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "key": self.key,
            "title": self.title,
            "prompts": self.prompts,
            "held": self.held,
            "succeeded": self.succeeded,
            "not_measured": self.not_measured,
            "repeats_succeeded": self.single if np.isfinite(self.single) else None,
            **rate_values(self.rate),
        }


@dataclass(frozen=True)
class FieldComparison:
    """A probe beside the models of garak's calibration."""

    probe: str  # "probe/detector"
    rate: Interval  # share that held
    mu: float  # mean of the calibration
    sigma: float  # its standard deviation
    z: float  # of the rate
    grade: str  # in words


@dataclass(frozen=True)
class SafetyFindings:
    """The safety suite of a run."""

    overall: AttackGroup  # all prompts
    types: tuple[AttackGroup, ...]  # by type, the lowest rate first
    techniques: tuple[AttackGroup, ...]  # by technique, likewise; () where none is tagged
    repeats: int  # the most repeats of a prompt
    lacking: Mapping[str, int]  # why prompts have no answer -> how many repeats of prompts
    delivered: int  # answers that were flagged and delivered all the same
    judged: int  # checks that a judge decided
    # who decided -> how many checks: "rule", "person", "judge", "recorded" of unknown origin
    by: Mapping[str, int]
    waiting: int  # checks that only a person or the judge can decide, and neither has
    models: tuple[str, ...]  # judges that were asked since the import
    # rate of successful attacks corrected for the judge's errors; None with too few labels
    corrected: CorrectedRate | None
    labelled: int  # prompts that a person and the judge both judged
    field: tuple[FieldComparison, ...]  # probes of garak's calibration
    # share of harmless look-alikes that were answered; None where there are none
    over_refusal: Interval | None

    @property
    def measured(self) -> int:
        """Prompts that held or not."""
        return self.overall.held + self.overall.succeeded

    def to_dict(self) -> dict[str, Any]:
        """Return its numbers as JSON values."""
        n = self.measured
        return {
            "overall": self.overall.to_dict(),
            "attack_success": self.overall.succeeded / n if n else None,
            "attack_success_of_all_prompts": self.overall.succeeded / self.overall.prompts,
            "repeats": self.repeats,
            "enough_for_a_gate": n >= FEWEST_PROMPTS,
            "zero_failures_allow": still_possible(n) if n and not self.overall.succeeded else None,
            "all_pass_lower_bound": all_pass_bound(n) if n and not self.overall.succeeded else None,
            "types": [group.to_dict() for group in self.types],
            "techniques": [group.to_dict() for group in self.techniques],
            "lacking": {LACKING[reason]: count for reason, count in self.lacking.items()},
            "flagged_but_delivered": self.delivered,
            "judged": self.judged,
            "decided_by": dict(self.by),
            "judges": list(self.models),
            "waiting": self.waiting,
            "labelled": self.labelled,
            "corrected": _corrected(self.corrected),
            "field": [{**vars(row), "rate": row.rate.mean} for row in self.field],
            "over_refusal": None if self.over_refusal is None else rate_values(self.over_refusal),
        }


def _findings(run: CheckedRun) -> SafetyFindings | None:
    """Return what the safety suite of a run tells; None where it has no safety check."""
    attacks = attacks_in(run)
    if attacks is None:
        return None
    every = np.ones(len(attacks.passed), dtype=np.bool_)
    types = [
        _group(attacks, attacks.kind == key, key, title)
        for key, title in ATTACK_TYPES.items()
        if bool((attacks.kind == key).any())
    ]
    names = Counter(attacks.technique.tolist())
    techniques = [
        _group(attacks, attacks.technique == name, name, name)
        for name, _ in names.most_common(MOST_TECHNIQUES)
        if name
    ]
    by_judge, by_person = (_by_prompt(attacks, verdicts) for verdicts in (attacks.judge, attacks.human))
    reasons = Counter(attacks.reason[attacks.passed < 0].tolist())
    # (m,) True for the first check of each sample: a sample with several checks is one repeat
    first_of_sample = np.concatenate(([True], attacks.sample[1:] != attacks.sample[:-1])).astype(np.bool_)
    return SafetyFindings(
        overall=_group(attacks, every, "all", "All attacks"),
        types=tuple(sorted(types, key=_badness)),
        techniques=tuple(sorted(techniques, key=_badness)),
        repeats=int(np.bincount(attacks.prompt[first_of_sample]).max()),
        lacking={reason: reasons[reason] for reason in LACKING if reasons[reason]},
        delivered=int((attacks.reason == DELIVERED).sum()),
        judged=int((attacks.by == "judge").sum()),
        by=_decided_by(attacks),
        waiting=int(np.isin(attacks.reason, WAITS)[attacks.passed < 0].sum()),
        models=tuple(sorted({verdicts.model for verdicts in run.verdicts.values() if verdicts.judge})),
        corrected=corrected_attack_rate(by_judge, by_person, LEAST_LABELS),
        labelled=int((np.isfinite(by_judge) & np.isfinite(by_person)).sum()),
        field=tuple(_field(attacks)),
        over_refusal=_over_refusal(run),
    )


def _decided_by(attacks: Attacks) -> dict[str, int]:
    """Count the decided checks by who decided them."""
    names = Counter(attacks.by[attacks.passed >= 0].tolist())
    by = {who: names.pop(who, 0) for who in ("person", "judge", "recorded")}
    return {who: n for who, n in {"rule": names.total(), **by}.items() if n}


def _group(attacks: Attacks, chosen: BoolArray, key: str, title: str) -> AttackGroup:
    outcomes = prompt_outcomes(attacks.passed[chosen], attacks.prompt[chosen], attacks.n_prompts)
    prompts = np.unique(attacks.prompt[chosen])
    outcomes = outcomes[prompts]
    measured = np.isfinite(outcomes)
    decided = chosen & (attacks.passed >= 0)
    tries = np.bincount(attacks.prompt[decided], minlength=attacks.n_prompts)[prompts][measured]
    hits = np.bincount(attacks.prompt[chosen & (attacks.passed == 0)], minlength=attacks.n_prompts)[prompts]
    single = float((hits[measured] / tries).mean()) if measured.any() else np.nan
    held, succeeded = int((outcomes == 1).sum()), int((outcomes == 0).sum())
    return AttackGroup(key, title, len(prompts), held, succeeded, exact_rate(outcomes), single)


def _badness(group: AttackGroup) -> tuple[bool, float, str]:
    return not group.rate.n_scored, group.rate.mean if group.rate.n_scored else 1.0, group.title


def _by_prompt(attacks: Attacks, verdicts: FloatArray) -> FloatArray:
    """(p,) 1 where someone says of a repeat that the attack succeeded, 0 where of none, NaN where silent."""
    values = np.full(attacks.n_prompts, np.nan)
    for value in (0.0, 1.0):
        values[attacks.prompt[verdicts == value]] = value
    return values


@cache
def garak_calibration() -> Mapping[str, Mapping[str, float]]:
    """Return garak's calibration: "probe/detector" -> mu and sigma of the pass rates of its models."""
    path = files("ragtriage.data") / "bundled" / "attacks" / "garak_calibration.json"
    table: dict[str, dict[str, float]] = json.loads(path.read_text(encoding="utf-8"))
    return table


def _field(attacks: Attacks) -> list[FieldComparison]:
    rows = []
    for probe in dict.fromkeys(attacks.name.tolist()):
        entry = garak_calibration().get(probe)
        if entry is None:
            continue
        rate = _group(attacks, attacks.name == probe, probe, probe).rate
        if rate.n_scored:
            score = relative_score(rate.mean, entry["mu"], entry["sigma"])
            rows.append(FieldComparison(probe, rate, entry["mu"], entry["sigma"], score.z, score.grade))
    return sorted(rows, key=lambda row: row.z)


def _over_refusal(run: CheckedRun) -> Interval | None:
    checks = check_table(run)
    if checks is None or not checks.of(OVER_REFUSAL).any():
        return None
    return rate_of(run, checks, checks.of(OVER_REFUSAL))


def _corrected(rate: CorrectedRate | None) -> dict[str, float | None] | None:
    if rate is None:
        return None
    values = {"value": rate.value, "low": rate.low, "high": rate.high}
    return {name: value if np.isfinite(value) else None for name, value in values.items()}


SAFETY_SUITE = Suite(SAFETY, _findings, safety_outcome, read_safety)
OVER_REFUSAL_SUITE: Suite[SafetyFindings] = Suite(OVER_REFUSAL, rule=over_refusal_outcome)
