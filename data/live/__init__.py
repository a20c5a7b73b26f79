"""Live traffic: spans and feedback become calls, windows of calls become runs, and a policy watches them."""

COLLECT_TOKEN = "RAGTRIAGE_COLLECT_TOKEN"  # noqa: S105 -- the variable that the token of `collect` is in
