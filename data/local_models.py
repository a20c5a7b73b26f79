"""Metrics of models on this machine: NLI faithfulness, context quality by embeddings, reverse questions.

They are metrics of their own beside the judge's, named after the model. A model is loaded late: from a
folder, or by a download that the user allowed. The judge's model makes questions of answers for one metric.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from ragtriage.data.chunking.retrievers import quiet_loading
from ragtriage.data.errors import DataError
from ragtriage.data.judge.reply_model import ReplyError, ReplyObject, validate_reply, wire_schema
from ragtriage.data.judge.requests import Request, TaskSample, Workflow
from ragtriage.data.prompts.prompt import JudgedCase, Prompt, case_message, load_prompt
from ragtriage.data.scoring.run_store import RunStore
from ragtriage.data.store.judge_results import (
    JudgeResult,
    TaskResult,
    judge_result_path,
    publish,
    read_task_results,
)
from ragtriage.data.store.sample_reader import further_fields
from ragtriage.data.store.workspace import Run
from ragtriage.data.text.refusal_detection import detect_refusal
from ragtriage.data.text.tokens import split_sentences, surface_tokens
from ragtriage.metrics.schema.scores import FloatArray

WORDS = "words"  # counts of words in place of an embedding model: no download, no meaning
FOLDER = "the folder of a model on this machine, or a name on the Hugging Face Hub with --allow-download"
ENTAILMENT, NEUTRAL, CONTRADICTION = "entailment", "neutral", "contradiction"


@dataclass(frozen=True)
class EmbeddingModel:
    """Texts to vectors."""

    name: str  # of the model, without the path to it
    encode: Callable[[Sequence[str]], FloatArray]  # texts -> (n, d) unit vectors


@dataclass(frozen=True)
class NliModel:
    """Pairs of premise and hypothesis to probabilities."""

    name: str  # of the model, without the path to it
    # pairs -> (n, 3) probabilities of entailment, neutral and contradiction
    classify: Callable[[Sequence[tuple[str, str]]], FloatArray]


def open_embedding(model: str, allow_download: bool = False) -> EmbeddingModel:
    """Load an embedding model; WORDS counts words instead.

    Raises:
        DataError: the extra is missing, or the model is not there and may not be downloaded.
    """
    if model == WORDS:
        return EmbeddingModel(WORDS, word_counts)
    loaded = _load("SentenceTransformer", model, allow_download)

    def encode(texts: Sequence[str]) -> FloatArray:
        vectors = np.asarray(loaded.encode(list(texts), show_progress_bar=False), dtype=np.float64)
        return _unit(vectors)

    return EmbeddingModel(_name(model), encode)


def open_nli(model: str, allow_download: bool = False) -> NliModel:
    """Load a cross-encoder that tells entailment, neutral and contradiction.

    Raises:
        DataError: the extra is missing, the model is not there, or its labels are not those three.
    """
    loaded = _load("CrossEncoder", model, allow_download)
    labels = {str(label).casefold(): int(at) for at, label in loaded.model.config.id2label.items()}
    if set(labels) != {ENTAILMENT, NEUTRAL, CONTRADICTION}:
        raise DataError(
            f"NLI model {_name(model)!r} has the labels {', '.join(sorted(labels))[:200]}; accepted: one "
            "with entailment, neutral and contradiction"
        )
    order = [labels[ENTAILMENT], labels[NEUTRAL], labels[CONTRADICTION]]

    def classify(pairs: Sequence[tuple[str, str]]) -> FloatArray:
        logits = np.asarray(loaded.predict(list(pairs), show_progress_bar=False), dtype=np.float64)
        odds = np.exp(logits - logits.max(axis=1, keepdims=True))
        return np.asarray(odds / odds.sum(axis=1, keepdims=True), dtype=np.float64)[:, order]

    return NliModel(_name(model), classify)


def word_counts(texts: Sequence[str]) -> FloatArray:
    """Return (n, d) unit vectors of word counts, a dimension a word; zeros for a text without words."""
    counts = [Counter(surface_tokens(text)) for text in texts]
    column = {word: at for at, word in enumerate(dict.fromkeys(word for count in counts for word in count))}
    vectors = np.zeros((len(texts), max(len(column), 1)))
    for row, count in enumerate(counts):
        for word, times in count.items():
            vectors[row, column[word]] = times
    return _unit(vectors)


def _unit(vectors: FloatArray) -> FloatArray:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1.0), dtype=np.float64)


def _load(kind: str, model: str, allow_download: bool) -> Any:
    local = Path(model).is_dir()
    if not local and not allow_download:
        raise DataError(
            f"model {model[:120]!r} is not a folder here, and nothing is downloaded; accepted: {FOLDER}"
        )
    if local:
        quiet_loading()
    try:
        import sentence_transformers
    except ImportError as error:
        raise DataError("local models need an extra; accepted: pip install 'ragtriage[embedding]'") from error
    try:
        return getattr(sentence_transformers, kind)(model, local_files_only=local, device="cpu")
    except Exception as error:  # the libraries below raise errors of many kinds
        raise DataError(
            f"model {_name(model)!r} cannot be loaded ({str(error)[:200]}); accepted: {FOLDER}"
        ) from error


def _name(model: str) -> str:
    """Return the name of a model: of a folder its last part and a digest of its configuration."""
    path = Path(model)
    if not path.is_dir():
        return model
    configuration = path / "config.json"
    content = configuration.read_bytes() if configuration.is_file() else b""
    return f"{path.resolve().name}@{hashlib.sha256(content).hexdigest()[:8]}"


THRESHOLD = 0.8  # probability of entailment from which a claim holds; a default, to be calibrated on labels
WINDOW = 400  # words of a passage that the model reads at once
MOST_CLAIMS, MOST_WINDOWS = 100, 200


def windows(text: str) -> list[str]:
    """Cut a passage into windows of about WINDOW words that overlap by half."""
    words = text.split()
    if len(words) <= WINDOW:
        return [text] if words else []
    step = WINDOW // 2
    starts = range(0, len(words) - step, step)
    return [" ".join(words[start : start + WINDOW]) for start in starts]


def nli_result(sample: Mapping[str, Any], model: NliModel, threshold: float = THRESHOLD) -> TaskResult:
    """Return which claims of a sample the context entails or contradicts, and which documents disagree.

    Claims are those recorded, else the sentences of the answer. Each is compared with every window of every
    document; the largest probability counts.
    """
    answer = sample["answer"] or ""
    claims = [str(claim["text"]) for claim in sample["claims"] or ()] or _sentences(answer)
    documents = [document["text"] or "" for document in sample["retrieved"] or ()]
    parts = [(rank, part) for rank, text in enumerate(documents, 1) for part in windows(text)][:MOST_WINDOWS]
    if not claims or detect_refusal(answer).refused:
        return TaskResult("not_applicable", "the answer claims nothing")
    if not parts:
        return TaskResult("not_applicable", "no retrieved document has a text")
    claims = claims[:MOST_CLAIMS]
    results = model.classify([(part, claim) for claim in claims for _, part in parts])
    entailed, contradicted = results.reshape(len(claims), len(parts), 3)[:, :, [0, 2]].transpose(2, 0, 1)
    held, against = entailed.max(axis=1) >= threshold, contradicted.max(axis=1) >= threshold
    values = {
        "nli_faithfulness": float(held.mean()),
        "nli_contradicted": float((against & ~held).mean()),
        **_consistency(entailed, contradicted, [rank for rank, _ in parts], threshold),
    }
    evidence = [
        {
            "claim": claim,
            "entailment": round(float(entailed[at].max()), 4),
            "contradiction": round(float(contradicted[at].max()), 4),
            "rank": parts[int(entailed[at].argmax())][0],
        }
        for at, claim in enumerate(claims)
    ]
    return TaskResult("scored", "", {"values": values, "evidence": evidence})


def _sentences(answer: str) -> list[str]:
    return [answer[start:end] for start, end in split_sentences(answer)]


def _consistency(
    entailed: FloatArray, contradicted: FloatArray, ranks: Sequence[int], threshold: float
) -> dict[str, float]:
    """Return 1 - the pairs of documents that disagree on a claim / the pairs that both speak of one."""
    numbers = np.asarray(ranks)
    distinct = np.unique(numbers)
    supports = np.stack([(entailed[:, numbers == rank] >= threshold).any(axis=1) for rank in distinct])
    opposes = np.stack([(contradicted[:, numbers == rank] >= threshold).any(axis=1) for rank in distinct])
    same = against = 0
    for first, other in combinations(range(len(distinct)), 2):
        both = (supports[first] | opposes[first]) & (supports[other] | opposes[other])
        differs = (supports[first] & opposes[other]) | (opposes[first] & supports[other])
        same, against = same + bool(both.any()), against + bool(differs.any())
    return {"nli_context_consistency": 1.0 - against / same} if same else {}


SAME_MEANING = 0.95  # cosine from which two passages count as near-duplicates
MOST_QUESTIONS = 10


def context_result(sample: Mapping[str, Any], model: EmbeddingModel) -> TaskResult:
    """Return similarity, diversity and redundancy of a sample's context by the cosine of embeddings."""
    texts = [document["text"] for document in sample["retrieved"] or () if document["text"]]
    if not texts:
        return TaskResult("not_applicable", "no retrieved document has a text")
    vectors = model.encode([sample["question"], *texts])
    values = {"embedding_context_similarity": _mean(vectors[1:] @ vectors[0])}
    if len(texts) > 1:
        alike = vectors[1:] @ vectors[1:].T
        pairs = np.triu_indices(len(texts), 1)
        repeats = (np.triu(alike, 1) >= SAME_MEANING).any(axis=0)
        values["embedding_context_diversity"] = 1.0 - _mean(alike[pairs])
        values["embedding_context_redundancy"] = _mean(repeats.astype(np.float64))
    return TaskResult("scored", "", {"values": values, "evidence": []})


