"""Answering one call from data.api: in this process, or run as a program, in one of its own.

As a program it reads a request as JSON from standard input and writes the answer as JSON to standard output.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from contextvars import copy_context
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ragtriage.data.scoring.run_store import RunStore


def answer(function: str, workspace: str | None, arguments: Mapping[str, Any]) -> Any:
    """Return the JSON values that a function of data.api gives.

    Raises:
        RagtriageError: it cannot be done.
    """
    from ragtriage.data.errors import DataError
    from ragtriage.metrics.schema.scores import MetricsError
    from ragtriage.errors import RagtriageError

    try:  # in a context of its own: what a project declares of imported metrics ends with the call
        return copy_context().run(_answer, function, workspace, arguments)
    except (DataError, MetricsError) as error:
        raise RagtriageError(str(error)) from error


def _answer(function: str, workspace: str | None, arguments: Mapping[str, Any]) -> Any:
    from ragtriage.data import api

    if function == "add_run":
        run = api.add_run(workspace=workspace, **arguments)
        return api.run_entry(run, run.name)
    if function == "add_file":
        return [api.run_entry(run, run.name) for run in api.add_file(workspace=workspace, **arguments)]
    if function == "gate":
        options = {**arguments}
        strict = options.pop("strict")
        return api.gate(workspace=workspace, **options).to_dict(strict)
    store = api.open_store(workspace)
    if function == "runs":
        return api.runs_answer(store)
    if function == "compare":
        base, other = store.find(arguments["base"]), store.find(arguments["other"])
        comparisons = api.comparisons_with(store, base, [other], arguments["family"])
        return api.comparison_answer(base, [other], comparisons, arguments["family"])
    return _of_run(function, store, arguments)


def _of_run(function: str, store: RunStore, arguments: Mapping[str, Any]) -> Any:
    from ragtriage.data import api
    from ragtriage.data.diagnosis.diagnosis import DiagnosisSettings
    from ragtriage.metrics.diagnosis.patterns import CaseThresholds

    run = store.find(arguments["run"])
    if function == "run":
        return api.run_entry(run, store.names()[run.run_id])
    if function == "failing_cases":
        baseline = store.find(arguments["base"]) if arguments["base"] else None
        return api.failing_cases_answer(store, run, baseline, arguments["most"])
    if function == "samples":
        return api.samples_answer(store, run)
    if function == "scores":
        return api.scores_answer(store, run)
    if function == "metrics":
        return api.metrics_answer(store, run, store.options(run, tuple(arguments["k"])))
    settings = DiagnosisSettings(CaseThresholds(**arguments["thresholds"]), arguments["context_metric"])
    return api.diagnosis_answer(api.diagnosis_of(store, run, settings), settings)


def _serve() -> None:
    request = json.load(sys.stdin)
    sys.path[:] = request["path"]  # before anything is imported that is not of the standard library
    reply = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever else is printed goes to standard error
    from ragtriage.errors import RagtriageError

    try:
        result = {"answer": answer(request["function"], request["workspace"], request["arguments"])}
    except RagtriageError as error:
        result = {"error": str(error)}
    with reply:
        json.dump(result, reply)


if __name__ == "__main__":
    _serve()
