"""The redactor that a project's policy asks for, and what it took out of the live traffic, by day."""

import os
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import orjson

from ragtriage.data.errors import DataError
from ragtriage.data.live.policy import Redaction
from ragtriage.data.live.redaction import Redactor
from ragtriage.data.store.stored_file import replace_file

FILE, SALT = "redacted.json", "salt"
MOST_DAYS = 400


def open_redactor(folder: Path, redaction: Redaction) -> Redactor:
    """Return what takes personal data out of the traffic of a project, as its policy says.

    Args:
        folder: of the project's live traffic; the salt of its users' hashes is made there once.
        redaction: of its policy.

    Raises:
        DataError: a pattern cannot be used, or the folder cannot be written.
    """
    path = folder / SALT
    try:
        folder.mkdir(0o700, parents=True, exist_ok=True)
        if not path.exists():
            replace_file(path, os.urandom(32))
            path.chmod(0o600)
        salt = path.read_bytes()
    except OSError as error:
        raise DataError(
            f"{path}: cannot be used ({error.strerror}); accepted: a folder that you may write to"
        ) from error
    off, hash_users = redaction.off, redaction.hash_users
    return Redactor(redaction.patterns, off=off, hash_users=hash_users, salt=salt[:64])


def redaction_counts(folder: Path) -> dict[str, dict[str, int]]:
    """Return day (UTC) -> kind -> how often it was taken out of a project's traffic; {} where not known."""
    try:
        days = orjson.loads((folder / FILE).read_bytes())
        return {str(day): {str(kind): int(n) for kind, n in kinds.items()} for day, kinds in days.items()}
    except (OSError, ValueError, AttributeError, TypeError):
        return {}


def add_redaction_counts(folder: Path, counts: Mapping[str, int]) -> None:
    """Add what was taken out just now to the counts of today."""
    new = {kind: n for kind, n in counts.items() if n}
    if new:
        days = redaction_counts(folder)
        today = datetime.now(UTC).date().isoformat()
        days[today] = dict(Counter(days.get(today, {})) + Counter(new))
        kept = dict(sorted(days.items())[-MOST_DAYS:])
        replace_file(folder / FILE, orjson.dumps(kept))
