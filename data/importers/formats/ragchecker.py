"""Files of RAGChecker: inputs without claims, and outputs with claims, entailment labels and metrics."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ragtriage.data.errors import ValidationErrors
from ragtriage.data.importers.importer import Options, Reader, run_of
from ragtriage.data.importers.parsing.input_file import InputFile
from ragtriage.data.importers.parsing.rows import object_rows, open_table
from ragtriage.data.importers.parsing.shapes import documents_of
from ragtriage.data.store.parsed_run import ParsedRun, Record

LABELS = ("Entailment", "Neutral", "Contradiction")
METRICS = {
    **{name: f"answer_{name}" for name in ("precision", "recall", "f1")},
    "claim_recall": "context_recall",
    "context_precision": "chunk_precision",
    "noise_sensitivity_in_relevant": "noise_sensitivity_relevant",
    "noise_sensitivity_in_irrelevant": "noise_sensitivity_irrelevant",
}
NAMES = {
    "query_id": "question_id",
    "query": "question",
    "gt_answer": "reference_answer",
    "response": "answer",
}
HANDLED_KEYS = {
    *NAMES,
    *("retrieved_context", "response_claims", "gt_answer_claims", "answer2response", "response2answer"),
    *("retrieved2response", "retrieved2answer", "metrics"),
}


def read(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read a run of RAGChecker; its means over questions go to the configuration as reported means."""
    table = open_table(source, errors, options.limit, rows=options.rows)
    document = source.document() if table.kind == "json" else None
    config: dict[str, Any] = {}
    notes = table.notes
    if isinstance(document, dict) and isinstance(document.get("metrics"), dict) and document["metrics"]:
        config["reported_means"] = document["metrics"]
        notes = (*notes, "the file's own means (0-100) are kept in the configuration, not as scores")

    def records() -> Iterator[Record]:
        for line, row in object_rows(table.rows(), errors, "an object with query, response, gt_answer"):
            before = errors.total
            record = _Row(row, line, errors).record()
            if errors.total == before:
                yield line, record

    return [run_of(source, "ragchecker", records(), config=config, notes=notes)]


@dataclass(frozen=True)
class _Row:
    row: Mapping[str, Any]
    line: int
    errors: ValidationErrors

    def record(self) -> dict[str, Any]:
        """Return the row in the native form."""
        row = self.row
        record: dict[str, Any] = {field: row.get(name) for name, field in NAMES.items()}
        documents = row.get("retrieved_context")
        record["retrieved"] = documents_of(documents)
        depth = len(documents) if isinstance(documents, list) else 0
        answer = self.claims("response_claims", "answer2response", "retrieved2response", depth)
        if answer is not None:
            record["claims"] = [self.answer_claim(*claim) for claim in answer]
        reference = self.claims("gt_answer_claims", "response2answer", "retrieved2answer", depth)
        if reference is not None:
            record["reference_claims"] = [self.reference_claim(*claim) for claim in reference]
        metrics = row.get("metrics")
        if isinstance(metrics, dict) and metrics:
            record["scores"] = {METRICS.get(name, name): value for name, value in metrics.items()}
        return {**{key: value for key, value in row.items() if key not in HANDLED_KEYS}, **record}

    def claims(self, names: str, by_text: str, by_document: str, depth: int) -> list[tuple[Any, ...]] | None:
        """Return each claim with its label against the other text and its labels against the documents."""
        claims = self.row.get(names)
        if claims is None:
            return None
        count = len(claims) if isinstance(claims, list) else 0
        against_text = self.sized(by_text, count)
        against_documents = self.sized(by_document, count)
        if not isinstance(claims, list):
            self.add_error(names, claims, "a list of claims")
            return None
        for index, labels in enumerate(against_documents):
            if labels is not None and (not isinstance(labels, list) or len(labels) != depth):
                accepted = f"a list of {depth} labels, one per document of retrieved_context"
                self.add_error(f"{by_document}[{index}]", labels, accepted)
        texts = [self.claim_text(claim, f"{names}[{i}]") for i, claim in enumerate(claims)]
        return list(zip(texts, against_text, against_documents, strict=False))

    def sized(self, name: str, count: int) -> list[Any]:
        """Return the list of a field with one item per claim, or None for each if the field is missing."""
        items = self.row.get(name)
        if items is None:
            return [None] * count
        if not isinstance(items, list) or len(items) != count:
            self.add_error(name, items, f"a list of {count} items, one per claim")
            return [None] * count
        return items

    def claim_text(self, claim: object, field: str) -> str:
        """Return a claim as text; a triplet is joined."""
        if isinstance(claim, list) and all(isinstance(part, str) for part in claim):
            return " ".join(claim)
        if not isinstance(claim, str):
            self.add_error(field, claim, "text, or a triplet of texts")
        return str(claim)

    def answer_claim(self, text: str, label: object, labels: object) -> dict[str, Any]:
        """Return a claim of the answer."""
        claim: dict[str, Any] = {"text": text, "in_reference": self.entailed(label, "answer2response")}
        if isinstance(labels, list):
            claim["supported_by"] = self.ranks(labels, "Entailment", "retrieved2response")
            claim["contradicted_by"] = self.ranks(labels, "Contradiction", "retrieved2response")
        return claim

    def reference_claim(self, text: str, label: object, labels: object) -> dict[str, Any]:
        """Return a claim of the reference answer."""
        claim: dict[str, Any] = {"text": text, "in_answer": self.entailed(label, "response2answer")}
        if isinstance(labels, list):
            claim["supported_by"] = self.ranks(labels, "Entailment", "retrieved2answer")
        return claim

    def entailed(self, label: object, field: str) -> bool | None:
        """Return whether a label is "Entailment"; None without a label."""
        if label is None:
            return None
        if label not in LABELS:
            self.add_error(field, label, " | ".join(LABELS))
        return label == "Entailment"

    def ranks(self, labels: list[Any], wanted_label: str, field: str) -> list[int]:
        """Return the 1-based ranks of the documents with a label."""
        if wanted_label == "Entailment":
            for label in labels:
                self.entailed(label, field)
        return [rank for rank, label in enumerate(labels, start=1) if label == wanted_label]

    def add_error(self, field: str, value: object, accepted: str) -> None:
        """Add an error of this row."""
        count = f" of {len(value)}" if isinstance(value, list) else ""
        shown = repr(value)[:60] if isinstance(value, str) else f"{type(value).__name__}{count}"
        self.errors.add(self.line, field, f"found {shown}", accepted)


