"""From samples on disk to the array inputs of the metrics; a judge's labels replace what was recorded."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ragtriage.data.scoring.gold_join import Match, facets_of, rankings, span_rankings
from ragtriage.data.store.judge_results import JudgeReply, reply_from
from ragtriage.data.store.sample_schema import SCHEMA, Ragged, flags, numbers, padded, rank_matrix
from ragtriage.data.suites.citation_support import citations_of
from ragtriage.data.suites.citations import CitationStyle
from ragtriage.data.suites.contexts import BatchWords, passages_of, with_text, words_of
from ragtriage.data.text.refusal_detection import estimated_refusals, refused_answers
from ragtriage.data.text.right_by_text import wordings_of
from ragtriage.metrics.diagnosis.stage_rules import WHOLE
from ragtriage.metrics.schema.batch import (
    ANSWERABLE,
    Answers,
    Batch,
    Checks,
    Claims,
    ContextUse,
    Rankings,
    ReferenceClaims,
    SpanRankings,
)
from ragtriage.metrics.schema.scores import BoolArray, FloatArray, IntArray, Source, Status


def heuristic_use(
    table: pa.Table, retrieved: Ragged, rows: IntArray, words: BatchWords
) -> tuple[IntArray, FloatArray]:
    """Attribute answers to documents by their words: the rows where texts are recorded, and the shares."""
    answers = table["answer"].to_pylist()
    texts = with_text(retrieved)
    chosen = [row for row in rows.tolist() if answers[row] and texts[row]]
    at = np.array(chosen, dtype=np.int64)
    return at, words.shares(at, [answers[row] for row in chosen])


ERROR = "error"  # the tag by which importers name what went wrong
REFUSED_SOURCES = {"human": Source.HUMAN, "judge": Source.JUDGED, "imported": Source.IMPORTED}


def batch_of(
    table: pa.Table,
    match: Match = "id",
    ids_match: bool = True,
    style: CitationStyle | None = None,
    refusals: tuple[str, ...] = (),
) -> Batch:
    """Make the metric inputs of an Arrow table of samples; estimates fill what was not recorded.

    Args:
        table: the samples.
        match: whether gold is compared with chunk ids or with document ids.
        ids_match: whether any gold id of the run occurs among its retrieved ids.
        style: how the run cites; None for not at all.
        refusals: patterns of answers that refuse, beside the rule.
    """
    retrieved = Ragged.of(table["retrieved"])
    ranked = rankings(table, match, ids_match=ids_match)
    reference = _reference_claims(table, retrieved.width)
    spans = span_rankings(table)
    holds = _context_has_gold(table, ranked, reference, spans)
    answers = _answers(table, holds, refusals)
    words = words_of(retrieved)
    return Batch(
        n=table.num_rows,
        documents=retrieved.lengths,
        rankings=ranked,
        spans=spans,
        claims=_claims(table, retrieved.width),
        reference_claims=reference,
        context_use=_use(table, retrieved, answers.refused == 1, words),
        answers=answers,
        checks=checks_of(table),
        document_relevant=_document_labels(retrieved, table.num_rows),
        first_pass=rankings(table, match, "candidates", ids_match),
        first_pass_spans=span_rankings(table, column="candidates"),
        citations=citations_of(
            table, style, answers.refused == 1, answers.refused_source != Source.ESTIMATED
        ),
        facets=facets_of(table, match) if ids_match else None,
        passages=passages_of(table, retrieved, words),
        wordings=wordings_of(table, answers.refused == 1),
    )


def _document_labels(retrieved: Ragged, n: int) -> NDArray[np.int8] | None:
    labels = flags(retrieved.field("relevant")) if len(retrieved.sample) else np.zeros(0, dtype=np.int8)
    if not (labels >= 0).any():
        return None
    return padded(labels, retrieved.sample, retrieved.place, (n, retrieved.width), -1)


def _recorded_status(recorded: BoolArray) -> NDArray[np.int8]:
    return np.where(recorded, Status.SCORED, Status.NOT_RUN).astype(np.int8)


def _claims(table: pa.Table, width: int) -> Claims | None:
    claims = Ragged.of(table["claims"])
    if not claims.recorded.any():
        return None
    support, against = claims.field("supported_by"), claims.field("contradicted_by")
    return Claims(
        sample=claims.sample,
        in_reference=flags(claims.field("in_reference")),
        supported=rank_matrix(support, width),
        contradicted=rank_matrix(against, width),
        contradiction_known=against.is_valid().to_numpy(zero_copy_only=False),
        support_known=_support_known(table, claims, support),
        status=_recorded_status(claims.recorded),
        source=np.full(table.num_rows, Source.COMPUTED, dtype=np.int8),
    )


def _support_known(table: pa.Table, claims: Ragged, support: Any) -> BoolArray:
    """(n,) True where support was recorded; an answer without a context has none."""
    mode = table["context_mode"].to_numpy(zero_copy_only=False)
    recorded = support.is_valid().to_numpy(zero_copy_only=False)
    return np.asarray(recorded & (mode != "closed_book")[claims.sample], dtype=np.bool_)


def _reference_claims(table: pa.Table, width: int) -> ReferenceClaims | None:
    claims = Ragged.of(table["reference_claims"])
    if not claims.recorded.any():
        return None
    support = claims.field("supported_by")
    return ReferenceClaims(
        sample=claims.sample,
        in_answer=flags(claims.field("in_answer")),
        supported=rank_matrix(support, width),
        support_known=_support_known(table, claims, support),
        status=_recorded_status(claims.recorded),
        source=np.full(table.num_rows, Source.COMPUTED, dtype=np.int8),
    )


def _answers(table: pa.Table, context_has_gold: NDArray[np.int8], patterns: tuple[str, ...]) -> Answers:
    recorded = flags(table["refused"].combine_chunks())
    names = table["refused_source"].to_pylist()
    source = np.array([REFUSED_SOURCES.get(name, Source.ESTIMATED) for name in names], dtype=np.int8)
    empty = np.array([answer is not None and not answer.strip() for answer in table["answer"].to_pylist()])
    unknown = (recorded < 0) | (empty.astype(np.bool_) & (recorded == 0) & (source != Source.HUMAN))
    guessed, unread = estimated_refusals(table, unknown, patterns)
    source[unknown] = Source.ESTIMATED
    codes = {name: code for code, name in enumerate(ANSWERABLE)}
    answerable = np.array([codes.get(name, -1) for name in table["answerable"].to_pylist()], dtype=np.int8)
    answers = (context_has_gold != NOT_KNOWN) | (has_reference(table["reference_answer"]) == 1)
    return Answers(
        refused=np.where(errored(table), -1, np.where(unknown, guessed, recorded)).astype(np.int8),
        refused_source=source,
        answerable=answerable,
        context_has_gold=context_has_gold,
        unread=unread,
        expected=(answerable == codes["yes"]) | ((answerable < 0) & answers),
    )


def errored(table: Any) -> BoolArray:
    """(n,) True where a sample has no words for an answer and names an error, in the tag of importers."""
    return np.array(
        [
            not (answer or "").strip() and any(tag["key"] == ERROR and tag["value"] for tag in tags or ())
            for answer, tags in zip(table["answer"].to_pylist(), table["tags"].to_pylist(), strict=True)
        ],
        dtype=np.bool_,
    )


def has_reference(references: Any) -> FloatArray:
    """(n,) 1 where a reference answers the question, 0 where it is empty or refuses; NaN without one."""
    declines, refused = np.full(len(references), np.nan), refused_answers(references)
    for row, reference in enumerate(references.to_pylist()):
        if reference is not None:
            declines[row] = bool(reference.strip()) and not refused[row]
    return declines


def _context_has_gold(
    table: pa.Table, ranked: Rankings | None, reference: ReferenceClaims | None, spans: SpanRankings | None
) -> NDArray[np.int8]:
    """Codes of Answers.context_has_gold: by gold text, else gold documents, else the reference's claims.

    All of the gold is needed: every hop where hops are named, else every relevant document, all of the gold
    text, every claim of the reference.
    """
    n = table.num_rows
    known = np.full(n, NOT_KNOWN, dtype=np.int8)
    if reference is not None and len(reference.sample):
        total = np.bincount(reference.sample, minlength=n)
        held = np.bincount(reference.sample[reference.supported.any(axis=1)], minlength=n)
        labelled = np.bincount(reference.sample[reference.support_known], minlength=n) == total
        judged = (total > 0) & labelled
        known[judged] = held_codes(held[judged] / total[judged])
    if ranked is not None:
        scored = ranked.status == Status.SCORED
        hit = np.isfinite(ranked.unit_rank)
        share = hit.sum(axis=1) / np.maximum(1, (~np.isnan(ranked.unit_rank)).sum(axis=1))
        known[scored] = held_codes(share[scored])
    if spans is not None:
        placed = placed_spans(table["retrieved"], spans)
        covered = np.nansum(spans.new_gold, axis=1)
        known[placed] = held_codes(covered[placed] / spans.gold_chars[placed])
    return known


NOT_KNOWN, LACKS, HOLDS, HOLDS_PART = -1, 0, 1, 2


def held_codes(share: FloatArray) -> NDArray[np.int8]:
    """Return whether contexts with these shares of the gold hold the answer: HOLDS, HOLDS_PART or LACKS."""
    codes = np.where(share >= WHOLE, HOLDS, np.where(share > 0, HOLDS_PART, LACKS))
    return np.asarray(codes, dtype=np.int8)


def placed_spans(documents: Any, spans: SpanRankings) -> BoolArray:
    """(n,) True where gold text is recorded, and the place of the documents in their sources too."""
    lists = Ragged.of(documents)
    offsets = lists.field("start").is_valid().to_numpy(zero_copy_only=False)
    placed = np.bincount(lists.sample[offsets], minlength=len(documents)) > 0
    return np.asarray(
        (spans.status != Status.NOT_RUN) & (spans.gold_chars > 0) & (placed | (lists.lengths == 0)),
        dtype=np.bool_,
    )


def _use(table: pa.Table, retrieved: Ragged, refused: BoolArray, words: BatchWords) -> ContextUse | None:
    if retrieved.width == 0:
        return None
    stated, status, source = _stated_use(table, retrieved)
    _use_by_claims(table, retrieved, stated[0], status)
    used, share = stated
    open_rows = np.flatnonzero((status != Status.SCORED) & (retrieved.lengths > 0) & ~refused)
    rows, estimate = heuristic_use(table, retrieved, open_rows, words)
    status[rows], source[rows] = Status.SCORED, Source.ESTIMATED
    used[rows] |= estimate > 0
    share[rows] = np.where(estimate > 0, estimate, share[rows])
    # count documents that a labelled claim cites as used, whatever an estimate from words says
    estimated = (status == Status.SCORED) & (source == Source.ESTIMATED)
    claims = _claims(table, retrieved.width)
    if claims is not None:
        is_estimated = estimated[claims.sample]
        np.logical_or.at(used, claims.sample[is_estimated], claims.supported[is_estimated])
    status[retrieved.recorded & (retrieved.lengths == 0)] = Status.NOT_APPLICABLE
    if not (status == Status.SCORED).any():
        return None
    status[refused & (retrieved.lengths > 0)] = Status.SCORED
    return ContextUse(used, share, retrieved.lengths, refused, status, source)


def _use_by_claims(table: pa.Table, retrieved: Ragged, used: BoolArray, status: NDArray[np.int8]) -> None:
    """Infer use from labels of claims, where use is not recorded and every claim is labelled."""
    claims = _claims(table, retrieved.width)
    if claims is None:
        return
    unknown = np.bincount(claims.sample[~claims.support_known], minlength=table.num_rows) > 0
    labelled = np.bincount(claims.sample, minlength=table.num_rows) > 0
    open_rows = labelled & ~unknown & (status != Status.SCORED) & (retrieved.lengths > 0)
    is_open = open_rows[claims.sample]
    np.logical_or.at(used, claims.sample[is_open], claims.supported[is_open])
    status[open_rows] = Status.SCORED


def _stated_use(
    table: pa.Table, retrieved: Ragged
) -> tuple[tuple[BoolArray, NDArray[np.float64]], NDArray[np.int8], NDArray[np.int8]]:
    """Use as recorded: the `used` list first, else the documents that `citations` name."""
    n, width = table.num_rows, retrieved.width
    used = np.zeros((n, width), dtype=np.bool_)
    share = np.full((n, width), np.nan)
    marks = Ragged.of(table["used"])
    ranks = numbers(marks.field("rank")).astype(np.int64) - 1 if len(marks.sample) else marks.sample
    inside = ranks < width
    used[marks.sample[inside], ranks[inside]] = True
    if len(marks.sample):
        share[marks.sample[inside], ranks[inside]] = numbers(marks.field("share"))[inside]
    names = table["used_source"].to_pylist()
    by_name = {"judge": Source.JUDGED, "lexical": Source.ESTIMATED}
    source = np.array([by_name.get(name, Source.COMPUTED) for name in names], dtype=np.int8)
    recorded = marks.recorded.copy()
    cited = Ragged.of(table["citations"])
    for row in np.flatnonzero(cited.recorded & ~recorded & (retrieved.lengths > 0)):
        used[row] = _cited(table, int(row), width)
        recorded[row] = True
    return (used, share), _recorded_status(recorded), source


def _cited(table: pa.Table, row: int, width: int) -> BoolArray:
    cited = {name for part in table["citations"][row].as_py() for name in part["ids"] or ()}
    used = np.zeros(width, dtype=np.bool_)
    for place, document in enumerate(table["retrieved"][row].as_py()):
        used[place] = document["id"] in cited
    return used


def checks_of(table: pa.Table) -> Checks | None:
    """Return the decided checks of an Arrow table of samples, evaluated first; None where none is decided."""
    checks = Ragged.of(table["checks"])
    verdict = flags(checks.field("passed"))
    decided = verdict >= 0
    if not decided.any():
        return None
    suite = np.array(checks.field("suite").to_pylist(), dtype=object)
    return Checks(np.asarray(checks.sample[decided], dtype=np.int64), suite[decided], verdict[decided] == 1)


def overlaid(table: pa.Table, payloads: Mapping[int, str]) -> tuple[Any, dict[int, JudgeReply]]:
    """Replace the labels of an Arrow table of samples by a judge's, where there are any.

    A person's word on a refusal stays; everything else that the judge says takes the place of what was
    recorded.

    Args:
        table: the samples.
        payloads: JSON of the judge's readings, by place.

    Returns:
        The table, and the readings by place.
    """
    readings = {at: reply_from(orjson.loads(text)) for at, text in payloads.items()}
    if not readings:
        return table, readings
    labels: dict[str, Mapping[int, Any]] = {
        "claims": {at: _labelled_claims(reply) for at, reply in readings.items() if reply.form.answer},
        "reference_claims": {
            at: _statements(reply) for at, reply in readings.items() if reply.form.reference
        },
        "used": {
            at: _used(reply) for at, reply in readings.items() if reply.form.answer and reply.form.ranks
        },
        "retrieved": _relevance(table, readings),
    }
    refused = {at: reply.refused for at, reply in readings.items() if reply.refused is not None}
    by_people = pc.equal(table["refused_source"], "human").fill_null(False).to_pylist()
    refused = {at: refuses for at, refuses in refused.items() if not by_people[at]}
    labels["refused"], labels["refused_source"] = refused, dict.fromkeys(refused, "judge")
    labels["used_source"] = dict.fromkeys(labels["used"], "judge")
    for name, values in labels.items():
        table = _replaced(table, name, values)
    return table, readings


def judged_sample(sample: Mapping[str, Any], read: JudgeReply) -> dict[str, Any]:
    """Return a stored sample with a judge's labels in place of its own."""
    labelled = dict(sample)
    if read.form.answer:
        labelled["claims"] = _labelled_claims(read)
        if read.form.ranks:
            labelled |= {"used": _used(read), "used_source": "judge"}
        if sample["refused_source"] != "human":
            labelled |= {"refused": read.refused, "refused_source": "judge"}
    if read.form.reference:
        labelled["reference_claims"] = _statements(read)
    if read.form.ranks:
        labelled["retrieved"] = _labelled(sample["retrieved"], read)
    return labelled


