"""The checks on the numbers, run over a scored run."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any

import numpy as np

from data.scoring.scored_run import ScoredRun
from data.store.workspace import Run
from metrics.metric_registry import bounds_of
from metrics.sanity.means import Means, check_means
from metrics.sanity.run import CheckInput, Finding, check_numbers
from metrics.schema.metric import Convention
from metrics.schema.scores import FloatArray, Source

__all__ = ["check_run", "means_of"]


def check_run(scored: ScoredRun, convention: Convention = "default") -> list[Finding]:
    """Run every rule over a run's values; rows in the findings are rows of the run."""
    if scored.run.means:
        return check_means(means_of(scored.run))
    config = scored.run.config
    computed = _of(scored, (Source.COMPUTED, Source.JUDGED))
    stated = _reported_means(config)
    computed |= _beyond_the_lists(scored, computed, stated)
    return check_numbers(
        CheckInput(
            n=scored.n,
            computed=computed,
            imported=_of(scored, (Source.IMPORTED,)),
            convention=convention,
            has_claims=np.isfinite(computed["faithfulness"]) if "faithfulness" in computed else None,
            bounds={name: bounds_of(name) for name in scored.metrics},
            imported_means=stated,
            retrieval_test_set=str(config.get("retrieval_test_set", "")),
            generation_test_set=str(config.get("generation_test_set", "")),
            synthetic_share=_synthetic_share(scored),
            dataset_date=_date(config.get("dataset_date"), scored.run.dataset_version),
            corpus_date=_date(config.get("corpus_date"), scored.run.corpus_version),
        )
    )


def _beyond_the_lists(
    scored: ScoredRun, computed: Mapping[str, FloatArray], stated: Mapping[str, float]
) -> dict[str, FloatArray]:
    """Give columns for stated cut-offs that are computed at a smaller one, beyond which no list goes."""
    longest = np.nan_to_num(scored.stage_features["documents"]).max(initial=0)
    found = {}
    for name in stated.keys() - computed.keys():
        base, _, cut = name.partition("@")
        for other, values in computed.items():
            k = other.removeprefix(f"{base}@")
            if cut.isdigit() and k.isdigit() and longest <= int(k) <= int(cut):
                found[name] = values
    return found


def _synthetic_share(scored: ScoredRun) -> float | None:
    """Give the share of generated questions: as the configuration says, else by the tag `synthetic`."""
    said = scored.run.config.get("synthetic")
    if isinstance(said, bool | int | float):
        return float(said)
    tag = next((one for one in scored.slices if one.name == "synthetic"), None)
    if tag is None:
        return None
    return float(np.isin(np.array(tag.labels, dtype=object)[tag.codes], ("true", "yes", "1")).mean())


def _date(said: object, version: str) -> date | None:
    """Read a date from the configuration, else from a version that is one."""
    for text in (said, version):
        try:
            return date.fromisoformat(str(text)[:10])
        except ValueError:
            continue
    return None


def means_of(run: Run) -> Means:
    """Give the means of a version as the checks take them."""
    step = run.config.get("step")
    return Means(run.means, float(step)) if isinstance(step, int | float) else Means(run.means)


def _of(scored: ScoredRun, sources: tuple[Source, ...]) -> dict[str, FloatArray]:
    """Give each metric's values from the first of the sources that has it."""
    found = {}
    for name, present in scored.sources.items():
        source = next((one for one in sources if one in present), None)
        column = None if source is None else scored.column(name, source)
        if column is not None:
            found[name] = column.values
    return found


def _reported_means(config: Mapping[str, Any]) -> dict[str, float]:
    means = config.get("reported_means", {})
    if not isinstance(means, Mapping):
        return {}
    return {str(name): float(value) for name, value in means.items() if isinstance(value, int | float)}
