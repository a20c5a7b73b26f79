"""What identifies the arguments of cached functions: pass HASH_FUNCS to every `st.cache_resource`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from data.diagnosis.diagnosis import Diagnosis
from data.scoring.run_store import RunStore
from data.scoring.scored_run import ScoredRun
from data.store.ledger import Ledger
from data.store.workspace import Run
from metrics.metric_registry import imported_declarations

__all__ = ["HASH_FUNCS", "declarations_key"]


def declarations_key() -> tuple[tuple[object, ...], ...]:
    """Return what is declared of imported metrics, as part of a cache key."""
    metrics = imported_declarations().items()
    return tuple(
        (name, metric.title, metric.higher_is_better, metric.bounds) for name, metric in sorted(metrics)
    )


HASH_FUNCS: dict[str | type[Any], Callable[[Any], Any]] = {
    Run: Run.to_json,
    # What is declared of imported metrics decides what is better or worse.
    ScoredRun: lambda scored: (scored.cache_key, declarations_key()),
    Diagnosis: lambda diagnosis: (diagnosis.cache_key, declarations_key()),
    # What reads the annotations is computed anew once they change.
    Ledger: lambda ledger: (ledger.path.as_posix(), ledger.version()),
    RunStore: lambda store: (store.workspace.root.as_posix(), store.ledger.version()),
}
