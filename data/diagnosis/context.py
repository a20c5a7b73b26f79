"""The context metric of a run: the columns that can stand for the context, and those that do not fit."""

from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from ragtriage.data.scoring.ranked_lists import missed_names, ranked_lists
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.metrics.analysis.retrieval import hop_outcomes
from ragtriage.metrics.diagnosis.context_metric import (
    ContextChoice,
    ContextColumn,
    choose_per_question,
    is_context_metric,
)
from ragtriage.metrics.metric_registry import ordered
from ragtriage.metrics.schema.metric import whole_number
from ragtriage.metrics.schema.scores import BoolArray, FloatArray, Source, Status

GOLD_IN_CONTEXT = "gold_in_context"
_usual_choices: WeakKeyDictionary[ScoredRun, ContextChoice] = WeakKeyDictionary()  # follow from no setting
_OWN = (Source.HUMAN, Source.JUDGED, Source.COMPUTED)


def context_metrics_of(scored: ScoredRun) -> list[str]:
    """List the metrics that can stand for the context in this run, the usual one first.

    An imported column that does not fit by itself is listed too: a person may know that it is of the context.
    """
    metrics = [
        name
        for name in ordered(scored.metrics)
        if is_context_metric(name)
        and (column := scored.column(name)) is not None
        and (column.status == Status.SCORED).any()
    ]
    if np.isfinite(_given_gold(scored)).any():
        metrics.append(GOLD_IN_CONTEXT)
    usual = context_choice(scored).prevailing
    return [*([usual] if usual else []), *(name for name in metrics if name != usual)]


def context_choice(scored: ScoredRun, metric: str | None = None) -> ContextChoice:
    """Return the context metric of every sample.

    Without a metric, the first of CONTEXT_METRICS that each sample has.
    """
    if metric is None:
        if scored not in _usual_choices:
            _usual_choices[scored] = choose_per_question(_columns(scored), scored.n)
        return _usual_choices[scored]
    values = _given_gold(scored) if metric == GOLD_IN_CONTEXT else scored.values(metric)
    return ContextChoice((metric,), np.where(np.isfinite(values), 0, -1).astype(np.int8), values)


def _columns(scored: ScoredRun) -> list[ContextColumn]:
    unfit = not_the_context(scored)
    retrieved = ~_in_mode(scored, "oracle", "closed_book")
    columns = [ContextColumn(GOLD_IN_CONTEXT, "own", _given_gold(scored))]
    for name in filter(is_context_metric, scored.metrics):
        for source in scored.sources[name]:
            column = scored.column(name, source)
            if column is None:
                continue
            if source in _OWN:
                columns.append(ContextColumn(name, "own", _reachable(scored, name, column.values)))
            elif source == Source.IMPORTED and name not in unfit:
                values = np.where(retrieved, column.values, np.nan)
                columns.append(ContextColumn(name, "imported", values))
    return columns


def _reachable(scored: ScoredRun, name: str, values: FloatArray) -> FloatArray:
    """Leave out recall@k of questions to which more than k documents are relevant: it is a ranking alone."""
    base, _, k = name.partition("@")
    number = whole_number(k) if base == "recall" else None
    if number is None:
        return values
    return np.where(scored.stage_features["gold_documents"] > number, np.nan, values)


def not_the_context(scored: ScoredRun) -> dict[str, str]:
    """Return the imported columns that are named like a context metric but do not fit, each with the reason.

    A column fits if its values lie between 0 and 1 and its name can mean nothing but the context: recall
    without a k is as often an overlap of words with the reference answer.
    """
    unfit = {}
    for name in filter(is_context_metric, scored.metrics):
        column = scored.column(name, Source.IMPORTED)
        if column is None or any(source in _OWN for source in scored.sources[name]):
            continue
        known = column.values[np.isfinite(column.values)]
        if scored.is_off_scale(name):
            known = scored.as_imported(name)
            known = known[np.isfinite(known)]
        if known.size and (known.min() < -1e-6 or known.max() > 1 + 1e-6):
            unfit[name] = f"its values range from {known.min():.2f} to {known.max():.2f}, not from 0 to 1"
        elif name == "recall":
            unfit[name] = "its name does not say whether it measures the documents or the answer's text"
        elif known.size and _in_mode(scored, "oracle", "closed_book")[np.isfinite(column.values)].all():
            unfit[name] = "nothing was retrieved: the context was given"
    return unfit


def _given_gold(scored: ScoredRun) -> FloatArray:
    """(n,) Share of the gold in the context where the context was given; NaN elsewhere."""
    return np.where(_in_mode(scored, "oracle"), scored.stage_features[GOLD_IN_CONTEXT], np.nan)


def _in_mode(scored: ScoredRun, *modes: str) -> BoolArray:
    group = scored.context_modes
    chosen: BoolArray = np.isin(group.codes, [at for at, label in enumerate(group.labels) if label in modes])
    return chosen


OUT_OF_TOP_K = "below"
_UNSEEN, _UNRECORDED = "missed", "unknown"
_TITLES = {
    OUT_OF_TOP_K: "found but out of the top k",
    _UNSEEN: "part missed: not among the candidates",
    _UNRECORDED: "missed or ranked too low (no candidates recorded)",
}


def gold_parts(scored: ScoredRun) -> NDArray[np.object_]:
    """(n,) What a context with some of the gold lacks; "" for all other cases.

    "hop 1", "hop 2" or "hop 1+2": hops found nowhere. OUT_OF_TOP_K: everything was retrieved, and some of
    it is not in the context. Without hops, what was not retrieved is missed, or unknown where no candidates
    are recorded.
    """
    features = scored.stage_features
    share, candidates = features["gold_in_context"], features["gold_in_candidates"]
    partial = (share > 0) & (share < 1 - 1e-9)
    known = np.isfinite(candidates) & (features["has_candidates"] == 1)
    lacks = np.where(known, np.where(candidates >= 1 - 1e-9, OUT_OF_TOP_K, _UNSEEN), _UNRECORDED)
    parts = np.where(partial, lacks, "").astype(object)
    lists = ranked_lists(scored)
    if lists is not None and lists.documents is not None and lists.documents.has_hops.any():
        outcome = hop_outcomes(lists.documents, lists.first_pass, max(lists.documents.grades.shape[1], 1))
        missed = missed_names(lists, outcome.missed)
        by_hop = partial & (missed != "")
        parts[by_hop] = np.array([f"hop {names}" for names in missed[by_hop]], dtype=object)
    return parts


def part_title(part: str) -> str:
    """Return what a part of `gold_parts` is called on screen.

    Raises:
        ValueError: there is no such part.
    """
    if part in _TITLES:
        return _TITLES[part]
    hops = part.removeprefix("hop ").split("+")
    if part == f"hop {'+'.join(hops)}" and all(hops):
        return f"hop{'s' if hops[1:] else ''} {' and '.join(hops)} missed"
    raise ValueError(f"{part[:20]!r}; accepted: {', '.join(_TITLES)}, or hop 1, hop 2 and so on")
