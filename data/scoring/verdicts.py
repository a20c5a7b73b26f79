"""Apply what people and the judge said of attacks since the import to the checks of a scored run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from ragtriage.data.scoring.batch_inputs import checks_of
from ragtriage.data.scoring.scored_run import CHECK_PASS_RATE, MetricColumn, ScoredRun
from ragtriage.data.scoring.stage_features import check_features
from ragtriage.data.store.ragged import Ragged
from ragtriage.data.suites.check import CheckedSample
from ragtriage.data.suites.evaluate import evaluated, outcome_of
from ragtriage.data.suites.safety import SAFETY, AttackVerdicts, Verdict
from ragtriage.metrics.definitions.system import check_pass_rate
from ragtriage.metrics.schema.batch import Checks
from ragtriage.metrics.schema.scores import FloatArray, IntArray, Source, Status

READ = ("answer", "extra", "tags", "checks")  # what the rule of a safety check looks at


def with_attack_verdicts(scored: ScoredRun, said: AttackVerdicts) -> ScoredRun:
    """Return a run whose safety checks count what people and the judge said; itself where none did."""
    table = scored.auxiliary_table("checks")
    verdicts = _by_row(scored, said)
    if table is None or not verdicts:
        return scored
    rows = np.array(sorted(verdicts), dtype=np.int64)
    with_verdicts = _told_checks(table["checks"], _outcomes(scored, rows, verdicts))
    checks = checks_of(pa.table({"checks": with_verdicts.take(pa.array(rows))}))
    features = {}
    for name, values in check_features(checks, len(rows)).items():
        features[name] = scored.stage_features[name].copy()
        features[name][rows] = values
    rate = _pass_rate(scored, rows, checks)
    return scored.with_verdicts(said.key, verdicts, pa.table({"checks": with_verdicts}), features, rate)


def _by_row(scored: ScoredRun, said: AttackVerdicts) -> dict[int, Verdict]:
    """Return what was said by row; cases that the run does not have are left out."""
    verdicts = {
        row: Verdict(None, answers, said.model) for row, answers in said.judge.items() if row < scored.n
    }
    if not said.people:
        return verdicts
    wanted = np.isin(scored.question_ids, np.array([name for name, _ in said.people], dtype=object))
    for row in np.flatnonzero(wanted[scored.question]).tolist():
        case = str(scored.question_ids[scored.question[row]]), int(scored.repeats[row])
        if case in said.people:
            judged = verdicts.get(row, Verdict())
            verdicts[row] = Verdict(said.people[case], judged.judge, judged.model)
    return verdicts


def _outcomes(
    scored: ScoredRun, rows: IntArray, verdicts: Mapping[int, Verdict]
) -> dict[tuple[int, int], dict[str, Any]]:
    """Return the safety checks of rows decided anew: (row, place in its list) -> an entry of EVALUATED."""
    decided = {}
    samples = scored.samples.read(rows.tolist(), READ)
    for row, sample in zip(rows.tolist(), samples, strict=True):
        whole = CheckedSample.of(sample)
        for place, check in enumerate(sample["checks"] or ()):
            suite, outcome = outcome_of(check, whole, verdicts[row])
            if suite == SAFETY:
                decided[row, place] = evaluated(check, suite, outcome)
    return decided


def _told_checks(column: Any, decided: Mapping[tuple[int, int], Mapping[str, Any]]) -> Any:
    """Return the list column of checks with those that were decided anew in their place."""
    ragged = Ragged.of(column)
    starts = np.concatenate(([0], np.cumsum(ragged.lengths)))
    places = [int(starts[row]) + place for row, place in decided]
    taken = np.arange(len(ragged.sample))
    taken[places] = len(taken) + np.arange(len(places))
    anew: Sequence[Mapping[str, Any]] = list(decided.values())
    entries = pa.concat_arrays([ragged.entries, pa.array(anew, ragged.entries.type)]).take(pa.array(taken))
    missing = pa.array(~ragged.recorded)
    return pa.ListArray.from_arrays(pa.array(starts.astype(np.int32)), entries, mask=missing)


def _pass_rate(scored: ScoredRun, rows: IntArray, checks: Checks | None) -> MetricColumn:
    """Return the share of each sample's checks that passed, anew for some rows."""
    n = scored.n
    known = scored.column(CHECK_PASS_RATE, Source.COMPUTED)
    values: FloatArray = np.full(n, np.nan) if known is None else known.values.copy()
    status = np.full(n, Status.NOT_APPLICABLE, dtype=np.int8) if known is None else known.status.copy()
    if checks is not None:
        anew = check_pass_rate(checks, len(rows))
        values[rows], status[rows] = anew.values, anew.status
    return MetricColumn(values, status, np.full(n, Source.COMPUTED, dtype=np.int8))
