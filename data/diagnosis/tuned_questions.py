"""Questions to tune on among the tested ones, and a corpus that is not that of the questions."""

import re

import numpy as np

from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.store.question_sets import question_sets, set_named
from ragtriage.metrics.number_text import count
from ragtriage.metrics.sanity.rule import Finding, rows_of

SPLIT, DEV = "split", "dev"  # tag of questions, and its value for those to tune on
_HASH = re.compile(r"[0-9a-f]{12}")  # a version of a corpus that we gave; another may name the same texts


def question_set_findings(scored: ScoredRun) -> list[Finding]:
    """Return the findings on the questions that a run was asked, as its data set has them."""
    return [*_dev_questions(scored), *_other_corpus(scored)]


def _dev_questions(scored: ScoredRun) -> list[Finding]:
    split = next((group for group in scored.slices if group.name == SPLIT), None)
    if split is None or DEV not in split.labels:
        return []
    dev = split.codes == list(split.labels).index(DEV)
    n, of = (len(np.unique(scored.question[rows])) for rows in (dev, np.ones_like(dev)))
    if not n:
        return []
    message = (
        f"{count(n, 'question')} of {of:,} {'is' if n == 1 else 'are'} tagged split: dev, and whoever tunes "
        "the pipeline has seen them: every mean and gate of this run counts them. Filter by split "
        "= test, or freeze with --part test: `ragtriage dataset freeze DATASET --part test`."
    )
    title = f"{count(n, 'dev question')} {'is' if n == 1 else 'are'} in these numbers"
    evidence = (("dev questions", float(n)), ("questions", float(of)))
    return [Finding("dev_questions", "warning", title, message, evidence, int(dev.sum()), rows_of(dev))]


def _other_corpus(scored: ScoredRun) -> list[Finding]:
    run = scored.run
    if not run.dataset or not _HASH.fullmatch(run.corpus_version):
        return []
    asked = set_named(question_sets(scored.workspace), run.dataset, run.dataset_version)
    if (
        asked is None
        or not _HASH.fullmatch(asked.corpus_version)
        or asked.corpus_version == run.corpus_version
    ):
        return []
    message = (
        f"The run is on corpus {run.corpus_version}, and the gold of {asked.name} points into corpus "
        f"{asked.corpus_version}: passages may have moved, changed or gone. `ragtriage dataset check DATASET "
        "CORPUS` says which."
    )
    evidence = (("corpus of the run", run.corpus_version), ("corpus of the questions", asked.corpus_version))
    return [
        Finding(
            "other_corpus", "warning", "Another corpus than that of the questions", message, evidence, run.n
        )
    ]
