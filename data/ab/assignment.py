"""Which arm of a live test a user is in: by a hash, the same everywhere and without a memory."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping

from ragtriage.data.errors import DataError

HASH_BYTES = 8


def assigned_arm(user_id: str | int, experiment: str, shares: Mapping[str, float]) -> str:
    """Return the arm of a user: that in whose part of [0, 1) the hash of experiment and user lies.

    u = the first 8 bytes of the SHA-256 of experiment, a zero byte and user, big endian, / 2^64; the arms
    take their shares of [0, 1) in the order of the mapping. The experiment is hashed, too, so that a user's
    arms in two experiments do not depend on each other.

    Raises:
        DataError: a user or experiment without a name, fewer than two arms, or a share that is not above 0.
    """
    user = str(user_id)
    if not user or not experiment:
        raise DataError("user_id and experiment must not be empty; accepted: two names")
    known = [not isinstance(share, bool) and math.isfinite(share) and share > 0 for share in shares.values()]
    if len(known) < 2 or not all(known):
        accepted = 'a share above 0 for each of two or more arms, as in {"A": 0.5, "B": 0.5}'
        raise DataError(f"shares {dict(shares)!r:.100}; accepted: {accepted}")
    text = f"{experiment}\0{user}".encode("utf-8", "surrogatepass")
    place = int.from_bytes(hashlib.sha256(text).digest()[:HASH_BYTES], "big") / 2 ** (8 * HASH_BYTES)
    reached, total = 0.0, math.fsum(shares.values())
    for arm, share in shares.items():
        reached += share / total
        if place < reached:
            return arm
    return arm
