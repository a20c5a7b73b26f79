"""Phoenix and Arize AX: spans with their annotations, experiments, and the database of a Phoenix server."""

from ragtriage.data.importers.tools.phoenix.importers import IMPORTERS

__all__ = ["IMPORTERS"]
