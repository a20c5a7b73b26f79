"""Binary evaluators on the Judge page: made from failure labels, checked against human labels."""

from collections.abc import Sequence

import numpy as np
import streamlit as st

from ragtriage.dashboard.shell.components import facts, show_table
from ragtriage.dashboard.shell.kept_results import kept
from ragtriage.dashboard.shell.session import View, open_cases
from ragtriage.dashboard.shell.user import attempt, current_user, may_write
from ragtriage.dashboard.tables.judged import evaluator_table
from ragtriage.dashboard.wording.escaping import markdown_text, shorten
from ragtriage.data.diagnosis.diagnosis import Diagnosis
from ragtriage.data.judge.evaluators import (
    LONGEST_NAME,
    LONGEST_QUESTION,
    Evaluator,
    EvaluatorTask,
    accuracy_of,
    add_evaluator,
    evaluator_name,
    evaluators,
    injected_samples,
    own_prompts,
    remove_evaluator,
    suggested_question,
)
from ragtriage.data.labels.failure_taxonomy import LabelCount, label_counts
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.store.judge_results import JudgeResult, judge_results_of
from ragtriage.metrics.number_text import count, percent
from ragtriage.metrics.schema.scores import Source, Status
from ragtriage.metrics.statistics.intervals import missing_bounds, question_means
from ragtriage.metrics.statistics.prevalence import LEAST_LABELS, EvaluatorAccuracy


@kept
def _accuracy(scored: ScoredRun, diagnosis: Diagnosis, evaluator: Evaluator) -> EvaluatorAccuracy | None:
    return accuracy_of(scored, diagnosis.human_labels, evaluator)


def evaluator_section(view: View) -> None:
    """Draw the evaluators of the project with their checks, and a form for a new one."""
    st.subheader("Evaluators: a yes / no question for each failure")
    ledger = view.store.ledger
    existing = evaluators(ledger, view.project)
    newest = {result.kind: result for result in reversed(judge_results_of(ledger, view.run.run_id))}
    for evaluator in existing:
        with st.container(border=True):
            _evaluator(view, evaluator, newest.get(evaluator.kind))
    counts = label_counts(ledger, view.project, [run.run_id for run in view.sampled])
    if counts and may_write():
        with st.expander("New evaluator", expanded=not existing, key="new_evaluator"):
            _form(view, counts, {evaluator.name for evaluator in existing})
    st.caption("Fluency is built in, and asked only by its name: `ragtriage judge RUN --evaluator fluency`.")
    if not counts and not existing:
        st.caption("An evaluator is made from a failure label; there is none yet.")


