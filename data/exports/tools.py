"""The tools that take scores back: the form of their files, how these are sent, and a file for one of them.

The forms are those of the langfuse SDK 5.0, langsmith 0.15, MLflow 3 and arize-phoenix-client 3.5.
"""

import json
import re
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count
from typing import Any

import numpy as np
import orjson

from ragtriage.data.cases.export import csv_line, safe_cell
from ragtriage.data.diagnosis.diagnosis import Diagnosis
from ragtriage.data.errors import DataError
from ragtriage.data.exports.feedback import (
    FAILURE,
    STAGE,
    VERDICT,
    Chosen,
    Counts,
    Feedback,
    RunFeedback,
    SampleFeedback,
    sample_ids,
)
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.store.ledger import Ledger
from ragtriage.data.text.printable import printable
from ragtriage.metrics.metric_registry import ordered
from ragtriage.metrics.schema.scores import IntArray, Source

_OURS = uuid.uuid5(uuid.NAMESPACE_OID, "ragtriage")


@dataclass(frozen=True)
class Tool:
    """A tool that takes scores back."""

    title: str  # name on screen
    ending: str  # of its file
    content: str  # what the file holds, in a few words
    id_name: str  # name of the id that joins a score to what the tool recorded, as kept with a sample
    imports: str  # what to import so that samples have it, as part of a sentence
    accepts: Callable[[Mapping[str, str]], bool]  # whether the ids of a sample suffice
    # the line of a score or label; None where the tool has no form for a failed score
    line: Callable[[SampleFeedback, Feedback], bytes | None]
    load: str  # lines of Python that read the file, which is called FILE in them
    send: str  # lines of Python that send what was read
    header: bytes = b""  # the first line of the file, if it needs one
    human_needs: str = ""  # what the tool must have before human labels are sent; "" for nothing
    send_human: str = ""  # lines that go before `send` where there are human labels

    def lines(self, path: str, human: bool) -> str:
        """Return the lines of Python that send a file, with or without human labels in it."""
        parts = [self.load, *([self.send_human] if human and self.send_human else []), self.send]
        return "\n".join(parts).replace("FILE", json.dumps(path))


def feedback_id(subject: str, sample: SampleFeedback, entry: Feedback) -> str:
    """Return an id that is the same whenever a score is exported, so that sending it again replaces it."""
    who = entry.author if entry.human else ""
    parts = (subject, sample.question_id, str(sample.repeat), entry.name, str(entry.human), who)
    return str(uuid.uuid5(_OURS, "\x1f".join(parts)))


def metadata_of(sample: SampleFeedback, entry: Feedback) -> dict[str, str]:
    """Return where a score comes from: its source and author, the run and the question."""
    author = {"annotator" if entry.human else "judge": entry.author} if entry.author else {}
    return {
        "tool": "ragtriage",
        "source": entry.source,
        **author,
        "run": sample.run_id,
        "question_id": sample.question_id,
        "repeat": str(sample.repeat),
    }


def _langfuse_line(sample: SampleFeedback, entry: Feedback) -> bytes | None:
    """Return the body of `POST /api/public/scores`; a score that failed has no form there."""
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
    line=_langfuse_line,
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


def _langsmith_line(sample: SampleFeedback, entry: Feedback) -> bytes | None:
    """Return the arguments of `Client.create_feedback`; `source_info` names no people."""
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


