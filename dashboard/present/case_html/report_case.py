"""The chosen cases of a report in full, as HTML in which nothing from outside is markup."""

from collections.abc import Mapping
from typing import Any, Literal

from markupsafe import Markup

from ragtriage.dashboard.present.case_html.case import (
    answer_html,
    context_html,
    conversation_html,
    highlights_of,
)
from ragtriage.dashboard.present.templating import render
from ragtriage.dashboard.wording.escaping import capital, shorten
from ragtriage.dashboard.wording.table_files import cell_text
from ragtriage.data.cases.checks import case_checks
from ragtriage.data.errors import ValidationErrors
from ragtriage.data.store.parsed_run import normalise
from ragtriage.data.suites.check import DIFFERS, RECORDED
from ragtriage.data.text.printable import printable
from ragtriage.data.text.shown_case import cuts_told
from ragtriage.metrics.diagnosis.patterns import PATTERNS
from ragtriage.metrics.diagnosis.stages import STAGES
from ragtriage.metrics.metric_registry import title_of
from ragtriage.metrics.number_text import count

LONGEST_VALUE = 300
ORDER = (False, None, True)
SAY_NOTHING = (DIFFERS, RECORDED)  # beside expected and actual value
RESULTS = {False: "failed", None: "not measured", True: "passed"}


def check_rows(sample: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return what each check of a stored sample expects and what it got, failed ones first."""
    checks = sorted(case_checks(sample), key=lambda check: ORDER.index(check.passed))
    reasons = [check.faults or ("" if check.reason in SAY_NOTHING else check.reason) for check in checks]
    return [
        {
            "Check": check.name,
            "Result": RESULTS[check.passed],
            "Expected": shorten(check.expected, LONGEST_VALUE),
            "Actual": shorten(check.actual, LONGEST_VALUE),
            **({"Reason": shorten(reason, LONGEST_VALUE)} if any(reasons) else {}),
        }
        for check, reason in zip(checks, reasons, strict=True)
    ]


CollapseLevel = Literal["screen", "paper", "open"]  # context collapsed; its beginnings; all of it
TITLES = {
    **{pattern.key: pattern.title for pattern in PATTERNS},
    **{stage.key: stage.title for stage in STAGES},
}


def case_name(record: Mapping[str, Any]) -> str:
    """Return the name of a case: its question id, and which repeat it is."""
    repeat = record.get("repeat")
    name = printable(str(record.get("question_id") or "case"))
    return f"{name}, repeat {repeat}" if repeat else name


def case_scores(record: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return the scores of a case as rows: computed ones first, then those that came with the file."""
    computed = (record.get("ragtriage") or {}).get("scores") or {}
    imported = record.get("scores") or {}
    return [_score_row(name, value, "ragtriage") for name, value in computed.items()] + [
        _score_row(name, value, "imported") for name, value in imported.items()
    ]


def _score_row(name: str, value: Any, source: str) -> dict[str, str]:
    reason = ""
    if isinstance(value, Mapping):
        value, reason = value.get("value"), str(value.get("reason") or "")
    title = capital(title_of(name))
    return {"Metric": title, "Value": cell_text(value), "From": source, "Reason": printable(reason)}


def case_html(record: Mapping[str, Any], anchor: str, collapse: CollapseLevel) -> Markup:
    """Return a case: turns, question, answer with its claims, reference, context, checks, scores, labels.

    The anchor is the id of this case in the page; links from claims to documents stay inside it.
    """
    sample, problem = stored_case(record)
    scores = case_scores(record)
    body: dict[str, Any] = {"problem": problem}
    if sample is None:
        body["texts"] = [printable(str(record.get(name) or "")) for name in ("question", "answer")]
    else:
        body |= _body(sample, anchor, collapse)
    return render(
        "report_case.html",
        anchor=anchor,
        name=case_name(record),
        diagnosis=_diagnosis(record),
        cuts=cuts_told(record),
        scores=scores,
        score_columns=[name for name in scores[0] if any(row[name] for row in scores)] if scores else [],
        **body,
    )


def stored_case(record: Mapping[str, Any]) -> tuple[dict[str, Any] | None, str]:
    """Return a case of the native form as it is stored, or None and why it cannot be read."""
    fields = {name: _printable(value) for name, value in record.items() if name != "ragtriage"}
    errors = ValidationErrors("report")
    sample = normalise(fields, 1, errors)
    return sample, "" if sample is not None else str(errors.first)


def _body(sample: Mapping[str, Any], anchor: str, collapse: CollapseLevel) -> dict[str, Any]:
    """Return the parts of a case that can be read in full."""
    highlights, documents = highlights_of(sample), f"{anchor}-document"
    summary = ""
    if collapse == "screen" and sample["retrieved"]:
        summary = f"{count(len(sample['retrieved']), 'document')}, as ranked"
    return {
        "question": conversation_html(sample, unfolded=collapse != "screen"),
        "answer": answer_html(sample, highlights, documents),
        "reference": sample["reference_answer"],
        "context": context_html(sample, highlights, documents, unfolded=collapse == "open"),
        "context_summary": summary,
        "checks": check_rows(sample),
    }


def _diagnosis(record: Mapping[str, Any]) -> str:
    """Return failure stage, or pattern of a case that is not bad, human labels and tags in a line."""
    diagnosis = record.get("ragtriage") or {}
    parts = [TITLES.get(str(diagnosis.get("stage") or diagnosis.get("pattern")), "")]
    for label in diagnosis.get("labels") or ():
        words = " ".join(label.get(key) or "" for key in ("verdict", "failure", "note"))
        parts.append(f"{label.get('annotator', '')}: {words}")
    parts += [f"{key}: {value}" for key, value in (record.get("tags") or {}).items()]
    return " · ".join(" ".join(part.split()) for part in parts if part)


def _printable(value: Any) -> Any:
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, Mapping):
        return {str(key): _printable(part) for key, part in value.items()}
    return [_printable(part) for part in value] if isinstance(value, list | tuple) else value
