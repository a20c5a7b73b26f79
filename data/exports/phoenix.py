"""Phoenix: a CSV file for `client.spans.log_span_annotations_dataframe`, an annotation of a root span each.

Columns and kinds are those of arize-phoenix-client 3.5. The identifier makes Phoenix replace an annotation
that is sent again. There is no form for a score that failed.
"""

from __future__ import annotations

import orjson

from ragtriage.data.cases.export import csv_line, safe_cell
from ragtriage.data.exports.feedback import Feedback, SampleFeedback
from ragtriage.data.exports.tool import Tool, metadata_of
from ragtriage.data.text.printable import printable
from ragtriage.metrics.schema.source import Source

COLUMNS = (
    *("span_id", "annotation_name", "annotator_kind"),
    *("label", "score", "explanation", "metadata", "identifier"),
)
KINDS = {Source.HUMAN.label: "HUMAN", Source.JUDGED.label: "LLM"}  # all others: CODE


def _line(sample: SampleFeedback, entry: Feedback) -> bytes | None:
    if entry.value is None:
        return None
    label, score = (entry.value, "") if isinstance(entry.value, str) else ("", repr(entry.value))
    cells = (
        sample.ids["span_id"],
        entry.name,
        KINDS.get(entry.source, "CODE"),
        label,
        "",
        entry.reason,
        orjson.dumps(metadata_of(sample, entry)).decode(),
        f"ragtriage {entry.author}" if entry.human else "ragtriage",
    )
    texts = [printable(str(safe_cell(cell))) for cell in cells]
    texts[COLUMNS.index("score")] = score  # a negative number is no formula
    return csv_line(texts)


PHOENIX = Tool(
    title="Phoenix",
    ending="csv",
    content="span annotations",
    id_name="span_id",
    imports="its spans, which have context.span_id",
    accepts=lambda ids: "span_id" in ids,
    line=_line,
    header=csv_line(COLUMNS),
    load="""\
import json
import pandas as pd
from phoenix.client import Client

text = dict.fromkeys(("span_id", "annotation_name", "label", "explanation", "identifier"), str)
how = {"dtype": text, "converters": {"metadata": json.loads}, "keep_default_na": False, "na_values": [""]}
rows = pd.read_csv(FILE, **how).astype(object)""",
    send="Client().spans.log_span_annotations_dataframe(dataframe=rows.where(rows.notna(), None))",
)
