"""MemoryBank in English and Chinese: BM25 over all users leaks and forgets; by user it does neither.

The English values are those of the set. Its Chinese ones depend on how Chinese was cut into words, which is
not told in full: there the values are counted from the run itself, by code that shares nothing with ours.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from places import FIXTURES

from ragtriage.dashboard.suites.items import ISOLATION_VIEW
from ragtriage.data.api import add_run
from ragtriage.data.cases.cohorts import cohort_rows
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.scoring.scored_run import ScoredRun
from ragtriage.data.store.workspace import Workspace
from ragtriage.data.suites.check_table import suite_summaries
from ragtriage.data.suites.isolation import ISOLATION_SUITE
from ragtriage.data.suites.registry import SUITES

FOLDER = FIXTURES / "memorybank"
EXPECTED = json.loads((FOLDER / "expected.json").read_text("utf-8"))
ASKED = "2023-05-07"  # the day after the last memory
K1, B = 0.9, 0.4


def _rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (FOLDER / name).read_text("utf-8").splitlines()]


def _tokens(text: str) -> list[str]:
    tokens = []
    for run in re.findall(r"[\u4e00-\u9fff]+|[^\W_\u4e00-\u9fff]+", text.lower()):
        chinese = "\u4e00" <= run[0] <= "\u9fff" and len(run) > 1
        tokens += [run[at : at + 2] for at in range(len(run) - 1)] if chinese else [run]
    return tokens


class _Index:
    """BM25 as the notes of the set describe it; ties by id."""

    def __init__(self, memories: list[dict[str, Any]]) -> None:
        self.memories = memories
        self.counts = [Counter(_tokens(memory["text"])) for memory in memories]
        self.lengths = [sum(count.values()) for count in self.counts]
        found = Counter(token for count in self.counts for token in count)
        n = len(memories)
        self.idf = {token: math.log(1 + (n - df + 0.5) / (df + 0.5)) for token, df in found.items()}

    def search(self, question: str, k: int) -> list[dict[str, Any]]:
        mean = sum(self.lengths) / len(self.lengths)
        scored = []
        for memory, count, length in zip(self.memories, self.counts, self.lengths, strict=True):
            score = sum(
                self.idf[token] * count[token] * (K1 + 1) / (count[token] + K1 * (1 - B + B * length / mean))
                for token in _tokens(question)
                if token in count
            )
            scored.append((-score, memory["id"], memory))
        return [memory for score, _, memory in sorted(scored, key=lambda one: one[:2])[:k] if score < 0]


def _records(language: str, filtered: bool) -> list[dict[str, Any]]:
    memories = _rows(f"memories_{language}.jsonl")
    shared = _Index(memories)
    users = {memory["user"] for memory in memories}
    own = {user: _Index([memory for memory in memories if memory["user"] == user]) for user in users}
    records = []
    for row in _rows(f"questions_{language}.jsonl"):
        found = (own[row["user"]] if filtered else shared).search(row["question"], 5)
        record = {
            "question_id": row["question_id"],
            "question": row["question"],
            "account_id": row["user"],
            "retrieved": [{"id": one["id"], "text": one["text"], "account_id": one["user"]} for one in found],
        }
        if row["relevant"]:
            ids = [each["id"] for each in row["relevant"]]
            day = row["dates_in_question"][0]
            expected = {"memory_id": ids, "day": day, "asked": ASKED}
            record["checks"] = [{"name": "right day", "kind": "memory", "expected": expected}]
        records.append(record)
    return records


@pytest.fixture(scope="module", params=["en", "cn"])
def runs(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, ScoredRun, ScoredRun]:
    root = tmp_path_factory.mktemp("memorybank") / "workspace"
    store = RunStore(Workspace(root).create())
    made = [
        store.scored(add_run(_records(request.param, filtered), name, "memory", str(root)))
        for name, filtered in (("shared", False), ("filtered", True))
    ]
    return request.param, made[0], made[1]


def _counted(records: list[dict[str, Any]]) -> dict[str, Any]:
    """Count leaks and right days by hand, in the form of the set's expected values."""
    foreign = [[one["account_id"] != row["account_id"] for one in row["retrieved"]] for row in records]
    ids = [[one["id"] for one in row["retrieved"]] for row in records]
    gold = [
        (at, row["checks"][0]["expected"]["memory_id"]) for at, row in enumerate(records) if "checks" in row
    ]
    return {
        "questions_with_foreign_memory_at_rank_1": sum(any(row[:1]) for row in foreign),
        "questions_with_foreign_memory_in_top5": sum(any(row) for row in foreign),
        "foreign_memories_in_top5": sum(sum(row) for row in foreign),
        "hit_gold_day": {
            str(k): sum(not set(ids[at][:k]).isdisjoint(wanted) for at, wanted in gold) / len(gold)
            for k in (1, 3, 5)
        },
    }


def _expected(language: str, filtered: bool) -> dict[str, Any]:
    counted = _counted(_records(language, filtered))
    name = "index_filtered_by_user" if filtered else "shared_index_no_user_filter"
    values: dict[str, Any] = EXPECTED[language][name]
    if language == "en":
        assert {key: counted[key] for key in values} == values
    return counted


def _told(scored: ScoredRun, suite: str) -> dict[str, Any]:
    detail = SUITES[suite].findings(scored)
    assert detail is not None
    values: dict[str, Any] = json.loads(json.dumps(detail.to_dict(), allow_nan=False))
    return values


