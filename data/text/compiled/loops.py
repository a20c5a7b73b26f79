"""All compiled loops. Imported only where numba is installed."""

from __future__ import annotations

from ragtriage.data.text.compiled.attribution_loops import attributed, compared, covered
from ragtriage.data.text.compiled.reading_loops import add, postings, read, strange

__all__ = ["add", "attributed", "compared", "covered", "postings", "read", "strange"]
