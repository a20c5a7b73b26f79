"""DeepEval: test runs (0.20 to 4.x) as JSON, and `EvaluationResult`; `context` is the gold of a test case.

The cost of a metric is the judge's, so it is not a cost of the pipeline. A metric with `error` has failed.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import chain, islice
from typing import Any

from ragtriage.data.declarations import declaration_fault
from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.importer import Options, Peek, Reader, Row, ToolRows, read_each, run_of
from ragtriage.data.importers.parsing.cells import is_blank
from ragtriage.data.importers.parsing.documents_in_json import items_at, small_values, value_at
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.names import CAMEL, metric_name
from ragtriage.data.importers.parsing.rows import rows_at
from ragtriage.data.importers.parsing.shapes import (
    Numbering,
    all_tags_of,
    documents_of,
    gold_passages,
    items,
    mapping,
    milliseconds,
    objects,
    others,
    own_fields,
    plain_settings,
    question_in,
    relevant_of_texts,
    storable,
    unquoted_number,
    with_ids,
)
from ragtriage.data.importers.spans.span import Trace
from ragtriage.data.importers.spans.tool_calls import tool_checks
from ragtriage.data.importers.tools.deepeval_traces import spans_of
from ragtriage.data.store.parsed_run import ParsedRun, Record

ACCEPTED = "a test run of DeepEval: testCases with input, actualOutput and metricsData"
CACHE_HINT = (
    "test_run_*.json of DEEPEVAL_RESULTS_FOLDER, .deepeval/.latest_test_run.json or an EvaluationResult"
)
LISTS = ("testCases", "conversationalTestCases", "test_results")
RUN_FIELDS = ("identifier", "testFile", "hyperparameters", "test_cases_lookup_map")
HEAD = 200
ROLES = {"ai": "assistant", "bot": "assistant", "human": "user"}
NOT_GOLD = (
    "no passage of `context`, which DeepEval takes as the ideal retrieval, is among the retrieved ones: "
    "kept as extra, not as gold"
)
READ = {
    *("name", "input", "actual_output", "expected_output", "retrieval_context", "context", "tags", "success"),
    *("metrics_data", "metrics_metadata", "metadata", "additional_metadata", "completion_time", "token_cost"),
    *("trace", "tools_called", "expected_tools", "flaky", "conversational", "multimodal", "turns"),
    *("messages", "threshold", "comments"),
}


def is_test_cases(peek: Peek) -> bool:
    """Return whether a file holds results of DeepEval: a test run, its test cases alone, or its cache."""
    run = mapping(peek.keys.get("testRunData")) or peek.keys
    if "test_cases_lookup_map" in peek.keys:
        return True
    if isinstance(run.get("test_results"), list):
        return any({"metrics_data", "input"} & case.keys() for case in objects(run["test_results"]))
    cases = run.get("testCases")
    if isinstance(cases, list) or isinstance(run.get("conversationalTestCases"), list):
        own = {"testPassed", "metricsScores", "hyperparameters", "dictTestCases", "conversationalTestCases"}
        return bool(own & run.keys()) or any("input" in case for case in objects(cases))
    return any(is_case(row) for row in peek.rows)


def is_case(row: Mapping[str, Any]) -> bool:
    """Return whether a row is a test case of DeepEval with the results of its metrics."""
    return "input" in row and bool({"metricsData", "metrics_data", "metricsMetadata"} & row.keys())


def read(source: InputFile, _options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read a test run; each assistant turn of a conversational test case is a sample.

    Raises:
        InputError: it is the cache of DeepEval, or holds no test cases.
    """
    facts = _facts(source)
    if "test_cases_lookup_map" in facts:
        raise source.error("is the cache of DeepEval, which holds no answers", CACHE_HINT)
    head = [case for _, case in islice(_cases(source, facts, errors), HEAD)]
    if not head:
        errors.raise_if_any()
        raise source.error("is a test run of DeepEval without test cases", ACCEPTED)
    name = facts.get("identifier") or facts.get("testFile")
    contexts = [(case, case["context"]) for case in objects(head) if isinstance(case.get("context"), list)]
    gold = any(relevant_of_texts(gold, _record(case, False).get("retrieved"))[1] for case, gold in contexts)
    has_context = any(case.get("context") for case in objects(head))
    cases = _cases(source, facts, errors)
    return [
        run_of(
            *(source, "deepeval", records_of_cases(cases, errors, gold=gold)),
            storable(name) if isinstance(name, str) and name.strip() else None,
            config=plain_settings(facts.get("hyperparameters")),
            notes=(NOT_GOLD,) if has_context and not gold else (),
            metrics=_lower_is_better(objects(head)),
        )
    ]


