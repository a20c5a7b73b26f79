"""The two steps of the GitHub action: judging a run, and reporting it on the pull request."""