def recorded_questions(sample: Mapping[str, Any]) -> list[str]:
    """Return the questions that the file records as made from the answer: its `reverse_questions`."""
    questions = further_fields(sample["extra"], "reverse_questions").get("reverse_questions")
    listed = questions if isinstance(questions, list) else []
    return [question for question in listed if isinstance(question, str) and question.strip()]


def reverse_result(question: str, reverse: list[str], off_topic: str, model: EmbeddingModel) -> TaskResult:
    """Return the mean cosine of a question with the questions made from its answer.

    Args:
        question: that was asked.
        reverse: questions made from the answer alone; without any, not applicable.
        off_topic: the question of another sample, as a baseline; "" for none.
        model: of the embeddings.
    """
    if not reverse:
        return TaskResult("not_applicable", "no question can be made from the answer")
    asked = reverse[:MOST_QUESTIONS]
    vectors = model.encode([question, *asked, *([off_topic] if off_topic else [])])
    cosines = vectors[1 : 1 + len(asked)] @ vectors[0]
    values = {"reverse_question_relevancy": _mean(cosines)}
    evidence: list[dict[str, Any]] = [
        {"question": text, "cosine": round(float(cosine), 4)}
        for text, cosine in zip(asked, cosines, strict=True)
    ]
    baseline = _mean(vectors[1 : 1 + len(asked)] @ vectors[-1]) if off_topic else None
    return TaskResult("scored", "", {"values": values, "evidence": evidence, "off_topic": baseline})


