"""The features of the stage rules apart from the metrics: one number per sample, NaN where unknown.

What people and the judge said of attacks since the import is applied to them and to the checks.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from ragtriage.data.scoring.batch_inputs import (
    LACKS,
    NOT_KNOWN,
    checks_of,
    errored,
    has_reference,
    held_codes,
    placed_spans,
)
from ragtriage.data.scoring.scored_run import CHECK_PASS_RATE, MetricColumn, ScoredRun
from ragtriage.data.store.sample_schema import Ragged
from ragtriage.data.suites.check import CheckedSample
from ragtriage.data.suites.registry import evaluated, outcome_of
from ragtriage.data.suites.safety import SAFETY, AttackVerdicts, Verdict
from ragtriage.metrics.definitions.system import check_pass_rate
from ragtriage.metrics.diagnosis.check_kinds import ANSWER_SUITES, FORMAT, suite_code
from ragtriage.metrics.schema.batch import ANSWERABLE, Batch, Checks, Claims, Rankings, SpanRankings
from ragtriage.metrics.schema.scores import FloatArray, IntArray, Source, Status

_WITHOUT_GOLD = [ANSWERABLE.index("no"), ANSWERABLE.index("conversational")]
STAGE_FEATURES = (
    "refused",
    "refused_source",
    "answerable",
    "has_reference",
    "gold_in_context",
    "context_holds",
    "gold_documents",
    "gold_in_candidates",
    "has_candidates",
    "answer",
    "errored",
    "check_failed",
    "content_failed",
    "format_failed",
    "failed_kinds",
    "contradicts_context",
    "documents",
    "text_outcome",
    "text_score",
)


def stage_features_of(table: pa.Table, batch: Batch) -> dict[str, FloatArray]:
    """Gather the evidence of an Arrow table of samples.

    Returns:
        (n,) floats for each name of STAGE_FEATURES: `refused` 1 or 0 with the code of its source,
        `answerable` a code into batch.ANSWERABLE, whether a reference answers the question, the shares of the
        gold in the context and among candidates, whether the context holds the answer (HOLDS, HOLDS_PART or
        LACKS), the number of relevant documents, whether candidates were recorded, whether the answer has
        words (NaN without answer), whether there is none for an error, whether any check, one of the answer's
        content and one of its format failed, which kinds of checks did, whether a document contradicts a
        claim that none supports, the number of documents in the context, and how the words of answer and
        reference compare: the code of batch.Wordings and the score.
    """
    answers = batch.answers
    assert answers is not None  # noqa: S101 -- batch_of always makes this block
    candidates, wordings = Ragged.of(table["candidates"]), batch.wordings
    unknown = np.full(batch.n, np.nan)
    # gold text, else gold documents; an oracle context holds the gold of every question that has an answer
    mode = table["context_mode"].to_numpy(zero_copy_only=False)
    share = _share(batch.spans, batch.rankings, table["retrieved"])
    has_answer = ~np.isin(answers.answerable, _WITHOUT_GOLD)
    by_declaration = (mode == "oracle") & has_answer & ~(share > 0)
    gold = np.where(mode == "closed_book", np.nan, np.where(by_declaration, 1.0, share))
    # by its gold, else by the claims of the reference; for an unanswerable question it lacks the answer
    codes = np.where(np.isnan(gold), answers.context_has_gold, held_codes(gold)).astype(np.float64)
    codes[answers.answerable == ANSWERABLE.index("no")] = LACKS
    texts = table["answer"].to_pylist()
    return {
        "refused": _known(answers.refused),
        "refused_source": answers.refused_source.astype(np.float64),
        "answerable": _known(answers.answerable),
        "has_reference": has_reference(table["reference_answer"]),
        "gold_in_context": gold,
        "context_holds": np.where(codes == NOT_KNOWN, np.nan, codes),
        "gold_documents": _gold_documents(batch.rankings, batch.n),
        "gold_in_candidates": _share(batch.first_pass_spans, batch.first_pass, table["candidates"]),
        "has_candidates": candidates.recorded.astype(np.float64),
        "answer": np.where(
            errored(table), np.nan, [np.nan if text is None else float(bool(text.strip())) for text in texts]
        ),
        "errored": errored(table).astype(np.float64),
        **check_features(batch.checks, batch.n),
        "contradicts_context": _contradicts_context(batch.claims, batch.n),
        "documents": batch.documents.astype(np.float64),
        "text_outcome": unknown if wordings is None else _known(wordings.outcome),
        "text_score": unknown if wordings is None else wordings.score,
    }


def check_features(checks: Checks | None, n: int) -> dict[str, FloatArray]:
    """Return what checks tell of each of n samples: whether any failed, by what, and of which kinds."""
    unknown = np.full(n, np.nan)
    if checks is None:
        return dict.fromkeys(("check_failed", "content_failed", "format_failed", "failed_kinds"), unknown)
    content, of_format = (np.isin(checks.suite.astype(str), names) for names in ([*ANSWER_SUITES], [FORMAT]))
    return {
        "check_failed": _failed(checks, np.ones(len(checks.sample), dtype=np.bool_), n),
        "content_failed": _failed(checks, content, n),
        "format_failed": _failed(checks, of_format, n),
        "failed_kinds": _failed_kinds(checks, n),
    }


def _known(codes: Any) -> FloatArray:
    return np.where(codes < 0, np.nan, codes.astype(np.float64))


def _gold_documents(ranked: Rankings | None, n: int) -> FloatArray:
    """Return how many documents are relevant, each for itself; NaN where hops are named or none is."""
    if ranked is None:
        return np.full(n, np.nan)
    units = (~np.isnan(ranked.unit_rank)).sum(axis=1).astype(np.float64)
    return np.where(ranked.has_hops | (units == 0), np.nan, units)


def _share(spans: SpanRankings | None, ranked: Rankings | None, documents: Any) -> FloatArray:
    """Return the share of the gold in whole ranked lists; NaN where no gold or no list is recorded."""
    share = np.full(len(documents), np.nan)
    if ranked is not None:
        units = (~np.isnan(ranked.unit_rank)).sum(axis=1)
        n_found = np.isfinite(ranked.unit_rank).sum(axis=1)
        listed = (ranked.status != Status.NOT_RUN) & (units > 0)
        share[listed] = n_found[listed] / units[listed]
    if spans is not None:
        known = placed_spans(documents, spans)
        covered = np.nansum(spans.new_gold, axis=1)
        share[known] = covered[known] / spans.gold_chars[known]
    return share


def _contradicts_context(claims: Claims | None, n: int) -> FloatArray:
    """1 where a document contradicts a claim that no document supports; NaN unless all claims are labelled.

    A claim that one document supports and another contradicts is not a mistake of the answer.
    """
    if claims is None:
        return np.full(n, np.nan)
    known = claims.support_known if claims.contradiction_known is None else claims.contradiction_known
    known = known & (claims.source[claims.sample] != Source.ESTIMATED)
    against = known & claims.contradicted.any(axis=1) & ~claims.supported.any(axis=1)
    total, labelled, contradicted = (
        np.bincount(claims.sample[rows], minlength=n) for rows in (slice(None), known, against)
    )
    decided = (contradicted > 0) | ((total > 0) & (labelled == total))
    return np.where(decided, (contradicted > 0).astype(np.float64), np.nan)


def _failed_kinds(checks: Checks, n: int) -> FloatArray:
    """Return the sum of 2**code over the kinds of which a check failed; NaN where none is recorded."""
    codes = {suite: suite_code(str(suite)) for suite in set(checks.suite.tolist())}
    bits = np.zeros(n, dtype=np.int64)
    for suite, code in codes.items():
        if code is not None:
            np.bitwise_or.at(bits, checks.sample[(checks.suite == suite) & ~checks.passed], 1 << code)
    recorded = np.bincount(checks.sample, minlength=n) > 0
    return np.where(recorded, bits.astype(np.float64), np.nan)


def _failed(checks: Checks, chosen: Any, n: int) -> FloatArray:
    total = np.bincount(checks.sample[chosen], minlength=n)
    failed = np.bincount(checks.sample[chosen & ~checks.passed], minlength=n)
    return np.where(total > 0, (failed > 0).astype(np.float64), np.nan)


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
