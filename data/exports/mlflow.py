"""MLflow: a JSON line for each assessment, as `Assessment.to_dictionary()` of MLflow 3 writes it.

A score that failed is an assessment with an error in place of a value.
"""

from __future__ import annotations

import re
from typing import Any

import orjson

from ragtriage.data.exports.feedback import Feedback, SampleFeedback
from ragtriage.data.exports.tool import Tool, metadata_of
from ragtriage.data.text.printable import printable
from ragtriage.metrics.schema.source import Source

KINDS = {Source.HUMAN.label: "HUMAN", Source.JUDGED.label: "LLM_JUDGE"}  # all others: CODE
ERROR = "SCORE_FAILED"
_OPENTELEMETRY = re.compile("[0-9a-f]{32}")


def _line(sample: SampleFeedback, entry: Feedback) -> bytes | None:
    reason = printable(entry.reason)
    feedback: dict[str, Any] = {"value": entry.value}
    if entry.value is None:
        feedback["error"] = {"error_code": ERROR, "error_message": reason or "no reason recorded"}
    elif isinstance(entry.value, str):
        feedback["value"] = printable(entry.value)
    moment = f"{sample.at.isoformat()}Z"
    assessment = {
        "trace_id": _trace_id(sample.ids["trace_id"]),
        "assessment_name": printable(entry.name),
        "source": {
            "source_type": KINDS.get(entry.source, "CODE"),
            "source_id": printable(entry.author) or f"ragtriage {entry.source}",
        },
        "create_time": moment,
        "last_update_time": moment,
        "feedback": feedback,
        **({"rationale": reason} if reason and entry.value is not None else {}),
        "metadata": metadata_of(sample, entry),
    }
    return orjson.dumps(assessment) + b"\n"


def _trace_id(text: str) -> str:
    """Return the id of a trace in MLflow, which puts a prefix before that of OpenTelemetry."""
    return f"tr-{text}" if _OPENTELEMETRY.fullmatch(text) else text


MLFLOW = Tool(
    title="MLflow",
    ending="jsonl",
    content="assessments",
    id_name="trace_id",
    imports="its traces (search_traces), which have info.trace_id",
    accepts=lambda ids: "trace_id" in ids,
    line=_line,
    load="""\
import json
import mlflow
from mlflow.entities import Assessment

bodies = [json.loads(line) for line in open(FILE, encoding="utf-8")]""",
    send="""\
for body in bodies:
    mlflow.log_assessment(body["trace_id"], Assessment.from_dictionary(body))""",
)