def test_without_a_filter_memories_of_other_users_leak(runs: tuple[str, ScoredRun, ScoredRun]) -> None:
    language, shared, _ = runs
    expected = _expected(language, filtered=False)
    told = _told(shared, "isolation")
    assert told["n_leaks"] == expected["questions_with_foreign_memory_in_top5"]
    assert told["n_foreign_documents"] == expected["foreign_memories_in_top5"]
    assert told["leak@1"]["rate"] == pytest.approx(expected["questions_with_foreign_memory_at_rank_1"] / 100)
    assert told["leak@5"]["rate"] == pytest.approx(expected["questions_with_foreign_memory_in_top5"] / 100)
    assert told["n_accounts"] == EXPECTED[language]["users"] == 15
    assert cohort_rows(shared, "part:isolation/leak_at/5").sum() == told["n_leaks"]
    assert suite_summaries(shared)[0].key == "isolation"  # a leak is critical: first


def test_filtered_by_user_nothing_leaks(runs: tuple[str, ScoredRun, ScoredRun]) -> None:
    language, _, filtered = runs
    told = _told(filtered, "isolation")
    assert (
        told["n_leaks"]
        == EXPECTED[language]["index_filtered_by_user"]["questions_with_foreign_memory_in_top5"]
    )
    assert told["leak"]["rate"] == 0
    detail = ISOLATION_SUITE.findings(filtered)
    assert detail is not None
    assert (
        "0 of 100 samples retrieve a document of another account, among 15 accounts"
        in ISOLATION_VIEW.statement(detail)
    )
    assert "still allows a rate of up to 3.0 %" in ISOLATION_VIEW.statement(detail)


def test_the_right_day_is_recalled_more_often_with_the_filter(runs: tuple[str, ScoredRun, ScoredRun]) -> None:
    language, shared, filtered = runs
    for scored, is_filtered in ((shared, False), (filtered, True)):
        expected = _expected(language, is_filtered)["hit_gold_day"]
        memory, isolation = _told(scored, "memory"), _told(scored, "isolation")
        for k in ("1", "3", "5"):
            assert memory[f"recall@{k}"]["rate"] == pytest.approx(expected[k])
            assert isolation[f"memory_recall@{k}"]["rate"] == pytest.approx(expected[k])
        assert memory["recall"]["n_questions"] == EXPECTED[language]["with_a_gold_day"] == 35


def test_recall_is_told_by_age(runs: tuple[str, ScoredRun, ScoredRun]) -> None:
    _, _, filtered = runs
    told = _told(filtered, "memory")["by_gap"]
    assert sum(entry["n"] for entry in told.values()) == 35
    assert set(told) <= {"same day", "1 day", "2 to 3 days", "4 to 7 days", "8 to 30 days"}
    for gap, entry in told.items():
        forgotten = cohort_rows(filtered, f"part:memory/gap/{gap.replace(' ', '%20')}")
        assert np.count_nonzero(forgotten) == entry["n"] - entry["recalled"]


def test_one_account_proves_nothing(workspace: RunStore) -> None:
    records = [record for record in _records("en", True) if record["account_id"] == "Emily"]
    scored = workspace.scored(add_run(records, "one", "memory", str(workspace.workspace.root)))
    summary = next(each for each in suite_summaries(scored) if each.key == "isolation")
    assert (summary.n_decided, summary.n_not_measured) == (0, len(records))
    assert summary.not_measured == (("one account alone proves nothing", len(records)),)
    detail = ISOLATION_SUITE.findings(scored)
    assert detail is not None
    assert "One account proves nothing" in ISOLATION_VIEW.statement(detail)


CONFAIDE = FIXTURES / "confaide"


def test_a_secret_told_to_who_must_not_know_fails(workspace: RunStore) -> None:
    """ConfAIde's scenes with two answers each: one tells the secret, one does not."""
    scenes = [json.loads(line) for line in (CONFAIDE / "tier3.jsonl").read_text("utf-8").splitlines()]
    records = [
        {
            "question_id": scene["question_id"],
            "repeat": repeat,
            "question": scene["scenario"],
            "answer": answer,
            "checks": [{"name": "secret", "kind": "privacy", "expected": {"secret": scene["secret_topic"]}}],
        }
        for scene in scenes
        for repeat, answer in enumerate(
            (
                f"{scene['about']} once thought of this: {scene['secret_topic'].lower()}.",
                "I have nothing to report.",
            )
        )
    ]
    told = _told(workspace.scored(add_run(records, "c", "p", str(workspace.workspace.root))), "isolation")
    assert len(scenes) == json.loads((CONFAIDE / "expected.json").read_text("utf-8"))["tier3"] == 57
    assert (told["n_answers"], told["n_told"]) == (114, 57)
    assert told["leak_in_answer"]["rate"] == pytest.approx(0.5)


def test_the_human_means_of_confaide_are_imported_as_they_are(workspace: RunStore, tmp_path: Path) -> None:
    facts = [json.loads(line) for line in (CONFAIDE / "tier1.jsonl").read_text("utf-8").splitlines()]
    means = [fact["human_mean_sensitivity"] for fact in facts]
    records = [
        {
            "question_id": fact["question_id"],
            "question": fact["question"],
            "human": [{"annotator": "mean of the raters", "metric": "sensitivity", "value": mean}],
        }
        for fact, mean in zip(facts, means, strict=True)
    ]
    scored = workspace.scored(add_run(records, "facts", "p", str(workspace.workspace.root)))
    assert (means[0], means[-1], len(means)) == (3.8, 2.1, 10)
    assert scored.values("sensitivity").tolist() == means
