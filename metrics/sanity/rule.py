"""The inputs, findings and rules of the sanity checks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import date
from typing import Any, Generic, Literal, TypeVar

import numpy as np

from ragtriage.metrics.sanity.answer_texts import AnswerTexts
from ragtriage.metrics.schema.metric import Convention
from ragtriage.metrics.schema.scores import BoolArray, FloatArray, IntArray, MetricsError

Severity = Literal["error", "warning", "note"]
SAMPLES_NAMED = 20  # of a finding
ZERO_IS_FINE = frozenset(
    {
        "contradicted",
        "deep_reliance",
        "extrinsic_hallucination",
        "hallucination",
        "ignored_top_ranked",
        "intrinsic_hallucination",
        "noise_sensitivity_irrelevant",
        "noise_sensitivity_relevant",
        "omission",
        "rank_use_gap",
        "self_knowledge",
        "uncited_sentences",
        "ungrounded",
        "wasted_context",
    }
)  # metrics for which a whole column of 0 is good news or an ordinary result


@dataclass(frozen=True)
class Finding:
    """Something a reader should know about the numbers before trusting them.

    Attributes:
        rule: key of the rule that found it.
        severity: "error" where the numbers cannot be right, "warning" where they may mislead, else "note".
        title: a few words.
        message: the finding in full sentences.
        evidence: (name, value) pairs behind the message.
        n_affected: samples concerned.
        rows: their row numbers of the input; empty where it concerns the run as a whole.
        metrics: full names of the metrics it touches.
        runs: ids of the runs it touches.
        samples: the first 20 of the samples it touches, as question_id~repeat.
    """

    rule: str
    severity: Severity
    title: str
    message: str
    evidence: tuple[tuple[str, float | str], ...] = ()
    n_affected: int = 0
    rows: tuple[int, ...] = ()
    metrics: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()
    samples: tuple[str, ...] = ()

    @property
    def clause(self) -> str:
        """The title inside a sentence."""
        return self.title[:1].lower() + self.title[1:]

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as JSON values, with as many rows as samples are named."""
        return {**asdict(self), "rows": self.rows[:SAMPLES_NAMED]}


@dataclass(frozen=True)
class IdMismatch:
    """Gold ids of which none, or one by accident, occurs among the retrieved ids of the run.

    Attributes:
        n_samples: samples that name gold documents.
        n_gold: distinct gold ids.
        gold: an example of them.
        retrieved: an example of the retrieved ids.
        as_doc_id: whether gold ids occur among the `doc_id`s of the chunks instead.
        n_found: those that occur by accident.
    """

    n_samples: int
    n_gold: int
    gold: str
    retrieved: str
    as_doc_id: bool
    n_found: int = 0


@dataclass(frozen=True)
class ContextLists:
    """Which list of documents each of n samples got from the retriever.

    Attributes:
        code: (n,) int codes of the distinct lists; -1 where nothing was retrieved.
        question: (n,) int codes of the questions.
        length: (n,) number of documents in the list.
    """

    code: IntArray
    question: IntArray
    length: FloatArray


@dataclass(frozen=True)
class AnswerShift:
    """How the words of answers fit their own references and those of other questions.

    Attributes:
        n: answers compared.
        n_own: those that fit their own reference.
        rows: rows of those that fit another one clearly better.
        step: rows between these and the reference that they fit, where it is most often the same.
        n_step: how many are so far away.
    """

    n: int
    n_own: int
    rows: tuple[int, ...]
    step: int
    n_step: int


@dataclass(frozen=True)
class CheckInput:
    """The numbers of one run and their provenance.

    Attributes:
        n: number of samples.
        computed: metric -> (n,) values computed here, NaN where not scored.
        imported: metric -> (n,) values as imported, NaN where they are out of scale.
        off_scale: metric -> (n,) values as imported, of the metrics of which any is out of scale.
        scales: metric -> (least, greatest) of the scale that somebody declared for its imported values.
        convention: the convention that the computed values follow.
        has_claims: (n,) True where the answer has claims and documents; None where not recorded.
        bounds: metric -> (least, greatest); (0, 1) for all others.
        imported_means: metric -> mean over the run as reported in the file.
        zero_is_fine: metrics, without k, whose columns may be 0 throughout.
        retrieval_test_set: name and version of the questions behind the retrieval numbers, or "".
        generation_test_set: the same for the generation numbers, or "".
        synthetic_share: share of the questions that were generated; None where not recorded.
        dataset_date: when the questions were made; None where not recorded.
        corpus_date: when the corpus last changed; None where not recorded.
        id_mismatch: the gold ids, where none occurs among the retrieved ids; None where they match.
        lists: the lists of documents; None where no list was retrieved.
        shift: the answers against the references of all questions; None where none are recorded.
        retrieval_dependent: the metrics of the run whose values depend on what was retrieved.
        texts: what the texts of questions and answers tell by themselves; None where none are recorded.
    """

    n: int
    computed: Mapping[str, FloatArray] = field(default_factory=dict)
    imported: Mapping[str, FloatArray] = field(default_factory=dict)
    off_scale: Mapping[str, FloatArray] = field(default_factory=dict)
    scales: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    convention: Convention = "default"
    has_claims: BoolArray | None = None
    bounds: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    imported_means: Mapping[str, float] = field(default_factory=dict)
    zero_is_fine: frozenset[str] = ZERO_IS_FINE
    retrieval_test_set: str = ""
    generation_test_set: str = ""
    synthetic_share: float | None = None
    dataset_date: date | None = None
    corpus_date: date | None = None
    id_mismatch: IdMismatch | None = None
    lists: ContextLists | None = None
    shift: AnswerShift | None = None
    retrieval_dependent: tuple[str, ...] = ()
    texts: AnswerTexts | None = None

    def __post_init__(self) -> None:
        for source, values in (*self.computed.items(), *self.imported.items()):
            if len(values) != self.n:
                raise MetricsError(f"metric {source!r} has {len(values)} values for {self.n} samples")


RuleInput = TypeVar("RuleInput")


@dataclass(frozen=True)
class Rule(Generic[RuleInput]):
    """The declaration of a sanity check.

    Attributes:
        key: name in files and links.
        title: name on screen.
        condition: when it reports, in words.
        run: returns the findings.
    """

    key: str
    title: str
    condition: str
    run: Callable[[RuleInput], list[Finding]]


def columns(run: CheckInput) -> list[tuple[str, Mapping[str, FloatArray]]]:
    """Return the computed and the imported columns, each set to be checked by itself."""
    return [("computed", run.computed), ("imported", run.imported)]


def rows_of(mask: BoolArray) -> tuple[int, ...]:
    """Return the row numbers at which the mask is True."""
    return tuple(np.flatnonzero(mask).tolist())
