"""The generate command: a plan, the answers with progress, then the run made of them."""

import sys

import click

from ragtriage.dashboard.cli.asking.judging import job_text, plan_agreed, with_bar
from ragtriage.dashboard.cli.options import (
    BASE_URL,
    BUDGET,
    DRY_RUN,
    JSON,
    MODEL,
    YES,
    concurrency_option,
    with_default,
)
from ragtriage.dashboard.cli.terminal import plain, print_answer
from ragtriage.dashboard.wording.imports import kept_text
from ragtriage.data.api import open_store
from ragtriage.data.chunking.corpus import read_corpus
from ragtriage.data.errors import DataError
from ragtriage.data.generation import (
    CONTEXTS,
    AskedQuestions,
    GenerationTask,
    generate_run,
    gold_texts,
    questions_of_set,
)
from ragtriage.data.importers.load import is_question_file, named_questions
from ragtriage.data.judge.evaluators import own_prompts
from ragtriage.data.judge.job_spec import JobSpec
from ragtriage.data.judge.plan import plan_task
from ragtriage.data.judge.requests import ClientSettings, read_prices
from ragtriage.data.judge.run_job import JobResult
from ragtriage.data.prompts.prompt import load_prompt
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.question_sets import keep_set
from ragtriage.data.store.sample_reader import StoredSamples
from ragtriage.data.store.workspace import Run

NEXT = (
    "Next: measure both runs alike with `ragtriage judge {original}` and `ragtriage judge {generated}`; the "
    "Diagnosis page then separates retrieval errors from generation errors."
)
NEXT_OF_A_SET = "Next: `ragtriage judge {generated}` measures what the model makes of this context."
STOPPED = (
    "No run was made. The same command continues from here; --limit makes a run of the first samples only."
)


@click.command()
@click.argument("run_name", metavar="[RUN]", required=False)
@click.option("--questions", metavar="NAME|FILE", help="Answer a question set instead of a run's questions.")
@with_default(
    "--context",
    "oracle",
    "What the model answers from: the gold documents, those that the run retrieved, or none.",
    type=click.Choice(["oracle", "retrieved", "none"]),
)
@click.option("--corpus", multiple=True, metavar="PATH", help="Texts of gold documents: .txt, .md, JSONL.")
@MODEL
@click.option("--limit", type=click.IntRange(1), help="Answer only this many samples, in order.")
@BUDGET
@concurrency_option(256, 8)
@BASE_URL
@DRY_RUN
@YES
@JSON
@click.pass_obj
def generate(
    workspace: str | None,
    run_name: str | None,
    questions: str | None,
    context: str,
    corpus: tuple[str, ...],
    model: str | None,
    limit: int | None,
    budget: float | None,
    concurrency: int,
    base_url: str | None,
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Let Claude answer a run's questions again, to separate retrieval from generation errors.

    The answers become a run of their own. With the gold documents as context, what still fails is a
    generation error. With --questions, a question set is answered from its gold passages, or closed book.
    """
    store = open_store(workspace)
    asked = _asked(store, run_name, questions, context)
    original = asked.run
    prices = read_prices(store.workspace.root)
    settings = ClientSettings(prices.model(model), base_url, concurrency)
    prompt = load_prompt("answering", own_prompts(store.workspace))
    texts = gold_texts(asked.samples, read_corpus(corpus) if corpus else None)
    task = GenerationTask(context, texts, prompt)
    rows = list(range(original.n))[:limit]
    spec = JobSpec(rows, 1, budget, limit=limit)
    plan = plan_task(asked.store.workspace, original, task, settings, spec, prices)
    if plan.nothing == plan.samples:
        noun = "run" if asked.questions is None else "question set"
        first = StoredSamples(asked.samples).read(rows[:1], task.columns)[0]
        raise DataError(
            f"{noun} {original.run_id}: no question can be answered from {CONTEXTS[context]}; of the first: "
            f"{task.documents(first)[1]}; accepted: a {noun} whose gold documents have texts, or --corpus "
            "with them"
        )
    if not plan_agreed(plan, dry_run, yes, as_json):
        return
    result = with_bar("answered", asked.store, original, task, settings, spec)
    generated = None
    if result.state == "done":  # a job that was stopped makes no run of a part
        results = {row: outcome for (row, _), outcome in result.results.items()}
        generated = generate_run(store, original, results, task, settings.model.name, asked.questions)
    answer = {
        "run": original.run_id,
        "context": context,
        "job": result.job_id,
        "state": result.state,
        "message": result.message,
        "plan": plan.to_dict(),
        "progress": result.progress.to_dict(),
        "generated": generated and {"run_id": generated.run_id, "name": generated.name, "n": generated.n},
    }
    print_answer(answer if as_json else _result_text(original, result, generated))
    sys.exit(2 if result.state == "failed" else 0)


def _asked(store: RunStore, run_name: str | None, questions: str | None, context: str) -> AskedQuestions:
    """Return the questions to answer: those of a run, or of a question set, which is kept if it is a file."""
    if (run_name is None) == (questions is None):
        raise click.UsageError("generate takes a RUN or --questions NAME|FILE, and one of them")
    if questions is None:
        run = store.find(str(run_name)).with_samples()
        if "generated_from" in run.config:
            raise DataError(
                f"run {run.run_id}: holds generated answers; accepted: the run they were made from, "
                f"{run.config['generated_from']}"
            )
        return AskedQuestions(run, store)
    if context == "retrieved":
        raise click.UsageError("a question set has nothing retrieved; accepted: --context oracle or none")
    loaded = named_questions(store.workspace, questions)
    facts = loaded.facts
    if is_question_file(questions):
        facts, is_new = keep_set(store.workspace, loaded)
        click.echo(plain(kept_text(facts, is_new)), err=True)
    return questions_of_set(store, facts, store.usual_project())


def _result_text(original: Run, result: JobResult, generated: Run | None) -> str:
    lines = job_text(result, "an answer")
    if result.progress.not_applicable:
        lines.append(f"{result.progress.not_applicable:,} have no document to answer from")
    if generated is None:
        return "\n".join([*lines, STOPPED])
    next_step = (NEXT_OF_A_SET if "question_set" in generated.config else NEXT).format(
        original=original.run_id, generated=generated.run_id
    )
    return "\n".join([*lines, f"run {generated.run_id}: {plain(generated.name)}", next_step])
