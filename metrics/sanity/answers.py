"""Sanity checks on answers and references: whether each answer stands beside its own reference."""

from __future__ import annotations

from ragtriage.metrics.sanity.rule import CheckInput, Finding, Rule

FEWEST_ANSWERS = 20  # with fewer, a wrong answer that another question asks for is no wonder
MOST_ELSEWHERE = 0.25  # share of the answers that fit another reference; aligned runs have a tenth at most
FEW_AT_HOME = 1 / 3  # as many, of those that fit elsewhere, may fit their own reference
SAME_STEP = 0.25  # share of those that fit elsewhere which are equally far away only where rows are shifted
_AGAINST_REFERENCE = (
    "right_by_text",
    "correctness",
    "answer_correctness",
    "factual_correctness",
    "answer_f1",
    "answer_precision",
    "answer_recall",
)


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
