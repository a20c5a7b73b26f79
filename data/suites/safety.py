"""What the safety suite tells: which attacks succeeded, by type, and what no success still allows."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from ragtriage.data.checks.safety import DELIVERED, NO_REPLY, NOT_ASKED, NOT_SUBMITTED, WAITS
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.suites.attacks import Attacks, attacks_in
from ragtriage.data.suites.check_table import check_table
from ragtriage.data.suites.summary import rate_of, rate_values
from ragtriage.metrics.number_text import percent
from ragtriage.metrics.result_table import Cell, ResultTable
from ragtriage.metrics.schema.scores import BoolArray, FloatArray
from ragtriage.metrics.statistics.intervals import Interval
from ragtriage.metrics.statistics.prevalence import LEAST_LABELS, CorrectedRate
from ragtriage.metrics.statistics.rule_of_three import still_possible
from ragtriage.metrics.suites.safety import (
    ATTACK_TYPES,
    FEWEST_PROMPTS,
    all_pass_bound,
    corrected_attack_rate,
    exact_rate,
    prompt_outcomes,
    relative_score,
)

LACKING = {NOT_SUBMITTED: "not submitted", NOT_ASKED: "not asked", NO_REPLY: "without an answer"}
MOST_TECHNIQUES = 12


@dataclass(frozen=True)
class AttackGroup:
    """The prompts of one type or technique.

    Attributes:
        key: of the type, or the technique as tagged.
        title: on screens.
        prompts: how many there are.
        held: prompts of which no repeat succeeded.
        succeeded: prompts of which one did, hit@k.
        rate: share that held among those measured, with its exact interval.
        single: mean share of repeats that succeeded, over prompts measured; 1 - rate without repeats.
    """

    key: str
    title: str
    prompts: int
    held: int
    succeeded: int
    rate: Interval
    single: float

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
    """A probe beside the models of garak's calibration.

    Attributes:
        probe: "probe/detector".
        rate: share that held.
        mu: mean of the calibration.
        sigma: its standard deviation.
        z: of the rate.
        grade: in words.
    """

    probe: str
    rate: Interval
    mu: float
    sigma: float
    z: float
    grade: str


@dataclass(frozen=True)
class SafetyDetail:
    """The safety suite of a run.

    Attributes:
        overall: all prompts.
        types: by type, the lowest rate first.
        techniques: by technique, likewise; () where none is tagged.
        repeats: the most repeats of a prompt.
        lacking: why prompts have no answer -> how many repeats of prompts.
        delivered: answers that were flagged and delivered all the same.
        judged: checks that a judge decided.
        by: who decided -> how many checks: "rule", "person", "judge", "recorded" of unknown origin.
        waiting: checks that only a person or the judge can decide, and neither has.
        models: judges that were asked since the import.
        corrected: rate of successful attacks corrected for the judge's errors; None with too few labels.
        labelled: prompts that a person and the judge both judged.
        field: probes of garak's calibration.
        over_refusal: share of harmless look-alikes that were answered; None where there are none.
    """

    overall: AttackGroup
    types: tuple[AttackGroup, ...]
    techniques: tuple[AttackGroup, ...]
    repeats: int
    lacking: Mapping[str, int]
    delivered: int
    judged: int
    by: Mapping[str, int]
    waiting: int
    models: tuple[str, ...]
    corrected: CorrectedRate | None
    labelled: int
    field: tuple[FieldComparison, ...]
    over_refusal: Interval | None

    @property
    def measured(self) -> int:
        """Prompts that held or not."""
        return self.overall.held + self.overall.succeeded

    @property
    def statement(self) -> str:
        """What a person would say, with the numbers."""
        sentences = (self._result(), self._lacking(), self._sources(), self._uncorrected(), self._benign())
        return " ".join(sentence for sentence in sentences if sentence)

    def _result(self) -> str:
        n, hits = self.measured, self.overall.succeeded
        if not n:
            return f"None of {self.overall.prompts:,} attack prompts was measured."
        repeats = f" in at least one of {self.repeats} repeats" if self.repeats > 1 else ""
        prompts = f"{n:,} measured attack prompt{'s' if n > 1 else ''}"
        few = f" {FEWEST_PROMPTS} prompts are needed for a gate." if n < FEWEST_PROMPTS else ""
        if hits:
            worst = self.types[0]
            share = f"{worst.succeeded:,} of {worst.held + worst.succeeded:,}"
            told = f"; {worst.title.lower()} fares worst ({share})" if len(self.types) > 1 else ""
            return f"{hits:,} of {prompts} succeeded{repeats}{told}.{few}"
        allowed = percent(still_possible(n), 1)
        return (
            f"None of {prompts} succeeded. That still allows {allowed} of such attacks to succeed (95 %, "
            f"rule of three); the Wilson lower bound of the pass rate is {all_pass_bound(n):.3f}.{few}"
        )

    def _lacking(self) -> str:
        prompts, hits = self.overall.prompts, self.overall.succeeded
        unmeasured = self.overall.not_measured
        if not unmeasured:
            return ""
        told = ", ".join(f"{n:,} {LACKING[reason]}" for reason, n in self.lacking.items())
        silent = unmeasured - sum(self.lacking.values()) - self.waiting
        if self.repeats == 1 and silent > 0:  # with repeats the reasons count answers, not prompts
            told = ", ".join(filter(None, (told, f"{silent:,} without a verdict")))
        share = ""
        if self.measured and hits:
            of_measured, of_all = percent(hits / self.measured), percent(hits / prompts)
            if of_measured != of_all:
                share = f"; {of_measured} of the measured prompts succeeded, {of_all} of all"
        reasons = f" ({told})" if told else ""
        return f"{unmeasured:,} of {prompts:,} are not measured and do not count as passed{reasons}{share}."

    def _sources(self) -> str:
        """Return who decided the checks, where it was not rules alone, and how many still wait."""
        words = {"rule": "a rule", "person": "a person", "judge": "the judge", "recorded": "the file alone"}
        told = ", ".join(f"{n:,} by {words[who]}" for who, n in self.by.items())
        decided = f"Checks decided: {told}" if told and set(self.by) != {"rule"} else ""
        waits = "waits" if self.waiting == 1 else "wait"
        whom = "a person (page Cases) or the judge (ragtriage judge RUN --checks safety)"
        waiting = f"{self.waiting:,} {waits} for {whom}" if self.waiting else ""
        sentence = "; ".join(filter(None, (decided, waiting)))
        return f"{sentence}." if sentence else ""

    def _uncorrected(self) -> str:
        if not self.judged:
            return ""
        if self.corrected is not None and np.isfinite(self.corrected.value):
            ends = (
                f", 95 % {self.corrected.low:.2f} to {self.corrected.high:.2f}"
                if np.isfinite(self.corrected.low)
                else ""
            )
            return (
                f"Corrected for the judge’s errors on {self.labelled:,} labelled prompts, "
                f"{self.corrected.value:.2f} succeed{ends} (Rogan-Gladen)."
            )
        return (
            f"{self.judged:,} verdicts are a judge’s and not corrected for its errors: that needs "
            f"{LEAST_LABELS} prompts that a person labelled too, of both kinds."
        )

    def _benign(self) -> str:
        benign = self.over_refusal
        if benign is None or not benign.n_scored:
            return ""
        answered = round(benign.mean * benign.n_scored)
        return f"{answered:,} of {benign.n_scored:,} harmless look-alikes got an answer."

    @property
    def tables(self) -> tuple[ResultTable, ...]:
        """By type, by technique, and beside the field."""
        tables = [self._by_type()]
        if len(self.techniques) > 1:
            note = f"The same by technique, the lowest rate first; the {MOST_TECHNIQUES} commonest."
            tables.append(
                ResultTable("By technique", _rows(self.techniques, "Technique", self.repeats), note)
            )
        if self.field:
            tables.append(self._beside_the_field())
        return tuple(tables)

    def _by_type(self) -> ResultTable:
        repeated = (
            f" Succeeded: at least one of {self.repeats} repeats did (hit@{self.repeats}), never pooled."
            if self.repeats > 1
            else ""
        )
        return ResultTable(
            "By type of attack",
            _rows(self.types, "Type", self.repeats),
            "Held: share of measured prompts whose attack did not succeed, exact 95 % interval (Clopper-"
            f"Pearson). Not submitted, failed or undecided prompts are not measured.{repeated}",
            tuple(
                f"attack_{'succeeded' if group.succeeded else 'not_measured'}:{group.key.replace(' ', '_')}"
                if group.succeeded or group.not_measured
                else ""
                for group in self.types
            ),
        )

    def _beside_the_field(self) -> ResultTable:
        rows: tuple[dict[str, Cell], ...] = tuple(
            {
                "Probe": row.probe,
                "Held": row.rate,
                "Mean of the field": row.mu,
                "z": round(row.z, 2),
                "Grade": row.grade,
            }
            for row in self.field
        )
        note = (
            "z = (held - mean) / max(standard deviation, 1/30) over the models of garak 0.17.1’s calibration."
        )
        return ResultTable("Beside other models", rows, note)

    def to_dict(self) -> dict[str, Any]:
        """Return its numbers as JSON values."""
        n = self.measured
        return {
            "statement": self.statement,
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
            "field": [
                {
                    "probe": row.probe,
                    "rate": row.rate.mean,
                    "mu": row.mu,
                    "sigma": row.sigma,
                    "z": row.z,
                    "grade": row.grade,
                }
                for row in self.field
            ],
            "over_refusal": None if self.over_refusal is None else rate_values(self.over_refusal),
        }


def safety_detail(scored: ScoredRun) -> SafetyDetail | None:
    """Return what the safety suite of a run tells; None where it has no safety check."""
    attacks = attacks_in(scored)
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
    by_judge, by_person = (_by_prompt(attacks, said) for said in (attacks.judge, attacks.human))
    reasons = Counter(attacks.reason[attacks.passed < 0].tolist())
    # (m,) True for the first check of each sample: a sample with several checks is one repeat
    first_of_sample = np.concatenate(([True], attacks.sample[1:] != attacks.sample[:-1])).astype(np.bool_)
    return SafetyDetail(
        overall=_group(attacks, every, "all", "All attacks"),
        types=tuple(sorted(types, key=_badness)),
        techniques=tuple(sorted(techniques, key=_badness)),
        repeats=int(np.bincount(attacks.prompt[first_of_sample]).max()),
        lacking={reason: reasons[reason] for reason in LACKING if reasons[reason]},
        delivered=int((attacks.reason == DELIVERED).sum()),
        judged=int((attacks.by == "judge").sum()),
        by=_decided_by(attacks),
        waiting=int(np.isin(attacks.reason, WAITS)[attacks.passed < 0].sum()),
        models=tuple(sorted({said.model for said in scored.verdicts.values() if said.judge})),
        corrected=corrected_attack_rate(by_judge, by_person, LEAST_LABELS),
        labelled=int((np.isfinite(by_judge) & np.isfinite(by_person)).sum()),
        field=tuple(_field(attacks)),
        over_refusal=_over_refusal(scored),
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


def _by_prompt(attacks: Attacks, said: FloatArray) -> FloatArray:
    """(p,) 1 where someone says of a repeat that the attack succeeded, 0 where of none, NaN where silent."""
    values = np.full(attacks.n_prompts, np.nan)
    for value in (0.0, 1.0):
        values[attacks.prompt[said == value]] = value
    return values


def _rows(groups: tuple[AttackGroup, ...], column: str, repeats: int) -> tuple[dict[str, Cell], ...]:
    rows: list[dict[str, Cell]] = []
    for group in groups:
        row: dict[str, Cell] = {column: group.title, "Prompts": group.prompts}
        row |= {"Succeeded": group.succeeded, "Not measured": group.not_measured, "Held": group.rate}
        if repeats > 1:
            row["Share of repeats that succeeded"] = group.single if np.isfinite(group.single) else None
        rows.append(row)
    return tuple(rows)


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


def _over_refusal(scored: ScoredRun) -> Interval | None:
    checks = check_table(scored)
    if checks is None or not checks.of("over refusal").any():
        return None
    return rate_of(scored, checks, checks.of("over refusal"))


def _corrected(rate: CorrectedRate | None) -> dict[str, float | None] | None:
    if rate is None:
        return None
    values = {"value": rate.value, "low": rate.low, "high": rate.high}
    return {name: value if np.isfinite(value) else None for name, value in values.items()}
