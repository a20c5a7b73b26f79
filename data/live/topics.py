"""What users ask about: topics of questions by the words in them, learned once and then assigned."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Self

import orjson

from ragtriage.data.errors import WorkspaceError
from ragtriage.data.live.calls import Calls, put_fact
from ragtriage.data.live.policy import DAY
from ragtriage.data.store.stored_file import replace_file
from ragtriage.data.text.tokens import folded_question, is_cjk, lowered, search_runs, stem, word_list

FILE_NAME = "topics.json"
OTHER = "other"
MOST = 12  # topics, beside OTHER
FOR_NEW = 2  # of these are left for what comes up later
FEWEST_QUESTIONS = 30  # distinct ones from which topics are learned
MOST_QUESTIONS = 5_000  # distinct ones that are learned from: the most frequent
LEAST_SHARE, MOST_SHARE = 0.015, 0.4  # of the questions that have the word of a topic
TWO_WORDS = 1.3  # a pair says more than a word in as many questions
ASSOCIATED = 0.6  # share of the questions with a word that are of the topic
BEYOND_CHANCE = 3.0  # standard deviations above the share of the topic
ROUNDS = 2  # in which words join a topic by its questions
NEARLY_ALL = 0.6  # of the questions of a word have the same one beside it: both are the name
ENOUGH = 0.5  # weight of its words by which a question is of a topic
SHORTEST, LONGEST = 3, 30  # letters of a word; identifiers are longer
MOST_OF_A_NAME = 8  # characters of a name that is written without spaces
ENOUGH_QUESTIONS = 300  # distinct ones after which no more are waited for
REFERENCE = "baseline of topics"  # how the fact begins that alerts hold topics to: [[topic, user, n]], end
LOOKED_AT = "topics looked at"  # fact: when new ones were looked for, seconds since 1970
AT_ONCE = 2_000
_QUESTIONS = "SELECT question FROM calls WHERE question IS NOT NULL AND time >= ? ORDER BY time DESC LIMIT ?"
_WITHOUT_TOPIC = (
    "SELECT trace_id, question FROM calls WHERE topic IS NULL AND question IS NOT NULL ORDER BY time LIMIT ?"
)
_HIRAGANA = re.compile("[\u3040-\u309f]")
Term = tuple[str, ...]  # a stem, or two that stand side by side


@dataclass(frozen=True)
class Topic:
    """Questions that say the same words."""

    name: str  # one or two words as users write them
    words: Mapping[str, float]  # stems, or two with a space, by how far they tell this topic: 1 for its own
    is_new: bool = False  # whether it came up after topics were learned


@dataclass(frozen=True)
class Topics:
    """Topics in the order in which they are assigned."""

    topics: tuple[Topic, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all topics, and last that of what is of none."""
        return (*(topic.name for topic in self.topics), OTHER)

    @classmethod
    def learned(cls, questions: Iterable[str]) -> Self:
        """Learn topics from the questions of a reference time, each as often as it was asked.

        A topic begins with the word or pair of words that is in most of the questions that have no topic yet,
        less where it is common among all (n log(N / df)). Words found mostly in its questions, beyond chance,
        join it. The same questions give the same topics in any order. Fewer than 30 distinct ones give none.
        """
        questions = list(questions)
        counts = Counter(folded for question in questions if (folded := folded_question(question)))
        if len(counts) < FEWEST_QUESTIONS:
            return cls(())
        common = sorted(counts, key=lambda question: (-counts[question], question))[:MOST_QUESTIONS]
        written = {folded_question(question): question for question in sorted(questions, reverse=True)}
        return cls(tuple(_topics([written[each] for each in sorted(common)], MOST - FOR_NEW)))

    def topic_of(self, question: str) -> str:
        """Return the name of the topic that most words of a question tell; OTHER where they tell none."""
        said = {" ".join(term) for term in _terms(question)}
        best, weight = OTHER, 0.0
        for topic in self.topics:
            found = sum(topic.words.get(word, 0.0) for word in said)
            if found >= ENOUGH and found > weight:
                best, weight = topic.name, found
        return best

    def extended(self, questions: Sequence[str]) -> Self:
        """Add what came up in later questions: topics of those that have none, marked as new.

        Up to 12 topics in all. The old ones stay as they are, so that what was assigned stays.
        """
        room = MOST - len(self.topics)
        rest = sorted({question for question in questions if self.topic_of(question) == OTHER})
        distinct = {folded_question(question): question for question in rest}
        if room <= 0 or len(distinct) < FEWEST_QUESTIONS:
            return self
        found = _topics([distinct[each] for each in sorted(distinct)], room, len(set(questions)))
        names = {topic.name for topic in self.topics}
        new = [Topic(topic.name, topic.words, True) for topic in found if topic.name not in names]
        return type(self)((*self.topics, *new))

    def save(self, folder: Path) -> None:
        """Write the topics to the folder of the live traffic."""
        content = orjson.dumps([asdict(topic) for topic in self.topics], option=orjson.OPT_INDENT_2)
        replace_file(folder / FILE_NAME, content)

    @classmethod
    def load(cls, folder: Path) -> Self | None:
        """Read the topics of a folder; None where none were learned.

        Raises:
            WorkspaceError: the file is damaged.
        """
        path = folder / FILE_NAME
        try:
            stored: Any = orjson.loads(path.read_bytes())
            return cls(tuple(_stored_topic(**topic) for topic in stored))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError, AttributeError) as error:
            raise WorkspaceError(
                f"{path}: cannot be read ({error}); accepted: the file as it was written, or none"
            ) from error


