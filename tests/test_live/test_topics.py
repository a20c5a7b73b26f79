"""Topics of questions: named as users write, the same every time, and what comes up later is new."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from importlib.resources import files
from pathlib import Path

import pytest
from live_calls import BEGIN, call, made, put

from ragtriage.data.errors import WorkspaceError
from ragtriage.data.live.forgetting.deletion import forget
from ragtriage.data.live.policy import DAY
from ragtriage.data.live.topics import FILE_NAME, MOST, OTHER, Topics, give_topics

BUNDLED = files("ragtriage.data") / "bundled"
HANDBOOK = [
    json.loads(line)["question"] for line in (BUNDLED / "handbook/questions.jsonl").read_text().splitlines()
]


def _lines(path: str) -> list[dict[str, str]]:
    with gzip.open(Path(str(BUNDLED / path)), "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


ROUTER = _lines("clinc_router/tfidf_router.jsonl.gz")


def test_topics_of_the_handbook_are_words_of_its_questions() -> None:
    topics = Topics.learned(HANDBOOK)
    assert {"leave", "laptop", "pay", "vacation", "credit hours"} <= set(topics.names)
    assert topics.topic_of("How do I donate my leave?") == "leave"
    assert topics.topic_of("My LAPTOPS are slow") == "laptop"
    assert topics.topic_of("What is this about?") == OTHER


def test_topics_of_known_domains_are_mostly_of_one() -> None:
    """900 questions to an assistant, of 10 domains and out of scope."""
    topics = Topics.learned([row["question"] for row in ROUTER])
    domains = {name: Counter[str]() for name in topics.names}
    for row in ROUTER:
        domains[topics.topic_of(row["question"])][row["expected_route"]] += 1
    mostly = {name: counts.most_common(1)[0] for name, counts in domains.items() if name != OTHER}
    assert mostly["car"][0] == "auto_and_commute"
    assert mostly["vacation"][0] == "work"
    assert mostly["reservation"][0] == "kitchen_and_dining"
    alike = sum(count for _, count in mostly.values())
    assert alike / sum(counts.total() for name, counts in domains.items() if name != OTHER) > 0.65


def test_a_name_is_the_pair_that_is_always_said() -> None:
    questions = [f"how much comp time do I earn, {number}" for number in "abcdefghij"]
    questions += [f"Is the XK Printer broken in room {room}" for room in "abcdefghij"]
    questions += ["alpha beta", "gamma", "delta", "kappa", "sigma", "omega", "theta", "zeta", "iota", "chi"]
    names = Topics.learned(questions).names
    assert "comp time" in names
    assert "Printer broken" in names or "XK Printer" in names


def test_other_scripts_have_topics_too() -> None:
    rows = _lines("xquad/questions.jsonl.gz")
    by_language = {
        language: [row["question"] for row in rows if row["language"] == language]
        for language in ("ru", "zh")
    }
    assert "Лютера" in Topics.learned(by_language["ru"]).names
    chinese = Topics.learned(by_language["zh"])
    assert "黑豹队" in chinese.names
    assert chinese.topic_of("黑豹队的教练是谁？") == "黑豹队"


def test_the_order_of_the_questions_and_how_often_they_come_change_nothing() -> None:
    topics = Topics.learned(HANDBOOK)
    assert Topics.learned(HANDBOOK[::-1] * 3) == topics
    assert Topics.learned(HANDBOOK[:29]) == Topics(())
    assert Topics.learned([]).topic_of("leave") == OTHER


def test_a_new_topic_joins_and_the_old_ones_stay() -> None:
    topics = Topics.learned(HANDBOOK)
    later = [
        *HANDBOOK,
        *(f"Is the cafeteria open on floor {chr(97 + number)}{chr(98 + number)}?" for number in range(24)),
    ]
    extended = topics.extended(later)
    assert extended.topics[: len(topics.topics)] == topics.topics
    new = [topic.name for topic in extended.topics if topic.is_new]
    assert "cafeteria" in new[0]
    assert extended.topic_of("when does the cafeteria close") == new[0]
    assert len(extended.topics) <= MOST
    assert topics.extended(HANDBOOK) == topics
    assert [extended.topic_of(question) for question in HANDBOOK if topics.topic_of(question) != OTHER] == [
        topics.topic_of(question) for question in HANDBOOK if topics.topic_of(question) != OTHER
    ]


def test_topics_are_stored_and_a_damaged_file_is_refused(tmp_path: Path) -> None:
    assert Topics.load(tmp_path) is None
    topics = Topics.learned(HANDBOOK)
    topics.save(tmp_path)
    assert Topics.load(tmp_path) == topics
    for damage in (b"[", b'{"a": 1}', b'[{"name": "leave"}]', b'[{"name": "a", "words": 3, "is_new": 0}]'):
        (tmp_path / FILE_NAME).write_bytes(damage)
        with pytest.raises(WorkspaceError, match="cannot be read"):
            Topics.load(tmp_path)


@pytest.mark.parametrize("question", ["", "?", "\0", "a" * 100_000, "年" * 5000, "\ud800 leave", "123 456"])
def test_odd_questions_have_a_topic_or_none(question: str) -> None:
    topics = Topics.learned([*HANDBOOK, question])
    assert topics.topic_of(question) in topics.names


def test_calls_are_given_topics_which_are_kept_and_renewed(tmp_path: Path) -> None:
    _, calls = made(tmp_path)
    put(calls, *(call(f"{at}", at, question=question) for at, question in enumerate(HANDBOOK)))
    assert give_topics(calls, BEGIN + 100) == 0  # too few, and the first day is not over
    assert give_topics(calls, BEGIN + DAY + 100) == len(HANDBOOK)
    topics = Topics.load(calls.path.parent)
    assert topics == Topics.learned(HANDBOOK)
    found = calls.facts(BEGIN, BEGIN + DAY).topic
    assert found == [topics.topic_of(question) for question in HANDBOOK]
    later = [f"Is the cafeteria open on floor {chr(97 + at)}{chr(98 + at)}?" for at in range(24)] + HANDBOOK
    for day in (1.5, 3.5):  # new ones are looked for once a day
        put(calls, *(call(f"{day}/{at}", day * DAY + at, question=text) for at, text in enumerate(later)))
        assert give_topics(calls, BEGIN + day * DAY + 1000) == len(later)
    assert [topic.is_new for topic in (Topics.load(calls.path.parent) or topics).topics].count(True) >= 1


def test_words_of_a_user_who_is_forgotten_leave_the_topics(tmp_path: Path) -> None:
    store, calls = made(tmp_path)
    secret = [f"Where is my xanthippe {word}?" for word in ("desk", "chair", "lamp", "bike", "door", "sofa")]
    texts = [(question, "") for question in HANDBOOK] + [(question, "ada") for question in secret]
    put(calls, *(call(f"{at}", at, question=text, user_id=user) for at, (text, user) in enumerate(texts)))
    give_topics(calls, BEGIN + DAY + 100)
    path = calls.path.parent / FILE_NAME
    assert b"xanthipp" in path.read_bytes()
    before = Topics.load(calls.path.parent)
    found = forget(store, "ada", dry=False)
    assert ("live/shop/topics.json", "words of topics") in [(each.place, each.what) for each in found.found]
    assert b"xanthipp" not in path.read_bytes()
    after = Topics.load(calls.path.parent)
    assert before is not None
    assert after is not None
    assert [topic.name for topic in after.topics] == [
        topic.name for topic in before.topics if "xanthippe" not in topic.name
    ]
