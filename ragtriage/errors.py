"""The one error of the package."""

__all__ = ["RagtriageError"]


class RagtriageError(Exception):
    """A call that cannot be done; the message says what is wrong, where, and what would be accepted."""
