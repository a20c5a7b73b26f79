"""A case on a slide: question, answer, reference, checks, claims, scores; its whole text in the notes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ragtriage.dashboard.present.case_html.report_case import case_name, case_scores, check_rows, stored_case
from ragtriage.dashboard.present.export.pptx.deck import BODY, FAINT, Deck
from ragtriage.dashboard.present.export.slide_layout import MARGIN, WIDTH
from ragtriage.data.text.shown_case import cuts_told

SIZES = (16, 14, 12, 11)
SMALL = (13, 12, 11)
GAP, HEAD = 0.15, 0.25
RIGHT_WIDTH = 4.2
MOST_CLAIMS, MOST_SCORES, MOST_DOCUMENTS = 12, 12, 10


def case_slide(deck: Deck, record: Mapping[str, Any], heading: str, notes: Sequence[str]) -> None:
    """Add a slide for a case in the native form; the notes have the whole of what is cut on it."""
    parts = (
        ("Question", record.get("question"), 0.8),
        ("Answer", record.get("answer"), 2.3),
        ("Reference answer", record.get("reference_answer"), 0.8),
    )
    whole = [f"{name}: {text or 'not recorded'}" for name, text, _ in parts]
    checks = _checks(record)
    whole += [f"Checks: {'; '.join(checks)}"] if checks else []
    slide = deck.slide(f"{heading}: {case_name(record)}", [*whole, *_sources(record), *notes])
    top, cut = BODY[0], False
    left = WIDTH - RIGHT_WIDTH - 0.4
    for name, text, height in parts:
        deck.text(slide, name.upper(), (MARGIN, top, left, HEAD), (10,), FAINT, bold=True)
        box = (MARGIN, top + HEAD, left, height)
        cut |= not deck.text(slide, str(text or "not recorded"), box, SIZES)
        top += HEAD + height + GAP
    side, at = MARGIN + WIDTH - RIGHT_WIDTH, BODY[0]
    claims, scores = _claims(record), _scores(record)
    for name, lines, height in (
        (("Checks", checks, 1.2), ("Claims", claims, 1.3), ("Scores", scores, 1.3))
        if checks
        else (("Claims", claims, 2.35), ("Scores", scores, 1.85))
    ):
        deck.text(slide, name.upper(), (side, at, RIGHT_WIDTH, HEAD), (10,), FAINT, bold=True)
        text = "\n".join(lines) or "none recorded"
        cut |= not deck.text(slide, text, (side, at + HEAD, RIGHT_WIDTH, height), SMALL)
        at += HEAD + height + GAP
    fits = "cut to fit: the whole text is in the notes and in the HTML report" if cut else ""
    deck.facts(slide, [cuts_told(record) or fits])


def _checks(record: Mapping[str, Any]) -> list[str]:
    """Return the checks with expected and actual values, failed ones first."""
    sample, _ = stored_case(record)
    symbols = {"passed": "✓", "failed": "✗"}
    return [
        f"{symbols[row['Result']]} {row['Check']}"
        + (
            f": expected {row['Expected'] or 'nothing recorded'}, got {row['Actual'] or 'nothing'}"
            if row["Expected"] or row["Actual"]
            else ""
        )
        for row in (check_rows(sample) if sample else ())
    ]


def _claims(record: Mapping[str, Any]) -> list[str]:
    lines = []
    for claim in (record.get("claims") or ())[:MOST_CLAIMS]:
        supported, against = claim.get("supported_by"), claim.get("contradicted_by")
        verdict = "supported" if supported else "contradicted" if against else "not in the context"
        if supported is None and not against:
            verdict = "support not recorded"
        symbol = {"supported": "✓", "contradicted": "✗", "not in the context": "–"}.get(verdict, "·")
        lines.append(f"{symbol} {claim.get('text', '')} ({verdict})")
    return lines


def _scores(record: Mapping[str, Any]) -> list[str]:
    return [f"{row['Metric']}: {row['Value']} ({row['From']})" for row in case_scores(record)[:MOST_SCORES]]


def _sources(record: Mapping[str, Any]) -> list[str]:
    """Return the ids of the documents for the notes, in rank order."""
    documents = (record.get("retrieved") or ())[:MOST_DOCUMENTS]
    names = [
        str(document.get("id") or document.get("text") or "")[:80]
        if isinstance(document, Mapping)
        else str(document)[:80]
        for document in documents
    ]
    return ["Documents: " + "; ".join(f"{at}. {name}" for at, name in enumerate(names, 1))] if names else []
