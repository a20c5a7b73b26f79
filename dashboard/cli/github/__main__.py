"""`python -m ragtriage.dashboard.cli.github gate|report`: what action.yml calls."""

from __future__ import annotations

import os
import sys

from ragtriage.dashboard.cli.github.gate_step import judge
from ragtriage.dashboard.cli.github.report_step import report

STEPS = {"gate": judge, "report": report}

if __name__ == "__main__":
    words = sys.argv[1:]
    if len(words) != 1 or words[0] not in STEPS:
        sys.stderr.write(f"error: {' '.join(words)[:60]!r}; accepted: {' or '.join(STEPS)}\n")
        sys.exit(2)
    sys.exit(STEPS[words[0]](os.environ))
