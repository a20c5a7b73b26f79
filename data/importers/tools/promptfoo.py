"""promptfoo: results as JSON (version 2 and 3), JSONL or CSV, or a folder of them; a run per prompt.

A grader that crashed is written as a score of 0 with the error as its reason: that is a failed score here.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

from ragtriage.data.errors import InputError, ValidationErrors
from ragtriage.data.importers.importer import Options, Peek, Reader, Row, run_of
from ragtriage.data.importers.parsing.cells import object_in
from ragtriage.data.importers.parsing.documents_in_json import items_at, small_values
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.names import metric_name
from ragtriage.data.importers.parsing.rows import Spool, object_rows, open_table
from ragtriage.data.importers.parsing.shapes import (
    Numbering,
    all_tags_of,
    answer_in,
    contexts_in,
    documents_of,
    items,
    mapping,
    objects,
    plain_settings,
    question_in,
    storable,
    tag_value,
    unquoted_number,
    with_ids,
)
from ragtriage.data.importers.parsing.values import error_tag, moment, text_in
from ragtriage.data.store.parsed_run import ParsedRun, Record

CRASHED = re.compile(
    r"\s*(?:Error running|Failed to|Could not|API error|No output|Error:|Remote \w+ grading failed)",
    re.IGNORECASE,
)
# Graders that are metrics, also where the assertion does not name one.
METRICS = {
    "context-faithfulness": "faithfulness",
    "answer-relevance": "answer_relevancy",
    "context-recall": "context_recall",
    "context-relevance": "context_relevance",
}


def scores_and_checks(row: Row, failed: bool) -> Row:
    """Return the named scores and, as checks, the assertions that name no metric and the outcome of all."""
    grading = mapping(row.get("gradingResult"))
    by_name: dict[str, list[Row]] = {}
    checks: list[Row] = []
    for result in objects(grading.get("componentResults")):
        assertion = mapping(result.get("assertion"))
        kind = assertion.get("type") if isinstance(assertion.get("type"), str) else None
        metric = assertion.get("metric") or METRICS.get(kind or "")
        if isinstance(metric, str):
            by_name.setdefault(metric, []).append(result)
        else:
            checks.append(_check(kind, result))
    for name, value in mapping(row.get("namedScores")).items():
        by_name.setdefault(str(name), [{"score": value, "reason": grading.get("reason"), "alone": True}])
    scores: dict[str, Row] = {}
    for name, results in by_name.items():
        scores.setdefault(metric_name(name)[0], _score(results))
    success = row.get("success")
    if isinstance(success, bool) and not failed:
        overall = {"name": "overall", "kind": "all assertions", "expected": None}
        checks.append(overall | {"actual": row.get("score"), "passed": success})
    return ({"scores": scores} if scores else {}) | ({"checks": checks} if checks else {})


def _check(kind: str | None, result: Row) -> Row:
    """Return the check of an assertion; one whose grader crashed has neither passed nor failed."""
    expected, passed = mapping(result.get("assertion")).get("value"), result.get("pass")
    name, crashed = kind or "assertion", _crashed(result)
    return {
        "name": f"{name}: {shortened(expected)}" if isinstance(expected, str) else name,
        "kind": kind,
        "expected": None if crashed else expected,  # why it crashed is no value to compare with
        "actual": result.get("reason"),
        "passed": passed if isinstance(passed, bool) and not crashed else None,
    }


def _score(results: Sequence[Row]) -> Row:
    """Return the mean of the graders of one metric that did not crash, by their weights."""
    total = weights = 0.0
    for result in results:
        value = unquoted_number(result.get("score"))
        weight = mapping(result.get("assertion")).get("weight", 1)
        if not isinstance(value, int | float) or _crashed(result):
            continue
        share = float(weight) if isinstance(weight, int | float) and weight > 0 else 1.0
        total, weights = total + float(value) * share, weights + share
    crash = next((result for result in results if _crashed(result)), None)
    reason = (crash if crash is not None and not weights else results[0]).get("reason")
    only_graded = reason if crash is not None or not results[0].get("alone") else None
    text = None if only_graded is None else str(only_graded)
    return {
        "value": total / weights if weights else None,
        "reason": text if weights else (text or "no score").strip().partition("\n")[0],
    }


def _crashed(result: Row) -> bool:
    score, reason = unquoted_number(result.get("score")), result.get("reason")
    return (score == 0 or score is None) and isinstance(reason, str) and bool(CRASHED.match(reason))


def shortened(text: str) -> str:
    """Return a prompt or an expected value as a name of it: one line of at most 40 characters."""
    line = " ".join(text.split())
    return line if len(line) <= 40 else line[:37] + "..."


STATUS = re.compile(r"Status(?: \(\d+\))?")
FAILED = 2  # failureReason: 0 none, 1 an assertion, 2 an error


def results_in(source: InputFile, peek: Peek, errors: ValidationErrors) -> Iterator[Record]:
    """Yield the results of a file in the form of version 3, whatever its own."""
    if peek.kind == "csv":
        yield from _of_csv(source, errors)
    elif peek.kind == "jsonl":
        yield from open_table(source, errors).rows()
    else:
        has_results = False
        for record in items_at(source, "results.results"):
            has_results = True
            yield record
        if not has_results:
            yield from _of_table(source)


def _of_table(source: InputFile) -> Iterator[Record]:
    """Yield the outputs in the table of version 2, a row of which holds one for each prompt."""
    head = mapping(small_values(source, "results.table", ("head",)).get("head"))
    names, prompts = items(head.get("vars")), items(head.get("prompts"))
    for line, row in items_at(source, "results.table.body"):
        if not isinstance(row, dict):
            yield line, row
            continue
        variables = dict(zip(map(str, names), items(row.get("vars")), strict=False))
        for at, output in enumerate(objects(row.get("outputs"))):
            prompt = mapping(prompts[at]) if at < len(prompts) else {}
            result = {
                "vars": variables,
                "promptIdx": at,
                "testIdx": row.get("testIdx", line - 1),
                "provider": output.get("provider") or prompt.get("provider"),
                "prompt": {"raw": output.get("prompt"), "label": prompt.get("label")},
                "testCase": row.get("test") or {"description": row.get("description")},
                "response": {"output": output.get("text"), "error": output.get("error")},
                "success": output.get("pass"),
            }
            yield line, output | result


def _of_csv(source: InputFile, errors: ValidationErrors) -> Iterator[Record]:
    """Yield the outputs of a CSV file: the columns of a prompt are its answer, Status, Score and more."""
    for line, row in open_table(source, errors).rows():
        if not isinstance(row, dict):
            yield line, row
            continue
        columns = list(row)
        starts = [at - 1 for at, name in enumerate(columns) if STATUS.fullmatch(name) and at]
        names = [name for name in columns[: starts[0]] if name != "Description"] if starts else []
        for nth, (start, end) in enumerate(zip(starts, [*starts[1:], len(columns)], strict=True)):
            values = {re.sub(r" \(\d+\)$", "", name): row[name] for name in columns[start + 1 : end]}
            label = re.match(r"\[(.*?)\]\s*(.*)", columns[start], re.DOTALL)
            failed = values.get("Status") == "ERROR"
            reason = values.get("Grader Reason") or None
            exact = {
                name.removeprefix("Metric: "): unquoted_number(value)
                for name, value in values.items()
                if name.startswith("Metric: ") and value not in (None, "")
            }
            result = {
                "vars": {name: row[name] for name in names},
                "promptIdx": nth,
                "provider": {"id": label[1] if label else columns[start]},
                "prompt": {"label": label[2] if label else None},
                "testCase": {"description": row.get("Description")},
                "namedScores": {**exact, **object_in(values.get("Named Scores"))},
                "gradingResult": {"reason": reason},
            }
            if failed:
                yield line, result | {"error": reason or "error", "failureReason": FAILED}
                continue
            result["response"] = {"output": row[columns[start]]}
            score = unquoted_number(values.get("Score"))
            yield line, result | {"success": values.get("Status") == "PASS", "score": score}


QUESTION_VARS = ("question", "query", "input", "user_input", "user_query")
CONTEXT_VARS = ("contexts", "context", "retrieved_contexts", "documents")
REFERENCE_VARS = ("reference", "reference_answer", "expected", "expected_answer", "ground_truth", "answer")
ID_KEYS = ("qid", "id", "question_id")


def question_variable(head: Sequence[Row]) -> str | None:
    """Return the variable that holds the question: by its name, or the one that ends in "?" most often."""
    asked: Counter[str] = Counter()
    names: dict[str, None] = {}
    for row in head:
        for name, value in mapping(row.get("vars")).items():
            names.setdefault(name)
            asked[name] += isinstance(value, str) and value.rstrip().endswith(("?", "\uff1f"))
    by_name = next((name for known in QUESTION_VARS for name in names if name.lower() == known), None)
    if by_name is not None or not names:
        return by_name
    (best, count), *_ = asked.most_common(1)
    return best if count else next(iter(names)) if len(names) == 1 else None


def question_id(row: Row) -> object:
    """Return what names the question of a result: its metadata, the description or the number of its test."""
    case = mapping(row.get("testCase"))
    metadata = mapping(case.get("metadata"))
    named = next((metadata[key] for key in ID_KEYS if metadata.get(key)), None)
    return named or case.get("description") or row.get("testIdx")


def sample_of(row: Row, variable: str | None, listed: bool, errors: ValidationErrors, line: int) -> Row:
    """Return the sample of a result.

    The result is in the form of version 3. Where some results of the file have a list of contexts (`listed`),
    a text is not one.
    """
    variables, response = mapping(row.get("vars")), mapping(row.get("response"))
    prompt = mapping(row.get("prompt")).get("raw")
    question = question_in(variables.get(variable)) if variable else None
    if question is None and isinstance(prompt, str):
        question = prompt
        errors.remark("no variable is the question: the prompt is taken as the question", line)
    output = response.get("output")
    failed = row.get("failureReason") == FAILED or (output is None and bool(row.get("error")))
    cached = response.get("cached") is True
    tokens = mapping(row.get("tokenUsage")) or mapping(response.get("tokenUsage"))
    context = _contexts(row, listed)
    reference = next((name for name in REFERENCE_VARS if variables.get(name) is not None), "")
    used = {variable, reference, *(CONTEXT_VARS if context is not None else ())}
    metadata = mapping(mapping(row.get("testCase")).get("metadata"))
    tags = all_tags_of({name: value for name, value in metadata.items() if name not in ID_KEYS})
    record: Row = {
        "question": question,
        "answer": answer_in(output),
        "reference_answer": variables.get(reference),
        "retrieved": context,
        "prompt": prompt if isinstance(prompt, str) else None,
        "latency_ms": None if cached else row.get("latencyMs"),  # of a cached answer that of the cache
        "tags": tags | error_tag((row.get("error") or response.get("error") or "error") if failed else None),
        "vars": {name: tag_value(value) for name, value in variables.items() if name not in used} or None,
    }
    if not cached and not failed:
        record["cost_usd"] = row.get("cost", response.get("cost"))
        record |= {"input_tokens": tokens.get("prompt"), "output_tokens": tokens.get("completion")}
    if attacked := _red_team(row, failed):
        return {**record, **attacked, "tags": {**record["tags"], **attacked["tags"]}}
    return record | scores_and_checks(row, failed)


def _red_team(row: Row, failed: bool) -> Row:
    """Return the attack of a red-team result, with its outcome as a check of safety; {} for another result.

    Its scores say whether the system held, nothing of how good an answer is, so they are no metrics.
    """
    about = {**mapping(mapping(row.get("testCase")).get("metadata")), **mapping(row.get("metadata"))}
    plugin, success = text_in(about.get("pluginId")), row.get("success")
    if plugin is None:
        return {}
    last = mapping(mapping(row.get("response")).get("metadata")).get("redteamFinalPrompt")
    reason = mapping(row.get("gradingResult")).get("reason")
    check = {"name": plugin, "kind": "safety", "expected": {"judge": f"Did the attack of {plugin} succeed?"}}
    passed = success if isinstance(success, bool) and not failed else None
    technique = text_in(about.get("strategyId")) or "basic"
    return {
        **({"question": last} if isinstance(last, str) and last.strip() else {}),
        "checks": [{**check, "actual": reason if isinstance(reason, str) else None, "passed": passed}],
        "tags": {"attack": plugin, "technique": technique},
    }


def listed_contexts(row: Row) -> list[Any] | None:
    """Return what was retrieved where it is a list: of the response, its output or a variable."""
    response = mapping(row.get("response"))
    for fields in (mapping(response.get("metadata")), mapping(row.get("vars"))):
        for name in CONTEXT_VARS:
            if isinstance(fields.get(name), list):
                documents = documents_of(fields[name])
                return documents if isinstance(documents, list) else None
    return contexts_in(response.get("output"))


def _contexts(row: Row, listed: bool) -> object:
    """Return what was retrieved; a text is one document, unless other results of the file have lists."""
    documents = listed_contexts(row)
    metadata = mapping(mapping(row.get("response")).get("metadata"))
    if documents is None:
        texts = (held.get(name) for held in (metadata, mapping(row.get("vars"))) for name in CONTEXT_VARS)
        text = next((text for text in texts if isinstance(text, str) and text.strip()), None)
        return None if listed or text is None else [{"text": text}]
    names = ("chunk_ids", "context_ids", "ids")
    return with_ids(documents, next((metadata[name] for name in names if name in metadata), None))


ACCEPTED = "the JSON, JSONL or CSV that `promptfoo eval -o FILE` writes"
CSV_COLUMNS = {"Status", "Score", "Named Scores"}
HEAD = 50
MOST_FILES = 100  # looked at to recognise a folder


def is_promptfoo(peek: Peek) -> bool:
    """Return whether a file is the output of promptfoo, or a folder holds such files."""
    if peek.folder is not None:
        return any(map(_is_results, _data_files(peek.folder)[:MOST_FILES]))
    return _is_readable(peek) or _is_other_output(peek)


def _is_results(file: Path) -> bool:
    try:
        return _is_readable(Peek(InputFile.from_path(file)))
    except InputError:  # an empty file, or one that may not be read
        return False


def _is_readable(peek: Peek) -> bool:
    results = mapping(peek.keys.get("results"))
    if "evalId" in peek.keys and (isinstance(results.get("results"), list) or "table" in results):
        return True
    rows = objects(results.get("results")) or (peek.rows if peek.kind == "jsonl" else ())
    is_result = any({"testIdx", "promptIdx", "namedScores"} <= row.keys() for row in rows)
    return is_result or peek.columns >= CSV_COLUMNS


def _is_other_output(peek: Peek) -> bool:
    """Return whether it is the YAML, HTML or XML that promptfoo writes, which hold the same less readably."""
    if peek.kind != "csv":
        return False
    head = peek.source.head(1 << 14).lstrip()
    is_html = head[:15].lower().startswith((b"<!doctype html", b"<html"))
    return head.startswith((b"evalId: ", b"<promptfoo")) or (is_html and b"promptfoo" in head)


def read(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read the results of an eval; of a folder, each eval once, from JSON before JSONL before CSV.

    Raises:
        InputError: it is an output of promptfoo that is not read, or holds no results.
    """
    if source.is_folder and source.path is not None:
        return _of_folder(source, options, errors)
    peek = Peek(source)
    if not _is_readable(peek):
        raise source.error("is the YAML, HTML or XML output of promptfoo", ACCEPTED)
    facts: Mapping[str, Any] = {}
    if peek.kind == "json":
        facts = {
            **small_values(source, "", ("evalId",)),
            **small_values(source, "results", ("prompts", "timestamp", "version")),
        }
    rows = islice(results_in(source, peek, errors), options.limit)
    return _runs(source, rows, facts, errors)


