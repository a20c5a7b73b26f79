"""The one error of the package."""


class RagtriageError(Exception):
    """A call that cannot be done; the message says what is wrong, where, and what would be accepted."""
