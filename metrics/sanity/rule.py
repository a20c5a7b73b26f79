"""The inputs, texts among them, findings and rules of the sanity checks."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import date
from functools import cached_property
from typing import Any, Generic, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from ragtriage.metrics.schema.metric import Convention
from ragtriage.metrics.schema.scores import BoolArray, FloatArray, IntArray, MetricsError

FEWEST_AT_A_LENGTH = 5  # answers of one length that no chance explains
AT_A_LENGTH = 0.2  # share of the answers that must have it
SHORT_LIMIT = 60  # characters; answers of fewer may well be equally long
SHORT_TOKENS = 16
LINKS = 0.15  # of texts cut anywhere, as many end behind a comma or on a word that another has to follow
FEWEST_LONG = 10  # long answers, half of all, of which nearly none has an end mark
NEARLY_ALL = 0.8
OF_STYLE = 0.5  # share of the references without an end mark that shows that none is asked for
UNDECIDED, WHOLE, BARE, OPEN, DANGLING = -1, 0, 1, 2, 3  # how a text ends
CUT, ENDED = 1, 0  # what ended an answer, as recorded


@dataclass(frozen=True)
class AnswerTexts:
    """What the texts of n samples tell by themselves."""

    question: IntArray  # (n,) codes of the questions
    errors: Mapping[int, str]  # row -> the error that a sample ended in
    answered: BoolArray  # (n,) True for an answer with words that neither is an error nor refuses
    ending: IntArray  # (n,) how it ends: WHOLE, BARE, OPEN or DANGLING; -1 where that is not told
    reference_ending: IntArray  # (n,) how its reference ends, likewise
    stop: IntArray  # (n,) what ended it as recorded: CUT by a limit, ENDED by the model; -1 unknown
    tails: NDArray[np.object_]  # (n,) the last characters
    length: FloatArray  # (n,) characters
    tokens: FloatArray  # (n,) as recorded; NaN unknown
    # (n,) language of the question where the answer could be compared with it, else ""
    languages: NDArray[np.object_]
    foreign: BoolArray  # (n,) True for an answer in another language
    secrets: Mapping[int, tuple[str, ...]]  # row -> what the answer tells, masked
    from_context: frozenset[int]  # rows of those whose context holds it
    contact: BoolArray  # (n,) True where it has an e-mail address or a phone number
    asked: IntArray  # (n,) codes of the questions by their texts
    said: IntArray  # (n,) codes of the answers by their texts
    expected: IntArray  # (n,) codes of the references by their texts, in the way of `said`; 0 without one
    echo: BoolArray  # (n,) True where the answer is the question
    wants_sources: BoolArray  # (n,) True where question or prompt asks for sources
    names_sources: BoolArray  # (n,) True where the answer names any

    @cached_property
    def at_limit(self) -> tuple[BoolArray, str]:
        """Which answers end at the greatest length, if more do than by chance; and that length."""
        for lengths, least, unit in (
            (self.tokens, SHORT_TOKENS, "tokens"),
            (self.length, SHORT_LIMIT, "characters"),
        ):
            told = self.answered & (lengths >= least)
            if not told.any():
                continue
            most = lengths[told].max()
            there = told & (lengths == most)
            different = len(np.unique(self.said[there]))
            unfinished = (there & (self.ending > WHOLE)).sum() * 2 >= (there & (self.ending >= WHOLE)).sum()
            enough = different >= max(FEWEST_AT_A_LENGTH, AT_A_LENGTH * told.sum())
            if enough and unfinished and not (self.stop[there] == ENDED).all():
                return there, f"{int(most):,} {unit}"
        return np.zeros(len(self.answered), dtype=np.bool_), ""

    @cached_property
    def truncated(self) -> BoolArray:
        """(n,) True for answers that a limit ended, or that end in the middle of a sentence."""
        told = self.answered & (self.ending >= WHOLE) & (self.stop != ENDED)
        dangling, unfinished = told & (self.ending == DANGLING), told & (self.ending > WHOLE)
        cut: BoolArray = dangling
        references = self.reference_ending[told & (self.reference_ending >= WHOLE)]
        in_style = len(references) > 0 and bool((references != WHOLE).mean() >= OF_STYLE)
        long_ones = max(FEWEST_LONG, OF_STYLE * self.answered.sum())
        nearly_all = told.sum() >= long_ones and unfinished.sum() >= NEARLY_ALL * told.sum()
        if (nearly_all and not in_style) or dangling.sum() >= LINKS * unfinished.sum():
            cut = unfinished
        by_limit: BoolArray = self.answered & (self.stop == CUT)
        return cut | by_limit | self.at_limit[0]


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
    """Something a reader should know about the numbers before trusting them."""

    rule: str  # key of the rule that found it
    # "error" where the numbers cannot be right, "warning" where they may mislead, else "note"
    severity: Severity
    title: str  # a few words
    message: str  # the finding in full sentences
    evidence: tuple[tuple[str, float | str], ...] = ()  # (name, value) pairs behind the message
    n_affected: int = 0  # samples concerned
    rows: tuple[int, ...] = ()  # their row numbers of the input; empty where it concerns the run as a whole
    metrics: tuple[str, ...] = ()  # full names of the metrics it touches
    runs: tuple[str, ...] = ()  # ids of the runs it touches
    samples: tuple[str, ...] = ()  # the first 20 of the samples it touches, as question_id~repeat

    @property
    def clause(self) -> str:
        """The title inside a sentence."""
        return self.title[:1].lower() + self.title[1:]

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as JSON values, with as many rows as samples are named."""
        return {**asdict(self), "rows": self.rows[:SAMPLES_NAMED]}