def give_topics(calls: Calls, now: float) -> int:
    """Give topics to calls that have none, and return to how many.

    Topics are learned from the first 300 distinct questions, or from fewer after a day; once a day those of
    new questions that have none join them.
    """
    folder = calls.path.parent
    topics = Topics.load(folder)
    if topics is None or now >= float(calls.fact(LOOKED_AT, "0")) + DAY:
        topics = _renewed(calls, topics, now)
        if topics is None:
            return 0
        topics.save(folder)
    total = 0
    while True:
        with calls.changing() as connection:
            rows = connection.execute(_WITHOUT_TOPIC, (AT_ONCE,)).fetchall()
            given = [(topics.topic_of(question), trace_id) for trace_id, question in rows]
            connection.executemany("UPDATE calls SET topic = ? WHERE trace_id = ?", given)
        total += len(rows)
        if len(rows) < AT_ONCE:
            return total


def forget_words(calls: Calls) -> int:
    """Remove from the topics what no stored question says any more, and return how many words that were.

    So a topic keeps no word of a user whose calls were deleted. One that loses its own word goes. What alerts
    hold topics to names no topic that no call has any more.
    """
    with calls.changing() as connection:
        known = {topic for (topic,) in connection.execute("SELECT DISTINCT topic FROM calls")} | {OTHER}
        noted = connection.execute("SELECT name, value FROM facts WHERE name LIKE ?", (f"{REFERENCE}%",))
        for fact, value in noted.fetchall():
            counted, end = orjson.loads(value)
            kept = [(topic if topic in known else OTHER, user, n) for topic, user, n in counted]
            put_fact(connection, fact, orjson.dumps((kept, end)).decode())
    folder = calls.path.parent
    topics = Topics.load(folder)
    if topics is None:
        return 0
    with calls.open() as connection:
        rows = connection.execute("SELECT DISTINCT question FROM calls WHERE question IS NOT NULL").fetchall()
    said = {" ".join(term) for row in rows for term in _terms(row[0])}
    written = "\n".join(row[0].casefold() for row in rows)
    left = [
        replace(topic, words={word: weight for word, weight in topic.words.items() if word in said})
        for topic in topics.topics
        if topic.name.casefold() in written and next(iter(topic.words)) in said
    ]
    lost = sum(len(topic.words) for topic in topics.topics) - sum(len(topic.words) for topic in left)
    if lost:
        Topics(tuple(left)).save(folder)
        gone = {topic.name for topic in topics.topics} - {topic.name for topic in left}
        with calls.changing() as connection:
            connection.executemany(
                "UPDATE calls SET topic = NULL WHERE topic = ?", [(name,) for name in gone]
            )
    return lost


def _renewed(calls: Calls, topics: Topics | None, now: float) -> Topics | None:
    """Return topics learned, or extended by what came up in the last day; None before there is enough."""
    span = calls.span_of_time()
    if span is None:
        return None
    since = span[0] if topics is None else now - DAY
    with calls.open() as connection:
        rows = connection.execute(_QUESTIONS, (since, 2 * MOST_QUESTIONS)).fetchall()
    questions = [row[0] for row in rows]
    if topics is not None:
        renewed = topics.extended(questions)
    elif len(set(questions)) < ENOUGH_QUESTIONS and now - span[0] < DAY:
        return None
    else:
        renewed = Topics.learned(questions)
        if not renewed.topics:
            return None
    with calls.changing() as connection:
        put_fact(connection, LOOKED_AT, str(now))
    return renewed


def _stored_topic(name: str, words: dict[str, float], is_new: bool) -> Topic:
    return Topic(str(name), {str(word): float(weight) for word, weight in words.items()}, bool(is_new))


