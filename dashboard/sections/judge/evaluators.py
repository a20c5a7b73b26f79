"""Binary evaluators on the Judge page: made from failure labels, checked against people before they count."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import streamlit as st

from dashboard.shell.components import facts, show_table
from dashboard.shell.session import View, open_cases
from dashboard.shell.user import attempt, current_user, may_write
from dashboard.wording.escaping import markdown_text, shorten
from dashboard.wording.formatting import METHODS, NOT_MEASURED, count, interval_text, number, percent
from data.diagnosis.diagnosis import HumanLabels
from data.judge.evaluators import (
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
from data.labels.failure_taxonomy import LabelCount, label_counts
from data.scoring.scored_run import ScoredRun
from data.store.judge_results import JudgeResult, judge_results_of
from metrics.schema.scores import Source, Status
from metrics.statistics.intervals import Interval, missing_bounds, question_means
from metrics.statistics.prevalence import LEAST_LABELS, EvaluatorAccuracy

__all__ = ["check_rows", "evaluator_section", "missing_text"]


@st.cache_resource(max_entries=64, show_spinner=False)
def _check(
    _scored: ScoredRun,
    _people: HumanLabels,
    _evaluator: Evaluator,
    key: tuple[str, str, str, tuple[int, int]],  # noqa: ARG001 -- cache key
) -> EvaluatorAccuracy | None:
    return accuracy_of(_scored, _people, _evaluator)


def evaluator_section(view: View) -> None:
    """Draw the evaluators of the project with their checks, and a form for a new one."""
    st.subheader("Evaluators: a yes / no question for each failure")
    ledger = view.store.ledger
    found = evaluators(ledger, view.project)
    published = {one.kind: one for one in reversed(judge_results_of(ledger, view.run.run_id))}
    for one in found:
        with st.container(border=True):
            _evaluator(view, one, published.get(one.kind))
    counts = label_counts(ledger, view.project, [run.run_id for run in view.sampled])
    if counts and may_write():
        with st.expander("New evaluator", expanded=not found, key="new_evaluator"):
            _form(view, counts, {one.name for one in found})
    elif not found:
        st.caption("None yet." if counts else "An evaluator is made from a failure label; there is none yet.")


def _evaluator(view: View, one: Evaluator, made: JudgeResult | None) -> None:
    """Draw one evaluator: what it asks, how to run it, and what it found, if that can be trusted."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"**{markdown_text(one.name)}** looks for *{markdown_text(one.label)}*")
        if may_write():
            st.button(
                "Remove", key=f"remove_evaluator_{one.name}", type="tertiary", disabled=not current_user(),
                on_click=attempt, args=(lambda: _remove(view, one),),
            )  # fmt: skip
    st.markdown(markdown_text(one.question))
    facts([f"sent with it: {markdown_text(one.explained)}" if one.explained else ""])
    scored = view.scored(view.run)
    people = view.diagnosis(view.run).human_labels
    key = (scored.scores_path.as_posix(), one.metric, one.label, view.store.ledger.version())
    check = _check(scored, people, one, key)
    if check is None or not check.rate.n_scored:
        st.caption("It has not judged this run yet. In a terminal:")
        st.code(_command(view, one), language="bash")
        return
    if check.enough:
        show_table(check_rows(check), f"What evaluator {one.name} finds, and how far it agrees with people")
    else:
        st.info(missing_text(check, one.label), title="Its rate is withheld")
    _injections(scored, one)
    _origin(view, one, check, made)
    _case_buttons(one, check)


def _command(view: View, one: Evaluator) -> str:
    return f"ragtriage judge {view.run.run_id} --evaluator {one.name}"


def missing_text(check: EvaluatorAccuracy, label: str) -> str:
    """Say what is missing before the rate of an evaluator is shown."""
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
        f"Its answers can be checked on {count(check.pairs.n, 'case')} that people labelled: "
        f"{check.positives:,} with this failure, {check.negatives:,} otherwise. "
        f"Missing: {', '.join(lacking)}.{rest}"
    )


def check_rows(check: EvaluatorAccuracy) -> list[dict[str, str]]:
    """Give the rows of the table: the rate, corrected and raw, beside its check."""
    corrected, kappa = check.corrected, check.kappa
    return [
        {
            "": "Rate, corrected",
            "Value": percent(corrected.value),
            "95 %": _span(corrected.low, corrected.high),
            "n": f"{count(check.rate.n_scored, 'question')}, {check.pairs.n:,} labelled",
            "How": "Rogan-Gladen, parametric bootstrap"
            if np.isfinite(corrected.value)
            else "no better than chance: cannot be corrected",
        },
        _rate_row("Rate, as judged", check.rate, f"{check.rate.n_scored:,} of {_questions(check)}"),
        _rate_row("True positive rate", check.true_positive, f"{check.positives:,} with the failure"),
        _rate_row("True negative rate", check.true_negative, f"{check.negatives:,} without"),
        {
            "": "Cohen's kappa",
            "Value": number(kappa.value),
            "95 %": interval_text(kappa.low, kappa.high),
            "n": f"{kappa.n:,} labelled",
            "How": METHODS.get(kappa.method, "no interval"),
        },
    ]