@dataclass(frozen=True)
class IdMismatch:
    """Gold ids of which none, or one by accident, occurs among the retrieved ids of the run."""

    n_samples: int  # samples that name gold documents
    n_gold: int  # distinct gold ids
    gold: str  # an example of them
    retrieved: str  # an example of the retrieved ids
    as_doc_id: bool  # whether gold ids occur among the `doc_id`s of the chunks instead
    n_found: int = 0  # those that occur by accident


@dataclass(frozen=True)
class ContextLists:
    """Which list of documents each of n samples got from the retriever."""

    code: IntArray  # (n,) int codes of the distinct lists; -1 where nothing was retrieved
    question: IntArray  # (n,) int codes of the questions
    length: FloatArray  # (n,) number of documents in the list


@dataclass(frozen=True)
class AnswerShift:
    """How the words of answers fit their own references and those of other questions."""

    n: int  # answers compared
    n_own: int  # those that fit their own reference
    rows: tuple[int, ...]  # rows of those that fit another one clearly better
    step: int  # rows between these and the reference that they fit, where it is most often the same
    n_step: int  # how many are so far away


@dataclass(frozen=True)
class CheckInput:
    """The numbers of one run and their provenance."""

    n: int  # number of samples
    # metric -> (n,) values computed here, NaN where not scored
    computed: Mapping[str, FloatArray] = field(default_factory=dict)
    # metric -> (n,) values as imported, NaN where they are out of scale
    imported: Mapping[str, FloatArray] = field(default_factory=dict)
    # metric -> (n,) values as imported, of the metrics of which any is out of scale
    off_scale: Mapping[str, FloatArray] = field(default_factory=dict)
    # metric -> (least, greatest) of the scale that somebody declared for its imported values
    scales: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    convention: Convention = "default"  # the convention that the computed values follow
    # (n,) True where the answer has claims and documents; None where not recorded
    has_claims: BoolArray | None = None
    # metric -> (least, greatest); (0, 1) for all others
    bounds: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    # metric -> mean over the run as reported in the file
    imported_means: Mapping[str, float] = field(default_factory=dict)
    zero_is_fine: frozenset[str] = ZERO_IS_FINE  # metrics, without k, whose columns may be 0 throughout
    retrieval_test_set: str = ""  # name and version of the questions behind the retrieval numbers, or ""
    generation_test_set: str = ""  # the same for the generation numbers, or ""
    # share of the questions that were generated; None where not recorded
    synthetic_share: float | None = None
    dataset_date: date | None = None  # when the questions were made; None where not recorded
    corpus_date: date | None = None  # when the corpus last changed; None where not recorded
    # the gold ids, where none occurs among the retrieved ids; None where they match
    id_mismatch: IdMismatch | None = None
    lists: ContextLists | None = None  # the lists of documents; None where no list was retrieved
    # the answers against the references of all questions; None where none are recorded
    shift: AnswerShift | None = None
    # the metrics of the run whose values depend on what was retrieved
    retrieval_dependent: tuple[str, ...] = ()
    # what the texts of questions and answers tell by themselves; None where none are recorded
    texts: AnswerTexts | None = None

    def __post_init__(self) -> None:
        for source, values in (*self.computed.items(), *self.imported.items()):
            if len(values) != self.n:
                raise MetricsError(f"metric {source!r} has {len(values)} values for {self.n} samples")


RuleInput = TypeVar("RuleInput")


@dataclass(frozen=True)
class Rule(Generic[RuleInput]):
    """The declaration of a sanity check."""

    key: str  # name in files and links
    title: str  # name on screen
    condition: str  # when it reports, in words
    run: Callable[[RuleInput], list[Finding]]  # returns the findings


def columns(run: CheckInput) -> list[tuple[str, Mapping[str, FloatArray]]]:
    """Return the computed and the imported columns, each set to be checked by itself."""
    return [("computed", run.computed), ("imported", run.imported)]


def rows_of(mask: BoolArray) -> tuple[int, ...]:
    """Return the row numbers at which the mask is True."""
    return tuple(np.flatnonzero(mask).tolist())
