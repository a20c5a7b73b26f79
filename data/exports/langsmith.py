"""LangSmith: a JSON line for each feedback, as the arguments of `Client.create_feedback`.

Arguments are those of langsmith 0.15. A score that failed has `error` and its reason; the service keeps four
decimals of a score. It has no source of feedback for people, so they are named in `source_info`.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

import orjson

from ragtriage.data.exports.feedback import Feedback, SampleFeedback
from ragtriage.data.exports.tool import Tool, feedback_id, metadata_of
from ragtriage.data.text.printable import printable
from ragtriage.metrics.schema.source import Source


def _line(sample: SampleFeedback, entry: Feedback) -> bytes | None:
    run, trace, reason = sample.ids["run_id"], sample.ids.get("trace_id", ""), printable(entry.reason)
    value: dict[str, Any] = {"score": entry.value}
    if entry.value is None:
        value = {"error": True, "extra": {"error": True}}
    elif isinstance(entry.value, str):
        value = {"value": printable(entry.value)}
    arguments = {
        "run_id": run,
        **({"trace_id": trace} if _is_uuid(trace) else {}),
        "key": printable(entry.name),
        **value,
        **({"comment": reason} if reason else {}),
        "source_info": metadata_of(sample, entry),
        "feedback_source_type": "model" if entry.source == Source.JUDGED.label else "api",
        "feedback_id": feedback_id(run, sample, entry),
    }
    return orjson.dumps(arguments) + b"\n"


def _is_uuid(text: str) -> bool:
    try:
        uuid.UUID(text)
    except ValueError:
        return False
    return "-" in text  # 32 digits alone are a trace of OpenTelemetry


def _accepts(ids: Mapping[str, str]) -> bool:
    return _is_uuid(ids.get("run_id", ""))


LANGSMITH = Tool(
    title="LangSmith",
    ending="jsonl",
    content="arguments of Client.create_feedback",
    id_name="run_id",
    imports="its runs or the rows of an experiment as JSONL, which have the id of each run",
    accepts=_accepts,
    line=_line,
    load="""\
import json
from langsmith import Client

client = Client()
session_id = client.read_project(project_name="PROJECT").id
bodies = [json.loads(line) for line in open(FILE, encoding="utf-8")]""",
    send="""\
for body in bodies:
    client.create_feedback(**body, session_id=session_id)""",
)
