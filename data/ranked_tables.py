"""Ranked lists joined with their gold, as the Retrieval page reads them: one row a sample."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from metrics.inputs import Batch

__all__ = ["ranked_table"]


def ranked_table(_table: Any, batch: Batch) -> Any:
    """Give the status of the join; None where the run records no lists or no gold."""
    if batch.rankings is None:
        return None
    return pa.table({"status": batch.rankings.status})
