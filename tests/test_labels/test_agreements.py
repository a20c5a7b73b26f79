"""Metrics against people: pairs, counts by hand, marks, people among themselves, and corrected means."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ragtriage.dashboard.shell.selection import Selection
from ragtriage.data.api import add_run
from ragtriage.data.cases.cohorts import cohort_rows, cohort_title
from ragtriage.data.cases.judge_cohorts import confusion_cohort, disagreement_cohort
from ragtriage.data.errors import DataError
from ragtriage.data.labels.agreement import (
    CELLS,
    EvaluatedMetric,
    alpha_of,
    binary_labels_of,
    calibrate,
    evaluated_metric_of,
    evaluated_metrics,
    ranking,
)
from ragtriage.data.labels.corrected_means import ppi_estimate
from ragtriage.data.labels.human_ratings import UNANSWERABLE, HumanRatings, human_ratings, rated_dimensions
from ragtriage.data.labels.ratings import queue_state, rate, start_queue
from ragtriage.data.scoring.context_use import LEXICAL_GROUNDEDNESS, lexical_groundedness
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.metrics.schema.scores import Source, Status
from ragtriage.metrics.statistics.ppi import ppi_mean

HUMAN = "imported:faithfulness"
IMPORTED = EvaluatedMetric("faithfulness", Source.IMPORTED)
PEOPLE = [1.0, 1.0, 0.9, 0.5, 0.4, 0.0, 0.8, None]
JUDGE = [1.0, 0.5, 0.2, 0.4, 0.6, 0.1, None, 1.0]


def _record(at: int, people: float | None, judge: float | None, **more: Any) -> dict[str, Any]:
    record: dict[str, Any] = {"question_id": f"q{at}", "question": f"{at}?", "answer": "An answer here."}
    if people is not None:
        record["human"] = [{"annotator": "Ann", "metric": "faithfulness", "value": people}]
    if judge is not None:
        record["scores"] = {"faithfulness": judge}
    return record | more


RECORDS = [_record(at, *pair) for at, pair in enumerate(zip(PEOPLE, JUDGE, strict=True))]


def _table(store: RunStore, records: list[dict[str, Any]]) -> ScoredRun:
    return store.scored(add_run(records, "run", "p", str(store.workspace.root)))


def _people(store: RunStore, scored: ScoredRun, key: str = HUMAN) -> HumanRatings:
    return human_ratings(scored, store.ledger, key)


def _case(scored: ScoredRun, row: int) -> tuple[str, str, int]:
    return scored.run.run_id, str(scored.question_ids[scored.question[row]]), int(scored.repeats[row])


def test_the_four_counts_by_hand(workspace: RunStore) -> None:
    scored = _table(workspace, RECORDS)
    found = calibrate(scored, _people(workspace, scored), IMPORTED)
    assert found.confusion is not None
    # both high: 0, 1; people alone: 2, 3; metric alone: 4; both low: 5; 6 and 7 lack one side
    counts = found.confusion
    assert (counts.tp, counts.fn, counts.fp, counts.tn) == (2, 2, 1, 1)
    assert found.labels.missing == {"not run": 1}
    by_name = {one.name: (one.value, one.n) for one in found.rates}
    assert by_name["true_positive_rate"] == (0.5, 4)
    assert by_name["true_negative_rate"] == (0.5, 2)
    assert by_name["accuracy"] == (0.5, 6)
    assert by_name["kappa"] == (0.0, 6)
    # ranks 5.5 5.5 4 3 2 1 and 6 4 2 3 5 1, from their means of 3.5: products 9.5 over root of 17 * 17.5
    assert found.spearman.value == pytest.approx(9.5 / np.sqrt(17 * 17.5))
    assert found.rows.tolist() == [2, 4, 3]  # gaps of 0.7, 0.2 and 0.1


def test_cut_offs_move_on_both_sides(workspace: RunStore) -> None:
    scored = _table(workspace, RECORDS)
    people = _people(workspace, scored)
    found = calibrate(scored, people, IMPORTED, (0.9, 0.2)).confusion
    assert found is not None
    assert (found.tp, found.fn, found.fp, found.tn) == (3, 0, 2, 1)
    apart = binary_labels_of(scored, people, IMPORTED, (0.9, 0.2)).differing
    mark = disagreement_cohort(HUMAN, IMPORTED, (0.9, 0.2))
    assert mark == "disagree:imported%3Afaithfulness:faithfulness:imported:0.9:0.2"
    assert np.array_equal(cohort_rows(scored, mark), apart)


def test_every_cell_has_a_mark_that_selects_its_cases(workspace: RunStore) -> None:
    scored = _table(workspace, RECORDS)
    rows = [
        np.flatnonzero(cohort_rows(scored, confusion_cohort(cell, HUMAN, IMPORTED))).tolist()
        for cell in CELLS
    ]
    assert rows == [[0, 1], [2, 3], [4], [5]]
    assert np.flatnonzero(cohort_rows(scored, disagreement_cohort(HUMAN, IMPORTED))).tolist() == [2, 3, 4]
    title = "human label of Faithfulness: good, and Faithfulness (imported) is bad"
    assert cohort_title(confusion_cohort("yes-no", HUMAN, IMPORTED)) == title


@pytest.mark.parametrize(
    "mark",
    [
        "disagree:",
        "disagree:nobody:faithfulness:judged",
        "disagree:pass:faithfulness:human",
        "disagree:pass:faithfulness:judged:2:0.5",
        "verdicts:maybe-yes:pass:faithfulness:judged",
    ],
)
def test_a_wrong_mark_is_no_filter(workspace: RunStore, mark: str) -> None:
    assert Selection.from_params({"mark": mark}).cohort == ""
    with pytest.raises(DataError):
        cohort_rows(_table(workspace, RECORDS), mark)


def test_a_metric_that_the_run_lacks_is_named(workspace: RunStore) -> None:
    scored = _table(workspace, RECORDS)
    with pytest.raises(DataError, match="no judged 'rl_f'"):
        cohort_rows(scored, disagreement_cohort(HUMAN, EvaluatedMetric("rl_f", Source.JUDGED)))


def test_the_address_keeps_what_is_known_and_drops_the_rest() -> None:
    chosen = Selection(
        dimension=HUMAN, evaluated="rl_f:imported", human_threshold=0.7, metric_threshold=0.3, queue=4
    )
    assert Selection.from_params(chosen.to_params()) == chosen
    wrong = {"quantity": "spelling", "held": "rl_f:human", "people_cut": "7", "queue": "-1"}
    assert Selection.from_params(wrong) == Selection()
    assert chosen.unfiltered().queue == 0
    assert evaluated_metric_of("evaluator_tone:judged") == EvaluatedMetric("evaluator_tone", Source.JUDGED)


def test_lower_is_better_turns_round_and_a_metric_without_a_scale_has_no_verdicts(
    workspace: RunStore,
) -> None:
    scores = [{"hallucination": 1 - value, "length": 10.0 * value} for value in (1.0, 0.8, 0.3, 0.0)]
    records = [
        _record(at, people, None, scores=one)
        for at, (people, one) in enumerate(zip((1.0, 0.9, 0.1, 0.0), scores, strict=True))
    ]
    scored = _table(workspace, records)
    turned = calibrate(scored, _people(workspace, scored), EvaluatedMetric("hallucination", Source.IMPORTED))
    assert turned.confusion is not None
    assert (turned.confusion.accuracy, turned.spearman.value) == (1.0, 1.0)
    bare = calibrate(scored, _people(workspace, scored), EvaluatedMetric("length", Source.IMPORTED))
    assert (bare.confusion, bare.rates, len(bare.rows)) == (None, (), 0)
    assert bare.spearman.value == 1.0


def test_alpha_between_the_annotators_of_a_file(workspace: RunStore) -> None:
    ratings = {"q0": (1, 1), "q1": (4, 4), "q2": (2, 3), "q3": (4,)}
    records = [
        {
            "question_id": name,
            "question": "?",
            "human": [
                {"annotator": who, "metric": "faithfulness", "value": value, "low": 1, "high": 4}
                for who, value in zip("AB", values, strict=False)
            ],
        }
        for name, values in ratings.items()
    ]
    found = alpha_of(_table(workspace, records), workspace.ledger, HUMAN)
    # ranks of 1 1 2 3 4 4 are 1.5 1.5 3 4 5.5 5.5: within 1 * 2 ordered pairs, over all 2 * 6 * 16.5
    assert found.value == pytest.approx(1 - 5 * 2 / 198)
    assert (found.n, found.annotators, found.level) == (3, 2, "ordinal")
    assert np.isnan(found.low)  # fewer than ten cases


def _drawn(store: RunStore, scored: ScoredRun, values: np.ndarray[Any, Any], n: int) -> list[int]:
    queue = start_queue(store.ledger, scored.run.run_id, "faithfulness", "Ann")
    rows = queue_state(store.ledger, scored, queue).remaining[:n]
    for row in rows:
        case = _case(scored, row)
        rate(store.ledger, case, "Ann", "faithfulness", float(values[row]), queue.queue_id)
    return [*rows]


def test_the_corrected_mean_takes_labels_drawn_at_random_alone(workspace: RunStore) -> None:
    rng = np.random.default_rng(3)
    truth = rng.uniform(0, 0.9, 120)
    judge = np.clip(truth + 0.1 + rng.normal(0, 0.05, 120), 0, 1)
    scored = _table(workspace, [_record(at, None, float(value)) for at, value in enumerate(judge)])
    values = np.array([truth[int(_case(scored, row)[1][1:])] for row in range(scored.n)])
    drawn = _drawn(workspace, scored, values, 30)
    others = [row for row in range(scored.n) if row not in drawn][:7]
    for row in others:
        rate(workspace.ledger, _case(scored, row), "Ann", "faithfulness", 0.0)  # found among the bad cases
    people = _people(workspace, scored, "faithfulness")
    assert (people.n, people.n_drawn, people.imported) == (37, 30, False)
    found = ppi_estimate(scored, people, IMPORTED)
    assert found.ppi is not None
    assert found.raw is not None
    column = scored.values("faithfulness")
    mask = np.isin(np.arange(scored.n), drawn)
    expected = ppi_mean(values[mask], column[mask], column[~mask])
    assert found.ppi.estimate == pytest.approx(expected.estimate)
    assert (found.ppi.low, found.ppi.high) == pytest.approx((expected.low, expected.high))
    assert (found.same_dimension, found.browsed, found.unjudged) == (True, 7, 0)
    assert (found.ppi.n_labelled, found.ppi.n_unlabelled) == (30, 90)
    assert found.raw.mean == pytest.approx(column.mean())
    assert found.raw.mean > found.ppi.high > truth.mean() > found.ppi.low
    assert found.ppi.effective_n > 60


def test_a_question_counts_once_however_often_it_was_asked(workspace: RunStore) -> None:
    records = [
        _record(at, None, (at * 7 % 12) / 12, repeat=repeat)
        for at in range(60)
        for repeat in range(6 if at < 10 else 1)
    ]
    scored = _table(workspace, records)
    values = np.where(scored.question < 10, 1.0, scored.values("faithfulness"))
    _drawn(workspace, scored, values, 60)
    found = ppi_estimate(scored, _people(workspace, scored, "faithfulness"), IMPORTED)
    assert found.ppi is not None
    assert found.raw is not None
    assert found.ppi.n_labelled + found.ppi.n_unlabelled == found.raw.n_scored == 60
    assert found.raw.mean == pytest.approx(np.mean([at * 7 % 12 / 12 for at in range(60)]))


def test_drawn_cases_that_nobody_could_rate_are_counted_and_in_neither_part(workspace: RunStore) -> None:
    scored = _table(workspace, [_record(at, None, at % 5 / 4) for at in range(60)])
    values = np.full(scored.n, 0.5)
    drawn = _drawn(workspace, scored, values, 40)
    queue = start_queue(workspace.ledger, scored.run.run_id, "faithfulness", "Ann")
    unsaid = drawn[:25]
    for row in unsaid:
        rate(workspace.ledger, _case(scored, row), "Ann", "faithfulness", None, queue.queue_id)
    rate(workspace.ledger, _case(scored, unsaid[0]), "Bo", "faithfulness", 1.0, queue.queue_id)  # Bo could
    people = _people(workspace, scored, "faithfulness")
    assert sorted(np.flatnonzero(people.unrated)) == sorted(unsaid[1:])
    found = ppi_estimate(scored, people, IMPORTED)
    assert found.ppi is not None
    assert found.raw is not None
    assert found.unrated == 24
    assert (found.ppi.n_labelled, found.ppi.n_unlabelled) == (16, 20)
    rated = ~people.unrated
    assert found.raw.mean == pytest.approx(scored.values("faithfulness")[rated].mean())


def test_a_verdict_that_nobody_could_give_is_counted_too(workspace: RunStore) -> None:
    scored = _table(workspace, RECORDS)
    queue = start_queue(workspace.ledger, scored.run.run_id, "pass", "Ann")
    for row in (0, 1):
        rate(workspace.ledger, _case(scored, row), "Ann", "pass", None, queue.queue_id)
    workspace.ledger.add_label(_case(scored, 1), "Ann", "pass", queue_id=queue.queue_id)  # thought again
    rate(workspace.ledger, _case(scored, 2), "Ann", "pass", None)  # found by browsing
    people = _people(workspace, scored, "pass")
    assert people.unrated.tolist() == [True, *[False] * 7]
    assert ppi_estimate(scored, people, IMPORTED, (0.5, 0.5)).unrated == 1


def test_labels_of_the_file_and_of_browsing_correct_nothing(workspace: RunStore) -> None:
    scored = _table(workspace, RECORDS)
    assert ppi_estimate(scored, _people(workspace, scored), IMPORTED).ppi is None
    workspace.ledger.add_label(_case(scored, 0), "Ann", "pass")
    found = ppi_estimate(scored, _people(workspace, scored, "pass"), IMPORTED)
    assert (found.ppi, found.raw, found.browsed) == (None, None, 1)


def test_a_verdict_is_corrected_by_the_metrics_verdict(workspace: RunStore) -> None:
    scored = _table(workspace, RECORDS)
    queue = start_queue(workspace.ledger, scored.run.run_id, "pass", "Ann")
    for row in range(scored.n):
        workspace.ledger.add_label(
            _case(scored, row), "Ann", "pass" if row < 2 else "fail", queue_id=queue.queue_id
        )
    found = ppi_estimate(scored, _people(workspace, scored, "pass"), IMPORTED, (0.5, 0.5))
    assert found.ppi is not None
    # the metric says yes to 0, 1, 4, 7 of the seven it scored; people to 0 and 1
    assert (found.ppi.judge_mean, found.ppi.classical.mean) == pytest.approx((4 / 7, 2 / 7))
    assert (found.same_dimension, found.unjudged) == (False, 1)


def test_a_tie_between_people_is_no_pass(workspace: RunStore) -> None:
    scored = _table(workspace, RECORDS)
    workspace.ledger.add_label(_case(scored, 0), "Ann", "pass")
    workspace.ledger.add_label(_case(scored, 0), "Bo", "fail")
    found = binary_labels_of(scored, _people(workspace, scored, "pass"), IMPORTED)
    assert (bool(found.paired[0]), bool(found.human_yes[0]), bool(found.metric_yes[0])) == (True, False, True)


def test_the_support_share_is_an_estimate_that_is_no_metric_of_the_run(workspace: RunStore) -> None:
    text = "The bridge was opened in 1932 by the mayor of the town."
    retrieved = [{"id": "a", "text": text}]
    answers = (
        text,
        "Bananas grow quickly under warm tropical sunlight.",
        "I cannot answer this question.",
        None,
    )
    records = [
        {"question_id": f"q{at}", "question": "?", "answer": answer, "retrieved": retrieved}
        for at, answer in enumerate(answers)
    ]
    scored = _table(workspace, records)
    found = lexical_groundedness(scored, np.arange(4))
    assert found.values[:2].tolist() == [1.0, 0.0]
    assert found.status.tolist() == [
        Status.SCORED,
        Status.SCORED,
        Status.NOT_APPLICABLE,
        Status.NOT_RUN,
    ]
    assert set(found.source.tolist()) == {Source.ESTIMATED}
    assert LEXICAL_GROUNDEDNESS not in scored.metrics


@pytest.fixture
def mtrag(demo: RunStore) -> ScoredRun:
    return demo.scored(next(run for run in demo.runs("mtrag") if run.name.startswith("GPT-4")))


def test_mtrag_without_a_judge(demo: RunStore, mtrag: ScoredRun) -> None:
    assert rated_dimensions(mtrag, demo.ledger) == [
        HUMAN,
        "imported:completeness",
        "imported:appropriateness",
        "imported:naturalness",
        "imported:win_rate",
        UNANSWERABLE,
    ]
    people = _people(demo, mtrag)
    found = dict(ranking(mtrag, people))
    assert found[EvaluatedMetric("rl_f", Source.IMPORTED)].value == pytest.approx(
        0.6349296929280238
    )  # of people's means as exact fractions, which tie where their floating-point means do not
    lexical = found[EvaluatedMetric(LEXICAL_GROUNDEDNESS, Source.ESTIMATED)]
    assert (round(lexical.value, 2), lexical.n) == (0.65, 148)
    assert lexical.low > 0.4
    assert {"rb_llm", "rb_agg"} <= {held.metric for held in found}
    assert evaluated_metrics(mtrag, people)[0] == EvaluatedMetric("rl_f", Source.IMPORTED)
    counts = calibrate(mtrag, people, EvaluatedMetric("rl_f", Source.IMPORTED)).confusion
    assert counts is not None
    assert (counts.tp, counts.fn, counts.fp, counts.tn) == (120, 6, 12, 21)


def test_detected_refusals_against_recorded_answerability(demo: RunStore, mtrag: ScoredRun) -> None:
    people = _people(demo, mtrag, UNANSWERABLE)
    options = evaluated_metrics(mtrag, people)
    assert [one.key for one in options] == ["refused:estimated", "conditional_idk:imported"]
    counts = calibrate(mtrag, people, options[0]).confusion
    assert counts is not None
    assert (people.n, counts.tp, counts.fn, counts.fp, counts.tn) == (142, 3, 4, 1, 134)


def test_inspectorraget_without_a_judge(demo: RunStore) -> None:
    scored = demo.scored(next(run for run in demo.runs("clapnq") if run.name.startswith("GPT-3.5")))
    people = _people(demo, scored)
    found = calibrate(scored, people, EvaluatedMetric(LEXICAL_GROUNDEDNESS, Source.ESTIMATED))
    assert found.confusion is not None
    assert (found.confusion.n, found.labels.missing) == (94, {"not applicable": 6})
    assert 0.5 < found.spearman.value < 0.75
    alpha = alpha_of(scored, demo.ledger, HUMAN)
    assert (alpha.n, round(alpha.value, 2)) == (100, 0.43)


def test_a_run_without_people_has_nothing_to_hold_against(demo: RunStore) -> None:
    assert rated_dimensions(demo.scored(demo.runs("iris")[0]), demo.ledger) == []
