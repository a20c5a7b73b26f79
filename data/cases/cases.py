"""Find cases: filter, sort, divide into pages, and read them whole."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from ragtriage.data.cases.cohorts import cohort_rows
from ragtriage.data.diagnosis.diagnosis import Diagnosis
from ragtriage.data.errors import DataError
from ragtriage.data.scoring.batch_inputs import judged_sample
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.store.duckdb_engine import query
from ragtriage.data.store.judge_results import EVALUATION, read_payload, reply_from
from ragtriage.data.text.secrets import masked_text
from ragtriage.metrics.diagnosis.patterns import PATTERNS
from ragtriage.metrics.diagnosis.stages import STAGES, stage_code
from ragtriage.metrics.schema.scores import BoolArray, IntArray

LabelState = Literal["", "any", "none", "pass", "fail"]
LABEL_STATES: tuple[LabelState, ...] = ("", "any", "none", "pass", "fail")
LISTED = ("row", "question_id", "repeat", "question", "answer", "query_type")
SHORT = 300  # characters of a text in a list


@dataclass(frozen=True)
class CaseFilter:
    """Which cases to show, and in which order."""

    pattern: str = ""  # key of a metric pattern, or "" for all
    stage: str = ""  # key of a failure stage, "" for all
    bad: bool | None = None  # True for bad cases alone, False for good ones, None for both
    refused: bool | None = None  # True for refusals alone, False for answers, None for both
    label: LabelState = ""  # human labels: "" all, "any" labelled, "none" unlabelled, "pass", "fail"
    failure: str = ""  # a failure label, "" for all
    annotator: str = ""  # the annotator whose labels `label` and `failure` refer to, "" for anybody's
    text: str = ""  # words to look for in question, answer, reference and id; "" for all
    slices: Mapping[str, str] = field(default_factory=dict)  # name of a slice -> its value
    cohort: str = ""  # a saved group of cases, see ragtriage.data.cases.cohorts; "" for all
    # "" for the order of the file, "worst" for the most reasons to be bad first, or a metric's name
    sort: str = ""
    descending: bool = False  # True for highest values first

    def __post_init__(self) -> None:
        _accept("pattern", self.pattern, ["", *(entry.key for entry in PATTERNS)])
        _accept("stage", self.stage, ["", *(entry.key for entry in STAGES)])
        _accept("label", self.label, [*LABEL_STATES])


def _accept(name: str, value: str, accepted: list[str]) -> None:
    if value not in accepted:
        raise DataError(
            f"filter {name}: {value!r}; accepted: {', '.join(word or '(empty)' for word in accepted)}"
        )


def keep_mask(diagnosis: Diagnosis, chosen: CaseFilter) -> BoolArray:
    """(n,) True for the samples that a filter keeps."""
    scored = diagnosis.scored
    keep = np.ones(scored.n, dtype=np.bool_)
    if chosen.pattern:
        keep &= diagnosis.pattern == [entry.key for entry in PATTERNS].index(chosen.pattern)
    if chosen.stage:
        keep &= diagnosis.stages.stage == [entry.key for entry in STAGES].index(chosen.stage)
    if chosen.bad is not None:
        keep &= (
            diagnosis.bad.bad == chosen.bad
        ) & diagnosis.measured  # a case that was not measured is neither
    if chosen.refused is not None:
        keep &= (scored.stage_features["refused"] == 1) == chosen.refused
    keep &= _label_mask(diagnosis, chosen)
    for group in scored.slices:
        value = chosen.slices.get(group.name)
        if value is not None:
            keep &= group.codes == (group.labels.index(value) if value in group.labels else -1)
    if chosen.cohort:
        keep &= cohort_rows(scored, chosen.cohort)
    if chosen.text.strip():
        hits = query("case_search", {"samples": str(scored.samples_path), "text": chosen.text.strip()})
        matching = np.zeros(scored.n, dtype=np.bool_)
        matching[hits["row"].to_numpy()] = True
        keep &= matching
    return keep


def _label_mask(diagnosis: Diagnosis, chosen: CaseFilter) -> BoolArray:
    n = diagnosis.scored.n
    if not (chosen.label or chosen.failure or chosen.annotator):
        return np.ones(n, dtype=np.bool_)
    matches = np.zeros(n, dtype=np.bool_)
    for row, labels in diagnosis.human_labels.labels.items():
        matches[row] = any(
            (not chosen.annotator or label.annotator == chosen.annotator)
            and (not chosen.failure or label.failure == chosen.failure)
            and (chosen.label not in ("pass", "fail") or label.verdict == chosen.label)
            for label in labels
        )
    return ~matches if chosen.label == "none" else matches


def case_rows(diagnosis: Diagnosis, chosen: CaseFilter) -> IntArray:
    """Return the rows that a filter keeps, sorted; samples without a value to sort by come last."""
    rows = np.flatnonzero(keep_mask(diagnosis, chosen))
    if not chosen.sort:
        return rows
    if chosen.sort == "worst":
        reasons = np.sum(list(diagnosis.bad.reasons.values()), axis=0, dtype=np.float64)
        keys = np.where(diagnosis.bad.bad, reasons, 0.0)[rows]
    else:
        keys = diagnosis.scored.values(chosen.sort)[rows]
    if chosen.descending or chosen.sort == "worst":
        keys = -keys
    return rows[np.argsort(keys, kind="stable")]  # NaN sorts last either way


def stage_order(diagnosis: Diagnosis) -> IntArray:
    """(n,) the rows by stages as they are to be fixed, the worst of each first; good cases come last."""
    places = np.full(len(STAGES) + 1, len(STAGES), dtype=np.int64)
    for place, entry in enumerate(diagnosis.fix_first):
        places[stage_code(entry.key)] = place
    stage = np.where(diagnosis.stages.stage >= 0, diagnosis.stages.stage, len(STAGES))
    reasons = np.sum(list(diagnosis.bad.reasons.values()), axis=0, dtype=np.int64)
    good = (diagnosis.measured & ~diagnosis.bad.bad).astype(np.int64)  # after those of which nothing is known
    return np.lexsort((-reasons * diagnosis.bad.bad, good, places[stage])).astype(np.int64)


@dataclass(frozen=True)
class CasePage:
    """One page of a list of cases."""

    # row, question_id, repeat, question and answer (shortened), query_type, in the filter's order
    cases: list[dict[str, Any]]
    total: int  # number of cases on all pages
    page: int  # 1-based number of this page
    pages: int  # number of pages


def page_of(scored: ScoredRun, rows: IntArray, page: int, size: int) -> CasePage:
    """Read one page of the given rows; a page number beyond the end means the last page."""
    pages = max(1, -(-len(rows) // size))
    page = min(max(1, page), pages)
    cases = scored.samples.read(rows[(page - 1) * size : page * size].tolist(), LISTED)
    for case in cases:
        case["question"] = case["question"][:SHORT]
        case["answer"] = masked_text(case["answer"] or "")[:SHORT]
    return CasePage(cases, len(rows), page, pages)


def read_case(scored: ScoredRun, row: int) -> dict[str, Any]:
    """Read one sample whole; with a judge result, its labels replace the recorded ones and it is added."""
    [sample] = read_judged_cases(scored, [row])
    return sample


def read_judged_cases(scored: ScoredRun, rows: Sequence[int]) -> list[dict[str, Any]]:
    """Read several samples as `read_case` does, each part of the file once."""
    for row in rows:
        if not 0 <= row < scored.n:
            raise DataError(f"run {scored.run.run_id} has no row {row}; accepted: 0 to {scored.n - 1}")
    samples, path = read_cases(scored, np.array(rows, dtype=int)), scored.judge_result_path(EVALUATION)
    payloads = [read_payload(path, row) if path else None for row in rows]
    return [
        sample if payload is None else {**judged_sample(sample, reply_from(payload)), "judged": payload}
        for sample, payload in zip(samples, payloads, strict=True)
    ]


def read_cases(scored: ScoredRun, rows: IntArray) -> list[dict[str, Any]]:
    """Read several samples whole, in the given order, with what was said of their attacks."""
    samples = scored.samples.read(rows.tolist())
    for row, sample in zip(rows.tolist(), samples, strict=True):
        if row in scored.verdicts:
            sample["verdict"] = scored.verdicts[row]
    return samples
