"""The Triage page: the run at a glance, what to fix first, and the gates."""
