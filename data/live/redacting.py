"""The redactor of a project, by its policy and with a salt that never leaves its folder; what it took out."""

import os
import secrets
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import orjson

from ragtriage.data.live.policy import FILE_NAME, read_policy
from ragtriage.data.live.redaction import Redactor
from ragtriage.data.store.stored_file import replace_file

COUNTS, MOST_DAYS = "redacted.json", 400
SALT = "salt"
SALT_BYTES = 32


def redactor_of(folder: Path) -> Redactor:
    """Return what takes personal data out of the texts of a project.

    Args:
        folder: of the project's live traffic; it is there.

    Raises:
        DataError: its policy cannot be read, or a pattern of it cannot be used.
    """
    policy = read_policy(folder / FILE_NAME).policy.redaction
    return Redactor(policy.patterns, off=policy.off, hash_users=policy.hash_users, salt=_salt(folder / SALT))


def _salt(path: Path) -> bytes:
    """Return the salt of a project; the first who asks draws it."""
    if not path.exists():
        drawn = path.with_name(f"{SALT}-{secrets.token_hex(4)}")
        with os.fdopen(os.open(drawn, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(secrets.token_bytes(SALT_BYTES))
        with suppress(FileExistsError):  # another process was first
            os.link(drawn, path)
        drawn.unlink()
    return path.read_bytes()


def redaction_counts(folder: Path) -> dict[str, dict[str, int]]:
    """Return day (UTC) -> kind -> how often it was taken out of a project's traffic; {} where not known."""
    try:
        days = orjson.loads((folder / COUNTS).read_bytes())
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
        replace_file(folder / COUNTS, orjson.dumps(kept))
