"""Langfuse: a JSON line for each score, as `POST /api/public/scores` takes it (alone or in a list).

Field names and values are those of `CreateScoreRequest` of the langfuse SDK 5.0. There is no form for a score
that failed.
"""

from __future__ import annotations

import orjson

from ragtriage.data.exports.feedback import Feedback, SampleFeedback
from ragtriage.data.exports.tool import Tool, feedback_id, metadata_of
from ragtriage.data.text.printable import printable


def _line(sample: SampleFeedback, entry: Feedback) -> bytes | None:
    if entry.value is None:
        return None
    trace, observation = sample.ids["trace_id"], sample.ids.get("observation_id")
    body = {
        "id": feedback_id(observation or trace, sample, entry),
        "traceId": trace,
        **({"observationId": observation} if observation else {}),
        "name": printable(entry.name),
        "value": printable(entry.value) if isinstance(entry.value, str) else entry.value,
        "dataType": "CATEGORICAL" if isinstance(entry.value, str) else "NUMERIC",
        "source": "ANNOTATION" if entry.human else "API",
        **({"comment": printable(entry.reason)} if entry.reason else {}),
        "metadata": metadata_of(sample, entry),
        # A score replaces an earlier one of the same id and time, so the time is the run's.
        "timestamp": f"{sample.at.isoformat()}Z",
    }
    return orjson.dumps(body) + b"\n"


LANGFUSE = Tool(
    title="Langfuse",
    ending="jsonl",
    content="bodies of POST /api/public/scores",
    id_name="trace_id",
    imports="its observations or experiment items, which have traceId",
    accepts=lambda ids: "trace_id" in ids,
    line=_line,
    load="""\
import json
from langfuse import get_client

langfuse = get_client()
bodies = [json.loads(line) for line in open(FILE, encoding="utf-8")]""",
    human_needs="a score config of the same name for each kind of human label",
    send_human="""\
configs = {config.name: config.id for config in langfuse.api.score_configs.get(limit=100).data}
for body in bodies:
    if body["source"] == "ANNOTATION":
        body["configId"] = configs[body["name"]]""",
    send="""\
for at in range(0, len(bodies), 100):
    langfuse.api.scores.create(request=bodies[at : at + 100])""",
)