LANGSMITH = Tool(
    title="LangSmith",
    ending="jsonl",
    content="arguments of Client.create_feedback",
    id_name="run_id",
    imports="its runs or the rows of an experiment as JSONL, which have the id of each run",
    accepts=lambda ids: _is_uuid(ids.get("run_id", "")),
    line=_langsmith_line,
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


MLFLOW_KINDS = {Source.HUMAN.label: "HUMAN", Source.JUDGED.label: "LLM_JUDGE"}  # all others: CODE
ERROR = "SCORE_FAILED"
_OPENTELEMETRY = re.compile("[0-9a-f]{32}")


def _mlflow_line(sample: SampleFeedback, entry: Feedback) -> bytes | None:
    """Return an assessment as `Assessment.to_dictionary()` writes it, with an error for a failed score."""
    reason = printable(entry.reason)
    feedback: dict[str, Any] = {"value": entry.value}
    if entry.value is None:
        feedback["error"] = {"error_code": ERROR, "error_message": reason or "no reason recorded"}
    elif isinstance(entry.value, str):
        feedback["value"] = printable(entry.value)
    moment = f"{sample.at.isoformat()}Z"
    # the id of a trace in MLflow, which puts a prefix before that of OpenTelemetry
    text = sample.ids["trace_id"]
    trace_id = f"tr-{text}" if _OPENTELEMETRY.fullmatch(text) else text
    assessment = {
        "trace_id": trace_id,
        "assessment_name": printable(entry.name),
        "source": {
            "source_type": MLFLOW_KINDS.get(entry.source, "CODE"),
            "source_id": printable(entry.author) or f"ragtriage {entry.source}",
        },
        "create_time": moment,
        "last_update_time": moment,
        "feedback": feedback,
        **({"rationale": reason} if reason and entry.value is not None else {}),
        "metadata": metadata_of(sample, entry),
    }
    return orjson.dumps(assessment) + b"\n"


MLFLOW = Tool(
    title="MLflow",
    ending="jsonl",
    content="assessments",
    id_name="trace_id",
    imports="its traces (search_traces), which have info.trace_id",
    accepts=lambda ids: "trace_id" in ids,
    line=_mlflow_line,
    load="""\
import json
import mlflow
from mlflow.entities import Assessment

bodies = [json.loads(line) for line in open(FILE, encoding="utf-8")]""",
    send="""\
for body in bodies:
    mlflow.log_assessment(body["trace_id"], Assessment.from_dictionary(body))""",
)


PHOENIX_COLUMNS = (
    *("span_id", "annotation_name", "annotator_kind"),
    *("label", "score", "explanation", "metadata", "identifier"),
)
PHOENIX_KINDS = {Source.HUMAN.label: "HUMAN", Source.JUDGED.label: "LLM"}  # all others: CODE


def _phoenix_line(sample: SampleFeedback, entry: Feedback) -> bytes | None:
    """Return an annotation of a root span; its identifier makes Phoenix replace one that is sent again."""
    if entry.value is None:
        return None
    label, score = (entry.value, "") if isinstance(entry.value, str) else ("", repr(entry.value))
    cells = (
        sample.ids["span_id"],
        entry.name,
        PHOENIX_KINDS.get(entry.source, "CODE"),
        label,
        "",
        entry.reason,
        orjson.dumps(metadata_of(sample, entry)).decode(),
        f"ragtriage {entry.author}" if entry.human else "ragtriage",
    )
    texts = [printable(str(safe_cell(cell))) for cell in cells]
    texts[PHOENIX_COLUMNS.index("score")] = score  # a negative number is not a formula
    return csv_line(texts)


PHOENIX = Tool(
    title="Phoenix",
    ending="csv",
    content="span annotations",
    id_name="span_id",
    imports="its spans, which have context.span_id",
    accepts=lambda ids: "span_id" in ids,
    line=_phoenix_line,
    header=csv_line(PHOENIX_COLUMNS),
    load="""\
import json
import pandas as pd
from phoenix.client import Client

text = dict.fromkeys(("span_id", "annotation_name", "label", "explanation", "identifier"), str)
how = {"dtype": text, "converters": {"metadata": json.loads}, "keep_default_na": False, "na_values": [""]}
rows = pd.read_csv(FILE, **how).astype(object)""",
    send="Client().spans.log_span_annotations_dataframe(dataframe=rows.where(rows.notna(), None))",
)


TOOLS: Mapping[str, Tool] = {
    "langfuse": LANGFUSE,
    "phoenix": PHOENIX,
    "mlflow": MLFLOW,
    "langsmith": LANGSMITH,
}
UNNAMED = "unnamed"  # no tool takes a score without a name
LOOKED_AT = 64  # samples that tell which tools scores can go back to


def tools_of(scored: ScoredRun, rows: IntArray) -> list[str]:
    """List the tools whose ids some rows of a run have, by the first of them."""
    samples = scored.samples.read(rows[:LOOKED_AT].tolist(), ("extra", "tags"))
    ids = [sample_ids(sample) for sample in samples]
    return [name for name, tool in TOOLS.items() if any(map(tool.accepts, ids))]


def written_name(metric: str) -> str:
    """Return the name of a metric as a tool takes it."""
    return printable(metric).strip() or UNNAMED


def written_names(metrics: Sequence[str]) -> dict[str, str]:
    """Return metric -> its name in a file: no two have one name, and none that of a verdict or a stage."""
    taken = {VERDICT, STAGE, FAILURE}
    names = {}
    for metric in ordered(metrics):
        name = written_name(metric)
        numbered = (f"{name} ({number})" for number in count(2))
        names[metric] = next(each for each in chain([name], numbered) if safe_cell(each) not in taken)
        taken.add(str(safe_cell(names[metric])))
    return names


class ToolFile:
    """The scores and human labels of a run, or of some of its rows, as a file for a tool."""

    def __init__(
        self,
        name: str,
        diagnosis: Diagnosis,
        ledger: Ledger,
        chosen: Chosen | None = None,
        rows: IntArray | None = None,
    ) -> None:
        if name not in TOOLS:
            raise DataError(f"tool {name!r}; accepted: {', '.join(TOOLS)}")
        self.tool = TOOLS[name]
        self._run = diagnosis.scored.run
        self._rows = np.arange(diagnosis.scored.n) if rows is None else rows
        self.names = written_names(diagnosis.scored.metrics)
        self._feedback = RunFeedback(diagnosis, ledger, chosen or Chosen(), self._rows)

    @property
    def counts(self) -> Counts:
        """The fate of the scores; complete when the last line has been read."""
        return self._feedback.counts

    def lines(self) -> Iterator[bytes]:
        """Yield the file in pieces, one a sample.

        Raises:
            DataError: no sample has the id that the tool needs, or nothing is left to write.
        """
        header = self.tool.header
        for sample in self._feedback.samples(self.tool.accepts):
            piece = self._piece(sample)
            if piece:
                yield header + piece
                header = b""
        if not self.counts.samples:
            raise self._nothing()

    def _piece(self, sample: SampleFeedback) -> bytes:
        entries: dict[tuple[str, str], Feedback] = {}  # of one annotator the last of a name
        for entry in sample.entries:
            is_label = isinstance(entry.value, str)
            name = entry.name if is_label else self.names.get(entry.name) or written_name(entry.name)
            who = f"human: {entry.author}" if entry.human else ""
            self.counts.repeated += (name, who) in entries
            entries[name, who] = replace(entry, name=name)
        piece = bytearray()
        for entry in entries.values():
            line = self.tool.line(sample, entry)
            if line is None:
                self.counts.failed += 1
            else:
                piece += line
                self.counts.count(entry)
        self.counts.samples += bool(piece)
        return bytes(piece)

    def _nothing(self) -> DataError:
        tool, run = self.tool, self._run
        if self.counts.without_id == len(self._rows):
            return DataError(
                f"{run.name} ({run.run_id}), read as {run.origin['format']}, has no {tool.id_name}, by which "
                f"{tool.title} joins scores; accepted: a run imported from {tool.imports}"
            )
        return DataError(
            f"{run.name} ({run.run_id}) has no score or label for {tool.title} left to write; accepted: "
            "other metrics or sources, or a run with scores"
        )
