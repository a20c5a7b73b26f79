"""The selection: everything a person has chosen, as one validated object whose save format is the URL."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Self

from ragtriage.data.cases.cases import LABEL_STATES, CaseFilter
from ragtriage.data.cases.cohorts import cohort_title
from ragtriage.data.comparison.published_results import SCALE_TITLES
from ragtriage.data.diagnosis.diagnosis import DiagnosisSettings
from ragtriage.data.errors import DataError
from ragtriage.data.labels.agreement import evaluated_metric_of
from ragtriage.data.labels.human_ratings import dimension_title
from ragtriage.data.live.production.times import span_ends
from ragtriage.data.strategy.plan import USE_CASES
from ragtriage.metrics.diagnosis.patterns import PATTERNS, CaseThresholds
from ragtriage.metrics.diagnosis.stages import DEFAULT_ORDER, STAGES
from ragtriage.metrics.diagnosis.symptoms import SymptomEdges
from ragtriage.metrics.schema.metric import CONVENTIONS, whole_number

LONGEST = 500  # characters of a text taken from a URL
MOST_VERSIONS = 20
HIGHEST_PRICE = 10_000.0
READINGS = ("unread", "marked", "kept", "rejected", "filtered", "disputed")
_WORDS: dict[str, tuple[str, ...]] = {
    "pattern": ("", *(entry.key for entry in PATTERNS)),
    "stage": ("", *(entry.key for entry in STAGES)),
    "bad": ("", "yes", "no"),
    "refused": ("", "yes", "no"),
    "label": LABEL_STATES,
    "convention": CONVENTIONS,
    "part": ("", "people", "errors", "review", "versions", "card"),
    "axis": ("", "time"),
    "live_against": ("", "release", "before"),
    "bands": ("", *SCALE_TITLES),
    "use_case": ("", *USE_CASES),
    "verdict": ("", "passed", "unmeasured", "all"),
    "since": ("", "before", "release", "baseline"),
    "reading": ("", *READINGS),
}
_FORMER_KEYS = {  # names of fields in older links
    "signal": "context_metric",
    "mark": "cohort",
    "measure": "shown_metric",
    "origin": "source",
    "quality": "outcome",
    "quantity": "dimension",
    "held": "evaluated",
    "people_cut": "human_threshold",
    "held_cut": "metric_threshold",
}
_FLAGS: dict[str, bool | None] = {"": None, "yes": True, "no": False}


@dataclass(frozen=True)
class Selection:
    """The choices of a user, with their defaults."""

    project: str = ""
    run: str = ""  # run id; "" for the newest of the project
    baseline: str = ""  # run id of the baseline; "" for the project's own
    before: str = ""  # RUN~BASE, what a link pins RUN to be compared with where its project has no baseline
    since: str = ""  # word for what Compare compares with; "" for the baseline that is named, else the usual
    convention: str = "default"  # how the undefined is treated
    context_metric: str = ""  # metric that speaks for the context; "" for the first available
    context: float = 0.5  # case threshold of the context metric
    faithfulness: float = 0.8  # case threshold of faithfulness
    relevancy: float = 0.5  # threshold of answer relevancy
    order: tuple[str, ...] = DEFAULT_ORDER  # order of the failure stages, as keys
    pattern: str = ""  # filter on the metric pattern
    stage: str = ""  # filter on the failure stage
    bad: str = ""  # "yes" for bad cases, "no" for good ones, "" for both
    refused: str = ""  # the same for refusals
    label: str = ""  # filter on human labels
    failure: str = ""  # filter on a failure label
    annotator: str = ""  # whose labels
    text: str = ""  # words to search for
    slices: Mapping[str, str] = field(default_factory=dict)  # name of a slice -> value
    cohort: str = ""  # key of a saved filter that a chart links to
    sort: str = ""  # how cases are ordered
    descending: bool = False  # highest first
    page: int = 1  # page of the list, from 1
    case: str = ""  # "question_id~repeat" of the open case
    versions: tuple[str, ...] = ()  # run ids beside the baseline on the Compare page
    other: str = ""  # which of them the detail shows
    metric: str = ""  # metric whose changes are listed
    k: int = 0  # rank k of the Retrieval, Chunking and Alignment pages; 0 for the run's own, else 5
    grid: str = ""  # key of the grid of chunkings on display
    shown_metric: str = ""  # metric that a heatmap or a curve shows, without its k
    budget: int = 0  # tokens of context at which chunkings are compared; 0 to compare at k
    price: str = ""  # USD that the user's model charges for a million input tokens; "" for not set
    split: str = ""  # what the cases of a chart are grouped by
    source: str = ""  # how the use of documents is known
    against: str = ""  # key of the published row that ours is compared with
    outcome: str = ""  # metric that is plotted against cost, or that defines the oracle gap
    family: str = ""  # group of metrics that are compared together
    cost: str = ""  # metric on the cost axis
    # query type -> kind of question, where the user changed it
    kinds: Mapping[str, str] = field(default_factory=dict)
    dimension: str = ""  # what human labels rate that metrics are evaluated on
    evaluated: str = ""  # the metric that is evaluated, as METRIC:SOURCE
    human_threshold: float = 0.5  # threshold on the human ratings, as a share of their scale
    metric_threshold: float = 0.5  # the same on the metric
    queue: int = 0  # number of the random labelling queue in use; 0 for none
    part: str = ""  # which section of the Judge page, or of the Datasets page, is open
    dataset: str = ""  # id of the dataset on display; "" for the newest
    frozen: int = 0  # number of its version on display; 0 for the draft
    item: str = ""  # id of the question that is open in its review
    reading: str = ""  # which of its questions are listed: a key of READINGS; "" for all
    check_mark: str = ""  # key of the check that marks the listed questions; "" for any
    document: str = ""  # id of the document that the listed questions have their gold in; "" for any
    axis: str = ""  # how the Trend page spaces runs: "" equally, "time" by their time
    bands: str = ""  # key of the scale of bands; "" for the production targets
    use_case: str = ""  # what the evaluation plan on Runs is for; "" for production
    symptom_low: float = SymptomEdges.low  # share below which precision, recall and utilization are low
    symptom_f1: float = SymptomEdges.low_f1  # the same for answer F1
    symptom_faithfulness: float = SymptomEdges.low_faithfulness  # the same for faithfulness
    symptom_hallucination: float = SymptomEdges.hallucination  # hallucination above which it is high
    symptom_noise_relevant: float = SymptomEdges.noise_relevant  # the same for noise sensitivity (relevant)
    # the same for noise sensitivity (irrelevant)
    symptom_noise_irrelevant: float = SymptomEdges.noise_irrelevant
    story: int = 0  # number of the story on the Present page; 0 for none
    slide: int = 0  # section of the story that is presented, from 1; 0 while it is edited
    suite: str = ""  # key of the check suite on display; "" for the worst
    check: str = ""  # name of the checks that are listed; "" for all of the suite
    reason: str = ""  # why they failed; "" for all
    verdict: str = ""  # which checks are listed: "" failed ones, "passed", "unmeasured" or "all"
    check_page: int = 1  # page of the list of checks, from 1
    # kind of wrong route -> its cost: refused, added, mixed_up
    route_weights: Mapping[str, str] = field(default_factory=dict)
    experiment: str = ""  # id of the experiment on display; "" for that of the run, else the newest
    test: str = ""  # id of the live test on display; "" for the newest
    deciding: str = ""  # metric that decides it; "" for the one that was chosen before its start
    arm: str = ""  # arm that its conclusion is about; "" for the one that it was kept with, else the best
    look: int = 0  # number of the look whose knowledge is shown, from 1; 0 for the last
    live_span: str = ""  # time on display of live traffic: a key of SPANS, or FROM~TO; "" for the usual one
    live_against: str = ""  # what its later part is compared with: "release" or "before"; "" for the usual
    tab: str = ""  # which tab of the page is open; "" for the usual one
    unfolded: tuple[str, ...] = ()  # keys of the folded sections that are open

    def with_(self, **changes: Any) -> Self:
        """Return a copy with some values changed; a baseline that is named is the one of Compare too."""
        return replace(self, **({"since": "", **changes} if changes.get("baseline") else changes))

    def to_params(self) -> dict[str, str]:
        """Write the selection as URL parameters, leaving out what is at its default."""
        defaults, params = Selection(), {}
        for field_ in fields(self):
            value = getattr(self, field_.name)
            if value != getattr(defaults, field_.name):
                params[field_.name] = _write(value)
        return params

    @classmethod
    def from_params(cls, params: Mapping[str, str]) -> Self:
        """Read a selection from URL parameters; unknown names and values out of range keep their defaults."""
        defaults = cls()
        values: dict[str, Any] = {}
        params = {_FORMER_KEYS.get(key, key): text for key, text in params.items()}
        for field_ in fields(cls):
            text = params.get(field_.name)
            if text is not None and len(text) <= LONGEST * 4:
                value = _read(field_.name, text, getattr(defaults, field_.name))
                if value is not None:
                    values[field_.name] = value
        return cls(**values)

    def filter(self) -> CaseFilter:
        """Return the filter on the cases."""
        return CaseFilter(
            pattern=self.pattern,
            stage=self.stage,
            bad=_FLAGS[self.bad],
            refused=_FLAGS[self.refused],
            label=self.label,  # type: ignore[arg-type] # checked against LABEL_STATES when read
            failure=self.failure,
            annotator=self.annotator,
            text=self.text,
            slices=dict(self.slices),
            cohort=self.cohort,
            sort=self.sort,
            descending=self.descending,
        )

    def unfiltered(self) -> Self:
        """Return a copy that shows every case."""
        defaults = Selection()
        names = (
            "pattern",
            "stage",
            "bad",
            "refused",
            "label",
            "failure",
            "annotator",
            "text",
            "slices",
            "cohort",
            "page",
            "queue",
            "tab",
        )
        return replace(self, case="", **{name: getattr(defaults, name) for name in names})

    def settings(self) -> DiagnosisSettings:
        """Return how cases are diagnosed."""
        thresholds = CaseThresholds(self.context, self.faithfulness, self.relevancy)
        edges = SymptomEdges(
            self.symptom_low,
            self.symptom_f1,
            self.symptom_faithfulness,
            self.symptom_hallucination,
            self.symptom_noise_relevant,
            self.symptom_noise_irrelevant,
        )
        return DiagnosisSettings(thresholds, self.context_metric or None, self.order, edges)


def _write(value: Any) -> str:
    if isinstance(value, bool):
        return "yes"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, tuple):
        return ",".join(value)
    if isinstance(value, Mapping):
        return json.dumps(dict(value), ensure_ascii=False)
    return str(value)


def _read(name: str, text: str, default: Any) -> Any:
    if name in _WORDS:
        return text if text in _WORDS[name] else None
    if isinstance(default, bool):
        return text == "yes"
    if isinstance(default, float):
        return _number(text)
    if isinstance(default, int):
        number = whole_number(text)
        return number if number is not None and 1 <= number <= 10**9 else None
    if name == "order":
        return _order(text)
    if name in _CHECKED:
        return _checked(name, text)
    if isinstance(default, tuple):
        return tuple(part for part in text.split(",")[:MOST_VERSIONS] if part)
    if isinstance(default, Mapping):
        return _mapping(text)
    return text[:LONGEST]


def price_of(text: str) -> float:
    """Return a price in USD; raises ValueError for what is none."""
    price = float(text)
    if not 0.0 <= price <= HIGHEST_PRICE:
        raise ValueError(text)
    return price


_CHECKED: dict[str, Callable[[str], object]] = {
    "cohort": cohort_title,
    "dimension": dimension_title,
    "evaluated": evaluated_metric_of,
    "price": price_of,
    "live_span": span_ends,
}  # each raises for an unknown value


def _checked(name: str, text: str) -> str | None:
    try:
        _CHECKED[name](text)
    except (DataError, ValueError):
        return None
    return text


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0.0 <= value <= 1.0 else None


def _order(text: str) -> tuple[str, ...] | None:
    """Read an order of stages; missing keys follow in the usual order."""
    order = [key for key in dict.fromkeys(text.split(",")) if key in DEFAULT_ORDER]
    return (*order, *(key for key in DEFAULT_ORDER if key not in order))


def _mapping(text: str) -> dict[str, str] | None:
    try:
        mapping = json.loads(text)
    except (ValueError, RecursionError):  # thousands of digits or brackets
        return None
    if not isinstance(mapping, dict):
        return None
    return {str(key)[:LONGEST]: str(value)[:LONGEST] for key, value in list(mapping.items())[:20]}
