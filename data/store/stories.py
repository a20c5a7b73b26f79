"""Stories in the annotations database, stored as text; the form of the text is up to the caller."""

from collections.abc import Mapping
from dataclasses import dataclass

from ragtriage.data.errors import WorkspaceError
from ragtriage.data.store.ledger import Ledger
from ragtriage.data.store.workspace import utc_now

_LIST = (
    "SELECT story_id, project, title, body, who, at FROM stories"
    " WHERE project = ? AND removed_at IS NULL ORDER BY story_id"
)
_ADD = "INSERT INTO stories (project, title, body, who, at) VALUES (?, ?, ?, ?, ?)"
_ONE = "SELECT story_id, project, title, body, who, at FROM stories WHERE story_id = ? AND removed_at IS NULL"


@dataclass(frozen=True)
class StoredStory:
    """A stored story."""

    story_id: int
    project: str
    title: str
    body: str
    who: str  # author, or ""
    at: str  # time of the last change, ISO in UTC


def add_story(ledger: Ledger, project: str, title: str, body: str, who: str = "") -> int:
    """Store a new story and return its number."""
    with ledger.open() as connection:
        cursor = connection.execute(
            _ADD, (project, title.strip() or "Untitled", body, who.strip(), utc_now().isoformat())
        )
        return int(cursor.lastrowid or 0)


def add_stories_once(ledger: Ledger, project: str, bodies: Mapping[str, str], who: str) -> bool:
    """Store stories together, unless their author ever stored one in the project; whether that was done.

    So what was renamed or removed since does not come back, and of two processes one stores them.
    """
    with ledger.open() as connection:
        connection.execute("BEGIN IMMEDIATE")
        known = connection.execute(
            "SELECT 1 FROM stories WHERE project = ? AND who = ? LIMIT 1", (project, who)
        ).fetchone()
        if known is None:
            rows = [(project, title, body, who, utc_now().isoformat()) for title, body in bodies.items()]
            connection.executemany(_ADD, rows)
        connection.execute("COMMIT")
        return known is None


def change_story(ledger: Ledger, story_id: int, title: str, body: str) -> None:
    """Store the new text of a story.

    Raises:
        WorkspaceError: there is no such story.
    """
    with ledger.open() as connection:
        changed = connection.execute(
            "UPDATE stories SET title = ?, body = ?, at = ? WHERE story_id = ? AND removed_at IS NULL",
            (title.strip() or "Untitled", body, utc_now().isoformat(), story_id),
        )
        if not changed.rowcount:
            raise WorkspaceError(f"no story {story_id}; it was removed meanwhile")


def remove_story(ledger: Ledger, story_id: int) -> None:
    """Remove a story from the list; its text stays in the database."""
    with ledger.open() as connection:
        connection.execute(
            "UPDATE stories SET removed_at = ? WHERE story_id = ?", (utc_now().isoformat(), story_id)
        )


def stories(ledger: Ledger, project: str) -> list[StoredStory]:
    """List the stories of a project, oldest first."""
    if not ledger.path.exists():
        return []
    with ledger.open() as connection:
        return [StoredStory(*row) for row in connection.execute(_LIST, (project,))]


def story_of(ledger: Ledger, story_id: int) -> StoredStory | None:
    """Return a story, or None if there is no such story."""
    if not ledger.path.exists():
        return None
    with ledger.open() as connection:
        row = connection.execute(_ONE, (story_id,)).fetchone()
    return StoredStory(*row) if row else None