def _facts(source: InputFile) -> Mapping[str, Any]:
    """Return what a run says of itself, and under "path" where its parts stand; {} of mere test cases."""
    keys = Peek(source).keys
    path = "testRunData." if isinstance(keys.get("testRunData"), dict) else ""
    return {**small_values(source, path.rstrip("."), RUN_FIELDS), "path": path} if keys else {}


def _cases(source: InputFile, facts: Mapping[str, Any], errors: ValidationErrors) -> Iterator[Record]:
    if not facts:
        yield from rows_at(source, "", errors)
        return
    has_cases = False
    for record in chain.from_iterable(items_at(source, facts["path"] + key) for key in LISTS):
        has_cases = True
        yield record
    if not has_cases:  # 0.20 to 1.x keep them by number too
        yield from enumerate(mapping(value_at(source, f"{facts['path']}dictTestCases")).values(), start=1)


def records_of_cases(
    cases: Iterator[Record], errors: ValidationErrors, *, gold: bool = False
) -> Iterator[Record]:
    """Yield test cases as native records; their `context` is the gold, or only kept."""
    numbering = Numbering()
    for line, case in cases:
        if not isinstance(case, dict):
            yield line, case
            continue
        fields = _snake(case)
        turns = fields.get("turns") or fields.get("messages")
        if isinstance(turns, list):
            yield from ((line, record) for record in _of_conversation(fields, turns, numbering, errors, line))
            continue
        record = _record(case, gold)
        yield line, record | numbering.of(fields.get("name"), record.get("question"))


def _record(case: Row, gold: bool) -> Row:
    fields = _snake(case)
    asked, context, trace = fields.get("input"), fields.get("context"), mapping(fields.get("trace"))
    retrieved = documents_of(fields.get("retrieval_context"))
    metadata = {**mapping(fields.get("metadata")), **mapping(fields.get("additional_metadata"))}
    record: Row = {
        "question": asked if isinstance(asked, str) else question_in(asked),
        "answer": fields.get("actual_output"),
        "reference_answer": fields.get("expected_output"),
        "latency_ms": milliseconds(fields.get("completion_time")),
        "cost_usd": unquoted_number(fields.get("token_cost")),
        "tool": "DeepEval",
    } | _results(fields)
    if retrieved is None and trace:
        record |= _of_trace(trace)
    elif retrieved is not None:
        record["retrieved"] = with_ids(retrieved, metadata.get("chunk_ids"))
    if not fields.get("tools_called") and objects(trace.get("toolSpans")):
        rooted = {**trace, "input": trace.get("input") or ""}
        if calls := tool_checks(Trace(spans_of(rooted, 0)), None):
            record["checks"] = [*record.get("checks", ()), *calls]
    if trace.get("uuid"):
        record["trace_id"] = trace["uuid"]
    if isinstance(context, list) and context:
        record["reference_contexts"] = context
        if gold:
            record["relevant"] = relevant_of_texts(context, record.get("retrieved"))[0]
    flaky = {"flaky": True} if fields.get("flaky") is True else {}
    record["tags"] = {**all_tags_of(fields.get("tags")), **all_tags_of(metadata), **flaky}
    own = {name: value for name, value in case.items() if _snake_name(str(name)) not in READ}
    record["deepeval"] = {name: value for name, value in own.items() if value is not None}
    return record


