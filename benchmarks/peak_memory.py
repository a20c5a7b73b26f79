"""The greatest memory of this process, for a benchmark that starts its work in processes of their own."""

from __future__ import annotations

import resource
import sys
from pathlib import Path

__all__ = ["peak_mb"]

STATUS = Path("/proc/self/status")


def peak_mb() -> float:
    """Return the greatest resident size of this process in MB.

    On Linux, getrusage counts what the parent had before the program was started in the child: a script that
    drew 1 GB of data and then starts a tool would print at least 1 GB for the tool.
    """
    if STATUS.exists():
        peak = next(line for line in STATUS.read_text().splitlines() if line.startswith("VmHWM"))
        return int(peak.split()[1]) / 1024
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return size / (1 << 20) if sys.platform == "darwin" else size / 1024
