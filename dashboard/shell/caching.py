"""What identifies the arguments of cached functions: pass HASH_FUNCS to every `st.cache_resource`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from data.diagnosis.diagnosis import Diagnosis
from data.scoring.run_store import RunStore
from data.scoring.scored_run import ScoredRun
from data.store.ledger import Ledger
from data.store.workspace import Run

__all__ = ["HASH_FUNCS"]

HASH_FUNCS: dict[str | type[Any], Callable[[Any], Any]] = {
    Run: Run.to_json,
    ScoredRun: lambda scored: scored.cache_key,
    Diagnosis: lambda diagnosis: diagnosis.cache_key,
    # What reads the annotations is computed anew once they change.
    Ledger: lambda ledger: (ledger.path.as_posix(), ledger.version()),
    RunStore: lambda store: (store.workspace.root.as_posix(), store.ledger.version()),
}