def _results(fields: Row) -> Row:
    """Return the results of the metrics of a test case as scores and checks, and its tool calls as checks."""
    results = fields.get("metrics_data") or fields.get("metrics_metadata")
    scores: dict[str, Row] = {}
    checks: list[Row] = []
    for result in objects(results):
        title = str(result.get("name") or result.get("metric") or "metric")
        error, score = result.get("error"), unquoted_number(result.get("score"))
        value = None if error else score
        scores[_name(title)] = {"value": value, "reason": error or result.get("reason")}
        passed = result.get("success")
        if value is None or not isinstance(passed, bool):  # success is false where nothing was measured
            continue
        limit = next((result[key] for key in ("threshold", "minimumScore") if key in result), None)
        limit = fields.get("threshold") if limit is None else limit
        checks.append({"name": title, "kind": "metric", "expected": limit, "actual": value, "passed": passed})
    called = [str(tool.get("name")) for tool in objects(fields.get("tools_called"))]
    expected = [str(tool.get("name")) for tool in objects(fields.get("expected_tools"))]
    for name in expected:
        check = {"name": f"calls {name}", "kind": "tool", "expected": name, "actual": called}
        checks.append(check | {"passed": name in called})
    record: Row = {"scores": scores} if scores else {}
    if called:
        record["tools_called"] = fields["tools_called"]
    return record | ({"checks": checks} if checks else {})


def _of_trace(trace: Mapping[str, Any]) -> Row:
    """Return what the retriever spans of a test case's trace retrieved, in order of time."""
    spans = sorted(objects(trace.get("retrieverSpans")), key=lambda span: str(span.get("endTime")))
    by_query: dict[str, Row] = {str(span.get("input")): span for span in spans}  # of equal queries the last
    lists = [span.get("retrievalContext") or span.get("output") for span in by_query.values()]
    documents = [item for listed in lists if isinstance(listed, list) for item in items(documents_of(listed))]
    if not by_query:
        return {}
    several = {"retrieval_calls": len(by_query)} if len(by_query) > 1 else {}
    return {"retrieved": documents, "search_query": next(iter(by_query)), **several}


def _of_conversation(
    fields: Row, turns: list[Any], numbering: Numbering, errors: ValidationErrors, line: int
) -> Iterator[Row]:
    """Yield a sample for each assistant turn; the scores of the conversation stand on its last one."""
    spoken = list(chain.from_iterable(map(_turns, objects(turns))))
    answered = [at for at, turn in enumerate(spoken) if turn["role"] == "assistant"]
    if not answered:
        errors.leave_out("a conversation without an answer")
        return
    name = fields.get("name")
    for nth, at in enumerate(answered, start=1):
        turn = spoken[at]
        asked = next((place for place in range(at - 1, -1, -1) if spoken[place]["role"] == "user"), None)
        question = spoken[asked]["text"] if asked is not None else fields.get("scenario")
        if not isinstance(question, str) or not question.strip():
            errors.leave_out("an answer without a question before it")
            continue
        history = [{"role": earlier["role"], "text": earlier["text"]} for earlier in spoken[: asked or 0]]
        record = _record({**turn["fields"], "input": question, "actual_output": turn["text"]}, False)
        if nth == len(answered):
            record |= _results(fields)
            record["tags"] |= all_tags_of(fields.get("tags"))
            if len(answered) > 1 and "scores" in record:
                errors.remark("scores of a conversation are kept with its last answer", line)
        named = f"{name} turn {nth}" if isinstance(name, str) and name else None
        record |= numbering.of(named, question)
        yield record | {
            "history": history or None,
            "conversation_id": name if isinstance(name, str) else None,
        }


