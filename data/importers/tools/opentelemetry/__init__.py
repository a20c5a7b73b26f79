"""OpenTelemetry: the conventions in which spans of language models are written, and OTLP files."""

from ragtriage.data.importers.tools.opentelemetry.otlp import IMPORTERS

__all__ = ["IMPORTERS"]
