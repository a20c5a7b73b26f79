"""The chosen cases of a report in full, as HTML in which nothing from outside is markup."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import Any, Literal

from markupsafe import Markup

from dashboard.case_html.case import STYLE, answer_html, context_html, conversation_html, highlights_of
from dashboard.case_html.templating import render
from dashboard.wording.escaping import capital
from dashboard.wording.export_text import cell_text, printable
from dashboard.wording.formatting import count
from data.errors import ValidationErrors
from data.store.sample_validation import normalise
from metrics.diagnosis.patterns import PATTERNS
from metrics.diagnosis.stages import STAGES
from metrics.metric_registry import title_of

__all__ = ["CASE_STYLE", "Fold", "case_html", "case_name", "case_scores"]

CASE_STYLE = STYLE.removeprefix("<style>").removesuffix("</style>")
Fold = Literal["screen", "paper", "open"]  # context folded; its beginnings; all of it
TITLES = {one.key: one.title for one in (*PATTERNS, *STAGES)}


def case_name(record: Mapping[str, Any]) -> str:
    """Name a case: its question id, and which repeat it is."""
    repeat = record.get("repeat")
    name = printable(str(record.get("question_id") or "case"))
    return f"{name}, repeat {repeat}" if repeat else name


def case_scores(record: Mapping[str, Any]) -> list[dict[str, str]]:
    """Give the scores of a case as rows: those found here first, then those that came with the file."""
    found = (record.get("ragtriage") or {}).get("scores") or {}
    rows = [_score(name, value, "ragtriage") for name, value in found.items()]
    return rows + [_score(name, value, "imported") for name, value in (record.get("scores") or {}).items()]


def _score(name: str, value: Any, source: str) -> dict[str, str]:
    reason = ""
    if isinstance(value, Mapping):
        value, reason = value.get("value"), str(value.get("reason") or "")
    title = capital(title_of(name))
    return {"Metric": title, "Value": cell_text(value), "From": source, "Reason": printable(reason)}


def case_html(record: Mapping[str, Any], place: str, fold: Fold) -> str:
    """Write a case: turns, question, answer with its claims, reference, ranked context, scores, labels.

    Args:
        record: the case in the native form.
        place: name of this case in the page; links from claims to documents stay inside it.
        fold: how much of the context stands open.
    """
    given = {name: _printable(value) for name, value in record.items() if name != "ragtriage"}
    problems = ValidationErrors("report")
    sample = normalise(given, 1, problems)
    head = f"<h3>{_safe(case_name(record))}</h3>{_diagnosis(record)}"
    if sample is None:
        body = f'<p class="small">This case cannot be read in full: {_safe(str(problems.first))}</p>'
        body += "".join(f"<p>{_safe(str(given.get(name) or ''))}</p>" for name in ("question", "answer"))
    else:
        body = _body(sample, fold, f"{place}-document")
    return f'<article class="case" id="{place}">{head}{body}{_scores(record)}</article>'


def _body(sample: Mapping[str, Any], fold: Fold, anchor: str) -> str:
    evidence = highlights_of(sample)
    context: str = context_html(sample, evidence, anchor, unfolded=fold == "open")
    if fold == "screen" and sample["retrieved"]:
        words = count(len(sample["retrieved"]), "document")
        context = f"<details><summary>{words}, as ranked</summary>{context}</details>"
    return (
        f"<h4>Question</h4>{conversation_html(sample, unfolded=fold != 'screen')}"
        f"<h4>Answer</h4>{answer_html(sample, evidence, anchor)}"
        f"<h4>Reference answer</h4>{_text(sample['reference_answer'], 'No reference answer was recorded.')}"
        f"<h4>Context</h4>{context}"
    )


def _text(text: str | None, nothing: str) -> str:
    if text is None:
        return f'<p class="small">{nothing}</p>'
    return f'<div class="rt"><p>{_safe(text)}</p></div>'


def _diagnosis(record: Mapping[str, Any]) -> str:
    found = record.get("ragtriage") or {}
    parts = [TITLES.get(str(found.get(key)), "") for key in ("pattern", "stage")]
    parts += [
        f"{one.get('annotator', '')}: "
        + " ".join(one.get(key) or "" for key in ("verdict", "failure", "note"))
        for one in found.get("labels") or ()
    ]
    parts += [f"{key}: {value}" for key, value in (record.get("tags") or {}).items()]
    said = " · ".join(" ".join(part.split()) for part in parts if part)
    return f'<p class="small">{_safe(said)}</p>' if said else ""


def _scores(record: Mapping[str, Any]) -> Markup:
    rows = case_scores(record)
    columns = [name for name in rows[0] if any(row[name] for row in rows)] if rows else []
    return render("dashboard.case_html", "scores.html", rows=rows, columns=columns)


def _printable(value: Any) -> Any:
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, Mapping):
        return {str(key): _printable(one) for key, one in value.items()}
    return [_printable(one) for one in value] if isinstance(value, list | tuple) else value


def _safe(text: str) -> str:
    return html.escape(printable(text), quote=True)