def _replaced(table: pa.Table, name: str, values: Mapping[int, Any]) -> pa.Table:
    """Put values into a column at their places."""
    if not values:
        return table
    places = sorted(values)
    field = SCHEMA.field(name)
    fresh = pa.array([values[at] for at in places], field.type)
    order = np.arange(table.num_rows)
    order[places] = table.num_rows + np.arange(len(places))
    column = pa.chunked_array([*table[name].cast(field.type).chunks, fresh]).take(pa.array(order))
    return table.set_column(table.column_names.index(name), field, column.combine_chunks())


def _labelled_claims(one: JudgeReply) -> list[dict[str, Any]]:
    known = bool(one.form.ranks)
    return [
        {
            "text": claim.text,
            "in_reference": _wholly(claim.in_reference),
            "supported_by": list(claim.by) if known else None,
            "contradicted_by": list(claim.against) if known else None,
        }
        for claim in one.claims
    ]


def _statements(one: JudgeReply) -> list[dict[str, Any]]:
    known = bool(one.form.ranks)
    return [
        {
            "text": each.text,
            "in_answer": _wholly(each.in_answer),
            "supported_by": list(each.by) if known else None,
        }
        for each in one.statements
    ]


def _wholly(said: float | None) -> bool | None:
    """Return whether the whole is said, as samples have it; metrics count a part by half."""
    return None if said is None else said == 1.0


def _used(one: JudgeReply) -> list[dict[str, Any]]:
    return [{"rank": rank, "share": None} for rank in one.used]


def _relevance(table: pa.Table, readings: Mapping[int, JudgeReply]) -> dict[int, list[dict[str, Any]]]:
    """Label the documents that the judge was shown; those without a text keep no label."""
    places = sorted(at for at, reply in readings.items() if reply.form.ranks)
    lists = table["retrieved"].take(pa.array(places, pa.int64())).to_pylist() if places else []
    return {at: _labelled(documents, readings[at]) for at, documents in zip(places, lists, strict=True)}


def _labelled(documents: Sequence[dict[str, Any]], read: JudgeReply) -> list[dict[str, Any]]:
    shown, relevant = set(read.form.ranks), set(read.relevant)
    return [
        {**document, "relevant": rank in relevant if rank in shown else None}
        for rank, document in enumerate(documents, start=1)
    ]
