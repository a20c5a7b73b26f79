"""The citations of a run."""

from __future__ import annotations

from ragtriage.dashboard.wording.formatting import source_text
from ragtriage.data.analysis.citations import RunCitations
from ragtriage.metrics.result_table import Of, ResultTable, Row, Share, ShareEnds


def citation_table(citations: RunCitations) -> ResultTable:
    """Return each share with its counts, interval and source."""
    rows: list[Row] = [
        {
            "What": share.title,
            "Share": Share(share.value.mean),
            "95 % interval": ShareEnds(share.value.low, share.value.high),
            "Count": Of(share.part, share.whole),
            "Source": source_text(None, share.sources),
            "Answers that fall short": share.n_cohort,
        }
        for share in citations.shares
    ]
    return ResultTable("Citations", tuple(rows))