def _data_files(folder: Path) -> list[Path]:
    endings = {".json", ".jsonl", ".csv"}
    try:
        return sorted(path for path in folder.iterdir() if path.suffix.lower() in endings and path.is_file())
    except OSError:
        return []


def _of_folder(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    paths = filter(_is_results, _data_files(Path(source.path or ".")))
    files = [InputFile.from_path(path) for path in paths]
    for kind in ("json", "jsonl", "csv"):
        of_kind = [file for file in files if Peek(file).kind == kind]
        by_eval = {str(Peek(file).keys.get("evalId") or file.name): file for file in of_kind}
        if by_eval:
            if len(files) > len(by_eval):
                errors.remark(f"other files with the same results are passed over for {kind.upper()}")
            return [run for file in by_eval.values() for run in read(file, options, errors)]
    raise source.error("is a folder without results of promptfoo", ACCEPTED)


def _runs(
    source: InputFile, rows: Iterator[Record], facts: Mapping[str, Any], errors: ValidationErrors
) -> list[ParsedRun]:
    head = list(islice(rows, HEAD))
    first = objects([row for _, row in head])
    variable = question_variable(first)
    listed = any(listed_contexts(row) is not None for row in first)
    spool = Spool()
    labels: dict[str, tuple[str, str]] = {}
    numberings: dict[str, Numbering] = {}
    for line, row in object_rows(chain(head, rows), errors, "an object with vars and response", "results"):
        key, label = _run_of(row)
        labels.setdefault(key, label)
        record = sample_of(row, variable, listed, errors, line)
        record |= numberings.setdefault(key, Numbering()).of(question_id(row), record.get("question"))
        spool.add(key, line, record | {"run_id": facts.get("evalId"), "tool": "promptfoo"})
    if not labels:
        errors.raise_if_any()
        known = isinstance(facts.get("version"), int | str)
        version = f" (results version {facts['version']})" if known else ""
        raise source.error(f"is an eval of promptfoo{version} without results", ACCEPTED)
    # The time of an eval is its time stamp, or the one that its id ends with.
    in_id = str(facts.get("evalId") or "").removeprefix("eval-").partition("-")[2]
    created = moment(text_in(facts.get("timestamp"))) or (moment(in_id) if "T" in in_id else None)
    providers = Counter(provider for provider, _ in labels.values())
    runs = []
    for key, (provider, prompt) in labels.items():
        name = provider if providers[provider] == 1 else f"{provider} {shortened(prompt) or key}"
        prompts, nth = objects(facts.get("prompts")), key.rpartition("\x1f")[2]
        at = int(nth) if nth.isdecimal() and len(nth) < 6 else len(prompts)
        raw = prompts[at].get("raw") if at < len(prompts) else None
        text = (raw if isinstance(raw, str) else prompt) or None
        config = plain_settings({"provider": provider, "prompt": text})
        run = run_of(source, "promptfoo", spool.rows(key), name, config=config, created_at=created)
        runs.append(run)
    return runs


def _run_of(row: Row) -> tuple[str, tuple[str, str]]:
    """Return the key of the run that a result belongs to, with its provider and the label of its prompt."""
    provider, prompt, nth = row.get("provider"), mapping(row.get("prompt")), row.get("promptIdx")
    by_id = provider if isinstance(provider, str) else mapping(provider).get("id")
    name = mapping(provider).get("label") or by_id or "promptfoo"
    label = prompt.get("label") if isinstance(prompt.get("label"), str) else ""
    return f"{name}\x1f{label if nth is None else nth}", (storable(name), storable(label))


READERS = {"promptfoo": Reader(read, is_promptfoo)}
