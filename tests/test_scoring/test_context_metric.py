"""What stands for the context of a question, and what the misses of real runs are attributed to."""

from __future__ import annotations

from typing import Any

import pytest
from command_line import run
from places import FIXTURES

from ragtriage.data.api import add_run
from ragtriage.data.cases.cases import CaseFilter, keep_mask
from ragtriage.data.diagnosis.context import context_metrics_of, not_the_context
from ragtriage.data.diagnosis.diagnosis import Diagnosis, DiagnosisSettings, diagnose
from ragtriage.data.scoring.run_store import RunStore

Capture = pytest.CaptureFixture[str]
TEN = [{"id": f"d{at}", "text": f"Document {at}", "relevant": at == 0} for at in range(10)]
GOOD = {"faithfulness": 0.95, "correctness": 1.0, "answer_relevancy": 0.9}


def diagnosed(store: RunStore, records: list[dict[str, Any]], name: str = "run") -> Diagnosis:
    return diagnose(store.scored(add_run(records, name, "p", str(store.workspace.root))), DiagnosisSettings())


def question(at: int, **more: Any) -> dict[str, Any]:
    return {"question_id": f"q{at:02}", "question": f"Question {at}?", "answer": "Ann.", **more}


def test_a_share_of_relevant_documents_does_not_speak_against_gold_at_rank_1(workspace: RunStore) -> None:
    records = [question(at, retrieved=TEN, relevant=["d0"], scores=GOOD) for at in range(20)]
    found = diagnosed(workspace, records)
    assert found.scored.values("context_relevance").tolist() == [0.1] * 20
    assert found.context.counts == {"recall@10": 20}
    assert found.pass_rate.mean == 1.0
    assert found.pattern_counts()["healthy"] == 20


def test_without_gold_one_relevant_document_is_enough(workspace: RunStore) -> None:
    found = diagnosed(workspace, [question(at, retrieved=TEN, scores=GOOD) for at in range(3)])
    assert found.context_metric == "any_relevant"
    assert found.pass_rate.mean == 1.0
    nothing = [{**document, "relevant": False} for document in TEN]
    assert diagnosed(workspace, [question(0, retrieved=nothing, scores=GOOD)], "no").bad.bad.all()


def test_each_question_is_rated_by_what_it_records(workspace: RunStore, capsys: Capture) -> None:
    hops = [{"id": "d0", "hop": "1"}, {"id": "x", "hop": "2"}]
    records = [
        question(0, retrieved=TEN, relevant=hops),
        question(1, retrieved=TEN, relevant=["d0"]),
        question(2, retrieved=TEN),
    ]
    assert diagnosed(workspace, records).bad.bad.tolist() == [True, False, False]
    answer = run(capsys, workspace.workspace.root, "diagnose", "run", "--json").json
    assert answer["context_by_question"] == {
        "q00": {"metric": "all_hops_recall@10", "value": 0.0},
        "q01": {"metric": "recall@10", "value": 1.0},
        "q02": {"metric": "any_relevant", "value": 1.0},
    }
    assert answer["signal"] in answer["context_metrics"]
    assert answer["partial_gold"] == {"hop 2 missed": 1}
    text = run(capsys, workspace.workspace.root, "diagnose", "run").out
    assert "Partly retrieved, by cause: hop 2 missed: 1." in " ".join(text.split())


def test_a_two_hop_set_passes_by_all_hops_and_says_which_hop_is_missed(demo: RunStore) -> None:
    (bm25,) = [entry for entry in demo.runs("musique") if entry.name == "BM25"]
    found = diagnose(demo.scored(bm25), DiagnosisSettings())
    assert int(found.bad.bad.sum()) == 47
    assert found.gold_parts == {"hop 2": 40, "hop 1": 2}
    assert int(keep_mask(found, CaseFilter(stage="partial_gold", cohort="gold_part:hop 1")).sum()) == 2
    (expanded,) = [entry for entry in demo.runs("musique") if entry.name != "BM25"]
    parts = diagnose(demo.scored(expanded), DiagnosisSettings()).gold_parts
    assert parts == {"below": 25, "hop 2": 15}


def test_candidates_with_offsets_tell_missed_from_misranked(workspace: RunStore, capsys: Capture) -> None:
    run(capsys, workspace.workspace.root, "import", str(FIXTURES / "handbook" / "reranked.jsonl"))
    found = diagnose(workspace.scored(workspace.find("reranked")), DiagnosisSettings())
    counts = {stage: n for stage, n in found.stage_counts().items() if n}
    assert counts == {"missed": 5, "partial_gold": 3}
    assert found.gold_parts == {"below": 2, "missed": 1}


@pytest.mark.parametrize(
    ("name", "values", "reason"),
    [
        ("recall", (0.2, 0.9), "its name does not say"),
        ("context_recall", (20.0, 90.0), "its values range from 20.00 to 90.00"),
    ],
)
def test_an_imported_score_is_not_the_context_by_its_name(
    workspace: RunStore, name: str, values: tuple[float, float], reason: str, capsys: Capture
) -> None:
    found = diagnosed(
        workspace, [question(at, scores={name: value, "rouge_l": 0.3}) for at, value in enumerate(values)]
    )
    assert found.context_metric is None
    assert not found.bad.bad.any()
    assert reason in not_the_context(found.scored)[name]
    off_scale = max(values) > 1
    assert context_metrics_of(found.scored) == (
        [] if off_scale else [name]
    )  # what is unscored is not a choice
    assert f"The imported {name} is not used as the context metric" in (
        run(capsys, workspace.workspace.root, "diagnose", "run").out
    )
    chosen = diagnose(found.scored, DiagnosisSettings(context_metric=name))
    assert chosen.context_metric == (None if off_scale else name)


def test_a_context_that_was_given_holds_the_gold(demo: RunStore) -> None:
    (run_of,) = [entry for entry in demo.runs("clapnq") if entry.name == "GPT-3.5 (Turbo)"]
    found = diagnose(demo.scored(run_of), DiagnosisSettings())
    assert found.context.counts == {"gold_in_context": 80}
    counts = found.stage_counts()
    assert sum(counts[stage] for stage in ("missed", "misranked", "retrieval_miss", "partial_gold")) == 0
