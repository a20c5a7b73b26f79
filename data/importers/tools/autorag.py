"""AutoRAG: a trial folder, with a run for each module that it tried, and single tables of its nodes."""

import csv
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from itertools import chain, islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ragtriage.data.declarations import declaration_fault
from ragtriage.data.errors import InputError, ValidationErrors
from ragtriage.data.importers.formats.table import runs_of_table, table_reader
from ragtriage.data.importers.importer import Options, Peek, Reader, Row, ToolRows, each, run_of
from ragtriage.data.importers.parsing.cells import CellError, read_cell
from ragtriage.data.importers.parsing.columns import plan_columns
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.literals import LiteralError, read_literal
from ragtriage.data.importers.parsing.names import guessed_fields
from ragtriage.data.importers.parsing.rows import open_table
from ragtriage.data.importers.parsing.shapes import as_float, objects
from ragtriage.data.store.parsed_run import ParsedRun, Record
from ragtriage.data.store.sample_models import as_json

QUESTIONS = Path("data/qa.parquet")
NODE_COLUMNS = {"filename", "module_name", "module_params"}
ABOVE = 4  # folders between a node and its project, and one to spare
MOST_MODULES = 2_000
SUMMARY_BYTES = 16 << 20
# The order of the nodes in a pipeline; a hybrid retrieval joins the two before it.
NODES = (
    *("query_expansion", "retrieval", "lexical_retrieval", "semantic_retrieval", "hybrid_retrieval"),
    *("passage_augmenter", "passage_reranker", "passage_filter", "passage_compressor"),
    *("prompt_maker", "generator"),
)
ACCEPTED = (
    "a trial folder (`0`, `1`, ...) or the project folder above it, with data/qa.parquet and "
    "<trial>/<node line>/<node>/summary.csv"
)


@dataclass(frozen=True)
class Module:
    """One module that a node of a trial tried: a row of the summary.csv in the folder of the node."""

    trial: str
    line: str
    node: str
    folder: Path
    row: Mapping[str, str]

    @property
    def file(self) -> Path:
        """The file of its outputs, a row for each question."""
        return self.folder / self.row["filename"]

    @property
    def is_best(self) -> bool:
        """True where the next node works with what it wrote."""
        return self.row.get("is_best", "").strip().lower() == "true"

    @property
    def name(self) -> str:
        """The name of its run: where it stands, and the module."""
        return f"{self.trial}/{self.node}/{self.file.stem} {self.row['module_name']}"


def trials_of(folder: Path) -> list[Path]:
    """Return the trial folders that a folder is, holds, or lies in; [] where it is none of AutoRAG's."""
    if (folder / "trial.json").is_file() or (folder / QUESTIONS).is_file():
        inner = (path for path in islice(folder.iterdir(), MOST_MODULES) if path.is_dir())
        numbered = {
            path: path.name.isdecimal() and len(path.name) < 9 for path in inner if _node_summaries(path)
        }
        return sorted(numbered, key=lambda path: (int(path.name) if numbered[path] else 10**9, path.name))
    if project_of(folder) is None and not (folder / "summary.csv").is_file():
        return []
    return [folder] if _node_summaries(folder) else []


def _node_summaries(trial: Path) -> list[Path]:
    """Return the summaries of the nodes of a trial, of a node line or of a node."""
    paths = (path for depth in ("", "*/", "*/*/") for path in trial.glob(f"{depth}summary.csv"))
    summaries = []
    for path in islice(paths, MOST_MODULES):
        with suppress(OSError), path.open("rb") as stream:
            header = stream.readline(1 << 16).decode("utf-8", "replace").strip("\ufeff\r\n")
            if set(header.split(",")) >= NODE_COLUMNS:
                summaries.append(path)
    return summaries


def project_of(folder: Path) -> Path | None:
    """Return the project folder that a folder lies in, found by its questions."""
    start = folder.absolute()
    return next((path for path in (start, *start.parents[:ABOVE]) if (path / QUESTIONS).is_file()), None)