def _questions(check: EvaluatorAccuracy) -> str:
    return count(check.rate.n_applicable, "question")


def _rate_row(title: str, rate: Interval, n: str) -> dict[str, str]:
    return {
        "": title,
        "Value": percent(rate.mean),
        "95 %": _span(rate.low, rate.high),
        "n": n,
        "How": METHODS.get(rate.method, "no interval"),
    }


def _span(low: float, high: float) -> str:
    return f"{percent(low)} to {percent(high)}" if np.isfinite([low, high]).all() else NOT_MEASURED


def _origin(view: View, one: Evaluator, check: EvaluatorAccuracy, made: JudgeResult | None) -> None:
    """Say who judged, what failed, which labels the check rests on, and whether the question was changed."""
    scored, people = view.scored(view.run), view.diagnosis(view.run).human_labels
    drawn = [any(each.queue_id is not None for each in labels) for labels in people.labels.values()]
    folder = own_prompts(view.store.workspace)
    changed = made is not None and made.prompt != EvaluatorTask.of(one, folder).prompt
    if changed:
        st.warning("It was asked another question, or by another prompt, than now. Judge again:")
        st.code(_command(view, one), language="bash")
    facts(
        [
            ""
            if made is None
            else f"judged by {markdown_text(made.model)}, {made.at[:16].replace('T', ' ')} UTC",
            _failures(scored, one) if check.enough else "",
            _left_out(scored, one),
            f"{sum(drawn):,} of {count(len(drawn), 'labelled case')} drawn at random; on the others "
            "the judge is taken to err as often as elsewhere",
            "corrected: (rate + TNR − 1) / (TPR + TNR − 1)" if check.enough else "",
        ]
    )


def _left_out(scored: ScoredRun, one: Evaluator) -> str:
    column = scored.column(one.metric, Source.JUDGED)
    n = 0 if column is None else int((column.status == Status.NOT_APPLICABLE).sum())
    return f"{count(n, 'sample')} left out: no answer, or the data cannot tell" if n else ""


@st.cache_resource(max_entries=64, show_spinner=False)
def _injected(path: Path) -> int:
    return injected_samples(path)


def _injections(scored: ScoredRun, one: Evaluator) -> None:
    """Warn of text that tried to instruct the judge."""
    path = scored.judge_result_path(one.kind)
    tried = 0 if path is None else _injected(path)
    if tried:
        st.warning(
            f"In {count(tried, 'sample')} some text tries to instruct the judge. It is told to report such "
            "text and not to follow it; read these cases before trusting its answers."
        )


def _failures(scored: ScoredRun, one: Evaluator) -> str:
    """Say how many questions went wrong, and what the rate would be in the worst cases."""
    column = scored.column(one.metric, Source.JUDGED)
    if column is None or not (column.status == Status.FAILED).any():
        return ""
    means, _ = question_means(column.values, scored.question)
    failed = np.unique(scored.question[column.status == Status.FAILED])
    lost = int(np.isnan(means[failed]).sum())
    if not lost:
        return ""
    low, high = missing_bounds(means, lost)
    return (
        f"{count(lost, 'question')} failed: the rate is {percent(low)} to {percent(high)} whatever they hold"
    )


def _case_buttons(one: Evaluator, check: EvaluatorAccuracy) -> None:
    """Lead to the cases behind the numbers."""
    with st.container(horizontal=True):
        if st.button("Cases where it finds the failure", key=f"found_{one.name}"):
            open_cases(sort=one.metric, descending=True)
        if check.positives and st.button("Labelled with it, missed ones first", key=f"missed_{one.name}"):
            open_cases(failure=one.label, sort=one.metric, descending=False)
        if check.negatives and st.button("Labelled cases, found ones first", key=f"wrong_{one.name}"):
            open_cases(label="any", sort=one.metric, descending=True)
        if not check.enough and may_write() and st.button("Label more cases", key=f"label_more_{one.name}"):
            open_cases(label="none")


def _remove(view: View, one: Evaluator) -> str:
    remove_evaluator(view.store.ledger, view.project, one.name)
    return f"Removed evaluator {markdown_text(one.name)}; what it judged stays."


def _form(view: View, counts: Sequence[LabelCount], taken: set[str]) -> None:
    """Let a person make an evaluator out of a failure label."""
    by_label = {one.label: one for one in counts}
    free = [at for at, one in enumerate(by_label) if evaluator_name(one) not in taken]
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
        made = Evaluator(st.session_state[name_key].strip(), label, st.session_state[question_key])
        add_evaluator(view.store.ledger, view.project, made, current_user())
        return f"Made evaluator {markdown_text(made.name)}."

    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            "Create", key="create_evaluator", type="primary", disabled=not current_user() or name in taken,
            on_click=attempt, args=(create,),
        )  # fmt: skip
        facts(
            [
                "" if current_user() else "give your name above",
                "there is one of this name" if name in taken else "",
                f"{count(chosen.cases, 'case')} labelled {markdown_text(shorten(label, 40))}",
            ]
        )
