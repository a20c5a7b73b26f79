"""Sanity checks on what was retrieved and answered: ids, one list for all questions, answers of others."""

from collections.abc import Sequence

import numpy as np

from ragtriage.metrics.diagnosis.right import RIGHT_SOURCES
from ragtriage.metrics.sanity.rule import CheckInput, ContextLists, Finding, Rule, rows_of
from ragtriage.metrics.schema.scores import IntArray

FEWEST_QUESTIONS = 5  # with fewer, the same list for all is no wonder
FEWEST_FOR_FEW = 10  # and so are few lists
FAULTS_OF_TEXTS = (
    *("truncated", "error_answers", "same_answer", "echo", "other_language", "asked_twice", "uncited"),
    "copied_references",
)
READ_FIRST = (*FAULTS_OF_TEXTS, "ids", "same_list", "few_lists", "shifted")


def read_first(findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings that must be known before any stage or gate of the run is read."""
    return [each for each in findings if each.rule in READ_FIRST and each.severity != "note"]


def off_scale(findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings on metrics of which no value is scored, for all are on another scale."""
    return [each for each in findings if each.rule == "scale" and each.severity == "error"]


def said_first(findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings that are named before anything else: told secrets, then those to be read first."""
    return [*(each for each in findings if each.rule == "secrets"), *read_first(findings)]


def _unmatched_ids(run: CheckInput) -> list[Finding]:
    ids = run.id_mismatch
    if ids is None:
        return []
    advice = (
        "They occur among the `doc_id`s of the chunks: set match=doc_id in the configuration of the run."
        if ids.as_doc_id
        else "Import the run again with the ids that the gold names (`--map retrieved_ids=COLUMN`, also "
        "inside documents, as contexts[].metadata.id). If the ids are right, no gold document was ever "
        "retrieved."
    )
    message = (
        f"{ids.n_found or 'None'} of the {ids.n_gold} gold ids of {ids.n_samples} samples (such as "
        f"{ids.gold[:60]!r}) {'occur' if ids.n_found > 1 else 'occurs'} "
        f"among the retrieved ids (such as {ids.retrieved[:60]!r}), so recall and the other metrics from "
        f"gold documents are not measured. {advice}"
    )
    evidence = (("gold id", ids.gold[:60]), ("retrieved id", ids.retrieved[:60]))
    metrics = tuple(name for name in run.computed if name.partition("@")[0] in _FROM_GOLD)
    return [Finding("ids", "warning", "Ids do not match", message, evidence, ids.n_samples, metrics=metrics)]


_FROM_GOLD = ("recall", "precision", "hit", "mrr", "ndcg", "map", "all_hops_recall")


def _questions_by_list(lists: ContextLists) -> IntArray:
    """(l,) number of questions that got each distinct list, in any of their repeats."""
    listed = lists.code >= 0
    pairs = np.unique(np.stack([lists.code[listed], lists.question[listed]]), axis=1)
    return np.bincount(pairs[0]) if pairs.size else np.zeros(0, dtype=np.int64)


def _same_list(run: CheckInput) -> list[Finding]:
    if run.lists is None:
        return []
    listed = run.lists.code >= 0
    by_list, n = _questions_by_list(run.lists), len(np.unique(run.lists.question[listed]))
    if n < FEWEST_QUESTIONS or len(by_list) != 1:
        return []
    length = int(run.lists.length[listed].max())
    documents = f"{length:,} documents" if length > 1 else "document"
    message = (
        f"All {n:,} questions ({int(listed.sum()):,} cases) got the same {documents} in the same order, so "
        "what was retrieved does not depend on the question: look at the index, the query and the export "
        "first. Every metric of contexts and answers, and every stage and gate that rests on one, describes "
        "these documents alone."
    )
    evidence = (("questions", float(n)), ("distinct lists", 1.0), ("documents", float(length)))
    return [
        Finding(
            "same_list",
            "warning",
            f"Every question got the same {documents}",
            message,
            evidence,
            int(listed.sum()),
            rows_of(listed),
            run.retrieval_dependent,
        )
    ]


def _few_lists(run: CheckInput) -> list[Finding]:
    """Report lists that so many questions share that retrieval can hardly have chosen them."""
    if run.lists is None:
        return []
    listed = run.lists.code >= 0
    by_list, n = _questions_by_list(run.lists), len(np.unique(run.lists.question[listed]))
    most = int(by_list.max(initial=0))
    if n < FEWEST_FOR_FEW or len(by_list) < 2 or (most * 2 < n and len(by_list) * 10 > n):
        return []
    shared = listed & (by_list[run.lists.code] > 1)
    message = (
        f"{n:,} questions got {len(by_list):,} different lists of documents, and one of them went to "
        f"{most:,} questions. Unless these questions are about the same few documents, retrieval hardly "
        "depends on the question: check the index, the query and the export before any stage or gate."
    )
    evidence = (
        ("questions", float(n)),
        ("distinct lists", float(len(by_list))),
        ("most questions with one list", float(most)),
    )
    return [
        Finding(
            "few_lists",
            "warning",
            f"Few distinct lists: one of {len(by_list):,} went to {most:,} of {n:,} questions",
            message,
            evidence,
            int(shared.sum()),
            rows_of(shared),
            run.retrieval_dependent,
        )
    ]


DOCUMENT_RULES = (
    Rule(
        "ids",
        "Gold ids against retrieved ids",
        "no gold id of at least 3 samples occurs among the retrieved ids of the run",
        _unmatched_ids,
    ),
    Rule(
        "same_list",
        "One list for all",
        f"at least {FEWEST_QUESTIONS} questions, and all got the same documents in the same order",
        _same_list,
    ),
    Rule(
        "few_lists",
        "Few distinct lists",
        f"at least {FEWEST_FOR_FEW} questions, and one list went to half of them, or there is at most one "
        "list for 10 questions",
        _few_lists,
    ),
)


FEWEST_ANSWERS = 20  # with fewer, a wrong answer that another question asks for is no wonder
MOST_ELSEWHERE = 0.25  # share of the answers that fit another reference; aligned runs have a tenth at most
FEW_AT_HOME = 1 / 3  # as many, of those that fit elsewhere, may fit their own reference
SAME_STEP = 0.25  # share of those that fit elsewhere which are equally far away only where rows are shifted
_AGAINST_REFERENCE = (*RIGHT_SOURCES, "answer_precision", "answer_recall")


def _shifted(run: CheckInput) -> list[Finding]:
    """Report answers that fit the references of other questions better than their own.

    Wrong answers may name what another question asks for. So next to none may fit at home, or a good part of
    them must be the same number of rows away.
    """
    shift = run.shift
    if shift is None or shift.n < FEWEST_ANSWERS or len(shift.rows) <= MOST_ELSEWHERE * shift.n:
        return []
    apart = shift.n_step >= SAME_STEP * len(shift.rows)
    if shift.n_own > FEW_AT_HOME * len(shift.rows) and not apart:
        return []
    away = f"{abs(shift.step):,} row{'s' if abs(shift.step) > 1 else ''} away"
    by = f", {shift.n_step:,} of them {away}" if apart else ""
    message = (
        f"{len(shift.rows):,} of {shift.n:,} answers have the words of another question's reference and not "
        f"those of their own{by}; {shift.n_own:,} fit their own. Compare the rows of the file, or the join "
        "of answers and references, before any number that rests on a reference."
    )
    evidence = (("answers", float(shift.n)), ("fit elsewhere", float(len(shift.rows))))
    return [
        Finding(
            "shifted",
            "error",
            "Answers and references look shifted",
            message,
            evidence,
            len(shift.rows),
            shift.rows,
            _AGAINST_REFERENCE,
        )
    ]


ANSWER_RULES = (
    Rule(
        "shifted",
        "Answers beside their references",
        f"more than a quarter of at least {FEWEST_ANSWERS} answers have the words of another question's "
        "reference and not those of their own; and at most a third as many fit their own, or a quarter of "
        "them are equally far away",
        _shifted,
    ),
)