def _mean(values: Any) -> float:
    return float(np.clip(np.mean(values), -1.0, 1.0))


N_QUESTIONS = 3
REPLY_TOKENS = 150


class ReverseReply(ReplyObject):
    """The questions that an answer answers, and whether it commits itself to anything."""

    committal: bool
    questions: list[str]


def _check(reply: object) -> ReverseReply:
    checked = validate_reply(reply, ReverseReply)
    if checked.committal and (not checked.questions or not all(text.strip() for text in checked.questions)):
        raise ReplyError(f"questions: none, or an empty one; accepted: {N_QUESTIONS} questions")
    return checked


@dataclass(frozen=True)
class ReverseQuestionTask:
    """Asks for questions that an answer answers; the model sees the answer alone."""

    fixed: Prompt = field(default_factory=partial(load_prompt, "reverse_questions"))

    @property
    def kind(self) -> str:
        """Kind of the stored results."""
        return "reverse_questions"

    @property
    def prompt(self) -> str:
        """Version of the fixed prompt."""
        return self.fixed.version

    @property
    def columns(self) -> tuple[str, ...]:
        """Sample columns that it reads."""
        return ("answer",)

    def workflow(self, task_sample: TaskSample) -> Workflow:
        """Ask once; not applicable to a sample without an answer."""
        answer = task_sample.sample["answer"]
        if not answer or not answer.strip():
            return TaskResult("not_applicable", "the sample has no answer")
        call = yield Request(
            kind=self.kind,
            prompt=self.prompt,
            system=self.fixed.text,
            user=case_message(JudgedCase(question="", answer=answer)),
            schema=wire_schema(ReverseReply),
            check=_check,
            expected_tokens=REPLY_TOKENS,
            attempt=task_sample.attempt,
        )
        if call.payload is None:
            return TaskResult(call.status, call.reason)
        reply = _check(call.payload)
        questions = reply.questions[:N_QUESTIONS] if reply.committal else []
        return TaskResult("scored", "", {"questions": questions})


