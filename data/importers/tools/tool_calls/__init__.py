"""Files of benchmarks of tool calls: BFCL's cases, tau-bench's runs. Their calls become checks of Tools."""

from __future__ import annotations

from ragtriage.data.importers.tools.tool_calls.bfcl import BFCL
from ragtriage.data.importers.tools.tool_calls.taubench import TAU_BENCH

__all__ = ["IMPORTERS"]

IMPORTERS = (BFCL, TAU_BENCH)