def _evaluator(view: View, evaluator: Evaluator, judge_result: JudgeResult | None) -> None:
    """Draw an evaluator: what it asks, how to run it, and its rate, where that can be trusted."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"**{markdown_text(evaluator.name)}** looks for *{markdown_text(evaluator.label)}*")
        if may_write():
            st.button(
                "Remove", key=f"remove_evaluator_{evaluator.name}", type="tertiary",
                disabled=not current_user(), on_click=attempt, args=(lambda: _remove(view, evaluator),),
            )  # fmt: skip
    st.markdown(markdown_text(evaluator.question))
    facts(f"sent with it: {markdown_text(evaluator.explained)}" if evaluator.explained else "")
    scored = view.scored(view.run)
    check = _accuracy(scored, view.diagnosis(view.run), evaluator)
    if check is None or not check.rate.n_scored:
        st.caption("It has not judged this run yet. In a terminal:")
        st.code(_command(view, evaluator), language="bash")
        return
    if check.enough:
        show_table(evaluator_table(check, evaluator.name))
    else:
        st.info(missing_text(check, evaluator.label), title="Its rate is withheld")
    path = scored.judge_result_path(evaluator.kind)
    samples = 0 if path is None else _injected(path)
    if samples:
        st.warning(
            f"In {count(samples, 'sample')} some text tries to instruct the judge. Its prompt says to report "
            "such text, not to follow it; read these cases before trusting its answers."
        )
    _origin(view, evaluator, check, judge_result)
    _case_buttons(evaluator, check)


def _command(view: View, evaluator: Evaluator) -> str:
    return f"ragtriage judge {view.run.run_id} --evaluator {evaluator.name}"


def missing_text(check: EvaluatorAccuracy, label: str) -> str:
    """Return what is missing before the rate of an evaluator is shown."""
    lacking = []
    if check.pairs.n < LEAST_LABELS:
        lacking.append(f"{LEAST_LABELS - check.pairs.n} more labelled cases")
    if not check.positives:
        lacking.append(f"a case labelled {markdown_text(label)}")
    if not check.negatives:
        lacking.append("a case labelled otherwise (a pass, or another failure)")
    unread = check.labelled - check.pairs.n
    rest = f" {count(unread, 'labelled case')} it has not judged." if unread else ""
    return (
        f"Its answers can be checked on {count(check.pairs.n, 'case')} with human labels: "
        f"{check.positives:,} with this failure, {check.negatives:,} otherwise. "
        f"Missing: {', '.join(lacking)}.{rest}"
    )


def _origin(
    view: View, evaluator: Evaluator, check: EvaluatorAccuracy, judge_result: JudgeResult | None
) -> None:
    """Show who judged, what failed, which labels the check uses, and whether the question has changed."""
    scored, human_labels = view.scored(view.run), view.diagnosis(view.run).human_labels
    drawn = [any(label.queue_id is not None for label in labels) for labels in human_labels.labels.values()]
    folder = own_prompts(view.store.workspace)
    judged_at = "" if judge_result is None else judge_result.at[:16].replace("T", " ")
    changed = judge_result is not None and judge_result.prompt != EvaluatorTask.of(evaluator, folder).prompt
    if changed:
        st.warning("Its question or prompt has changed since. Judge again:")
        st.code(_command(view, evaluator), language="bash")
    column = scored.column(evaluator.metric, Source.JUDGED)
    n = 0 if column is None else int((column.status == Status.NOT_APPLICABLE).sum())
    left_out = f"{count(n, 'sample')} left out: no answer, or the data cannot tell" if n else ""
    facts(
        "" if judge_result is None else f"judged by {markdown_text(judge_result.model)}, {judged_at} UTC",
        _failures(scored, evaluator) if check.enough else "",
        left_out,
        f"{sum(drawn):,} of {count(len(drawn), 'labelled case')} drawn at random; on the others "
        "the judge is taken to err as often as elsewhere",
        "corrected: (rate + TNR − 1) / (TPR + TNR − 1)" if check.enough else "",
    )


_injected = kept(injected_samples)


def _failures(scored: ScoredRun, evaluator: Evaluator) -> str:
    """Return how many questions failed, and the bounds of the rate whatever their answers are."""
    column = scored.column(evaluator.metric, Source.JUDGED)
    if column is None or not (column.status == Status.FAILED).any():
        return ""
    means, _ = question_means(column.values, scored.question)
    failed = np.unique(scored.question[column.status == Status.FAILED])
    missing, weights = failed[np.isnan(means[failed])], scored.question_weights
    lost = len(missing)
    if not lost:
        return ""
    low, high = missing_bounds(means, lost if weights is None else weights[missing].sum(), weights=weights)
    rate = f"{percent(low)} to {percent(high)}"
    return f"{count(lost, 'question')} failed: the rate is {rate} whatever their answers are"


def _case_buttons(evaluator: Evaluator, check: EvaluatorAccuracy) -> None:
    """Draw the buttons to the cases behind the numbers."""
    with st.container(horizontal=True):
        if st.button("Cases where it finds the failure", key=f"found_{evaluator.name}"):
            open_cases(sort=evaluator.metric, descending=True)
        if check.positives and st.button(
            "Labelled with it, missed ones first", key=f"missed_{evaluator.name}"
        ):
            open_cases(failure=evaluator.label, sort=evaluator.metric, descending=False)
        if check.negatives and st.button("Labelled cases, found ones first", key=f"wrong_{evaluator.name}"):
            open_cases(label="any", sort=evaluator.metric, descending=True)
        if (
            not check.enough
            and may_write()
            and st.button("Label more cases", key=f"label_more_{evaluator.name}")
        ):
            open_cases(label="none")


def _remove(view: View, evaluator: Evaluator) -> str:
    remove_evaluator(view.store.ledger, view.project, evaluator.name)
    return f"Removed evaluator {markdown_text(evaluator.name)}; what it judged stays."


def _form(view: View, counts: Sequence[LabelCount], taken: set[str]) -> None:
    """Draw the form of a new evaluator."""
    by_label = {label_count.label: label_count for label_count in counts}
    free = [at for at, label in enumerate(by_label) if evaluator_name(label) not in taken]
    label = st.selectbox(
        "Failure label", list(by_label), index=free[0] if free else 0, key="evaluator_label", width=340
    )
    chosen = by_label[label]
    name_key, question_key = f"evaluator_name_{label}", f"evaluator_question_{label}_{chosen.definition}"
    name = st.text_input(
        "Name: letters, digits and underscores", value=evaluator_name(label), key=name_key,
        max_chars=LONGEST_NAME, width=340,
    )  # fmt: skip
    st.text_area(
        "Question: yes means that the failure is there",
        value=suggested_question(label, chosen.definition),
        key=question_key,
        max_chars=LONGEST_QUESTION,
    )

    def create() -> str:
        evaluator = Evaluator(st.session_state[name_key].strip(), label, st.session_state[question_key])
        add_evaluator(view.store.ledger, view.project, evaluator, current_user())
        return f"Made evaluator {markdown_text(evaluator.name)}."

    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            "Create", key="create_evaluator", type="primary", disabled=not current_user() or name in taken,
            on_click=attempt, args=(create,),
        )  # fmt: skip
        facts(
            "" if current_user() else "give your name above",
            "this name is taken" if name in taken else "",
            f"{count(chosen.cases, 'case')} labelled {markdown_text(shorten(label, 40))}",
        )
