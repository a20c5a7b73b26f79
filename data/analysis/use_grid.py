"""Which rank each answer uses, grouped by where its gold is ranked: the grid of the Alignment page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ragtriage.data.analysis.retrieval_curves import block_of
from ragtriage.data.scoring.context_use import RunContextUse
from ragtriage.data.scoring.ranked_lists import ranked_lists
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.metrics.schema.batch import Rankings
from ragtriage.metrics.schema.scores import BoolArray, IntArray

GOLD_GROUPS: Mapping[str, str] = {  # key in links -> title
    "top": "Top document is gold",
    "lower": "Gold is ranked lower",
    "missing": "No gold in the list",
    "unknown": "Gold not known",
}


@dataclass(frozen=True)
class UseGrid:
    """The m answers of one source of use, in the order of GOLD_GROUPS, those that use the top first.

    Attributes:
        rows: (m,) rows of the run.
        group: (m,) index in GOLD_GROUPS.
        used: (m, K) True where the answer uses the document at a rank.
        gold: (m, K) True where that document is gold.
        listed: (m, K) True where there is a document.
    """

    rows: IntArray
    group: IntArray
    used: BoolArray
    gold: BoolArray
    listed: BoolArray


def gold_group(context_use: RunContextUse) -> IntArray:
    """(n,) index in GOLD_GROUPS of each sample, by the rank of its first gold document."""
    rank = context_use.gold_rank
    return np.select([np.isnan(rank), rank == 1, np.isinf(rank)], [3, 0, 2], 1)


def use_grid(scored: ScoredRun, context_use: RunContextUse, source: str, deepest: int = 10) -> UseGrid:
    """Return which ranks the answers of one source use, at most as many ranks as wanted."""
    use, group = context_use.use, gold_group(context_use)
    rows = np.flatnonzero(context_use.answered & (context_use.source == source))
    width = int(min(deepest, use.documents[rows].max(initial=1)))
    used = use.used[rows, :width]
    order = np.lexsort((*(~used[:, ::-1]).T, group[rows]))
    rows, used = rows[order], used[order]
    listed = np.arange(width) < use.documents[rows][:, None]
    gold = _gold(scored, context_use, width)[rows]
    return UseGrid(rows, group[rows], used & listed, gold & listed, listed)


def _gold(scored: ScoredRun, context_use: RunContextUse, width: int) -> BoolArray:
    """(n, width) True where the document at a rank is gold: by ids or text, else the first gold alone."""
    gold = np.zeros((scored.n, width), dtype=np.bool_)
    first = np.isfinite(context_use.gold_rank) & (context_use.gold_rank <= width)
    gold[first, context_use.gold_rank[first].astype(np.int64) - 1] = True
    lists = ranked_lists(scored)
    block = None if lists is None else block_of(lists)
    if block is not None:
        hits = np.nan_to_num(block.grades) > 0 if isinstance(block, Rankings) else block.hits
        wide = min(width, hits.shape[1])
        gold[:, :wide] |= hits[:, :wide]
    return gold
