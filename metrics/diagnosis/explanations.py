"""The evidence behind a failure stage as a sentence shown next to the case."""

import math
from collections.abc import Callable, Mapping

from ragtriage.metrics.definitions.answer_text import RIGHT_BY_TEXT
from ragtriage.metrics.diagnosis.check_kinds import CHECK_KINDS, OTHER_CHECK
from ragtriage.metrics.diagnosis.right import RIGHT_BY_CLAIMS
from ragtriage.metrics.diagnosis.stages import stage_code
from ragtriage.metrics.number_text import percent

Row = Mapping[str, float | str | None]


def evidence_sentence(stage_key: str, row: Row) -> str:
    """Return the evidence on which a case was attributed to a stage; plain text, to be escaped when shown.

    Args:
        stage_key: key of a ragtriage.metrics.diagnosis.stages.FailureStage.
        row: the case's features under the names of StageFeatures and, where known, "n_candidates",
            "n_context" (documents in the context), "n_gold", "gold_rank" (rank of the first gold document
            among the candidates), "failed_checks" (each with expected and actual), "right_by" (what decides
            that it is wrong, of right.RIGHT_SOURCES), "right_named" (that in a sentence), "context_signal"
            (name of the metric behind "context") and "noise_rank".
            Missing values are not mentioned.

    Raises:
        MetricsError: the stage key is not known.
    """
    stage_code(stage_key)
    return _SENTENCES[stage_key](row)


def _number(row: Row, name: str) -> float | None:
    value = row.get(name)
    return None if not isinstance(value, (int, float)) or math.isnan(value) else float(value)


def _figure(row: Row, name: str) -> str:
    value = _number(row, name)
    return "not recorded" if value is None else f"{round(value, 2) + 0.0:.2f}"


def _of(row: Row, name: str, noun: str) -> str:
    """Return e.g. "20 candidates" or, where not recorded, "the candidates"."""
    count = _number(row, name)
    if count is None:
        return f"the {noun}s"
    return f"{count:.0f} {noun}" if count == 1 else f"{count:.0f} {noun}s"


def _context_metric(row: Row) -> str:
    return f"{row.get('context_signal') or 'context metric'} {_figure(row, 'context')}"


def _misranked(row: Row) -> str:
    rank = _number(row, "gold_rank")
    where = "" if rank is None else f" at rank {rank:.0f}"
    return (
        f"gold document{where} of {_of(row, 'n_candidates', 'candidate')}, "
        f"not among {_of(row, 'n_context', 'document')} of the context"
    )


def _retrieval_miss(row: Row) -> str:
    return (
        f"no gold document among {_of(row, 'n_context', 'document')} of the context; no candidates recorded"
    )


def _off_question(row: Row) -> str:
    relevancy, faithfulness = _figure(row, "answer_relevancy"), _figure(row, "faithfulness")
    return f"answer relevancy {relevancy} with faithfulness {faithfulness}"


def _partial(row: Row) -> str:
    share, gold = _number(row, "gold_in_context"), _number(row, "n_gold")
    if share is None:
        return "part of the gold in the context"
    if gold is None:
        return f"{percent(share)} of the gold in the context"
    return f"{share * gold:.0f} of {gold:.0f} gold documents in the context"


def _followed_noise(row: Row) -> str:
    rank = _number(row, "noise_rank")
    where = "" if rank is None else f", most from the document at rank {rank:.0f}"
    share = _number(row, "noise_sensitivity")
    claims = "claims" if share is None else f"{percent(share)} of the claims"
    return f"{claims} are wrong and come from retrieved documents{where}"


def _left_out(row: Row) -> str:
    used = _number(row, "context_utilization")
    if used is not None:
        return f"the answer uses {percent(used)} of what the context provides"
    omitted = _number(row, "omission")
    share = "part" if omitted is None else percent(omitted)
    return f"{share} of the reference is in the context and not in the answer"


def _wrong(row: Row) -> str:
    if row.get("right_by") == RIGHT_BY_TEXT:
        return "the answer has none of the names, numbers or words of the reference, estimated from its words"
    if row.get("right_by") == RIGHT_BY_CLAIMS:
        return f"F1 of the claims {_figure(row, 'correctness')}"
    return (
        f"{row.get('right_named') or 'correctness'} {_figure(row, 'correctness')} with faithfulness "
        f"{_figure(row, 'faithfulness')} and answer relevancy {_figure(row, 'answer_relevancy')}"
    )


def _failed_check(row: Row) -> str:
    return str(row.get("failed_checks") or "a check of this kind failed")


_SENTENCES: dict[str, Callable[[Row], str]] = {
    "answered_unanswerable": lambda _: "the question is labelled unanswerable and the system answered",
    "refused_with_context": lambda row: (
        f"the system refused with all of the gold in {_of(row, 'n_context', 'document')} of its context"
    ),
    "inferred_refusal": lambda row: f"the system refused with {_context_metric(row)}; no gold recorded",
    "missed": lambda row: f"no gold document among {_of(row, 'n_candidates', 'candidate')}",
    "misranked": _misranked,
    "retrieval_miss": _retrieval_miss,
    "partial_gold": _partial,
    "inferred_miss": lambda row: f"no gold recorded; {_context_metric(row)}",
    "followed_noise": _followed_noise,
    "inferred_noise": lambda row: f"{_followed_noise(row)}; {_context_metric(row)}, no gold recorded",
    "wrong_format": _failed_check,
    "self_contradiction": lambda _: "the answer contradicts itself",
    "contradicts_context": lambda _: "a document of the context contradicts a claim that none supports",
    "unfaithful": lambda row: f"faithfulness {_figure(row, 'faithfulness')}",
    "left_out": _left_out,
    "off_question": _off_question,
    "refused": lambda _: (
        "the system refused a question that has an answer; nothing recorded shows whether its context held it"
    ),
    "wrong": _wrong,
    **{f"check_{kind.key}": _failed_check for kind in (*CHECK_KINDS, OTHER_CHECK)},
    "unexplained": lambda _: "no recorded evidence matches the rule of any stage",
}
