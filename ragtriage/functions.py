"""The functions of the package: each calls ragtriage.data.api and makes frames of its answer."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextvars import Context, copy_context
from dataclasses import fields
from datetime import datetime
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

from ragtriage import RagtriageError
from ragtriage.arguments import checked
from ragtriage.results import Comparison, Diagnosis, GateReport, Interval, Run, Shown

if TYPE_CHECKING:
    import pandas as pd

    from ragtriage.dashboard.present.export.notebook import NotebookView
    from ragtriage.data.gates import report
    from ragtriage.data.scoring.run_store import RunStore

Path: TypeAlias = str | PathLike[str] | None
RunName: TypeAlias = str | Run
T = TypeVar("T")
Result = TypeVar("Result", bound=Shown)


def isolated(work: Callable[[], T], context: Context | None = None) -> T:
    """Return what a function returns, called in a context of its own: a copy of the given or the current one.

    What a project declares of imported metrics is a context variable and must not outlast the call.

    Raises:
        RagtriageError: it cannot be done.
    """
    from ragtriage.data.errors import DataError
    from ragtriage.metrics.schema.scores import MetricsError

    try:
        return (copy_context() if context is None else context.copy()).run(work)
    except (DataError, MetricsError) as error:
        raise RagtriageError(str(error)) from error


def shown(result: Result, view: Callable[[], NotebookView]) -> Result:
    """Return a result that a notebook shows by a view, which is made when it is asked for.

    What is declared of imported metrics now, inside of `isolated`, is in force then too.
    """
    context = copy_context()
    object.__setattr__(result, "_show", lambda take: isolated(lambda: take(view()), context))
    return result


def with_store(workspace: Path, work: Callable[[RunStore], T]) -> T:
    """Return what a function returns of the runs of a workspace, called in a context of its own."""
    from ragtriage.data.api import open_store

    return isolated(lambda: work(open_store(None if workspace is None else str(workspace))))


@checked
def add_run(
    records: pd.DataFrame | Sequence[Mapping[str, Any]],
    name: str,
    project: str | None = None,
    config: Mapping[str, Any] | None = None,
    dataset: str = "",
    workspace: Path = None,
    metrics: Mapping[str, Mapping[str, Any]] | None = None,
) -> Run:
    """Add a run to a workspace, which is created where needed, and score it.

    Args:
        records: samples in the native form (docs/format.md), or a table whose columns can be guessed; or what
            chains of LangChain, engines of LlamaIndex and pipelines of Haystack return, with its question.
        name: what to call the run.
        project: what it belongs to; the workspace's only project, or `default`, when left out.
        config: pipeline configuration.
        dataset: name of the question set.
        workspace: folder of the workspace.
        metrics: which direction of an imported score is better, and its range and title, by name:
            {"helpfulness": {"direction": "higher", "range": [1, 5], "title": "Helpfulness"}}.

    Returns:
        The run; the one that is already there when its content is the same.

    Raises:
        RagtriageError: a record cannot be used; the message names the row and the field.
    """
    from ragtriage.data import api

    if not name.strip():
        raise RagtriageError(f"name {name!r}; accepted: what to call the run")

    def add() -> Run:
        folder = None if workspace is None else str(workspace)
        run = api.add_run(
            records=records,
            name=name,
            project=project,
            config=dict(config or {}),
            dataset=dataset,
            metrics={metric: dict(entry) for metric, entry in (metrics or {}).items()},
            workspace=folder,
        )
        store = api.open_store(folder)

        def view() -> NotebookView:
            from ragtriage.dashboard.present.export.notebook import run_view

            return run_view(store, store.find(run.run_id))

        return shown(run_of_entry(api.run_entry(run, run.name)), view)

    return isolated(add)


@checked
def assign(user_id: str | int, experiment: str, shares: Mapping[str, float]) -> str:
    """Return the arm of a live test that a user is in, for `ragtriage ab` to compare.

    The same user is always in the same arm of an experiment, on every machine: the first 8 bytes of the
    SHA-256 of experiment, a zero byte and user, big endian, / 2^64 lie in the arm's part of [0, 1). Nothing
    is stored. Arms in different experiments do not depend on each other. Raising the share of the last arm
    moves users into it, and nobody out.

    Args:
        user_id: the user, or whatever is kept in one arm: an account, a conversation.
        experiment: name of the experiment; a new name draws anew.
        shares: arm -> its share, in any unit; the order counts.

    Raises:
        RagtriageError: a name is empty, there are fewer than two arms, or a share is not above 0.

    >>> import ragtriage
    >>> ragtriage.assign("user-17", "rerank", {"V1": 0.5, "V2": 0.5})
    'V1'
    """
    from ragtriage.data.ab.assignment import assigned_arm

    return isolated(lambda: assigned_arm(user_id, experiment, shares))


def run_of_entry(entry: Mapping[str, Any]) -> Run:
    """Return the run of an entry of `ragtriage runs --json`."""
    return Run(**{**entry, "created_at": datetime.fromisoformat(entry["created_at"])})


@checked
def runs(workspace: Path = None) -> pd.DataFrame:
    """List the runs of a workspace, oldest first.

    >>> import ragtriage
    >>> ragtriage.runs()[["name", "project", "n"]].to_dict("records")
    [{'name': 'first try', 'project': 'demo', 'n': 10}]
    """
    import pandas as pd

    from ragtriage.data.api import runs_answer

    columns = ["run_id", "name", "project", "n", "n_questions", "created_at"]
    frame = pd.DataFrame(with_store(workspace, runs_answer), columns=columns)
    frame["created_at"] = pd.to_datetime(frame["created_at"], format="ISO8601")
    return frame


@checked
def samples(run: RunName, workspace: Path = None) -> pd.DataFrame:
    """Return the samples of a run, one row each, with the fields of docs/format.md that are filled.

    >>> import ragtriage
    >>> ragtriage.samples("first try").loc[3, ["question", "answer"]].tolist()
    ['Question 3?', 'Yes.']
    """
    import pandas as pd

    from ragtriage.data.api import samples_answer

    return pd.DataFrame(with_store(workspace, lambda store: samples_answer(store, store.find(run_name(run)))))


@checked
def scores(run: RunName, workspace: Path = None) -> pd.DataFrame:
    """Return the scores of a run: one row per sample as in samples(), one column per metric, NaN if unscored.

    >>> import ragtriage
    >>> ragtriage.scores("first try")["faithfulness"].tolist()[:3]
    [0.0, 0.1, 0.2]
    """
    import pandas as pd

    from ragtriage.data.api import scores_answer

    frame = pd.DataFrame(with_store(workspace, lambda store: scores_answer(store, store.find(run_name(run)))))
    metric_columns = [column for column in frame.columns if column not in ("question_id", "repeat")]
    return frame.astype(dict.fromkeys(metric_columns, "float64"))


@checked
def summarize(run: RunName, k: Sequence[int] = (1, 3, 5, 10), workspace: Path = None) -> pd.DataFrame:
    """Return every metric of a run, indexed by its name: mean, 95 % interval, counts, source.

    Args:
        run: a run, its id or its name.
        k: ranks of the retrieval metrics.
        workspace: folder of the workspace.
    """
    import pandas as pd

    from ragtriage.data.api import metrics_answer

    if any(rank < 1 for rank in k):
        raise RagtriageError(f"k {[*k]}; accepted: whole numbers of 1 or more")

    def answer_of(store: RunStore) -> dict[str, Any]:
        stored = store.find(run_name(run))
        return metrics_answer(store, stored, store.options(stored, tuple(k)))

    answer = with_store(workspace, answer_of)
    return pd.DataFrame(list(answer["metrics"].values())).set_index("metric")


@checked
def diagnose(
    run: RunName,
    context_metric: str | None = None,
    context: float = 0.5,
    faithfulness: float = 0.8,
    answer_relevancy: float = 0.5,
    workspace: Path = None,
) -> Diagnosis:
    """Diagnose where the cases of a run fail and what to fix first.

    Args:
        run: a run, its id or its name.
        context_metric: metric that rates the retrieved context; the best one there is when left out.
        context: case threshold of the context metric.
        faithfulness: case threshold of faithfulness.
        answer_relevancy: case threshold of answer relevancy.
        workspace: folder of the workspace.

    >>> import ragtriage
    >>> ragtriage.diagnose("first try").bad
    8
    """
    import pandas as pd

    from ragtriage.data.api import diagnosis_answer, diagnosis_of
    from ragtriage.data.diagnosis.diagnosis import DiagnosisSettings
    from ragtriage.metrics.diagnosis.patterns import CaseThresholds

    thresholds = {"context": context, "faithfulness": faithfulness, "answer_relevancy": answer_relevancy}
    for name, threshold in thresholds.items():
        if not 0 <= threshold <= 1:
            raise RagtriageError(f"{name} {threshold!r}; accepted: a number from 0 to 1")
    settings = DiagnosisSettings(CaseThresholds(context, faithfulness, answer_relevancy), context_metric)

    def work(store: RunStore) -> Diagnosis:
        diagnosis = diagnosis_of(store, store.find(run_name(run)), settings)
        answer = diagnosis_answer(diagnosis, settings)
        rate = {field.name: answer["pass_rate"][field.name] for field in fields(Interval)}
        result = Diagnosis(
            run_id=answer["run"],
            n=answer["n"],
            bad=answer["bad"],
            pass_rate=Interval(**rate),
            context_metric=answer["signal"],
            thresholds=answer["cutoffs"],
            patterns=answer["patterns"],
            stages=answer["stages"],
            fix_first=pd.DataFrame(answer["fix_first"]),
            worst_slices=pd.DataFrame(answer["worst_slices"]),
            symptoms=tuple(answer["symptoms"]),
        )

        def view() -> NotebookView:
            from ragtriage.dashboard.present.export.notebook import diagnosis_view

            return diagnosis_view(store, diagnosis)

        return shown(result, view)

    return with_store(workspace, work)


@checked
def compare(
    base: RunName,
    other: RunName,
    family: Literal["headline", "retrieval", "generation", "answer", "system", "all"] = "headline",
    workspace: Path = None,
) -> Comparison:
    """Compare a run with a baseline, paired on question.

    Args:
        base: the baseline: a run, its id or its name.
        other: the run to compare with it.
        family: metrics to compare, over which p values are corrected.
        workspace: folder of the workspace.
    """
    import pandas as pd

    from ragtriage.data.api import comparison_answer, comparisons_with

    def work(store: RunStore) -> Comparison:
        baseline, version = store.find(run_name(base)), store.find(run_name(other))
        (comparison,) = comparisons_with(store, baseline, [version], family)
        answer = comparison_answer(baseline, [version], [comparison], family)
        (side,) = answer["comparisons"]
        frame = pd.DataFrame.from_dict(side["metrics"], orient="index").rename_axis("metric")

        def view() -> NotebookView:
            from ragtriage.dashboard.present.export.notebook import comparison_view

            return comparison_view(store, baseline, version, comparison)

        return shown(
            Comparison(answer["baseline"], side["run"], side["n_shared"], frame, tuple(side["warnings"])),
            view,
        )

    return with_store(workspace, work)


@checked
def gate(
    run: RunName,
    baseline: RunName | None = None,
    config: Path = None,
    strict: bool = False,
    workspace: Path = None,
    fail_on: Collection[Literal["do_not_ship", "cannot_tell", "not_checked"]] | None = None,
) -> GateReport:
    """Judge a run by the gates of its project.

    Args:
        run: a run, its id or its name.
        baseline: run to compare with; the project's baseline when left out.
        config: a gates.toml; the workspace's, else the bundled one, when left out.
        strict: whether to fail on all three states of fail_on, and count gates that had nothing to judge by.
        workspace: folder of the workspace.
        fail_on: conclusions of which the exit code is not 0: "do_not_ship" (1), "cannot_tell" (3),
            "not_checked" (3); when left out the first, and the last where no gate measured quality.

    >>> import ragtriage
    >>> report = ragtriage.gate("first try")
    >>> report.verdict, report.blocked
    ('FAIL', True)
    """
    import pandas as pd

    def work() -> GateReport:
        from ragtriage.data.api import open_store

        report = gate_report(run, baseline, config, workspace)
        answer = report.to_dict(strict, fail_on)
        result = GateReport(
            run_id=answer["run"],
            name=answer["name"],
            project=answer["project"],
            verdict=answer["verdict"],
            state=answer["conclusion"]["state"],
            exit_code=answer["exit_code"],
            baseline_id=answer["baseline"]["run"] if answer["baseline"] else None,
            baseline_note=answer["baseline_note"],
            gates=pd.DataFrame(answer["gates"]),
            newly_failing=pd.DataFrame(
                answer["newly_failing"], columns=["question_id", "question", "critical"]
            ),
            warnings=tuple(answer["warnings"]),
            cautions=tuple(answer["cautions"]),
        )
        store = open_store(None if workspace is None else str(workspace))

        def view() -> NotebookView:
            from ragtriage.dashboard.present.export.notebook import run_view

            return run_view(store, report.run, report, strict)

        return shown(result, view)

    return isolated(work)


def gate_answer(
    run: RunName,
    baseline: RunName | None,
    config: Path,
    strict: bool,
    workspace: Path,
    fail_on: Collection[str] | None = None,
) -> dict[str, Any]:
    """Return what `ragtriage gate --json` prints."""
    return isolated(lambda: gate_report(run, baseline, config, workspace).to_dict(strict, fail_on))


def gate_report(run: RunName, baseline: RunName | None, config: Path, workspace: Path) -> report.GateReport:
    """Judge a run by the gates of its project."""
    from ragtriage.data import api

    return api.gate(
        run=run_name(run),
        baseline="" if baseline is None else run_name(baseline),
        config=None if config is None else str(config),
        workspace=None if workspace is None else str(workspace),
    )


def run_name(run: RunName) -> str:
    """Return the id of a run, or the id or name that it was given as."""
    return run.run_id if isinstance(run, Run) else run
