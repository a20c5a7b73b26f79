"""Run the command line with `python -m dashboard.cli`."""

from ragtriage.dashboard.cli.main import main

main()