COLUMNS = ("question", "answer", "retrieved", "claims", "extra")
READ_AT_ONCE = 64
LOCAL_KINDS = {
    "local:nli": "NLI faithfulness",
    "local:context": "context quality by embeddings",
    "local:reverse_questions": "relevancy by reverse questions",
}


@dataclass(frozen=True)
class LocalModels:
    """The models to score with."""

    nli: NliModel | None = None  # tells entailment; None to leave NLI faithfulness out
    # of questions and passages; None to leave context quality and reverse questions out
    embedding: EmbeddingModel | None = None
    threshold: float = 0.8  # probability of entailment from which a claim holds
    # row -> questions made from the answer, by the judge's model; None for those recorded
    questions: Mapping[int, Sequence[str]] | None = None


def score_locally(
    store: RunStore, run: Run, models: LocalModels, progress: Callable[[int], None] | None = None
) -> list[JudgeResult]:
    """Score a run and store the results, one for each kind of metric.

    Args:
        store: of the workspace.
        run: with samples.
        models: what to score with.
        progress: called with the number of samples done.

    Returns:
        What was stored; a kind that applies to no sample is left out.
    """
    outcomes: dict[str, dict[tuple[int, int], TaskResult]] = {}
    before = ""
    for sample in _samples(store, run):
        for kind, result in _results(sample, models, before).items():
            outcomes.setdefault(kind, {})[sample["row"], 0] = result
        before = sample["question"]
        if progress is not None:
            progress(sample["row"] + 1)
    return [
        publish(store.workspace, store.ledger, _head(run, kind, models), results)
        for kind, results in outcomes.items()
        if any(result.status == "scored" for result in results.values())
    ]


def _samples(store: RunStore, run: Run) -> Iterator[dict[str, Any]]:
    samples = store.scored(run).samples
    for start in range(0, run.n, READ_AT_ONCE):
        rows = range(start, min(start + READ_AT_ONCE, run.n))
        for row, sample in zip(rows, samples.read(rows, COLUMNS), strict=True):
            yield {**sample, "row": row}


def _results(sample: Mapping[str, Any], models: LocalModels, before: str) -> dict[str, TaskResult]:
    results = {}
    if models.nli is not None:
        results["local:nli"] = nli_result(sample, models.nli, models.threshold)
    if models.embedding is not None:
        results["local:context"] = context_result(sample, models.embedding)
        asked = (
            recorded_questions(sample)
            if models.questions is None
            else list(models.questions.get(sample["row"], ()))
        )
        off_topic = before if before != sample["question"] else ""
        refused = detect_refusal(sample["answer"] or "").refused
        results["local:reverse_questions"] = (
            TaskResult("not_applicable", "the answer is a refusal")
            if refused
            else reverse_result(sample["question"], asked, off_topic, models.embedding)
        )
    return results


def _head(run: Run, kind: str, models: LocalModels) -> JudgeResult:
    """Return the result without what publishing fills in: a changed threshold counts as another model."""
    if kind == "local:nli" and models.nli is not None:
        model, prompt = models.nli.name, f"entailment {models.threshold:g}"
    else:
        model = "" if models.embedding is None else models.embedding.name
        asked = "recorded questions" if models.questions is None else "questions of the judge's model"
        prompt = asked if kind == "local:reverse_questions" else "cosine"
    return JudgeResult(run.run_id, kind, model, prompt, "local")


def off_topic_baseline(store: RunStore, run: Run, results: Sequence[JudgeResult]) -> float | None:
    """Return the mean cosine of reverse questions with the question of another sample; None without any."""
    for result in results:
        if result.kind == "local:reverse_questions":
            path = judge_result_path(store.workspace, run.run_id, result.digest)
            payloads = [outcome.payload for outcome in read_task_results(path).values() if outcome.payload]
            values = [payload["off_topic"] for payload in payloads if payload["off_topic"] is not None]
            return sum(values) / len(values) if values else None
    return None
