"""The first sentence on a run: where it loses most of its cases, by runs of which that is known."""

from __future__ import annotations

from typing import Any

from ragtriage.dashboard.headlines.triage import report_headline
from ragtriage.dashboard.wording.main_loss import loss_sentence
from ragtriage.dashboard.wording.next_steps import step_words
from ragtriage.dashboard.wording.right import right_sentences
from ragtriage.data import api
from ragtriage.data.diagnosis.diagnosis import Diagnosis, DiagnosisSettings
from ragtriage.data.gates.next_steps import NextStep
from ragtriage.data.scoring.run_store import RunStore

ANSWERS = ("Lisbon", "Quito", "Oslo", "Nairobi", "Hanoi", "Riga", "Lima", "Accra", "Sofia", "Bern")
MISSING = "The documents do not contain this information."


def _sample(at: int, found: int, answer: str, **more: Any) -> dict[str, Any]:
    """Return a question with two hops, of which as many as `found` are in the context."""
    gold = [f"{at}-a", f"{at}-b"]
    context = [*gold[:found], f"{at}-c", f"{at}-d"]
    return {
        "question_id": f"q{at}",
        "question": f"Which capital is meant by clue {at}?",
        "answer": answer,
        "reference_answer": ANSWERS[at % len(ANSWERS)],
        "retrieved": [{"id": each, "text": f"Text of {each}."} for each in context],
        "relevant": [{"id": each, "hop": hop} for hop, each in enumerate(gold, 1)],
        **more,
    }


def _right(at: int) -> str:
    return ANSWERS[at % len(ANSWERS)]


def _diagnosed(store: RunStore, samples: list[dict[str, Any]]) -> tuple[Diagnosis, str, tuple[NextStep, ...]]:
    """Return the diagnosis of a run, what its headline says but the verdict, and its next steps."""
    run = api.add_run(samples, "run", "shop", str(store.workspace.root))
    report = api.gate(run.run_id, workspace=str(store.workspace.root))
    diagnosis = api.diagnosis_of(store, run, DiagnosisSettings())
    said = report_headline(report).text.removeprefix("run: ")
    said = said.removeprefix("do not ship. ").removeprefix("no verdict; ")
    return diagnosis, said, report.conclusion().next_steps


def test_the_second_hop_that_is_missing_is_named(workspace: RunStore) -> None:
    samples = [_sample(at, 2 if at < 20 else 1, _right(at) if at < 20 else "Paris") for at in range(50)]
    _, detail, steps = _diagnosed(workspace, samples)
    lost = "30 of 50 cases lack the answer, or part of it, in the context. Hop 2 missed in 30."
    assert detail.startswith(lost)
    assert steps[0].key == "partial_gold"


def test_answers_right_from_memory_do_not_hide_that_retrieval_fails(workspace: RunStore) -> None:
    samples = [_sample(at, 2 if at < 6 else 0, _right(at)) for at in range(40)]
    diagnosis, detail, _ = _diagnosed(workspace, samples)
    memory = "34 of these are answered correctly from the model's memory"
    assert detail.startswith(f"34 of 40 cases lack the answer in the context, and {memory}.")
    assert not any("without its context" in sentence for sentence in right_sentences(diagnosis))


def test_right_answers_that_a_context_without_gold_supports_cast_doubt_on_the_gold(
    workspace: RunStore,
) -> None:
    scores = {"faithfulness": 1.0, "answer_relevancy": 0.9, "correctness": 1.0}
    samples = [_sample(at, 2 if at < 20 else 0, _right(at), scores=scores) for at in range(40)]
    _, detail, steps = _diagnosed(workspace, samples)
    assert "20 of 40 cases lack the answer in the context" in detail
    assert "20 of these are right and supported by it: check the gold first." in detail
    assert "memory" not in detail
    assert step_words(steps[0]).what == "Check the gold of 20 questions"
    assert steps[1].key == "retrieval_miss"


def test_few_right_answers_without_gold_are_named_beside_the_pass_rate(workspace: RunStore) -> None:
    scores = {"faithfulness": 1.0, "answer_relevancy": 0.9, "correctness": 1.0}
    samples = [_sample(at, 2 if at < 34 else 0, _right(at), scores=scores) for at in range(40)]
    diagnosis, _, _ = _diagnosed(workspace, samples)
    assert "Supported without gold: 6 of 6 answers" in " ".join(right_sentences(diagnosis))


def test_refusals_with_the_answer_in_the_context_are_the_conclusion(workspace: RunStore) -> None:
    samples = [_sample(at, 2, MISSING if at % 2 else _right(at)) for at in range(40)]
    _, detail, steps = _diagnosed(workspace, samples)
    assert detail.startswith("20 of 40 cases wrongly refused")
    gain = steps[0].gain
    assert gain is not None
    assert (gain.now, gain.low, gain.high, gain.effort) == (0.5, 0.5 + 0.4 * 0.5, 0.5 + 0.8 * 0.5, "hours")
    assert step_words(steps[0]).outlook == (
        "Likely 70 to 90 % pass after a first repair (at most 100 %), 50 % pass now. Takes hours."
    )


def test_the_languages_of_most_bad_cases_are_named_with_their_repair(
    workspace: RunStore,
) -> None:
    samples = []
    for at in range(80):
        language = ("en", "de", "zh", "ar")[at % 4]
        found = 2 if language in ("en", "de") and at != 0 else 0
        answer = _right(at) if found else MISSING
        samples.append(_sample(at, found, answer, tags={"language": language}))
    diagnosis, detail, steps = _diagnosed(workspace, samples)
    assert detail.startswith(
        "41 of 80 cases lack the answer in the context; language ar or zh accounts for 40 of 41 bad cases."
    )
    assert step_words(steps[0]).what == (
        "Repair retrieval: 41 missed by retrieval, 40 of them with language ar or zh"
    )
    where = diagnosis.concentration
    assert where is not None
    assert (where.n, where.n_bad, where.n_bad_all) == (40, 40, 41)
    assert int(diagnosis.is_concentrated().sum()) == 40


def test_bad_cases_from_everywhere_have_no_first_sentence(workspace: RunStore) -> None:
    samples = [
        _sample(at, 2 if at % 5 else 0, _right(at) if at % 5 else "Paris", query_type=f"kind {at % 3}")
        for at in range(60)
    ]
    diagnosis, _, _ = _diagnosed(workspace, samples)
    assert loss_sentence(diagnosis, []) == ""


def test_a_repaired_context_passes_as_often_as_complete_ones_do(workspace: RunStore) -> None:
    samples = []
    for at in range(60):
        found = 0 if at < 30 else 2
        samples.append(_sample(at, found, _right(at) if at >= 45 else "Paris"))
    _, _, steps = _diagnosed(workspace, samples)
    repair = next(step for step in steps if step.key == "retrieval_miss")
    assert repair.gain is not None
    assert repair.pass_rate == 0.75  # all of the 30 cases
    # of the complete contexts half pass: 0.3 and 0.6 of 30 cases, of which half
    assert (round(repair.gain.low, 4), round(repair.gain.high, 4)) == (0.325, 0.4)
