"""Run the command line with `python -m ragtriage.dashboard.cli`."""

from ragtriage.dashboard.cli.main import main

main()