def start_times(project: Path) -> dict[str, datetime]:
    """Return when each trial started, as far as trial.json says."""
    try:
        listed = InputFile.from_path(project / "trial.json").document()
    except InputError:
        return {}
    times = {}
    for entry in objects(listed):
        with suppress(ValueError):
            times[str(entry.get("trial_name"))] = datetime.fromisoformat(str(entry.get("start_time")))
    return {name: time.replace(tzinfo=None) for name, time in times.items()}


def nodes_of(source: InputFile, trial: Path) -> list[list[Module]]:
    """Return the modules of each node of a trial, in the order of the pipeline.

    Raises:
        InputError: a summary is too large, or names a file that does not lie in the folder of its node.
    """
    nodes = []
    for summary in _node_summaries(trial):
        folder = summary.parent.absolute()
        line = folder.parent
        with summary.open(encoding="utf-8-sig", errors="replace", newline="") as stream:
            if summary.stat().st_size > SUMMARY_BYTES:
                raise source.error(f"has a summary of more than {SUMMARY_BYTES:,} bytes: {summary}", ACCEPTED)
            rows = [{str(name): value or "" for name, value in row.items()} for row in csv.DictReader(stream)]
        nodes.append([Module(line.parent.name, line.name, folder.name, folder, row) for row in rows])
        for module in nodes[-1]:
            name, where = module.row["filename"], f"{module.trial}/{module.line}/{module.node}"
            if Path(name).name != name or not name.endswith(".parquet"):
                what = f"{where}/summary.csv names the file {name[:60]!r}"
                raise source.error(what, "a Parquet file beside it")
            if not module.file.is_file():
                raise source.error(f"lacks {where}/{name}, which its summary.csv names", ACCEPTED)
    return sorted(nodes, key=lambda modules: _position(modules[0].node) if modules else 0)


def _position(node: str) -> int:
    return NODES.index(node) if node in NODES else len(NODES)


def best_before(module: Module, nodes: list[list[Module]]) -> dict[str, Module]:
    """Return the best modules of the nodes before one, by what they hand on: passages, prompts."""
    handed_on: dict[str, Module] = {}
    for modules in nodes:
        if not modules or _position(modules[0].node) >= _position(module.node):
            break
        best = next((other for other in modules if other.is_best), modules[0])
        if "passage" in best.node or "retrieval" in best.node:
            handed_on["passages"] = best
        elif best.node == "prompt_maker":
            handed_on["prompts"] = best
    return handed_on


CHOOSING = {"passage_reranker", "passage_filter"}  # nodes that choose among the passages of the one before
RETRIEVAL = ("retrieved_contents", "retrieved_ids", "retrieve_scores")
KEPT_AS_COUNT = {"generated_tokens", "generated_log_probs"}
# What its figures are: shares, the higher the better.
FIGURES = ("retrieval_", "meteor", "rouge", "sem_score", "bert_score")
SHARE = {"direction": "higher", "range": [0.0, 1.0]}


@dataclass
class ModuleReader:
    """Reads the run of a module: its rows, by position with the questions and the best modules before it."""

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
        row, figures = self.module.row, self._figures()
        try:
            params = read_literal(row["module_params"] or "{}")
        except LiteralError:
            params = row["module_params"]
        params = params if isinstance(params, dict) else {"module_params": str(params)}
        config: dict[str, Any] = {"node_line": self.module.line, "node": self.module.node}
        config |= {"module": row["module_name"], **params}
        if before := self.before.get("passages"):
            config["passages_from"] = f"{before.node}/{before.file.stem} {before.row['module_name']}"
        shares = [name for name in figures if name.startswith(FIGURES)]
        return run_of(
            *(self.source, "autorag", self._records(), self.module.name),
            config=config | ({"reported_means": figures} if figures else {}),
            dataset=self.project.name,
            created_at=started,
            notes=self._repetitions(questions),
            measured=self._figures("execution_time"),
            metrics={name: SHARE for name in shares if declaration_fault(name, SHARE) is None},
        )

    def _figures(self, *names: str) -> dict[str, float]:
        """Return numbers in the row of the node's summary: those of some names, or else the means."""
        row = self.module.row
        names = names or tuple(row.keys() - {*NODE_COLUMNS, "execution_time", "is_best"})
        figures = {name: as_float(value) for name, value in row.items() if name in names}
        return {name: value for name, value in figures.items() if value is not None and abs(value) < 1e15}

    def _repetitions(self, questions: int) -> tuple[str, ...]:
        """Return a note where lists hold a passage twice: AutoRAG's figures and ours then differ."""
        with self._opened(self.module.file) as file:
            if "retrieved_ids" not in file.schema_arrow.names:
                return ()
            batches = file.iter_batches(256, columns=["retrieved_ids"])
            lists = chain.from_iterable(batch.column(0).to_pylist() for batch in batches)
            repeated = sum(len(set(map(str, ids))) < len(ids) for ids in lists if isinstance(ids, list))
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
        written = (output, passages) if own else (passages,)
        record["retrieved"] = self._documents(line, *written)
        if own and self.module.node in CHOOSING:
            record["candidates"] = self._documents(line, passages)
        self._put_outputs(record, output, row.get("prompts", {}))
        documents = record["retrieved"]
        if documents and all(document.get("id") is None for document in documents):  # gold names passages
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


