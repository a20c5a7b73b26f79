"""The citations of a run together: how many support their sentence, and what the rest does wrong."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.metrics.schema.scores import BoolArray, FloatArray, IntArray, Source, Status
from ragtriage.metrics.statistics.intervals import Interval, interval


@dataclass(frozen=True)
class CitationCounts:
    """Counts of the citations of n answers, each (n,); 0 where an answer was not read."""

    read: BoolArray  # True where the sentences of the answer were read: no refusals
    source: IntArray  # code of Source of the support
    sentences: IntArray  # of the answer
    needed: IntArray  # of these, that need a citation
    uncited: IntArray  # of these, without one
    recall_known: IntArray  # of those that need one, whose support is known
    recalled: IntArray  # of these, wholly supported
    unsupported: IntArray  # of these, that cite and are not supported
    citations: IntArray  # of all sentences
    outside: IntArray  # of these, that name no document of the context
    decided: IntArray  # of all, whose own support is known
    supporting: IntArray  # of these, that support their sentence
    broken: IntArray  # marks that name nothing or lack the declared form


@dataclass(frozen=True)
class CitationShare:
    """One share over all answers of a run."""

    key: str  # as in files
    title: str  # what is counted
    part: int  # how many
    whole: int  # of how many
    value: Interval  # the share with its interval, answers drawn as wholes
    sources: dict[str, int]  # how it was obtained -> number of answers
    cohort: str  # of the answers that fall short
    cohort_title: str  # what these have
    n_cohort: int  # how many they are
    left_out: int = 0  # how many more there are whose support is not known


@dataclass(frozen=True)
class RunCitations:
    """The citations of a run."""

    answers: int  # answers that were read; refusals need no citation
    citing: int  # of these, with at least one citation
    shares: tuple[CitationShare, ...]  # each share


def citation_counts(scored: ScoredRun) -> CitationCounts | None:
    """Read the counts of a run; None where it does not cite."""
    table = scored.auxiliary_table("citations")
    if table is None or table["status"].null_count:
        return None
    columns = {name: np.asarray(table[name].to_numpy(), dtype=np.int64) for name in table.column_names}
    read = columns.pop("status") == Status.SCORED
    return CitationCounts(read=np.asarray(read), **columns) if read.any() else None


def citations_of_run(scored: ScoredRun) -> RunCitations | None:
    """Return the shares of a run's citations; None where it does not cite."""
    counts = citation_counts(scored)
    if counts is None:
        return None
    marks = counts.citations + counts.broken
    supported = _share(
        scored,
        counts,
        ("supported", "Citations that support their sentence"),
        counts.supporting,
        counts.decided,
        ("cites_wrongly", "a citation that does not support its sentence"),
        int((counts.citations - counts.decided).sum()),
        by_support=True,
    )
    recalled = _share(
        scored,
        counts,
        ("recalled", "Sentences that their citations wholly support"),
        counts.recalled,
        counts.recall_known,
        ("unsupported_sentence", "a sentence that its citations do not wholly support"),
        int((counts.needed - counts.recall_known).sum()),
        by_support=True,
    )
    cited = _share(
        scored,
        counts,
        ("cited", "Sentences with a citation, of those that need one"),
        counts.needed - counts.uncited,
        counts.needed,
        ("uncited", "a sentence without a citation"),
    )
    formed = _share(
        scored,
        counts,
        ("in_context", "Citations that name a document of the context"),
        counts.citations - counts.outside,
        marks,
        ("cites_outside", "a citation of no document of the context"),
    )
    shares = tuple(share for share in (supported, recalled, cited, formed) if share.whole)
    return RunCitations(int(counts.read.sum()), int((counts.citations > 0).sum()), shares)


def _share(
    scored: ScoredRun,
    counts: CitationCounts,
    named: tuple[str, str],
    part: IntArray,
    whole: IntArray,
    cohort: tuple[str, str],
    left_out: int = 0,
    by_support: bool = False,
) -> CitationShare:
    rows = np.flatnonzero(whole)
    values: FloatArray = np.repeat(
        np.tile([1.0, 0.0], len(rows)), np.column_stack([part[rows], whole[rows] - part[rows]]).ravel()
    )
    clusters = np.repeat(scored.clusters[scored.question[rows]], whole[rows])
    of_question = scored.question_weights
    weights = None if of_question is None else np.repeat(of_question[scored.question[rows]], whole[rows])
    sources = counts.source[rows] if by_support else np.full(len(rows), Source.COMPUTED)
    short = rows[part[rows] < whole[rows]]
    return CitationShare(
        *named,
        part=int(part.sum()),
        whole=int(whole.sum()),
        value=interval(values, clusters, len(values), weights=weights),
        sources={each.label: int((sources == each).sum()) for each in Source if (sources == each).any()},
        cohort=cohort[0],
        cohort_title=cohort[1],
        n_cohort=len(short),
        left_out=left_out,
    )


def citations_answer(citations: RunCitations) -> dict[str, Any]:
    """Return the citations of a run as JSON for scripts."""
    return {
        "answers": citations.answers,
        "citing": citations.citing,
        "shares": [
            {
                **{name: entry for name, entry in asdict(share).items() if name != "value"},
                **_ends(share.value),
            }
            for share in citations.shares
        ],
    }


def _ends(value: Interval) -> dict[str, Any]:
    return {"share": value.mean, "low": value.low, "high": value.high, "method": value.method}
