"""The review of a dataset: what readers decided, item by item, and the draft that follows from it.

Each decision is an entry of the ledger and stands until it is undone. It counts while the item still has the
content that was decided on: an edit by somebody else, or changed gold, makes it stale.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Self

from ragtriage.data.chunking.corpus import Corpus
from ragtriage.data.datasets.corpus_change import CorpusChange, moved_items, span_changes
from ragtriage.data.datasets.dataset import Batch, Dataset
from ragtriage.data.datasets.item import GoldSpan, Item
from ragtriage.data.errors import DataError
from ragtriage.data.store.ledger import Ledger
from ragtriage.data.store.workspace import utc_now

Action = Literal["accept", "reject", "edit", "gold", "move"]
State = Literal["to read", "kept", "edited", "rejected", "disputed", "stale", "filtered"]
# key -> why an item is rejected, in the order of the keys 1 to 6
REASONS = {
    "gold": "gold fails",
    "elsewhere": "answered elsewhere",
    "unreal": "unreal",
    "answer": "wrong answer",
    "twin": "twin of another",
    "unclear": "unclear",
}
DECIDING = ("accept", "reject", "edit")
OUT = ("rejected", "disputed", "filtered")  # states of items that go into no version
GONE = "gone"  # reason of a move to a corpus that no longer has the gold: what was decided before is stale
_INSERT = (
    "INSERT INTO dataset_events (dataset_id, question_id, who, action, reason, item, content_hash, at)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
)
_EVENTS = (
    "SELECT event_id, question_id, who, action, reason, item, content_hash, at, undone_at FROM dataset_events"
    " WHERE dataset_id = ? ORDER BY event_id"
)
_STATE = (
    "SELECT count(*), count(undone_at), coalesce(max(undone_at), '') FROM dataset_events WHERE dataset_id = ?"
)
# a reader's newest decision or gold; a move of gold to another corpus belongs to nobody's review
_OWN_NEWEST = (
    "SELECT event_id, question_id, action, item FROM dataset_events WHERE dataset_id = ? AND who = ?"
    " AND action <> 'move' AND undone_at IS NULL ORDER BY event_id DESC LIMIT 1"
)
_NEWEST_CHANGE = (
    "SELECT event_id, who, content_hash FROM dataset_events WHERE dataset_id = ? AND question_id = ?"
    " AND item <> '' AND undone_at IS NULL ORDER BY event_id DESC LIMIT 1"
)
_NEWEST_OWN_ENTRY = (
    "SELECT action, reason, item, content_hash FROM dataset_events WHERE dataset_id = ? AND question_id = ?"
    " AND who = ? AND undone_at IS NULL ORDER BY event_id DESC LIMIT 1"
)
_UNDO = "UPDATE dataset_events SET undone_at = ? WHERE event_id = ?"


@dataclass(frozen=True)
class Event:
    """An entry of the history of an item."""

    event_id: int
    question_id: str
    who: str
    action: Action
    reason: str  # of a rejection: a key of REASONS; of a move "gone" or ""
    item: Item | None  # as it was after the change; None where nothing was changed
    content_hash: str  # of the item that was decided on
    at: str  # ISO time in UTC
    undone_at: str | None


@dataclass(frozen=True)
class DraftItem:
    """An item as the draft has it now."""

    item: Item  # after all edits
    made: Item  # as it was made
    batch_id: str
    events: tuple[Event, ...]  # that stand, oldest first

    @classmethod
    def of(cls, made: Item, batch_id: str, events: Sequence[Event]) -> Self:
        """Return an item as the newest change of these events left it."""
        changed = [event.item for event in events if event.item is not None]
        return cls(changed[-1] if changed else made, made, batch_id, tuple(events))

    @property
    def decisions(self) -> dict[str, Event]:
        """The newest decision of each reader that is about the item as it is now, by reader."""
        gone = max((event.event_id for event in self.events if event.reason == GONE), default=0)
        return {
            event.who: event
            for event in self.events
            if event.action in DECIDING
            and event.content_hash == self.item.content_hash
            and event.event_id > gone
        }

    @property
    def state(self) -> State:
        """What the readers together say; an item that a filter rejected stays out until it is accepted."""
        actions = {event.action for event in self.decisions.values()}
        if "reject" in actions:
            return "disputed" if actions - {"reject"} else "rejected"
        if actions:
            return "edited" if self.item.content_hash != self.made.content_hash else "kept"
        if any(event.action in DECIDING for event in self.events):
            return "stale"
        return "filtered" if self.item.rejected_by else "to read"

    def state_for(self, who: str) -> State:
        """Return what one reader said, blind to the others."""
        own = [event for event in self.events if event.who == who or event.action in ("edit", "gold", "move")]
        mine = [event for event in own if event.who == who or event.action not in DECIDING]
        return DraftItem(self.item, self.made, self.batch_id, tuple(mine)).state

    @property
    def golden(self) -> bool:
        """Whether people read it and kept it."""
        return self.state in ("kept", "edited")


@dataclass(frozen=True)
class Draft:
    """All items of a dataset as they are now, in the order in which they were made."""

    dataset: Dataset
    items: tuple[DraftItem, ...]

    @property
    def offered(self) -> list[DraftItem]:
        """The items that passed the filters, and those that a reader accepted in spite of one."""
        return [each for each in self.items if not each.item.rejected_by or each.golden]

    @property
    def standing(self) -> list[DraftItem]:
        """The items that may go into a version: those to be read, and those that readers keep."""
        return [each for each in self.items if each.state not in OUT]

    @property
    def golden(self) -> list[Item]:
        """The items that people read and kept."""
        return [each.item for each in self.items if each.golden]

    @property
    def n_read(self) -> int:
        """Offered items with a decision."""
        return sum(bool(each.decisions) for each in self.offered)

    @property
    def readers(self) -> list[str]:
        """Those who decided on an item, the most first."""
        counts: dict[str, int] = defaultdict(int)
        for each in self.items:
            for who in each.decisions:
                counts[who] += 1
        return sorted(counts, key=lambda who: (-counts[who], who))

    def find(self, question_id: str) -> DraftItem | None:
        """Return an item by its id."""
        return next((each for each in self.items if each.item.question_id == question_id), None)


def draft_state(dataset: Dataset) -> tuple[object, ...]:
    """Return what the draft of a dataset follows from: its corpus, and how much was decided and undone."""
    if not dataset.ledger.path.exists():
        return (dataset.corpus_version,)
    with dataset.ledger.open() as connection:
        decided = connection.execute(_STATE, (dataset.dataset_id,)).fetchone()
    return (dataset.corpus_version, *decided)


def read_draft(dataset: Dataset, batches: Sequence[Batch] | None = None) -> Draft:
    """Read the items of a dataset with what was decided on them.

    Args:
        dataset: to read.
        batches: its batches, where they were read before; they never change.
    """
    by_item = defaultdict[str, list[Event]](list)
    for event in events_of(dataset):
        if event.undone_at is None:
            by_item[event.question_id].append(event)
    items = (
        DraftItem.of(made, batch.batch_id, by_item.get(made.question_id, []))
        for batch in (dataset.batches() if batches is None else batches)
        for made in batch.items
    )
    return Draft(dataset, tuple(items))


def events_of(dataset: Dataset) -> list[Event]:
    """Return the whole history of a dataset, oldest first, what was undone included."""
    if not dataset.ledger.path.exists():
        return []
    with dataset.ledger.open() as connection:
        rows = connection.execute(_EVENTS, (dataset.dataset_id,)).fetchall()
    events = []
    for event_id, question_id, who, action, reason, item, content, at, undone_at in rows:
        changed = Item.from_dict(json.loads(item)) if item else None
        events.append(Event(event_id, question_id, who, action, reason, changed, content, at, undone_at))
    return events


def accept(dataset: Dataset, item: Item, who: str) -> None:
    """Record that a reader keeps an item as it is."""
    _record(dataset, item, who, "accept")


def reject(dataset: Dataset, item: Item, who: str, reason: str) -> None:
    """Record that a reader rejects an item.

    Raises:
        DataError: the reason is none of REASONS.
    """
    if reason not in REASONS:
        raise DataError(f"reason {reason!r}; accepted: {', '.join(REASONS)}")
    _record(dataset, item, who, "reject", reason)


def edit(dataset: Dataset, changed: Item, who: str, before: Item | None = None) -> None:
    """Record that a reader changed an item and keeps it so.

    Args:
        dataset: of the item.
        changed: as it is now.
        who: the reader.
        before: as the reader saw it, so that nobody's later change is lost; None where that cannot be.

    Raises:
        DataError: somebody changed the item meanwhile.
    """
    _record(dataset, changed, who, "edit", changed=True, before=before)


def add_gold(dataset: Dataset, item: Item, span: GoldSpan, who: str, hop: str = "") -> Item:
    """Record one more place that answers, and return the item with it; it decides nothing by itself.

    Raises:
        DataError: somebody changed the item meanwhile.
    """
    changed = item.with_alternative(span, hop)
    _record(dataset, changed, who, "gold", changed=True, before=item)
    return changed


def add_distractor(dataset: Dataset, item: Item, span: GoldSpan, who: str) -> Item:
    """Record a passage that does not answer, and return the item with it; it decides nothing by itself.

    Raises:
        DataError: somebody changed the item meanwhile.
    """
    changed = item if span in item.distractors else replace(item, distractors=(*item.distractors, span))
    _record(dataset, changed, who, "gold", changed=True, before=item)
    return changed


def follow_corpus(dataset: Dataset, items: Sequence[Item], corpus: Corpus, who: str) -> CorpusChange:
    """Let a draft point into another corpus, and record the items whose gold moved, changed or is gone.

    Decisions hold where the text of the gold is the same; an item of which some is gone is to be read again.
    """
    change = span_changes(items, dataset.corpus(), corpus)
    dataset.keep_corpus(corpus, who)
    move(dataset, moved_items(items, change), who, change.gone)
    return change


def move(dataset: Dataset, moved: Sequence[Item], who: str, gone: Collection[str] = ()) -> None:
    """Record items whose gold stands elsewhere in a new corpus, and the ids of those that lost some."""
    for item in moved:
        _record(dataset, item, who, "move", GONE if item.question_id in gone else "", changed=True)


def undo(dataset: Dataset, who: str) -> tuple[str, str] | None:
    """Undo a reader's newest entry; return its question id and action, None where there is none.

    Raises:
        DataError: somebody changed the item since, and what they did rests on it.
    """
    with dataset.ledger.open() as connection:
        connection.execute("BEGIN IMMEDIATE")
        row = connection.execute(_OWN_NEWEST, (dataset.dataset_id, reader_name(who))).fetchone()
        if row is None:
            connection.execute("ROLLBACK")
            return None
        event_id, question_id, action, item = row
        newest = connection.execute(_NEWEST_CHANGE, (dataset.dataset_id, question_id)).fetchone()
        if item and newest is not None and newest[0] != event_id:
            connection.execute("ROLLBACK")
            raise DataError(
                f"question {question_id}: {newest[1]} changed it since; accepted: another edit of it as it is"
            )
        connection.execute(_UNDO, (utc_now().isoformat(), event_id))
        connection.execute("COMMIT")
    return str(question_id), str(action)


def reader_name(who: str) -> str:
    """Return a name without the space around it.

    Raises:
        DataError: it is empty.
    """
    if not who.strip():
        raise DataError("a decision needs the name of its reader; accepted: any text")
    return who.strip()


def _record(
    dataset: Dataset,
    item: Item,
    who: str,
    action: Action,
    reason: str = "",
    changed: bool = False,
    before: Item | None = None,
) -> None:
    """Add an entry, unless it repeats the reader's newest one of the item, as a key pressed twice does."""
    name, content = reader_name(who), json.dumps(item.to_dict()) if changed else ""
    place = (dataset.dataset_id, item.question_id)
    with Ledger(dataset.workspace.ledger_path).open() as connection:
        connection.execute("BEGIN IMMEDIATE")
        own = connection.execute(_NEWEST_OWN_ENTRY, (*place, name)).fetchone()
        newest = connection.execute(_NEWEST_CHANGE, place).fetchone()
        if before is not None and newest is not None and newest[2] != before.content_hash:
            connection.execute("ROLLBACK")
            raise DataError(
                f"question {item.question_id}: {newest[1]} changed it meanwhile, and nothing was saved; "
                "accepted: the same on the question as it is now"
            )
        if own == (action, reason, content, item.content_hash):
            connection.execute("ROLLBACK")
            return
        entry = (*place, name, action, reason, content, item.content_hash, utc_now().isoformat())
        connection.execute(_INSERT, entry)
        connection.execute("COMMIT")
