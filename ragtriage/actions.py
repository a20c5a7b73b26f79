"""The functions that add to a workspace or write a file: feedback, label, judge, grid and report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from os import PathLike, fspath
from pathlib import Path as File
from typing import TYPE_CHECKING, Any, Literal

from ragtriage import RagtriageError
from ragtriage.arguments import checked
from ragtriage.functions import Path, RunName, isolated, run_name, with_store
from ragtriage.results import GridSearch, Judgement, JudgePlan, Run, StoredLabels

if TYPE_CHECKING:
    import pandas as pd

    from ragtriage.data.judge import plan as judge_plan
    from ragtriage.data.judge.job_spec import JobSpec
    from ragtriage.data.judge.judge_run import JudgeOptions
    from ragtriage.data.judge.requests import ClientSettings, JudgeTask
    from ragtriage.data.judge.run_job import JobResult
    from ragtriage.data.scoring.run_store import RunStore
    from ragtriage.data.store import workspace as stored


@checked
def feedback(
    trace_id: str | None = None,
    thumb: Any = None,
    comment: str | None = None,
    user_id: str | int | None = None,
    project: str | None = None,
    workspace: Path = None,
    endpoint: str | None = None,
    **values: Any,
) -> str:
    """Store what a user said of an answer, in the live traffic of a project or with its collector.

    The same call twice is one answer. Comments are redacted as the project's policy says.

    Args:
        trace_id: trace of the call; without one, `user_id` and `query` join the answer to a call.
        thumb: "up" or "down", True or False.
        comment: what the user wrote.
        user_id: who it is; answers of one user count as one voice.
        project: what the calls belong to; the workspace's only project with live traffic when left out.
        workspace: folder of the workspace, unless there is an endpoint.
        endpoint: address of `ragtriage collect`, as in http://127.0.0.1:4318; its token comes from
            RAGTRIAGE_COLLECT_TOKEN.
        values: whatever else was asked: `stars`, `satisfaction_score`, `task_completed`, `nps_score`,
            `response_time`; `query`, `system_type`, `timestamp` and `feedback_id` are known, too.

    Returns:
        The id of the answer.

    Raises:
        RagtriageError: a value is not on its scale, or the collector cannot be reached.

    >>> import ragtriage
    >>> ragtriage.feedback("0af7651916cd43dd8448eb211c80319c", thumb="down", feedback_id="click-1")
    'click-1'
    """

    def work() -> str:
        from ragtriage.data.live.feedback.records import feedback_records
        from ragtriage.data.live.feedback.sending import keep_feedback, live_project, send_feedback
        from ragtriage.data.store.workspace import Workspace

        said = {"trace_id": trace_id, "thumb": thumb, "comment": comment, "user_id": user_id, **values}
        body = {name: value for name, value in said.items() if value is not None}
        (answer,) = feedback_records(body)
        if endpoint is not None:
            send_feedback(endpoint, {**body, "feedback_id": answer.feedback_id})
        else:
            folder = Workspace.open(None if workspace is None else fspath(workspace), create=True)
            keep_feedback(folder, live_project(folder, project), [answer])
        return answer.feedback_id

    return isolated(work)


@checked
def label(
    run: RunName,
    labels: Mapping[str, Any] | Sequence[Mapping[str, Any]] | pd.DataFrame | str | PathLike[str],
    who: str | None = None,
    random: bool = False,
    workspace: Path = None,
) -> StoredLabels:
    """Store labels of a person with a run, as `ragtriage agreement --labels` does.

    A later label of the same person on the same case replaces the earlier one.

    Args:
        run: a run, its id or its name.
        labels: one label as a mapping, several as a list of them or a DataFrame, or a CSV, TSV or JSONL file.
            Each names its case by `question_id` or `question`, and `repeat` or `answer` where these are
            needed to tell cases apart, and has what was labelled: `pass` ("pass" or "fail"), `correctness`,
            `faithfulness` (0 to 1), `evaluator:NAME` and so on. An empty value is no label.
        who: whose labels they are; your login name when left out.
        random: whether they are a random sample of the cases of the run: only these correct its means.
        workspace: folder of the workspace.

    Raises:
        RagtriageError: a value or a column is not accepted, or no label matches a case; nothing is stored.

    >>> import ragtriage
    >>> ragtriage.label("first try", {"question": "Question 3?", "pass": "fail"}, who="Ada").labels
    1
    """

    def work(store: RunStore) -> StoredLabels:
        from ragtriage.data.importers.formats.frames import frame_rows
        from ragtriage.data.labels.label_files import labels_of, load_labels, read_labels, records_of
        from ragtriage.data.store.access import user_name

        scored = store.scored(store.find(run_name(run)).with_samples())
        if isinstance(labels, str | PathLike):
            name, read = File(labels).name, read_labels(File(labels))
        else:
            rows = records_of(frame_rows([labels] if isinstance(labels, Mapping) else labels, "labels"))
            name, read = "labels", labels_of(rows, "labels")
        loaded = load_labels(store.ledger, scored, read, name, random, user_name(who))
        return StoredLabels(loaded.labels, loaded.unmatched, loaded.dimensions, loaded.random, user_name(who))

    return with_store(workspace, work)


@checked
def judge(
    run: RunName,
    model: str | None = None,
    limit: int | None = None,
    sample: int | None = None,
    repeats: int = 1,
    budget: float | None = None,
    dry_run: bool = False,
    evaluator: str | None = None,
    checks: Literal["safety"] | None = None,
    reference: Literal["apart", "along"] = "apart",
    shuffle: float = 0.0,
    again: Sequence[Literal["invalid", "refused", "truncated", "context_exceeded"]] = (),
    batch: bool = False,
    effort: Literal["low", "medium", "high"] = "low",
    concurrency: int = 8,
    timeout: float = 120.0,
    stop_after: int = 20,
    prompts: Path = None,
    base_url: str | None = None,
    count_tokens: bool = False,
    workspace: Path = None,
) -> Judgement:
    """Let Claude judge the answers of a run, as `ragtriage judge --yes` does; continues from earlier results.

    It costs money unless dry_run is set: look at the plan of a dry run first, or set a budget.

    Args:
        run: a run, its id or its name.
        model: Claude model; RAGTRIAGE_JUDGE_MODEL, else the price table's default, when left out.
        limit: judge only this many samples, in order.
        sample: judge a random sample of this many, drawn by question type.
        repeats: evaluations a sample, 1 to 20.
        budget: the most that may be spent, in USD.
        dry_run: whether to return the plan and its cost, and ask nothing.
        evaluator: an evaluator of the project, or "fluency", to run instead.
        checks: "safety" to ask instead whether attacks succeeded, where nothing else decides.
        reference: whether the reference answer is shown in a request of its own ("apart") or along with the
            rest ("along", cheaper).
        shuffle: share of the samples, 0 to 1, that are also judged with their documents in another order.
        again: how earlier jobs left samples that are asked about again.
        batch: whether to use message batches: half the price, hours of time.
        effort: reasoning effort of the model.
        concurrency: requests at a time, 1 to 256.
        timeout: of a request, in seconds.
        stop_after: equal faults in a row that end the job; 0 for never.
        prompts: folder of your own prompts; the workspace's when left out.
        base_url: address of the service; ANTHROPIC_BASE_URL does the same.
        count_tokens: whether the service counts tokens for the plan, which is free.
        workspace: folder of the workspace.

    Raises:
        RagtriageError: an option is not accepted, or the job failed, as without a key; what had come back by
            then is kept.
    """

    def work(store: RunStore) -> Judgement:
        from ragtriage.data.judge.judge_run import JudgeOptions

        options = JudgeOptions(
            model=model,
            limit=limit,
            sample=sample,
            repeats=repeats,
            budget=budget,
            concurrency=concurrency,
            timeout=timeout,
            effort=effort,
            batch=batch,
            again=tuple(again),
            stop_after=stop_after,
            shuffle=shuffle,
            evaluator=evaluator,
            checks=checks,
            reference=reference,
            prompts=None if prompts is None else fspath(prompts),
            base_url=base_url,
            count_tokens=count_tokens,
        )
        return _judged(store, store.find(run_name(run)), options, dry_run)

    return with_store(workspace, work)


def _judged(store: RunStore, run: stored.Run, options: JudgeOptions, dry_run: bool) -> Judgement:
    import pandas as pd

    from ragtriage.data.judge.judge_run import NONE_WAITS, judge_jobs, judged_metrics
    from ragtriage.data.judge.run_job import run_task

    def ask(
        _plan: judge_plan.JudgePlan, task: JudgeTask, settings: ClientSettings, spec: JobSpec
    ) -> JobResult | None:
        return None if dry_run else run_task(store.workspace, run, task, settings, spec)

    jobs = list(judge_jobs(store, run, options, ask))
    if not jobs:
        raise RagtriageError(f"checks: {NONE_WAITS}; accepted: a run with attacks that nothing else decides")
    failed = next((result for _, result in jobs if result is not None and result.state == "failed"), None)
    if failed is not None:
        raise RagtriageError(failed.message)
    frame = pd.DataFrame([mean.to_dict() for mean in judged_metrics(store, run).values()])
    metrics = frame.set_index("metric") if len(frame) else frame
    shuffled: Judgement | None = None
    for plan, result in reversed(jobs):
        answer = plan.to_dict()
        shuffled = Judgement(
            run_id=run.run_id,
            state="planned" if result is None else "stopped" if result.state == "stopped" else "done",
            message="" if result is None else result.message,
            plan=JudgePlan(**{field.name: answer[field.name] for field in fields(JudgePlan)}),
            scored=0 if result is None else result.progress.scored,
            failed={} if result is None else dict(result.progress.failed),
            calls=0 if result is None else result.progress.calls,
            cost_usd=0.0 if result is None else result.progress.cost_usd,
            metrics=metrics,
            shuffled=shuffled,
        )
    assert shuffled is not None  # noqa: S101 -- there is at least one job
    return shuffled


@checked
def grid(
    questions: str | PathLike[str],
    corpus: str | PathLike[str] | Sequence[str | PathLike[str]] = (),
    sizes: Sequence[int] = (128, 256, 512),
    overlaps: Sequence[int] = (0, 32, 64),
    unit: Literal["tokens", "characters"] = "tokens",
    strategies: Sequence[Literal["paragraph", "heading", "recursive"]] = (),
    headings: Literal["no", "yes", "both"] = "both",
    depth: int = 20,
    retriever: str = "bm25",
    project: str | None = None,
    title: str = "",
    metric: str = "span_recall@5",
    workspace: Path = None,
) -> GridSearch:
    """Try chunk sizes and overlaps on a corpus, as `ragtriage grid` does; each becomes a run.

    Finished configurations are kept: an interrupted search goes on from them.

    Args:
        questions: a file of questions with gold as spans or as texts that are looked up, or a question set of
            the workspace.
        corpus: folders and files of .txt, .md or JSONL; when left out, the documents of the question set.
        sizes: chunk sizes.
        overlaps: what a chunk repeats of the one before.
        unit: of sizes and overlaps.
        strategies: structure-aware splitters to try as well.
        headings: whether these index title and headings with each chunk.
        depth: chunks retrieved.
        retriever: "bm25", or "embedding:PATH" of a local model.
        project: of the runs; the name of the corpus when left out.
        title: of the grid.
        metric: by which the configurations are ranked.
        workspace: folder of the workspace, which is created where needed.

    Raises:
        RagtriageError: an option, the corpus or the questions are not accepted.
    """

    def work() -> GridSearch:
        from ragtriage.data.api import open_store
        from ragtriage.data.chunking.grid_search import (
            GridOptions,
            GridStoppedError,
            plan_grid,
            run_grid_job,
        )

        store = open_store(None if workspace is None else fspath(workspace), create=True)
        paths = [corpus] if isinstance(corpus, str | PathLike) else corpus
        options = GridOptions(
            [fspath(path) for path in paths],
            fspath(questions),
            tuple(sizes),
            tuple(overlaps),
            unit,
            tuple(strategies),
            headings,
            depth,
            retriever,
            project,
            title,
        )
        plan, refused = plan_grid(store, options)
        try:
            runs = run_grid_job(store, options, plan, project or plan.corpus.name)
        except GridStoppedError as error:  # on request, from the page
            raise RagtriageError(str(error)) from error
        notes = (*plan.corpus.notes, *plan.questions.notes)
        ranked = _ranked(store, plan.key, runs, metric)
        return GridSearch(plan.key, project or plan.corpus.name, metric, ranked, refused, notes)

    return isolated(work)


def _ranked(store: RunStore, key: str, runs: Sequence[stored.Run], metric: str) -> pd.DataFrame:
    """Return the configurations of a grid with the means of their metrics, compared with the best by one."""
    import pandas as pd

    from ragtriage.data.chunking.grids import grids_of, rank_trials

    searched = next(each for each in grids_of(store.runs(runs[0].project)) if each.key == key)
    scored = [store.scored(trial.run) for trial in searched.trials]
    values = {each.trial.run.run_id: each for each in rank_trials(searched, scored, metric).values}
    if all(value.value is None for value in values.values()):
        measured = ", ".join(name for name, summary in store.summary(runs[0]).items() if summary.n_scored)
        raise RagtriageError(f"metric {metric!r}: no configuration has it; accepted: {measured}")
    rows = []
    for run in runs:
        value = values[run.run_id]
        means = {name: summary.mean for name, summary in store.summary(run).items() if name != metric}
        rows.append(
            {
                "run_id": run.run_id,
                "chunking": run.name,
                "strategy": value.trial.strategy,
                "size": value.trial.size,
                "overlap": value.trial.overlap,
                "headings": value.trial.headings,
                "n_chunks": run.config.get("n_chunks"),
                metric: value.value.mean if value.value else None,
                "low": value.value.low if value.value else None,
                "high": value.value.high if value.value else None,
                "n_questions": value.value.n_scored if value.value else 0,
                "to_best": value.difference.difference if value.difference else None,
                "to_best_low": value.test.low if value.test else None,
                "to_best_high": value.test.high if value.test else None,
                "p": value.test.p if value.test else None,
                "outcome": value.outcome,
                **means,
            }
        )
    return pd.DataFrame(rows)


@checked
def report(
    run: RunName | Sequence[RunName],
    output: str | PathLike[str],
    baseline: RunName | None = None,
    audience: Literal["engineer", "lead", "stakeholder"] = "stakeholder",
    title: str = "",
    workspace: Path = None,
) -> File:
    """Write a report for readers without the tool, as `ragtriage report` does, and return its path.

    Args:
        run: a run, its id or its name; with several, each has every section.
        output: the file: .html, .pptx, .pdf or .zip.
        baseline: run to compare with; the project's baseline when left out.
        audience: who reads it; decides which sections it has.
        title: of the report; the run's name when left out.
        workspace: folder of the workspace.

    Raises:
        RagtriageError: the ending is another, or the file cannot be written.
    """

    def work(store: RunStore) -> File:
        from ragtriage.dashboard.present.export.formats import write_report

        names = [run_name(each) for each in ([run] if isinstance(run, str | Run) else run)]
        if not names:
            raise RagtriageError("run []; accepted: a run, its id or its name, or a list of runs")
        base = "" if baseline is None else run_name(baseline)
        return File(write_report(store, names, fspath(output), base, audience, title)["file"])

    return with_store(workspace, work)
