"""The commands on what to measure: advise plans an evaluation, init writes the gates of a kind of use."""

from __future__ import annotations

import click

from ragtriage.dashboard.cli.options import JSON
from ragtriage.dashboard.cli.terminal import plain, print_answer, print_json, row_table, step_list, wrapped
from ragtriage.dashboard.tables.plan import deciding_table, held_text, plan_sentence, size_text, step_table
from ragtriage.data import api
from ragtriage.data.api import diagnosis_of, open_store
from ragtriage.data.diagnosis.diagnosis import DiagnosisSettings
from ragtriage.data.errors import DataError
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.workspace import Workspace
from ragtriage.data.strategy.expected_gains import PROFILES, profile_gates, write_profile
from ragtriage.data.strategy.plan import USE_CASES, Plan, plan_answer, plan_of
from ragtriage.metrics.gates.wording import gate_title


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
    run = plan.holdings.run
    steps = () if run is None else api.gate(run.run_id, workspace=workspace).conclusion().next_steps
    if as_json:
        print_answer(plan_answer(plan) | {"next_steps": [step.to_dict() for step in steps]})
    else:
        print_answer("\n\n".join(filter(None, [_plan_text(plan), step_list(steps)])))


def _project(store: RunStore, wanted: str | None) -> str:
    """Return the project that is meant: the one named, the only one, or `default` where there is none."""
    projects = store.projects()
    accepted = ", ".join(f"“{project}”" for project in projects)  # a name may hold a comma
    if wanted is None and len(projects) > 1:
        raise DataError(f"several projects; accepted: {accepted}")
    if wanted is not None and projects and wanted not in projects:
        raise DataError(f"project {wanted[:60]!r}; accepted: {accepted}")
    return wanted or (projects[0] if projects else "default")


def _plan_text(plan: Plan) -> str:
    return "\n\n".join(
        [
            wrapped(plain(plan_sentence(plan))),
            wrapped(f"{held_text(plan)} {size_text(plan)}"),
            row_table(deciding_table(plan).rows),
            row_table(step_table(plan).only("Step", "Done", "What", "Why").rows),
            "\n".join(f"{at:>2}  {plain(step.command)}" for at, step in enumerate(plan.steps, 1)),
        ]
    )


@click.command()
@click.option("--profile", type=click.Choice([*PROFILES]), help="Kind of use whose gates are written.")
@click.option("--force", is_flag=True, help="Replace a gates.toml that is there.")
@click.option("--list", "listed", is_flag=True, help="List the profiles, and write nothing.")
@JSON
@click.pass_obj
def init(workspace: str | None, profile: str | None, force: bool, listed: bool, as_json: bool) -> None:
    """Write a commented gates.toml for a kind of use into the workspace."""
    if listed:
        titles = [{"profile": known.name, "for": known.title} for known in PROFILES.values()]
        profiles = {"profiles": [vars(known) for known in PROFILES.values()]}
        print_answer(profiles if as_json else row_table(titles))
        return
    if profile is None:
        raise click.UsageError(f"--profile is missing; accepted: {', '.join(PROFILES)}, or --list")
    path = write_profile(Workspace.find(workspace), profile, force)
    gates = profile_gates(profile).general
    rows = [
        {
            "gate": gate_title(gate),
            "if it fails": "blocks" if gate.severity == "block" else "warns",
            "because": gate.reason,
        }
        for gate in gates
    ]
    if as_json:
        print_json({"profile": profile, "file": str(path), "gates": [row["gate"] for row in rows]})
    else:
        click.echo(f"Wrote {plain(str(path))}: {len(gates)} gates. Change what does not fit.")
        click.echo(row_table(rows))
