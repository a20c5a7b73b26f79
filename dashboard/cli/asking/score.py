"""The score command: metrics of models on this machine, beside those of the judge."""

from dataclasses import replace

import click

from ragtriage.dashboard.cli.asking.judging import plan_agreed, with_bar
from ragtriage.dashboard.cli.options import BASE_URL, BUDGET, JSON, MODEL, YES, FiniteFloat, with_default
from ragtriage.dashboard.cli.terminal import mean_cells, plain, print_answer, progress_bar, row_table
from ragtriage.data.api import open_store
from ragtriage.data.errors import DataError
from ragtriage.data.judge.job_spec import JobSpec
from ragtriage.data.judge.plan import plan_task
from ragtriage.data.judge.requests import ClientSettings, read_prices
from ragtriage.data.local_models import (
    LOCAL_KINDS,
    WORDS,
    LocalModels,
    ReverseQuestionTask,
    off_topic_baseline,
    open_embedding,
    open_nli,
    score_locally,
)
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.scoring.summaries import MetricSummary
from ragtriage.data.store.judge_results import JudgeResult
from ragtriage.data.store.workspace import Run
from ragtriage.metrics.number_text import number

NOTHING = "score: nothing to score with; accepted: --nli MODEL, --embedding MODEL, or both"
NOT_APPLICABLE = "no sample of this run has what these metrics need: answers, or documents with texts"


@click.command()
@click.argument("run_name", metavar="RUN")
@click.option("--nli", metavar="MODEL", help="NLI cross-encoder: a folder on this machine, or a name.")
@click.option(
    "--embedding", metavar="MODEL", help=f"Embedding model: a folder, a name, or '{WORDS}' to count words."
)
@click.option(
    "--allow-download", is_flag=True, help="Let a model that is not a folder be downloaded from the Hub."
)
@with_default(
    "--threshold",
    0.8,
    "Probability of entailment from which a claim holds.",
    type=FiniteFloat(0, 1, min_open=True),
)
@with_default(
    "--questions",
    "recorded",
    "Reverse questions: those in the file (`reverse_questions`), or made by Claude from the answers.",
    type=click.Choice(["recorded", "model"]),
)
@MODEL
@BASE_URL
@BUDGET
@YES
@JSON
@click.pass_obj
def score(
    workspace: str | None,
    run_name: str,
    nli: str | None,
    embedding: str | None,
    allow_download: bool,
    threshold: float,
    questions: str,
    model: str | None,
    base_url: str | None,
    budget: float | None,
    yes: bool,
    as_json: bool,
) -> None:
    """Score a run with models on this machine: NLI, embeddings, reverse questions.

    The metrics stand beside the judge's and never take their place. Nothing is downloaded unless
    --allow-download says so.
    """
    if nli is None and embedding is None:
        raise DataError(NOTHING)
    store = open_store(workspace)
    run = store.find(run_name).with_samples()
    models = LocalModels(
        None if nli is None else open_nli(nli, allow_download),
        None if embedding is None else open_embedding(embedding, allow_download),
        threshold,
    )
    if questions == "model":
        settings = ClientSettings(read_prices(store.workspace.root).model(model), base_url)
        questions_by_row = _reverse_questions(store, run, settings, budget, yes, as_json)
        if questions_by_row is None:
            return
        models = replace(models, questions=questions_by_row)
    with progress_bar("scored", run.n) as show:
        results = score_locally(store, run, models, show)
    if not results:
        raise DataError(f"run {run.run_id}: {NOT_APPLICABLE}")
    names = ("nli_", "embedding_", "reverse_question_")
    summaries = {name: mean for name, mean in store.summary(run).items() if name.startswith(names)}
    baseline = off_topic_baseline(store, run, results)
    answer = {
        "run": run.run_id,
        "models": {LOCAL_KINDS[result.kind]: result.judge for result in results},
        "metrics": {name: summary.to_dict() for name, summary in summaries.items()},
        "off_topic_baseline": baseline,
    }
    print_answer(answer if as_json else _text(results, summaries, baseline))


def _reverse_questions(
    store: RunStore, run: Run, settings: ClientSettings, budget: float | None, yes: bool, as_json: bool
) -> dict[int, list[str]] | None:
    """Let the model make questions from the answers; None where the user declines."""
    task, spec = ReverseQuestionTask(), JobSpec(list(range(run.n)), 1, budget)
    plan = plan_task(store.workspace, run, task, settings, spec, read_prices(store.workspace.root), False)
    if not plan_agreed(plan, False, yes, as_json):
        return None
    result = with_bar("asked for questions", store, run, task, settings, spec)
    if result.state != "done":
        raise DataError(f"questions were not made for all answers: {result.message or result.state}")
    return {
        row: list(outcome.payload["questions"])
        for (row, _), outcome in result.results.items()
        if outcome.payload is not None
    }


def _text(results: list[JudgeResult], summaries: dict[str, MetricSummary], baseline: float | None) -> str:
    lines = [
        f"{LOCAL_KINDS[result.kind]}: {plain(result.model)}, {result.scored:,} of {result.samples:,} samples"
        for result in results
    ]
    rows = [{"metric": name, **mean_cells(mean), "source": mean.source} for name, mean in summaries.items()]
    lines.append(row_table(rows))
    if baseline is not None:
        lines.append(f"reverse questions against the question of another sample: {number(baseline, 3)}")
    return "\n".join(lines)
