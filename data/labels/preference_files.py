"""Preferences between two answers from files: RAGChecker's meta-evaluation, human labels and scores of tools.

`human_labeled_data.json` lists each pair of answers once for every annotator, with a label from -2 (the first
is much better) to 2 (the second is) for correctness, completeness and overall. `baseline_NAME.json` lists
each pair once, with the scores of a tool for both answers.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ragtriage.data.errors import DataError
from ragtriage.data.labels.agreement_report import CORRELATIONS, PreferenceAgreement, preference_agreement
from ragtriage.metrics.schema.scores import FloatArray, IntArray

LABEL = "_label"
SIDES = ("model1", "model2")


def file_preferences(human: Path, scores: Sequence[Path]) -> list[PreferenceAgreement]:
    """Compare which answer tools and humans prefer; every human label counts, beside the score of its pair.

    A score that is missing is replaced by the median difference, as RAGChecker does (Ru et al. 2024), and
    counted. A score named like a human label is compared with that label alone.

    Raises:
        DataError: a file is not of the form.
    """
    entries = _entries(human)
    aspects = [name for name in entries[0] if name.endswith(LABEL)]
    if not aspects:
        raise DataError(
            f"{human.name}: no field ..._label in its first entry; accepted: human_labeled_data.json"
        )
    ids = [str(entry.get("instance_id")) for entry in entries]
    known = {name: at for at, name in enumerate(dict.fromkeys(ids))}
    pair = np.array([known[name] for name in ids], dtype=np.int64)
    labels = {aspect: _numbers(human, entries, aspect) for aspect in aspects}
    rows = []
    for path in scores:
        for metric, by_pair in _differences(path, known).items():
            wanted = [metric.rpartition(".")[2]] if metric.rpartition(".")[2] in aspects else aspects
            filled = np.isnan(by_pair)
            by_pair = np.where(filled, np.nanmedian(by_pair) if not filled.all() else np.nan, by_pair)
            for aspect in wanted:
                values, own = by_pair[pair], labels[aspect]
                both = np.isfinite(values) & np.isfinite(own)
                ceiling = _between_annotators(own, pair)
                rows.append(
                    preference_agreement(
                        aspect.removesuffix(LABEL),
                        metric,
                        (values[both], own[both]),
                        pair[both],
                        filled=int(filled[pair][both].sum()),
                        ceiling=ceiling,
                    )
                )
    return rows


def _entries(path: Path) -> list[Mapping[str, Any]]:
    try:
        entries = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        reason = error.strerror if isinstance(error, OSError) else "no JSON"
        raise DataError(f"{path}: cannot be read ({reason}); accepted: a JSON list of pairs") from error
    if not isinstance(entries, list) or not entries or not all(isinstance(entry, dict) for entry in entries):
        raise DataError(f"{path.name}: not a list of objects; accepted: a JSON list of pairs of answers")
    return entries


def _numbers(path: Path, entries: Sequence[Mapping[str, Any]], field: str) -> FloatArray:
    values = [entry.get(field) for entry in entries]
    for at, value in enumerate(values):
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
            raise DataError(f"{path.name}, entry {at}, {field}: {str(value)[:40]!r}; accepted: a number")
    return np.array([np.nan if value is None else float(value) for value in values])


def _differences(path: Path, known: Mapping[str, int]) -> dict[str, FloatArray]:
    """Return the second answer's score minus the first's by metric, in the order of the known pairs."""
    by_metric: dict[str, FloatArray] = {}
    for at, entry in enumerate(_entries(path)):
        place = known.get(str(entry.get("instance_id")))
        sides = [entry.get(side) for side in SIDES]
        if place is None or not all(isinstance(side, dict) for side in sides):
            raise DataError(
                f"{path.name}, entry {at}: no pair of the labels; accepted: instance_id, model1, model2"
            )
        first, second = (_scores(side) for side in sides)
        for metric in first.keys() & second.keys():
            column = by_metric.setdefault(metric, np.full(len(known), np.nan))
            column[place] = second[metric] - first[metric]
    if not by_metric:
        raise DataError(f"{path.name}: no scores in it; accepted: model1.TOOL.METRIC with a number")
    return dict(sorted(by_metric.items()))


def _scores(side: Any) -> dict[str, float]:
    """Return the numbers of the objects of one answer, as TOOL.METRIC."""
    return {
        f"{tool}.{metric}": float(value)
        for tool, scores in side.items()
        if isinstance(scores, dict)
        for metric, value in scores.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }


def _between_annotators(labels: FloatArray, pair: IntArray) -> dict[str, float]:
    """Return the correlation of the first and the second label of each pair; empty where no pair has two."""
    order = np.argsort(pair, kind="stable")
    first, second = labels[order][:-1], labels[order][1:]
    starts = np.diff(pair[order], prepend=-1)[:-1] != 0
    same = (pair[order][:-1] == pair[order][1:]) & starts
    both = same & np.isfinite(first) & np.isfinite(second)
    if not both.any():
        return {}
    return {name: statistic(first[both], second[both]) for name, statistic in CORRELATIONS.items()} | {
        "n": float(both.sum())
    }