OF_PAIRS = {  # its overall is the F1 of its correctness and its completeness
    "correctness_label": "answer_precision",
    "completeness_label": "answer_recall",
    "overall_label": "answer_f1",
}
SIDES = ("model1", "model2")


def read_pairs(source: InputFile, options: Options, errors: ValidationErrors) -> list[ParsedRun]:
    """Read the meta-evaluation, two models a row, as a run for each model.

    An answer that two rows hold, since two people compared it, is one sample. What people said of a pair
    belongs to neither answer: `agreement` reads it.
    """
    table = open_table(source, errors, options.limit, rows=options.rows)
    runs: dict[str, dict[tuple[str, str], Record]] = {}
    for line, row in object_rows(table.rows(), errors, "an object with query, model1 and model2"):
        for side in SIDES:
            model = row.get(side)
            if not isinstance(model, dict) or not isinstance(model.get("model_name"), str):
                errors.add(line, side, f"found {type(model).__name__}", "an object with model_name, response")
                continue
            record = _answer_of(row, model)
            answers = runs.setdefault(model["model_name"], {})
            answers.setdefault((str(record["question"]), str(record["answer"])), (line, record))
    notes = ("two models a row: a run for each; labels of the pair are not imported",)
    return [
        run_of(source, "ragchecker_pairs", answers.values(), name, notes=notes)
        for name, answers in runs.items()
    ]


def _answer_of(row: Mapping[str, Any], model: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer of one model of a row in the native form."""
    record = {field: row.get(name) for name, field in NAMES.items() if name != "response"}
    record["question_id"] = f"{row.get('dataset')}/{row.get('query_id')}"  # ids are those of a dataset
    record["answer"] = model.get("response")
    record["tags"] = {"dataset": row["dataset"]} if isinstance(row.get("dataset"), str) else {}
    measured = model.get("ragchecker")
    if isinstance(measured, dict):
        record["scores"] = {OF_PAIRS[name]: measured[name] for name in OF_PAIRS if name in measured}
    return record


READERS = {
    "ragchecker_pairs": Reader(
        read_pairs, lambda peek: {"query", *SIDES} <= (*peek.rows_at("results"), {})[0].keys()
    ),
    "ragchecker": Reader(
        read,
        lambda peek: (
            {"query", "response"} <= (first := (*peek.rows_at("results"), {})[0]).keys()
            and bool({"gt_answer", "response_claims"} & first.keys())
        ),
    ),
}
