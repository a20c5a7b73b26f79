"""The redactor of a project: by its policy, with a salt that never leaves its folder."""

import os
import secrets
from contextlib import suppress
from pathlib import Path

from ragtriage.data.live.policy import FILE_NAME, read_policy
from ragtriage.data.live.redaction import Redactor

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
