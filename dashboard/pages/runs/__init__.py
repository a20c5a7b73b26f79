"""The Runs page: loading files, the list of runs, one run, and what is declared of imported scores."""
