"""Where the parts of the repository lie that tests read."""

from pathlib import Path

__all__ = ["APP", "BUNDLED", "DOCS", "FIXTURES", "REPOSITORY"]

REPOSITORY = Path(__file__).parent.parent
APP = REPOSITORY / "dashboard" / "pages" / "app.py"
BUNDLED = REPOSITORY / "data" / "bundled"
DOCS = REPOSITORY / "docs"
FIXTURES = Path(__file__).parent / "fixtures"