ALONE = ({"prompts"}, {"queries"})
OUTPUTS = ({"retrieved_contents", "retrieve_scores"}, {"generated_texts", "generated_tokens"})


def _detect_folder(peek: Peek) -> bool:
    if peek.folder is None:
        return False
    try:
        is_project = (peek.folder / "trial.json").is_file() and (peek.folder / QUESTIONS).is_file()
        return is_project or bool(trials_of(peek.folder))
    except OSError:
        return False


def _read_folder(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read the trials of a folder: a run for each module of each node."""
    folder = source.path or Path()
    project = project_of(folder)
    trials = trials_of(folder)
    if project is None:
        what = "is a trial of AutoRAG without its questions (no data/qa.parquet above it)"
        raise source.error(what, ACCEPTED)
    if not trials:
        raise source.error("is a project of AutoRAG with no trial that has results", ACCEPTED)
    started = start_times(project)
    runs = []
    for part in (trial.absolute() for trial in trials):
        trial = project / part.relative_to(project).parts[0]
        nodes = nodes_of(source, trial)  # of the whole trial: a node reads what those before it wrote
        for module in chain.from_iterable(nodes):
            if part in (module.folder, *module.folder.parents):
                reader = ModuleReader(source, project, module, best_before(module, nodes), options, errors)
                runs.append(reader.run(started.get(module.trial)))
    return runs


def _of_node(row: Row) -> Row:
    """Return a row with its last retrieval in the usual columns; earlier ones stay under their names."""
    variants = [name.removeprefix("retrieved_ids") for name in row if name.startswith("retrieved_ids")]
    last = "" if "" in variants else next(reversed(variants), None)
    usual = {f"{part}{last}": part for part in RETRIEVAL}
    return {
        usual.get(name) or (f"scores.{name}" if isinstance(value, float) else name): value
        for name, value in row.items()
    }


def _read_questions(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    table = open_table(source, errors, options.limit, rows=options.rows)
    plan = plan_columns(table, options.mapping, source.name)
    return runs_of_table(table, plan, run_of(source, "autorag_questions", (), questions=True), errors)


ROWS = ToolRows(
    lambda names: {"qid", "query", "retrieval_gt"} <= names,
    each(_of_node),
    "read as a node of AutoRAG: the last retrieval is the context; figures keep the name of their node",
)


READERS = {
    "autorag": Reader(_read_folder, _detect_folder),
    "autorag_questions": Reader(
        _read_questions,
        lambda peek: (
            not any(name.startswith(("retrieved_", "generated_", "prompts")) for name in peek.columns)
        ),
    ),
    "autorag_rows": table_reader("autorag_rows", ROWS),
    "autorag_output": Reader(
        detect=lambda peek: (
            peek.kind == "parquet"
            and "question" not in guessed_fields(peek.columns)
            and (peek.columns in ALONE or any(names <= peek.columns for names in OUTPUTS))
        )
    ),
}