def _topics(questions: Sequence[str], most: int, among: int = 0) -> list[Topic]:
    """Return topics of distinct questions, which may be the rest of a larger number that has topics."""
    total, all_asked = len(questions), max(len(questions), among)
    where: dict[Term, set[int]] = defaultdict(set)
    for at, question in enumerate(questions):
        for term in _terms(question):
            where[term].add(at)
    where = {term: found for term, found in sorted(where.items()) if len(found) > 1}
    least = 1 + math.ceil(LEAST_SHARE * all_asked)
    left, taken, topics = set(range(total)), set[Term](), list[Topic]()
    while len(topics) < most:
        free = (
            term
            for term, found in where.items()
            if term not in taken and len(found) <= MOST_SHARE * all_asked
        )
        own = max(free, key=lambda term: _gain(term, where, left, all_asked), default=None)
        if own is None or len(where[own] & left) < least:
            break
        words, members = _grown(own, where, taken, all_asked)
        topics.append(
            Topic(_name(own, questions), {" ".join(term): weight for term, weight in words.items()})
        )
        left -= members
        taken |= words.keys()
    return topics


def _gain(term: Term, where: Mapping[Term, Set[int]], left: Set[int], total: int) -> float:
    weight = TWO_WORDS if len(term) == 2 else 1.0
    return weight * len(where[term] & left) * math.log(total / len(where[term]))


def _grown(
    own: Term, where: Mapping[Term, Set[int]], taken: Set[Term], total: int
) -> tuple[dict[Term, float], set[int]]:
    """Return the words of a topic by weight, and the questions that have one."""
    words, members = {own: 1.0}, set(where[own])
    for _ in range(ROUNDS):
        base = len(members) / total
        new = {}
        for term, found in where.items():
            share = len(found & members) / len(found)
            spread = math.sqrt(base * (1 - base) / len(found))
            if share >= ASSOCIATED and share - base >= BEYOND_CHANCE * spread and term not in words:
                new[term] = round(share, 3)
        words.update({term: weight for term, weight in new.items() if term not in taken})
        members.update(at for term in new if term not in taken for at in where[term])
    return words, members


def _terms(question: str) -> set[Term]:
    """Return the words of a question that can tell a topic, and those that stand side by side."""
    terms: set[Term] = set()
    before = ""
    for _, _, tokens in search_runs(question.lower()):
        for token in tokens:
            if not _tells(token):
                before = ""
                continue
            terms.add((token,))
            if before and not is_cjk(token[0]):
                terms.add((before, token))
            before = "" if is_cjk(token[0]) else token
    return terms


def _tells(token: str) -> bool:
    """Return whether a token can be the word of a topic: no number, and no word that any question has."""
    if is_cjk(token[0]):
        return len(token) == 2 and not _HIRAGANA.search(token) and not set(token) & _common_words()
    return SHORTEST <= len(token) <= LONGEST and not token[0].isdigit() and token not in _common_words()


@cache
def _common_words() -> frozenset[str]:
    return frozenset(stem(word) for name in ("stop_words", "question_words") for word in word_list(name))


def _name(own: Term, questions: Sequence[str]) -> str:
    """Return the words of a topic as most questions write them, with one that nearly all have beside it."""
    if is_cjk(own[0][0]):
        return _run_around(own[0], questions)
    written, pairs = Counter[str](), Counter[str]()
    for question in questions:
        runs = [(question[start:end], tokens) for start, end, tokens in search_runs(lowered(question))]
        texts = [text if at or not text.istitle() else text.lower() for at, (text, _) in enumerate(runs)]
        for at in range(len(runs) - len(own) + 1):
            if tuple(token for _, tokens in runs[at : at + len(own)] for token in tokens) != own:
                continue
            written[" ".join(texts[at : at + len(own)])] += 1
            if len(own) == 1 and at and any(map(_tells, runs[at - 1][1])):
                pairs[" ".join(texts[at - 1 : at + 1])] += 1
            after = texts[at + 1] if len(own) == 1 and at + 1 < len(texts) else ""
            if len(after) >= SHORTEST and after.isalpha() and after.lower() not in word_list("stop_words"):
                pairs[f"{texts[at]} {after}"] += 1
    beside = {text: count for text, count in pairs.items() if count >= NEARLY_ALL * written.total()}
    return min((beside or written).items(), key=lambda counted: (-counted[1], counted[0]))[0]


def _run_around(pair: str, questions: Sequence[str]) -> str:
    """Return two characters with those that nearly always stand before and after them."""
    name = pair
    while len(name) < MOST_OF_A_NAME:
        places = [(q, found.start()) for q in questions for found in re.finditer(re.escape(name), q)]
        behind = Counter(q[at + len(name) : at + len(name) + 1] for q, at in places)
        ahead = Counter(q[at - 1 : at] for q, at in places)
        grown = [
            (count, f"{name}{char}" if sides is behind else f"{char}{name}")
            for sides in (behind, ahead)
            for char, count in sides.items()
            if char and is_cjk(char) and char not in _common_words() and count >= NEARLY_ALL * len(places)
        ]
        if not grown:
            break
        name = max(grown)[1]
    return name
