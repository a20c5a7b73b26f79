"""The run of a module that AutoRAG tried: its outputs, joined by position with the questions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ragtriage.data.declarations import declaration_fault
from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.formats.tool_rows import Row
from ragtriage.data.importers.parsing.cells import CellError, read_cell
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.literals import LiteralError, read_literal
from ragtriage.data.importers.parsing.options import Options
from ragtriage.data.importers.parsing.rows import open_table
from ragtriage.data.importers.tools.autorag.trial import NODE_COLUMNS, QUESTIONS, Module
from ragtriage.data.store.parsed_run import ParsedRun, Record
from ragtriage.data.store.sample_models import as_json

CHOOSING = {"passage_reranker", "passage_filter"}  # nodes that choose among the passages of the one before
RETRIEVAL = ("retrieved_contents", "retrieved_ids", "retrieve_scores")
KEPT_AS_COUNT = {"generated_tokens", "generated_log_probs"}
# What its figures are: shares, the higher the better.
FIGURES = ("retrieval_", "meteor", "rouge", "sem_score", "bert_score")
SHARE = {"direction": "higher", "range": [0.0, 1.0]}


@dataclass
class ModuleReader:
    """Reads the run of a module: its rows, joined by position with the questions and the nodes before.

    Attributes:
        source: what is imported: a project, a trial, or a part of one.
        project: folder of the project.
        module: the module.
        before: the best modules of the nodes before, by what they hand on.
        options: how much is read.
        errors: collector of the errors and remarks.
    """

    source: InputFile
    project: Path
    module: Module
    before: Mapping[str, Module]
    options: Options
    errors: ValidationErrors

    def run(self, started: datetime | None) -> ParsedRun:
        """Return the run of the module.

        Raises:
            InputError: a file is damaged, or has not a row for each question.
        """
        questions = self._rows_in(self.project / QUESTIONS)
        files = {module.file for module in (self.module, *self.before.values())}
        for path in sorted(files):
            if (rows := self._rows_in(path)) != questions:
                raise self.source.error(
                    f"has {rows:,} rows in {path.parent.name}/{path.name} for {questions:,} questions in "
                    f"{QUESTIONS}: they are paired by position",
                    "a trial with the questions that it ran on",
                )
        row, figures = self.module.row, _figures(self.module.row)
        config: dict[str, Any] = {"node_line": self.module.line, "node": self.module.node}
        config |= {"module": row["module_name"], **self._params()}
        if before := self.before.get("passages"):
            config["passages_from"] = f"{before.node}/{before.file.stem} {before.row['module_name']}"
        return ParsedRun(
            name=self.module.name,
            records=self._records(),
            file=self.source.name,
            format="autorag",
            named_by_content=True,
            config=config | ({"reported_means": figures} if figures else {}),
            dataset=self.project.name,
            created_at=started,
            notes=self._repetitions(questions),
            measured=_seconds(row),
            metrics={
                name: SHARE
                for name in figures
                if name.startswith(FIGURES) and declaration_fault(name, SHARE) is None
            },
        )

    def _repetitions(self, questions: int) -> tuple[str, ...]:
        """Return a note where lists hold a passage twice: AutoRAG's figures and ours then differ."""
        with self._opened(self.module.file) as file:
            if "retrieved_ids" not in file.schema_arrow.names:
                return ()
            columns = (
                batch.column(0).to_pylist() for batch in file.iter_batches(256, columns=["retrieved_ids"])
            )
            lists = [ids for ids in chain.from_iterable(columns) if isinstance(ids, list)]
        repeated = sum(len(set(map(str, ids))) < len(ids) for ids in lists)
        if not repeated:
            return ()
        return (
            f"{repeated:,} of {questions:,} lists hold a passage more than once: retrieval_precision and "
            "retrieval_f1, as AutoRAG wrote them, count it once; precision@k counts each rank",
        )

    def _rows_in(self, path: Path) -> int:
        with self._opened(path) as file:
            return int(file.metadata.num_rows)

    @contextmanager
    def _opened(self, path: Path) -> Iterator[pq.ParquetFile]:
        try:
            with pq.ParquetFile(path) as file:
                yield file
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            what = f"holds {path.parent.name}/{path.name}, which cannot be read: {error}"
            raise self.source.error(what, "whole Parquet files") from error

    def _params(self) -> dict[str, Any]:
        try:
            params = read_literal(self.module.row["module_params"] or "{}")
        except LiteralError:
            params = {"module_params": self.module.row["module_params"]}
        return params if isinstance(params, dict) else {"module_params": str(params)}

    def _records(self) -> Iterator[Record]:
        """Yield a record for each question; every file has as many rows, in the same order."""
        parts = {"questions": self.project / QUESTIONS, "outputs": self.module.file}
        parts |= {name: module.file for name, module in self.before.items()}
        tables = [
            open_table(InputFile.from_path(path, self.source.limits), self.errors, self.options.limit).rows()
            for path in parts.values()
        ]
        for rows in zip(*tables, strict=True):
            row = dict(zip(parts, (row for _, row in rows), strict=True))
            line = rows[0][0]
            try:
                yield line, self._record(line, row)
            except CellError as fault:
                self.errors.add(line, "retrieval_gt", fault.what, fault.accepted)

    def _record(self, line: int, row: Mapping[str, Row]) -> Row:
        question, output = row["questions"], row["outputs"]
        record: Row = {"question_id": question.get("qid"), "question": question.get("query")}
        record["relevant"] = read_cell("relevant", question.get("retrieval_gt"))
        references = question.get("generation_gt")
        record["reference_answer"] = read_cell("reference_answer", references)
        if isinstance(references, list) and len(references) > 1:
            record["generation_gt"] = references
        passages = row.get("passages", {})
        own = "retrieved_contents" in output or "retrieved_ids" in output
        record["retrieved"] = (
            self._documents(line, output, passages) if own else self._documents(line, passages)
        )
        if own and self.module.node in CHOOSING:
            record["candidates"] = self._documents(line, passages)
        self._put_outputs(record, output, row.get("prompts", {}))
        if _is_without_ids(record["retrieved"]):  # the gold names passages, which these texts no longer are
            record["retrieval_gt"] = record.pop("relevant")
            self.errors.remark("passages have no ids any more, as after a compressor: gold is kept as extra")
        return record

    def _documents(self, line: int, row: Row, before: Row | None = None) -> list[Row] | None:
        """Return the passages of a row; their ids from the node before where this one writes texts alone."""
        texts, ids, scores = (row.get(name) for name in RETRIEVAL)
        if ids is None and before and isinstance(texts, list):
            ids = before.get("retrieved_ids")
            ids = ids if isinstance(ids, list) and len(ids) == len(texts) else None
        columns = {"text": texts, "id": ids, "score": scores}
        present = {name: values for name, values in columns.items() if isinstance(values, list)}
        if not present:
            return None
        if len({len(values) for values in present.values()}) > 1:
            sizes = ", ".join(f"{name} {len(values)}" for name, values in present.items())
            self.errors.add(line, "retrieved", f"has lists of different lengths ({sizes})", "one of each")
            return None
        return [dict(zip(present, values, strict=True)) for values in zip(*present.values(), strict=True)]

    def _put_outputs(self, record: Row, output: Row, prompts: Row) -> None:
        """Put what the module wrote beside passages into a record: answer, prompt, queries, figures."""
        queries = output.get("queries")
        if isinstance(queries, list) and queries:
            record["search_query"] = queries[0]
            record["queries"] = queries
        prompt = output.get("prompts", prompts.get("prompts"))
        record["prompt"] = prompt if isinstance(prompt, str) or prompt is None else as_json(prompt)
        record["answer"] = output.get("generated_texts")
        tokens = output.get("generated_tokens")
        record["output_tokens"] = len(tokens) if isinstance(tokens, list) else None
        if self.module.is_best:
            record["tags"] = {"is_best": True}
        taken = {*RETRIEVAL, *KEPT_AS_COUNT, "queries", "prompts", "generated_texts"}
        scores = {}
        for name, value in output.items():
            if isinstance(value, float) and name not in taken:
                scores[name] = value
            elif name not in taken and name not in record:
                record[name] = value
        record["scores"] = scores or None


def _is_without_ids(documents: list[Row] | None) -> bool:
    return bool(documents) and all(document.get("id") is None for document in documents or ())


def _figures(row: Mapping[str, str]) -> dict[str, float]:
    """Return the means of a module that its node's summary has."""
    known = {*NODE_COLUMNS, "execution_time", "is_best"}
    figures = {name: _number(value) for name, value in row.items() if name not in known}
    return {name: value for name, value in figures.items() if value is not None}


def _seconds(row: Mapping[str, str]) -> dict[str, float]:
    seconds = _number(row.get("execution_time", ""))
    return {} if seconds is None else {"execution_time": seconds}


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if abs(number) < 1e15 else None
