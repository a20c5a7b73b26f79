"""Run the command line with `python -m dashboard.cli`."""

from dashboard.cli.main import main

main()
