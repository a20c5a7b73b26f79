"""Which setting made the difference: factors of the configurations, and their effects from clean pairs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from ragtriage.data.chunking.grids import BOOKKEEPING
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.store.workspace import Run, flat_settings, setting_text
from ragtriage.metrics.metric_registry import bounds_of, declared
from ragtriage.metrics.schema.scores import FloatArray
from ragtriage.metrics.statistics.intervals import question_means
from ragtriage.metrics.statistics.max_t import cluster_sums, max_t
from ragtriage.metrics.statistics.paired import PairedDifference, Verdict, paired, verdict

NOT_SET = "(not set)"
_SKIPPED = BOOKKEEPING  # paths, as a whole
_KINDS = {
    "chunking": ("chunk", "overlap", "splitter"),
    "embedding": ("embed",),
    "reranker": ("rerank", "cross_encoder"),
    "top-k": ("top_k", "topk", "top-k", "depth", "n_documents"),
    "retriever": ("retriev", "search", "index", "hybrid", "bm25"),
    "prompt": ("prompt", "template", "instruction"),
    "generator": ("generator", "llm", "model", "temperature"),
}


@dataclass(frozen=True)
class Factor:
    """One setting, or several that always change together, in which the chosen runs differ."""

    key: str  # names it in the address: its settings joined by " + "
    kind: str  # the part of the pipeline it belongs to, "" where its name does not tell
    values: Mapping[str, str]  # run id -> value, as text


@dataclass(frozen=True)
class Effect:
    """The effect of changing one factor, from all pairs of runs that differ in it alone."""

    factor: str  # key of the factor
    before: str  # its value on one side
    after: str  # its value on the other
    pairs: tuple[tuple[str, str], ...]  # (run id with before, run id with after)
    # mean difference over questions, averaged over the pairs first, with the interval of this effect by
    # itself
    difference: PairedDifference
    adjusted_p: float  # after step-down max-T over the effects on display
    low: float  # lower end of the interval that the verdict rests on: 0 lies outside where adjusted_p < 0.05
    high: float  # its upper end
    verdict: Verdict  # better, worse, cannot tell, unchanged or no direction


@dataclass(frozen=True)
class Confounded:
    """A factor whose effect cannot be told apart."""

    factor: str  # key of the factor
    # factors that change with it in some of the pairs of runs that come closest to isolating it
    beside: tuple[str, ...]


@dataclass(frozen=True)
class Ablation:
    """The factors of some runs and what is known of their effects on one metric."""

    metric: str  # full name
    factors: tuple[Factor, ...]  # in which the runs differ
    effects: tuple[Effect, ...]  # of those that some pair isolates
    confounded: tuple[Confounded, ...]  # the others
    without_config: tuple[str, ...]  # runs that record no setting
    # entries in which the runs differ that name or count a configuration and set nothing
    left_out: tuple[str, ...] = ()


def factors_of(runs: Sequence[Run]) -> list[Factor]:
    """Return the settings in which runs differ; settings that always change together are one factor."""
    flat = {run.run_id: _settings(run) for run in runs if _settings(run)}
    keys = sorted({key for settings in flat.values() for key in settings})
    groups: dict[tuple[int, ...], list[str]] = {}
    for key in keys:
        values = [settings.get(key, NOT_SET) for settings in flat.values()]
        if len(set(values)) > 1:
            # number the values by first appearance, so that settings that change together look alike
            seen: dict[str, int] = {}
            partition = tuple(seen.setdefault(value, len(seen)) for value in values)
            groups.setdefault(partition, []).append(key)
    return [_factor(names, flat) for names in groups.values()]


def _factor(names: Sequence[str], flat: Mapping[str, Mapping[str, str]]) -> Factor:
    values = {
        run_id: " + ".join(settings.get(name, NOT_SET) for name in names) for run_id, settings in flat.items()
    }
    leaves = [name.rpartition(".")[2] for name in names]
    return Factor(" + ".join(names), next(filter(None, map(_kind, leaves + list(names))), ""), values)


def _kind(name: str) -> str:
    small = name.lower()
    return next((kind for kind, words in _KINDS.items() if any(word in small for word in words)), "")


def _settings(run: Run) -> dict[str, str]:
    return {
        path: setting_text(value) for path, value in flat_settings(run.config).items() if path not in _SKIPPED
    }


def ablation(runs: Sequence[Run], scored_runs: Sequence[ScoredRun], metric: str) -> Ablation:
    """Estimate what each factor did to a metric.

    The baseline comes first: its values stand on the left of an effect.
    """
    factors = factors_of(runs)
    of_run = {run.run_id: at for at, run in enumerate(runs)}
    matrix, clusters = _by_question(scored_runs, metric)
    changes = [
        (factor, change, pairs)
        for factor in factors
        for change, pairs in _clean_pairs(factor, factors, runs).items()
    ]
    gaps = [_pooled(matrix, [(of_run[a], of_run[b]) for a, b in pairs]) for *_, pairs in changes]
    declaration, bounds = declared(metric), bounds_of(metric)
    higher = None if declaration is None else declaration.higher_is_better
    differences = [paired(np.zeros(len(gap)), gap, clusters, 0, higher, bounds) for gap in gaps]
    tests = max_t(
        [
            cluster_sums(gap, clusters, bounds, difference)
            for gap, difference in zip(gaps, differences, strict=True)
        ]
    )
    effects = tuple(
        Effect(
            factor.key,
            *change,
            tuple(pairs),
            difference,
            test.p,
            test.low,
            test.high,
            verdict(difference, test.p, higher),
        )
        for (factor, change, pairs), difference, test in zip(changes, differences, tests, strict=True)
    )
    isolated = {effect.factor for effect in effects}
    confounded = tuple(_confounded(factor, factors) for factor in factors if factor.key not in isolated)
    bare = tuple(run.run_id for run in runs if not _settings(run))
    return Ablation(metric, tuple(factors), effects, confounded, bare, _left_out(runs))


def _left_out(runs: Sequence[Run]) -> tuple[str, ...]:
    """List what names or counts a configuration, and so is no setting, where the runs differ in it."""
    flat = [flat_settings(run.config) for run in runs]
    recorded = {path for settings in flat for path in settings}
    return tuple(
        path
        for path in sorted(_SKIPPED & recorded)
        if len({setting_text(settings[path]) if path in settings else NOT_SET for settings in flat}) > 1
    )


def _clean_pairs(
    factor: Factor, factors: Sequence[Factor], runs: Sequence[Run]
) -> dict[tuple[str, str], list[tuple[str, str]]]:
    """Gather the pairs of runs that differ in one factor alone, by the change they make."""
    there = [run.run_id for run in runs if run.run_id in factor.values]
    pairs: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for first, second in combinations(there, 2):
        others = [other for other in factors if other is not factor]
        if factor.values[first] == factor.values[second]:
            continue
        if all(other.values[first] == other.values[second] for other in others):
            left, right = _ordered(first, second, factor, runs[0].run_id)
            pairs.setdefault((factor.values[left], factor.values[right]), []).append((left, right))
    return dict(sorted(pairs.items(), key=lambda entry: (_size(entry[0][0]), _size(entry[0][1]))))


def _ordered(first: str, second: str, factor: Factor, base: str) -> tuple[str, str]:
    """Put the baseline's value first, else the smaller one."""
    usual = factor.values.get(base)
    if factor.values[second] == usual != factor.values[first]:
        return second, first
    if factor.values[first] == usual or _size(factor.values[first]) <= _size(factor.values[second]):
        return first, second
    return second, first


