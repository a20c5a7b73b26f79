"""`python -m ragtriage` is the command `ragtriage`."""

from ragtriage.dashboard.cli.main import main

if __name__ == "__main__":
    main()
