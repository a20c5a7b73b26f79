"""Which documents each answer draws on, as the Alignment page reads it: one row a sample."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from metrics.inputs import Batch

__all__ = ["use_table"]


def use_table(_table: Any, batch: Batch) -> Any:
    """Give status and source of the use of documents; None where the run records none."""
    if batch.use is None:
        return None
    return pa.table({"status": batch.use.status, "source": batch.use.source})
