"""The batches of a run on their way: to worker processes, back from them, and into the scores of the run."""

from __future__ import annotations
