"""MLflow: results of evaluations, traces as files, and its database."""

from ragtriage.data.importers.importer import Importer
from ragtriage.data.importers.tools.mlflow import database, folder, tables

__all__ = ["IMPORTERS"]

WRITTEN_BY = "MLflow 3.17"
IMPORTERS = (
    Importer(
        "mlflow_database",
        "MLflow database",
        "mlflow.db, the SQLite database of a tracking server, with traces",
        database.is_database,
        database.read,
        written_by=WRITTEN_BY,
        unit="trace",
    ),
    Importer(
        "mlflow_folder",
        "MLflow folder",
        "mlruns, or the folder of an experiment, a run or its artifacts, with traces or evaluations",
        folder.is_folder,
        folder.read,
        written_by=f"{WRITTEN_BY}, without a database",
    ),
    Importer(
        "mlflow_traces",
        "MLflow traces",
        "JSON or JSONL of {info, data}: one trace, a list, or one per line",
        tables.is_traces,
        tables.read_traces,
        written_by=WRITTEN_BY,
        example="[json.loads(t.to_json()) for t in mlflow.search_traces(return_type='list')]",
        unit="trace",
    ),
    Importer(
        "mlflow",
        "MLflow evaluation results",
        "CSV, JSONL or Parquet with trace_id and <metric>/value, or as mlflow.search_traces() gives it",
        tables.is_results,
        tables.read_results,
        written_by=WRITTEN_BY,
        example='result.tables["eval_results"].to_json(FILE, orient="records", lines=True)',
    ),
    Importer(
        "mlflow_2",
        "MLflow 2 evaluation results",
        "a table with inputs and <metric>/score or <metric>/v1/score, as mlflow.evaluate logs it",
        tables.is_legacy,
        tables.read_legacy,
        mapped=True,
        written_by="MLflow 2.14",
        rows=tables.LEGACY,
    ),
)