def _size(value: str) -> tuple[int, float, str]:
    try:
        return (0, float(value), "")
    except ValueError:
        return (1, 0.0, value)


def _by_question(scored_runs: Sequence[ScoredRun], metric: str) -> tuple[FloatArray, Any]:
    """Return (runs, q) means over all questions, NaN where a run lacks one, and (q,) clusters."""
    names = sorted({str(name) for scored in scored_runs for name in scored.question_ids})
    place = {name: at for at, name in enumerate(names)}
    matrix = np.full((len(scored_runs), len(names)), np.nan)
    clusters = np.arange(len(names), dtype=np.int64)
    for row, scored in enumerate(scored_runs):
        if scored.is_sample:  # whose calls are paired with nothing
            continue
        at = np.array([place[str(name)] for name in scored.question_ids], dtype=np.int64)
        matrix[row, at] = question_means(scored.values(metric), scored.question)[0]
        if row == 0:
            clusters[at] = len(names) + scored.clusters
    return matrix, clusters


def _pooled(matrix: FloatArray, pairs: Sequence[tuple[int, int]]) -> FloatArray:
    """Average the differences of the pairs for each question; NaN where no pair has both sides."""
    gaps = np.array([matrix[right] - matrix[left] for left, right in pairs])
    known = np.isfinite(gaps)
    count = known.sum(axis=0)
    return np.where(count > 0, np.where(known, gaps, 0.0).sum(axis=0) / np.maximum(count, 1), np.nan)


def _confounded(factor: Factor, factors: Sequence[Factor]) -> Confounded:
    """List the other factors that change in those pairs in which the fewest change."""
    runs = list(factor.values)
    changed = [
        {other.key for other in factors if other.values[first] != other.values[second]}
        for first, second in combinations(runs, 2)
        if factor.values[first] != factor.values[second]
    ]
    least = min(map(len, changed), default=0)
    closest = [keys for keys in changed if len(keys) == least]
    partners = set.union(*closest) - {factor.key} if closest else set()
    return Confounded(factor.key, tuple(sorted(partners)))