def _turns(turn: Row) -> list[dict[str, Any]]:
    """Return a turn {role, content}; or of 1.x to 2.x, where a turn is a test case, the two that it holds."""
    if "role" in turn:
        role = ROLES.get(str(turn["role"]), str(turn["role"]))
        rest = {name: value for name, value in turn.items() if name not in ("role", "content", "order")}
        return [{"role": role, "text": str(turn.get("content") or ""), "fields": rest}]
    fields = _snake(turn)
    asked, answered = fields.get("input"), fields.get("actual_output")
    return [
        {"role": "user", "text": str(asked or ""), "fields": {}},
        {"role": "assistant", "text": str(answered or ""), "fields": fields},
    ]


def _lower_is_better(cases: list[Row]) -> dict[str, Row]:
    """Return the direction of metrics that pass below their threshold, as bias and toxicity do."""
    below: Counter[str] = Counter()
    for check in (check for case in cases for check in _results(_snake(case)).get("checks", ())):
        limit, value = check["expected"], check["actual"]
        numbers = isinstance(limit, int | float) and isinstance(value, int | float)
        if check["kind"] == "metric" and numbers:
            side = (value < limit) - (value > limit)
            below[_name(check["name"])] += side if check["passed"] else -side
    lower = {name: {"direction": "lower"} for name, count in below.items() if count > 0}
    return {name: entry for name, entry in lower.items() if declaration_fault(name, entry) is None}


def _name(title: str) -> str:
    return metric_name(title)[0]


def _snake(fields: Mapping[str, Any]) -> Row:
    return {_snake_name(str(name)): value for name, value in fields.items()}


@lru_cache(4096)
def _snake_name(name: str) -> str:
    return CAMEL.sub("_", name).lower()


def _columns(records: Iterator[Record]) -> Iterator[Record]:
    """Yield test cases that come as a table of Python as rows with the usual columns."""
    for line, record in records_of_cases(records, ValidationErrors("")):
        fields = mapping(record)
        yield line, {name: value for name, value in fields.items() if name != "tool" and value is not None}


GOLDENS = "deepeval_goldens"
OF_A_TEST_CASE = ("actual_output", "actualOutput", "retrieval_context", "retrievalContext", "tools_called")
# Of the question, the reference, the gold and the file, in snake and camel case.
GOLDEN_NAMES = (
    ("input",),
    ("expected_output", "expectedOutput"),
    ("context",),
    ("source_file", "sourceFile"),
)
METADATA = ("additional_metadata", "additionalMetadata")
UNANSWERED = "goldens without an actual_output, or test cases that all have one"


def _answered(row: Mapping[str, Any]) -> str:
    """Return the field that only a test case has, if it is filled."""
    filled = (name for name in OF_A_TEST_CASE if row.get(name) not in (None, "", [], "[]", "None"))
    return next(filled, "")


def _golden(row: Row, line: int, errors: ValidationErrors) -> Row | None:
    if answered := _answered(row):
        errors.add(line, answered, "is filled, among goldens of DeepEval that have none", UNANSWERED)
        return None
    question, reference, gold, file = (
        next((row[name] for name in names if not is_blank(row.get(name), blank_text=True)), None)
        for names in GOLDEN_NAMES
    )
    own = next(filter(None, (own_fields(row.get(name)) for name in METADATA)), {})
    return {
        **others(row, (*OF_A_TEST_CASE, *(METADATA if own else ()), *chain.from_iterable(GOLDEN_NAMES))),
        "question": question,
        "reference_answer": reference,
        "relevant": gold_passages(gold) or None,
        "tags": None if file is None or own else {"source_file": str(file)},
        **own,
    }


READERS = {
    "deepeval": Reader(
        read,
        is_test_cases,
        rows=ToolRows(
            lambda names: "input" in names and bool({"metricsData", "metrics_data"} & names),
            _columns,
            "read as test cases of DeepEval: `context` is the gold, `retrievalContext` what was retrieved, "
            "the results of metrics are scores and checks",
        ),
    ),
    GOLDENS: Reader(
        read_each(GOLDENS, _golden, questions=True),
        lambda peek: (
            peek.columns >= {"input", "context"}
            and bool(peek.columns & {"expected_output", "expectedOutput", "source_file", "sourceFile"})
            and not any(map(_answered, peek.rows))
        ),
    ),
}
