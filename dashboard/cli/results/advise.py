"""The advise command: the evaluation plan of a project for a use case."""

from __future__ import annotations

import click

from ragtriage.dashboard.cli.options import JSON
from ragtriage.dashboard.cli.terminal import plain, print_json, screen_width, table, wrapped
from ragtriage.dashboard.wording.strategy import held_text, metric_rows, plan_sentence, size_text, step_rows
from ragtriage.data.api import diagnosis_of, open_store
from ragtriage.data.diagnosis.diagnosis import DiagnosisSettings
from ragtriage.data.errors import DataError
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.strategy.plan import USE_CASES, Plan, plan_answer, plan_of


@click.command()
@click.argument("project", required=False)
@click.option(
    "--for",
    "use_case",
    type=click.Choice([*USE_CASES]),
    default="production",
    show_default=True,
    help="Use case.",
)
@JSON
@click.pass_obj
def advise(workspace: str | None, project: str | None, use_case: str, as_json: bool) -> None:
    """Plan an evaluation: metrics, number of questions, gates, labels, and the command of each step."""
    store = open_store(workspace)
    plan = plan_of(
        store, _project(store, project), use_case, lambda run: diagnosis_of(store, run, DiagnosisSettings())
    )
    if as_json:
        print_json(plan_answer(plan))
    else:
        click.echo(_text(plan))


def _project(store: RunStore, wanted: str | None) -> str:
    """Return the project that is meant: the one named, the only one, or `default` where there is none."""
    projects = sorted({run.project for run in store.runs()})
    if wanted is None and len(projects) > 1:
        raise DataError(f"several projects; accepted: {_quoted(projects)}")
    if wanted is not None and projects and wanted not in projects:
        raise DataError(f"project {wanted[:60]!r}; accepted: {_quoted(projects)}")
    return wanted or (projects[0] if projects else "default")


def _quoted(projects: list[str]) -> str:
    return ", ".join(f"“{project}”" for project in projects)  # a name may hold a comma


def _text(plan: Plan) -> str:
    width = screen_width()
    metrics, steps = metric_rows(plan), step_rows(plan)
    columns = ["Step", "Done", "What", "Why"]
    return "\n\n".join(
        [
            wrapped(plain(plan_sentence(plan))),
            wrapped(f"{held_text(plan)} {size_text(plan)}"),
            table(list(metrics[0]), [list(row.values()) for row in metrics], width),
            table(columns, [[plain(row[name]) for name in columns] for row in steps], width),
            "\n".join(f"{row['Step']:>2}  {plain(row['Command'])}" for row in steps),
        ]
    )
