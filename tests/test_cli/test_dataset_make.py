"""`ragtriage dataset make` on the command line, and what is made of it: read, frozen, tried by a grid."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import Answer, run
from dataset_replies import DatasetReplies
from handbook_items import FOLDER
from judge_server import Body
from made_datasets import MakingService

from ragtriage.data.datasets.dataset import find_dataset
from ragtriage.data.datasets.review import accept, read_draft, reject
from ragtriage.data.store.workspace import Workspace

Capture = pytest.CaptureFixture[str]
CORPUS = str(FOLDER / "corpus")
RUSSIAN = (
    "# Правила\n\nЗаявление на ежегодный отпуск сотрудник подаёт руководителю письменно минимум за "
    "четырнадцать календарных дней.\r\n\r\nОборудование компании возвращается на центральный склад в "
    "последний рабочий понедельник месяца 😀.\n"
)


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[MakingService]:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test-secret")
    with MakingService() as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        yield server


def make(capsys: Capture, folder: Path, *words: str, corpus: str = CORPUS) -> Answer:
    return run(capsys, folder / "w", "dataset", "make", corpus, "--yes", *words)


def test_the_plan_says_kinds_documents_calls_and_cost_and_asks_nothing(
    capsys: Capture, tmp_path: Path, service: MakingService
) -> None:
    answer = make(capsys, tmp_path, "-n", "20", "--dry-run")
    plan = make(capsys, tmp_path, "-n", "20", "--dry-run", "--json").json
    batch = make(capsys, tmp_path, "-n", "20", "--dry-run", "--json", "--batch").json
    assert not service.asked
    assert "10 single, 4 multi-hop, 3 unanswerable, 3 adversarial" in answer.out
    assert plan["asked"] == sum(plan["kinds"].values()) == sum(plan["quotas"].values()) == 20
    assert plan["cost_usd"] == pytest.approx(2 * batch["cost_usd"])
    made = make(capsys, tmp_path, "-n", "20", "--json").json
    assert 0 <= made["calls_by_stage"]["write"] - plan["calls"]["write"] <= 2  # of a second round
    assert made["calls"] <= sum(plan["calls"].values())
    assert made["input_tokens"] <= plan["input_tokens"]
    again = make(capsys, tmp_path, "-n", "20", "--dry-run", "--json").json
    assert (again["cached"], again["calls"]["write"]) == (plan["calls"]["write"], 0)


def test_what_was_made_is_told_by_kind_and_filter_with_its_price_and_the_next_step(
    capsys: Capture, tmp_path: Path, service: MakingService
) -> None:
    service.replies = DatasetReplies(bad_quote=0.3)
    answer = make(capsys, tmp_path, "-n", "10", "--mix", "single=4,multi-hop=1", "--name", "mine")
    assert answer.code == 0, answer.err
    assert answer.out.startswith("Asked 10, got 10.")
    assert "Quote stands in the passage" in answer.out
    assert "(not in the passage: " in answer.out  # an example of what is rejected
    assert "calls and" in answer.out
    assert "Next: read them on the page Datasets" in answer.out
    again = make(capsys, tmp_path, "-n", "10", "--mix", "single=4,multi-hop=1", "--name", "mine")
    assert "Nothing is new: dataset mine has these questions already." in again.out


def test_a_budget_that_is_spent_keeps_what_there_is_and_says_how_to_go_on(
    capsys: Capture, tmp_path: Path, service: MakingService
) -> None:
    answer = make(capsys, tmp_path, "-n", "10", "--budget", "0.001")
    assert answer.code == 2
    assert "is smaller than the most that one call can cost" in answer.err
    assert "The same command with a larger --budget goes on from here." in answer.err
    assert not service.asked
    assert "Asked 10, got 0: single 0 of 5" in answer.out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--mix", "single"], "accepted: KIND=SHARE,... as in single=50,multi-hop=20"),
        (["--mix", "single=nan"], "'single=nan'; accepted: KIND=SHARE"),
        (["--mix", "hard=3"], "kind 'hard'; accepted: KIND=SHARE out of single, multi-hop"),
        (["--mix", "single=0"], "all 0, or below it"),
        (["--language", "Klingon"], "accepted: a language by its name or code, as in German or de"),
        (["--examples", "none.txt"], "accepted: UTF-8 text, a question a line"),
        (["--model", "mine", "--budget", "3"], "the price of 'mine' is not known"),
        (["-n", "0"], "1<=x<=10000"),
    ],
)
def test_what_is_not_accepted_is_refused_in_a_sentence(
    capsys: Capture, tmp_path: Path, service: MakingService, words: list[str], said: str
) -> None:
    answer = make(capsys, tmp_path, *words)
    assert answer.code == 2
    assert said in " ".join(answer.err.split())
    assert not service.asked


def test_a_corpus_without_a_passage_is_refused(
    capsys: Capture, tmp_path: Path, service: MakingService
) -> None:
    (tmp_path / "short.md").write_text("Too short.", encoding="utf-8")
    answer = make(capsys, tmp_path, corpus=str(tmp_path / "short.md"))
    assert answer.code == 2
    assert "has no passage of 20 words or more; accepted: documents with text" in answer.err
    assert not service.asked


def test_examples_and_language_are_part_of_what_is_asked(
    capsys: Capture, tmp_path: Path, service: MakingService
) -> None:
    (tmp_path / "real.txt").write_text("wifi guest pw\n\nhow do i expense a taxi\n", encoding="utf-8")
    sent: list[str] = []

    class Keeping(DatasetReplies):
        def __call__(self, body: Body) -> object:
            sent.append(str(body["messages"][0]["content"]))
            return super().__call__(body)

    service.replies = Keeping()
    words = ("-n", "4", "--examples", str(tmp_path / "real.txt"), "--language", "german")
    answer = make(capsys, tmp_path, *words, "--json")
    written = [text for text in sent if "\nkind: " in text]
    assert all("language: German" in text and "how do i expense a taxi" in text for text in written)
    # the stand-in writes English all the same, which is seen
    assert answer.json["filters"]["language"][1] > 0


def test_offsets_hold_in_another_script_with_emoji_and_line_ends(
    capsys: Capture, tmp_path: Path, service: MakingService
) -> None:
    (tmp_path / "rules.md").write_bytes(RUSSIAN.encode())
    answer = make(capsys, tmp_path, "-n", "2", "--mix", "single=1", corpus=str(tmp_path / "rules.md"))
    assert answer.code == 0, answer.err
    draft = read_draft(find_dataset(Workspace(tmp_path / "w"), "rules"))
    assert len(draft.offered) == 2
    for each in draft.offered:
        (span,) = each.item.spans
        assert RUSSIAN[span.start : span.end] == span.quote


def test_what_people_keep_is_frozen_and_tried_by_a_grid(
    capsys: Capture, tmp_path: Path, service: MakingService
) -> None:
    make(capsys, tmp_path, "-n", "24", "--name", "mine")
    dataset = find_dataset(Workspace(tmp_path / "w"), "mine")
    offered = read_draft(dataset).offered
    for each in offered[:20]:
        accept(dataset, each.item, "ana")
    for each in offered[20:]:
        reject(dataset, each.item, "ana", "unreal")
    frozen = run(capsys, tmp_path / "w", "dataset", "freeze", "mine", "--json")
    assert frozen.code == 0, frozen.err
    words = ("--questions", "mine v1", "--sizes", "256", "--overlaps", "0", "--json")
    grid = run(capsys, tmp_path / "w", "grid", CORPUS, *words)
    assert grid.code == 0, grid.err
    answerable = sum(each.item.answerable != "no" for each in offered[:20])
    (trial,) = grid.json["runs"]
    assert trial["metrics"]["span_recall@5"]["n_scored"] == answerable
    assert trial["metrics"]["span_recall@5"]["mean"] > 0.8
