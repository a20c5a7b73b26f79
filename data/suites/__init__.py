"""Check suites over a run: the checks of one kind with their summary, their failures and their cases."""
